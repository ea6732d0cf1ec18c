package local

import (
	"strings"

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
		if there && same(&first, &old.Stat) && !l.anew {
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
		there = !old.IsDir()
	}
	var final func(error)
	if !l.durable {
		final = w.onLinked(n, name, target, action, backup)
	}
	err = n.dst.Link(l.dir, l.name, target, there, final)
	if err != nil {
		w.unlinked(n, final)
	}
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
	if final == nil {
		w.report(n, action, name, target, backup)
	}
	return true, nil
}

// onLinked is what happens once a link that waits for a batch has its name, or
// nil where it does not wait. It holds the node until then.
func (w *worker) onLinked(n *node, name, target string, a report.Action, backup string) func(error) {
	if !n.dst.Waits() {
		return nil
	}
	n.hold()
	e, src := w.engine, w.src
	name, target = strings.Clone(name), strings.Clone(target) // they live in the batch of entries
	return func(err error) {
		e.finisher.Lock()
		defer e.finisher.Unlock()
		f := e.last
		f.src = src
		if err != nil {
			e.fail(n.src.Join(name), err)
		} else {
			f.report(n, a, name, target, backup)
		}
		f.release(n)
	}
}

// unlinked gives up what onLinked holds, for a link that could not be made.
func (w *worker) unlinked(n *node, final func(error)) {
	if final != nil {
		w.release(n)
	}
}

// relink brings a name that is right in content into its group of hard links.
func (w *worker) relink(n *node, name, target string) (done bool, err error) {
	src, old := w.src, w.old
	done, err = w.linked(n, name, target, &old)
	if !done && err == nil {
		w.settle(&src.Stat, true, false)
		w.src, w.old = src, old
	}
	return done, err
}

// settle says that the first copy of a group is final, or that it failed, and
// serves those who waited for it: by links, or by trying again.
// durable says that its content is safe already.
func (w *worker) settle(st *sys.Stat, ok, durable bool) {
	l, wait := w.links.settle(st, ok, durable)
	if l.dir == nil {
		return
	}
	defer l.dir.Close()
	for _, x := range wait {
		w.queue.push(task{node: x.node, kind: retry, names: []string{x.name, x.target}})
	}
}
