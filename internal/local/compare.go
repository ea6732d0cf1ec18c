package local

import (
	"bytes"
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
// both are not read.
func (w *worker) alike(n *node, name, target string) (bool, error) {
	open := w.in.Open
	if w.Follow == plan.FollowAll || n.named && w.Follow == plan.FollowArguments {
		open = w.in.OpenFollow
	}
	if err := open(n.src, name); err != nil {
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
	for off := int64(0); off < size; off += compareWindow {
		if err := w.ctx.Err(); err != nil {
			return false, err
		}
		k := int(min(compareWindow, size-off))
		a, err := w.in.Window(off, k)
		if err != nil {
			return false, err
		}
		b, err := other.Window(off, k)
		if err != nil {
			return false, err
		}
		if len(a) < k || !bytes.Equal(a, b) {
			return false, nil
		}
	}
	return true, nil
}
