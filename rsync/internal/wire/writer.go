package wire

import (
	"encoding/binary"
	"io"
	"sync"
)

// Writer writes one direction of a connection: raw, or as frames (§4).
//
// Values gather in a buffer and leave as one frame, by one write, when it is
// full or flushed. After an error nothing more is written; Err and Flush report
// it. One goroutine writes data; Post, FlushMessages and KeepAlive may be
// called by any. A message never splits a frame and may overtake buffered data.
type Writer struct {
	// Protocol chooses among encodings; it is 0, the oldest, until the versions were exchanged.
	Protocol int

	dst    io.Writer
	buf    []byte // header room, then payload
	head   int    // length of the header room: 4 with framing, else 0
	size   int
	err    error // the data goroutine's view of fault
	tee    io.Writer
	index  indexState
	passed int64 // data bytes that left the buffer

	mu     sync.Mutex
	queue  []byte // frames of messages, whole
	framed bool   // may messages be queued
	sent   int64  // bytes written to dst
	fault  error
}

// NewWriter writes to dst through a buffer of size bytes (0: DefaultBuffer).
func NewWriter(dst io.Writer, size int) *Writer {
	if size == 0 {
		size = DefaultBuffer
	}
	size = min(max(size, minBuffer), maxFrame)
	return &Writer{dst: dst, buf: make([]byte, 0, size+256), size: size, index: newIndexState()}
}

// Err reports the first error.
func (w *Writer) Err() error { return w.err }

// Sent is the number of bytes written to the destination, frame headers and messages included.
func (w *Writer) Sent() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

// Produced is the number of data bytes that were written, buffered ones included.
func (w *Writer) Produced() int64 { return w.passed + int64(w.Pending()) }

// Pending is the number of data bytes in the buffer.
func (w *Writer) Pending() int { return len(w.buf) - w.head }

// SetFramed flushes and turns framing on or off from the next byte on.
func (w *Writer) SetFramed(on bool) error {
	if err := w.Flush(); err != nil {
		return err
	}
	w.head = 0
	if on {
		w.head = 4
	}
	w.buf = w.buf[:w.head]
	w.mu.Lock()
	w.framed = on
	w.mu.Unlock()
	return nil
}

// Tee flushes and copies to t every data byte written from now on; nil ends that (§12).
func (w *Writer) Tee(t io.Writer) error {
	err := w.Flush()
	w.tee = t
	return err
}

// Flush writes all that is buffered, data and messages.
func (w *Writer) Flush() error {
	if w.err != nil {
		return w.err
	}
	n := w.Pending()
	if n > 0 && w.tee != nil {
		if _, w.err = w.tee.Write(w.buf[w.head:]); w.err != nil {
			return w.err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []byte
	if n > 0 {
		if w.head > 0 {
			binary.LittleEndian.PutUint32(w.buf, uint32(tagBase+Data)<<24|uint32(n))
		}
		out = w.buf
	}
	w.write(append(out, w.queue...))
	w.queue = w.queue[:0]
	w.buf = w.buf[:w.head]
	w.passed += int64(n)
	w.err = w.fault
	return w.err
}

// write is called with the lock held.
func (w *Writer) write(p []byte) {
	if len(p) == 0 || w.fault != nil {
		return
	}
	n, err := w.dst.Write(p)
	w.sent += int64(n)
	w.fault = err
}

// room makes sure that n more bytes fit, n at most 256.
func (w *Writer) room(n int) {
	if len(w.buf)+n > w.size {
		w.Flush()
		w.buf = w.buf[:w.head] // after an error too: nothing will leave any more
	}
}

// Space returns room in the buffer for at least one byte and at most n, to be
// filled by the caller in place and made part of the stream by Advance.
func (w *Writer) Space(n int) []byte {
	w.room(1)
	return w.buf[len(w.buf):min(w.size, len(w.buf)+n)]
}

// Advance adds the first n bytes of what Space returned.
func (w *Writer) Advance(n int) { w.buf = w.buf[:len(w.buf)+n] }

// Bytes writes p.
func (w *Writer) Bytes(p []byte) {
	for len(p) > 0 {
		w.room(1)
		n := min(len(p), w.size-len(w.buf))
		w.buf = append(w.buf, p[:n]...)
		p = p[n:]
	}
}

// String writes the bytes of s, with no length.
func (w *Writer) String(s string) {
	for len(s) > 0 {
		w.room(1)
		n := min(len(s), w.size-len(w.buf))
		w.buf = append(w.buf, s[:n]...)
		s = s[n:]
	}
}

// Post queues a message: it leaves with the next flush of data or messages, and
// never waits for the peer. It reports whether it could be queued, which needs
// framing. The payload's length must be one that the code allows.
func (w *Writer) Post(m Message) bool {
	if m.Code.check(len(m.Payload)) != "" {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.enqueue(m)
}

func (w *Writer) enqueue(m Message) bool {
	if !w.framed {
		return false
	}
	w.queue = binary.LittleEndian.AppendUint32(w.queue, uint32(tagBase+m.Code)<<24|uint32(len(m.Payload)))
	w.queue = append(w.queue, m.Payload...)
	return true
}

// FlushMessages writes the queued messages, but not the buffered data.
func (w *Writer) FlushMessages() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.write(w.queue)
	w.queue = w.queue[:0]
	return w.fault
}

// KeepAlive writes the queued messages or, if there are none, an empty data
// frame. Without framing it does nothing.
func (w *Writer) KeepAlive() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		w.enqueue(Message{Code: Data})
	}
	w.write(w.queue)
	w.queue = w.queue[:0]
	return w.fault
}
