package meta

import (
	"strings"

	"github.com/gohaul/haul/internal/sys"
)

// Policy says what Apply sets and who judges what cannot be set.
type Policy struct {
	Which Mask // Mode, Owner, Group, Mtime, Atime, Xattrs, ACL; the rest is ignored

	// KeepSetID leaves set-id bits on a file whose owner or group could not be
	// set, as rsync does. Unset, they go, as with cp -p and as POSIX wants it:
	// they would lend the wrong user's rights.
	KeepSetID bool

	// KeepXattrs leaves attributes that the source lacks on a target that has
	// them. ACLs are not among them.
	KeepXattrs bool

	// SkipXattrs tells attributes that are neither set nor removed. nil: none.
	SkipXattrs func(name string) bool

	// OnXattr judges an attribute that could not be set or removed (attr is ""
	// when those of the target could not be listed). nil result: go on, the
	// attribute is in skipped. Unset: what the target cannot take goes into
	// skipped, anything else is an error.
	OnXattr func(attr string, err error) error
}

// Have is what is known of the object that metadata is applied to.
type Have struct {
	UID, GID uint32
	Mode     uint32 // permission bits, set-id and sticky; other bits are ignored
	Xattrs   bool   // it may have attributes or ACLs already: it existed before, or its directory has a default ACL
}

// Unknown is a uid or gid that is not known.
const Unknown = ^uint32(0)

// SafeCreatePerm is the widest mode a new file may be created with so that
// nobody can read or write it now who cannot at the end, once Apply is done. uid
// and gid are what the new file will belong to at first; Unknown if that is not
// known, or if the directory has a default ACL, which would let others in.
//
// Without Mode in p.Which nobody would widen the mode later: the answer is the
// source's, for the umask to cut. A directory's owner may always do everything
// in it, and until Apply nobody else may write.
func SafeCreatePerm(m *Meta, p *Policy, uid, gid uint32) uint32 {
	perm := m.Mode & 0o777
	if p.Which&Mode != 0 {
		stays := uid != Unknown && gid != Unknown &&
			(p.Which&Owner == 0 || uid == m.UID) && (p.Which&Group == 0 || gid == m.GID)
		perm &= 0o700 | public(m, p, stays)
		if m.IsDir() {
			perm &^= 0o022
		}
	}
	if m.IsDir() {
		perm |= 0o700
	}
	if p.Which&Mode != 0 && p.Which&Xattrs != 0 && len(m.Xattrs) > 0 {
		perm |= 0o200 // who may not write a file may not set its attributes either
	}
	return perm
}

// SafeWritePerm is SafeCreatePerm for a file that exists and is about to get
// the content of m where it stands: its own mode, or the narrower one that it
// must be given before the first byte.
func SafeWritePerm(m *Meta, p *Policy, have Have) uint32 {
	perm := have.Mode & sys.PermMask
	if p.Which&Mode == 0 {
		return perm
	}
	stays := !have.Xattrs && (p.Which&Owner == 0 || have.UID == m.UID) && (p.Which&Group == 0 || have.GID == m.GID)
	return perm & (0o7700 | public(m, p, stays))
}

// public is what group and others may be given before Apply is done: what they
// will have, or, unless the group stays the same and no ACL stands between, what
// all of them will have, those included whom the ACL will give less.
func public(m *Meta, p *Policy, stays bool) uint32 {
	acl := p.Which&ACL != 0 && m.xattr(AccessACL) != nil
	if stays && !acl {
		return m.Mode & 0o077
	}
	all := m.Mode & (m.Mode >> 3) & 7
	if acl {
		a, _ := ParseACL(m.xattr(AccessACL))
		for _, e := range a {
			if e.Tag != TagUserObj {
				all &= uint32(e.Perm)
			}
		}
	}
	return all * 0o11
}

// xattr is the value of an attribute, nil if it is not there.
func (m *Meta) xattr(name string) []byte {
	for i := range m.Xattrs {
		if m.Xattrs[i].Name == name {
			return m.Xattrs[i].Value
		}
	}
	return nil
}

// PartOf says which part of the metadata an attribute belongs to; 0 if it is not
// ours to touch. That are those which a file system makes up from what is
// copied anyway (all of system. but the POSIX ACLs, so NFSv4's and CIFS's; XFS's
// raw ACLs in trusted.SGI_; afs.) and the kernel's seal over one very inode
// (security.evm).
func PartOf(name string) Mask {
	switch {
	case name == AccessACL || name == DefaultACL:
		return ACL
	case name == "security.evm":
		return 0
	case strings.HasPrefix(name, "system."), strings.HasPrefix(name, "trusted.SGI_"), strings.HasPrefix(name, "afs."):
		return 0
	}
	return Xattrs
}

// removable reports whether an attribute goes from a target when the source
// lacks it. A label that a security module put there (SELinux, Smack, AppArmor,
// IMA) stays: it is the target's. Capabilities are the file's own and must go.
func removable(name string) bool {
	return !strings.HasPrefix(name, "security.") || name == "security.capability"
}

// cannotTake reports whether an error says that the target can never hold an
// attribute, or never by this user's hand: no error, but worth a note. user.
// attributes are for files and directories only; the other name spaces may be
// for the super-user alone.
func cannotTake(name string, mode uint32, err error) bool {
	if sys.NotSupported(err) {
		return true
	}
	if !sys.NotPermitted(err) {
		return false
	}
	if strings.HasPrefix(name, "user.") {
		t := mode & sys.TypeMask
		return t != sys.TypeRegular && t != sys.TypeDir
	}
	return PartOf(name) == Xattrs
}

// Dependent adds to the parts that differ those that setting them disturbs: a
// new owner costs set-id bits and capabilities, a new ACL permission bits. Whoever
// has Apply set only what differs asks for these.
func Dependent(differs Mask) Mask {
	if differs&(Owner|Group) != 0 {
		differs |= Mode | Xattrs
	}
	if differs&ACL != 0 {
		differs |= Mode
	}
	return differs
}
