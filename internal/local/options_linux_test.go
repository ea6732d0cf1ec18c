package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gohaul/haul/internal/dest"
	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/testtree"
)

const old, now = "mtime=2001-01-01T00:00:00.000000001Z", "mtime=2002-02-02T00:00:00.000000002Z"

// TestCompare: which of four files that exist are written again.
func TestCompare(t *testing.T) {
	for compare, want := range map[plan.Compare]string{
		plan.CompareTime:    "content size time",
		plan.CompareSize:    "size",
		plan.CompareContent: "content size",
		plan.CompareNever:   "content none size time",
	} {
		dir := t.TempDir()
		testtree.Build(t, dir+"/src", "f 0644 none text:\"same\" "+now+"\nf 0644 time text:\"same\" "+now+
			"\nf 0644 content text:\"right\" "+now+"\nf 0644 size text:\"longer\" "+now)
		testtree.Build(t, dir+"/dst", "f 0644 none text:\"same\" "+now+"\nf 0644 time text:\"same\" "+old+
			"\nf 0644 content text:\"wrong\" "+old+"\nf 0644 size text:\"long\" "+now)
		if compare == plan.CompareSize {
			write(t, dir+"/dst/content", "right")
		}
		j := job(dir+"/dst", dir+"/src")
		j.Rules.Compare = compare
		told := j.items(t)
		runJob(t, j)
		var got []string
		for _, i := range told.list {
			if i.Action == report.Replaced {
				got = append(got, filepath.Base(i.Target))
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("compare %d wrote %q, want %q", compare, got, want)
		}
		testtree.Equal(t, dir+"/src", dir+"/dst", testtree.All)
	}
}

func TestUpdate(t *testing.T) {
	for update, want := range map[plan.Update]string{
		plan.UpdateAll: "AAN", plan.UpdateOlder: "AbN", plan.UpdateNone: "abN", plan.UpdateNoneFail: "abN",
	} {
		dir := t.TempDir()
		testtree.Build(t, dir+"/src", "f 0644 a text:\"A\" "+now+"\nf 0644 b text:\"A\" "+old+"\nf 0644 c text:\"N\"\nf 0644 d/x")
		testtree.Build(t, dir+"/dst", "f 0644 a text:\"a\" "+old+"\nf 0644 b text:\"b\" "+now)
		j := job(dir+"/dst", dir+"/src")
		j.Rules.Update = update
		errs := j.goOn()
		err := Run(context.Background(), j)
		if got := read(t, dir+"/dst/a") + read(t, dir+"/dst/b") + read(t, dir+"/dst/c"); got != want {
			t.Errorf("update %d left %q, want %q", update, got, want)
		}
		if !exists(dir + "/dst/d/x") {
			t.Errorf("update %d: new ones were not copied", update)
		}
		if update != plan.UpdateNoneFail {
			must(t, err)
			continue
		}
		if len(errs.errs) != 2 || !errors.Is(errs.errs[0], ErrExists) || !errors.Is(err, ErrExists) {
			t.Errorf("update %d: %v, %v", update, err, errs.errs)
		}
	}
}

func TestDelete(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir+"/src", "f 0644 a\nf 0644 d/x\nl link -> nowhere")
	testtree.Build(t, dir+"/dst", "f 0644 a\nf 0644 b\nf 0644 d/y\nf 0400 e/f/g\nd 0500 e/f\nf 0644 link\nl m -> ../src/a\nd 0755 n")
	j := job(dir+"/dst", dir+"/src")
	j.Delete = true
	told := j.items(t)
	runJob(t, j)
	testtree.Equal(t, dir+"/src", dir+"/dst", testtree.All)
	if n := told.count(report.Deleted); n != 7 || j.Dest.Counters.Deleted.Load() != 7 {
		t.Errorf("%d deletions were told, %d counted", n, j.Dest.Counters.Deleted.Load())
	}
	for i, x := range told.list {
		if x.Action == report.Deleted && strings.HasSuffix(x.Target, "/e/f") && !strings.HasSuffix(told.list[i-1].Target, "/g") {
			t.Error("a directory was told deleted before its entries")
		}
	}
	if !exists(dir + "/src/a") {
		t.Error("deleted through a link")
	}
}

// TestDeleteNothingUnread: what could not be listed is no reason to delete.
func TestDeleteNothingUnread(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir+"/src", "f 0644 a/x\nf 0644 b/x")
	testtree.Build(t, dir+"/dst", "f 0644 a/x\nf 0644 a/extra\nf 0644 b/x\nf 0644 b/extra")
	n := 0
	restore := inject(t, func(o sys.Op) (f sys.Fault) {
		if o.Call == "getdents64" {
			if n++; n == 3 { // the root's two, then the first of one of a and b
				f.Err = syscall.EIO
			}
		}
		return f
	})
	j := job(dir+"/dst", dir+"/src")
	j.Delete, j.Workers = true, 1
	errs := j.goOn()
	err := Run(context.Background(), j)
	restore()
	var partial *PartialError
	if !errors.As(err, &partial) || partial.Failed != 1 || !errors.Is(err, syscall.EIO) || !names(errs.errs[0], dir+"/src/") {
		t.Fatalf("%v", err)
	}
	failed := filepath.Base(errs.paths[0])
	for _, d := range []string{"a", "b"} {
		if got := exists(dir + "/dst/" + d + "/extra"); got != (d == failed) {
			t.Errorf("%s failed; extra in %s is there: %v", failed, d, got)
		}
	}
}

