package wire

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/flate"
	"pgregory.net/rapid"
)

var methods = []Compression{NoCompression, Zstd, LZ4, Zlibx, Zlib}

// delta is a file as tokens over a basis; Block < 0 is a literal.
type delta []struct {
	block int32
	data  string
}

// writeTokens writes files in one stream, with no digest behind them.
func writeTokens(tb interface{ Fatal(...any) }, protocol int, c Compression, level int, basis []byte, head SumHead, files []delta) []byte {
	return encode(protocol, func(w *Writer) {
		tw, err := NewTokenWriter(w, c, level)
		if err != nil {
			tb.Fatal(err)
		}
		for _, file := range files {
			tw.Begin()
			for _, d := range file {
				if d.block >= 0 {
					err = tw.Match(d.block, blockOf(basis, head, d.block))
				} else {
					err = tw.Literal([]byte(d.data))
				}
				if err != nil {
					tb.Fatal(err)
				}
			}
			if err := tw.End(); err != nil {
				tb.Fatal(err)
			}
		}
		if err := tw.Close(); err != nil {
			tb.Fatal(err)
		}
	})
}

func blockOf(basis []byte, head SumHead, i int32) []byte {
	off, n := head.Block(i)
	return basis[off : off+int64(n)]
}

// readFile reads one file's tokens and applies them to the basis.
func readFile(tr TokenReader, basis []byte, head SumHead) ([]byte, error) {
	var out []byte
	tr.Begin(head)
	for {
		tok, err := tr.Next()
		if err != nil {
			return out, err
		}
		switch tok.Kind {
		case End:
			return out, nil
		case Literal:
			out = append(out, tok.Data...)
		case Match:
			p := blockOf(basis, head, tok.Block)
			if tr.NeedsMatched() {
				tr.Matched(p)
			}
			out = append(out, p...)
		}
	}
}

func (d delta) apply(basis []byte, head SumHead) []byte {
	var out []byte
	for _, s := range d {
		if s.block >= 0 {
			out = append(out, blockOf(basis, head, s.block)...)
		} else {
			out = append(out, s.data...)
		}
	}
	return out
}

// docBasis is the reproducible basis of the delta transcript in §10.
func docBasis() []byte {
	x := make([]byte, 2400)
	for i := range x {
		x[i] = byte(31*i*i + 17*i + 101*(i/256))
	}
	return x
}

var docHead = SumHead{Count: 4, BlockLen: 700, StrongLen: 2, Remainder: 300}

// TestTokenTranscripts reads what rsync 3.5.0 wrote for one delta in every method.
func TestTokenTranscripts(t *testing.T) {
	want := docBasis()[:700]
	want = append(append(bytes.Clone(want), "INSERTED"...), docBasis()[700:2100]...)
	want = append(append(want, "xxxxx"...), docBasis()[2100:]...)
	for c, x := range map[Compression]string{
		NoCompression: "ffffffff 08000000 494e534552544544 feffffff fdffffff 05000000 7878787878 fcffffff 00000000",
		Zlib:          "80 400af2f40b760d0a71750100 c10100 4005aa00010000 81 00",
		Zstd:          "80 401128b52ffd005840000049 4e53455254 4544 c10100 4008 2800007878787878 81 00",
		LZ4:           "80 400980494e534552544544 c10100 4006507878787878 81 00",
	} {
		t.Run(string(c), func(t *testing.T) {
			p := unhex(t, x)
			read := func(r *Reader) ([]byte, error) {
				tr, err := NewTokenReader(r, c)
				if err != nil {
					t.Fatal(err)
				}
				defer tr.Close()
				return readFile(tr, docBasis(), docHead)
			}
			got, err := read(reader(32, p))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			cuts(t, 32, p, func(r *Reader) error { _, err := read(r); return err })
		})
	}
}

// TestTokenSessions reads three whole files in one session each: zlib starts
// anew for each, zstd goes on (§10.3, §10.4).
func TestTokenSessions(t *testing.T) {
	for c, x := range map[Compression][]string{
		Zlib: {
			"401fca48cdc9c95748cecf2d284a2d2e4e4d5128cf2fca4951c8181 51e7ac20000 00",
			"401fca48cdc9c95748cecf2d284a2d2e4e4d5128cf2fca4951c818151e36c20000 00", "00",
		},
		Zstd: {
			"402728b52ffd0058f40000b868656c6c6f20636f6d7072657373656420776f726c64200100 65559d4d 00",
			"400b4400000868010 0df2a1002 00", "00",
		},
	} {
		r := whole(32, unhex(t, strings.Join(x, "")))
		tr, err := NewTokenReader(r, c)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{20, 21, 0} {
			got, err := readFile(tr, nil, SumHead{})
			if want := strings.Repeat("hello compressed world ", n); err != nil || string(got) != want {
				t.Errorf("%s: %d bytes, want %d: %v", c, len(got), len(want), err)
			}
		}
		tr.Close()
	}
}

