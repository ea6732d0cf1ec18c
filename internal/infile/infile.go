// Package infile is the one reader: a file as extents of data and holes, and as
// windows of bytes.
package infile

import (
	"io"
	"io/fs"

	"github.com/gohaul/haul/internal/sys"
)

// ErrShrank says that a file turned out shorter than it was when it was opened.
var ErrShrank = sys.ErrShrank

// File is one file being read. The zero File is ready for Open, and ready again
// after Close: its buffer stays. It belongs to one goroutine.
type File struct {
	MapSize int // bytes read at once by Window; 0 means 256 KiB

	file sys.File
	st   sys.Stat

	// What Window has read: buf lies at bufOff.
	buf    []byte
	bufOff int64
	ext    Extent // the one that Window met last
}

const defaultMapSize = 256 << 10

// Open opens an entry of d, which stays the caller's and open until Close. A
// symbolic link is refused, and nothing is waited for. The error is an
// *fs.PathError.
func (f *File) Open(d *sys.Dir, name string) error {
	return f.opened(d.Open(&f.file, name, sys.ReadOnly, 0))
}

// OpenFollow is Open that follows a symbolic link.
func (f *File) OpenFollow(d *sys.Dir, name string) error {
	return f.opened(d.OpenFollow(&f.file, name, sys.ReadOnly))
}

// Take begins a file that the caller has opened; Close closes it.
func (f *File) Take(file *sys.File) error {
	f.file, *file = *file, sys.File{}
	return f.opened(nil)
}

func (f *File) opened(err error) error {
	f.buf, f.bufOff, f.ext = f.buf[:0], 0, Extent{}
	if err != nil {
		return err
	}
	if err := f.file.Stat(&f.st); err != nil {
		f.file.Close() // nothing was written
		return err
	}
	return nil
}

// Stat describes the file as it was when it was opened.
func (f *File) Stat() *sys.Stat { return &f.st }

// Size is the size it had when it was opened, in bytes. What is no regular file
// may have more.
func (f *File) Size() int64 { return f.st.Size }

// Sys is the open file.
func (f *File) Sys() *sys.File { return &f.file }

// Close closes the file. The buffer stays for the next one.
func (f *File) Close() error { return f.file.Close() }

// ReadWhole reads the file into buf and tells how many bytes it has now, which
// may differ from its size. If buf is longer than that, as it should be by a
// byte or more, the end is proven, and the commonest file costs one call. A buf
// that is full gives io.ErrShortBuffer: the file has grown, or has a size that
// lies as those of /proc; buf holds how it begins.
func (f *File) ReadWhole(buf []byte) (n int, err error) {
	for n < len(buf) {
		got, err := f.file.ReadAt(buf[n:], int64(n))
		n += got
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		if int64(n) == f.st.Size && n < len(buf) && f.st.IsRegular() {
			return n, nil // a short read that fits the size: no call to prove it
		}
	}
	return n, io.ErrShortBuffer
}

func (f *File) err(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.file.Name(), Err: err}
}
