package delta

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gohaul/haul/rsync/internal/checksum"
	"pgregory.net/rapid"
)

// file is an Input in memory. It gives windows as a real one does: the one
// before is spoiled.
type file struct {
	b     []byte
	last  []byte
	reads int64 // bytes in windows
	fail  int64 // windows that reach behind this fail, if it is not 0
}

func (f *file) Size() int64 { return int64(len(f.b)) }

func (f *file) Window(off int64, n int) ([]byte, error) {
	for i := range f.last {
		f.last[i] ^= 0x55
	}
	f.reads += int64(n)
	if f.fail > 0 && off+int64(n) > f.fail {
		return nil, errFail
	}
	f.last = slices.Clone(f.b[off : off+int64(n)])
	return f.last, nil
}

var errFail = errors.New("read fails")

// memory is an Input for benchmarks.
type memory []byte

func (m memory) Size() int64                             { return int64(len(m)) }
func (m memory) Window(off int64, n int) ([]byte, error) { return m[off : off+int64(n)], nil }

// holes is a file whose zero stretches are holes.
type holes struct{ file }

func (h *holes) Data(off int64) (int64, error) {
	for ; off < int64(len(h.b)) && h.b[off] == 0; off++ {
	}
	return off, nil
}

var session = checksum.Session{Protocol: 32, Seed: 1, SeedFix: true}

func signature(t testing.TB, basis []byte, h Head, a checksum.Algorithm) *Signature {
	t.Helper()
	g := &Signature{Strong: session.Block(a)}
	fill(t, g, basis, h)
	return g
}

