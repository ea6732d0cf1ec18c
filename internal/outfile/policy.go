// Package outfile is the one writer. Its caller says what bytes are (data to
// store, data the old file holds already, a hole, a range of another file); a
// policy says what to do about it (sparse or dense, in place or beside,
// durable or not); one ending (Commit or Abort) makes it final or undoes it.
package outfile

import (
	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
)

// Sparse says which zeros are stored.
type Sparse uint8

const (
	SparseAuto   Sparse = iota // holes of the source stay holes
	SparseAlways               // runs of zeros become holes too
	SparseNever                // every byte is stored: no clone, no offload, which bring holes along
)

// Place says where bytes go before they are final.
type Place uint8

const (
	Replace Place = iota // into a temporary file beside, renamed over the name by Commit
	InPlace              // into the file that stands there, inode, links and mode kept; made if there is none
	New                  // under the final name at once, which must not exist: for directories nobody knows yet
)

// Reflink says whether blocks may be shared with the source.
type Reflink uint8

const (
	ReflinkAuto   Reflink = iota // where the file system can and it pays
	ReflinkAlways                // or fail
	ReflinkNever                 // no clone and no offload, which may share
)

// Durability says what is safe from a power cut, and when.
type Durability uint8

const (
	NoSync    Durability = iota // when the kernel pleases, as with cp and rsync
	SyncBatch                   // everything, when the job returns, by two flushes a file system
	SyncEach                    // each file before the next step
)

// Here is what is done instead where whole file systems cannot be flushed.
func (d Durability) Here() Durability {
	if d == SyncBatch && !sys.CanSyncFS {
		return SyncEach
	}
	return d
}

// Policy says how a file is written. The zero Policy is the usual one. It may
// be shared by many files, also at the same time.
type Policy struct {
	Sparse      Sparse
	Place       Place
	Reflink     Reflink
	Durability  Durability
	Preallocate bool
	WriteSize   int // bytes a write call; 0 means 256 KiB

	Counters *report.Counters // nil: not counted
	Ways     *Ways            // what was learnt of pairs of devices; nil: nothing is remembered
	Batch    *Batch           // takes the renames of SyncBatch; required with it
	TempDir  *sys.Dir         // where temporary files go; nil: beside the file
}
