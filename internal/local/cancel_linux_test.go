package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gohaul/haul/internal/outfile"
	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/testtree"
	"go.uber.org/goleak"
)

// cancelled runs a job up to five times, cancels it in the middle, and fails the
// test if it never ends within 100 ms of that (once is enough: other processes
// may have the processor), or ever leaves something.
func cancelled(t *testing.T, make func() *Job) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	defer noLeaks(t)()
	const never = time.Duration(-1)
	best := never
	for range 5 {
		j := make()
		ctx, cancel := context.WithCancel(context.Background())
		var at atomic.Int64
		timer := time.AfterFunc(10*time.Millisecond, func() { at.Store(time.Now().UnixNano()); cancel() })
		err := Run(ctx, j)
		took := time.Duration(time.Now().UnixNano() - at.Load())
		timer.Stop()
		cancel()
		dst := j.Pairs[0].Dst
		if err == nil && at.Load() == 0 {
			os.RemoveAll(dst)
			continue // it was faster
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if n := j.Dest.Counters.Failed.Load(); n != 0 {
			t.Errorf("%d entries failed", n)
		}
		if err != nil {
			if best == never || took < best {
				best = took
			}
			noTemps(t, filepath.Dir(dst))
			src, _ := os.Lstat(j.Pairs[0].Src)
			if st, err := os.Lstat(dst); err == nil && st.Mode().IsRegular() && st.Size() != src.Size() {
				t.Error("a part of the file is there")
			}
		}
		os.RemoveAll(dst)
		if best != never && best < 100*time.Millisecond {
			break
		}
	}
	if best >= 100*time.Millisecond {
		t.Errorf("it took %v", best)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

func TestCancelFile(t *testing.T) {
	size := "384M"
	if testing.Short() {
		size = "64M"
	}
	onAll(t, 1200<<20, func(t *testing.T, dir string) {
		testtree.Build(t, dir, "f 0644 big data:"+size)
		exec.Command("sync", "-f", dir).Run() // a clone waits until its source is written
		for name, change := range map[string]func(*Job){
			"usual":      func(j *Job) {},
			"read":       func(j *Job) { j.Dest.Write.Reflink = outfile.ReflinkNever },
			"sparse":     func(j *Job) { j.Dest.Write.Sparse = outfile.SparseAlways },
			"small":      func(j *Job) { j.Dest.Write.Sparse, j.Dest.Write.WriteSize = outfile.SparseNever, 4096 },
			"batch":      func(j *Job) { j.Dest.Write.Durability, j.Dest.Write.Reflink = outfile.SyncBatch, outfile.ReflinkNever },
			"in place":   func(j *Job) { j.Dest.InPlace, j.Rules.InPlace = true, true },
			"compare":    func(j *Job) { j.Rules.Compare = plan.CompareContent },
			"verify":     func(j *Job) { j.Verify = true },
			"scan along": func(j *Job) { j.Scan = true },
		} {
			t.Run(name, func(t *testing.T) {
				cancelled(t, func() *Job {
					os.Remove(dir + "/dst")
					j := job(dir+"/dst", dir+"/big")
					if name == "compare" {
						runJob(t, job(dir+"/dst", dir+"/big"))
						j.Rules.Compare = plan.CompareContent
						return j
					}
					change(j)
					return j
				})
			})
		}
	})
}

func TestCancelTree(t *testing.T) {
	dir := ram(t)
	testtree.Build(t, dir+"/src", "f 0644 d{001..150}/f{01..99} data:3000\nh l{001..150} = d{001..150}/f01")
	for _, d := range durabilities {
		for _, into := range []string{"new", "old"} {
			t.Run(fmt.Sprint(d, into), func(t *testing.T) {
				cancelled(t, func() *Job {
					dst := dir + "/dst"
					if into == "old" {
						testtree.Build(t, dst, "f 0644 d{001..150}/f{01..03}\nf 0644 d{001..150}/extra")
					}
					j := job(dst, dir+"/src")
					j.Dest.Write.Durability, j.Delete, j.Scan, j.Workers = d, true, true, 3
					return j
				})
			})
		}
	}
}

// TestCancelWaiting: under SyncBatch finished files wait for their names; a job
// that is given up removes them.
func TestCancelWaiting(t *testing.T) {
	defer noLeaks(t)()
	dir := t.TempDir()
	testtree.Build(t, dir, "f 0644 src/d{1..5}/f{1..20} data:100\nh src/l{1..5} = src/d{1..5}/f1\nf 0644 dst/d{1..5}/f1 text:\"old\"")
	ctx, cancel := context.WithCancel(context.Background())
	j := job(dir+"/dst", dir+"/src")
	j.Dest.Write.Durability = outfile.SyncBatch
	inject(t, func(o sys.Op) (f sys.Fault) {
		if o.Call == "syncfs" {
			cancel()
		}
		return f
	})
	if err := Run(ctx, j); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	noTemps(t, dir+"/dst")
	cancel()

	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	os.RemoveAll(dir + "/dst")
	testtree.Build(t, dir, "f 0644 dst/d{1..5}/f1 text:\"old\"")
	j = job(dir+"/dst", dir+"/src")
	j.Dest.Write.Durability, j.Workers = outfile.SyncBatch, 1
	n := 0
	j.OnItem = func(report.Item) {
		if n++; n == 3 {
			cancel()
		}
	}
	if err := Run(ctx, j); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for i := range 5 {
		if text := read(t, fmt.Sprintf("%s/dst/d%d/f1", dir, i+1)); text != "old" && len(text) != 100 {
			t.Errorf("%q", text)
		}
	}
	noTemps(t, dir+"/dst")
}

// TestCancelFIFO: nobody writes, and nobody hangs.
func TestCancelFIFO(t *testing.T) {
	dir := t.TempDir()
	must(t, syscall.Mkfifo(dir+"/fifo", 0o600))
	w, err := os.OpenFile(dir+"/fifo", os.O_RDWR, 0)
	must(t, err)
	defer w.Close()
	w.WriteString("the beginning")
	cancelled(t, func() *Job {
		j := job(dir+"/dst", dir+"/fifo")
		j.Contents = true
		return j
	})
	if exists(dir + "/dst") {
		t.Error("a part is there")
	}
}

// TestEndedBefore: a context that has ended touches nothing.
func TestEndedBefore(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, "f 0644 src/a\nf 0644 b")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, src := range []string{"src", "b"} {
		if err := Run(ctx, job(dir+"/dst", dir+"/"+src)); !errors.Is(err, context.Canceled) || exists(dir+"/dst") {
			t.Errorf("%s: %v", src, err)
		}
	}
	late, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	if err := Run(late, job(dir+"/dst", dir+"/src")); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestLentBack: what an ordinary user was lent in the destination is given back
// also when the job is cancelled.
func TestLentBack(t *testing.T) {
	out := asUser(t, "lent", "")
	if out != "" {
		t.Error(out)
	}
}

func init() {
	children["lent"] = func() int {
		dir, err := os.MkdirTemp("/dev/shm", "haul-lent-")
		if err != nil {
			fmt.Println(err)
			return 1
		}
		defer os.RemoveAll(dir)
		if err := testtree.Make(dir, "f 0644 src/d/f{1..9}\nd 0555 src/d\nf 0644 dst/d/f1 text:\"old\"\nd 0500 dst/d\nf 0644 dst/d2/x\nd 0555 dst/d2"); err != nil {
			fmt.Println(err)
			return 1
		}
		defer command("chmod", "-R", "u+w", dir)
		ctx, cancel := context.WithCancel(context.Background())
		j := job(dir+"/dst", dir+"/src")
		j.OnItem = func(i report.Item) {
			if strings.HasSuffix(i.Target, "/d/f3") {
				cancel()
			}
		}
		err = Run(ctx, j)
		var st syscall.Stat_t
		syscall.Lstat(dir+"/dst/d", &st)
		if !errors.Is(err, context.Canceled) || st.Mode&0o777 != 0o500 {
			fmt.Printf("%v, mode %o", err, st.Mode)
		}
		j = job(dir+"/dst", dir+"/src")
		j.Delete = true
		if err := Run(context.Background(), j); err != nil {
			fmt.Print(err)
		}
		if diff, err := testtree.Diff(dir+"/src", dir+"/dst", testtree.All); diff != "" || err != nil {
			fmt.Print(diff, err)
		}
		return 0
	}
}