func filtered(t *testing.T, j *Job, rules ...string) {
	t.Helper()
	l, err := ParseFilter(rules)
	must(t, err)
	j.Filter = l
}

func TestFilter(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir+"/src", `
		f 0644 a.c
		f 0644 a.o
		f 0644 sub/b.o
		f 0644 sub/keep.o
		f 0644 sub/.rules text:"+ keep.o\n- secret\n"
		f 0644 sub/secret
		f 0644 sub/deep/secret
		f 0644 other/secret
		f 0644 skipped/x
		d 0755 . `+now+`
		d 0755 sub `+now+`
		d 0755 skipped `+now+`
	`)
	testtree.Build(t, dir+"/dst", `
		f 0644 a.o
		f 0644 extra.o
		f 0644 extra.c
		f 0644 gone/precious
		f 0644 gone/x.c
		f 0644 skipped/mine
		f 0644 sub/old
	`)
	for _, dry := range []bool{true, false} {
		j := job(dir+"/dst", dir+"/src")
		j.Delete, j.Dest.DryRun, j.Workers = true, dry, 1
		filtered(t, j, "dir-merge .rules", "- *.o", "- /skipped/", "P precious")
		told := j.items(t)
		runJob(t, j)
		want := []string{
			`deleted "extra.c" backup ""`, `deleted "gone/x.c" backup ""`, `deleted "sub/old" backup ""`,
			`made "a.c" backup ""`, `made "other" backup ""`, `made "other/secret" backup ""`,
			`made "sub/.rules" backup ""`, `made "sub/deep" backup ""`, `made "sub/keep.o" backup ""`,
			`touched "` + dir + `/dst" backup ""`, `touched "sub" backup ""`,
		}
		if got := told.lines(dir + "/dst"); !slices.Equal(got, want) {
			t.Errorf("dry %v:\n%s\nwant\n%s", dry, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	testtree.Want(t, dir+"/dst", `
		f 0644 a.c
		f 0644 a.o
		f 0644 extra.o
		f 0644 gone/precious
		f 0644 other/secret
		f 0644 skipped/mine
		f 0644 sub/.rules text:"+ keep.o\n- secret\n"
		d 0755 sub/deep
		f 0644 sub/keep.o
	`, testtree.Mode)
}

// TestScan: what is counted ahead is what the copy meets, filtered alike.
func TestScan(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir+"/src", `
		f 0644 a{1..50}/f{1..20} data:100
		f 0644 a7/.rules text:"- f1*\n"
		h link = a1/f1
		f 0644 big hole:1G
		l s -> a1
	`)
	for _, rules := range [][]string{nil, {"dir-merge .rules", "- a9"}} {
		var counts [2]string
		for i, scan := range []bool{false, true} {
			j := job(fmt.Sprintf("%s/dst%d%v", dir, i, rules), dir+"/src")
			filtered(t, j, rules...)
			j.Scan = scan
			runJob(t, j)
			n := j.Dest.Counters
			for k := 0; scan && !n.Scanned.Load() && k < 100; k++ {
				j.Pairs[0].Dst += "x" // the copy was faster: once more
				n = new(report.Counters)
				j.Dest.Counters = n
				runJob(t, j)
			}
			if !n.Scanned.Load() || n.Bytes.Load() != n.FoundBytes.Load() {
				t.Errorf("scan %v: scanned %v, %d of %d bytes", scan, n.Scanned.Load(), n.Bytes.Load(), n.FoundBytes.Load())
			}
			counts[i] = fmt.Sprint(n.FoundFiles.Load(), n.FoundBytes.Load())
		}
		if counts[0] != counts[1] {
			t.Errorf("rules %q: copying found %s, the scan %s", rules, counts[0], counts[1])
		}
	}
}

func TestConfirm(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir+"/src", "f 0644 a text:\"new\" "+now+"\nf 0644 b text:\"new\"\nf 0644 c text:\"new\"\nl l -> x\nf 0644 d/x\nf 0644 same text:\"1\" "+old)
	testtree.Build(t, dir+"/dst", "f 0644 a text:\"o\"\nf 0644 b text:\"o\"\nl l -> y\nf 0644 d text:\"file\"\nf 0600 same text:\"1\" "+old)
	j := job(dir+"/dst", dir+"/src")
	var asked []string
	j.Confirm = func(path string) bool {
		asked = append(asked, filepath.Base(path))
		return strings.HasSuffix(path, "/b")
	}
	runJob(t, j)
	slices.Sort(asked)
	if want := []string{"a", "b", "d", "l"}; !slices.Equal(asked, want) {
		t.Errorf("asked about %q, want %q", asked, want)
	}
	testtree.Want(t, dir+"/dst", "f 0644 a text:\"o\"\nf 0644 b text:\"new\"\nf 0644 c text:\"new\"\nl l -> y\nf 0644 d text:\"file\"\nf 0644 same text:\"1\"", testtree.Mode|testtree.Content)
}

