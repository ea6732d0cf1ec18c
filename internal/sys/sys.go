// Package sys is haul's only door to the kernel: directories and files as raw
// descriptors, every name resolved beneath an open directory, errors that name
// operation and path, and a hook that injects faults. All build tags live here.
package sys

import (
	"errors"
	"io/fs"
	"time"
)

// The file types and permission bits of Stat.Mode, as every Unix numbers them
// and as rsync sends them over the wire.
const (
	TypeMask    = 0o170000
	TypeSocket  = 0o140000
	TypeSymlink = 0o120000
	TypeRegular = 0o100000
	TypeBlock   = 0o060000
	TypeDir     = 0o040000
	TypeChar    = 0o020000
	TypeFIFO    = 0o010000

	ModeSetUID = 0o4000
	ModeSetGID = 0o2000
	ModeSticky = 0o1000
	PermMask   = 0o7777
)

// ErrShrank says that a file turned out shorter than it was when its reading
// began: the reader's and the writer's one word for it.
var ErrShrank = errors.New("file shrank while it was read")

// NameMax is the longest name of a directory entry, in bytes.
const NameMax = 255

// Time is a moment as the kernel stores it. Values compare with ==.
type Time struct {
	Sec  int64
	Nsec int32
}

// TimeOf converts a standard time.
func TimeOf(t time.Time) Time { return Time{t.Unix(), int32(t.Nanosecond())} }

// Std converts to a standard time in the local zone.
func (t Time) Std() time.Time { return time.Unix(t.Sec, int64(t.Nsec)) }

// Before reports whether t is earlier than u.
func (t Time) Before(u Time) bool {
	return t.Sec < u.Sec || t.Sec == u.Sec && t.Nsec < u.Nsec
}

// Stat is what the kernel says of a file. Blocks counts 512-byte units.
type Stat struct {
	Dev, Ino            uint64
	Mode, UID, GID      uint32
	Nlink               uint64
	Rdev                uint64
	Size, Blocks        int64
	Atime, Mtime, Ctime Time
}

// IsDir reports whether the file is a directory.
func (s *Stat) IsDir() bool { return s.Mode&TypeMask == TypeDir }

// IsRegular reports whether the file is a regular file.
func (s *Stat) IsRegular() bool { return s.Mode&TypeMask == TypeRegular }

// IsSymlink reports whether the file is a symbolic link.
func (s *Stat) IsSymlink() bool { return s.Mode&TypeMask == TypeSymlink }

// Same reports whether two names lead to one file.
func (s *Stat) Same(o *Stat) bool { return s.Dev == o.Dev && s.Ino == o.Ino }

// Dirent is one entry of a directory. Type holds bits of TypeMask, or 0 where
// the file system does not tell. Name is valid until the buffer it was read
// into is used again.
type Dirent struct {
	Ino  uint64
	Type uint32
	Name string
}

// Space is what a file system says of itself. BlockSize is the unit of its
// allocation, in bytes.
type Space struct {
	Magic               int64
	BlockSize           int64
	Blocks, Free, Avail uint64
	Files, FreeFiles    uint64
	NameMax             int64
}

// FileMode converts Unix mode bits to Go's.
func FileMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	switch mode & TypeMask {
	case TypeDir:
		m |= fs.ModeDir
	case TypeSymlink:
		m |= fs.ModeSymlink
	case TypeFIFO:
		m |= fs.ModeNamedPipe
	case TypeSocket:
		m |= fs.ModeSocket
	case TypeBlock:
		m |= fs.ModeDevice
	case TypeChar:
		m |= fs.ModeDevice | fs.ModeCharDevice
	}
	if mode&ModeSetUID != 0 {
		m |= fs.ModeSetuid
	}
	if mode&ModeSetGID != 0 {
		m |= fs.ModeSetgid
	}
	if mode&ModeSticky != 0 {
		m |= fs.ModeSticky
	}
	return m
}

// Perm converts Go's permission bits, set-id and sticky to Unix's.
func Perm(m fs.FileMode) uint32 {
	p := uint32(m.Perm())
	if m&fs.ModeSetuid != 0 {
		p |= ModeSetUID
	}
	if m&fs.ModeSetgid != 0 {
		p |= ModeSetGID
	}
	if m&fs.ModeSticky != 0 {
		p |= ModeSticky
	}
	return p
}
