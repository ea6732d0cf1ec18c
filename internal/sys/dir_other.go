//go:build portable || !linux

package sys

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
)

// This is the implementation for systems other than Linux, on top of os.Root.
// It keeps the promises of the Linux one but for what os.Root cannot give: a
// call between two directories goes through their nearest common parent, and
// what a link leads to is reached by path. The tag "portable" builds it on
// Linux too, where its tests run.

// Dir is an open directory. Every name given to its methods is the name of one
// entry, never a path, and no method follows a symbolic link unless it says so:
// what a Dir changes stands beneath it. A Dir may be used by many goroutines.
type Dir struct {
	root   *os.Root
	parent *Dir   // nil for a root
	name   string // in parent; for a root the path as it was given
	refs   atomic.Int32

	mu     sync.Mutex // of reader
	reader *os.File   // where Read goes on; nil: at the beginning
}

func newDir(r *os.Root, parent *Dir, name string) *Dir {
	d := &Dir{root: r, parent: parent, name: name}
	d.refs.Store(1)
	return d
}

// OpenRoot opens the directory a path leads to, symbolic links followed; an
// empty one means the working directory.
func OpenRoot(path string) (*Dir, error) {
	err := inject("openat", path)
	var r *os.Root
	if err == nil {
		r, err = os.OpenRoot(here(path))
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: bare(err)}
	}
	return newDir(r, nil, path), nil
}

