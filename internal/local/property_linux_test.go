package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gohaul/haul/internal/outfile"
	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/test/testtree"
	"pgregory.net/rapid"
)

// TestCopies: of trees of all kinds the copy is the same as the source and as
// what cp -a makes, a second run changes nothing, and after the source has
// changed a dry run tells what the next run does, which makes them the same again.
func TestCopies(t *testing.T) {
	onAll(t, 0, func(t *testing.T, dir string) {
		round := 0
		rapid.Check(t, func(rt *rapid.T) {
			round++
			base := filepath.Join(dir, fmt.Sprint(round))
			must(t, os.Mkdir(base, 0o755))
			defer os.RemoveAll(base)
			c := copies{rt: rt, src: base + "/src", dst: base + "/dst"}
			c.shape = testtree.Shape{Privileged: os.Getuid() == 0, FileSize: 128 << 10}
			c.what = testtree.All | testtree.Extents
			if rapid.Bool().Draw(rt, "attributes") {
				// Their blocks count as the file's, and may hide a hole of a small one.
				c.shape.Xattrs, c.shape.ACLs = true, true
				c.what = testtree.All
			}
			c.inPlace = rapid.Bool().Draw(rt, "in place")
			c.durability = rapid.SampledFrom(durabilities).Draw(rt, "durability")
			c.workers = rapid.IntRange(1, 4).Draw(rt, "workers")
			c.first(base + "/ref")
			c.again()
			c.changed()
		})
	})
}

type copies struct {
	rt         *rapid.T
	shape      testtree.Shape
	src, dst   string
	what       testtree.Mask // that is the same in both
	inPlace    bool
	durability outfile.Durability
	workers    int
}

func (c *copies) job() *Job {
	j := job(c.dst, c.src)
	j.Workers = c.workers
	j.Rules.InPlace, j.Dest.InPlace = c.inPlace, c.inPlace
	j.Dest.Write.Durability = c.durability
	return j
}

func (c *copies) run(j *Job) {
	c.rt.Helper()
	if err := Run(context.Background(), j); err != nil {
		c.rt.Fatal(err)
	}
}

func (c *copies) same(a, b string, what testtree.Mask) {
	c.rt.Helper()
	diff, err := testtree.Diff(a, b, what)
	if err != nil {
		c.rt.Fatal(err)
	}
	if diff != "" {
		c.rt.Fatalf("- %s, + %s:\n%s", a, b, diff)
	}
}

func (c *copies) first(ref string) {
	text := testtree.Gen(c.shape).Draw(c.rt, "tree")
	if err := testtree.Make(c.src, text); err != nil {
		c.rt.Fatal(err)
	}
	j := c.job()
	c.run(j)
	c.same(c.src, c.dst, c.what)
	if out, err := exec.Command("cp", "-a", c.src, ref).CombinedOutput(); err != nil {
		c.rt.Fatalf("cp -a: %v\n%s", err, out)
	}
	c.same(ref, c.dst, testtree.All)
	if n := j.Dest.Counters; n.FoundFiles.Load() != n.Files.Load()+n.Dirs.Load()+n.Links.Load()+n.Symlinks.Load()+n.Specials.Load() {
		c.rt.Fatalf("%d entries were found, %d files, %d directories, %d links, %d symlinks, %d others made", n.FoundFiles.Load(),
			n.Files.Load(), n.Dirs.Load(), n.Links.Load(), n.Symlinks.Load(), n.Specials.Load())
	}
	if n := j.Dest.Counters; n.Bytes.Load() != n.FoundBytes.Load() {
		c.rt.Fatalf("%d bytes were found, %d handled", n.FoundBytes.Load(), n.Bytes.Load())
	}
}

// again runs once more on what is right already.
func (c *copies) again() {
	before := stamps(c.rt, c.dst)
	for _, compare := range []plan.Compare{plan.CompareTime, plan.CompareSize, plan.CompareContent} {
		j := c.job()
		j.Rules.Compare = compare
		j.Delete = true
		c.run(j)
		n := j.Dest.Counters
		if did := n.Files.Load() + n.Dirs.Load() + n.Links.Load() + n.Symlinks.Load() + n.Specials.Load() + n.Touched.Load() + n.Deleted.Load() + n.Writes.Load() + n.Cuts.Load(); did != 0 {
			c.rt.Fatalf("a second run (compare %d) did %d things", compare, did)
		}
		if n.Bytes.Load() != n.FoundBytes.Load() {
			c.rt.Fatalf("%d bytes were found, %d handled", n.FoundBytes.Load(), n.Bytes.Load())
		}
		if diff := changes(before, stamps(c.rt, c.dst)); diff != nil {
			c.rt.Fatalf("a second run (compare %d) changed\n%s", compare, strings.Join(diff, "\n"))
		}
	}
}

func (c *copies) changed() {
	c.mutate()
	before := stamps(c.rt, c.dst)
	dry := c.job()
	dry.Delete, dry.Dest.DryRun, dry.Workers = true, true, 1
	said := dry.items(c.rt)
	c.run(dry)
	if diff := changes(before, stamps(c.rt, c.dst)); diff != nil {
		c.rt.Fatalf("a dry run changed\n%s", strings.Join(diff, "\n"))
	}
	j := c.job()
	j.Delete, j.Workers = true, 1
	did := j.items(c.rt)
	c.run(j)
	// Of a file that cp has just made xfs tells data where a hole will be.
	c.same(c.src, c.dst, c.what&^testtree.Extents)
	if a, b := said.lines(c.dst), did.lines(c.dst); !slices.Equal(a, b) {
		c.rt.Fatalf("a dry run said\n%s\n\nthe real one did\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
	noTemps(c.rt, c.dst)
	c.again()
}

// mutate removes, changes, and makes anew.
func (c *copies) mutate() {
	var all []string
	for p := range stamps(c.rt, c.src) {
		if p != c.src {
			all = append(all, filepath.Join(c.src, p))
		}
	}
	slices.Sort(all)
	for _, p := range all {
		st, err := os.Lstat(p)
		if err != nil {
			continue // gone with its directory
		}
		switch rapid.SampledFrom([]string{"keep", "keep", "remove", "mode", "append", "break", "owner"}).Draw(c.rt, "change") {
		case "remove":
			os.RemoveAll(p)
		case "mode":
			if st.Mode().Type() != os.ModeSymlink {
				os.Chmod(p, st.Mode()^0o011)
			}
		case "owner":
			if c.shape.Privileged {
				os.Lchown(p, 7, 8)
				if st.Mode().Type() != os.ModeSymlink {
					os.Chmod(p, st.Mode())
				}
			}
		case "append":
			if st.Mode().IsRegular() {
				f, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
				if err == nil {
					f.WriteString("more")
					f.Close()
				}
			}
		case "break": // one name of a group becomes a file of its own
			if st.Mode().IsRegular() && st.Sys().(*syscall.Stat_t).Nlink > 1 {
				exec.Command("cp", "-a", p, p[:len(p)-len(filepath.Base(p))]+"broken").Run()
				os.Rename(filepath.Dir(p)+"/broken", p)
				os.Chmod(p, st.Mode()^0o044)
			}
		}
	}
	testtree.Make(c.src, testtree.Gen(c.shape).Draw(c.rt, "more")) // as far as it fits what stands there
}
