package testtree

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestQuoteReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "name"))
		if rapid.Bool().Draw(t, "text") {
			s = rapid.String().Draw(t, "text")
		}
		f, err := fields("f " + quote(s) + " x")
		if err != nil || len(f) != 3 {
			t.Fatalf("fields of %s: %q, %v", quote(s), f, err)
		}
		w, err := parseWord(f[1])
		if err != nil || w.ranges() != nil || w.at(nil) != s {
			t.Errorf("%s reads %q, %v, want %q", f[1], w.at(nil), err, s)
		}
		if got, err := unquote(f[1]); err != nil || got != s {
			t.Errorf("%s unquotes %q, %v, want %q", f[1], got, err, s)
		}
	})
}

func TestSizeReadsBack(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "1": 1, "64k": 65536, "3M": 3 << 20, "1G": 1 << 30, "1T": 1 << 40, "7E": 7 << 60,
		"9223372036854775807": math.MaxInt64, "1025": 1025,
	} {
		if got, err := parseSize(s); err != nil || got != want {
			t.Errorf("%s: %d, %v", s, got, err)
		}
		if got := formatSize(want); got != s {
			t.Errorf("%d: %s, want %s", want, got, s)
		}
	}
	for _, s := range []string{"", "k", "-1", "8E", "1.5k", "1kk", "9223372036854775808"} {
		if n, err := parseSize(s); err == nil {
			t.Errorf("%q: %d", s, n)
		}
	}
}