// OpenDir opens the directory an entry is. A symbolic link is refused (ENOTDIR).
func (d *Dir) OpenDir(name string) (*Dir, error) {
	var r *os.Root
	err := d.entry("open", "openat", name, func() error {
		before, err := d.root.Lstat(name)
		if err != nil {
			return err
		}
		if !before.IsDir() {
			return ErrNotDir
		}
		if r, err = d.root.OpenRoot(name); err != nil {
			return err
		}
		after, err := r.Stat(".")
		if err == nil && !os.SameFile(before, after) {
			err = errReplaced
		}
		if err != nil {
			r.Close()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	d.refs.Add(1)
	return newDir(r, d, name), nil
}

// OpenDirFollow opens the directory an entry leads to, symbolic links followed:
// for reading sources only, the one place where a user may ask for it.
func (d *Dir) OpenDirFollow(name string) (*Dir, error) {
	var r *os.Root
	err := d.entry("open", "openat", name, func() (err error) {
		r, err = os.OpenRoot(d.Join(name))
		return err
	})
	if err != nil {
		return nil, err
	}
	return newDir(r, nil, d.Join(name)), nil
}

// Close gives up a reference; the last one closes the directory. Directories
// opened beneath d keep it alive until they are closed themselves.
func (d *Dir) Close() error {
	if d.refs.Add(-1) > 0 {
		return nil
	}
	err := d.Rewind()
	err = errors.Join(err, d.root.Close())
	if d.parent != nil {
		err = errors.Join(err, d.parent.Close())
	}
	return err
}

// entry runs a call on one entry, its name checked first.
func (d *Dir) entry(op, call, name string, f func() error) error {
	err := checkName(name)
	if err == nil {
		err = retry(call, name, f)
	}
	return d.pathErr(op, name, bare(err))
}

// With lends the directory as a File, for the time of f: to stat it, to set its
// metadata, to sync it.
func (d *Dir) With(f func(*File) error) error {
	dir, err := d.root.Open(".")
	if err != nil {
		return d.pathErr("open", ".", bare(err))
	}
	defer dir.Close()
	return f(&File{f: dir, dir: d, name: "."})
}

// Open opens an entry into f. The flags are those of open(2); a symbolic link
// is refused (ELOOP), a FIFO without a peer never blocks, umask applies to perm.
func (d *Dir) Open(f *File, name string, flags int, perm uint32) error {
	var file *os.File
	err := d.entry("open", "openat", name, func() (err error) {
		for tries := 0; ; tries++ {
			file, err = d.openOnce(name, flags, perm)
			if err != errReplaced || tries == 8 {
				return err
			}
		}
	})
	if err == nil {
		*f = File{f: file, dir: d, name: name, poll: true}
	}
	return err
}

// openOnce looks, opens, and looks again whether it is the same. errReplaced
// says that the entry was changed in between.
func (d *Dir) openOnce(name string, flags int, perm uint32) (*os.File, error) {
	before, err := d.root.Lstat(name)
	switch {
	case err == nil && flags&CreateNew == CreateNew:
		return nil, syscall.EEXIST
	case err == nil && before.Mode()&fs.ModeSymlink != 0:
		return nil, errSymlink
	case errors.Is(err, fs.ErrNotExist) && flags&CreateAny != 0:
		f, err := d.root.OpenFile(name, flags|CreateNew|openFlags, fs.FileMode(perm&0o777))
		if errors.Is(err, fs.ErrExist) && flags&CreateNew != CreateNew {
			err = errReplaced
		}
		return f, err
	case err != nil:
		return nil, err
	}
	f, err := d.root.OpenFile(name, flags&^CreateNew|openFlags, 0)
	if err != nil {
		return nil, err
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = errReplaced
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// OpenFollow is Open that follows a symbolic link: for reading sources only.
func (d *Dir) OpenFollow(f *File, name string, flags int) error {
	var file *os.File
	err := d.entry("open", "openat", name, func() (err error) {
		file, err = os.OpenFile(d.Join(name), flags|openFlags, 0)
		return err
	})
	if err == nil {
		*f = File{f: file, dir: d, name: name, poll: true}
	}
	return err
}

// Lstat describes an entry, never following it. A name that does not exist
// gives a bare error: see IsNotExist.
func (d *Dir) Lstat(name string, st *Stat) error {
	return d.stat(name, st, func() (fs.FileInfo, error) { return d.root.Lstat(name) })
}

// Stat is Lstat that follows a symbolic link.
func (d *Dir) Stat(name string, st *Stat) error {
	return d.stat(name, st, func() (fs.FileInfo, error) { return os.Stat(d.Join(name)) })
}

func (d *Dir) stat(name string, st *Stat, f func() (fs.FileInfo, error)) error {
	err := checkName(name)
	var fi fs.FileInfo
	if err == nil {
		err = retry("statx", name, func() (err error) {
			fi, err = f()
			return err
		})
	}
	if err == nil {
		statOf(fi, st)
		identifyBy(st, func() (*os.File, error) { return d.root.Open(name) })
		return nil
	}
	if err = bare(err); IsNotExist(err) {
		return err
	}
	return d.pathErr("stat", name, err)
}

// Mkdir makes a directory; umask applies to perm.
func (d *Dir) Mkdir(name string, perm uint32) error {
	return d.entry("mkdir", "mkdirat", name, func() error { return d.root.Mkdir(name, fs.FileMode(perm&0o777)) })
}

// Symlink makes a symbolic link that holds target.
func (d *Dir) Symlink(target, name string) error {
	return d.entry("symlink", "symlinkat", name, func() error { return d.root.Symlink(target, name) })
}

// Readlink reads what a symbolic link holds.
func (d *Dir) Readlink(name string) (target string, err error) {
	err = d.entry("readlink", "readlinkat", name, func() (err error) {
		target, err = d.root.Readlink(name)
		return err
	})
	return target, err
}

// Mknod makes a FIFO, a socket or a device; umask applies to mode. It goes by
// path, and fails if that no longer led here.
func (d *Dir) Mknod(name string, mode uint32, rdev uint64) error {
	return d.entry("mknod", "mknodat", name, func() error {
		if !d.ledTo() {
			return errReplaced
		}
		return mknod(d.Join(name), mode, rdev)
	})
}

// ledTo reports whether the directory's path still leads to it.
func (d *Dir) ledTo() bool {
	here, err := d.root.Stat(".")
	if err != nil {
		return false
	}
	there, err := os.Stat(d.Path())
	return err == nil && os.SameFile(here, there)
}

// Remove removes an entry that is no directory.
func (d *Dir) Remove(name string) error {
	return d.entry("remove", "unlinkat", name, func() error {
		fi, err := d.root.Lstat(name)
		if err == nil && fi.IsDir() {
			err = ErrIsDir
		}
		if err != nil {
			return err
		}
		return d.root.Remove(name)
	})
}

// RemoveDir removes an empty directory.
func (d *Dir) RemoveDir(name string) error {
	return d.entry("remove", "unlinkat", name, func() error {
		fi, err := d.root.Lstat(name)
		if err == nil && !fi.IsDir() {
			err = ErrNotDir
		}
		if err != nil {
			return err
		}
		return d.root.Remove(name)
	})
}

// Link makes name in d one more name of the file that old in from is.
func (d *Dir) Link(from *Dir, old, name string) error {
	return between("link", "linkat", from, old, d, name, (*os.Root).Link, os.Link)
}

// LinkFollow is Link on what the symbolic link old leads to.
func (d *Dir) LinkFollow(from *Dir, old, name string) error {
	byPath := func(a, b string) error {
		a, err := filepath.EvalSymlinks(a)
		if err != nil {
			return err
		}
		return os.Link(a, b)
	}
	return between("link", "linkat", from, old, d, name, nil, byPath)
}

// Rename gives an entry a new name in to, over whatever stands there.
func (d *Dir) Rename(old string, to *Dir, name string) error {
	return between("rename", "renameat", d, old, to, name, (*os.Root).Rename, os.Rename)
}

// RenameNew is Rename that fails with EEXIST rather than replace anything. Only
// for files is that one step.
func (d *Dir) RenameNew(old string, to *Dir, name string) error {
	err := between("rename", "renameat2", d, old, to, name, (*os.Root).Link, os.Link)
	if err == nil {
		return d.Remove(old)
	}
	if IsExist(err) || !TryAnotherWay(err) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	var st Stat
	if err := to.Lstat(name, &st); !IsNotExist(err) {
		if err == nil {
			err = linkErr("rename", d, old, to, name, syscall.EEXIST)
		}
		return err
	}
	return d.Rename(old, to, name)
}

// Exchange swaps what two names lead to, in one step.
func (d *Dir) Exchange(old string, to *Dir, name string) error {
	refuse := func(a, b string) error { return errNotSupported }
	return between("exchange", "renameat2", d, old, to, name, nil, refuse)
}

// between calls beneath the nearest directory above both, if there is one and
// the way down from it still leads to them; else by path.
func between(op, call string, from *Dir, old string, to *Dir, name string,
	beneath func(r *os.Root, a, b string) error, byPath func(a, b string) error) error {
	err := checkName(old)
	if err == nil {
		err = checkName(name)
	}
	if err == nil {
		err = retry(call, name, func() error {
			above, a, b := common(from, to)
			if above == nil || beneath == nil {
				if !from.ledTo() || !to.ledTo() {
					return errReplaced
				}
				return byPath(from.Join(old), to.Join(name))
			}
			if !above.leadsTo(a, from) || !above.leadsTo(b, to) {
				return errReplaced
			}
			return beneath(above.root, filepath.Join(a, old), filepath.Join(b, name))
		})
	}
	return linkErr(op, from, old, to, name, bare(err))
}

// common is the nearest directory above both, nil if there is none, and the way
// down from it to each.
func common(a, b *Dir) (above *Dir, wayA, wayB string) {
	for above = a; above != nil; above = above.parent {
		wayB = "."
		for d := b; d != nil; d = d.parent {
			if d == above {
				return above, wayA, wayB
			}
			wayB = filepath.Join(d.name, wayB)
		}
		wayA = filepath.Join(above.name, wayA)
	}
	return nil, "", ""
}

func (d *Dir) leadsTo(way string, below *Dir) bool {
	if d == below {
		return true
	}
	there, err := d.root.Lstat(way)
	if err != nil {
		return false
	}
	here, err := below.root.Stat(".")
	return err == nil && os.SameFile(here, there)
}

// Chown sets the owner of an entry itself, symbolic links included; -1 keeps.
func (d *Dir) Chown(name string, uid, gid int) error {
	return d.entry("chown", "fchownat", name, func() error { return d.root.Lchown(name, uid, gid) })
}

// Chmod sets the mode of an entry that is no symbolic link, and never that of
// what a link leads to outside of d.
func (d *Dir) Chmod(name string, mode uint32) error {
	return d.entry("chmod", "fchmodat", name, func() error {
		if err := d.noLink(name); err != nil {
			return err
		}
		return d.root.Chmod(name, FileMode(mode&PermMask))
	})
}

// SetTimes sets the times of an entry; nil keeps. Those of a symbolic link
// cannot be set.
func (d *Dir) SetTimes(name string, atime, mtime *Time) error {
	return d.entry("chtimes", "utimensat", name, func() error {
		if err := d.noLink(name); err != nil {
			return err
		}
		return d.root.Chtimes(name, stdTime(atime), stdTime(mtime))
	})
}

// noLink refuses symbolic links, which os.Root would follow.
func (d *Dir) noLink(name string) error {
	fi, err := d.root.Lstat(name)
	if err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		err = errNotSupported
	}
	return err
}

// SyncFS makes everything on the directory's file system durable: no system but
// Linux can.
func (d *Dir) SyncFS() error {
	return d.entry("syncfs", "syncfs", ".", func() error { return errNotSupported })
}

// Read appends the next entries of the directory to list, about as many as buf
// would take; it appends none only at the end.
func (d *Dir) Read(buf []byte, list []Dirent) ([]Dirent, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.entry("readdir", "getdents64", ".", func() (err error) {
		if d.reader == nil {
			if d.reader, err = d.root.Open("."); err != nil {
				d.reader = nil
				return err
			}
		}
		const entrySize = 64 // bytes, typically
		entries, err := d.reader.ReadDir(max(1, len(buf)/entrySize))
		for _, e := range entries {
			list = append(list, Dirent{Name: e.Name(), Type: typeOf(e.Type())})
		}
		if err == io.EOF || len(entries) > 0 {
			err = nil
		}
		return err
	})
	return list, err
}

// Rewind makes Read start over.
func (d *Dir) Rewind() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.reader
	d.reader = nil
	if r == nil {
		return nil
	}
	return d.pathErr("close", ".", bare(r.Close()))
}

// typeOf is the bits of TypeMask for a Go file type.
func typeOf(m fs.FileMode) uint32 {
	switch m & fs.ModeType {
	case 0:
		return TypeRegular
	case fs.ModeDir:
		return TypeDir
	case fs.ModeSymlink:
		return TypeSymlink
	case fs.ModeNamedPipe:
		return TypeFIFO
	case fs.ModeSocket:
		return TypeSocket
	case fs.ModeDevice:
		return TypeBlock
	case fs.ModeDevice | fs.ModeCharDevice:
		return TypeChar
	}
	return 0
}

// Within reports whether the directory that path leads to is the one st
// describes, or stands somewhere beneath it.
func Within(path string, st *Stat) (bool, error) {
	at, err := filepath.EvalSymlinks(path)
	if err == nil {
		at, err = filepath.Abs(at)
	}
	for err == nil {
		var here Stat
		if err = StatPath(at, true, &here); err != nil {
			break
		}
		up := filepath.Dir(at)
		if here.Same(st) || up == at {
			return here.Same(st), nil
		}
		at = up
	}
	return false, &fs.PathError{Op: "open", Path: path, Err: bare(err)}
}

// StatPath describes what a path leads to, the last symbolic link followed or not.
func StatPath(path string, follow bool, st *Stat) error {
	stat := os.Lstat
	if follow {
		stat = os.Stat
	}
	err := retry("statx", path, func() error {
		fi, err := stat(path)
		if err != nil {
			return err
		}
		statOf(fi, st)
		identifyBy(st, func() (*os.File, error) { return os.Open(path) })
		return nil
	})
	if err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: bare(err)}
	}
	return nil
}

// identifyBy asks an open file who it is, where a name does not tell. One that
// cannot be opened stays unlike any other.
func identifyBy(st *Stat, open func() (*os.File, error)) {
	if namesIdentify || !st.IsRegular() && !st.IsDir() {
		return
	}
	if f, err := open(); err == nil {
		identify(f, st)
		f.Close()
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
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// bare takes the operation and the path off an error of package os: this
// package gives them itself.
func bare(err error) error {
	for {
		switch e := err.(type) {
		case *fs.PathError:
			err = e.Err
		case *os.LinkError:
			err = e.Err
		case *os.SyscallError:
			err = e.Err
		default:
			return err
		}
	}
}

// XattrsSupported tells whether this system has extended attributes that haul
// can copy.
const XattrsSupported = false

// ListXattr tells that there are no extended attributes. The errors of these
// methods are bare.
func (d *Dir) ListXattr(name string, buf []byte) (int, error) { return 0, errNotSupported }

// GetXattr is ListXattr for one value.
func (d *Dir) GetXattr(name, attr string, buf []byte) (int, error) { return 0, errNotSupported }

// SetXattr refuses.
func (d *Dir) SetXattr(name, attr string, value []byte) error { return errNotSupported }

// RemoveXattr refuses.
func (d *Dir) RemoveXattr(name, attr string) error { return errNotSupported }
