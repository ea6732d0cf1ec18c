package dest

import (
	"context"

	"github.com/gohaul/haul/internal/sys"
)

// Spare tells what must not be removed from a directory. Nil spares nothing.
type Spare interface {
	Keeps(name string, isDir bool) bool
	Enter(d *Dir, name string) (Spare, error) // for the directory d, that is name
}

// RemoveAll removes an entry and, if it is a directory, all beneath it that is
// not spared. Each entry removed is told, deepest first. gone is false if
// something was spared, and so stays with all above it.
func (d *Dir) RemoveAll(ctx context.Context, name string, st *sys.Stat, spare Spare, told func(path string, st *sys.Stat)) (gone bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if st.IsDir() && d.Dir != nil {
		if gone, err := d.empty(ctx, name, st, spare, told); err != nil || !gone {
			return false, err
		}
	}
	if !d.idle() {
		remove := d.Dir.Remove
		if st.IsDir() {
			remove = d.RemoveDir
		}
		if err := remove(name); err != nil {
			return false, err
		}
		if err := d.note(); err != nil {
			return false, err
		}
	}
	told(d.Join(name), st)
	return true, nil
}

func (d *Dir) empty(ctx context.Context, name string, st *sys.Stat, spare Spare, told func(string, *sys.Stat)) (gone bool, err error) {
	if _, err := d.unlock(name, st); err != nil {
		return false, err
	}
	sub, err := d.OpenDir(name)
	if err != nil {
		return false, err
	}
	n := &Dir{Dir: sub, tree: d.tree}
	defer n.Close()
	if spare != nil {
		if spare, err = spare.Enter(n, name); err != nil {
			return false, err
		}
	}
	gone = true
	err = n.Each(func(name string) error {
		var st sys.Stat
		there, err := n.Look(name, &st)
		if err != nil || !there {
			return err
		}
		if spare != nil && spare.Keeps(name, st.IsDir()) {
			gone = false
			return nil
		}
		all, err := n.RemoveAll(ctx, name, &st, spare, told)
		gone = gone && all
		return err
	})
	return gone, err
}

// Each calls f with every name in the directory. What f removes is gone, what
// it makes may or may not be seen.
func (d *Dir) Each(f func(name string) error) error {
	if d.Dir == nil {
		return nil
	}
	own, err := d.OpenDir(".") // others may be listing through d
	if err != nil {
		return err
	}
	defer own.Close()
	buf := make([]byte, 32<<10)
	var list []sys.Dirent
	for {
		list, err = own.Read(buf, list[:0])
		if err != nil || len(list) == 0 {
			return err
		}
		for _, e := range list {
			if err := f(e.Name); err != nil {
				return err
			}
		}
	}
}

// Empty reports whether the directory name has no entries.
func (d *Dir) Empty(name string) (bool, error) {
	if d.Dir == nil {
		return true, nil
	}
	sub, err := d.OpenDir(name)
	if err != nil {
		return false, err
	}
	defer sub.Close()
	list, err := sub.Read(make([]byte, 4096), nil)
	return len(list) == 0, err
}
