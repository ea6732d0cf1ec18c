package outfile

import (
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/gohaul/haul/internal/sys"
)

const (
	// offloadMin is the least that is worth a copy inside the kernel; below it
	// reading and writing wins (see BenchmarkCopy).
	offloadMin = 64 << 10

	// cloneMin is the least file worth a clone: from one block on, sharing it
	// costs xfs and btrfs less than writing it, and nothing is read.
	cloneMin = 4 << 10

	// Copies inside the kernel cannot be cancelled, so their pieces are sized to
	// the speed they turn out to have.
	firstPiece = 8 << 20
	leastPiece = 1 << 20
	pieceTime  = 40 * time.Millisecond
)

// Clone makes the file share all of src, which has size bytes, if the policy
// allows it, the file systems can, and it pays. False without an error means
// that another way is to be used. It comes before any other verb.
func (f *File) Clone(src *sys.File, size int64) (bool, error) {
	always := f.p.Reflink == ReflinkAlways
	switch {
	case f.plain, f.p.Sparse == SparseNever, f.p.Reflink == ReflinkNever:
		if always {
			return false, f.cannotClone(src, errors.New("this file cannot share blocks"))
		}
		return false, nil
	case always:
	case f.p.Sparse != SparseAuto, size < cloneMin, !f.p.Ways.open(f.pair, byClone):
		return false, nil
	}
	if err := f.canceled(); err != nil {
		return false, err
	}
	f.touch()
	if err := f.cutFor(src, &size); err != nil {
		return false, f.left(err, leftPartly)
	}
	if err := f.file.Clone(src); err != nil {
		if always || !sys.TryAnotherWay(err) {
			return false, f.left(f.cannotClone(src, err), leftPartly)
		}
		f.gaveUp(byClone, err)
		return false, nil
	}
	f.p.Ways.worked(f.pair, byClone)
	if err := f.cutFor(src, &size); err != nil { // should it have shrunk meanwhile
		return false, f.left(err, leftPartly)
	}
	f.cloned = size
	f.length = max(f.length, size)
	f.ground = max(f.ground, size)
	if c := f.p.Counters; c != nil {
		add(&c.Cloned, size)
		add(&c.Bytes, size)
	}
	return true, nil
}

// cutFor cuts an old file that is longer than src, whose size it brings up to
// date if that has become less: a clone leaves the old tail, or is refused since
// the last block of src would end within the file.
func (f *File) cutFor(src *sys.File, size *int64) error {
	if f.old == 0 {
		return nil
	}
	var st sys.Stat
	if err := src.Stat(&st); err != nil {
		return err
	}
	*size = min(*size, st.Size)
	if f.old <= *size {
		return nil
	}
	f.old, f.ground = *size, *size
	return f.setSize(*size)
}

func (f *File) cannotClone(src *sys.File, err error) error {
	return &fs.PathError{Op: "clone " + src.Name() + " to", Path: f.file.Name(), Err: err}
}

// gaveUp counts and remembers that a way failed, and why.
func (f *File) gaveUp(by way, err error) {
	if c := f.p.Counters; c != nil {
		c.Fallback(wayNames[by] + " " + sys.ErrName(err))
	}
	f.p.Ways.failed(f.pair, by, err)
}

// Copy says that the next n bytes are those of src from off on: a region of
// data, not a hole. They go through the kernel if the policy allows it and it
// pays. Where an old file stands they are compared, and only blocks that differ
// are written. ErrShrank says that src ended early: what it had was copied, and
// the stream may go on.
func (s *Stream) Copy(src *sys.File, off, n int64) error {
	if s.err == nil && s.f.p.Reflink == ReflinkAlways {
		return s.copyShared(src, off, n)
	}
	if n > 0 && s.err == nil {
		done := s.copyCompared(src, off, n)
		off, n = off+done, n-done
	}
	if n > 0 && s.err == nil && s.offloads(n) {
		done := s.copyOffloaded(src, off, n)
		off, n = off+done, n-done
	}
	for n > 0 && s.err == nil {
		room := s.room()
		got := s.readSome(src, room[:min(int64(len(room)), n)], off)
		if got == 0 && s.err == nil {
			return shrank(src) // which leaves the stream as good as it was
		}
		s.clean = false
		s.grow(got)
		off, n = off+int64(got), n-int64(got)
	}
	return s.err
}

// CopyRest is Copy up to wherever src ends, for files whose size is not known
// or lies, as those of /proc. It tells how many bytes that were.
func (s *Stream) CopyRest(src *sys.File, off int64) (int64, error) {
	begin := off
	for s.err == nil {
		got := s.readSome(src, s.room(), off)
		if got == 0 {
			break
		}
		s.clean = false
		s.grow(got)
		off += int64(got)
	}
	return off - begin, s.err
}

