package crash

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gohaul/haul"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/loopfs"
	"github.com/gohaul/haul/test/testtree"
	"golang.org/x/sys/unix"
)

// syncs counts the calls that make something durable.
type syncs struct{ files, dirs, volumes int }

// count runs f and counts.
func count(f func()) syncs {
	var mu sync.Mutex
	var n syncs
	defer sys.Inject(func(o sys.Op) sys.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case o.Call == "syncfs":
			n.volumes++
		case o.Call == "fsync" && o.Name == ".":
			n.dirs++
		case o.Call == "fsync", o.Call == "fdatasync":
			n.files++
		}
		return sys.Fault{}
	})()
	f()
	return n
}

// entries are all the ways to write something, onto a directory that has old.
func entries(t *testing.T, dir string, d haul.Durability) map[string]func() {
	t.Helper()
	src := filepath.Join(dir, "src")
	testtree.Build(t, dir, "f 0644 src/f{0..9} data:100\nf 0644 src/new/f{0..9} data:100\nl src/l -> x\np 0600 src/p\nh src/h = src/new/f0\nf 0644 dst/f{0..9} data:200\nf 0644 dst/gone data:1\nf 0644 file data:1\nf 0644 in data:1")
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	return map[string]func(){
		"CopyDir":        func() { must(haul.CopyDir(t.Context(), dir+"/dst", src, &haul.Options{Durability: d, Delete: true})) },
		"CopyDir again":  func() { must(haul.CopyDir(t.Context(), dir+"/dst", src, &haul.Options{Durability: d, Delete: true})) },
		"CopyDir anew":   func() { must(haul.CopyDir(t.Context(), dir+"/made", src, &haul.Options{Durability: d})) },
		"CopyFile":       func() { must(haul.CopyFile(t.Context(), dir+"/file", src+"/f0", &haul.Options{Durability: d})) },
		"CopyFile again": func() { must(haul.CopyFile(t.Context(), dir+"/file", src+"/f0", &haul.Options{Durability: d})) },
		"CopyFile in place": func() {
			must(haul.CopyFile(t.Context(), dir+"/in", src+"/f0", &haul.Options{Durability: d, InPlace: true}))
		},
		"ReplaceFile": func() { must(haul.ReplaceFile(dir+"/r", []byte("x"), 0o644, d)) },
		"Create": func() {
			p, err := haul.Create(dir+"/c", 0, &haul.Options{Durability: d})
			must(err)
			must(p.Commit())
		},
		"Copy of a link": func() {
			must(haul.Copy(t.Context(), []haul.Pair{{Src: src + "/l", Dst: dir + "/l"}}, &haul.Options{Durability: d}))
		},
	}
}

// order is that of the calls, as some build on what others did.
var order = []string{"CopyDir", "CopyDir again", "CopyDir anew", "CopyFile", "CopyFile again", "CopyFile in place", "ReplaceFile", "Create", "Copy of a link"}

func TestNothingIsSyncedUnasked(t *testing.T) {
	do := entries(t, t.TempDir(), haul.NoSync)
	for _, name := range order {
		if n := count(do[name]); n != (syncs{}) {
			t.Errorf("%s under NoSync: %+v", name, n)
		}
	}
	dir := t.TempDir()
	if n := count(func() { haul.WriteFile(dir+"/a", []byte("x"), 0o644) }); n != (syncs{}) {
		t.Errorf("WriteFile: %+v", n)
	}
}

// TestBatchSyncsTwice wants two flushes a file system where something takes the
// place of an old name, and one where nothing waits for it.
func TestBatchSyncsTwice(t *testing.T) {
	want := map[string]int{"CopyDir": 2, "CopyFile": 2, "ReplaceFile": 2, "Create": 2}
	do := entries(t, t.TempDir(), haul.SyncBatch)
	for _, name := range order {
		if n := count(do[name]); n != (syncs{volumes: max(1, want[name])}) {
			t.Errorf("%s under SyncBatch: %+v, want %d flushes", name, n, max(1, want[name]))
		}
	}
}

