//go:build linux

package loopfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var magic = map[string]int64{
	"ext4": unix.EXT4_SUPER_MAGIC, "xfs": unix.XFS_SUPER_MAGIC,
	"btrfs": unix.BTRFS_SUPER_MAGIC, "tmpfs": unix.TMPFS_MAGIC,
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// needRoot skips only where Mount does.
func needRoot(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: needs root")
	}
}

func TestEach(t *testing.T) {
	var visited []string
	Each(t, 64<<20, func(t *testing.T, dir string) {
		kind := filepath.Base(t.Name())
		visited = append(visited, kind)
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err != nil {
			t.Fatal(err)
		}
		if int64(st.Type) != magic[kind] {
			t.Errorf("type %#x, want %#x", st.Type, magic[kind])
		}
		if size := int64(st.Blocks) * int64(st.Bsize); size > minSize["xfs"] {
			t.Errorf("%d bytes, far more than asked", size)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 0 {
			t.Errorf("not empty: %v, %v", entries, err)
		}
		if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o755 {
			t.Errorf("mode %v, %v", fi.Mode(), err)
		}
		write(t, filepath.Join(dir, "a"), []byte("x"))
	})
	if !testing.Short() && len(visited) != len(Kinds) {
		t.Errorf("visited %v", visited)
	}
}

// TestCloseLeavesNothing looks for the room, the mounts and the loop device.
func TestCloseLeavesNothing(t *testing.T) {
	needRoot(t)
	for _, kind := range Kinds {
		var opts []Option
		if kind != "tmpfs" {
			opts = append(opts, Cloneable())
		}
		f, err := Open(kind, 0, opts...)
		if err != nil {
			t.Fatal(err)
		}
		room, device := f.room.dir, f.Device
		if f.host != nil {
			s, err := f.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
		if m := mountsBeneath(room); m != nil {
			t.Errorf("%s: still mounted: %v", kind, m)
		}
		if _, err := os.Lstat(room); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %s: %v", kind, room, err)
		}
		if held, err := os.ReadFile("/sys/block/" + filepath.Base(device) + "/loop/backing_file"); kind != "tmpfs" && err == nil && strings.HasPrefix(string(held), room) {
			t.Errorf("%s: %s still holds %s", kind, device, held)
		}
	}
}

func TestBusyIsReportedAndDetached(t *testing.T) {
	needRoot(t)
	defer func(d time.Duration) { patience = d }(patience)
	patience = 300 * time.Millisecond
	f, err := Open("ext4", 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	write(t, f.Dir+"/a", nil)
	open, err := os.Open(f.Dir + "/a")
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(patience+patience/2, func() { _ = open.Close() })
	if err := f.Close(); err == nil || !strings.Contains(err.Error(), "busy") {
		t.Errorf("error %v", err)
	}
	if m := mountsBeneath(f.Dir); m != nil {
		t.Errorf("still mounted: %v", m)
	}
}

func TestFailedOpenLeavesNothing(t *testing.T) {
	needRoot(t)
	t.Setenv("TMPDIR", t.TempDir())
	for _, tc := range []struct {
		kind string
		opt  Option
		want string
	}{
		{"ext4", Mkfs("--no-such"), "mkfs.ext4"},
		{"xfs", Options("nosuchoption"), "mount -o nosuchoption"},
		{"tmpfs", Cloneable(), "no image"},
		{"vfat", Cloneable(), "none of"},
	} {
		if _, err := Open(tc.kind, 0, tc.opt); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.kind, err, tc.want)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestOptions(t *testing.T) {
	f := New(t, "ext4", 64<<20, Options("noatime,dax=never"), Mkfs("-b", "1024"), For("xfs", Mkfs("--no-such")))
	var st unix.Statfs_t
	if err := unix.Statfs(f.Dir, &st); err != nil {
		t.Fatal(err)
	}
	if st.Bsize != 1024 || st.Flags&unix.ST_NOATIME == 0 {
		t.Errorf("block %d flags %#x", st.Bsize, st.Flags)
	}
	if err := f.Remount("ro"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(f.Dir+"/d", 0o755); !errors.Is(err, unix.EROFS) {
		t.Errorf("mkdir on ro: %v", err)
	}
	if err := f.Remount("rw"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(f.Dir+"/d", 0o755); err != nil {
		t.Error(err)
	}
}

func TestSmallImageFills(t *testing.T) {
	Each(t, 8<<20, func(t *testing.T, dir string) {
		w, err := os.Create(dir + "/big")
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := unix.Fallocate(int(w.Fd()), 0, 0, 400<<20); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("fallocate of 400 MiB: %v", err)
		}
	})
}

func TestQuota(t *testing.T) {
	f := New(t, "btrfs", 0)
	if err := f.SetQuota(4 << 20); err != nil {
		t.Fatal(err)
	}
	write(t, f.Dir+"/fits", make([]byte, 1<<20))
	if err := os.WriteFile(f.Dir+"/big", make([]byte, 8<<20), 0o644); !errors.Is(err, unix.EDQUOT) {
		t.Errorf("8 MiB on 4 MiB of quota: %v", err)
	}
}

// TestSnapshotIsAMoment writes pairs in order, each synced, while clones are
// taken: in every clone the earlier of a pair is at least as new as the later.
func TestSnapshotIsAMoment(t *testing.T) {
	for _, kind := range []string{"ext4", "xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			f := Image(t, kind, 0)
			stop := make(chan struct{})
			var wg sync.WaitGroup
			defer wg.Wait()
			defer close(stop)
			first, second := pair(0)
			write(t, f.Dir+"/first", first)
			write(t, f.Dir+"/second", second)
			unix.Sync()
			wg.Go(func() {
				for n := 1; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					first, second := pair(n)
					if err := errors.Join(replace(f.Dir+"/first", first), replace(f.Dir+"/second", second)); err != nil {
						t.Error(err)
						return
					}
				}
			})
			last := -1
			for range 5 {
				time.Sleep(30 * time.Millisecond)
				s, err := f.Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				last = checkPair(t, s.Dir, last)
				write(t, s.Dir+"/new", nil) // it is writable
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if last <= 0 {
				t.Error("no snapshot saw a later generation")
			}
		})
	}
}

func pair(n int) (first, second []byte) {
	return bytes.Repeat(fmt.Appendf(nil, "%08d", n), 4096), bytes.Repeat(fmt.Appendf(nil, "%08d", n), 100)
}

// checkPair wants whole files, the first 0 or 1 generations ahead, none older
// than last.
func checkPair(t *testing.T, dir string, last int) int {
	t.Helper()
	read := func(name string) (n int) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || len(b) < 8 || !bytes.Equal(b, bytes.Repeat(b[:8], len(b)/8)) {
			t.Fatalf("%s: %d bytes, %v: neither old nor new", name, len(b), err)
		}
		if n, err = strconv.Atoi(string(b[:8])); err != nil {
			t.Fatal(err)
		}
		return n
	}
	first, second := read("first"), read("second")
	if first < last || first != second && first != second+1 {
		t.Errorf("first at %d, second at %d, seen before %d", first, second, last)
	}
	return first
}

// replace writes durably and atomically.
func replace(name string, data []byte) error {
	w, err := os.Create(name + ".tmp")
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	if err := errors.Join(err, w.Sync(), w.Close(), os.Rename(name+".tmp", name)); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// TestManyAtOnce wants more devices than a kernel has at boot.
func TestManyAtOnce(t *testing.T) {
	needRoot(t)
	var wg sync.WaitGroup
	open := make([]*FS, 12)
	for i := range open {
		wg.Go(func() {
			var err error
			if open[i], err = Open("ext4", 8<<20); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, f := range open {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSweep takes down a room whose owner is gone, and none that is alive.
func TestSweep(t *testing.T) {
	needRoot(t)
	alive, err := Open("tmpfs", 0)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := Open("ext4", 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.room.lock.Close(); err != nil { // as the kernel does for a dead process
		t.Fatal(err)
	}
	sweep(filepath.Dir(dead.room.dir))
	if _, err := os.Lstat(dead.room.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("dead room: %v", err)
	}
	if err := waitDetached(dead.Device, dead.Image); err != nil {
		t.Error(err)
	}
	if len(mountsBeneath(alive.Dir)) != 1 {
		t.Error("live file system swept")
	}
	if err := alive.Close(); err != nil {
		t.Error(err)
	}
}

func TestMountFlags(t *testing.T) {
	flags, data := mountFlags([]string{"noatime", "usrquota", "ro", "dax=never", "rw"})
	if flags != unix.MS_NOATIME|unix.MS_RDONLY || data != "usrquota,dax=never" {
		t.Errorf("%#x %q", flags, data)
	}
}

// TestCachedLosesWhatWasNotFlushed writes to the mounted file system's device
// without a flush, which only the snapshot of a disk without a cache holds.
func TestCachedLosesWhatWasNotFlushed(t *testing.T) {
	for _, cached := range []bool{false, true} {
		opt := Cloneable()
		if cached {
			opt = Cached()
		}
		f := New(t, "ext4", 32<<20, opt)
		write(t, f.Dir+"/a", bytes.Repeat([]byte("a"), 4096))
		if err := syncTree(f.Dir); err != nil {
			t.Fatal(err)
		}
		w, err := os.OpenFile(f.Dir+"/a", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(bytes.Repeat([]byte("b"), 4096)); err != nil {
			t.Fatal(err)
		}
		const waitAll = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
		if err := unix.SyncFileRange(int(w.Fd()), 0, 0, waitAll); err != nil {
			t.Fatal(err)
		}
		want := map[bool]byte{false: 'b', true: 'a'}
		for _, sync := range []bool{false, true} {
			s, err := f.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(s.Dir + "/a")
			if err != nil || len(got) != 4096 || !sync && got[0] != want[cached] || sync && got[0] != 'b' {
				t.Errorf("cached %v, synced %v: %.1q %v", cached, sync, got, err)
			}
			if err := errors.Join(s.Close(), w.Sync()); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

func syncTree(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(d.Fd())), d.Close())
}
