package wire

import (
	"encoding/binary"
	"math/bits"
)

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if r.pos == r.lim && !r.more() {
		r.cut()
		return 0
	}
	b := r.buf[r.pos]
	r.pos++
	return b
}

// Short reads two bytes, low first.
func (r *Reader) Short() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }

// Int reads four bytes, low first.
func (r *Reader) Int() int32 { return int32(binary.LittleEndian.Uint32(r.take(4))) }

// IntIn reads an Int that must lie in lo..hi; what names it in the error.
func (r *Reader) IntIn(lo, hi int32, what string) int32 {
	v := r.Int()
	if r.err == nil && (v < lo || v > hi) {
		r.fail(ExitProtocol, "%s %d is not in %d..%d", what, v, lo, hi)
		return 0
	}
	return v
}

// extra is how many bytes a varint or varlong has beyond its minimum: the
// leading one-bits of its first byte, of which six count at most.
func extra(first byte) int { return min(bits.LeadingZeros8(^first), 6) }

// Varint reads 1 to 5 bytes (§2).
func (r *Reader) Varint() int32 {
	first := r.Byte()
	if first < 0x80 {
		return int32(first)
	}
	n := extra(first)
	if n > 4 {
		r.fail(ExitStream, "varint of %d bytes", n+1)
		return 0
	}
	var b [8]byte
	copy(b[:], r.take(n))
	b[n] = first & (1<<(8-n) - 1) // for n = 4 above bit 31: dropped
	return int32(binary.LittleEndian.Uint64(b[:]))
}

// Varlong reads least to 9 bytes (§2).
func (r *Reader) Varlong(least int) int64 {
	var b [16]byte
	p := r.take(least)
	first := p[0]
	copy(b[:], p[1:])
	n := extra(first)
	if least+n > 9 {
		r.fail(ExitStream, "varlong of %d bytes", least+n)
		return 0
	}
	if n > 0 {
		copy(b[least-1:], r.take(n))
	}
	b[least-1+n] = first & byte(1<<(8-n)-1)
	return int64(binary.LittleEndian.Uint64(b[:]))
}

// Longint reads the 4 or 12 bytes of a 64-bit number before protocol 30.
func (r *Reader) Longint() int64 {
	if v := r.Int(); v != -1 {
		return int64(v)
	}
	return int64(binary.LittleEndian.Uint64(r.take(8)))
}

// Varint30 reads an Int before protocol 30, a Varint from 30 on.
func (r *Reader) Varint30() int32 {
	if r.Protocol < 30 {
		return r.Int()
	}
	return r.Varint()
}

// Varlong30 reads a Longint before protocol 30, a Varlong from 30 on.
func (r *Reader) Varlong30(least int) int64 {
	if r.Protocol < 30 {
		return r.Longint()
	}
	return r.Varlong(least)
}

// Vstring reads a string of at most limit bytes with its length in front;
// code is the exit code for a longer one, what names it.
func (r *Reader) Vstring(limit, code int, what string) string {
	n := int(r.Byte())
	if n >= 0x80 {
		n = (n-0x80)<<8 | int(r.Byte())
	}
	if n > limit {
		r.fail(code, "%s of %d bytes", what, n)
	}
	return r.str(n)
}

// ShortString reads a string of at most 255 bytes, its length in one byte.
func (r *Reader) ShortString() string { return r.str(int(r.Byte())) }

func (r *Reader) str(n int) string {
	if r.err == nil && r.lim-r.pos >= n {
		r.pos += n
		return string(r.buf[r.pos-n : r.pos])
	}
	return string(r.Blob(n))
}

// Name reads a string that ends with a NUL, of at most limit bytes: an argument
// or a name of --files-from (§5, §7). The list of either ends with an empty one.
func (r *Reader) Name(limit int, what string) string {
	var p []byte
	for {
		b := r.Byte()
		if b == 0 {
			return string(p)
		}
		if len(p) == limit {
			r.fail(ExitLimit, "%s longer than %d bytes", what, limit)
			return ""
		}
		p = append(p, b)
	}
}

// Byte writes one byte.
func (w *Writer) Byte(b byte) {
	w.room(1)
	w.buf = append(w.buf, b)
}

// Short writes two bytes, low first.
func (w *Writer) Short(v uint16) {
	w.room(2)
	w.buf = binary.LittleEndian.AppendUint16(w.buf, v)
}

// Int writes four bytes, low first.
func (w *Writer) Int(v int32) {
	w.room(4)
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(v))
}

// Varint writes 1 to 5 bytes (§2).
func (w *Writer) Varint(v int32) {
	if 0 <= v && v < 0x80 {
		w.Byte(byte(v))
		return
	}
	w.varnum(uint64(uint32(v)), 1)
}

// Varlong writes least to 9 bytes (§2).
func (w *Writer) Varlong(v int64, least int) { w.varnum(uint64(v), least) }

// varnum writes the lower bytes of v behind a first byte that tells how many
// there are and, if they fit beside that, holds the topmost bits.
func (w *Writer) varnum(v uint64, least int) {
	w.room(16)
	n := max((bits.Len64(v)+7)/8, least)
	ones := n - least
	top := v >> (8 * (n - 1))
	if top < 1<<(7-ones) {
		n--
	} else {
		ones, top = ones+1, 0
	}
	w.buf = append(w.buf, byte(0xff<<(8-ones))|byte(top))
	w.buf = binary.LittleEndian.AppendUint64(w.buf, v)[:len(w.buf)+n]
}

// Longint writes the 4 or 12 bytes of a 64-bit number before protocol 30.
func (w *Writer) Longint(v int64) {
	if 0 <= v && v <= 0x7fffffff {
		w.Int(int32(v))
		return
	}
	w.Int(-1)
	w.room(8)
	w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(v))
}

// Varint30 writes an Int before protocol 30, a Varint from 30 on.
func (w *Writer) Varint30(v int32) {
	if w.Protocol < 30 {
		w.Int(v)
	} else {
		w.Varint(v)
	}
}

// Varlong30 writes a Longint before protocol 30, a Varlong from 30 on.
func (w *Writer) Varlong30(v int64, least int) {
	if w.Protocol < 30 {
		w.Longint(v)
	} else {
		w.Varlong(v, least)
	}
}

// Vstring writes s with its length in front; s is cut at 32767 bytes.
func (w *Writer) Vstring(s string) {
	s = s[:min(len(s), 0x7fff)]
	if len(s) > 0x7f {
		w.Byte(byte(0x80 + len(s)>>8))
	}
	w.Byte(byte(len(s)))
	w.String(s)
}

// ShortString writes s, cut at 255 bytes, with its length in one byte in front.
func (w *Writer) ShortString(s string) {
	s = s[:min(len(s), 255)]
	w.Byte(byte(len(s)))
	w.String(s)
}

// Name writes s and a NUL.
func (w *Writer) Name(s string) {
	w.String(s)
	w.Byte(0)
}
