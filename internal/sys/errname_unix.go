//go:build unix

package sys

import (
	"errors"

	"golang.org/x/sys/unix"
)

// ErrName is the kernel's name of an error ("EXDEV"), for counting and for
// messages to experts.
func ErrName(err error) string {
	var e unix.Errno
	if errors.As(err, &e) {
		if name := unix.ErrnoName(e); name != "" {
			return name
		}
	}
	return err.Error()
}
