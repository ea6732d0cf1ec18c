package local

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/gohaul/haul/internal/dest"
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
)

// enter opens a subdirectory and its twin and leaves its listing to the queue.
func (w *worker) enter(n *node, name string) {
	c, err := w.open(n, name)
	if err != nil {
		w.fail(n.src.Join(name), err)
	}
	if c == nil {
		w.release(n)
		return
	}
	w.began(c)
	if w.OneFileSystem && c.meta.Dev != n.dev {
		c.bad.Store(true)
		w.release(c) // a mount point is made, but not entered, and nothing is deleted there
		return
	}
	w.listing(c)
}

// open makes the node of a subdirectory; nil if it is left alone.
func (w *worker) open(n *node, name string) (*node, error) {
	open := n.src.OpenDir
	if w.Follow == plan.FollowAll {
		open = n.src.OpenDirFollow
	}
	src, err := open(name)
	if err != nil {
		return nil, err
	}
	c := &node{parent: n, name: name, src: src, dev: n.dev}
	c.hold()
	err = w.readDirMeta(c)
	if err == nil && w.Follow == plan.FollowAll && n.follows(&c.meta.Stat) {
		err = &fs.PathError{Op: "copy", Path: src.Path(), Err: ErrLoop}
	}
	if err == nil && slices.ContainsFunc(w.roots, func(s sys.Stat) bool { return s.Same(&c.meta.Stat) }) {
		err = &fs.PathError{Op: "copy", Path: src.Path(), Err: ErrIntoItself}
	}
	ok := err == nil
	if ok {
		ok, err = w.twin(n, c)
	}
	if ok && w.Filter != nil {
		c.path = n.sub(name)
		err = w.scopeEnter(c, n.scope)
	}
	if !ok || err != nil {
		src.Close()
		if c.dst != nil {
			c.dst.Close()
		}
		return nil, err
	}
	return c, nil
}

// readDirMeta reads what Leave will set on the twin.
func (w *worker) readDirMeta(n *node) error {
	return n.src.With(func(f *sys.File) error {
		if err := f.Stat(&n.meta.Stat); err != nil {
			return err
		}
		return w.read.Fill(meta.Object{File: f}, w.want, &n.meta)
	})
}

// twin opens or makes the directory that c is copied to. What is no directory
// gives way, unless the rules say otherwise: then false.
func (w *worker) twin(n, c *node) (ok bool, err error) {
	var old *meta.Meta
	there, err := n.dst.Look(c.name, &w.old.Stat)
	if err != nil {
		return false, err
	}
	if there {
		old = &w.old
		if old.IsSymlink() && w.Dest.DirLinks {
			var led sys.Stat
			if n.dst.Stat(c.name, &led) == nil && led.IsDir() {
				old.Stat = led
			}
		}
		c.existed = old.IsDir()
	}
	if ok, err := w.makeWay(n.dst, c.name, &c.meta, old); !ok || err != nil {
		return false, err
	}
	c.dst, err = n.dst.Make(c.name, &c.meta)
	return err == nil, err
}

// makeWay lets what stands at a name give way to a directory, if the rules say
// so: else false.
func (w *worker) makeWay(d *dest.Dir, name string, src, old *meta.Meta) (ok bool, err error) {
	switch plan.Decide(src, old, &w.Rules) {
	case plan.Skip:
		return false, nil
	case plan.Refuse:
		return false, &fs.PathError{Op: "replace", Path: d.Join(name), Err: ErrExists}
	case plan.Clash:
		return false, &fs.PathError{Op: "replace", Path: d.Join(name), Err: ErrDirOver}
	case plan.Replace:
		if w.Confirm != nil && !w.confirmed(d.Join(name)) {
			return false, nil
		}
		backup, err := d.SetAside(name, &src.Stat, false)
		if err == nil && backup == "" {
			err = w.clear(d, name, src, old)
		}
		return err == nil, err
	}
	return true, nil
}

// began counts and tells a directory whose twin is open.
func (w *worker) began(n *node) {
	w.found(&n.meta.Stat)
	if !n.existed {
		w.tellDir(n, report.Made)
	}
}

func (w *worker) tellDir(n *node, a report.Action) {
	if w.OnItem != nil {
		w.item(report.Item{Action: a, Source: n.src.Path(), Target: n.dst.Path(), Mode: n.meta.Mode})
	}
}

// release says that one thing beneath n is done. The last one leaves the
// directory, and so on upwards.
func (w *worker) release(n *node) {
	for n != nil && n.open.Add(-1) == 0 {
		w.leave(n)
		n = n.parent
	}
}

// leave deletes what the source lacks, sets the twin's metadata for good and
// closes both.
func (w *worker) leave(n *node) {
	ok := w.ctx.Err() == nil
	if ok && !n.named {
		if w.Delete && n.existed && !n.bad.Load() {
			w.prune(n)
		}
		w.at(n, ".", ".")
		changed, skipped, err := n.dst.Leave(w.read, &n.meta)
		if err != nil {
			w.fail(n.src.Path(), err)
		}
		w.skippedMeta(n.dst, ".", skipped)
		if changed && err == nil {
			w.count.Touched.Add(1)
			w.tellDir(n, report.Touched)
		}
	}
	if !ok && !n.named {
		n.dst.GiveUp() // the cause of the end is the error that counts
	}
	if err := errors.Join(n.src.Close(), n.dst.Close()); err != nil && ok {
		w.fail(n.dst.Path(), err)
	}
}

// spared reports whether an entry stays though the source lacks it: a backup, or
// a mount point where the job keeps to one file system.
func (w *worker) spared(n *node, name string, old *sys.Stat) bool {
	if w.OneFileSystem && old.IsDir() && old.Dev != n.dst.Dev() {
		return true
	}
	switch w.Dest.Backup {
	case dest.BackupNone:
		return false
	case dest.BackupSimple, dest.BackupExisting:
		if strings.HasSuffix(name, w.Dest.Suffix) {
			return true
		}
	}
	return dest.Numbered(name)
}

// prune removes what stands in the twin and not in the source. It asks the
// source about each name, so that a large directory needs no memory.
func (w *worker) prune(n *node) {
	brought, err := w.brought.in(n)
	if err != nil {
		w.fail(n.dst.Path(), err)
		return
	}
	err = n.dst.Each(func(name string) error {
		var st, old sys.Stat
		there, err := n.dst.Look(name, &old)
		if err != nil || !there {
			return err
		}
		err = n.src.Lstat(name, &st)
		if err == nil && !n.excluded(name, st.IsDir()) {
			return nil
		}
		if err != nil && !sys.IsNotExist(err) {
			return err
		}
		if brought[name] || n.protected(name, old.IsDir()) || w.spared(n, name, &old) {
			return nil
		}
		if _, err := n.dst.RemoveAll(w.ctx, name, &old, n.doomed(), w.deleted); err != nil {
			w.fail(n.dst.Join(name), err)
		}
		return w.ctx.Err()
	})
	if err != nil && w.ctx.Err() == nil {
		w.fail(n.dst.Path(), err)
	}
}
