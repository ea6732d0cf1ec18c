package wire

// Longest blocks (§6.4).
const (
	MaxBlock   = 1 << 17
	MaxBlock29 = 1 << 29 // before protocol 30
)

// SumHead describes the block sums of a basis. All zero, it says that there is
// none, and the whole file is wanted.
type SumHead struct {
	Count     int32 // blocks
	BlockLen  int32 // bytes in each but the last
	StrongLen int32 // bytes kept of each strong sum
	Remainder int32 // bytes in the last block, 0 if it is full
}

// Size is the length of the basis.
func (h SumHead) Size() int64 {
	if h.Count == 0 {
		return 0
	}
	n := int64(h.Count) * int64(h.BlockLen)
	if h.Remainder != 0 {
		n -= int64(h.BlockLen - h.Remainder)
	}
	return n
}

// Block is where block i lies in the basis.
func (h SumHead) Block(i int32) (off int64, length int32) {
	if i == h.Count-1 && h.Remainder != 0 {
		return int64(i) * int64(h.BlockLen), h.Remainder
	}
	return int64(i) * int64(h.BlockLen), h.BlockLen
}

// SumHead reads a head. digestLen is the length of the strong sum agreed on.
// Count is bounded by nothing but its type: memory for the sums must grow as they come.
func (r *Reader) SumHead(digestLen int) (SumHead, error) {
	longest := int32(MaxBlock)
	if r.Protocol < 30 {
		longest = MaxBlock29
	}
	h := SumHead{Count: r.IntIn(0, 1<<31-1, "block count")}
	h.BlockLen = r.IntIn(0, longest, "block length")
	h.StrongLen = r.IntIn(0, int32(digestLen), "sum length")
	h.Remainder = r.IntIn(0, h.BlockLen, "remainder")
	if h.Count > 0 && h.BlockLen == 0 {
		r.fail(ExitProtocol, "%d blocks of no length", h.Count)
	}
	if r.err != nil {
		return SumHead{}, r.done("sum head")
	}
	return h, nil
}

// SumHead writes h.
func (w *Writer) SumHead(h SumHead) {
	w.Int(h.Count)
	w.Int(h.BlockLen)
	w.Int(h.StrongLen)
	w.Int(h.Remainder)
}

// BlockSum reads the sums of one block; strong is filled.
func (r *Reader) BlockSum(strong []byte) (rolling uint32) {
	rolling = uint32(r.Int())
	r.Full(strong)
	return rolling
}

// BlockSum writes the sums of one block.
func (w *Writer) BlockSum(rolling uint32, strong []byte) {
	w.Int(int32(rolling))
	w.Bytes(strong)
}

// Digest reads the checksum of a whole file, which follows its tokens.
func (r *Reader) Digest(sum []byte) error {
	r.Full(sum)
	return r.done("file checksum")
}
