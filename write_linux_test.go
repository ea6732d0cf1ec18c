package haul_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gohaul/haul"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/testtree"
	"pgregory.net/rapid"
)

var durabilities = map[string]haul.Durability{"NoSync": haul.NoSync, "SyncBatch": haul.SyncBatch, "SyncEach": haul.SyncEach}

// entries are the names in a directory: nothing may be left beside what was asked for.
func entries(t testing.TB, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// targets is a tree with all that somebody may write to.
const targets = `f 0600 file data:5000 xattr:user.a=1
	h linked = file
	f 0644 empty
	f 0755 run data:10
	l link -> file
	l chain -> link
	l dangling -> sub/new
	l loop -> loop
	d 0755 sub
	f 0400 readonly data:10
	f 0644 sparse hole:1M data:4k`

// TestWriteFileAsOS holds WriteFile to the contract of os.WriteFile by having
// both write the same: they must leave the same tree and fail alike.
func TestWriteFileAsOS(t *testing.T) {
	names := []string{"new", "file", "linked", "empty", "run", "link", "chain", "dangling", "loop", "sub", "sub/new", "sub/", "none/new", "file/new", "readonly", "sparse", ""}
	fresh := []string{"new", "dangling", "sub/new"}
	for _, umask := range []int{0o022, 0o077} {
		old := syscall.Umask(umask)
		for _, name := range names {
			perms := []fs.FileMode{0o644}
			if slices.Contains(fresh, name) {
				perms = append(perms, 0o777, 0o600, 0o400)
			}
			for _, perm := range perms {
				for _, n := range []int{0, 5000, 100000} {
					data := bytes.Repeat([]byte("new "), n/4+1)[:n]
					theirs, ours := t.TempDir(), t.TempDir()
					testtree.Build(t, theirs, targets)
					testtree.Build(t, ours, targets)
					path := func(dir string) string {
						if name == "" {
							return ""
						}
						return dir + "/" + name
					}
					want := os.WriteFile(path(theirs), data, perm)
					got := haul.WriteFile(path(ours), data, perm)
					if cause(got) != cause(want) {
						t.Errorf("WriteFile(%q, %d bytes, %v) gives %v, os gives %v", name, n, perm, got, want)
					}
					if diff, err := testtree.Diff(theirs, ours, testtree.Mode|testtree.Content|testtree.Links|testtree.Xattrs); err != nil || diff != "" {
						t.Errorf("WriteFile(%q, %d bytes, %v, umask %o) leaves (+) other than os (-): %v\n%s", name, n, perm, umask, err, diff)
					}
				}
			}
		}
		syscall.Umask(old)
	}
}

// cause is what is left of an error without operation and path.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func TestWriteFileKeepsInode(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	var before, after sys.Stat
	for _, text := range []string{"first and long", "second", "", "last"} {
		if err := haul.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := sys.StatPath(name, true, &after); err != nil {
			t.Fatal(err)
		}
		if before.Ino != 0 && !before.Same(&after) {
			t.Error("another inode has the name")
		}
		before = after
		if got, err := os.ReadFile(name); err != nil || string(got) != text {
			t.Errorf("it holds %q, %v, want %q", got, err, text)
		}
	}
}

// TestWriteFileSpecial writes to what has no length to cut.
func TestWriteFileSpecial(t *testing.T) {
	if err := haul.WriteFile("/dev/null", []byte("gone"), 0o644); err != nil {
		t.Error("to /dev/null: ", err)
	}
	fi, err := os.Stat("/dev/null")
	if err != nil || fi.Mode().Type() != fs.ModeDevice|fs.ModeCharDevice {
		t.Fatalf("/dev/null is %v now, %v", fi.Mode(), err)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat([]byte("through "), 100000) // more than a pipe holds
	read := make(chan []byte)
	go func() {
		got, _ := os.ReadFile(fifo)
		read <- got
	}()
	if err := haul.WriteFile(fifo, data, 0o644); err != nil {
		t.Error("to a FIFO: ", err)
	}
	if got := <-read; !bytes.Equal(got, data) {
		t.Errorf("%d bytes came through the FIFO, want %d", len(got), len(data))
	}
}

// TestWriteFileFails: after a failed write there is no old tail behind the new bytes.
func TestWriteFileFails(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, bytes.Repeat([]byte("o"), 9000), 0o644); err != nil {
		t.Fatal(err)
	}
	writes := 0
	defer sys.Inject(func(op sys.Op) sys.Fault {
		if !strings.Contains(op.Call, "write") {
			return sys.Fault{}
		}
		if writes++; writes == 1 {
			return sys.Fault{Short: 1000}
		}
		return sys.Fault{Err: syscall.ENOSPC}
	})()
	err := haul.WriteFile(name, bytes.Repeat([]byte("n"), 5000), 0o644)
	var p *fs.PathError
	if !errors.As(err, &p) || p.Path != name || p.Err != syscall.ENOSPC {
		t.Errorf("it gives %v", err)
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, bytes.Repeat([]byte("n"), 1000)) {
		t.Errorf("it leaves %d bytes, %v, want the 1000 that were written", len(got), err)
	}
}