// readSome reads once; 0 without an error of the stream is the end of src.
func (s *Stream) readSome(src *sys.File, p []byte, off int64) int {
	if err := s.f.canceled(); err != nil {
		s.fail(err)
		return 0
	}
	n, err := src.ReadAt(p, off)
	if err != nil && err != io.EOF {
		s.fail(err)
	}
	return n
}

// offloads decides whether n bytes are copied inside the kernel. That may share
// blocks, and takes zeros for data.
func (s *Stream) offloads(n int64) bool {
	f := s.f
	return n >= offloadMin && f.p.Sparse == SparseAuto && f.p.Reflink == ReflinkAuto && !f.plain &&
		f.p.Ways.open(f.pair, byRange)
}

// copyOffloaded copies inside the kernel as far as that goes, and tells how far.
func (s *Stream) copyOffloaded(src *sys.File, off, n int64) (done int64) {
	f := s.f
	s.flush()
	piece := int64(firstPiece)
	for done < n && s.err == nil {
		if err := f.canceled(); err != nil {
			s.fail(err)
			break
		}
		f.touch()
		start := time.Now()
		got, err := f.file.CopyRange(src, off+done, s.off, min(n-done, piece))
		if err != nil {
			if !sys.TryAnotherWay(err) {
				s.fail(&fs.PathError{Op: "copy " + src.Name() + " to", Path: f.file.Name(), Err: err})
			} else {
				f.gaveUp(byRange, err)
			}
			break
		}
		if got == 0 {
			// The end, or a file that the kernel cannot copy so: reading will tell.
			if c := f.p.Counters; c != nil {
				c.Fallback(wayNames[byRange] + " 0")
			}
			break
		}
		if done == 0 {
			f.p.Ways.worked(f.pair, byRange)
		}
		done += got
		s.tally.offloaded += got
		s.advance(got)
		s.top = max(s.top, s.off)
		s.count()
		piece = nextPiece(piece, time.Since(start))
	}
	return done
}

// nextPiece is how much to copy next, when a piece took so long.
func nextPiece(piece int64, took time.Duration) int64 {
	switch {
	case took < pieceTime/2:
		return min(2*piece, sys.MaxCopyRange)
	case took > pieceTime:
		return max(piece/2, leastPiece)
	}
	return piece
}

// copyShared shares blocks or fails.
func (s *Stream) copyShared(src *sys.File, off, n int64) error {
	if s.flush(); n <= 0 || s.err != nil {
		return s.err
	}
	s.f.touch()
	if err := s.f.file.CloneRange(src, off, s.off, n); err != nil {
		return s.fail(s.f.cannotClone(src, err))
	}
	s.advance(n)
	s.top = max(s.top, s.off)
	if c := s.f.p.Counters; c != nil {
		c.Cloned.Add(n)
		c.Bytes.Add(n)
	}
	return nil
}

// copyCompared copies as far as the old file reaches, and writes only what
// differs from it. It tells how far.
func (s *Stream) copyCompared(src *sys.File, off, n int64) (done int64) {
	f := s.f
	if !f.inPlace() || f.blind {
		return 0
	}
	for done < n && s.pos() < f.old && s.err == nil {
		want := min(n-done, f.old-s.pos(), int64(f.piece()))
		s.source = sized(s.source, want)
		got := s.readSome(src, s.source, off+done)
		if got == 0 {
			break
		}
		p := s.source[:got]
		old := s.readOld(int64(got))
		s.writeDiffering(p[:len(old)], old)
		s.Write(p[len(old):])
		done += int64(got)
	}
	return done
}

// writeDiffering says Keep of what is the same in the old file, and Write of
// the rest.
func (s *Stream) writeDiffering(p, old []byte) {
	for at := int64(0); at < int64(len(p)) && s.err == nil; {
		n, equal := same(p[at:], old[at:], s.pos(), page)
		if equal {
			s.Keep(p[at : at+n])
		} else {
			s.Write(p[at : at+n])
		}
		at += n
	}
}

// readOld is what the old file holds in the next n bytes, as far as it reaches.
func (s *Stream) readOld(n int64) []byte {
	s.target = sized(s.target, n)
	at := 0
	for at < len(s.target) && s.err == nil {
		got := s.readSome(&s.f.file, s.target[at:], s.pos()+int64(at))
		if got == 0 {
			break
		}
		at += got
	}
	return s.target[:at]
}

func sized(buf []byte, n int64) []byte {
	if int64(cap(buf)) < n {
		return make([]byte, n)
	}
	return buf[:n]
}

func shrank(src *sys.File) error {
	return &fs.PathError{Op: "copy", Path: src.Name(), Err: ErrShrank}
}
