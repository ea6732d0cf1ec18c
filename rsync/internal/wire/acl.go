package wire

import "strconv"

const maxACLNames = 1 << 16

// No says that an [ACL] lacks a part.
const No int8 = -1

// ACL is a POSIX access control list as it travels: an access ACL without what
// the file's mode tells anyway, a default ACL whole (§8.6).
type ACL struct {
	User, Group, Mask, Other int8 // permissions 0 to 7, or No
	Names                    []ACLName
}

// EmptyACL has no part at all; as a default ACL it says that there is none.
var EmptyACL = ACL{User: No, Group: No, Mask: No, Other: No}

// ACLName is the entry of one user or group.
type ACLName struct {
	ID    uint32
	User  bool // else a group
	Perms uint8
}

// Bits of a literal's first byte: which parts follow.
const (
	aclUser = 1 << iota
	aclGroup
	aclMask
	aclOther
	aclNames
)

// ACLTable holds the distinct ACLs of one kind, access or default, that a
// session has seen. Its literals are numbered; a repeated one is sent by number.
type ACLTable struct{ table[ACL] }

// At is the ACL at position i, as entries name it.
func (t *ACLTable) At(i int32) *ACL { return &t.list[i] }

// Add returns the position of an ACL equal to a, which it adds if there is none.
func (t *ACLTable) Add(a ACL) int32 {
	t.key = a.appendKey(t.key[:0])
	return t.place(a)
}

func (a *ACL) appendKey(k []byte) []byte {
	k = append(k, byte(a.User), byte(a.Group), byte(a.Mask), byte(a.Other))
	for _, n := range a.Names {
		k = strconv.AppendUint(k, uint64(n.ID), 36)
		k = strconv.AppendBool(k, n.User)
		k = append(k, n.Perms)
	}
	return k
}

// put writes the number of ACL i or, the first time, the ACL itself.
func (t *ACLTable) put(w *Writer, i int32, c *Encoder) {
	if !t.putNumber(w, i) {
		t.list[i].put(w, c)
	}
}

func (a *ACL) put(w *Writer, c *Encoder) {
	parts := [4]int8{a.User, a.Group, a.Mask, a.Other}
	flags := 0
	for i, p := range parts {
		if p >= 0 {
			flags |= 1 << i
		}
	}
	if len(a.Names) > 0 {
		flags |= aclNames
	}
	w.Byte(byte(flags))
	for _, p := range parts {
		if p >= 0 {
			w.Varint(int32(p))
		}
	}
	if len(a.Names) == 0 {
		return
	}
	w.Varint(int32(len(a.Names)))
	for _, n := range a.Names {
		owners, access := &c.Groups, int32(n.Perms)<<2
		if n.User {
			owners, access = &c.Users, access|2
		}
		name := owners.use(n.ID, &c.f)
		if name != "" {
			access |= 1
		}
		w.Varint(int32(n.ID))
		w.Varint(access)
		if name != "" {
			w.ShortString(name)
		}
	}
}

// read reads a block and returns its position.
func (t *ACLTable) read(r *Reader, d *Decoder) int32 {
	i, literal := t.readNumber(r, "ACL number")
	if !literal || r.err != nil {
		return i
	}
	a := readACL(r, d)
	if r.err != nil {
		return 0
	}
	return t.append(a)
}

func readACL(r *Reader, d *Decoder) ACL {
	a := EmptyACL
	flags := r.Byte()
	if flags >= aclNames<<1 {
		r.fail(ExitStream, "ACL flags %#x", flags)
	}
	for i, p := range []*int8{&a.User, &a.Group, &a.Mask, &a.Other} {
		if flags&(1<<i) != 0 {
			*p = int8(aclPerms(r, r.Varint()))
		}
	}
	if flags&aclNames == 0 {
		return a
	}
	count := r.Varint()
	if r.err == nil && (count < 0 || count > maxACLNames) {
		r.fail(ExitProtocol, "ACL of %d names", count)
	}
	for i := int32(0); i < count && r.err == nil; i++ {
		n := ACLName{ID: uint32(r.Varint())}
		access := r.Varint()
		n.User = access&2 != 0
		n.Perms = aclPerms(r, access>>2)
		owners := &d.Groups
		if n.User {
			owners = &d.Users
		}
		if access&1 != 0 {
			owners.learn(n.ID, r.ShortString())
		} else {
			owners.note(n.ID)
		}
		a.Names = append(a.Names, n)
	}
	return a
}

// aclPerms refuses bits that are no permissions, which macOS knows.
func aclPerms(r *Reader, v int32) uint8 {
	if v < 0 || v > 7 {
		r.fail(ExitStream, "ACL permissions %#x", v)
		return 0
	}
	return uint8(v)
}
