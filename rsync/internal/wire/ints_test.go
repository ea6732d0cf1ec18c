package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// encode gives the bytes that put writes, without framing.
func encode(protocol int, put func(w *Writer)) []byte {
	var b bytes.Buffer
	w := NewWriter(&b, 0)
	w.Protocol = protocol
	put(w)
	if err := w.Flush(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// reader reads p as a peer of the given protocol sent it, a byte at a time.
func reader(protocol int, p []byte) *Reader {
	r := NewReader(iotest.OneByteReader(bytes.NewReader(p)), 0)
	r.Protocol = protocol
	return r
}

// whole reads p from a buffer that holds it all.
func whole(protocol int, p []byte) *Reader {
	r := NewReader(bytes.NewReader(p), 0)
	r.Protocol = protocol
	return r
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "|", "", "\n", "", "\t", "").Replace(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wantCode fails unless err is an Error with this exit code.
func wantCode(t *testing.T, err error, code int) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("error %v, want one with exit code %d", err, code)
	}
}

// cuts tries read on every part of p that lacks its end: each must end in an error that says so.
func cuts(t *testing.T, protocol int, p []byte, read func(r *Reader) error) {
	t.Helper()
	for n := range p {
		err := read(whole(protocol, p[:n]))
		var e *Error
		if !errors.Is(err, io.ErrUnexpectedEOF) || !errors.As(err, &e) || e.Code != ExitStream {
			t.Fatalf("%d of %d bytes: error %v, want an unexpected end", n, len(p), err)
		}
	}
}

func TestVarintBytes(t *testing.T) {
	for _, c := range []struct {
		v int32
		x string
	}{
		{0, "00"}, {0x7f, "7f"}, {0x80, "8080"}, {0x1ff, "81ff"}, {0x3fff, "bfff"}, {0x4000, "c00040"},
		{0x1fffff, "dfffff"}, {0x200000, "e0000020"}, {0xfffffff, "efffffff"}, {0x10000000, "f000000010"},
		{0x7fffffff, "f0ffffff7f"}, {-1, "f0ffffffff"},
	} {
		got := encode(30, func(w *Writer) { w.Varint(c.v) })
		if hex.EncodeToString(got) != c.x {
			t.Errorf("varint %#x: %x, want %s", c.v, got, c.x)
		}
		if v := reader(30, got).Varint(); v != c.v {
			t.Errorf("varint %s: %#x, want %#x", c.x, v, c.v)
		}
	}
}

func TestVarlongBytes(t *testing.T) {
	for _, c := range []struct {
		v     int64
		least int
		x     string
	}{
		{0, 3, "000000"}, {0x14, 3, "001400"}, {0xffff, 3, "00ffff"}, {0x10000, 3, "010000"}, {0x7fffff, 3, "7fffff"},
		{0x800000, 3, "80000080"}, {0x1000000, 3, "81000000"}, {0x7fffffff, 3, "c0ffffff7f"}, {1 << 32, 3, "c100000000"},
		{1 << 40, 3, "e10000000000"}, {math.MaxInt64, 3, "fcffffffffffffff7f"}, {-1, 3, "fcffffffffffffffff"},
		{0, 4, "00000000"}, {0x10000, 4, "00000001"}, {0x4b1d2f8e, 4, "4b8e2f1d"}, {0x80000000, 4, "8000000080"},
		{-1, 4, "f8ffffffffffffffff"},
	} {
		got := encode(30, func(w *Writer) { w.Varlong(c.v, c.least) })
		if hex.EncodeToString(got) != c.x {
			t.Errorf("varlong(%d) %#x: %x, want %s", c.least, c.v, got, c.x)
		}
		if v := reader(30, got).Varlong(c.least); v != c.v {
			t.Errorf("varlong(%d) %s: %#x, want %#x", c.least, c.x, v, c.v)
		}
	}
}

func TestLongintBytes(t *testing.T) {
	for _, c := range []struct {
		v int64
		x string
	}{
		{5, "05000000"}, {0x7fffffff, "ffffff7f"}, {0x80000000, "ffffffff0000008000000000"},
		{1 << 40, "ffffffff0000000000010000"}, {-1, "ffffffffffffffffffffffff"},
	} {
		got := encode(29, func(w *Writer) { w.Longint(c.v) })
		if hex.EncodeToString(got) != c.x {
			t.Errorf("longint %#x: %x, want %s", c.v, got, c.x)
		}
		if v := reader(29, got).Longint(); v != c.v {
			t.Errorf("longint %s: %#x, want %#x", c.x, v, c.v)
		}
	}
}

func TestVstringBytes(t *testing.T) {
	for _, c := range []struct{ s, x string }{
		{"md5", "036d6435"},
		{strings.Repeat("a", 128), "8080" + strings.Repeat("61", 128)},
		{strings.Repeat("a", 1000), "83e8" + strings.Repeat("61", 1000)},
		{"", "00"},
	} {
		got := encode(30, func(w *Writer) { w.Vstring(c.s) })
		if hex.EncodeToString(got) != c.x {
			t.Errorf("vstring %q: %x", c.s, got)
		}
		if s := reader(30, got).Vstring(1000, ExitProtocol, "string"); s != c.s {
			t.Errorf("vstring %s: %q", c.x, s)
		}
	}
	r := reader(30, []byte{3, 1, 2, 3})
	r.Vstring(2, ExitUnsupported, "list")
	wantCode(t, r.Err(), ExitUnsupported)
}

// TestIndexBytes is the worked sequence of §6.1.
func TestIndexBytes(t *testing.T) {
	seq := []struct {
		v int32
		x string
	}{
		{0, "01"}, {1, "01"}, {2, "01"}, {300, "fe012a"}, {300, "fe0000"}, {301, "01"}, {20000, "fe4cf3"},
		{52768, "fe8020ce00"}, {5, "fe80050000"}, {-1, "00"}, {6, "01"}, {-2, "ff01"}, {-3, "ff01"}, {-101, "ff62"},
		{-102, "ff01"}, {-5000, "fffe1322"}, {-3, "fffe80030000"},
	}
	var want strings.Builder
	got := encode(30, func(w *Writer) {
		for _, s := range seq {
			w.Index(s.v)
			want.WriteString(s.x)
		}
	})
	if hex.EncodeToString(got) != want.String() {
		t.Errorf("indices: %x\nwant:    %s", got, want.String())
	}
	r := reader(30, got)
	for _, s := range seq {
		if v := r.Index(); v != s.v {
			t.Errorf("index %d, want %d", v, s.v)
		}
	}
}

func TestIndexTooLarge(t *testing.T) {
	for _, x := range []string{
		"fe ff ff ff ff 01", // 2^31-1, then one more
		"fe ff ff ff ff fe 7f ff",
		"ff fe ff ff ff ff ff 01",
		"ff fe 80 00 00 00", // -0
		"ff fe 80 01 00 00", // -1, which has a coding of its own
	} {
		r := reader(30, unhex(t, x))
		for range 3 {
			r.Index()
		}
		wantCode(t, r.Err(), ExitProtocol)
	}
}

func TestIntsTooLong(t *testing.T) {
	for _, b := range []byte{0xf8, 0xfb, 0xfc, 0xff} {
		r := reader(30, append([]byte{b}, make([]byte, 16)...))
		r.Varint()
		wantCode(t, r.Err(), ExitStream)
	}
	r := reader(30, append([]byte{0xfc}, make([]byte, 16)...))
	r.Varlong(4)
	wantCode(t, r.Err(), ExitStream)
	r = reader(30, append([]byte{0xfc}, make([]byte, 16)...))
	if r.Varlong(3); r.Err() != nil {
		t.Error("nine bytes are allowed:", r.Err())
	}
}

// op is one value in a random stream.
type op struct {
	put func(w *Writer)
	get func(r *Reader) any
	is  any
}

func genOp(t *rapid.T) op {
	v32 := rapid.OneOf(rapid.Int32(), rapid.Int32Range(-300, 300)).Draw(t, "int")
	v64 := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-300, 1<<33)).Draw(t, "long")
	least := rapid.IntRange(3, 4).Draw(t, "least")
	s := string(rapid.SliceOfN(rapid.ByteRange(1, 255), 0, 300).Draw(t, "string"))
	ops := []op{
		{func(w *Writer) { w.Byte(byte(v32)) }, func(r *Reader) any { return r.Byte() }, byte(v32)},
		{func(w *Writer) { w.Short(uint16(v32)) }, func(r *Reader) any { return r.Short() }, uint16(v32)},
		{func(w *Writer) { w.Int(v32) }, func(r *Reader) any { return r.Int() }, v32},
		{func(w *Writer) { w.Varint(v32) }, func(r *Reader) any { return r.Varint() }, v32},
		{func(w *Writer) { w.Varint30(v32) }, func(r *Reader) any { return r.Varint30() }, v32},
		{func(w *Writer) { w.Varlong(v64, least) }, func(r *Reader) any { return r.Varlong(least) }, v64},
		{func(w *Writer) { w.Varlong30(v64, least) }, func(r *Reader) any { return r.Varlong30(least) }, v64},
		{func(w *Writer) { w.Longint(v64) }, func(r *Reader) any { return r.Longint() }, v64},
		{func(w *Writer) { w.Index(max(v32, -math.MaxInt32)) }, func(r *Reader) any { return r.Index() }, max(v32, -math.MaxInt32)},
		{func(w *Writer) { w.Vstring(s) }, func(r *Reader) any { return r.Vstring(300, 2, "string") }, s},
		{func(w *Writer) { w.ShortString(s[:min(len(s), 255)]) }, func(r *Reader) any { return r.ShortString() }, s[:min(len(s), 255)]},
		{func(w *Writer) { w.Name(s) }, func(r *Reader) any { return r.Name(300, "name") }, s},
		{func(w *Writer) { w.Bytes([]byte(s)) }, func(r *Reader) any { return string(r.Blob(len(s))) }, s},
	}
	return ops[rapid.IntRange(0, len(ops)-1).Draw(t, "op")]
}

