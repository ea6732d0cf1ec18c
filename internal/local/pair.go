package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gohaul/haul/internal/dest"
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/internal/sys"
)

// Errors of a pair that is refused before anything is touched.
var (
	ErrSameFile    = errors.New("source and target are the same file")
	ErrIntoItself  = errors.New("cannot copy a directory into itself")
	ErrDeleteSelf  = errors.New("the source stands beneath the target, where everything else would be deleted")
	ErrDeleteOther = errors.New("another source has the same target, and each would delete what the other brings")
	ErrDangling    = errors.New("not writing through a dangling symbolic link")
	ErrExists      = errors.New("not replacing it")
	ErrDirOver     = errors.New("cannot replace something else by a directory")
	ErrOverDir     = errors.New("cannot replace a directory by something else")
	ErrNoWriter    = errors.New("nobody is writing to this FIFO")
	ErrLoop        = errors.New("symbolic links make a loop of directories")
	ErrChanging    = errors.New("it is being changed by another process")
	ErrDiffers     = errors.New("the copy differs from its source")
)

// pair begins the work on one source. A single file is copied at once.
func (w *worker) pair(p Pair) error {
	var st sys.Stat
	if err := sys.StatPath(p.Src, w.Follow != plan.FollowNever, &st); err != nil {
		return err
	}
	if st.IsDir() {
		return w.dirPair(p, &st)
	}
	dir, name := split(p.Src)
	if name == "" || os.IsPathSeparator(p.Src[len(p.Src)-1]) {
		return &fs.PathError{Op: "open", Path: p.Src, Err: sys.ErrNotDir}
	}
	src, err := w.sourceDir(dir)
	if err != nil {
		return err
	}
	dst, target, err := w.target(p.Dst, &st)
	if err != nil {
		return err
	}
	var old sys.Stat
	if there, err := dst.Look(target, &old); err == nil && there && old.IsDir() && w.Dest.Backup == dest.BackupNone &&
		plan.Decide(&meta.Meta{Stat: st}, &meta.Meta{Stat: old}, &w.Rules) != plan.Skip {
		// In a tree a file may take a directory's place; a whole tree is not lost
		// because a file was given its name.
		return &fs.PathError{Op: "replace", Path: p.Dst, Err: ErrOverDir}
	}
	n := &node{src: src.Retain(), dst: dst.Retain(), dev: st.Dev, named: true}
	n.hold()
	w.entry(n, name, target, st.Mode&sys.TypeMask)
	w.release(n)
	return nil
}

// target finds the directory and the name a file's copy gets. A symbolic link
// that the user named is followed if bytes are to be written: a link, a FIFO or
// a device takes its place and leaves alone what it leads to.
func (w *worker) target(path string, src *sys.Stat) (*dest.Dir, string, error) {
	dir, name := split(path)
	if name == "" || os.IsPathSeparator(path[len(path)-1]) {
		return nil, "", &fs.PathError{Op: "create", Path: path, Err: sys.ErrIsDir}
	}
	d, err := w.targetDir(dir)
	if err != nil {
		return nil, "", err
	}
	var st sys.Stat
	there, err := d.Look(name, &st)
	if err != nil || !there || !st.IsSymlink() || !w.goesThrough(src) {
		return d, name, err
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", &fs.PathError{Op: "create", Path: path, Err: ErrDangling}
	}
	if err != nil {
		return nil, "", &fs.PathError{Op: "create", Path: path, Err: bare(err)}
	}
	dir, name = split(real)
	d, err = w.targetDir(dir)
	return d, name, err
}

// goesThrough reports whether a symbolic link at a named target stands for what
// it leads to.
func (w *worker) goesThrough(src *sys.Stat) bool {
	switch {
	case w.outOfWay(), w.Rules.Update == plan.UpdateNone, w.Rules.Update == plan.UpdateNoneFail:
		return false
	case w.Rules.Form != plan.FormCopy && w.Rules.Form != plan.FormAttributes:
		return false
	}
	return src.IsRegular() || w.isRead(src, true)
}