func TestOnError(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir+"/src", "f 0644 d{1..9}/f{1..9} data:10")
	bad := func(o sys.Op) (f sys.Fault) {
		if o.Call == "pread64" && (o.Name == "f3" || o.Name == "f7") {
			f.Err = syscall.EIO
		}
		return f
	}
	t.Run("go on", func(t *testing.T) {
		inject(t, bad)
		defer noLeaks(t)()
		j := job(dir+"/on", dir+"/src")
		errs := j.goOn()
		told := j.items(t)
		err := Run(context.Background(), j)
		var partial *PartialError
		if !errors.As(err, &partial) || partial.Failed != 18 || partial.First != errs.errs[0] || len(errs.errs) != 18 {
			t.Fatalf("%v of %d", err, len(errs.errs))
		}
		if !strings.HasSuffix(err.Error(), "(and 17 more)") || !errors.Is(err, syscall.EIO) {
			t.Errorf("%v", err)
		}
		if n := j.Dest.Counters; n.Failed.Load() != 18 || n.Files.Load() != 63 || told.count(report.Failed) != 18 {
			t.Errorf("%d failed, %d files, %d told", n.Failed.Load(), n.Files.Load(), told.count(report.Failed))
		}
		for i, err := range errs.errs {
			if !names(err, dir+"/src/") || err.(*fs.PathError).Path != errs.paths[i] {
				t.Errorf("%s: %v", errs.paths[i], err)
			}
		}
		if exists(dir+"/on/d1/f3") || !exists(dir+"/on/d9/f9") {
			t.Error("what failed is there, or what did not is missing")
		}
		noTemps(t, dir+"/on")
	})
	for name, stop := range map[string]error{"stop at the first": nil, "stop when told": errors.New("enough")} {
		t.Run(name, func(t *testing.T) {
			inject(t, bad)
			defer noLeaks(t)()
			j := job(t.TempDir()+"/dst", dir+"/src")
			j.Workers = 1
			asked := 0
			if stop != nil {
				j.OnError = func(string, error) error { asked++; return stop }
			}
			err := Run(context.Background(), j)
			if stop != nil && (err != stop || asked != 1) || stop == nil && !errors.Is(err, syscall.EIO) {
				t.Errorf("%v, asked %d times", err, asked)
			}
			if n := j.Dest.Counters.Files.Load(); n > 20 {
				t.Errorf("%d files were copied in spite", n)
			}
			noTemps(t, j.Pairs[0].Dst)
		})
	}
}

func TestBackup(t *testing.T) {
	for kind, want := range map[dest.BackupKind]string{
		dest.BackupSimple:   "b~ c~ d~ f~ l~ b.~3~ n",
		dest.BackupNumbered: "b.~4~ c.~1~ d.~1~ f.~1~ l.~1~ b.~3~ n",
		dest.BackupExisting: "b.~4~ c~ d~ f~ l~ b.~3~ n",
	} {
		for _, inPlace := range []bool{false, true} {
			dir := t.TempDir()
			testtree.Build(t, dir+"/src", "f 0644 b text:\"new\" "+now+"\nf 0644 c/x text:\"new\"\nf 0644 d text:\"new\"\np 0600 f\nl l -> new\nf 0644 n text:\"new\"")
			testtree.Build(t, dir+"/dst", "f 0600 b text:\"old\"\nf 0644 b.~3~\nf 0644 c text:\"old\"\nf 0644 d/x text:\"old\"\ns 0600 f\nl l -> old")
			ino := lstat(t, dir+"/dst/b").Ino
			j := job(dir+"/dst", dir+"/src")
			j.Dest.Backup, j.Delete = kind, true // what was set aside is not deleted
			j.Rules.InPlace, j.Dest.InPlace = inPlace, inPlace
			told := j.items(t)
			runJob(t, j)
			var got []string
			for _, name := range strings.Fields(want) {
				if exists(dir + "/dst/" + name) {
					got = append(got, name)
				}
			}
			entries, _ := os.ReadDir(dir + "/dst")
			if strings.Join(got, " ") != want || len(entries) != 6+5+1 {
				t.Errorf("kind %d: %q of %v, want %q", kind, got, entries, want)
			}
			bak := dir + "/dst/" + strings.Fields(want)[0]
			if read(t, bak) != "old" || lstat(t, bak).Ino != ino || lstat(t, bak).Mode&0o777 != 0o600 {
				t.Errorf("kind %d: the backup is not the old file", kind)
			}
			for _, i := range told.list {
				if base := filepath.Base(i.Target); i.Action == report.Replaced && rel(dir+"/dst", i.Backup) != strings.Fields(want)[strings.Index("bcdfl", base)] {
					t.Errorf("kind %d: %s was told to be set aside as %q", kind, base, i.Backup)
				}
			}
		}
	}
	t.Run("a directory is read for numbers once", func(t *testing.T) {
		for _, kind := range []dest.BackupKind{dest.BackupNumbered, dest.BackupExisting} {
			dir := t.TempDir()
			testtree.Build(t, dir, "f 0644 src/f{1..300} text:\"new\"\nf 0644 dst/f{1..300} text:\"old\"\nf 0644 dst/f{1..300}.~7~\nf 0644 dst/f1.~8~")
			var reads atomic.Int64
			inject(t, func(o sys.Op) (f sys.Fault) {
				if o.Call == "getdents64" {
					reads.Add(1)
				}
				return f
			})
			for round := range 3 { // the third finds what the second made
				j := job(dir+"/dst", dir+"/src")
				j.Dest.Backup, j.Rules.Compare = kind, plan.CompareNever
				runJob(t, j)
				if last := dir + "/dst/f300.~" + strconv.Itoa(8+round) + "~"; !exists(last) {
					t.Errorf("no %s", last)
				}
			}
			j := job("", "")
			j.Pairs = []Pair{{dir + "/src/f1", dir + "/dst/f1"}, {dir + "/src/f2", dir + "/dst/f1"}}
			j.Dest.Backup, j.Rules.Compare = kind, plan.CompareNever
			runJob(t, j)
			if !exists(dir+"/dst/f1.~12~") || !exists(dir+"/dst/f1.~13~") {
				t.Error("a name that is given twice has not two backups")
			}
			if n := reads.Load(); n > 100 {
				t.Errorf("directories were read %d times", n)
			}
		}
	})
	t.Run("the source is no place for a backup", func(t *testing.T) {
		for _, inPlace := range []bool{false, true} {
			for _, form := range []plan.Form{plan.FormCopy, plan.FormHardLink, plan.FormAttributes} {
				for src, way := range map[string]string{"f 0644 d/a~ text:\"source\"": "a~", "p 0644 d/a~": "a~", "f 0644 d/a~ text:\"source\"\nl way -> d/a~": "../way"} {
					dir := t.TempDir()
					testtree.Build(t, dir, "f 0644 d/a text:\"old\"\n"+src)
					j := job(dir+"/d/a", dir+"/d/"+way)
					j.Rules.Form, j.Rules.InPlace, j.Dest.InPlace = form, inPlace, inPlace
					j.Dest.Backup, j.Follow = dest.BackupSimple, plan.FollowAll
					err := Run(context.Background(), j)
					if !errors.Is(err, dest.ErrOwnBackup) {
						t.Errorf("%q: %v", src, err)
					}
					testtree.Want(t, dir, "f 0644 d/a text:\"old\"\n"+src, testtree.Mode|testtree.Content|testtree.Links)
				}
			}
		}
	})
	t.Run("a failure leaves the old file", func(t *testing.T) {
		dir := t.TempDir()
		testtree.Build(t, dir, "f 0644 src/a text:\"new\" "+now+"\nf 0644 dst/a text:\"old\" "+old)
		inject(t, func(o sys.Op) (f sys.Fault) {
			if strings.Contains(o.Call, "write") {
				f.Err = syscall.ENOSPC
			}
			return f
		})
		j := job(dir+"/dst", dir+"/src")
		j.Dest.Backup = dest.BackupSimple
		if err := Run(context.Background(), j); !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
		if read(t, dir+"/dst/a") != "old" {
			t.Error("the old file is gone")
		}
	})
}

