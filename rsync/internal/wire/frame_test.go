package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
)

// framed reads p as frames from its first byte on.
func framed(p []byte) *Reader {
	r := whole(32, p)
	r.SetFramed(true)
	return r
}

func TestFrameBytes(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, 0)
	w.SetFramed(true)
	w.String("hello")
	w.Post(IntMessage(Success, 1))
	w.Post(DeletedMessage("y", true))
	w.Flush()
	w.KeepAlive()
	w.Post(Message{Code: ErrorExit})
	w.FlushMessages()
	want := "05000007" + hex.EncodeToString([]byte("hello")) + "0400006b01000000" + "0200006c7900" + "00000007" + "0000005d"
	if got := hex.EncodeToString(b.Bytes()); got != want {
		t.Errorf("frames %s\nwant   %s", got, want)
	}
}

func TestMessages(t *testing.T) {
	var got []string
	r := framed([]byte("\x04\x00\x00\x28\x4d\x00\x00\x00" + "\x03\x00\x00\x09abc" + "\x00\x00\x00\x31" +
		"\x04\x00\x00\x1d\xff\x00\x00\x00" + "\x02\x00\x00\x6cy\x00" + "\x01\x00\x00\x6cx" + "\x01\x00\x00\x07!"))
	r.OnMessage = func(m Message) error {
		s := m.Code.String()
		switch {
		case m.Code == Deleted:
			name, dir := m.Deleted()
			s += " " + name
			if dir {
				s += "/"
			}
		case m.Code == IOError:
			s += " " + string(rune('0'+m.IOErrorBits()))
		case m.Code == IOTimeout && m.Int() != 77:
			t.Errorf("timeout %d, want 77", m.Int())
		case m.Code.IsText():
			s += " " + string(m.Payload)
		}
		got = append(got, s)
		return nil
	}
	if r.Byte() != '!' || r.Err() != nil {
		t.Error("no data behind the messages:", r.Err())
	}
	want := "message IO_TIMEOUT|message INFO abc|message NOOP|message IO_ERROR 7|message DELETED y/|message DELETED x"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("messages %s\nwant     %s", s, want)
	}
}

func TestMessageStops(t *testing.T) {
	boom := errors.New("boom")
	r := framed([]byte("\x04\x00\x00\x5d\x0b\x00\x00\x00\x01\x00\x00\x07!"))
	r.OnMessage = func(m Message) error { return boom }
	if r.Byte(); !errors.Is(r.Err(), boom) {
		t.Errorf("error %v, want that of the message func", r.Err())
	}
}

// TestBadFrames: frames that a peer must not send (§4, §13).
func TestBadFrames(t *testing.T) {
	for name, p := range map[string]string{
		"tag below 7":           "\x00\x00\x00\x06",
		"unknown code":          "\x00\x00\x00\x40",
		"redo on a connection":  "\x04\x00\x00\x10\x00\x00\x00\x00",
		"log on a connection":   "\x01\x00\x00\x0dx",
		"stats on a connection": "\x08\x00\x00\x1112345678",
		"text of 5120 bytes":    "\x00\x14\x00\x09" + strings.Repeat("x", 5120),
		"name of 16 MiB":        "\xff\xff\xff\x6c",
		"short success":         "\x03\x00\x00\x6b123",
		"long noop":             "\x01\x00\x00\x31x",
		"exit code of 2 bytes":  "\x02\x00\x00\x5d12",
		"endless no-ops":        strings.Repeat("\x00\x00\x00\x31", maxIdle+1),
		"endless keep-alives":   strings.Repeat("\x00\x00\x00\x07", maxIdle+1),
	} {
		r := framed([]byte(p))
		r.Byte()
		if errors.Is(r.Err(), io.ErrUnexpectedEOF) {
			t.Errorf("%s: read to the end", name)
		}
		wantCode(t, r.Err(), ExitStream)
	}
	if Message := TextMessage(Info, strings.Repeat("x", 9999)); len(Message.Payload) != maxText {
		t.Error("long text is not cut")
	}
}

// TestFrameCut: a stream of frames may end only between frames.
func TestFrameCut(t *testing.T) {
	p := []byte("\x02\x00\x00\x07ab\x03\x00\x00\x09abc\x01\x00\x00\x07c")
	for n := range p {
		r := framed(p[:n])
		for !r.AtEnd() && r.err == nil {
			r.Byte()
		}
		clean := n == 0 || n == 6 || n == 13
		if clean != (r.err == io.EOF) {
			t.Errorf("%d bytes: error %v", n, r.err)
		}
		if !clean && !errors.Is(r.Err(), io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: error %v", n, r.Err())
		}
	}
}

