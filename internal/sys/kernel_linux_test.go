//go:build !portable

package sys_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/loopfs"
	"golang.org/x/sys/unix"
)

// failing lets some calls fail until the end of the test.
func failing(t *testing.T, errs map[string]error) {
	t.Helper()
	t.Cleanup(sys.Inject(func(o sys.Op) sys.Fault { return sys.Fault{Err: errs[o.Call]} }))
}

// TestNoAllocation: what is done for every file allocates nothing.
func TestNoAllocation(t *testing.T) {
	d := openRoot(t, t.TempDir())
	write(t, d, "f", "hello")
	var f, g sys.File
	var st sys.Stat
	buf := make([]byte, 4096)
	list := make([]sys.Dirent, 0, 10)
	try(t, d.Open(&f, "f", sys.ReadWrite, 0))
	defer f.Close()
	for what, call := range map[string]func() error{
		"Open and Close":   func() error { return errors.Join(d.Open(&g, "f", sys.ReadOnly, 0), g.Close()) },
		"OpenFollow":       func() error { return errors.Join(d.OpenFollow(&g, "f", sys.ReadOnly), g.Close()) },
		"Lstat":            func() error { return d.Lstat("f", &st) },
		"Dir.Stat":         func() error { return d.Stat("f", &st) },
		"Lstat of nothing": func() error { return alright(sys.IsNotExist(d.Lstat("none", &st))) },
		"File.Stat":        func() error { return f.Stat(&st) },
		"ReadAt":           func() error { n, err := f.ReadAt(buf, 0); return alright(n > 0 && err == nil) },
		"Read at the end":  func() error { n, err := f.ReadAt(buf, 1<<20); return alright(n == 0 && err != nil) },
		"WriteAt":          func() error { n, err := f.WriteAt(buf[:5], 0); return alright(n == 5 && err == nil) },
		"File.SetTimes":    func() error { return f.SetTimes(&someTime, &someTime) },
		"Chmod and Chown":  func() error { return errors.Join(f.Chmod(0o600), f.Chown(-1, -1)) },
		"Truncate":         func() error { return f.Truncate(5) },
		"SeekData":         func() error { n, err := f.SeekData(0); return alright(n == 0 && err == nil) },
		"ListXattr":        func() error { n, err := f.ListXattr(buf); return alright(n == 0 && err == nil) },
		"CopyRange":        func() error { n, err := f.CopyRange(&f, 0, 4096, 0); return alright(n == 0 && err == nil) },
		"Read":             func() error { var err error; list, err = d.Read(buf, list[:0]); return err },
		"Rename":           func() error { return errors.Join(d.Rename("f", d, "f2"), d.Rename("f2", d, "f")) },
	} {
		try(t, call())
		if n := testing.AllocsPerRun(50, func() {
			if err := call(); err != nil {
				t.Fatal(what, err)
			}
		}); n > 0 {
			t.Errorf("%s allocates %v times", what, n)
		}
	}
}

var errWrong = errors.New("not what was expected")

func alright(b bool) error {
	if b {
		return nil
	}
	return errWrong
}

// TestLongPath opens a directory by a path longer than the kernel takes.
func TestLongPath(t *testing.T) {
	top := t.TempDir()
	d := openRoot(t, top)
	name := strings.Repeat("n", 200)
	path := top
	var dirs []*sys.Dir
	for len(path) < 3*unix.PathMax {
		try(t, d.Mkdir(name, 0o700))
		sub, err := d.OpenDir(name)
		try(t, err)
		dirs = append(dirs, sub)
		d, path = sub, path+"//"+name
	}
	write(t, d, "here", "")
	for _, p := range []string{path, path + "/", path + strings.Repeat("/", 5000), strings.Replace(path, "//", strings.Repeat("/", 5000), 1)} {
		long, err := sys.OpenRoot(p)
		try(t, err)
		var st sys.Stat
		if err := long.Lstat("here", &st); err != nil {
			t.Error(err)
		}
		try(t, long.Close())
	}
	if _, err := sys.OpenRoot(path + "/none"); !sys.IsNotExist(err) {
		t.Errorf("a path to nothing: %v", err)
	}
	if _, err := sys.OpenRoot(top + "/" + strings.Repeat("n", 5000)); !errors.Is(err, unix.ENAMETOOLONG) {
		t.Errorf("a name too long: %v", err)
	}
	t.Chdir(top)
	long, err := sys.OpenRoot(strings.TrimPrefix(path, top+"//"))
	try(t, err, long.Close())
	for i := len(dirs) - 1; i >= 0; i-- {
		try(t, dirs[i].Close())
	}
}