// TestBatchSyncsEachFileSystem copies over a tree in which another is mounted.
func TestBatchSyncsEachFileSystem(t *testing.T) {
	a, b := loopfs.Mount(t, "ext4", 32<<20), loopfs.Mount(t, "tmpfs", 32<<20)
	testtree.Build(t, a, "f 0644 src/f{0..9} data:100\nf 0644 src/sub/f{0..9} data:100\nf 0644 dst/f{0..9} data:200\nd 0755 dst/sub")
	testtree.Build(t, b, "f 0644 f{0..9} data:200")
	if err := unix.Mount(b, a+"/dst/sub", "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(a+"/dst/sub", 0)
	n := count(func() {
		if err := haul.CopyDir(t.Context(), a+"/dst", a+"/src", &haul.Options{Durability: haul.SyncBatch}); err != nil {
			t.Error(err)
		}
	})
	if n != (syncs{volumes: 4}) {
		t.Errorf("two file systems: %+v, want 4 flushes", n)
	}
	testtree.Equal(t, a+"/src", a+"/dst", testtree.All)
}

// TestEachSyncsEach wants a sync of each file and of its directory behind each.
func TestEachSyncsEach(t *testing.T) {
	dir, files := t.TempDir(), 1000
	if testing.Short() {
		files = 50
	}
	testtree.Build(t, dir, fmt.Sprintf("f 0644 src/f{1..%d} data:100\nf 0644 dst/f{1..%[1]d} data:200", files))
	n := count(func() {
		if err := haul.CopyDir(t.Context(), dir+"/dst", dir+"/src", &haul.Options{Durability: haul.SyncEach}); err != nil {
			t.Error(err)
		}
	})
	if n.files != files || n.dirs < files || n.dirs > files+1 {
		t.Errorf("%d files: %+v", files, n)
	}

	want := map[string]syncs{
		"CopyFile": {1, 1, 0}, "CopyFile in place": {1, 0, 0}, "ReplaceFile": {1, 1, 0}, "Create": {1, 1, 0},
		"CopyFile again": {0, 0, 1}, "Copy of a link": {0, 1, 0},
		// 20 files with their names, 1 link, 1 FIFO, 1 hard link, 1 directory in its
		// parent, 2 directories that are left.
		"CopyDir anew": {20, 20 + 1 + 1 + 1 + 2 + 2, 0},
	}
	do := entries(t, t.TempDir(), haul.SyncEach)
	for _, name := range order {
		n := count(do[name])
		if w, ok := want[name]; ok && n != w {
			t.Errorf("%s under SyncEach: %+v, want %+v", name, n, w)
		}
	}
}

// TestMetadataAloneIsSynced changes a mode, and nothing else.
func TestMetadataAloneIsSynced(t *testing.T) {
	for d, want := range map[haul.Durability]syncs{haul.NoSync: {}, haul.SyncBatch: {0, 0, 1}, haul.SyncEach: {1, 0, 0}} {
		dir := t.TempDir()
		testtree.Build(t, dir, "f 0644 a data:100 mtime=2020-01-01T00:00:00Z\nf 0600 b data:100 mtime=2020-01-01T00:00:00Z")
		n := count(func() {
			if err := haul.CopyFile(t.Context(), dir+"/b", dir+"/a", &haul.Options{Durability: d}); err != nil {
				t.Error(err)
			}
		})
		if st, err := os.Stat(dir + "/b"); err != nil || st.Mode() != 0o644 {
			t.Error(st.Mode(), err)
		}
		if n != want {
			t.Errorf("durability %d: %+v, want %+v", d, n, want)
		}
	}
}

// TestFailedFlush wants each file that waited to fail, once, and its temporary
// file to go; the old content stays.
func TestFailedFlush(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, "f 0644 src/f{0..4} data:100\nf 0644 dst/f{0..4} data:200")
	old, err := Read(dir + "/dst")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	first := true
	restore := sys.Inject(func(o sys.Op) (f sys.Fault) {
		if o.Call == "syncfs" && first {
			first, f.Err = false, unix.EIO
		}
		return f
	})
	err = haul.CopyDir(context.Background(), dir+"/dst", dir+"/src", &haul.Options{
		Durability: haul.SyncBatch,
		OnError: func(path string, err error) error {
			told[filepath.Base(path)]++
			if !errors.Is(err, unix.EIO) {
				t.Errorf("%s: %v", path, err)
			}
			return nil
		},
	})
	restore()
	var p *haul.PartialError
	if !errors.As(err, &p) || p.Failed != 5 || !errors.Is(err, unix.EIO) {
		t.Errorf("error %v, want 5 failures", err)
	}
	for i := range 5 {
		if name := fmt.Sprintf("f%d", i); told[name] != 1 {
			t.Errorf("%s was told %d times", name, told[name])
		}
	}
	if len(told) != 5 {
		t.Errorf("told: %v", told)
	}
	got, err := Read(dir + "/dst")
	if wrong := Stale(got, timeless(old)); err != nil || wrong != nil {
		t.Errorf("not as before: %q, %v", wrong, err)
	}
}

// TestFailedFlushOfOne is the same for what writes a single file, and for the
// second flush, which is told too.
func TestFailedFlushOfOne(t *testing.T) {
	for nth := 1; nth <= 2; nth++ {
		dir := t.TempDir()
		testtree.Build(t, dir, "f 0644 a text:old")
		n := 0
		restore := sys.Inject(func(o sys.Op) (f sys.Fault) {
			if o.Call == "syncfs" {
				if n++; n == nth {
					f.Err = unix.EIO
				}
			}
			return f
		})
		err := haul.ReplaceFile(dir+"/a", []byte("new"), 0o644, haul.SyncBatch)
		restore()
		var path *fs.PathError
		if !errors.Is(err, unix.EIO) || !errors.As(err, &path) || strings.Count(err.Error(), "input/output") != 1 {
			t.Errorf("flush %d: %v", nth, err)
		}
		list, _ := os.ReadDir(dir)
		got, _ := os.ReadFile(dir + "/a")
		if want := []string{"old", "new"}[nth-1]; len(list) != 1 || string(got) != want {
			t.Errorf("flush %d: %v holds %q, want %q", nth, list, got, want)
		}
	}
}

// TestManyParents copies single files from and to more directories than the
// process may have open, under SyncBatch, which keeps those of files that wait.
func TestManyParents(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, "f 0644 src/{0..799}/f text:new\nf 0644 dst/{0..799}/f text:old")
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	few := before
	few.Cur = 700
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &before)
	var pairs []haul.Pair
	for i := range 800 {
		pairs = append(pairs, haul.Pair{Src: fmt.Sprintf("%s/src/%d/f", dir, i), Dst: fmt.Sprintf("%s/dst/%d/f", dir, i)})
	}
	if err := haul.Copy(t.Context(), pairs, &haul.Options{Durability: haul.SyncBatch}); err != nil {
		t.Error(err)
	}
	testtree.Equal(t, dir+"/src", dir+"/dst", testtree.Content)
}
