package outfile

import (
	"io"

	"github.com/gohaul/haul/internal/sys"
)

// across reports whether the directory of temporary files is on another file
// system than the file's own, so that a rename will not do.
func (f *File) across() (bool, error) {
	if f.place != Replace || f.p.TempDir == nil {
		return false, nil
	}
	var there, here sys.Stat
	err := f.p.TempDir.With(func(d *sys.File) error { return d.Stat(&there) })
	if err == nil {
		err = f.dir.With(func(d *sys.File) error { return d.Stat(&here) })
	}
	return there.Dev != here.Dev, err
}

// commitAcross copies the temporary file to a second one beside the target,
// which is committed in its stead, as the last step of all.
func (f *File) commitAcross(apply func(*sys.File) error) error {
	g := File{Cancel: f.Cancel, OnFinal: f.OnFinal}
	defer g.Abort()
	size, err := f.closeStreams()
	if err == nil {
		err = f.finishSize(size)
	}
	if err == nil {
		err = f.copyAcross(&g, size)
	}
	f.file.Close() // its content is elsewhere by now
	if e := f.undo(); err == nil {
		err = e
	}
	if err == nil {
		err = g.Commit(apply)
	}
	return err
}

func (f *File) copyAcross(g *File, size int64) error {
	beside := *f.p
	beside.TempDir = nil
	beside.Counters = nil // every byte was counted once
	if err := g.Create(f.dir, f.name, size, f.perm, &beside); err != nil {
		return err
	}
	return g.At(0).copyExtents(&f.file, size)
}

// copyExtents copies the first size bytes of src, holes as holes. src belongs
// to this process alone and does not change.
func (s *Stream) copyExtents(src *sys.File, size int64) error {
	for at := int64(0); at < size; {
		data, err := src.SeekData(at)
		switch {
		case sys.NoMoreData(err):
			return s.Hole(size - at)
		case sys.NoHoles(err):
			return s.Copy(src, at, size-at)
		case err != nil:
			return err
		}
		end, err := src.SeekHole(data)
		if err != nil {
			return err
		}
		if end <= data {
			return io.ErrNoProgress
		}
		if err := s.Hole(data - at); err != nil {
			return err
		}
		if err := s.Copy(src, data, min(end, size)-data); err != nil {
			return err
		}
		at = end
	}
	return s.err
}
