package wire

import (
	"fmt"
	"io"
)

// MaxLiteral is the longest literal that one token carries.
const MaxLiteral = 32 << 10

// Kind tells tokens apart.
type Kind uint8

const (
	End     Kind = iota // of the file's tokens; its digest follows
	Literal             // bytes of the file
	Match               // a block of the basis
)

// Token is one step of a delta.
type Token struct {
	Kind  Kind
	Block int32  // of Match
	Data  []byte // of Literal: a piece of any length but 0, valid until the next call
}

// TokenReader reads the tokens of one file after the other (§10). A file that
// is given up is read to its end all the same, or the stream is lost.
type TokenReader interface {
	// Begin starts a file; only blocks of head may be matched.
	Begin(head SumHead)
	// Next returns the next token. After End comes the next Begin.
	Next() (Token, error)
	// Matched gives the bytes of the block just returned, to be called before the
	// next Next if NeedsMatched. Nil stands for bytes that cannot be read, when
	// the file is given up anyway.
	Matched(p []byte)
	// NeedsMatched tells whether Matched does anything.
	NeedsMatched() bool
	// Close frees what a decompressor holds.
	Close()
}

// TokenWriter writes the tokens of one file after the other (§10). Errors of
// the stream are the Writer's; what is returned here is a compressor's.
type TokenWriter interface {
	Begin()
	// Literal adds bytes; it does not keep p.
	Literal(p []byte) error
	// Match refers to a block; p are its bytes, which only a codec that
	// NeedsMatched looks at.
	Match(block int32, p []byte) error
	NeedsMatched() bool
	End() error
	// Close frees what a compressor holds; the stream is not touched.
	Close() error
}

// Compression is the name of a method as it is negotiated (§3.2).
type Compression string

const (
	NoCompression Compression = "none"
	Zstd          Compression = "zstd"
	LZ4           Compression = "lz4"
	Zlibx         Compression = "zlibx" // deflate; history holds literals only
	Zlib          Compression = "zlib"  // deflate; history holds matched blocks too
)

// ClampLevel brings a compression level into the method's range, as the program does (§10.6).
// Zlib and Zlibx: 0 means no compression, for the caller to heed.
func (c Compression) ClampLevel(level int) int {
	switch c {
	case Zstd:
		if level == 0 {
			return 3
		}
		return min(max(level, -131072), 22)
	case Zlib, Zlibx:
		if level < 0 {
			return 6
		}
		return min(level, 9)
	}
	return 0
}

// DefaultLevel is the level when none is asked for.
func (c Compression) DefaultLevel() int {
	switch c {
	case Zstd:
		return 3
	case Zlib, Zlibx:
		return 6
	}
	return 0
}

// NewTokenReader reads tokens in the given method from r.
func NewTokenReader(r *Reader, c Compression) (TokenReader, error) {
	switch c {
	case NoCompression, "":
		return &plainReader{r: r}, nil
	case Zstd:
		return newZstdReader(r)
	case LZ4:
		return &lz4Reader{items: itemReader{r: r}, out: make([]byte, lz4MaxOut)}, nil
	case Zlibx, Zlib:
		return newZlibReader(r, c == Zlib), nil
	}
	return nil, &Error{Code: ExitUnsupported, What: fmt.Sprintf("unknown compression %q", c)}
}

// NewTokenWriter writes tokens in the given method and level to w.
func NewTokenWriter(w *Writer, c Compression, level int) (TokenWriter, error) {
	level = c.ClampLevel(level)
	switch c {
	case NoCompression, "":
		return &plainWriter{w: w}, nil
	case Zstd:
		return newZstdWriter(w, level)
	case LZ4:
		return newLZ4Writer(w), nil
	case Zlibx, Zlib:
		return newZlibWriter(w, level, c == Zlib)
	}
	return nil, &Error{Code: ExitUnsupported, What: fmt.Sprintf("unknown compression %q", c)}
}

// checkBlock refuses a block that head does not have.
func (r *Reader) checkBlock(block int64, head SumHead) bool {
	if block < 0 || block >= int64(head.Count) {
		r.fail(ExitProtocol, "block %d of %d", block, head.Count)
		return false
	}
	return true
}

// plainReader reads tokens without compression: a number each, and a literal's bytes.
type plainReader struct {
	r    *Reader
	head SumHead
	left int // of the current literal
}

func (t *plainReader) Begin(head SumHead) { t.head, t.left = head, 0 }
func (t *plainReader) Matched([]byte)     {}
func (t *plainReader) NeedsMatched() bool { return false }
func (t *plainReader) Close()             {}

func (t *plainReader) Next() (Token, error) {
	if t.left == 0 {
		n := t.r.Int()
		switch {
		case t.r.err != nil:
			return Token{}, t.r.done("token")
		case n == 0:
			return Token{}, nil
		case n < 0:
			block := -int64(n) - 1
			if !t.r.checkBlock(block, t.head) {
				return Token{}, t.r.err
			}
			return Token{Kind: Match, Block: int32(block)}, nil
		}
		t.left = int(n)
	}
	data := t.r.Some(t.left)
	if data == nil {
		return Token{}, t.r.done("literal")
	}
	t.left -= len(data)
	return Token{Kind: Literal, Data: data}, nil
}

