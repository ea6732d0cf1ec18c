package outfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gohaul/haul/internal/sys"
)

// batched writes name under SyncBatch.
func batched(d *sys.Dir, name, content string, b *Batch, done func(error)) error {
	f := File{OnFinal: done}
	if err := f.Create(d, name, int64(len(content)), 0o600, &Policy{Durability: SyncBatch, Batch: b}); err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.At(0).Write([]byte(content)); err != nil {
		return err
	}
	return f.Commit(nil)
}

// TestBatchOrder wants content durable before any name, names durable at the
// end, and old content under every name until then: two flushes in all.
func TestBatchOrder(t *testing.T) {
	dir := ramDir(t)
	d := root(t, dir)
	b := NewBatch(0)
	final := 0
	for i := range 10 {
		name := fmt.Sprint(i)
		mustWrite(t, filepath.Join(dir, name), []byte("old"))
		if err := batched(d, name, "new", b, func(err error) {
			if err == nil {
				final++
			}
		}); err != nil {
			t.Fatal(err)
		}
		if got := mustRead(t, filepath.Join(dir, name)); string(got) != "old" || final != 0 {
			t.Fatalf("%q before the flush, %d said to be final", got, final)
		}
	}
	got := calls(func() {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	})
	want := []string{"syncfs", "renameat", "syncfs"}
	var order []string
	for _, c := range got {
		if c != "close" && (len(order) == 0 || order[len(order)-1] != c) {
			order = append(order, c)
		}
	}
	if fmt.Sprint(order) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", order, want)
	}
	for i := range 10 {
		if got := mustRead(t, filepath.Join(dir, fmt.Sprint(i))); string(got) != "new" {
			t.Errorf("%q", got)
		}
	}
	if final != 10 {
		t.Errorf("%d of 10 said to be final", final)
	}
}

// TestBatchIsBounded flushes by itself, so that no more than its limit wait.
func TestBatchIsBounded(t *testing.T) {
	dir := ramDir(t)
	d := root(t, dir)
	b := NewBatch(16)
	var wg sync.WaitGroup
	var final atomic.Int64
	for w := range 4 {
		wg.Go(func() {
			for i := range 100 {
				if err := batched(d, fmt.Sprintf("%d-%d", w, i), "new", b, func(error) { final.Add(1) }); err != nil {
					t.Error(err)
				}
				b.mu.Lock()
				n := len(b.waiting)
				b.mu.Unlock()
				if n > 16+4 {
					t.Errorf("%d wait, the limit is 16", n)
				}
			}
		})
	}
	wg.Wait()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if final.Load() != 400 {
		t.Errorf("%d of 400 said to be final", final.Load())
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 400 {
		t.Errorf("%d entries", len(entries))
	}
}

// TestBatchOverFileSystems flushes each file system it wrote to, and only those.
func TestBatchOverFileSystems(t *testing.T) {
	a := root(t, ramDir(t))
	other, err := os.MkdirTemp("/var/tmp", "outfile")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(other)
	z := root(t, other)
	b := NewBatch(0)
	for i, d := range []*sys.Dir{a, z, a, z, a} {
		if err := batched(d, fmt.Sprint(i), "new", b, nil); err != nil {
			t.Fatal(err)
		}
	}
	syncs := 0
	for _, c := range calls(func() { err = b.Close() }) {
		if c == "syncfs" {
			syncs++
		}
	}
	if err != nil || syncs != 4 {
		t.Errorf("%v, %d flushes, want two for each of two file systems", err, syncs)
	}
}

// TestBatchKeepsDirectories renames although the writer has closed its own
// directory long ago.
func TestBatchKeepsDirectories(t *testing.T) {
	dir := ramDir(t)
	d, err := sys.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBatch(0)
	if err := batched(d, "f", "new", b, nil); err != nil {
		t.Fatal(err)
	}
	d.Close()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, filepath.Join(dir, "f")); string(got) != "new" {
		t.Errorf("%q", got)
	}
}

// TestBatchRenameFails removes the file and tells, by done or else by Flush.
func TestBatchRenameFails(t *testing.T) {
	for _, withDone := range []bool{true, false} {
		dir := ramDir(t)
		d := root(t, dir)
		b := NewBatch(0)
		var told error
		var done func(error)
		if withDone {
			done = func(err error) { told = err }
		}
		if err := batched(d, "f", "new", b, done); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, "f", "full"), 0o700); err != nil { // no file takes its place
			t.Fatal(err)
		}
		if err := batched(d, "g", "new", b, nil); err != nil {
			t.Fatal(err)
		}
		err := b.Flush()
		if withDone {
			err = told
		}
		var le *os.LinkError
		if !errors.As(err, &le) {
			t.Errorf("done %v: %v", withDone, err)
		}
		if err := b.Close(); err != nil {
			t.Errorf("told twice: %v", err)
		}
		if err := onlyThese(dir, "f", "g"); err != nil {
			t.Error(err)
		}
	}
}

// TestBatchFlushFails gives no names to what may not be on disk.
func TestBatchFlushFails(t *testing.T) {
	dir := ramDir(t)
	d := root(t, dir)
	b := NewBatch(0)
	mustWrite(t, filepath.Join(dir, "f0"), []byte("old"))
	for i := range 3 {
		if err := batched(d, fmt.Sprint("f", i), "new", b, nil); err != nil {
			t.Fatal(err)
		}
	}
	restore := sys.Inject(func(op sys.Op) sys.Fault {
		if op.Call == "syncfs" {
			return sys.Fault{Err: syscall.EIO}
		}
		return sys.Fault{}
	})
	err := b.Flush()
	restore()
	var many *ManyError
	if !errors.Is(err, syscall.EIO) || !errors.As(err, &many) || many.N != 3 {
		t.Errorf("%v", err)
	}
	if got := mustRead(t, filepath.Join(dir, "f0")); string(got) != "old" {
		t.Errorf("%q", got)
	}
	if err := onlyThese(dir, "f0"); err != nil {
		t.Error(err)
	}
	b.Close()
}

// TestBatchDiscard leaves what was there and no temporary file.
func TestBatchDiscard(t *testing.T) {
	dir := ramDir(t)
	d := root(t, dir)
	b := NewBatch(0)
	mustWrite(t, filepath.Join(dir, "f"), []byte("old"))
	cause := errors.New("given up")
	var told error
	if err := batched(d, "f", "new", b, func(err error) { told = err }); err != nil {
		t.Fatal(err)
	}
	b.Discard(cause)
	if told != cause {
		t.Errorf("done was told %v", told)
	}
	if got := mustRead(t, filepath.Join(dir, "f")); string(got) != "old" {
		t.Errorf("%q", got)
	}
	if err := onlyThese(dir, "f"); err != nil {
		t.Error(err)
	}
}

// TestBatchedNewAndInPlace have their names at once, and are flushed at the end.
func TestBatchedNewAndInPlace(t *testing.T) {
	dir := ramDir(t)
	d := root(t, dir)
	for _, place := range []Place{New, InPlace} {
		b := NewBatch(0)
		final := 0
		f := File{OnFinal: func(error) { final++ }}
		if err := f.Create(d, "f", 3, 0o600, &Policy{Place: place, Durability: SyncBatch, Batch: b}); err != nil {
			t.Fatal(err)
		}
		f.At(0).Write([]byte("new"))
		if err := f.Commit(nil); err != nil || final != 1 {
			t.Fatalf("%v, told %d times", err, final)
		}
		got := calls(func() { b.Close() })
		if len(got) == 0 || got[0] != "syncfs" {
			t.Errorf("place %d: %v", place, got)
		}
	}
}
