package delta

import (
	"bytes"

	"github.com/gohaul/haul/rsync/internal/checksum"
)

const defaultMapSize = 256 << 10

// maxMisses is how many places in a row may have a known weak sum and not match;
// behind each further one a whole block is passed over unseen. Otherwise data of
// one weak sum throughout, such as few bytes among zeros, would cost a strong
// sum a byte. Rsync 3.5.0 does the same, so it finds the same.
const maxMisses = 4

// matcher is the state of one search. Places are offsets in the input.
type matcher struct {
	*Signature
	in     Input
	sparse Sparse // nil if the input cannot tell its holes
	emit   func(Token) error
	size   int64
	n      int // BlockLen

	w    []byte // the window
	base int64  // where it begins
	hole bool   // it is all zeros that nobody read
	data int64  // from lit up to here is a hole
	lit  int64  // where the literal bytes begin that were not emitted
	p    int64  // the place the search is at
	want int    // the block that follows the last match

	rolled bool // s1, s2 are the sums at p, and p was looked at
	s1, s2 uint32
	misses int // places in a row of a known weak sum, but no match

	sum      [checksum.MaxBlockLen]byte // strong sum at the place looked at
	summed   bool                       // it was computed
	zero     [checksum.MaxBlockLen]byte // strong sum of a block of zeros
	zeroDone bool
}

// Match gives the tokens that build the input from the basis, in order and
// covering it exactly. An error of the input or of emit ends it.
//
// Its choices are rsync's: at each place the blocks of equal sums from the
// highest number down, but rather the one that follows the block before; that one
// is found even where rsync's chain is too long for it. A last
// block that is short can only end the input. With InPlace a block that stands
// where it is needed comes before all others, and one that was written over is
// not used. A literal stretch is cut every MaxLiteral bytes.
func (g *Signature) Match(in Input, emit func(Token) error) error {
	if len(g.weak) != g.Count {
		return errCount
	}
	m := &g.run
	*m = matcher{Signature: g, in: in, emit: emit, size: in.Size(), n: g.BlockLen}
	defer func() { *m = matcher{} }() // holds nobody's memory
	m.sparse, _ = in.(Sparse)
	if g.InPlace {
		g.same = resize(g.same, (g.Count+63)/64)
		clear(g.same)
		defer func() { g.indexed = false }() // for blocks were dropped
	}
	if g.full() > 0 {
		for last := m.size - int64(m.n); m.p <= last; {
			if err := m.fill(); err != nil {
				return err
			}
			if err := m.search(); err != nil {
				return err
			}
			if m.rolled && m.p == last {
				break
			}
		}
	}
	return m.finish()
}

// full is the number of blocks that are not short.
func (g *Signature) full() int {
	if g.Count > 0 && g.LastLen > 0 && g.LastLen < g.BlockLen {
		return g.Count - 1
	}
	return g.Count
}

// fill makes the window reach from the pending literal bytes to a block behind
// p, and on as far as is read at once.
func (m *matcher) fill() error {
	if err := m.flush(); err != nil {
		return err
	}
	ahead := m.MapSize
	if ahead <= 0 {
		ahead = defaultMapSize
	}
	need := m.p + int64(m.reach()) // past what p is judged by
	if hole, err := m.inHole(need + 1); err != nil {
		return err
	} else if hole {
		m.w = zeros[:min(m.data-m.lit, int64(len(zeros)))]
		m.base, m.hole = m.lit, true
		return nil
	}
	end := min(m.size, need+int64(max(ahead, m.n)))
	w, err := window(m.in, m.lit, int(end-m.lit))
	m.w, m.base, m.hole = w, m.lit, false
	return err
}

// reach is how many bytes behind a place have a say in what matches there.
func (m *matcher) reach() int {
	if m.InPlace {
		return 2 * m.n
	}
	return m.n
}

// inHole reports whether a hole reaches from the pending literal bytes to end,
// and zeros enough are at hand to stand for it.
func (m *matcher) inHole(end int64) (bool, error) {
	if m.sparse == nil || end-m.lit > int64(len(zeros)) {
		return false, nil
	}
	if m.data <= m.lit {
		d, err := m.sparse.Data(m.lit)
		if err != nil {
			return false, err
		}
		m.data = min(d, m.size)
	}
	return m.data >= end, nil
}

