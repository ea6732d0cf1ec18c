package filter

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The texts on the right are what rsync 3.5.0 makes of the rules, as shown by --debug=FILTER2.
func TestParse(t *testing.T) {
	for _, c := range [][2]string{
		{"- foo", "- foo"}, {"-_foo", "- foo"}, {"-  foo", "-  foo"}, {"-__foo", "- _foo"}, {"-,s foo", "-s foo"},
		{"exclude foo", "- foo"}, {"exclude_foo", "- foo"}, {"exclude,sr_foo", "-sr foo"}, {"exclude, x", "- x"}, {"-, foo", "- foo"},
		{"include foo/", "+ foo/"}, {"hide foo", "-s foo"}, {"hide,p foo", "-sp foo"}, {"Hp foo", "-sp foo"}, {"Hx foo", "-xs foo"},
		{"show,! foo", "+!s foo"}, {"P foo", "-r foo"}, {"protect foo", "-r foo"}, {"R foo", "+r foo"}, {"risk,/ foo", "+/r foo"},
		{"-!/ foo", "-/! foo"}, {"-!! foo", "-! foo"}, {"-ss foo", "-s foo"}, {"-sp!/ foo", "-/!sp foo"}, {"-s_ x", "-s  x"},
		{"-C", "-C "}, {"-C ", "-C "}, {"-C_", "-C "}, {"-C foo", "-C foo"}, {"+C", "+C "}, {"exclude,C", "-C "}, {"-sC", "-Cs "},
		{"!", "!"}, {"clear", "!"}, {"clear,", "!"}, {"!,", "!"}, {"- !", "- !"},
		{":C", ":C .cvsignore"}, {"dir-merge,C", ":C .cvsignore"}, {":C foo", ":C foo"}, {":Cn x", ":C x"}, {":wC x", ":C x"}, {":sC", ":Cs .cvsignore"},
		{": a/foo", ": a/foo"}, {":wwn x", ":nw x"}, {":n+w x", ":nw+ x"}, {":eps/ x", ":/esp x"}, {":x x", ":x x"}, {": -", ": -"},
		{"dir-merge,n- .x", ":n- .x"}, {"merge /etc/x", ". /etc/x"}, {".- x", ".- x"},
		{"- /", "- /"}, {"- foo//", "- foo//"}, {"- ***/", "- ***/"}, {"- a\\b", "- a\\b"}, {"- a ", "- a "},
	} {
		r, err := Parse(c[0])
		if err != nil || r.String() != c[1] {
			t.Errorf("Parse(%q) = %q, %v; want %q", c[0], r, err, c[1])
			continue
		}
		if again, err := Parse(r.String()); err != nil || again != r {
			t.Errorf("Parse(%q) = %#v, %v; want %#v", r.String(), again, err, r)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range [][2]string{
		{"-foo", `filter rule "-foo": invalid modifier 'f' at position 1`},
		{"-s,r foo", `filter rule "-s,r foo": invalid modifier ',' at position 2`},
		{"hide,s x", `filter rule "hide,s x": invalid modifier 's' at position 5`},
		{"", "unknown rule"}, {" - x", "unknown rule"}, {"foo", "unknown rule"}, {"excludes foo", "unknown rule"}, {"excl x", "unknown rule"},
		{"EXCLUDE x", "unknown rule"}, {"#x", "unknown rule"}, {";x", "unknown rule"}, {"dirmerge x", "unknown rule"},
		{"-", "no pattern"}, {"- ", "no pattern"}, {"-_", "no pattern"}, {"-s ", "no pattern"}, {"exclude,", "no pattern"}, {"hide", "no pattern"}, {":", "no pattern"}, {"merge ", "no pattern"},
		{"! ", "takes no pattern"}, {"!x", "takes no pattern"}, {"clear_", "takes no pattern"}, {"clear x", "takes no pattern"},
		{"-,,s x", "position 2"}, {"Hs x", "position 1"}, {"HC", "position 1"}, {"Rr x", "position 1"}, {"-e x", "position 1"}, {"-n x", "position 1"}, {"-w x", "position 1"},
		{"-- x", "position 1"}, {"+- x", "position 1"}, {"-+ x", "position 1"}, {":-+ x", "position 2"}, {":+- x", "position 2"}, {":C- x", "position 2"}, {":-C x", "position 2"},
		{":! x", "position 1"}, {":Cfoo", "position 2"}, {"-\tx", "position 1"},
		{"- " + strings.Repeat("a", MaxPattern+1), "pattern longer than 4095 bytes"}, {"- a\x00b", "NUL byte"},
	} {
		_, err := Parse(c[0])
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c[1]) || e.Rule != c[0] {
			t.Errorf("Parse(%q): %v, want %q", c[0], err, c[1])
		}
	}
	if _, err := Parse("- " + strings.Repeat("a", MaxPattern)); err != nil {
		t.Error(err)
	}
}

func TestParseOld(t *testing.T) {
	for _, c := range [][3]string{
		{"!", "!", "!"}, {"! ", "- ! ", "+ ! "}, {"!x", "- !x", "+ !x"}, {"+", "- +", "+ +"}, {"-x", "- -x", "+ -x"},
		{"- x", "- x", "- x"}, {"+ x", "+ x", "+ x"}, {"-  x", "-  x", "-  x"}, {"-_x", "- -_x", "+ -_x"}, {" x", "-  x", "+  x"},
		{"#c", "- #c", "+ #c"}, {"-C", "- -C", "+ -C"}, {"-s x", "- -s x", "+ -s x"}, {"- - x", "- - x", "- - x"}, {"x/", "- x/", "+ x/"},
	} {
		for i, kind := range []Kind{KindExclude, KindInclude} {
			if r, err := ParseOld(kind, c[0]); err != nil || r.String() != c[i+1] {
				t.Errorf("ParseOld(%d, %q) = %q, %v; want %q", kind, c[0], r, err, c[i+1])
			}
		}
	}
	for _, text := range []string{"", "- ", "+ "} {
		if _, err := ParseOld(KindExclude, text); err == nil {
			t.Errorf("ParseOld(%q) is no error", text)
		}
	}
}

// drawRule draws a rule that Parse can give.
func drawRule(t *rapid.T) Rule {
	r := Rule{Kind: Kind(rapid.IntRange(int(KindExclude), int(KindClear)).Draw(t, "kind"))}
	if r.Kind == KindClear {
		return r
	}
	for _, l := range letters {
		if r.allows(l.mod, false) && rapid.Bool().Draw(t, string(l.letter)) {
			r.Mods |= l.mod
		}
	}
	if r.isMerge() && r.Mods&ModCVS != 0 {
		r.Mods &^= ModNoInherit | ModWordSplit
	}
	r.Pattern = rapid.StringMatching(`[ _a!/*\-]{1,6}`).Draw(t, "pattern")
	return r
}

func TestStringRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRule(t)
		if got, err := Parse(r.String()); err != nil || got != r {
			t.Fatalf("Parse(%q) = %#v, %v; want %#v", r.String(), got, err, r)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"- foo", ":nw- /mer", "-C ", "exclude,!/ a", "!", "+x user.*", "- [a-", "-! */", ": x/", "- \\"} {
		f.Add(s, "a/foo")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		r, err := Parse(text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("empty error")
			}
			return
		}
		if again, err := Parse(r.String()); err != nil || again != r {
			t.Fatalf("Parse(%q) = %#v, %v; want %#v", r.String(), again, err, r)
		}
		for _, side := range []Side{Sender, Receiver} {
			l := NewList(Options{})
			if l.Add(r) != nil {
				return // a merge
			}
			s, err := l.Root(side, "/x")
			if err != nil {
				t.Fatal(err)
			}
			s, err = s.Enter("", func(string) ([]byte, error) { return []byte(path), nil })
			if err != nil {
				return
			}
			s.Check(path, true)
			s.CheckDoomed(path, false)
			s.Xattr(path)
			for proto := 27; proto <= 32; proto++ {
				texts, err := l.Wire(side, proto)
				if err != nil {
					continue
				}
				for _, text := range texts {
					if err := NewList(Options{}).AddWire(text, proto); err != nil {
						t.Fatalf("%d %q: %v", proto, text, err)
					}
				}
			}
		}
	})
}
