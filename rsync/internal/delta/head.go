package delta

import (
	"errors"
	"math"
	"math/bits"

	"github.com/gohaul/haul/rsync/internal/checksum"
)

// Limits of a block's length in bytes. Before protocol 30 blocks grew with the
// root of any size.
const (
	MaxBlockLen    = 128 << 10
	MaxOldBlockLen = 512 << 20
)

const (
	minBlockLen  = 700
	minStrongLen = 2
	looseBits    = 10 // of a sum, above what the number of blocks and places asks for
)

// Head describes a signature. The zero Head is that of no basis.
type Head struct {
	Count     int // blocks
	BlockLen  int // bytes in each but the last
	StrongLen int // bytes kept of each strong sum
	LastLen   int // bytes in the last block if it is shorter; 0 if it is not
}

// Spec is what the lengths of a signature depend on besides the basis.
type Spec struct {
	Protocol int
	BlockLen int  // forced by the user; 0 means chosen by the size
	Digest   int  // length in bytes of the session's strong sum
	Redo     bool // the second try takes the whole sums
}

// Head is the head of the signature of a basis of that size in bytes: block
// length near the square root of the size, and as many bytes of strong sum as
// keep false matches rare. A basis of more blocks than 31 bits can count gets
// the zero Head, as none does.
func (s Spec) Head(size int64) Head {
	if size <= 0 {
		return Head{}
	}
	b := s.BlockLen
	if b <= 0 {
		b = s.chooseBlockLen(size)
	}
	count := (size-1)/int64(b) + 1
	if count > math.MaxInt32 {
		return Head{}
	}
	return Head{Count: int(count), BlockLen: b, StrongLen: s.strongLen(size, b), LastLen: int(size % int64(b))}
}

func (s Spec) chooseBlockLen(size int64) int {
	limit := int64(MaxBlockLen)
	if s.Protocol < 30 {
		limit = MaxOldBlockLen
	}
	if size >= limit*limit {
		return int(limit)
	}
	root := int64(math.Sqrt(float64(size))) // of up to 58 bits: one off at most
	if root*root > size {
		root--
	}
	if (root+1)*(root+1) <= size {
		root++
	}
	return int(max(minBlockLen, root&^7))
}

func (s Spec) strongLen(size int64, blockLen int) int {
	whole := min(checksum.MaxBlockLen, s.Digest)
	if s.Redo {
		return whole
	}
	sumBits := looseBits + 2*log2(uint64(size)) - log2(uint64(blockLen))
	return min(whole, max(minStrongLen, (sumBits-24)/8))
}

func log2(n uint64) int { return bits.Len64(n) - 1 }

var errHead = errors.New("impossible lengths of block sums")

// Check reports whether a head from a peer makes sense; that its lengths are
// within what protocol and checksum allow too is the session's to know.
func (h Head) Check() error {
	switch {
	case h.Count < 0, h.BlockLen < 0, h.LastLen < 0, h.StrongLen < 0,
		h.Count > math.MaxInt32,
		h.BlockLen > MaxOldBlockLen,
		h.BlockLen == 0 && h.Count > 0,
		h.LastLen > h.BlockLen,
		h.StrongLen > checksum.MaxBlockLen:
		return errHead
	}
	return nil
}

// Size is the size in bytes of the basis.
func (h Head) Size() int64 {
	size := int64(h.Count) * int64(h.BlockLen)
	if h.Count > 0 && h.LastLen > 0 {
		size -= int64(h.BlockLen - h.LastLen)
	}
	return size
}

// Len is the length in bytes of a block.
func (h Head) Len(block int) int {
	if block == h.Count-1 && h.LastLen > 0 {
		return h.LastLen
	}
	return h.BlockLen
}

// Offset is where in the basis a block begins.
func (h Head) Offset(block int) int64 { return int64(block) * int64(h.BlockLen) }
