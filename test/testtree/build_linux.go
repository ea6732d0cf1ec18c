package testtree

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Make is Build without a test.
func Make(root, text string) (err error) {
	list, err := parse(text)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	b := builder{}
	if b.at, err = openCursor(root); err != nil {
		return err
	}
	defer b.at.close()
	b.at.make = true
	if b.from, err = openCursor(root); err != nil {
		return err
	}
	defer b.from.close()
	for e, err := range entries(list) {
		if err != nil {
			return err
		}
		if err := b.add(e); err != nil {
			return fmt.Errorf("line %d: %w", e.line, err)
		}
	}
	return b.finish()
}

type builder struct {
	at, from *cursor // the new name's directory; a hard link's target's
	dirs     []entry // to be finished
	buf      []byte
}

// add makes one entry. Directories stay 0700 until finish, so that entries can
// still be made beneath them.
func (b *builder) add(e entry) error {
	if e.kind == 'd' {
		b.dirs = append(b.dirs, e)
		return b.directory(e.name)
	}
	dir, base := split(e.name)
	if err := b.at.cd(dir); err != nil {
		return err
	}
	if err := unix.Unlinkat(b.at.fd, base, 0); err != nil && err != unix.ENOENT {
		return b.at.fail("unlink", base, err)
	}
	if err := b.create(e, base); err != nil {
		return err
	}
	if e.kind == 'h' {
		return nil
	}
	return b.dress(e, base)
}

func (b *builder) directory(name string) error {
	if err := b.at.cd(name); err != nil {
		return err
	}
	if err := unix.Fchmod(b.at.fd, 0o700); err != nil {
		return &os.PathError{Op: "chmod", Path: name, Err: err}
	}
	return nil
}

func (b *builder) create(e entry, base string) error {
	op, err := "mknod", error(nil)
	switch e.kind {
	case 'f':
		return b.file(e, base)
	case 'h':
		return b.link(e, base)
	case 'l':
		op, err = "symlink", unix.Symlinkat(e.target, b.at.fd, base)
	case 'p':
		err = unix.Mknodat(b.at.fd, base, unix.S_IFIFO|0o600, 0)
	case 's':
		err = unix.Mknodat(b.at.fd, base, unix.S_IFSOCK|0o600, 0)
	case 'c':
		err = unix.Mknodat(b.at.fd, base, unix.S_IFCHR|0o600, int(unix.Mkdev(e.major, e.minor)))
	case 'b':
		err = unix.Mknodat(b.at.fd, base, unix.S_IFBLK|0o600, int(unix.Mkdev(e.major, e.minor)))
	}
	if err != nil {
		return b.at.fail(op, base, err)
	}
	return nil
}

func (b *builder) link(e entry, base string) error {
	dir, name := split(e.target)
	if err := b.from.cd(dir); err != nil {
		return err
	}
	if err := unix.Linkat(b.from.fd, name, b.at.fd, base, 0); err != nil {
		return &os.LinkError{Op: "link", Old: e.target, New: e.name, Err: err}
	}
	return nil
}

func (b *builder) file(e entry, base string) error {
	fd, err := unix.Openat(b.at.fd, base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return b.at.fail("create", base, err)
	}
	err = b.fill(fd, e)
	if cerr := unix.Close(fd); err == nil {
		err = cerr
	}
	if err != nil {
		return b.at.fail("write", base, err)
	}
	return nil
}

// fill writes the segments; what ends in a hole ends by truncate.
func (b *builder) fill(fd int, e entry) error {
	var offset, reached int64
	for _, seg := range e.content {
		end := offset + seg.size
		if end < offset {
			return unix.EFBIG
		}
		var err error
		switch seg.kind {
		case segHole:
		case segFalloc:
			if seg.size > 0 {
				err = unix.Fallocate(fd, 0, offset, seg.size)
			}
		default:
			err = b.write(fd, offset, seg.size, seg.source(e.name, offset))
		}
		if err != nil {
			return err
		}
		offset = end
		if seg.kind != segHole && seg.size > 0 {
			reached = end
		}
	}
	if reached == offset {
		return nil
	}
	return unix.Ftruncate(fd, offset)
}

