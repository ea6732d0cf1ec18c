//go:build portable || !linux

package sys

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// File is an open file, read and written at offsets. The zero File is closed.
// Its methods give *fs.PathError.
type File struct {
	f    *os.File
	dir  *Dir
	name string
	poll bool // opened not to wait: see Read
}

// The flags of Dir.Open.
const (
	ReadOnly  = os.O_RDONLY
	WriteOnly = os.O_WRONLY
	ReadWrite = os.O_RDWR
	CreateNew = os.O_CREATE | os.O_EXCL
	CreateAny = os.O_CREATE
	NonBlock  = syscall.O_NONBLOCK
)

// openFlags keep an open from waiting for the other end of a FIFO.
const openFlags = syscall.O_NONBLOCK

// MaxCopyRange is the most that one CopyRange moves, in bytes.
const MaxCopyRange = 128 << 20

// OpenPath opens a path as the user gave it, symbolic links followed. It never
// waits for the other end of a FIFO when opened for reading.
func OpenPath(f *File, path string, flags int, perm uint32) error {
	var file *os.File
	err := retry("openat", path, func() (err error) {
		file, err = os.OpenFile(path, flags, fs.FileMode(perm&0o777))
		return err
	})
	if err != nil {
		*f = File{}
		return &fs.PathError{Op: "open", Path: path, Err: bare(err)}
	}
	*f = File{f: file, name: path, poll: flags&NonBlock != 0}
	return nil
}

// Adopt makes a File of a descriptor that the caller owns, named for messages.
// Closing the File closes it.
func Adopt(fd uintptr, name string) File { return File{f: os.NewFile(fd, name), name: name} }

// IsOpen reports whether the file is open.
func (f *File) IsOpen() bool { return f.f != nil }

// Name is the file's path, for messages.
func (f *File) Name() string {
	if f.dir == nil {
		return f.name
	}
	return f.dir.Join(f.name)
}

// FD is the raw descriptor; it stays f's own.
func (f *File) FD() uintptr { return f.f.Fd() }

// Close closes the file. A write that failed late may be reported here and
// nowhere else.
func (f *File) Close() error {
	if !f.IsOpen() {
		return nil
	}
	fault := inject("close", f.name)
	err := f.f.Close()
	if err == nil {
		err = fault
	}
	if errors.Is(err, syscall.EINTR) {
		err = nil
	}
	err = f.err("close", err)
	*f = File{}
	return err
}

func (f *File) err(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.Name(), Err: bare(err)}
}

func (f *File) do(op, call string, g func() error) error {
	return f.err(op, retry(call, f.name, g))
}

// Stat describes the open file.
func (f *File) Stat(st *Stat) error {
	return f.do("stat", "fstat", func() error {
		fi, err := f.f.Stat()
		if err != nil {
			return err
		}
		statOf(fi, st)
		identify(f.f, st)
		return nil
	})
}

// move is one transfer: bytes moved or the error, EINTR retried. What was moved
// before an error counts first.
func (f *File) move(op, call string, p []byte, g func(p []byte) (int, error)) (int, error) {
	for {
		m, err := injectIO(call, f.name, int64(len(p)))
		got := 0
		if err == nil {
			got, err = g(p[:m])
		}
		switch {
		case got > 0:
			return got, nil
		case err == io.EOF:
			return 0, err
		case !errors.Is(err, syscall.EINTR):
			return 0, f.err(op, err)
		}
	}
}

// ReadAt reads at off: fewer bytes than asked for may come, 0 at the end with
// io.EOF.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	return f.move("read", "pread64", p, func(p []byte) (int, error) { return f.f.ReadAt(p, off) })
}

// Read reads once at the file's position: for what has no offsets. A FIFO opened
// not to wait gives what WouldBlock knows when nothing came for a moment.
func (f *File) Read(p []byte) (int, error) {
	return f.move("read", "read", p, func(p []byte) (int, error) {
		if f.poll {
			f.f.SetReadDeadline(time.Now().Add(moment)) // other files than FIFOs have none
		}
		n, err := f.f.Read(p)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = syscall.EAGAIN
		}
		return n, err
	})
}

const moment = 20 * time.Millisecond

// WriteAt writes at off; fewer bytes than given may go out without an error.
func (f *File) WriteAt(p []byte, off int64) (int, error) {
	return f.move("write", "pwrite64", p, func(p []byte) (int, error) { return f.f.WriteAt(p, off) })
}

// Write writes at the file's position: for what has no offsets.
func (f *File) Write(p []byte) (int, error) { return f.move("write", "write", p, f.f.Write) }

// Ready returns at once: Read waits for a moment by itself.
func (f *File) Ready(ms int) error { return nil }

// Truncate cuts or extends the file to size bytes.
func (f *File) Truncate(size int64) error {
	return f.do("truncate", "ftruncate", func() error { return f.f.Truncate(size) })
}

// SeekData is the offset of the first data at or behind off; see NoMoreData.
// The error is a bare errno.
func (f *File) SeekData(off int64) (int64, error) { return f.seek(off, seekData) }

