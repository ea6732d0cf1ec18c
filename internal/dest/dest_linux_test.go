package dest

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/outfile"
	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/testtree"
)

func open(t *testing.T, path string, o Options) *Dir {
	t.Helper()
	o.Counters = new(report.Counters)
	tr, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	d, err := tr.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func all() Options { return Options{Meta: meta.Policy{Which: meta.All}, Suffix: "~"} }

func source(mode uint32) *meta.Meta {
	m := &meta.Meta{}
	m.Mode, m.UID, m.GID = mode, uint32(os.Geteuid()), uint32(os.Getegid())
	m.Mtime, m.Atime = meta.Time{Sec: 1e9}, meta.Time{Sec: 1e9}
	return m
}

func modeOf(t *testing.T, path string) uint32 {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Mode & 0o7777
}

func TestNumbers(t *testing.T) {
	for name, want := range map[string]struct {
		of string
		k  int
	}{
		"a.~1~": {"a", 1}, "a.~10~": {"a", 10}, "a.b.~2~.~3~": {"a.b.~2~", 3}, "a~": {}, "a.~~": {}, "a.~x~": {}, "a.~-1~": {},
		"a.~+1~": {}, "a.~1": {}, ".~1~": {"", 1}, "a.~99999999999999999999~": {},
	} {
		if of, k := number(name); of != want.of || k != want.k {
			t.Errorf("%q: %q, %d, want %q, %d", name, of, k, want.of, want.k)
		}
	}
}

// TestDefaultACL: beneath a default ACL the final modes are right, whether it
// names anybody or not, and while a file is written nobody is let in.
func TestDefaultACL(t *testing.T) {
	for _, acl := range []string{"u::rwx,g::---,o::---", "u:54321:rwx", "g::rwx,o::rwx"} {
		dir := t.TempDir()
		if err := testtree.Make(dir, "d 0755 d dacl="+acl); err != nil {
			t.Skipf("no ACLs here: %v", err)
		}
		d := open(t, dir+"/d", all())
		var w Writer
		w.Meta.Policy = all().Meta
		for mode, name := range map[uint32]string{0o644: "a", 0o600: "b", 0o666: "c", 0o4755: "e"} {
			if err := w.Create(d, name, 1, source(sys.TypeRegular|mode), nil); err != nil {
				t.Fatal(err)
			}
			var st sys.Stat
			if err := w.File.Sys().Stat(&st); err != nil || st.Mode&0o077&^mode != 0 {
				t.Errorf("%s: %o while %o is written: %v", acl, st.Mode, mode, err)
			}
			w.File.At(0).Write([]byte("x"))
			if _, err := w.Commit(); err != nil {
				t.Fatal(err)
			}
			if got := modeOf(t, dir+"/d/"+name); got != mode {
				t.Errorf("%s: %o, want %o", acl, got, mode)
			}
		}
		if _, err := d.Node(&w.Meta, "p", source(sys.TypeFIFO|0o644), false); err != nil || modeOf(t, dir+"/d/p") != 0o644 {
			t.Errorf("%s: a FIFO: %v", acl, err)
		}
		sub, err := d.Make("sub", source(sys.TypeDir|0o755))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := sub.Leave(&w.Meta, source(sys.TypeDir|0o755)); err != nil || modeOf(t, dir+"/d/sub") != 0o755 {
			t.Errorf("%s: a directory: %v", acl, err)
		}
		sub.Close()
		text, _ := testtree.Describe(dir+"/d", testtree.ACLs)
		if strings.Contains(text, "acl=") {
			t.Errorf("%s: ACLs are left:\n%s", acl, text)
		}
	}
}

// TestInPlacePrivate: an old file that all may read is closed to them before it
// gets the first byte of a private one.
func TestInPlacePrivate(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, "f 0666 f text:\"old content\"")
	o := all()
	o.InPlace = true
	d := open(t, dir, o)
	var old sys.Stat
	if there, err := d.Look("f", &old); !there || err != nil {
		t.Fatal(err)
	}
	var w Writer
	w.Meta.Policy = o.Meta
	if err := w.Create(d, "f", 3, source(sys.TypeRegular|0o640), &old); err != nil {
		t.Fatal(err)
	}
	if got := modeOf(t, dir+"/f"); got != 0o640 {
		t.Errorf("%o before the first byte", got)
	}
	w.File.At(0).Write([]byte("new"))
	if _, err := w.Commit(); err != nil || modeOf(t, dir+"/f") != 0o640 {
		t.Error(err)
	}
	if w.Abort() != nil || d.Place(&old) != outfile.InPlace {
		t.Error("the writer is not ready again")
	}
}

