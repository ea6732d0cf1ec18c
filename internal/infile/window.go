package infile

import (
	"io"
	"math"
)

// zeros is what a window over a hole shows.
var zeros [defaultMapSize]byte

// Window is n bytes of the file from off on, valid until the next call. More is
// read at once than was asked for, so that windows which move forward read
// every byte once; over a hole nothing is read. A file that ends earlier gives
// what there is, and io.ErrUnexpectedEOF.
func (f *File) Window(off int64, n int) ([]byte, error) {
	if n <= 0 {
		return nil, nil
	}
	if at := off - f.bufOff; at >= 0 && at+int64(n) <= int64(len(f.buf)) {
		return f.buf[at : at+int64(n)], nil
	}
	hole, err := f.inHole(off, n)
	if err != nil {
		return nil, err
	}
	if hole {
		return zeros[:n], nil
	}
	return f.read(off, n)
}

// inHole reports whether a window lies within one hole.
func (f *File) inHole(off int64, n int) (bool, error) {
	if n > len(zeros) || int64(n) > f.st.Size-off || f.dense() {
		return false, nil
	}
	if off < f.ext.Off || off >= f.ext.End() {
		e, err := f.Next(off)
		if err != nil {
			return false, err
		}
		f.ext = e
	}
	return f.ext.Hole && off+int64(n) <= f.ext.End(), nil
}

// read moves the buffer to off and fills it, keeping what it holds already.
func (f *File) read(off int64, n int) ([]byte, error) {
	size := f.MapSize
	if size <= 0 {
		size = defaultMapSize
	}
	// No read may reach behind the last offset there is.
	size = int(min(int64(max(size, n)), math.MaxInt64-off))
	kept := 0
	if at := off - f.bufOff; at >= 0 && at < int64(len(f.buf)) {
		kept = len(f.buf) - int(at)
	}
	old := f.buf[len(f.buf)-kept:]
	if cap(f.buf) < size {
		f.buf = make([]byte, size)
	}
	f.buf = f.buf[:size]
	copy(f.buf, old)
	f.bufOff = off
	have := kept
	for have < min(n, size) {
		got, err := f.file.ReadAt(f.buf[have:], off+int64(have))
		have += got
		if err == io.EOF {
			f.buf = f.buf[:have]
			return f.buf, io.ErrUnexpectedEOF
		}
		if err != nil {
			f.buf = f.buf[:0]
			return nil, err
		}
	}
	f.buf = f.buf[:have]
	if have < n {
		return f.buf, io.ErrUnexpectedEOF
	}
	return f.buf[:n], nil
}
