package outfile

import (
	"bytes"
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

	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
)

// failNth makes the nth operation fail, and reports whether there was one.
func failNth(n int, err error) (hit func() (string, bool)) {
	var mu sync.Mutex
	at, name := 0, ""
	restore := sys.Inject(func(op sys.Op) sys.Fault {
		mu.Lock()
		defer mu.Unlock()
		at++
		if at-1 == n {
			name = op.Call
			if op.Name == "." {
				name += " of a directory"
			}
			return sys.Fault{Err: err}
		}
		return sys.Fault{}
	})
	return func() (string, bool) {
		restore()
		mu.Lock()
		defer mu.Unlock()
		return name, name != ""
	}
}

// TestEveryOperationFails lets each system call of each kind of writing fail in
// turn. What is left is the old file or the new one, and no temporary file; of a
// file changed in place the error tells what it is.
func TestEveryOperationFails(t *testing.T) {
	old := random(150_000)
	want := bytes.Join([][]byte{random(20_000), make([]byte, 40_000), random(70_000)}, nil)
	errnos := []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EINVAL}
	if testing.Short() {
		errnos = errnos[:1]
	}
	for _, place := range []Place{Replace, InPlace, New} {
		for _, durability := range []Durability{NoSync, SyncBatch, SyncEach} {
			for _, sparse := range []Sparse{SparseAuto, SparseAlways} {
				for _, preallocate := range []bool{false, true} {
					for _, errno := range errnos {
						p := Policy{Sparse: sparse, Place: place, Durability: durability, Preallocate: preallocate}
						t.Run(fmt.Sprintf("%d%d%d%v/%v", place, durability, sparse, preallocate, errno), func(t *testing.T) {
							for n := 0; failOne(t, p, old, want, n, errno); n++ {
								if n > 200 {
									t.Fatal("no end of operations")
								}
							}
						})
					}
				}
			}
		}
	}
}

func failOne(t *testing.T, p Policy, old, want []byte, n int, errno syscall.Errno) (more bool) {
	dir := ramDir(t)
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "f")
	if p.Place != New {
		mustWrite(t, name, old)
	}
	src := openSource(t, dir, want)
	d := root(t, dir)
	p.Batch = NewBatch(0)

	hit := failNth(n, errno)
	err := writeMixed(d, src, want, &p)
	if e := p.Batch.Close(); err == nil {
		err = e
	}
	call, was := hit()

	got, e := os.ReadFile(name)
	isOld := e == nil && bytes.Equal(got, old)
	if p.Place == New {
		isOld = errors.Is(e, fs.ErrNotExist)
	}
	isNew := e == nil && bytes.Equal(got, want)
	var left *LeftError
	switch {
	case err == nil && !isNew:
		t.Errorf("%s fails: success, but the content is wrong", call)
	case err == nil && was && errno == syscall.EIO && call != "fstatfs" && call != "close of a directory":
		t.Errorf("%s fails, and nobody is told", call)
	case err != nil && p.Place == InPlace && !isOld && !errors.As(err, &left) && call != "syncfs of a directory":
		t.Errorf("%s fails: the file was changed, but the error is: %v", call, err)
	case err != nil && p.Place != InPlace && !isOld && !isNew:
		t.Errorf("%s fails: neither the old file nor the new one is left", call)
	case err != nil && p.Place != InPlace && !isOld && !errors.As(err, &left) && call != "syncfs of a directory":
		t.Errorf("%s fails: the new file is there, but the error is: %v", call, err)
	}
	if err != nil {
		var pe *fs.PathError
		var le *os.LinkError
		if !errors.As(err, &pe) && !errors.As(err, &le) {
			t.Errorf("%s fails: no path in the error: %v", call, err)
		}
		if !errors.Is(err, errno) {
			t.Errorf("%s fails: the error is another one: %v", call, err)
		}
		if strings.Count(err.Error(), name) > 1 {
			t.Errorf("%s fails: the path is there twice: %v", call, err)
		}
	}
	if err := onlyThese(dir, "f"); err != nil {
		t.Errorf("%s fails: %v", call, err)
	}
	return was
}