func TestUmask(t *testing.T) {
	old := unix.Umask(0o027)
	defer unix.Umask(old)
	for _, fault := range []error{nil, unix.ENOENT} { // with /proc and without
		if fault != nil {
			failing(t, map[string]error{"openat": fault})
		}
		for range 2 { // asking changes nothing
			if m, err := sys.Umask(); m != 0o027 || err != nil {
				t.Errorf("Umask %o, %v", m, err)
			}
		}
	}
	if uid, gid := sys.Owner(); int(uid) != os.Geteuid() || int(gid) != os.Getegid() {
		t.Errorf("Owner %d, %d", uid, gid)
	}
}

// TestOlderKernels takes the ways around calls that are missing.
func TestOlderKernels(t *testing.T) {
	d := openRoot(t, t.TempDir())
	write(t, d, "f", "old")
	write(t, d, "g", "other")
	try(t, d.Mkdir("dir", 0o700), d.Symlink("f", "link"), d.Chmod("f", 0o600))
	failing(t, map[string]error{"renameat2": unix.EINVAL, "fchmodat2": unix.EOPNOTSUPP})
	if err := d.RenameNew("f", d, "g"); !sys.IsExist(err) {
		t.Errorf("RenameNew replaced: %v", err)
	}
	try(t, d.RenameNew("f", d, "h"), d.RenameNew("dir", d, "dir2"), d.RenameNew("h", d, "f"))
	if err := d.RenameNew("dir2", d, "g"); err == nil {
		t.Error("a directory over a file")
	}
	try(t, d.Chmod("f", 0o4751))
	if err := d.Chmod("link", 0o777); !sys.NotSupported(err) {
		t.Errorf("Chmod of a link: %v", err)
	}
	var st sys.Stat
	try(t, d.Lstat("f", &st))
	if st.Mode&sys.PermMask != 0o4751 {
		t.Errorf("mode %o", st.Mode)
	}
}

// TestOpenFIFO: opening one never waits for its other end.
func TestOpenFIFO(t *testing.T) {
	d := openRoot(t, t.TempDir())
	try(t, d.Mknod("fifo", sys.TypeFIFO|0o600, 0))
	var f sys.File
	try(t, d.Open(&f, "fifo", sys.ReadOnly, 0), f.Close())
	if err := d.Open(&f, "fifo", sys.WriteOnly, 0); !errors.Is(err, sys.ErrNoDevice) {
		t.Errorf("Open for writing: %v", err)
	}
}

// TestXattrs: on a file, by name, and on a symbolic link itself.
func TestXattrs(t *testing.T) {
	loopfs.Each(t, 0, func(t *testing.T, top string) {
		d := openRoot(t, top)
		write(t, d, "f", "")
		try(t, d.Symlink("f", "link"))
		var f sys.File
		try(t, d.Open(&f, "f", sys.ReadOnly, 0), f.SetXattr("user.a", []byte("file")))
		defer f.Close()
		try(t, d.SetXattr("link", "trusted.l", []byte("link")))
		buf := make([]byte, 100)
		for _, c := range []struct{ name, attr, want string }{{"f", "user.a", "file"}, {"link", "trusted.l", "link"}} {
			n, err := d.GetXattr(c.name, c.attr, buf)
			if err != nil || string(buf[:n]) != c.want {
				t.Errorf("%s of %s: %q, %v", c.attr, c.name, buf[:n], err)
			}
			n, err = d.ListXattr(c.name, buf)
			if err != nil || string(buf[:n]) != c.attr+"\x00" {
				t.Errorf("list of %s: %q, %v", c.name, buf[:n], err)
			}
			if n, err := d.GetXattr(c.name, c.attr, nil); n != len(c.want) || err != nil {
				t.Errorf("length of %s: %d, %v", c.attr, n, err)
			}
			if _, err := d.GetXattr(c.name, c.attr, buf[:1]); !sys.TooSmall(err) {
				t.Errorf("a short buffer: %v", err)
			}
			if _, err := d.ListXattr(c.name, buf[:1]); !sys.TooSmall(err) {
				t.Errorf("a short list: %v", err)
			}
		}
		if n, err := f.ListXattr(nil); n != len("user.a")+1 || err != nil {
			t.Errorf("length of a list: %d, %v", n, err)
		}
		if _, err := d.GetXattr("link", "user.a", buf); !sys.NoXattr(err) {
			t.Errorf("through the link: %v", err)
		}
		if _, err := f.GetXattr("trusted.l", buf); !sys.NoXattr(err) {
			t.Errorf("the link's attribute is on the file: %v", err)
		}
		try(t, d.RemoveXattr("link", "trusted.l"), f.RemoveXattr("user.a"))
		if err := f.RemoveXattr("user.a"); !sys.NoXattr(err) {
			t.Errorf("removed twice: %v", err)
		}
	})
}

