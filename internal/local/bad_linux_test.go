package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gohaul/haul/internal/outfile"
	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/loopfs"
	"github.com/gohaul/haul/test/testtree"
)

// onlyFails runs a job that is to go on after errors: each must be want and name
// a path beneath dir, and nothing must be left behind. It returns the paths.
func onlyFails(t *testing.T, j *Job, want error, dir string) []string {
	t.Helper()
	check := noLeaks(t)
	errs := j.goOn()
	err := Run(context.Background(), j)
	check()
	var partial *PartialError
	if !errors.As(err, &partial) || partial.Failed != len(errs.errs) {
		t.Fatalf("%v, told %v", err, errs.errs)
	}
	for i, err := range errs.errs {
		if !errors.Is(err, want) || !names(err, dir+"/") {
			t.Errorf("%s: %v, want %v", errs.paths[i], err, want)
		}
	}
	noTemps(t, filepath.Dir(j.Pairs[0].Dst))
	return errs.paths
}

// TestFullDisk: what does not fit is told, file by file; what fits is there, and
// old files stay as they were.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs loop devices")
	}
	src := ram(t)
	testtree.Build(t, src, "f 0644 a{1..9} data:10\nf 0644 big data:200M\nf 0644 b{1..9} text:\"new\" "+now+"\nf 0644 old text:\"new content\" "+now+"\nd 0755 sub\nf 0644 sub/big data:200M\nf 0644 sub/z text:\"z\"")
	for _, kind := range []string{"ext4", "btrfs", "tmpfs"} {
		for _, d := range durabilities {
			t.Run(fmt.Sprint(kind, d), func(t *testing.T) {
				size, want := int64(128<<20), syscall.ENOSPC
				if kind == "btrfs" {
					size = 1 << 30
				}
				f := loopfs.New(t, kind, size)
				if kind == "btrfs" {
					must(t, f.SetQuota(64<<20))
					want = syscall.EDQUOT
				}
				dst := f.Dir + "/dst"
				testtree.Build(t, dst, "f 0644 old text:\"old\" "+old)
				j := job(dst, src)
				j.Workers, j.Dest.Write.Durability = 1, d
				paths := onlyFails(t, j, want, "")
				for _, p := range paths {
					if !strings.HasSuffix(p, "/big") {
						t.Errorf("%s failed too", p)
					}
				}
				if exists(dst+"/big") || read(t, dst+"/sub/z") != "z" || read(t, dst+"/b9") != "new" || read(t, dst+"/old") != "new content" {
					t.Error("not the rest is there, or a part of what failed is")
				}
			})
		}
	}
}

// TestFileSizeLimit: RLIMIT_FSIZE is an error of the file, not the end of the
// process.
func TestFileSizeLimit(t *testing.T) {
	dir := ram(t)
	testtree.Build(t, dir+"/src", "f 0644 a text:\"a\"\nf 0644 big data:300k\nf 0644 sparse hole:1M data:1\nf 0644 z text:\"z\"")
	cmd := child(t, "/proc/self/exe", "fsize", dir)
	out, err := cmd.CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
	testtree.Want(t, dir+"/dst", "f 0644 a text:\"a\"\nf 0644 z text:\"z\"", testtree.Mode|testtree.Content)
}

func init() {
	children["fsize"] = func() int {
		dir := os.Args[1]
		syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100 << 10, Max: 100 << 10})
		j := job(dir+"/dst", dir+"/src")
		errs := j.goOn()
		Run(context.Background(), j)
		if len(errs.errs) != 2 {
			fmt.Println(errs.errs)
		}
		for _, err := range errs.errs {
			if !errors.Is(err, syscall.EFBIG) || !names(err, dir+"/dst/") {
				fmt.Println(err)
			}
		}
		return 0
	}
}

func TestReadOnlyTarget(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs loop devices")
	}
	f := loopfs.New(t, "tmpfs", 0)
	testtree.Build(t, f.Dir, "f 0644 dst/a text:\"old\" "+old+"\nf 0644 dst/d/x\nf 0644 dst/extra")
	src := t.TempDir()
	testtree.Build(t, src, "f 0644 a text:\"new\" "+now+"\nf 0644 b\nf 0644 d/x\nl l -> a\np 0644 p\nd 0755 e")
	must(t, f.Remount("ro"))
	j := job(f.Dir+"/dst", src)
	j.Delete = true
	if n := len(onlyFails(t, j, syscall.EROFS, f.Dir)); n < 6 {
		t.Errorf("%d errors", n)
	}
	j = job(f.Dir+"/new", src)
	onlyFails(t, j, syscall.EROFS, f.Dir)
	must(t, f.Remount("rw"))
}

