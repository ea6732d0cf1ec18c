//go:build !portable

package sys

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Dir is an open directory. Every name given to its methods is the name of one
// entry, never a path, and no method follows a symbolic link unless it says so:
// what a Dir changes stands beneath it.
//
// A Dir may be used by many goroutines, but read (Read, Rewind) by one at a time.
// Its descriptor may be closed while it
// is idle and opened again on demand (see parking_linux.go), so a tree may be
// deeper than the process may have files open.
type Dir struct {
	fd     int
	parent *Dir   // nil for a root, which is never parked
	name   string // in parent; for a root the path as it was given

	uses   atomic.Int32 // calls under way; parked when negative
	refs   atomic.Int32
	recent atomic.Bool // used since the clock's hand last passed

	mu       sync.Mutex // held while parking and reopening
	dev, ino uint64     // known once parked; under mu
	cookie   int64      // where Read goes on; like end written between enter and leave
	end      bool       // Read has come to the end
	slot     int        // in the table of open directories, under its lock
}

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_LARGEFILE

// OpenRoot opens the directory a path leads to, symbolic links followed. The
// path may be longer than PATH_MAX; an empty one means the working directory.
func OpenRoot(path string) (*Dir, error) {
	fd, err := openLong(here(path))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	d := &Dir{fd: fd, name: path}
	d.refs.Store(1)
	return d, nil
}

