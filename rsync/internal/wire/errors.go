package wire

import (
	"errors"
	"fmt"
	"io"
)

// Exit codes that rsync gives to faults found while decoding (§13).
const (
	ExitProtocol    = 2  // a value that the protocol forbids
	ExitUnsupported = 4  // a name or size that this side refuses
	ExitFile        = 11 // a malformed attribute name
	ExitStream      = 12 // the stream broke off, or is no such stream
	ExitLimit       = 22 // longer than this side accepts
)

// Error is a breach of the protocol found while decoding.
// A stream that ends too early wraps io.ErrUnexpectedEOF.
type Error struct {
	Code int    // exit code, one of the constants above
	What string // what was being read, and what was wrong with it
	Err  error  // cause; nil when What says all
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.What
	}
	return e.What + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// fail ends the reader with a breach of the protocol; the first error stays.
func (r *Reader) fail(code int, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{Code: code, What: fmt.Sprintf(format, args...)}
	}
}

// broken ends the reader because another layer (a decompressor) refused its bytes.
func (r *Reader) broken(what string, err error) {
	if r.err == nil {
		r.err = &Error{Code: ExitStream, What: what, Err: err}
	}
}

// done reports the reader's error, naming what was being read.
// Errors of the transport keep their own text and are found by errors.Is.
func (r *Reader) done(what string) error {
	if r.err == nil {
		return nil
	}
	var e *Error
	if errors.As(r.err, &e) {
		return r.err
	}
	if r.err == io.EOF || r.err == io.ErrUnexpectedEOF {
		return &Error{Code: ExitStream, What: what, Err: io.ErrUnexpectedEOF}
	}
	return fmt.Errorf("%s: %w", what, r.err)
}
