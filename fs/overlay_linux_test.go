package fs_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gohaul/haul/fs"
	"github.com/gohaul/haul/test/testtree"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// opaque marks a directory as those overlays do that a user may mount: it takes
// no privilege. Whiteouts may be made by everybody since Linux 5.8.
const opaque = " xattr:user.overlay.opaque=y"

func TestDiffDirChanges(t *testing.T) {
	tests := []struct{ name, base, diff, want string }{
		{"empty", "f 0644 f\nd 0755 d", "", ""},
		{"whiteouts", "f 0644 f\nd 0755 d\nf 0644 d/x", "c 0000 f 0 0\nc 0000 d 0 0", "delete /d  delete /f"},
		{"a whiteout of nothing", "", "c 0000 f 0 0\nd 0755 d\nc 0000 d/x 0 0", "add /d"},
		{"a file is a change, alike or not", "f 0644 f data:5@1" + then, "f 0644 f data:5@1" + then + "\nf 0644 g", "modify /f  add /g"},
		{"a directory alike is none", "d 0755 d" + then + "\nf 0644 d/x", "d 0755 d" + then + "\nf 0644 d/x", "modify /d/x"},
		{"a directory of other mode is", "d 0755 d" + then, "d 0700 d" + then, "modify /d"},
		{"or of other time", "d 0755 d" + then + "\nd 0755 e mtime=2001-01-01T00:00:00Z", "d 0755 d\nd 0755 e mtime=2001-01-01T00:00:00.1Z", "modify /d"},
		{"an addition changes its directory", "d 0755 d" + then + "\nd 0755 d/e" + then + "\nf 0644 d/e/x", "d 0755 d" + then + "\nd 0755 d/e" + then + "\nf 0644 d/e/y", "modify /d/e  add /d/e/y"},
		{"a removal too, once", "d 0755 d" + then + "\nf 0644 d/x\nf 0644 d/y", "d 0755 d" + then + "\nc 0000 d/x 0 0\nc 0000 d/y 0 0", "modify /d  delete /d/x  delete /d/y"},
		{"an opaque directory", "d 0755 d" + then + "\nf 0644 d/x\nf 0644 d/y", "d 0755 d" + opaque + then + "\nf 0644 d/x" + then,
			"delete /d/.wh..opq  modify /d  add /d/x"},
		{"a new one", "", "d 0755 d" + opaque + "\nf 0644 d/x", "delete /d/.wh..opq  add /d  add /d/x"},
		{"nothing shows beneath it", "d 0755 d\nd 0755 d/e" + then + "\nf 0644 d/e/x", "d 0700 d" + opaque + "\nd 0755 d/e" + then + "\nc 0000 d/f 0 0",
			"delete /d/.wh..opq  modify /d  add /d/e"},
		{"other values of the mark", "d 0755 d" + then + "\nf 0644 d/x", "d 0755 d xattr:user.overlay.opaque=x" + then + "\nf 0644 d/y", "modify /d  add /d/y"},
		{"a directory that took the place of a file", "f 0644 d\nl e -> .", "d 0755 d\nf 0644 d/x\nd 0755 e\nf 0644 e/d", "modify /d  add /d/x  modify /e  add /e/d"},
		{"also an opaque one", "f 0644 d\nl e -> f\nd 0755 f\nf 0644 f/x", "d 0755 d" + opaque + "\nd 0755 e" + opaque, "modify /d  modify /e"},
		{"and the reverse", "d 0755 d\nf 0644 d/x", "f 0644 d", "modify /d"},
		{"links of the base are not followed", "l a -> nowhere\nl b -> d\nd 0755 d\nf 0644 d/x", "l a -> nowhere\nf 0644 b", "modify /a  modify /b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r recorder
			base, diff := evenly(t, tt.base), evenly(t, tt.diff)
			if err := fs.DiffDirChanges(t.Context(), base, diff, fs.DiffSourceOverlayFS, r.note); err != nil {
				t.Fatal(err)
			}
			r.want(t, tt.want)
		})
	}
}

// evenly builds a tree on /tmp's file system whose directories have one size
// however many entries they have, as long as these are few; on tmpfs, where it
// tells them, the changes would hold one more.
func evenly(t *testing.T, text string) string {
	t.Helper()
	dir := build(t, text)
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	if kind := int64(st.Type) & 0xffffffff; kind == unix.TMPFS_MAGIC || kind == unix.BTRFS_SUPER_MAGIC || kind == unix.XFS_SUPER_MAGIC {
		t.Skip("directories have sizes of their own here: set TMPDIR to ext4")
	}
	return dir
}

