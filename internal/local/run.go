package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/gohaul/haul/internal/dest"
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/report"
)

// engine is one job under way.
type engine struct {
	*Job
	ctx     context.Context
	cancel  context.CancelCauseFunc
	dst     *dest.Tree
	queue   *queue
	links   linkTable
	want    meta.Mask   // what is read of each source
	roots   []meta.Stat // of the destinations of whole trees
	brought brought     // by other sources of the job
	count   *report.Counters

	telling sync.Mutex // OnItem, OnError and Confirm are never called two at once
	failed  int
	first   error

	finisher sync.Mutex // guards last
	last     *worker    // finishes what a batch makes final
}

// Run does the job. It returns *PartialError if it went on after errors.
func Run(ctx context.Context, j *Job) (err error) {
	if j.Dest.Counters == nil {
		j.Dest.Counters = new(report.Counters)
	}
	e := &engine{Job: j, queue: newQueue(), count: j.Dest.Counters}
	e.want = j.Dest.Meta.Which & (meta.Xattrs | meta.ACL)
	e.ctx, e.cancel = context.WithCancelCause(ctx)
	defer e.cancel(nil)
	if e.dst, err = dest.New(j.Dest); err != nil {
		return err
	}
	e.last = e.newWorker()
	stop := context.AfterFunc(e.ctx, e.queue.end)
	defer stop()
	if j.Scan {
		scanned := e.scan()
		defer func() { e.cancel(nil); <-scanned }()
	}
	if err := e.promise(); err != nil {
		return err
	}
	e.start()
	for e.ctx.Err() == nil {
		e.work()
		if err := e.dst.Flush(); err != nil {
			e.fail("", err)
		}
		if !e.queue.waiting() {
			break
		}
		e.queue.resume()
	}
	if e.ctx.Err() != nil {
		e.abandon()
	}
	e.links.close()
	if err := e.dst.Close(); err != nil {
		e.fail("", err)
	}
	if !j.Scan {
		e.count.Scanned.Store(true)
	}
	return e.result()
}

// result is what the whole job came to.
func (e *engine) result() error {
	if cause := context.Cause(e.ctx); cause != nil {
		return cause
	}
	if e.failed > 0 {
		return &PartialError{e.failed, e.first}
	}
	return nil
}

// abandon closes what a cancelled job has left open.
func (e *engine) abandon() {
	e.dst.Discard(context.Cause(e.ctx))
	for _, t := range e.queue.drain() {
		for range max(1, len(t.names)) {
			e.last.release(t.node)
			if t.kind == retry {
				break
			}
		}
	}
	for _, x := range e.links.close() {
		e.last.release(x.node)
	}
}

// openParents is how many directories of sources and targets that the user named
// stay open under SyncBatch: unlike those beneath them they need a descriptor each.
const openParents = 256

// start turns the pairs into first tasks, and copies single files.
func (e *engine) start() {
	w := e.newWorker()
	defer w.forgetParents()
	for _, p := range e.Pairs {
		if e.ctx.Err() != nil {
			return
		}
		if e.batched() && w.opened >= openParents {
			w.opened = 0 // files that wait keep their directories open
			if err := e.dst.Flush(); err != nil {
				e.fail("", err)
			}
		}
		if err := w.pair(p); err != nil {
			e.fail(p.Src, err)
		}
	}
}

// fail counts an error and lets the caller judge whether to go on. A cancelled
// context is no error of an entry.
func (e *engine) fail(path string, err error) {
	if e.ctx.Err() != nil {
		return
	}
	e.telling.Lock()
	defer e.telling.Unlock()
	if e.OnError == nil {
		e.count.Failed.Add(1)
		e.cancel(err)
		return
	}
	if stop := e.OnError(path, err); stop != nil {
		e.count.Failed.Add(1)
		e.cancel(stop)
		return
	}
	e.count.Failed.Add(1)
	e.failed++
	if e.first == nil {
		e.first = err
	}
	if e.OnItem != nil {
		e.OnItem(report.Item{Action: report.Failed, Source: path, Err: err})
	}
}

// item tells what became of an entry.
func (e *engine) item(i report.Item) {
	e.telling.Lock()
	e.OnItem(i)
	e.telling.Unlock()
}

// note tells a remark that is no failure.
func (e *engine) note(target string, err error) {
	if e.OnItem != nil {
		e.item(report.Item{Action: report.Noted, Target: target, Err: err})
	}
}

// skippedMeta notes the parts of an entry's metadata that could not be set, or
// reports them as a failure if they are required.
func (e *engine) skippedMeta(d *dest.Dir, name string, m meta.Mask) {
	if missing := m & e.Require; missing != 0 {
		path := d.Join(name)
		e.fail(path, &fs.PathError{Op: "set " + missing.String(), Path: path, Err: syscall.EPERM})
		return
	}
	if m != 0 && e.OnItem != nil {
		e.note(d.Join(name), errors.New("not permitted or not supported here, left out: "+m.String()))
	}
}

// split cuts a path into the directory and the name of its last element; name is
// "" where the path names a directory by "." or ".." or is the root.
func split(path string) (dir, name string) {
	trimmed := strings.TrimRight(path, string(os.PathSeparator))
	if trimmed == "" {
		return path, ""
	}
	dir, name = filepath.Split(trimmed)
	if name == "." || name == ".." || name == filepath.VolumeName(trimmed) && name != "" {
		return path, ""
	}
	return dir, name
}

func itoa(n int) string { return strconv.Itoa(n) }
