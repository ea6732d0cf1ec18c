package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
	tib = 1 << 40
)

// volume is a mounted file system whose blocks are in RAM.
type volume struct {
	fs    string
	dir   string // where it is mounted
	image string // empty for tmpfs
}

// mkfs makes the file system of a sparse image. ext4's lazy initialisation
// would go on behind the measurement's back, so it is done at once.
var mkfs = map[string][]string{
	"ext4":  {"mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"},
	"xfs":   {"mkfs.xfs", "-q", "-f"},
	"btrfs": {"mkfs.btrfs", "-q", "-f"},
}

// newVolume makes and mounts a file system of the size; inodes is 0 for what
// the file system thinks right.
func newVolume(ram, fs string, size int64, inodes int) (*volume, error) {
	v := &volume{fs: fs, dir: filepath.Join(ram, "mnt")}
	if err := os.MkdirAll(v.dir, 0o755); err != nil {
		return nil, err
	}
	if fs == "tmpfs" {
		return v, command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d,nr_inodes=0", size), "bench", v.dir)
	}
	v.image = filepath.Join(ram, "image")
	f, err := os.Create(v.image)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return nil, err
	}
	argv := mkfs[fs]
	if fs == "ext4" && inodes > 0 {
		argv = append(argv[:len(argv):len(argv)], "-N", strconv.Itoa(inodes))
	}
	if err := command(append(argv[:len(argv):len(argv)], v.image)...); err != nil {
		return nil, err
	}
	return v, v.mount()
}

// mount lets mount(8) make the loop device, so that unmounting frees it.
func (v *volume) mount() error {
	return command("mount", "-t", v.fs, "-o", "loop", v.image, v.dir)
}

func (v *volume) path(name string) string { return filepath.Join(v.dir, name) }

// settle writes out what earlier work left behind, so that it is not paid for
// by the next contender.
func (v *volume) settle() error {
	err := v.sync()
	time.Sleep(100 * time.Millisecond) // xfs frees inodes in the background
	return err
}

func (v *volume) sync() error { return command("sync", "-f", v.dir) }

// chill empties the caches: of this file system by mounting it anew, of the
// kernel at large by asking for it.
func (v *volume) chill() error {
	if v.image == "" {
		return fmt.Errorf("%s can't be cold", v.fs)
	}
	if err := command("umount", v.dir); err != nil {
		return err
	}
	syscall.Sync()
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0); err != nil {
		return err
	}
	return v.mount()
}

// written returns how many bytes the device has been told to write so far.
func (v *volume) written() (int64, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(v.dir, &st); err != nil {
		return 0, err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/sys/dev/block/%d:%d/stat", st.Dev>>8&0xfff, st.Dev&0xff))
	if err != nil {
		return 0, err
	}
	const sectorsWritten = 6 // Documentation/block/stat.rst
	n, err := strconv.ParseInt(strings.Fields(string(stat))[sectorsWritten], 10, 64)
	return n * 512, err
}

func (v *volume) close() error {
	err := command("umount", v.dir)
	if v.image != "" {
		err = errors.Join(err, os.Remove(v.image))
	}
	return err
}

// command runs a program and puts what it said on standard error into the error.
func command(argv ...string) error {
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, lastLines(string(out)))
	}
	return nil
}

func lastLines(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 300 {
		s = "..." + s[len(s)-300:]
	}
	return s
}
