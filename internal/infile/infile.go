// Package infile is the one reader: a file as extents of data and holes, and as
// windows of bytes.
package infile

// Extent is a range of a file. A hole reads as zeros and takes no space.
type Extent struct {
	Off, Len int64
	Hole     bool
}