type keep []string

func (k keep) Keeps(name string, isDir bool) bool       { return slices.Contains(k, name) }
func (k keep) Enter(d *Dir, name string) (Spare, error) { return k, nil }

func TestRemoveAll(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, "f 0644 a/b/keep\nf 0644 a/b/x\nf 0644 a/c/x\nl a/out -> ../other\nf 0644 other/x\nf 0644 z")
	for _, dry := range []bool{true, false} {
		o := all()
		o.DryRun = dry
		d := open(t, dir, o)
		remove := func(name string, spare Spare) (bool, []string) {
			var st sys.Stat
			if there, err := d.Look(name, &st); !there || err != nil {
				t.Fatal(name, err)
			}
			var told []string
			gone, err := d.RemoveAll(context.Background(), name, &st, spare, func(p string, st *sys.Stat) { told = append(told, strings.TrimPrefix(p, dir+"/")) })
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(told)
			return gone, told
		}
		if gone, told := remove("a", keep{"keep"}); gone || !slices.Equal(told, []string{"a/b/x", "a/c", "a/c/x", "a/out"}) {
			t.Errorf("%v, %q", gone, told)
		}
		if gone, told := remove("z", nil); !gone || len(told) != 1 {
			t.Errorf("%v, %q", gone, told)
		}
		if dry {
			testtree.Want(t, dir, "f 0644 a/b/keep\nf 0644 a/b/x\nf 0644 a/c/x\nl a/out -> ../other\nf 0644 other/x\nf 0644 z", testtree.Mode)
		}
	}
	testtree.Want(t, dir, "f 0644 a/b/keep\nf 0644 other/x", testtree.Mode)
	d := open(t, dir, all())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := d.RemoveAll(ctx, "a", &sys.Stat{Mode: sys.TypeDir}, nil, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestDryMake: in a dry run directories are pretended, also over a file and
// beneath each other, and say their paths.
func TestDryMake(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, "f 0644 file\nd 0755 there")
	o := all()
	o.DryRun = true
	d := open(t, dir, o)
	for name, real := range map[string]bool{"file": false, "new": false, "there": true} {
		sub, err := d.Make(name, source(sys.TypeDir|0o755))
		if err != nil || (sub.Dir != nil) != real || sub.Path() != dir+"/"+name {
			t.Fatalf("%s: %v", name, err)
		}
		below, err := sub.Make("x", source(sys.TypeDir|0o755))
		if err != nil || below.Dir != nil || below.Join("y") != dir+"/"+name+"/x/y" {
			t.Errorf("%s: %v", name, err)
		}
		below.Close()
		sub.Close()
	}
	testtree.Want(t, dir, "f 0644 file\nd 0755 there", testtree.Mode)
}

// TestMadeFaults: whichever call fails while something is made, nothing of it is
// left.
func TestMadeFaults(t *testing.T) {
	for n := 1; ; n++ {
		dir := t.TempDir()
		testtree.Build(t, dir, "l old -> target\nf 0644 file")
		d := open(t, dir, all())
		calls, failed := 0, ""
		restore := sys.Inject(func(o sys.Op) (f sys.Fault) {
			if calls++; calls == n {
				failed, f.Err = o.Call+" "+o.Name, syscall.EIO
			}
			return f
		})
		var s Setter
		s.Policy = all().Meta
		link := source(sys.TypeSymlink | 0o777)
		link.Target = "new"
		_, err1 := d.Symlink(&s, "old", link, true)
		_, err2 := d.Node(&s, "fifo", source(sys.TypeFIFO|0o600), false)
		err3 := d.Link(d, "file", "twin", false, nil)
		restore()
		if calls < n {
			if err1 != nil || err2 != nil || err3 != nil || n < 8 {
				t.Errorf("%d calls: %v, %v, %v", n, err1, err2, err3)
			}
			return
		}
		if strings.HasPrefix(failed, "unlinkat") {
			continue // tidying up is what failed
		}
		list, _ := os.ReadDir(dir)
		to, _ := os.Readlink(dir + "/old")
		if err1 != nil && to != "target" || err1 == nil && to != "new" {
			t.Errorf("%s fails: %v, the link leads to %s", failed, err1, to)
		}
		want := 2
		for _, err := range []error{err2, err3} {
			if err == nil {
				want++
			}
		}
		if len(list) != want {
			t.Errorf("%s fails: %v", failed, list)
		}
	}
}
