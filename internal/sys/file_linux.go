//go:build !portable

package sys

import (
	"io"
	"io/fs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// File is an open file, read and written at offsets through its raw descriptor.
// The zero File is closed. Its methods give *fs.PathError.
type File struct {
	fd   int // 0 in a zero File, which never stands for an open one: see IsOpen
	dir  *Dir
	name string
}

// The flags of Dir.Open.
const (
	ReadOnly  = unix.O_RDONLY
	WriteOnly = unix.O_WRONLY
	ReadWrite = unix.O_RDWR
	CreateNew = unix.O_CREAT | unix.O_EXCL
	CreateAny = unix.O_CREAT
	NonBlock  = unix.O_NONBLOCK
)

// MaxCopyRange is the most that one CopyRange moves, in bytes: below 2 GiB some
// kernels and libraries break, and a cancelled copy should end soon.
const MaxCopyRange = 128 << 20

// OpenPath opens a path as the user gave it, symbolic links followed. It never
// waits for the other end of a FIFO when opened for reading.
func OpenPath(f *File, path string, flags int, perm uint32) error {
	err := retry("openat", path, func() (err error) {
		f.fd, err = unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_LARGEFILE, perm)
		return err
	})
	if err != nil {
		*f = File{}
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f.dir, f.name = nil, path
	return nil
}

// Adopt makes a File of a descriptor that the caller owns, named for messages.
// Closing the File closes it.
func Adopt(fd uintptr, name string) File { return File{fd: int(fd), name: name} }

// IsOpen reports whether the file is open.
func (f *File) IsOpen() bool { return f.name != "" }

// Name is the file's path, for messages.
func (f *File) Name() string {
	if f.dir == nil {
		return f.name
	}
	return f.dir.Join(f.name)
}

// FD is the raw descriptor; it stays f's own.
func (f *File) FD() uintptr { return uintptr(f.fd) }

// Close closes the file. A write that failed late may be reported here and
// nowhere else.
func (f *File) Close() error {
	if !f.IsOpen() {
		return nil
	}
	fault := inject("close", f.name)
	err := unix.Close(f.fd)
	if err == nil {
		err = fault
	}
	if err == unix.EINTR {
		err = nil // Linux has closed it all the same
	}
	if err != nil {
		err = f.err("close", err)
	}
	*f = File{}
	return err
}

func (f *File) err(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.Name(), Err: err}
}

// Stat describes the open file.
func (f *File) Stat(st *Stat) error {
	for {
		err := inject("fstat", f.name)
		if err == nil {
			err = fstat(f.fd, st)
		}
		if err != unix.EINTR {
			return f.err("stat", err)
		}
	}
}

// move is one transfer: r tells bytes moved or the error, EINTR retried.
func (f *File) move(op, call string, n int, f1 func(n int) (int, error)) (int, error) {
	for {
		m, err := injectIO(call, f.name, int64(n))
		got := 0
		if err == nil {
			got, err = f1(int(m))
		}
		if err != unix.EINTR {
			return max(got, 0), f.err(op, err)
		}
	}
}

// ReadAt reads once at off: fewer bytes than asked for may come, 0 at the end
// with io.EOF.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.move("read", "pread64", len(p), func(n int) (int, error) { return unix.Pread(f.fd, p[:n], off) })
	if n == 0 && err == nil && len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

// Read reads once at the file's position: for what has no offsets.
func (f *File) Read(p []byte) (int, error) {
	n, err := f.move("read", "read", len(p), func(n int) (int, error) { return unix.Read(f.fd, p[:n]) })
	if n == 0 && err == nil && len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

// WriteAt writes once at off; fewer bytes than given may go out without an error.
func (f *File) WriteAt(p []byte, off int64) (int, error) {
	return f.move("write", "pwrite64", len(p), func(n int) (int, error) { return unix.Pwrite(f.fd, p[:n], off) })
}

// Write writes once at the file's position: for what has no offsets.
func (f *File) Write(p []byte) (int, error) {
	return f.move("write", "write", len(p), func(n int) (int, error) { return unix.Write(f.fd, p[:n]) })
}

// Ready waits until there is something to read, or nobody left to write it, but
// no longer than ms milliseconds.
func (f *File) Ready(ms int) error {
	_, err := unix.Poll([]unix.PollFd{{Fd: int32(f.fd), Events: unix.POLLIN}}, ms)
	if err == unix.EINTR {
		return nil
	}
	return f.err("poll", err)
}

func (f *File) do(op, call string, g func(fd int) error) error {
	return f.err(op, retry(call, f.name, func() error { return g(f.fd) }))
}

// Truncate cuts or extends the file to size bytes.
func (f *File) Truncate(size int64) error {
	return f.do("truncate", "ftruncate", func(fd int) error { return unix.Ftruncate(fd, size) })
}

// SeekData is the offset of the first data at or behind off; ENXIO means none.
// The error is a bare errno.
func (f *File) SeekData(off int64) (int64, error) { return f.seek(off, unix.SEEK_DATA) }

// SeekHole is the offset of the first hole at or behind off; the end counts as
// one. The error is a bare errno.
func (f *File) SeekHole(off int64) (int64, error) { return f.seek(off, unix.SEEK_HOLE) }

func (f *File) seek(off int64, whence int) (at int64, err error) {
	err = retry("lseek", f.name, func() (err error) {
		at, err = unix.Seek(f.fd, off, whence)
		return err
	})
	return at, err
}

// Allocate reserves blocks for n bytes at off without changing the size.
func (f *File) Allocate(off, n int64) error {
	return f.do("allocate", "fallocate", func(fd int) error {
		return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, off, n)
	})
}

