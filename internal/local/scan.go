package local

import (
	"context"

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
	for x, err := range tree.Walk(ctx, root, o) {
		if err == nil {
			e.met(&x.Meta.Stat)
		}
	}
}

// met counts one entry of the source.
func (e *engine) met(st *sys.Stat) {
	e.count.FoundFiles.Add(1)
	if st.IsRegular() {
		e.count.FoundBytes.Add(st.Size)
	}
}
