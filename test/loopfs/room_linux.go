package loopfs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// room is a directory with a tmpfs of its own, for images and mount points. Its
// lock is held as long as the process lives.
type room struct {
	dir  string
	lock *os.File
}

const prefix = "haul-loopfs-"

var sweepOnce sync.Once

func openRoom() (_ *room, err error) {
	tmp, err := filepath.EvalSymlinks(os.TempDir()) // mountinfo knows real names only
	if err != nil {
		return nil, err
	}
	sweepOnce.Do(func() { sweep(tmp) })
	dir, err := os.MkdirTemp(tmp, prefix)
	if err != nil {
		return nil, err
	}
	r := &room{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=100%,mode=0755"); err != nil {
		return nil, &os.PathError{Op: "mount", Path: dir, Err: err}
	}
	// Locked before it has its name: a sweeper never finds it free.
	fresh := filepath.Join(dir, "lock.new")
	if r.lock, err = os.OpenFile(fresh, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if err := unix.Flock(int(r.lock.Fd()), unix.LOCK_EX); err != nil {
		return nil, &os.PathError{Op: "flock", Path: fresh, Err: err}
	}
	return r, os.Rename(fresh, filepath.Join(dir, "lock"))
}

func (r *room) close() error {
	var errs []error
	if r.lock != nil {
		errs = append(errs, r.lock.Close())
	}
	return errors.Join(append(errs, unmount(r.dir), remove(r.dir))...)
}

// remove is os.Remove that does not mind if there is nothing.
func remove(name string) error {
	if err := os.Remove(name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// sweep takes down the rooms of processes that died: their lock is free. What
// cannot be swept is left for the next time.
func sweep(tmp string) {
	rooms, _ := filepath.Glob(filepath.Join(tmp, prefix+"*"))
	for _, dir := range rooms {
		lock, err := os.Open(filepath.Join(dir, "lock"))
		if err != nil {
			continue
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			for _, m := range mountsBeneath(dir) {
				_ = unix.Unmount(m, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
			}
			_ = os.Remove(dir)
		}
		_ = lock.Close()
	}
}

// mountsBeneath lists the mount points at and beneath dir, the last mounted first.
func mountsBeneath(dir string) []string {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var out []string
	for line := range strings.Lines(string(info)) {
		if f := strings.Fields(line); len(f) > 4 && (f[4] == dir || strings.HasPrefix(f[4], dir+"/")) {
			out = append(out, f[4])
		}
	}
	slices.Reverse(out)
	return out
}
