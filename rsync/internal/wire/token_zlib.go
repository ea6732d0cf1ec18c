package wire

import (
	"errors"
	"io"

	"github.com/klauspost/compress/flate"
)

const zlibWindow = 32 << 10

// zlibHistory is the last 32 KiB that a deflate stream may refer to.
type zlibHistory struct {
	buf    []byte
	repeat bool // before 31: see addBlock
}

func (h *zlibHistory) reset() { h.buf = h.buf[:0] }

// window is the history proper.
func (h *zlibHistory) window() []byte { return h.buf[max(0, len(h.buf)-zlibWindow):] }

// add appends p. The buffer is four windows long, so that moving is rare.
func (h *zlibHistory) add(p []byte) {
	p = p[max(0, len(p)-zlibWindow):]
	if h.buf == nil {
		h.buf = make([]byte, 0, 4*zlibWindow)
	}
	if len(h.buf)+len(p) > cap(h.buf) {
		n := copy(h.buf, h.window())
		h.buf = h.buf[:n]
	}
	h.buf = append(h.buf, p...)
}

// addBlock appends a matched block. Before protocol 31 every piece of 65535
// bytes of a longer block was taken from the block's start (§10.3).
func (h *zlibHistory) addBlock(p []byte) {
	const piece = 0xffff
	if !h.repeat || len(p) <= piece {
		h.add(p)
		return
	}
	for left := len(p); left > 0; left -= piece {
		h.add(p[:min(left, piece)])
	}
}

// zlibReader reads tokens whose DATA items are raw deflate, one stream a file
// (§10.3). A literal stretch ends at a sync flush, whose last four bytes are
// not sent: there the stream is at a byte's border, so each stretch is inflated
// as a stream of its own that may refer to the history.
type zlibReader struct {
	items   itemReader
	inflate io.ReadCloser
	open    bool // inside a stretch
	ended   bool // the item after the stretch is at hand
	tail    []byte
	history zlibHistory
	blocks  bool // matched blocks enter the history
	out     []byte
}

// zlibTail is what a stretch lacks: the rest of the empty block of its sync
// flush, and then an empty last block, which ends the stream.
var zlibTail = []byte{0, 0, 0xff, 0xff, 1, 0, 0, 0xff, 0xff}

func newZlibReader(r *Reader, blocks bool) *zlibReader {
	t := &zlibReader{items: itemReader{r: r}, blocks: blocks, out: make([]byte, 32<<10)}
	t.inflate = flate.NewReader(t)
	return t
}

func (t *zlibReader) Begin(head SumHead) {
	t.items.begin(head)
	t.open, t.ended = false, false
	t.history.reset()
	t.history.repeat = t.items.r.Protocol < 31
}

func (t *zlibReader) NeedsMatched() bool { return t.blocks }
func (t *zlibReader) Close()             {}

func (t *zlibReader) Matched(p []byte) {
	if !t.blocks {
		return
	}
	if p == nil {
		_, n := t.items.head.Block(t.items.last)
		p = make([]byte, n)
	}
	t.history.addBlock(p)
}

func (t *zlibReader) Next() (Token, error) {
	r := t.items.r
	for {
		if t.open {
			n, err := t.inflate.Read(t.out)
			t.history.add(t.out[:n])
			switch {
			case r.err != nil:
				return Token{}, r.done("deflated tokens")
			case err == io.EOF && (!t.ended || len(t.tail) > 0):
				r.broken("deflated data", errors.New("ends before its item does"))
				return Token{}, r.err
			case err == io.EOF:
				t.open = false
			case err != nil:
				r.broken("deflated data", err)
				return Token{}, r.err
			}
			if n > 0 {
				return Token{Kind: Literal, Data: t.out[:n]}, nil
			}
			continue
		}
		if !t.ended && !t.items.next() {
			return Token{}, r.done("deflated tokens")
		}
		t.ended = false
		if t.items.kind != Literal {
			return t.items.token(), nil
		}
		t.open, t.tail = true, zlibTail
		if err := t.inflate.(flate.Resetter).Reset(t, t.history.window()); err != nil {
			return Token{}, err
		}
	}
}