// TestOddNames: names with newlines, invalid UTF-8, 255 bytes; in place and
// beside, where temporary names must fit too.
func TestOddNames(t *testing.T) {
	onAll(t, 0, func(t *testing.T, dir string) {
		long := strings.Repeat("x", 255)
		testtree.Build(t, dir+"/src", `
			f 0644 "new\nline" text:"1"
			f 0644 "\xff\xfe" text:"2"
			f 0644 "`+long+`" text:"3"
			l "l`+long[:254]+`" -> "to\nnowhere\xff"
			p 0600 "p`+long[:254]+`"
			f 0644 "d`+long[:254]+`/é`+long[:253]+`" text:"4"
			h "h`+long[:254]+`" = "`+long+`"
			f 0644 " " text:"5"
			f 0644 "..." text:"6"
			f 0644 "-rf" text:"7"
		`)
		for _, d := range durabilities {
			for range 2 {
				j := job(dir+"/dst", dir+"/src")
				j.Dest.Write.Durability, j.Rules.Compare = d, plan.CompareNever
				runJob(t, j)
				testtree.Equal(t, dir+"/src", dir+"/dst", testtree.All)
			}
			must(t, os.RemoveAll(dir+"/dst"))
		}
	})
}

// TestLongPaths: trees whose paths no call takes, and names on the command line
// that are longer than PATH_MAX.
func TestLongPaths(t *testing.T) {
	dir := ram(t)
	part := strings.Repeat("p", 250)
	at := dir
	must(t, os.Mkdir(dir+"/src", 0o755))
	root, err := sys.OpenRoot(dir + "/src")
	must(t, err)
	for range 30 {
		must(t, root.Mkdir(part, 0o755))
		sub, err := root.OpenDir(part)
		must(t, err)
		root.Close()
		root = sub
		at += "/" + part
	}
	var f sys.File
	must(t, root.Open(&f, "file", sys.WriteOnly|sys.CreateNew, 0o644))
	_, err = f.Write([]byte("deep"))
	must(t, err)
	must(t, f.Close())
	must(t, root.Symlink("x", "link"))
	root.Close()
	defer command("rm", "-rf", dir+"/src", dir+"/dst", dir+"/dst2")

	j := job(dir+"/dst", dir+"/src")
	runJob(t, j)
	if n := j.Dest.Counters; n.Files.Load() != 1 || n.Dirs.Load() != 31 || n.Symlinks.Load() != 1 {
		t.Errorf("%d files, %d directories", n.Files.Load(), n.Dirs.Load())
	}
	again := job(dir+"/dst", dir+"/src")
	again.Delete = true
	runJob(t, again)
	if n := again.Dest.Counters; n.Skipped.Load() != 2 || n.Deleted.Load() != 0 {
		t.Errorf("%d skipped", n.Skipped.Load())
	}
	j = job(dir+"/dst2", dir+"/src"+strings.Repeat("/"+part, 25))
	runJob(t, j)
	if n := j.Dest.Counters; n.Files.Load() != 1 || n.Dirs.Load() != 6 {
		t.Errorf("from a long path: %d files, %d directories", n.Files.Load(), n.Dirs.Load())
	}
	must(t, os.Mkdir(dir+"/void", 0o755))
	j = job(dir+"/dst", dir+"/void")
	j.Delete = true
	runJob(t, j)
	if list, _ := os.ReadDir(dir + "/dst"); len(list) != 0 {
		t.Errorf("%v is left", list)
	}
}

