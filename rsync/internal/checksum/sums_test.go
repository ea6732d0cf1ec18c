package checksum

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"

	xmd4 "golang.org/x/crypto/md4" //lint:ignore SA1019 old peers speak it
	"pgregory.net/rapid"
)

// slowWeak is the definition.
func slowWeak(p []byte) uint32 {
	var s1, s2 int32
	for i, c := range p {
		s1 += int32(int8(c))
		s2 += int32(len(p)-i) * int32(int8(c))
	}
	return uint32(s1)&0xffff | uint32(s2)<<16
}

func TestWeak(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 1<<18)
	for i := range random {
		random[i] = byte(rnd.Uint32())
	}
	for _, p := range [][]byte{
		random,
		bytes.Repeat([]byte{0}, 1<<18),
		bytes.Repeat([]byte{0xff}, 1<<18),
		bytes.Repeat([]byte{0x80}, 1<<18),
		bytes.Repeat([]byte{0x7f}, 1<<18),
		bytes.Repeat([]byte{0x7f, 0x80}, 1<<17),
	} {
		for n := 0; n < 700; n++ {
			if got, want := Weak(p[:n]), slowWeak(p[:n]); got != want {
				t.Fatalf("%x..., %d bytes: %08x, want %08x", p[:4], n, got, want)
			}
		}
		for _, n := range []int{131071, 131072, 1<<18 - 1, 1 << 18} {
			if got, want := Weak(p[:n]), slowWeak(p[:n]); got != want {
				t.Fatalf("%x..., %d bytes: %08x, want %08x", p[:4], n, got, want)
			}
		}
	}
}

func TestMD4(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m md4
		m.Reset()
		ref := xmd4.New()
		for range rapid.IntRange(0, 5).Draw(t, "writes") {
			p := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "p")
			m.Write(p)
			ref.Write(p)
		}
		var sum [MaxLen]byte
		m.Sum(&sum)
		if !bytes.Equal(sum[:16], ref.Sum(nil)) {
			t.Fatalf("%x, want %x", sum[:16], ref.Sum(nil))
		}
	})
}

// sample is a file anyone can make again.
func sample() []byte {
	x := make([]byte, 2400)
	for i := range x {
		x[i] = byte(31*i*i + 17*i + 101*(i/256))
	}
	return x
}

func sampleSource() []byte {
	x := sample()
	return bytes.Join([][]byte{x[:700], []byte("INSERTED"), x[700:2100], []byte("xxxxx"), x[2100:]}, nil)
}

// Sums that were computed by hand and seen on the wire of rsync 3.5.0, seed 1.
func TestSample(t *testing.T) {
	x := sample()
	now, old := Session{Protocol: 32, Seed: 1, SeedFix: true}, Session{Protocol: 29, Seed: 1}
	for _, c := range []struct {
		s      Session
		a      Algorithm
		blocks [4]string // first 8 bytes
		file   string
	}{
		{now, XXH128, [4]string{"f16e3986e292fc4b", "66f491f5a446eef0", "c5cfd5f5faf4bac3", "3cf53ec1a8558ca5"}, "18cd38c12c579dfa48ffda5797d4ef89"},
		{now, XXH3, [4]string{"f16e3986e292fc4b", "66f491f5a446eef0", "c5cfd5f5faf4bac3", "3cf53ec1a8558ca5"}, "18cd38c12c579dfa"},
		{now, XXH64, [4]string{"ebf93ec4388227e3", "cd7ffa7b6ef63bdd", "30770ab3197c061c", "68a270c4bec8ac7c"}, "e44b0f1ff8b14aae"},
		{now, Auto, [4]string{"1a9f658e19195997", "fc10aa301928d9ac", "891666e5ee6c3490", "42708814b81e44d4"}, "afb340833392cde81e1dc851f42c06ce"},
		{Session{Protocol: 30, Seed: 1}, MD5, [4]string{"1a9f658e19195997", "fc10aa301928d9ac", "891666e5ee6c3490", "42708814b81e44d4"}, "afb340833392cde81e1dc851f42c06ce"},
		{Session{Protocol: 30, Seed: 1}, Auto, [4]string{"1faa2062c973f17d", "46b6abde4d234213", "a2719775a4dfab19", "a6d1b3f0c5334e92"}, "afb340833392cde81e1dc851f42c06ce"},
		{now, MD4, [4]string{"7968f539dd56df1f", "13995e90a4e75771", "fbcdd6480cda9d3e", "eb5fe597fe0d35a5"}, "722f31a841c54f9c89938d35d69c36c0"},
		{old, Auto, [4]string{"7968f539dd56df1f", "13995e90a4e75771", "fbcdd6480cda9d3e", "eb5fe597fe0d35a5"}, "3a6cf4c501dac25d7e4ca064ca02334d"},
		{now, SHA1, [4]string{"896c88d607a83f98", "ed6d4951545921fc", "846d99e484a9efba", "48b27074e19cbbb4"}, "fa09eaa588d49faaf4f0338a68c86c0d3f03f66b"},
	} {
		b := c.s.Block(c.a)
		for i, want := range c.blocks {
			var sum [MaxBlockLen]byte
			b.Sum(&sum, x[i*700:min(2400, i*700+700)])
			if got := hex.EncodeToString(sum[:8]); got != want {
				t.Errorf("protocol %d %v: block %d is %s, want %s", c.s.Protocol, c.a, i, got, want)
			}
		}
		d := c.s.Digest(c.a)
		for range 2 { // the second after a Reset
			d.Write(sampleSource())
			if got := hex.EncodeToString(d.Sum()); got != c.file {
				t.Errorf("protocol %d %v: file is %s, want %s", c.s.Protocol, c.a, got, c.file)
			}
			d.Reset()
		}
	}
	for i, want := range []uint32{0x451efbe0, 0x9cba0488, 0x5186fbb0, 0x1782f988} {
		if got := Weak(x[i*700 : min(2400, i*700+700)]); got != want {
			t.Errorf("weak sum of block %d is %08x, want %08x", i, got, want)
		}
	}
}

