//go:build portable || !linux

package sys

import (
	"errors"
	"io/fs"
)

// Fiemap tells that this system cannot say where a file lies.
func (f *File) Fiemap(_ int64, list []Segment) ([]Segment, error) {
	return list, &fs.PathError{Op: "extents", Path: f.Name(), Err: errors.ErrUnsupported}
}
