package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/testtree"
)

func openRoot(t testing.TB, path string) *sys.Dir {
	t.Helper()
	d, err := sys.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// paths walks a tree and writes errors behind their paths.
func paths(ctx context.Context, root *sys.Dir, o Options) []string {
	var got []string
	for e, err := range Walk(ctx, root, o) {
		line := e.Path
		if err != nil {
			line += "!"
		}
		got = append(got, line)
	}
	return got
}

func TestWalkOrder(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, `
		f 0644 a/b
		f 0644 a.b
		f 0644 "a\x01"
		d 0755 a/c
		f 0644 a/c/d text:"x" mtime=2001-02-03T04:05:06.789012345Z
		l z -> a
	`)
	root := openRoot(t, dir)
	got := paths(t.Context(), root, Options{})
	want := []string{".", "a", "a/b", "a/c", "a/c/d", "a\x01", "a.b", "z"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !slices.IsSortedFunc(got, Compare) {
		t.Error("not in the order of Compare")
	}
	for e, err := range Walk(t.Context(), root, Options{}) {
		var st sys.Stat
		if err == nil {
			err = e.Dir.Lstat(e.Name, &st)
		}
		if err != nil || !st.Same(&e.Meta.Stat) {
			t.Errorf("%s: Dir and Name lead elsewhere: %v", e.Path, err)
		}
		if e.Path == "a/c/d" && e.Meta.Mtime != (meta.Time{Sec: 981173106, Nsec: 789012345}) {
			t.Errorf("mtime %v", e.Meta.Mtime)
		}
		if e.Path == "z" && e.Meta.Target != "a" {
			t.Errorf("link to %q", e.Meta.Target)
		}
	}
	skip := func(path string, m *meta.Meta) bool { return path == "a/c" || m.IsSymlink() }
	if got := paths(t.Context(), root, Options{Skip: skip}); !slices.Equal(got, []string{".", "a", "a/b", "a\x01", "a.b"}) {
		t.Errorf("skipping: %q", got)
	}
	for range Walk(t.Context(), root, Options{}) {
		break // a caller may stop
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for e, err := range Walk(ctx, root, Options{}) {
		last = err
		if e.Path == "a/b" {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("cancelled: %v", last)
	}
}

func TestWalkVanished(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, "f 0644 a\nf 0644 b\nd 0755 c\nf 0644 c/x\nf 0644 d")
	root := openRoot(t, dir)
	var got []string
	for e, err := range Walk(t.Context(), root, Options{}) {
		got = append(got, fmt.Sprint(e.Path, err))
		switch e.Path {
		case "a": // listed, not looked at yet
			os.Remove(filepath.Join(dir, "b"))
		case "c": // looked at, not opened yet
			os.RemoveAll(filepath.Join(dir, "c"))
		}
	}
	if want := []string{".<nil>", "a<nil>", "c<nil>", "d<nil>"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWalkFaults: whichever call fails, the walk names the path and goes on.
func TestWalkFaults(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, "f 0644 a/x\nf 0644 b/x\nf 0644 c")
	for call, want := range map[string][]string{
		"openat b":     {".", "a", "a/x", "b", "b!", "c"},
		"statx b":      {".", "a", "a/x", "b!", "c"},
		"flistxattr .": {".!"},
		"fstat .":      {".!"},
	} {
		root := openRoot(t, dir)
		restore := sys.Inject(func(o sys.Op) (f sys.Fault) {
			if o.Call+" "+o.Name == call {
				f.Err = syscall.EIO
			}
			return f
		})
		got := paths(t.Context(), root, Options{Want: meta.Xattrs})
		for e, err := range Walk(t.Context(), root, Options{Want: meta.Xattrs}) {
			var p *fs.PathError
			if err != nil && (!errors.As(err, &p) || !errors.Is(err, syscall.EIO) || filepath.Join(dir, e.Path) != filepath.Clean(p.Path)) {
				t.Errorf("%s: %s: %v", call, e.Path, err)
			}
		}
		restore()
		if !slices.Equal(got, want) {
			t.Errorf("%s fails: %q, want %q", call, got, want)
		}
	}
	// A listing that fails in the middle, of the root and beneath.
	for depth, want := range [][]string{{".", ".!"}, {".", "a", "a!", "b", "b/x", "c"}} {
		root := openRoot(t, dir)
		n := 0
		restore := sys.Inject(func(o sys.Op) (f sys.Fault) {
			if o.Call == "getdents64" {
				// The root's listing takes two calls, the second tells the end.
				if n++; n == 1+2*depth {
					f.Err = syscall.EIO
				}
			}
			return f
		})
		got := paths(t.Context(), root, Options{})
		restore()
		if !slices.Equal(got, want) {
			t.Errorf("listing fails at depth %d: %q, want %q", depth, got, want)
		}
	}
}

// TestWalkUnreadable is what an ordinary user meets in the middle of a tree.
func TestWalkUnreadable(t *testing.T) {
	if os.Getenv("TREE_WALK") != "" {
		d, err := sys.OpenRoot(os.Getenv("TREE_WALK"))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		fmt.Printf("got:%q\n", paths(t.Context(), d, Options{}))
		return
	}
	if testing.Short() {
		t.Skip("-short: needs root to become another user")
	}
	if os.Getuid() != 0 {
		t.Fatal("this test needs root to become another user")
	}
	dir := publicDir(t)
	testtree.Build(t, dir, "f 0644 a/x\nf 0644 b/x\nd 0300 b\nf 0644 c/x\nd 0400 c\nd 0755 .")
	cmd := exec.Command(publicSelf(t), "-test.run=^TestWalkUnreadable$", "-test.v")
	cmd.Env = append(os.Environ(), "TREE_WALK="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	os.Chown(filepath.Join(dir, "b"), 12345, 12345) // may enter, not list
	os.Chown(filepath.Join(dir, "c"), 12345, 12345) // may list, not enter
	out, err := cmd.CombinedOutput()
	if want := `got:["." "a" "a/x" "b" "b!" "c" "c/x!"]`; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("want %s\n%s%v", want, out, err)
	}
}

// publicDir is a directory that every user reaches.
func publicDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "haul-tree-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	return dir
}

// publicSelf is this program where every user may run it.
func publicSelf(t testing.TB) string {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(publicDir(t), "test")
	if err := os.WriteFile(name, self, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestWalkFollow(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, `
		f 0644 a/x text:"hello"
		l a/up -> ..
		l b -> a
		l c -> a/x
		l dangling -> nowhere
		l self -> self
	`)
	root := openRoot(t, dir)
	// Each link up is a loop; what it leads to is told once more, not entered.
	want := []string{".", "a", "a/up", "a/x", "b", "b/up", "b/x", "c", "dangling", "self"}
	if got := paths(t.Context(), root, Options{Follow: true}); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for e, err := range Walk(t.Context(), root, Options{Follow: true}) {
		link := e.Path == "dangling" || e.Path == "self"
		if err != nil || e.Meta.IsSymlink() != link {
			t.Errorf("%s: mode %o, %v", e.Path, e.Meta.Mode, err)
		}
	}
	if err := syscall.Setxattr(filepath.Join(dir, "a/x"), "user.k", []byte("v"), 0); err != nil {
		t.Skipf("no user attributes here: %v", err)
	}
	for e := range Walk(t.Context(), root, Options{Follow: true, Want: meta.Xattrs}) {
		if e.Path == "c" && (len(e.Meta.Xattrs) != 1 || string(e.Meta.Xattrs[0].Value) != "v") {
			t.Errorf("attributes of what c leads to: %v", e.Meta.Xattrs)
		}
	}
}

func TestOneFileSystem(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs root to mount")
	}
	dir := t.TempDir()
	testtree.Build(t, dir, "f 0644 a/hidden\nf 0644 b")
	if err := syscall.Mount("tmpfs", filepath.Join(dir, "a"), "tmpfs", 0, ""); err != nil {
		t.Fatalf("this test needs root to mount a tmpfs: %v", err)
	}
	defer syscall.Unmount(filepath.Join(dir, "a"), 0)
	os.WriteFile(filepath.Join(dir, "a/x"), nil, 0o644)
	root := openRoot(t, dir)
	if got := paths(t.Context(), root, Options{}); !slices.Equal(got, []string{".", "a", "a/x", "b"}) {
		t.Errorf("everywhere: %q", got)
	}
	if got := paths(t.Context(), root, Options{OneFileSystem: true}); !slices.Equal(got, []string{".", "a", "b"}) {
		t.Errorf("one file system: %q", got)
	}
}

func TestWalkWide(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: 100,000 files")
	}
	dir := publicDir(t)
	testtree.Build(t, dir, "f 0644 f{000000..099999}")
	root := openRoot(t, dir)
	n, last := -1, ""
	for e, err := range Walk(t.Context(), root, Options{}) {
		if err != nil || last != "" && Compare(last, e.Path) >= 0 {
			t.Fatalf("%s after %s: %v", e.Path, last, err)
		}
		last = e.Path
		n++
	}
	if n != 100_000 || last != "f099999" {
		t.Errorf("%d entries, the last %s", n, last)
	}
	root.Rewind()
	buf := make([]byte, BatchSize)
	var list []sys.Dirent
	seen := map[string]bool{}
	for {
		var err error
		if list, err = ReadBatch(root, buf, list[:0]); err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		if !slices.IsSortedFunc(list, func(a, b sys.Dirent) int { return int(int64(a.Ino - b.Ino)) }) {
			t.Fatal("a batch is not in the order of inodes")
		}
		for _, e := range list {
			seen[strings.Clone(e.Name)] = true
		}
	}
	if len(seen) != 100_000 {
		t.Errorf("batches gave %d names", len(seen))
	}
}

// makeDeep makes directories so many levels deep, without a long path.
func makeDeep(t testing.TB, dir string, levels int) {
	t.Helper()
	root := openRoot(t, dir)
	at := root.Retain()
	for range levels {
		if err := at.Mkdir("d", 0o755); err != nil {
			t.Fatal(err)
		}
		sub, err := at.OpenDir("d")
		if err != nil {
			t.Fatal(err)
		}
		at.Close()
		at = sub
	}
	at.Close()
}

func TestWalkDeep(t *testing.T) {
	levels := 4000
	if testing.Short() {
		levels = 400
	}
	dir := publicDir(t)
	makeDeep(t, dir, levels)
	n, longest := -1, 0
	for e, err := range Walk(t.Context(), openRoot(t, dir), Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		longest = len(e.Path)
	}
	if n != levels || longest != 2*levels-1 {
		t.Errorf("%d levels, the longest path %d", n, longest)
	}
}

// TestMergeReal merges two real trees.
func TestMergeReal(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, filepath.Join(dir, "a"), "f 0644 both\nf 0644 left/x\nf 0644 both.d/1\nd 0755 both.d/e")
	testtree.Build(t, filepath.Join(dir, "b"), "f 0644 both\nf 0644 right\nf 0644 both.d/2\nf 0644 both.d/e/deep")
	a, b := openRoot(t, filepath.Join(dir, "a")), openRoot(t, filepath.Join(dir, "b"))
	var got []string
	for p, err := range Merge(Walk(t.Context(), a, Options{}), Walk(t.Context(), b, Options{})) {
		if err != nil {
			t.Fatal(err)
		}
		side := map[[2]bool]string{{true, true}: "=", {true, false}: "<", {false, true}: ">"}[[2]bool{p.A != nil, p.B != nil}]
		got = append(got, side+p.Path)
	}
	want := strings.Fields("=. =both =both.d <both.d/1 >both.d/2 =both.d/e >both.d/e/deep <left <left/x >right")
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
