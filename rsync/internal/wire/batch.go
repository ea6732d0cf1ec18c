package wire

// BatchHead is what stands in a batch file before the recorded stream (§12).
type BatchHead struct {
	Options  uint32 // options that shape the stream, one bit each
	Protocol int
	Features Features // from 30 on
	Seed     int32
}

// Bits of BatchHead.Options.
const (
	BatchRecurse uint32 = 1 << iota
	BatchOwner
	BatchGroup
	BatchLinks
	BatchDevices
	BatchHardLinks
	BatchChecksum
	BatchDirs
	BatchCompress
	BatchIconv
	BatchACLs
	BatchXattrs
	BatchInplace
	BatchAppend
	BatchAppendVerify
)

// BatchHead reads the head, and makes the reader speak its protocol.
func (r *Reader) BatchHead() (BatchHead, error) {
	h := BatchHead{Options: uint32(r.Int()), Protocol: int(r.IntIn(20, 40, "protocol of the batch"))}
	if h.Protocol >= 30 {
		h.Features = r.Features()
	}
	h.Seed = r.Int()
	r.Protocol = h.Protocol
	return h, r.done("head of the batch")
}

// BatchHead writes the head, and makes the writer speak its protocol.
func (w *Writer) BatchHead(h BatchHead) {
	w.Int(int32(h.Options))
	w.Int(int32(h.Protocol))
	if h.Protocol >= 30 {
		w.Features(h.Features)
	}
	w.Int(h.Seed)
	w.Protocol = h.Protocol
}
