package delta

import (
	"bytes"
	"errors"
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
				if p-2-lit >= MaxLiteral && len(in)-(p+g.BlockLen-2) > MaxLiteral {
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
		basis, in := edits(rt)
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