// TestTokenBytes: plain tokens and lz4 are the program's bytes; runs too.
func TestTokenBytes(t *testing.T) {
	file := delta{{0, ""}, {-1, "INSERTED"}, {1, ""}, {2, ""}, {-1, "xxxxx"}, {3, ""}}
	for c, x := range map[Compression]string{
		NoCompression: "ffffffff 08000000 494e534552544544 feffffff fdffffff 05000000 7878787878 fcffffff 00000000",
		LZ4:           "80 400980494e534552544544 c10100 4006507878787878 81 00",
	} {
		if got := writeTokens(t, 32, c, 0, docBasis(), docHead, []delta{file}); !bytes.Equal(got, unhex(t, x)) {
			t.Errorf("%s: %x", c, got)
		}
	}
	head := SumHead{Count: 200000, BlockLen: 1}
	var far delta
	for _, b := range []int32{70, 71, 5, 69} {
		far = append(far, delta{{b, ""}}...)
	}
	got := writeTokens(t, 32, LZ4, 0, make([]byte, 200000), head, []delta{far})
	if want := unhex(t, "21 46000000 0100  20 05000000  20 45000000 00"); !bytes.Equal(got, want) {
		t.Errorf("far: %x", got)
	}
	var run delta
	for i := range int32(65537) {
		run = append(run, delta{{i, ""}}...)
	}
	got = writeTokens(t, 32, LZ4, 0, make([]byte, 200000), head, []delta{run})
	if want := unhex(t, "c0 ffff 81 00"); !bytes.Equal(got, want) {
		t.Errorf("run: %x", got)
	}
}

// TestTokenProperty: any delta survives any method, also cut into small reads.
func TestTokenProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(methods).Draw(t, "method")
		protocol := rapid.SampledFrom([]int{27, 30, 31, 32}).Draw(t, "protocol")
		level := rapid.IntRange(-2, 22).Draw(t, "level")
		if c == Zlib || c == Zlibx {
			level = max(level, 1)
		}
		rnd := rand.New(rand.NewPCG(1, uint64(rapid.IntRange(0, 99).Draw(t, "seed"))))
		blockLen := rapid.SampledFrom([]int32{1, 700, 70000, 131072}).Draw(t, "blocklen")
		head := SumHead{Count: 5, BlockLen: blockLen, Remainder: rapid.Int32Range(0, blockLen-1).Draw(t, "rest")}
		basis := text(rnd, int(head.Size()))
		var files []delta
		for range rapid.IntRange(1, 4).Draw(t, "files") {
			var d delta
			for range rapid.IntRange(0, 6).Draw(t, "steps") {
				if rapid.Bool().Draw(t, "match") {
					d = append(d, delta{{rapid.Int32Range(0, 4).Draw(t, "block"), ""}}...)
					continue
				}
				n := rapid.SampledFrom([]int{1, 5, 4000, 33000, 140000}).Draw(t, "len")
				lit := text(rnd, n)
				switch rapid.IntRange(0, 2).Draw(t, "kind") {
				case 0:
					fill(rnd, lit)
				case 1: // repeats the basis
					off := rnd.IntN(len(basis))
					copy(lit, basis[off:])
				}
				d = append(d, delta{{-1, string(lit)}}...)
			}
			files = append(files, d)
		}
		p := writeTokens(t, protocol, c, level, basis, head, files)
		r := reader(protocol, p)
		if rapid.Bool().Draw(t, "whole") {
			r = whole(protocol, p)
		}
		tr, err := NewTokenReader(r, c)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		for i, d := range files {
			got, err := readFile(tr, basis, head)
			if want := d.apply(basis, head); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s: file %d: %d bytes, want %d: %v", c, i, len(got), len(want), err)
			}
		}
		if !r.AtEnd() {
			t.Fatal("bytes are left")
		}
		cut := rapid.IntRange(0, len(p)-1).Draw(t, "cut")
		tr2, _ := NewTokenReader(whole(protocol, p[:cut]), c)
		defer tr2.Close()
		for range files {
			if _, err = readFile(tr2, basis, head); err != nil {
				break
			}
		}
		if err == nil {
			t.Fatalf("%s: cut at %d of %d: no error", c, cut, len(p))
		}
	})
}