func TestReplaceFile(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	for name, d := range durabilities {
		t.Run(name, func(t *testing.T) {
			for _, tt := range []struct{ name, want string }{
				{"new", "f 0751 new text:bytes"},
				{"file", "f 0751 file text:bytes\nf 0600 linked data:5000@1"},
				{"link", "f 0751 file text:bytes\nf 0600 linked data:5000@1"},
				{"chain", "f 0751 file text:bytes\nf 0600 linked data:5000@1"},
				{"dangling", "f 0751 sub/new text:bytes"},
				{"readonly", "f 0751 readonly text:bytes"},
			} {
				dir := t.TempDir()
				tree := strings.Replace(targets, "data:5000", "data:5000@1", 1)
				testtree.Build(t, dir, tree)
				if err := haul.ReplaceFile(dir+"/"+tt.name, []byte("bytes"), 0o773, d); err != nil {
					t.Errorf("ReplaceFile(%s) gives %v", tt.name, err)
				}
				testtree.Want(t, dir, tree+"\n"+tt.want, testtree.Mode|testtree.Content|testtree.Links)
			}
		})
	}
}

func TestReplaceFileRefuses(t *testing.T) {
	tree := targets + "\np 0600 fifo\ns 0600 sock"
	for _, name := range []string{"", "sub", "sub/", ".", "sub/..", "loop", "none/new", "file/new", "fifo", "sock"} {
		dir := t.TempDir()
		testtree.Build(t, dir, tree)
		path := dir + "/" + name
		if name == "" {
			path = ""
		}
		err := haul.ReplaceFile(path, []byte("bytes"), 0o644, haul.NoSync)
		var p *fs.PathError
		if !errors.As(err, &p) || p.Path == "" && path != "" {
			t.Errorf("ReplaceFile(%q) gives %v", name, err)
		}
		testtree.Want(t, dir, tree, testtree.Mode|testtree.Content|testtree.Links)
	}
}

// TestReplaceFileModes: every mode means what it says, also none at all.
func TestReplaceFileModes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	dir := t.TempDir()
	for _, perm := range []fs.FileMode{0, 0o400, 0o600, 0o666, 0o777} {
		if err := haul.ReplaceFile(dir+"/f", nil, perm, haul.NoSync); err != nil {
			t.Fatal(err)
		}
		fi, err := os.Stat(dir + "/f")
		if err != nil || fi.Mode() != perm&^0o022 {
			t.Errorf("with %v it has %v, %v", perm, fi.Mode(), err)
		}
	}
}

// TestReplaceFileFails lets every operation fail in turn: the old file must
// stand there untouched, or the new one whole, and nothing beside it.
func TestReplaceFileFails(t *testing.T) {
	for name, d := range durabilities {
		t.Run(name, func(t *testing.T) {
			failed := 0
			for n := 0; ; n++ {
				dir := t.TempDir()
				file := dir + "/f"
				if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
					t.Fatal(err)
				}
				met, hit := 0, ""
				restore := sys.Inject(func(op sys.Op) sys.Fault {
					if op.Call == "unlinkat" || op.Call == "close" { // of a failed cleaning up something must stay
						return sys.Fault{}
					}
					if met++; met == n+1 {
						hit = op.Call
						return sys.Fault{Err: syscall.EIO}
					}
					return sys.Fault{}
				})
				err := haul.ReplaceFile(file, []byte("new"), 0o600, d)
				restore()
				if hit == "" {
					if err != nil || failed == 0 {
						t.Fatalf("without a fault: %v, after %d that failed", err, failed)
					}
					return
				}
				got, readErr := os.ReadFile(file)
				if readErr != nil || string(got) != "old" && string(got) != "new" || err == nil && string(got) != "new" {
					t.Errorf("with a failing %s it gives %v and leaves %q, %v", hit, err, got, readErr)
				}
				if err != nil {
					failed++
				}
				if left := entries(t, dir); left != "f" {
					t.Errorf("a failing %s leaves %s", hit, left)
				}
			}
		})
	}
}

