package meta

import (
	"bytes"

	"github.com/gohaul/haul/internal/sys"
)

// Diff says which parts of of differ between two files. Times are compared to
// the nanosecond. An access ACL that says no more than the mode counts as none;
// attributes that Apply would leave alone do not count. What only one kind of
// file has (Size, Target, Rdev, a symbolic link's Mode) is compared only if
// both are of that kind.
func Diff(a, b *Meta, of Mask) Mask {
	var d Mask
	differ := func(part Mask, is bool) {
		if is {
			d |= part
		}
	}
	ta, tb := a.Mode&sys.TypeMask, b.Mode&sys.TypeMask
	both := func(t uint32) bool { return ta == t && tb == t }
	differ(Type, ta != tb)
	differ(Mode, (a.Mode^b.Mode)&sys.PermMask != 0 && !a.IsSymlink() && !b.IsSymlink())
	differ(Owner, a.UID != b.UID)
	differ(Group, a.GID != b.GID)
	differ(Mtime, a.Mtime != b.Mtime)
	differ(Atime, a.Atime != b.Atime)
	differ(Size, a.Size != b.Size && both(sys.TypeRegular))
	differ(Target, a.Target != b.Target && both(sys.TypeSymlink))
	differ(Rdev, a.Rdev != b.Rdev && (both(sys.TypeChar) || both(sys.TypeBlock)))
	if of&(Xattrs|ACL) != 0 && len(a.Xattrs)+len(b.Xattrs) > 0 {
		d |= diffXattrs(a.Xattrs, b.Xattrs)
	}
	return d & of
}

// diffXattrs merges two lists sorted by name.
func diffXattrs(a, b []Xattr) Mask {
	var d Mask
	for len(a) > 0 || len(b) > 0 {
		var name string
		var x, y []byte
		inA := len(b) == 0 || len(a) > 0 && a[0].Name <= b[0].Name
		inB := len(a) == 0 || len(b) > 0 && b[0].Name <= a[0].Name
		if inA {
			name, x, a = a[0].Name, a[0].Value, a[1:]
		}
		if inB {
			name, y, b = b[0].Name, b[0].Value, b[1:]
		}
		switch p := PartOf(name); {
		case p == ACL:
			if !sameACL(name == AccessACL, x, y) {
				d |= ACL
			}
		case p == Xattrs:
			if inA != inB && removable(name) || inA && inB && !bytes.Equal(x, y) {
				d |= Xattrs
			}
		}
	}
	return d
}
