//go:build unix && (portable || !linux)

package sys

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// What package os gives on a Unix.

const (
	errNotSupported = unix.EOPNOTSUPP
	errReplaced     = unix.ESTALE
	errSymlink      = unix.ELOOP
)

// dirsSync: a directory can be synced as a file can.
const dirsSync = true

// Umask is the process's file mode creation mask.
func Umask() (uint32, error) {
	m := unix.Umask(0o077) // for a moment, the most private one
	unix.Umask(m)
	return uint32(m), nil
}

// Owner is the user and group that new files of this process belong to.
func Owner() (uid, gid uint32) { return uint32(unix.Geteuid()), uint32(unix.Getegid()) }

// setTimes would set times by descriptor, for which no call with nanoseconds is
// to be had: by name, then.
func setTimes(*os.File, *Time, *Time) error { return errNotSupported }

// seek is lseek with what package os does not know: holes and data.
func seek(f *os.File, off int64, whence int) (int64, error) {
	return unix.Seek(int(f.Fd()), off, whence)
}

func statOf(fi fs.FileInfo, st *Stat) {
	s := fi.Sys().(*syscall.Stat_t)
	atime, mtime, ctime := RawTimes(s)
	*st = Stat{
		Dev: uint64(s.Dev), Ino: s.Ino,
		Mode: uint32(s.Mode), UID: s.Uid, GID: s.Gid, Nlink: uint64(s.Nlink),
		Rdev: uint64(s.Rdev), Size: s.Size, Blocks: s.Blocks,
		Atime: rawTime(atime), Mtime: rawTime(mtime), Ctime: rawTime(ctime),
	}
}

// namesIdentify: a Lstat tells who a file is.
const namesIdentify = true

func identify(*os.File, *Stat) {}

// mknod makes a FIFO as everybody may; for devices it takes the super-user.
func mknod(path string, mode uint32, rdev uint64) error {
	if mode&TypeMask == TypeFIFO {
		return unix.Mkfifo(path, mode&PermMask)
	}
	return makeNode(path, mode, rdev)
}
