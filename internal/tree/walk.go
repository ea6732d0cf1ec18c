// Package tree is the one walker: directories in batches for the copying
// engine, whole trees in order for those who read, two trees in step for those
// who compare.
package tree

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/sys"
)

// BatchSize is the buffer that a batch of entries is read into, in bytes: large
// enough that sorting by inode saves a slow disk its seeks.
const BatchSize = 64 << 10

// ReadBatch appends the next entries of a directory to list, ordered by inode,
// which is close to the order on disk; it appends none only at the end. The
// names live in buf.
func ReadBatch(d *sys.Dir, buf []byte, list []sys.Dirent) ([]sys.Dirent, error) {
	list, err := d.Read(buf, list)
	slices.SortFunc(list, func(a, b sys.Dirent) int { return cmp.Compare(a.Ino, b.Ino) })
	return list, err
}

// Options tune a walk.
type Options struct {
	Want          meta.Mask                            // what is read of each entry besides its stat
	OneFileSystem bool                                 // mount points are yielded but not entered
	Follow        bool                                 // symbolic links are taken for what they lead to
	Skip          func(path string, m *meta.Meta) bool // leaves an entry out, and all beneath it
}

// Entry is one entry of a tree. Path is relative to the root, which is "."
// itself; Dir and Name are what to open it with, valid until the next entry.
type Entry struct {
	Path string
	Dir  *sys.Dir // the directory it stands in; for the root the root itself
	Name string   // in Dir; "." for the root
	Meta meta.Meta
}

// Walk yields the root and all beneath it, parents first, each directory's
// entries ordered by name. What cannot be read is yielded with an error, after
// which the walk goes on unless the caller stops it; a directory that cannot be
// listed comes twice, the second time with the error. What vanishes meanwhile is
// left out. Of a loop of followed links the first turn is yielded, not entered.
func Walk(ctx context.Context, root *sys.Dir, o Options) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		w := walker{ctx: ctx, o: o, yield: yield, buf: make([]byte, BatchSize)}
		e := Entry{Path: ".", Dir: root, Name: "."}
		err := root.With(func(f *sys.File) error {
			if err := f.Stat(&e.Meta.Stat); err != nil {
				return err
			}
			return w.reader.Fill(meta.Object{File: f}, o.Want, &e.Meta)
		})
		if err == nil {
			err = root.Rewind() // somebody may have listed it before
		}
		w.dev = e.Meta.Dev
		if yield(e, err) && err == nil {
			w.dir(root, "", []sys.Stat{e.Meta.Stat})
		}
	}
}

type walker struct {
	ctx    context.Context
	o      Options
	yield  func(Entry, error) bool
	buf    []byte
	dev    uint64
	reader meta.Reader
}

// dir yields what is beneath one directory and reports whether to go on. The
// trail of directories above it is kept only to find loops of followed links.
func (w *walker) dir(d *sys.Dir, prefix string, trail []sys.Stat) bool {
	names, err := w.names(d)
	if err != nil && !w.yield(Entry{Path: cmp.Or(strings.TrimSuffix(prefix, "/"), "."), Dir: d, Name: "."}, err) {
		return false
	}
	for _, name := range names {
		if err := w.ctx.Err(); err != nil {
			w.yield(Entry{Path: prefix + name, Dir: d, Name: name}, err)
			return false
		}
		if !w.entry(Entry{Path: prefix + name, Dir: d, Name: name}, trail) {
			return false
		}
	}
	return true
}

func (w *walker) entry(e Entry, trail []sys.Stat) bool {
	err := w.read(&e)
	if sys.IsNotExist(err) {
		return true // it vanished between listing and looking
	}
	if err != nil {
		return w.yield(e, err)
	}
	if w.o.Skip != nil && w.o.Skip(e.Path, &e.Meta) {
		return true
	}
	if !w.yield(e, nil) {
		return false
	}
	if !e.Meta.IsDir() || w.o.OneFileSystem && e.Meta.Dev != w.dev {
		return true
	}
	if w.o.Follow && slices.ContainsFunc(trail, func(s sys.Stat) bool { return s.Same(&e.Meta.Stat) }) {
		return true
	}
	open := e.Dir.OpenDir
	if w.o.Follow {
		open = e.Dir.OpenDirFollow
		trail = append(trail, e.Meta.Stat)
	}
	sub, err := open(e.Name)
	if sys.IsNotExist(err) {
		return true
	}
	if err != nil {
		return w.yield(e, err)
	}
	defer sub.Close()
	return w.dir(sub, e.Path+"/", trail)
}

func (w *walker) read(e *Entry) error {
	if err := e.Dir.Lstat(e.Name, &e.Meta.Stat); err != nil {
		return err
	}
	var to sys.Stat
	if w.o.Follow && e.Meta.IsSymlink() && e.Dir.Stat(e.Name, &to) == nil {
		e.Meta.Stat = to
		return w.followed(e)
	}
	return w.reader.Fill(meta.Object{Dir: e.Dir, Name: e.Name}, w.o.Want, &e.Meta)
}

// followed reads the attributes of what a symbolic link leads to. What is
// neither a file nor a directory has none that can be read without opening it.
func (w *walker) followed(e *Entry) error {
	if w.o.Want&(meta.Xattrs|meta.ACL) == 0 || !e.Meta.IsDir() && !e.Meta.IsRegular() {
		return nil
	}
	var f sys.File
	if err := e.Dir.OpenFollow(&f, e.Name, sys.ReadOnly); err != nil {
		return err
	}
	defer f.Close()
	return w.reader.Fill(meta.Object{File: &f}, w.o.Want, &e.Meta)
}

// names lists a directory in order. The names share one string, so that a
// directory of a million entries costs a few allocations.
func (w *walker) names(d *sys.Dir) ([]string, error) {
	var all strings.Builder
	var lengths []int
	var list []sys.Dirent
	var err error
	for {
		list, err = d.Read(w.buf, list[:0])
		if err != nil || len(list) == 0 {
			break
		}
		for _, e := range list {
			all.WriteString(e.Name)
			lengths = append(lengths, len(e.Name))
		}
	}
	names := make([]string, len(lengths))
	rest := all.String()
	for i, n := range lengths {
		names[i], rest = rest[:n], rest[n:]
	}
	slices.Sort(names)
	return names, err
}
