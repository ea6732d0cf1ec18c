// Package delta finds what two files share: signatures of the one, and tokens
// that build the other from it. It finds what rsync 3.5.0 finds, so literal and
// matched bytes come out alike. It is pure: bytes in, values out.
package delta

import "io"

// Input is a file to read. Its size is what counts: a file that has changed
// since must still give all bytes, or an error.
type Input interface {
	Size() int64
	// Window is n bytes from off on, valid until the next call.
	Window(off int64, n int) ([]byte, error)
}

// Sparse is an Input that knows its holes, which then cost no windows.
type Sparse interface {
	Input
	// Data is the offset of the first byte from off on that is not known to lie
	// in a hole; the size if there is none.
	Data(off int64) (int64, error)
}

// MaxLiteral is the most literal bytes in a token; rsync sends no more.
const MaxLiteral = 32 << 10

// Token is a stretch of the input.
type Token struct {
	Block int    // of the basis, whose bytes these are; below 0 they are literal
	Off   int64  // where in the input it begins
	Data  []byte // the input's bytes, valid until emit returns
}

// Literal reports whether the bytes have to travel.
func (t Token) Literal() bool { return t.Block < 0 }

// zeros stand for the bytes of holes; never written.
var zeros [512 << 10]byte

// window gets exactly n bytes.
func window(in Input, off int64, n int) ([]byte, error) {
	w, err := in.Window(off, n)
	if err != nil {
		return nil, err
	}
	if len(w) < n {
		return nil, io.ErrUnexpectedEOF
	}
	return w[:n:n], nil
}
