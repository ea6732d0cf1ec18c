package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gohaul/haul/internal/filter"
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/internal/tree"
)

// filters reads the --filter options of a reading command; nil if there are none.
func (s *session) filters() (*filter.List, error) {
	var rules []string
	for _, g := range s.args.Given {
		if g.is("filter") {
			rules = append(rules, g.Value)
		}
	}
	if len(rules) == 0 {
		return nil, nil
	}
	l := filter.NewList(filter.Options{Load: os.ReadFile})
	return l, l.Filter(rules...)
}

// skipper is a tree.Options.Skip that obeys filter rules, those in files of the
// tree too. It lives for one walk, whose order it relies on.
func skipper(l *filter.List, root string) (func(path string, m *meta.Meta) bool, error) {
	if l == nil {
		return nil, nil
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	top, err := l.Root(filter.Sender, filepath.ToSlash(abs))
	if err != nil {
		return nil, err
	}
	if top, err = top.Enter(".", mergeLoader(root)); err != nil {
		return nil, err
	}
	type level struct {
		dir   string
		scope *filter.Scope
	}
	levels := []level{{".", top}}
	return func(path string, m *meta.Meta) bool {
		for len(levels) > 1 && !tree.Beneath(path, levels[len(levels)-1].dir) {
			levels = levels[:len(levels)-1]
		}
		here := levels[len(levels)-1].scope
		if here.Check(path, m.IsDir()) == filter.Exclude {
			return true
		}
		if m.IsDir() {
			// Rules that cannot be read leave those above in force.
			if in, err := here.Enter(path, mergeLoader(filepath.Join(root, path))); err == nil {
				levels = append(levels, level{path, in})
			}
		}
		return false
	}, nil
}

// mergeLoader reads the rule files of one directory. What is no regular file
// counts as not there.
func mergeLoader(dir string) filter.Loader {
	return func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		st, err := os.Stat(name)
		if err == nil && !st.Mode().IsRegular() {
			err = fs.ErrNotExist
		}
		if err != nil {
			return nil, err
		}
		return os.ReadFile(name)
	}
}

// shown is the path of a tree's entry as the user would write it.
func shown(root, path string) string {
	if path == "." {
		return root
	}
	return join(root, path)
}

// statNamed describes what the user named, and not what a link leads to unless
// its name ends in a slash. dir is set if that is a directory.
func statNamed(path string, m *meta.Meta) (dir *sys.Dir, err error) {
	parent, name := filepath.Split(strip(path))
	if strings.HasSuffix(path, "/") || name == "" || name == "." || name == ".." {
		return openTop(path, m)
	}
	if parent == "" {
		parent = "."
	}
	in, err := sys.OpenRoot(parent)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: bare(err)}
	}
	defer in.Close()
	if err := in.Lstat(name, &m.Stat); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: bare(err)}
	}
	if m.IsDir() {
		return openTop(path, m)
	}
	return nil, nil
}

func openTop(path string, m *meta.Meta) (*sys.Dir, error) {
	d, err := sys.OpenRoot(path)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: path, Err: bare(err)}
	}
	return d, d.With(func(f *sys.File) error { return f.Stat(&m.Stat) })
}

// bare takes the operation and the path off an error that gets others.
func bare(err error) error {
	if p, ok := err.(*fs.PathError); ok {
		return p.Err
	}
	return err
}
