package outfile

import (
	"errors"
	"io"
	"io/fs"
)

// Stream writes a range of a File from where it begins on. Its verbs say what
// the next bytes are; the policy says what is done about them. After an error
// every verb gives that error again. A Stream belongs to one goroutine.
type Stream struct {
	f    *File
	used bool  // given out by At
	err  error // the first

	// buf[:n] lies at off and is not decided yet: a region of data that may go
	// on and is too short to write, or a block whose end is not known.
	buf []byte
	n   int
	off int64

	// clean says that all of buf[:n] stands in the old file; then it is less
	// than a block.
	clean bool

	// zero to zeroEnd is a run of zeros before off that is not settled: it may
	// grow, and at the end of the file it is no hole but a cut.
	zero, zeroEnd int64

	end   int64 // behind the last byte that a verb was given
	top   int64 // behind the last byte written
	tally tally

	source, target []byte // what a Copy in place compares
}

// tally counts for one stream, so that the Counters are touched seldom.
type tally struct {
	writes, written, punches       int64
	copied, offloaded, holes, kept int64
}

const (
	// defaultWriteSize is where the cost of a call has vanished beside that of
	// its bytes; GNU cp measured the same on eleven machines.
	defaultWriteSize = 256 << 10

	// page is what writes are aligned to, and what files are compared by.
	page = 4 << 10

	// tallyBytes is how many bytes may be handled before they are counted.
	tallyBytes = 4 << 20
)

func (s *Stream) reset(f *File) {
	*s = Stream{f: f, buf: s.buf, source: s.source, target: s.target}
}

// pos is where the next byte goes.
func (s *Stream) pos() int64 { return s.off + int64(s.n) }

// Write stores p. It never gives a short count without an error.
func (s *Stream) Write(p []byte) (int, error) {
	s.clean = false
	for rest := p; s.err == nil; {
		if len(rest) == 0 {
			return len(p), nil
		}
		if s.n == 0 {
			// Enough for itself, or all there will be: no copy is made of it.
			last := s.off+int64(len(rest)) == s.f.size
			if last || len(rest) >= s.f.writeSize() {
				if n := s.decide(rest, last); n > 0 {
					s.advance(int64(n))
					rest = rest[n:]
					continue
				}
			}
		}
		room := s.room()
		n := copy(room, rest)
		s.grow(n)
		rest = rest[n:]
	}
	return 0, s.err
}

// Keep says that the old file holds p here already. Beside the old file, or
// behind its end, it is Write.
func (s *Stream) Keep(p []byte) error {
	f := s.f
	k := 0
	if f.inPlace() {
		k = int(max(0, min(int64(len(p)), f.old-s.pos())))
	}
	switch {
	case k == 0:
	case f.p.Sparse == SparseAlways, f.p.Sparse == SparseNever && f.holey:
		s.keepSearching(p[:k])
	default:
		s.flush()
		s.tally.kept += int64(k)
		s.advance(int64(k))
	}
	if s.err == nil && k < len(p) {
		s.Write(p[k:])
	}
	return s.err
}

// keepSearching keeps p but for its blocks of zeros, which become holes, or are
// stored where every byte has to be. A block that p shares with what came
// before, or with what comes, is decided when it is whole.
func (s *Stream) keepSearching(p []byte) {
	block := s.f.block()
	head := int(min(int64(len(p)), toBorder(s.pos(), block)))
	if head > 0 {
		s.clean = s.clean || s.n == 0
		s.push(p[:head])
	}
	p = p[head:]
	if s.pos()%block != 0 {
		return
	}
	s.flush()
	whole := len(p) - len(p)%int(block)
	if whole > 0 && s.err == nil {
		s.keep(p[:whole], block)
		s.advance(int64(whole))
	}
	if whole < len(p) {
		s.clean = true
		s.push(p[whole:])
	}
}

// keep decides about p, which stands at off in the old file.
func (s *Stream) keep(p []byte, block int64) {
	for at := int64(0); at < int64(len(p)) && s.err == nil; {
		n, zero := run(p[at:], s.off+at, block)
		switch {
		case !zero:
			s.tally.kept += n
		case s.f.p.Sparse == SparseNever:
			s.store(p[at:at+n], s.off+at, true)
		default:
			s.hole(s.off+at, n)
		}
		at += n
	}
}

