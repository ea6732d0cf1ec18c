package crash

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gohaul/haul"
	"github.com/gohaul/haul/internal/sys"
)

// TestNotices does each of the things that make a copy durable wrong, and wants a
// cut to show it: a test that cannot fail shows nothing.
func TestNotices(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs loop devices")
	}
	src := t.TempDir()
	trees := [2]string{src + "/tree0", src + "/tree1"}
	flats := [2]string{src + "/flat0", src + "/flat1"}
	var treeGens, flatGens [2]State
	for gen := range 2 {
		treeGens[gen] = plant(t, trees[gen], text(gen))
		flatGens[gen] = timeless(plant(t, flats[gen], flat(gen)))
	}
	skip := func(what func(sys.Op) bool) func(sys.Op) sys.Fault {
		return func(o sys.Op) sys.Fault { return sys.Fault{Skip: what(o)} }
	}
	none := skip(func(sys.Op) bool { return false })
	syncfs := skip(func(o sys.Op) bool { return o.Call == "syncfs" })
	content := skip(func(o sys.Op) bool { return o.Call == "fsync" && o.Name != "." })
	names := skip(func(o sys.Op) bool { return o.Call == "fsync" && o.Name == "." })
	replace := func(d haul.Durability) job { return files(flats, d)[0] }

	for _, tc := range []struct {
		what   string
		kind   string
		cached bool
		fault  func(sys.Op) sys.Fault
		job    job
		gens   [2]State
		torn   bool // else it is enough that it is not durable after the return
	}{
		{"a batch that flushes nothing", "xfs", false, syncfs, tree(trees, haul.SyncBatch), treeGens, true},
		{"a batch that flushes nothing", "xfs", true, syncfs, tree(trees, haul.SyncBatch), treeGens, true},
		{"a batch that flushes nothing", "ext4", true, syncfs, tree(trees, haul.SyncBatch), treeGens, false},
		{"a batch that flushes nothing", "btrfs", true, syncfs, tree(trees, haul.SyncBatch), treeGens, false},
		{"no durability asked", "xfs", false, none, tree(trees, haul.NoSync), treeGens, true},
		{"content not synced", "xfs", false, content, replace(haul.SyncEach), flatGens, true},
		{"content not synced", "btrfs", true, content, tree(trees, haul.SyncEach), treeGens, true},
		{"names not synced", "xfs", false, names, replace(haul.SyncEach), flatGens, false},
		{"names not synced", "ext4", false, names, replace(haul.SyncEach), flatGens, false},
	} {
		t.Run(tc.what+" on "+tc.kind, func(t *testing.T) {
			d := newDisk(t, tc.kind, tc.cached)
			first := flats[0]
			if tc.job.what == "CopyDir" {
				first = trees[0]
			}
			if err := haul.CopyDir(t.Context(), d.Dir+"/tree", first, nil); err != nil {
				t.Fatal(err)
			}
			d.sync(t)
			defer sys.Inject(tc.fault)()
			if !d.noticed(t, tc.job, tc.gens, tc.torn) {
				t.Error("no cut showed any damage")
			}
		})
	}
}

// noticed cuts until a cut shows damage, of the kind wanted.
func (d *disk) noticed(t *testing.T, j job, gens [2]State, tear bool) bool {
	if tear {
		defer d.disturb(t)()
	}
	for n := range 20 {
		torn, stale := d.round(t, j, gens[n%2], gens[1-n%2], 1-n%2)
		if torn != nil || stale != nil && !tear {
			t.Logf("round %d: %d torn, %d stale", n, len(torn), len(stale))
			return true
		}
		d.sync(t)
	}
	return false
}

// TestSkipped guards the fault that TestNotices stands on: a call that is skipped
// is not made.
func TestSkipped(t *testing.T) {
	dir := t.TempDir()
	defer sys.Inject(func(o sys.Op) sys.Fault { return sys.Fault{Skip: o.Call == "mkdirat"} })()
	d, err := sys.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Mkdir("a", 0o755); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "a")); !os.IsNotExist(err) {
		t.Error("the directory was made:", err)
	}
}
