package local

import (
	"io/fs"
	"os"
	"strings"

	"github.com/gohaul/haul/internal/dest"
	"github.com/gohaul/haul/internal/infile"
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/internal/tree"
)

// worker copies entries one after another. Its buffers serve all of them.
type worker struct {
	*engine
	in   infile.File
	out  dest.Writer
	read *dest.Setter // that of out
	src  meta.Meta    // the source entry at hand
	old  meta.Meta    // what stands at its target

	// The target has names that are to be copies of other sources: it is replaced,
	// never changed.
	unshare bool
	again   bool // the entry at hand waited for its group

	buf  []byte // whole small files
	dirs []byte // of a directory read in batches
	list []sys.Dirent

	// What is at hand, for those who judge its extended attributes.
	atSrc            *sys.Dir
	atDst            *dest.Dir
	atName, atTarget string

	from     *sys.Dir // see sourceDir
	fromPath string
	to       *dest.Dir // see targetDir
	toPath   string
	opened   int // of both, since the last flush
}

func (e *engine) newWorker() *worker {
	w := &worker{engine: e}
	w.in.MapSize = e.MapSize
	w.read = &w.out.Meta
	w.read.Policy = e.Dest.Meta
	if e.OnXattr != nil {
		w.read.Policy.OnXattr = w.judgeXattr
		w.read.OnXattr = w.judgeXattr
	}
	w.read.Skip = e.Dest.Meta.SkipXattrs
	w.out.Cancel = e.ctx.Done()
	return w
}

// judgeXattr lets the caller judge an attribute that could not be copied.
func (w *worker) judgeXattr(attr string, err error) error {
	w.telling.Lock()
	defer w.telling.Unlock()
	return w.OnXattr(w.atDst.Join(w.atTarget), w.atSrc.Join(w.atName), attr, err)
}

// at says which entry is at hand.
func (w *worker) at(n *node, name, target string) {
	w.atSrc, w.atDst, w.atName, w.atTarget = n.src, n.dst, name, target
}

// run takes tasks until there are none left.
func (w *worker) run() {
	for {
		t, ok := w.queue.pop()
		if !ok {
			return
		}
		switch t.kind {
		case list:
			w.listing(t.node)
		case enter:
			w.enter(t.node, t.names[0])
		case retry:
			w.again = true
			w.entry(t.node, t.names[0], t.names[1], 0)
			w.again = false
			w.release(t.node)
		}
		w.queue.done()
	}
}

// listing reads a directory batch by batch and copies its files at once. While
// it works on a full batch another worker may read on.
func (w *worker) listing(n *node) {
	if w.dirs == nil {
		w.dirs = make([]byte, tree.BatchSize)
	}
	for w.ctx.Err() == nil {
		var err error
		w.list, err = tree.ReadBatch(n.src, w.dirs, w.list[:0])
		if err != nil {
			n.bad.Store(true)
			w.fail(n.src.Path(), err)
		}
		if len(w.list) == 0 {
			break
		}
		shared := len(w.list) >= shareFrom
		if shared {
			n.hold()
			w.queue.push(task{node: n, kind: list})
		}
		w.batch(n)
		if shared {
			break
		}
	}
	w.release(n)
}

// shareFrom is how many entries make a batch whose directory is worth a second
// worker: fewer, and they would only wait for the directory's lock.
const shareFrom = 1024

// batch copies the files of a batch and leaves its directories to the queue.
func (w *worker) batch(n *node) {
	var dirs []string
	for i := range w.list {
		if w.ctx.Err() != nil {
			return
		}
		e := &w.list[i]
		isDir := e.Type == sys.TypeDir
		if isDir && !n.excluded(e.Name, true) {
			dirs = append(dirs, strings.Clone(e.Name))
		} else if !isDir && w.entry(n, e.Name, e.Name, e.Type) {
			dirs = append(dirs, strings.Clone(e.Name))
		}
	}
	if len(dirs) > 0 {
		for range dirs {
			n.hold()
		}
		w.queue.push(task{node: n, kind: enter, names: dirs})
	}
}

// entry copies one entry that is no directory; kind is 0 if its type is not
// known. It reports true for what turns out to be a directory to be entered.
func (w *worker) entry(n *node, name, target string, kind uint32) (dir bool) {
	w.at(n, name, target)
	if kind == sys.TypeSymlink && w.Follow == plan.FollowAll {
		kind = 0 // it is what it leads to
	}
	if !n.named && kind != 0 && n.excluded(name, false) {
		return false
	}
	if kind == sys.TypeRegular && n.dst.Made() && w.plain() {
		w.told(n, name, w.regular(n, name, target, nil))
		return false
	}
	stat := n.src.Lstat
	if w.follows(n) {
		stat = n.src.Stat
	}
	err := stat(name, &w.src.Stat)
	switch {
	case err != nil:
		w.told(n, name, &fs.PathError{Op: "stat", Path: n.src.Join(name), Err: bare(err)})
	case n.named && w.src.IsDir():
		w.told(n, name, &fs.PathError{Op: "copy", Path: n.src.Join(name), Err: ErrChanging})
	case kind == 0 && n.excluded(name, w.src.IsDir()) && !n.named:
	case w.src.IsDir():
		return true
	default:
		w.told(n, name, w.decide(n, name, target))
	}
	return false
}

