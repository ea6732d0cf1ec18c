package sys

// Segment is a part of a file that lies in one piece on its device, or that the
// file system keeps in one way. Offsets and lengths are bytes.
type Segment struct {
	Off, Len int64
	Physical int64 // where on the device; meaningless if Flags say so
	Flags    SegmentFlags
}

// SegmentFlags say how a segment is kept. The bits are FIEMAP's.
type SegmentFlags uint32

// The flags. Delayed and unknown segments have no place yet; those that are
// encoded, inline or packed have none of their own.
const (
	SegmentLast      SegmentFlags = 0x0001
	SegmentUnknown   SegmentFlags = 0x0002
	SegmentDelayed   SegmentFlags = 0x0004
	SegmentEncoded   SegmentFlags = 0x0008 // compressed, mostly
	SegmentEncrypted SegmentFlags = 0x0080
	SegmentInline    SegmentFlags = 0x0200 // among the metadata
	SegmentTail      SegmentFlags = 0x0400 // packed with tails of other files
	SegmentUnwritten SegmentFlags = 0x0800 // reserved; reads as zeros
	SegmentShared    SegmentFlags = 0x2000 // also part of another file, or of this one elsewhere
)
