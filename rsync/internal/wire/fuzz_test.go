package wire

import (
	"bytes"
	"testing"
)

// seeds hands recorded sessions to a corpus.
func seeds(f *testing.F, add func(s *session)) {
	for _, s := range sessions() {
		if s.Protocol == 27 || s.Protocol == 29 || s.Protocol == 31 {
			s.load(f)
			add(s)
		}
	}
}

// FuzzFrames: any bytes as frames; what is data comes out once and in order.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x07ab\x03\x00\x00\x09abc\x01\x00\x00\x07c"))
	f.Add([]byte("\x04\x00\x00\x5d\x0b\x00\x00\x00\x00\x00\x00\x07"))
	f.Fuzz(func(t *testing.T, p []byte) {
		r := framed(p)
		r.OnMessage = func(m Message) error {
			m.Int()
			m.Deleted()
			if len(m.Payload) > maxText {
				t.Errorf("%v of %d bytes", m.Code, len(m.Payload))
			}
			return nil
		}
		n := 0
		for !r.AtEnd() && r.err == nil {
			n += len(r.Some(7))
		}
		if int64(n) != r.Consumed() || n > len(p) {
			t.Errorf("%d bytes of %d, consumed %d", n, len(p), r.Consumed())
		}
	})
}

// fuzzFormat makes a format of random bits.
func fuzzFormat(protocol byte, bits uint32) Format {
	on := func(i int) bool { return bits>>i&1 != 0 }
	return Format{
		Protocol: 27 + int(protocol%6), Features: Features(bits >> 16 & 0x1ff),
		Owner: on(0), Group: on(1), Links: on(2), Devices: on(3), Specials: on(4), HardLinks: on(5),
		Atimes: on(6), Crtimes: on(7), ACLs: on(8), Xattrs: on(9), NumericIDs: on(10),
		Absolute: on(11), MissingArgs: on(12), Sum: int(bits>>13&1) * 16,
	}
}

// FuzzList: any bytes as a file list; what is taken for entries can be written
// and read again, and is the same then.
func FuzzList(f *testing.F) {
	f.Add(byte(5), uint32(0x1ff<<16|3), unhexF("ac01012e0000106bc5e40df0ea352610ed4100000004726f6f740004726f6f740000"))
	f.Add(byte(2), uint32(0x3f), unhexF("01012e0010000000f15365ed41000000000000000000000000000000000000000000000000"))
	seeds(f, func(s *session) {
		bits := uint32(0x3f)
		f.Add(byte(s.Protocol-27), bits, s.S2C)
		f.Add(byte(s.Protocol-27), bits|0x1ff<<16, s.C2S)
	})
	f.Fuzz(func(t *testing.T, protocol byte, bits uint32, p []byte) {
		format := fuzzFormat(protocol, bits)
		if format.Check() != nil {
			return
		}
		entries, d, err := list(p, format, 1)
		for i := range entries {
			if len(entries[i].Name()) >= MaxPath || len(entries[i].Link) >= MaxPath || entries[i].Size < 0 {
				t.Fatalf("entry %+v", entries[i])
			}
		}
		if err != nil {
			return
		}
		again, _, err := list(reencode(format, entries, d, 0), format, 1)
		if err != nil || len(again) != len(entries) {
			t.Fatalf("%d entries of %d come back: %v", len(again), len(entries), err)
		}
		for i := range again {
			a, b := entries[i], again[i]
			a.ACL, a.DefaultACL, a.Xattrs, b.ACL, b.DefaultACL, b.Xattrs = 0, 0, 0, 0, 0, 0
			if a != b {
				t.Fatalf("entry %+v\nback  %+v", a, b)
			}
		}
	})
}

func unhexF(s string) []byte {
	var p []byte
	for i := 0; i+1 < len(s); i += 2 {
		var b byte
		for _, c := range s[i : i+2] {
			b = b<<4 | byte(bytes.IndexByte([]byte("0123456789abcdef"), byte(c)))
		}
		p = append(p, b)
	}
	return p
}

// fuzzTokens: any bytes as a token stream of one method. It may come out as
// anything, but no more than it could have.
func fuzzTokens(f *testing.F, c Compression, most int, examples ...string) {
	for _, x := range examples {
		f.Add(unhexF(x), byte(5))
	}
	files := []delta{{{0, ""}, {-1, "INSERTED text text text"}, {1, ""}, {3, ""}}, {{-1, "once more text text"}}}
	for _, protocol := range []byte{0, 3, 5} {
		f.Add(writeTokens(f, 27+int(protocol), c, 3, docBasis(), docHead, files), protocol)
	}
	f.Fuzz(func(t *testing.T, p []byte, protocol byte) {
		r := whole(27+int(protocol%6), p)
		tr, err := NewTokenReader(r, c)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		total := 0
		for range 3 {
			tr.Begin(docHead)
			for {
				tok, err := tr.Next()
				if err != nil {
					if r.err == nil {
						t.Fatalf("error %v is forgotten", err)
					}
					return
				}
				if tok.Kind == End {
					break
				}
				if tok.Kind == Literal {
					if total += len(tok.Data); len(tok.Data) == 0 || total > most*(len(p)+10) {
						t.Fatalf("%d bytes out of %d", total, len(p))
					}
					continue
				}
				if tok.Block < 0 || tok.Block >= docHead.Count {
					t.Fatalf("block %d", tok.Block)
				}
				tr.Matched(blockOf(docBasis(), docHead, tok.Block))
			}
		}
	})
}

