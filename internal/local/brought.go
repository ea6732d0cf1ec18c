package local

import (
	"os"
	"path/filepath"

	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/internal/sys"
)

// brought are the names that no deletion may touch, by the directory they stand
// in: with several sources, what one lacks may be what another one brings.
type brought map[fileID]map[string]bool

// promise collects the targets of all pairs, and the directories above them. Two
// directories with one target are refused: each would remove what the other
// brought.
func (e *engine) promise() error {
	if !e.Delete || len(e.Pairs) < 2 {
		return nil
	}
	e.brought = brought{}
	taken := map[string]bool{}
	for _, p := range e.Pairs {
		path, err := filepath.Abs(p.Dst)
		if err != nil {
			return err
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		var st sys.Stat
		if sys.StatPath(p.Src, e.Follow != plan.FollowNever, &st) == nil && st.IsDir() {
			if taken[path] {
				return &os.LinkError{Op: "copy", Old: p.Src, New: p.Dst, Err: ErrDeleteOther}
			}
			taken[path] = true
		}
		e.brought.add(path)
	}
	return nil
}

// add notes a path and all that it stands beneath.
func (b brought) add(path string) {
	for dir := filepath.Dir(path); dir != path; path, dir = dir, filepath.Dir(dir) {
		var st sys.Stat
		if sys.StatPath(dir, true, &st) != nil {
			continue // not there yet, so nothing is deleted in it
		}
		id := fileID{st.Dev, st.Ino}
		if b[id] == nil {
			b[id] = map[string]bool{}
		}
		b[id][filepath.Base(path)] = true
	}
}

// in gives the names of a directory that some source brings.
func (b brought) in(n *node) (names map[string]bool, err error) {
	if len(b) == 0 {
		return nil, nil
	}
	err = n.dst.With(func(f *sys.File) error {
		var st sys.Stat
		err := f.Stat(&st)
		names = b[fileID{st.Dev, st.Ino}]
		return err
	})
	return names, err
}
