package sys_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gohaul/haul/internal/sys"
)

var someTime = sys.Time{Sec: 1_000_000_000, Nsec: 123_456_789}

func openRoot(t testing.TB, path string) *sys.Dir {
	t.Helper()
	d, err := sys.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// try ends the test at an error of f.
func try(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func write(t testing.TB, d *sys.Dir, name, content string) {
	t.Helper()
	var f sys.File
	try(t, d.Open(&f, name, sys.WriteOnly|sys.CreateAny, 0o600), f.Truncate(0))
	_, err := f.WriteAt([]byte(content), 0)
	try(t, err, f.Close())
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	try(t, err)
	return string(b)
}

// onName is every method that takes the name of an entry.
var onName = map[string]func(d *sys.Dir, name string) error{
	"OpenDir": func(d *sys.Dir, n string) error {
		sub, err := d.OpenDir(n)
		if err == nil {
			sub.Close()
		}
		return err
	},
	"OpenDirFollow": func(d *sys.Dir, n string) error {
		sub, err := d.OpenDirFollow(n)
		if err == nil {
			sub.Close()
		}
		return err
	},
	"Open": func(d *sys.Dir, n string) error {
		var f sys.File
		err := d.Open(&f, n, sys.ReadOnly, 0)
		if err == nil {
			f.Close()
		}
		return err
	},
	"create": func(d *sys.Dir, n string) error {
		var f sys.File
		err := d.Open(&f, n, sys.WriteOnly|sys.CreateAny, 0o600)
		if err == nil {
			f.Close()
		}
		return err
	},
	"OpenFollow": func(d *sys.Dir, n string) error {
		var f sys.File
		err := d.OpenFollow(&f, n, sys.ReadOnly)
		if err == nil {
			f.Close()
		}
		return err
	},
	"Lstat":       func(d *sys.Dir, n string) error { var st sys.Stat; return d.Lstat(n, &st) },
	"Stat":        func(d *sys.Dir, n string) error { var st sys.Stat; return d.Stat(n, &st) },
	"Mkdir":       func(d *sys.Dir, n string) error { return d.Mkdir(n, 0o700) },
	"Symlink":     func(d *sys.Dir, n string) error { return d.Symlink("x", n) },
	"Readlink":    func(d *sys.Dir, n string) error { _, err := d.Readlink(n); return err },
	"Mknod":       func(d *sys.Dir, n string) error { return d.Mknod(n, sys.TypeFIFO|0o600, 0) },
	"Remove":      func(d *sys.Dir, n string) error { return d.Remove(n) },
	"RemoveDir":   func(d *sys.Dir, n string) error { return d.RemoveDir(n) },
	"Link from":   func(d *sys.Dir, n string) error { return d.Link(d, n, "new") },
	"Link to":     func(d *sys.Dir, n string) error { return d.Link(d, "file", n) },
	"LinkFollow":  func(d *sys.Dir, n string) error { return d.LinkFollow(d, "file", n) },
	"Rename from": func(d *sys.Dir, n string) error { return d.Rename(n, d, "new") },
	"Rename to":   func(d *sys.Dir, n string) error { return d.Rename("file", d, n) },
	"RenameNew":   func(d *sys.Dir, n string) error { return d.RenameNew("file", d, n) },
	"Exchange":    func(d *sys.Dir, n string) error { return d.Exchange("file", d, n) },
	"Chown":       func(d *sys.Dir, n string) error { return d.Chown(n, -1, -1) },
	"Chmod":       func(d *sys.Dir, n string) error { return d.Chmod(n, 0o600) },
	"SetTimes":    func(d *sys.Dir, n string) error { return d.SetTimes(n, nil, &someTime) },
	"ListXattr":   func(d *sys.Dir, n string) error { _, err := d.ListXattr(n, nil); return err },
	"GetXattr":    func(d *sys.Dir, n string) error { _, err := d.GetXattr(n, "user.a", nil); return err },
	"SetXattr":    func(d *sys.Dir, n string) error { return d.SetXattr(n, "user.a", nil) },
	"RemoveXattr": func(d *sys.Dir, n string) error { return d.RemoveXattr(n, "user.a") },
}

// TestNamesThatLeave: no method takes a name that is more than a name, and none
// of them touches anything by it.
func TestNamesThatLeave(t *testing.T) {
	top := t.TempDir()
	in := filepath.Join(top, "in")
	try(t, os.Mkdir(in, 0o700), os.Mkdir(filepath.Join(in, "sub"), 0o700))
	try(t, os.WriteFile(filepath.Join(top, "outside"), []byte("keep"), 0o600))
	d := openRoot(t, in)
	write(t, d, "file", "x")
	listing := func() (list []string) {
		try(t, filepath.WalkDir(top, func(p string, e fs.DirEntry, err error) error {
			info, _ := e.Info()
			list = append(list, fmt.Sprint(p, info.Mode(), info.ModTime()))
			return err
		}))
		return list
	}
	before := listing()
	bad := []string{
		"", "..", "../outside", "sub/../../outside", "sub/", "/", filepath.Join(top, "outside"), "./file",
		"fi\x00le", "\x00", "file\x00", strings.Repeat("x", sys.NameMax+1), strings.Repeat("x", 5000),
	}
	for what, call := range onName {
		for _, name := range bad {
			if err := call(d, name); err == nil {
				t.Errorf("%s took %.20q", what, name)
			}
		}
	}
	if after := listing(); !slices.Equal(before, after) {
		t.Errorf("something was touched:\n%s\n%s", before, after)
	}
	longest := strings.Repeat("x", sys.NameMax)
	write(t, d, longest, "y")
	try(t, d.Remove(longest))
}

// TestLinksNotFollowed plants symbolic links to a file and to a directory
// outside: no method reaches what they lead to.
func TestLinksNotFollowed(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"in", "out"} {
		try(t, os.Mkdir(filepath.Join(top, dir), 0o700))
	}
	victim := filepath.Join(top, "out", "victim")
	try(t, os.WriteFile(victim, []byte("keep"), 0o640))
	try(t, os.Chtimes(victim, someTime.Std(), someTime.Std()))
	d := openRoot(t, filepath.Join(top, "in"))
	try(t, d.Symlink(victim, "file"), d.Symlink(filepath.Join(top, "out"), "dir"), d.Symlink("nowhere", "dangling"))

	for _, name := range []string{"file", "dir", "dangling"} {
		var st sys.Stat
		try(t, d.Lstat(name, &st))
		if !st.IsSymlink() {
			t.Errorf("Lstat of %s gives mode %o", name, st.Mode)
		}
		for _, what := range []string{"OpenDir", "Open", "create", "Chmod"} {
			if err := onName[what](d, name); err == nil {
				t.Errorf("%s followed %s", what, name)
			}
		}
		if err := onName["Open"](d, name); !sys.Symlink(err) {
			t.Errorf("Open of %s: %v", name, err)
		}
		if err := onName["OpenDir"](d, name); !sys.NotDir(err) {
			t.Errorf("OpenDir of %s: %v", name, err)
		}
		if err := d.SetTimes(name, &sys.Time{}, &sys.Time{}); err != nil && !sys.NotSupported(err) {
			t.Errorf("SetTimes of %s: %v", name, err)
		}
		if err := d.Chown(name, os.Getuid(), os.Getgid()); err != nil {
			t.Errorf("Chown of %s: %v", name, err)
		}
		if err := d.SetXattr(name, "user.a", []byte("1")); err == nil {
			t.Errorf("SetXattr of %s gave a link a user attribute", name)
		}
		if err := d.Link(d, name, name+"2"); err != nil {
			t.Errorf("Link of %s: %v", name, err)
		}
		if target, err := d.Readlink(name + "2"); err != nil {
			t.Errorf("a link to link %s leads on: %q, %v", name, target, err)
		}
		try(t, d.Rename(name+"2", d, name), d.Remove(name))
	}
	info, err := os.Lstat(victim)
	try(t, err)
	if read(t, victim) != "keep" || info.Mode() != 0o640 || !info.ModTime().Equal(someTime.Std()) {
		t.Errorf("the file behind the link was changed: %v %v", info.Mode(), info.ModTime())
	}
	if left, _ := os.ReadDir(filepath.Join(top, "out")); len(left) != 1 {
		t.Errorf("the directory behind the link holds %v", left)
	}
}

// TestFollow: where it is asked for, links are followed.
func TestFollow(t *testing.T) {
	top := t.TempDir()
	d := openRoot(t, top)
	try(t, d.Mkdir("real", 0o700), d.Symlink("real", "dir"), d.Symlink("real/file", "link"))
	try(t, os.WriteFile(filepath.Join(top, "real/file"), []byte("content"), 0o600))
	sub, err := d.OpenDirFollow("dir")
	try(t, err)
	defer sub.Close()
	var st, real sys.Stat
	try(t, sub.Lstat("file", &st))
	try(t, d.Stat("link", &real))
	if !st.Same(&real) || !real.IsRegular() {
		t.Errorf("Stat through the link: %v", real)
	}
	var f sys.File
	try(t, d.OpenFollow(&f, "link", sys.ReadOnly), f.Stat(&st), f.Close())
	if !st.Same(&real) {
		t.Errorf("OpenFollow came to %v", st)
	}
	try(t, d.LinkFollow(d, "link", "hard"), d.Lstat("hard", &st))
	if !st.Same(&real) {
		t.Errorf("LinkFollow linked %v", st)
	}
	same, err := sys.Within(filepath.Join(top, "dir"), &st)
	if err != nil || same {
		t.Errorf("Within a file: %v, %v", same, err)
	}
	var rootStat sys.Stat
	try(t, sys.StatPath(top, true, &rootStat))
	for path, want := range map[string]bool{top: true, filepath.Join(top, "dir"): true, filepath.Dir(top): false} {
		if got, err := sys.Within(path, &rootStat); err != nil || got != want {
			t.Errorf("Within(%s): %v, %v", path, got, err)
		}
	}
}

// TestNamesBetween moves and links between directories that are one, beneath
// each other, and beneath different roots.
func TestNamesBetween(t *testing.T) {
	top := t.TempDir()
	d := openRoot(t, top)
	try(t, d.Mkdir("a", 0o700))
	a, err := d.OpenDir("a")
	try(t, err)
	defer a.Close()
	try(t, a.Mkdir("b", 0o700))
	b, err := a.OpenDir("b")
	try(t, err)
	defer b.Close()
	try(t, os.Mkdir(filepath.Join(top, "other"), 0o700))
	other := openRoot(t, filepath.Join(top, "other"))

	dirs := []*sys.Dir{d, a, b, other}
	for i, from := range dirs {
		for j, to := range dirs {
			write(t, from, "f", "new")
			try(t, from.Rename("f", to, "g"))
			if got := read(t, filepath.Join(to.Path(), "g")); got != "new" {
				t.Errorf("%d to %d: %q", i, j, got)
			}
			write(t, from, "f", "newer")
			if err := from.RenameNew("f", to, "g"); !sys.IsExist(err) {
				t.Errorf("RenameNew replaced: %v", err)
			}
			var le *os.LinkError
			if err := to.Link(from, "f", "g"); !sys.IsExist(err) || !errors.As(err, &le) || le.Old != from.Join("f") || le.New != to.Join("g") {
				t.Errorf("Link over a name: %v", err)
			}
			if got := read(t, filepath.Join(to.Path(), "g")); got != "new" {
				t.Errorf("%d to %d: replaced by %q", i, j, got)
			}
			try(t, to.Remove("g"), to.Link(from, "f", "g"), from.Remove("f"))
			try(t, to.RenameNew("g", to, "h"), to.Rename("h", from, "f"), from.Remove("f"))
		}
	}
	// A directory, by the step that replaces nothing.
	try(t, a.RenameNew("b", d, "moved"))
	if _, err := os.Stat(filepath.Join(top, "moved")); err != nil {
		t.Error(err)
	}
}

func TestRemove(t *testing.T) {
	d := openRoot(t, t.TempDir())
	try(t, d.Mkdir("dir", 0o700), d.Symlink("dir", "link"))
	write(t, d, "file", "")
	if err := d.Remove("dir"); err == nil {
		t.Error("Remove took a directory")
	}
	for _, name := range []string{"file", "link"} {
		if err := d.RemoveDir(name); !sys.NotDir(err) {
			t.Errorf("RemoveDir of %s: %v", name, err)
		}
	}
	sub, err := d.OpenDir("dir")
	try(t, err)
	write(t, sub, "x", "")
	if err := d.RemoveDir("dir"); !sys.NotEmpty(err) {
		t.Errorf("RemoveDir of a full one: %v", err)
	}
	try(t, sub.Remove("x"), sub.Close(), d.RemoveDir("dir"), d.Remove("link"), d.Remove("file"))
	if err := d.Remove("file"); !sys.IsNotExist(err) {
		t.Errorf("Remove again: %v", err)
	}
}

func TestFile(t *testing.T) {
	d := openRoot(t, t.TempDir())
	var f sys.File
	if f.IsOpen() || f.Close() != nil {
		t.Error("the zero File is not closed")
	}
	var pe *fs.PathError
	if err := d.Open(&f, "none", sys.ReadOnly, 0); !sys.IsNotExist(err) || !errors.As(err, &pe) || pe.Path != d.Join("none") || pe.Op != "open" {
		t.Errorf("Open of nothing: %v", err)
	}
	try(t, d.Open(&f, "f", sys.ReadWrite|sys.CreateNew, 0o640))
	if err := d.Open(new(sys.File), "f", sys.ReadWrite|sys.CreateNew, 0o640); !sys.IsExist(err) {
		t.Errorf("CreateNew over a file: %v", err)
	}
	if n, err := f.WriteAt([]byte("hello"), 3); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	buf := make([]byte, 100)
	if n, err := f.ReadAt(buf, 0); n != 8 || err != nil || string(buf[:n]) != "\x00\x00\x00hello" {
		t.Errorf("ReadAt: %q, %v", buf[:n], err)
	}
	if n, err := f.ReadAt(buf, 8); n != 0 || err == nil || err.Error() != "EOF" {
		t.Errorf("ReadAt at the end: %d, %v", n, err)
	}
	try(t, f.Truncate(5), f.Chmod(0o4750), f.SetTimes(nil, &someTime), f.Sync(), f.DataSync())
	var st, by sys.Stat
	try(t, f.Stat(&st), d.Lstat("f", &by))
	if st != by || st.Size != 5 || st.Mode != sys.TypeRegular|0o4750 || st.Mtime != someTime {
		t.Errorf("Stat %+v, Lstat %+v", st, by)
	}
	atime := st.Atime
	try(t, f.SetTimes(&sys.Time{Sec: 5}, nil), d.SetTimes("f", nil, &sys.Time{Sec: 6, Nsec: 7}), d.Chmod("f", 0o600), f.Stat(&st))
	if st.Atime != (sys.Time{Sec: 5}) || st.Mtime != (sys.Time{Sec: 6, Nsec: 7}) || st.Mode&sys.PermMask != 0o600 || atime == st.Atime {
		t.Errorf("Stat %+v", st)
	}
	space, err := f.Space()
	if err != nil || space.BlockSize <= 0 || space.Blocks == 0 {
		t.Errorf("Space %+v, %v", space, err)
	}
	if f.Anonymous() {
		t.Error("a file of a directory is anonymous")
	}
	try(t, f.Close())
	if f.IsOpen() || f.Close() != nil {
		t.Error("still open")
	}
}

// TestFIFO: nothing to read is told and not waited for; what comes is read.
func TestFIFO(t *testing.T) {
	top := t.TempDir()
	d := openRoot(t, top)
	try(t, d.Mknod("fifo", sys.TypeFIFO|0o600, 0))
	var f sys.File
	try(t, d.Open(&f, "fifo", sys.ReadOnly, 0))
	defer f.Close()
	w, err := os.OpenFile(filepath.Join(top, "fifo"), os.O_RDWR, 0)
	try(t, err)
	defer w.Close()
	buf := make([]byte, 10)
	for range 2 {
		if n, err := f.Read(buf); n != 0 || !sys.WouldBlock(err) {
			t.Errorf("read %d, %v", n, err)
		}
		try(t, f.Ready(1))
		_, err = w.WriteString("hello")
		try(t, err)
		if n, err := f.Read(buf); n != 5 || err != nil {
			t.Errorf("read %d, %v", n, err)
		}
	}
}

// TestWith: a directory as a file, to describe, change and sync it.
func TestWith(t *testing.T) {
	top := t.TempDir()
	d := openRoot(t, top)
	try(t, d.With(func(f *sys.File) error {
		var st sys.Stat
		return errors.Join(f.Chmod(0o711), f.SetTimes(&someTime, &someTime), f.Sync(), f.Stat(&st))
	}))
	info, err := os.Stat(top)
	try(t, err)
	if info.Mode().Perm() != 0o711 || !info.ModTime().Equal(someTime.Std()) {
		t.Errorf("%v %v", info.Mode(), info.ModTime())
	}
}

// TestRead: all entries come once, whatever the size of the buffer, and again
// after Rewind.
func TestRead(t *testing.T) {
	d := openRoot(t, t.TempDir())
	want := map[string]uint32{}
	for i := range 300 {
		name := fmt.Sprintf("%d-%s", i, strings.Repeat("n", i%200))
		want[name] = sys.TypeRegular
		write(t, d, name, "")
	}
	try(t, d.Mkdir("dir", 0o700), d.Symlink("x", "link"), d.Mknod("fifo", sys.TypeFIFO|0o600, 0))
	want["dir"], want["link"], want["fifo"] = sys.TypeDir, sys.TypeSymlink, sys.TypeFIFO
	for _, size := range []int{512, 4096, 64 << 10} {
		buf := make([]byte, size)
		got := map[string]uint32{}
		for {
			list, err := d.Read(buf, nil)
			try(t, err)
			if len(list) == 0 {
				break
			}
			for _, e := range list {
				if _, twice := got[e.Name]; twice {
					t.Errorf("%q came twice", e.Name)
				}
				got[strings.Clone(e.Name)] = e.Type
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("buffer of %d: %d entries, want %d", size, len(got), len(want))
		}
		try(t, d.Rewind())
	}
}

func TestPaths(t *testing.T) {
	top := t.TempDir()
	d := openRoot(t, top+"/")
	try(t, d.Mkdir("a", 0o700))
	a, err := d.OpenDir("a")
	try(t, err)
	defer a.Close()
	for got, want := range map[string]string{
		d.Path(): top + "/", d.Join("x"): filepath.Join(top, "x"), a.Path(): filepath.Join(top, "a"),
		a.Join("x"): filepath.Join(top, "a", "x"), a.Join("."): filepath.Join(top, "a"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRetain: a directory lives until its last reference, and as long as one
// beneath it.
func TestRetain(t *testing.T) {
	d, err := sys.OpenRoot(t.TempDir())
	try(t, err, d.Mkdir("a", 0o700))
	a, err := d.OpenDir("a")
	try(t, err, d.Retain().Close(), d.Close())
	write(t, a, "f", "")
	try(t, d.Mkdir("b", 0o700), a.Close())
	if err := d.Mkdir("c", 0o700); err == nil {
		t.Error("closed, and yet of use")
	}
}

func TestFileMode(t *testing.T) {
	for unix, std := range map[uint32]fs.FileMode{
		sys.TypeRegular | 0o644: 0o644, sys.TypeDir | 0o1777: fs.ModeDir | fs.ModeSticky | 0o777,
		sys.TypeSymlink | 0o777: fs.ModeSymlink | 0o777, sys.TypeFIFO: fs.ModeNamedPipe, sys.TypeSocket: fs.ModeSocket,
		sys.TypeBlock: fs.ModeDevice, sys.TypeChar: fs.ModeDevice | fs.ModeCharDevice,
		sys.TypeRegular | 0o6711: fs.ModeSetuid | fs.ModeSetgid | 0o711,
	} {
		if got := sys.FileMode(unix); got != std {
			t.Errorf("FileMode(%o) is %v, want %v", unix, got, std)
		}
		if got := sys.Perm(std); got != unix&sys.PermMask {
			t.Errorf("Perm(%v) is %o", std, got)
		}
	}
}

func TestTime(t *testing.T) {
	if got := sys.TimeOf(someTime.Std()); got != someTime {
		t.Errorf("%v", got)
	}
	for _, c := range []struct {
		a, b sys.Time
		want bool
	}{
		{sys.Time{Sec: 1}, sys.Time{Sec: 2}, true}, {sys.Time{Sec: 2}, sys.Time{Sec: 1, Nsec: 9}, false},
		{sys.Time{Sec: 1, Nsec: 1}, sys.Time{Sec: 1, Nsec: 2}, true}, {sys.Time{Sec: 1}, sys.Time{Sec: 1}, false},
		{sys.Time{Sec: -1}, sys.Time{}, true},
	} {
		if c.a.Before(c.b) != c.want {
			t.Errorf("%v before %v", c.a, c.b)
		}
	}
}
