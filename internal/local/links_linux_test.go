package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/testtree"
)

// groups is a tree of 40 files that have eight names each, over eight
// directories, and of links and a FIFO that have several names.
const groups = `
	f 0644 d1/f{01..40} data:70k
	h d2/f{01..40} = d1/f{01..40}
	h d3/g{01..40} = d1/f{01..40}
	h d4/f{01..40} = d1/f{01..40}
	h d5/a/b/f{01..40} = d1/f{01..40}
	h d5/a/f{01..40} = d1/f{01..40}
	h d6/f{01..40} = d1/f{01..40}
	h d1/g{01..40} = d1/f{01..40}
	l d1/l -> x
	h d7/l = d1/l
	p 0600 d1/p
	h d2/p = d1/p
	h d3/p = d1/p
`

// TestLinks: groups of hard links over directories and workers, however their
// copies become final.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir+"/src", groups)
	must(t, os.Link(dir+"/src/d1/f01", dir+"/outside")) // a name that is never met
	for _, d := range durabilities {
		for _, into := range []string{"new", "empty", "other"} {
			t.Run(fmt.Sprint(d, into), func(t *testing.T) {
				defer noLeaks(t)()
				dst := fmt.Sprintf("%s/%d%s", dir, d, into)
				switch into {
				case "empty":
					must(t, os.Mkdir(dst, 0o755))
				case "other": // linked in another way, and all wrong
					testtree.Build(t, dst, "f 0644 d1/f{01..41} data:70k@x\nf 0600 d1/g01\nh d2/f{01..40} = d1/f{02..41}\nh d6/f{01..40} = d1/f01\nl d7/l -> y")
				}
				j := job(dst, dir+"/src")
				j.Workers, j.Dest.Write.Durability, j.Delete = 4, d, true
				told := j.items(t)
				runJob(t, j)
				testtree.Equal(t, dir+"/src", dst, testtree.All)
				if n := told.count(report.Linked); n != 40*7+1+2 || j.Dest.Counters.Links.Load() != int64(n) {
					t.Errorf("%d links were told, %d counted", n, j.Dest.Counters.Links.Load())
				}
				if n := j.Dest.Counters; n.Files.Load() != 40 || n.Bytes.Load() != n.FoundBytes.Load() {
					t.Errorf("%d files, %d of %d bytes", n.Files.Load(), n.Bytes.Load(), n.FoundBytes.Load())
				}
				noTemps(t, dst)
			})
		}
	}
	t.Run("not kept", func(t *testing.T) {
		j := job(dir+"/apart", dir+"/src")
		j.Rules.Preserve &^= plan.PreserveLinks
		runJob(t, j)
		testtree.Equal(t, dir+"/src", dir+"/apart", testtree.All&^testtree.Links)
		if n := lstat(t, dir+"/apart/d1/f01").Nlink; n != 1 {
			t.Errorf("%d names", n)
		}
	})
}

// TestLinkFails: the first copy of each group fails; another name is copied
// instead, and the rest become its links.
func TestLinkFails(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir+"/src", groups)
	for _, d := range durabilities {
		for _, into := range []string{"new", "empty"} {
			defer noLeaks(t)()
			dst := fmt.Sprintf("%s/%d%s", dir, d, into)
			if into == "empty" {
				must(t, os.Mkdir(dst, 0o755))
			}
			var n atomic.Int32
			restore := inject(t, func(o sys.Op) (f sys.Fault) {
				if o.Call == "fchmod" || o.Call == "utimensat" && strings.Contains(o.Name, "f") {
					if n.Add(1)%8 == 1 {
						f.Err = syscall.EIO
					}
				}
				return f
			})
			j := job(dst, dir+"/src")
			j.Workers, j.Dest.Write.Durability = 4, d
			errs := j.goOn()
			err := Run(context.Background(), j)
			restore()
			var partial *PartialError
			if !errors.As(err, &partial) || !errors.Is(err, syscall.EIO) {
				t.Fatal(err)
			}
			for _, p := range errs.paths {
				target := dst + strings.TrimPrefix(p, dir+"/src")
				if st, err := os.Lstat(target); err == nil && !st.IsDir() {
					t.Errorf("%s failed and is there", target)
				}
				os.Remove(p) // so that the rest can be compared
			}
			// The next run has nothing to do but what failed and the times of directories.
			testtree.Equal(t, dir+"/src", dst, testtree.All&^testtree.DirMtime&^testtree.Root)
			noTemps(t, dst)
			testtree.Build(t, dir+"/src", groups)
		}
	}
}

// TestTooManyLinks: a file system that takes no more links gets copies.
func TestTooManyLinks(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir+"/src", groups)
	var n atomic.Int32
	inject(t, func(o sys.Op) (f sys.Fault) {
		if o.Call == "linkat" && n.Add(1)%3 == 0 {
			f.Err = syscall.EMLINK
		}
		return f
	})
	for _, d := range durabilities {
		j := job(fmt.Sprint(dir, "/dst", d), dir+"/src")
		j.Dest.Write.Durability, j.Workers = d, 3
		runJob(t, j)
		testtree.Equal(t, dir+"/src", j.Pairs[0].Dst, testtree.All&^testtree.Links)
		noTemps(t, j.Pairs[0].Dst)
	}
}