func fill(rnd *rand.Rand, p []byte) {
	for i := range p {
		p[i] = byte(rnd.Uint32())
	}
}

// text is n bytes that compress.
func text(rnd *rand.Rand, n int) []byte {
	words := []string{"alpha ", "beta ", "gamma\n", "delta-", "epsilon "}
	p := make([]byte, 0, n+8)
	for len(p) < n {
		p = append(p, words[rnd.IntN(len(words))]...)
	}
	return p[:n]
}

// TestZlibUsesBlocks: literals that repeat matched data cost next to nothing in
// zlib, and their full price in zlibx (§10.3).
func TestZlibUsesBlocks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	basis := make([]byte, 20000)
	fill(rnd, basis)
	head := SumHead{Count: 2, BlockLen: 10000}
	file := delta{{0, ""}, {1, ""}, {-1, string(basis[6000:16000])}}
	for c, most := range map[Compression]int{Zlib: 200, Zlibx: 11000} {
		for _, level := range []int{1, 6, 9} {
			p := writeTokens(t, 32, c, level, basis, head, []delta{file})
			if len(p) > most || c == Zlibx && len(p) < 10000 {
				t.Errorf("%s level %d: %d bytes", c, level, len(p))
			}
		}
	}
}

// TestZlibLongBlocks: before 31, and then only, the history of a block of more
// than 65535 bytes is its start over and over.
func TestZlibLongBlocks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 3))
	basis := make([]byte, 70000)
	fill(rnd, basis)
	head := SumHead{Count: 1, BlockLen: 70000}
	var h zlibHistory
	for protocol, want := range map[int]string{
		30: string(basis[:65535]) + string(basis[:4465]),
		31: string(basis),
	} {
		h.repeat = protocol < 31
		h.reset()
		h.addBlock(basis)
		if string(h.window()) != want[len(want)-zlibWindow:] {
			t.Errorf("protocol %d: another history", protocol)
		}
		file := delta{{0, ""}, {-1, want[70000-20000:]}}
		p := writeTokens(t, protocol, Zlib, 6, basis, head, []delta{file})
		if len(p) > 400 {
			t.Errorf("protocol %d: %d bytes for a repeat of the history", protocol, len(p))
		}
		tr, _ := NewTokenReader(whole(protocol, p), Zlib)
		if got, err := readFile(tr, basis, head); err != nil || !bytes.Equal(got, file.apply(basis, head)) {
			t.Errorf("protocol %d: %v", protocol, err)
		}
	}
}

// TestZlibGivenUp: a file whose basis cannot be read is read to its end.
func TestZlibGivenUp(t *testing.T) {
	basis := text(rand.New(rand.NewPCG(1, 4)), 30000)
	head := SumHead{Count: 3, BlockLen: 10000}
	p := writeTokens(t, 32, Zlib, 6, basis, head, []delta{{{0, ""}, {-1, string(basis[5000:9000])}, {2, ""}}})
	tr, _ := NewTokenReader(whole(32, p), Zlib)
	tr.Begin(head)
	literal := 0
	for {
		tok, err := tr.Next()
		if err != nil {
			t.Fatal(err)
		}
		literal += len(tok.Data)
		if tok.Kind == Match {
			tr.Matched(nil)
		}
		if tok.Kind == End {
			break
		}
	}
	if literal != 4000 {
		t.Errorf("%d literal bytes", literal)
	}
}

