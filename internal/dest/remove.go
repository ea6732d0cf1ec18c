package dest

import (
	"context"

	"github.com/gohaul/haul/internal/sys"
)

// RemoveAll removes an entry and, if it is a directory, all beneath it. Each entry
// removed is told, deepest first. Only what Prune and a replacement need comes
// here.
func (d *Dir) RemoveAll(ctx context.Context, name string, st *sys.Stat, told func(path string, st *sys.Stat)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if st.IsDir() && d.Dir != nil {
		if err := d.empty(ctx, name, told); err != nil {
			return err
		}
	}
	if !d.idle() {
		remove := d.Dir.Remove
		if st.IsDir() {
			remove = d.RemoveDir
		}
		if err := remove(name); err != nil {
			return err
		}
		if err := d.note(); err != nil {
			return err
		}
	}
	told(d.Join(name), st)
	return nil
}

func (d *Dir) empty(ctx context.Context, name string, told func(string, *sys.Stat)) error {
	sub, err := d.OpenDir(name)
	if err != nil {
		return err
	}
	n := &Dir{Dir: sub, tree: d.tree}
	defer n.Close()
	return n.Each(func(name string) error {
		var st sys.Stat
		there, err := n.Look(name, &st)
		if err != nil || !there {
			return err
		}
		return n.RemoveAll(ctx, name, &st, told)
	})
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
