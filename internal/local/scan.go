package local

import (
	"context"
	"path/filepath"

	"github.com/gohaul/haul/internal/filter"
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/internal/tree"
)

// scan counts what there is, ahead of the copy, so that the work left is known
// early. It reports no errors: the copy meets them itself.
func (e *engine) scan() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, p := range e.Pairs {
			e.scanPair(e.ctx, p)
		}
		if e.ctx.Err() == nil {
			e.count.Scanned.Store(true)
		}
	}()
	return done
}

func (e *engine) scanPair(ctx context.Context, p Pair) {
	var st sys.Stat
	if sys.StatPath(p.Src, e.Follow != plan.FollowNever, &st) != nil {
		return
	}
	if !st.IsDir() {
		e.met(&st)
		return
	}
	root, err := sys.OpenRoot(p.Src)
	if err != nil {
		return
	}
	defer root.Close()
	o := tree.Options{OneFileSystem: e.OneFileSystem, Follow: e.Follow == plan.FollowAll}
	if e.Filter != nil {
		o.Skip = e.scanFilter(p.Src)
	}
	for x, err := range tree.Walk(ctx, root, o) {
		if err == nil {
			e.met(&x.Meta.Stat)
		}
	}
}

// scanFilter judges entries in the order of a walk. What rules cannot be read
// count as none, as the copy itself will complain.
func (e *engine) scanFilter(src string) func(path string, m *meta.Meta) bool {
	type inside struct {
		dir   string
		scope *filter.Scope
	}
	enter := func(s *filter.Scope, dir string) inside {
		d, err := sys.OpenRoot(filepath.Join(src, dir))
		if err != nil {
			return inside{dir, s}
		}
		defer d.Close()
		if sub, err := s.Enter(dir, loader(d)); err == nil {
			s = sub
		}
		return inside{dir, s}
	}
	top, err := e.Filter.Root(filter.Sender, slashed(src))
	if err != nil || top == nil {
		return nil
	}
	stack := []inside{enter(top, "")}
	return func(path string, m *meta.Meta) bool {
		for len(stack) > 1 && !tree.Beneath(path, stack[len(stack)-1].dir) {
			stack = stack[:len(stack)-1]
		}
		scope := stack[len(stack)-1].scope
		if scope.Check(path, m.IsDir()) == filter.Exclude {
			return true
		}
		if m.IsDir() {
			stack = append(stack, enter(scope, path))
		}
		return false
	}
}

// met counts one entry of the source.
func (e *engine) met(st *sys.Stat) {
	e.count.FoundFiles.Add(1)
	if st.IsRegular() {
		e.count.FoundBytes.Add(st.Size)
	}
}
