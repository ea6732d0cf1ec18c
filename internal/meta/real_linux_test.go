//go:build !portable

package meta_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/loopfs"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// asUser runs f on a thread of its own as another user, without capabilities.
func asUser(t *testing.T, uid, gid int, groups []uint32, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread dies with its rights
		err := setThread(uid, gid, groups)
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatalf("needs root: %v", err)
	}
}

func setThread(uid, gid int, groups []uint32) error {
	list := make([]uint32, len(groups)+1)
	copy(list, groups)
	if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(ptr(list)), 0); e != 0 {
		return e
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)); e != 0 {
		return e
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); e != 0 {
		return e
	}
	return nil
}

// onEach runs a test on every kind of file system, in a directory all may write in.
func onEach(t *testing.T, run func(t *testing.T, dir string)) {
	t.Helper()
	loopfs.Each(t, 0, func(t *testing.T, dir string) {
		dir = filepath.Join(dir, "d")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		run(t, dir)
	})
}

// candidate is a drawn file: what it is to become, or what stands there.
type candidate struct {
	mode, uid, gid uint32
	acl            meta.PosixACL // nil: none
	xattrs         map[string]string
}

func drawCandidate(t *rapid.T, what string) candidate {
	id := rapid.Uint32Range(0, 3)
	c := candidate{
		mode: rapid.Uint32Range(0, 0o7777).Draw(t, what+"Mode"),
		uid:  id.Draw(t, what+"UID"), gid: id.Draw(t, what+"GID"),
		xattrs: map[string]string{},
	}
	if rapid.Bool().Draw(t, what+"HasACL") {
		c.acl = drawACL(t)
		c.mode = c.mode&^0o777 | c.acl.Perm()
	}
	for _, name := range []string{"user.a", "user.b", "trusted.t", "security.capability"} {
		if rapid.Bool().Draw(t, what+name) {
			c.xattrs[name] = capability
			if name != "security.capability" {
				c.xattrs[name] = rapid.StringN(0, 5, 9).Draw(t, "value")
			}
		}
	}
	return c
}

// A capability set the kernel takes: cap_net_raw, version 2.
const capability = "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

func (c candidate) put(path string) error {
	err := os.Lchown(path, int(c.uid), int(c.gid))
	for name, value := range c.xattrs {
		err = errors.Join(err, unix.Lsetxattr(path, name, []byte(value), 0))
	}
	if c.acl != nil {
		err = errors.Join(err, unix.Lsetxattr(path, meta.AccessACL, c.acl.Append(nil), 0))
	}
	return errors.Join(err, unix.Chmod(path, c.mode))
}

func (c candidate) meta() *meta.Meta {
	m := file(c.mode, c.uid, c.gid)
	m.Mtime, m.Atime = someTime, someTime
	for name, value := range c.xattrs {
		m.Xattrs = append(m.Xattrs, meta.Xattr{Name: name, Value: []byte(value)})
	}
	if c.acl != nil && !c.acl.Minimal() {
		m.Xattrs = append(m.Xattrs, meta.Xattr{Name: meta.AccessACL, Value: c.acl.Append(nil)})
	}
	slices.SortFunc(m.Xattrs, func(a, b meta.Xattr) int { return strings.Compare(a.Name, b.Name) })
	return m
}

// look tells who may do what with a file, past package sys.
func look(path string) (h holder, err error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return h, err
	}
	h = holder{st.Uid, st.Gid, meta.FromMode(st.Mode & 0o777)}
	buf := make([]byte, 4096)
	n, err := unix.Lgetxattr(path, meta.AccessACL, buf)
	if err == unix.ENODATA || err == unix.EOPNOTSUPP {
		return h, nil
	}
	if err == nil {
		h.acl, err = meta.ParseACL(buf[:n])
	}
	return h, err
}

