package local

import (
	"bytes"
	"errors"
	"io"
	"io/fs"

	"github.com/gohaul/haul/internal/infile"
	"github.com/gohaul/haul/internal/plan"
)

// compareWindow is how many bytes are compared at once.
const compareWindow = 256 << 10

// compare reads both files and says whether only metadata may differ.
func (w *worker) compare(n *node, name, target string) (plan.Action, error) {
	alike, err := w.alike(n, name, target)
	switch {
	case err != nil:
		return plan.Skip, err
	case alike:
		return plan.Touch, nil
	case w.Rules.InPlace:
		return plan.Patch, nil
	}
	return plan.Replace, nil
}

// verify reads a finished copy and its source and reports any difference.
func (w *worker) verify(n *node, name, target string) error {
	alike, err := w.alike(n, name, target)
	if err == nil && !alike {
		err = &fs.PathError{Op: "verify", Path: n.dst.Join(target), Err: ErrDiffers}
	}
	return err
}

// alike reports whether two files hold the same bytes. Ranges that are holes in
// both are not read, and cost nothing however large they are.
func (w *worker) alike(n *node, name, target string) (bool, error) {
	if err := w.openSource(n, name); err != nil {
		return false, err
	}
	defer w.in.Close()
	var other infile.File
	if err := other.Open(n.dst.Dir, target); err != nil {
		return false, err
	}
	defer other.Close()
	size := w.in.Stat().Size
	if other.Stat().Size != size {
		return false, nil
	}
	var a, b infile.Extent
	for off := int64(0); off < size; {
		if err := w.ctx.Err(); err != nil {
			return false, err
		}
		err := extentAt(&w.in, off, &a)
		if err == nil {
			err = extentAt(&other, off, &b)
		}
		k := min(a.End(), b.End()) - off
		if err == nil && !(a.Hole && b.Hole) {
			k = min(k, compareWindow)
			var equal bool
			if equal, err = sameWindow(&w.in, &other, off, int(k)); err == nil && !equal {
				return false, nil
			}
		}
		if errors.Is(err, infile.ErrShrank) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		off += k
	}
	return true, nil
}

// extentAt keeps e the extent that holds off.
func extentAt(f *infile.File, off int64, e *infile.Extent) (err error) {
	if off >= e.End() {
		*e, err = f.Next(off)
	}
	return err
}

func sameWindow(f, g *infile.File, off int64, n int) (bool, error) {
	a, err := f.Window(off, n)
	if err != nil {
		return false, err
	}
	b, err := g.Window(off, n)
	return err == nil && bytes.Equal(a, b), err
}
