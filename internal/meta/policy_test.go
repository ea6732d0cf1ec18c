package meta_test

import (
	"testing"

	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/sys"
	"pgregory.net/rapid"
)

const everything = meta.All

func file(mode, uid, gid uint32, xattrs ...meta.Xattr) *meta.Meta {
	return &meta.Meta{Stat: meta.Stat{Mode: sys.TypeRegular | mode, UID: uid, GID: gid}, Xattrs: xattrs}
}

func dir(mode, uid, gid uint32) *meta.Meta {
	return &meta.Meta{Stat: meta.Stat{Mode: sys.TypeDir | mode, UID: uid, GID: gid}}
}

func TestSafeCreatePerm(t *testing.T) {
	acl := meta.Xattr{Name: meta.AccessACL, Value: recorded}
	user := meta.Xattr{Name: "user.x", Value: []byte("1")}
	for _, c := range []struct {
		name     string
		m        *meta.Meta
		which    meta.Mask
		uid, gid uint32
		want     uint32
	}{
		{"stays", file(0o6664, 1, 2), everything, 1, 2, 0o664},
		{"other owner", file(0o664, 1, 2), everything, 0, 2, 0o644},
		{"other group", file(0o640, 1, 2), everything, 1, 0, 0o600},
		{"group has less than others", file(0o604, 1, 2), everything, 1, 0, 0o600},
		{"owner not asked for", file(0o640, 1, 2), meta.Mode, 7, 8, 0o640},
		{"group not asked for", file(0o640, 1, 2), meta.Mode | meta.Owner, 1, 8, 0o640},
		{"default ACL", file(0o640, 1, 2), everything, 1, meta.Unknown, 0o600},
		{"default ACL, nothing asked for", file(0o640, 1, 2), meta.Mode, meta.Unknown, meta.Unknown, 0o600},
		{"an ACL to come", file(0o660, 1, 2, acl), everything, 1, 2, 0o600},
		{"an ACL not asked for", file(0o660, 1, 2, acl), everything &^ (meta.ACL | meta.Xattrs), 1, 2, 0o660},
		{"attributes of a read-only file", file(0o444, 1, 2, user), everything, 1, 2, 0o644},
		{"mode not asked for", file(0o4640, 1, 2), everything &^ meta.Mode, 0, 0, 0o640},
		{"directory", dir(0o2775, 1, 2), everything, 1, 2, 0o755},
		{"directory without owner's rights", dir(0o050, 1, 2), everything, 1, 2, 0o750},
		{"directory of others", dir(0o1777, 1, 2), everything, 0, 0, 0o755},
		{"directory, mode not asked for", dir(0o575, 1, 2), meta.Mtime, 0, 0, 0o775},
	} {
		p := &meta.Policy{Which: c.which}
		if got := meta.SafeCreatePerm(c.m, p, c.uid, c.gid); got != c.want {
			t.Errorf("%s: %o, want %o", c.name, got, c.want)
		}
	}
}

func TestSafeWritePerm(t *testing.T) {
	for _, c := range []struct {
		name  string
		m     *meta.Meta
		which meta.Mask
		have  meta.Have
		want  uint32
	}{
		{"private content", file(0o600, 1, 2), everything, meta.Have{UID: 1, GID: 2, Mode: 0o644}, 0o600},
		{"alike", file(0o640, 1, 2), everything, meta.Have{UID: 1, GID: 2, Mode: 0o640}, 0o640},
		{"narrower already", file(0o644, 1, 2), everything, meta.Have{UID: 1, GID: 2, Mode: 0o400}, 0o400},
		{"other group", file(0o640, 1, 2), everything, meta.Have{UID: 1, GID: 9, Mode: 0o640}, 0o600},
		{"maybe an ACL", file(0o640, 1, 2), everything, meta.Have{UID: 1, GID: 2, Mode: 0o640, Xattrs: true}, 0o600},
		{"public all the same", file(0o644, 1, 2), everything, meta.Have{UID: 5, GID: 6, Mode: 0o644, Xattrs: true}, 0o644},
		{"mode stays", file(0o600, 1, 2), meta.Mtime, meta.Have{UID: 1, GID: 2, Mode: 0o4644}, 0o4644},
	} {
		p := &meta.Policy{Which: c.which}
		if got := meta.SafeWritePerm(c.m, p, c.have); got != c.want {
			t.Errorf("%s: %o, want %o", c.name, got, c.want)
		}
	}
}

// TestSafeCreatePermLetsNobodyIn compares the rights of everybody but the owner
// before Apply with those after.
func TestSafeCreatePermLetsNobodyIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Uint32Range(1, 3)
		m := file(rapid.Uint32Range(0, 0o7777).Draw(t, "mode"), id.Draw(t, "uid"), id.Draw(t, "gid"))
		if rapid.Bool().Draw(t, "acl") {
			a := drawACL(t)
			m.Mode = m.Mode&^0o777 | a.Perm()
			m.Xattrs = []meta.Xattr{{Name: meta.AccessACL, Value: a.Append(nil)}}
		}
		p := &meta.Policy{Which: meta.Mode | rapid.SampledFrom([]meta.Mask{0, meta.Owner, meta.Group, meta.Owner | meta.Group}).Draw(t, "which") | meta.ACL}
		uid, gid := id.Draw(t, "newUID"), id.Draw(t, "newGID")
		perm := meta.SafeCreatePerm(m, p, uid, gid)
		before := holder{uid, gid, meta.FromMode(perm)}
		after := holder{uid, gid, meta.FromMode(m.Mode)}
		if p.Which&meta.Owner != 0 {
			after.uid = m.UID
		}
		if p.Which&meta.Group != 0 {
			after.gid = m.GID
		}
		if len(m.Xattrs) > 0 {
			after.acl, _ = meta.ParseACL(m.Xattrs[0].Value)
		}
		everybody(func(u, g uint32) {
			if u == uid || u == after.uid {
				return
			}
			if b, a := before.rights(u, g), after.rights(u, g); b&^a != 0 {
				t.Fatalf("user %d of group %d has %o at first, %o in the end (mode %o)", u, g, b, a, perm)
			}
		})
	})
}

// holder is who owns a file and what its ACL says; rights judges as the kernel does.
type holder struct {
	uid, gid uint32
	acl      meta.PosixACL
}

func everybody(f func(u, g uint32)) {
	for u := uint32(1); u <= 10; u++ {
		for g := uint32(1); g <= 10; g++ {
			f(u, g)
		}
	}
}

func (h holder) rights(u, g uint32) uint16 {
	mask, group, inGroup := uint16(7), uint16(0), false
	var other uint16
	for _, e := range h.acl {
		if e.Tag == meta.TagMask {
			mask = e.Perm
		}
	}
	for _, e := range h.acl {
		switch {
		case e.Tag == meta.TagUserObj && u == h.uid:
			return e.Perm
		case e.Tag == meta.TagUser && u == e.ID && u != h.uid:
			return e.Perm & mask
		case e.Tag == meta.TagGroupObj && g == h.gid, e.Tag == meta.TagGroup && g == e.ID:
			group |= e.Perm & mask
			inGroup = true
		case e.Tag == meta.TagOther:
			other = e.Perm
		}
	}
	if inGroup {
		return group
	}
	return other
}
