package infile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/loopfs"
)

func ramDir(t testing.TB) string {
	if dir, err := os.MkdirTemp("/dev/shm", "infile"); err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	}
	return t.TempDir()
}

// open opens a path for the length of a test.
func open(t testing.TB, path string) *File {
	t.Helper()
	d, err := sys.OpenRoot(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var f File
	if err := f.Open(d, filepath.Base(path)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close(); d.Close() })
	return &f
}

func random(n int) []byte {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32()) | 1
	}
	return b
}

// sparse writes data at each offset into a file of size bytes.
func sparse(t testing.TB, name string, size int64, at ...int64) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	for _, off := range at {
		if _, err := f.WriteAt(random(int(min(4096, size-off))), off); err != nil {
			t.Fatal(err)
		}
	}
}

// extents collects them, and checks what must always hold: in order, none
// empty, the size covered exactly.
func extents(t testing.TB, f *File) []Extent {
	t.Helper()
	var list []Extent
	at := int64(0)
	for e, err := range f.Extents() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Off != at || e.Len <= 0 {
			t.Fatalf("extent %+v, want one at %d", e, at)
		}
		at = e.End()
		list = append(list, e)
	}
	if at != f.Size() {
		t.Fatalf("extents cover %d bytes of %d", at, f.Size())
	}
	return list
}

func everywhere(t *testing.T, run func(t *testing.T, dir string)) {
	t.Run("here", func(t *testing.T) { run(t, ramDir(t)) })
	if !testing.Short() {
		loopfs.Each(t, 0, run)
	}
}

func TestExtents(t *testing.T) {
	const k = 4096
	rows := []struct {
		size int64
		data []int64
		want []Extent
	}{
		{0, nil, nil},
		{1, []int64{0}, []Extent{{0, 1, false}}},
		{k, []int64{0}, []Extent{{0, k, false}}},
		{1 << 20, nil, []Extent{{0, 1 << 20, true}}},
		{3 * k, []int64{0, 2 * k}, []Extent{{0, k, false}, {k, k, true}, {2 * k, k, false}}},
		{1<<20 + 100, []int64{512 << 10}, []Extent{{0, 512 << 10, true}, {512 << 10, k, false}, {512<<10 + k, 1<<20 + 100 - 512<<10 - k, true}}},
		{1 << 40, []int64{0, 1<<40 - k}, []Extent{{0, k, false}, {k, 1<<40 - 2*k, true}, {1<<40 - k, k, false}}},
		{10*k + 7, []int64{9 * k, 10 * k}, []Extent{{0, 9 * k, true}, {9 * k, k + 7, false}}},
	}
	everywhere(t, func(t *testing.T, dir string) {
		for i, row := range rows {
			name := filepath.Join(dir, fmt.Sprint(i))
			sparse(t, name, row.size, row.data...)
			if got := extents(t, open(t, name)); !slices.Equal(got, row.want) {
				t.Errorf("size %d, data at %v: %v\nwant %v", row.size, row.data, got, row.want)
			}
		}
	})
}

// TestHolesOfAllSizesAreFound copies random layouts by what Extents says.
func TestHolesOfAllSizesAreFound(t *testing.T) {
	everywhere(t, func(t *testing.T, dir string) {
		r := rand.New(rand.NewPCG(3, 3))
		for i := range 30 {
			blocks := 1 + r.IntN(40)
			size := int64(blocks*4096 - r.IntN(4096))
			var data []int64
			for b := range blocks {
				if r.IntN(2) == 0 {
					data = append(data, int64(b*4096))
				}
			}
			name := filepath.Join(dir, fmt.Sprint(i))
			sparse(t, name, size, data...)
			found := map[int64]bool{}
			for _, e := range extents(t, open(t, name)) {
				for at := e.Off; at < e.End(); at += 4096 {
					found[at] = !e.Hole
				}
			}
			for b := range blocks {
				at := int64(b * 4096)
				if found[at] != slices.Contains(data, at) {
					t.Errorf("file %d: block %d: data %v", i, b, found[at])
				}
			}
		}
	})
}

