package plan

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/gohaul/haul/internal/meta"
	"pgregory.net/rapid"
)

// kinds are entries that differ in nothing but what they are.
func kinds() map[string]*meta.Meta {
	all := map[string]*meta.Meta{}
	for name, mode := range map[string]uint32{
		"file": 0o100644, "dir": 0o040755, "link": 0o120777, "fifo": 0o010600, "sock": 0o140600, "char": 0o020600, "block": 0o060600,
	} {
		m := &meta.Meta{Target: "to"}
		m.Mode, m.Size, m.Rdev, m.Mtime = mode, 10, 7, meta.Time{Sec: 100, Nsec: 5}
		all[name] = m
	}
	return all
}

// rulesets is every rule, by name.
func rulesets() map[string]Rules {
	return map[string]Rules{
		"usual": {}, "size": {Compare: CompareSize}, "content": {Compare: CompareContent}, "never": {Compare: CompareNever},
		"older": {Update: UpdateOlder}, "none": {Update: UpdateNone}, "nonefail": {Update: UpdateNoneFail},
		"inplace": {InPlace: true}, "noreplace": {NoReplace: true},
		"noreplace none": {NoReplace: true, Update: UpdateNone}, "noreplace older": {NoReplace: true, Update: UpdateOlder},
		"hardlink": {Form: FormHardLink}, "symlink": {Form: FormSymlink}, "attributes": {Form: FormAttributes},
	}
}

// TestKinds is every rule over every pair of kinds that differ in kind alone.
func TestKinds(t *testing.T) {
	for rule, r := range rulesets() {
		for a, src := range kinds() {
			if got := Decide(src, nil, &r); got != Make {
				t.Errorf("%s: %s over nothing: %v", rule, a, got)
			}
			for b, dst := range kinds() {
				if got, want := Decide(src, dst, &r), wantKinds(rule, a, b); got != want {
					t.Errorf("%s: %s over %s: %v, want %v", rule, a, b, got, want)
				}
			}
		}
	}
}

// wantKinds is the table in words: the first line that fits counts.
func wantKinds(rule, a, b string) Action {
	oneDir := (a == "dir") != (b == "dir")
	rule, strict := strings.CutPrefix(rule, "noreplace")
	rule = strings.TrimPrefix(rule, " ")
	switch {
	case a == "dir" && b == "dir":
		return Touch
	case b == "dir" && strict && rule != "": // left alone, so it is not in the way
		return Skip
	case oneDir && strict:
		return Clash
	case rule == "none", rule == "older" && !oneDir: // of the same age
		return Skip
	case rule == "nonefail":
		return Refuse
	case oneDir:
		return Replace
	case rule == "attributes" && a != b:
		return Refuse
	case rule == "attributes":
		return Touch
	case a != b, rule == "never":
		return Replace
	case a == "file" && (rule == "hardlink" || rule == "symlink"):
		return Replace
	case a == "file" && rule == "content":
		return Compared
	}
	return Touch
}