// TestApplyAnything: whatever the source is and whatever stands at the target,
// Apply makes them alike, and at no moment, from the creation on, has anybody
// rights that he had not before and will not have after.
func TestApplyAnything(t *testing.T) {
	onEach(t, func(t *testing.T, dir string) {
		d := root(t, dir)
		path := filepath.Join(dir, "f")
		rapid.Check(t, func(t *rapid.T) {
			src := drawCandidate(t, "src")
			m := src.meta()
			p := &meta.Policy{Which: meta.All}
			var before holder
			var have meta.Have
			isNew := rapid.Bool().Draw(t, "new")
			defaultACL := isNew && rapid.Bool().Draw(t, "defaultACL")
			if defaultACL {
				acl := drawACL(t).Append(nil)
				if err := unix.Setxattr(dir, meta.DefaultACL, acl, 0); err != nil {
					t.Fatal(err)
				}
			}
			unix.Umask(0)
			if isNew {
				gid := uint32(0)
				if defaultACL {
					gid = meta.Unknown
				}
				perm := meta.SafeCreatePerm(m, p, 0, gid)
				have = meta.Have{Mode: perm, Xattrs: defaultACL}
				var f sys.File
				if err := d.Open(&f, "f", sys.WriteOnly|sys.CreateNew, perm); err != nil {
					t.Fatal(err)
				}
				f.Close()
				if defaultACL { // the mask has cut the mode
					var st sys.Stat
					d.Lstat("f", &st)
					have.Mode = st.Mode
				}
				before = holder{0, 0, meta.FromMode(0)}
			} else {
				old := drawCandidate(t, "old")
				if err := errors.Join(os.WriteFile(path, []byte("old"), 0o600), old.put(path)); err != nil {
					t.Fatal(err)
				}
				have = meta.Have{UID: old.uid, GID: old.gid, Mode: old.mode, Xattrs: true}
				var err error
				if before, err = look(path); err != nil {
					t.Fatal(err)
				}
			}
			defer os.Remove(path)
			defer unix.Removexattr(dir, meta.DefaultACL)

			after := holder{src.uid, src.gid, meta.FromMode(src.mode)}
			if src.acl != nil {
				after.acl = src.acl
			}
			moment := func(call string) {
				now, err := look(path)
				if err != nil {
					t.Fatal(err)
				}
				everybody(func(u, g uint32) {
					if u == now.uid || u == after.uid || u == before.uid {
						return // owners give themselves what they like
					}
					if extra := now.rights(u, g) &^ (before.rights(u, g) | after.rights(u, g)); extra != 0 {
						t.Fatalf("at %s user %d of group %d may %o: %v", call, u, g, extra, now)
					}
				})
			}
			var o meta.Object
			if rapid.Bool().Draw(t, "byName") {
				o = meta.Object{Dir: d, Name: "f"}
			} else {
				o.File = new(sys.File)
				if err := d.Open(o.File, "f", sys.ReadOnly, 0); err != nil {
					t.Fatal(err)
				}
				defer o.File.Close()
			}
			restore := sys.Inject(func(op sys.Op) sys.Fault { moment(op.Call); return sys.Fault{} })
			var r meta.Reader
			skipped, err := r.Apply(o, m, p, have)
			restore()
			moment("the end")
			if err != nil || skipped != 0 {
				t.Fatalf("skipped %b, %v", skipped, err)
			}
			var got meta.Meta
			if err := r.Read(o, meta.All, &got); err != nil {
				t.Fatal(err)
			}
			got.Atime = m.Atime // reading the directory may have changed it
			if diff := meta.Diff(m, &got, meta.All); diff != 0 {
				t.Fatalf("differs in %b: want %v, got %v", diff, m, got)
			}
		})
	})
}

