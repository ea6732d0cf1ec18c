package meta_test

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/sys"
)

var someTime = sys.Time{Sec: 1_000_000_000, Nsec: 123_456_789}

func root(t testing.TB, path string) *sys.Dir {
	t.Helper()
	d, err := sys.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func create(t testing.TB, d *sys.Dir, name string, perm uint32) *sys.File {
	t.Helper()
	f := new(sys.File)
	if err := d.Open(f, name, sys.ReadWrite|sys.CreateNew, perm); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// calls collects the system calls of f by name.
func calls(t testing.TB, f func()) []string {
	t.Helper()
	var list []string
	restore := sys.Inject(func(o sys.Op) sys.Fault {
		list = append(list, o.Call)
		return sys.Fault{}
	})
	defer restore()
	f()
	return list
}

// fresh makes a file as a copier does and tells what it is.
func fresh(t testing.TB, d *sys.Dir, name string) (*sys.File, meta.Have, *meta.Meta) {
	t.Helper()
	f := create(t, d, name, 0o600)
	var m meta.Meta
	if err := f.Stat(&m.Stat); err != nil {
		t.Fatal(err)
	}
	have := meta.Have{UID: m.UID, GID: m.GID, Mode: m.Mode}
	m.Atime, m.Mtime = someTime, someTime
	return f, have, &m
}

// TestApplyOneCall: what is right already costs nothing, and the times one call.
func TestApplyOneCall(t *testing.T) {
	d := root(t, t.TempDir())
	f, have, m := fresh(t, d, "f")
	var r meta.Reader
	got := calls(t, func() {
		if skipped, err := r.Apply(meta.Object{File: f}, m, &meta.Policy{Which: meta.All}, have); err != nil || skipped != 0 {
			t.Fatal(skipped, err)
		}
	})
	if !slices.Equal(got, []string{"utimensat"}) {
		t.Errorf("calls %v", got)
	}
	var st meta.Stat
	if err := f.Stat(&st); err != nil {
		t.Fatal(err)
	}
	if st.Mtime != someTime || st.Atime != someTime {
		t.Errorf("times %v, %v", st.Atime, st.Mtime)
	}
	m.Mode ^= 0o044
	got = calls(t, func() {
		if _, err := r.Apply(meta.Object{File: f}, m, &meta.Policy{Which: meta.Mode}, have); err != nil {
			t.Fatal(err)
		}
	})
	if !slices.Equal(got, []string{"fchmod"}) {
		t.Errorf("calls %v", got)
	}
}

func TestNoAllocation(t *testing.T) {
	d := root(t, t.TempDir())
	f, have, m := fresh(t, d, "f")
	var r meta.Reader
	p := &meta.Policy{Which: meta.All}
	var got meta.Meta
	if err := r.Read(meta.Object{File: f}, meta.All, &got); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := r.Apply(meta.Object{File: f}, m, p, have); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Apply allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		if err := r.Read(meta.Object{File: f}, meta.All, &got); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Read allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		if meta.Diff(&got, m, meta.All) != 0 {
			t.Fatal("differs")
		}
	}); n != 0 {
		t.Errorf("Diff allocates %v times", n)
	}
}

func TestFillCalls(t *testing.T) {
	d := root(t, t.TempDir())
	f, _, m := fresh(t, d, "f")
	if err := d.Symlink("there", "l"); err != nil {
		t.Fatal(err)
	}
	var r meta.Reader
	for _, c := range []struct {
		name string
		o    meta.Object
		mode uint32
		want meta.Mask
		list []string
	}{
		{"nothing wanted", meta.Object{File: f}, sys.TypeRegular, meta.Mode | meta.Owner, nil},
		{"attributes", meta.Object{File: f}, sys.TypeRegular, meta.Xattrs, []string{"flistxattr"}},
		{"attributes and ACLs", meta.Object{File: f}, sys.TypeRegular, meta.All, []string{"flistxattr"}},
		{"by name", meta.Object{Dir: d, Name: "f"}, sys.TypeRegular, meta.All, []string{"llistxattr"}},
		{"symbolic link", meta.Object{Dir: d, Name: "l"}, sys.TypeSymlink, meta.Mode | meta.ACL, []string{"readlinkat"}},
	} {
		m.Stat.Mode = c.mode
		got := calls(t, func() {
			if err := r.Fill(c.o, c.want, m); err != nil {
				t.Fatal(err)
			}
		})
		if !slices.Equal(got, c.list) {
			t.Errorf("%s: calls %v, want %v", c.name, got, c.list)
		}
	}
	if m.Target != "there" {
		t.Errorf("target %q", m.Target)
	}
}

