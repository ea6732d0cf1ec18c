package fs

import (
	"context"
	"fmt"
	"path"

	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/internal/tree"
)

// DiffSource is the source of diff directory.
type DiffSource int

const (
	// DiffSourceOverlayFS indicates that a diff directory is from
	// OverlayFS.
	DiffSourceOverlayFS DiffSource = iota
)

// opaqueMark is the name whose deletion stands for that of all a directory had.
const opaqueMark = ".wh..opq"

// DiffDirChanges walks the diff directory, the upper directory of an OverlayFS,
// and tells the changes it makes to the base directory, in the order and form of
// Changes. The base may be missing. What the overlay covered is not read, so the
// cost is that of the diff directory alone.
//
// A whiteout is told as a delete, if the base has what it covers. Of an opaque
// directory, one that was emptied or made anew, the file ".wh..opq" in it is told
// as deleted before the directory itself, whether there is one or not, unless the
// base has something else than a directory there: no name
// that begins with ".wh." can be a file's, so a receiver that puts the whiteout
// prefix before what is deleted arrives at the opaque whiteout ".wh..wh..opq" of
// https://github.com/opencontainers/image-spec/blob/v1.0/layer.md#whiteouts.
// Nothing that the base has beneath an opaque directory counts.
//
// Files in the diff directory are changes even if they equal those of the base:
// the overlay copied them up for a reason. A directory that equals the one of
// the base is told only if entries were added to it or removed from it.
func DiffDirChanges(ctx context.Context, baseDir, diffDir string, source DiffSource, changeFn ChangeFunc) error {
	if source != DiffSourceOverlayFS {
		return fmt.Errorf("fs: unknown source of a diff directory: %d", source)
	}
	base, err := sys.OpenRoot(baseDir)
	if err != nil && !sys.IsNotExist(err) {
		return err
	}
	diff, err := sys.OpenRoot(diffDir)
	if err != nil {
		if base != nil {
			base.Close()
		}
		return err
	}
	defer diff.Close()
	o := &overlay{levels: []level{{path: ".", base: base, told: true}}}
	o.tell = func(kind ChangeKind, path string) error { return tell(changeFn, kind, diffDir, path) }
	defer o.leave("")
	for e, err := range tree.Walk(ctx, diff, tree.Options{}) {
		if err == nil && e.Path != "." {
			err = o.entry(&e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// overlay is a walk over a diff directory, beside the same directories of the base.
type overlay struct {
	tell   func(kind ChangeKind, path string) error
	levels []level // the directories above the entry at hand, the root first
}

type level struct {
	path string
	base *sys.Dir // nil: the base has no such directory, or none that shows
	told bool     // as a change of its own
}

// leave closes the levels that path is not beneath; "" closes all.
func (o *overlay) leave(path string) {
	for n := len(o.levels) - 1; n >= 0; n-- {
		top := &o.levels[n]
		if path != "" && tree.Beneath(path, top.path) {
			return
		}
		if top.base != nil {
			top.base.Close()
		}
		o.levels = o.levels[:n]
	}
}

func (o *overlay) entry(e *tree.Entry) error {
	o.leave(e.Path)
	top := &o.levels[len(o.levels)-1]
	old, err := lookup(top.base, e.Name)
	if err != nil {
		return err
	}
	if whiteout(&e.Meta.Stat) {
		if old == nil {
			return nil
		}
		return o.change(ChangeKindDelete, e.Path)
	}
	opaque, err := isOpaque(e)
	if err != nil {
		return err
	}
	kind := overlayKind(old, &e.Meta.Stat)
	if opaque && (old == nil || old.IsDir()) { // of anything else nothing stays when it gives way
		if kind == ChangeKindAdd {
			err = o.parent()
		}
		if err == nil {
			err = o.tell(ChangeKindDelete, path.Join(e.Path, opaqueMark))
		}
	}
	if err == nil && kind != ChangeKindUnmodified {
		err = o.change(kind, e.Path)
	}
	if err != nil || !e.Meta.IsDir() {
		return err
	}
	next := level{path: e.Path, told: kind != ChangeKindUnmodified}
	if old != nil && old.IsDir() && !opaque {
		next.base, err = top.base.OpenDir(e.Name)
	}
	o.levels = append(o.levels, next)
	return err
}

// change tells a change. One that adds or removes a name changes the directory
// it stands in as well, which comes first.
func (o *overlay) change(kind ChangeKind, path string) error {
	if kind != ChangeKindModify {
		if err := o.parent(); err != nil {
			return err
		}
	}
	return o.tell(kind, path)
}

func (o *overlay) parent() error {
	top := &o.levels[len(o.levels)-1]
	if top.told {
		return nil
	}
	top.told = true
	return o.tell(ChangeKindModify, top.path)
}

// lookup describes an entry of a directory of the base; nil if there is none.
func lookup(base *sys.Dir, name string) (*sys.Stat, error) {
	if base == nil {
		return nil, nil
	}
	st := new(sys.Stat)
	err := base.Lstat(name, st)
	if sys.IsNotExist(err) {
		return nil, nil
	}
	return st, err
}

// overlayKind says what an entry of the diff directory is to the base.
func overlayKind(old, st *sys.Stat) ChangeKind {
	switch {
	case old == nil:
		return ChangeKindAdd
	case old.IsDir() && st.IsDir() && old.Size == st.Size &&
		likenessOf(old, st) == alike && likenessOfTimes(old.Mtime, st.Mtime) != differs:
		return ChangeKindUnmodified
	}
	return ChangeKindModify
}

// whiteout tells the device that overlayfs puts where something was removed.
func whiteout(st *sys.Stat) bool { return st.Mode&sys.TypeMask == sys.TypeChar && st.Rdev == 0 }

// isOpaque tells a directory that covers all the base has beneath it. The second
// name is that of overlays which an unprivileged user mounts.
func isOpaque(e *tree.Entry) (bool, error) {
	if !e.Meta.IsDir() {
		return false, nil
	}
	var buf [16]byte
	for _, attr := range []string{"trusted.overlay.opaque", "user.overlay.opaque"} {
		v, err := xattr(e.Dir, e.Name, attr, buf[:])
		if err != nil || string(v) == "y" {
			return err == nil, err
		}
	}
	return false, nil
}
