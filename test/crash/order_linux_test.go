package crash

import (
	"os"
	"sync"
	"testing"

	"github.com/gohaul/haul"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/testtree"
)

// onFlush calls f before each flush, with its number from 1 on.
func onFlush(t *testing.T, f func(n int)) {
	var mu sync.Mutex
	n := 0
	restore := sys.Inject(func(o sys.Op) sys.Fault {
		if o.Call == "syncfs" {
			mu.Lock()
			defer mu.Unlock()
			n++
			f(n)
		}
		return sys.Fault{}
	})
	t.Cleanup(func() {
		restore()
		if n == 0 {
			t.Error("nothing was flushed")
		}
	})
}

func holds(t *testing.T, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%s holds %q, want %q: %v", name, got, want, err)
	}
}

// TestLinksWait copies files whose first name may be met in a directory that the
// run makes, where it is written under its final name: no other name of it may
// take an old one's place before a flush.
func TestLinksWait(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, "f 0644 src/new{0..7}/f text:new\nh src/old{0..7}/f = src/new{0..7}/f\nf 0644 dst/old{0..7}/f text:old")
	names := []string{"0", "1", "2", "3", "4", "5", "6", "7"}
	onFlush(t, func(n int) {
		if n > 1 {
			return
		}
		for _, name := range names {
			holds(t, dir+"/dst/old"+name+"/f", "old")
		}
	})
	if err := haul.CopyDir(t.Context(), dir+"/dst", dir+"/src", &haul.Options{Durability: haul.SyncBatch, Compare: haul.CompareNever}); err != nil {
		t.Fatal(err)
	}
	testtree.Equal(t, dir+"/src", dir+"/dst", testtree.All)
}

// TestHardLinkForm is the same for links to the source itself.
func TestHardLinkForm(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, "f 0644 src/f text:new\nf 0644 dst/f text:old")
	onFlush(t, func(n int) {
		if n == 1 {
			holds(t, dir+"/dst/f", "old")
		}
	})
	told := 0
	o := &haul.Options{Durability: haul.SyncBatch, Compare: haul.CompareNever, Form: haul.FormHardLink, OnItem: func(i haul.Item) {
		if i.Action == haul.Linked {
			told++
		}
	}}
	for range 2 { // the second time they are one file already
		if err := haul.CopyDir(t.Context(), dir+"/dst", dir+"/src", o); err != nil {
			t.Fatal(err)
		}
		holds(t, dir+"/dst/f", "new")
	}
	if list, err := os.ReadDir(dir + "/dst"); err != nil || len(list) != 1 || told != 1 {
		t.Errorf("left %v, told %d links: %v", list, told, err)
	}
}

// TestBackupLeavesNoGap wants the old content under the old name too, until the
// new takes its place.
func TestBackupLeavesNoGap(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, "f 0644 src/f text:new\nl src/l -> new\nf 0644 dst/f text:old\nl dst/l -> old\nf 0644 dst/f~ text:older")
	onFlush(t, func(n int) {
		if n == 1 {
			holds(t, dir+"/dst/f", "old")
			holds(t, dir+"/dst/f~", "old")
		}
	})
	if err := haul.CopyDir(t.Context(), dir+"/dst", dir+"/src", &haul.Options{Durability: haul.SyncBatch, Backup: haul.BackupSimple, Compare: haul.CompareNever}); err != nil {
		t.Fatal(err)
	}
	testtree.Want(t, dir+"/dst", "f 0644 f text:new\nf 0644 f~ text:old\nl l -> new\nl l~ -> old", testtree.Content|testtree.Links)
}

// TestFailedCommitLetsGo wants a directory finished although a file in it failed
// while it was committed.
func TestFailedCommitLetsGo(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, "d 0750 src/d mtime=2020-01-01T00:00:00Z\nf 0644 src/d/f{0..3} text:new\nd 0755 dst/d")
	restore := sys.Inject(func(o sys.Op) (f sys.Fault) {
		if o.Call == "close" && len(o.Name) > 3 && o.Name[:3] == ".f1" {
			f.Err = os.ErrDeadlineExceeded
		}
		return f
	})
	err := haul.CopyDir(t.Context(), dir+"/dst", dir+"/src", &haul.Options{
		Durability: haul.SyncBatch, OnError: func(string, error) error { return nil },
	})
	restore()
	if err == nil {
		t.Error("the failed close was not told")
	}
	want, err := os.Lstat(dir + "/src/d")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.Lstat(dir + "/dst/d")
	if err != nil || got.Mode() != want.Mode() || !got.ModTime().Equal(want.ModTime()) {
		t.Errorf("the directory was not finished: %v %v, want %v %v: %v", got.Mode(), got.ModTime(), want.Mode(), want.ModTime(), err)
	}
	if list, err := os.ReadDir(dir + "/dst/d"); err != nil || len(list) != 3 {
		t.Errorf("left %v, %v", list, err)
	}
}