// TestFIFOs: one that nobody writes to is an error at once; one with a writer is
// read to its end; in a tree they are made anew.
func TestFIFOs(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, "p 0600 src/silent\np 0600 src/p")
	j := job(dir+"/out", dir+"/src/silent")
	j.Contents = true
	if err := Run(context.Background(), j); !errors.Is(err, ErrNoWriter) || !names(err, dir+"/src/silent") || exists(dir+"/out") {
		t.Error(err)
	}
	noTemps(t, dir)
	ready, err := os.OpenFile(dir+"/src/p", os.O_RDWR, 0) // so that opening to write does not wait
	must(t, err)
	w, err := os.OpenFile(dir+"/src/p", os.O_WRONLY, 0)
	must(t, err)
	ready.Close()
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		defer w.Close()
		for i := range 50 {
			_, err := fmt.Fprintf(w, "%05000d", i)
			for tries := 0; errors.Is(err, syscall.EPIPE) && tries < 10_000; tries++ { // the job has yet to open it
				time.Sleep(time.Millisecond)
				_, err = fmt.Fprintf(w, "%05000d", i)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	j = job(dir+"/out", dir+"/src/p")
	j.Contents = true
	err = Run(context.Background(), j)
	wg.Wait()
	if err != nil && !errors.Is(err, ErrNoWriter) { // the writer may have been first to end
		t.Error(err)
	}
	if err == nil && len(read(t, dir+"/out")) != 250_000 {
		t.Errorf("%d bytes", len(read(t, dir+"/out")))
	}
	runJob(t, job(dir+"/dst", dir+"/src"))
	testtree.Equal(t, dir+"/src", dir+"/dst", testtree.All)
}

// TestHuge: 8 EiB of apparent size, copied, compared and verified at once.
func TestHuge(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs loop devices")
	}
	for _, kind := range []string{"xfs", "tmpfs"} {
		t.Run(kind, func(t *testing.T) {
			dir := loopfs.Mount(t, kind, 0)
			testtree.Build(t, dir, "f 0644 src/a text:\"begin\" hole:4E text:\"middle\"\nf 0644 src/z")
			must(t, os.Truncate(dir+"/src/a", 1<<63-1))
			for _, change := range []func(*Job){
				func(j *Job) {},
				func(j *Job) { j.Rules.Compare = plan.CompareContent },
				func(j *Job) { j.Verify, j.Rules.Compare = true, plan.CompareNever },
				func(j *Job) { j.Rules.Compare, j.Dest.Write.Reflink = plan.CompareNever, outfile.ReflinkNever },
				func(j *Job) {
					j.Rules.Compare, j.Rules.InPlace, j.Dest.InPlace, j.Dest.Write.Reflink = plan.CompareNever, true, true, outfile.ReflinkNever
				},
			} {
				j := job(dir+"/dst", dir+"/src")
				change(j)
				runJob(t, j)
				st := lstat(t, dir+"/dst/a")
				if st.Size != 1<<63-1 || st.Blocks > 256 {
					t.Fatalf("size %d, %d blocks", st.Size, st.Blocks)
				}
			}
			f, err := os.Open(dir + "/dst/a")
			must(t, err)
			defer f.Close()
			var buf [6]byte
			f.ReadAt(buf[:], 4<<60+5)
			if string(buf[:]) != "middle" {
				t.Errorf("%q", buf)
			}
		})
	}
}

// TestKernelFiles: files of /proc and /sys, whose sizes lie, are read to their
// end.
func TestKernelFiles(t *testing.T) {
	dir := t.TempDir()
	for _, src := range []string{"/proc/version", "/proc/filesystems", "/proc/self/status", "/proc/kallsyms", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/uevent_seqnum"} {
		want, err := os.ReadFile(src)
		if err != nil {
			continue // this kernel lacks it
		}
		j := job(dir+"/out", src)
		j.Dest.Meta.Which, j.Rules.Compare = 0, plan.CompareNever
		runJob(t, j)
		got := read(t, dir+"/out")
		if src != "/proc/self/status" && src != "/proc/kallsyms" && got != string(want) || len(got) < len(want)*9/10 {
			t.Errorf("%s: %d bytes, want %d", src, len(got), len(want))
		}
	}
	if !exists(dir + "/out") {
		t.Error("nothing was read at all")
	}
}

