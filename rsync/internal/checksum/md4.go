package checksum

import (
	"encoding/binary"
	"math/bits"
)

// md4 is MD4 (RFC 1320) of a stream, with the two faults it had before protocol
// 27. Our own: no library can leave the padding out.
type md4 struct {
	state  [4]uint32
	length uint64 // bytes so far
	buf    [64]byte
	busted bool
}

func (m *md4) Reset() {
	m.state = [4]uint32{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}
	m.length = 0
}

func (m *md4) Write(p []byte) (int, error) {
	n := len(p)
	have := int(m.length % 64)
	m.length += uint64(n)
	if have > 0 {
		k := copy(m.buf[have:], p)
		p = p[k:]
		if have+k < 64 {
			return n, nil
		}
		md4Blocks(&m.state, m.buf[:])
	}
	whole := len(p) &^ 63
	md4Blocks(&m.state, p[:whole])
	copy(m.buf[:], p[whole:])
	return n, nil
}

// Sum puts the sum at the front of dst and ends the stream: Reset comes next.
// Busted sums have no last block where the length is a multiple of 64, and
// count bits in 32 bits only.
func (m *md4) Sum(dst *[MaxLen]byte) {
	have := int(m.length % 64)
	if !m.busted || have != 0 {
		var pad [128]byte
		n := copy(pad[:], m.buf[:have])
		pad[n] = 0x80
		end := 64
		if n >= 56 {
			end = 128
		}
		count := m.length * 8
		if m.busted {
			count &= 1<<32 - 1
		}
		binary.LittleEndian.PutUint64(pad[end-8:], count)
		md4Blocks(&m.state, pad[:end])
	}
	for i, s := range m.state {
		binary.LittleEndian.PutUint32(dst[4*i:], s)
	}
}

// md4Blocks takes in whole blocks of 64 bytes: three rounds of sixteen steps,
// written in fours because the four words of state turn with each step.
func md4Blocks(state *[4]uint32, p []byte) {
	a, b, c, d := state[0], state[1], state[2], state[3]
	for ; len(p) >= 64; p = p[64:] {
		var x [16]uint32
		for i := range x {
			x[i] = binary.LittleEndian.Uint32(p[4*i:])
		}
		a0, b0, c0, d0 := a, b, c, d
		for i := 0; i < 16; i += 4 {
			a = bits.RotateLeft32(a+(d^b&(c^d))+x[i], 3)
			d = bits.RotateLeft32(d+(c^a&(b^c))+x[i+1], 7)
			c = bits.RotateLeft32(c+(b^d&(a^b))+x[i+2], 11)
			b = bits.RotateLeft32(b+(a^c&(d^a))+x[i+3], 19)
		}
		for i := 0; i < 4; i++ {
			a = bits.RotateLeft32(a+(b&c|d&(b|c))+x[i]+0x5a827999, 3)
			d = bits.RotateLeft32(d+(a&b|c&(a|b))+x[i+4]+0x5a827999, 5)
			c = bits.RotateLeft32(c+(d&a|b&(d|a))+x[i+8]+0x5a827999, 9)
			b = bits.RotateLeft32(b+(c&d|a&(c|d))+x[i+12]+0x5a827999, 13)
		}
		for _, i := range [4]int{0, 2, 1, 3} {
			a = bits.RotateLeft32(a+(b^c^d)+x[i]+0x6ed9eba1, 3)
			d = bits.RotateLeft32(d+(a^b^c)+x[i+8]+0x6ed9eba1, 9)
			c = bits.RotateLeft32(c+(d^a^b)+x[i+4]+0x6ed9eba1, 11)
			b = bits.RotateLeft32(b+(c^d^a)+x[i+12]+0x6ed9eba1, 15)
		}
		a, b, c, d = a+a0, b+b0, c+c0, d+d0
	}
	*state = [4]uint32{a, b, c, d}
}