// TestReplaceFileReaders reads while the file is replaced: every look shows one
// content whole.
func TestReplaceFileReaders(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	content := func(i int) []byte { return bytes.Repeat([]byte{'a' + byte(i%26)}, 1+i*997%70000) }
	if err := haul.ReplaceFile(name, content(0), 0o644, haul.NoSync); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	looks := 0
	readers.Add(1)
	go func() {
		defer readers.Done()
		for {
			got, err := os.ReadFile(name)
			if err != nil || len(got) == 0 || !bytes.Equal(got, bytes.Repeat(got[:1], len(got))) {
				t.Errorf("a reader sees %d bytes of %.20q, %v", len(got), got, err)
				return
			}
			whole := false
			for i := range 300 {
				whole = whole || 'a'+byte(i%26) == got[0] && 1+i*997%70000 == len(got)
			}
			if !whole {
				t.Errorf("a reader sees %d bytes of %q: no content that was ever whole", len(got), got[:1])
				return
			}
			looks++
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	for i := range 300 {
		if err := haul.ReplaceFile(name, content(i), 0o644, haul.NoSync); err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	readers.Wait()
	if looks == 0 && !t.Failed() {
		t.Error("nobody looked")
	}
}

func create(t *testing.T, name string, o *haul.Options) *haul.Pending {
	t.Helper()
	p, err := haul.Create(name, 0, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestCreate writes pieces and holes and compares with a byte slice.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		o := &haul.Options{
			Sparse:      rapid.SampledFrom([]haul.Sparse{haul.SparseAuto, haul.SparseAlways, haul.SparseNever}).Draw(rt, "sparse"),
			InPlace:     rapid.Bool().Draw(rt, "in place"),
			Preallocate: rapid.Bool().Draw(rt, "preallocate"),
			WriteSize:   rapid.SampledFrom([]int{0, 4096, 10000}).Draw(rt, "write size"),
			Durability:  rapid.SampledFrom([]haul.Durability{haul.NoSync, haul.SyncBatch, haul.SyncEach}).Draw(rt, "durability"),
		}
		name := filepath.Join(dir, rapid.SampledFrom([]string{"new", "old"}).Draw(rt, "name"))
		os.Remove(dir + "/new")
		if err := os.WriteFile(dir+"/old", bytes.Repeat([]byte("old"), 20000), 0o640); err != nil {
			rt.Fatal(err)
		}
		p, err := haul.Create(name, int64(rapid.SampledFrom([]int{0, 50000, 100000}).Draw(rt, "size")), o)
		if err != nil {
			rt.Fatal(err)
		}
		defer p.Abort()
		var want []byte
		for range rapid.IntRange(0, 6).Draw(rt, "pieces") {
			n := rapid.SampledFrom([]int{0, 1, 511, 4096, 5000, 40000}).Draw(rt, "n")
			piece := bytes.Repeat([]byte("new!"), n/4+1)[:n]
			switch rapid.IntRange(0, 2).Draw(rt, "verb") {
			case 0:
				_, err = p.Write(piece)
			case 1:
				var m int64
				if m, err = p.ReadFrom(io.MultiReader(bytes.NewReader(piece))); err == nil && m != int64(n) {
					rt.Errorf("ReadFrom took %d of %d bytes", m, n)
				}
			case 2:
				piece = make([]byte, n)
				err = p.Hole(int64(n))
			}
			if err != nil {
				rt.Fatal(err)
			}
			want = append(want, piece...)
		}
		if err := p.Commit(); err != nil {
			rt.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			rt.Fatalf("it holds %d bytes, %v, want %d", len(got), err, len(want))
		}
	})
}

func TestCreateKeeps(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	const tree = "f 0651 old data:9 xattr:user.a=1 acl=u:1000:r--\nh old2 = old\nl link -> old"
	for _, tt := range []struct {
		name, file string
		o          *haul.Options
		want       string
	}{
		{"a new file is as any", "new", nil, "f 0644 new text:bytes"},
		{"one with a mode", "new", &haul.Options{Perm: 0o606}, "f 0606 new text:bytes"},
		{"an old one hands on", "old", nil, "f 0651 old text:bytes xattr:user.a=1 acl=u:1000:r--\nf 0651 old2 data:9@1 xattr:user.a=1 acl=u:1000:r--"},
		{"also through a link", "link", nil, "f 0651 old text:bytes xattr:user.a=1 acl=u:1000:r--\nf 0651 old2 data:9@1 xattr:user.a=1 acl=u:1000:r--"},
		{"in place it is the same", "link", &haul.Options{InPlace: true}, "f 0651 old text:bytes xattr:user.a=1 acl=u:1000:r--\nh old2 = old"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			text := strings.Replace(tree, "data:9", "data:9@1", 1)
			testtree.Build(t, dir, text)
			p := create(t, dir+"/"+tt.file, tt.o)
			if _, err := io.WriteString(p, "bytes"); err != nil {
				t.Fatal(err)
			}
			if tt.o == nil || !tt.o.InPlace {
				if _, err := os.ReadFile(dir + "/new"); tt.file == "new" && err == nil {
					t.Error("the name is there before Commit")
				}
			}
			if err := p.Commit(); err != nil {
				t.Fatal(err)
			}
			testtree.Want(t, dir, text+"\n"+tt.want, testtree.Mode|testtree.Content|testtree.Links|testtree.Xattrs|testtree.ACLs)
		})
	}
}

// TestPendingEnds: each beginning has one ending, and what comes after it does nothing.
func TestPendingEnds(t *testing.T) {
	for name, d := range durabilities {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := &haul.Options{Durability: d}
			if err := os.WriteFile(dir+"/old", []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"new", "old"} {
				p := create(t, dir+"/"+file, o)
				if _, err := p.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
					t.Fatal(err)
				}
				if err := p.Abort(); err != nil {
					t.Error("Abort: ", err)
				}
				if err := p.Abort(); err != nil {
					t.Error("a second Abort: ", err)
				}
				if err := p.Commit(); !errors.Is(err, fs.ErrClosed) {
					t.Error("Commit after Abort: ", err)
				}
			}
			if got := entries(t, dir); got != "old" {
				t.Errorf("after Abort there is %s", got)
			}
			p := create(t, dir+"/old", o)
			if _, err := io.WriteString(p, "whole"); err != nil {
				t.Fatal(err)
			}
			if err := p.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := p.Commit(); !errors.Is(err, fs.ErrClosed) {
				t.Error("a second Commit: ", err)
			}
			if err := p.Abort(); err != nil {
				t.Error("Abort after Commit: ", err)
			}
			if _, err := io.WriteString(p, "late"); !errors.Is(err, fs.ErrClosed) {
				t.Error("Write after Commit: ", err)
			}
			if err := p.Hole(1); !errors.Is(err, fs.ErrClosed) {
				t.Error("Hole after Commit: ", err)
			}
			if _, err := p.ReadFrom(strings.NewReader("late")); !errors.Is(err, fs.ErrClosed) {
				t.Error("ReadFrom after Commit: ", err)
			}
			if got, err := os.ReadFile(dir + "/old"); err != nil || string(got) != "whole" {
				t.Errorf("it holds %q, %v", got, err)
			}
			if got := entries(t, dir); got != "old" {
				t.Errorf("after Commit there is %s", got)
			}
		})
	}
}

