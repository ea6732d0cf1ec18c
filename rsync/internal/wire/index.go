package wire

import "math"

// Indices that are no file's (§6).
const (
	Done        int32 = -1 // end of a phase or of one incremental list
	ListsEnd    int32 = -2 // no more incremental lists
	DeleteCount int32 = -3 // a [Deletions] block follows

	listOffset int32 = -101
)

// ListFor is the index that announces the file list of directory dir.
func ListFor(dir int32) int32 { return listOffset - dir }

// ListDir tells whether index announces a directory's file list, and whose.
func ListDir(index int32) (dir int32, ok bool) { return listOffset - index, index <= listOffset }

// indexState is what the coding of protocol 30 on remembers, per direction:
// the last index that was not negative, and the last other one, negated.
type indexState struct{ pos, neg int32 }

func newIndexState() indexState { return indexState{pos: -1, neg: 1} }

// Index reads a file index or one of the values above (§6).
func (r *Reader) Index() int32 {
	if r.Protocol < 30 {
		return r.Int()
	}
	switch b := r.Byte(); b {
	case 0:
		return Done
	case 0xff:
		v := r.indexBody(r.Byte(), r.index.neg)
		if v < 2 {
			r.fail(ExitProtocol, "index -%d in the coding of negative ones", v)
			return Done
		}
		r.index.neg = v
		return -v
	default:
		r.index.pos = r.indexBody(b, r.index.pos)
		return r.index.pos
	}
}

func (r *Reader) indexBody(b byte, last int32) int32 {
	v := int64(last) + int64(b)
	if b == 0xfe {
		high := r.Byte()
		if high&0x80 != 0 {
			p := r.take(3)
			return int32(high&0x7f)<<24 | int32(p[2])<<16 | int32(p[1])<<8 | int32(p[0])
		}
		v = int64(last) + int64(high)<<8 + int64(r.Byte())
	}
	if v > math.MaxInt32 {
		r.fail(ExitProtocol, "index %d is too large", v)
		return 0
	}
	return int32(v)
}

// Index writes a file index or one of the values above (§6).
func (w *Writer) Index(v int32) {
	switch {
	case w.Protocol < 30:
		w.Int(v)
	case v == Done:
		w.Byte(0)
	case v < 0:
		w.Byte(0xff)
		w.indexBody(-v, w.index.neg)
		w.index.neg = -v
	default:
		w.indexBody(v, w.index.pos)
		w.index.pos = v
	}
}

func (w *Writer) indexBody(v, last int32) {
	w.room(5)
	switch d := int64(v) - int64(last); {
	case 1 <= d && d <= 253:
		w.buf = append(w.buf, byte(d))
	case d == 0 || 254 <= d && d <= 0x7fff:
		w.buf = append(w.buf, 0xfe, byte(d>>8), byte(d))
	default:
		w.buf = append(w.buf, 0xfe, byte(v>>24)|0x80, byte(v), byte(v>>8), byte(v>>16))
	}
}
