package testtree

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Tags of a POSIX ACL entry as the kernel numbers them (include/uapi/linux/posix_acl.h).
const (
	tagUserObj  = 0x01
	tagUser     = 0x02
	tagGroupObj = 0x04
	tagGroup    = 0x08
	tagMask     = 0x10
	tagOther    = 0x20

	noID = 0xffffffff
)

type ace struct {
	tag, perm uint16
	id        uint32
}

type acl []ace

// parseACL reads u:1000:rw-,g::r-x,m::rwx,o::---.
func parseACL(s string) (acl, error) {
	var out acl
	for entry := range strings.SplitSeq(s, ",") {
		e, err := parseACE(entry)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func parseACE(s string) (ace, error) {
	f := strings.Split(s, ":")
	if len(f) != 3 || len(f[2]) != 3 {
		return ace{}, fmt.Errorf("bad ACL entry %q, want u:1000:rw-", s)
	}
	e := ace{id: noID}
	for i, c := range f[2] {
		switch {
		case byte(c) == "rwx"[i]:
			e.perm |= 4 >> i
		case c != '-':
			return ace{}, fmt.Errorf("bad ACL entry %q, want u:1000:rw-", s)
		}
	}
	tags := map[string][2]uint16{"u": {tagUserObj, tagUser}, "g": {tagGroupObj, tagGroup}, "m": {tagMask, 0}, "o": {tagOther, 0}}
	tag := tags[f[0]]
	if e.tag = tag[0]; f[1] != "" {
		id, err := strconv.ParseUint(f[1], 10, 32)
		if err != nil {
			return ace{}, fmt.Errorf("bad id in ACL entry %q", s)
		}
		e.tag, e.id = tag[1], uint32(id)
	}
	if e.tag == 0 {
		return ace{}, fmt.Errorf("bad ACL entry %q, want u:, g:, m: or o: first", s)
	}
	return e, nil
}

// complete adds the base entries from mode and the mask as the union of the
// group class, where they are missing, and sorts as the kernel wants it.
func (a acl) complete(mode uint32) acl {
	out := slices.Clone(a)
	has := func(tag uint16) bool {
		return slices.ContainsFunc(out, func(e ace) bool { return e.tag == tag })
	}
	for tag, shift := range map[uint16]uint{tagUserObj: 6, tagGroupObj: 3, tagOther: 0} {
		if !has(tag) {
			out = append(out, ace{tag, uint16(mode>>shift) & 7, noID})
		}
	}
	if !has(tagMask) && (has(tagUser) || has(tagGroup)) {
		var union uint16
		for _, e := range out {
			if e.tag&(tagUser|tagGroupObj|tagGroup) != 0 {
				union |= e.perm
			}
		}
		out = append(out, ace{tagMask, union, noID})
	}
	slices.SortFunc(out, func(x, y ace) int {
		return cmp.Or(cmp.Compare(x.tag, y.tag), cmp.Compare(x.id, y.id))
	})
	return out
}

// encode is the form of system.posix_acl_access (posix_acl_xattr.h, version 2).
func (a acl) encode() []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range a {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

func decodeACL(b []byte) (acl, error) {
	if len(b) < 4 || len(b)%8 != 4 || binary.LittleEndian.Uint32(b) != 2 {
		return nil, fmt.Errorf("not a version 2 ACL: %x", b)
	}
	var a acl
	for b = b[4:]; len(b) > 0; b = b[8:] {
		a = append(a, ace{
			tag:  binary.LittleEndian.Uint16(b),
			perm: binary.LittleEndian.Uint16(b[2:]),
			id:   binary.LittleEndian.Uint32(b[4:]),
		})
	}
	return a, nil
}

func (a acl) String() string {
	names := map[uint16]string{tagUserObj: "u", tagUser: "u", tagGroupObj: "g", tagGroup: "g", tagMask: "m", tagOther: "o"}
	var out []string
	for _, e := range a {
		id := ""
		if e.tag == tagUser || e.tag == tagGroup {
			id = strconv.FormatUint(uint64(e.id), 10)
		}
		perm := []byte("---")
		for i := range perm {
			if e.perm&(4>>i) != 0 {
				perm[i] = "rwx"[i]
			}
		}
		out = append(out, fmt.Sprintf("%s:%s:%s", names[e.tag], id, perm))
	}
	return strings.Join(out, ",")
}
