package outfile

import (
	"errors"
	"io/fs"

	"github.com/gohaul/haul/internal/sys"
)

// Commit makes the file final. It decides what streams still hold, cuts or
// extends the file to the furthest byte it was given, lets apply (which may be
// nil) set metadata on the descriptor, makes all durable as far as the policy
// says, and gives the file its name.
//
// If it fails, a file that was made for it is removed and what had the name
// before is untouched; of a file changed in place, or one whose name was given
// already, a *LeftError says in what state it is.
func (f *File) Commit(apply func(*sys.File) error) error {
	if !f.file.IsOpen() {
		return fs.ErrClosed
	}
	across, err := f.across()
	if err == nil && across {
		return f.commitAcross(apply)
	}
	if err == nil {
		err = f.settle(apply)
	}
	if e := f.file.Close(); err == nil && e != nil {
		err = f.left(e, leftUnsafe)
	}
	if err != nil {
		return join(err, f.undo())
	}
	err = f.publish()
	f.end()
	return err
}

// join is errors.Join that leaves a single error as it is.
func join(err, more error) error {
	if more == nil {
		return err
	}
	if err == nil {
		return more
	}
	return errors.Join(err, more)
}

// settle does all that is done to the open file.
func (f *File) settle(apply func(*sys.File) error) error {
	size, err := f.closeStreams()
	if err != nil {
		return err
	}
	if err := f.finishSize(size); err != nil {
		return f.left(err, leftUnsized)
	}
	if apply != nil {
		if err := apply(&f.file); err != nil {
			return f.left(err, leftBare)
		}
	}
	if f.syncsItself() {
		if err := f.file.Sync(); err != nil && !(f.plain && sys.CannotTruncate(err)) {
			return f.left(err, leftUnsafe)
		}
	}
	return nil
}

// closeStreams flushes all streams and tells the size the file is to have.
func (f *File) closeStreams() (size int64, err error) {
	size = f.cloned
	for s := range f.streams {
		if e := s.Close(); err == nil {
			err = e
		}
		size = max(size, s.end)
	}
	return size, err
}

// streams calls yield with every stream.
func (f *File) streams(yield func(*Stream) bool) {
	if !yield(&f.main) {
		return
	}
	for _, s := range f.more {
		if !yield(s) {
			return
		}
	}
}

// finishSize settles the last holes and sets the size. A hole at the end is a
// cut, which frees what stood there, and then an extension.
func (f *File) finishSize(size int64) error {
	if f.plain {
		return nil
	}
	length, tail := f.length, size
	for s := range f.streams {
		length = max(length, s.top)
		if s.zeroEnd == size && s.zero < s.zeroEnd {
			tail = s.zero
			s.zero, s.zeroEnd = 0, 0
		}
	}
	for s := range f.streams {
		s.settle()
		s.count()
		if s.err != nil {
			return s.err
		}
	}
	if tail < size && tail < f.ground {
		f.touch()
		if err := f.setSize(tail); err != nil {
			return err
		}
		length = tail
	}
	if length != size {
		f.touch()
		if err := f.setSize(size); err != nil {
			return err
		}
	}
	if tail < size && length < size && f.touched.Load() {
		if err := f.spareTail(tail, size); err != nil {
			return err
		}
	}
	if (f.reserved || f.inPlace() && f.p.Sparse == SparseAlways) && length <= size && size > f.ground {
		return f.trim(size)
	}
	return nil
}

// trim frees what XFS has allocated behind the end. It does so by itself when a
// file is closed, but only the first time, and never for one with reserved
// blocks. It costs a flush, so it is done where allocation is the point.
func (f *File) trim(size int64) error {
	f.mu.Lock()
	k, err := f.learn()
	f.mu.Unlock()
	if err != nil || !k.eager {
		return err
	}
	return f.setSize(size)
}

// spareTail frees what a file system has allocated ahead of the last write,
// where the file was extended over it.
func (f *File) spareTail(from, to int64) error {
	f.mu.Lock()
	k, err := f.learn()
	f.mu.Unlock()
	if err != nil || !k.eager {
		return err
	}
	if c := f.p.Counters; c != nil {
		c.Punches.Add(1)
	}
	if err = f.file.Punch(from, to-from); unpunchable(err) {
		return nil
	}
	return err
}

// syncsItself reports whether this one file is made durable by itself.
func (f *File) syncsItself() bool {
	switch f.p.Durability {
	case SyncEach:
		return true
	case SyncBatch:
		return f.p.Batch == nil || f.dir == nil // nobody else would do it
	}
	return false
}

// publish gives the closed file its name and makes that durable.
func (f *File) publish() error {
	batched := f.p.Durability == SyncBatch && !f.syncsItself()
	if f.place == Replace {
		from, temp := f.tempDir(), f.temp.String()
		if batched {
			if err := f.p.Batch.Add(from, temp, f.dir, f.name, f.OnFinal); err != nil {
				return join(err, f.remove())
			}
			return nil
		}
		if err := from.Rename(temp, f.dir, f.name); err != nil {
			return join(err, f.remove())
		}
	}
	if err := f.keepName(batched); err != nil {
		return &LeftError{State: leftUnsafe, Err: err}
	}
	if f.OnFinal != nil {
		f.OnFinal(nil)
	}
	return nil
}

// keepName makes the name durable, or sees to it that a batch does.
func (f *File) keepName(batched bool) error {
	switch {
	case batched:
		return f.p.Batch.Touch(f.dir)
	case f.dir != nil && f.made && f.p.Durability != NoSync:
		return f.dir.With(func(d *sys.File) error { return d.Sync() })
	}
	return nil
}

// undo removes what a failed file left, if it was made for it.
func (f *File) undo() error {
	err := f.remove()
	f.end()
	return err
}

// remove takes away the file that was made, which has no content worth a name.
func (f *File) remove() error {
	switch {
	case !f.made:
		return nil
	case f.place == Replace:
		return f.tempDir().Remove(f.temp.String())
	}
	return f.dir.Remove(f.name)
}

// Abort gives the file up: what was made for it goes, and a file changed in
// place stays as it is, or is cut if CutOnAbort says so. After Commit, or
// another Abort, it does nothing.
func (f *File) Abort() error {
	if !f.file.IsOpen() {
		return nil
	}
	var errs [3]error
	if f.CutOnAbort && f.inPlace() && f.touched.Load() {
		top := int64(0)
		for s := range f.streams {
			top = max(top, s.top)
		}
		if top < f.length {
			errs[0] = f.setSize(top)
		}
	}
	for s := range f.streams {
		s.count()
	}
	errs[1] = f.file.Close()
	if f.made {
		errs[1] = nil // what could not be written is not wanted
	}
	errs[2] = f.undo()
	return errors.Join(errs[:]...)
}
