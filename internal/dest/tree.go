// Package dest changes a destination tree: it makes, writes, links, touches,
// prunes and leaves, and is the only room that does. Every change is made
// beneath an open directory and never through a symbolic link that stands in
// the destination. A dry run is a field of Tree: everything is decided and
// reported, nothing is done.
package dest

import (
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/outfile"
	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
)

// Options say how the tree is changed.
type Options struct {
	Write    outfile.Policy // its Place is chosen a file: see Dir.Place
	Meta     meta.Policy    // what of the source's metadata is set
	InPlace  bool           // existing files are changed where they stand
	Remove   bool           // an existing file is removed before its copy is made
	Force    bool           // an existing file that cannot be opened is removed (in place only)
	Fresh    bool           // without Mode in Meta, new entries get the mode any program would give them, not the source's
	DirLinks bool           // a symbolic link to a directory is taken for the directory
	Through  bool           // a file that has several names is written in place, so that all keep it
	Split    bool           // where hard links are preserved, such a file is replaced even in place
	Backup   BackupKind
	Suffix   string // of simple backups
	DryRun   bool
	Counters *report.Counters // never nil
}

// Tree is a destination. It may be used by many goroutines.
type Tree struct {
	Options
	standing *outfile.Batch // under SyncEach: where entries were found right
	uid, gid uint32         // whom new files belong to
	umask    uint32
}

// New prepares a destination.
func New(o Options) (*Tree, error) {
	t := &Tree{Options: o}
	t.uid, t.gid = sys.Owner()
	var err error
	if t.umask, err = sys.Umask(); err != nil {
		return nil, err
	}
	t.Write.Counters = o.Counters
	t.Write.Ways = new(outfile.Ways)
	t.Write.Durability = o.Write.Durability.Here()
	if t.Write.Durability == outfile.SyncBatch && !o.DryRun {
		t.Write.Batch = outfile.NewBatch(batchLimit)
	}
	if t.Write.Durability == outfile.SyncEach && sys.CanSyncFS && !o.DryRun {
		t.standing = outfile.NewBatch(0)
	}
	return t, nil
}

// batchLimit is how many finished files may wait for their rename under
// SyncBatch: each holds a name and a reference to its directory, no descriptor.
const batchLimit = 65536

// Flush makes the names of all files that wait for it final.
func (t *Tree) Flush() error {
	if t.Write.Batch == nil {
		return nil
	}
	return t.Write.Batch.Flush()
}

// Close ends the work on the tree: under SyncBatch and SyncEach everything is
// durable when it returns, what was found right included.
func (t *Tree) Close() error {
	if b := t.volumes(); b != nil {
		return b.Close()
	}
	return nil
}

// Discard gives up, with cause, all files that wait for their names.
func (t *Tree) Discard(cause error) {
	if b := t.volumes(); b != nil {
		b.Discard(cause)
	}
}

// Dir is a directory of the destination.
type Dir struct {
	*sys.Dir // nil in a dry run whose directory does not exist
	tree     *Tree
	path     string // of a directory that exists only in a dry run
	made     bool   // by this run: nobody else knows what is in it
	acl      bool   // new entries inherit ACLs
	group    uint32 // of new entries
	dev      uint64
	have     meta.Have
	was      sys.Stat    // as it stood there before this run
	lent     bool        // its mode was widened so that we may write in it
	noted    atomic.Bool // its file system will be flushed

	numbering sync.Mutex
	backups   map[string]int // names with numbered backups, and the highest; nil: not read yet
}

// Open opens a directory that exists, by the path the user gave: a symbolic
// link at its end is followed, as the user named it himself.
func (t *Tree) Open(path string) (*Dir, error) {
	d, err := sys.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return t.adopt(d, false)
}

// Absent is a directory that only a dry run pretends to have made.
func (t *Tree) absent(path string) *Dir {
	return &Dir{tree: t, path: path, made: true, group: t.gid}
}

// adopt learns what decides about new entries of a directory.
func (t *Tree) adopt(d *sys.Dir, made bool) (*Dir, error) {
	n := &Dir{Dir: d, tree: t, made: made}
	err := d.With(func(f *sys.File) error {
		var st sys.Stat
		if err := f.Stat(&st); err != nil {
			return err
		}
		n.was = st
		n.have = meta.Have{UID: st.UID, GID: st.GID, Mode: st.Mode, Xattrs: !made}
		n.group, n.dev = t.gid, st.Dev
		if st.Mode&sys.ModeSetGID != 0 {
			n.group = st.GID
		}
		size, err := f.GetXattr(meta.DefaultACL, nil)
		n.acl = err == nil && size > 0
		return nil
	})
	if err != nil {
		d.Close()
		return nil, err
	}
	return n, nil
}

// Path is the directory's path, for messages.
func (d *Dir) Path() string {
	if d.Dir == nil {
		return d.path
	}
	return d.Dir.Path()
}

// Join is the path of an entry, for messages.
func (d *Dir) Join(name string) string {
	if d.Dir == nil {
		return filepath.Join(d.path, name)
	}
	return d.Dir.Join(name)
}

// Dev is the device the directory is on.
func (d *Dir) Dev() uint64 { return d.dev }

// Made reports whether this run made the directory.
func (d *Dir) Made() bool { return d.made }

// Close gives the directory up.
func (d *Dir) Close() error {
	if d.Dir == nil {
		return nil
	}
	return d.Dir.Close()
}

// Retain keeps the directory usable for one more Close.
func (d *Dir) Retain() *Dir {
	if d.Dir != nil {
		d.Dir.Retain()
	}
	return d
}

// Look describes what stands at a name and reports whether anything does. In a
// directory that this run made it asks nobody.
func (d *Dir) Look(name string, st *sys.Stat) (bool, error) {
	if d.made {
		return false, nil
	}
	err := d.Lstat(name, st)
	if sys.IsNotExist(err) {
		return false, nil
	}
	return err == nil, err
}