func fill(t testing.TB, g *Signature, basis []byte, h Head) {
	t.Helper()
	if err := g.Reset(h); err != nil {
		t.Fatal(err)
	}
	s := Signer{Strong: g.Strong}
	if err := s.Sign(memory(basis), h, func(weak uint32, strong []byte) error {
		g.Add(weak, strong)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// head cuts a basis into blocks of n bytes.
func head(size, n, strong int) Head {
	if size == 0 {
		return Head{}
	}
	return Head{Count: (size + n - 1) / n, BlockLen: n, StrongLen: strong, LastLen: size % n}
}

// apply builds a file from a basis and tokens, and checks that they cover it.
type apply struct {
	t       testing.TB
	g       *Signature
	basis   []byte
	inPlace bool // the file is built within basis
	wrong   int  // blocks whose sums agree, but whose bytes do not
	out     []byte
	tokens  []int // as on the wire
}

func (a *apply) token(t Token) error {
	if t.Off != int64(len(a.out)) {
		a.t.Fatalf("a token for %d, at %d", t.Off, len(a.out))
	}
	if t.Literal() {
		if len(t.Data) == 0 || len(t.Data) > MaxLiteral {
			a.t.Fatalf("%d literal bytes", len(t.Data))
		}
		a.tokens = append(a.tokens, len(t.Data))
		a.write(t.Data)
		return nil
	}
	a.tokens = append(a.tokens, -t.Block-1)
	off := a.g.Offset(t.Block)
	b := a.basis[off : off+int64(a.g.Len(t.Block))]
	if !bytes.Equal(b, t.Data) {
		a.wrong++
	}
	a.write(b)
	return nil
}

func (a *apply) write(b []byte) {
	b = slices.Clone(b)
	if a.inPlace {
		if n := len(a.out) + len(b); n > len(a.basis) {
			a.basis = append(a.basis, make([]byte, n-len(a.basis))...)
		}
		copy(a.basis[len(a.out):], b)
	}
	a.out = append(a.out, b...)
}

func run(t testing.TB, g *Signature, basis []byte, in Input) *apply {
	t.Helper()
	a := &apply{t: t, g: g, basis: slices.Clone(basis), inPlace: g.InPlace}
	if err := g.Match(in, a.token); err != nil {
		t.Fatal(err)
	}
	return a
}

// slow is the search as the specification words it, for blocks that may start
// anywhere, without tables.
func slow(g *Signature, in []byte) (tokens []int) {
	lit, want := 0, 0
	literal := func(end int) {
		for lit < end {
			n := min(end-lit, MaxLiteral)
			tokens = append(tokens, n)
			lit += n
		}
	}
	same := map[int]bool{}
	misses := 0
	for p := 0; g.Count > 0 && p+g.Len(g.Count-1) <= len(in); {
		block := in[p : p+min(g.BlockLen, len(in)-p)]
		var sum [checksum.MaxBlockLen]byte
		g.Strong.Sum(&sum, block)
		weak := checksum.Weak(block)
		fits := func(b int) bool {
			return b < g.Count && g.weak[b] == weak && g.Len(b) == len(block) &&
				(!g.InPlace || g.Offset(b) >= int64(p) || same[b]) &&
				bytes.Equal(g.strong[b*g.StrongLen:(b+1)*g.StrongLen], sum[:g.StrongLen])
		}
		hit := -1
		for b := g.Count - 1; b >= 0 && hit < 0; b-- {
			if fits(b) {
				hit = b
			}
		}
		if hit >= 0 && fits(want) {
			hit = want
		}
		if own := p / g.BlockLen; g.InPlace && p%g.BlockLen == 0 && g.LastLen != len(block) && fits(own) {
			hit = own
		}
		if hit >= 0 && g.InPlace && p%g.BlockLen != 0 && len(block) == g.BlockLen && g.Offset(hit) >= int64(p) {
			next := (p/g.BlockLen + 1) * g.BlockLen
			zero := make([]byte, g.BlockLen)
			if q := next + len(block); q <= len(in) && bytes.Equal(block, zero) && fits(next/g.BlockLen) {
				hit = next / g.BlockLen
				if bytes.Equal(in[next:q], zero) {
					p = next
				}
			}
		}
		if hit < 0 {
			known := false
			for b, w := range g.weak {
				known = known || w == weak && g.Len(b) == len(block) &&
					(!g.InPlace || g.Offset(b) >= int64(p) || same[b])
			}
			if !known {
				misses = -1
			}
			p++
			if misses++; misses >= 4 {
				if p-2-lit >= MaxLiteral && len(in)+1-g.Len(g.Count-1)-(p+g.BlockLen-2) > MaxLiteral {
					literal(p - 2)
				}
				p += g.BlockLen - 1
			}
			continue
		}
		misses = 0
		literal(p)
		tokens = append(tokens, -hit-1)
		if g.InPlace && g.Offset(hit) == int64(p) {
			same[hit] = true
		}
		p += len(block)
		lit, want = p, hit+1
	}
	literal(len(in))
	return tokens
}

// plain draws files of few different weak sums: one byte throughout, but for
// places where what is added to three of them adds nothing to the sums.
func plain(t *rapid.T) (basis, in []byte) {
	rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	level := byte(rapid.IntRange(0, 1).Draw(t, "level"))
	file := func() []byte {
		b := bytes.Repeat([]byte{level}, rnd.IntN(2000))
		for range rnd.IntN(1 + len(b)/20) {
			if at := rnd.IntN(len(b)); at+3 < len(b) {
				b[at]++
				b[at+1] -= 2
				b[at+2]++
			}
		}
		return b
	}
	basis, in = file(), file()
	if len(basis) > 0 && rapid.Bool().Draw(t, "alike") {
		in = append(in, basis[rnd.IntN(len(basis)):]...)
	}
	return basis, in
}

// edits draws a basis and an input that has much of it.
func edits(t *rapid.T) (basis, in []byte) {
	alphabet := rapid.IntRange(1, 256).Draw(t, "alphabet")
	rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.IntN(alphabet))
		}
		return b
	}
	basis = random(rapid.IntRange(0, 3000).Draw(t, "basis"))
	if rapid.Bool().Draw(t, "zeros") && len(basis) > 0 {
		from := rnd.IntN(len(basis))
		clear(basis[from : from+rnd.IntN(len(basis)-from)])
	}
	for range rapid.IntRange(0, 8).Draw(t, "pieces") {
		switch from := rnd.IntN(len(basis) + 1); rapid.IntRange(0, 3).Draw(t, "piece") {
		case 0:
			in = append(in, random(rnd.IntN(100))...)
		case 1:
			in = append(in, make([]byte, rnd.IntN(500))...)
		case 2:
			in = append(in, basis[from:]...)
		case 3:
			in = append(in, basis[from:from+rnd.IntN(len(basis)-from+1)]...)
		}
	}
	return basis, in
}

