// Package testtree writes file trees as text: one line an entry, built on a
// real file system, described from one, and compared line by line.
//
//	d 0755 a
//	f 0644 a/img data:64k hole:1G data:1 mtime=2001-02-03T04:05:06.789012345Z
//	h a/b = a/img
//	l x -> y uid=1000
//	p 0600 fifo
//	s 0755 sock
//	c 0600 dev 1 3
//	b 0600 blk 7 0
//
// A line is a kind, permissions in octal (not for h and l), a name beneath the
// root, what the kind needs, and attributes. Empty lines and lines that start
// with # are skipped. Missing parents are made with mode 0755; "d 0700 ." is the
// root itself. A file or link replaces what stands under its name.
//
// Words. A word without spaces stands bare; anything else is a Go string,
// "with\nnewline \xff". Bare parts expand {1..1000} (and {001..100}, with its
// zeros); a right side (after = or ->) with as many ranges of the same lengths
// runs along. Sizes are bytes, or end in k, M, G, T, P, E (powers of 1024).
//
// Content of f, in order from offset 0:
//
//	data:SIZE        pseudo-random bytes without a zero byte, from path and offset
//	data:SIZE@SEED   the same from SEED alone, so that files can share content
//	zero:SIZE        zero bytes, written
//	hole:SIZE        not written
//	falloc:SIZE      allocated, not written (unwritten extent)
//	text:"literal"   these bytes
//	rep:"A"*513      these bytes, so many times
//
// Attributes: mtime=, atime= (RFC 3339 with nanoseconds), uid=, gid=,
// xattr:NAME=VALUE (both may be quoted), acl= and dacl= (access and default ACL,
// u:1000:rw-,g::r-x,m::rwx,o::---; entries left out are filled as setfacl does:
// the base entries from the mode, the mask from the union of the group class).
package testtree

import "testing"

// Mask says which properties of a tree Describe shows and Equal compares. Names,
// kinds, link targets and device numbers always count.
type Mask uint

const (
	Root     Mask = 1 << iota // the root directory itself, as "."
	Mode                      // permissions, set-id and sticky bits
	Owner                     // uid and gid
	Content                   // size and bytes of regular files
	Mtime                     // of everything but directories, in nanoseconds
	DirMtime                  // of directories
	Atime                     // of everything
	Xattrs                    // extended attributes, without ACLs and SELinux labels
	ACLs                      // POSIX access and default ACLs
	Links                     // which names share an inode
	Extents                   // data and holes as SEEK_DATA tells them
	Blocks                    // allocated bytes of regular files; sync before, allocation may be late

	// Times are the modification times of all entries.
	Times = Mtime | DirMtime
	// All is what a faithful copy keeps.
	All = Root | Mode | Owner | Content | Times | Xattrs | ACLs | Links
)

// Build makes the tree that text describes beneath root, which is made if
// missing. Directories get their mode, owner and times last.
func Build(t testing.TB, root, text string) {
	t.Helper()
	if err := Make(root, text); err != nil {
		t.Fatalf("testtree.Build: %v", err)
	}
}

// Equal fails the test with a line diff if the trees a and b differ in what.
func Equal(t testing.TB, a, b string, what Mask) {
	t.Helper()
	diff, err := Diff(a, b, what)
	if err != nil {
		t.Fatalf("testtree.Equal: %v", err)
	}
	if diff != "" {
		t.Errorf("trees differ (- %s, + %s):\n%s", a, b, diff)
	}
}

// Want fails the test with a line diff if the tree at root is not the one that
// text describes: it builds text in a directory of its own and compares. What
// text leaves open (times, say) should not be in what.
func Want(t testing.TB, root, text string, what Mask) {
	t.Helper()
	want := t.TempDir()
	Build(t, want, text)
	diff, err := Diff(want, root, what)
	if err != nil {
		t.Fatalf("testtree.Want: %v", err)
	}
	if diff != "" {
		t.Errorf("%s is not as wanted (- want, + got):\n%s", root, diff)
	}
}

// Describe gives the canonical text of a real tree: a line an entry, parents
// first, names in byte order. Files of at most 64 bytes show their text, others
// a size and a sum that is the same for holes and written zeros. Reading leaves
// access times alone where the kernel lets it.
func Describe(root string, what Mask) (string, error) {
	items, err := describe(root, what)
	if err != nil {
		return "", err
	}
	return join(items), nil
}

// Diff is Equal without a test: "" if the trees are the same in what.
func Diff(a, b string, what Mask) (string, error) {
	left, err := describe(a, what)
	if err != nil {
		return "", err
	}
	right, err := describe(b, what)
	if err != nil {
		return "", err
	}
	return diff(left, right), nil
}
