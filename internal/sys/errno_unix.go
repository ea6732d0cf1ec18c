//go:build unix

package sys

import (
	"errors"

	"golang.org/x/sys/unix"
)

// TryAnotherWay reports whether an error of Clone, CloneRange or CopyRange
// means that these two files cannot be copied so, while reading and writing
// may well do. ENOSPC, EDQUOT, EIO and EFBIG are no such errors: trying again
// after them has corrupted data (coreutils 9.2).
func TryAnotherWay(err error) bool {
	var e unix.Errno
	if !errors.As(err, &e) {
		return false
	}
	switch e {
	case unix.ENOSYS, unix.ENOTTY, unix.EOPNOTSUPP, unix.EINVAL, unix.EBADF, unix.EXDEV,
		unix.ETXTBSY, unix.EPERM, unix.EACCES, unix.ENOENT: // ENOENT: CIFS
		return true
	}
	return false
}

// NoHoles reports whether an error of SeekData or SeekHole means that the file
// system cannot tell holes from data.
func NoHoles(err error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTTY) ||
		errors.Is(err, unix.ESPIPE) || errors.Is(err, unix.ENOSYS)
}

// NoMoreData reports whether SeekData found only a hole up to the end.
func NoMoreData(err error) bool { return errors.Is(err, unix.ENXIO) }

// NotSupported reports whether the file system lacks what was asked of it.
func NotSupported(err error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTTY)
}

// NotPermitted reports whether this user may not do what was asked (EPERM, EACCES).
func NotPermitted(err error) bool { return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) }

// IsNotExist reports whether a name does not exist (ENOENT).
func IsNotExist(err error) bool { return errors.Is(err, unix.ENOENT) }

// IsExist reports whether a name exists already (EEXIST).
func IsExist(err error) bool { return errors.Is(err, unix.EEXIST) }

// NotEmpty reports whether a directory could not be removed since it has entries.
func NotEmpty(err error) bool { return errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) }

// NotDir reports whether a directory was wanted where none is: ENOTDIR, or ELOOP
// for a symbolic link.
func NotDir(err error) bool { return errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) }

// Symlink reports whether an open was refused since the entry is a symbolic link.
func Symlink(err error) bool { return errors.Is(err, unix.ELOOP) }

// TooSmall reports whether a buffer was too small for an extended attribute.
func TooSmall(err error) bool { return errors.Is(err, unix.ERANGE) }

// NoXattr reports whether an extended attribute is not there.
func NoXattr(err error) bool { return errors.Is(err, errNoXattr) }

// NoSpace reports whether the disk, the quota or the file-size limit is full.
func NoSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

// CannotTruncate reports whether a truncate failed since the file is none that
// has a size: a FIFO, a device, a socket.
func CannotTruncate(err error) bool { return errors.Is(err, unix.EINVAL) }

// Busy reports whether an entry could not be replaced or removed while in use
// (EBUSY, ETXTBSY).
func Busy(err error) bool { return errors.Is(err, unix.EBUSY) || errors.Is(err, unix.ETXTBSY) }

// OtherDevice reports whether two names are on different file systems (EXDEV).
func OtherDevice(err error) bool { return errors.Is(err, unix.EXDEV) }

// TooManyLinks reports whether a file cannot have one more name (EMLINK).
func TooManyLinks(err error) bool { return errors.Is(err, unix.EMLINK) }

// Denied reports whether permission bits or ACLs forbid what was asked (EACCES).
func Denied(err error) bool { return errors.Is(err, unix.EACCES) }

// Invalid reports whether the kernel can make no sense of an argument (EINVAL).
func Invalid(err error) bool { return errors.Is(err, unix.EINVAL) }

// Errors that an engine gives itself, in the kernel's words.
var (
	ErrNotDir error = unix.ENOTDIR
	ErrIsDir  error = unix.EISDIR
)

// ErrNoDevice is what opening a socket, or a device without a driver, gives.
var ErrNoDevice error = unix.ENXIO

// WouldBlock reports whether a read found nothing yet.
func WouldBlock(err error) bool { return errors.Is(err, unix.EAGAIN) }
