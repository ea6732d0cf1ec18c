package outfile

import (
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
	volume     int  // in touched
	link       bool // temp is one more name of a file that has others
	done       func(error)
}

// volume is a file system that the batch wrote to. One of its directories stays
// open: a descriptor opened later might not be told of a write that failed, and
// the directory may have been removed by then.
type volume struct {
	dev uint64
	dir sys.File
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
// there and has no done is told by the next Flush or Close.
func (b *Batch) Add(from *sys.Dir, temp string, to *sys.Dir, name string, done func(error)) error {
	return b.add(from, to, rename{temp: temp, name: name, done: done})
}

// AddLink is Add for a temporary hard link beside name, whose file may not be
// durable yet: renamed at once it might put lost content in the place of old.
func (b *Batch) AddLink(dir *sys.Dir, temp, name string, done func(error)) error {
	return b.add(dir, dir, rename{temp: temp, name: name, link: true, done: done})
}

func (b *Batch) add(from, to *sys.Dir, r rename) error {
	b.mu.Lock()
	var err error
	if r.volume, err = b.volume(from); err != nil {
		b.mu.Unlock()
		return err
	}
	r.from, r.to = from.Retain(), to.Retain()
	r.temp, r.name = strings.Clone(r.temp), strings.Clone(r.name)
	b.waiting = append(b.waiting, r)
	full := len(b.waiting) >= b.limit
	b.mu.Unlock()
	if full {
		b.flush(b.limit)
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
	v := volume{dev: st.Dev}
	if err := dir.Open(&v.dir, ".", sys.ReadOnly, 0); err != nil {
		return 0, err
	}
	b.touched = append(b.touched, v)
	return len(b.touched) - 1, nil
}

// Flush makes what waits durable and gives it its names. A file that cannot get
// its name is removed, and its done is told; the error tells of all that failed
// since the last Flush and had no done. The names themselves are durable after
// Close.
func (b *Batch) Flush() error {
	b.flush(1)
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

// flush does so if at least so many wait: while it waited for its turn another
// may have done the work.
func (b *Batch) flush(least int) {
	b.flushing.Lock()
	defer b.flushing.Unlock()
	b.mu.Lock()
	if len(b.waiting) < least {
		b.mu.Unlock()
		return
	}
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
		if err == nil || r.done != nil {
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
	if err != nil || r.link {
		// The error that matters is the one before. A link is still there if it
		// was renamed over a name of the same file, which does nothing.
		r.from.Remove(r.temp)
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
func (b *Batch) Discard(cause error) {
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
	b.release()
}

// Close flushes, and then makes all names durable: what the batch was given is
// safe when it returns without an error.
func (b *Batch) Close() error {
	err := b.Flush()
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.touched {
		if e := b.touched[i].dir.SyncFS(); err == nil {
			err = e
		}
	}
	b.release()
	return err
}

// release lets go of all file systems. Closing a directory that was only read
// can lose nothing. The caller holds mu.
func (b *Batch) release() {
	for i := range b.touched {
		b.touched[i].dir.Close()
	}
	b.touched = nil
}