// search goes through the window, to the last place that can be judged by it.
func (m *matcher) search() error {
	i, end := int(m.p-m.base), len(m.w)-m.n
	if m.base+int64(len(m.w)) < m.size {
		end = len(m.w) - m.reach()
	}
	for i <= end {
		if m.rolled {
			if i == end {
				break
			}
			i = m.roll(i, end)
		} else {
			weak := checksum.Weak(m.w[i : i+m.n])
			m.s1, m.s2 = weak&0xffff, weak>>16
			m.rolled = true
		}
		found, err := m.try(i)
		if err != nil {
			return err
		}
		switch {
		case found:
			i = int(m.p - m.base)
		case m.misses >= maxMisses:
			if err := m.pass(); err != nil {
				return err
			}
			i += m.n
		case m.hole && m.misses == 0:
			i = end // zeros as far as the window goes, and no block of their sum
		}
	}
	m.p = m.base + int64(i)
	return nil
}

// roll moves on by one and then to the next place that may match, or to end.
func (m *matcher) roll(i, end int) int {
	if !m.indexed {
		m.index.build(m.weak[:m.full()])
		m.indexed = true
	}
	old := uint32(int32(int8(m.w[i])))
	m.s1 += uint32(int32(int8(m.w[i+m.n]))) - old
	m.s2 += m.s1 - uint32(m.n)*old
	i++
	k, s1, s2 := m.index.scan(m.w[i:end], m.w[i+m.n:], uint32(m.n), m.s1, m.s2)
	m.s1, m.s2 = s1, s2
	if k > 0 {
		m.misses = 0
	}
	return i + k
}

// try looks for a block that matches at place i of the window and takes it, or
// counts the miss.
func (m *matcher) try(i int) (found bool, err error) {
	m.p = m.base + int64(i)
	m.summed = false
	block := m.w[i : i+m.n]
	weak := m.s1&0xffff | m.s2<<16
	b, hit := m.find(weak, block)
	if b < 0 {
		if hit {
			m.misses++
		} else {
			m.misses = 0
		}
		return false, nil
	}
	m.misses = 0
	if m.InPlace && weak == 0 && m.Offset(b) > m.p {
		b, block = m.ahead(i, b, block)
	}
	return true, m.take(b, block)
}

// ahead is for a block at place i that may be zeros and matches a block further
// on. If they are, the next block of zeros in the basis stands for them; and if
// the input has zeros there too, the search moves there: that block may stay
// where it is. Rsync would rather have the receiver seek than write zeros, at
// the price of a few literal ones.
func (m *matcher) ahead(i, b int, block []byte) (int, []byte) {
	own := int(m.p/int64(m.n)) + 1
	if m.p%int64(m.n) == 0 || m.n > len(zeros) || own >= m.full() || m.Offset(own+1) > m.size ||
		!m.equal(own, 0, block) || !bytes.Equal(block, zeros[:m.n]) {
		return b, block
	}
	next := int(m.Offset(own) - m.base)
	if bytes.Equal(m.w[next:next+m.n], zeros[:m.n]) {
		m.p = m.Offset(own)
		return own, m.w[next : next+m.n]
	}
	return own, block
}

// find chooses the block that stands for the bytes at p, or -1. A hit is a block
// of their weak sum that could be used.
func (m *matcher) find(weak uint32, block []byte) (b int, hit bool) {
	if m.InPlace && m.p%int64(m.n) == 0 {
		if own := m.p / int64(m.n); own < int64(m.full()) && m.equal(int(own), weak, block) {
			return int(own), true
		}
	}
	if m.want < m.full() && m.usable(m.want) && m.equal(m.want, weak, block) {
		return m.want, true
	}
	if !m.indexed {
		m.index.build(m.weak[:m.full()])
		m.indexed = true
	}
	bucket, left := m.index.bucket(weak), maxChain
	for k := 0; k < len(bucket) && left > 0; k++ {
		b := int(bucket[k].block)
		if bucket[k].weak != weak {
			continue
		}
		if !m.usable(b) { // nor will it be again
			bucket = m.index.drop(weak, k, m.usable)
			k--
			continue
		}
		if m.equal(b, weak, block) {
			return b, true
		}
		hit = true
		left--
	}
	return -1, hit
}