func TestExpansion(t *testing.T) {
	for text, want := range map[string]string{
		"d 0755 a{1..3}":             "a1 a2 a3",
		"d 0755 a{08..11}b":          "a08b a09b a10b a11b",
		"d 0755 a{1..2}/{3..4}":      "a1/3 a1/4 a2/3 a2/4",
		`d 0755 "x {"{1..2}`:         "x {1 x {2",
		"l a{1..2} -> b{4..5}":       "a1>b4 a2>b5",
		"l a{1..2} -> b":             "a1>b a2>b",
		"h a{1..2}/x = b{1..2}":      "a1/x>b1 a2/x>b2",
		"d 0755 ./a//b/":             "a/b",
		"d 0755 .":                   ".",
		"# note\n\n  d 0755 a \r\n#": "a",
	} {
		list, err := parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for e, err := range entries(list) {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			name := e.name
			if e.target != "" {
				name += ">" + e.target
			}
			got = append(got, name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestBadText(t *testing.T) {
	for _, text := range []string{
		"x 0644 a", "f", "f a", "f 0644", "f 08 a", "f 10000 a", `f 0644 ""`, `f 0644 "a`, "f 0644 /a", "f 0644 a/../..", "f 0644 .",
		`f 0644 "a\x00b"`, "f 0644 a{1..", "f 0644 a{2..1}", "f 0644 a{x}", "f 0644 a b", "f 0644 a data:", "f 0644 a data:1@",
		`f 0644 a rep:"A"`, `f 0644 a rep:""*3`, "f 0644 a size:3", "f 0644 a mtime=yesterday", "f 0644 a uid=-1", "f 0644 a uid=x",
		"f 0644 a xattr:user.k", "f 0644 a xattr:=v", "f 0644 a acl=u:1000:rw", "f 0644 a acl=x:1:rwx", "f 0644 a acl=m:1:rwx",
		"d 0755 a data:1", "l a b", "l a ->", "l a{1..2} -> b{1..3}", "h a = /b", "h a = b uid=1", "c 0600 a", "c 0600 a 1", "c 0600 a x 1",
		"d 0755 a foo",
	} {
		list, err := parse(text)
		for _, eerr := range entries(list) {
			if err == nil {
				err = eerr
			}
		}
		if err == nil {
			t.Errorf("%q passes", text)
		} else if !strings.HasPrefix(err.Error(), "line 1: ") {
			t.Errorf("%q: %v names no line", text, err)
		}
	}
}

// FuzzParse wants no panic, and of every name that it lies beneath the root.
func FuzzParse(f *testing.F) {
	f.Add("d 0755 a\nf 0644 a/img data:64k hole:1G data:1@s rep:\"A\"*5 text:\"x y\" xattr:user.k=\"v\" acl=u:1:rwx\nh a/b = a/img\nl x{1..3} -> y{2..4}\nc 0600 dev 1 3")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parse(text)
		if err != nil {
			return
		}
		n := 0
		for e, err := range entries(list) {
			if n++; err != nil || n > 1000 {
				return
			}
			for part := range strings.SplitSeq(e.name, "/") {
				if part == ".." || part == "" {
					t.Errorf("%q: name %q", text, e.name)
				}
			}
		}
	})
}

func TestSources(t *testing.T) {
	take := func(seg segment, name string, offset int64, cuts ...int) []byte {
		next := seg.source(name, offset)
		var out []byte
		for _, n := range cuts {
			buf := bytes.Repeat([]byte{'?'}, n)
			next(buf)
			out = append(out, buf...)
		}
		return out
	}
	rep := segment{kind: segBytes, pattern: "abc"}
	if got := take(rep, "", 0, 1, 4, 2); string(got) != "abcabca" {
		t.Errorf("rep %q", got)
	}
	data, seeded := segment{}, segment{seed: "s"}
	a := take(data, "a", 0, 4096)
	if bytes.IndexByte(a, 0) >= 0 {
		t.Error("data holds a zero byte")
	}
	if bytes.Equal(a, take(data, "b", 0, 4096)) || bytes.Equal(a, take(data, "a", 1, 4096)) {
		t.Error("data of another path or offset is the same")
	}
	if !bytes.Equal(a, take(data, "a", 0, 4096)) || !bytes.Equal(take(seeded, "a", 0, 64), take(seeded, "b", 7, 64)) {
		t.Error("the same seed gives other data")
	}
}

func TestACLText(t *testing.T) {
	for _, tc := range []struct {
		text string
		mode uint32
		want string
	}{
		{"u:1000:rw-", 0o640, "u::rw-,u:1000:rw-,g::r--,m::rw-,o::---"},
		{"g:5:--x,u:2:r--,u:1:-w-", 0o750, "u::rwx,u:1:-w-,u:2:r--,g::r-x,g:5:--x,m::rwx,o::---"},
		{"u:1:rwx,m::r--", 0o644, "u::rw-,u:1:rwx,g::r--,m::r--,o::r--"},
		{"o::r--", 0o700, "u::rwx,g::---,o::r--"},
	} {
		a, err := parseACL(tc.text)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeACL(a.complete(tc.mode).encode())
		if err != nil || back.String() != tc.want {
			t.Errorf("%s: %s, %v, want %s", tc.text, back, err, tc.want)
		}
	}
	for _, b := range [][]byte{nil, {2, 0, 0}, {3, 0, 0, 0}, {2, 0, 0, 0, 1}} {
		if a, err := decodeACL(b); err == nil {
			t.Errorf("%x: %v", b, a)
		}
	}
}

func TestDiff(t *testing.T) {
	tree := func(names ...string) (items []item) {
		for _, n := range names {
			name, _, _ := strings.Cut(n, "=")
			items = append(items, item{name, n})
		}
		return items
	}
	a := tree(".", "a", "a/b=1", "a/c", "a-b", "z")
	b := tree(".", "a", "a/b=2", "a-b", "a0", "z")
	if got, want := diff(a, b), "- a/b=1\n+ a/b=2\n- a/c\n+ a0\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := diff(a, a); got != "" {
		t.Error(got)
	}
	var many []string
	for i := range 2 * maxDiff {
		many = append(many, fmt.Sprintf("%03d", i))
	}
	if got := diff(tree(many...), nil); strings.Count(got, "\n") != maxDiff+1 || !strings.HasSuffix(got, "... and 50 lines more\n") {
		t.Error(got)
	}
}

// TestBeforeIsWalkOrder compares with the order of a walk, which is by components.
func TestBeforeIsWalkOrder(t *testing.T) {
	gen := rapid.StringMatching(`[a\-\.\x01]{1,3}(/[a\-\.\x01]{1,3}){0,2}`)
	rapid.Check(t, func(t *rapid.T) {
		x, y := gen.Draw(t, "x"), gen.Draw(t, "y")
		if x == "." || y == "." {
			return
		}
		want := slices.Compare(strings.Split(x, "/"), strings.Split(y, "/")) < 0
		if before(x, y) != want {
			t.Errorf("before(%q, %q) = %v", x, y, !want)
		}
	})
}