func TestInPlace(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir+"/src", "f 0640 a data:1M@x text:\"new end\"\nf 0644 short text:\"1\"\nl l -> a")
	testtree.Build(t, dir+"/dst", "f 0644 a data:1M@x text:\"old\"\nh other = a\nf 0644 short text:\"12345\"\nf 0644 l text:\"file\"")
	ino := lstat(t, dir+"/dst/a").Ino
	j := job(dir+"/dst", dir+"/src")
	j.Rules.InPlace, j.Dest.InPlace = true, true
	told := j.items(t)
	runJob(t, j)
	testtree.Want(t, dir+"/dst", "f 0640 a data:1M@x text:\"new end\"\nh other = a\nf 0644 short text:\"1\"\nl l -> a", testtree.Mode|testtree.Content|testtree.Links)
	if lstat(t, dir+"/dst/a").Ino != ino {
		t.Error("another inode")
	}
	if told.count(report.Updated) != 2 || told.count(report.Replaced) != 1 {
		t.Errorf("%v", told.lines(dir+"/dst"))
	}
	if n := j.Dest.Counters; n.Written.Load() > 64<<10 || n.Kept.Load() < 1<<20-64<<10 {
		t.Errorf("%d bytes written, %d kept", n.Written.Load(), n.Kept.Load())
	}
}

func TestForms(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir+"/src", "f 0640 d/a text:\"content\" "+old+"\nl d/l -> a\nf 0600 b text:\"more\" "+old)
	src := dir + "/src"
	for form, want := range map[plan.Form]string{
		plan.FormHardLink:   "",
		plan.FormSymlink:    "l d/a -> " + src + "/d/a\nl d/l -> " + src + "/d/l\nl b -> " + src + "/b",
		plan.FormAttributes: "f 0640 d/a\nl d/l -> a\nf 0600 b text:\"kept\"",
	} {
		for _, d := range durabilities {
			dst := fmt.Sprintf("%s/dst%d%d", dir, form, d)
			testtree.Build(t, dst, "f 0644 b text:\"kept\"")
			j := job(dst, src)
			j.Rules.Form, j.Dest.Write.Durability, j.Verify = form, d, true
			runJob(t, j)
			if form == plan.FormHardLink {
				if lstat(t, dst+"/d/a").Ino != lstat(t, src+"/d/a").Ino || lstat(t, dst+"/b").Ino != lstat(t, src+"/b").Ino {
					t.Error("not hard links")
				}
				continue
			}
			testtree.Want(t, dst, want, testtree.Mode|testtree.Content)
			if form == plan.FormAttributes {
				testtree.Equal(t, src, dst, testtree.Mode|testtree.Times)
			}
			noTemps(t, dst)
		}
	}
}

