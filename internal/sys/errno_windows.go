package sys

import (
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/windows"
)

func anyOf(err error, codes ...error) bool {
	for _, c := range codes {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}

// The judges below tell the same as on Linux, from the codes of Windows and
// from those that package os makes up.

// TryAnotherWay reports whether two files cannot be cloned or copied in the
// kernel, while reading and writing may well do.
func TryAnotherWay(err error) bool { return NotSupported(err) || OtherDevice(err) || Invalid(err) }

// NoHoles reports whether the system cannot tell holes from data.
func NoHoles(err error) bool { return NotSupported(err) || Invalid(err) }

// NoMoreData reports whether SeekData found only a hole up to the end.
func NoMoreData(err error) bool { return errors.Is(err, syscall.ENXIO) }

// NotSupported reports whether the system lacks what was asked of it.
func NotSupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || anyOf(err, windows.ERROR_NOT_SUPPORTED, windows.ERROR_INVALID_FUNCTION, windows.ERROR_CALL_NOT_IMPLEMENTED)
}

// NotPermitted reports whether this user may not do what was asked.
func NotPermitted(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, windows.ERROR_PRIVILEGE_NOT_HELD)
}

// IsNotExist reports whether a name does not exist.
func IsNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// IsExist reports whether a name exists already.
func IsExist(err error) bool { return errors.Is(err, fs.ErrExist) }

// NotEmpty reports whether a directory could not be removed since it has entries.
func NotEmpty(err error) bool { return anyOf(err, windows.ERROR_DIR_NOT_EMPTY, syscall.ENOTEMPTY) }

// NotDir reports whether a directory was wanted where none is, or a symbolic
// link stood.
func NotDir(err error) bool {
	return anyOf(err, syscall.ENOTDIR, syscall.ELOOP, windows.ERROR_DIRECTORY)
}

// Symlink reports whether an open was refused since the entry is a symbolic link.
func Symlink(err error) bool { return errors.Is(err, syscall.ELOOP) }

// TooSmall reports whether a buffer was too small for an extended attribute.
func TooSmall(err error) bool { return false }

// NoXattr reports whether an extended attribute is not there.
func NoXattr(err error) bool { return false }

// NoSpace reports whether the disk or the quota is full.
func NoSpace(err error) bool {
	return anyOf(err, windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED, syscall.ENOSPC)
}

// CannotTruncate reports whether a truncate failed since the file is none that
// has a size: a pipe, a device.
func CannotTruncate(err error) bool {
	return Invalid(err) || anyOf(err, windows.ERROR_INVALID_FUNCTION, windows.ERROR_INVALID_HANDLE)
}

// Busy reports whether an entry could not be replaced or removed while in use.
func Busy(err error) bool {
	return anyOf(err, windows.ERROR_SHARING_VIOLATION, windows.ERROR_LOCK_VIOLATION)
}

// OtherDevice reports whether two names are on different file systems.
func OtherDevice(err error) bool { return anyOf(err, windows.ERROR_NOT_SAME_DEVICE, syscall.EXDEV) }

// TooManyLinks reports whether a file cannot have one more name.
func TooManyLinks(err error) bool { return anyOf(err, windows.ERROR_TOO_MANY_LINKS, syscall.EMLINK) }

// Denied reports whether permissions forbid what was asked.
func Denied(err error) bool { return errors.Is(err, windows.ERROR_ACCESS_DENIED) }

// Invalid reports whether the kernel can make no sense of an argument.
func Invalid(err error) bool { return anyOf(err, windows.ERROR_INVALID_PARAMETER, syscall.EINVAL) }

// Errors that an engine gives itself, in the kernel's words.
var (
	ErrNotDir error = syscall.ENOTDIR
	ErrIsDir  error = syscall.EISDIR
)

// ErrNoDevice is what opening a device without a driver gives.
var ErrNoDevice error = syscall.ENXIO

// WouldBlock reports whether a read found nothing yet.
func WouldBlock(err error) bool { return errors.Is(err, syscall.EAGAIN) }
