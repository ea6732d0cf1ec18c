package outfile

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/loopfs"
)

// calls records the system calls that f makes.
func calls(f func()) []string {
	var mu sync.Mutex
	var list []string
	restore := sys.Inject(func(op sys.Op) sys.Fault {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, op.Call)
		return sys.Fault{}
	})
	defer restore()
	f()
	return list
}

// TestCallsOfSmallFile pins what a file that fits the buffer costs.
func TestCallsOfSmallFile(t *testing.T) {
	dir := ramDir(t)
	d := root(t, dir)
	data := random(10 << 10)
	halves := func(s *Stream) {
		s.Write(data[:5000])
		s.Write(data[5000:])
	}
	whole := func(s *Stream) { s.Write(data) }
	rows := []struct {
		what string
		p    Policy
		size int64
		verb func(*Stream)
		want string
	}{
		{"new", Policy{Place: New}, 10 << 10, whole, "openat pwrite64 close"},
		{"new in halves", Policy{Place: New}, 10 << 10, halves, "openat pwrite64 close"},
		{"new of unknown size", Policy{Place: New}, 0, halves, "openat pwrite64 close"},
		{"new without zeros", Policy{Place: New, Sparse: SparseNever}, 10 << 10, whole, "openat pwrite64 close"},
		{"new, empty", Policy{Place: New}, 0, func(*Stream) {}, "openat close"},
		{"new, synced", Policy{Place: New, Durability: SyncEach}, 10 << 10, whole, "openat pwrite64 fsync close fsync"},
		{"replaced", Policy{}, 10 << 10, whole, "openat pwrite64 close renameat"},
		{"replaced, synced", Policy{Durability: SyncEach}, 10 << 10, whole, "openat pwrite64 fsync close renameat fsync"},
		{"in place, as long", Policy{Place: InPlace}, 10 << 10, whole, "openat fstat pwrite64 close"},
		{"in place, shorter", Policy{Place: InPlace}, 100, func(s *Stream) { s.Write(data[:100]) }, "openat fstat pwrite64 ftruncate close"},
		{"in place, longer", Policy{Place: InPlace}, 10 << 10, whole, "openat fstat pwrite64 close"},
		{"in place, made", Policy{Place: InPlace}, 10 << 10, whole, "openat openat pwrite64 close"},
	}
	for _, row := range rows {
		name := filepath.Join(dir, "f")
		if row.p.Place == New || row.what == "in place, made" {
			os.Remove(name)
		}
		var f File
		var err error
		got := calls(func() {
			if err = f.Create(d, "f", row.size, 0o600, &row.p); err == nil {
				row.verb(f.At(0))
				err = f.Commit(nil)
			}
		})
		if err != nil {
			t.Errorf("%s: %v", row.what, err)
		}
		if got := strings.Join(got, " "); got != row.want {
			t.Errorf("%s: %s\nwant %s", row.what, got, row.want)
		}
	}
}

// TestNoAllocations wants none per small file, once the first is written.
func TestNoAllocations(t *testing.T) {
	dir := ramDir(t)
	d := root(t, dir)
	data := random(10 << 10)
	var c report.Counters
	for _, p := range []Policy{{Place: New, Counters: &c}, {Place: New, Sparse: SparseAlways, Counters: &c}, {Place: InPlace, Counters: &c}, {Counters: &c}} {
		var f File
		apply := func(*sys.File) error { return nil }
		n := testing.AllocsPerRun(50, func() {
			if p.Place == New {
				syscall.Unlink(filepath.Join(dir, "f"))
			}
			if err := f.Create(d, "f", 0, 0o600, &p); err != nil {
				t.Fatal(err)
			}
			s := f.At(0)
			s.Write(data[:3000])
			s.Write(data[3000:])
			if err := f.Commit(apply); err != nil {
				t.Fatal(err)
			}
		})
		most := 0.0
		if p.Place == New {
			most = 3 // the test's own path and unlink
		}
		if n > most {
			t.Errorf("%+v: %v allocations a file", p, n)
		}
	}
}

