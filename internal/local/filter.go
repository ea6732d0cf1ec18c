package local

import (
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/gohaul/haul/internal/dest"
	"github.com/gohaul/haul/internal/filter"
	"github.com/gohaul/haul/internal/sys"
)

// scopes are the filter rules in force in one directory.
type scopes struct {
	send *filter.Scope // what is copied
	keep *filter.Scope // what is not deleted; merge files are the twin's own
}

// maxMergeFile bounds a per-directory merge file, in bytes.
const maxMergeFile = 16 << 20

// scopeRoot sets the rules in force in the directory a user named.
func (w *worker) scopeRoot(n *node, src, dst string) (err error) {
	if w.Filter == nil {
		return nil
	}
	if n.scope.send, err = w.Filter.Root(filter.Sender, slashed(src)); err != nil {
		return err
	}
	if n.scope.keep, err = w.Filter.Root(filter.Receiver, slashed(dst)); err != nil {
		return err
	}
	return w.scopeEnter(n, n.scope)
}

// scopeEnter sets the rules in force in n, given those above it.
func (w *worker) scopeEnter(n *node, above scopes) (err error) {
	n.scope = above
	if above.send != nil {
		if n.scope.send, err = above.send.Enter(n.path, loader(n.src)); err != nil {
			return err
		}
	}
	if above.keep != nil && n.dst != nil && n.dst.Dir != nil {
		n.scope.keep, err = above.keep.Enter(n.path, loader(n.dst.Dir))
	}
	return err
}

func slashed(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	return filepath.ToSlash(abs)
}

// excluded reports whether the rules keep an entry of the source out.
func (n *node) excluded(name string, isDir bool) bool {
	return n.scope.send != nil && n.scope.send.Check(n.sub(name), isDir) == filter.Exclude
}

// protected reports whether the rules keep an entry of the twin from deletion.
func (n *node) protected(name string, isDir bool) bool {
	return n.scope.keep != nil && n.scope.keep.Check(n.sub(name), isDir) == filter.Exclude
}

// doomed is what the rules keep inside of a directory of the twin that is to go.
func (n *node) doomed() dest.Spare {
	if n.scope.keep == nil {
		return nil
	}
	return &doomed{n.scope.keep, n.path}
}

type doomed struct {
	scope *filter.Scope
	path  string
}

func (s *doomed) Keeps(name string, isDir bool) bool {
	if s.path != "" {
		name = s.path + "/" + name
	}
	return s.scope.CheckDoomed(name, isDir) == filter.Exclude
}

func (s *doomed) Enter(d *dest.Dir, name string) (dest.Spare, error) {
	if s.path != "" {
		name = s.path + "/" + name
	}
	scope, err := s.scope.Enter(name, loader(d.Dir))
	return &doomed{scope, name}, err
}

// loader reads merge files that stand in d, or anywhere if they are named by an
// absolute path. What is no regular file counts as not there: a FIFO would block.
func loader(d *sys.Dir) filter.Loader {
	return func(name string) ([]byte, error) {
		var f sys.File
		var err error
		if filepath.IsAbs(name) || strings.ContainsRune(name, '/') {
			if !filepath.IsAbs(name) {
				name = filepath.Join(d.Path(), name)
			}
			err = sys.OpenPath(&f, name, sys.ReadOnly|sys.NonBlock, 0)
		} else {
			err = d.OpenFollow(&f, name, sys.ReadOnly)
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		var st sys.Stat
		if err := f.Stat(&st); err != nil {
			return nil, err
		}
		if !st.IsRegular() {
			return nil, &fs.PathError{Op: "open", Path: f.Name(), Err: fs.ErrNotExist}
		}
		return io.ReadAll(io.LimitReader(&f, maxMergeFile))
	}
}

// ParseFilter makes a list of rules as rsync's --filter gives them.
func ParseFilter(rules []string) (*filter.List, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	l := filter.NewList(filter.Options{Load: func(name string) ([]byte, error) {
		var f sys.File
		if err := sys.OpenPath(&f, name, sys.ReadOnly, 0); err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(&f, maxMergeFile))
	}})
	return l, l.Filter(rules...)
}
