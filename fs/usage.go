package fs

import (
	"context"

	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/internal/tree"
)

// Usage of disk information.
type Usage struct {
	Inodes int64
	Size   int64 // bytes allocated
}

// DiskUsage counts the inodes under the roots and the bytes allocated to them,
// the roots included. A file is counted once, however many names it has and
// whichever roots it stands under. Symbolic links are not followed.
func DiskUsage(ctx context.Context, roots ...string) (Usage, error) {
	c := counter{seen: map[inode]struct{}{}}
	for _, root := range roots {
		if err := c.root(ctx, root); err != nil {
			return Usage{}, err
		}
	}
	return c.usage, nil
}

// DiffUsage counts the inodes that were added or modified between the directory
// a and the directory b, and the bytes allocated to them: see Changes.
func DiffUsage(ctx context.Context, a, b string) (Usage, error) {
	c := counter{seen: map[inode]struct{}{}}
	err := eachChange(ctx, a, b, func(kind ChangeKind, _ string, st *sys.Stat) error {
		if kind == ChangeKindAdd || kind == ChangeKindModify {
			c.add(st)
		}
		return nil
	})
	if err != nil {
		return Usage{}, err
	}
	return c.usage, nil
}

type inode struct{ dev, ino uint64 }

// counter adds up files, each once.
type counter struct {
	usage Usage
	seen  map[inode]struct{}
}

func (c *counter) root(ctx context.Context, path string) error {
	var st sys.Stat
	if err := sys.StatPath(path, false, &st); err != nil {
		return err
	}
	if !st.IsDir() {
		c.add(&st)
		return nil
	}
	dir, err := sys.OpenRoot(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	for e, err := range tree.Walk(ctx, dir, tree.Options{}) {
		if err != nil {
			return err
		}
		c.add(&e.Meta.Stat)
	}
	return nil
}

func (c *counter) add(st *sys.Stat) {
	id := inode{st.Dev, st.Ino}
	if _, counted := c.seen[id]; counted {
		return
	}
	c.seen[id] = struct{}{}
	c.usage.Inodes++
	c.usage.Size += st.Blocks * 512
}
