package meta

import (
	"encoding/binary"
	"errors"
	"slices"
)

// The attributes that hold POSIX ACLs, as Linux names them: who may use a file,
// and what new entries of a directory inherit.
const (
	AccessACL  = "system.posix_acl_access"
	DefaultACL = "system.posix_acl_default"
)

// Tag says whom an entry of an ACL is about. The values are the kernel's.
type Tag uint16

// The tags, in the order an ACL lists them.
const (
	TagUserObj  Tag = 0x01 // the owner
	TagUser     Tag = 0x02 // the user ID
	TagGroupObj Tag = 0x04 // the owning group
	TagGroup    Tag = 0x08 // the group ID
	TagMask     Tag = 0x10 // the most that all but owner and others get
	TagOther    Tag = 0x20 // everyone else
)

// NoID is the ID of entries that name no user or group.
const NoID = ^uint32(0)

// ACLEntry is one line of an ACL. Perm holds the bits r=4, w=2, x=1.
type ACLEntry struct {
	Tag  Tag
	Perm uint16
	ID   uint32 // of TagUser and TagGroup, else NoID
}

// PosixACL is a POSIX.1e access control list, its entries in Sort's order.
type PosixACL []ACLEntry

// The binary form: a version, then 8 bytes an entry, all little endian.
const (
	aclVersion    = 2
	aclHeaderLen  = 4
	aclEntryLen   = 8
	aclMaxEntries = (64<<10 - aclHeaderLen) / aclEntryLen // the kernel's longest attribute value
)

var errACL = errors.New("malformed ACL")

// ParseACL reads the value of AccessACL or DefaultACL. It takes what the kernel
// would take, in any order of entries, and sorts it.
func ParseACL(b []byte) (PosixACL, error) {
	if len(b) < aclHeaderLen || (len(b)-aclHeaderLen)%aclEntryLen != 0 || binary.LittleEndian.Uint32(b) != aclVersion {
		return nil, errACL
	}
	b = b[aclHeaderLen:]
	if len(b)/aclEntryLen > aclMaxEntries {
		return nil, errACL
	}
	a := make(PosixACL, 0, len(b)/aclEntryLen)
	for ; len(b) > 0; b = b[aclEntryLen:] {
		e := ACLEntry{
			Tag:  Tag(binary.LittleEndian.Uint16(b)),
			Perm: binary.LittleEndian.Uint16(b[2:]),
			ID:   binary.LittleEndian.Uint32(b[4:]),
		}
		if e.Tag != TagUser && e.Tag != TagGroup {
			e.ID = NoID
		}
		a = append(a, e)
	}
	a.Sort()
	if len(a) > 0 && !a.Valid() {
		return nil, errACL
	}
	return a, nil
}

// Append appends the binary form to b.
func (a PosixACL) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, aclVersion)
	for _, e := range a {
		b = binary.LittleEndian.AppendUint16(b, uint16(e.Tag))
		b = binary.LittleEndian.AppendUint16(b, e.Perm)
		b = binary.LittleEndian.AppendUint32(b, e.ID)
	}
	return b
}

// Sort puts the entries in the canonical order: by tag, then by ID.
func (a PosixACL) Sort() {
	slices.SortFunc(a, func(x, y ACLEntry) int {
		if x.Tag != y.Tag {
			return int(x.Tag) - int(y.Tag)
		}
		switch {
		case x.ID < y.ID:
			return -1
		case x.ID > y.ID:
			return 1
		}
		return 0
	})
}

// Valid reports whether a sorted ACL is one: owner, owning group and others
// once each, a mask if anyone is named and at most one, nobody named twice.
func (a PosixACL) Valid() bool {
	var count [TagOther + 1]int
	for i, e := range a {
		switch e.Tag {
		case TagUserObj, TagGroupObj, TagMask, TagOther:
			if e.ID != NoID || count[e.Tag] > 0 {
				return false
			}
		case TagUser, TagGroup:
			if e.ID == NoID || i > 0 && a[i-1].Tag == e.Tag && a[i-1].ID == e.ID {
				return false
			}
		default:
			return false
		}
		if e.Perm > 7 {
			return false
		}
		count[e.Tag]++
	}
	named := count[TagUser]+count[TagGroup] > 0
	return count[TagUserObj] == 1 && count[TagGroupObj] == 1 && count[TagOther] == 1 && (!named || count[TagMask] == 1)
}

// FromMode is the ACL that permission bits alone stand for.
func FromMode(mode uint32) PosixACL {
	return PosixACL{
		{TagUserObj, uint16(mode >> 6 & 7), NoID},
		{TagGroupObj, uint16(mode >> 3 & 7), NoID},
		{TagOther, uint16(mode & 7), NoID},
	}
}

// Minimal reports whether permission bits alone can say the same.
func (a PosixACL) Minimal() bool {
	for _, e := range a {
		switch e.Tag {
		case TagUser, TagGroup, TagMask:
			return false
		}
	}
	return true
}

// Perm is the permission bits a file with this access ACL has: the group's are
// those of the mask if there is one.
func (a PosixACL) Perm() uint32 {
	g, masked := a.perm(TagMask)
	if !masked {
		g, _ = a.perm(TagGroupObj)
	}
	u, _ := a.perm(TagUserObj)
	o, _ := a.perm(TagOther)
	return u<<6 | g<<3 | o
}

// StrictPerm is the permission bits that give nobody more than the ACL does, as
// far as bits can tell: the owning group's own ones, cut by the mask.
func (a PosixACL) StrictPerm() uint32 {
	p := a.Perm()
	g, _ := a.perm(TagGroupObj)
	return p & (g<<3 | 0o707)
}

func (a PosixACL) perm(t Tag) (uint32, bool) {
	for _, e := range a {
		if e.Tag == t {
			return uint32(e.Perm), true
		}
	}
	return 0, false
}

// sameACL compares two values of one ACL attribute, absent ones empty. An
// access ACL that says no more than the mode counts as absent.
func sameACL(access bool, x, y []byte) bool {
	if string(x) == string(y) {
		return true
	}
	a, errA := parseIf(x, access)
	b, errB := parseIf(y, access)
	return errA == nil && errB == nil && slices.Equal(a, b)
}

func parseIf(v []byte, access bool) (PosixACL, error) {
	if len(v) == 0 {
		return nil, nil
	}
	a, err := ParseACL(v)
	if err == nil && access && a.Minimal() {
		a = nil
	}
	return a, err
}
