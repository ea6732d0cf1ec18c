// Package crash cuts the power and kills the process in the middle of work, and
// looks at what is left: every name of the old tree must hold its old or its new
// content whole, and all must be new once the call has returned.
//
// The disk after a power cut is a clone of the image beneath a mounted file
// system, taken at a random moment and mounted anew, so that its journal is
// replayed. What the page cache of the mounted file system had not written yet is
// not in the image, and so is lost, as it would be. Two disks are modelled: one
// without a cache, which keeps all that was written to it, and one with a cache,
// which keeps only what was written before its last flush. A disk that keeps some
// of what was not flushed and loses the rest is not modelled.
//
// Meanwhile another program syncs files of its own all the time. That writes the
// journal, with the renames in it, long before the data of files that nobody
// synced: without it a cut would find little but the old tree.
//
// TestNotices leaves out flushes and wants the damage to be seen. HAUL_CRASH
// multiplies the number of cuts.
package crash

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// Entry is what a crash may not tear: all of an entry but its times, and the time
// of last change for what must be the same to the end. Directories have no Mtime
// here: it changes with every name.
type Entry struct {
	Mode  fs.FileMode
	Size  int64
	Sum   [sha256.Size]byte // of the content, or of a symbolic link's target
	Mtime time.Time
}

func (e Entry) String() string {
	return fmt.Sprintf("%v %d bytes %x", e.Mode, e.Size, e.Sum[:4])
}

// whole compares without the time.
func (e Entry) whole(o Entry) bool {
	e.Mtime, o.Mtime = time.Time{}, time.Time{}
	return e == o
}

// State is a tree: its entries by their slash-separated names.
type State map[string]Entry

// Read reads the tree at root.
func Read(root string) (State, error) {
	s := State{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == root {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		e, err := read(name)
		s[filepath.ToSlash(rel)] = e
		return err
	})
	return s, err
}

func read(name string) (Entry, error) {
	st, err := os.Lstat(name)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Mode: st.Mode()}
	var content []byte
	switch st.Mode().Type() {
	case 0:
		e.Size, e.Mtime = st.Size(), st.ModTime()
		content, err = os.ReadFile(name)
	case fs.ModeSymlink:
		var to string
		to, err = os.Readlink(name)
		content = []byte(to)
	}
	e.Sum = sha256.Sum256(content)
	return e, err
}

// temp is the form of temporary names, which a cut may leave.
var temp = regexp.MustCompile(`^\..*\.[0-9a-z]{6}$`)

// Torn lists what is wrong with a tree on its way from old to new: a name that
// holds neither what it held nor what it shall hold, or a name that belongs to
// neither. What stands in a directory that old lacks is promised to nobody yet.
// sure names what must be new already; it may be nil.
func Torn(got, old, new State, sure func(name string) bool) []string {
	var wrong []string
	bad := func(name, format string, args ...any) {
		wrong = append(wrong, name+": "+fmt.Sprintf(format, args...))
	}
	names := map[string]bool{}
	for _, s := range []State{got, old, new} {
		for name := range s {
			names[name] = true
		}
	}
	for name := range names {
		g, there := got[name]
		o, was := old[name]
		n, will := new[name]
		switch {
		case there && will && g.whole(n), !there && !will:
		case sure != nil && sure(name):
			bad(name, "%s, not new: %v", presence(there), g)
		case there && was && g.whole(o), !there && !was:
		case there && !was && !will && temp.MatchString(path.Base(name)):
		case !was && isNew(name, old):
		case there && g.Mode.IsDir() && (was && o.Mode.IsDir() || will && n.Mode.IsDir()):
			// Its mode is widened while we write in it.
		default:
			bad(name, "%s, neither old nor new: %v", presence(there), g)
		}
	}
	slices.Sort(wrong)
	return wrong
}

// isNew reports whether a name stands in a directory that old lacks.
func isNew(name string, old State) bool {
	dir := path.Dir(name)
	_, was := old[dir]
	return dir != "." && !was
}

func presence(there bool) string {
	if there {
		return "there"
	}
	return "gone"
}

// Stale lists where a tree is not the new one to the last byte and nanosecond. A
// zero Mtime stands for any.
func Stale(got, new State) []string {
	var wrong []string
	for name, n := range new {
		if g, there := got[name]; !there || !g.whole(n) || !n.Mtime.IsZero() && !g.Mtime.Equal(n.Mtime) {
			wrong = append(wrong, fmt.Sprintf("%s: %s, not new: %v %v", name, presence(there), g, g.Mtime))
		}
	}
	for name, g := range got {
		if _, will := new[name]; !will {
			wrong = append(wrong, fmt.Sprintf("%s: left over: %v", name, g))
		}
	}
	slices.Sort(wrong)
	return wrong
}
