package outfile

import (
	"io"
	"io/fs"
	"path/filepath"

	"github.com/gohaul/haul/internal/sys"
)

// Overwrite gives the file at path, symbolic links followed, the content data.
// A file that exists keeps its inode, links and mode; else one is made with
// perm, cut by umask. It keeps to the contract of os.WriteFile but does not
// empty the file first: it writes, and cuts only what was longer. That spares
// the flush that file systems do behind a truncation, and so a crash may leave
// a mix of old and new where os.WriteFile may leave nothing; Policy.Durability
// other than NoSync makes the content durable before it returns. Of the policy
// it obeys that and Counters.
//
// After a failed write the file holds what could be written, and no old tail.
func Overwrite(path string, data []byte, perm uint32, p *Policy) error {
	if p == nil {
		p = &usual
	}
	var f sys.File
	if err := sys.OpenPath(&f, path, sys.WriteOnly|sys.CreateAny, perm); err != nil {
		return err
	}
	n, err := writeAll(&f, data, p)
	if e := cutTo(&f, int64(n), p); err == nil {
		err = e
	}
	if err == nil && p.Durability != NoSync {
		err = syncPath(&f, path)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// writeAll writes at the file's position, since a FIFO has no other.
func writeAll(f *sys.File, data []byte, p *Policy) (done int, err error) {
	calls := int64(0)
	for done < len(data) && err == nil {
		var n int
		n, err = f.Write(data[done:])
		if n == 0 && err == nil {
			err = &fs.PathError{Op: "write", Path: f.Name(), Err: io.ErrShortWrite}
		}
		done += n
		calls++
	}
	if c := p.Counters; c != nil {
		add(&c.Writes, calls)
		add(&c.Written, int64(done))
		add(&c.Copied, int64(done))
		add(&c.Bytes, int64(done))
	}
	return done, err
}

// cutTo cuts a regular file that is longer than size. A failure is one exactly
// if the size is wrong then.
func cutTo(f *sys.File, size int64, p *Policy) error {
	var st sys.Stat
	if err := f.Stat(&st); err != nil {
		return err
	}
	if !st.IsRegular() || st.Size <= size {
		return nil
	}
	if c := p.Counters; c != nil {
		c.Cuts.Add(1)
	}
	err := f.Truncate(size)
	if err == nil {
		return nil
	}
	if e := f.Stat(&st); e == nil && st.Size == size {
		return nil
	}
	return err
}

// syncPath makes a file and its name durable. What is no regular file has
// nothing to sync.
func syncPath(f *sys.File, path string) error {
	var st sys.Stat
	if err := f.Stat(&st); err != nil || !st.IsRegular() {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	dir, err := sys.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	err = dir.With(func(d *sys.File) error { return d.Sync() })
	if e := dir.Close(); err == nil {
		err = e
	}
	return err
}