// TestAttributesAlone: what stands there keeps its content; of another kind it
// is left alone, unless it goes or is set aside anyway.
func TestAttributesAlone(t *testing.T) {
	const from = "f 0640 same text:\"s\" " + old + "\nl kind -> to\np 0600 fifo"
	const there = "f 0600 same text:\"kept\"\nf 0600 kind text:\"kept\"\nf 0600 fifo text:\"kept\""
	for _, way := range []string{"", "remove", "backup"} {
		for _, d := range durabilities {
			dir := t.TempDir()
			testtree.Build(t, dir+"/src", from)
			testtree.Build(t, dir+"/dst", there)
			j := job(dir+"/dst", dir+"/src")
			j.Rules.Form, j.Dest.Write.Durability = plan.FormAttributes, d
			j.Dest.Remove = way == "remove"
			want := "f 0640 same\nl kind -> to\np 0600 fifo"
			switch way {
			case "backup":
				j.Dest.Backup = dest.BackupSimple
				want += "\nf 0600 same~ text:\"kept\"\nf 0600 kind~ text:\"kept\"\nf 0600 fifo~ text:\"kept\""
			case "":
				want = "f 0640 same text:\"kept\"\nf 0600 kind text:\"kept\"\nf 0600 fifo text:\"kept\""
			}
			told, errs := j.items(t), j.goOn()
			err := Run(context.Background(), j)
			if refused := way == ""; refused != errors.Is(err, ErrExists) || refused != (len(errs.errs) == 2) {
				t.Errorf("%q: %v, %v", way, err, errs.errs)
			}
			if way != "" && told.count(report.Replaced) != 3 {
				t.Errorf("%q: %v", way, told.lines(dir+"/dst"))
			}
			testtree.Want(t, dir+"/dst", want, testtree.Mode|testtree.Content)
			noTemps(t, dir+"/dst")
		}
	}
}

// TestThroughLink: a symbolic link that was named as the target is followed for
// bytes and for attributes; what is made anew takes its place.
func TestThroughLink(t *testing.T) {
	for src, want := range map[string]string{
		"f 0640 s text:\"new\"": "f 0640 to text:\"new\"\nl t -> to",
		"p 0640 s":              "f 0600 to text:\"old\"\np 0640 t",
		"l s -> x":              "f 0600 to text:\"old\"\nl t -> x",
	} {
		for _, inPlace := range []bool{false, true} {
			dir := t.TempDir()
			testtree.Build(t, dir+"/dst", "f 0600 to text:\"old\" "+old+"\nl t -> to")
			testtree.Build(t, dir+"/src", src)
			j := job(dir+"/dst/t", dir+"/src/s")
			j.Rules.InPlace, j.Dest.InPlace = inPlace, inPlace
			runJob(t, j)
			testtree.Want(t, dir+"/dst", want, testtree.Mode|testtree.Content)
		}
	}
	dir := t.TempDir()
	testtree.Build(t, dir, "f 0640 s text:\"new\"\nf 0600 to text:\"old\"\nl t -> to")
	j := job(dir+"/t", dir+"/s")
	j.Rules.Form = plan.FormAttributes
	runJob(t, j)
	testtree.Want(t, dir, "f 0640 s text:\"new\"\nf 0640 to text:\"old\"\nl t -> to", testtree.Mode|testtree.Content)
}

// TestLeftAloneDir: a directory in the way of a file that is not to be replaced
// anyway is no error, named or in a tree.
func TestLeftAloneDir(t *testing.T) {
	for _, update := range []plan.Update{plan.UpdateNone, plan.UpdateOlder} {
		dir := t.TempDir()
		testtree.Build(t, dir, "f 0644 src/a "+old+"\nf 0644 dst/a/x\n")
		for _, pair := range []string{"", "/a"} {
			j := job(dir+"/dst"+pair, dir+"/src"+pair)
			j.Rules.Update, j.Rules.NoReplace = update, true
			runJob(t, j)
		}
		if !exists(dir + "/dst/a/x") {
			t.Error("the directory is gone")
		}
	}
}

func TestFollow(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, `
		f 0640 out/file text:"out" mtime=2001-02-03T04:05:06.789012345Z
		f 0644 out/sub/x text:"x"
		l src/f -> ../out/file
		l src/d -> ../out
		l src/broken -> nowhere
		l src/self -> self
		l src/sub/up -> ..
		f 0644 src/sub/y
		l link -> src
	`)
	setx := syscall.Setxattr(dir+"/out/file", "user.k", []byte("v"), 0)
	j := job(dir+"/all", dir+"/link")
	j.Follow = plan.FollowAll
	errs := j.goOn()
	err := Run(context.Background(), j)
	if len(errs.errs) != 3 || !errors.Is(err, errs.errs[0]) {
		t.Fatalf("%v of %v", err, errs.errs)
	}
	for _, err := range errs.errs {
		if !names(err, dir+"/link/") || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ELOOP) && !errors.Is(err, ErrLoop) {
			t.Error(err)
		}
	}
	want := "f 0640 f text:\"out\"\nf 0640 d/file text:\"out\"\nf 0644 d/sub/x text:\"x\"\nf 0644 sub/y"
	testtree.Want(t, dir+"/all", want, testtree.Mode|testtree.Content)
	if setx == nil {
		testtree.Equal(t, dir+"/out", dir+"/all/d", testtree.Xattrs|testtree.Mtime)
		if testtree.Want(t, dir+"/all", want, testtree.Mode|testtree.Content); !hasXattr(dir + "/all/f") {
			t.Error("the attributes of what a link leads to were not copied")
		}
		before := stamps(t, dir+"/all")
		j = job(dir+"/all", dir+"/link")
		j.Follow = plan.FollowAll
		j.goOn()
		Run(context.Background(), j)
		if diff := changes(before, stamps(t, dir+"/all")); diff != nil {
			t.Errorf("a second run changed %s", strings.Join(diff, "\n"))
		}
	}
	j = job(dir+"/args", dir+"/link")
	j.Follow = plan.FollowArguments
	runJob(t, j)
	testtree.Equal(t, dir+"/src", dir+"/args", testtree.All)
	runJob(t, job(dir+"/never", dir+"/link"))
	if to, _ := os.Readlink(dir + "/never"); to != "src" {
		t.Errorf("a link named was followed: %q", to)
	}
}

