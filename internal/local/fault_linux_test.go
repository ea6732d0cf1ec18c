package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gohaul/haul/internal/outfile"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/testtree"
)

const (
	faultNew = `
		f 0640 small text:"new small" mtime=2002-02-02T00:00:00.000000002Z xattr:user.k=new
		f 0604 dense data:150k
		f 0644 sparse data:8k hole:1M data:8k
		f 0644 a/linked text:"new linked"
		h b/linked = a/linked
		h linked = a/linked
		l link -> new
		p 0600 fifo
		d 0750 a
		f 0444 a/deep/x text:"new x"
		d 0555 a/deep
		f 0600 made text:"new made"
	`
	faultOld = `
		f 0600 small text:"old small" mtime=2001-01-01T00:00:00Z xattr:user.k=old
		f 0600 dense data:140k@old
		f 0600 sparse data:20k@old
		f 0600 a/linked text:"old linked"
		h linked = a/linked
		f 0600 b/linked text:"old other"
		l link -> old
		s 0600 fifo
		f 0600 a/deep/x text:"old x"
		f 0600 extra text:"old extra"
	`
)

// TestFaults lets every single call fail, in every manner of writing: each name
// holds its old or its new content whole, nothing is left behind, an error names
// a path, the rest is copied, and the next run makes everything right.
func TestFaults(t *testing.T) {
	places := map[string]func(*Job){
		"new":      func(j *Job) {},
		"replace":  func(j *Job) { j.Delete = true },
		"in place": func(j *Job) { j.Dest.InPlace, j.Rules.InPlace = true, true },
	}
	errnos := []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EPERM}
	for place, change := range places {
		for _, d := range durabilities {
			for _, errno := range errnos {
				// The error matters to what is tried next, the durability to the order:
				// each is varied by itself.
				if errno != syscall.EIO && d != outfile.NoSync || testing.Short() && (d != outfile.SyncBatch || place != "replace") {
					continue
				}
				t.Run(fmt.Sprintf("%s, %d, %v", place, d, errno), func(t *testing.T) {
					f := faulty{t: t, dir: ram(t), place: place, change: change, durability: d, errno: errno}
					testtree.Build(t, f.dir+"/src", faultNew)
					testtree.Build(t, f.dir+"/old", faultOld)
					step := int64(1)
					if testing.Short() {
						step = 7
					}
					for n := int64(1); f.fail(n); n += step {
						if n > 2000 {
							t.Fatal("it never ends")
						}
					}
				})
			}
		}
	}
}

type faulty struct {
	t          *testing.T
	dir, place string
	change     func(*Job)
	durability outfile.Durability
	errno      syscall.Errno
}

func (f *faulty) job(dst string) *Job {
	j := job(dst, f.dir+"/src")
	j.Workers, j.Dest.Write.Durability = 1, f.durability
	f.change(j)
	return j
}

// fail lets call n fail and reports whether there was one.
func (f *faulty) fail(n int64) bool {
	t := f.t
	dst := f.dir + "/dst"
	must(t, os.RemoveAll(dst))
	if f.place != "new" {
		testtree.Build(t, dst, faultOld)
	}
	check := noLeaks(t)
	var calls atomic.Int64
	var failed sys.Op
	restore := sys.Inject(func(o sys.Op) (fault sys.Fault) {
		if calls.Add(1) == n {
			failed, fault.Err = o, f.errno
		}
		return fault
	})
	j := f.job(dst)
	errs := j.goOn()
	err := Run(context.Background(), j)
	restore()
	if calls.Load() < n {
		must(t, err)
		t.Logf("%d calls", n)
		return false
	}
	failed.Name = strings.Clone(failed.Name)
	what := fmt.Sprintf("%v of call %d, %s of %q", f.errno, n, failed.Call, failed.Name)
	check()
	for _, p := range leftovers(t, f.dir) {
		if failed.Call != "unlinkat" {
			t.Errorf("%s: %s is left", what, p)
		}
		os.Remove(p)
	}
	f.whole(what, dst, errs)
	if (err != nil) != (len(errs.errs) > 0) && !errors.Is(err, f.errno) {
		t.Errorf("%s: %v, but told %v", what, err, errs.errs)
	}
	for _, err := range append(errs.errs, err) {
		if err != nil && (!errors.Is(err, f.errno) || !names(err, f.dir+"/") && !names(err, "/proc")) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(errs.errs) > 1 && failed.Call != "syncfs" && !strings.HasPrefix(failed.Call, "getdents") {
		t.Errorf("%s: told %d times: %v", what, len(errs.errs), errs.errs)
	}
	if err == nil {
		f.same(what, dst)
	}
	if err := Run(context.Background(), f.job(dst)); err != nil {
		t.Errorf("%s: the next run: %v", what, err)
	}
	f.same(what+", then again", dst)
	return !t.Failed() || n < 50 // enough to see
}

// whole checks that each name holds one of the two contents, or nothing if it
// held nothing. In place a file may be a mix, which was told.
func (f *faulty) whole(what, dst string, errs *errorList) {
	for _, name := range []string{"small", "dense", "sparse", "a/linked", "b/linked", "linked", "a/deep/x", "made", "link", "fifo"} {
		got, want, old := content(dst+"/"+name), content(f.dir+"/src/"+name), content(f.dir+"/old/"+name)
		if f.place == "new" {
			old = "absent"
		}
		if got == want || got == old {
			continue
		}
		told := false
		for _, p := range errs.paths {
			told = told || strings.HasSuffix(p, filepath.Base(name))
		}
		if f.place == "in place" && told {
			continue
		}
		f.t.Errorf("%s: %s holds %.30q", what, name, got)
	}
}

func content(path string) string {
	st, err := os.Lstat(path)
	switch {
	case err != nil:
		return "absent"
	case st.Mode().IsRegular():
		b, err := os.ReadFile(path)
		return fmt.Sprint(string(b), err)
	case st.Mode()&os.ModeSymlink != 0:
		to, _ := os.Readlink(path)
		return to
	}
	return st.Mode().Type().String()
}

func (f *faulty) same(what, dst string) {
	mask := testtree.All
	if f.place != "replace" { // then what is extra stays
		os.Remove(dst + "/extra")
	}
	if f.errno == syscall.EPERM && !strings.Contains(what, "again") {
		mask = testtree.Content // parts that are not permitted are noted
	}
	mask &^= testtree.DirMtime // extra was removed behind its back
	diff, err := testtree.Diff(f.dir+"/src", dst, mask)
	if err != nil || diff != "" {
		f.t.Errorf("%s: %v\n%s", what, err, diff)
	}
}

// TestShortCalls: reads and writes that move less than asked for, and calls that
// a signal interrupts, change nothing.
func TestShortCalls(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir+"/src", faultNew)
	for _, place := range []string{"new", "replace", "in place"} {
		for k, fault := range []sys.Fault{{Short: 1000}, {Short: 1}, {Err: syscall.EINTR}} {
			dst := fmt.Sprintf("%s/%s%d", dir, place, k)
			if place != "new" {
				testtree.Build(t, dst, faultOld)
			}
			var n atomic.Int64
			restore := inject(t, func(o sys.Op) sys.Fault {
				if fault.Err != nil && n.Add(1)%2 == 0 || o.Len > 1<<16 && fault.Short == 1 {
					return sys.Fault{}
				}
				return fault
			})
			j := job(dst, dir+"/src")
			j.Delete, j.Dest.InPlace, j.Rules.InPlace = true, place == "in place", place == "in place"
			runJob(t, j)
			restore()
			testtree.Equal(t, dir+"/src", dst, testtree.All)
		}
	}
}