// TestTokenLimits: tokens that a peer must not send, by hand (§13).
func TestTokenLimits(t *testing.T) {
	final := func() []byte { // a stretch whose last block says it is the last
		var b bytes.Buffer
		w, _ := flate.NewWriter(&b, 6)
		w.Write([]byte("hello"))
		w.Close()
		return b.Bytes()
	}()
	window := func(log byte) string { // frame header of a window of 2^(10+log) bytes, then a raw block of 1
		return fmt.Sprintf("28b52ffd00%02x 080000 61", log<<3)
	}
	for name, c := range map[string]struct {
		m    Compression
		x    string
		code int
	}{
		"plain: block past the end":    {NoCompression, "fbffffff", ExitProtocol},
		"plain: least block":           {NoCompression, "00000080", ExitProtocol},
		"lz4: block past the end":      {LZ4, "84", ExitProtocol},
		"lz4: run past the end":        {LZ4, "c3 0100", ExitProtocol},
		"lz4: run of nothing":          {LZ4, "c0 0000", ExitProtocol},
		"lz4: long block":              {LZ4, "20 04000000", ExitProtocol},
		"lz4: negative block":          {LZ4, "20 ffffffff", ExitProtocol},
		"lz4: block 2^31-1":            {LZ4, "21 ffffff7f ffff", ExitProtocol},
		"lz4: no item":                 {LZ4, "3f", ExitStream},
		"lz4: no data":                 {LZ4, "4000", ExitStream},
		"lz4: garbage":                 {LZ4, "4004 f0ffffff 00", ExitStream},
		"lz4: more than 32912 bytes":   {LZ4, "4088 1f610100" + strings.Repeat("ff", 130) + "0050 00", ExitStream},
		"zlib: garbage":                {Zlib, "4003 ffffff 00", ExitStream},
		"zlib: no sync point":          {Zlib, "4002 4b4c 00", ExitStream},
		"zlib: last block":             {Zlib, fmt.Sprintf("40%02x %x 00", len(final), final), ExitStream},
		"zlib: last block in the item": {Zlib, fmt.Sprintf("40%02x %x00 00", len(final)+1, final), ExitStream},
		"zlib: distance too far":       {Zlib, "4005 4b04120000 00", ExitStream},
		"zlibx: block past the end":    {Zlibx, "84", ExitProtocol},
		"zstd: garbage":                {Zstd, "4004 01020304 00", ExitStream},
		"zstd: window of 256 MiB":      {Zstd, "400a" + window(18), ExitStream},
		"zstd: block past the end":     {Zstd, "84", ExitProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			r := whole(32, append(unhex(t, c.x), make([]byte, 50)...))
			tr, err := NewTokenReader(r, c.m)
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			_, err = readFile(tr, docBasis(), docHead)
			wantCode(t, err, c.code)
			if _, again := tr.Next(); again == nil {
				t.Error("goes on after an error")
			}
		})
	}
	tr, _ := NewTokenReader(whole(32, append(unhex(t, "400a"+window(17)), make([]byte, 50)...)), Zstd)
	defer tr.Close()
	if got, err := readFile(tr, nil, SumHead{}); err != nil || string(got) != "a" {
		t.Errorf("a window of 128 MiB: %q, %v", got, err)
	}
	_, err := NewTokenReader(nil, "lzma")
	wantCode(t, err, ExitUnsupported)
	_, err = NewTokenWriter(nil, "lzma", 0)
	wantCode(t, err, ExitUnsupported)
}

// TestTokenBombs: what grows a thousandfold comes out in pieces, and memory stays.
func TestTokenBombs(t *testing.T) {
	size := 256 << 20
	if testing.Short() {
		size = 64 << 20
	}
	zeros := make([]byte, 1<<20)
	for _, c := range []Compression{Zstd, Zlibx, LZ4} {
		p := encode(32, func(w *Writer) {
			tw, err := NewTokenWriter(w, c, 6)
			if err != nil {
				t.Fatal(err)
			}
			for range size / len(zeros) {
				if err := tw.Literal(zeros); err != nil {
					t.Fatal(err)
				}
			}
			tw.End()
		})
		if c != LZ4 && len(p) > size/500 {
			t.Errorf("%s: %d bytes are no bomb", c, len(p))
		}
		tr, _ := NewTokenReader(whole(32, p), c)
		tr.Begin(SumHead{})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		total := 0
		for {
			tok, err := tr.Next()
			if err != nil {
				t.Fatal(err)
			}
			if tok.Kind == End {
				break
			}
			if len(tok.Data) > 128<<10 {
				t.Fatalf("%s: a piece of %d bytes", c, len(tok.Data))
			}
			total += len(tok.Data)
		}
		runtime.ReadMemStats(&after)
		tr.Close()
		if used := after.TotalAlloc - before.TotalAlloc; total != size || used > 40<<20 {
			t.Errorf("%s: %d bytes out, %d allocated", c, total, used)
		}
	}
}