// plain reports whether a regular file in a new directory just gets copied.
func (w *worker) plain() bool {
	return w.Rules.Form == plan.FormCopy && w.Follow != plan.FollowAll
}

// bare takes the path off an error that gets another one.
func bare(err error) error {
	if p, ok := err.(*fs.PathError); ok {
		return p.Err
	}
	return err
}

// told reports the failure of an entry.
func (w *worker) told(n *node, name string, err error) {
	if err != nil {
		w.fail(n.src.Join(name), err)
	}
}

// decide looks at what stands at the target and does what plan says.
func (w *worker) decide(n *node, name, target string) error {
	there, err := n.dst.Look(target, &w.old.Stat)
	if err != nil {
		return err
	}
	old := &w.old
	if !there {
		old = nil
	}
	w.src.Target, w.old.Target = "", ""
	if err := w.targets(n, name, target, old); err != nil {
		return err
	}
	action := plan.Decide(&w.src, old, &w.Rules)
	if w.Rules.Form == plan.FormAttributes && w.outOfWay() && (action == plan.Touch || action == plan.Refuse && w.Rules.Update != plan.UpdateNoneFail) {
		action = plan.Replace // then what stands there lends nothing to the new one
	}
	if old != nil && action != plan.Skip && (w.itself(n, name, target, old) || w.leadsTo(n, name, old)) {
		return w.sameFile(n, name, target, action)
	}
	if action == plan.Compared {
		action, err = w.compare(n, name, target)
		if err != nil {
			return err
		}
	}
	if w.unshare = w.parts(old, action); w.unshare {
		action = plan.Replace // what is done to one name must not be done to the others
	}
	return w.act(n, name, target, old, action)
}

// parts reports whether a name is to be no longer one of those of the file that
// stands there. For attributes alone it stays, as its content would be lost.
func (w *worker) parts(old *meta.Meta, a plan.Action) bool {
	switch {
	case a != plan.Touch && a != plan.Patch, old.Nlink < 2, !w.keepLinks(), w.Dest.Through, w.Rules.Form == plan.FormAttributes:
		return false
	}
	return a == plan.Patch && w.Dest.Split || !w.links.owns(&w.src.Stat, &old.Stat, w.again)
}

// targets reads what symbolic links hold, on both sides.
func (w *worker) targets(n *node, name, target string, old *meta.Meta) (err error) {
	if w.src.IsSymlink() {
		w.src.Target, err = n.src.Readlink(name)
	}
	if err == nil && old != nil && old.IsSymlink() {
		old.Target, err = n.dst.Readlink(target)
	}
	return err
}

// itself reports whether source and target are one file. Another of its names
// may be the target if it is removed or set aside first.
func (w *worker) itself(n *node, name, target string, old *meta.Meta) bool {
	if !same(&w.src.Stat, &old.Stat) {
		return false
	}
	if old.Nlink < 2 || !w.outOfWay() || n.dst.Dir == nil {
		return true
	}
	var a, b sys.Stat
	if err := n.src.Lstat(name, &a); err != nil || a.IsSymlink() {
		return true // a link that leads to the target's own name, perhaps
	}
	errA := n.src.With(func(f *sys.File) error { return f.Stat(&a) })
	errB := n.dst.With(func(f *sys.File) error { return f.Stat(&b) })
	return errA != nil || errB != nil || name == target && same(&a, &b)
}

// outOfWay reports whether what stands at a target is removed or set aside first.
func (w *worker) outOfWay() bool {
	return w.Dest.Remove || w.Dest.Backup != dest.BackupNone
}

// leadsTo reports whether the source is a symbolic link to the very file that
// its copy would replace: then nothing would be left of it.
func (w *worker) leadsTo(n *node, name string, old *meta.Meta) bool {
	var led sys.Stat
	return w.src.IsSymlink() && !old.IsSymlink() && w.Dest.Backup == dest.BackupNone &&
		n.src.Stat(name, &led) == nil && same(&led, &old.Stat)
}

// sameFile is for a source and a target that are one file already.
func (w *worker) sameFile(n *node, name, target string, action plan.Action) error {
	alike := action == plan.Touch || action == plan.Compared
	if w.Rules.Form == plan.FormHardLink || alike && !n.named {
		w.skip(n, name, target)
		return nil
	}
	return &os.LinkError{Op: "copy", Old: n.src.Join(name), New: n.dst.Join(target), Err: ErrSameFile}
}

