package wire

import (
	"encoding/binary"
	"io"
)

// maxIdle is how many frames without content may follow one another. Honest
// keep-alives come seconds apart: this many take more than eleven days.
const maxIdle = 1 << 20

// Reader reads one direction of a connection: raw, or as frames (§4).
//
// Its methods return zero values after the first error, which Err reports.
// The bytes ready to be read are a window of the buffer, so that a literal may
// be looked at where it lies: the window is what has arrived of the current
// data frame, or without framing all that has arrived.
type Reader struct {
	// Protocol chooses among encodings; it is 0, the oldest, until the versions were exchanged.
	Protocol int
	// OnMessage gets every message that is not data; the payload is valid during
	// the call. An error ends the reader. It must not use the reader.
	OnMessage func(Message) error
	// BeforeRead is called when the source must be read, which may block: flush
	// here what the peer waits for. An error ends the reader.
	BeforeRead func() error

	src      io.Reader
	buf      []byte
	pos, lim int // the window
	end      int // end of what was read from src
	frame    int // rest of the data frame that lies behind lim
	framed   bool
	idle     int // frames without content since the last one with
	err      error
	tee      io.Writer
	mark     int // what the tee has of the window

	index    indexState
	received int64 // bytes read from src
	passed   int64 // data bytes that entered the window
	tmp      [16]byte
}

// NewReader reads from src through a buffer of size bytes (0: DefaultBuffer).
func NewReader(src io.Reader, size int) *Reader {
	if size == 0 {
		size = DefaultBuffer
	}
	return &Reader{src: src, buf: make([]byte, max(size, minBuffer)), index: newIndexState()}
}

// Err reports the first error. A stream that ended while more was wanted gives
// an [Error] that wraps io.ErrUnexpectedEOF.
func (r *Reader) Err() error { return r.done("reading from the peer") }

// Received is the number of bytes that came from the source, frame headers and messages included.
func (r *Reader) Received() int64 { return r.received }

// Consumed is the number of data bytes that were read.
func (r *Reader) Consumed() int64 { return r.passed - int64(r.lim-r.pos) }

// SetFramed turns framing on or off from the next byte on. It can change only between data frames.
func (r *Reader) SetFramed(on bool) error {
	if r.framed == on {
		return r.err
	}
	if r.framed && (r.frame > 0 || r.pos < r.lim) {
		r.fail(ExitStream, "framing ends inside a frame")
		return r.err
	}
	r.spill()
	r.framed = on
	if on { // what is in the buffer is frames now
		r.passed -= int64(r.lim - r.pos)
		r.lim = r.pos
	}
	return r.err
}

// Tee copies to w every data byte that is read from now on, at the latest when
// the tee is changed; nil ends it. What it gets is the stream without framing,
// as a batch file holds it (§12).
func (r *Reader) Tee(w io.Writer) {
	r.spill()
	r.tee = w
}

// spill gives the tee what was read of the window.
func (r *Reader) spill() {
	if r.tee != nil && r.mark < r.pos {
		if _, err := r.tee.Write(r.buf[r.mark:r.pos]); err != nil && r.err == nil {
			r.err = err
		}
	}
	r.mark = r.pos
}

// AtEnd waits for a data byte and tells whether the stream ended instead, at a
// place where it may end as far as framing goes. False also follows an error.
func (r *Reader) AtEnd() bool { return !r.more() && r.err == io.EOF }

// cut notes that the stream ended where a value was wanted.
func (r *Reader) cut() {
	if r.err == io.EOF {
		r.err = io.ErrUnexpectedEOF
	}
}

// Buffered tells whether data can be read without waiting for the source.
func (r *Reader) Buffered() bool { return r.pos < r.lim }

// more makes the window not empty, handling messages on the way.
func (r *Reader) more() bool {
	r.spill()
	for r.pos == r.lim {
		switch {
		case r.err != nil:
			return false
		case !r.framed:
			if r.lim == r.end && !r.fill() {
				return false
			}
			r.widen(r.end - r.lim)
		case r.frame > 0:
			if r.lim == r.end && !r.fill() {
				return false
			}
			n := min(r.frame, r.end-r.lim)
			r.frame -= n
			r.widen(n)
		default:
			r.nextFrame()
		}
	}
	return r.err == nil
}

