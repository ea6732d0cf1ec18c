// Package report is how the engines tell what they do: counters to poll while
// they run, and items told one by one. It prints nothing.
package report

import (
	"sync"
	"sync/atomic"
)

// Counters grow while a job runs and may be read at any time. Bytes are bytes
// of content unless said otherwise.
type Counters struct {
	// What was found so far. They stop growing when Scanned is set.
	FoundFiles, FoundBytes atomic.Int64
	Scanned                atomic.Bool

	// What was done, in entries.
	Files    atomic.Int64 // regular files whose content was written or shared
	Dirs     atomic.Int64 // directories made
	Links    atomic.Int64 // hard links made
	Symlinks atomic.Int64 // symbolic links made
	Specials atomic.Int64 // FIFOs, sockets and devices made
	Touched  atomic.Int64 // entries whose metadata alone was changed
	Skipped  atomic.Int64 // entries left alone: alike already, or told to
	Deleted  atomic.Int64 // entries removed
	Failed   atomic.Int64 // entries that ended in an error

	// What became of the bytes. Bytes is their sum, counted as they are handled,
	// and grows up to FoundBytes.
	Bytes     atomic.Int64
	Cloned    atomic.Int64 // shared with the source by the file system
	Offloaded atomic.Int64 // copied inside the kernel
	Copied    atomic.Int64 // read and written
	Holes     atomic.Int64 // neither stored nor read: holes
	Kept      atomic.Int64 // in place already, not written again

	// The calls made for them.
	Writes  atomic.Int64 // write calls
	Written atomic.Int64 // bytes given to write calls
	Punches atomic.Int64 // calls that freed blocks
	Cuts    atomic.Int64 // calls that set a file's size

	fallbacks sync.Map // string -> *atomic.Int64
}

// Fallback counts a way of copying that was given up, and why: "ficlone EXDEV".
func (c *Counters) Fallback(why string) {
	n, found := c.fallbacks.Load(why)
	if !found {
		n, _ = c.fallbacks.LoadOrStore(why, new(atomic.Int64))
	}
	n.(*atomic.Int64).Add(1)
}

// EachFallback calls f with every reason given to Fallback and how often.
func (c *Counters) EachFallback(f func(why string, n int64)) {
	c.fallbacks.Range(func(k, v any) bool {
		f(k.(string), v.(*atomic.Int64).Load())
		return true
	})
}

// Action is what became of an entry.
type Action uint8

// The actions.
const (
	Skipped  Action = iota // left alone
	Made                   // was not there before
	Replaced               // something stood there and gave way
	Updated                // the same file, its content changed in place
	Touched                // metadata alone changed
	Linked                 // became one more name of a file copied before
	Deleted                // removed: the source lacks it
	Failed                 // see Item.Err
	Noted                  // a remark, not a failure: see Item.Err
)

var actionNames = [...]string{"skipped", "made", "replaced", "updated", "touched", "linked", "deleted", "failed", "noted"}

func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return "unknown"
}

// Item tells what became of one entry of a job.
type Item struct {
	Action Action
	Source string // as the user would write it; empty for a deletion
	Target string // as the user would write it
	Mode   uint32 // Unix type and permission bits
	Size   int64  // bytes of content
	Backup string // where what stood there was moved to, if it was
	Err    error  // for Failed and Noted
}
