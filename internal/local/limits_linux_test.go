package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gohaul/haul/internal/outfile"
	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/loopfs"
	"github.com/gohaul/haul/test/testtree"
	"golang.org/x/sys/unix"
)

// makeDeep makes directories so many levels deep, each with a file.
func makeDeep(t testing.TB, dir string, levels int) {
	t.Helper()
	must(t, os.Mkdir(dir, 0o755))
	at, err := sys.OpenRoot(dir)
	must(t, err)
	for range levels {
		must(t, at.Mkdir("d", 0o755))
		must(t, at.Mknod("f", sys.TypeRegular|0o644, 0))
		sub, err := at.OpenDir("d")
		must(t, err)
		must(t, at.Close())
		at = sub
	}
	must(t, at.Close())
}

// TestFewDescriptors: with 64 files open at most, trees that are 4000 levels
// deep, or wide, are copied, found right, and deleted.
func TestFewDescriptors(t *testing.T) {
	levels, width := 4000, 1500
	if testing.Short() {
		levels, width = 300, 100
	}
	dir := ram(t)
	t.Cleanup(func() { command("rm", "-rf", dir+"/deep", dir+"/out") })
	makeDeep(t, dir+"/deep", levels)
	testtree.Build(t, dir+"/wide", fmt.Sprintf("f 0644 d{1..%d}/f{1..3} text:\"x\"\nf 0644 d{1..%d}/s/t/u/v text:\"x\"\nh d{2..%d}/h = d1/f1", width, width, width))
	cmd := exec.Command("/bin/sh", "-c", `ulimit -n 64 && exec /proc/`+strconv.Itoa(os.Getpid())+`/exe "$@"`, "sh", dir, fmt.Sprint(levels), fmt.Sprint(width))
	cmd.Env = append(os.Environ(), "LOCAL_CHILD=descriptors")
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

func init() {
	children["descriptors"] = func() int {
		dir := os.Args[1]
		levels, _ := strconv.ParseInt(os.Args[2], 10, 64)
		width, _ := strconv.ParseInt(os.Args[3], 10, 64)
		var lim syscall.Rlimit
		if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); lim.Cur != 64 {
			fmt.Println("the limit is", lim.Cur)
		}
		try := func(src string, d outfile.Durability, files, dirs, links int64) {
			for round := range 2 {
				j := job(dir+"/out", dir+"/"+src)
				j.Delete, j.Workers, j.Dest.Write.Durability = true, 4, d
				if err := Run(context.Background(), j); err != nil {
					fmt.Printf("%s, %d, round %d: %v\n", src, d, round, err)
					return
				}
				n := j.Dest.Counters
				if round == 0 && (n.Files.Load() != files || n.Dirs.Load() != dirs || n.Links.Load() != links) || round == 1 && n.Skipped.Load() != files+links {
					fmt.Printf("%s, %d, round %d: %d files, %d directories, %d links, %d skipped\n", src, d, round, n.Files.Load(), n.Dirs.Load(), n.Links.Load(), n.Skipped.Load())
				}
			}
		}
		for _, d := range []outfile.Durability{outfile.NoSync, outfile.SyncBatch} {
			os.RemoveAll(dir + "/out")
			try("deep", d, levels, levels+1, 0)
			try("wide", d, 4*width, 4*width, width-1) // and what was deep is deleted
			command("rm", "-rf", dir+"/out")
		}
		return 0
	}
}

// TestMemory: a directory of a million entries takes a bounded memory.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a million files")
	}
	dir := loopfs.Mount(t, "tmpfs", 4<<30)
	must(t, os.Mkdir(dir+"/src", 0o755))
	must(t, os.Mkdir(dir+"/src/many", 0o755))
	d, err := unix.Open(dir+"/src/many", unix.O_PATH|unix.O_DIRECTORY, 0)
	must(t, err)
	for i := range 1_000_000 {
		must(t, unix.Mknodat(d, fmt.Sprintf("some-file-%07d", i), unix.S_IFREG|0o644, 0))
	}
	must(t, unix.Close(d))
	for _, way := range []string{"new", "again", "batch"} {
		cmd := child(t, "/proc/self/exe", "memory", dir, way)
		out, err := cmd.CombinedOutput()
		peak, e := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil || e != nil {
			t.Fatalf("%s: %v\n%s", way, err, out)
		}
		t.Logf("%s: peak %d KiB", way, peak)
		if peak >= 150<<10 {
			t.Errorf("%s: peak %d KiB", way, peak)
		}
	}
}

func init() {
	children["memory"] = func() int {
		dir, way := os.Args[1], os.Args[2]
		j := job(dir+"/dst", dir+"/src")
		switch way {
		case "again":
			j.Delete = true
		case "batch":
			j.Rules.Compare, j.Dest.Write.Durability = plan.CompareNever, outfile.SyncBatch
		}
		if err := Run(context.Background(), j); err != nil {
			fmt.Println(err)
			return 1
		}
		if n := j.Dest.Counters; n.Files.Load()+n.Skipped.Load() != 1_000_000 {
			fmt.Printf("%d files, %d skipped\n", n.Files.Load(), n.Skipped.Load())
			return 1
		}
		status, _ := os.ReadFile("/proc/self/status")
		_, rest, _ := strings.Cut(string(status), "VmHWM:")
		rest, _, _ = strings.Cut(rest, "kB")
		fmt.Println(strings.TrimSpace(rest))
		return 0
	}
}