// TestDenseFilesCostNothing asks nothing of a small dense file, and once of a
// big one.
func TestDenseFilesCostNothing(t *testing.T) {
	dir := ramDir(t)
	for size, want := range map[int]int{100: 0, 10_000: 0, 65_536: 0, 1 << 20: 1} {
		name := filepath.Join(dir, fmt.Sprint(size))
		if err := os.WriteFile(name, random(size), 0o600); err != nil {
			t.Fatal(err)
		}
		f := open(t, name)
		n := 0
		restore := sys.Inject(func(sys.Op) sys.Fault { n++; return sys.Fault{} })
		got := extents(t, f)
		restore()
		if n != want || len(got) != 1 {
			t.Errorf("%d bytes: %d calls, want %d", size, n, want)
		}
	}
}

// TestNoHolesHere takes a file for one extent of data where the file system
// cannot tell.
func TestNoHolesHere(t *testing.T) {
	name := filepath.Join(ramDir(t), "f")
	sparse(t, name, 1<<20, 0)
	for _, errno := range []syscall.Errno{syscall.EOPNOTSUPP, syscall.ENOTSUP, syscall.EINVAL} {
		for _, good := range []int{0, 1, 2} {
			f := open(t, name)
			n := 0
			restore := sys.Inject(func(op sys.Op) sys.Fault {
				if op.Call == "lseek" {
					if n++; n > good {
						return sys.Fault{Err: errno}
					}
				}
				return sys.Fault{}
			})
			got := extents(t, f)
			restore()
			if last := got[len(got)-1]; good == 0 && (len(got) != 1 || last.Hole) {
				t.Errorf("%v: %v", errno, got)
			}
		}
	}
}

