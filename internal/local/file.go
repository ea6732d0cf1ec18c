package local

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"strings"

	"github.com/gohaul/haul/internal/dest"
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/outfile"
	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
)

// smallFile is the size, in bytes, up to which one read and one write beat a
// copy inside the kernel; measured on ext4, xfs and btrfs.
const smallFile = 64 << 10

// regular copies a regular file, or links it to the copy of another of its
// names, or to the source.
func (w *worker) regular(n *node, name, target string, old *meta.Meta) error {
	if w.Rules.Form != plan.FormCopy {
		return w.form(n, name, target, old)
	}
	if err := w.openSource(n, name); err != nil {
		return w.unopened(n, name, target, err)
	}
	w.src.Stat = *w.in.Stat()
	if !w.src.IsRegular() && !w.contents(n) {
		w.in.Close()
		return w.decideAgain(n, name, target)
	}
	if w.src.Nlink > 1 && w.keepLinks() {
		if done, err := w.linked(n, name, target, old); done || err != nil {
			w.in.Close()
			return err
		}
	}
	err := w.copyOpen(n, name, target, old)
	w.in.Close()
	return err
}

// follows reports whether a symbolic link in n stands for what it leads to.
func (w *worker) follows(n *node) bool {
	return w.Follow == plan.FollowAll || n.named && w.Follow == plan.FollowArguments
}

func (w *worker) openSource(n *node, name string) error {
	if w.follows(n) {
		return w.in.OpenFollow(n.src, name)
	}
	return w.in.Open(n.src, name)
}

// unopened is for a source that could not be opened: it may have become
// something else since its directory was read.
func (w *worker) unopened(n *node, name, target string, err error) error {
	if sys.Symlink(err) || errors.Is(err, sys.ErrNoDevice) {
		return w.decideAgain(n, name, target)
	}
	return err
}

func (w *worker) decideAgain(n *node, name, target string) error {
	if err := n.src.Lstat(name, &w.src.Stat); err != nil {
		return &fs.PathError{Op: "stat", Path: n.src.Join(name), Err: bare(err)}
	}
	if w.src.IsRegular() || w.src.IsDir() {
		return &fs.PathError{Op: "copy", Path: n.src.Join(name), Err: ErrChanging}
	}
	return w.decide(n, name, target)
}

// copyOpen copies the open source file. Of a hard-link group it is the first.
func (w *worker) copyOpen(n *node, name, target string, old *meta.Meta) error {
	grouped := w.src.Nlink > 1 && w.keepLinks()
	err := w.write(n, name, target, old, grouped)
	if err != nil && grouped {
		w.settle(&w.src.Stat, false, false)
	}
	return err
}

// write makes the copy: create, content, metadata, commit.
func (w *worker) write(n *node, name, target string, old *meta.Meta, grouped bool) error {
	w.found(&w.src.Stat)
	w.src.Xattrs, w.src.Target = nil, ""
	if w.want != 0 {
		if err := w.read.Fill(meta.Object{File: w.in.Sys()}, w.want, &w.src); err != nil {
			return err
		}
	}
	action := report.Made
	backup := ""
	var there *sys.Stat
	if old != nil {
		var err error
		if action, backup, there, err = w.giveWay(n.dst, target, old); err != nil {
			return err
		}
	}
	if w.Dest.DryRun || n.dst.Dir == nil {
		w.count.Files.Add(1)
		w.report(n, action, name, target, backup)
		if grouped {
			if action != report.Updated {
				w.links.dryMade(&w.src.Stat)
			}
			w.settle(&w.src.Stat, true, false)
		}
		return nil
	}
	if err := w.out.Create(n.dst, target, w.src.Size, &w.src, there); err != nil {
		return err
	}
	defer w.out.Abort()
	if err := w.content(n); err != nil {
		return err
	}
	return w.finish(n, name, target, outcome{action, backup, grouped, n.dst.Place(there) == outfile.Replace})
}

// outcome is what becomes of a file that is about to be committed.
type outcome struct {
	action  report.Action
	backup  string
	grouped bool // it is the first copy of a hard-link group
	durable bool // under SyncBatch it has its name only when its content is safe
}

// finish commits the file and tells so, at once or when a batch is flushed.
func (w *worker) finish(n *node, name, target string, o outcome) error {
	w.out.OnFinal = w.onFinal(n, name, target, o)
	skipped, err := w.out.Commit()
	if err != nil {
		if w.batched() {
			w.release(n) // nobody will call OnFinal
		}
		return err
	}
	w.skippedMeta(n.dst, target, skipped)
	if w.out.OnFinal == nil {
		w.count.Files.Add(1)
		w.report(n, o.action, name, target, o.backup)
	}
	return nil
}

// giveWay decides how the copy takes the place of what stands at its name: it
// is set aside, removed, or stays until the copy is renamed over it.
func (w *worker) giveWay(d *dest.Dir, target string, old *meta.Meta) (a report.Action, backup string, there *sys.Stat, err error) {
	a, there = report.Replaced, &old.Stat
	if backup, err = d.SetAside(target, &w.src.Stat, true); err != nil {
		return a, "", nil, err
	}
	switch {
	case backup != "":
		return a, backup, nil, nil
	case w.unshare:
		return a, "", nil, nil
	case old.IsDir():
		return a, "", nil, w.clear(d, target, &w.src, old)
	case d.Place(there) == outfile.InPlace:
		a = report.Updated
	}
	return a, "", there, nil
}

