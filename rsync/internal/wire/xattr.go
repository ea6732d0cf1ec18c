package wire

import (
	"strconv"
	"strings"
)

// Limits of extended attributes (§13).
const (
	maxXattrs     = 1 << 16
	maxXattrName  = 4096 // with its NUL
	MaxXattrValue = 128 << 20
	maxXattrTotal = 512 << 20

	// MaxInline is the longest value that travels in the file list; of a longer
	// one there is the MD5 sum, 16 bytes, until it is asked for.
	MaxInline = 32
	xattrSum  = 16
)

// Xattr is one extended attribute in a file list.
type Xattr struct {
	Name  string
	Size  int    // of the value
	Value []byte // the value, or its MD5 sum if Size is more than MaxInline
}

// Abbreviated tells whether Value is but the sum of the value.
func (x *Xattr) Abbreviated() bool { return x.Size > MaxInline }

// XattrTable holds the sets of attributes that a session has seen. Its literals
// are numbered; a repeated one is sent by number (§8.6).
type XattrTable struct{ table[[]Xattr] }

// At is the set at position i, as entries name it.
func (t *XattrTable) At(i int32) []Xattr { return t.list[i] }

// Add returns the position of a set equal to x, which it adds if there is none.
// Names are in byte order.
func (t *XattrTable) Add(x []Xattr) int32 {
	t.key = t.key[:0]
	for i := range x {
		t.key = strconv.AppendInt(append(append(t.key, x[i].Name...), 0), int64(x[i].Size), 36)
		t.key = append(append(t.key, ':'), x[i].Value...)
	}
	return t.place(x)
}

// put writes the number of set i or, the first time, the set itself.
func (t *XattrTable) put(w *Writer, i int32) {
	if t.putNumber(w, i) {
		return
	}
	set := t.list[i]
	w.Varint(int32(len(set)))
	for i := range set {
		x := &set[i]
		w.Varint(int32(len(x.Name) + 1))
		w.Varint(int32(x.Size))
		w.Name(x.Name)
		w.Bytes(x.Value)
	}
}

// read reads a block and returns its position.
func (t *XattrTable) read(r *Reader) int32 {
	i, literal := t.readNumber(r, "xattr set")
	if !literal || r.err != nil {
		return i
	}
	set := readXattrs(r)
	if r.err != nil {
		return 0
	}
	return t.append(set)
}

func readXattrs(r *Reader) []Xattr {
	count := r.Varint()
	if count < 0 || count > maxXattrs {
		r.fail(ExitProtocol, "%d extended attributes", count)
	}
	var set []Xattr
	total := 0
	for i := int32(0); i < count && r.err == nil; i++ {
		nameLen, size := r.Varint(), r.Varint()
		if nameLen < 0 || nameLen > maxXattrName || size < 0 || size > MaxXattrValue {
			r.fail(ExitProtocol, "extended attribute of %d and %d bytes", nameLen, size)
		}
		if total += int(size); total > maxXattrTotal {
			r.fail(ExitProtocol, "extended attributes of more than %d bytes", maxXattrTotal)
		}
		if r.err != nil {
			break
		}
		name := r.str(int(nameLen))
		if r.err == nil && !strings.HasSuffix(name, "\x00") {
			r.fail(ExitFile, "extended attribute %q has no end", name)
			break
		}
		kept := int(size)
		if size > MaxInline {
			kept = xattrSum
		}
		set = append(set, Xattr{strings.TrimSuffix(name, "\x00"), int(size), r.Blob(kept)})
	}
	return set
}

// WriteXattrWants asks for values: positions in the set, from 0 up (§6.3).
func (w *Writer) WriteXattrWants(positions []int) {
	last := 0
	for _, p := range positions {
		w.Varint(int32(p + 1 - last))
		last = p + 1
	}
	w.Varint(0)
}

// XattrWants reads which values of set are asked for. Only abbreviated ones may be.
func (r *Reader) XattrWants(set []Xattr) ([]int, error) {
	var wants []int
	pos := xattrCursor{set: set}
	for pos.next(r) {
		wants = append(wants, pos.at)
	}
	return wants, r.done("request for extended attributes")
}

// xattrCursor walks over positions told by their distances.
type xattrCursor struct {
	set  []Xattr
	last int64
	at   int
	n    int
}

// next reads one distance; false at the end, or after an error.
func (c *xattrCursor) next(r *Reader) bool {
	d := r.Varint()
	if d == 0 || r.err != nil {
		return false
	}
	c.last += int64(d)
	c.n++
	if c.last < 1 || c.last > int64(len(c.set)) || c.n > len(c.set) {
		r.fail(ExitProtocol, "extended attribute %d of %d asked for", c.last, len(c.set))
		return false
	}
	c.at = int(c.last - 1)
	if !c.set[c.at].Abbreviated() {
		r.fail(ExitProtocol, "extended attribute %q asked for, but it was whole", c.set[c.at].Name)
		return false
	}
	return true
}

// XattrValue is one value that was asked for.
type XattrValue struct {
	Position int // in the set, from 0
	Value    []byte
}

// WriteXattrValues answers a request; a value that can no longer be read is sent empty.
func (w *Writer) WriteXattrValues(values []XattrValue) {
	last := 0
	for _, v := range values {
		w.Varint(int32(v.Position + 1 - last))
		last = v.Position + 1
		w.Varint(int32(len(v.Value)))
		w.Bytes(v.Value)
	}
	w.Varint(0)
}

// XattrValues reads the answer to a request for values of set.
func (r *Reader) XattrValues(set []Xattr) ([]XattrValue, error) {
	var values []XattrValue
	pos := xattrCursor{set: set}
	total := 0
	for pos.next(r) {
		n := r.Varint()
		if n < 0 || n > MaxXattrValue || total+int(n) > maxXattrTotal {
			r.fail(ExitProtocol, "extended attribute of %d bytes", n)
			break
		}
		total += int(n)
		values = append(values, XattrValue{pos.at, r.Blob(int(n))})
	}
	return values, r.done("values of extended attributes")
}
