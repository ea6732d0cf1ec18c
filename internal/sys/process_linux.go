//go:build !portable

package sys

import (
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// Umask is the process's file mode creation mask.
func Umask() (uint32, error) {
	var f File
	if err := OpenPath(&f, "/proc/self/status", ReadOnly, 0); err != nil {
		return umaskByChange(), nil
	}
	defer f.Close()
	var buf [4096]byte
	n, err := f.Read(buf[:])
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(buf[:n]), "\nUmask:\t")
	if !found {
		return umaskByChange(), nil
	}
	var mask uint32
	for i := 0; i < len(rest) && '0' <= rest[i] && rest[i] <= '7'; i++ {
		mask = mask<<3 | uint32(rest[i]-'0')
	}
	return mask, nil
}

// umaskByChange reads the mask where /proc is missing: by setting it, for a
// moment, to the most private one.
func umaskByChange() uint32 {
	m := unix.Umask(0o077)
	unix.Umask(m)
	return uint32(m)
}

// Owner is the user and group that new files of this process belong to.
func Owner() (uid, gid uint32) { return uint32(unix.Geteuid()), uint32(unix.Getegid()) }

// StatPath describes what a path leads to, the last symbolic link followed or not.
func StatPath(path string, follow bool, st *Stat) error {
	flags := 0
	if !follow {
		flags = unix.AT_SYMLINK_NOFOLLOW
	}
	at, name := unix.AT_FDCWD, path
	var x unix.Stat_t
	var err error
	if len(path) >= unix.PathMax {
		path := strings.TrimRight(path, "/")
		cut := strings.LastIndexByte(path, '/') + 1
		if at, err = openLong(path[:cut]); err == nil {
			defer unix.Close(at)
		}
		name = path[cut:]
	}
	if err == nil {
		err = retry("statx", path, func() error { return unix.Fstatat(at, name, &x, flags) })
	}
	if err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	*st = statOf(&x)
	return nil
}
