package tree

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// yields makes a walk of paths.
func yields(list []string, fails map[string]error) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, p := range list {
			if !yield(Entry{Path: p}, fails[p]) {
				return
			}
		}
	}
}

// TestMerge against a reference that compares paths by their components and
// knows both trees whole.
func TestMerge(t *testing.T) {
	component := rapid.SampledFrom([]string{"a", "b", "a.b", "a-", "a\x01", "ab", "..."})
	path := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(component, 1, 3).Draw(t, "path"), "/")
	})
	order := func(a, b string) int {
		if a == "." || b == "." {
			return strings.Compare(map[bool]string{true: "", false: "x"}[a == "."], map[bool]string{true: "", false: "x"}[b == "."])
		}
		return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
	}
	walk := func(t *rapid.T, name string) []string {
		list := append([]string{"."}, rapid.SliceOfN(path, 0, 12).Draw(t, name)...)
		slices.SortFunc(list, order)
		return slices.Compact(list)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := walk(t, "a"), walk(t, "b")
		bad := errors.New("bad")
		fails := map[string]error{rapid.SampledFrom(a).Draw(t, "fails"): bad}
		if !slices.IsSortedFunc(a, Compare) {
			t.Fatalf("Compare disagrees about %q", a)
		}
		all := slices.Concat(a, b)
		slices.SortFunc(all, order)
		all = slices.Compact(all)
		stop := rapid.IntRange(1, len(all)).Draw(t, "stop")
		var got []string
		for p, err := range Merge(yields(a, fails), yields(b, nil)) {
			if (p.A != nil) != slices.Contains(a, p.Path) || (p.B != nil) != slices.Contains(b, p.Path) {
				t.Fatalf("%q of %q and %q: sides %v %v", p.Path, a, b, p.A != nil, p.B != nil)
			}
			if p.A != nil && p.A.Path != p.Path || p.B != nil && p.B.Path != p.Path {
				t.Fatalf("%q has entries of another path", p.Path)
			}
			if (err != nil) != (fails[p.Path] != nil) {
				t.Fatalf("%q: %v", p.Path, err)
			}
			if got = append(got, p.Path); len(got) == stop {
				break
			}
		}
		if !slices.Equal(got, all[:stop]) {
			t.Fatalf("%q, want %q", got, all[:stop])
		}
		for _, x := range all {
			for _, y := range all {
				if want := x != y && (y == "." || strings.HasPrefix(x, y+"/")); Beneath(x, y) != want {
					t.Fatalf("Beneath(%q, %q)", x, y)
				}
			}
		}
	})
}
