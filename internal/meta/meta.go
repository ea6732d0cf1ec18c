// Package meta is everything about a file but its content: reading it,
// comparing it, and setting it in the one order that works.
package meta

import "github.com/gohaul/haul/internal/sys"

// Stat and Time are the kernel's own view; see package sys.
type (
	Stat = sys.Stat
	Time = sys.Time
)

// Mask names parts of a file's metadata.
type Mask uint16

// The parts.
const (
	Mode   Mask = 1 << iota // permission bits, set-id and sticky
	Owner                   // user
	Group                   // group
	Mtime                   // time of last change, nanoseconds
	Atime                   // time of last access, nanoseconds
	Xattrs                  // extended attributes, ACLs not among them
	ACL                     // POSIX ACLs, access and default
	Type                    // what kind of file (Diff only)
	Size                    // bytes of content (Diff only)
	Target                  // what a symbolic link holds (Diff only)
	Rdev                    // device number (Diff only)

	All = Mode | Owner | Group | Mtime | Atime | Xattrs | ACL
)

// Xattr is one extended attribute. ACLs are the attributes AccessACL and DefaultACL.
type Xattr struct {
	Name  string
	Value []byte
}

// Meta describes one file: what the kernel's stat tells, what a symbolic link
// holds, and extended attributes sorted by name.
type Meta struct {
	Stat
	Target string
	Xattrs []Xattr
}

// Object is a file to read metadata from or to set it on: an open file, or else
// an entry of a directory, never followed.
type Object struct {
	File *sys.File // nil: the entry Name of Dir
	Dir  *sys.Dir
	Name string
}
