package checksum

import "encoding/binary"

const (
	signs = 0x8080808080808080
	evens = 0x00ff00ff00ff00ff
)

// batch is how many bytes are summed in lanes of 16 bits before they could
// overflow: 16 words, whose prefix sums reach 510*(0+1+...+15) = 61200.
const batch = 128

// Weak is the rolling sum of p: s1 = the sum of its bytes, s2 = the sum of
// (len(p)-i) * p[i], bytes taken as signed; s1 in the low 16 bits, s2 above.
func Weak(p []byte) uint32 {
	// Bytes are summed as unsigned with 128 added; the excess is known and is
	// taken off at the end. All arithmetic is modulo 1<<32, of which s1 and s2
	// use the low half.
	n := uint32(len(p))
	var s1, s2 uint32
	for ; len(p) >= batch; p = p[batch:] {
		// before sums, over the words, what came earlier in the batch; odd and
		// all are the sums of the odd bytes and of each odd and even pair.
		var before, all, odd uint64
		for i := 0; i < batch; i += 32 {
			q := (*[32]byte)(p[i:])
			w := binary.LittleEndian.Uint64(q[0:]) ^ signs
			x := binary.LittleEndian.Uint64(q[8:]) ^ signs
			y := binary.LittleEndian.Uint64(q[16:]) ^ signs
			z := binary.LittleEndian.Uint64(q[24:]) ^ signs
			wo, xo, yo, zo := w>>8&evens, x>>8&evens, y>>8&evens, z>>8&evens
			w, x, y, z = w&evens+wo, x&evens+xo, y&evens+yo, z&evens+zo
			before += 4*all + 3*w + 2*x + y
			all += w + x + y + z
			odd += wo + xo + yo + zo
		}
		s2 += batch*s1 + 8*lanes(before) + weighted(all-odd, odd)
		s1 += lanes(all)
	}
	for ; len(p) >= 8; p = p[8:] {
		w := binary.LittleEndian.Uint64(p) ^ signs
		e, o := w&evens, w>>8&evens
		s2 += 8*s1 + weighted(e, o)
		s1 += lanes(e + o)
	}
	for _, c := range p {
		s1 += uint32(c ^ 0x80)
		s2 += s1
	}
	s1 -= 128 * n
	s2 -= 64 * n * (n + 1)
	return s1&0xffff | s2<<16
}

// lanes adds the four lanes of 16 bits up; none may exceed 16 bits.
func lanes(x uint64) uint32 {
	const low = 0x0000ffff0000ffff
	x = x&low + x>>16&low
	return uint32(x) + uint32(x>>32)
}

// weighted is the sum of the lanes times the place of their bytes in a word:
// 8, 6, 4, 2 for the even bytes and 7, 5, 3, 1 for the odd ones. Each lane is
// at most 16*255.
func weighted(e, o uint64) uint32 {
	return 8*lane(e, 0) + 6*lane(e, 1) + 4*lane(e, 2) + 2*lane(e, 3) +
		7*lane(o, 0) + 5*lane(o, 1) + 3*lane(o, 2) + lane(o, 3)
}

func lane(x uint64, i uint) uint32 { return uint32(x>>(16*i)) & 0xffff }
