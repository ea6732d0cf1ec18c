package fs

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/internal/tree"
)

// ChangeKind is the type of modification that a change is making.
type ChangeKind int

// The kinds are untyped constants, as they are in continuity.
const (
	// ChangeKindUnmodified represents an unmodified file.
	ChangeKindUnmodified = iota

	// ChangeKindAdd represents an addition of a file.
	ChangeKindAdd

	// ChangeKindModify represents a change to an existing file.
	ChangeKindModify

	// ChangeKindDelete represents a delete of a file.
	ChangeKindDelete
)

// String is the kind in a word, "" for an unknown one.
func (k ChangeKind) String() string {
	names := [...]string{"unmodified", "add", "modify", "delete"}
	if k < 0 || int(k) >= len(names) {
		return ""
	}
	return names[k]
}

// Change represents single change between a diff and its parent.
type Change struct {
	Kind ChangeKind
	Path string
}

// ChangeFunc is the type of function called for each change computed during a
// directory changes calculation. The path begins with a separator, which stands
// for the root of the changed directory. The info is that of os.Lstat in the
// changed directory, nil for a delete. An error it returns ends the calculation
// and is its result.
type ChangeFunc func(ChangeKind, string, os.FileInfo, error) error

// Changes computes the changes that lead from the directory a to the directory b
// and calls changeFn for each. An empty a stands for an empty directory. What
// differs is the kind of a file, its mode, owner, device number, size, time of
// last change or capabilities; of directories size and time do not count. The
// roots themselves are not compared.
//
// The calls come in the order of path names, parents before what is beneath
// them, so that the changes can be applied in that order. Thus
//   - of a directory that was removed, only the directory itself is a change;
//   - so it is with a directory that became something else: what was beneath it
//     has no changes of its own;
//   - of a file that has several names and is the same in both directories, each
//     name is told as unmodified, for those who must keep the names together.
//
// Times may have been cut to whole seconds by an archive. If either of two files
// has zero nanoseconds and their seconds agree, their contents decide: they are
// read and compared.
func Changes(ctx context.Context, a, b string, changeFn ChangeFunc) error {
	return eachChange(ctx, a, b, func(kind ChangeKind, path string, _ *sys.Stat) error {
		return tell(changeFn, kind, b, path)
	})
}

// tell calls changeFn about a path, relative to dir and with slashes.
func tell(changeFn ChangeFunc, kind ChangeKind, dir, path string) error {
	name := filepath.Join(string(filepath.Separator), filepath.FromSlash(path))
	if kind == ChangeKindDelete {
		return changeFn(kind, name, nil, nil)
	}
	info, err := lstat(dir, path)
	if err != nil {
		return err
	}
	return changeFn(kind, name, info, nil)
}

// lstat is os.Lstat, for paths of any length.
func lstat(dir, path string) (os.FileInfo, error) {
	info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(path)))
	if !errors.Is(err, syscall.ENAMETOOLONG) {
		return info, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	info, err = root.Lstat(filepath.FromSlash(path))
	return info, errors.Join(err, root.Close())
}

// eachChange does the work of Changes; paths are relative and st is nil for a
// delete.
func eachChange(ctx context.Context, a, b string, f func(kind ChangeKind, path string, st *sys.Stat) error) error {
	before := iter.Seq2[tree.Entry, error](func(func(tree.Entry, error) bool) {})
	if a != "" {
		base, err := sys.OpenRoot(a)
		if err != nil {
			return err
		}
		defer base.Close()
		before = tree.Walk(ctx, base, tree.Options{})
	}
	changed, err := sys.OpenRoot(b)
	if err != nil {
		return err
	}
	defer changed.Close()

	c := &comparer{ctx: ctx}
	gone := "" // all that was beneath it went with it
	for p, err := range tree.Merge(before, tree.Walk(ctx, changed, tree.Options{})) {
		if p.B == nil && gone != "" && tree.Beneath(p.Path, gone) {
			continue
		}
		if err != nil {
			return err
		}
		if p.Path == "." {
			continue
		}
		kind, err := c.kind(p.A, p.B)
		if err != nil {
			return err
		}
		if p.A != nil && p.A.Meta.IsDir() && (p.B == nil || !p.B.Meta.IsDir()) {
			gone = p.Path
		}
		if kind == ChangeKindUnmodified && (p.B.Meta.IsDir() || p.B.Meta.Nlink < 2) {
			continue
		}
		var st *sys.Stat
		if p.B != nil {
			st = &p.B.Meta.Stat
		}
		if err := f(kind, p.Path, st); err != nil {
			return err
		}
	}
	return nil
}