// TestHoles: data, holes, allocation, clones and copies in the kernel, where the
// file system has them.
func TestHoles(t *testing.T) {
	loopfs.Each(t, 0, func(t *testing.T, top string) {
		d := openRoot(t, top)
		kind := filepath.Base(t.Name())
		const block = 64 << 10
		var f, g sys.File
		try(t, d.Open(&f, "f", sys.ReadWrite|sys.CreateNew, 0o600), d.Open(&g, "g", sys.ReadWrite|sys.CreateNew, 0o600))
		defer f.Close()
		defer g.Close()
		data := []byte(strings.Repeat("x", block))
		for off := int64(0); off < 4*block; off += 2 * block {
			_, err := f.WriteAt(data, off)
			try(t, err)
		}
		try(t, f.Truncate(4*block), f.Sync())
		for _, c := range []struct{ off, data, hole int64 }{{0, 0, block}, {block, 2 * block, block}, {2*block + 1, 2*block + 1, 3 * block}} {
			data, err := f.SeekData(c.off)
			hole, err2 := f.SeekHole(c.off)
			if data != c.data || hole != c.hole || err != nil || err2 != nil {
				t.Errorf("at %d: data %d, hole %d, %v, %v", c.off, data, hole, err, err2)
			}
		}
		if _, err := f.SeekData(3 * block); !sys.NoMoreData(err) {
			t.Errorf("behind the data: %v", err)
		}
		n, err := g.CopyRange(&f, 0, 0, 1<<62)
		if err != nil || n == 0 {
			t.Errorf("CopyRange: %d, %v", n, err)
		}
		err = g.Clone(&f)
		if clones := kind == "xfs" || kind == "btrfs"; clones && err != nil || !clones && !sys.TryAnotherWay(err) {
			t.Errorf("Clone: %v", err)
		}
		var st sys.Stat
		try(t, f.Punch(0, 4*block), f.Sync(), f.Stat(&st))
		if st.Size != 4*block || st.Blocks > 16 {
			t.Errorf("punched: %d bytes, %d blocks", st.Size, st.Blocks)
		}
		if err := f.Allocate(4*block, block); err != nil {
			t.Errorf("Allocate: %v", err)
		}
		if try(t, f.Stat(&st)); st.Size != 4*block {
			t.Errorf("Allocate changed the size to %d", st.Size)
		}
		try(t, d.SyncFS(), f.SyncFS())
	})
}

// TestTryAnotherWay: errors of a disk that is full or broken are final.
func TestTryAnotherWay(t *testing.T) {
	final := []error{unix.ENOSPC, unix.EDQUOT, unix.EIO, unix.EFBIG, unix.EROFS, unix.ENOMEM, errWrong, nil}
	for _, err := range final {
		if sys.TryAnotherWay(err) {
			t.Errorf("%v: tried again", err)
		}
	}
	for _, err := range []error{
		unix.EXDEV, unix.EINVAL, unix.ENOSYS, unix.EOPNOTSUPP, unix.ENOTTY, unix.EPERM, unix.EACCES, unix.ETXTBSY, unix.EBADF, unix.ENOENT,
	} {
		if !sys.TryAnotherWay(&os.PathError{Op: "clone", Path: "x", Err: err}) {
			t.Errorf("%v: final", err)
		}
	}
}
