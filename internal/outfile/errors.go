package outfile

import (
	"fmt"

	"github.com/gohaul/haul/internal/sys"
)

// ErrShrank says that a file ended before the length it had when its copy began.
var ErrShrank = sys.ErrShrank

// ManyError tells of several files of a batch that did not get their names.
type ManyError struct {
	N     int
	First error
}

func (e *ManyError) Error() string { return fmt.Sprintf("%v (and %d more)", e.First, e.N-1) }

// Unwrap gives the first error.
func (e *ManyError) Unwrap() error { return e.First }

// LeftError says in what state a failure left a file that was being changed
// where it stands.
type LeftError struct {
	State string
	Err   error
}

func (e *LeftError) Error() string { return e.Err.Error() + " (the file was left " + e.State + ")" }

// Unwrap gives what went wrong.
func (e *LeftError) Unwrap() error { return e.Err }

// The states of LeftError.
const (
	leftPartly  = "with a mix of new and old content"
	leftUnsized = "with new content but perhaps not its new size"
	leftBare    = "with new content but not all of its metadata"
	leftUnsafe  = "with new content that may not be on disk yet"
)