func (r *Reader) widen(n int) {
	r.lim += n
	r.passed += int64(n)
}

// nextFrame reads a frame's header and, if it is no data frame, handles the message.
func (r *Reader) nextFrame() {
	if !r.gather(4) {
		return
	}
	head := binary.LittleEndian.Uint32(r.buf[r.lim:])
	size := int(head & maxFrame)
	code := Code(head>>24) - tagBase
	if head>>24 < tagBase {
		r.fail(ExitStream, "frame tag %d is none", head>>24)
		return
	}
	if size > 0 {
		r.idle = 0
	} else if r.idle++; r.idle > maxIdle {
		r.fail(ExitStream, "%d frames without content", r.idle)
		return
	}
	if code == Data {
		r.drop(4)
		r.frame = size
		return
	}
	if fault := code.check(size); fault != "" {
		r.fail(ExitStream, "%v of %d bytes: %s", code, size, fault)
		return
	}
	if !r.gather(4 + size) {
		return
	}
	payload := r.buf[r.lim+4 : r.lim+4+size]
	r.drop(4 + size)
	if r.OnMessage != nil {
		if err := r.OnMessage(Message{code, payload}); err != nil && r.err == nil {
			r.err = err
		}
	}
}

// gather makes n bytes lie behind the (empty) window; n fits the buffer.
func (r *Reader) gather(n int) bool {
	for r.end-r.lim < n {
		if !r.fill() {
			if r.err == io.EOF && r.end > r.lim {
				r.err = io.ErrUnexpectedEOF
			}
			return false
		}
	}
	return true
}

// drop moves the empty window over n bytes that are no data.
func (r *Reader) drop(n int) {
	r.lim += n
	r.pos, r.mark = r.lim, r.lim
}

// fill reads once from the source, behind what is buffered. The window is empty.
func (r *Reader) fill() bool {
	if r.err != nil {
		return false
	}
	if r.BeforeRead != nil {
		if r.err = r.BeforeRead(); r.err != nil {
			return false
		}
	}
	if r.lim == r.end {
		r.pos, r.lim, r.end, r.mark = 0, 0, 0, 0
	} else if len(r.buf)-r.end < len(r.buf)/2 {
		r.end = copy(r.buf, r.buf[r.lim:r.end])
		r.pos, r.lim, r.mark = 0, 0, 0
	}
	for range 100 {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.received += int64(n)
		if n > 0 {
			return true // an error that came along will come again
		}
		if err == io.EOF && r.frame > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			r.err = err
			return false
		}
	}
	r.err = io.ErrNoProgress
	return false
}

// take returns the next n bytes, at most 16; they are valid until the next read.
// After an error they are zeros.
func (r *Reader) take(n int) []byte {
	if r.lim-r.pos >= n {
		p := r.buf[r.pos : r.pos+n]
		r.pos += n
		return p
	}
	p := r.tmp[:n]
	if !r.Full(p) {
		clear(p)
	}
	return p
}

// Some returns at least one and at most n of the next bytes, where they lie in
// the buffer: valid until the next read. After an error it returns nil.
func (r *Reader) Some(n int) []byte {
	if n <= 0 {
		return nil
	}
	if r.pos == r.lim && !r.more() {
		r.cut()
		return nil
	}
	p := r.buf[r.pos:min(r.lim, r.pos+n)]
	r.pos += len(p)
	return p
}

// Full fills p with the next bytes and tells whether there were enough.
func (r *Reader) Full(p []byte) bool {
	for len(p) > 0 {
		if r.pos == r.lim && !r.more() {
			r.cut()
			return false
		}
		n := copy(p, r.buf[r.pos:r.lim])
		r.pos += n
		p = p[n:]
	}
	return r.err == nil
}

// Blob returns the next n bytes in a slice of their own. It grows as they
// arrive: a length alone claims no memory. The caller bounds n.
func (r *Reader) Blob(n int) []byte {
	const step = 64 << 10
	p := make([]byte, 0, min(n, step))
	for len(p) < n {
		some := r.Some(n - len(p))
		if some == nil {
			return nil
		}
		p = append(p, some...)
	}
	return p
}

// Skip passes over n bytes.
func (r *Reader) Skip(n int64) {
	for n > 0 {
		some := r.Some(int(min(n, 1<<30)))
		if some == nil {
			return
		}
		n -= int64(len(some))
	}
}
