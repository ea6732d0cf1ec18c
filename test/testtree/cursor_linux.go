package testtree

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// cursor is a directory beneath a root, moved one component at a time: no path
// handed to the kernel is longer than a name, and one descriptor is open at
// however great a depth. It never follows a symlink beneath the root.
type cursor struct {
	root string
	fd   int
	dir  string // "." or clean and beneath the root
	make bool   // cd makes what is missing, mode 0755
}

// openDir opens to list, and leaves the access time alone where it may: a
// description must not change the tree it describes.
func openDir(at int, name string, extra int) (int, error) {
	return openQuiet(at, name, unix.O_DIRECTORY|extra)
}

func openQuiet(at int, name string, flags int) (int, error) {
	flags |= unix.O_RDONLY | unix.O_CLOEXEC
	fd, err := unix.Openat(at, name, flags|unix.O_NOATIME, 0)
	if err == unix.EPERM {
		fd, err = unix.Openat(at, name, flags, 0)
	}
	return fd, err
}

func openCursor(root string) (*cursor, error) {
	c := &cursor{root: root, fd: -1}
	return c, c.rewind()
}

func (c *cursor) rewind() error {
	fd, err := openDir(unix.AT_FDCWD, c.root, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: c.root, Err: err}
	}
	c.replace(fd, ".")
	return nil
}

func (c *cursor) replace(fd int, dir string) {
	if c.fd >= 0 {
		_ = unix.Close(c.fd) // a directory opened to read
	}
	c.fd, c.dir = fd, dir
}

func (c *cursor) close() { c.replace(-1, ".") }

// cd moves to dir, clean and beneath the root.
func (c *cursor) cd(dir string) error {
	for c.dir != dir && !within(dir, c.dir) {
		if err := c.up(); err != nil {
			return err
		}
	}
	for c.dir != dir {
		rest := dir
		if c.dir != "." {
			rest = dir[len(c.dir)+1:]
		}
		name, _, _ := strings.Cut(rest, "/")
		if err := c.down(name); err != nil {
			return err
		}
	}
	return nil
}

// within tells whether name lies beneath dir.
func within(name, dir string) bool {
	return dir == "." || len(name) > len(dir) && name[len(dir)] == '/' && name[:len(dir)] == dir
}

func (c *cursor) down(name string) error {
	if c.make {
		switch err := unix.Mkdirat(c.fd, name, 0o700); err {
		case nil:
			if err := unix.Fchmodat(c.fd, name, 0o755, 0); err != nil {
				return c.fail("chmod", name, err)
			}
		case unix.EEXIST:
		default:
			return c.fail("mkdir", name, err)
		}
	}
	fd, err := openDir(c.fd, name, unix.O_NOFOLLOW)
	if err != nil {
		return c.fail("open", name, err)
	}
	c.replace(fd, child(c.dir, name))
	return nil
}

// up goes to the parent: by "..", or down from the root where the directory
// cannot be searched.
func (c *cursor) up() error {
	dir, _ := split(c.dir)
	fd, err := openDir(c.fd, "..", 0)
	if err == nil {
		c.replace(fd, dir)
		return nil
	}
	if err := c.rewind(); err != nil {
		return err
	}
	return c.cd(dir)
}

func (c *cursor) fail(op, name string, err error) error {
	return &os.PathError{Op: op, Path: child(c.dir, name), Err: err}
}