func hasXattr(path string) bool {
	n, err := syscall.Getxattr(path, "user.k", nil)
	return err == nil && n == 1
}

func TestOneFileSystem(t *testing.T) {
	needRoot(t)
	dir := ram(t)
	testtree.Build(t, dir, "f 0644 src/m/hidden\nf 0644 src/a\nf 0644 dst/m/mine\nf 0644 dst/n/deep/under\nf 0644 dst/extra")
	for _, m := range []string{"/src/m", "/dst/n"} {
		if err := syscall.Mount("tmpfs", dir+m, "tmpfs", 0, ""); err != nil {
			t.Fatalf("this test needs root to mount a tmpfs: %v", err)
		}
		defer syscall.Unmount(dir+m, 0)
	}
	write(t, dir+"/src/m/x", "x")
	write(t, dir+"/dst/n/precious", "x")
	must(t, os.Chmod(dir+"/src/m", 0o700))
	j := job(dir+"/dst", dir+"/src")
	j.OneFileSystem, j.Delete = true, true
	runJob(t, j)
	if exists(dir+"/dst/m/x") || !exists(dir+"/dst/m/mine") || lstat(t, dir+"/dst/m").Mode&0o777 != 0o700 {
		t.Error("a mount point was entered, or not made like the other's root")
	}
	if !exists(dir+"/dst/n/precious") || exists(dir+"/dst/extra") {
		t.Error("deleted on another file system, or not on this one")
	}
	runJob(t, job(dir+"/everywhere", dir+"/src"))
	if !exists(dir + "/everywhere/m/x") {
		t.Error("not entered though it may")
	}
}

// TestVerify: a copy that differs is an error and is named.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir+"/src", "f 0644 good data:100k\nf 0644 bad data:100k\nh twin = bad\nf 0644 small text:\"s\"\nf 0644 sparse hole:1T data:1")
	for _, d := range durabilities {
		j := job(fmt.Sprint(dir, "/dst", d), dir+"/src")
		j.Verify, j.Dest.Write.Durability = true, d
		must(t, os.Mkdir(j.Pairs[0].Dst, 0o755))
		runJob(t, j)

		j = job(fmt.Sprint(dir, "/bad", d), dir+"/src")
		j.Verify, j.Dest.Write.Durability = true, d
		bad := j.Pairs[0].Dst + "/bad"
		restore := inject(t, func(o sys.Op) (f sys.Fault) {
			if o.Call == "close" && strings.Contains(o.Name, "bad") {
				tamper(j.Pairs[0].Dst)
			}
			return f
		})
		errs := j.goOn()
		err := Run(context.Background(), j)
		restore()
		if len(errs.errs) == 0 || !errors.Is(err, ErrDiffers) || !names(errs.errs[0], "/bad") && !names(errs.errs[0], "/twin") {
			t.Errorf("durability %d: %v (%s)", d, err, bad)
		}
	}
}

// tamper changes a byte of every copy of bad, as a broken disk would.
func tamper(dst string) {
	list, _ := filepath.Glob(dst + "/*")
	hidden, _ := filepath.Glob(dst + "/.*")
	for _, p := range append(list, hidden...) {
		if strings.Contains(p, "bad") || strings.Contains(p, "twin") {
			if f, err := os.OpenFile(p, os.O_WRONLY, 0); err == nil {
				f.WriteAt([]byte("!"), 50_000)
				f.Close()
			}
		}
	}
}