// ReadByte feeds the inflater: the stretch's DATA items, then what they lack.
func (t *zlibReader) ReadByte() (byte, error) {
	for !t.ended && t.items.data == 0 {
		if !t.items.next() {
			return 0, t.items.r.err
		}
		t.ended = t.items.kind != Literal
	}
	if !t.ended {
		t.items.data--
		b := t.items.r.Byte()
		return b, t.items.r.err
	}
	if len(t.tail) == 0 {
		return 0, io.EOF
	}
	b := t.tail[0]
	t.tail = t.tail[1:]
	return b, nil
}

// Read serves stored blocks, which the inflater reads whole.
func (t *zlibReader) Read(p []byte) (int, error) {
	for i := range p {
		b, err := t.ReadByte()
		if err != nil {
			return i, err
		}
		p[i] = b
	}
	return len(p), nil
}

// zlibWriter writes them. Matched blocks enter the deflater's history all at
// once, when the next literal comes. A few are deflated and what comes out is
// thrown away; for more the deflater starts anew with the last 32 KiB as its
// dictionary. Both are sound because a stretch begins at a byte's border.
type zlibWriter struct {
	items   itemWriter
	deflate *flate.Writer
	level   int
	history zlibHistory
	blocks  bool
	missing int     // bytes of matched blocks that the deflater lacks
	dirty   bool    // literals are not flushed yet
	discard bool    // output is not wanted
	held    [4]byte // last bytes of the output, dropped at the stretch's end
	nheld   int
	buf     []byte
}

func newZlibWriter(w *Writer, level int, blocks bool) (*zlibWriter, error) {
	t := &zlibWriter{items: itemWriter{w: w}, level: level, blocks: blocks}
	var err error
	t.deflate, err = flate.NewWriter(t, level)
	return t, err
}

func (t *zlibWriter) Begin() {
	t.items.begin()
	t.history.reset()
	t.history.repeat = t.items.w.Protocol < 31
	t.missing, t.dirty, t.nheld = 0, false, 0
	t.deflate.ResetDict(t, nil)
}

func (t *zlibWriter) NeedsMatched() bool { return t.blocks }
func (t *zlibWriter) Close() error       { return nil }

func (t *zlibWriter) Literal(p []byte) error {
	if len(p) == 0 {
		return t.items.w.err
	}
	t.items.endRun()
	if err := t.catchUp(); err != nil {
		return err
	}
	t.dirty = true
	if t.blocks {
		t.history.add(p)
	}
	_, err := t.deflate.Write(p)
	return err
}

// catchUp makes the deflater know the matched blocks.
func (t *zlibWriter) catchUp() error {
	const few = 8 << 10 // from here on a dictionary is cheaper
	n := t.missing
	t.missing = 0
	switch {
	case n == 0:
		return nil
	case n > few:
		t.deflate.ResetDict(t, t.history.window())
		return nil
	}
	t.discard = true
	_, err := t.deflate.Write(t.history.buf[len(t.history.buf)-n:])
	if err == nil {
		err = t.deflate.Flush()
	}
	t.discard = false
	return err
}

func (t *zlibWriter) flush() error {
	if !t.dirty {
		return nil
	}
	t.dirty = false
	err := t.deflate.Flush()
	t.nheld = 0 // 00 00 ff ff
	return err
}

func (t *zlibWriter) Match(block int32, p []byte) error {
	if err := t.flush(); err != nil {
		return err
	}
	if t.blocks {
		t.history.addBlock(p)
		t.missing += len(p)
	}
	t.items.match(block)
	return t.items.w.err
}

func (t *zlibWriter) End() error {
	if err := t.flush(); err != nil {
		return err
	}
	t.items.end()
	return t.items.w.err
}

// Write takes the deflater's output; four bytes are always held back.
func (t *zlibWriter) Write(p []byte) (int, error) {
	if t.discard {
		return len(p), nil
	}
	t.buf = append(append(t.buf[:0], t.held[:t.nheld]...), p...)
	keep := min(4, len(t.buf))
	t.nheld = copy(t.held[:], t.buf[len(t.buf)-keep:])
	t.items.data(t.buf[:len(t.buf)-keep])
	return len(p), t.items.w.err
}
