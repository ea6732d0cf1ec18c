package outfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
)

// TestOverwrite keeps to os.WriteFile's contract: inode, links, mode and all.
func TestOverwrite(t *testing.T) {
	everywhere(t, func(t *testing.T, dir string) {
		for _, old := range []int{-1, 0, 1, 512, 513, 4096, 100_000} {
			for _, size := range []int{0, 1, 512, 533, 4096, 99_999} {
				name := filepath.Join(dir, "f")
				os.Remove(name)
				var before fs.FileInfo
				if old >= 0 {
					mustWrite(t, name, bytes.Repeat([]byte("o"), old))
					os.Chmod(name, 0o620)
					before, _ = os.Stat(name)
				}
				want := random(size)
				var c report.Counters
				if err := Overwrite(name, want, 0o640, &Policy{Counters: &c}); err != nil {
					t.Fatal(err)
				}
				if err := differ(mustRead(t, name), want); err != nil {
					t.Errorf("%d over %d bytes: %v", size, old, err)
				}
				after, err := os.Stat(name)
				if err != nil {
					t.Fatal(err)
				}
				if before != nil && (!os.SameFile(before, after) || after.Mode() != before.Mode()) {
					t.Errorf("%d over %d bytes: %v became %v", size, old, before.Mode(), after.Mode())
				}
				if before == nil && after.Mode() != 0o640 {
					t.Errorf("made with mode %v", after.Mode())
				}
				if cut := c.Cuts.Load(); (cut == 1) != (old > size) || cut > 1 {
					t.Errorf("%d over %d bytes: %d cuts", size, old, cut)
				}
			}
		}
	})
}

// TestOverwriteCalls never truncates what is not longer.
func TestOverwriteCalls(t *testing.T) {
	name := filepath.Join(ramDir(t), "f")
	for _, row := range []struct {
		size int
		want string
	}{
		{100, "openat write fstat close"},
		{100, "openat write fstat close"},
		{200, "openat write fstat close"},
		{50, "openat write fstat ftruncate close"},
		{0, "openat fstat ftruncate close"},
		{0, "openat fstat close"},
	} {
		got := calls(func() {
			if err := Overwrite(name, random(row.size), 0o600, nil); err != nil {
				t.Fatal(err)
			}
		})
		if strings.Join(got, " ") != row.want {
			t.Errorf("%d bytes: %v, want %s", row.size, got, row.want)
		}
	}
}

