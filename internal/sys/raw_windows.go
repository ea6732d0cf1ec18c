package sys

import (
	"io/fs"
	"syscall"
)

// RawStat stands for what Windows has not, so that programs name it everywhere.
type RawStat struct{ Atim, Mtim, Ctim RawTimespec }

// RawTimespec is the standard library's own type.
type RawTimespec = syscall.Timespec

// RawTimes takes the times out of a RawStat.
func RawTimes(s *RawStat) (atime, mtime, ctime RawTimespec) { return s.Atim, s.Mtim, s.Ctim }

// StatOf is the times in a FileInfo of package os; false if it is not one. The
// time of creation stands for that of the inode's change, and a name tells
// neither identity nor number of names: one.
func StatOf(fi fs.FileInfo) (Stat, bool) {
	d, ok := fi.Sys().(*syscall.Win32FileAttributeData)
	if !ok {
		return Stat{}, false
	}
	return Stat{
		Nlink: 1,
		Atime: rawTime(d.LastAccessTime), Mtime: rawTime(d.LastWriteTime), Ctime: rawTime(d.CreationTime),
	}, true
}

func rawTime(t syscall.Filetime) Time {
	n := t.Nanoseconds()
	return Time{n / 1e9, int32(n % 1e9)}
}
