package delta

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		{"more equal weak sums than a chain is long", equalSums(1100, 900), func() (b []byte) {
			e := equalSums(1100, 900)
			for i := 1099; i >= 0; i-- {
				b = append(b, e[i*900:i*900+900]...)
			}
			return b
		}()},
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
	e := equalSums(16, 900)
	for d := -3; d <= 3; d++ {
		for _, last := range []int{900, 123} { // behind 38 blocks passed over a token more remains, or not
			in := bytes.Repeat([]byte{'a'}, 3+38*900+MaxLiteral+last-1+d)
			ps = append(ps, pair{fmt.Sprintf("known sums to the end %+d, last of %d", d, last), e[13500-last : 14400], in})
		}
		for _, n := range []int{700, 900} {
			ps = append(ps, pair{fmt.Sprintf("zeros up to the end of a block of %d %+d", n, d),
				join(r[:n], zero[:4*n]), join(r[5000:5500], zero[:2*n-500+d])})
		}
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

// mode is how a pair is sent.
type mode struct {
	protocol int
	block    int // of -B
	inPlace  bool
}

var modes = []mode{
	{32, 0, false}, {32, 0, true}, {32, 900, false}, {31, 4096, false}, {30, 900, true}, {29, 0, false}, {27, 0, true},
}

func (m mode) String() string { return fmt.Sprintf("%d,%d,%v", m.protocol, m.block, m.inPlace) }

func (m mode) args() []string {
	args := []string{"--checksum-seed=1", fmt.Sprintf("--protocol=%d", m.protocol)}
	if m.block > 0 {
		args = append(args, fmt.Sprintf("-B%d", m.block))
	}
	if m.inPlace {
		args = append(args, "--inplace")
	}
	return args
}

// signature is an empty one, and the head and the digest of the mode.
func (m mode) signature(size int) (*Signature, Head, *checksum.Digest) {
	s, a := checksum.Session{Protocol: m.protocol, Seed: 1, SeedFix: true}, checksum.Auto
	if m.protocol >= 30 {
		a = checksum.XXH128
	}
	h := Spec{Protocol: m.protocol, BlockLen: m.block, Digest: s.Len(a)}.Head(int64(size))
	return &Signature{Strong: s.Block(a), InPlace: m.inPlace}, h, s.Digest(a)
}

var update = flag.Bool("update", false, "record testdata/tokens.txt from the stock program anew")

const recorded = "testdata/tokens.txt"

// TestRecorded compares tokens with those that the stock program sent once.
func TestRecorded(t *testing.T) {
	text, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, tokens, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		want[key] = tokens
	}
	n := 0
	for _, p := range pairs() {
		for _, m := range modes {
			g, h, _ := m.signature(len(p.basis))
			fill(t, g, p.basis, h)
			a := run(t, g, p.basis, memory(p.in))
			if got := brief(a.tokens); got != want[m.String()+" "+p.name] {
				t.Errorf("%v %s: tokens%.1500s\nstock:%.1500s", m, p.name, got, want[m.String()+" "+p.name])
			}
			n++
		}
	}
	if n != len(want) {
		t.Errorf("%d sessions are recorded, want %d", len(want), n)
	}
}

// TestStock compares every token with those of the stock program now, the sums
// of blocks and the digest, and its statistics with what they add up to.
func TestStock(t *testing.T) {
	if testing.Short() {
		t.Skip("runs rsync")
	}
	lines := make([]strings.Builder, len(modes))
	t.Run("modes", func(t *testing.T) {
		for i, m := range modes {
			t.Run(m.String(), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				for _, p := range pairs() {
					fmt.Fprintf(&lines[i], "%v %s:%s\n", m, p.name, brief(compare(t, dir, m, p)))
				}
			})
		}
	})
	if *update {
		var all strings.Builder
		for i := range lines {
			all.WriteString(lines[i].String())
		}
		if err := os.WriteFile(recorded, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// compare sends a pair by the stock program and gives its tokens.
func compare(t *testing.T, dir string, m mode, p pair) []int {
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	if err := os.WriteFile(src, p.in, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dst, p.basis, 0o600); err != nil {
		t.Fatal(err)
	}
	s := stock.Push(t, src, dst, m.args()...)
	g, h, digest := m.signature(len(p.basis))
	fill(t, g, p.basis, h)
	a := run(t, g, p.basis, memory(p.in))
	if !bytes.Equal(a.out, p.in) && a.wrong == 0 {
		t.Errorf("%s: the tokens do not build the input", p.name)
	}
	var sums []byte
	for i, w := range g.weak {
		sums = binary.LittleEndian.AppendUint32(sums, w)
		sums = append(sums, g.strong[i*h.StrongLen:(i+1)*h.StrongLen]...)
	}
	if !bytes.Equal(sums, s.Blocks(t, stock.Head(h))) {
		t.Errorf("%s: sums of blocks differ", p.name)
	}
	digest.Write(p.in)
	want, sum := s.Tokens(t, stock.Head(h), digest.Len())
	if !slices.Equal(a.tokens, want) {
		t.Errorf("%s: tokens%.1500s\nstock:%.1500s", p.name, brief(a.tokens), brief(want))
	}
	if !bytes.Equal(digest.Sum(), sum) {
		t.Errorf("%s: the digest differs", p.name)
	}
	if a.wrong > 0 {
		return want // stock does it again, and counts both
	}
	literal := s.Stat(t, "Literal data")
	if matched := s.Stat(t, "Matched data"); literal != a.literal() || literal+matched != int64(len(p.in)) {
		t.Errorf("%s: %d literal bytes, stock %d and %d matched", p.name, a.literal(), literal, matched)
	}
	return want
}

func (a *apply) literal() (n int64) {
	for _, t := range a.tokens {
		n += int64(max(t, 0))
	}
	return n
}

// brief writes tokens shortly: b3+5 for blocks 3 to 7, l for literal bytes, and
// x4 behind what comes four times.
func brief(tokens []int) string {
	var b strings.Builder
	for i := 0; i < len(tokens); {
		n, j := tokens[i], i+1
		for j < len(tokens) && tokens[j] == n {
			j++
		}
		switch {
		case j > i+1 && n > 0:
			fmt.Fprintf(&b, " l%dx%d", n, j-i)
		case j > i+1:
			fmt.Fprintf(&b, " b%dx%d", -n-1, j-i)
		case n > 0:
			fmt.Fprintf(&b, " l%d", n)
		default:
			for ; j < len(tokens) && tokens[j] == tokens[j-1]-1; j++ {
			}
			fmt.Fprintf(&b, " b%d+%d", -n-1, j-i)
		}
		i = j
	}
	return b.String()
}