// Hole says that the next n bytes are zeros, and need not be stored.
func (s *Stream) Hole(n int64) error {
	f := s.f
	if n <= 0 || s.err != nil {
		return s.err
	}
	if s.pos()+n < 0 {
		return s.fail(&fs.PathError{Op: "write", Path: f.file.Name(), Err: errors.New("file too large")})
	}
	switch {
	case f.plain:
		s.pushZeros(n)
	case f.p.Sparse == SparseNever:
		n -= s.zerosOverOld(n)
		s.pushZeros(n)
	case f.p.Sparse == SparseAlways:
		s.holeSearching(n)
	default:
		s.flush()
		s.hole(s.off, n)
		s.advance(n)
	}
	return s.err
}

// holeSearching makes a hole of whole blocks. What is left at both ends may be
// zeros among data, or part of a greater hole: the blocks there decide.
func (s *Stream) holeSearching(n int64) {
	block := s.f.block()
	head := min(n, toBorder(s.pos(), block))
	s.pushZeros(head)
	n -= head
	if s.pos()%block != 0 {
		return
	}
	s.flush()
	if whole := n - n%block; whole > 0 && s.err == nil {
		s.hole(s.off, whole)
		s.advance(whole)
	}
	s.pushZeros(n % block)
}

// zerosOverOld stores zeros where the old file has none, and tells how many
// bytes it has dealt with.
func (s *Stream) zerosOverOld(n int64) (done int64) {
	f := s.f
	if !f.inPlace() || f.blind {
		return 0
	}
	for done < n && s.pos() < f.old && s.err == nil {
		want := min(n-done, f.old-s.pos(), int64(len(zeros)))
		old := s.readOld(want)
		for at := int64(0); at < int64(len(old)); {
			m, zero := run(old[at:], s.pos(), page)
			if zero {
				s.Keep(zeros[:m])
			} else {
				s.Write(zeros[:m])
			}
			at += m
		}
		done += int64(len(old))
		if len(old) == 0 {
			break
		}
	}
	return done
}

// Close decides about everything that was given. Commit does it for all streams.
func (s *Stream) Close() error {
	if s.err == nil {
		s.flush()
	}
	s.count()
	return s.err
}

// push puts p behind what waits in the buffer.
func (s *Stream) push(p []byte) {
	for len(p) > 0 && s.err == nil {
		n := copy(s.room(), p)
		s.grow(n)
		p = p[n:]
	}
}

func (s *Stream) pushZeros(n int64) {
	s.clean = s.clean && n == 0
	for n > 0 && s.err == nil {
		room := s.room()
		room = room[:min(int64(len(room)), n)]
		clear(room)
		s.grow(len(room))
		n -= int64(len(room))
	}
}

// room is the free part of the buffer. It is never empty.
func (s *Stream) room() []byte {
	if s.buf == nil || s.n == 0 && len(s.buf) != s.f.piece() {
		if size := s.f.piece(); cap(s.buf) >= size {
			s.buf = s.buf[:size]
		} else {
			s.buf = make([]byte, size)
		}
	}
	return s.buf[s.n:]
}

// grow takes n more bytes of the buffer for given. A full one is decided about
// as far as can be.
func (s *Stream) grow(n int) {
	s.n += n
	s.end = max(s.end, s.pos())
	if s.n < len(s.buf) {
		return
	}
	used := s.decide(s.buf, false)
	s.n = copy(s.buf, s.buf[used:])
	s.off += int64(used)
}

// flush decides about all that waits in the buffer.
func (s *Stream) flush() {
	if s.n == 0 || s.err != nil {
		return
	}
	p := s.buf[:s.n]
	if s.clean {
		s.keep(p, s.f.block())
	} else {
		s.decide(p, true)
	}
	s.clean = false
	s.n = 0
	s.off += int64(len(p))
}

// advance moves on by n bytes that were dealt with, the buffer being empty.
func (s *Stream) advance(n int64) {
	s.off += n
	s.end = max(s.end, s.off)
}

// decide stores p, which lies at off, but makes holes of zeros if the policy
// says so. Unless last it leaves alone what more bytes may change: a part of a
// block, a region of data shorter than a write. It tells how much it has used.
func (s *Stream) decide(p []byte, last bool) int {
	if s.f.p.Sparse != SparseAlways || s.f.plain {
		return s.store(p, s.off, last)
	}
	block := s.f.block()
	limit := int64(len(p))
	if !last {
		limit -= (s.off + limit) % block
	}
	at := int64(0)
	for at < limit && s.err == nil {
		n, zero := run(p[at:limit], s.off+at, block)
		if zero {
			s.hole(s.off+at, n)
			at += n
			continue
		}
		ended := last || at+n < limit
		at += int64(s.store(p[at:at+n], s.off+at, ended))
		if !ended {
			break
		}
	}
	return int(max(at, 0))
}