func TestReadMissing(t *testing.T) {
	d := root(t, t.TempDir())
	var m meta.Meta
	err := new(meta.Reader).Read(meta.Object{Dir: d, Name: "none"}, meta.All, &m)
	var pe *fs.PathError
	if !errors.As(err, &pe) || pe.Path != d.Join("none") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// TestApplyRefused: who may be refused what, call by call.
func TestApplyRefused(t *testing.T) {
	d := root(t, t.TempDir())
	var me meta.Stat
	{
		f, _, _ := fresh(t, d, "me")
		if err := f.Stat(&me); err != nil {
			t.Fatal(err)
		}
	}
	user := []meta.Xattr{{Name: "user.a", Value: []byte("1")}}
	trusted := []meta.Xattr{{Name: "trusted.a", Value: []byte("1")}}
	acl := []meta.Xattr{{Name: meta.AccessACL, Value: recorded}}
	n := 0
	for _, c := range []struct {
		name    string
		change  func(m *meta.Meta)
		which   meta.Mask
		keep    bool
		deny    map[string]error // by call
		skipped meta.Mask
		err     error
		perm    uint32 // in the end
	}{
		{"owner", func(m *meta.Meta) { m.UID++; m.Mode |= 0o6755 }, meta.All, false,
			map[string]error{"fchown": syscall.EPERM}, meta.Owner, nil, 0o755},
		{"owner, set-id kept", func(m *meta.Meta) { m.UID++; m.Mode |= 0o4755 }, meta.All, true,
			map[string]error{"fchown": syscall.EPERM}, meta.Owner, nil, 0o4755},
		{"owner and group", func(m *meta.Meta) { m.UID++; m.GID++; m.Mode |= 0o1755 }, meta.All, false,
			map[string]error{"fchown": syscall.EPERM}, meta.Owner | meta.Group, nil, 0o755},
		{"no such owner here", func(m *meta.Meta) { m.UID++ }, meta.All, false,
			map[string]error{"fchown": syscall.EINVAL}, meta.Owner, nil, 0o600},
		{"owner, disk broken", func(m *meta.Meta) { m.UID++ }, meta.All, false,
			map[string]error{"fchown": syscall.EIO}, 0, syscall.EIO, 0o600},
		{"attributes unknown", func(m *meta.Meta) { m.Xattrs = user }, meta.All, false,
			map[string]error{"fsetxattr": syscall.EOPNOTSUPP}, meta.Xattrs, nil, 0o600},
		{"user attribute refused", func(m *meta.Meta) { m.Xattrs = user }, meta.All, false,
			map[string]error{"fsetxattr": syscall.EPERM}, 0, syscall.EPERM, 0o600},
		{"trusted attribute refused", func(m *meta.Meta) { m.Xattrs = trusted }, meta.All, false,
			map[string]error{"fsetxattr": syscall.EPERM}, meta.Xattrs, nil, 0o600},
		{"no room for attributes", func(m *meta.Meta) { m.Xattrs = trusted }, meta.All, false,
			map[string]error{"fsetxattr": syscall.ENOSPC}, 0, syscall.ENOSPC, 0o600},
		{"attributes not asked for", func(m *meta.Meta) { m.Xattrs = user }, meta.All &^ meta.Xattrs, false,
			map[string]error{"fsetxattr": syscall.EIO}, 0, nil, 0o600},
		{"no ACLs: the mask is not the group's", func(m *meta.Meta) { m.Xattrs = acl; m.Mode |= 0o660 }, meta.All, false,
			map[string]error{"fsetxattr": syscall.EOPNOTSUPP}, meta.ACL, nil, 0o640},
		{"no modes", func(m *meta.Meta) { m.Mode |= 0o755 }, meta.All, false,
			map[string]error{"fchmod": syscall.EPERM}, meta.Mode, nil, 0o600},
		{"mode, disk broken", func(m *meta.Meta) { m.Mode |= 0o755 }, meta.All, false,
			map[string]error{"fchmod": syscall.EIO}, 0, syscall.EIO, 0o600},
		{"times", func(m *meta.Meta) {}, meta.All, false,
			map[string]error{"utimensat": syscall.EPERM}, 0, syscall.EPERM, 0o600},
		{"no times", func(m *meta.Meta) {}, meta.All, false,
			map[string]error{"utimensat": syscall.EOPNOTSUPP}, meta.Mtime | meta.Atime, nil, 0o600},
	} {
		n++
		f, have, m := fresh(t, d, "f"+string(rune('a'+n)))
		c.change(m)
		restore := sys.Inject(func(o sys.Op) sys.Fault { return sys.Fault{Err: c.deny[o.Call]} })
		skipped, err := new(meta.Reader).Apply(meta.Object{File: f}, m, &meta.Policy{Which: c.which, KeepSetID: c.keep}, have)
		restore()
		if skipped != c.skipped || !errors.Is(err, c.err) || c.err == nil && err != nil {
			t.Errorf("%s: skipped %b, %v", c.name, skipped, err)
		}
		if err != nil && !strings.Contains(err.Error(), f.Name()) {
			t.Errorf("%s: error without the path: %v", c.name, err)
		}
		var st meta.Stat
		if err := f.Stat(&st); err != nil {
			t.Fatal(err)
		}
		if st.Mode&sys.PermMask != c.perm {
			t.Errorf("%s: mode %o, want %o", c.name, st.Mode&sys.PermMask, c.perm)
		}
	}
}

// TestOnXattr: the judge hears of every failure and decides.
func TestOnXattr(t *testing.T) {
	d := root(t, t.TempDir())
	verdict := errors.New("verdict")
	for i, answer := range []error{nil, verdict} {
		f, have, m := fresh(t, d, "f"+string(rune('0'+i)))
		m.Xattrs = []meta.Xattr{{Name: "user.a"}, {Name: "user.skip"}}
		var heard []string
		p := &meta.Policy{
			Which:      meta.All,
			SkipXattrs: func(name string) bool { return name == "user.skip" },
			OnXattr: func(attr string, err error) error {
				heard = append(heard, attr+": "+err.Error())
				return answer
			},
		}
		restore := sys.Inject(func(o sys.Op) sys.Fault {
			if o.Call == "fsetxattr" {
				return sys.Fault{Err: syscall.ENOSPC}
			}
			return sys.Fault{}
		})
		skipped, err := new(meta.Reader).Apply(meta.Object{File: f}, m, p, have)
		restore()
		if err != answer || answer == nil && skipped != meta.Xattrs {
			t.Errorf("skipped %b, %v", skipped, err)
		}
		if !slices.Equal(heard, []string{"user.a: no space left on device"}) {
			t.Errorf("heard %q", heard)
		}
	}
}

func TestDiff(t *testing.T) {
	base := func() *meta.Meta {
		return &meta.Meta{
			Stat:   meta.Stat{Mode: sys.TypeRegular | 0o640, UID: 1, GID: 2, Size: 3, Mtime: someTime, Atime: someTime},
			Xattrs: []meta.Xattr{{Name: "user.a", Value: []byte("1")}, {Name: "user.c", Value: []byte("3")}},
		}
	}
	add := func(name, value string) func(m *meta.Meta) {
		return func(m *meta.Meta) {
			m.Xattrs = append(m.Xattrs, meta.Xattr{Name: name, Value: []byte(value)})
			slices.SortFunc(m.Xattrs, func(a, b meta.Xattr) int { return strings.Compare(a.Name, b.Name) })
		}
	}
	for _, c := range []struct {
		name   string
		change func(m *meta.Meta)
		want   meta.Mask
	}{
		{"nothing", func(m *meta.Meta) {}, 0},
		{"mode", func(m *meta.Meta) { m.Mode |= 0o4000 }, meta.Mode},
		{"type", func(m *meta.Meta) { m.Mode = sys.TypeFIFO | 0o640 }, meta.Type},
		{"owner", func(m *meta.Meta) { m.UID++ }, meta.Owner},
		{"group", func(m *meta.Meta) { m.GID++ }, meta.Group},
		{"size", func(m *meta.Meta) { m.Size++ }, meta.Size},
		{"a nanosecond", func(m *meta.Meta) { m.Mtime.Nsec++ }, meta.Mtime},
		{"access", func(m *meta.Meta) { m.Atime.Sec++ }, meta.Atime},
		{"an attribute more", add("user.b", "2"), meta.Xattrs},
		{"a last one more", add("user.d", "2"), meta.Xattrs},
		{"one less", func(m *meta.Meta) { m.Xattrs = m.Xattrs[1:] }, meta.Xattrs},
		{"none", func(m *meta.Meta) { m.Xattrs = nil }, meta.Xattrs},
		{"another value", func(m *meta.Meta) { m.Xattrs[1].Value = []byte("x") }, meta.Xattrs},
		{"the target's own label", add("security.selinux", "x"), 0},
		{"a seal on the inode", add("security.evm", "x"), 0},
		{"a file system's own", add("system.nfs4_acl", "x"), 0},
		{"capabilities", add("security.capability", "x"), meta.Xattrs},
		{"an ACL", add(meta.AccessACL, string(recorded)), meta.ACL},
		{"an ACL that is only a mode", add(meta.AccessACL, string(meta.FromMode(0o640).Append(nil))), 0},
		{"a default ACL that is only a mode", add(meta.DefaultACL, string(meta.FromMode(0o640).Append(nil))), meta.ACL},
		{"a device number, of a file", func(m *meta.Meta) { m.Rdev = 5 }, 0},
	} {
		a, b := base(), base()
		c.change(b)
		all := ^meta.Mask(0)
		if got := meta.Diff(a, b, all); got != c.want {
			t.Errorf("%s: %b, want %b", c.name, got, c.want)
		}
		if got := meta.Diff(a, b, all&^c.want); got != 0 {
			t.Errorf("%s: %b though not asked", c.name, got)
		}
	}
	link := func(target string, mode uint32) *meta.Meta {
		return &meta.Meta{Stat: meta.Stat{Mode: sys.TypeSymlink | mode}, Target: target}
	}
	if got := meta.Diff(link("a", 0o777), link("b", 0o755), ^meta.Mask(0)); got != meta.Target {
		t.Errorf("links: %b", got)
	}
	dev := func(rdev uint64) *meta.Meta { return &meta.Meta{Stat: meta.Stat{Mode: sys.TypeChar, Rdev: rdev}} }
	if got := meta.Diff(dev(1), dev(2), ^meta.Mask(0)); got != meta.Rdev {
		t.Errorf("devices: %b", got)
	}
}