// Punch frees the blocks of n bytes at off; they read as zeros. Beyond the end
// of the file it does nothing, so extend first.
func (f *File) Punch(off, n int64) error {
	return f.do("punch hole", "fallocate", func(fd int) error {
		return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE|unix.FALLOC_FL_PUNCH_HOLE, off, n)
	})
}

// Clone makes the whole file share src's blocks. The error is a bare errno: see
// TryAnotherWay.
func (f *File) Clone(src *File) error {
	return retry("ficlone", f.name, func() error { return unix.IoctlFileClone(f.fd, src.fd) })
}

// CloneRange makes n bytes at off share src's blocks at srcOff; all three are
// multiples of the block size, but for n at src's end. The error is a bare errno.
func (f *File) CloneRange(src *File, srcOff, off, n int64) error {
	r := unix.FileCloneRange{Src_fd: int64(src.fd), Src_offset: uint64(srcOff), Src_length: uint64(n), Dest_offset: uint64(off)}
	return retry("ficlonerange", f.name, func() error { return unix.IoctlFileCloneRange(f.fd, &r) })
}

// CopyRange copies up to n bytes (never more than MaxCopyRange) in the kernel
// and returns how many; 0 means that src ends there or the kernel cannot tell.
// The error is a bare errno.
func (f *File) CopyRange(src *File, srcOff, off, n int64) (int64, error) {
	for {
		m, err := injectIO("copy_file_range", f.name, min(n, MaxCopyRange))
		got := 0
		if err == nil {
			so, do := srcOff, off
			got, err = unix.CopyFileRange(src.fd, &so, f.fd, &do, int(m), 0)
		}
		if err != unix.EINTR {
			return int64(max(got, 0)), err
		}
	}
}

// Sync makes content and metadata durable.
func (f *File) Sync() error { return f.do("sync", "fsync", unix.Fsync) }

// DataSync makes the content durable, and what is needed to read it.
func (f *File) DataSync() error { return f.do("sync", "fdatasync", unix.Fdatasync) }

// SyncFSSupported tells whether this system can make all of one file system
// durable in one call, and no other. Without it only Sync of each file does.
const SyncFSSupported = true

// CanSyncFS says that SyncFS works on this system.
const CanSyncFS = true

// SyncFS makes everything on the file's file system durable.
func (f *File) SyncFS() error { return f.do("syncfs", "syncfs", unix.Syncfs) }

// Chown sets the owner; -1 keeps. It clears set-id bits.
func (f *File) Chown(uid, gid int) error {
	return f.do("chown", "fchown", func(fd int) error { return unix.Fchown(fd, uid, gid) })
}

// Chmod sets the permission bits, set-id and sticky included.
func (f *File) Chmod(mode uint32) error {
	return f.do("chmod", "fchmod", func(fd int) error { return unix.Fchmod(fd, mode&PermMask) })
}

// SetTimes sets the times; nil keeps.
func (f *File) SetTimes(atime, mtime *Time) error {
	ts := timespecs(atime, mtime)
	for {
		err := inject("utimensat", f.name)
		if err == nil {
			_, _, e := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(f.fd), 0, uintptr(unsafe.Pointer(&ts[0])), 0, 0, 0)
			err = errnoOf(e)
		}
		if err != unix.EINTR {
			return f.err("chtimes", err)
		}
	}
}

// Space describes the file system the file is on.
func (f *File) Space() (Space, error) {
	var s unix.Statfs_t
	err := f.do("statfs", "fstatfs", func(fd int) error { return unix.Fstatfs(fd, &s) })
	if err != nil {
		return Space{}, err
	}
	return spaceOf(&s), nil
}

func spaceOf(s *unix.Statfs_t) Space {
	block := int64(s.Frsize)
	if block == 0 {
		block = int64(s.Bsize)
	}
	return Space{
		Magic: int64(s.Type), BlockSize: block, NameMax: int64(s.Namelen),
		Blocks: s.Blocks, Free: s.Bfree, Avail: s.Bavail, Files: s.Files, FreeFiles: s.Ffree,
	}
}

// Anonymous reports whether the file is a pipe without a name in any directory.
func (f *File) Anonymous() bool {
	s, err := f.Space()
	return err == nil && s.Magic == unix.PIPEFS_MAGIC
}