// TestTokenAllocations: a token costs no allocation.
func TestTokenAllocations(t *testing.T) {
	basis := text(rand.New(rand.NewPCG(1, 5)), 70000)
	head := SumHead{Count: 100, BlockLen: 700}
	var d delta
	for i := range int32(100) {
		d = append(d, delta{{i, ""}, {-1, "some literal text"}, {(i + 7) % 100, ""}}...)
	}
	literals := make([][]byte, len(d))
	for i := range d {
		literals[i] = []byte(d[i].data)
	}
	for _, c := range methods {
		w := NewWriter(io.Discard, 0)
		w.Protocol = 32
		tw, _ := NewTokenWriter(w, c, 3)
		write := func() {
			tw.Begin()
			for i, s := range d {
				if s.block >= 0 {
					tw.Match(s.block, blockOf(basis, head, s.block))
				} else {
					tw.Literal(literals[i])
				}
			}
			tw.End()
		}
		write()
		if n := testing.AllocsPerRun(5, write); n > 10 {
			t.Errorf("%s: %.0f allocations to write %d tokens", c, n, len(d))
		}
		src := bytes.NewReader(nil)
		p := writeTokens(t, 32, c, 3, basis, head, []delta{d, d, d, d, d, d, d, d})
		src.Reset(p)
		r := NewReader(src, 0)
		r.Protocol = 32
		tr, _ := NewTokenReader(r, c)
		read := func() {
			tr.Begin(head)
			for {
				tok, err := tr.Next()
				if err != nil {
					t.Fatal(c, err)
				}
				if tok.Kind == Match {
					tr.Matched(blockOf(basis, head, tok.Block))
				}
				if tok.Kind == End {
					return
				}
			}
		}
		read()
		if n := testing.AllocsPerRun(5, read); n > 10 {
			t.Errorf("%s: %.0f allocations to read %d tokens", c, n, len(d))
		}
		tr.Close()
	}
}

// TestCloseEarly: a reader may be given up in the middle, its coroutine ends.
func TestCloseEarly(t *testing.T) {
	for _, c := range methods {
		p := writeTokens(t, 32, c, 3, nil, SumHead{}, []delta{{{-1, strings.Repeat("abc", 100000)}}})
		before := runtime.NumGoroutine()
		tr, _ := NewTokenReader(whole(32, p), c)
		tr.Begin(SumHead{})
		if _, err := tr.Next(); err != nil {
			t.Fatal(err)
		}
		tr.Close()
		tr.Close()
		if n := runtime.NumGoroutine(); n > before {
			t.Errorf("%s: %d goroutines, %d before", c, n, before)
		}
	}
}

func TestLevels(t *testing.T) {
	for _, c := range []struct {
		m          Compression
		level, got int
	}{
		{Zstd, 0, 3}, {Zstd, 99, 22}, {Zstd, -200000, -131072}, {Zlib, -1, 6}, {Zlibx, 12, 9}, {Zlib, 0, 0}, {LZ4, 7, 0},
	} {
		if got := c.m.ClampLevel(c.level); got != c.got {
			t.Errorf("%s %d: %d, want %d", c.m, c.level, got, c.got)
		}
	}
	if Zstd.DefaultLevel() != 3 || Zlib.DefaultLevel() != 6 || LZ4.DefaultLevel() != 0 {
		t.Error("default levels")
	}
}

// TestZstdOneFrame: the frame of a session is begun once and never ended (§10.4).
func TestZstdOneFrame(t *testing.T) {
	p := writeTokens(t, 32, Zstd, 3, nil, SumHead{}, []delta{{{-1, "one"}}, {}, {{-1, "two"}}, {{-1, "three"}}})
	if n := bytes.Count(p, []byte{0x28, 0xb5, 0x2f, 0xfd}); n != 1 {
		t.Errorf("%d frames", n)
	}
	if n := len(writeTokens(t, 32, Zstd, 3, nil, SumHead{}, []delta{{}, {}})); n != 2 {
		t.Errorf("two empty files take %d bytes", n)
	}
}

func BenchmarkTokens(b *testing.B) {
	data := text(rand.New(rand.NewPCG(1, 6)), 16<<20)
	for _, c := range methods {
		var p []byte
		b.Run("write/"+string(c), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				p = encode(32, func(w *Writer) {
					tw, _ := NewTokenWriter(w, c, c.DefaultLevel())
					tw.Begin()
					for i := 0; i < len(data); i += MaxLiteral {
						tw.Literal(data[i : i+MaxLiteral])
					}
					tw.End()
				})
			}
		})
		b.Run("read/"+string(c), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				tr, _ := NewTokenReader(whole(32, p), c)
				tr.Begin(SumHead{})
				for {
					tok, err := tr.Next()
					if err != nil {
						b.Fatal(err)
					}
					if tok.Kind == End {
						break
					}
				}
				tr.Close()
			}
		})
	}
}