// SeekHole is the offset of the first hole at or behind off; the end counts as
// one. The error is a bare errno.
func (f *File) SeekHole(off int64) (int64, error) { return f.seek(off, seekHole) }

func (f *File) seek(off int64, whence int) (at int64, err error) {
	err = retry("lseek", f.name, func() (err error) {
		at, err = seek(f.f, off, whence)
		return err
	})
	return at, err
}

// Allocate cannot reserve blocks here.
func (f *File) Allocate(off, n int64) error {
	return f.do("allocate", "fallocate", func() error { return errNotSupported })
}

// Punch cannot free blocks here.
func (f *File) Punch(off, n int64) error {
	return f.do("punch hole", "fallocate", func() error { return errNotSupported })
}

// Clone cannot share blocks here. The error is bare: see TryAnotherWay.
func (f *File) Clone(src *File) error {
	return retry("ficlone", f.name, func() error { return errNotSupported })
}

// CloneRange cannot share blocks here. The error is bare: see TryAnotherWay.
func (f *File) CloneRange(src *File, srcOff, off, n int64) error {
	return retry("ficlonerange", f.name, func() error { return errNotSupported })
}

// CopyRange cannot copy in the kernel here. The error is bare: see TryAnotherWay.
func (f *File) CopyRange(src *File, srcOff, off, n int64) (int64, error) {
	return 0, retry("copy_file_range", f.name, func() error { return errNotSupported })
}

// Sync makes content and metadata durable.
func (f *File) Sync() error { return f.do("sync", "fsync", f.sync) }

// DataSync makes the content durable, and what is needed to read it.
func (f *File) DataSync() error { return f.do("sync", "fdatasync", f.sync) }

func (f *File) sync() error {
	err := f.f.Sync()
	if err != nil && !dirsSync {
		if fi, e := f.f.Stat(); e == nil && fi.IsDir() {
			err = nil // this system keeps names durable by itself
		}
	}
	return err
}

// SyncFSSupported tells whether this system can make all of one file system
// durable in one call, and no other. Without it only Sync of each file does.
const SyncFSSupported = false

// CanSyncFS says that SyncFS works on this system.
const CanSyncFS = false

// SyncFS makes everything on the file's file system durable: no system but
// Linux can.
func (f *File) SyncFS() error {
	return f.do("syncfs", "syncfs", func() error { return errNotSupported })
}

// Chown sets the owner; -1 keeps. It clears set-id bits.
func (f *File) Chown(uid, gid int) error {
	return f.do("chown", "fchown", func() error { return f.f.Chown(uid, gid) })
}

// Chmod sets the permission bits, set-id and sticky included.
func (f *File) Chmod(mode uint32) error {
	return f.do("chmod", "fchmod", func() error {
		err := f.f.Chmod(FileMode(mode & PermMask))
		if err != nil && f.dir != nil && f.named() {
			err = f.dir.root.Chmod(f.name, FileMode(mode&PermMask))
		}
		return err
	})
}

// SetTimes sets the times; nil keeps.
func (f *File) SetTimes(atime, mtime *Time) error {
	return f.do("chtimes", "utimensat", func() error {
		err := setTimes(f.f, atime, mtime)
		switch {
		case err == nil:
		case f.dir != nil && f.named():
			err = f.dir.root.Chtimes(f.name, stdTime(atime), stdTime(mtime))
		case f.dir == nil && f.named():
			err = os.Chtimes(f.name, stdTime(atime), stdTime(mtime))
		}
		return err
	})
}

// named reports whether the file's name still leads to it: for what this system
// can do by name only.
func (f *File) named() bool {
	here, err := f.f.Stat()
	if err != nil {
		return false
	}
	stat := os.Stat
	if f.dir != nil {
		stat = f.dir.root.Lstat
	}
	there, err := stat(f.name)
	return err == nil && os.SameFile(here, there)
}

// stdTime is the standard form of a time; the zero one keeps what is there.
func stdTime(t *Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Std()
}

// Space describes the file system the file is on.
func (f *File) Space() (s Space, err error) {
	err = f.do("statfs", "fstatfs", func() (err error) {
		s, err = space(f.f)
		return err
	})
	return s, err
}

// Anonymous reports whether the file is a pipe without a name in any directory.
func (f *File) Anonymous() bool {
	fi, err := f.f.Stat()
	return err == nil && fi.Mode()&fs.ModeNamedPipe != 0 && !f.named()
}

// ListXattr tells that there are no extended attributes. The errors of these
// methods are bare.
func (f *File) ListXattr(buf []byte) (int, error) { return 0, errNotSupported }

// GetXattr is ListXattr for one value.
func (f *File) GetXattr(attr string, buf []byte) (int, error) { return 0, errNotSupported }

// SetXattr refuses.
func (f *File) SetXattr(attr string, value []byte) error { return errNotSupported }

// RemoveXattr refuses.
func (f *File) RemoveXattr(attr string) error { return errNotSupported }
