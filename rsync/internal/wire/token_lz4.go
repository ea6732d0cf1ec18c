package wire

import "github.com/pierrec/lz4/v4"

const (
	lz4MaxOut = 32912       // what one item may decompress to
	lz4MaxIn  = maxItemData // what one item is made of
)

// lz4Reader reads tokens whose DATA items are lz4 blocks, each for itself (§10.5).
type lz4Reader struct {
	items   itemReader
	out     []byte
	scratch []byte
}

func (t *lz4Reader) Begin(head SumHead) { t.items.begin(head) }
func (t *lz4Reader) Matched([]byte)     {}
func (t *lz4Reader) NeedsMatched() bool { return false }
func (t *lz4Reader) Close()             {}

func (t *lz4Reader) Next() (Token, error) {
	r := t.items.r
	for t.items.next() {
		if t.items.kind != Literal {
			return t.items.token(), nil
		}
		packed := r.fit(&t.scratch, t.items.data)
		if r.err != nil {
			break
		}
		n, err := lz4.UncompressBlock(packed, t.out)
		if err != nil {
			r.broken("lz4 data", err)
			break
		}
		if n > 0 {
			return Token{Kind: Literal, Data: t.out[:n]}, nil
		}
	}
	return Token{}, r.done("lz4 tokens")
}

// lz4Writer gathers literal bytes into blocks as large as one item holds.
type lz4Writer struct {
	items   itemWriter
	packer  lz4.Compressor
	pending []byte
	out     []byte
}

func newLZ4Writer(w *Writer) *lz4Writer {
	return &lz4Writer{
		items:   itemWriter{w: w},
		pending: make([]byte, 0, lz4MaxIn),
		out:     make([]byte, lz4.CompressBlockBound(lz4MaxIn)),
	}
}

func (t *lz4Writer) Begin() {
	t.items.begin()
	t.pending = t.pending[:0]
}
func (t *lz4Writer) NeedsMatched() bool { return false }
func (t *lz4Writer) Close() error       { return nil }

func (t *lz4Writer) Literal(p []byte) error {
	for len(p) > 0 {
		n := min(len(p), lz4MaxIn-len(t.pending))
		t.pending = append(t.pending, p[:n]...)
		p = p[n:]
		if len(t.pending) == lz4MaxIn {
			if err := t.flush(); err != nil {
				return err
			}
		}
	}
	return t.items.w.err
}

func (t *lz4Writer) flush() error {
	p := t.pending
	t.pending = t.pending[:0]
	return t.pack(p)
}

// pack writes p as one item, or as two if it grows beyond one.
func (t *lz4Writer) pack(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	n, err := t.packer.CompressBlock(p, t.out)
	if err != nil {
		return err
	}
	if n > maxItemData {
		if err := t.pack(p[:len(p)/2]); err != nil {
			return err
		}
		return t.pack(p[len(p)/2:])
	}
	t.items.data(t.out[:n])
	return t.items.w.err
}

func (t *lz4Writer) Match(block int32, _ []byte) error {
	if err := t.flush(); err != nil {
		return err
	}
	t.items.match(block)
	return t.items.w.err
}

func (t *lz4Writer) End() error {
	if err := t.flush(); err != nil {
		return err
	}
	t.items.end()
	return t.items.w.err
}