// TestTempNames are hidden, tell whose they are, fit every directory, and are
// as safe as asked for.
func TestTempNames(t *testing.T) {
	dir := ramDir(t)
	d := root(t, dir)
	for _, name := range []string{"a", "with space\n", strings.Repeat("n", 255), strings.Repeat("ü", 127), strings.Repeat("\x80", 255), strings.Repeat("界", 85)} {
		var f File
		if err := f.Create(d, name, 0, 0o600, nil); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Fatalf("%v, %v", entries, err)
		}
		temp := entries[0].Name()
		if len(temp) > sys.NameMax || temp[0] != '.' || len(name) < 200 && !strings.HasPrefix(temp, "."+name+".") {
			t.Errorf("%q is written as %q", name, temp)
		}
		if utf8.ValidString(name) != utf8.ValidString(temp) {
			t.Errorf("%q is cut within a character: %q", name, temp)
		}
		info, err := entries[0].Info()
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if err := f.Commit(nil); err != nil {
			t.Fatal(err)
		}
		if err := onlyThese(dir, name); err != nil {
			t.Error(err)
		}
		os.Remove(filepath.Join(dir, name))
	}
}

// TestTempNamesNeverCollide writes one name from many goroutines at once.
func TestTempNamesNeverCollide(t *testing.T) {
	dir := ramDir(t)
	d := root(t, dir)
	const writers, rounds = 8, 50
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			var f File
			for range rounds {
				if err := f.Create(d, "f", 0, 0o600, nil); err != nil {
					t.Error(err)
					return
				}
				f.At(0).Write(bytes.Repeat([]byte{byte('a' + w)}, 3000))
				if err := f.Commit(nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got := mustRead(t, filepath.Join(dir, "f"))
	if len(got) != 3000 || !bytes.Equal(got, bytes.Repeat(got[:1], 3000)) {
		t.Errorf("%d bytes of more than one writer", len(got))
	}
	if err := onlyThese(dir, "f"); err != nil {
		t.Error(err)
	}
}

// TestTempNameTaken goes on to another name, and gives up in the end.
func TestTempNameTaken(t *testing.T) {
	d := root(t, ramDir(t))
	opens := 0
	restore := sys.Inject(func(op sys.Op) sys.Fault {
		if op.Call == "openat" {
			if opens++; opens <= 5 {
				return sys.Fault{Err: syscall.EEXIST}
			}
		}
		return sys.Fault{}
	})
	var f File
	err := f.Create(d, "f", 0, 0o600, nil)
	restore()
	if err != nil || opens != 6 {
		t.Errorf("%v after %d opens", err, opens)
	}
	f.Abort()
}

// TestShortTempNames serves file systems that take no long ones.
func TestShortTempNames(t *testing.T) {
	dir := ramDir(t)
	d := root(t, dir)
	restore := sys.Inject(func(op sys.Op) sys.Fault {
		if op.Call == "openat" && len(op.Name) > 143 {
			return sys.Fault{Err: syscall.ENAMETOOLONG}
		}
		return sys.Fault{}
	})
	defer restore()
	name := strings.Repeat("n", 143)
	var f File
	if err := f.Create(d, name, 0, 0o600, nil); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(nil); err != nil {
		t.Fatal(err)
	}
	if err := onlyThese(dir, name); err != nil {
		t.Error(err)
	}
}

// TestInPlaceKeepsTheFile keeps inode, links and mode, and refuses what is none.
func TestInPlaceKeepsTheFile(t *testing.T) {
	dir := ramDir(t)
	name := filepath.Join(dir, "f")
	mustWrite(t, name, random(5000))
	if err := os.Link(name, filepath.Join(dir, "other")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o751); err != nil {
		t.Fatal(err)
	}
	before, _ := os.Stat(name)
	writeFile(t, dir, "f", 100, &Policy{Place: InPlace}, write(random(100)))
	after, _ := os.Stat(name)
	if !os.SameFile(before, after) || before.Mode() != after.Mode() || after.Size() != 100 {
		t.Errorf("%v became %v", before, after)
	}
	if !bytes.Equal(mustRead(t, filepath.Join(dir, "other")), random(100)) {
		t.Error("the other name has other content")
	}

	p := &Policy{Place: InPlace}
	var f File
	if err := os.Symlink("f", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"link", "fifo", "."} {
		if err := f.Create(root(t, dir), what, 0, 0o600, p); err == nil {
			t.Errorf("%s was opened", what)
			f.Abort()
		}
	}
}

// TestNewRefusesWhatExists leaves it alone.
func TestNewRefusesWhatExists(t *testing.T) {
	dir := ramDir(t)
	mustWrite(t, filepath.Join(dir, "f"), []byte("old"))
	var f File
	err := f.Create(root(t, dir), "f", 0, 0o600, &Policy{Place: New})
	if !sys.IsExist(err) {
		t.Errorf("%v", err)
	}
	if err := f.Abort(); err != nil {
		t.Error(err)
	}
	if got := mustRead(t, filepath.Join(dir, "f")); string(got) != "old" {
		t.Errorf("%q", got)
	}
}

// TestTakeOfAPipe writes what has no offsets and no size.
func TestTakeOfAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	fd, err := syscall.Dup(int(w.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	file := sys.Adopt(uintptr(fd), "pipe")
	for _, p := range []Policy{{Sparse: SparseAlways, Durability: SyncEach, Preallocate: true}} {
		var f File
		if err := f.Take(&file, 0, &p); err != nil {
			t.Fatal(err)
		}
		s := f.At(0)
		s.Write([]byte("ab"))
		s.Hole(3)
		s.Keep([]byte("cd"))
		if err := f.Commit(nil); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, 100)
	n, err := r.Read(buf)
	if err != nil || string(buf[:n]) != "ab\x00\x00\x00cd" {
		t.Errorf("%q, %v", buf[:n], err)
	}
}

// TestTempDir renames from elsewhere, and copies where a rename cannot go.
func TestTempDir(t *testing.T) {
	here := ramDir(t)
	there, err := os.MkdirTemp("/var/tmp", "outfile")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(there)
	sub := filepath.Join(here, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	want := bytes.Join([][]byte{make([]byte, 70_000), random(100_000), make([]byte, 70_000)}, nil)
	for _, temp := range []string{sub, there} {
		for _, durability := range []Durability{NoSync, SyncBatch, SyncEach} {
			b := NewBatch(0)
			final := 0
			f := File{OnFinal: func(err error) {
				if err != nil {
					t.Error(err)
				}
				final++
			}}
			p := &Policy{TempDir: root(t, temp), Durability: durability, Batch: b}
			if err := f.Create(root(t, here), "f", int64(len(want)), 0o600, p); err != nil {
				t.Fatal(err)
			}
			if err := onlyThese(temp); err == nil {
				t.Error("nothing is in the directory for temporary files")
			}
			s := f.At(0)
			s.Hole(70_000)
			s.Write(want[70_000:170_000])
			s.Hole(70_000)
			if err := f.Commit(func(f *sys.File) error { return f.Chmod(0o614) }); err != nil {
				t.Fatal(err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(here, "f")
			if err := differ(mustRead(t, name), want); err != nil {
				t.Errorf("%s: %v", temp, err)
			}
			if info, err := os.Stat(name); err != nil || info.Mode() != 0o614 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			if got := mustAllocate(t, name); got > leastBlocks(want) {
				t.Errorf("%d bytes allocated: the holes are gone", got)
			}
			if err := onlyThese(temp); err != nil {
				t.Error(err)
			}
			if final != 1 {
				t.Errorf("told %d times that the name is final", final)
			}
		}
	}
}

// TestClone shares blocks where that works, and nowhere else.
func TestClone(t *testing.T) {
	if testing.Short() {
		t.Skip("needs file systems of its own")
	}
	want := random(1 << 20)
	for _, kind := range []string{"xfs", "btrfs", "ext4"} {
		t.Run(kind, func(t *testing.T) {
			dir := loopfs.Mount(t, kind, 0)
			can := kind != "ext4"
			src := openSource(t, dir, want)
			rows := []struct {
				p      Policy
				old    int
				cloned bool
				fails  bool
			}{
				{Policy{}, -1, can, false},
				{Policy{Place: InPlace}, 2 << 20, can, false},
				{Policy{Place: InPlace}, 4096, can, false},
				{Policy{Place: New}, -1, can, false},
				{Policy{Sparse: SparseAlways}, -1, false, false},
				{Policy{Sparse: SparseNever}, -1, false, false},
				{Policy{Reflink: ReflinkNever}, -1, false, false},
				{Policy{Reflink: ReflinkAlways}, -1, can, !can},
				{Policy{Reflink: ReflinkAlways, Sparse: SparseNever}, -1, false, true},
			}
			for _, row := range rows {
				name := filepath.Join(dir, "f")
				os.Remove(name)
				if row.old >= 0 {
					mustWrite(t, name, random(row.old))
				}
				var c report.Counters
				row.p.Counters = &c
				var f File
				if err := f.Create(root(t, dir), "f", int64(len(want)), 0o600, &row.p); err != nil {
					t.Fatal(err)
				}
				cloned, err := f.Clone(src, int64(len(want)))
				if cloned != row.cloned || (err != nil) != row.fails {
					t.Errorf("%+v: %v, %v", row.p, cloned, err)
				}
				if err != nil {
					f.Abort()
					continue
				}
				if !cloned {
					if err := f.At(0).Copy(src, 0, int64(len(want))); err != nil {
						t.Fatal(err)
					}
				}
				if err := f.Commit(nil); err != nil {
					t.Fatal(err)
				}
				if err := differ(mustRead(t, name), want); err != nil {
					t.Errorf("%+v: %v", row.p, err)
				}
				if got := c.Bytes.Load(); got != int64(len(want)) {
					t.Errorf("%+v: %d bytes counted", row.p, got)
				}
				if never := row.p.Sparse == SparseNever || row.p.Reflink == ReflinkNever; never && c.Copied.Load() != int64(len(want)) {
					t.Errorf("%+v: only %d bytes were read and written", row.p, c.Copied.Load())
				}
			}
		})
	}
}

// TestCloneOfAShrunkFile in place shows nothing of the old file behind it.
func TestCloneOfAShrunkFile(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a file system of its own")
	}
	dir := loopfs.Mount(t, "xfs", 0)
	want := random(70_000)
	src := openSource(t, dir, want)
	for _, old := range []int{0, 80_000, 300_000} {
		mustWrite(t, filepath.Join(dir, "f"), bytes.Repeat([]byte("o"), old))
		var f File
		if err := f.Create(root(t, dir), "f", 200_000, 0o600, &Policy{Place: InPlace}); err != nil {
			t.Fatal(err)
		}
		if ok, err := f.Clone(src, 200_000); !ok || err != nil { // it was so long when it was listed
			t.Fatal(ok, err)
		}
		if err := f.Commit(nil); err != nil {
			t.Fatal(err)
		}
		if err := differ(mustRead(t, filepath.Join(dir, "f")), want); err != nil {
			t.Errorf("over %d bytes: %v", old, err)
		}
	}
}

// TestSmallFilesAreNotCloned leaves small files to reading and writing unless
// told otherwise.
func TestSmallFilesAreNotCloned(t *testing.T) {
	dir := ramDir(t)
	src := openSource(t, dir, random(cloneMin-1))
	d := root(t, dir)
	got := calls(func() {
		var f File
		f.Create(d, "f", cloneMin-1, 0o600, nil)
		f.Clone(src, cloneMin-1)
		f.At(0).Copy(src, 0, cloneMin-1)
		if err := f.Commit(nil); err != nil {
			t.Error(err)
		}
	})
	if slices.Contains(got, "ficlone") || slices.Contains(got, "copy_file_range") {
		t.Errorf("%v", got)
	}
}

// TestStreamsSideBySide writes disjoint ranges at once.
func TestStreamsSideBySide(t *testing.T) {
	everywhere(t, func(t *testing.T, dir string) {
		want := random(16 << 20)
		clear(want[3<<20 : 5<<20])
		src := openSource(t, dir, want)
		for _, p := range []Policy{{}, {Sparse: SparseAlways}, {Reflink: ReflinkNever}, {Preallocate: true}} {
			var f File
			if err := f.Create(root(t, dir), "f", int64(len(want)), 0o600, &p); err != nil {
				t.Fatal(err)
			}
			const part = 4 << 20
			var wg sync.WaitGroup
			for at := 0; at < len(want); at += part {
				s := f.At(int64(at))
				wg.Go(func() {
					if err := s.Copy(src, int64(at), part); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if err := f.Commit(nil); err != nil {
				t.Fatal(err)
			}
			if err := differ(mustRead(t, filepath.Join(dir, "f")), want); err != nil {
				t.Errorf("%+v: %v", p, err)
			}
		}
	})
}

// TestCountsAddUp wants every byte counted once, whatever became of it.
func TestCountsAddUp(t *testing.T) {
	dir := ramDir(t)
	for seed := range uint64(200) {
		p := &play{r: newRand(seed)}
		p.policy = Policy{Sparse: Sparse(seed % 3), Place: Place(seed / 3 % 3), Counters: &p.counters}
		if p.policy.Place != New {
			p.old = content(p.r, 200_000)
		}
		p.source = content(p.r, 200_000)
		if _, err := p.run(dir); err != nil {
			t.Fatal(err)
		}
		c := &p.counters
		sum := c.Copied.Load() + c.Offloaded.Load() + c.Cloned.Load() + c.Holes.Load() + c.Kept.Load()
		if sum != c.Bytes.Load() || sum != int64(len(p.want)) {
			t.Errorf("seed %d: %d bytes, %d in all kinds, %d counted", seed, len(p.want), sum, c.Bytes.Load())
		}
		os.Remove(filepath.Join(dir, "f"))
	}
}

func TestBlockSize(t *testing.T) {
	for told, want := range map[int64]int64{512: 512, 1024: 1024, 4096: 4096, 65536: 65536, 1 << 20: 4096, 0: 4096, 100: 4096, 5000: 4096} {
		if got := blockSize(told); got != want {
			t.Errorf("%d told, %d believed, want %d", told, got, want)
		}
	}
}

// TestBlockSizeIsTheDisks finds holes of 1 KiB where blocks are so small.
func TestBlockSizeIsTheDisks(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a file system of its own")
	}
	for _, kind := range []string{"ext4", "xfs"} {
		args := map[string][]string{"ext4": {"-b", "1024"}, "xfs": {"-b", "size=1024"}}[kind]
		dir := loopfs.Mount(t, kind, 0, loopfs.Mkfs(args...))
		want := make([]byte, 64<<10)
		for at := 0; at < len(want); at += 4096 {
			copy(want[at:], random(1024))
		}
		writeFile(t, dir, "f", int64(len(want)), &Policy{Sparse: SparseAlways}, write(want))
		if got := mustAllocate(t, filepath.Join(dir, "f")); got > 16<<10+2048 {
			t.Errorf("%s: %d bytes allocated, want 16 KiB", kind, got)
		}
	}
}

// TestFileIsReused carries nothing over from one file to the next.
func TestFileIsReused(t *testing.T) {
	dir := ramDir(t)
	d := root(t, dir)
	var f File
	for i := range 60 {
		p := Policy{Sparse: Sparse(i % 3), Place: []Place{Replace, InPlace}[i/3%2], WriteSize: []int{0, 4096, 100_000}[i/6%3], Preallocate: i%4 == 0}
		want := content(newRand(uint64(i)), 50_000+i*1000)
		if err := f.Create(d, fmt.Sprint(i%5), int64(len(want)), 0o600, &p); err != nil {
			t.Fatal(err)
		}
		if i%7 == 0 {
			f.At(0).Write(want[:1000])
			f.Abort()
			os.Remove(filepath.Join(dir, fmt.Sprint(i%5)))
			continue
		}
		s := f.At(0)
		s.Write(want[:1234])
		s.Write(want[1234:])
		if err := f.Commit(nil); err != nil {
			t.Fatal(err)
		}
		if err := differ(mustRead(t, filepath.Join(dir, fmt.Sprint(i%5))), want); err != nil {
			t.Fatalf("file %d: %v", i, err)
		}
	}
}

// TestInPlaceWithoutReading writes a file that this user may not read: all of
// it, since nothing can be compared.
func TestInPlaceWithoutReading(t *testing.T) {
	dir := ramDir(t)
	d := root(t, dir)
	want := random(200_000)
	clear(want[50_000:100_000])
	src := openSource(t, dir, want)
	for _, sparse := range []Sparse{SparseAuto, SparseAlways, SparseNever} {
		mustWrite(t, filepath.Join(dir, "f"), random(210_000))
		refused := false
		restore := sys.Inject(func(op sys.Op) sys.Fault {
			if op.Call == "openat" && !refused {
				refused = true
				return sys.Fault{Err: syscall.EACCES}
			}
			if op.Call == "pread64" && op.Name == "f" {
				return sys.Fault{Err: syscall.EBADF}
			}
			return sys.Fault{}
		})
		var f File
		err := f.Create(d, "f", 200_000, 0o600, &Policy{Place: InPlace, Sparse: sparse})
		if err == nil {
			s := f.At(0)
			s.Copy(src, 0, 50_000)
			s.Hole(50_000)
			s.Copy(src, 100_000, 100_000)
			err = f.Commit(nil)
		}
		restore()
		if err != nil {
			t.Fatal(err)
		}
		if err := differ(mustRead(t, filepath.Join(dir, "f")), want); err != nil {
			t.Errorf("sparse %d: %v", sparse, err)
		}
	}
}

// TestTooLarge is an error before any harm, also where offsets would wrap.
func TestTooLarge(t *testing.T) {
	dir := ramDir(t)
	for _, sparse := range []Sparse{SparseAuto, SparseAlways} {
		var f File
		if err := f.Create(root(t, dir), "f", 0, 0o600, &Policy{Sparse: sparse}); err != nil {
			t.Fatal(err)
		}
		s := f.At(0)
		if err := s.Hole(math.MaxInt64); err != nil {
			t.Fatal(err) // a file on tmpfs may be so big
		}
		if err := s.Hole(1); err == nil {
			t.Error("a hole behind the greatest offset")
		}
		if err := f.Commit(nil); err == nil {
			t.Error("an error was forgotten")
		}
		if err := onlyThese(dir); err != nil {
			t.Error(err)
		}
	}
}

// TestAtTheEndOfOffsets writes the last bytes a file can have.
func TestAtTheEndOfOffsets(t *testing.T) {
	dir := ramDir(t)
	for _, p := range []Policy{{}, {Sparse: SparseAlways}, {Sparse: SparseAlways, Place: InPlace}, {Sparse: SparseAuto, Place: InPlace, WriteSize: 4096}} {
		for range 2 { // in place over itself
			writeFile(t, dir, "f", math.MaxInt64, &p, func(s *Stream) error {
				if err := s.Hole(math.MaxInt64 - 10_000); err != nil {
					return err
				}
				for _, n := range []int{3000, 4096, 2904} {
					if _, err := s.Write(random(n)); err != nil {
						return err
					}
				}
				return nil
			})
			name := filepath.Join(dir, "f")
			info, err := os.Stat(name)
			if err != nil || info.Size() != math.MaxInt64 {
				t.Fatalf("%v, %v", info, err)
			}
			got := make([]byte, 2904)
			file, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			_, err = file.ReadAt(got, math.MaxInt64-2904)
			file.Close()
			if err != nil || !bytes.Equal(got, random(2904)) {
				t.Errorf("%+v: %v", p, err)
			}
			if n := mustAllocate(t, name); n > 16<<10 {
				t.Errorf("%+v: %d bytes allocated", p, n)
			}
		}
		os.Remove(filepath.Join(dir, "f"))
	}
}