// TestDifferences is every rule over a file that differs in one way.
func TestDifferences(t *testing.T) {
	change := map[string]func(dst *meta.Meta){
		"size":  func(m *meta.Meta) { m.Size++ },
		"newer": func(m *meta.Meta) { m.Mtime.Nsec++ },
		"older": func(m *meta.Meta) { m.Mtime.Nsec-- },
		"mode":  func(m *meta.Meta) { m.Mode ^= 0o111 },
	}
	want := map[string]map[string]Action{
		"usual":     {"size": Replace, "newer": Replace, "older": Replace, "mode": Touch},
		"size":      {"size": Replace, "newer": Touch, "older": Touch, "mode": Touch},
		"content":   {"size": Replace, "newer": Compared, "older": Compared, "mode": Compared},
		"never":     {"size": Replace, "newer": Replace, "older": Replace, "mode": Replace},
		"older":     {"size": Skip, "newer": Skip, "older": Replace, "mode": Skip},
		"none":      {"size": Skip, "newer": Skip, "older": Skip, "mode": Skip},
		"nonefail":  {"size": Refuse, "newer": Refuse, "older": Refuse, "mode": Refuse},
		"inplace":   {"size": Patch, "newer": Patch, "older": Patch, "mode": Touch},
		"noreplace": {"size": Replace, "newer": Replace, "older": Replace, "mode": Touch},

		"noreplace none":  {"size": Skip, "newer": Skip, "older": Skip, "mode": Skip},
		"noreplace older": {"size": Skip, "newer": Skip, "older": Replace, "mode": Skip},

		"hardlink":   {"size": Replace, "newer": Replace, "older": Replace, "mode": Replace},
		"symlink":    {"size": Replace, "newer": Replace, "older": Replace, "mode": Replace},
		"attributes": {"size": Touch, "newer": Touch, "older": Touch, "mode": Touch},
	}
	for rule, r := range rulesets() {
		for what, f := range change {
			src, dst := kinds()["file"], kinds()["file"]
			f(dst)
			if got := Decide(src, dst, &r); got != want[rule][what] {
				t.Errorf("%s: target differs in %s: %v, want %v", rule, what, got, want[rule][what])
			}
		}
	}
	for kind, f := range map[string]func(*meta.Meta){
		"link":  func(m *meta.Meta) { m.Target = "elsewhere" },
		"char":  func(m *meta.Meta) { m.Rdev++ },
		"block": func(m *meta.Meta) { m.Rdev++ },
	} {
		src, dst := kinds()[kind], kinds()[kind]
		f(dst)
		if got := Decide(src, dst, &Rules{}); got != Replace {
			t.Errorf("another %s: %v", kind, got)
		}
		dst = kinds()[kind]
		dst.Mtime.Sec++
		if got := Decide(src, dst, &Rules{}); got != Touch {
			t.Errorf("a %s of another time: %v", kind, got)
		}
	}
}

// TestOlderThanDir: cp -u complains about a directory that is in the way only if
// it would have replaced it.
func TestOlderThanDir(t *testing.T) {
	src, dst := kinds()["file"], kinds()["dir"]
	dst.Mtime.Nsec--
	if got := Decide(src, dst, &Rules{NoReplace: true, Update: UpdateOlder}); got != Clash {
		t.Errorf("an older directory: %v", got)
	}
}

// TestWindow: the window widens what is the same age and narrows what is older.
func TestWindow(t *testing.T) {
	src, dst := kinds()["file"], kinds()["file"]
	dst.Mtime = meta.Time{Sec: 98, Nsec: 5} // two seconds older
	for window, want := range map[int64]Action{0: Replace, 1e9: Replace, 2e9 - 1: Replace, 2e9: Touch, math.MaxInt64: Touch} {
		if got := Decide(src, dst, &Rules{ModifyWindow: window}); got != want {
			t.Errorf("window %d: %v, want %v", window, got, want)
		}
		if want == Touch {
			want = Skip
		}
		if got := Decide(src, dst, &Rules{ModifyWindow: window, Update: UpdateOlder}); got != want {
			t.Errorf("older, window %d: %v, want %v", window, got, want)
		}
	}
}

// TestTimes compares with arithmetic that cannot overflow.
func TestTimes(t *testing.T) {
	big9 := big.NewInt(1e9)
	ns := func(x meta.Time) *big.Int {
		n := new(big.Int).Mul(big.NewInt(x.Sec), big9)
		return n.Add(n, big.NewInt(int64(x.Nsec)))
	}
	sec := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, math.MinInt64 + 1, math.MaxInt64 - 1}), rapid.Int64())
	moment := rapid.Custom(func(t *rapid.T) meta.Time {
		return meta.Time{Sec: sec.Draw(t, "sec"), Nsec: rapid.OneOf(rapid.Int32Range(0, 3), rapid.Int32Range(0, 1e9-1)).Draw(t, "nsec")}
	})
	window := rapid.OneOf(rapid.Int64Range(-1, 5), rapid.Int64Range(0, 5e9), rapid.Just(int64(math.MaxInt64)))
	rapid.Check(t, func(t *rapid.T) {
		a, b, w := moment.Draw(t, "a"), moment.Draw(t, "b"), window.Draw(t, "window")
		gap := new(big.Int).Sub(ns(b), ns(a))
		limit := big.NewInt(max(w, 0))
		if got, want := older(a, b, w), gap.Cmp(limit) > 0; got != want {
			t.Fatalf("older(%v, %v, %d): %v", a, b, w, got)
		}
		if got, want := SameTime(a, b, w), gap.CmpAbs(limit) <= 0; got != want {
			t.Fatalf("SameTime(%v, %v, %d): %v", a, b, w, got)
		}
	})
}
