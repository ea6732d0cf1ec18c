package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gohaul/haul"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/loopfs"
	"golang.org/x/sys/unix"
)

// many multiplies the number of cuts, for longer runs.
var many = max(1, atoi(os.Getenv("HAUL_CRASH")))

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// disk is a mounted file system with the tree at work in tree, and beside it a
// tree that nobody touches.
type disk struct {
	*loopfs.FS
	bystander State
	took      time.Duration // that the job takes, about
}

// newDisk mounts a disk, which loses its cache with a cut if it is cached.
func newDisk(t *testing.T, kind string, cached bool) *disk {
	opt := loopfs.Cloneable()
	if cached {
		opt = loopfs.Cached()
	}
	d := &disk{FS: loopfs.New(t, kind, 320<<20, opt), took: 50 * time.Millisecond}
	d.bystander = plant(t, d.Dir+"/bystander", "f 0644 {0..9} data:20000")
	return d
}

// sync makes all that is there durable.
func (d *disk) sync(t *testing.T) {
	t.Helper()
	f, err := os.Open(d.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		t.Fatal(err)
	}
}

// job brings the tree from one generation to the other. done says which names are
// durable before it returns.
type job struct {
	what string
	run  func(dst string, gen int, done func(name string)) error
}

// cuts runs the job back and forth and cuts the power n times meanwhile, and once
// behind each return. It gives the damage of the first cut that did any.
func (d *disk) cuts(t *testing.T, j job, gens [2]State, from, n int) (torn, stale []string) {
	t.Helper()
	stop := d.disturb(t)
	defer stop()
	for ; n > 0 && torn == nil && stale == nil; n -= 2 {
		torn, stale = d.round(t, j, gens[from], gens[1-from], 1-from)
		from = 1 - from
	}
	return torn, stale
}

// round is one run of the job with two cuts under way and one at its end. What is
// stale is what is not durable behind the return.
func (d *disk) round(t *testing.T, j job, old, new State, gen int) (torn, stale []string) {
	t.Helper()
	var mu sync.Mutex // of torn, stale and sure
	sure := map[string]bool{}
	var returned atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wait := time.Duration(rand.Int64N(int64(d.took) + 1))
		wg.Go(func() {
			time.Sleep(wait)
			all := returned.Load()
			mu.Lock()
			names := make(map[string]bool, len(sure))
			for name := range sure {
				names[name] = true
			}
			mu.Unlock()
			got := d.cut(t)
			mu.Lock()
			defer mu.Unlock()
			torn = append(torn, Torn(got, old, new, func(name string) bool { return !all && names[name] })...)
			if all {
				stale = append(stale, Stale(got, new)...)
			}
		})
	}
	began := time.Now()
	err := j.run(d.Dir+"/tree", gen, func(name string) {
		mu.Lock()
		sure[name] = true
		mu.Unlock()
	})
	returned.Store(true)
	d.took = (3*d.took + time.Since(began)) / 4
	if err != nil {
		t.Error(err)
	}
	last := d.cut(t)
	wg.Wait()
	return append(torn, Torn(last, old, new, nil)...), append(stale, Stale(last, new)...)
}

// cut gives the tree as a power cut leaves it, and looks that nothing else is
// damaged.
func (d *disk) cut(t *testing.T) State {
	s, err := d.Snapshot()
	if err != nil {
		t.Error(err)
		return nil
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	got, err := Read(s.Dir + "/bystander")
	if wrong := Stale(got, d.bystander); err != nil || wrong != nil {
		t.Errorf("bystander: %q, %v", wrong, err)
	}
	if got, err = Read(s.Dir + "/tree"); err != nil {
		t.Error(err)
	}
	return got
}

// disturb syncs other files all the time, which writes the journal.
func (d *disk) disturb(t *testing.T) (stop func()) {
	var wg sync.WaitGroup
	ended := make(chan struct{})
	f, err := os.Create(d.Dir + "/disturbance")
	if err != nil {
		t.Fatal(err)
	}
	wg.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-ended:
				return
			case <-time.After(2 * time.Millisecond):
			}
			if err := d.commit(f, n); err != nil {
				t.Error(err)
				return
			}
		}
	})
	return func() { close(ended); wg.Wait(); f.Close() }
}

func (d *disk) commit(f *os.File, n int) error {
	if err := f.Chmod(0o600 + os.FileMode(n%2)); err != nil {
		return err
	}
	if d.Kind == "btrfs" && n%8 == 0 {
		// An fsync of its own logs one file; this commits all metadata.
		const startSync = 0x80089418
		if _, err := unix.IoctlGetInt(int(f.Fd()), startSync); err != nil {
			return err
		}
	}
	return f.Sync()
}

// tree is CopyDir over what stands there.
func tree(src [2]string, d haul.Durability) job {
	return job{"CopyDir", func(dst string, gen int, done func(string)) error {
		o := &haul.Options{Durability: d, Delete: true}
		if d == haul.SyncEach {
			o.OnItem = func(i haul.Item) {
				if rel, err := filepath.Rel(dst, i.Target); err == nil && (i.Action == haul.Made || i.Action == haul.Replaced) && i.Mode&sys.TypeMask == sys.TypeRegular {
					done(filepath.ToSlash(rel))
				}
			}
		}
		return haul.CopyDir(context.Background(), dst, src[gen], o)
	}}
}

// perFile makes a job of one that makes a single file, on all files of a flat tree.
func perFile(what string, src [2]string, one func(dst, src string) error) job {
	return job{what, func(dst string, gen int, done func(string)) error {
		list, err := os.ReadDir(src[gen])
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := one(filepath.Join(dst, e.Name()), filepath.Join(src[gen], e.Name())); err != nil {
				return err
			}
			done(e.Name())
		}
		return nil
	}}
}

func flat(gen int) string {
	return fmt.Sprintf("d 0755 .\nf 0640 f0 data:0\nf 0640 f{1..3} data:10000@%d\nf 0640 f{4..6} data:300000@%d\nf 0640 f7 data:4k@%d hole:1M data:5k@%d", gen+2, gen+4, gen+6, gen+8)
}

func files(src [2]string, d haul.Durability) []job {
	return []job{
		perFile("ReplaceFile", src, func(dst, src string) error {
			b, err := os.ReadFile(src)
			if err != nil {
				return err
			}
			return haul.ReplaceFile(dst, b, 0o640, d)
		}),
		perFile("CopyFile", src, func(dst, src string) error {
			return haul.CopyFile(context.Background(), dst, src, &haul.Options{Durability: d, Compare: haul.CompareNever})
		}),
		perFile("Create", src, func(dst, src string) error {
			b, err := os.ReadFile(src)
			if err != nil {
				return err
			}
			p, err := haul.Create(dst, 0, &haul.Options{Durability: d})
			if err != nil {
				return err
			}
			defer p.Abort()
			if len(b) > 1<<20 {
				_, err = p.Write(b[:4<<10])
				err = errors.Join(err, p.Hole(1<<20))
				b = b[4<<10+1<<20:]
			}
			_, rerr := p.ReadFrom(bytes.NewReader(b))
			return errors.Join(err, rerr, p.Commit())
		}),
	}
}

func TestPowerCut(t *testing.T) {
	src := t.TempDir()
	if testing.Short() {
		t.Skip("-short: needs loop devices")
	}
	trees := [2]string{src + "/tree0", src + "/tree1"}
	flats := [2]string{src + "/flat0", src + "/flat1"}
	var treeGens, flatGens [2]State
	for gen := range 2 {
		treeGens[gen] = plant(t, trees[gen], text(gen))
		flatGens[gen] = timeless(plant(t, flats[gen], flat(gen)))
	}
	each(t, func(t *testing.T, d *disk) {
		for _, durability := range []haul.Durability{haul.SyncBatch, haul.SyncEach} {
			name := map[haul.Durability]string{haul.SyncBatch: "batch", haul.SyncEach: "each"}[durability]
			d.clear(t)
			plant(t, d.Dir+"/tree", text(0))
			d.check(t, name, tree(trees, durability), treeGens, 6*many)
			d.clear(t)
			plant(t, d.Dir+"/tree", flat(0))
			for _, j := range files(flats, durability) {
				d.check(t, name, j, flatGens, 2*2*many)
			}
		}
	})
}

// timeless takes the times off a state.
func timeless(s State) State {
	for name, e := range s {
		e.Mtime = time.Time{}
		s[name] = e
	}
	return s
}

// each runs on each file system with each kind of disk.
func each(t *testing.T, run func(t *testing.T, d *disk)) {
	for _, kind := range []string{"ext4", "xfs", "btrfs"} {
		for _, cached := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/cached=%v", kind, cached), func(t *testing.T) { run(t, newDisk(t, kind, cached)) })
		}
	}
}

func (d *disk) clear(t *testing.T) {
	if err := os.RemoveAll(d.Dir + "/tree"); err != nil {
		t.Fatal(err)
	}
}

// check makes cuts that must do no damage.
func (d *disk) check(t *testing.T, name string, j job, gens [2]State, n int) {
	t.Helper()
	d.sync(t)
	torn, stale := d.cuts(t, j, gens, 0, n)
	if torn != nil {
		t.Errorf("%s, %s: torn by a cut: %q", j.what, name, torn)
	}
	if stale != nil {
		t.Errorf("%s, %s: not durable after its return: %q", j.what, name, stale)
	}
}
