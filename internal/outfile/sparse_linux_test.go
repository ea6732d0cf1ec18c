package outfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/loopfs"
)

// root opens a directory for the length of a test.
func root(t testing.TB, path string) *sys.Dir {
	t.Helper()
	d, err := sys.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// writeFile writes name in dir by what verbs does, and commits.
func writeFile(t testing.TB, dir, name string, size int64, p *Policy, verbs func(*Stream) error) {
	t.Helper()
	var f File
	if err := f.Create(root(t, dir), name, size, 0o600, p); err != nil {
		t.Fatal(err)
	}
	defer f.Abort()
	if err := verbs(f.At(0)); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(nil); err != nil {
		t.Fatal(err)
	}
}

func write(data []byte) func(*Stream) error {
	return func(s *Stream) error { _, err := s.Write(data); return err }
}

// random is n bytes without a zero block.
func random(n int) []byte {
	b := make([]byte, n)
	fill(rand.New(rand.NewPCG(uint64(n), 3)), b)
	return b
}

func mustRead(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustWrite(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func mustAllocate(t testing.TB, name string) int64 {
	t.Helper()
	n, err := allocated(name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// everywhere runs a test on the directory at hand, and on all file systems
// unless -short.
func everywhere(t *testing.T, run func(t *testing.T, dir string)) {
	t.Run("here", func(t *testing.T) { run(t, ramDir(t)) })
	if !testing.Short() {
		loopfs.Each(t, 0, run)
	}
}

// TestKeptZerosAreFreed updates an identical dense file in place under
// sparse-always: of every 32 KiB block the 24 KiB of zeros in the middle go.
func TestKeptZerosAreFreed(t *testing.T) {
	const block = 32 << 10
	everywhere(t, func(t *testing.T, dir string) {
		want := make([]byte, 8<<20)
		for at := 0; at < len(want); at += block {
			copy(want[at:], random(4096))
			copy(want[at+block-4096:], random(4096))
		}
		name := filepath.Join(dir, "image")
		mustWrite(t, name, want)
		if got := mustAllocate(t, name); got < 8<<20 {
			t.Fatalf("the file to begin with has %d bytes allocated, want it dense", got)
		}
		var c report.Counters
		p := &Policy{Sparse: SparseAlways, Place: InPlace, Counters: &c}
		writeFile(t, dir, "image", int64(len(want)), p, func(s *Stream) error {
			for at := 0; at < len(want); at += block {
				if err := s.Keep(want[at : at+block]); err != nil {
					return err
				}
			}
			return nil
		})
		if got, want := mustAllocate(t, name), int64(2048<<10); got < want || got > want+metaBlocks(name) {
			t.Errorf("%d KiB allocated, want %d", got>>10, want>>10)
		}
		if got := c.Writes.Load(); got != 0 {
			t.Errorf("%d writes of what was there", got)
		}
		if got := c.Punches.Load(); got != 256 {
			t.Errorf("%d punches, want one a hole: 256", got)
		}
		if !bytes.Equal(mustRead(t, name), want) {
			t.Error("content changed")
		}
	})
}

// TestHoles writes every shape of zeros by every policy, over nothing and over
// a dense file.
func TestHoles(t *testing.T) {
	data := func(n int) []byte { return random(n) }
	zero := func(n int) []byte { return make([]byte, n) }
	shapes := map[string][][]byte{
		"empty":        {},
		"no zeros":     {data(300_000)},
		"all zeros":    {zero(65_536)},
		"odd zeros":    {zero(65_537)},
		"interior":     {data(65_536), zero(8192), data(65_536)},
		"leading":      {zero(1 << 20), data(10_000)},
		"trailing":     {data(8192), zero(1 << 20)},
		"odd trailing": {data(8191), zero(1<<20 - 77)},
		"many":         {zero(4096), data(4096), zero(12_288), data(5000), zero(70_000), data(1), zero(9000)},
		"unaligned":    {data(100), zero(8192 + 4096), data(100)},
	}
	everywhere(t, func(t *testing.T, dir string) {
		for name, shape := range shapes {
			for _, sparse := range []Sparse{SparseAuto, SparseAlways, SparseNever} {
				for _, place := range []Place{Replace, InPlace, New} {
					for _, preallocate := range []bool{false, true} {
						p := Policy{Sparse: sparse, Place: place, Preallocate: preallocate}
						t.Run(fmt.Sprintf("%s/%d%d%v", name, sparse, place, preallocate), func(t *testing.T) {
							testShape(t, dir, shape, p)
						})
					}
				}
			}
		}
	})
}

func testShape(t *testing.T, dir string, shape [][]byte, p Policy) {
	want := bytes.Join(shape, nil)
	name := filepath.Join(dir, "f")
	defer os.Remove(name)
	if p.Place == InPlace {
		mustWrite(t, name, random(len(want)+10_000))
	}
	writeFile(t, dir, "f", int64(len(want)), &p, func(s *Stream) error {
		for _, part := range shape {
			var err error
			if p.Sparse == SparseAuto && isZero(part) {
				err = s.Hole(int64(len(part)))
			} else {
				_, err = s.Write(part)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err := differ(mustRead(t, name), want); err != nil {
		t.Fatal(err)
	}
	got, least := mustAllocate(t, name), leastBlocks(want)
	all := (int64(len(want)) + 4095) / 4096 * 4096
	switch {
	case p.Sparse == SparseNever && got < all:
		t.Errorf("%d bytes allocated of %d", got, all)
	case p.Sparse != SparseNever && got > least+metaBlocks(name):
		t.Errorf("%d bytes allocated, want %d", got, least)
	case p.Sparse == SparseAlways && least == 0 && got != 0:
		t.Errorf("%d bytes allocated for zeros", got)
	}
}

// TestOddEnd ends in a zero byte behind the last whole block, over an old file
// as long.
// TestReservedBehind: blocks that somebody reserved behind the end of the old
// file are no home for zeros, whether what stands before them has holes or not.
func TestReservedBehind(t *testing.T) {
	everywhere(t, func(t *testing.T, dir string) {
		name := filepath.Join(dir, "f")
		for _, sparse := range []Sparse{SparseAuto, SparseAlways} {
			for _, old := range []int{0, 1, 5000, 64 << 10} {
				for _, size := range []int{0, 1, 5000, 128 << 10} {
					for _, holey := range []bool{false, true} {
						if holey && sparse == SparseAuto {
							continue // they do not show
						}
						os.Remove(name)
						mustWrite(t, name, random(old))
						end := int64(old)
						if holey {
							end = 1 << 20
							if err := os.Truncate(name, end); err != nil {
								t.Fatal(err)
							}
						}
						reserveBehind(t, name, end)
						writeFile(t, dir, "f", int64(size), &Policy{Place: InPlace, Sparse: sparse}, func(s *Stream) error { return s.Hole(int64(size)) })
						if got := mustRead(t, name); !bytes.Equal(got, make([]byte, size)) {
							t.Errorf("sparse %d, %d bytes over %d: wrong content", sparse, size, old)
						}
						if n := mustAllocate(t, name); n != 0 {
							t.Errorf("sparse %d, %d bytes of zeros over %d, holey %t: %d allocated", sparse, size, old, holey, n)
						}
					}
				}
			}
		}
	})
}

// reserveBehind reserves 300 kB at off and leaves the size as it is.
func reserveBehind(t *testing.T, name string, off int64) {
	t.Helper()
	const keepSize = 1
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(syscall.Fallocate(int(f.Fd()), keepSize, off, 300_000), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestOddEnd(t *testing.T) {
	everywhere(t, func(t *testing.T, dir string) {
		old := bytes.Repeat([]byte("B"), 513)
		want := append(bytes.Repeat([]byte("A"), 512), 0)
		for _, sparse := range []Sparse{SparseAuto, SparseAlways, SparseNever} {
			for _, pieces := range []int{1, 511, 512, 513} {
				mustWrite(t, filepath.Join(dir, "f"), old)
				writeFile(t, dir, "f", 513, &Policy{Sparse: sparse, Place: InPlace}, func(s *Stream) error {
					for at := 0; at < len(want); at += pieces {
						if _, err := s.Write(want[at:min(at+pieces, len(want))]); err != nil {
							return err
						}
					}
					return nil
				})
				if err := differ(mustRead(t, filepath.Join(dir, "f")), want); err != nil {
					t.Errorf("sparse %d, pieces of %d: %v", sparse, pieces, err)
				}
			}
		}
	})
}

// TestZeroRunAcrossCalls gives zeros in crumbs, by both verbs that may hold
// them: they are one hole.
func TestZeroRunAcrossCalls(t *testing.T) {
	dir := ramDir(t)
	want := bytes.Join([][]byte{random(5000), make([]byte, 100_000), random(5000)}, nil)
	for _, piece := range []int{1, 100, 700, 4096, 5001, 50_000} {
		mustWrite(t, filepath.Join(dir, "f"), bytes.Repeat([]byte("x"), len(want)))
		var c report.Counters
		p := &Policy{Sparse: SparseAlways, Place: InPlace, Counters: &c, WriteSize: 8192}
		writeFile(t, dir, "f", int64(len(want)), p, func(s *Stream) error {
			for at := 0; at < len(want); at += piece {
				part := want[at:min(at+piece, len(want))]
				if isZero(part) && at/piece%2 == 0 {
					if err := s.Hole(int64(len(part))); err != nil {
						return err
					}
				} else if _, err := s.Write(part); err != nil {
					return err
				}
			}
			return nil
		})
		if err := differ(mustRead(t, filepath.Join(dir, "f")), want); err != nil {
			t.Errorf("pieces of %d: %v", piece, err)
		}
		if got := c.Punches.Load(); got != 1 {
			t.Errorf("pieces of %d: %d punches, want 1", piece, got)
		}
	}
}

// TestWriteCalls bounds the calls for dense data, whatever sizes it comes in.
func TestWriteCalls(t *testing.T) {
	dir := ramDir(t)
	size := 100 << 20
	if testing.Short() {
		size = 10<<20 + 12_345
	}
	data := random(size)
	mustWrite(t, filepath.Join(dir, "source"), data)
	var src sys.File
	if err := sys.OpenPath(&src, filepath.Join(dir, "source"), sys.ReadOnly, 0); err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for _, sparse := range []Sparse{SparseAuto, SparseAlways, SparseNever} {
		for _, writeSize := range []int{0, 64 << 10, 1 << 20} {
			for _, piece := range []int{0, 700, 32 << 10, 300_000, size} {
				var c report.Counters
				p := &Policy{Sparse: sparse, Place: New, Reflink: ReflinkNever, WriteSize: writeSize, Counters: &c}
				writeFile(t, dir, "f", 0, p, func(s *Stream) error {
					if piece == 0 {
						return s.Copy(&src, 0, int64(size))
					}
					for at := 0; at < size; at += piece {
						if _, err := s.Write(data[at:min(at+piece, size)]); err != nil {
							return err
						}
					}
					return nil
				})
				if writeSize == 0 {
					writeSize = defaultWriteSize
				}
				if got, most := c.Writes.Load(), int64(size/writeSize+2); got > most {
					t.Errorf("sparse %d, pieces of %d: %d writes of %d bytes, want at most %d", sparse, piece, got, writeSize, most)
				}
				if got := c.Written.Load(); got != int64(size) {
					t.Errorf("%d bytes written of %d", got, size)
				}
				if got := c.Copied.Load(); got != int64(size) || c.Bytes.Load() != got {
					t.Errorf("%d bytes counted, %d copied, of %d", c.Bytes.Load(), got, size)
				}
				os.Remove(filepath.Join(dir, "f"))
			}
		}
	}
}

// TestRegionIsOneWrite wants a region of data between zeros in one write, also
// where the buffer ends within it.
func TestRegionIsOneWrite(t *testing.T) {
	dir := ramDir(t)
	const writeSize = 64 << 10
	shape := [][]byte{
		random(40_960), make([]byte, 8192), random(61_440), make([]byte, 4096),
		random(4096), make([]byte, 65_536), random(65_536), make([]byte, 4096), random(7),
	}
	want := bytes.Join(shape, nil)
	for _, piece := range []int{700, 4096, 50_000, len(want)} {
		var c report.Counters
		p := &Policy{Sparse: SparseAlways, Place: New, WriteSize: writeSize, Counters: &c}
		writeFile(t, dir, "f", 0, p, func(s *Stream) error {
			for at := 0; at < len(want); at += piece {
				if _, err := s.Write(want[at:min(at+piece, len(want))]); err != nil {
					return err
				}
			}
			return nil
		})
		if got := c.Writes.Load(); got != 5 {
			t.Errorf("pieces of %d: %d writes, want one a region: 5", piece, got)
		}
		if c.Punches.Load() != 0 {
			t.Errorf("%d punches into fresh ground", c.Punches.Load())
		}
		os.Remove(filepath.Join(dir, "f"))
	}
}

// TestInPlaceWritesChangesOnly copies a source over an old file that differs in
// some blocks, by every policy of zeros.
func TestInPlaceWritesChangesOnly(t *testing.T) {
	everywhere(t, func(t *testing.T, dir string) {
		old := random(4 << 20)
		want := bytes.Clone(old)
		changed := 0
		for at := 0; at < len(want); at += 400 << 10 {
			copy(want[at+4096:], random(4000))
			changed += 4096
		}
		src := openSource(t, dir, want)
		for _, sparse := range []Sparse{SparseAuto, SparseAlways, SparseNever} {
			mustWrite(t, filepath.Join(dir, "f"), old)
			var c report.Counters
			p := &Policy{Sparse: sparse, Place: InPlace, Counters: &c}
			writeFile(t, dir, "f", int64(len(want)), p, func(s *Stream) error { return s.Copy(src, 0, int64(len(want))) })
			if err := differ(mustRead(t, filepath.Join(dir, "f")), want); err != nil {
				t.Fatal(err)
			}
			if got := c.Written.Load(); got > int64(changed) {
				t.Errorf("sparse %d: %d bytes written, %d changed", sparse, got, changed)
			}
			if got := c.Kept.Load() + c.Copied.Load(); got != int64(len(want)) {
				t.Errorf("sparse %d: %d bytes counted of %d", sparse, got, len(want))
			}
		}
	})
}

func openSource(t testing.TB, dir string, content []byte) *sys.File {
	t.Helper()
	name := filepath.Join(dir, "source")
	if err := writeSparse(name, content, true); err != nil {
		t.Fatal(err)
	}
	var src sys.File
	if err := sys.OpenPath(&src, name, sys.ReadOnly, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return &src
}

// TestSmallKeeps keeps a file in pieces that end nowhere near a block's border:
// nothing is written.
func TestSmallKeeps(t *testing.T) {
	dir := ramDir(t)
	old := random(1 << 20)
	for _, sparse := range []Sparse{SparseAuto, SparseAlways, SparseNever} {
		for _, piece := range []int{1, 700, 5000, 131_072 - 8} {
			mustWrite(t, filepath.Join(dir, "f"), old)
			var c report.Counters
			p := &Policy{Sparse: sparse, Place: InPlace, Counters: &c}
			writeFile(t, dir, "f", int64(len(old)), p, func(s *Stream) error {
				for at := 0; at < len(old); at += piece {
					if err := s.Keep(old[at:min(at+piece, len(old))]); err != nil {
						return err
					}
				}
				return nil
			})
			if c.Written.Load() != 0 || c.Punches.Load() != 0 || c.Cuts.Load() != 0 {
				t.Errorf("sparse %d, pieces of %d: %d bytes written, %d punches, %d cuts", sparse, piece, c.Written.Load(), c.Punches.Load(), c.Cuts.Load())
			}
			if got := c.Kept.Load(); got != int64(len(old)) {
				t.Errorf("%d bytes kept of %d", got, len(old))
			}
		}
	}
}

// TestHugeHole takes no time and no space.
func TestHugeHole(t *testing.T) {
	everywhere(t, func(t *testing.T, dir string) {
		const size = 1 << 40
		for _, sparse := range []Sparse{SparseAuto, SparseAlways} {
			for _, place := range []Place{Replace, InPlace} {
				writeFile(t, dir, "f", size, &Policy{Sparse: sparse, Place: place}, func(s *Stream) error {
					s.Write(random(4096))
					s.Hole(size - 8192)
					_, err := s.Write(random(4096))
					return err
				})
				name := filepath.Join(dir, "f")
				info, err := os.Stat(name)
				if err != nil || info.Size() != size {
					t.Fatalf("%v, %v", info, err)
				}
				if got := mustAllocate(t, name); got > 8192+metaBlocks(name) {
					t.Errorf("sparse %d, place %d: %d bytes allocated, want 8192", sparse, place, got)
				}
			}
		}
	})
}

// TestNotAboveOthers compares the allocation with that of GNU cp and rsync on
// the same input.
func TestNotAboveOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("runs cp and rsync")
	}
	loopfs.Each(t, 0, func(t *testing.T, dir string) {
		r := rand.New(rand.NewPCG(9, 9))
		for range 8 {
			want := content(r, 1<<20+r.IntN(1<<20))
			from := filepath.Join(dir, "from")
			mustWrite(t, from, want)
			for _, place := range []Place{Replace, InPlace, New} {
				os.Remove(filepath.Join(dir, "f"))
				writeFile(t, dir, "f", int64(len(want)), &Policy{Sparse: SparseAlways, Place: place}, write(want))
				ours := mustAllocate(t, filepath.Join(dir, "f"))
				for _, args := range [][]string{{"cp", "--sparse=always"}, {"rsync", "--sparse"}} {
					other := filepath.Join(dir, args[0])
					os.Remove(other)
					if out, err := exec.Command(args[0], append(args[1:], from, other)...).CombinedOutput(); err != nil {
						t.Fatalf("%s: %v: %s", args, err, out)
					}
					if theirs := mustAllocate(t, other); ours > theirs {
						t.Errorf("place %d: %d bytes allocated, %s takes %d", place, ours, args, theirs)
					}
				}
			}
		}
	})
}

// TestInPlaceLikeRsync edits a file at random and compares the space with that
// after rsync's own update in place.
func TestInPlaceLikeRsync(t *testing.T) {
	if testing.Short() {
		t.Skip("runs rsync")
	}
	loopfs.Each(t, 0, func(t *testing.T, dir string) {
		r := rand.New(rand.NewPCG(5, 5))
		old := content(r, 2<<20)
		ours, theirs, from := filepath.Join(dir, "f"), filepath.Join(dir, "rsync"), filepath.Join(dir, "from")
		mustWrite(t, ours, old)
		mustWrite(t, theirs, old)
		for range 8 {
			want := bytes.Clone(old)
			at := r.IntN(len(want) - 200_000)
			copy(want[at:], content(r, r.IntN(200_000)))
			mustWrite(t, from, want)
			out, err := exec.Command("rsync", "--inplace", "--sparse", "--no-whole-file", "-I", "-B4096", from, theirs).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			writeFile(t, dir, "f", int64(len(want)), &Policy{Sparse: SparseAlways, Place: InPlace}, func(s *Stream) error {
				for at := 0; at < len(want); at += 4096 {
					end := min(at+4096, len(want))
					var err error
					if bytes.Equal(want[at:end], old[at:end]) {
						err = s.Keep(want[at:end])
					} else {
						_, err = s.Write(want[at:end])
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
			if err := differ(mustRead(t, ours), want); err != nil {
				t.Fatal(err)
			}
			if a, b := mustAllocate(t, ours), mustAllocate(t, theirs); a > b {
				t.Errorf("%d bytes allocated, rsync takes %d", a, b)
			}
			old = want
		}
	})
}
