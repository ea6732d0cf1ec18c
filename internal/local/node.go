package local

import (
	"sync/atomic"

	"github.com/gohaul/haul/internal/dest"
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/sys"
)

// node is a source directory and its twin while anything beneath may change.
type node struct {
	parent  *node // nil for the directory a source was named in
	name    string
	src     *sys.Dir
	dst     *dest.Dir
	meta    meta.Meta // the source directory's
	existed bool      // the twin stood there before
	scope   scopes
	path    string // beneath the filter's root; kept only where filters need it
	named   bool   // its entries are sources that the user named
	dev     uint64 // of the source that was named, for OneFileSystem

	open atomic.Int64 // listings, batches, subdirectories, links and renames not yet done
	bad  atomic.Bool  // something could not be listed: delete nothing here
}

func (n *node) hold() { n.open.Add(1) }

// follows reports whether a directory is one of those above n: a loop of
// symbolic links that are followed.
func (n *node) follows(st *sys.Stat) bool {
	for at := n; at != nil; at = at.parent {
		if at.meta.IsDir() && same(&at.meta.Stat, st) {
			return true
		}
	}
	return false
}

// sub is the filter path of an entry.
func (n *node) sub(name string) string {
	if n.path == "" {
		return name
	}
	return n.path + "/" + name
}
