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
	mul    uint32
	shift  uint8    // of the product, to a bucket
	narrow uint8    // of the product, to a bit of the filter
	start  []uint32 // of each bucket in order
	end    []uint32
	order  []uint32 // blocks bucket by bucket, highest number first
	filter []uint64 // a bit set for each sum there is
}

// Sizes of the filter as powers of two: 64 bits a block keep false hits near
// one place in 64, and from 4 MiB on a bigger one would cost more than it saves.
const (
	filterBits    = 6
	minFilterBits = 12
	maxFilterBits = 25
)

// build makes the index of the blocks, reusing memory.
func (x *index) build(weak []uint32) {
	size := max(1, bits.Len(uint(len(weak))))
	width := min(max(size+filterBits, minFilterBits), maxFilterBits)
	x.mul = rand.Uint32() | 1
	x.shift, x.narrow = uint8(32-size), uint8(32-width)
	x.start = resize(x.start, 1<<size)
	x.end = resize(x.end, 1<<size)
	x.order = resize(x.order, len(weak))
	x.filter = resize(x.filter, 1<<width/64)
	clear(x.start)
	clear(x.filter)
	for _, w := range weak {
		x.start[w*x.mul>>x.shift]++
		h := w * x.mul >> x.narrow
		x.filter[h>>6] |= 1 << (h & 63)
	}
	end := uint32(0)
	for i, n := range x.start {
		end += n
		x.start[i], x.end[i] = end, end
	}
	for i, w := range weak {
		at := &x.start[w*x.mul>>x.shift]
		*at--
		x.order[*at] = uint32(i)
	}
}

// bucket is the blocks that may have a weak sum, highest number first.
func (x *index) bucket(weak uint32) []uint32 {
	h := weak * x.mul >> x.shift
	return x.order[x.start[h]:x.end[h]]
}

// drop takes blocks that are not wanted out of the bucket of a weak sum, from its
// k-th on, and gives what is left. The index is then good for this search only.
func (x *index) drop(weak uint32, k int, wanted func(int) bool) []uint32 {
	bucket := x.bucket(weak)
	kept := bucket[:k]
	for _, b := range bucket[k:] {
		if wanted(int(b)) {
			kept = append(kept, b)
		}
	}
	h := weak * x.mul >> x.shift
	x.end[h] = x.start[h] + uint32(len(kept))
	return kept
}

// has reports whether any block may have a weak sum.
func (x *index) has(weak uint32) bool {
	h := weak * x.mul >> x.narrow
	return x.filter[h>>6]>>(h&63)&1 != 0
}

// scan rolls a weak sum over the input until it may be that of a block. The
// window at the start has the sum s1, s2; out are the bytes that leave it, in
// those that enter. It gives how often it rolled, len(out) if nothing came up
// before; the last place is then not looked at. This is the inner loop of a
// sender.
func (x *index) scan(out, in []byte, n, s1, s2 uint32) (int, uint32, uint32) {
	in = in[:len(out)]
	mul, narrow, filter := x.mul, x.narrow&31, x.filter
	for i, c := range out {
		h := (s1&0xffff | s2<<16) * mul >> narrow
		if filter[h>>6]>>(h&63)&1 != 0 {
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
