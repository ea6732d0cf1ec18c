package wire

import "io"

// DefaultBuffer is the size of a buffer when none is asked for.
const DefaultBuffer = 64 << 10

// minBuffer holds the longest message and every primitive.
const minBuffer = 8 << 10

// Conn is a connection: two streams that know nothing of each other. In and Out
// may be used by two goroutines at once; each alone belongs to one.
type Conn struct {
	In  *Reader
	Out *Writer
}

// NewConn speaks over in and out with buffers of size bytes (0: DefaultBuffer).
// The largest data frame sent is as large as the buffer.
func NewConn(in io.Reader, out io.Writer, size int) *Conn {
	return &Conn{In: NewReader(in, size), Out: NewWriter(out, size)}
}

// SetProtocol makes both halves speak protocol n, after the version exchange.
func (c *Conn) SetProtocol(n int) { c.In.Protocol, c.Out.Protocol = n, n }
