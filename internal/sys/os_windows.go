package sys

import (
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/windows"
)

const (
	errNotSupported = syscall.EWINDOWS
	errReplaced     = syscall.ESTALE
	errSymlink      = syscall.ELOOP
)

// otherSeparators are what separates names of a path besides the slash; a colon
// would lead to another stream or drive.
const otherSeparators = `\:`

// dirsSync: Windows refuses to flush a directory and journals names anyway.
const dirsSync = false

// Umask is 0: Windows has none.
func Umask() (uint32, error) { return 0, nil }

// Owner is what statOf tells of every file.
func Owner() (uid, gid uint32) { return 0, 0 }

const (
	seekData = iota
	seekHole
)

func seek(*os.File, int64, int) (int64, error) { return 0, errNotSupported }

func mknod(string, uint32, uint64) error { return errNotSupported }

// setTimes goes by the handle, for the times given otherwise would be undone
// when a handle with writes is closed. It needs a handle opened for writing.
func setTimes(f *os.File, atime, mtime *Time) error {
	var a, m *windows.Filetime
	if atime != nil {
		t := windows.NsecToFiletime(atime.Std().UnixNano())
		a = &t
	}
	if mtime != nil {
		t := windows.NsecToFiletime(mtime.Std().UnixNano())
		m = &t
	}
	return windows.SetFileTime(windows.Handle(f.Fd()), nil, a, m)
}

func space(f *os.File) (Space, error) {
	path, err := windows.UTF16PtrFromString(f.Name())
	if err != nil {
		return Space{}, err
	}
	s := Space{BlockSize: 4096, NameMax: NameMax}
	var avail, total, free uint64
	if err := windows.GetDiskFreeSpaceEx(path, &avail, &total, &free); err != nil {
		return s, nil // f is no directory, or goes by a name beneath one: the rest holds
	}
	s.Avail, s.Blocks, s.Free = avail/4096, total/4096, free/4096
	return s, nil
}

// nobody numbers what has no identity, so that it is the same as nothing else.
var nobody atomic.Uint64

func statOf(fi fs.FileInfo, st *Stat) {
	*st = Stat{
		Dev: ^uint64(0), Ino: nobody.Add(1), Nlink: 1,
		Mode: typeOf(fi.Mode()) | Perm(fi.Mode()),
		Size: fi.Size(), Blocks: (fi.Size() + 511) / 512, Mtime: TimeOf(fi.ModTime()),
	}
	st.Atime, st.Ctime = st.Mtime, st.Mtime
	if d, ok := fi.Sys().(*syscall.Win32FileAttributeData); ok {
		st.Atime = rawTime(d.LastAccessTime)
	}
}

// namesIdentify: only an open file tells who it is.
const namesIdentify = false

func identify(f *os.File, st *Stat) {
	var info windows.ByHandleFileInformation
	if windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info) == nil {
		st.Dev = uint64(info.VolumeSerialNumber)
		st.Ino = uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow)
		st.Nlink = uint64(info.NumberOfLinks)
	}
}