func TestDiffDirChangesEnds(t *testing.T) {
	base, diff := build(t, "f 0644 a\nf 0644 b"), build(t, "c 0000 a 0 0\nf 0644 b\nf 0644 c")
	var r recorder
	if err := fs.DiffDirChanges(t.Context(), base+"/none", diff, fs.DiffSourceOverlayFS, r.note); err != nil {
		t.Errorf("without a base: %v", err)
	}
	r.want(t, "add /b  add /c")
	r = recorder{stop: "/a"}
	if err := fs.DiffDirChanges(t.Context(), base, diff, fs.DiffSourceOverlayFS, r.note); err != errEnough {
		t.Errorf("stopping gives %v", err)
	}
	r.want(t, "delete /a")
	if err := fs.DiffDirChanges(t.Context(), base, diff+"/none", fs.DiffSourceOverlayFS, r.note); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a diff directory: %v", err)
	}
	if err := fs.DiffDirChanges(t.Context(), base, diff, fs.DiffSource(9), r.note); err == nil {
		t.Error("an unknown source is taken")
	}
}

// TestOverlayMount has the kernel make the diff directory: random work on a
// mounted overlay, whose changes, carried out on the base, must give what the
// overlay shows.
func TestOverlayMount(t *testing.T) {
	if testing.Short() {
		t.Skip("mounts an overlay")
	}
	if os.Geteuid() != 0 {
		t.Fatal("mounting takes root; go test -short leaves this out")
	}
	gen := testtree.Gen(testtree.Shape{Entries: 12, FileSize: 5000, HoleSize: 10000})
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		for _, d := range []string{"base", "diff", "work", "seen"} {
			if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
				rt.Fatal(err)
			}
		}
		base, diff, seen := dir+"/base", dir+"/diff", dir+"/seen"
		before := gen.Draw(rt, "base")
		if err := testtree.Make(base, before); err != nil {
			rt.Fatal(err)
		}
		if err := unix.Mount("overlay", seen, "overlay", 0, "lowerdir="+base+",upperdir="+diff+",workdir="+dir+"/work,volatile"); err != nil {
			rt.Fatalf("mounting an overlay: %v", err)
		}
		defer func() {
			if err := unix.Unmount(seen, 0); err != nil {
				rt.Error(err)
			}
		}()
		work(rt, seen, gen.Draw(rt, "additions"))
		copied := dir + "/copied"
		if err := fs.CopyDir(copied, base); err != nil {
			rt.Fatal(err)
		}
		err := fs.DiffDirChanges(t.Context(), base, diff, fs.DiffSourceOverlayFS, func(k fs.ChangeKind, path string, fi os.FileInfo, err error) error {
			return carryOut(copied, diff, k, path, fi)
		})
		if err != nil {
			rt.Fatal(err)
		}
		if d, err := testtree.Diff(seen, copied, testtree.Mode|testtree.Content); err != nil || d != "" {
			rt.Fatalf("%v\n%s", err, d)
		}
	})
}

// work changes a tree: some entries go, some of these come again as directories,
// others are added.
func work(rt *rapid.T, dir, additions string) {
	var paths []string
	filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
		if p != dir && err == nil {
			paths = append(paths, p)
		}
		return nil
	})
	for _, p := range paths {
		var err error
		switch rapid.IntRange(0, 4).Draw(rt, "fate of "+strings.TrimPrefix(p, dir)) {
		case 0:
			err = os.RemoveAll(p)
		case 1:
			err = os.RemoveAll(p)
			if e := os.Mkdir(p, 0o711); e == nil {
				err = errors.Join(err, os.WriteFile(filepath.Join(p, "new"), []byte("new"), 0o644))
			} else if !errors.Is(e, os.ErrNotExist) && !errors.Is(e, unix.ENOTDIR) {
				err = errors.Join(err, e)
			}
		case 2:
			if fi, e := os.Lstat(p); e == nil && fi.Mode().IsRegular() {
				err = os.Chmod(p, 0o600)
			}
		}
		if err != nil && !errors.Is(err, unix.ENOTDIR) {
			rt.Fatal(err)
		}
	}
	if err := testtree.Make(dir, additions); err != nil {
		rt.Log("not all additions fit: ", err)
	}
}
