package infile

import (
	"iter"
	"math"

	"github.com/gohaul/haul/internal/sys"
)

// Extent is a range of a file. A hole reads as zeros and takes no space.
type Extent struct {
	Off, Len int64
	Hole     bool
}

// End is the offset behind the extent.
func (e Extent) End() int64 { return e.Off + e.Len }

// denseMax is the most bytes of a file that is believed to have no hole since
// it has exactly the blocks that its size needs. In a bigger one a hole might
// hide behind blocks of the file system's own, and the question costs little
// beside the copy.
const denseMax = 64 << 10

// denseUnit is what sizes are rounded up to in blocks.
const denseUnit = 4 << 10

// Extents are the extents of the file in order, data and holes in turn. They
// cover its size as it was when it was opened exactly: an empty file has none,
// and where the file system cannot tell there is one, of data. An error ends
// them.
func (f *File) Extents() iter.Seq2[Extent, error] {
	return func(yield func(Extent, error) bool) {
		for at := int64(0); at < f.st.Size; {
			e, err := f.Next(at)
			if !yield(e, err) || err != nil {
				return
			}
			at = e.End()
		}
	}
}

// Next is the extent that begins at off, which is below the file's size: a call
// for each, and no closure. It is never empty, whatever a file that is changing
// answers, and never reaches behind the size. A file that has become shorter
// gives ErrShrank rather than holes it never had.
func (f *File) Next(off int64) (Extent, error) {
	rest := Extent{Off: off, Len: f.st.Size - off}
	if f.dense() || off >= lastPage {
		return rest, nil
	}
	end, err := f.file.SeekHole(off)
	switch {
	case err == nil && end > off:
		rest.Len = min(end-off, rest.Len)
		return rest, nil
	case err == nil:
		return f.hole(rest)
	case sys.NoMoreData(err):
		return rest, f.err("seek", ErrShrank) // off is behind the end now
	case sys.NoHoles(err):
		return rest, nil
	}
	return rest, f.err("seek", err)
}

// hole ends the hole that rest begins with.
func (f *File) hole(rest Extent) (Extent, error) {
	data, err := f.file.SeekData(rest.Off)
	switch {
	case err == nil && data > rest.Off:
		rest.Len = min(data-rest.Off, rest.Len)
		rest.Hole = true
		return rest, nil
	case err == nil, sys.NoHoles(err):
		return rest, nil // filled in between; reading it is never wrong
	case sys.NoMoreData(err):
		// A hole up to the end, if the end is still where it was.
		var now sys.Stat
		if err := f.file.Stat(&now); err != nil {
			return rest, err
		}
		if now.Size < f.st.Size {
			return rest, f.err("seek", ErrShrank)
		}
		rest.Hole = true
		rest.Len = min(rest.Len, lastPage-rest.Off)
		return rest, nil
	}
	return rest, f.err("seek", err)
}

// lastPage is where the last page begins that a file can have. Linux finds no
// data in it on tmpfs (its search wraps), so it is always read.
const lastPage = math.MaxInt64 - 4095

// Dense reports whether the file is known to have no holes, without a call. A
// file that says false may have none either.
func (f *File) Dense() bool { return f.dense() }

func (f *File) dense() bool {
	if !f.st.IsRegular() {
		return true
	}
	need := (f.st.Size + denseUnit - 1) / denseUnit * (denseUnit / 512)
	return f.st.Size <= denseMax && f.st.Blocks == need
}