// batched reports whether files are final at the flush of a batch only.
func (e *engine) batched() bool { return e.dst.Write.Durability == outfile.SyncBatch }

// onFinal is what happens once the copy has its final name, or nil where that is
// nothing that cannot be done at once.
func (w *worker) onFinal(n *node, name, target string, o outcome) func(error) {
	batched, verify := w.batched(), w.Verify && w.Rules.Form == plan.FormCopy
	if !batched && !o.grouped && !verify {
		return nil
	}
	e, src := w.engine, w.src
	if batched {
		n.hold()
		name, target = strings.Clone(name), strings.Clone(target) // they live in the batch of entries
	}
	return func(err error) {
		e.finisher.Lock()
		defer e.finisher.Unlock()
		f := e.last
		f.src = src
		if err == nil && verify {
			err = f.verify(n, name, target)
		}
		if o.grouped {
			f.settle(&src.Stat, err == nil, o.durable)
		}
		if err != nil {
			e.fail(n.src.Join(name), err)
		} else {
			e.count.Files.Add(1)
			f.report(n, o.action, name, target, o.backup)
		}
		if batched {
			f.release(n)
		}
	}
}

// content moves the bytes by the cheapest way there is.
func (w *worker) content(n *node) error {
	size := w.src.Size
	if !w.src.IsRegular() {
		return w.stream()
	}
	w.out.Devices(w.src.Dev, n.dst.Dev())
	if done, err := w.out.Clone(w.in.Sys(), size); done || err != nil {
		return err
	}
	if size <= smallFile && !w.sparse() {
		return w.small()
	}
	return w.extents()
}

// sparse reports whether the source has fewer blocks than its size needs, so
// that it is worth asking for its holes. A small one without any may keep its
// bytes beside its name, or make them up as those of /sys: small looks at them.
func (w *worker) sparse() bool {
	return w.src.Blocks*512 < w.src.Size && (w.src.Size > 4096 || w.src.Blocks > 0)
}

// small copies a file with one read and one write.
func (w *worker) small() error {
	if w.buf == nil {
		w.buf = make([]byte, smallFile+1)
	}
	// What ended earlier is whole too, as of the moment it was read.
	n, err := w.in.ReadWhole(w.buf)
	if errors.Is(err, io.ErrShortBuffer) {
		return w.rest(n)
	}
	if err != nil {
		return err
	}
	s := w.out.At(0)
	if w.src.Blocks == 0 && n > 0 && len(bytes.Trim(w.buf[:n], "\x00")) == 0 {
		return s.Hole(int64(n))
	}
	_, err = s.Write(w.buf[:n])
	return err
}

// extents copies data and leaves holes out.
func (w *worker) extents() error {
	s := w.out.At(0)
	for x, err := range w.in.Extents() {
		if err != nil {
			return err
		}
		if x.Hole {
			err = s.Hole(x.Len)
		} else {
			err = s.Copy(w.in.Sys(), x.Off, x.Len)
		}
		if err != nil {
			return err
		}
	}
	return s.Close()
}

// rest copies what stands in buf and everything behind it: up to the end of a
// file that has no size, as those of /proc, else up to its size of this moment,
// since a file that grows may never end.
func (w *worker) rest(n int) error {
	var now sys.Stat
	if err := w.in.Sys().Stat(&now); err != nil {
		return err
	}
	end := now.Size
	if end == 0 {
		end = math.MaxInt64
	}
	s := w.out.At(0)
	off := int64(0)
	for {
		n = int(min(int64(n), end-off))
		if _, err := s.Write(w.buf[:n]); err != nil {
			return err
		}
		off += int64(n)
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if off == end {
			return s.Close()
		}
		var err error
		n, err = w.in.Sys().ReadAt(w.buf, off)
		if err == io.EOF {
			return s.Close()
		}
		if err != nil {
			return err
		}
	}
}

// patience is how long, in milliseconds, a FIFO is waited for before it is asked
// whether the job still runs.
const patience = 50

// stream copies what a FIFO or a device gives, up to its end.
func (w *worker) stream() error {
	if w.buf == nil {
		w.buf = make([]byte, smallFile+1)
	}
	s := w.out.At(0)
	for total := 0; ; {
		n, err := w.in.Sys().Read(w.buf)
		switch {
		case sys.WouldBlock(err):
			err = w.in.Sys().Ready(patience)
		case err == io.EOF && total == 0 && w.src.Mode&sys.TypeMask == sys.TypeFIFO && !w.in.Sys().Anonymous():
			return &fs.PathError{Op: "read", Path: w.in.Sys().Name(), Err: ErrNoWriter}
		case err == io.EOF:
			return s.Close()
		}
		if err != nil {
			return err
		}
		if n > 0 {
			if _, err := s.Write(w.buf[:n]); err != nil {
				return err
			}
		}
		total += n
		if err := w.ctx.Err(); err != nil {
			return err
		}
	}
}
