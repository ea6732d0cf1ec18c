package fs_test

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/gohaul/haul/fs"
	"github.com/gohaul/haul/test/loopfs"
	"golang.org/x/sys/unix"
)

func TestStatTimes(t *testing.T) {
	st := &syscall.Stat_t{
		Atim: syscall.Timespec{Sec: 1, Nsec: 2}, Mtim: syscall.Timespec{Sec: 3, Nsec: 4}, Ctim: syscall.Timespec{Sec: 5, Nsec: 6},
	}
	if a, m, c := fs.StatAtime(st), fs.StatMtime(st), fs.StatCtime(st); a != st.Atim || m != st.Mtim || c != st.Ctim {
		t.Errorf("times %v, %v, %v", a, m, c)
	}
	if got := fs.StatATimeAsTime(st); !got.Equal(time.Unix(1, 2)) {
		t.Errorf("StatATimeAsTime = %v", got)
	}
}

func TestGetMagic(t *testing.T) {
	var st unix.Statfs_t
	for _, dir := range []string{"/", "/proc", t.TempDir()} {
		if err := unix.Statfs(dir, &st); err != nil {
			t.Fatal(err)
		}
		if got, err := fs.GetMagic(dir); err != nil || got != fs.Magic(uint32(st.Type)) {
			t.Errorf("GetMagic(%s) = %#x, %v, want %#x", dir, got, err, st.Type)
		}
		if got, err := fs.GetMagic(dir + "/not yet"); err != nil || got != fs.Magic(uint32(st.Type)) {
			t.Errorf("GetMagic(%s/not yet) = %#x, %v, want %#x", dir, got, err, st.Type)
		}
	}
	if got, err := fs.GetMagic("/no/such/directory"); !errors.Is(err, os.ErrNotExist) || got != fs.MagicUnsupported {
		t.Errorf("GetMagic of nothing = %#x, %v", got, err)
	}
}

func TestSupportsDType(t *testing.T) {
	empty, full := t.TempDir(), build(t, "f 0644 f\nd 0755 d")
	for _, dir := range []string{empty, full} {
		before, _ := os.ReadDir(dir)
		if ok, err := fs.SupportsDType(dir); !ok || err != nil {
			t.Errorf("SupportsDType(%s) = %v, %v", dir, ok, err)
		}
		if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
			t.Errorf("it leaves %v, %v", after, err)
		}
	}
	for path, want := range map[string]error{full + "/f": syscall.ENOTDIR, full + "/none": syscall.ENOENT} {
		if ok, err := fs.SupportsDType(path); ok || !errors.Is(err, want) {
			t.Errorf("SupportsDType(%s) = %v, %v, want %v", path, ok, err, want)
		}
	}
}

// TestFileSystems asks real file systems who they are, one of them old: ext4
// without the feature that stores the types of entries.
func TestFileSystems(t *testing.T) {
	if testing.Short() {
		t.Skip("mounts loop devices")
	}
	names := map[string]string{"ext4": "extfs", "xfs": "xfs", "btrfs": "btrfs", "tmpfs": "tmpfs"}
	loopfs.Each(t, loopfs.DefaultSize, func(t *testing.T, dir string) {
		kind := t.Name()[len("TestFileSystems/"):]
		magic, err := fs.GetMagic(dir)
		if err != nil || fs.FsNames[magic] != names[kind] {
			t.Errorf("%s is %#x, %q, %v", kind, magic, fs.FsNames[magic], err)
		}
		if ok, err := fs.SupportsDType(dir); !ok || err != nil {
			t.Errorf("%s: SupportsDType = %v, %v", kind, ok, err)
		}
	})
	old := loopfs.Mount(t, "ext4", loopfs.DefaultSize, loopfs.Mkfs("-O", "^filetype"))
	for _, dir := range []string{old, old + "/empty"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if ok, err := fs.SupportsDType(dir); ok || err != nil {
			t.Errorf("without the feature SupportsDType(%s) = %v, %v", dir, ok, err)
		}
	}
}