// usable reports whether a block still is in the basis when it is needed.
func (m *matcher) usable(b int) bool {
	return !m.InPlace || m.Offset(b) >= m.p || m.same[b/64]>>(b%64)&1 != 0
}

// equal compares the sums of a full block with those of the bytes at p.
func (m *matcher) equal(b int, weak uint32, block []byte) bool {
	if m.weak[b] != weak {
		return false
	}
	if !m.summed {
		m.strongSum(block)
	}
	n := m.StrongLen
	return bytes.Equal(m.strong[b*n:(b+1)*n], m.sum[:n])
}

func (m *matcher) strongSum(block []byte) {
	m.summed = true
	if !m.hole {
		m.Strong.Sum(&m.sum, block)
		return
	}
	if !m.zeroDone {
		m.Strong.Sum(&m.zero, block)
		m.zeroDone = true
	}
	m.sum = m.zero
}

// take emits what is pending and the block, and moves behind it.
func (m *matcher) take(b int, block []byte) error {
	if err := m.literal(m.p); err != nil {
		return err
	}
	if err := m.emit(Token{Block: b, Off: m.p, Data: block}); err != nil {
		return err
	}
	if m.InPlace && m.Offset(b) == m.p {
		m.same[b/64] |= 1 << (b % 64)
	}
	m.p += int64(len(block))
	m.lit = m.p
	m.want = b + 1
	m.rolled = false
	return nil
}

// flush emits pending literal bytes as soon as rsync would: whole tokens that lie
// a block behind p.
func (m *matcher) flush() error {
	for m.lit+MaxLiteral+int64(m.n) < m.p {
		if err := m.literal(m.lit + MaxLiteral); err != nil {
			return err
		}
	}
	return nil
}

// pass moves a whole block on. Rsync then flushes what the step has made too
// much, which leaves a token that is not full.
func (m *matcher) pass() error {
	if err := m.flush(); err != nil {
		return err
	}
	m.rolled = false
	last := m.p - 1 // of the block before the one that is passed over
	m.p += int64(m.n)
	if last-m.lit >= MaxLiteral && m.size-m.p > MaxLiteral+int64(m.Len(m.Count-1))-2 {
		return m.literal(last)
	}
	return nil
}

// literal emits the pending bytes before end, which the window has.
func (m *matcher) literal(end int64) error {
	for m.lit < end {
		n := min(end-m.lit, MaxLiteral)
		at := m.lit - m.base
		if err := m.emit(Token{Block: -1, Off: m.lit, Data: m.w[at : at+n]}); err != nil {
			return err
		}
		m.lit += n
	}
	return nil
}

// finish takes the short last block if the input ends with it, and emits the
// rest as literal bytes.
func (m *matcher) finish() error {
	tail, last := int64(m.LastLen), m.Count-1
	if last < m.full() || m.p > m.size-tail {
		return m.literals(m.size)
	}
	m.p = m.size - tail
	w, err := window(m.in, m.p, int(tail))
	if err != nil {
		return err
	}
	m.hole, m.summed = false, false
	if !m.usable(last) || !m.equal(last, checksum.Weak(w), w) {
		return m.literals(m.size)
	}
	if err := m.literals(m.p); err != nil {
		return err
	}
	if w, err = window(m.in, m.p, int(tail)); err != nil {
		return err
	}
	return m.take(last, w)
}

// literals emits all up to end as literal bytes, windows of its own.
func (m *matcher) literals(end int64) error {
	for m.lit < end {
		n := min(end-m.lit, defaultMapSize)
		if hole, err := m.inHole(m.lit + n); err != nil {
			return err
		} else if hole {
			m.w = zeros[:n]
		} else if m.w, err = window(m.in, m.lit, int(n)); err != nil {
			return err
		}
		m.base = m.lit
		if err := m.literal(m.lit + n); err != nil {
			return err
		}
	}
	return nil
}
