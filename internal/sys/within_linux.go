//go:build !portable

package sys

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// Within reports whether the directory that path leads to is the one st
// describes, or stands somewhere beneath it. It climbs by descriptors, so no
// symbolic link and no length of a path can mislead it.
func Within(path string, st *Stat) (bool, error) {
	fd, err := -1, error(nil)
	if len(path) < unix.PathMax {
		fd, err = unix.Open(here(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	} else {
		fd, err = openLong(path)
	}
	var below Stat
	for err == nil {
		var at Stat
		if err = fstat(fd, &at); err != nil {
			unix.Close(fd)
			break
		}
		if at.Same(st) || at.Same(&below) {
			return at.Same(st), unix.Close(fd)
		}
		below = at
		var up int
		up, err = unix.Openat(fd, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(fd)
		fd = up
	}
	return false, &fs.PathError{Op: "open", Path: path, Err: err}
}
