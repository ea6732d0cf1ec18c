package outfile

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/gohaul/haul/internal/sys"
)

// File is one file being written. The zero File is ready for Create, and ready
// again after Commit or Abort: its buffer stays, so that writing many small
// files allocates nothing. Only streams made by At may be used side by side.
type File struct {
	// Cancel, if it is not nil, is looked at between pieces of work. Closed, it
	// ends the verb under way with context.Canceled.
	Cancel <-chan struct{}

	// OnFinal, if it is not nil, is called once for every Commit that succeeds,
	// when the file has its name: at once, or for a file that waits in a Batch at
	// its flush, from another goroutine, with what went wrong there.
	OnFinal func(error)

	// CutOnAbort makes Abort cut a file that is changed in place behind the bytes
	// that were written, so that no old tail follows new content.
	CutOnAbort bool

	p    *Policy
	dir  *sys.Dir // nil for a file given to Take
	name string   // the final one
	temp tempName
	file sys.File
	pair pair

	perm     uint32
	place    Place
	made     bool  // by us: a failure removes it
	reserved bool  // blocks were allocated for what is to come
	plain    bool  // has no offsets and no size: a FIFO, a terminal, /dev/null
	blind    bool  // in place, but may not be read: nothing can be compared
	holey    bool  // in place, and the old file has holes or may have
	old      int64 // in place: the size it had
	size     int64 // what the caller expects it to become
	ground   int64 // below it there may be blocks; behind it there are none
	cloned   int64 // bytes it got by sharing all of another file

	// What streams side by side share.
	touched atomic.Bool // something was done to its content
	noPunch atomic.Bool // the file system cannot free blocks: zeros are stored
	unit    atomic.Int64

	mu     sync.Mutex
	length int64 // that the file has for certain, writes left out
	kind   kind  // block 0: not asked yet
	more   []*Stream
	main   Stream
}

// usual stands for a nil Policy.
var usual Policy

// Create begins a file named name in dir, which stays the caller's and open
// until Commit or Abort. size is what the file is expected to become, in bytes;
// 0 means unknown, and a wrong one costs speed alone. perm is cut by umask; the
// caller gives the safest and sets the final mode in Commit. name must stay
// valid until Commit or Abort. The error is an *fs.PathError.
func (f *File) Create(dir *sys.Dir, name string, size int64, perm uint32, p *Policy) error {
	f.begin(size, p)
	f.dir, f.name, f.perm = dir, name, perm
	var err error
	switch f.place {
	case Replace:
		err = f.createTemp(f.tempDir(), name, perm)
		f.made = true
	case New:
		err = dir.Open(&f.file, name, sys.WriteOnly|sys.CreateNew, perm)
		f.made = true
	default:
		err = f.openInPlace(perm)
	}
	if err != nil {
		f.end()
		return err
	}
	return f.reserve()
}

// Take begins a file that the caller has opened for writing, and reading if it
// may be read; it is changed in place, and Commit or Abort closes it. It may also
// be one that has no size, as a FIFO.
func (f *File) Take(file *sys.File, size int64, p *Policy) error {
	f.begin(size, p)
	f.place = InPlace
	f.file, *file = *file, sys.File{}
	if err := f.inspect(); err != nil {
		return join(err, f.Abort())
	}
	return f.reserve()
}

// Devices tells the device numbers of the next or present file's source and of
// itself, as stat gives them: what Policy.Ways remembers things by.
func (f *File) Devices(src, dst uint64) { f.pair = pair{src, dst} }

// Sys is the open file, for as long as it is.
func (f *File) Sys() *sys.File { return &f.file }

// Fresh reports whether the file began without content and without blocks.
func (f *File) Fresh() bool { return f.ground == 0 }

func (f *File) begin(size int64, p *Policy) {
	if p == nil {
		p = &usual
	}
	f.p, f.size, f.place = p, max(size, 0), p.Place
	f.main.reset(f)
}

// end forgets the file, but not what is kept for the next one.
func (f *File) end() {
	f.main.reset(f)
	clear(f.more)
	f.more = f.more[:0]
	f.p, f.dir, f.name, f.pair = nil, nil, "", pair{}
	f.file = sys.File{}
	f.made, f.reserved, f.plain, f.blind, f.holey = false, false, false, false, false
	f.old, f.size, f.ground, f.cloned, f.length = 0, 0, 0, 0, 0
	f.kind = kind{}
	f.touched.Store(false)
	f.noPunch.Store(false)
	f.unit.Store(0)
}

// openInPlace opens what stands there, or makes it. A file that may be written
// but not read is taken too.
func (f *File) openInPlace(perm uint32) error {
	for {
		err := f.dir.Open(&f.file, f.name, sys.ReadWrite, 0)
		if err != nil && sys.NotPermitted(err) {
			if f.dir.Open(&f.file, f.name, sys.WriteOnly, 0) == nil {
				f.blind, err = true, nil
			}
		}
		if err == nil {
			if err = f.inspect(); err != nil {
				f.file.Close() // nothing was written
			}
			return err
		}
		if !sys.IsNotExist(err) {
			return err
		}
		err = f.dir.Open(&f.file, f.name, sys.ReadWrite|sys.CreateNew, perm)
		if err == nil {
			f.made = true
			return nil
		}
		if !sys.IsExist(err) { // else somebody made it in between: that one is taken
			return err
		}
	}
}