// writeMixed uses every verb that a copy of a sparse file needs.
func writeMixed(d *sys.Dir, src *sys.File, want []byte, p *Policy) error {
	var f File
	if err := f.Create(d, "f", int64(len(want)), 0o600, p); err != nil {
		return err
	}
	defer f.Abort()
	s := f.At(0)
	if _, err := s.Write(want[:20_000]); err != nil {
		return err
	}
	if err := s.Hole(40_000); err != nil {
		return err
	}
	if err := s.Copy(src, 60_000, int64(len(want)-60_000)); err != nil {
		return err
	}
	return f.Commit(func(o *sys.File) error { return o.Chmod(0o640) })
}

// TestApplyFails wants the old file, or nothing, when metadata cannot be set.
func TestApplyFails(t *testing.T) {
	bad := errors.New("bad")
	for _, place := range []Place{Replace, New, InPlace} {
		dir := ramDir(t)
		if place != New {
			mustWrite(t, filepath.Join(dir, "f"), []byte("old"))
		}
		var f File
		if err := f.Create(root(t, dir), "f", 3, 0o600, &Policy{Place: place}); err != nil {
			t.Fatal(err)
		}
		f.At(0).Write([]byte("new"))
		err := f.Commit(func(*sys.File) error { return bad })
		if !errors.Is(err, bad) {
			t.Errorf("%v", err)
		}
		var left *LeftError
		if errors.As(err, &left) != (place == InPlace) {
			t.Errorf("place %d: %v", place, err)
		}
		names := []string{"f"}
		if place == New {
			names = nil
		}
		if err := onlyThese(dir, names...); err != nil {
			t.Error(err)
		}
	}
}

// TestCancel closes the channel in the middle of each verb: no further piece is
// begun, and nothing is left.
func TestCancel(t *testing.T) {
	dir := ramDir(t)
	d := root(t, dir)
	const size = 64 << 20
	src := openSource(t, dir, make([]byte, size))
	copies := func(s *Stream) error { return s.Copy(src, 0, size) }
	rows := map[string]struct {
		p    Policy
		verb func(*Stream) error
	}{
		"read and write": {Policy{Reflink: ReflinkNever}, copies},
		"offload":        {Policy{}, copies},
		"zeros found":    {Policy{Sparse: SparseAlways}, copies},
		"compare":        {Policy{Place: InPlace}, copies},
		"rest":           {Policy{}, func(s *Stream) error { _, err := s.CopyRest(src, 0); return err }},
		"zeros":          {Policy{Sparse: SparseNever}, func(s *Stream) error { return s.Hole(size) }},
		"write":          {Policy{}, write(make([]byte, size))},
	}
	for what, row := range rows {
		if row.p.Place == InPlace {
			mustWrite(t, filepath.Join(dir, "f"), random(size))
		}
		cancel := make(chan struct{})
		f := File{Cancel: cancel}
		if err := f.Create(d, "f", size, 0o600, &row.p); err != nil {
			t.Fatal(err)
		}
		before, after := 0, 0
		restore := sys.Inject(func(op sys.Op) sys.Fault {
			switch op.Call {
			case "pwrite64", "pread64", "copy_file_range":
				if before++; before == 3 {
					close(cancel)
				} else if before > 3 {
					after++
				}
			}
			return sys.Fault{}
		})
		err := row.verb(f.At(0))
		restore()
		if !errors.Is(err, context.Canceled) || before < 3 {
			t.Errorf("%s: %v after %d calls", what, err, before)
		}
		if after > 0 {
			t.Errorf("%s: %d calls after the end", what, after)
		}
		if err := f.Commit(nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: Commit after a cancel: %v", what, err)
		}
		left := []string{}
		if row.p.Place == InPlace {
			left = []string{"f"}
		}
		if err := onlyThese(dir, left...); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		os.Remove(filepath.Join(dir, "f"))
	}
}

// TestPiecesFollowSpeed keeps a piece of a copy that cannot be cancelled within
// a tenth of a second, whatever the disk's speed.
func TestPiecesFollowSpeed(t *testing.T) {
	for _, rate := range []int64{30 << 20, 300 << 20, 3 << 30, 1 << 40} { // bytes a second
		piece, worst := int64(firstPiece), time.Duration(0)
		for i := range 100 {
			took := time.Duration(float64(piece) / float64(rate) * float64(time.Second))
			if i > 4 {
				worst = max(worst, took)
			}
			piece = nextPiece(piece, took)
		}
		if worst > 90*time.Millisecond {
			t.Errorf("%d MiB/s: a piece takes %v", rate>>20, worst)
		}
		if rate == 1<<40 && piece != sys.MaxCopyRange {
			t.Errorf("a fast disk gets pieces of %d", piece)
		}
	}
}

