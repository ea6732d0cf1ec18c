//go:build !portable

package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// cname is the name of a directory entry as the kernel wants it. It lives on
// the caller's stack, so that a call on a hot path allocates nothing.
type cname [NameMax + 1]byte

// set refuses all that is not the plain name of an entry: nothing given to a
// Dir can lead out of it.
func (c *cname) set(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	copy(c[:], name)
	c[len(name)] = 0
	return nil
}

// errnoOf turns the third result of a raw system call into an error without
// allocating.
func errnoOf(e unix.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

func openat(fd int, name string, flags int, perm uint32) (int, error) {
	var c cname
	if err := c.set(name); err != nil {
		return -1, err
	}
	for {
		if err := inject("openat", name); err != nil {
			if err == unix.EINTR {
				continue
			}
			return -1, err
		}
		r, _, e := unix.Syscall6(unix.SYS_OPENAT, uintptr(fd), uintptr(unsafe.Pointer(&c[0])), uintptr(flags|unix.O_CLOEXEC|unix.O_LARGEFILE), uintptr(perm), 0, 0)
		switch {
		case e == 0:
			return int(r), nil
		case e == unix.EINTR:
		case (e == unix.EMFILE || e == unix.ENFILE) && openDirs.shed():
		default:
			return -1, e
		}
	}
}

// statx fills st. An empty name with AT_EMPTY_PATH means fd itself.
func statx(fd int, c *cname, flags int, st *Stat) error {
	var x unix.Statx_t
	_, _, e := unix.Syscall6(unix.SYS_STATX, uintptr(fd), uintptr(unsafe.Pointer(&c[0])), uintptr(flags), unix.STATX_BASIC_STATS, uintptr(unsafe.Pointer(&x)), 0)
	if e != 0 {
		return e
	}
	*st = Stat{
		Dev: unix.Mkdev(x.Dev_major, x.Dev_minor), Ino: x.Ino,
		Mode: uint32(x.Mode), UID: x.Uid, GID: x.Gid, Nlink: uint64(x.Nlink),
		Rdev: unix.Mkdev(x.Rdev_major, x.Rdev_minor),
		Size: int64(x.Size), Blocks: int64(x.Blocks),
		Atime: Time{x.Atime.Sec, int32(x.Atime.Nsec)},
		Mtime: Time{x.Mtime.Sec, int32(x.Mtime.Nsec)},
		Ctime: Time{x.Ctime.Sec, int32(x.Ctime.Nsec)},
	}
	return nil
}

func fstatat(fd int, name string, flags int, st *Stat) error {
	var s unix.Stat_t
	if err := unix.Fstatat(fd, name, &s, flags); err != nil {
		return err
	}
	*st = statOf(&s)
	return nil
}

func fstat(fd int, st *Stat) error {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return err
	}
	*st = statOf(&s)
	return nil
}

func statOf(s *unix.Stat_t) Stat {
	return Stat{
		Dev: uint64(s.Dev), Ino: s.Ino,
		Mode: s.Mode, UID: s.Uid, GID: s.Gid, Nlink: uint64(s.Nlink),
		Rdev: uint64(s.Rdev),
		Size: s.Size, Blocks: s.Blocks,
		Atime: Time{int64(s.Atim.Sec), int32(s.Atim.Nsec)},
		Mtime: Time{int64(s.Mtim.Sec), int32(s.Mtim.Nsec)},
		Ctime: Time{int64(s.Ctim.Sec), int32(s.Ctim.Nsec)},
	}
}

// retry makes a call again for as long as a signal interrupts it.
func retry(call, name string, f func() error) error {
	for {
		err := inject(call, name)
		if err == errSkip {
			return nil
		}
		if err == nil {
			err = f()
		}
		if err != unix.EINTR {
			return err
		}
	}
}

func timespecs(atime, mtime *Time) [2]unix.Timespec {
	ts := [2]unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Nsec: unix.UTIME_OMIT}}
	if atime != nil {
		ts[0] = timespec(*atime)
	}
	if mtime != nil {
		ts[1] = timespec(*mtime)
	}
	return ts
}

func timespec(t Time) (ts unix.Timespec) {
	ts.Sec = secField(t.Sec)
	ts.Nsec = nsecField(t.Nsec)
	return ts
}
