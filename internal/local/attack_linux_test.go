package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gohaul/haul/internal/dest"
	"github.com/gohaul/haul/internal/outfile"
	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/test/testtree"
	"golang.org/x/sys/unix"
)

// ways are the manners of writing that an attack may meet.
var ways = map[string]func(*Job){
	"usual":      func(j *Job) {},
	"in place":   func(j *Job) { j.Dest.InPlace, j.Rules.InPlace = true, true },
	"through":    func(j *Job) { j.Dest.Through = true },
	"force":      func(j *Job) { j.Dest.InPlace, j.Rules.InPlace, j.Dest.Force = true, true, true },
	"remove":     func(j *Job) { j.Dest.Remove = true },
	"never":      func(j *Job) { j.Rules.Compare = plan.CompareNever },
	"batch":      func(j *Job) { j.Dest.Write.Durability = outfile.SyncBatch },
	"each":       func(j *Job) { j.Dest.Write.Durability = outfile.SyncEach },
	"backup":     func(j *Job) { j.Dest.Backup = dest.BackupSimple },
	"attributes": func(j *Job) { j.Rules.Form = plan.FormAttributes },
	"hard link":  func(j *Job) { j.Rules.Form = plan.FormHardLink },
	"symlink":    func(j *Job) { j.Rules.Form = plan.FormSymlink },
	"bare":       func(j *Job) { j.Dest.Meta.Which, j.Rules.Preserve = 0, plan.PreserveNothing },
}

// TestPlantedLinks: symbolic links stand in the destination, for every kind of
// entry and in place of directories; what they lead to is never touched.
func TestPlantedLinks(t *testing.T) {
	for name, change := range ways {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			testtree.Build(t, dir+"/src", "f 0640 f text:\"new\"\nh g = f\nf 0600 d/x text:\"new\"\nf 0600 d/e/y\nl l -> x\np 0600 p\ns 0600 s\nd 0700 empty\nf 0600 big data:200k")
			victim := dir + "/victim"
			testtree.Build(t, victim, "f 0644 file text:\"victim\"\nf 0644 dir/x text:\"victim\"\nf 0644 dir/e/y text:\"victim\"\nf 0644 dir/more text:\"victim\"\nd 0755 empty")
			testtree.Build(t, dir+"/dst", `
				l f -> ../victim/file
				l f~ -> ../victim/file
				l g -> ../victim/file
				l d -> ../victim/dir
				l d~ -> ../victim/dir
				l l -> ../victim/file
				l p -> ../victim/file
				l s -> ../victim/new
				l empty -> ../victim/empty
				l big -> ../victim/new
				l extra -> ../victim/dir
				l extra2 -> ../victim/file
			`)
			before := stamps(t, victim)
			j := job(dir+"/dst", dir+"/src")
			j.Delete = true
			change(j)
			errs := j.goOn()
			Run(context.Background(), j)
			for _, err := range errs.errs {
				if name != "attributes" || !errors.Is(err, ErrExists) { // it replaces nothing
					t.Error(err)
				}
			}
			if diff := changes(before, stamps(t, victim)); diff != nil {
				t.Errorf("%s", strings.Join(diff, "\n"))
			}
			if name == "usual" {
				testtree.Equal(t, dir+"/src", dir+"/dst", testtree.All)
			}
		})
	}
}

// TestSwappedLinks: in the middle of the copy somebody swaps directories of the
// destination for links to a victim, thousands of times.
func TestSwappedLinks(t *testing.T) {
	swaps := int64(4000)
	if testing.Short() {
		swaps = 300
	}
	dir := ram(t)
	testtree.Build(t, dir+"/src", "f 0600 d{1..6}/f{1..20} text:\"new\"\nf 0600 d{1..6}/e{1..3}/f{1..10} text:\"new\"\nh d{1..6}/h = d{1..6}/f1\nl d{1..6}/l -> f1\np 0640 d{1..6}/p")
	victim := dir + "/victim"
	testtree.Build(t, victim, "f 0644 f{1..20} text:\"victim\"\nf 0644 e{1..3}/f{1..10} text:\"victim\"\nf 0644 more{1..20}\nf 0644 h text:\"victim\"\nl l -> x\np 0600 p\nd 0755 .")
	before := stamps(t, victim)
	dst := dir + "/dst"
	testtree.Build(t, dst, "f 0644 d{1..6}/f{1..20} text:\"old\"\nf 0644 d{1..6}/e{1..3}/f{1..10} text:\"old\"\nl swap{1..6} -> "+victim+"\nl sub{1..6} -> "+victim+"/e1")
	var done atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for k := range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 1; ; i = i%6 + 1 {
				select {
				case <-stop:
					return
				default:
				}
				if swap(dst, victim, i, k == 1) {
					done.Add(1)
				}
			}
		}()
	}
	deadline := time.Now().Add(20 * time.Second)
	rounds := 0
	names := []string{"usual", "in place", "batch", "never", "backup", "bare", "through"}
	for done.Load() < swaps || rounds < 3*len(names) {
		j := job(dst, dir+"/src")
		j.Delete, j.Workers = true, 3
		filtered(t, j, "P /swap*", "P /sub*")
		ways[names[rounds%len(names)]](j)
		rounds++
		j.goOn()
		Run(context.Background(), j)
		if diff := changes(before, stamps(t, victim)); diff != nil {
			t.Errorf("%s", strings.Join(diff, "\n"))
			break
		}
		for i := range 6 { // make work for the next round
			os.WriteFile(fmt.Sprintf("%s/src/d%d/f%d", dir, i+1, rounds%20+1), fmt.Appendf(nil, "round %d", rounds), 0o600)
			os.WriteFile(fmt.Sprintf("%s/src/d%d/e1/f%d", dir, i+1, rounds%10+1), fmt.Appendf(nil, "round %d", rounds), 0o600)
		}
		if time.Now().After(deadline) {
			break
		}
	}
	close(stop)
	wg.Wait()
	if done.Load() < 100 {
		t.Fatalf("only %d swaps in %d rounds", done.Load(), rounds)
	}
	t.Logf("%d swaps, %d rounds", done.Load(), rounds)
}

// swap exchanges a directory, or one inside of it, for a link to the victim,
// without ever going through one itself.
func swap(dst, victim string, i int, inner bool) bool {
	at, err := unix.Open(dst, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return false
	}
	defer unix.Close(at)
	from, name, link, to := at, fmt.Sprintf("d%d", i), fmt.Sprintf("swap%d", i), victim
	if inner {
		if from, err = unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0); err != nil {
			return false
		}
		defer unix.Close(from)
		name, link, to = "e1", fmt.Sprintf("sub%d", i), victim+"/e1"
	}
	if unix.Renameat2(from, name, at, link, unix.RENAME_EXCHANGE) == nil {
		return true
	}
	unix.Symlinkat(to, at, link) // it may have been deleted
	return false
}
