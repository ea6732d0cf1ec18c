package delta

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gohaul/haul/rsync/internal/checksum"
	"github.com/gohaul/haul/test/stock"
)

func random(seed uint64, n int) []byte {
	rnd := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	return b
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// equalSums are n different blocks of one weak sum: what is added at three
// places in a row adds nothing to either half of it.
func equalSums(n, blockLen int) []byte {
	var b []byte
	for i := range n {
		block := bytes.Repeat([]byte{'a'}, blockLen)
		for bit := range 14 {
			if i>>bit&1 != 0 {
				block[3*bit]++
				block[3*bit+1] -= 2
				block[3*bit+2]++
			}
		}
		b = append(b, block...)
	}
	return b
}

// zerosAndBlocks are a basis and an input of few different blocks, zeros among
// them, some off their places.
func zerosAndBlocks(seed uint64) pair {
	rnd := rand.New(rand.NewPCG(seed, 1))
	file := func() (b []byte) {
		for range 5 + rnd.IntN(30) {
			block := make([]byte, 900)
			switch rnd.IntN(6) {
			case 0:
				block = random(uint64(rnd.IntN(8)), 900)
			case 1:
				block = block[:rnd.IntN(900)]
			case 2:
				block = random(uint64(rnd.IntN(8)), rnd.IntN(900))
			}
			b = append(b, block...)
		}
		return b
	}
	return pair{fmt.Sprintf("zeros and blocks %d", seed), file(), file()}
}

type pair struct {
	name      string
	basis, in []byte
}

func pairs() []pair {
	r := random(1, 1<<20)
	changed := slices.Clone(r)
	for i := 50 * 1024; i < len(changed); i += 100 * 1024 { // 1% of its blocks of 1024
		changed[i] ^= 1
	}
	zero := make([]byte, 1<<20)
	periodic := bytes.Repeat([]byte("abcdefg"), 30000)
	ps := []pair{
		{"identical", r, r},
		{"shifted by one", r, join([]byte("x"), r)},
		{"shifted back", r, r[1:]},
		{"swapped halves", r, join(r[1<<19:], r[:1<<19])},
		{"swapped halves, odd", r[:999999], join(r[500001:999999], r[:500001])},
		{"blocks changed", r, changed},
		{"nothing shared", r, random(2, 1<<20)},
		{"zeros", zero, zero},
		{"zeros, longer", zero, make([]byte, 1<<20+12345)},
		{"zeros, shorter", zero, make([]byte, 700001)},
		{"zeros to data", zero, r},
		{"data to zeros", r, zero},
		{"a hole grows", r, join(r[:300000], make([]byte, 200000), r[500000:])},
		{"a hole in both", join(r[:100000], zero[:300000], r[:300000]), join(r[:100000], []byte("xyz"), zero[:300000], r[:300000])},
		{"a hole filled", join(r[:100000], zero[:300000], r[:300000]), r[:700000]},
		{"zeros off their place", join(zero[:100000], r[:300000]), join(r[:50001], zero[:200000], r[:300000])},
		{"zeros at the end", join(r[:300000], zero[:100000]), join(zero[:50001], r[:50000], zero[:50003], r[:200000], zero[:70000])},
		{"zeros before zeros", join(r[:6300], zero[:20000]), zero[:30000]},
		{"zeros within data", join(r[:9100], zero[:7000], r[:9100], zero[:7000]), join(r[:9000], zero[:20000], r[:9100], zero[:701], r[:300], zero[:1500])},
		{"periodic", periodic, join([]byte("b"), periodic[:100000], []byte("zz"), periodic)},
		{"one block many times", join(r[:700], r[:700], r[:700], r[700:1400], r[:700]), join(r[:700], r[:1400], r[:700], r[:1400], r[:2100])},
		{"equal weak sums", equalSums(1000, 700), join(equalSums(1000, 700)[350000:], equalSums(1000, 700)[:350700])},
		{"repeated", r[:100000], join(r[:50000], r[:50000], r[:50000], r[:100000], r[:50000])},
		{"reversed blocks", r[:70000], func() (b []byte) {
			for i := 99; i >= 0; i-- {
				b = append(b, r[i*700:i*700+700]...)
			}
			return b
		}()},
		{"removed", r, join(r[:123456], r[234567:])},
		{"inserted", r, join(r[:123456], random(3, 7777), r[123456:])},
		{"empty input", r[:5000], nil},
	}
	for i := range 40 {
		ps = append(ps, zerosAndBlocks(uint64(i)))
	}
	for _, basis := range []int{1, 2, 699, 700, 701, 1399, 1400, 1401} {
		for _, in := range []int{1, 2, 699, 700, 701, 1399, 1400, 1401} {
			ps = append(ps, pair{fmt.Sprintf("%d to %d", basis, in), r[:basis], r[:in]})
		}
		ps = append(ps, pair{fmt.Sprintf("end of %d", basis), r[:basis], join([]byte("-"), r[:basis])})
		ps = append(ps, pair{fmt.Sprintf("last of %d", basis), r[:basis], r[basis/2 : basis]})
	}
	return ps
}

// TestStock compares every token with those of the stock program, and its
// statistics with what they add up to.
func TestStock(t *testing.T) {
	if testing.Short() {
		t.Skip("runs rsync")
	}
	for _, mode := range []struct {
		args     []string
		protocol int
		block    int
		inPlace  bool
	}{
		{nil, 32, 0, false},
		{[]string{"--inplace"}, 32, 0, true},
		{[]string{"-B4096"}, 31, 4096, false},
		{[]string{"-B900", "--inplace"}, 30, 900, true},
		{nil, 29, 0, false},
		{[]string{"--inplace"}, 27, 0, true},
	} {
		t.Run(fmt.Sprint(mode.protocol, mode.args), func(t *testing.T) {
			t.Parallel()
			session := checksum.Session{Protocol: mode.protocol, Seed: 1, SeedFix: true}
			algorithm := checksum.Auto
			if mode.protocol >= 30 {
				algorithm = checksum.XXH128
			}
			spec := Spec{Protocol: mode.protocol, BlockLen: mode.block, Digest: session.Len(algorithm)}
			g := &Signature{Strong: session.Block(algorithm), InPlace: mode.inPlace}
			dir := t.TempDir()
			src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
			args := append([]string{"--checksum-seed=1", fmt.Sprintf("--protocol=%d", mode.protocol)}, mode.args...)
			for _, p := range pairs() {
				if err := os.WriteFile(src, p.in, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(dst, p.basis, 0o600); err != nil {
					t.Fatal(err)
				}
				s := stock.Push(t, src, dst, args...)
				h := spec.Head(int64(len(p.basis)))
				fill(t, g, p.basis, h)
				a := run(t, g, p.basis, memory(p.in))
				if !bytes.Equal(a.out, p.in) && a.wrong == 0 {
					t.Errorf("%s: the tokens do not build the input", p.name)
				}
				var sums []byte
				for i, w := range g.weak {
					sums = append(sums, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
					sums = append(sums, g.strong[i*h.StrongLen:(i+1)*h.StrongLen]...)
				}
				if !bytes.Equal(sums, s.Blocks(t, stock.Head(h))) {
					t.Errorf("%s: sums of blocks differ", p.name)
				}
				digest := session.Digest(algorithm)
				digest.Write(p.in)
				want, sum := s.Tokens(t, stock.Head(h), digest.Len())
				if !slices.Equal(a.tokens, want) {
					t.Errorf("%s: tokens %s\nstock: %s", p.name, brief(a.tokens), brief(want))
				}
				if !bytes.Equal(digest.Sum(), sum) {
					t.Errorf("%s: digest %x, stock %x", p.name, digest.Sum(), sum)
				}
				if a.wrong > 0 {
					continue // stock does it again, and counts both
				}
				literal := s.Stat(t, "Literal data")
				if matched := s.Stat(t, "Matched data"); literal != a.literal() || literal+matched != int64(len(p.in)) {
					t.Errorf("%s: %d literal bytes, stock %d and %d matched", p.name, a.literal(), literal, matched)
				}
			}
		})
	}
}

func (a *apply) literal() (n int64) {
	for _, t := range a.tokens {
		n += int64(max(t, 0))
	}
	return n
}

// brief joins runs of blocks and of literal tokens.
func brief(tokens []int) string {
	var b bytes.Buffer
	for i := 0; i < len(tokens); {
		j := i + 1
		if n := tokens[i]; n > 0 {
			for ; j < len(tokens) && tokens[j] > 0; j++ {
				n += tokens[j]
			}
			fmt.Fprintf(&b, " literal %d", n)
		} else if j < len(tokens) && tokens[j] == n {
			for ; j < len(tokens) && tokens[j] == n; j++ {
			}
			fmt.Fprintf(&b, " block %dx%d", -n-1, j-i)
		} else {
			for ; j < len(tokens) && tokens[j] == tokens[j-1]-1; j++ {
			}
			fmt.Fprintf(&b, " block %d+%d", -n-1, j-i)
		}
		i = j
	}
	return fmt.Sprintf("%.1500s", b.String())
}