func TestMatch(t *testing.T) {
	g := &Signature{Strong: session.Block(checksum.XXH128)}
	rapid.Check(t, func(rt *rapid.T) {
		draw := rapid.SampledFrom([]func(*rapid.T) ([]byte, []byte){edits, plain}).Draw(rt, "files")
		basis, in := draw(rt)
		h := head(len(basis), rapid.IntRange(1, 200).Draw(rt, "block"), 16)
		g.InPlace = rapid.Bool().Draw(rt, "in place")
		g.MapSize = rapid.IntRange(0, 300).Draw(rt, "map")
		fill(t, g, basis, h)
		want := slow(g, in)
		for _, input := range []Input{&file{b: in}, &holes{file{b: in}}} {
			a := run(t, g, basis, input)
			if !bytes.Equal(a.out, in) {
				rt.Fatal("the tokens do not build the input")
			}
			if !slices.Equal(a.tokens, want) {
				rt.Fatalf("%T: tokens %v, want %v", input, a.tokens, want)
			}
		}
	})
}

// A hole is neither read nor summed more than once, whether it matches or not.
func TestHolesCostNoReads(t *testing.T) {
	data := random(1, 100000)
	zero := make([]byte, 8<<20)
	for _, c := range []struct {
		name      string
		basis, in []byte
	}{
		{"nothing alike", data, join(data, zero, data)},
		{"a hole alike", join(data, zero), join(data, zero, data)},
		{"one block of zeros", join(data, zero[:3000]), join(data, zero, data)},
		{"no basis", nil, join(data, zero, data)},
		{"sums of zeros, but not of these", join(equalSums(1, 700), equalSums(1, 700)), zero},
	} {
		g := signature(t, c.basis, head(len(c.basis), 1000, 16), checksum.XXH128)
		for _, inPlace := range []bool{false, true} {
			g.InPlace = inPlace
			in := &holes{file{b: c.in}}
			a := run(t, g, c.basis, in)
			if !bytes.Equal(a.out, c.in) {
				t.Errorf("%s: the tokens do not build the input", c.name)
			}
			if want := run(t, g, c.basis, memory(c.in)).tokens; !slices.Equal(a.tokens, want) {
				t.Errorf("%s, in place %v: other tokens than without holes", c.name, inPlace)
			}
			if most := int64(4 << 20); in.reads > most {
				t.Errorf("%s, in place %v: %d bytes in windows, want %d at most", c.name, inPlace, in.reads, most)
			}
		}
		in := &holes{file{b: c.in}}
		h := head(len(c.in), 1000, 16)
		plain := signature(t, c.in, h, checksum.XXH128)
		sparse := &Signature{Strong: g.Strong}
		if err := sparse.Reset(h); err != nil {
			t.Fatal(err)
		}
		s := Signer{Strong: g.Strong}
		if err := s.Sign(in, h, func(weak uint32, strong []byte) error {
			sparse.Add(weak, strong)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if in.reads > 300000 {
			t.Errorf("%s: %d bytes in windows to sign", c.name, in.reads)
		}
		if !slices.Equal(sparse.weak, plain.weak) || !bytes.Equal(sparse.strong, plain.strong) {
			t.Errorf("%s: the signature of a file with holes differs", c.name)
		}
	}
}

// Whatever window or token fails, the error comes out, and what came before it
// is right.
func TestErrors(t *testing.T) {
	basis := random(1, 60000)
	in := join(random(2, 50000), basis[:30000], random(3, 1000), basis[59000:])
	g := signature(t, basis, head(len(basis), 700, 16), checksum.XXH128)
	g.MapSize = 5000
	whole := run(t, g, basis, memory(in))
	for fail := int64(1); fail < int64(len(in)); fail += 977 {
		a := &apply{t: t, g: g, basis: basis}
		if err := g.Match(&file{b: in, fail: fail}, a.token); !errors.Is(err, errFail) {
			t.Fatalf("a window at %d fails: %v", fail, err)
		}
		if !bytes.HasPrefix(in, a.out) {
			t.Fatalf("a window at %d fails: wrong tokens before", fail)
		}
		if err := (&Signer{Strong: g.Strong}).Sign(&file{b: basis, fail: min(fail, 59999)}, g.Head,
			func(uint32, []byte) error { return nil }); !errors.Is(err, errFail) {
			t.Fatalf("a window at %d fails: %v", fail, err)
		}
	}
	for stop := range whole.tokens {
		n := 0
		if err := g.Match(memory(in), func(Token) error {
			if n++; n > stop {
				return errFail
			}
			return nil
		}); !errors.Is(err, errFail) || n != stop+1 {
			t.Fatalf("token %d fails: %v after %d", stop, err, n)
		}
	}
	if err := g.Match(short(in), func(Token) error { return nil }); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a window is too short: %v", err)
	}
	g.Add(1, make([]byte, 16))
	if err := g.Match(memory(in), func(Token) error { return nil }); err == nil {
		t.Error("a block too many passes")
	}
}

// short gives less than was asked for.
type short []byte

func (s short) Size() int64                             { return int64(len(s)) }
func (s short) Window(off int64, n int) ([]byte, error) { return s[off : off+int64(n)/2], nil }

func TestAllocations(t *testing.T) {
	basis := random(1, 200000)
	var in Input = memory(join(random(2, 100000), basis))
	g := signature(t, basis, head(len(basis), 700, 2), checksum.XXH128)
	s := Signer{Strong: g.Strong}
	var from Input = memory(basis)
	for _, g.InPlace = range []bool{false, true} {
		if n := testing.AllocsPerRun(5, func() {
			h := g.Head
			if err := g.Reset(h); err != nil {
				t.Fatal(err)
			}
			if err := s.Sign(from, h, func(weak uint32, strong []byte) error {
				g.Add(weak, strong)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if err := g.Match(in, func(Token) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("in place %v: %v allocations a file", g.InPlace, n)
		}
	}
	if n := testing.AllocsPerRun(1, func() {
		h := Head{Count: 1e6, BlockLen: 700, StrongLen: 2}
		var g Signature
		if err := g.Reset(h); err != nil {
			t.Fatal(err)
		}
		for range h.Count {
			g.Add(1, []byte{1, 2})
		}
	}); n > 100 {
		t.Errorf("%v allocations for a million blocks", n)
	}
}

// FuzzMatch is a peer that makes up its sums: whatever they are, tokens must
// cover the input, name blocks there are, of the length they stand for, and in
// place none that is gone.
func FuzzMatch(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), []byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), uint8(4), uint8(1), uint8(3), true)
	f.Add(make([]byte, 200), make([]byte, 3000), uint8(7), uint8(0), uint8(7), true)
	f.Add(make([]byte, 60), []byte("\x01\xff\x00\x00\x02"), uint8(1), uint8(2), uint8(0), false)
	f.Fuzz(func(t *testing.T, sums, in []byte, blockLen, strongLen, lastLen uint8, inPlace bool) {
		h := Head{BlockLen: int(blockLen), StrongLen: int(strongLen), LastLen: int(lastLen)}
		h.Count = len(sums) / (4 + h.StrongLen)
		g := &Signature{Strong: session.Block(checksum.XXH128), InPlace: inPlace, MapSize: 64}
		if g.Reset(h) != nil {
			return
		}
		var zero [checksum.MaxBlockLen]byte
		for i := range h.Count {
			s := sums[i*(4+h.StrongLen):]
			if s[0] < 100 && h.StrongLen < 3 { // sums that things have
				g.Strong.Sum(&zero, make([]byte, h.Len(i)))
				g.Add(0, zero[:h.StrongLen])
				continue
			}
			g.Add(uint32(s[0])|uint32(s[1])<<8|uint32(s[2])<<16|uint32(s[3])<<24, s[4:])
		}
		for _, input := range []Input{&file{b: in}, &holes{file{b: in}}} {
			var off int64
			kept := map[int]bool{}
			if err := g.Match(input, func(tok Token) error {
				if tok.Off != off || !bytes.Equal(tok.Data, in[off:off+int64(len(tok.Data))]) || len(tok.Data) == 0 {
					t.Fatalf("a token for %d of %d bytes, at %d", tok.Off, len(tok.Data), off)
				}
				if tok.Literal() {
					if len(tok.Data) > MaxLiteral {
						t.Fatalf("%d literal bytes", len(tok.Data))
					}
				} else {
					if tok.Block >= h.Count || len(tok.Data) != h.Len(tok.Block) {
						t.Fatalf("block %d of %d stands for %d bytes", tok.Block, h.Count, len(tok.Data))
					}
					if inPlace && h.Offset(tok.Block) < off && !kept[tok.Block] {
						t.Fatalf("block %d at %d is gone", tok.Block, off)
					}
					kept[tok.Block] = kept[tok.Block] || h.Offset(tok.Block) == off
				}
				off += int64(len(tok.Data))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if off != int64(len(in)) {
				t.Fatalf("tokens for %d bytes of %d", off, len(in))
			}
		}
	})
}