// TestOverwriteFollowsLinks writes through symbolic and hard links, and makes
// what a dangling one points to.
func TestOverwriteFollowsLinks(t *testing.T) {
	dir := ramDir(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	mustWrite(t, at("f"), []byte("old content"))
	for _, err := range []error{os.Symlink("f", at("link")), os.Link(at("f"), at("other")), os.Symlink("made", at("dangling"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := Overwrite(at("link"), []byte("new"), 0o600, nil); err != nil {
		t.Fatal(err)
	}
	if err := Overwrite(at("dangling"), []byte("new"), 0o600, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"f", "other", "made"} {
		if got := mustRead(t, at(name)); string(got) != "new" {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, name := range []string{"link", "dangling"} {
		if info, err := os.Lstat(at(name)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", name)
		}
	}
}

// TestOverwriteFails leaves what could be written, and never an old tail.
func TestOverwriteFails(t *testing.T) {
	name := filepath.Join(ramDir(t), "f")
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EFBIG, syscall.EIO, syscall.EDQUOT} {
		for _, good := range []int{0, 700} {
			mustWrite(t, name, bytes.Repeat([]byte("o"), 5000))
			n := 0
			restore := sys.Inject(func(op sys.Op) sys.Fault {
				if op.Call != "write" {
					return sys.Fault{}
				}
				if n++; n == 1 && good > 0 {
					return sys.Fault{Short: good}
				}
				return sys.Fault{Err: errno}
			})
			want := random(3000)
			err := Overwrite(name, want, 0o600, nil)
			restore()
			var pe *fs.PathError
			if !errors.Is(err, errno) || !errors.As(err, &pe) || pe.Path != name || pe.Op != "write" {
				t.Errorf("%v", err)
			}
			if err := differ(mustRead(t, name), want[:good]); err != nil {
				t.Errorf("%v after %d: %v", errno, good, err)
			}
		}
	}
}

// TestOverwriteCannotCut fails exactly if the size is wrong then.
func TestOverwriteCannotCut(t *testing.T) {
	name := filepath.Join(ramDir(t), "f")
	restore := sys.Inject(func(op sys.Op) sys.Fault {
		if op.Call == "ftruncate" {
			return sys.Fault{Err: syscall.ENOSPC}
		}
		return sys.Fault{}
	})
	defer restore()
	mustWrite(t, name, bytes.Repeat([]byte("o"), 534))
	if err := Overwrite(name, random(533), 0o600, nil); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a stale byte was left, and the error is %v", err)
	}
	if err := Overwrite(name, random(534), 0o600, nil); err != nil {
		t.Errorf("nothing had to be cut: %v", err)
	}
	// Cut all the same, say by another process: nothing is wrong then.
	restore()
	restore = sys.Inject(func(op sys.Op) sys.Fault {
		if op.Call == "ftruncate" {
			os.Truncate(name, 10)
			return sys.Fault{Err: syscall.ENOSPC}
		}
		return sys.Fault{}
	})
	defer restore()
	if err := Overwrite(name, random(10), 0o600, nil); err != nil {
		t.Errorf("the size is right: %v", err)
	}
}

// TestOverwriteOfNoRegularFile writes to what has no size.
func TestOverwriteOfNoRegularFile(t *testing.T) {
	for _, p := range []*Policy{nil, {Durability: SyncEach}} {
		if err := Overwrite("/dev/null", []byte("x"), 0o600, p); err != nil {
			t.Error(err)
		}
	}
	fifo := filepath.Join(ramDir(t), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		b, err := os.ReadFile(fifo)
		read <- fmt.Sprint(len(b), err)
	}()
	if err := Overwrite(fifo, random(300_000), 0o600, nil); err != nil {
		t.Error(err)
	}
	select {
	case got := <-read:
		if got != "300000 <nil>" {
			t.Errorf("the reader got %s", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("the reader still waits")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := Overwrite(fmt.Sprintf("/proc/self/fd/%d", w.Fd()), []byte("hello"), 0o600, nil); err != nil {
		t.Error(err)
	}
	w.Close()
	buf := make([]byte, 10)
	if n, _ := r.Read(buf); string(buf[:n]) != "hello" {
		t.Errorf("%q came out of the pipe", buf[:n])
	}
}

// TestOverwriteErrors are those of os.WriteFile.
func TestOverwriteErrors(t *testing.T) {
	dir := ramDir(t)
	for _, name := range []string{dir, filepath.Join(dir, "no", "f"), "", filepath.Join(dir, strings.Repeat("n", 256))} {
		got, want := Overwrite(name, nil, 0o600, nil), os.WriteFile(name, nil, 0o600)
		if got == nil || want == nil || got.Error() != want.Error() {
			t.Errorf("%q: %v, os says %v", name, got, want)
		}
	}
}

// TestOverwriteDurable syncs content and name, in that order.
func TestOverwriteDurable(t *testing.T) {
	name := filepath.Join(ramDir(t), "f")
	for _, d := range []Durability{SyncEach, SyncBatch} {
		got := calls(func() {
			if err := Overwrite(name, []byte("x"), 0o600, &Policy{Durability: d}); err != nil {
				t.Fatal(err)
			}
		})
		if s := strings.Join(got, " "); strings.Count(s, "fsync") != 2 || strings.Index(s, "write") > strings.Index(s, "fsync") {
			t.Errorf("%s", s)
		}
	}
}
