package meta

import (
	"bytes"

	"github.com/gohaul/haul/internal/sys"
)

// Apply gives o the parts of m that p asks for, in the one order that works:
// owner and group (chown clears set-id bits and capabilities), attributes and
// ACLs (an access ACL sets permission bits), mode, times. It makes no call that
// have shows to be needless; a new file with its final mode and owner costs one.
//
// What this user or this file system cannot set is no error but told in skipped:
// owner and group that may not be given away (the group is still tried alone),
// attributes as Policy says, an ACL, a mode a file system cannot hold. A file
// whose owner or group could not be set loses its set-id bits, which would lend
// the wrong user's rights; one whose access ACL could not be set gives its
// group no more than the ACL gave it. Attributes that m lacks are removed from
// a target that may have some, but for those a security module put there.
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
	if err == nil && !m.IsSymlink() {
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
	uid, gid := -1, -1
	if a.which&Owner != 0 && a.m.UID != a.uid {
		uid = int(a.m.UID)
	}
	if a.which&Group != 0 && a.m.GID != a.gid {
		gid = int(a.m.GID)
	}
	if uid < 0 && gid < 0 {
		return nil
	}
	err := a.chown(uid, gid)
	if cannotOwn(err) && uid >= 0 {
		a.skipped |= Owner
		if err = nil; gid >= 0 {
			err = a.chown(-1, gid)
		}
	}
	if cannotOwn(err) {
		a.skipped |= Group
		err = nil
	}
	if a.skipped != 0 && !a.m.IsDir() {
		a.want &^= setID
	}
	return err
}

func (a *application) chown(uid, gid int) error {
	err := a.o.chown(uid, gid)
	if err != nil {
		return err
	}
	if uid >= 0 {
		a.uid = uint32(uid)
	}
	if gid >= 0 {
		a.gid = uint32(gid)
	}
	if (a.cur|a.want)&setID != 0 {
		a.unsure = true
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
		if err := a.set(x.Name, x.Value, contains(old, x.Name)); err != nil {
			return err
		}
	}
	hasACL := false
	for _, name := range old {
		if name == AccessACL {
			hasACL = true
		} else if a.touches(name) && removable(name) && a.m.xattr(name) == nil {
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

func (a *application) touches(name string) bool {
	return part(name)&a.which != 0 && (a.p.SkipXattrs == nil || !a.p.SkipXattrs(name))
}

// set sets one attribute. there: the target has one of that name, maybe alike.
func (a *application) set(name string, value []byte, there bool) error {
	if there {
		if v, err := a.r.get(a.o, name); err == nil && bytes.Equal(v, value) {
			return nil
		}
	}
	return a.judge(name, a.writable(func() error { return a.o.setXattr(name, value) }))
}

func (a *application) remove(name string) error {
	err := a.writable(func() error { return a.o.removeXattr(name) })
	if sys.NoXattr(err) {
		return nil
	}
	return a.judge(name, err)
}

// writable tries again with write permission for the owner, without which even
// the owner may not change attributes.
func (a *application) writable(f func() error) error {
	err := f()
	if err == nil || !sys.Denied(err) || a.cur&0o200 != 0 || a.m.IsSymlink() {
		return err
	}
	if a.o.chmod(a.cur|0o200) != nil {
		return err
	}
	a.cur |= 0o200
	if a.which&Mode == 0 { // then mode is what gives it back
		a.which |= Mode
	}
	return f()
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
	if !acl.Minimal() {
		a.want &= acl.StrictPerm() | 0o7000
	}
	return a.judge(AccessACL, err)
}

func (a *application) judge(attr string, err error) error {
	if err == nil {
		return nil
	}
	lost := part(attr)
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
	if a.which&Mode == 0 && a.cur == a.want && !a.unsure {
		return nil
	}
	if a.cur == a.want && !a.unsure {
		return nil
	}
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
	return a.o.setTimes(atime, mtime)
}

func contains(list []string, s string) bool {
	for _, t := range list {
		if t == s {
			return true
		}
	}
	return false
}