// TestSharedTarget: names that are one file in the destination, but come from
// several sources, part; what is done to one is not done to the other.
func TestSharedTarget(t *testing.T) {
	for _, inPlace := range []bool{false, true} {
		for _, dry := range []bool{true, false} {
			dir := t.TempDir()
			testtree.Build(t, dir+"/src", "f 0600 a text:\"same\" "+old+"\nf 0644 b text:\"same\" "+old+"\nf 0644 c text:\"more\" "+now+"\nf 0644 d text:\"d\"\nh e = d")
			testtree.Build(t, dir+"/dst", "f 0644 a text:\"same\" "+old+"\nh b = a\nh c = a\nh d = a\nh e = a")
			j := job(dir+"/dst", dir+"/src")
			j.Rules.InPlace, j.Dest.InPlace, j.Dest.DryRun = inPlace, inPlace, dry
			runJob(t, j)
			if dry {
				testtree.Want(t, dir+"/dst", "f 0644 a text:\"same\"\nh b = a\nh c = a\nh d = a\nh e = a", testtree.Mode|testtree.Content|testtree.Links)
				continue
			}
			testtree.Equal(t, dir+"/src", dir+"/dst", testtree.All)
		}
	}
}

// TestSplitTarget: one of a target's names gets the copy; what has the other
// names, in the tree or elsewhere, is left alone, unless the file alone counts.
func TestSplitTarget(t *testing.T) {
	for name, x := range map[string]struct {
		change func(*Job)
		want   string // of the other names
	}{
		"rename":     {func(*Job) {}, "old"},
		"split":      {func(j *Job) { j.Rules.InPlace, j.Dest.InPlace, j.Dest.Split = true, true, true }, "old"},
		"in place":   {func(j *Job) { j.Rules.InPlace, j.Dest.InPlace = true, true }, "new"},
		"through":    {func(j *Job) { j.Dest.Through = true }, "new"},
		"attributes": {func(j *Job) { j.Rules.Form, j.Dest.InPlace, j.Dest.Split = plan.FormAttributes, true, true }, "old"},
	} {
		for _, d := range durabilities {
			dir := t.TempDir()
			testtree.Build(t, dir, "f 0600 src/a text:\"new\" "+now+"\nf 0600 src/b text:\"new\" "+now+"\nf 0644 kept/a text:\"old\" "+old+
				"\nh dst/a = kept/a\nf 0644 kept/b text:\"old\" "+old+"\nh dst/b = kept/b\nh dst/c = kept/b")
			j := job(dir+"/dst", dir+"/src")
			j.Dest.Write.Durability = d
			x.change(j)
			runJob(t, j)
			for _, k := range []string{"kept/a", "kept/b", "dst/c"} {
				if got := read(t, dir+"/"+k); got != x.want {
					t.Errorf("%s: %s holds %q, want %q", name, k, got, x.want)
				}
			}
			want := "new"
			if name == "attributes" {
				want = "old"
			}
			if got := read(t, dir+"/dst/a"); got != want || lstat(t, dir+"/dst/a").Mode&0o777 != 0o600 {
				t.Errorf("%s: dst/a holds %q, want %q", name, got, want)
			}
			noTemps(t, dir+"/dst")
		}
	}
	dir := t.TempDir() // two sources' attributes for one file: its content stays
	testtree.Build(t, dir, "f 0600 src/a\nf 0600 src/b\nf 0644 dst/a text:\"old\"\nh dst/b = dst/a")
	j := job(dir+"/dst", dir+"/src")
	j.Rules.Form = plan.FormAttributes
	runJob(t, j)
	testtree.Want(t, dir+"/dst", "f 0600 a text:\"old\"\nh b = a", testtree.Mode|testtree.Content|testtree.Links)
}

// TestPairs: hard links among several sources of one job, and sources that
// share directories or do not.
func TestPairs(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, "f 0644 a/f text:\"f\"\nh b/g = a/f\nh c = a/f\nl d -> a/f\nf 0644 e/x\nd 0755 dst")
	for _, d := range durabilities {
		defer noLeaks(t)()
		must(t, os.RemoveAll(dir+"/dst"))
		must(t, os.Mkdir(dir+"/dst", 0o755))
		j := job("", "")
		j.Dest.Write.Durability = d
		j.Pairs = nil
		for _, n := range []string{"a", "b", "c", "d", "e/x"} {
			j.Pairs = append(j.Pairs, Pair{dir + "/" + n, dir + "/dst/" + n[len(n)-1:]})
		}
		runJob(t, j)
		testtree.Want(t, dir+"/dst", "f 0644 a/f text:\"f\"\nh b/g = a/f\nh c = a/f\nl d -> a/f\nf 0644 x", testtree.Mode|testtree.Content|testtree.Links)
	}
}