// TestFramingSuspended: names of --files-from go raw between frames before 31 (§7).
func TestFramingSuspended(t *testing.T) {
	r := framed(unhex(t, "04000007 00000000 66 00 6e6f7065 00 00 01000007 2a"))
	if r.Int() != 0 {
		t.Error("no end of rules")
	}
	if err := r.SetFramed(false); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := r.Name(MaxPath, "name"); name != ""; name = r.Name(MaxPath, "name") {
		names = append(names, name)
	}
	if err := r.SetFramed(true); err != nil {
		t.Fatal(err)
	}
	if r.Byte() != 42 || r.Err() != nil || strings.Join(names, " ") != "f nope" || r.Consumed() != 4+8+1 {
		t.Errorf("names %q, error %v, consumed %d", names, r.Err(), r.Consumed())
	}
	r = framed([]byte("\x02\x00\x00\x07ab"))
	r.Byte()
	wantCode(t, r.SetFramed(false), ExitStream)
}

func TestLargeFrames(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 40000)
	var b, tee, tee2 bytes.Buffer
	w := NewWriter(&b, 100<<10)
	w.SetFramed(true)
	if err := w.Tee(&tee); err != nil {
		t.Fatal(err)
	}
	w.Bytes(big)
	for rest := big; len(rest) > 0; {
		n := copy(w.Space(len(rest)), rest)
		w.Advance(n)
		rest = rest[n:]
	}
	w.String("end")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	r := framed(b.Bytes())
	r.Tee(&tee2)
	want := string(big) + string(big) + "end"
	var got []byte
	for !r.AtEnd() {
		p := r.Some(1 << 20)
		if p == nil {
			t.Fatal(r.Err())
		}
		got = append(got, p...)
	}
	if string(got) != want || tee.String() != want || tee2.String() != want {
		t.Errorf("%d bytes read, tees have %d and %d, want %d", len(got), tee.Len(), tee2.Len(), len(want))
	}
}

// TestPostFromElsewhere: other goroutines may post while one writes data.
func TestPostFromElsewhere(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, 0)
	w.SetFramed(true)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 100 {
				w.Post(IntMessage(Success, int32(i)))
				w.KeepAlive()
			}
		})
	}
	for i := range 20000 {
		w.Int(int32(i))
	}
	w.Flush()
	wg.Wait()
	w.Flush()
	r := framed(b.Bytes())
	got := 0
	r.OnMessage = func(Message) error { got++; return nil }
	for i := range 20000 {
		if r.Int() != int32(i) {
			t.Fatal("data is not in order", r.Err())
		}
	}
	if !r.AtEnd() || got != 400 {
		t.Errorf("%d messages, error %v", got, r.Err())
	}
}

func TestPostNeedsFraming(t *testing.T) {
	w := NewWriter(io.Discard, 0)
	if w.Post(TextMessage(Info, "x")) {
		t.Error("queued without framing")
	}
	w.SetFramed(true)
	if w.Post(Message{Code: Redo, Payload: []byte("1234")}) || w.Post(Message{Code: NoSend}) {
		t.Error("queued what a peer refuses")
	}
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after--; f.after < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func TestWriteError(t *testing.T) {
	w := NewWriter(&failing{1}, 0)
	w.SetFramed(true)
	for range 100 {
		w.Bytes(make([]byte, 10000))
	}
	if err := w.Flush(); err != io.ErrClosedPipe || w.Err() != err {
		t.Errorf("error %v", err)
	}
	if err := w.KeepAlive(); err != io.ErrClosedPipe {
		t.Errorf("keep-alive: error %v", err)
	}
}

func TestBeforeRead(t *testing.T) {
	r := whole(30, []byte("ab"))
	calls := 0
	r.BeforeRead = func() error { calls++; return nil }
	if r.Byte(); calls != 1 || !r.Buffered() {
		t.Errorf("%d calls before the first byte", calls)
	}
	if r.Byte(); calls != 1 || r.Buffered() {
		t.Errorf("%d calls for what was buffered", calls)
	}
	r.BeforeRead = func() error { return io.ErrClosedPipe }
	if r.Byte(); !errors.Is(r.Err(), io.ErrClosedPipe) {
		t.Errorf("error %v", r.Err())
	}
}

func TestStuckSource(t *testing.T) {
	r := NewReader(stuck{}, 0)
	if r.Byte(); !errors.Is(r.Err(), io.ErrNoProgress) {
		t.Errorf("error %v", r.Err())
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }
