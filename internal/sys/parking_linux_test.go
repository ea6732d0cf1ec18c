//go:build !portable

package sys

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gohaul/haul/test/loopfs"
	"golang.org/x/sys/unix"
)

// limitDirs lets only n directories stay open for the length of a test.
func limitDirs(t *testing.T, n int) {
	t.Helper()
	openDirs.mu.Lock()
	old := openDirs.limit
	openDirs.limit = n
	openDirs.mu.Unlock()
	t.Cleanup(func() {
		openDirs.mu.Lock()
		openDirs.limit = old
		openDirs.mu.Unlock()
	})
}

// parkAll parks what is idle.
func parkAll() {
	openDirs.mu.Lock()
	openDirs.shrink(0, nil)
	openDirs.mu.Unlock()
}

// noLeak compares the descriptors of the process before and after a test.
func noLeak(t *testing.T) {
	t.Helper()
	before := descriptors(t)
	t.Cleanup(func() {
		if after := descriptors(t); after != before {
			t.Errorf("%d descriptors before, %d after", before, after)
		}
		openDirs.mu.Lock()
		defer openDirs.mu.Unlock()
		if n := len(openDirs.dirs); n != 0 {
			t.Errorf("%d closed directories still in the table", n)
		}
	})
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list) - 1 // the one that lists
}

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func closeAll(t testing.TB, dirs ...*Dir) {
	t.Helper()
	for _, d := range dirs {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// chain makes directories n levels deep beneath d and opens all of them.
func chain(t testing.TB, d *Dir, n int) []*Dir {
	t.Helper()
	dirs := []*Dir{d}
	for i := range n {
		at := dirs[i]
		if err := at.Mkdir("d", 0o700); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, must(at.OpenDir("d"))(t))
	}
	return dirs
}

func inode(t testing.TB, d *Dir) (ino uint64) {
	t.Helper()
	if err := d.With(func(f *File) error {
		var st Stat
		err := f.Stat(&st)
		ino = st.Ino
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return ino
}

// TestDeep makes, uses and removes a tree of 4,000 levels with 16 descriptors.
func TestDeep(t *testing.T) {
	noLeak(t)
	limitDirs(t, 16)
	const levels = 4000
	start := descriptors(t)
	root := must(OpenRoot(t.TempDir()))(t)
	dirs := chain(t, root, levels)
	if n := descriptors(t) - start; n > 16+2 {
		t.Errorf("%d descriptors for 16 directories", n)
	}
	// Use some from far apart: each comes back through all above it.
	for _, i := range []int{levels, 1, levels / 2, 3, levels - 1} {
		var f File
		if err := dirs[i].Open(&f, "f", WriteOnly|CreateNew, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err := dirs[i].Remove("f"); err != nil {
			t.Fatal(err)
		}
	}
	if n := descriptors(t) - start; n > 16+2 {
		t.Errorf("%d descriptors for 16 directories", n)
	}
	if path := dirs[levels].Path(); len(path) < unix.PathMax || path != root.Path()+strings.Repeat("/d", levels) {
		t.Errorf("a path of %d bytes", len(path))
	}
	// From the bottom up, as every walk does, each parent comes back through "..".
	opens := 0
	restore := Inject(func(o Op) Fault {
		if o.Call == "openat" {
			opens++
		}
		return Fault{}
	})
	for i := levels; i > 0; i-- {
		closeAll(t, dirs[i])
		if err := dirs[i-1].RemoveDir("d"); err != nil {
			t.Fatal(err)
		}
	}
	restore()
	if opens > 100 {
		t.Errorf("%d directories opened from above on the way up", opens)
	}
	closeAll(t, root)
}

// TestParkedTogether uses directories of one tree from many goroutines, while
// hardly any can stay open: each use must come to the right one.
func TestParkedTogether(t *testing.T) {
	noLeak(t)
	limitDirs(t, 4)
	root := must(OpenRoot(t.TempDir()))(t)
	var dirs []*Dir
	for b := range 4 {
		name := fmt.Sprint("branch", b)
		if err := root.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, chain(t, must(root.OpenDir(name))(t), 30)...)
	}
	inodes := make([]uint64, len(dirs))
	for i, d := range dirs {
		inodes[i] = inode(t, d)
	}
	var wg sync.WaitGroup
	var stop atomic.Bool
	wg.Go(func() {
		for !stop.Load() {
			parkAll()
			runtime.Gosched()
		}
	})
	var users sync.WaitGroup
	for seed := range 8 {
		users.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(seed)))
			for range 150 {
				i := rnd.IntN(len(dirs))
				d := dirs[i].Retain()
				var st Stat
				err := d.With(func(f *File) error { return f.Stat(&st) })
				if err != nil || st.Ino != inodes[i] {
					t.Errorf("directory %d: inode %d, want %d, %v", i, st.Ino, inodes[i], err)
				}
				if sub, err := d.OpenDir("d"); err == nil { // and one more that comes and goes
					if sub.Lstat(".", &st) != nil || st.Ino != inodes[i+1] {
						t.Errorf("beneath %d: inode %d, want %d", i, st.Ino, inodes[i+1])
					}
					sub.Close()
				} else if !IsNotExist(err) {
					t.Error(err)
				}
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	users.Wait()
	stop.Store(true)
	wg.Wait()
	rand.Shuffle(len(dirs), func(i, j int) { dirs[i], dirs[j] = dirs[j], dirs[i] })
	closeAll(t, dirs...)
	closeAll(t, root)
}

// TestMovedWhileParked: what another put in a parked directory's place is not
// taken for it.
func TestMovedWhileParked(t *testing.T) {
	noLeak(t)
	for name, c := range map[string]struct {
		meddle func(top string) error
		want   error
	}{
		"gone":       {func(top string) error { return os.Remove(top + "/d") }, unix.ENOENT},
		"moved":      {func(top string) error { return os.Rename(top+"/d", top+"/e") }, unix.ENOENT},
		"replaced":   {func(top string) error { return firstError(os.Rename(top+"/d", top+"/e"), os.Mkdir(top+"/d", 0o700)) }, unix.ESTALE},
		"now a link": {func(top string) error { return firstError(os.Rename(top+"/d", top+"/e"), os.Symlink("e", top+"/d")) }, unix.ENOTDIR},
		"now a file": {func(top string) error { return firstError(os.Remove(top+"/d"), os.WriteFile(top+"/d", nil, 0o600)) }, unix.ENOTDIR},
		"moved and back": {func(top string) error {
			return firstError(os.Rename(top+"/d", top+"/e"), os.Rename(top+"/e", top+"/d"))
		}, nil},
	} {
		top := t.TempDir()
		root := must(OpenRoot(top))(t)
		d := chain(t, root, 1)[1]
		ino := inode(t, d)
		parkAll()
		if !d.parked() {
			t.Fatalf("%s: not parked", name)
		}
		if err := c.meddle(top); err != nil {
			t.Fatal(err)
		}
		var st Stat
		err := d.With(func(f *File) error { return f.Stat(&st) })
		if c.want == nil && (err != nil || st.Ino != ino) || c.want != nil && !isErr(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if c.want != nil {
			if err := d.Mkdir("planted", 0o700); !isErr(err, c.want) {
				t.Errorf("%s: mkdir %v, want %v", name, err, c.want)
			}
		}
		closeAll(t, d, root)
		if list, _ := filepath.Glob(top + "/*/planted"); len(list) > 0 {
			t.Errorf("%s: made %v", name, list)
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func isErr(err, want error) bool {
	pe, ok := err.(interface{ Unwrap() error })
	return ok && pe.Unwrap() == want
}

// TestChildMovedAway: a parent does not come back through ".." of a directory
// that was moved elsewhere.
func TestChildMovedAway(t *testing.T) {
	noLeak(t)
	top := t.TempDir()
	root := must(OpenRoot(top))(t)
	dirs := chain(t, root, 2)
	want := inode(t, dirs[1])
	if err := root.Mkdir("elsewhere", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(top+"/d/d", top+"/elsewhere/d"); err != nil {
		t.Fatal(err)
	}
	parkAll()
	if err := dirs[2].With(func(*File) error { return nil }); err == nil {
		t.Error("found though moved")
	}
	closeAll(t, dirs[2])
	if got := inode(t, dirs[1]); got != want {
		t.Errorf("came back as inode %d, want %d", got, want)
	}
	closeAll(t, dirs[1], root)
}

// fill makes a directory of n files and opens it.
func fill(t *testing.T, top string, n int) (root, d *Dir) {
	t.Helper()
	root = must(OpenRoot(top))(t)
	d = chain(t, root, 1)[1]
	for i := range n {
		if err := os.WriteFile(fmt.Sprintf("%s/d/%d", top, i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root, d
}

// readOnce reads a directory of n entries through a small buffer, between any
// two calls meddled with, and wants each entry once.
func readOnce(t *testing.T, d *Dir, n int, meddle func()) {
	t.Helper()
	seen := map[string]bool{}
	buf := make([]byte, 1024)
	for {
		meddle()
		list := must(d.Read(buf, nil))(t)
		if len(list) == 0 {
			break
		}
		for _, e := range list {
			if seen[e.Name] {
				t.Fatalf("%s came twice", e.Name)
			}
			seen[strings.Clone(e.Name)] = true
		}
	}
	if len(seen) != n {
		t.Errorf("%d entries, want %d", len(seen), n)
	}
}

func TestReadKeepsItsPlace(t *testing.T) {
	t.Run("here", func(t *testing.T) {
		noLeak(t)
		root, d := fill(t, t.TempDir(), 500)
		readOnce(t, d, 500, parkAll)
		closeAll(t, d, root)
	})
	loopfs.Each(t, 0, func(t *testing.T, top string) {
		root, d := fill(t, top, 3000)
		readOnce(t, d, 3000, parkAll)
		if err := d.Rewind(); err != nil {
			t.Error(err)
		}
		readOnce(t, d, 3000, func() {})
		closeAll(t, d, root)
	})
}

// TestReadWhileOthersUse: the place is kept also when others open the parked
// directory again, at any moment.
func TestReadWhileOthersUse(t *testing.T) {
	noLeak(t)
	root, d := fill(t, t.TempDir(), 1000)
	var others sync.WaitGroup
	var stop atomic.Bool
	for range 2 {
		others.Go(func() {
			for !stop.Load() {
				parkAll()
				var st Stat
				if err := d.Lstat(".", &st); err != nil {
					t.Error(err)
				}
				runtime.Gosched()
			}
		})
	}
	for range 20 {
		readOnce(t, d, 1000, func() {})
		if err := d.Rewind(); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	others.Wait()
	closeAll(t, d, root)
}

// TestReopenedOnce: of two calls that come to a parked directory together, one
// opens it.
func TestReopenedOnce(t *testing.T) {
	noLeak(t)
	root := must(OpenRoot(t.TempDir()))(t)
	d := chain(t, root, 1)[1]
	parkAll()
	var opens atomic.Int32
	restore := Inject(func(o Op) Fault {
		if o.Call == "openat" {
			opens.Add(1)
			for range 10000 { // until both are there, 10 s at most
				if d.uses.Load() == parkedBase+2 {
					break
				}
				time.Sleep(time.Millisecond)
			}
		}
		return Fault{}
	})
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			var st Stat
			if err := d.Lstat(".", &st); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	restore()
	if n := opens.Load(); n != 1 {
		t.Errorf("opened %d times", n)
	}
	closeAll(t, d, root)
}

// TestRandomUse opens, uses, parks and closes in any order.
func TestRandomUse(t *testing.T) {
	noLeak(t)
	limitDirs(t, 3)
	root := must(OpenRoot(t.TempDir()))(t)
	made := chain(t, root, 12)
	inodes := make([]uint64, len(made))
	for i, d := range made {
		inodes[i] = inode(t, d)
	}
	closeAll(t, made[1:]...)
	type open struct {
		d     *Dir
		depth int
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	held := []open{{root, 0}}
	for range 4000 {
		i := rnd.IntN(len(held))
		at := held[i]
		switch rnd.IntN(5) {
		case 0, 1:
			if at.depth < 12 {
				held = append(held, open{must(at.d.OpenDir("d"))(t), at.depth + 1})
			}
		case 2:
			if i > 0 {
				closeAll(t, at.d)
				held[i] = held[len(held)-1]
				held = held[:len(held)-1]
			}
		case 3:
			if got := inode(t, at.d); got != inodes[at.depth] {
				t.Fatalf("at depth %d inode %d, want %d", at.depth, got, inodes[at.depth])
			}
		case 4:
			parkAll()
		}
	}
	for _, h := range held {
		closeAll(t, h.d)
	}
}

// TestOutOfDescriptors: where the process may not open one more file, idle
// directories give theirs.
func TestOutOfDescriptors(t *testing.T) {
	noLeak(t)
	limitDirs(t, 1000)
	root := must(OpenRoot(t.TempDir()))(t)
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	highest := uint64(must(unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0))(t))
	unix.Close(int(highest))
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: highest + 12, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &old)
	dirs := chain(t, root, 100)
	var files [4]File
	for i := range files {
		if err := dirs[99].Open(&files[i], fmt.Sprint(i), WriteOnly|CreateNew, 0o600); err != nil {
			t.Errorf("file %d: %v", i, err)
		}
	}
	for i := range files {
		files[i].Close()
	}
	closeAll(t, dirs...)
}

// TestNameOutlivesBuffer: OpenDir keeps its own copy of a name that lives in the
// buffer of a Read.
func TestNameOutlivesBuffer(t *testing.T) {
	noLeak(t)
	root := must(OpenRoot(t.TempDir()))(t)
	if err := root.Mkdir("name", 0o700); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1024)
	list := must(root.Read(buf, nil))(t)
	d := must(root.OpenDir(list[0].Name))(t)
	clear(buf)
	parkAll()
	if want := root.Join("name"); d.Path() != want {
		t.Errorf("path %q, want %q", d.Path(), want)
	}
	inode(t, d)
	closeAll(t, d, root)
}
