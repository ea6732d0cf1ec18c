package sys_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/gohaul/haul/internal/sys"
)

// workout makes every call once on a directory of its own.
func workout(d *sys.Dir) error {
	var f, g sys.File
	var st sys.Stat
	buf := make([]byte, 4096)
	ok := func(errs ...error) error {
		for _, err := range errs {
			if err != nil && !sys.NotSupported(err) && !sys.TryAnotherWay(err) && !sys.NoXattr(err) {
				return err
			}
		}
		return nil
	}
	two := func(_ any, err error) error { return err }
	err := ok(
		d.Mkdir("sub", 0o700), d.Symlink("x", "link"), d.Mknod("fifo", sys.TypeFIFO|0o600, 0),
		d.Open(&f, "f", sys.ReadWrite|sys.CreateNew, 0o600), d.Open(&g, "g", sys.ReadWrite|sys.CreateNew, 0o600),
	)
	if err != nil {
		return err
	}
	defer f.Close()
	defer g.Close()
	err = ok(
		two(f.WriteAt([]byte("hello"), 0)), two(f.Write([]byte("world"))), two(f.ReadAt(buf, 0)), f.Truncate(1<<20),
		two(f.SeekData(0)), two(f.SeekHole(0)), f.Allocate(0, 4096), f.Punch(0, 4096), f.Sync(), f.DataSync(),
		f.Chown(-1, -1), f.Chmod(0o600), f.SetTimes(&someTime, &someTime), f.Stat(&st), two(f.Space()),
		f.SetXattr("user.a", []byte("1")), two(f.ListXattr(buf)), two(f.GetXattr("user.a", buf)), f.RemoveXattr("user.a"),
		g.Clone(&f), g.CloneRange(&f, 0, 0, 4096), two(g.CopyRange(&f, 0, 0, 4096)), f.SyncFS(), d.SyncFS(),
		d.Lstat("f", &st), d.Stat("f", &st), two(d.Readlink("link")), d.Chown("f", -1, -1), d.Chmod("f", 0o600),
		d.SetTimes("f", &someTime, nil), d.SetXattr("f", "user.a", nil), two(d.ListXattr("f", buf)),
		two(d.GetXattr("f", "user.a", buf)), d.RemoveXattr("f", "user.a"),
		d.Link(d, "f", "hard"), d.LinkFollow(d, "f", "hard2"), d.Rename("hard", d, "hard3"), d.RenameNew("hard2", d, "hard4"),
		d.Exchange("hard3", d, "hard4"), d.Remove("hard3"), d.Remove("hard4"), d.Remove("link"), d.Remove("fifo"),
		two(d.Read(buf, nil)), d.Rewind(),
	)
	if err != nil {
		return err
	}
	sub, err := d.OpenDir("sub")
	if err != nil {
		return err
	}
	again, err := d.OpenDirFollow("sub")
	if err != nil {
		return err
	}
	return errors.Join(sub.Close(), again.Close(), d.RemoveDir("sub"), f.Close(), g.Close(), d.Remove("f"), d.Remove("g"),
		two(sys.Within(d.Path(), &st)), sys.StatPath(d.Path(), true, &st))
}

// TestEINTR interrupts every call three times: nobody hears of it.
func TestEINTR(t *testing.T) {
	d := openRoot(t, t.TempDir())
	var mu sync.Mutex
	seen := map[string]int{}
	restore := sys.Inject(func(o sys.Op) sys.Fault {
		mu.Lock()
		defer mu.Unlock()
		key := o.Call + " " + o.Name
		if seen[key]++; seen[key]%4 != 0 {
			return sys.Fault{Err: syscall.EINTR}
		}
		return sys.Fault{}
	})
	err := workout(d)
	restore()
	if err != nil {
		t.Error(err)
	}
	if len(seen) < 40 {
		t.Errorf("only %d calls asked the hook", len(seen))
	}
	t.Log(len(seen), "calls")
}

// TestFaults lets every call fail in turn: the error comes out, named, and
// nothing breaks.
func TestFaults(t *testing.T) {
	for n := 1; ; n++ {
		d := openRoot(t, t.TempDir())
		count, hit := 0, sys.Op{}
		restore := sys.Inject(func(o sys.Op) sys.Fault {
			if count++; count == n {
				hit = o
				return sys.Fault{Err: syscall.EIO}
			}
			return sys.Fault{}
		})
		err := workout(d)
		restore()
		if hit.Call == "" {
			if err != nil || n < 40 {
				t.Errorf("after %d calls: %v", n, err)
			}
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("EIO of %s %s came out as %v", hit.Call, hit.Name, err)
		}
	}
}

// TestShort: a transfer that the hook cuts moves just so much.
func TestShort(t *testing.T) {
	d := openRoot(t, t.TempDir())
	var f, g sys.File
	try(t, d.Open(&f, "f", sys.ReadWrite|sys.CreateNew, 0o600), d.Open(&g, "g", sys.ReadWrite|sys.CreateNew, 0o600))
	defer f.Close()
	defer g.Close()
	var lens []string
	restore := sys.Inject(func(o sys.Op) sys.Fault {
		lens = append(lens, fmt.Sprint(o.Call, o.Len))
		return sys.Fault{Short: 3}
	})
	defer restore()
	data := []byte("0123456789")
	buf := make([]byte, 10)
	if n, err := f.WriteAt(data, 0); n != 3 || err != nil {
		t.Errorf("WriteAt %d, %v", n, err)
	}
	if n, err := f.ReadAt(buf[:2], 0); n != 2 || err != nil || !bytes.Equal(buf[:2], data[:2]) {
		t.Errorf("ReadAt %d, %v", n, err)
	}
	if n, err := f.ReadAt(buf, 0); n != 3 || err != nil {
		t.Errorf("ReadAt %d, %v", n, err)
	}
	if n, err := g.CopyRange(&f, 0, 0, 10); n != 3 && !sys.TryAnotherWay(err) {
		t.Errorf("CopyRange %d, %v", n, err)
	}
	if want := []string{"pwrite6410", "pread642", "pread6410"}; !slices.Equal(lens[:3], want) {
		t.Errorf("asked %v, want %v", lens, want)
	}
}