// TestAbort leaves everything as it was, and does nothing after an end.
func TestAbort(t *testing.T) {
	for _, place := range []Place{Replace, New, InPlace} {
		for _, was := range []bool{true, false} {
			if place == New && was {
				continue
			}
			dir := ramDir(t)
			if was {
				mustWrite(t, filepath.Join(dir, "f"), []byte("old content"))
			}
			var f File
			if err := f.Create(root(t, dir), "f", 0, 0o600, &Policy{Place: place}); err != nil {
				t.Fatal(err)
			}
			f.At(0).Write([]byte("new"))
			for range 2 {
				if err := f.Abort(); err != nil {
					t.Errorf("place %d: %v", place, err)
				}
			}
			if err := f.Commit(nil); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("Commit after Abort: %v", err)
			}
			names := []string{}
			if was {
				names = []string{"f"}
				if got := mustRead(t, filepath.Join(dir, "f")); string(got) != "old content" {
					t.Errorf("place %d: %q", place, got)
				}
			}
			if err := onlyThese(dir, names...); err != nil {
				t.Errorf("place %d: %v", place, err)
			}
		}
	}
}

// TestCutOnAbort leaves no old tail behind new content.
func TestCutOnAbort(t *testing.T) {
	dir := ramDir(t)
	mustWrite(t, filepath.Join(dir, "f"), bytes.Repeat([]byte("o"), 10_000))
	f := File{CutOnAbort: true}
	if err := f.Create(root(t, dir), "f", 10_000, 0o600, &Policy{Place: InPlace, WriteSize: 1000}); err != nil {
		t.Fatal(err)
	}
	f.At(0).Write(bytes.Repeat([]byte("n"), 3500))
	if err := f.Abort(); err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, filepath.Join(dir, "f")); strings.Trim(string(got), "n") != "" || len(got) < 3000 {
		t.Errorf("%d bytes left", len(got))
	}
}

// TestFallsFromWhereItStood gives every errno of "try another way" in the middle
// of an offloaded copy; the rest is read and written, and the way is counted.
func TestFallsFromWhereItStood(t *testing.T) {
	dir := ramDir(t)
	want := random(40 << 20)
	src := openSource(t, dir, want)
	for _, errno := range []syscall.Errno{syscall.ENOSYS, syscall.ENOTTY, syscall.EOPNOTSUPP, syscall.EINVAL,
		syscall.EBADF, syscall.EXDEV, syscall.ETXTBSY, syscall.EPERM, syscall.EACCES, syscall.ENOENT} {
		for _, good := range []int{0, 2} {
			var c report.Counters
			calls, reread := 0, int64(0)
			restore := sys.Inject(func(op sys.Op) sys.Fault {
				switch op.Call {
				case "copy_file_range":
					if calls++; calls > good {
						return sys.Fault{Err: errno}
					}
				case "pread64":
					reread += op.Len
				}
				return sys.Fault{}
			})
			writeFile(t, dir, "f", int64(len(want)), &Policy{Counters: &c}, func(s *Stream) error { return s.Copy(src, 0, int64(len(want))) })
			restore()
			if err := differ(mustRead(t, filepath.Join(dir, "f")), want); err != nil {
				t.Errorf("%v: %v", errno, err)
			}
			if off := c.Offloaded.Load(); (off > 0) != (good > 0) || off+c.Copied.Load() != int64(len(want)) {
				t.Errorf("%v after %d: %d offloaded, %d copied", errno, good, off, c.Copied.Load())
			}
			if reread > c.Copied.Load()+defaultWriteSize {
				t.Errorf("%v after %d: %d bytes asked for, %d were left", errno, good, reread, c.Copied.Load())
			}
			counted := map[string]int64{}
			c.EachFallback(func(why string, n int64) { counted[why] = n })
			if len(counted) != 1 || counted["copy_file_range "+sys.ErrName(errno)] != 1 {
				t.Errorf("%v: counted %v", errno, counted)
			}
		}
	}
}

