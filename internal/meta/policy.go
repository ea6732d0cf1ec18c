package meta

import (
	"strings"

	"github.com/gohaul/haul/internal/sys"
)

// Policy says what Apply sets and who judges what cannot be set.
type Policy struct {
	Which Mask // Mode, Owner, Group, Mtime, Atime, Xattrs, ACL; the rest is ignored

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
// source's, for the umask to cut. A directory's owner may always do everything,
// and only its owner may write, until Apply.
func SafeCreatePerm(m *Meta, p *Policy, uid, gid uint32) uint32 {
	perm := m.Mode & 0o777
	if m.IsDir() {
		perm = perm&^0o022 | 0o700
	}
	if p.Which&Mode == 0 {
		return m.Mode&0o777 | perm&0o700
	}
	stays := uid != Unknown && gid != Unknown &&
		(p.Which&Owner == 0 || uid == m.UID) && (p.Which&Group == 0 || gid == m.GID)
	if !stays || p.Which&ACL != 0 && m.xattr(AccessACL) != nil {
		perm &= 0o700 | perm&7*0o11
	}
	if p.Which&Xattrs != 0 && len(m.Xattrs) > 0 {
		perm |= 0o200 // who may not write a file may not set its attributes either
	}
	return perm
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

// part says which part of the metadata an attribute belongs to; 0 if it is not
// ours to touch. That are those which a file system makes up from what is
// copied anyway (all of system. but the POSIX ACLs, so NFSv4's and CIFS's; XFS's
// raw ACLs in trusted.SGI_; afs.) and the kernel's seal over one very inode
// (security.evm).
func part(name string) Mask {
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
	return part(name) == Xattrs
}
