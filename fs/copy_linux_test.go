package fs_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gohaul/haul/fs"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/testtree"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// needRoot leaves a test out with -short, and fails it where it cannot run.
func needRoot(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes root")
	}
	if os.Geteuid() != 0 {
		t.Fatal("takes root; go test -short leaves this out")
	}
}

// TestCopyDirAnything copies trees of all there is.
func TestCopyDirAnything(t *testing.T) {
	needRoot(t)
	gen := testtree.Gen(testtree.Shape{Entries: 16, Privileged: true, Xattrs: true, ACLs: true})
	rapid.Check(t, func(rt *rapid.T) {
		root := t.TempDir()
		src, dst := root+"/src", root+"/dst"
		if err := testtree.Make(src, gen.Draw(rt, "tree")); err != nil {
			rt.Fatal(err)
		}
		if err := fs.CopyDir(dst, src); err != nil {
			rt.Fatal(err)
		}
		if diff, err := testtree.Diff(src, dst, testtree.All); err != nil || diff != "" {
			rt.Fatalf("%v\n%s", err, diff)
		}
	})
}

// TestCopyDirLinksOnTwoDevices copies files with equal inode numbers from two
// file systems: the names of one are not names of the other.
func TestCopyDirLinksOnTwoDevices(t *testing.T) {
	needRoot(t)
	src := t.TempDir()
	inode := map[string]uint64{}
	for _, name := range []string{"a", "b"} {
		dir := filepath.Join(src, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
			t.Fatal("mounting a tmpfs: ", err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		})
		testtree.Build(t, dir, "f 0644 f text:\""+name+"\"\nh g = f")
		fi, err := os.Stat(dir + "/f")
		if err != nil {
			t.Fatal(err)
		}
		inode[name], _ = fs.GetLinkInfo(fi)
	}
	if inode["a"] != inode["b"] {
		t.Fatalf("the test needs equal inode numbers, not %v", inode)
	}
	dst := t.TempDir()
	if err := fs.CopyDir(dst, src); err != nil {
		t.Fatal(err)
	}
	testtree.Want(t, dst, "f 0644 a/f text:a\nh a/g = a/f\nf 0644 b/f text:b\nh b/g = b/f", testtree.Content|testtree.Links)
}

// TestCopyDirOwner: an owner that cannot be set is an error, as it says.
func TestCopyDirOwner(t *testing.T) {
	needRoot(t)
	for _, tree := range []string{"f 0644 f data:9 uid=12345", "d 0755 d gid=12345", "l l -> x uid=12345", "p 0644 p uid=12345"} {
		src, dst := build(t, tree), t.TempDir()
		restore := sys.Inject(func(op sys.Op) sys.Fault {
			if op.Call == "fchown" || op.Call == "fchownat" {
				return sys.Fault{Err: unix.EPERM}
			}
			return sys.Fault{}
		})
		err := fs.CopyDir(dst, src)
		restore()
		if !errors.Is(err, os.ErrPermission) {
			t.Errorf("of %q: %v", tree, err)
		}
	}
}

// TestCopyFileSpecial writes to what has no length, and reads what lies about it.
func TestCopyFileSpecial(t *testing.T) {
	needRoot(t)
	dir := build(t, "f 0644 s data:70000\nc 0666 null 1 3\np 0600 fifo")
	if err := fs.CopyFile(dir+"/null", dir+"/s", fs.WithFileSync()); err != nil {
		t.Error("to a device: ", err)
	}
	if err := fs.CopyFile(dir+"/new", dir+"/null"); err != nil {
		t.Error("from a device: ", err)
	}
	read := make(chan error)
	go func() {
		data, err := os.ReadFile(dir + "/fifo")
		if len(data) != 70000 {
			err = errors.Join(err, errors.New("not all arrived"))
		}
		read <- err
	}()
	if err := errors.Join(fs.CopyFile(dir+"/fifo", dir+"/s"), <-read); err != nil {
		t.Error("to a FIFO: ", err)
	}
	if err := fs.CopyFile(dir+"/new2", dir+"/fifo"); err == nil {
		t.Error("from a FIFO with nobody writing: no error")
	}
	testtree.Want(t, dir, "f 0644 s data:70000\nc 0666 null 1 3\np 0600 fifo\nf 0644 new", testtree.Content)
	if err := fs.CopyFile(dir+"/version", "/proc/version"); err != nil {
		t.Error("from /proc: ", err)
	}
	want, err := os.ReadFile("/proc/version")
	got, gotErr := os.ReadFile(dir + "/version")
	if err != nil || gotErr != nil || string(got) != string(want) {
		t.Errorf("from /proc: %q, %v, %v", got, err, gotErr)
	}
}
