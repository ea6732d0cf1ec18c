package local

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gohaul/haul/internal/dest"
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/outfile"
	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/loopfs"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	if f, ok := children[os.Getenv("LOCAL_CHILD")]; ok {
		os.Exit(f())
	}
	flag.Parse()
	if testing.Short() {
		flag.Set("rapid.checks", "15")
	} else {
		flag.Set("rapid.checks", "60")
	}
	goleak.VerifyTestMain(m)
}

// children are what this program does when a test starts it as another process,
// as another user or under limits: LOCAL_CHILD names one.
var children = map[string]func() int{}

// job copies src to dst with all that a copy can keep.
func job(dst, src string) *Job {
	return &Job{
		Pairs: []Pair{{Src: src, Dst: dst}},
		Rules: plan.Rules{Preserve: meta.All | plan.PreserveLinks},
		Dest:  dest.Options{Meta: meta.Policy{Which: meta.All}, Suffix: "~", Counters: new(report.Counters)},
	}
}

// goOn makes a job go on after errors and keeps them all.
func (j *Job) goOn() *errorList {
	l := &errorList{}
	j.OnError = func(path string, err error) error {
		l.paths, l.errs = append(l.paths, path), append(l.errs, err)
		return nil
	}
	return l
}

type errorList struct {
	paths []string
	errs  []error
}

// items makes a job keep what it tells, and fails the test if it tells two
// things at once.
func (j *Job) items(t rapid.TB) *itemList {
	l := &itemList{}
	j.OnItem = func(i report.Item) {
		if !l.mu.TryLock() {
			t.Error("OnItem is called twice at once")
			return
		}
		defer l.mu.Unlock()
		l.list = append(l.list, i)
	}
	return l
}

type itemList struct {
	mu   sync.Mutex
	list []report.Item
}

// lines are the items but for notes, with targets beneath root, in order of
// targets.
func (l *itemList) lines(root string) []string {
	var out []string
	for _, i := range l.list {
		if i.Action != report.Noted {
			out = append(out, fmt.Sprintf("%s %q backup %q", i.Action, rel(root, i.Target), rel(root, i.Backup)))
		}
	}
	slices.Sort(out)
	return out
}

func (l *itemList) count(a report.Action) (n int) {
	for _, i := range l.list {
		if i.Action == a {
			n++
		}
	}
	return n
}

func rel(root, path string) string { return strings.TrimPrefix(path, root+"/") }

func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func runJob(t rapid.TB, j *Job) {
	t.Helper()
	must(t, Run(context.Background(), j))
}

// onAll runs a test on each kind of file system; under -short in a temporary
// directory.
func onAll(t *testing.T, size int64, f func(t *testing.T, dir string)) {
	if testing.Short() {
		t.Run("tmp", func(t *testing.T) { f(t, t.TempDir()) })
		return
	}
	loopfs.Each(t, size, f)
}

// ram is a directory in RAM that every user may reach.
func ram(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "haul-local-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	return dir
}

func needRoot(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: needs root")
	}
	if os.Getuid() != 0 {
		t.Fatal("this test needs root")
	}
}

// stamps are what a run that changes nothing leaves alone: who is who, and when
// each was changed last.
func stamps(t rapid.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st syscall.Stat_t
		if err := syscall.Lstat(p, &st); err != nil {
			return err
		}
		all[rel(root, p)] = fmt.Sprintf("inode %d changed %d.%09d", st.Ino, st.Ctim.Sec, st.Ctim.Nsec)
		return nil
	}))
	return all
}

// changes says how two of stamps differ.
func changes(before, after map[string]string) []string {
	var out []string
	for p, s := range before {
		if after[p] != s {
			out = append(out, fmt.Sprintf("%q: %s, then %s", p, s, cmp.Or(after[p], "gone")))
		}
	}
	for p, s := range after {
		if before[p] == "" {
			out = append(out, fmt.Sprintf("%q: new, %s", p, s))
		}
	}
	slices.Sort(out)
	return out
}

// leftovers are names that only temporary files have.
func leftovers(t rapid.TB, root string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && isTemp(d.Name()) {
			found = append(found, p)
		}
		return err
	})
	must(t, err)
	return found
}

// isTemp tells ".NAME.XXXXXX".
func isTemp(name string) bool {
	i := strings.LastIndexByte(name, '.')
	return i > 0 && name[0] == '.' && len(name)-i == 7 && strings.Trim(name[i+1:], "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

func noTemps(t rapid.TB, root string) {
	t.Helper()
	if l := leftovers(t, root); len(l) > 0 {
		t.Errorf("temporary files are left: %q", l)
	}
}

// openFiles counts this process's descriptors, but those that the runtime opens
// for itself and keeps.
func openFiles(t testing.TB) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	for _, e := range list {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.HasPrefix(to, "anon_inode:") && !strings.HasPrefix(to, "/proc/") && !strings.HasPrefix(to, "/sys/") {
			n++
		}
	}
	return n
}

// noLeaks fails the test if files stay open. There may be fewer than before: the
// collector closes what an earlier test forgot.
func noLeaks(t testing.TB) func() {
	before := openFiles(t)
	return func() {
		t.Helper()
		if after := openFiles(t); after > before {
			list, _ := os.ReadDir("/proc/self/fd")
			var open []string
			for _, e := range list {
				to, _ := os.Readlink("/proc/self/fd/" + e.Name())
				open = append(open, to)
			}
			t.Errorf("%d files open before, %d after: %q", before, after, open)
		}
	}
}

// names reports whether an error is one that names an operation and a path once.
func names(err error, path string) bool {
	text := err.Error()
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Op != "" && p.Path != "" && strings.Contains(text, path) && strings.Count(text, p.Path) == 1
	case errors.As(err, &l):
		return l.Op != "" && l.Old != "" && l.New != "" && strings.Contains(text, path)
	}
	return false
}

func read(t rapid.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

func write(t rapid.TB, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func lstat(t rapid.TB, path string) *syscall.Stat_t {
	t.Helper()
	var st syscall.Stat_t
	must(t, syscall.Lstat(path, &st))
	return &st
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

var durabilities = []outfile.Durability{outfile.NoSync, outfile.SyncBatch, outfile.SyncEach}

// inject calls f before every system call, until the test ends or restore is
// called.
func inject(t testing.TB, f func(sys.Op) sys.Fault) (restore func()) {
	var once sync.Once
	undo := sys.Inject(f)
	restore = func() { once.Do(undo) }
	t.Cleanup(restore)
	return restore
}
