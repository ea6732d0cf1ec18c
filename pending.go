package haul

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/outfile"
	"github.com/gohaul/haul/internal/sys"
)

// Pending is a file that is being written and has not its final name yet (or,
// in place, not its final length). It is an io.Writer and an io.ReaderFrom; it is
// used by one goroutine. Commit makes it final, Abort undoes it.
type Pending struct {
	file   outfile.File
	stream *outfile.Stream
	dir    *sys.Dir
	mode   uint32 // set by Commit; 0 keeps what Create gave
	old    *meta.Meta
	read   meta.Reader
	batch  *outfile.Batch
	path   string
	done   bool
}

// Create begins to write the named file, of about size bytes (0 if that is not
// known). A file that exists keeps its mode, owner and attributes; a new one gets
// 0666 cut by umask. Of o, the policies on writing count: Sparse, InPlace,
// Preallocate, Durability, WriteSize, Counters, Perm. A symbolic link is followed.
// What exists and is no regular file is refused: os.OpenFile writes into these.
func Create(name string, size int64, o *Options) (*Pending, error) {
	return create(name, size, 0, o)
}

// create does so with a mode for the finished file, marked by a type so that
// none at all is one; 0 means as Create says.
func create(name string, size int64, mode uint32, o *Options) (*Pending, error) {
	j, err := o.job()
	if err != nil {
		return nil, err
	}
	path, err := resolve(name)
	if err != nil {
		return nil, err
	}
	dir, base := filepath.Split(path)
	if base == "" || base == "." || base == ".." {
		return nil, &fs.PathError{Op: "create", Path: name, Err: sys.ErrIsDir}
	}
	p := &Pending{path: path}
	if p.dir, err = sys.OpenRoot(dir); err != nil {
		return nil, err
	}
	policy := j.Dest.Write
	policy.Counters = j.Dest.Counters
	if j.Dest.InPlace {
		policy.Place = outfile.InPlace
	}
	policy.Durability = policy.Durability.Here()
	if policy.Durability == outfile.SyncBatch {
		p.batch = outfile.NewBatch(1)
		policy.Batch = p.batch
	}
	perm := uint32(0o666)
	if mode != 0 {
		perm = mode & 0o777
	}
	if err := p.inherit(base, mode, policy.Place); err != nil {
		p.dir.Close()
		return nil, err
	}
	if p.old != nil {
		perm &= 0o600
	}
	if o != nil && o.Perm != 0 {
		p.mode = sys.Perm(o.Perm)
		perm &= p.mode
	}
	if err := p.file.Create(p.dir, base, size, perm, &policy); err != nil {
		p.dir.Close()
		return nil, err
	}
	p.stream = p.file.At(0)
	return p, nil
}

// errNotRegular: a rename over a device or a FIFO would destroy it.
var errNotRegular = errors.New("not a regular file")

// inherit remembers what a file that is replaced hands on to its successor, if
// it was not given a mode of its own.
func (p *Pending) inherit(name string, mode uint32, place outfile.Place) error {
	if place == outfile.InPlace {
		return nil // that looks by itself
	}
	var m meta.Meta
	err := p.dir.Lstat(name, &m.Stat)
	switch {
	case sys.IsNotExist(err):
		return nil
	case err == nil && m.IsDir():
		return &fs.PathError{Op: "create", Path: p.dir.Join(name), Err: sys.ErrIsDir}
	case err == nil && !m.IsRegular():
		return &fs.PathError{Op: "create", Path: p.dir.Join(name), Err: errNotRegular}
	case err == nil && mode != 0:
		return nil
	case err == nil:
		err = p.read.Fill(meta.Object{Dir: p.dir, Name: name}, meta.Xattrs|meta.ACL, &m)
	}
	p.old = &m
	return err
}

// resolve follows a symbolic link at the end of a path, also one that leads to a
// name which is not there yet.
func resolve(name string) (string, error) {
	for range 40 {
		to, err := os.Readlink(name)
		if err != nil {
			return name, nil // no link, or Create will say what is wrong
		}
		if !filepath.IsAbs(to) {
			dir, _ := filepath.Split(name)
			to = dir + to
		}
		name = to
	}
	return "", &fs.PathError{Op: "create", Path: name, Err: errors.New("too many levels of symbolic links")}
}

// Write stores p behind what was written before.
func (p *Pending) Write(b []byte) (int, error) {
	if p.done {
		return 0, p.closed("write")
	}
	return p.stream.Write(b)
}

// closed is the error of what comes after the end.
func (p *Pending) closed(op string) error {
	return &fs.PathError{Op: op, Path: p.path, Err: fs.ErrClosed}
}

// Hole leaves n bytes of zeros behind what was written before, which take no
// space unless the policy is SparseNever.
func (p *Pending) Hole(n int64) error {
	if p.done {
		return p.closed("write")
	}
	return p.stream.Hole(n)
}

// ReadFrom writes all that r gives up to its end.
func (p *Pending) ReadFrom(r io.Reader) (int64, error) {
	if p.done {
		return 0, p.closed("write")
	}
	buf := make([]byte, 256<<10)
	total := int64(0)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			m, werr := p.stream.Write(buf[:n])
			total += int64(m)
			if werr != nil {
				return total, werr
			}
		}
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// Commit makes the file final: after it the name leads to all that was written,
// and it is durable if Durability says so. On an error the old file is untouched
// (in place: the error says what is left).
func (p *Pending) Commit() error {
	if p.done {
		return p.closed("commit")
	}
	p.done = true
	err := p.file.Commit(p.apply)
	if err == nil && p.batch != nil {
		err = p.batch.Close()
	}
	return errors.Join(err, p.dir.Close())
}

func (p *Pending) apply(f *sys.File) error {
	if p.old == nil {
		return p.chmod(f)
	}
	which := meta.Mode | meta.Owner | meta.Group | meta.Xattrs | meta.ACL
	uid, gid := sys.Owner()
	_, err := p.read.Apply(meta.Object{File: f}, p.old, &meta.Policy{Which: which},
		meta.Have{UID: uid, GID: gid, Mode: sys.TypeRegular, Xattrs: true})
	if err != nil {
		return err
	}
	return p.chmod(f)
}

// chmod sets the mode that was asked for, if one was.
func (p *Pending) chmod(f *sys.File) error {
	if p.mode == 0 {
		return nil
	}
	return f.Chmod(p.mode)
}

// Abort gives the file up and removes what was written beside it. It does
// nothing after Commit, so it may be deferred.
func (p *Pending) Abort() error {
	if p.done {
		return nil
	}
	p.done = true
	return errors.Join(p.file.Abort(), p.dir.Close())
}