// TestStreamProperty: what is written is read, however the stream is cut into
// frames and reads, with messages in between, and every shorter stream fails.
func TestStreamProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		protocol := rapid.IntRange(27, 32).Draw(t, "protocol")
		framed := rapid.Bool().Draw(t, "framed")
		ops := rapid.SliceOfN(rapid.Custom(genOp), 1, 30).Draw(t, "ops")
		var b bytes.Buffer
		w := NewWriter(&b, 0)
		w.Protocol = protocol
		w.Int(7) // something unframed first
		if err := w.SetFramed(framed); err != nil {
			t.Fatal(err)
		}
		sent := 0
		for _, o := range ops {
			o.put(w)
			if rapid.IntRange(0, 3).Draw(t, "flush") == 0 {
				if framed && w.Post(TextMessage(Info, "hello")) {
					sent++
				}
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
				if err := w.KeepAlive(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if w.Sent() != int64(b.Len()) {
			t.Fatalf("sent %d, but %d came out", w.Sent(), b.Len())
		}
		stream := b.Bytes()
		read := func(r *Reader) (int, bool) {
			r.Protocol = protocol
			got := 0
			r.OnMessage = func(m Message) error { got++; return nil }
			r.Int()
			if err := r.SetFramed(framed); err != nil {
				return got, false
			}
			for _, o := range ops {
				if v := o.get(r); r.err == nil && v != o.is {
					t.Fatalf("read %v, want %v", v, o.is)
				}
			}
			return got, r.AtEnd()
		}
		for name, src := range map[string]io.Reader{
			"bytes": iotest.OneByteReader(bytes.NewReader(stream)), "halves": iotest.HalfReader(bytes.NewReader(stream)),
			"whole": iotest.DataErrReader(bytes.NewReader(stream)),
		} {
			r := NewReader(src, 0)
			got, end := read(r)
			if !end || got != sent {
				t.Fatalf("%s: error %v, %d messages of %d", name, r.Err(), got, sent)
			}
			if r.Received() != int64(len(stream)) || r.Consumed() != w.Produced() {
				t.Fatalf("received %d of %d, consumed %d of %d", r.Received(), len(stream), r.Consumed(), w.Produced())
			}
		}
		cut := rapid.IntRange(0, len(stream)-1).Draw(t, "cut")
		r := NewReader(bytes.NewReader(stream[:cut]), 0)
		if read(r); r.Consumed() < w.Produced() && !errors.Is(r.Err(), io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d of %d: error %v", cut, len(stream), r.Err())
		}
	})
}

