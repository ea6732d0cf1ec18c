//go:build !unix

package sys

// ErrName is the system's text of an error, for counting.
func ErrName(err error) string { return err.Error() }