type plainWriter struct{ w *Writer }

func (t *plainWriter) Begin()             {}
func (t *plainWriter) NeedsMatched() bool { return false }
func (t *plainWriter) Close() error       { return nil }

func (t *plainWriter) Literal(p []byte) error {
	for len(p) > 0 {
		n := min(len(p), MaxLiteral)
		t.w.Int(int32(n))
		t.w.Bytes(p[:n])
		p = p[n:]
	}
	return t.w.err
}

func (t *plainWriter) Match(block int32, _ []byte) error {
	t.w.Int(-block - 1)
	return t.w.err
}

func (t *plainWriter) End() error {
	t.w.Int(0)
	return t.w.err
}

// Items: the framing that all compressed token streams share (§10.2).
const (
	itemEnd      = 0x00
	itemLong     = 0x20 // block number follows
	itemLongRun  = 0x21 // block number and run length follow
	itemData     = 0x40 // 6 bits of length, then 8
	itemRel      = 0x80 // 6 bits: blocks from the last one
	itemRelRun   = 0xc0 // the same, then the run length
	itemClass    = 0xc0
	maxItemData  = 1<<14 - 1
	maxItemBlock = 1<<31 - 2
)

// itemReader reads items. It looks one item ahead where a codec must know that
// a stretch of literal data is over.
type itemReader struct {
	r    *Reader
	head SumHead
	last int32 // block last referred to
	run  int   // blocks still to come of a run
	data int   // bytes left of a DATA item
	kind Kind  // of the item at hand
}

func (t *itemReader) begin(head SumHead) {
	*t = itemReader{r: t.r, head: head}
}

// next reads the head of the next item, or the next block of a run. After
// Literal, data bytes are to be read; after Match, last is the block.
func (t *itemReader) next() bool {
	r := t.r
	if t.run > 0 {
		t.run--
		t.kind = Match
		t.last++
		return true
	}
	b := r.Byte()
	switch {
	case r.err != nil:
		return false
	case b == itemEnd:
		t.kind = End
		return true
	case b&itemClass == itemData:
		t.kind = Literal
		t.data = int(b&0x3f)<<8 | int(r.Byte())
		if t.data == 0 && r.err == nil {
			r.fail(ExitStream, "compressed data of no length")
		}
		return r.err == nil
	}
	return t.blocks(b)
}

// blocks reads a reference to one block or a run of them.
func (t *itemReader) blocks(b byte) bool {
	r := t.r
	block, run := int64(t.last)+int64(b&0x3f), 0
	switch {
	case b&0x80 != 0:
	case b == itemLong || b == itemLongRun:
		block = int64(r.Int())
	default:
		r.fail(ExitStream, "item %#x is none", b)
		return false
	}
	if b&itemClass == itemRelRun || b == itemLongRun {
		if run = int(r.Short()); run == 0 && r.err == nil {
			r.fail(ExitProtocol, "run of no blocks")
		}
	}
	if r.err != nil || !r.checkBlock(block, t.head) || !r.checkBlock(block+int64(run), t.head) {
		return false
	}
	t.kind, t.last, t.run = Match, int32(block), run
	return true
}

// token is the item at hand, if it is no data.
func (t *itemReader) token() Token { return Token{Kind: t.kind, Block: t.last} }

// itemWriter writes items. A run of blocks is held back until it ends.
type itemWriter struct {
	w     *Writer
	first int32 // of the run
	count int32 // blocks in the run, 0: none is open
	base  int32 // block that relative numbers count from
}

func (t *itemWriter) begin() { *t = itemWriter{w: t.w} }

func (t *itemWriter) match(block int32) {
	if t.count > 0 && (block != t.first+t.count || t.count == 1<<16) {
		t.endRun()
	}
	if t.count == 0 {
		t.first = block
	}
	t.count++
}

// endRun writes the open run of blocks, if any.
func (t *itemWriter) endRun() {
	if t.count == 0 {
		return
	}
	w := t.w
	run := t.count > 1
	if d := t.first - t.base; d >= 0 && d <= 63 {
		if run {
			w.Byte(itemRelRun | byte(d))
		} else {
			w.Byte(itemRel | byte(d))
		}
	} else if run {
		w.Byte(itemLongRun)
		w.Int(t.first)
	} else {
		w.Byte(itemLong)
		w.Int(t.first)
	}
	if run {
		w.Short(uint16(t.count - 1))
	}
	t.base = t.first + t.count - 1
	t.count = 0
}

// data writes compressed bytes as DATA items.
func (t *itemWriter) data(p []byte) {
	t.endRun()
	for len(p) > 0 {
		n := min(len(p), maxItemData)
		t.w.Byte(itemData | byte(n>>8))
		t.w.Byte(byte(n))
		t.w.Bytes(p[:n])
		p = p[n:]
	}
}

func (t *itemWriter) end() {
	t.endRun()
	t.w.Byte(itemEnd)
}

// dataSink is where a compressor's output becomes DATA items, as it comes.
type dataSink struct{ items *itemWriter }

func (s dataSink) Write(p []byte) (int, error) {
	s.items.data(p)
	return len(p), s.items.w.err
}

var _ io.Writer = dataSink{}