func (w *worker) act(n *node, name, target string, old *meta.Meta, action plan.Action) error {
	switch action {
	case plan.Skip:
		w.skip(n, name, target)
		return nil
	case plan.Refuse:
		return &fs.PathError{Op: "replace", Path: n.dst.Join(target), Err: ErrExists}
	case plan.Clash:
		return &fs.PathError{Op: "replace", Path: n.dst.Join(target), Err: ErrOverDir}
	case plan.Touch:
		return w.touch(n, name, target)
	}
	if old != nil && w.Confirm != nil && !w.confirmed(n.dst.Join(target)) {
		w.skip(n, name, target)
		return nil
	}
	switch {
	case w.Rules.Form == plan.FormHardLink || w.Rules.Form == plan.FormSymlink:
		return w.form(n, name, target, old)
	case w.src.IsRegular() || w.contents(n):
		return w.regular(n, name, target, old)
	}
	return w.other(n, name, target, old)
}

// contents reports whether a FIFO or a device is read instead of made anew.
func (w *worker) contents(n *node) bool { return w.isRead(&w.src.Stat, n.named) }

func (w *worker) isRead(st *sys.Stat, named bool) bool {
	return (w.AllContents || w.Contents && named) && !st.IsSymlink() && st.Mode&sys.TypeMask != sys.TypeSocket
}

func (w *worker) confirmed(path string) bool {
	w.telling.Lock()
	defer w.telling.Unlock()
	return w.Confirm(path)
}

// skip counts an entry that is left alone.
func (w *worker) skip(n *node, name, target string) {
	w.found(&w.src.Stat)
	w.count.Skipped.Add(1)
	if w.src.IsRegular() {
		w.count.Bytes.Add(w.src.Size)
	}
	w.report(n, report.Skipped, name, target, "")
	w.told(n, name, n.dst.Standing())
}

// found counts an entry that is met, if nobody counts ahead.
func (e *engine) found(st *sys.Stat) {
	if e.Scan {
		return
	}
	e.count.FoundFiles.Add(1)
	if st.IsRegular() {
		e.count.FoundBytes.Add(st.Size)
	}
}

// report tells what became of the entry at hand. The paths are made only if
// somebody listens.
func (w *worker) report(n *node, a report.Action, name, target, backup string) {
	if w.OnItem == nil {
		return
	}
	if backup != "" {
		backup = n.dst.Join(backup)
	}
	w.item(report.Item{
		Action: a, Source: n.src.Join(name), Target: n.dst.Join(target),
		Mode: w.src.Mode, Size: w.src.Size, Backup: backup,
	})
}

// touch brings the metadata of an entry whose content is right up to date.
func (w *worker) touch(n *node, name, target string) error {
	if err := w.fill(n, name); err != nil {
		return err
	}
	if err := w.read.Fill(meta.Object{Dir: n.dst.Dir, Name: target}, w.want, &w.old); err != nil {
		return err
	}
	if w.src.Nlink > 1 && w.keepLinks() {
		if done, err := w.relink(n, name, target); done || err != nil {
			return err
		}
	}
	changed, skipped, err := n.dst.Touch(w.read, target, &w.src, &w.old)
	if err != nil {
		return err
	}
	w.skippedMeta(n.dst, target, skipped)
	if !changed {
		w.skip(n, name, target)
		return nil
	}
	w.found(&w.src.Stat)
	w.count.Touched.Add(1)
	if w.src.IsRegular() {
		w.count.Bytes.Add(w.src.Size)
	}
	w.report(n, report.Touched, name, target, "")
	return nil
}

// fill reads what stat does not tell of the source entry at hand. Of a link that
// is followed the attributes are those of what it leads to.
func (w *worker) fill(n *node, name string) error {
	if !w.follows(n) || w.want == 0 || !w.src.IsRegular() {
		return w.read.Fill(meta.Object{Dir: n.src, Name: name}, w.want, &w.src)
	}
	var f sys.File
	if err := n.src.OpenFollow(&f, name, sys.ReadOnly); err != nil {
		return err
	}
	defer f.Close()
	return w.read.Fill(meta.Object{File: &f}, w.want, &w.src)
}

// clear makes room for an entry that cannot be renamed over what stands there.
func (w *worker) clear(d *dest.Dir, name string, src, old *meta.Meta) error {
	if w.Rules.NoReplace && src.IsDir() != old.IsDir() {
		err := ErrOverDir
		if src.IsDir() {
			err = ErrDirOver
		}
		return &fs.PathError{Op: "replace", Path: d.Join(name), Err: err}
	}
	if old.IsDir() && !w.Delete {
		empty, err := d.Empty(name)
		if err == nil && !empty {
			err = &fs.PathError{Op: "replace", Path: d.Join(name), Err: ErrOverDir}
		}
		if err != nil {
			return err
		}
	}
	_, err := d.RemoveAll(w.ctx, name, &old.Stat, nil, w.deleted)
	return err
}

// deleted tells that an entry was removed.
func (e *engine) deleted(path string, st *sys.Stat) {
	e.count.Deleted.Add(1)
	if e.OnItem != nil {
		e.item(report.Item{Action: report.Deleted, Target: path, Mode: st.Mode, Size: st.Size})
	}
}