// TestRefused: copies that would destroy their source are refused before
// anything is touched.
func TestRefused(t *testing.T) {
	build := func(t *testing.T) string {
		dir := t.TempDir()
		testtree.Build(t, dir, `
			f 0644 d/f text:"content" `+old+`
			d 0755 d/sub/deep
			f 0600 d/sub/x text:"x"
			h d/hard = d/f
			l d/soft -> f
			l dlink -> d
			l flink -> d/f
			f 0644 e/other
		`)
		return dir
	}
	for _, c := range []struct {
		src, dst string
		delete   bool
		want     error
	}{
		{"d", "d", false, ErrSameFile},
		{"d", "d/.", false, ErrSameFile},
		{"d", "dlink", false, ErrSameFile},
		{"d/", "d/sub/..", false, ErrSameFile},
		{"d", "d/sub", false, ErrIntoItself},
		{"d", "d/new", false, ErrIntoItself},
		{"d", "dlink/new", false, ErrIntoItself},
		{"d", "d/sub/deep/new", false, ErrIntoItself},
		{"d", "e/../dlink/sub/new", false, ErrIntoItself},
		{"d/sub", "d", true, ErrDeleteSelf},
		{"d/sub/deep", "d", true, ErrDeleteSelf},
		{"d/sub", "dlink", true, ErrDeleteSelf},
		{"d/f", "d/f", false, ErrSameFile},
		{"d/f", "d/../d/f", false, ErrSameFile},
		{"d/f", "d/hard", false, ErrSameFile},
		{"d/f", "d/soft", false, ErrSameFile},
		{"d/f", "flink", false, ErrSameFile},
		{"flink", "d/hard", false, ErrSameFile},
		{"d/f", "d", false, ErrOverDir},
		{"d/f", "dlink", false, ErrOverDir},
		{"d/f", "d/", false, syscall.EISDIR},
		{"d/f/", "e/new", false, syscall.ENOTDIR},
		{"d/f", "e/none/new", false, fs.ErrNotExist},
		{"d", "e/none/new", false, fs.ErrNotExist},
		{"none", "e/new", false, fs.ErrNotExist},
		{"d", "d/f/new", false, syscall.ENOTDIR},
	} {
		for _, compare := range []plan.Compare{plan.CompareTime, plan.CompareNever, plan.CompareContent} {
			for _, dry := range []bool{false, true} {
				dir := build(t)
				before := stamps(t, dir)
				j := job(dir+"/"+c.dst, dir+"/"+c.src)
				j.Follow, j.Delete, j.Rules.Compare, j.Dest.DryRun = plan.FollowArguments, c.delete, compare, dry
				told := j.items(t)
				err := Run(context.Background(), j)
				if !errors.Is(err, c.want) || !names(err, dir+"/") {
					t.Errorf("%s to %s, compare %d: %v, want %v", c.src, c.dst, compare, err, c.want)
				}
				if diff := changes(before, stamps(t, dir)); diff != nil {
					t.Errorf("%s to %s: %s", c.src, c.dst, strings.Join(diff, "\n"))
				}
				if len(told.list) > 0 {
					t.Errorf("%s to %s: told %v", c.src, c.dst, told.list)
				}
			}
		}
	}
	t.Run("beneath without Delete", func(t *testing.T) {
		dir := build(t)
		runJob(t, job(dir+"/d", dir+"/d/sub"))
		if read(t, dir+"/d/x") != "x" || !exists(dir+"/d/f") {
			t.Error("not copied upwards")
		}
	})
	t.Run("hard-linked trees", func(t *testing.T) {
		dir := build(t)
		j := job(dir+"/twin", dir+"/d")
		j.Rules.Form = plan.FormHardLink
		runJob(t, j)
		runJob(t, job(dir+"/twin", dir+"/d")) // right already: nothing to refuse
		testtree.Equal(t, dir+"/d", dir+"/twin", testtree.All)
	})
}

func TestTypeChanges(t *testing.T) {
	for _, c := range []struct {
		noReplace, delete bool
		refused           int
	}{{false, true, 0}, {true, true, 5}, {false, false, 3}} {
		dir := t.TempDir()
		testtree.Build(t, dir+"/src", "f 0644 f\nf 0644 d/x\nf 0644 rest\nl l -> x\nd 0755 m/n\np 0600 q")
		testtree.Build(t, dir+"/dst", "f 0644 f/full\nf 0644 d\nf 0644 l/full\nl m -> f\nf 0644 q/full")
		j := job(dir+"/dst", dir+"/src")
		j.Rules.NoReplace, j.Delete = c.noReplace, c.delete
		errs := j.goOn()
		err := Run(context.Background(), j)
		if c.refused == 0 {
			must(t, err)
			testtree.Equal(t, dir+"/src", dir+"/dst", testtree.All)
			continue
		}
		if len(errs.errs) != c.refused || !exists(dir+"/dst/rest") || !exists(dir+"/dst/f/full") || !exists(dir+"/dst/q/full") ||
			(lstat(t, dir+"/dst/d").Mode&syscall.S_IFMT == syscall.S_IFREG) != c.noReplace {
			t.Errorf("%v", errs.errs)
		}
		for _, err := range errs.errs {
			if !names(err, dir+"/dst/") || !errors.Is(err, ErrDirOver) && !errors.Is(err, ErrOverDir) {
				t.Error(err)
			}
		}
	}
	t.Run("the root", func(t *testing.T) {
		for rules, want := range map[string]string{"usual": "dir", "noreplace": "refused", "none": "kept", "nonefail": "refused", "backup": "dir", "confirm": "kept"} {
			dir := t.TempDir()
			testtree.Build(t, dir, "f 0644 src/x\nf 0644 dst text:\"file\"")
			j := job(dir+"/dst", dir+"/src")
			j.Rules.NoReplace = rules == "noreplace"
			switch rules {
			case "none":
				j.Rules.Update = plan.UpdateNone
			case "nonefail":
				j.Rules.Update = plan.UpdateNoneFail
			case "backup":
				j.Dest.Backup = dest.BackupSimple
			case "confirm":
				j.Confirm = func(string) bool { return false }
			}
			err := Run(context.Background(), j)
			if (err != nil) != (want == "refused") || exists(dir+"/dst/x") != (want == "dir") || exists(dir+"/dst~") != (rules == "backup") {
				t.Errorf("%s: %v", rules, err)
			}
		}
	})
}

