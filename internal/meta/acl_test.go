package meta_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/gohaul/haul/internal/meta"
	"pgregory.net/rapid"
)

// The value that `setfacl -m u:1000:r,g:2000:rw` leaves on a file of mode 0640.
var recorded = []byte{
	2, 0, 0, 0,
	1, 0, 6, 0, 255, 255, 255, 255,
	2, 0, 4, 0, 232, 3, 0, 0,
	4, 0, 4, 0, 255, 255, 255, 255,
	8, 0, 6, 0, 208, 7, 0, 0,
	16, 0, 6, 0, 255, 255, 255, 255,
	32, 0, 0, 0, 255, 255, 255, 255,
}

func TestACLRecorded(t *testing.T) {
	a, err := meta.ParseACL(recorded)
	if err != nil {
		t.Fatal(err)
	}
	want := meta.PosixACL{
		{meta.TagUserObj, 6, meta.NoID}, {meta.TagUser, 4, 1000},
		{meta.TagGroupObj, 4, meta.NoID}, {meta.TagGroup, 6, 2000},
		{meta.TagMask, 6, meta.NoID}, {meta.TagOther, 0, meta.NoID},
	}
	if !slices.Equal(a, want) {
		t.Fatalf("got %v, want %v", a, want)
	}
	if p, s := a.Perm(), a.StrictPerm(); p != 0o660 || s != 0o640 {
		t.Errorf("Perm %o, StrictPerm %o; want 660, 640", p, s)
	}
	if a.Minimal() {
		t.Error("an ACL that names users counts as a mode")
	}
	if b := a.Append(nil); !bytes.Equal(b, recorded) {
		t.Errorf("written as % x", b)
	}
}

func TestACLRefused(t *testing.T) {
	obj := func(tag meta.Tag, perm uint16) meta.ACLEntry { return meta.ACLEntry{tag, perm, meta.NoID} }
	u, g, m, o := obj(meta.TagUserObj, 6), obj(meta.TagGroupObj, 4), obj(meta.TagMask, 4), obj(meta.TagOther, 0)
	named := meta.ACLEntry{meta.TagUser, 4, 7}
	for _, c := range []struct {
		name string
		acl  meta.PosixACL
		good bool
	}{
		{"minimal", meta.PosixACL{u, g, o}, true},
		{"mask alone", meta.PosixACL{u, g, m, o}, true},
		{"named", meta.PosixACL{u, named, g, m, o}, true},
		{"unsorted", meta.PosixACL{o, m, g, named, u}, true},
		{"no mask", meta.PosixACL{u, named, g, o}, false},
		{"no other", meta.PosixACL{u, g}, false},
		{"two owners", meta.PosixACL{u, u, g, o}, false},
		{"two masks", meta.PosixACL{u, g, m, m, o}, false},
		{"named twice", meta.PosixACL{u, named, named, g, m, o}, false},
		{"named nobody", meta.PosixACL{u, {meta.TagUser, 4, meta.NoID}, g, m, o}, false},
		{"unknown tag", meta.PosixACL{u, {64, 4, 1}, g, m, o}, false},
		{"permission bit 3", meta.PosixACL{u, obj(meta.TagGroupObj, 8), o}, false},
	} {
		if _, err := meta.ParseACL(c.acl.Append(nil)); (err == nil) != c.good {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
	for name, b := range map[string][]byte{
		"empty": {}, "short header": {2, 0}, "version 1": {1, 0, 0, 0}, "half an entry": recorded[:len(recorded)-1],
		"too long": append(meta.FromMode(0).Append(nil), make([]byte, 64<<10)...),
	} {
		if _, err := meta.ParseACL(b); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// TestACLMode: a mode's ACL says the mode again, and nothing more.
func TestACLMode(t *testing.T) {
	for mode := range uint32(0o1000) {
		a := meta.FromMode(mode)
		if a.Perm() != mode || a.StrictPerm() != mode || !a.Minimal() || !a.Valid() {
			t.Errorf("%o became %v", mode, a)
		}
	}
}

func drawACL(t *rapid.T) meta.PosixACL {
	perm := rapid.Uint16Range(0, 7)
	a := meta.FromMode(rapid.Uint32Range(0, 0o777).Draw(t, "mode"))
	named := 0
	for _, tag := range []meta.Tag{meta.TagUser, meta.TagGroup} {
		for _, id := range rapid.SliceOfNDistinct(rapid.Uint32Range(1, 9), 0, 3, rapid.ID).Draw(t, "ids") {
			a = append(a, meta.ACLEntry{tag, perm.Draw(t, "perm"), id})
			named++
		}
	}
	if named > 0 || rapid.Bool().Draw(t, "mask") {
		a = append(a, meta.ACLEntry{meta.TagMask, perm.Draw(t, "maskPerm"), meta.NoID})
	}
	a.Sort()
	return a
}

func TestACLRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawACL(t)
		if !a.Valid() {
			t.Fatalf("drew %v", a)
		}
		b, err := meta.ParseACL(a.Append(nil))
		if err != nil || !slices.Equal(a, b) {
			t.Fatalf("%v became %v, %v", a, b, err)
		}
		if a.StrictPerm()&^a.Perm() != 0 {
			t.Fatalf("StrictPerm %o of Perm %o", a.StrictPerm(), a.Perm())
		}
	})
}

// FuzzParseACL: what parses is written back to the same bytes, but for order
// and the unused ids.
func FuzzParseACL(f *testing.F) {
	f.Add(recorded)
	f.Add(meta.FromMode(0o644).Append(nil))
	f.Add([]byte{2, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := meta.ParseACL(b)
		if err != nil {
			return
		}
		w := a.Append(nil)
		if len(w) != len(b) {
			t.Fatalf("% x became % x", b, w)
		}
		again, err := meta.ParseACL(w)
		if err != nil || !slices.Equal(a, again) {
			t.Fatalf("%v became %v, %v", a, again, err)
		}
		a.Perm()
		a.Minimal()
	})
}