// However a file is cut into writes, its digest is the same.
func TestDigestPieces(t *testing.T) {
	s := Session{Protocol: 32, Seed: -7}
	rapid.Check(t, func(t *rapid.T) {
		a := Algorithm(rapid.IntRange(int(Auto), int(XXH128)).Draw(t, "a"))
		s.Protocol = rapid.IntRange(26, 32).Draw(t, "protocol")
		p := rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(t, "p")
		whole, parts := s.Digest(a), s.Digest(a)
		whole.Write(p)
		for q := p; len(q) > 0; {
			n := rapid.IntRange(1, len(q)).Draw(t, "n")
			parts.Write(q[:n])
			q = q[n:]
		}
		if a, b := whole.Sum(), parts.Sum(); !bytes.Equal(a, b) || len(a) != s.Len(whole.alg) {
			t.Fatalf("%x in one, %x in parts", a, b)
		}
	})
}

func TestSpoil(t *testing.T) {
	for _, c := range [][2]string{{"0102", "0000"}, {"0000", "0001"}, {"00", "01"}, {"", ""}} {
		sum, _ := hex.DecodeString(c[0])
		Spoil(sum)
		if got := hex.EncodeToString(sum); got != c[1] {
			t.Errorf("Spoil(%s) = %s, want %s", c[0], got, c[1])
		}
	}
}

func TestNoAllocations(t *testing.T) {
	p := make([]byte, 700)
	for a := Auto; a <= XXH128; a++ {
		s := Session{Protocol: 32, Seed: 1}
		b, d := s.Block(a), s.Digest(a)
		var sum [MaxBlockLen]byte
		if n := testing.AllocsPerRun(100, func() {
			b.Sum(&sum, p)
			d.Reset()
			d.Write(p)
			d.Sum()
		}); n != 0 {
			t.Errorf("%v: %v allocations a sum", a, n)
		}
	}
}

func BenchmarkWeak(b *testing.B) {
	for _, n := range []int{700, 32768, 131072} {
		p := make([]byte, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				Weak(p)
			}
		})
	}
}

func BenchmarkBlock(b *testing.B) {
	for a := SHA1; a <= XXH128; a++ {
		for _, n := range []int{700, 32768} {
			h := Session{Protocol: 32, Seed: 1}.Block(a)
			p := make([]byte, n)
			b.Run(fmt.Sprintf("%v/%d", a, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				var sum [MaxBlockLen]byte
				for b.Loop() {
					h.Sum(&sum, p)
				}
			})
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	p := make([]byte, 256<<10)
	for a := SHA1; a <= XXH128; a++ {
		d := Session{Protocol: 32}.Digest(a)
		b.Run(a.String(), func(b *testing.B) {
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				d.Write(p)
			}
		})
	}
}
