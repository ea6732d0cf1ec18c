package delta

import (
	"math/bits"
	"math/rand/v2"
)

// maxChain is how many blocks of equal weak sum are compared with one place of
// the input before it counts as new: rsync's answer to CVE-2026-70453, where a
// basis of such blocks made the search quadratic.
const maxChain = 1024

// index finds blocks by their weak sums. The factor of its hash is random, so
// that no peer can choose sums that collide.
type index struct {
	mul     uint64
	shift   uint8    // of the product, to a bucket
	buckets []span   // in entries
	entries []entry  // bucket by bucket, highest block first
	near    []uint64 // a bit set for each sum there is; fits in a core's own cache
	far     []uint64 // the same but sparser, where near is crowded; else empty
}

type span struct{ start, end uint32 }

type entry struct{ weak, block uint32 }

// Sizes of the filters as powers of two in bits.
const (
	sparseBits  = 7  // for each block: under one in a hundred places hits in vain
	minNearBits = 12 // 512 bytes
	maxNearBits = 24 // 2 MiB
	maxFarBits  = 26 // 8 MiB
)

// build makes the index of the blocks, reusing memory.
func (x *index) build(weak []uint32) {
	size := max(1, bits.Len(uint(len(weak))))
	x.mul = rand.Uint64() | 1
	x.shift = uint8(64 - size)
	x.buckets = resize(x.buckets, 1<<size)
	x.entries = resize(x.entries, len(weak))
	x.near = resize(x.near, 1<<min(max(size+sparseBits, minNearBits), maxNearBits)/64)
	clear(x.buckets)
	clear(x.near)
	x.far = x.far[:0]
	if size+sparseBits > maxNearBits {
		x.far = resize(x.far, 1<<min(size+sparseBits, maxFarBits)/64)
		clear(x.far)
	}
	for _, w := range weak {
		h := uint64(w) * x.mul
		x.buckets[h>>x.shift].end++
		x.near[h>>38&uint64(len(x.near)-1)] |= 1 << (h >> 32 & 63)
		if len(x.far) > 0 {
			x.far[h>>30&uint64(len(x.far)-1)] |= 1 << (h >> 24 & 63)
		}
	}
	at := uint32(0)
	for i := range x.buckets {
		at += x.buckets[i].end
		x.buckets[i] = span{at, at}
	}
	for i, w := range weak {
		b := &x.buckets[uint64(w)*x.mul>>x.shift]
		b.start--
		x.entries[b.start] = entry{w, uint32(i)}
	}
}

// bucket is the blocks that may have a weak sum, highest number first.
func (x *index) bucket(weak uint32) []entry {
	b := x.buckets[uint64(weak)*x.mul>>x.shift]
	return x.entries[b.start:b.end]
}

// drop takes blocks that are not wanted out of the bucket of a weak sum, from its
// k-th on, and gives what is left. The index is then good for this search only.
func (x *index) drop(weak uint32, k int, wanted func(int) bool) []entry {
	bucket := x.bucket(weak)
	kept := bucket[:k]
	for _, e := range bucket[k:] {
		if wanted(int(e.block)) {
			kept = append(kept, e)
		}
	}
	b := &x.buckets[uint64(weak)*x.mul>>x.shift]
	b.end = b.start + uint32(len(kept))
	return kept
}

// known reports whether a block has a weak sum, for one that near does not rule
// out.
func (x *index) known(weak uint32) bool {
	h := uint64(weak) * x.mul
	if n := len(x.far); n > 0 && x.far[h>>30&uint64(n-1)]>>(h>>24&63)&1 == 0 {
		return false
	}
	for _, e := range x.bucket(weak) {
		if e.weak == weak {
			return true
		}
	}
	return false
}

// scan rolls a weak sum over the input until it is that of a block. The window at
// the start has the sum s1, s2; out are the bytes that leave it, in those that
// enter. It gives how often it rolled and the sum there; at len(out) it was not
// looked at. This is the inner loop of a sender.
func (x *index) scan(out, in []byte, n, s1, s2 uint32) (int, uint32, uint32) {
	mul, near := x.mul, x.near
	if len(near) == 0 {
		return 0, s1, s2 // there is no index; tells the compiler that near has a last word
	}
	in = in[:len(out)]
	for i, c := range out {
		weak := s1&0xffff | s2<<16
		h := uint64(weak) * mul
		if near[h>>38&uint64(len(near)-1)]>>(h>>32&63)&1 != 0 && x.known(weak) {
			return i, s1, s2
		}
		old := uint32(int32(int8(c)))
		s1 += uint32(int32(int8(in[i]))) - old
		s2 += s1 - n*old
	}
	return len(out), s1, s2
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
