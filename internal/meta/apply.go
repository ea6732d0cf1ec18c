package meta

import (
	"bytes"
	"slices"
	"strings"

	"github.com/gohaul/haul/internal/sys"
)

// Apply gives o the parts of m that p asks for, in the one order that works:
// owner and group (chown clears set-id bits and capabilities), attributes and
// ACLs (an access ACL sets permission bits), mode, times. It makes no call that
// have shows to be needless; a new file with its final mode and owner costs one.
//
// What this user or this file system cannot set is no error but told in skipped:
// owner and group that may not be given away (the group is still tried alone),
// attributes as Policy says, an ACL, a mode or times a file system cannot hold. A file
// whose owner or group could not be set loses its set-id bits (see KeepSetID);
// one whose access ACL could not be set gives its group no more than that did.
// Attributes that m lacks are removed from a target that may have some, but for
// those a security module put there.
//
// An error leaves the rest undone. Nobody but the owner has been given more than
// the target will have or had.
func (r *Reader) Apply(o Object, m *Meta, p *Policy, have Have) (skipped Mask, err error) {
	a := application{r: r, o: o, m: m, p: p, which: p.Which, uid: have.UID, gid: have.GID, cur: have.Mode & sys.PermMask}
	a.want = a.cur
	if a.which&Mode != 0 {
		a.want = m.Mode & sys.PermMask
	}
	if m.IsSymlink() {
		a.which &^= Mode | ACL
	}
	err = a.owner()
	if err == nil && a.which&(Xattrs|ACL) != 0 && sys.XattrsSupported && (have.Xattrs || len(m.Xattrs) > 0) {
		err = a.xattrs(have.Xattrs)
	}
	if err == nil && (a.cur != a.want || a.unsure) && !m.IsSymlink() {
		err = a.mode()
	}
	if err == nil && a.which&(Atime|Mtime) != 0 {
		err = a.times()
	}
	return a.skipped, err
}

// application is the state of one Apply.
type application struct {
	r     *Reader
	o     Object
	m     *Meta
	p     *Policy
	which Mask

	uid, gid uint32 // the target's, now
	cur      uint32 // the target's mode bits, now
	want     uint32 // what they are to be
	unsure   bool   // cur may be wrong about set-id bits
	skipped  Mask
}

const setID = sys.ModeSetUID | sys.ModeSetGID

func (a *application) owner() error {
	user := a.which&Owner != 0 && a.m.UID != a.uid
	group := a.which&Group != 0 && a.m.GID != a.gid
	if !user && !group {
		return nil
	}
	err := a.narrow()
	if err == nil {
		err = a.chown(user, group)
	}
	if cannotOwn(err) && user {
		a.skipped |= Owner
		if err = nil; group {
			err = a.chown(false, true)
		}
	}
	if cannotOwn(err) {
		a.skipped |= Group
		err = nil
	}
	if a.skipped != 0 && !a.p.KeepSetID {
		a.want &^= setID
		if !a.m.IsDir() {
			a.want &^= sys.ModeSticky
		}
	}
	return err
}

// narrow takes from a file that has stood there what its new group will not have
// at the end.
func (a *application) narrow() error {
	if a.which&Mode == 0 || a.m.IsSymlink() {
		return nil
	}
	perm := a.cur & (0o7700 | public(a.m, a.p, true))
	if perm == a.cur {
		return nil
	}
	err := a.o.chmod(perm)
	if err == nil {
		a.cur = perm
	} else if sys.NotPermitted(err) || sys.NotSupported(err) {
		err = nil // mode will tell
	}
	return err
}

func (a *application) chown(user, group bool) error {
	uid, gid := -1, -1
	if user {
		uid = int(a.m.UID)
	}
	if group {
		gid = int(a.m.GID)
	}
	if err := a.o.chown(uid, gid); err != nil {
		return err
	}
	if user {
		a.uid = a.m.UID
	}
	if group {
		a.gid = a.m.GID
	}
	switch {
	case a.m.IsDir() || (a.cur|a.want)&setID == 0:
	case a.which&Mode != 0:
		a.unsure = true
	default: // the kernel took them, and they are not ours to give
		a.cur &^= setID
		a.want &^= setID
	}
	return nil
}

// cannotOwn reports whether a chown failed since this user may not, the file
// system has no owners, or the id has no meaning in this user namespace.
func cannotOwn(err error) bool {
	return err != nil && (sys.NotPermitted(err) || sys.NotSupported(err) || sys.Invalid(err))
}

