package delta

import (
	"errors"

	"github.com/gohaul/haul/rsync/internal/checksum"
)

// Signer computes signatures. It belongs to one goroutine and allocates nothing
// per file.
type Signer struct {
	Strong *checksum.Block

	sum  [checksum.MaxBlockLen]byte
	zero [checksum.MaxBlockLen]byte // of a block of zeros
}

// Sign gives the sums of the blocks of a basis, in order. The strong sum is
// valid until emit returns. A hole costs one sum.
func (s *Signer) Sign(in Input, h Head, emit func(weak uint32, strong []byte) error) error {
	sparse, _ := in.(Sparse)
	if h.BlockLen > len(zeros) {
		sparse = nil
	}
	known := false // zero is computed
	data := int64(0)
	for i := range h.Count {
		off, n := h.Offset(i), h.Len(i)
		if sparse != nil && data <= off {
			var err error
			if data, err = sparse.Data(off); err != nil {
				return err
			}
		}
		if n == h.BlockLen && data >= off+int64(n) {
			if !known {
				s.Strong.Sum(&s.zero, zeros[:n])
				known = true
			}
			if err := emit(0, s.zero[:h.StrongLen]); err != nil {
				return err
			}
			continue
		}
		w, err := window(in, off, n)
		if err != nil {
			return err
		}
		s.Strong.Sum(&s.sum, w)
		if err := emit(checksum.Weak(w), s.sum[:h.StrongLen]); err != nil {
			return err
		}
	}
	return nil
}

// Signature is the sums of a basis, and finds its blocks in other files. The
// zero Signature is ready for Reset, and keeps its memory for the next file. It
// belongs to one goroutine.
type Signature struct {
	Head
	Strong *checksum.Block // computes what the sums were computed by

	// InPlace says that the receiver writes into the basis: a block may then not
	// be used once it has been written over.
	InPlace bool

	// MapSize is how many bytes of the input are looked at in a window, besides
	// one block; 0 means 256 KiB.
	MapSize int

	weak    []uint32
	strong  []byte // StrongLen bytes of each block
	index   index
	indexed bool
	same    []uint64 // a bit for each block that was matched where it stands
	run     matcher
}

// firstGrow is for how many blocks memory is taken on a peer's word.
const firstGrow = 64 << 10

var errCount = errors.New("block sums are not as many as announced")

// Reset begins the signature of another basis; the sums come by Add.
func (g *Signature) Reset(h Head) error {
	g.Head = Head{}
	g.weak, g.strong, g.indexed = g.weak[:0], g.strong[:0], false
	if err := h.Check(); err != nil {
		return err
	}
	g.Head = h
	if n := min(h.Count, firstGrow); cap(g.weak) < n {
		g.weak = make([]uint32, 0, n)
		g.strong = make([]byte, 0, n*h.StrongLen)
	}
	return nil
}

// Add appends the sums of the next block. Of the strong sum StrongLen bytes are
// taken, which must be there.
func (g *Signature) Add(weak uint32, strong []byte) {
	g.weak = append(g.weak, weak)
	g.strong = append(g.strong, strong[:g.StrongLen]...)
	g.indexed = false
}