func FuzzTokensPlain(f *testing.F) {
	fuzzTokens(f, NoCompression, 1, "ffffffff08000000494e534552544544feffffff00000000")
}

func FuzzTokensLZ4(f *testing.F) {
	fuzzTokens(f, LZ4, 300, "80400980494e534552544544c101004006507878787878810000")
}

func FuzzTokensZlib(f *testing.F) {
	fuzzTokens(f, Zlib, 1100, "80400af2f40b760d0a71750100c101004005aa000100008100")
}

func FuzzTokensZlibx(f *testing.F) { fuzzTokens(f, Zlibx, 1100) }

func FuzzTokensZstd(f *testing.F) {
	fuzzTokens(f, Zstd, 128<<10, "80401128b52ffd005840000049494e534552544544")
}

// FuzzValues: any bytes as one of the small values, told by what.
func FuzzValues(f *testing.F) {
	for what := range byte(12) {
		f.Add(what, byte(5), []byte{4, 0, 0, 0, 0xbc, 2, 0, 0, 2, 0, 0, 0, 0x2c, 1, 0, 0, 1, 2, 3, 4, 5, 6})
		f.Add(what, byte(1), []byte{1, 0, 0, 0, 'x', 0, 0, 0, 0})
	}
	f.Fuzz(func(t *testing.T, what, protocol byte, p []byte) {
		r := whole(27+int(protocol%6), p)
		set := []Xattr{{"a", 50, make([]byte, 16)}, {"b", 3, []byte("xyz")}, {"c", 33, make([]byte, 16)}}
		switch what % 12 {
		case 0:
			it, err := r.Item()
			if err != nil {
				break
			}
			got, err := whole(r.Protocol, encode(r.Protocol, func(w *Writer) { w.Item(it) })).Item()
			if err != nil || got != it || len(it.Name) >= MaxPath {
				t.Errorf("item %+v comes back as %+v, %v", it, got, err)
			}
		case 1:
			h, err := r.SumHead(16)
			if err == nil && (h.Count < 0 || h.Size() < 0 || h.StrongLen > 16 || h.Remainder > h.BlockLen) {
				t.Errorf("head %+v", h)
			}
		case 2:
			r.Stats()
		case 3:
			d, err := r.Deletions()
			if err == nil && (d.Files < 0 || d.Files > maxDeletions) {
				t.Errorf("deletions %+v", d)
			}
		case 4:
			rules, _ := r.Rules()
			for _, rule := range rules {
				if len(rule) > maxRule {
					t.Errorf("rule of %d bytes", len(rule))
				}
			}
		case 5:
			r.BatchHead()
		case 6:
			wants, err := r.XattrWants(set)
			for _, at := range wants {
				if !set[at].Abbreviated() {
					t.Errorf("wants %d, %v", at, err)
				}
			}
		case 7:
			r.XattrValues(set)
		case 8:
			for r.err == nil {
				r.Index()
			}
		case 9:
			for r.err == nil {
				v := r.Varint()
				if r.err == nil {
					if got := whole(r.Protocol, encode(r.Protocol, func(w *Writer) { w.Varint(v) })).Varint(); got != v {
						t.Errorf("varint %d comes back as %d", v, got)
					}
				}
			}
		case 10:
			for r.err == nil {
				v := r.Varlong(3)
				if r.err == nil {
					if got := whole(r.Protocol, encode(r.Protocol, func(w *Writer) { w.Varlong(v, 3) })).Varlong(3); got != v {
						t.Errorf("varlong %d comes back as %d", v, got)
					}
				}
			}
		case 11:
			r.Vstring(255, ExitUnsupported, "list")
			r.Name(MaxPath, "name")
		}
		if r.pos > r.lim || r.lim > r.end {
			t.Errorf("window %d..%d of %d", r.pos, r.lim, r.end)
		}
	})
}

// FuzzSession: recorded sessions with bytes changed end, in success or in an error.
func FuzzSession(f *testing.F) {
	all := sessions()
	for i := range all {
		f.Add(i, 10, byte(1), true)
		f.Add(i, 200, byte(0x80), false)
	}
	f.Fuzz(func(t *testing.T, which, at int, change byte, server bool) {
		if which < 0 || at < 0 {
			return
		}
		s := sessions()[which%len(all)]
		s.load(t)
		p := s.C2S
		if server {
			p = s.S2C
		}
		p[at%len(p)] ^= change
		play(s)
	})
}
