package filter

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// files is a Loader over a map.
func files(m map[string]string) Loader {
	return func(name string) ([]byte, error) {
		if data, ok := m[name]; ok {
			return []byte(data), nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
}

func texts(l *List) []string {
	out := []string{}
	for _, r := range l.Rules() {
		out = append(out, r.String())
	}
	return out
}

// What rsync 3.5.0 makes of merge files, seen in what it sends to a server.
func TestMergeFiles(t *testing.T) {
	for _, c := range []struct {
		rule, data string
		want       []string // nil: an error
	}{
		{".", "- a\n+ b\n", []string{"- a", "+ b"}},
		{".-", "- a\n+ b", []string{"- - a", "- + b"}},
		{".+", "- a\n+ b", []string{"+ - a", "+ + b"}},
		{".w", "-_a +_b\t-C !,\n:C", []string{":C .cvsignore"}},
		{".w", "- a + b", []string{"- a", "+ b"}}, // as in the manual; rsync itself fails
		{".w", "- a -", nil},
		{".w-", "- a\n+ b #c", []string{"- -", "- a", "- +", "- b", "- #c"}},
		{".C", "a\v! b\fc \xa0", []string{"- b", "- c", "- \xa0"}},
		{".w-", "a !", []string{"- a", "- !"}},
		{".s", "- a\n+ b", []string{"-s a", "+s b"}},
		{".sr", "- a", []string{"-sr a"}},
		{".s", "-s a", nil}, {".r", "P a", nil}, {".sr", ":s x", nil},
		{".p", "-s a\n:s x", []string{"-sp a", ":sp x"}},
		{"./", "- a\n-s b\n:C", []string{"-/ a", "-/s b", ":/C .cvsignore"}},
		{".x", "- a\n-x b", []string{"- a", "-x b"}},
		{".n", ":C", []string{":C .cvsignore"}},
		{".e", "- a", []string{"- mf", "- a"}},
		{".se", "- a", []string{"- mf", "-s a"}},
		{".", "- a\r\n+ b\r\r\n\n", []string{"- a", "+ b"}},
		{".", "# c\n; d\n- e #f", []string{"- e #f"}},
		{".-", "  x\n \n#y\n;z", []string{"-   x", "-  "}},
		{".", "- x\x00+ y\n- z", []string{"- x", "- z"}},
		{".w-", "x\x00y z", []string{"- x", "- z"}},
		{".", "- q\n!\n- b", []string{"- b"}},
		{".", "a", nil}, {".", " - a", nil}, {".", "!x", nil}, {".", "-", nil},
		{".", "-C\n+Cs", []string{"-C ", "+Cs "}},
		{".", "- a\n. mg\n- z", []string{"- a", "- in", "-/ in2", "- z"}},
		{".p", "./ mg", []string{"-/p in", "-/p in2"}},
		{".", ". missing", nil}, {".", ". mf", nil},
		{".", ":e r\n: r\n:n x/r", []string{"- r", ": r"}},
	} {
		l := NewList(Options{Load: files(map[string]string{"mf": c.data, "mg": "- in\n-/ in2"})})
		err := l.Filter(c.rule + " mf")
		if c.want == nil {
			if e := (*Error)(nil); !errors.As(err, &e) {
				t.Errorf("%s %q: %v, %q", c.rule, c.data, err, texts(l))
			}
			continue
		}
		if err != nil || !slices.Equal(texts(l), c.want) {
			t.Errorf("%s %q: %q, %v; want %q", c.rule, c.data, texts(l), err, c.want)
		}
	}
}

func TestMergeFileErrors(t *testing.T) {
	load := files(map[string]string{"bad": "- a\n\n-ysecret x", "words": "ysecret", "outer": ". bad", "lost": "#\n. ysecret", "deep": ". deep"})
	for _, c := range [][2]string{
		{". bad", "filter file bad, line 3: invalid modifier at position 1"},
		{".w words", "filter file words: unknown rule"},
		{". outer", "filter file named at outer line 1, line 3: invalid modifier at position 1"},
		{". lost", "filter file lost, line 2: merge file: file does not exist"},
		{". gone", `filter rule ". gone": merge file: open gone: file does not exist`},
	} {
		err := NewList(Options{Load: load}).Filter(c[0])
		if err == nil || err.Error() != c[1] {
			t.Errorf("%s: %v; want %s", c[0], err, c[1])
		}
	}
	if err := NewList(Options{Load: load}).Filter(". gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not ErrNotExist", err)
	}
	if err := NewList(Options{Load: load}).Filter(". deep"); err == nil || !strings.Contains(err.Error(), "nested") {
		t.Error(err)
	}
	if err := NewList(Options{}).Filter(". x"); err == nil {
		t.Error("merge without a loader is no error")
	}
}

func TestListOptions(t *testing.T) {
	l := NewList(Options{})
	check := func(err error, want ...string) {
		t.Helper()
		if err != nil || !slices.Equal(texts(l), want) {
			t.Errorf("%q, %v; want %q", texts(l), err, want)
		}
	}
	from := []byte("# c\n; d\n- a\n+ b\nc\n!\nd\n! \n #x\n\n+x\n!y\r\nz\r")
	check(l.ExcludeFrom("f", from), "- d", "- ! ", "-  #x", "- +x", "- !y", "- z")
	check(l.Filter("!", ""))
	check(l.IncludeFrom("f", from), "+ d", "+ ! ", "+  #x", "+ +x", "+ !y", "+ z")
	check(l.Exclude("!"))
	check(l.Exclude(""))
	check(l.Exclude("+ b"), "+ b")
	check(l.Include("x/"), "+ b", "+ x/")
	check(l.PerDirectory(), "+ b", "+ x/", ": /.rsync-filter")
	check(l.PerDirectory(), "+ b", "+ x/", ": /.rsync-filter", "- .rsync-filter")
	check(l.PerDirectory(), "+ b", "+ x/", ": /.rsync-filter", "- .rsync-filter")
	check(l.Filter("!", ": m", "- q", ":n x/m"), ": m", "- q")
	check(l.CVSExclude(), ": m", "- q", ":C .cvsignore", "-C ")
	check(l.Filter("!", ": m"), ": m")

	if err := l.Filter("-bad"); err == nil || len(l.Rules()) != 1 {
		t.Errorf("%v, %q", err, texts(l))
	}
	if err := l.Include("- "); err == nil {
		t.Error("an empty pattern is no error")
	}

	l = NewList(Options{From0: true})
	check(l.IncludeFrom("f", []byte("# c\x00; d\x00- a\x00!\x00+ b\n\x00\x00 x\r\x00+x\x00!y")), "+ b\n", "+  x\r", "+ +x", "+ !y")
	l = NewList(Options{From0: true, Load: files(map[string]string{"f": "# c\x00a b\nc\x00"})})
	check(l.Filter(".w- f"), "- #", "- c", "- a", "- b", "- c")

	l = NewList(Options{DeleteExcluded: true, Load: files(map[string]string{"f": "- in\n-s ms\n:+ q"})})
	check(l.Filter("- a", "+ b", "-r c", "-s d", "-sr z", ": m", ":- m1", ":C", ":s m2", "-x x", "-C", ":e y", ". f"),
		"-s a", "+s b", "-r c", "-s d", "-sr z", ": m", ":- m1", ":C .cvsignore", ":s m2", "-xs x", "-Cs ", "- y", ": y", "-s in", "-s ms", ":+ q")

	if (*List)(nil).Rules() != nil {
		t.Error("a nil list has rules")
	}
}

func BenchmarkList(b *testing.B) {
	for b.Loop() {
		l := NewList(Options{})
		for range 1000 {
			if err := l.Filter("- *.o"); err != nil {
				b.Fatal(err)
			}
		}
	}
}
