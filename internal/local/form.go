package local

import (
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
)

// form makes of an entry what was asked for instead of a copy.
func (w *worker) form(n *node, name, target string, old *meta.Meta) error {
	if err := n.src.Lstat(name, &w.src.Stat); err != nil {
		return err
	}
	if w.src.IsSymlink() && w.Follow != plan.FollowNever {
		if err := n.src.Stat(name, &w.src.Stat); err != nil {
			return err
		}
	}
	action, backup := report.Made, ""
	if old != nil {
		var err error
		if _, backup, _, err = w.giveWay(n.dst, target, old); err != nil {
			return err
		}
		action = report.Replaced
	}
	there := old != nil && !old.IsDir()
	var err error
	switch w.Rules.Form {
	case plan.FormHardLink:
		action = report.Linked
		final := w.onLinked(n, name, target, action, backup)
		err = n.dst.LinkSource(n.src, name, target, w.Follow != plan.FollowNever, there, final)
		if err == nil && final != nil {
			w.found(&w.src.Stat)
			return nil
		}
		w.unlinked(n, final)
	case plan.FormSymlink:
		m := meta.Meta{Target: n.src.Join(name)}
		m.Mode = sys.TypeSymlink | 0o777
		_, err = n.dst.Symlink(w.read, target, &m, there)
	case plan.FormAttributes:
		return w.emptyFile(n, name, target, action, backup)
	}
	if err != nil {
		return err
	}
	w.found(&w.src.Stat)
	w.report(n, action, name, target, backup)
	return nil
}

// emptyFile makes an empty file that has the source's metadata.
func (w *worker) emptyFile(n *node, name, target string, action report.Action, backup string) error {
	if err := w.fill(n, name); err != nil {
		return err
	}
	w.found(&w.src.Stat)
	if n.dst.Dir == nil || w.Dest.DryRun {
		w.report(n, action, name, target, backup)
		return nil
	}
	if err := w.out.Create(n.dst, target, 0, &w.src, nil); err != nil {
		return err
	}
	defer w.out.Abort()
	return w.finish(n, name, target, outcome{action: action, backup: backup, durable: true})
}

// other makes a symbolic link, a FIFO, a socket or a device anew.
func (w *worker) other(n *node, name, target string, old *meta.Meta) error {
	if err := w.read.Fill(meta.Object{Dir: n.src, Name: name}, w.want, &w.src); err != nil {
		return err
	}
	if w.src.Nlink > 1 && w.keepLinks() {
		if done, err := w.linked(n, name, target, old); done || err != nil {
			return err
		}
	}
	err := w.makeOther(n, name, target, old)
	if w.src.Nlink > 1 && w.keepLinks() {
		w.settle(&w.src.Stat, err == nil, false)
	}
	return err
}

func (w *worker) makeOther(n *node, name, target string, old *meta.Meta) error {
	w.found(&w.src.Stat)
	action, backup := report.Made, ""
	if old != nil {
		var err error
		if _, backup, _, err = w.giveWay(n.dst, target, old); err != nil {
			return err
		}
		action = report.Replaced
	}
	there := old != nil && !old.IsDir()
	var skipped meta.Mask
	var err error
	if w.src.IsSymlink() {
		skipped, err = n.dst.Symlink(w.read, target, &w.src, there)
	} else {
		skipped, err = n.dst.Node(w.read, target, &w.src, there)
	}
	if err != nil {
		return err
	}
	w.skippedMeta(n.dst, target, skipped)
	w.report(n, action, name, target, backup)
	return nil
}