// TestChangingSource: another process grows, shrinks, replaces and removes files
// all the time. Each ends in a right copy of some moment or in one clear error;
// files that rest are copied, and nothing is left behind.
func TestChangingSource(t *testing.T) {
	dir := ram(t)
	rounds := 25
	if testing.Short() {
		rounds = 5
	}
	testtree.Build(t, dir+"/src", "f 0644 rest{1..20} data:5000\nf 0644 d{1..5}/rest{1..5} data:100k")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	change := func(f func(i int, p string)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					f(i, fmt.Sprintf("%s/src/d%d/", dir, i%5+1))
				}
				time.Sleep(20 * time.Microsecond)
			}
		}()
	}
	whole := func(n int) []byte { return []byte(strings.Repeat(string(rune('a'+n%26)), n)) }
	change(func(i int, p string) { // grows and shrinks
		f, err := os.OpenFile(p+"sizes", os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			f.Truncate(int64(i*7919%300_000) + 1)
			f.WriteAt([]byte("x"), 0)
			f.Close()
		}
	})
	change(func(i int, p string) { // is replaced whole
		os.WriteFile(dir+"/new", whole(i*997%200_000+1), 0o644)
		os.Rename(dir+"/new", p+"replaced")
	})
	change(func(i int, p string) { // changes its kind
		os.RemoveAll(p + "kind")
		switch i / 5 % 4 {
		case 0:
			os.Mkdir(p+"kind", 0o755)
			os.WriteFile(p+"kind/x", nil, 0o644)
		case 1:
			os.Symlink("rest1", p+"kind")
		case 2:
			os.WriteFile(p+"kind", []byte("file"), 0o644)
		case 3:
			syscall.Mkfifo(p+"kind", 0o644)
		}
	})
	change(func(i int, p string) { // comes and goes
		os.WriteFile(p+"gone", whole(5), 0o644)
		os.Remove(p + "gone")
		os.Mkdir(p+"dirgone", 0o755)
		os.Remove(p + "dirgone")
	})
	defer noLeaks(t)()
	for r := range rounds {
		dst := fmt.Sprintf("%s/dst%d", dir, r%2)
		j := job(dst, dir+"/src")
		j.Delete, j.Workers = r%3 != 0, 3
		j.Dest.Write.Durability = durabilities[r%3]
		j.Rules.InPlace, j.Dest.InPlace = r%4 == 3, r%4 == 3
		errs := j.goOn()
		Run(context.Background(), j)
		seen := map[string]bool{}
		for i, err := range errs.errs {
			base := filepath.Base(errs.paths[i])
			if !names(err, dir+"/") || strings.HasPrefix(base, "rest") {
				t.Errorf("%s: %v", errs.paths[i], err)
			}
			if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, sys.ErrShrank) && !errors.Is(err, ErrChanging) &&
				!(errors.Is(err, ErrOverDir) && !j.Delete) && !errors.Is(err, syscall.ENOTDIR) && !errors.Is(err, syscall.ELOOP) && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.EISDIR) {
				t.Errorf("%s: %v", errs.paths[i], err)
			}
			if key := errs.paths[i] + err.Error(); seen[key] {
				t.Errorf("told twice: %s: %v", errs.paths[i], err)
			} else {
				seen[key] = true
			}
		}
		noTemps(t, dst)
		for i := range 5 {
			p := fmt.Sprintf("%s/d%d/replaced", dst, i+1)
			if b, err := os.ReadFile(p); err == nil && (len(b) == 0 || string(b) != string(whole(len(b)))) {
				t.Errorf("%s is a mix", p)
			}
			for k := range 5 {
				if b := read(t, fmt.Sprintf("%s/d%d/rest%d", dst, i+1, k+1)); len(b) != 100<<10 {
					t.Errorf("rest has %d bytes", len(b))
				}
			}
		}
	}
	close(stop)
	wg.Wait()
	runJob(t, func() *Job { j := job(dir+"/dst0", dir+"/src"); j.Delete = true; return j }())
	testtree.Equal(t, dir+"/src", dir+"/dst0", testtree.All)
}

// TestLoops: symbolic links that lead in circles.
func TestLoops(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir, "l src/a -> b\nl src/b -> a\nl src/here -> .\nf 0644 src/x\nl loop -> loop")
	runJob(t, job(dir+"/dst", dir+"/src"))
	testtree.Equal(t, dir+"/src", dir+"/dst", testtree.All)
	j := job(dir+"/all", dir+"/src")
	j.Follow = plan.FollowAll
	errs := j.goOn()
	Run(context.Background(), j)
	if len(errs.errs) != 3 || !exists(dir+"/all/x") {
		t.Errorf("%v", errs.errs)
	}
	for _, err := range errs.errs {
		if !names(err, dir+"/src/") {
			t.Error(err)
		}
	}
	j = job(dir+"/out", dir+"/loop")
	j.Follow = plan.FollowArguments
	if err := Run(context.Background(), j); !errors.Is(err, syscall.ELOOP) || !names(err, dir+"/loop") {
		t.Error(err)
	}
	if err := Run(context.Background(), job(dir+"/loop", dir+"/src/x")); !errors.Is(err, syscall.ELOOP) && err == nil {
		t.Error("written through a loop")
	}
}