// xattrs sets what m has and removes what it lacks. have: the target may have
// some already.
func (a *application) xattrs(have bool) error {
	var old []string
	if have {
		list, err := a.r.list(a.o)
		if err != nil {
			if err := a.judge("", err); err != nil {
				return err
			}
		}
		for len(list) > 0 {
			var name string
			name, list = a.r.next(list)
			old = append(old, name)
		}
	}
	access := false
	for i := range a.m.Xattrs {
		x := &a.m.Xattrs[i]
		if !a.touches(x.Name) {
			continue
		}
		if x.Name == AccessACL {
			access = true
			continue
		}
		if err := a.set(x.Name, x.Value, slices.Contains(old, x.Name)); err != nil {
			return err
		}
	}
	hasACL := false
	for _, name := range old {
		if name == AccessACL {
			hasACL = true
		} else if a.touches(name) && a.removes(name) && a.m.xattr(name) == nil {
			if err := a.remove(name); err != nil {
				return err
			}
		}
	}
	if a.which&ACL == 0 || !access && !hasACL || !a.touches(AccessACL) {
		return nil
	}
	return a.access(hasACL)
}

// removes reports whether an attribute that the source lacks goes.
func (a *application) removes(name string) bool {
	return removable(name) && !(a.p.KeepXattrs && PartOf(name) == Xattrs)
}

func (a *application) touches(name string) bool {
	return PartOf(name)&a.which != 0 && (a.p.SkipXattrs == nil || !a.p.SkipXattrs(name))
}

// set sets one attribute. there: the target has one of that name, maybe alike.
func (a *application) set(name string, value []byte, there bool) error {
	if there {
		if v, err := a.r.get(a.o, name); err == nil && bytes.Equal(v, value) {
			return nil
		}
	}
	err := a.o.setXattr(name, value)
	if a.unlock(name, err) {
		err = a.o.setXattr(name, value)
	}
	return a.judge(name, err)
}

func (a *application) remove(name string) error {
	err := a.o.removeXattr(name)
	if a.unlock(name, err) {
		err = a.o.removeXattr(name)
	}
	if sys.NoXattr(err) {
		return nil
	}
	return a.judge(name, err)
}

// unlock gives the owner write permission until mode, if that is what a user
// attribute lacked: even its owner may not change it without.
func (a *application) unlock(name string, err error) bool {
	if err == nil || !sys.Denied(err) || a.cur&0o200 != 0 || a.m.IsSymlink() || !strings.HasPrefix(name, "user.") {
		return false
	}
	if a.o.chmod(a.cur|0o200) != nil {
		return false
	}
	a.cur |= 0o200
	return true
}

// access gives the target the access ACL of m, or, when m has none, takes its
// own away. Setting the three entries that the mode stands for does both, the
// ACL and the bits, in one step: taking the attribute away first would for a
// moment give the group what the mask allowed to others.
func (a *application) access(hasACL bool) error {
	value := a.m.xattr(AccessACL)
	acl, err := ParseACL(value)
	if value != nil && err != nil {
		return a.judge(AccessACL, err)
	}
	if value == nil || acl.Minimal() {
		if !hasACL {
			return nil
		}
		perm := a.want
		if a.which&Mode == 0 {
			if v, err := a.r.get(a.o, AccessACL); err == nil {
				if old, err := ParseACL(v); err == nil {
					perm = old.StrictPerm()
				}
			}
		}
		acl = FromMode(perm)
		value = acl.Append(nil)
	} else if hasACL {
		if v, err := a.r.get(a.o, AccessACL); err == nil && sameACL(true, v, value) {
			return nil
		}
	}
	err = a.o.setXattr(AccessACL, value)
	if err == nil {
		a.cur = a.cur&^0o777 | acl.Perm()
		if a.which&Mode == 0 {
			a.want = a.want&^0o777 | acl.Perm()
		}
		if a.want&sys.ModeSetGID != 0 {
			a.unsure = true // setting an ACL may clear it
		}
		return nil
	}
	if !acl.Minimal() && a.which&Mode != 0 {
		a.want &= acl.StrictPerm() | 0o7000
	}
	return a.judge(AccessACL, err)
}

func (a *application) judge(attr string, err error) error {
	if err == nil {
		return nil
	}
	lost := PartOf(attr)
	if attr == "" {
		lost = a.which & (Xattrs | ACL)
	}
	if a.p.OnXattr != nil {
		if err := a.p.OnXattr(attr, err); err != nil {
			return err
		}
	} else if !cannotTake(attr, a.m.Mode, err) {
		return a.o.xattrErr("setxattr", attr, err)
	}
	a.skipped |= lost
	return nil
}

func (a *application) mode() error {
	err := a.o.chmod(a.want)
	if err == nil || !sys.NotPermitted(err) && !sys.NotSupported(err) {
		return err
	}
	// Whoever may set a mode and yet cannot meets a file system that has none.
	if uid, _ := sys.Owner(); uid != 0 && uid != a.uid {
		return err
	}
	a.skipped |= Mode
	return nil
}

func (a *application) times() error {
	var atime, mtime *Time
	if a.which&Atime != 0 {
		atime = &a.m.Atime
	}
	if a.which&Mtime != 0 {
		mtime = &a.m.Mtime
	}
	err := a.o.setTimes(atime, mtime)
	if sys.NotSupported(err) { // those of symbolic links, on some systems
		a.skipped |= a.which & (Atime | Mtime)
		err = nil
	}
	return err
}