// TestOffloadedZero takes an answer of 0 with bytes left for a file that has to
// be read.
func TestOffloadedZero(t *testing.T) {
	dir := ramDir(t)
	var c report.Counters
	var src sys.File
	if err := sys.OpenPath(&src, "/proc/self/maps", sys.ReadOnly, 0); err != nil {
		t.Skip("no /proc")
	}
	defer src.Close()
	writeFile(t, dir, "f", 0, &Policy{Counters: &c}, func(s *Stream) error {
		if err := s.Copy(&src, 0, 1<<20); !errors.Is(err, ErrShrank) {
			return fmt.Errorf("%v, want ErrShrank", err)
		}
		return nil
	})
}

// TestRefusedAtOnce reports a full disk and its like from the kernel's own copy
// without trying anything else.
func TestRefusedAtOnce(t *testing.T) {
	dir := ramDir(t)
	want := random(1 << 20)
	src := openSource(t, dir, want)
	for _, call := range []string{"ficlone", "copy_file_range"} {
		for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EFBIG} {
			writes := 0
			restore := sys.Inject(func(op sys.Op) sys.Fault {
				switch op.Call {
				case call:
					return sys.Fault{Err: errno}
				case "pwrite64":
					writes++
				}
				return sys.Fault{}
			})
			var f File
			if err := f.Create(root(t, dir), "f", int64(len(want)), 0o600, nil); err != nil {
				t.Fatal(err)
			}
			cloned, err := f.Clone(src, int64(len(want)))
			if err == nil && !cloned {
				err = f.At(0).Copy(src, 0, int64(len(want)))
			}
			restore()
			if !errors.Is(err, errno) || writes != 0 {
				t.Errorf("%s %v: %v, %d writes", call, errno, err, writes)
			}
			f.Abort()
		}
	}
	if err := onlyThese(dir); err != nil {
		t.Error(err)
	}
}

// TestWaysAreRemembered asks the kernel once for a pair of devices, and more
// often where one file may be to blame.
func TestWaysAreRemembered(t *testing.T) {
	dir := ramDir(t)
	want := random(200_000)
	src := openSource(t, dir, want)
	for errno, most := range map[syscall.Errno]int{syscall.EXDEV: 1, syscall.EOPNOTSUPP: 1, syscall.ENOSYS: 1, syscall.ETXTBSY: strikes} {
		calls := map[string]int{}
		restore := sys.Inject(func(op sys.Op) sys.Fault {
			if op.Call == "ficlone" || op.Call == "copy_file_range" {
				calls[op.Call]++
				return sys.Fault{Err: errno}
			}
			return sys.Fault{}
		})
		p := &Policy{Ways: new(Ways)}
		copyOnce := func(f *File, from uint64) {
			f.Devices(from, 2)
			if err := f.Create(root(t, dir), "f", int64(len(want)), 0o600, p); err != nil {
				t.Fatal(err)
			}
			if ok, err := f.Clone(src, int64(len(want))); ok || err != nil {
				t.Fatal(ok, err)
			}
			if err := f.At(0).Copy(src, 0, int64(len(want))); err != nil {
				t.Fatal(err)
			}
			if err := f.Commit(nil); err != nil {
				t.Fatal(err)
			}
		}
		var f File
		for range 20 {
			copyOnce(&f, 1)
		}
		if calls["ficlone"] != most || calls["copy_file_range"] != most {
			t.Errorf("%v: %v calls for 20 files, want %d each", errno, calls, most)
		}
		copyOnce(&f, 3)
		if calls["ficlone"] != most+1 {
			t.Errorf("%v: another source was not tried", errno)
		}
		restore()
	}
}

// TestSourceShrinks copies what there is, says so, and can still end in a right
// copy of that moment's length.
func TestSourceShrinks(t *testing.T) {
	dir := ramDir(t)
	want := random(100_000)
	src := openSource(t, dir, want)
	for _, size := range []int64{100_001, 150_000, 1 << 30} {
		for _, p := range []Policy{{}, {Reflink: ReflinkNever}, {Sparse: SparseAlways}, {Place: InPlace}} {
			writeFile(t, dir, "f", size, &p, func(s *Stream) error {
				var pe *fs.PathError
				if err := s.Copy(src, 0, size); !errors.Is(err, ErrShrank) || !errors.As(err, &pe) {
					return fmt.Errorf("%v, want ErrShrank", err)
				}
				return nil
			})
			if err := differ(mustRead(t, filepath.Join(dir, "f")), want); err != nil {
				t.Errorf("size %d, %+v: %v", size, p, err)
			}
		}
	}
}