func (b *builder) write(fd int, offset, size int64, next func([]byte)) error {
	for size > 0 {
		if b.buf == nil {
			b.buf = make([]byte, 1<<20)
		}
		buf := b.buf[:min(size, int64(len(b.buf)))]
		next(buf)
		for done := 0; done < len(buf); {
			n, err := unix.Pwrite(fd, buf[done:], offset+int64(done))
			switch {
			case err == unix.EINTR:
			case err != nil:
				return err
			case n == 0:
				return io.ErrShortWrite
			}
			done += max(n, 0)
		}
		offset += int64(len(buf))
		size -= int64(len(buf))
	}
	return nil
}

// finish gives directories their attributes, the deepest first: nothing beneath
// a finished one changes any more, and it can still be reached.
func (b *builder) finish() error {
	b.at.make = false
	slices.SortStableFunc(b.dirs, func(x, y entry) int { return depth(y.name) - depth(x.name) })
	for _, e := range b.dirs {
		dir, base := split(e.name)
		err := b.at.cd(dir)
		if err == nil {
			err = b.dress(e, base)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", e.line, err)
		}
	}
	return nil
}

func depth(name string) int {
	if name == "." {
		return 0
	}
	return 1 + strings.Count(name, "/")
}

// dress sets everything but content. Owner before mode (chown drops set-id) and
// before xattrs (it drops capabilities), xattrs before a mode that forbids
// writing, ACLs after the mode whose bits they replace, times last.
func (b *builder) dress(e entry, base string) error {
	a, fd := &e.attrs, b.at.fd
	if a.uid >= 0 || a.gid >= 0 {
		if err := unix.Fchownat(fd, base, a.uid, a.gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return b.at.fail("chown", base, err)
		}
	}
	for _, x := range a.xattrs {
		if err := unix.Lsetxattr(procPath(fd, base), x.name, []byte(x.value), 0); err != nil {
			return b.at.fail("setxattr "+quote(x.name), base, err)
		}
	}
	if e.kind != 'l' {
		if err := unix.Fchmodat(fd, base, e.mode, 0); err != nil {
			return b.at.fail("chmod", base, err)
		}
	}
	if err := b.setACL(base, aclAccess, a.acl, e.mode); err != nil {
		return err
	}
	if err := b.setACL(base, aclDefault, a.dacl, e.mode); err != nil {
		return err
	}
	if a.mtime == nil && a.atime == nil {
		return nil
	}
	ts := []unix.Timespec{timespec(a.atime), timespec(a.mtime)}
	if err := unix.UtimesNanoAt(fd, base, ts, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return b.at.fail("utimes", base, err)
	}
	return nil
}

const (
	aclAccess  = "system.posix_acl_access"
	aclDefault = "system.posix_acl_default"
)

func (b *builder) setACL(base, name string, a acl, mode uint32) error {
	if a == nil {
		return nil
	}
	if err := unix.Lsetxattr(procPath(b.at.fd, base), name, a.complete(mode).encode(), 0); err != nil {
		return b.at.fail("setxattr "+name, base, err)
	}
	return nil
}

func timespec(t *time.Time) unix.Timespec {
	if t == nil {
		return unix.Timespec{Nsec: unix.UTIME_OMIT}
	}
	ts, err := unix.TimeToTimespec(*t)
	if err != nil {
		panic(err) // a time that this system has no seconds for
	}
	return ts
}

// procPath names an entry beneath a descriptor for the calls that have no *at
// form; the kernel resolves it in one step at any depth.
func procPath(fd int, base string) string {
	return "/proc/self/fd/" + strconv.Itoa(fd) + "/" + base
}