// inspect learns what stands there already.
func (f *File) inspect() error {
	var st sys.Stat
	if err := f.file.Stat(&st); err != nil {
		return err
	}
	switch {
	case st.IsRegular():
		f.old, f.ground, f.length = st.Size, st.Size, st.Size
		f.holey = st.Blocks*512 < st.Size
		return f.unreserve(&st)
	case f.dir != nil:
		return &fs.PathError{Op: "open", Path: f.file.Name(), Err: errors.New("not a regular file")}
	default:
		f.plain = true
	}
	return nil
}

// unreserve frees blocks behind the end of the old file, where zeros would be
// taken for free. Beside holes they do not show, so they are freed unseen where
// allocation is the point.
func (f *File) unreserve(st *sys.Stat) error {
	seen := st.Blocks*512-st.Size >= defaultBlock
	if f.p.Sparse == SparseNever || !seen && !(f.holey && f.p.Sparse == SparseAlways) {
		return nil
	}
	if err := f.setSize(st.Size); !unpunchable(err) {
		return err
	}
	return nil
}

// reserve allocates the blocks behind what is there, if the policy says so.
func (f *File) reserve() error {
	if !f.p.Preallocate || f.plain || f.size <= f.old {
		return nil
	}
	err := f.file.Allocate(f.old, f.size-f.old)
	if sys.NotSupported(err) {
		return nil // it would only have been faster
	}
	if err == nil {
		// A hole is punched only below the end of the file.
		f.touch()
		f.reserved, f.ground = true, f.size
		err = f.setSize(f.size)
	}
	if err != nil {
		return join(err, f.Abort())
	}
	return nil
}

func (f *File) tempDir() *sys.Dir {
	if f.p.TempDir != nil {
		return f.p.TempDir
	}
	return f.dir
}

// At is a stream that begins at off. Streams over disjoint ranges may be used
// side by side; each belongs to one goroutine. The first costs no allocation.
func (f *File) At(off int64) *Stream {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &f.main
	if s.used {
		s = &Stream{f: f}
		f.more = append(f.more, s)
	}
	s.used = true
	s.off = off
	return s
}

// Holes tells, before its first byte, that the file will have holes: a file
// system that allocates ahead of writes is kept from filling them.
func (f *File) Holes() error {
	if f.p.Sparse == SparseNever || f.inPlace() || f.plain || f.size == 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	k, err := f.learn()
	if err != nil || !k.eager || f.length >= f.size {
		return err
	}
	return f.setSize(f.size)
}

// learn is what matters of the file's file system. The caller holds mu.
func (f *File) learn() (kind, error) {
	if f.kind.block == 0 {
		k, err := f.p.Ways.kindOf(&f.file, f.pair.dst)
		if err != nil {
			return kind{}, err
		}
		f.kind = k
	}
	return f.kind, nil
}

// block is the size of the file system's blocks, in bytes; the usual one if it
// does not tell.
func (f *File) block() int64 {
	if n := f.unit.Load(); n != 0 {
		return n
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := int64(defaultBlock)
	if k, err := f.learn(); err == nil {
		n = k.block
	}
	f.unit.Store(n)
	return n
}

// writeSize is the most bytes of one write call.
func (f *File) writeSize() int {
	if f.p.WriteSize > 0 {
		return f.p.WriteSize
	}
	return defaultWriteSize
}

// piece is how much is written at once: the write size, but at least a block
// where blocks are looked at whole.
func (f *File) piece() int {
	if f.searches() {
		return max(f.writeSize(), int(f.block()))
	}
	return f.writeSize()
}

// align is what pieces end at.
func (f *File) align() int64 {
	switch {
	case f.searches():
		return f.block()
	case f.writeSize() < page:
		return 1
	}
	return page
}

// searches reports whether blocks are looked at for zeros.
func (f *File) searches() bool {
	return f.p.Sparse == SparseAlways && !f.plain || f.p.Sparse == SparseNever && f.holey
}

// setSize cuts or extends.
func (f *File) setSize(size int64) error {
	if c := f.p.Counters; c != nil {
		c.Cuts.Add(1)
	}
	if err := f.file.Truncate(size); err != nil {
		return err
	}
	f.length = size
	return nil
}

// canceled is context.Canceled once the caller has closed Cancel.
func (f *File) canceled() error {
	select {
	case <-f.Cancel:
		return context.Canceled
	default:
		return nil
	}
}

// inPlace reports whether old content stands where the file is written.
func (f *File) inPlace() bool { return f.place == InPlace && !f.made && !f.plain }

// touch notes that something is about to be done to the content.
func (f *File) touch() {
	if !f.touched.Load() {
		f.touched.Store(true)
	}
}

// left adds to an error in what state it left a file that is changed in place.
func (f *File) left(err error, state string) error {
	if !f.inPlace() || !f.touched.Load() {
		return err
	}
	return &LeftError{State: state, Err: err}
}

// unpunchable reports whether an error means that blocks cannot be freed here.
func unpunchable(err error) bool {
	return err != nil && (sys.NotSupported(err) || sys.NotPermitted(err))
}

func add(n *atomic.Int64, by int64) {
	if by != 0 {
		n.Add(by)
	}
}
