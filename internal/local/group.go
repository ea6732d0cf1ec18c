package local

import (
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
)

// linked deals with one more name of a file that has several. It reports true
// if the name is done, or waits for the copy of another name.
func (w *worker) linked(n *node, name, target string, old *meta.Meta) (done bool, err error) {
	l, first, queued := w.links.claim(&w.src.Stat, n, name, target)
	if first || queued {
		return queued, nil
	}
	defer l.dir.Close()
	return w.linkTo(l, n, name, target, old)
}

// linkTo makes a name a link to a final copy. A file system that cannot have
// the link gets one more copy: false, nil.
func (w *worker) linkTo(l linked, n *node, name, target string, old *meta.Meta) (done bool, err error) {
	action := report.Linked
	if old != nil {
		var first sys.Stat
		there, err := l.dir.Look(l.name, &first)
		if err != nil {
			return false, err
		}
		if there && same(&first, &old.Stat) {
			w.skip(n, name, target)
			return true, nil
		}
	}
	backup := ""
	there := old != nil
	if old != nil {
		if _, backup, _, err = w.giveWay(n.dst, target, old); err != nil {
			return false, err
		}
		there = backup == "" && !old.IsDir()
	}
	err = n.dst.Link(l.dir, l.name, target, there)
	if sys.OtherDevice(err) || sys.TooManyLinks(err) || sys.NotPermitted(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	w.found(&w.src.Stat)
	if w.src.IsRegular() {
		w.count.Bytes.Add(w.src.Size)
	}
	w.report(n, action, name, target, backup)
	return true, nil
}

// relink brings a name that is right in content into its group of hard links.
func (w *worker) relink(n *node, name, target string) (done bool, err error) {
	src, old := w.src, w.old
	done, err = w.linked(n, name, target, &old)
	if !done && err == nil {
		w.settle(&src.Stat, true)
		w.src, w.old = src, old
	}
	return done, err
}

// settle says that the first copy of a group is final, or that it failed, and
// serves those who waited for it: by links, or by trying again.
func (w *worker) settle(st *sys.Stat, ok bool) {
	l, wait := w.links.settle(st, ok)
	if l.dir == nil {
		return
	}
	defer l.dir.Close()
	for _, x := range wait {
		w.queue.push(task{node: x.node, kind: retry, names: []string{x.name, x.target}})
	}
}