// TestIntsCut: no value can be read from less than its bytes.
func TestIntsCut(t *testing.T) {
	for name, c := range map[string]struct {
		put func(w *Writer)
		get func(r *Reader)
	}{
		"short":   {func(w *Writer) { w.Short(258) }, func(r *Reader) { r.Short() }},
		"int":     {func(w *Writer) { w.Int(1 << 30) }, func(r *Reader) { r.Int() }},
		"varint":  {func(w *Writer) { w.Varint(1 << 30) }, func(r *Reader) { r.Varint() }},
		"varlong": {func(w *Writer) { w.Varlong(1<<40, 3) }, func(r *Reader) { r.Varlong(3) }},
		"longint": {func(w *Writer) { w.Longint(1 << 40) }, func(r *Reader) { r.Longint() }},
		"index":   {func(w *Writer) { w.Index(1 << 20) }, func(r *Reader) { r.Index() }},
		"vstring": {func(w *Writer) { w.Vstring(strings.Repeat("x", 200)) }, func(r *Reader) { r.Vstring(255, 4, "") }},
		"name":    {func(w *Writer) { w.Name("abc") }, func(r *Reader) { r.Name(9, "") }},
		"skip":    {func(w *Writer) { w.Int(1) }, func(r *Reader) { r.Skip(4) }},
	} {
		t.Run(name, func(t *testing.T) {
			cuts(t, 30, encode(30, c.put), func(r *Reader) error { c.get(r); return r.Err() })
		})
	}
}

func TestNameTooLong(t *testing.T) {
	r := reader(31, []byte("abcdef\x00"))
	if s := r.Name(5, "argument"); s != "" {
		t.Errorf("read %q", s)
	}
	wantCode(t, r.Err(), ExitLimit)
}