// dirPair begins the work on a directory. Its target may be there or not.
func (w *worker) dirPair(p Pair, st *sys.Stat) error {
	src, err := sys.OpenRoot(p.Src)
	if err != nil {
		return err
	}
	n := &node{src: src, dev: st.Dev}
	n.meta.Stat = *st
	n.hold()
	err = w.readDirMeta(n)
	if err == nil {
		n.dst, n.existed, err = w.rootDir(p, st, &n.meta)
	}
	if err == nil && n.dst != nil {
		if err = w.scopeRoot(n, p.Src, p.Dst); err != nil {
			n.dst.Close()
		}
	}
	if err != nil || n.dst == nil {
		src.Close()
		return err
	}
	if n.dst.Dir != nil {
		var at sys.Stat
		if err := n.dst.With(func(f *sys.File) error { return f.Stat(&at) }); err != nil {
			n.dst.Close()
			src.Close()
			return err
		}
		w.roots = append(w.roots, at)
	}
	w.began(n)
	w.queue.push(task{node: n, kind: list})
	return nil
}

// rootDir opens or makes the target of a whole tree, after it is sure that
// neither tree is inside of the other in a way that does harm; nil if the rules
// leave what stands there alone.
func (w *worker) rootDir(p Pair, st *sys.Stat, m *meta.Meta) (d *dest.Dir, existed bool, err error) {
	var is sys.Stat
	err = sys.StatPath(p.Dst, true, &is)
	if err != nil && !sys.IsNotExist(err) {
		return nil, false, err
	}
	if err == nil && is.IsDir() {
		if err := w.apart(p, st, p.Dst); err != nil {
			return nil, false, err
		}
		d, err := w.dst.Open(p.Dst)
		if err == nil {
			if err = d.Narrow(m); err != nil {
				d.Close()
			}
		}
		return d, true, err
	}
	dir, name := split(p.Dst)
	if name == "" {
		return nil, false, err
	}
	if err := w.apart(p, st, dir); err != nil {
		return nil, false, err
	}
	parent, err := w.targetDir(dir)
	if err != nil {
		return nil, false, err
	}
	there, err := parent.Look(name, &is)
	if err != nil {
		return nil, false, err
	}
	var old *meta.Meta
	if there {
		old = &meta.Meta{Stat: is}
	}
	if ok, err := w.makeWay(parent, name, m, old); !ok || err != nil {
		return nil, false, err
	}
	d, err = parent.Make(name, m)
	return d, false, err
}

// apart refuses a target inside of the source, and with Delete a source inside
// of the target. It climbs from one directory and looks for the other.
func (w *worker) apart(p Pair, st *sys.Stat, dir string) error {
	inside, err := sys.Within(dir, st)
	if err == nil && inside {
		if w.sameDir(dir, st) && dir == p.Dst {
			return &os.LinkError{Op: "copy", Old: p.Src, New: p.Dst, Err: ErrSameFile}
		}
		return &os.LinkError{Op: "copy", Old: p.Src, New: p.Dst, Err: ErrIntoItself}
	}
	if err != nil || !w.Delete {
		return err
	}
	var target sys.Stat
	if sys.StatPath(p.Dst, true, &target) != nil {
		return nil
	}
	inside, err = sys.Within(p.Src, &target)
	if err == nil && inside {
		err = &os.LinkError{Op: "copy", Old: p.Src, New: p.Dst, Err: ErrDeleteSelf}
	}
	return err
}

func (w *worker) sameDir(dir string, st *sys.Stat) bool {
	var is sys.Stat
	return sys.StatPath(dir, true, &is) == nil && is.Same(st)
}

// sourceDir and targetDir open the directories that sources and targets stand
// in; the last ones stay open, since most pairs share them.
func (w *worker) sourceDir(path string) (*sys.Dir, error) {
	if w.from == nil || w.fromPath != path {
		d, err := sys.OpenRoot(path)
		if err != nil {
			return nil, err
		}
		w.forgetSource()
		w.opened++
		w.from, w.fromPath = d, path
	}
	return w.from, nil
}

func (w *worker) targetDir(path string) (*dest.Dir, error) {
	if w.to == nil || w.toPath != path {
		d, err := w.dst.Open(path)
		if err != nil {
			return nil, err
		}
		w.forgetTarget()
		w.opened++
		w.to, w.toPath = d, path
	}
	return w.to, nil
}

func (w *worker) forgetSource() {
	if w.from != nil {
		w.from.Close()
		w.from = nil
	}
}

func (w *worker) forgetTarget() {
	if w.to != nil {
		w.to.Close()
		w.to = nil
	}
}

func (w *worker) forgetParents() {
	w.forgetSource()
	w.forgetTarget()
}