func openLong(path string) (int, error) {
	if err := retry("openat", path, func() error { return nil }); err != nil {
		return -1, err
	}
	at := unix.AT_FDCWD
	for len(path) >= unix.PathMax {
		cut := strings.LastIndexByte(path[:unix.PathMax-1], '/')
		if cut < 0 {
			return -1, unix.ENAMETOOLONG
		}
		if cut == 0 {
			cut = 1
		}
		fd, err := openPart(at, path[:cut], unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC)
		if at != unix.AT_FDCWD {
			unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at, path = fd, strings.TrimLeft(path[cut:], "/")
		if path == "" {
			path = "."
		}
	}
	fd, err := openPart(at, path, dirFlags)
	if at != unix.AT_FDCWD {
		unix.Close(at)
	}
	return fd, err
}

// openPart opens a path that may have many parts.
func openPart(at int, path string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(at, path, flags, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// OpenDir opens the directory an entry is. A symbolic link is refused (ENOTDIR).
func (d *Dir) OpenDir(name string) (*Dir, error) {
	fd, err := d.openDirFD(name)
	if err != nil {
		return nil, d.pathErr("open", name, err)
	}
	d.refs.Add(1)
	sub := &Dir{fd: fd, parent: d, name: strings.Clone(name)} // name may live in a buffer of Read
	sub.refs.Store(1)
	openDirs.add(sub)
	return sub, nil
}

// OpenDirFollow opens the directory an entry leads to, symbolic links followed:
// for reading sources only, the one place where a user may ask for it. What is
// behind a link is never parked.
func (d *Dir) OpenDirFollow(name string) (*Dir, error) {
	sub, err := d.OpenDir(name)
	if err == nil || !NotDir(err) {
		return sub, err
	}
	var fd int
	err = d.do("openat", name, func(at int) (err error) {
		fd, err = unix.Openat(at, name, dirFlags, 0)
		return err
	})
	if err != nil {
		return nil, d.pathErr("open", name, err)
	}
	sub = &Dir{fd: fd, name: d.Join(name)}
	sub.refs.Store(1)
	return sub, nil
}

func (d *Dir) openDirFD(name string) (int, error) {
	at, err := d.enter()
	if err != nil {
		return -1, err
	}
	defer d.leave()
	return openat(at, name, dirFlags|unix.O_NOFOLLOW, 0)
}

// Close gives up a reference; the last one closes the descriptor. Directories
// opened beneath d keep it alive until they are closed themselves.
func (d *Dir) Close() error {
	if d.refs.Add(-1) > 0 {
		return nil
	}
	parent := d.parent
	if parent != nil {
		openDirs.remove(d)
	}
	d.mu.Lock()
	fd := d.fd
	d.fd = -1
	d.mu.Unlock()
	var err error
	if fd >= 0 {
		if parent != nil && parent.parked() && parent.refs.Load() > 1 {
			parent.reviveFrom(fd)
		}
		err = unix.Close(fd)
	}
	if parent != nil {
		if e := parent.Close(); err == nil {
			err = e
		}
	}
	return err
}

// do runs a call on the directory's descriptor, again for as long as a signal
// interrupts it.
func (d *Dir) do(call, name string, f func(at int) error) error {
	at, err := d.enter()
	if err != nil {
		return err
	}
	defer d.leave()
	return retry(call, name, func() error { return f(at) })
}

// entry runs a call on one entry, its name checked first.
func (d *Dir) entry(op, call, name string, f func(at int) error) error {
	var c cname
	err := c.set(name)
	if err == nil {
		err = d.do(call, name, f)
	}
	return d.pathErr(op, name, err)
}

// With lends the directory's own descriptor as a File, for the time of f: to
// stat it, to set its metadata, to sync it.
func (d *Dir) With(f func(*File) error) error {
	at, err := d.enter()
	if err != nil {
		return d.pathErr("open", ".", err)
	}
	defer d.leave()
	return f(&File{fd: at, dir: d, name: "."})
}

// Open opens an entry into f, which keeps name for messages: it must stay valid
// while f is open. The flags are those of open(2); a symbolic link
// is refused (ELOOP), a FIFO without a peer never blocks, umask applies to perm.
func (d *Dir) Open(f *File, name string, flags int, perm uint32) error {
	return d.open(f, name, flags|unix.O_NOFOLLOW, perm)
}

// OpenFollow is Open that follows a symbolic link: for reading sources only.
func (d *Dir) OpenFollow(f *File, name string, flags int) error {
	return d.open(f, name, flags, 0)
}

func (d *Dir) open(f *File, name string, flags int, perm uint32) error {
	at, err := d.enter()
	if err == nil {
		f.fd, err = openat(at, name, flags|unix.O_NONBLOCK|unix.O_NOCTTY, perm)
		d.leave()
	}
	if err != nil {
		return d.pathErr("open", name, err)
	}
	f.dir, f.name = d, name
	return nil
}

// Lstat describes an entry, never following it. A name that does not exist
// gives a bare ENOENT, which costs no allocation: the commonest answer.
func (d *Dir) Lstat(name string, st *Stat) error {
	return d.stat(name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, st)
}

// Stat is Lstat that follows a symbolic link.
func (d *Dir) Stat(name string, st *Stat) error { return d.stat(name, 0, st) }

func (d *Dir) stat(name string, flags int, st *Stat) error {
	at, err := d.enter()
	if err != nil {
		return d.pathErr("stat", name, err)
	}
	defer d.leave()
	var c cname
	if err = c.set(name); err == nil {
		for {
			if err = inject("statx", name); err == nil {
				err = statx(at, &c, flags, st)
			}
			if err == unix.ENOSYS { // Linux before 4.11, and sandboxes
				err = fstatat(at, name, flags, st)
			}
			if err != unix.EINTR {
				break
			}
		}
	}
	if err == nil || err == unix.ENOENT {
		return err
	}
	return d.pathErr("stat", name, err)
}

// Mkdir makes a directory; umask applies to perm.
func (d *Dir) Mkdir(name string, perm uint32) error {
	return d.entry("mkdir", "mkdirat", name, func(at int) error { return unix.Mkdirat(at, name, perm) })
}

// Symlink makes a symbolic link that holds target.
func (d *Dir) Symlink(target, name string) error {
	return d.entry("symlink", "symlinkat", name, func(at int) error { return unix.Symlinkat(target, at, name) })
}

// Readlink reads what a symbolic link holds.
func (d *Dir) Readlink(name string) (string, error) {
	buf := make([]byte, 256)
	for {
		var n int
		err := d.entry("readlink", "readlinkat", name, func(at int) (err error) {
			n, err = unix.Readlinkat(at, name, buf)
			return err
		})
		if err != nil {
			return "", err
		}
		if n < len(buf) {
			return string(buf[:n]), nil
		}
		buf = make([]byte, 4*len(buf))
	}
}

// Mknod makes a FIFO, a socket or a device; umask applies to mode.
func (d *Dir) Mknod(name string, mode uint32, rdev uint64) error {
	return d.entry("mknod", "mknodat", name, func(at int) error { return unix.Mknodat(at, name, mode, int(rdev)) })
}

// Remove removes an entry that is no directory.
func (d *Dir) Remove(name string) error {
	return d.entry("remove", "unlinkat", name, func(at int) error { return unix.Unlinkat(at, name, 0) })
}

// RemoveDir removes an empty directory.
func (d *Dir) RemoveDir(name string) error {
	return d.entry("remove", "unlinkat", name, func(at int) error { return unix.Unlinkat(at, name, unix.AT_REMOVEDIR) })
}

// Link makes name in d one more name of the file that old in from is.
func (d *Dir) Link(from *Dir, old, name string) error {
	return between("link", "linkat", from, old, d, name, func(a, b int) error { return unix.Linkat(a, old, b, name, 0) })
}

// LinkFollow is Link on what the symbolic link old leads to.
func (d *Dir) LinkFollow(from *Dir, old, name string) error {
	return between("link", "linkat", from, old, d, name, func(a, b int) error {
		return unix.Linkat(a, old, b, name, unix.AT_SYMLINK_FOLLOW)
	})
}

// Rename gives an entry a new name in to, over whatever stands there.
func (d *Dir) Rename(old string, to *Dir, name string) error {
	var from, under cname // no copies of the names on the heap: a rename is on the hot path
	return between("rename", "renameat", d, old, to, name, func(a, b int) error {
		from.set(old) // both were checked
		under.set(name)
		_, _, e := unix.Syscall6(unix.SYS_RENAMEAT2, uintptr(a), uintptr(unsafe.Pointer(&from)), uintptr(b), uintptr(unsafe.Pointer(&under)), 0, 0)
		return errnoOf(e)
	})
}

// RenameNew is Rename that fails with EEXIST rather than replace anything.
func (d *Dir) RenameNew(old string, to *Dir, name string) error {
	err := between("rename", "renameat2", d, old, to, name, func(a, b int) error {
		return unix.Renameat2(a, old, b, name, unix.RENAME_NOREPLACE)
	})
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return d.renameByLink(old, to, name) // the file system lacks the flag
	}
	return err
}

// renameByLink is RenameNew in two steps, of which the first fails on a name
// that exists. A directory can have no second name, but replaces nothing except
// an empty one.
func (d *Dir) renameByLink(old string, to *Dir, name string) error {
	return between("rename", "linkat", d, old, to, name, func(a, b int) error {
		err := unix.Linkat(a, old, b, name, 0)
		if err == nil {
			return unix.Unlinkat(a, old, 0)
		}
		var st unix.Stat_t
		if err == unix.EPERM && unix.Fstatat(b, name, &st, unix.AT_SYMLINK_NOFOLLOW) == unix.ENOENT {
			err = unix.Renameat(a, old, b, name)
		}
		return err
	})
}

// Exchange swaps what two names lead to, in one step.
func (d *Dir) Exchange(old string, to *Dir, name string) error {
	return between("exchange", "renameat2", d, old, to, name, func(a, b int) error {
		return unix.Renameat2(a, old, b, name, unix.RENAME_EXCHANGE)
	})
}

func between(op, call string, from *Dir, old string, to *Dir, name string, f func(a, b int) error) error {
	var c cname
	err := c.set(old)
	if err == nil {
		err = c.set(name)
	}
	if err == nil {
		err = from.do(call, name, func(a int) error {
			b, err := to.enter()
			if err != nil {
				return err
			}
			defer to.leave()
			return f(a, b)
		})
	}
	return linkErr(op, from, old, to, name, err)
}

// Chown sets the owner of an entry itself, symbolic links included; -1 keeps.
func (d *Dir) Chown(name string, uid, gid int) error {
	return d.entry("chown", "fchownat", name, func(at int) error {
		return unix.Fchownat(at, name, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
	})
}

// Chmod sets the mode of an entry that is no symbolic link, and never that of
// what a link leads to.
func (d *Dir) Chmod(name string, mode uint32) error {
	err := d.entry("chmod", "fchmodat2", name, func(at int) error {
		return unix.Fchmodat(at, name, mode&PermMask, unix.AT_SYMLINK_NOFOLLOW)
	})
	if err == nil || !NotSupported(err) {
		return err
	}
	// Linux before 6.6, or a link. A descriptor that only names the entry cannot
	// be led elsewhere.
	return d.entry("chmod", "fchmodat", name, func(at int) error {
		fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		if st.Mode&TypeMask == TypeSymlink {
			return unix.EOPNOTSUPP
		}
		return unix.Chmod(procPath(fd), mode&PermMask)
	})
}

// SetTimes sets the times of an entry itself; nil keeps.
func (d *Dir) SetTimes(name string, atime, mtime *Time) error {
	ts := timespecs(atime, mtime)
	return d.entry("chtimes", "utimensat", name, func(at int) error {
		return unix.UtimesNanoAt(at, name, ts[:], unix.AT_SYMLINK_NOFOLLOW)
	})
}

// SyncFS makes everything on the directory's file system durable.
func (d *Dir) SyncFS() error {
	return d.pathErr("syncfs", ".", d.do("syncfs", ".", unix.Syncfs))
}

// Read appends the next entries of the directory to list, as many as buf takes,
// "." and ".." left out; it appends none only at the end. Names live in buf.
func (d *Dir) Read(buf []byte, list []Dirent) ([]Dirent, error) {
	before := len(list)
	for {
		n := 0
		// The position is noted before the directory may be parked again.
		err := d.do("getdents64", ".", func(at int) (err error) {
			if d.end {
				return nil
			}
			if n, err = unix.Getdents(at, buf); err == nil {
				list = d.parse(buf[:n], list)
				d.end = n == 0
			}
			return err
		})
		if err != nil {
			return list, d.pathErr("readdir", ".", err)
		}
		if n == 0 || len(list) > before {
			return list, nil
		}
	}
}

// Rewind makes Read start over.
func (d *Dir) Rewind() error {
	return d.pathErr("seek", ".", d.do("lseek", ".", func(at int) error {
		_, err := unix.Seek(at, 0, unix.SEEK_SET)
		if err == nil && d.ino != 0 {
			// It was parked. ext4 would read nothing more on a descriptor whose
			// first read was at the end, unless it has read at another place.
			var waste [1024]byte
			if _, err = unix.Getdents(at, waste[:]); err == nil {
				_, err = unix.Seek(at, 0, unix.SEEK_SET)
			}
		}
		if err == nil {
			d.cookie, d.end = 0, false
		}
		return err
	}))
}

// direntHead is how unix.Dirent begins: that type is longer than an entry, and
// the last one of a buffer has nothing behind it.
type direntHead struct {
	Ino    uint64
	Off    int64
	Reclen uint16
	Type   uint8
}

func (d *Dir) parse(buf []byte, list []Dirent) []Dirent {
	for len(buf) > 0 {
		e := (*direntHead)(unsafe.Pointer(&buf[0]))
		raw := buf[unsafe.Offsetof(unix.Dirent{}.Name):e.Reclen]
		d.cookie = e.Off
		n := 0
		for n < len(raw) && raw[n] != 0 {
			n++
		}
		name := unsafe.String(&raw[0], n)
		if name != "." && name != ".." {
			list = append(list, Dirent{Ino: e.Ino, Type: uint32(e.Type) << 12, Name: name})
		}
		buf = buf[e.Reclen:]
	}
	return list
}

func procPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }
