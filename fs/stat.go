package fs

import (
	"fmt"
	"os"
	"time"

	"github.com/gohaul/haul/internal/sys"
)

// GetLinkInfo returns an identifier representing the node a hardlink is pointing
// to, its inode number, and whether the file has several names. Inode numbers
// are unique on one device only: callers that may see several must not take
// equal numbers for one file. Without inode numbers the answer is 0, false.
func GetLinkInfo(fi os.FileInfo) (uint64, bool) {
	st, ok := sys.StatOf(fi)
	if !ok {
		return 0, false
	}
	return st.Ino, st.Ino != 0 && !fi.IsDir() && st.Nlink > 1
}

// Atime returns the time of last access. It is an error if fi does not come from
// this operating system's stat.
func Atime(st os.FileInfo) (time.Time, error) {
	s, err := statOf(st)
	return s.Atime.Std(), err
}

// Mtime returns the time of last change of the content.
func Mtime(st os.FileInfo) (time.Time, error) {
	s, err := statOf(st)
	return s.Mtime.Std(), err
}

// Ctime returns the time of last change of the inode.
func Ctime(st os.FileInfo) (time.Time, error) {
	s, err := statOf(st)
	return s.Ctime.Std(), err
}

func statOf(fi os.FileInfo) (sys.Stat, error) {
	s, ok := sys.StatOf(fi)
	if !ok {
		return s, fmt.Errorf("fs: no times in the file information of %s, which is a %T", fi.Name(), fi.Sys())
	}
	return s, nil
}

// StatAtime returns the time of last access in a *syscall.Stat_t, as a
// syscall.Timespec.
func StatAtime(st *sys.RawStat) sys.RawTimespec { atime, _, _ := sys.RawTimes(st); return atime }

// StatMtime returns the time of last change of the content in a *syscall.Stat_t,
// as a syscall.Timespec.
func StatMtime(st *sys.RawStat) sys.RawTimespec { _, mtime, _ := sys.RawTimes(st); return mtime }

// StatCtime returns the time of last change of the inode in a *syscall.Stat_t,
// as a syscall.Timespec.
func StatCtime(st *sys.RawStat) sys.RawTimespec { _, _, ctime := sys.RawTimes(st); return ctime }

// StatATimeAsTime returns the time of last access in a *syscall.Stat_t.
func StatATimeAsTime(st *sys.RawStat) time.Time {
	t := StatAtime(st)
	return time.Unix(t.Unix())
}