// TestPendingReadFails: what ReadFrom could not read is the caller's to judge.
func TestPendingReadFails(t *testing.T) {
	dir := t.TempDir()
	p := create(t, dir+"/f", nil)
	errLost := errors.New("lost")
	n, err := p.ReadFrom(io.MultiReader(strings.NewReader("some"), errReader{errLost}))
	if n != 4 || !errors.Is(err, errLost) {
		t.Errorf("ReadFrom gives %d, %v", n, err)
	}
	if err := p.Abort(); err != nil || entries(t, dir) != "" {
		t.Errorf("Abort gives %v and leaves %q", err, entries(t, dir))
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// TestPublicCopies copies with each durability; what a copy is like is tested
// where it is made.
func TestPublicCopies(t *testing.T) {
	const tree = "d 0755 d" + " mtime=2001-02-03T04:05:06.5Z" + "\nf 0640 d/f data:70000\nh d/g = d/f\nl d/l -> f\nf 0600 e data:5"
	for name, d := range durabilities {
		t.Run(name, func(t *testing.T) {
			src, dst := t.TempDir(), t.TempDir()
			testtree.Build(t, src, tree)
			o := &haul.Options{Durability: d, Counters: new(haul.Counters)}
			if err := haul.CopyDir(t.Context(), dst+"/tree", src, o); err != nil {
				t.Fatal(err)
			}
			testtree.Equal(t, src, dst+"/tree", testtree.All)
			if err := haul.CopyFile(t.Context(), dst+"/e", src+"/e", o); err != nil {
				t.Fatal(err)
			}
			if err := haul.Copy(t.Context(), []haul.Pair{{Src: src + "/d/f", Dst: dst + "/f"}, {Src: src + "/d/g", Dst: dst + "/g"}}, o); err != nil {
				t.Fatal(err)
			}
			var f, g sys.Stat
			if err := errors.Join(sys.StatPath(dst+"/f", false, &f), sys.StatPath(dst+"/g", false, &g)); err != nil || !f.Same(&g) {
				t.Errorf("hard links among the pairs are lost: %v", err)
			}
			if got := entries(t, dst); got != "e f g tree" {
				t.Errorf("the target holds %s", got)
			}
		})
	}
}

func TestPublicRefuses(t *testing.T) {
	const tree = "f 0644 f data:5\nd 0755 d\nf 0644 d/x data:1\nl lf -> f\nl ld -> d"
	tests := []struct {
		name string
		call func(dir string) error
		want error
	}{
		{"a file from a directory", func(d string) error { return haul.CopyFile(t.Context(), d+"/n", d+"/d", nil) }, sys.ErrIsDir},
		{"a file over a directory", func(d string) error { return haul.CopyFile(t.Context(), d+"/d", d+"/f", nil) }, sys.ErrIsDir},
		{"a file over a link to one", func(d string) error { return haul.CopyFile(t.Context(), d+"/ld", d+"/f", nil) }, sys.ErrIsDir},
		{"a directory from a file", func(d string) error { return haul.CopyDir(t.Context(), d+"/n", d+"/f", nil) }, sys.ErrNotDir},
		{"nothing", func(d string) error { return haul.CopyDir(t.Context(), d+"/n", d+"/none", nil) }, fs.ErrNotExist},
		{"a file onto itself", func(d string) error { return haul.CopyFile(t.Context(), d+"/lf", d+"/f", nil) }, haul.ErrSameFile},
		{"a directory onto itself", func(d string) error { return haul.CopyDir(t.Context(), d+"/ld", d+"/d", nil) }, haul.ErrSameFile},
		{"a directory into itself", func(d string) error { return haul.CopyDir(t.Context(), d+"/d/n", d+"/d", nil) }, haul.ErrIntoItself},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		testtree.Build(t, dir, tree)
		if err := tt.call(dir); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		testtree.Want(t, dir, tree, testtree.Content)
	}
}

// TestPublicGoesOn: OnError decides, and what went wrong is counted.
func TestPublicGoesOn(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	testtree.Build(t, src, "f 0644 a\nf 0644 b\nf 0644 c")
	defer sys.Inject(func(op sys.Op) sys.Fault {
		if op.Call == "openat" && (op.Name == "a" || op.Name == "c") {
			return sys.Fault{Err: syscall.EIO}
		}
		return sys.Fault{}
	})()
	var partial *haul.PartialError
	err := haul.CopyDir(t.Context(), dst, src, &haul.Options{OnError: func(string, error) error { return nil }})
	if !errors.As(err, &partial) || partial.Failed != 2 || !errors.Is(err, syscall.EIO) {
		t.Errorf("going on gives %v", err)
	}
	if got := entries(t, dst); got != "b" {
		t.Errorf("the target holds %q", got)
	}
	if err := haul.CopyDir(t.Context(), dst, src, nil); !errors.Is(err, syscall.EIO) || errors.As(err, &partial) && partial.Failed > 1 {
		t.Errorf("stopping gives %v", err)
	}
}

// TestPublicRequire makes an error of a note.
func TestPublicRequire(t *testing.T) {
	if testing.Short() {
		t.Skip("takes root")
	}
	if os.Geteuid() != 0 {
		t.Fatal("takes root, who alone has trees of foreign owners; go test -short leaves this out")
	}
	src := t.TempDir()
	testtree.Build(t, src, "f 0644 f uid=12345")
	defer sys.Inject(func(op sys.Op) sys.Fault {
		if strings.HasPrefix(op.Call, "fchown") {
			return sys.Fault{Err: syscall.EPERM}
		}
		return sys.Fault{}
	})()
	if err := haul.CopyDir(t.Context(), t.TempDir(), src, nil); err != nil {
		t.Errorf("without Require: %v", err)
	}
	if err := haul.CopyDir(t.Context(), t.TempDir(), src, &haul.Options{Require: haul.PreserveMtime}); err != nil {
		t.Errorf("with another part required: %v", err)
	}
	err := haul.CopyDir(t.Context(), t.TempDir(), src, &haul.Options{Require: haul.PreserveOwner})
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("with the owner required: %v", err)
	}
}

func TestOptionsThatMeanNothing(t *testing.T) {
	for _, o := range []haul.Options{{Compare: 99}, {Sparse: 77}, {Workers: -4}, {WriteSize: -3}, {Durability: 9}} {
		dir := t.TempDir()
		if err := haul.CopyDir(t.Context(), dir+"/copy", dir, &o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}