// TestSeekFails is an error that names the file, and not a wrong extent.
func TestSeekFails(t *testing.T) {
	name := filepath.Join(ramDir(t), "f")
	sparse(t, name, 1<<20, 0)
	f := open(t, name)
	restore := sys.Inject(func(op sys.Op) sys.Fault { return sys.Fault{Err: syscall.EIO} })
	defer restore()
	n := 0
	for _, err := range f.Extents() {
		var pe *fs.PathError
		if !errors.Is(err, syscall.EIO) || !errors.As(err, &pe) || pe.Path != name {
			t.Errorf("%v", err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d extents after an error", n)
	}
}

// TestAnswersOfAChangingFile always advances, and reads rather than invents.
func TestAnswersOfAChangingFile(t *testing.T) {
	name := filepath.Join(ramDir(t), "f")
	// Between any two questions somebody fills or empties the file.
	for seed := range uint64(300) {
		sparse(t, name, 1<<20, 0, 300<<10, 900<<10)
		r := rand.New(rand.NewPCG(seed, 0))
		f := open(t, name)
		other, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		restore := sys.Inject(func(op sys.Op) sys.Fault {
			if op.Call == "lseek" {
				off := int64(r.IntN(256)) * 4096
				if r.IntN(2) == 0 {
					other.WriteAt(random(4096), off)
				} else {
					syscall.Fallocate(int(other.Fd()), 3, off, int64(1+r.IntN(40))*4096)
				}
			}
			return sys.Fault{}
		})
		extents(t, f)
		restore()
		other.Close()
	}
}

// TestShrunkFile is an error and never a hole that was not there.
func TestShrunkFile(t *testing.T) {
	everywhere(t, func(t *testing.T, dir string) {
		name := filepath.Join(dir, "f")
		for _, size := range []int64{0, 1, 8192, 600 << 10} {
			sparse(t, name, 1<<20, 0, 512<<10, 1<<20-4096)
			f := open(t, name)
			if err := os.Truncate(name, size); err != nil {
				t.Fatal(err)
			}
			var last error
			for _, err := range f.Extents() {
				last = err
			}
			var pe *fs.PathError
			if !errors.Is(last, ErrShrank) || !errors.As(last, &pe) {
				t.Errorf("cut to %d: %v", size, last)
			}
		}
	})
}

// TestGrownFile keeps to the size it had.
func TestGrownFile(t *testing.T) {
	name := filepath.Join(ramDir(t), "f")
	sparse(t, name, 1<<20, 0)
	f := open(t, name)
	sparseGrow(t, name, 2<<20)
	extents(t, f)
}

func sparseGrow(t *testing.T, name string, size int64) {
	t.Helper()
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
}

func TestReadWhole(t *testing.T) {
	dir := ramDir(t)
	name := filepath.Join(dir, "f")
	for _, size := range []int{0, 1, 100, 4096, 10_000} {
		want := random(size)
		if err := os.WriteFile(name, want, 0o600); err != nil {
			t.Fatal(err)
		}
		f := open(t, name)
		buf := make([]byte, size+1)
		reads := 0
		restore := sys.Inject(func(op sys.Op) sys.Fault { reads++; return sys.Fault{} })
		n, err := f.ReadWhole(buf)
		restore()
		if err != nil || !bytes.Equal(buf[:n], want) || reads != 1 {
			t.Errorf("%d bytes: %d read by %d calls, %v", size, n, reads, err)
		}
		if n, err := f.ReadWhole(buf[:size]); size > 0 && (n != size || err != io.ErrShortBuffer) {
			t.Errorf("into a buffer of its size: %d, %v", n, err)
		}
	}
}

// TestReadWholeOfAChangingFile gives a moment's length or says that there is
// more.
func TestReadWholeOfAChangingFile(t *testing.T) {
	name := filepath.Join(ramDir(t), "f")
	want := random(10_000)
	if err := os.WriteFile(name, want, 0o600); err != nil {
		t.Fatal(err)
	}
	f := open(t, name)
	buf := make([]byte, 10_001)
	for size, wantErr := range map[int]error{0: nil, 5000: nil, 9999: nil, 10_001: io.ErrShortBuffer, 20_000: io.ErrShortBuffer} {
		sparseGrow(t, name, 0)
		if err := os.WriteFile(name, random(20_000)[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := f.ReadWhole(buf)
		if err != wantErr || n != min(size, len(buf)) || !bytes.Equal(buf[:n], random(20_000)[:n]) {
			t.Errorf("now %d bytes: %d, %v", size, n, err)
		}
	}
}

// TestReadWholeInCrumbs survives short reads and interrupts.
func TestReadWholeInCrumbs(t *testing.T) {
	name := filepath.Join(ramDir(t), "f")
	want := random(10_000)
	if err := os.WriteFile(name, want, 0o600); err != nil {
		t.Fatal(err)
	}
	f := open(t, name)
	i := 0
	restore := sys.Inject(func(op sys.Op) sys.Fault {
		if i++; i%3 == 0 {
			return sys.Fault{Err: syscall.EINTR}
		}
		return sys.Fault{Short: 700}
	})
	defer restore()
	buf := make([]byte, 10_001)
	if n, err := f.ReadWhole(buf); err != nil || !bytes.Equal(buf[:n], want) {
		t.Errorf("%d, %v", n, err)
	}
}

// TestFilesThatLie are read to their end.
func TestFilesThatLie(t *testing.T) {
	for _, name := range []string{"/proc/self/status", "/proc/cpuinfo", "/sys/kernel/mm/transparent_hugepage/enabled", "/proc/version"} {
		want, err := os.ReadFile(name)
		if err != nil {
			continue // not every machine has them all
		}
		f := open(t, name)
		buf := make([]byte, 1<<20)
		n, err := f.ReadWhole(buf)
		if err != nil || n == 0 || strings.Count(string(buf[:n]), "\n") != strings.Count(string(want), "\n") {
			t.Errorf("%s: %d bytes of %d, %v", name, n, len(want), err)
		}
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Error("no /proc: nothing was tested")
	}
}

// TestOpen refuses links, follows them if told, and never waits.
func TestOpen(t *testing.T) {
	dir := ramDir(t)
	d, err := sys.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("f", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	var f File
	if err := f.Open(d, "link"); !sys.Symlink(err) {
		t.Errorf("a link was opened: %v", err)
	}
	if err := f.OpenFollow(d, "link"); err != nil || f.Stat().Size != 1 {
		t.Errorf("%v", err)
	}
	f.Close()
	opened := make(chan error)
	go func() { opened <- f.Open(d, "fifo") }()
	select {
	case err := <-opened:
		if err != nil || f.Stat().Mode&sys.TypeMask != sys.TypeFIFO {
			t.Errorf("%v", err)
		}
		f.Close()
	case <-time.After(10 * time.Second):
		t.Fatal("waits for a writer")
	}
	restore := sys.Inject(func(op sys.Op) sys.Fault {
		if op.Call == "fstat" {
			return sys.Fault{Err: syscall.EIO}
		}
		return sys.Fault{}
	})
	err = f.Open(d, "f")
	restore()
	if !errors.Is(err, syscall.EIO) || f.Sys().IsOpen() {
		t.Errorf("%v, open %v", err, f.Sys().IsOpen())
	}
}

// TestNoAllocations wants none for a file after the first.
func TestNoAllocations(t *testing.T) {
	dir := ramDir(t)
	if err := os.WriteFile(filepath.Join(dir, "f"), random(10_000), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := sys.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var f File
	buf := make([]byte, 10_001)
	n := testing.AllocsPerRun(50, func() {
		if err := f.Open(d, "f"); err != nil {
			t.Fatal(err)
		}
		for at := int64(0); at < f.Size(); {
			e, err := f.Next(at)
			if err != nil {
				t.Fatal(err)
			}
			at = e.End()
		}
		if _, err := f.ReadWhole(buf); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Window(0, 100); err != nil {
			t.Fatal(err)
		}
		f.Close()
	})
	if n != 0 {
		t.Errorf("%v allocations a file", n)
	}
}

// TestWindow shows any part of a file, whatever the order and the sizes, and
// whatever the map size.
func TestWindow(t *testing.T) {
	everywhere(t, func(t *testing.T, dir string) {
		name := filepath.Join(dir, "f")
		sparse(t, name, 3<<20+77, 0, 4096, 1<<20, 2<<20+8192, 3<<20)
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, mapSize := range []int{0, 512, 100_000, 4 << 20} {
			f := open(t, name)
			f.MapSize = mapSize
			r := rand.New(rand.NewPCG(uint64(mapSize), 0))
			at := 0
			for range 3000 {
				if at >= len(want) || r.IntN(10) == 0 {
					at = r.IntN(len(want))
				}
				n := min(1+r.IntN(1+[]int{100, 5000, 300_000}[r.IntN(3)]), len(want)-at)
				got, err := f.Window(int64(at), n)
				if err != nil || !bytes.Equal(got, want[at:at+n]) {
					t.Fatalf("map size %d: window of %d at %d: %d bytes, %v", mapSize, n, at, len(got), err)
				}
				at += n - r.IntN(n+1)/2
			}
			end := int64(len(want))
			if got, err := f.Window(end-10, 20); err != io.ErrUnexpectedEOF || !bytes.Equal(got, want[end-10:]) {
				t.Errorf("a window over the end: %d bytes, %v", len(got), err)
			}
			if got, err := f.Window(end+5, 20); err != io.ErrUnexpectedEOF || len(got) != 0 {
				t.Errorf("a window behind the end: %d bytes, %v", len(got), err)
			}
			if got, err := f.Window(5, 0); err != nil || len(got) != 0 {
				t.Errorf("an empty window: %d bytes, %v", len(got), err)
			}
		}
	})
}

// TestWindowReadsOnce wants every byte read once by windows that move forward,
// and none in holes.
func TestWindowReadsOnce(t *testing.T) {
	dir := ramDir(t)
	dense, holes := filepath.Join(dir, "dense"), filepath.Join(dir, "holes")
	if err := os.WriteFile(dense, random(4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	sparse(t, holes, 1<<36, 1<<35)
	read := func(f *File, from, to int64, n, step int) (calls int, bytes int64) {
		restore := sys.Inject(func(op sys.Op) sys.Fault {
			if op.Call == "pread64" {
				calls++
				bytes += op.Len
			}
			return sys.Fault{}
		})
		defer restore()
		for at := from; at+int64(n) <= to; at += int64(step) {
			if _, err := f.Window(at, n); err != nil {
				t.Fatal(err)
			}
		}
		return calls, bytes
	}
	if calls, n := read(open(t, dense), 0, 4<<20, 700, 1); calls > 17 || n > 4<<20+defaultMapSize {
		t.Errorf("%d reads of %d bytes, want 16 of 4 MiB", calls, n)
	}
	if calls, _ := read(open(t, holes), 0, 1<<35, 128<<10, 128<<10); calls != 0 {
		t.Errorf("%d reads in a hole", calls)
	}
}

// TestReusedBuffer shows nothing of the file before.
func TestReusedBuffer(t *testing.T) {
	dir := ramDir(t)
	d, err := sys.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var f File
	for i := range 5 {
		want := bytes.Repeat([]byte{byte('a' + i)}, 5000-i*100)
		if err := os.WriteFile(filepath.Join(dir, "f"), want, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := f.Open(d, "f"); err != nil {
			t.Fatal(err)
		}
		got, err := f.Window(0, len(want))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("file %d: %.10q, %v", i, got, err)
		}
		f.Close()
	}
}

// TestFileUnderChange reads while another writes and cuts: it ends, and without
// a panic.
func TestFileUnderChange(t *testing.T) {
	name := filepath.Join(ramDir(t), "f")
	sparse(t, name, 1<<20, 0)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		r := rand.New(rand.NewPCG(1, 1))
		for {
			select {
			case <-stop:
				return
			default:
			}
			f, err := os.OpenFile(name, os.O_RDWR, 0)
			if err != nil {
				t.Error(err)
				return
			}
			f.WriteAt(random(r.IntN(10_000)), int64(r.IntN(1<<20)))
			f.Truncate(int64(r.IntN(1 << 20)))
			f.Close()
		}
	})
	for range 300 {
		f := open(t, name)
		at := int64(0)
		for e, err := range f.Extents() {
			if err != nil {
				if !errors.Is(err, ErrShrank) {
					t.Error(err)
				}
				break
			}
			if e.Off != at || e.Len <= 0 {
				t.Fatalf("%+v at %d", e, at)
			}
			at = e.End()
			if _, err := f.Window(e.Off, int(e.Len)); err != nil && err != io.ErrUnexpectedEOF && !errors.Is(err, ErrShrank) {
				t.Error(err)
			}
		}
		f.Close()
	}
	close(stop)
	wg.Wait()
}

func BenchmarkOpenReadClose(b *testing.B) {
	dir := ramDir(b)
	if err := os.WriteFile(filepath.Join(dir, "f"), random(10<<10), 0o600); err != nil {
		b.Fatal(err)
	}
	d, err := sys.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	var f File
	buf := make([]byte, 64<<10)
	b.ReportAllocs()
	for b.Loop() {
		if err := f.Open(d, "f"); err != nil {
			b.Fatal(err)
		}
		if _, err := f.Next(0); err != nil {
			b.Fatal(err)
		}
		if _, err := f.ReadWhole(buf[:f.Size()+1]); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

func BenchmarkWindow(b *testing.B) {
	name := filepath.Join(ramDir(b), "f")
	if err := os.WriteFile(name, random(16<<20), 0o600); err != nil {
		b.Fatal(err)
	}
	f := open(b, name)
	b.SetBytes(16 << 20)
	b.ReportAllocs()
	for b.Loop() {
		for at := int64(0); at < f.Size(); at += 32 << 10 {
			if _, err := f.Window(at, 32<<10); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestGreatestFile covers the last offsets there are.
func TestGreatestFile(t *testing.T) {
	const size = 1<<63 - 1
	name := filepath.Join(ramDir(t), "f")
	sparse(t, name, size, 1<<40, size-4095)
	f := open(t, name)
	got := extents(t, f)
	want := []Extent{{0, 1 << 40, true}, {1 << 40, 4096, false}, {1<<40 + 4096, size - 4095 - 1<<40 - 4096, true}, {size - 4095, 4095, false}}
	if !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	if b, err := f.Window(size-100, 100); err != nil || isAll(b, 0) {
		t.Errorf("the end is missing: %v", err)
	}
	if b, err := f.Window(1<<41, 1<<17); err != nil || !isAll(b, 0) {
		t.Errorf("the hole has data: %v", err)
	}
}

func isAll(b []byte, c byte) bool { return len(bytes.TrimLeft(b, string(c))) == 0 }
