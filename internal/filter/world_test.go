package filter

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// A world is a directory in memory: base holds src, the root of the transfer,
// and what merge files lie around it. Names that end in "/" are directories.
type world struct {
	base  string
	files fstest.MapFS
}

func newWorld(base string, names map[string]string) *world {
	w := &world{base: base, files: fstest.MapFS{"src": {Mode: fs.ModeDir}}}
	for name, content := range names {
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			w.files[dir] = &fstest.MapFile{Mode: fs.ModeDir}
		} else {
			w.files[name] = &fstest.MapFile{Data: []byte(content)}
		}
	}
	return w
}

// loader loads as a walk of src does that stands in dir.
func (w *world) loader(dir string) Loader {
	return func(name string) ([]byte, error) {
		if path.IsAbs(name) {
			rest, ok := strings.CutPrefix(name, w.base+"/")
			if !ok {
				return nil, fs.ErrNotExist
			}
			name = rest
		} else {
			name = path.Join("src", dir, name)
		}
		if st, err := fs.Stat(w.files, name); err != nil || st.IsDir() {
			return nil, fs.ErrNotExist
		}
		return fs.ReadFile(w.files, name)
	}
}

// root builds a scope from --filter values; their merge files are in base.
func (w *world) root(side Side, rules ...string) (*Scope, error) {
	l := NewList(Options{Load: func(name string) ([]byte, error) { return fs.ReadFile(w.files, name) }})
	if err := l.Filter(rules...); err != nil {
		return nil, err
	}
	return l.Root(side, w.base+"/src")
}

// shown gives what a transfer of src lists beneath dir, directories with a "/".
func (w *world) shown(s *Scope, dir string) (list []string, err error) {
	s, err = s.Enter(dir, w.loader(dir))
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(w.files, path.Join("src", dir))
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if s.Check(name, e.IsDir()) == Exclude {
			continue
		}
		if !e.IsDir() {
			list = append(list, name)
			continue
		}
		sub, err := w.shown(s, name)
		if err != nil {
			return nil, err
		}
		list = append(append(list, name+"/"), sub...)
	}
	return list, err
}

// deleted gives the files of src that go if the sender has nothing.
func (w *world) deleted(s *Scope, dir string, doomed bool) (list []string, err error) {
	s, err = s.Enter(dir, w.loader(dir))
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(w.files, path.Join("src", dir))
	for _, e := range entries {
		name, check := path.Join(dir, e.Name()), s.Check
		if doomed {
			check = s.CheckDoomed
		}
		if check(name, e.IsDir()) == Exclude {
			continue
		}
		if !e.IsDir() {
			list = append(list, name)
			continue
		}
		sub, err := w.deleted(s, name, true)
		if err != nil {
			return nil, err
		}
		list = append(list, sub...)
	}
	return list, err
}

// A treeCase says what rules make of a tree. It is checked against this
// package alone, and against rsync, which must agree on it.
type treeCase struct {
	rules []string
	hides string // names that the sender does not list, in order; their contents not named
	keeps string // files that survive a deletion of everything; "" is not checked
	files map[string]string
}

// names that every treeCase has beneath src, as files or, with "/", directories.
var commonTree = strings.Fields("a b c a.o foo x/ d/a d/b d/c d/a.o d/e/a d/e/b d/e/c d/e/f/a d/e/f/b foo2/foo/bar foo2/foo/baz/bar k/a k/b sub/foo/x CVS/x core")

func (c treeCase) tree() map[string]string {
	names := map[string]string{"empty/": ""}
	for _, n := range commonTree {
		names["src/"+n] = ""
	}
	for n, content := range c.files {
		names[n] = content
	}
	return names
}

func (w *world) all() []string {
	list, _ := w.shown(nil, "")
	return list
}

func TestTrees(t *testing.T) {
	for _, c := range treeCases {
		w := newWorld("/p/q", c.tree())
		s, err := w.root(Sender, c.rules...)
		if err != nil {
			t.Errorf("%q: %v", c.rules, err)
			continue
		}
		shown, err := w.shown(s, "")
		if err != nil {
			t.Errorf("%q: %v", c.rules, err)
			continue
		}
		if got := strings.Join(topmost(missing(w.all(), shown)), " "); got != c.hides {
			t.Errorf("%q %q hide\n %s; want\n %s", c.rules, c.files, got, c.hides)
		}
		if c.keeps == "" {
			continue
		}
		s, err = w.root(Receiver, c.rules...)
		if err != nil {
			t.Fatal(err)
		}
		gone, err := w.deleted(s, "", false)
		if err != nil {
			t.Fatal(err)
		}
		kept := slices.DeleteFunc(missing(w.all(), gone), func(n string) bool { return strings.HasSuffix(n, "/") })
		if got := strings.Join(kept, " "); got != strings.Trim(c.keeps, "-") {
			t.Errorf("%q %q keep\n %s; want\n %s", c.rules, c.files, got, c.keeps)
		}
	}
}

func missing(all, part []string) []string {
	var out []string
	for _, name := range all {
		if !slices.Contains(part, name) {
			out = append(out, name)
		}
	}
	return out
}

// topmost drops what is beneath a directory of the list.
func topmost(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(n string) bool {
		return slices.ContainsFunc(list, func(d string) bool { return n != d && strings.HasSuffix(d, "/") && strings.HasPrefix(n, d) })
	})
}
