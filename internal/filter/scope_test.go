package filter

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
)

func mustRoot(t testing.TB, side Side, abs string, rules ...string) *Scope {
	t.Helper()
	l := NewList(Options{})
	if err := l.Filter(rules...); err != nil {
		t.Fatal(err)
	}
	s, err := l.Root(side, abs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustEnter(t testing.TB, s *Scope, dir string, load Loader) *Scope {
	t.Helper()
	s, err := s.Enter(dir, load)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNoRules(t *testing.T) {
	var l *List
	none, err := l.Root(Sender, "/x")
	if none != nil || err != nil {
		t.Error(none, err)
	}
	if s := mustRoot(t, Sender, "/x"); s != nil {
		t.Error("an empty list makes a scope")
	}
	if s := mustRoot(t, Sender, "/x", "P a", "-r b", ":r c", "- a", "!", "R c"); s != nil {
		t.Error("rules for the other side make a scope")
	}
	s, err := none.Enter("d", nil)
	if s != nil || err != nil || s.Check("a", false) != None || s.CheckDoomed("a", true) != None || s.Xattr("user.a") != None || s.HasXattr() {
		t.Error("a nil scope has rules")
	}
}

func TestVerdicts(t *testing.T) {
	s := mustRoot(t, Sender, "", "+ a", "- b", "P c", "+ d/", "- d")
	for name, want := range map[string]Verdict{"a": Include, "x/a": Include, "b": Exclude, "c": None, "d": Exclude, "ab": None} {
		if got := s.Check(name, false); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	if s.Check("d", true) != Include {
		t.Error("a directory is taken for a file")
	}
}

// Enter must not make anything where nothing changes, nor change what others use.
func TestEnterShares(t *testing.T) {
	s := mustRoot(t, Sender, "/x", "- a")
	if mustEnter(t, s, "d", nil) != s {
		t.Error("a scope without merges is copied")
	}
	none := files(nil)
	s = mustRoot(t, Sender, "/x", ": .r", ":n .q", "- z")
	if mustEnter(t, s, "d", none) != s {
		t.Error("a scope is copied though nothing is found")
	}
	in := mustEnter(t, s, "d", files(map[string]string{".r": "- a", ".q": "- b"}))
	for i, c := range []struct {
		s    *Scope
		a, b Verdict
	}{{s, None, None}, {in, Exclude, Exclude}, {mustEnter(t, in, "d/e", none), Exclude, None}, {mustEnter(t, s, "e", none), None, None}, {in, Exclude, Exclude}} {
		if a, b := c.s.Check("d/a", false), c.s.Check("d/b", false); a != c.a || b != c.b || c.s.Check("d/z", false) != Exclude {
			t.Errorf("%d: %d, %d; want %d, %d", i, a, b, c.a, c.b)
		}
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			load := files(map[string]string{".r": ": .m\n+ a", ".m": "- q\n"})
			for range 100 {
				sub, err := in.Enter("d/e", load)
				if err != nil || sub.Check("d/e/a", false) != Include || sub.Check("d/e/q", false) != Exclude || in.Check("d/a", false) != Exclude {
					t.Errorf("%v: scopes disturb each other", err)
				}
			}
		})
	}
	wg.Wait()
}

// A nested dir-merge rule that is cleared away makes room for a new one.
func TestNestedMergeAgain(t *testing.T) {
	s := mustRoot(t, Sender, "/x", ": .r")
	s = mustEnter(t, s, "", files(map[string]string{".r": ": .m", ".m": "- a\n: .deep", ".deep": "- c"}))
	s = mustEnter(t, s, "d", files(map[string]string{".r": "!\n: .m", ".m": "- b"}))
	if a, b, c := s.Check("d/a", false), s.Check("d/b", false), s.Check("d/c", false); a != None || b != Exclude || c != None {
		t.Error(a, b, c)
	}
	s = mustEnter(t, s, "d/e", files(map[string]string{".r": ": .m\n: .m", ".m": "- a"}))
	if a, b := s.Check("d/e/a", false), s.Check("d/e/b", false); a != Exclude || b != Exclude {
		t.Error(a, b)
	}
}

func TestEnterErrors(t *testing.T) {
	s := mustRoot(t, Sender, "/x", ": .r", ":e sub/.q")
	boom := errors.New("boom")
	if _, err := s.Enter("d", func(string) ([]byte, error) { return nil, boom }); !errors.Is(err, boom) {
		t.Error(err)
	}
	for data, want := range map[string]string{
		"- a\nsecret": "filter file .r, line 2: unknown rule",
		". gone":      "filter file .r, line 1: merge file: file does not exist",
		". .r":        "nested more than 32 deep",
		"-/ ":         "no pattern",
	} {
		load := func(name string) ([]byte, error) {
			if name == ".r" || name == "/x/.r" {
				return []byte(data), nil
			}
			return nil, fs.ErrNotExist
		}
		_, err := s.Enter("d", load)
		if e := (*Error)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v; want %s", data, err, want)
		}
	}
}

func TestEnterReadsParents(t *testing.T) {
	for _, c := range []struct {
		rule, abs, dir string
		want           []string
	}{
		{": /.r", "/a/b", "", []string{"/.r", "/a/.r", ".r"}},
		{": /.r", "/a/b", "c/d", []string{"/.r", "/a/.r", "/a/b/.r", "/a/b/c/.r", ".r"}},
		{": /a/b/.r", "/a/b", "c", []string{"/a/b/.r", ".r"}},
		{": ../../.r", "/a/b", "", []string{"/.r", "/a/.r", ".r"}},
		{": ../.r", "/a/b", "c", []string{"/a/b/.r", ".r"}},
		{": ./.r", "/a/b", "c", []string{".r"}},
		{": c/.r", "/a/b", "", []string{".r"}},
		{": /ab/.r", "/a/b", "", []string{".r"}},
		{": /a/b/../b/.r/", "/a/b", "c", []string{"/a/b/.r", ".r"}},
		{":n /.r", "/a/b", "", []string{".r"}},
		{":C /.r", "/a/b", "", []string{".r"}},
		{": /.r", "/", "", []string{".r"}},
		{": /.r", "/", "c", []string{"/.r", ".r"}},
		{": /.r", "", "c", []string{".r"}},
		{": .r", "/a/b", "c", []string{".r"}},
	} {
		s := mustRoot(t, Sender, c.abs, c.rule)
		var asked []string
		load := func(name string) ([]byte, error) {
			asked = append(asked, name)
			return nil, fs.ErrNotExist
		}
		in := mustEnter(t, s, c.dir, load)
		if !slices.Equal(asked, c.want) {
			t.Errorf("%s in %s, %q: %q; want %q", c.rule, c.abs, c.dir, asked, c.want)
		}
		asked = nil
		mustEnter(t, in, "c/d/e", load)
		if !slices.Equal(asked, []string{".r"}) {
			t.Errorf("%s in %s, below: %q", c.rule, c.abs, asked)
		}
	}
}

// Anchored rules mean the directory of their file, wherever the root is.
func TestParentAnchors(t *testing.T) {
	s := mustRoot(t, Sender, "/a/b", ": /.r")
	s = mustEnter(t, s, "c/d", files(map[string]string{
		"/.r": "- /a/b/c/d/1", "/a/.r": "- /b/c/d/2\n- /c/d/x", "/a/b/.r": "- /c/d/3", "/a/b/c/.r": "- /d/4\n- /c/d/y", ".r": "- /5\n- /d/z",
	}))
	for _, name := range []string{"1", "2", "3", "4", "5"} {
		if s.Check("c/d/"+name, false) != Exclude {
			t.Errorf("%s is shown", name)
		}
	}
	for _, name := range []string{"x", "y", "z", "6"} {
		if s.Check("c/d/"+name, false) != None {
			t.Errorf("%s is hidden", name)
		}
	}
	if s.Check("", false) != None || s.Check("c", true) != None {
		t.Error("a path outside the directory matches")
	}
}

// xattrCases say which of xattrNames rsync 3.5.0 still copies.
var xattrNames = strings.Fields("user.a user.b user.ab user.a.b user.c user.x/y")

var xattrCases = []struct {
	rules []string
	hides string
}{
	{[]string{"-x user.a"}, "user.a"}, {[]string{"-x a"}, ""}, {[]string{"-x *a"}, "user.a"}, {[]string{"-x user.?"}, "user.a user.b user.c"},
	{[]string{"-x /user.a"}, "user.a"}, {[]string{"-x y"}, "user.x/y"}, {[]string{"-x user.x/*"}, "user.x/y"}, {[]string{"-x user.*"}, "user.a user.b user.ab user.a.b user.c"},
	{[]string{"-x user.**"}, "user.a user.b user.ab user.a.b user.c user.x/y"}, {[]string{"-x user.a/"}, ""}, {[]string{"+x user.a", "-x *"}, "user.b user.ab user.a.b user.c user.x/y"},
	{[]string{"-x! user.a"}, "user.b user.ab user.a.b user.c user.x/y"}, {[]string{"-xs user.a"}, "user.a"}, {[]string{"- user.a", "-x nope"}, ""},
	{[]string{"-x/ user.a", "-x/ /user.b"}, "user.a"}, {[]string{"-x user.b/***"}, ""}, {[]string{"-xC"}, ""},
}

func TestXattr(t *testing.T) {
	for _, c := range xattrCases {
		s := mustRoot(t, Sender, "/abs", c.rules...)
		var hidden []string
		for _, name := range xattrNames {
			if s.Xattr(name) == Exclude {
				hidden = append(hidden, name)
			}
		}
		if got := strings.Join(hidden, " "); got != c.hides {
			t.Errorf("%q hide %s; want %s", c.rules, got, c.hides)
		}
	}
	s := mustRoot(t, Sender, "/abs", ": .r", "- user.b")
	if s.HasXattr() || s.Xattr("user.b") != None {
		t.Error("a rule about files judges an attribute")
	}
	in := mustEnter(t, s, "d", files(map[string]string{".r": "-x user.a\n"}))
	if !in.HasXattr() || in.Xattr("user.a") != Exclude || in.Check("d/user.a", false) != None || s.HasXattr() {
		t.Error("x in a per-directory file")
	}
}

var allocRules = []string{"- *.o", "+ /a/b/c/**", "-/ /x/y/[a-z]/*.c", "- **/q?", "- foo/***", "- /tree/***", "-! */", ": .r", "- a*b?c", "- x/y/?", "-x user.*", "- [[:digit:]]*[!a]", "-C"}

func TestCheckDoesNotAllocate(t *testing.T) {
	s := mustRoot(t, Sender, "/x/y", append([]string{"+ never"}, allocRules...)...)
	s = mustEnter(t, s, "some", files(map[string]string{".r": "- /l/*[0-9]\n- **m/n?\n"}))
	path := "some/long/path/with/many/parts/" + strings.Repeat("ab", 60)
	if n := testing.AllocsPerRun(100, func() {
		s.Check(path, true)
		s.Check(path, false)
		s.CheckDoomed(path, true)
		s.Xattr("user.mime_type")
		s.HasXattr()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	none := func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	if n := testing.AllocsPerRun(100, func() { _, _ = s.Enter("some/long", none) }); n != 0 {
		t.Errorf("Enter without a file: %v allocations", n)
	}
}

func BenchmarkCheck(b *testing.B) {
	const path = "src/cmd/compile/internal/ssa/rewriteAMD64.go"
	for _, rules := range [][]string{nil, {"- *.o"}, {"- /src/*/testdata/***"}, {"- **/internal/**.s"}, {"-C"}, allocRules} {
		s := mustRoot(b, Sender, "/usr/local/go", rules...)
		b.Run(strings.Join(rules, ","), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Check(path, true)
			}
		})
	}
}