// TestApplyAsUser: what a user without rights gets, on files of his own.
func TestApplyAsUser(t *testing.T) {
	onEach(t, func(t *testing.T, dir string) {
		asUser(t, 1000, 1000, []uint32{2000}, func() {
			d, err := sys.OpenRoot(dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer d.Close()
			for i, c := range []struct {
				name          string
				mode          uint32
				uid, gid      uint32
				xattrs        []meta.Xattr
				skipped       meta.Mask
				endMode       uint32
				endUID, enGID uint32
			}{
				{"own", 0o6755, 1000, 1000, nil, 0, 0o6755, 1000, 1000},
				{"root's", 0o6755, 0, 0, nil, meta.Owner | meta.Group, 0o755, 1000, 1000},
				{"root's, my group", 0o2750, 0, 2000, nil, meta.Owner, 0o750, 1000, 2000},
				{"mine, my other group", 0o2750, 1000, 2000, nil, 0, 0o2750, 1000, 2000},
				{"read-only with attributes", 0o444, 1000, 1000,
					[]meta.Xattr{{Name: "user.a", Value: []byte("1")}}, 0, 0o444, 1000, 1000},
				{"privileged attributes", 0o444, 1000, 1000,
					[]meta.Xattr{{Name: "trusted.a", Value: []byte("1")}, {Name: "user.a", Value: []byte("1")}}, meta.Xattrs, 0o444, 1000, 1000},
				{"capabilities", 0o755, 1000, 1000,
					[]meta.Xattr{{Name: "security.capability", Value: []byte(capability)}}, meta.Xattrs, 0o755, 1000, 1000},
			} {
				m := file(c.mode, c.uid, c.gid, c.xattrs...)
				m.Mtime, m.Atime = someTime, someTime
				p := &meta.Policy{Which: meta.All}
				perm := meta.SafeCreatePerm(m, p, 1000, 1000)
				var f sys.File
				name := fmt.Sprint("f", i)
				if err := d.Open(&f, name, sys.WriteOnly|sys.CreateNew, perm); err != nil {
					t.Errorf("%s: %v", c.name, err)
					continue
				}
				var st sys.Stat
				f.Stat(&st)
				var r meta.Reader
				skipped, err := r.Apply(meta.Object{File: &f}, m, p, meta.Have{UID: st.UID, GID: st.GID, Mode: st.Mode})
				if err != nil || skipped != c.skipped {
					t.Errorf("%s: skipped %b, %v", c.name, skipped, err)
				}
				f.Stat(&st)
				f.Close()
				if st.Mode&sys.PermMask != c.endMode || st.UID != c.endUID || st.GID != c.enGID || st.Mtime != someTime {
					t.Errorf("%s: %o %d:%d %v", c.name, st.Mode&sys.PermMask, st.UID, st.GID, st.Mtime)
				}
				// And once more on the file that stands there now, read-only or not.
				m.Xattrs = []meta.Xattr{{Name: "user.other", Value: []byte("2")}}
				have := meta.Have{UID: st.UID, GID: st.GID, Mode: st.Mode, Xattrs: true}
				m.UID, m.GID = 1000, 1000
				if skipped, err := r.Apply(meta.Object{Dir: d, Name: name}, m, p, have); err != nil || skipped != 0 {
					t.Errorf("%s again: skipped %b, %v", c.name, skipped, err)
				}
				var got meta.Meta
				if err := r.Read(meta.Object{Dir: d, Name: name}, meta.All, &got); c.mode&0o400 != 0 && (err != nil || meta.Diff(m, &got, meta.All) != 0) {
					t.Errorf("%s again: want %v, got %v, %v", c.name, m, got, err)
				}
			}
		})
		asUser(t, 1000, 1000, nil, func() {
			d, err := sys.OpenRoot(dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer d.Close()
			var st sys.Stat
			if err := d.Mkdir("mine", 0o2755); err != nil {
				t.Error(err)
				return
			}
			d.Lstat("mine", &st)
			m := dirOf(0o2755, 0, 0)
			skipped, err := new(meta.Reader).Apply(meta.Object{Dir: d, Name: "mine"}, m, &meta.Policy{Which: meta.All},
				meta.Have{UID: st.UID, GID: st.GID, Mode: st.Mode})
			d.Lstat("mine", &st)
			if err != nil || skipped != meta.Owner|meta.Group || st.Mode&sys.PermMask != 0o755 {
				t.Errorf("directory: skipped %b, %v, mode %o", skipped, err, st.Mode)
			}
		})
		// A mode that this user may not set is an error, not a poor file system.
		theirs := filepath.Join(dir, "theirs")
		if err := os.WriteFile(theirs, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		asUser(t, 1000, 1000, nil, func() {
			d, err := sys.OpenRoot(dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer d.Close()
			_, err = new(meta.Reader).Apply(meta.Object{Dir: d, Name: "theirs"}, file(0o600, 0, 0),
				&meta.Policy{Which: meta.Mode}, meta.Have{Mode: 0o644})
			if !errors.Is(err, unix.EPERM) {
				t.Errorf("mode of another's file: %v", err)
			}
		})
	})
}

func dirOf(mode, uid, gid uint32) *meta.Meta {
	m := dir(mode, uid, gid)
	m.Mtime, m.Atime = someTime, someTime
	return m
}

// TestApplyNodes: symbolic links, FIFOs, sockets and devices, by name, and none
// followed.
func TestApplyNodes(t *testing.T) {
	onEach(t, func(t *testing.T, dir string) {
		d := root(t, dir)
		var r meta.Reader
		if err := os.WriteFile(filepath.Join(dir, "victim"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		var before sys.Stat
		if err := d.Lstat("victim", &before); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name string
			make func(name string) error
			mode uint32
			attr string
		}{
			{"link", func(n string) error { return d.Symlink("victim", n) }, sys.TypeSymlink | 0o777, "trusted.a"},
			{"fifo", func(n string) error { return d.Mknod(n, sys.TypeFIFO|0o600, 0) }, sys.TypeFIFO | 0o640, "trusted.a"},
			{"socket", func(n string) error { return d.Mknod(n, sys.TypeSocket|0o600, 0) }, sys.TypeSocket | 0o640, "trusted.a"},
			{"device", func(n string) error { return d.Mknod(n, sys.TypeChar|0o600, 0x103) }, sys.TypeChar | 0o640, "trusted.a"},
			{"fifo with a user attribute", func(n string) error { return d.Mknod(n, sys.TypeFIFO|0o600, 0) }, sys.TypeFIFO | 0o640, "user.a"},
		} {
			if err := c.make(c.name); err != nil {
				t.Fatal(c.name, err)
			}
			m := &meta.Meta{Stat: meta.Stat{Mode: c.mode, UID: 5, GID: 6, Mtime: someTime, Atime: someTime, Rdev: 0x103}}
			m.Xattrs = []meta.Xattr{{Name: c.attr, Value: []byte("1")}}
			skipped, err := r.Apply(meta.Object{Dir: d, Name: c.name}, m, &meta.Policy{Which: meta.All}, meta.Have{Mode: c.mode&sys.TypeMask | 0o600})
			if want := map[string]meta.Mask{"user.a": meta.Xattrs}[c.attr]; err != nil || skipped != want {
				t.Errorf("%s: skipped %b, %v", c.name, skipped, err)
			}
			var got meta.Meta
			if err := r.Read(meta.Object{Dir: d, Name: c.name}, meta.All, &got); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			got.Atime = m.Atime // readlink changes it
			if diff := meta.Diff(m, &got, (meta.All|meta.Rdev|meta.Type)&^skipped); diff != 0 {
				t.Errorf("%s: differs in %b: %v", c.name, diff, got)
			}
		}
		var after sys.Stat
		if err := d.Lstat("victim", &after); err != nil {
			t.Fatal(err)
		}
		if before != after {
			t.Errorf("what the link leads to was changed: %v, %v", before, after)
		}
	})
}

// TestApplyDir: a directory with an access and a default ACL, and without again.
// The label that a security module gave it stays.
func TestApplyDir(t *testing.T) {
	onEach(t, func(t *testing.T, path string) {
		d := root(t, path)
		if err := d.Mkdir("x", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Setxattr(filepath.Join(path, "x"), "security.selinux", []byte("label"), 0); err != nil {
			t.Fatal(err)
		}
		m := dirOf(0o3770, 1, 2)
		m.Mode = m.Mode&^0o777 | 0o660
		m.Xattrs = []meta.Xattr{{Name: meta.AccessACL, Value: recorded}, {Name: meta.DefaultACL, Value: recorded}, {Name: "user.a"}}
		have := meta.Have{Mode: 0o700}
		var r meta.Reader
		for range 2 {
			if skipped, err := r.Apply(meta.Object{Dir: d, Name: "x"}, m, &meta.Policy{Which: meta.All}, have); err != nil || skipped != 0 {
				t.Fatal(skipped, err)
			}
			var got meta.Meta
			if err := r.Read(meta.Object{Dir: d, Name: "x"}, meta.All, &got); err != nil {
				t.Fatal(err)
			}
			if diff := meta.Diff(m, &got, meta.All); diff != 0 {
				t.Errorf("differs in %b: want %v, got %v", diff, m, got)
			}
			if n, err := unix.Getxattr(filepath.Join(path, "x"), "security.selinux", nil); n != 5 || err != nil {
				t.Errorf("the target's own label: %v", err)
			}
			have = meta.Have{UID: 1, GID: 2, Mode: m.Mode, Xattrs: true}
			m.Xattrs, m.Mode = nil, sys.TypeDir|0o2750
		}
	})
}

// TestApplyFaults fails one call after the other: an error tells it, or it is one
// of those that are skipped; nobody ever gets more than he will have.
func TestApplyFaults(t *testing.T) {
	dir := loopfs.Mount(t, "tmpfs", 0)
	d := root(t, dir)
	src := candidate{0o6750, 5, 6, nil, map[string]string{"user.a": "1", "security.capability": capability}}
	src.acl, _ = meta.ParseACL(recorded)
	src.mode = src.mode&^0o777 | src.acl.Perm()
	for _, errno := range []error{unix.EIO, unix.EPERM, unix.ENOSPC} {
		for n := 0; ; n++ {
			os.Remove(filepath.Join(dir, "f"))
			m := src.meta()
			p := &meta.Policy{Which: meta.All}
			perm := meta.SafeCreatePerm(m, p, 0, 0)
			f := create(t, d, "f", perm)
			count, hit := 0, ""
			restore := sys.Inject(func(o sys.Op) sys.Fault {
				if count++; count == n+1 {
					hit = o.Call
					return sys.Fault{Err: errno}
				}
				return sys.Fault{}
			})
			skipped, err := new(meta.Reader).Apply(meta.Object{File: f}, m, p, meta.Have{Mode: perm})
			restore()
			now, lookErr := look(filepath.Join(dir, "f"))
			if lookErr != nil {
				t.Fatal(lookErr)
			}
			f.Close()
			if hit == "" {
				if err != nil || skipped != 0 {
					t.Errorf("without a fault: skipped %b, %v", skipped, err)
				}
				break
			}
			if err == nil && skipped == 0 {
				t.Errorf("%v of %s was swallowed", errno, hit)
			}
			if err != nil && !errors.Is(err, errno) {
				t.Errorf("%v of %s came out as %v", errno, hit, err)
			}
			end := holder{5, 6, src.acl}
			everybody(func(u, g uint32) {
				if extra := now.rights(u, g) &^ end.rights(u, g); extra != 0 && u != now.uid && u != 5 && skipped&meta.Group == 0 {
					t.Errorf("after %v of %s user %d of group %d may %o", errno, hit, u, g, extra)
				}
			})
		}
	}
}
