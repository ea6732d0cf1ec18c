package meta

import "strings"

// String names the parts: "owner, group".
func (m Mask) String() string {
	var parts []string
	for _, p := range [...]struct {
		bit  Mask
		name string
	}{
		{Type, "type"}, {Size, "size"}, {Target, "target"}, {Rdev, "device number"}, {Mode, "mode"}, {Owner, "owner"},
		{Group, "group"}, {Mtime, "mtime"}, {Atime, "atime"}, {Xattrs, "extended attributes"}, {ACL, "ACL"},
	} {
		if m&p.bit != 0 {
			parts = append(parts, p.name)
		}
	}
	return strings.Join(parts, ", ")
}
