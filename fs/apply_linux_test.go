package fs_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gohaul/haul/fs"
	"github.com/gohaul/haul/test/testtree"
	"pgregory.net/rapid"
)

// TestChangesApply holds Changes to its promise: carried out in their order,
// the changes turn a copy of a into b.
func TestChangesApply(t *testing.T) {
	gen := testtree.Gen(testtree.Shape{Entries: 12, FileSize: 5000, HoleSize: 10000})
	rapid.Check(t, func(rt *rapid.T) {
		keep := gen.Draw(rt, "in both")
		root := t.TempDir()
		a, b := filepath.Join(root, "a"), filepath.Join(root, "b")
		for dir, name := range map[string]string{a: "only before", b: "only after"} {
			os.Mkdir(dir, 0o755)
			text := gen.Draw(rt, name)
			if testtree.Make(dir, keep) != nil || testtree.Make(dir, text) != nil {
				rt.Skip("the two halves of a tree do not fit")
			}
		}
		var steps []func() error // taken later: the walk over a is not to see them
		err := fs.Changes(t.Context(), a, b, func(k fs.ChangeKind, path string, fi os.FileInfo, err error) error {
			steps = append(steps, func() error { return carryOut(a, b, k, path, fi) })
			return err
		})
		for _, step := range steps {
			err = errors.Join(err, step())
		}
		if err != nil {
			rt.Fatal(err)
		}
		if diff, err := testtree.Diff(b, a, testtree.Mode|testtree.Content); err != nil || diff != "" {
			rt.Fatalf("%v\n%s", err, diff)
		}
	})
}

// carryOut makes one change to the tree a as it was made to b. It leans on the
// order of changes: parents first, and nothing beneath what went.
func carryOut(a, b string, k fs.ChangeKind, path string, fi os.FileInfo) error {
	at, from := filepath.Join(a, path), filepath.Join(b, path)
	switch k {
	case fs.ChangeKindUnmodified:
		return nil
	case fs.ChangeKindDelete:
		if filepath.Base(path) == ".wh..opq" {
			return empty(filepath.Dir(at))
		}
		return os.RemoveAll(at)
	}
	if !fi.IsDir() {
		return errors.Join(os.RemoveAll(at), makeAlike(at, from, fi))
	}
	old, err := os.Lstat(at)
	if err == nil && !old.IsDir() {
		err = os.Remove(at)
	}
	if err == nil && !old.IsDir() || errors.Is(err, os.ErrNotExist) {
		err = os.Mkdir(at, 0o700)
	}
	return errors.Join(err, os.Chmod(at, fi.Mode()))
}

// makeAlike makes an entry that is no directory.
func makeAlike(at, from string, fi os.FileInfo) error {
	switch st := fi.Sys().(*syscall.Stat_t); st.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		return errors.Join(fs.CopyFile(at, from), os.Chmod(at, fi.Mode()))
	case syscall.S_IFLNK:
		to, err := os.Readlink(from)
		return errors.Join(err, os.Symlink(to, at))
	default:
		return errors.Join(syscall.Mknod(at, st.Mode, int(st.Rdev)), os.Chmod(at, fi.Mode()))
	}
}

// empty removes all that is in a directory, if there is one.
func empty(dir string) error {
	list, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	for _, e := range list {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}
