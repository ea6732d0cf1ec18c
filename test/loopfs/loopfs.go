// Package loopfs mounts real file systems for tests and benchmarks: ext4, xfs
// and btrfs on loop devices whose images lie in RAM, and tmpfs. It needs Linux
// 5.8, root and the mkfs tools; in -short mode tests that ask for one skip.
//
// Everything of one file system lies beneath one directory in os.TempDir, on a
// tmpfs of its own: what a killed process leaves behind is swept by the next
// Open, which knows the dead by their lock.
package loopfs

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// Kinds are the file systems that Each visits.
var Kinds = []string{"ext4", "xfs", "btrfs", "tmpfs"}

// DefaultSize is what a size of 0 means, in bytes. Images are sparse.
const DefaultSize = 512 << 20

// minSize is the smallest image each mkfs makes, in bytes; smaller sizes are
// raised to it.
var minSize = map[string]int64{"ext4": 1 << 20, "xfs": 300 << 20, "btrfs": 128 << 20, "tmpfs": 1 << 20}

// FS is a mounted file system. Close it.
type FS struct {
	Kind   string
	Dir    string // mount point, empty, mode 0755
	Image  string // backing file; "" for tmpfs
	Device string // loop device; "" for tmpfs

	room   *room
	guest  bool     // a snapshot: room and host belong to another
	cached bool     // what the device did not flush is lost by a snapshot
	host   *FS      // the file system the image lies on, if it can be cloned
	mount  []string // options
	clones atomic.Int64
}

// Option changes how a file system is made or mounted.
type Option func(*config)

type config struct {
	kind  string
	mkfs  []string
	mount []string
	clone bool
	cache bool
}

// Mkfs adds arguments to mkfs, such as "-I", "128" for ext4's small inodes.
func Mkfs(args ...string) Option {
	return func(c *config) { c.mkfs = append(c.mkfs, args...) }
}

// Options adds mount options as mount -o takes them: "noatime,prjquota".
func Options(list string) Option {
	return func(c *config) { c.mount = append(c.mount, strings.Split(list, ",")...) }
}

// For gives options to one kind only.
func For(kind string, opts ...Option) Option {
	return func(c *config) {
		if c.kind == kind {
			for _, o := range opts {
				o(c)
			}
		}
	}
}

// Cloneable lets Snapshot take copies: the image lies on an xfs of its own, for
// only a clone is a copy of one moment.
func Cloneable() Option {
	return func(c *config) { c.clone = true }
}

// Cached is Cloneable for a disk with a cache that a power cut empties: what was
// written to the device since it was last flushed is not in a snapshot. The cache
// is the page cache of the file system that the image lies on; a flush is an
// fsync there, and the snapshot is taken beneath it.
func Cached() Option {
	return func(c *config) { c.clone, c.cache = true, true }
}

// Open makes a file system of kind (one of Kinds) with size bytes and mounts it.
// What is missing on the machine is told with its remedy.
func Open(kind string, size int64, opts ...Option) (*FS, error) {
	if !slices.Contains(Kinds, kind) {
		return nil, fmt.Errorf("loopfs: kind %q is none of %v", kind, Kinds)
	}
	if size == 0 {
		size = DefaultSize
	}
	c := config{kind: kind}
	for _, o := range opts {
		o(&c)
	}
	f, err := open(&c, max(size, minSize[kind]))
	if err != nil {
		return nil, fmt.Errorf("loopfs: %s: %w", kind, err)
	}
	return f, nil
}

// New is Open for the length of a test. In -short mode it skips; where root or a
// tool is missing it fails and says what to install.
func New(t testing.TB, kind string, size int64, opts ...Option) *FS {
	t.Helper()
	if testing.Short() {
		t.Skipf("-short: %s on a loop device needs root", kind)
	}
	f, err := Open(kind, size, opts...)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, f)
	return f
}

func closeAfter(t testing.TB, f *FS) {
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Mount is New for those who want the mount point only.
func Mount(t testing.TB, kind string, size int64, opts ...Option) string {
	t.Helper()
	return New(t, kind, size, opts...).Dir
}

// Each runs a subtest on a new file system of each kind.
func Each(t *testing.T, size int64, run func(t *testing.T, dir string), opts ...Option) {
	t.Helper()
	for _, kind := range Kinds {
		t.Run(kind, func(t *testing.T) { run(t, Mount(t, kind, size, opts...)) })
	}
}

// Image is New with a backing image that Snapshot can take; not for tmpfs.
func Image(t testing.TB, kind string, size int64, opts ...Option) *FS {
	t.Helper()
	return New(t, kind, size, append(slices.Clone(opts), Cloneable())...)
}

// Snapshot mounts f's image as it is at this moment, which is what a power cut
// would leave on a disk without a cache. See FS.Snapshot.
func Snapshot(t testing.TB, f *FS) string {
	t.Helper()
	s, err := f.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, s)
	return s.Dir
}
