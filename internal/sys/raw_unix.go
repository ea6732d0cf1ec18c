//go:build unix

package sys

import (
	"io/fs"
	"syscall"
)

// RawStat and RawTimespec are the standard library's own types, for functions
// that give or take them on every system.
type (
	RawStat     = syscall.Stat_t
	RawTimespec = syscall.Timespec
)

// StatOf is the identity, the number of names and the times in a FileInfo of
// package os; false if it is not one.
func StatOf(fi fs.FileInfo) (Stat, bool) {
	s, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return Stat{}, false
	}
	atime, mtime, ctime := RawTimes(s)
	return Stat{
		Dev: uint64(s.Dev), Ino: s.Ino, Nlink: uint64(s.Nlink),
		Atime: rawTime(atime), Mtime: rawTime(mtime), Ctime: rawTime(ctime),
	}, true
}

func rawTime(t syscall.Timespec) Time { return Time{int64(t.Sec), int32(t.Nsec)} }