// store writes p at off by pieces that end at borders; unless last the rest
// that fills no piece is left. It tells how much it has written.
func (s *Stream) store(p []byte, off int64, last bool) int {
	piece, align := int64(s.f.piece()), s.f.align()
	done := 0
	for done < len(p) && s.err == nil {
		at := off + int64(done)
		n := int(piece - (at%align+piece%align)%align) // at+piece might wrap
		if rest := len(p) - done; n > rest {
			if !last {
				break
			}
			n = rest
		}
		s.put(p[done:done+n], at)
		s.tally.copied += int64(n)
		done += n
	}
	if s.tally.copied >= tallyBytes {
		s.count()
	}
	return done
}

// put writes all of p at off.
func (s *Stream) put(p []byte, off int64) {
	f := s.f
	for len(p) > 0 && s.err == nil {
		if err := f.canceled(); err != nil {
			s.fail(err)
			return
		}
		var n int
		var err error
		f.touch()
		if f.plain {
			n, err = f.file.Write(p)
		} else {
			n, err = f.file.WriteAt(p, off)
		}
		s.tally.writes++
		s.tally.written += int64(n)
		p, off = p[n:], off+int64(n)
		s.top = max(s.top, off)
		if err == nil && n == 0 {
			err = &fs.PathError{Op: "write", Path: f.file.Name(), Err: io.ErrShortWrite}
		}
		if err != nil {
			s.fail(err)
		}
	}
}

// hole notes a run of zeros that is not to be stored.
func (s *Stream) hole(off, n int64) {
	s.tally.holes += n
	if s.zero < s.zeroEnd && s.zeroEnd == off {
		s.zeroEnd += n
		return
	}
	s.settle()
	s.zero, s.zeroEnd = off, off+n
}

// settle makes the noted run of zeros a hole: over old or reserved blocks by
// freeing them, over fresh ground by doing nothing.
func (s *Stream) settle() {
	from, to := s.zero, s.zeroEnd
	s.zero, s.zeroEnd = 0, 0
	if from >= to || s.err != nil {
		return
	}
	f := s.f
	if from < f.ground {
		upto := to
		if to > f.ground {
			// The block that holds the end of the old file goes whole.
			upto = f.ground + min(to-f.ground, toBorder(f.ground, maxBlock))
		}
		s.punch(from, upto)
		from = max(from, f.ground)
	}
	if from < to && s.err == nil {
		s.spareEager(from, to)
	}
}

// punch frees the blocks of old content, or stores zeros where that cannot be.
func (s *Stream) punch(from, to int64) {
	f := s.f
	f.touch()
	if !f.noPunch.Load() {
		s.tally.punches++
		err := f.file.Punch(from, to-from)
		if err == nil {
			return
		}
		if !unpunchable(err) {
			s.fail(err)
			return
		}
		f.noPunch.Store(true)
	}
	for to = min(to, f.ground); from < to && s.err == nil; {
		n := min(to-from, int64(len(zeros)))
		s.put(zeros[:n], from)
		from += n
	}
}

// spareEager keeps a hole in fresh ground free of the blocks that XFS allocates
// ahead of writes: where the size is not set before the first write, by freeing
// them.
func (s *Stream) spareEager(from, to int64) {
	f := s.f
	f.mu.Lock()
	k, err := f.learn()
	need := err == nil && k.eager && f.length < to
	if need && !f.touched.Load() && !f.inPlace() && f.size >= to {
		need, err = false, f.setSize(f.size)
	}
	f.mu.Unlock()
	if err != nil {
		s.fail(err)
		return
	}
	if need {
		s.tally.punches++
		if err := f.file.Punch(from, to-from); err != nil && !unpunchable(err) {
			s.fail(err)
		}
	}
}

// fail remembers the first error.
func (s *Stream) fail(err error) error {
	if s.err == nil {
		s.err = s.f.left(err, leftPartly)
	}
	return s.err
}

// count hands the tally to the counters.
func (s *Stream) count() {
	t := s.tally
	s.tally = tally{}
	c := s.f.p.Counters
	if c == nil {
		return
	}
	add(&c.Writes, t.writes)
	add(&c.Written, t.written)
	add(&c.Punches, t.punches)
	add(&c.Copied, t.copied)
	add(&c.Offloaded, t.offloaded)
	add(&c.Holes, t.holes)
	add(&c.Kept, t.kept)
	add(&c.Bytes, t.copied+t.offloaded+t.holes+t.kept)
}

// toBorder is how far it is to the next border of a block; 0 at one.
func toBorder(off, block int64) int64 { return (block - off%block) % block }
