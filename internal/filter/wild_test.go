package filter

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// slowMatch is the meaning of ops, tried out in all ways.
func slowMatch(ops []op, s string) bool {
	if len(ops) == 0 {
		return s == ""
	}
	o := ops[0]
	if o.kind == opStar || o.kind == opAnyStar {
		if slowMatch(ops[1:], s) {
			return true
		}
		return s != "" && (o.kind == opAnyStar || s[0] != '/') && slowMatch(ops, s[1:])
	}
	return s != "" && o.matches(s[0]) && slowMatch(ops[1:], s[1:])
}

func slowFloat(ops []op, s string) bool {
	for {
		if slowMatch(ops, s) {
			return true
		}
		_, rest, ok := strings.Cut(s, "/")
		if !ok {
			return false
		}
		s = rest
	}
}

func TestMatchAgainstSlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := compileWild("?" + rapid.StringMatching(`([ab/]|\*|\*\*|\?|\[!a\]|\\\*){0,9}`).Draw(t, "pattern"))[1:]
		s := rapid.StringMatching(`[ab/*]{0,12}`).Draw(t, "subject")
		i := rapid.IntRange(0, len(s)).Draw(t, "head")
		j := rapid.IntRange(i, len(s)).Draw(t, "body")
		sub := subject{s[:i], s[i:j], s[j:]}
		for _, float := range []bool{false, true} {
			want := slowMatch(ops, s)
			if float {
				want = slowFloat(ops, s)
			}
			if got := match(ops, &sub, 0, float); got != want {
				t.Fatalf("match, float %v: %v, want %v", float, got, want)
			}
			if got := table(ops, &sub, 0, float); got != want {
				t.Fatalf("table, float %v: %v, want %v", float, got, want)
			}
		}
	})
}

// A hostile pattern costs its length times the subject's, not a power of it.
func TestMatchIsBounded(t *testing.T) {
	subject1 := subject{body: strings.Repeat("a", 4000)}
	subject2 := subject{body: strings.Repeat(strings.Repeat("a", 200)+"/", 20)}
	begin := time.Now()
	for _, pattern := range []string{
		strings.Repeat("*a", 1900) + "b", strings.Repeat("**a", 1300) + "b", strings.Repeat("**a*a", 700) + "b",
		strings.Repeat("**?*", 1000) + "[b]", "**" + strings.Repeat("a", 4000) + "?b", "**" + strings.Repeat("*a?", 1200) + "b",
	} {
		ops := compileWild(pattern)
		for _, s := range []*subject{&subject1, &subject2} {
			if match(ops, s, 0, true) {
				t.Errorf("%.20s... matches", pattern)
			}
		}
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

func FuzzWild(f *testing.F) {
	for _, s := range []string{"a*b", "[a-", "[[:alpha:]]", "**/x", "\\", "[\\", "[]", "[!]a]"} {
		f.Add(s, "a/b")
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if len(pattern) > MaxPattern || len(s) > 4096 {
			return
		}
		ops := compileWild(pattern)
		sub := subject{body: s}
		for _, float := range []bool{false, true} {
			if got, want := match(ops, &sub, 0, float), table(ops, &sub, 0, float); got != want {
				t.Fatalf("match %v, table %v", got, want)
			}
		}
	})
}

func TestSets(t *testing.T) {
	for _, c := range []struct {
		pattern, yes, no string
	}{
		{"[ab]", "ab", "c["}, {"[!ab]", "c!", "ab/"}, {"[^ab]", "c^", "ab/"}, {"[]a]", "]a", "b["}, {"[!]a]", "b", "]a"}, {"[a-c]", "abc", "d-"},
		{"[a-]", "a-", "b"}, {"[-a]", "-a", "b"}, {"[--0]", "-.0", "/,1"}, {"[z-a]", "z", "ay-"}, {`[\]]`, "]", `\`}, {`[a\-c]`, "a-c", "b"},
		{`[a-\c]`, "abc", `\`}, {"[a-c-e]", "abc-e", "d"}, {"[[:digit:]x]", "0x", ":d["}, {"[[:upper:]]", "AZ", "a"}, {"[![:space:]]", "a", " \t\n/"},
		{"[[:xdigit:]]", "0fF", "g"}, {"[[:punct:]]", "!~_", "a/"}, {"[[:blank:]]", " \t", "\n"}, {"[[:cntrl:]]", "\x01\x7f", " "},
		{"[[:alnum:]]", "aZ9", "_"}, {"[[:graph:]]", "!a", " /"}, {"[[:print:]]", " a", "\n/"}, {"[[:lower:]]", "a", "A"}, {"[[:alpha:]]", "aZ", "1"},
		{"[/]", "", "/"}, {"[[a]", "[a", ":"}, {"[[:a]", "[:a", "b"}, {"[[:nope:]]", "", "nope:"}, {"[a", "", "a["}, {"[", "", "["}, {"[!", "", "!"}, {`[\`, "", `\`}, {"[]", "", "]"},
		{`\[?`, "", "["}, {"[\xe9]", "\xe9", "e"},
	} {
		ops := compileWild(c.pattern)
		for i := range 256 {
			b := string([]byte{byte(i)})
			got := match(ops, &subject{body: b}, 0, false)
			if strings.Contains(c.yes, b) && !got || strings.Contains(c.no, b) && got {
				t.Errorf("%s matches %q: %v", c.pattern, b, got)
			}
		}
	}
}
