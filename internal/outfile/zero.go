package outfile

import (
	"bytes"
	"encoding/binary"
)

// zeros is what blocks are compared with, and where zeros to store come from.
var zeros [64 << 10]byte

// isZero reports whether p is all zeros. Data nearly always shows in the first
// bytes; what passes them is compared by the machine's widest words.
func isZero(p []byte) bool {
	if len(p) >= 8 && binary.NativeEndian.Uint64(p) != 0 {
		return false
	}
	for len(p) > len(zeros) {
		if !bytes.Equal(p[:len(zeros)], zeros[:]) {
			return false
		}
		p = p[len(zeros):]
	}
	return bytes.Equal(p, zeros[:len(p)])
}

// blockEnd is the next border of a block behind off, or limit if that is nearer.
func blockEnd(off, block, limit int64) int64 {
	return off + min(block-off%block, limit-off) // off+block might wrap
}

// run is the longest stretch at the start of p, which lies at off, whose blocks
// are all zero or all not.
func run(p []byte, off, block int64) (n int64, zero bool) {
	limit := off + int64(len(p))
	end := blockEnd(off, block, limit)
	zero = isZero(p[:end-off])
	for end < limit {
		next := blockEnd(end, block, limit)
		if isZero(p[end-off:next-off]) != zero {
			break
		}
		end = next
	}
	return end - off, zero
}

// same is the longest stretch at the start of p, which lies at off, whose
// blocks all equal those of old or all do not. Both are of one length.
func same(p, old []byte, off, block int64) (n int64, equal bool) {
	limit := off + int64(len(p))
	end := blockEnd(off, block, limit)
	equal = bytes.Equal(p[:end-off], old[:end-off])
	for end < limit {
		next := blockEnd(end, block, limit)
		if bytes.Equal(p[end-off:next-off], old[end-off:next-off]) != equal {
			break
		}
		end = next
	}
	return end - off, equal
}
