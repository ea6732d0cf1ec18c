package wire

import (
	"errors"
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"
)

// zstdWindow is the largest window a peer may ask memory for: that of level 22.
const zstdWindow = 128 << 20

var errClosed = errors.New("token reader closed")

// zstdReader reads tokens whose DATA items are pieces of one zstd frame, which
// lasts for the session (§10.4).
//
// The decoder pulls bytes and knows no pause at the end of a file, so it runs
// as a coroutine: when it wants bytes and the next item is a match or the end,
// that item is handed out from inside its read.
type zstdReader struct {
	items  itemReader
	dec    *zstd.Decoder
	resume func() (Token, bool)
	stop   func()
	yield  func(Token) bool
	err    error
}

func newZstdReader(r *Reader) (*zstdReader, error) {
	t := &zstdReader{items: itemReader{r: r}}
	var err error
	t.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderMaxMemory(zstdWindow))
	if err != nil {
		return nil, err
	}
	t.resume, t.stop = iter.Pull(t.run)
	return t, nil
}

func (t *zstdReader) Begin(head SumHead) { t.items.begin(head) }
func (t *zstdReader) Matched([]byte)     {}
func (t *zstdReader) NeedsMatched() bool { return false }

func (t *zstdReader) Close() {
	t.stop()
	t.dec.Close()
}

func (t *zstdReader) Next() (Token, error) {
	tok, ok := t.resume()
	if ok {
		return tok, nil
	}
	if t.items.r.err != nil {
		return Token{}, t.items.r.done("zstd tokens")
	}
	t.items.r.broken("zstd data", t.err)
	return Token{}, t.items.r.err
}

// run is the coroutine: it ends only with an error.
func (t *zstdReader) run(yield func(Token) bool) {
	t.yield = yield
	if t.err = t.dec.Reset(zstdSource{t}); t.err == nil {
		_, t.err = t.dec.WriteTo(zstdSink{t})
	}
	if t.err == nil {
		t.err = io.ErrUnexpectedEOF
	}
}

// zstdSource feeds the decoder with DATA items.
type zstdSource struct{ t *zstdReader }

func (s zstdSource) Read(p []byte) (int, error) {
	items := &s.t.items
	for items.data == 0 {
		if !items.next() {
			return 0, items.r.err
		}
		if items.kind != Literal && !s.t.yield(items.token()) {
			return 0, errClosed
		}
	}
	if !items.r.Full(p[:min(len(p), items.data)]) {
		return 0, items.r.err
	}
	n := min(len(p), items.data)
	items.data -= n
	return n, nil
}

// zstdSink hands out what was decoded, one block at a time and where it lies.
type zstdSink struct{ t *zstdReader }

func (s zstdSink) Write(p []byte) (int, error) {
	if len(p) > 0 && !s.t.yield(Token{Kind: Literal, Data: p}) {
		return 0, errClosed
	}
	return len(p), nil
}

// zstdWriter writes them. The frame is begun by the first literal and never ended.
type zstdWriter struct {
	items itemWriter
	enc   *zstd.Encoder
	dirty bool // literals are not flushed yet
}

func newZstdWriter(w *Writer, level int) (*zstdWriter, error) {
	t := &zstdWriter{items: itemWriter{w: w}}
	var err error
	t.enc, err = zstd.NewWriter(dataSink{&t.items}, zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithEncoderLevel(zstdLevel(level)))
	return t, err
}

// zstdLevel is the encoder's level for one of the program's. The default, 3, is
// the fastest here: its output is within 1% of the program's at level 3.
func zstdLevel(level int) zstd.EncoderLevel {
	if level <= 3 {
		return zstd.SpeedFastest
	}
	return zstd.EncoderLevelFromZstd(level)
}

func (t *zstdWriter) Begin()             { t.items.begin() }
func (t *zstdWriter) NeedsMatched() bool { return false }

// Close ends the frame into nowhere.
func (t *zstdWriter) Close() error {
	t.enc.Reset(io.Discard)
	return t.enc.Close()
}

func (t *zstdWriter) Literal(p []byte) error {
	t.items.endRun()
	t.dirty = t.dirty || len(p) > 0
	_, err := t.enc.Write(p)
	return err
}

func (t *zstdWriter) flush() error {
	if !t.dirty {
		return nil
	}
	t.dirty = false
	return t.enc.Flush()
}

func (t *zstdWriter) Match(block int32, _ []byte) error {
	if err := t.flush(); err != nil {
		return err
	}
	t.items.match(block)
	return t.items.w.err
}

func (t *zstdWriter) End() error {
	if err := t.flush(); err != nil {
		return err
	}
	t.items.end()
	return t.items.w.err
}
