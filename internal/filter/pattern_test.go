package filter

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// slowPattern is the meaning of a pattern as docs and experiments have it,
// without fast paths: abs and local are what compile and matches are told.
func slowPattern(text, path, abs, dir string, isDir, absolute, local bool) bool {
	if len(text) > 1 && strings.HasSuffix(text, "/") {
		if !isDir {
			return false
		}
		text = text[:len(text)-1]
	}
	anyStar, slashes, anchored := strings.Contains(text, "**"), strings.Count(text, "/"), strings.HasPrefix(text, "/")
	subject := path
	switch {
	case slashes == 0 && !anyStar:
		subject = lastComponent(path)
	case absolute:
		subject = abs + "/" + path
	case local && anchored:
		subject = path[len(dir)+1:]
	case strings.HasPrefix(text, "**"):
		subject = "/" + path
	}
	if strings.HasSuffix(text, "***") && isDir {
		subject += "/"
	}
	whole := func(s string) bool {
		text := strings.TrimPrefix(text, "/")
		if !isWild(text) {
			return s == text
		}
		return slowMatch(compileWild(text), s)
	}
	parts := strings.Split(subject, "/")
	switch {
	case !anchored && slashes > 0 && !anyStar:
		n := len(parts) - slashes - 1
		return n >= 0 && whole(strings.Join(parts[n:], "/"))
	case !anchored && anyStar && !strings.HasPrefix(text, "**"):
		for i := range parts {
			if whole(strings.Join(parts[i:], "/")) {
				return true
			}
		}
		return false
	}
	return whole(subject)
}

func TestPatternAgainstSlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`/?(a|b|ab|/|\*|\*\*|\?|\[a\]|\\a|x/y){1,5}(/|/\*\*\*|\*\*\*)?`).Draw(t, "pattern")
		path := "d/" + rapid.StringMatching(`(a|b|ab|ba|x/y|\\a)(/?(a|b|ab|ba|x/y)){0,4}`).Draw(t, "path")
		isDir, absolute, local := rapid.Bool().Draw(t, "dir"), rapid.Bool().Draw(t, "absolute"), rapid.Bool().Draw(t, "local")
		p := compile(text, absolute, local)
		q := query{path: path, name: lastComponent(path), dir: isDir}
		want := slowPattern(text, path, "x/y", "d", isDir, absolute, local)
		if got := p.matches(&q, "x/y/", &chain{cut: 2}); got != want {
			t.Fatalf("%v, want %v (shape %d)", got, want, p.shape)
		}
	})
}

func TestShapes(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    shape
	}{
		{"a", nameIs}, {"a/", nameIs}, {`a\*?`, nameWild}, {"*", nameAny}, {"*.o", nameEnds}, {".#*", nameEnds}, {"a*b", nameEnds}, {"a*b*", nameWild}, {"[a]", nameWild},
		{"/a", pathIs}, {"/a/b/", pathIs}, {"a/b", pathEnds}, {"/a/b/***", pathTree}, {"/a*/***", pathWild}, {"a/***", fromWild}, {"a/*", lastWild}, {"**/a", pathWild}, {"/a/**", pathWild}, {"a**b", fromWild},
	} {
		if got := compile(c.pattern, false, false).shape; got != c.want {
			t.Errorf("%s has shape %d, want %d", c.pattern, got, c.want)
		}
	}
}

// Where a fast path could go wrong.
func TestPatternEdges(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		dir, want     bool
	}{
		{"ab*ba", "aba", false, false}, {"ab*ba", "abba", false, true}, {"ab*ba", "x/ab--ba", false, true},
		{"/tree/***", "tree", true, true}, {"/tree/***", "tree", false, false}, {"/tree/***", "tree/x", false, true}, {"/tree/***", "treex", true, false}, {"/tree/***", "treex/y", false, false}, {"/tree/***", "a/tree/y", false, false},
		{"a/b", "xa/b", false, false}, {"a/b", "x/a/b", false, true}, {"a/b", "b", false, false}, {"/a", "x/a", false, false},
		{"*/b", "x/a/b", false, true}, {"*/b", "b", false, false}, {"*/*/b", "a/b", false, false}, {"a?*", "a", false, false},
	} {
		p := compile(c.pattern, false, false)
		q := query{path: c.path, name: lastComponent(c.path), dir: c.dir}
		if got := p.matches(&q, "", nil); got != c.want {
			t.Errorf("%s on %s: %v", c.pattern, c.path, got)
		}
	}
}
