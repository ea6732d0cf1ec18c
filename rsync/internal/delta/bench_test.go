package delta

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gohaul/haul/rsync/internal/checksum"
)

// strangers is a signature of blocks that nothing has.
func strangers(b *testing.B, size int64) *Signature {
	h := Spec{Protocol: 32, Digest: 16}.Head(size)
	g := &Signature{Strong: session.Block(checksum.XXH128)}
	if err := g.Reset(h); err != nil {
		b.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(7, 7))
	var sum [16]byte
	for range h.Count {
		binary.LittleEndian.PutUint64(sum[:], rnd.Uint64())
		g.Add(rnd.Uint32(), sum[:])
	}
	return g
}

func match(b *testing.B, g *Signature, in []byte) {
	b.Helper()
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	var input Input = memory(in)
	for b.Loop() {
		if err := g.Match(input, func(Token) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

const benchSize = 16 << 20

func BenchmarkNothingShared(b *testing.B) {
	in := random(1, benchSize)
	for _, size := range []int64{1 << 20, 256 << 20, 1 << 30, 128 << 30} {
		g := strangers(b, size)
		b.Run(fmt.Sprintf("%d blocks", g.Count), func(b *testing.B) { match(b, g, in) })
	}
}

func benchPair(b *testing.B, basis, in []byte) {
	g := signature(b, basis, Spec{Protocol: 32, Digest: 16}.Head(int64(len(basis))), checksum.XXH128)
	match(b, g, in)
}

func BenchmarkIdentical(b *testing.B) {
	r := random(1, benchSize)
	benchPair(b, r, r)
}

func BenchmarkShifted(b *testing.B) {
	r := random(1, benchSize)
	benchPair(b, r[1:], r)
}

func BenchmarkBlocksChanged(b *testing.B) {
	r := random(1, benchSize)
	in := append([]byte(nil), r...)
	for i := 2048; i < len(in); i += 100 * 4096 {
		in[i] ^= 1
	}
	benchPair(b, r, in)
}

func BenchmarkZeros(b *testing.B) {
	benchPair(b, random(1, benchSize), make([]byte, benchSize))
}

func BenchmarkEqualWeakSums(b *testing.B) {
	e := equalSums(4000, 700)
	benchPair(b, e, append([]byte("aaaaa"), e...))
}

func BenchmarkSign(b *testing.B) {
	r := memory(random(1, benchSize))
	h := Spec{Protocol: 32, Digest: 16}.Head(benchSize)
	s := Signer{Strong: session.Block(checksum.XXH128)}
	b.ReportAllocs()
	b.SetBytes(benchSize)
	for b.Loop() {
		if err := s.Sign(r, h, func(uint32, []byte) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIndex(b *testing.B) {
	g := strangers(b, 128<<30)
	b.ReportAllocs()
	for b.Loop() {
		g.index.build(g.weak)
	}
}
