//go:build !portable

package sys

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// XattrsSupported tells whether this system has extended attributes.
const XattrsSupported = true

// ListXattr fills buf with the names of the file's extended attributes, each
// ended by a NUL, and returns their length. ERANGE means that buf is too small.
// The error is a bare errno.
func (f *File) ListXattr(buf []byte) (int, error) {
	for {
		err := inject("flistxattr", f.name)
		n := 0
		if err == nil {
			var p unsafe.Pointer
			if len(buf) > 0 {
				p = unsafe.Pointer(&buf[0])
			}
			r, _, e := unix.Syscall(unix.SYS_FLISTXATTR, uintptr(f.fd), uintptr(p), uintptr(len(buf)))
			n, err = int(r), errnoOf(e)
		}
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// GetXattr reads the value of an extended attribute into buf. ERANGE means that
// buf is too small; an empty buf asks for the length. The error is a bare errno.
func (f *File) GetXattr(attr string, buf []byte) (n int, err error) {
	err = retry("fgetxattr", f.name, func() (err error) {
		n, err = unix.Fgetxattr(f.fd, attr, buf)
		return err
	})
	return n, err
}

// SetXattr sets an extended attribute. The error is a bare errno.
func (f *File) SetXattr(attr string, value []byte) error {
	return retry("fsetxattr", f.name, func() error { return unix.Fsetxattr(f.fd, attr, value, 0) })
}

// RemoveXattr removes an extended attribute. The error is a bare errno.
func (f *File) RemoveXattr(attr string) error {
	return retry("fremovexattr", f.name, func() error { return unix.Fremovexattr(f.fd, attr) })
}

// ListXattr is File.ListXattr for an entry, never following it.
func (d *Dir) ListXattr(name string, buf []byte) (n int, err error) {
	if !noListXattrAt.Load() {
		n, err = d.listXattrAt(name, buf)
		if err != unix.ENOSYS && err != unix.EPERM { // EPERM: a sandbox that does not know the call
			return n, err
		}
		noListXattrAt.Store(true)
	}
	err = d.viaProc("llistxattr", name, func(path string) (err error) {
		n, err = unix.Llistxattr(path, buf)
		return err
	})
	return n, err
}

// noListXattrAt is set once the kernel turns out to be older than Linux 6.13.
var noListXattrAt atomic.Bool

const sysListXattrAt = 465 // but on MIPS, which has no such call under this number

// listXattrAt asks by directory descriptor: this is done for every entry of a
// tree that is copied a second time, and a way through /proc costs four times as much.
func (d *Dir) listXattrAt(name string, buf []byte) (int, error) {
	var c cname
	if err := c.set(name); err != nil {
		return 0, err
	}
	at, err := d.enter()
	if err != nil {
		return 0, err
	}
	defer d.leave()
	for {
		if err := inject("llistxattr", name); err != nil {
			if err == unix.EINTR {
				continue
			}
			return 0, err
		}
		r, _, e := unix.Syscall6(sysListXattrAt, uintptr(at), uintptr(unsafe.Pointer(&c[0])), unix.AT_SYMLINK_NOFOLLOW,
			uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), 0)
		if e == 0 {
			return int(r), nil
		}
		if e != unix.EINTR {
			return 0, e
		}
	}
}

// GetXattr is File.GetXattr for an entry, never following it.
func (d *Dir) GetXattr(name, attr string, buf []byte) (n int, err error) {
	err = d.viaProc("lgetxattr", name, func(path string) (err error) {
		n, err = unix.Lgetxattr(path, attr, buf)
		return err
	})
	return n, err
}

// SetXattr is File.SetXattr for an entry, never following it.
func (d *Dir) SetXattr(name, attr string, value []byte) error {
	return d.viaProc("lsetxattr", name, func(path string) error { return unix.Lsetxattr(path, attr, value, 0) })
}

// RemoveXattr is File.RemoveXattr for an entry, never following it.
func (d *Dir) RemoveXattr(name, attr string) error {
	return d.viaProc("lremovexattr", name, func(path string) error { return unix.Lremovexattr(path, attr) })
}

// viaProc reaches an entry through /proc/self/fd: the calls that take a
// directory descriptor came only with Linux 6.13.
func (d *Dir) viaProc(call, name string, f func(path string) error) error {
	var c cname
	if err := c.set(name); err != nil {
		return err
	}
	return d.do(call, name, func(at int) error { return f(procPath(at) + "/" + name) })
}

// errNoXattr is what asking for an attribute that is not there gives.
const errNoXattr = unix.ENODATA
