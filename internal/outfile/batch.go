package outfile

import (
	"errors"
	"strings"
	"sync"

	"github.com/gohaul/haul/internal/sys"
)

// Batch holds finished temporary files until one flush of each file system
// makes all of them durable, and renames them then: two flushes a file system
// instead of one a file. It may be used by many goroutines.
type Batch struct {
	limit int

	mu      sync.Mutex // of what follows
	waiting []rename
	touched []volume
	failed  ManyError // of flushes since the last that was asked for

	flushing sync.Mutex // held by the one flush under way
}

// rename is a file that waits for its name. It holds references to both
// directories.
type rename struct {
	from, to   *sys.Dir
	temp, name string
	volume     int // in touched
	done       func(error)
}

// volume is a file system that the batch wrote to.
type volume struct {
	dev uint64
	dir *sys.Dir // a reference, to reach it by
}

// NewBatch returns a batch in which up to limit files wait; 0 means 16,384.
func NewBatch(limit int) *Batch {
	if limit <= 0 {
		limit = 16 << 10
	}
	return &Batch{limit: limit}
}

// Add takes over a closed temporary file: temp in from is to become name in to.
// done, which may be nil, is told how that ended, from whichever goroutine
// flushes. Both directories are retained and both names copied. An error means
// that the file was not taken. When the limit is reached Add flushes; what fails
// there is told by the next Flush or Close.
func (b *Batch) Add(from *sys.Dir, temp string, to *sys.Dir, name string, done func(error)) error {
	b.mu.Lock()
	v, err := b.volume(from)
	if err != nil {
		b.mu.Unlock()
		return err
	}
	b.waiting = append(b.waiting, rename{
		from: from.Retain(), to: to.Retain(), temp: strings.Clone(temp), name: strings.Clone(name),
		volume: v, done: done,
	})
	full := len(b.waiting) >= b.limit
	b.mu.Unlock()
	if full {
		b.flush()
	}
	return nil
}

// Touch notes that something was written on a directory's file system, so that
// Close makes it durable.
func (b *Batch) Touch(dir *sys.Dir) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.volume(dir)
	return err
}

// volume finds or notes the file system of dir. The caller holds mu.
func (b *Batch) volume(dir *sys.Dir) (int, error) {
	var st sys.Stat
	if n := len(b.waiting); n > 0 && b.waiting[n-1].from == dir {
		return b.waiting[n-1].volume, nil
	}
	if err := dir.With(func(f *sys.File) error { return f.Stat(&st) }); err != nil {
		return 0, err
	}
	for i := range b.touched {
		if b.touched[i].dev == st.Dev {
			return i, nil
		}
	}
	b.touched = append(b.touched, volume{dev: st.Dev, dir: dir.Retain()})
	return len(b.touched) - 1, nil
}

// Flush makes what waits durable and gives it its names. A file that cannot get
// its name is removed; the error tells of all that failed since the last Flush.
// The names themselves are durable after Close.
func (b *Batch) Flush() error {
	b.flush()
	b.mu.Lock()
	defer b.mu.Unlock()
	failed := b.failed
	b.failed = ManyError{}
	switch failed.N {
	case 0:
		return nil
	case 1:
		return failed.First
	}
	return &failed
}

func (b *Batch) flush() {
	b.flushing.Lock()
	defer b.flushing.Unlock()
	b.mu.Lock()
	waiting, touched := b.waiting, b.touched
	b.waiting = nil
	b.mu.Unlock()

	synced := make([]error, len(touched))
	needed := make([]bool, len(touched))
	for i := range waiting {
		if v := waiting[i].volume; !needed[v] {
			needed[v] = true
			synced[v] = touched[v].dir.SyncFS()
		}
	}
	b.finish(waiting, func(r *rename) error { return synced[r.volume] })
}

// finish ends the waiting of files that are durable, or of which durable gives
// the reason why not.
func (b *Batch) finish(waiting []rename, durable func(*rename) error) {
	for i := range waiting {
		r := &waiting[i]
		err := r.finish(durable(r))
		if err == nil {
			continue
		}
		b.mu.Lock()
		if b.failed.N++; b.failed.N == 1 {
			b.failed.First = err
		}
		b.mu.Unlock()
	}
}

// finish renames if the content is durable, and else removes the file.
func (r *rename) finish(err error) error {
	if err == nil {
		err = r.from.Rename(r.temp, r.to, r.name)
	}
	if err != nil {
		r.from.Remove(r.temp) // the error that matters is the one before
	}
	if r.done != nil {
		r.done(err)
	}
	r.from.Close()
	r.to.Close()
	return err
}

// Discard removes what waits, for a job that is given up, and lets go of all
// file systems. done is told cause.
func (b *Batch) Discard(cause error) error {
	b.flushing.Lock()
	defer b.flushing.Unlock()
	b.mu.Lock()
	waiting := b.waiting
	b.waiting = nil
	b.mu.Unlock()
	b.finish(waiting, func(*rename) error { return cause })
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = ManyError{}
	return b.release()
}

// Close flushes, and then makes all names durable: what the batch was given is
// safe when it returns without an error.
func (b *Batch) Close() error {
	err := b.Flush()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, v := range b.touched {
		if e := v.dir.SyncFS(); err == nil {
			err = e
		}
	}
	return join(err, b.release())
}

// release lets go of all file systems. The caller holds mu.
func (b *Batch) release() error {
	var errs []error
	for _, v := range b.touched {
		errs = append(errs, v.dir.Close())
	}
	b.touched = nil
	return errors.Join(errs...)
}