// TestSpecialMeta: a run that may set everything does, also when only the owner
// differs, which costs a file its set-id bits.
func TestSpecialMeta(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	testtree.Build(t, dir+"/src", "f 4755 a text:\"x\" uid=1 "+old+"\nd 2755 d uid=1 gid=2\nf 0644 d/x gid=2\nl l -> a uid=5 "+old+"\np 0640 p uid=3 "+old+"\nf 0000 z text:\"z\"")
	testtree.Build(t, dir+"/dst", "f 4755 a text:\"x\" uid=2 "+old)
	runJob(t, job(dir+"/dst", dir+"/src"))
	testtree.Equal(t, dir+"/src", dir+"/dst", testtree.All)
	must(t, os.Chmod(dir+"/src/d", 0o1700))
	must(t, os.Chown(dir+"/src/z", 9, 9))
	j := job(dir+"/dst", dir+"/src")
	told := j.items(t)
	runJob(t, j)
	testtree.Equal(t, dir+"/src", dir+"/dst", testtree.All)
	if n := told.count(report.Touched); n != 2 || j.Dest.Counters.Touched.Load() != 2 {
		t.Errorf("%v", told.lines(dir+"/dst"))
	}
}

// TestOnXattr: the caller judges attributes that cannot be copied, and is never
// asked two at once.
func TestOnXattr(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir+"/src", "f 0644 d{1..5}/f{1..5}")
	if err := syscall.Setxattr(dir+"/src", "user.k", []byte("v"), 0); err != nil {
		t.Skipf("no user attributes here: %v", err)
	}
	for i := range 25 {
		syscall.Setxattr(fmt.Sprintf("%s/src/d%d/f%d", dir, i/5+1, i%5+1), "user.k", []byte("v"), 0)
	}
	inject(t, func(o sys.Op) (f sys.Fault) {
		if strings.HasSuffix(o.Call, "setxattr") {
			f.Err = syscall.ENOSPC
		}
		return f
	})
	j := job(dir+"/dst", dir+"/src")
	n, busy := 0, make(chan struct{}, 1)
	j.OnXattr = func(dst, src, attr string, err error) error {
		select {
		case busy <- struct{}{}:
		default:
			t.Error("called twice at once")
		}
		if n++; attr != "user.k" || !errors.Is(err, syscall.ENOSPC) || rel(dir+"/src", src) != rel(dir+"/dst", dst) && src != dir+"/src" {
			t.Errorf("%s of %s to %s: %v", attr, src, dst, err)
		}
		<-busy
		return nil
	}
	runJob(t, j)
	if n != 26 {
		t.Errorf("asked %d times", n)
	}
	j = job(dir+"/dst2", dir+"/src")
	if err := Run(context.Background(), j); !errors.Is(err, syscall.ENOSPC) || !names(err, dir+"/dst2/") {
		t.Errorf("unasked: %v", err)
	}
	j = job(dir+"/dst3", dir+"/src")
	j.Dest.Meta.SkipXattrs = func(name string) bool { return name == "user.k" }
	runJob(t, j)
	before := stamps(t, dir+"/dst3")
	j = job(dir+"/dst3", dir+"/src")
	j.Dest.Meta.SkipXattrs = func(name string) bool { return name == "user.k" }
	runJob(t, j)
	if diff := changes(before, stamps(t, dir+"/dst3")); diff != nil {
		t.Errorf("attributes that are skipped count as different: %q", diff)
	}
}

// TestAlikeDirectory: one whose ACL keeps some out is not touched again and again
// on the way to making it as private as it is.
func TestAlikeDirectory(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir+"/src", `d 0644 d acl=u:1000:---,g:100:---`)
	runJob(t, job(dir+"/dst", dir+"/src"))
	j := job(dir+"/dst", dir+"/src")
	runJob(t, j)
	if n := j.Dest.Counters.Touched.Load(); n != 0 {
		t.Errorf("%d entries touched", n)
	}
}

// TestDeleteBrought: with several sources, deletion spares what another of them
// brings, at any depth, and two trees with one target are refused.
func TestDeleteBrought(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, "f 0644 p/one\nf 0644 q/two\nf 0644 single\nf 0644 dst/old\nf 0644 dst/a/b/old\nf 0644 dst/a/gone")
	j := job("", "")
	j.Delete = true
	j.Pairs = []Pair{{dir + "/p", dir + "/dst"}, {dir + "/q", dir + "/dst/a/b"}, {dir + "/single", dir + "/dst/single"}}
	runJob(t, j)
	for name, want := range map[string]bool{"one": true, "a/b/two": true, "single": true, "old": false, "a/b/old": false} {
		if exists(dir+"/dst/"+name) != want {
			t.Errorf("%s is there: %v", name, !want)
		}
	}
	j = job("", "")
	j.Delete = true
	j.Pairs = []Pair{{dir + "/p", dir + "/dst"}, {dir + "/q", dir + "/dst"}}
	if err := Run(context.Background(), j); !errors.Is(err, ErrDeleteOther) || !exists(dir+"/dst/a/b/two") {
		t.Error(err)
	}
}
