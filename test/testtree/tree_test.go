//go:build linux

package testtree

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/gohaul/haul/test/loopfs"
)

func text(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

func describeOrFail(t *testing.T, root string, what Mask) string {
	t.Helper()
	got, err := Describe(root, what)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// wantText checks a description against its golden text.
func wantText(t *testing.T, root string, what Mask, lines ...string) {
	t.Helper()
	got, want := describeOrFail(t, root, what), text(lines...)
	if got == want {
		return
	}
	for line := range strings.Lines(want) {
		if !strings.Contains(got, line) {
			t.Errorf("- %s", line)
		}
	}
	t.Errorf("got\n%s", got)
}

// TestPlainTree needs neither root nor a special file system.
func TestPlainTree(t *testing.T) {
	root := filepath.Join(t.TempDir(), "new", "root")
	Build(t, root, `
		d 0750 . mtime=2000-01-01T00:00:00Z
		# the directory is closed, and dated, before its content is named
		d 0500 closed mtime=2001-02-03T04:05:06.789012345Z
		f 0400 closed/f text:"hi\n" mtime=1969-12-31T23:59:59.5Z
		f 0644 implied/deep/f{1..2}
		h implied/link = closed/f
		l x -> "no where" mtime=2002-01-01T00:00:00Z
		p 0620 fifo
		s 0711 sock
		f 0644 "with\nnewline \xff" rep:"A"*513 zero:3
	`)
	wantText(t, root, Root|Mode|Content|Links,
		`d 0750 .`,
		`d 0500 closed`,
		`f 0400 closed/f text:"hi\n"`,
		`p 0620 fifo`,
		`d 0755 implied`,
		`d 0755 implied/deep`,
		`f 0644 implied/deep/f1 text:""`,
		`f 0644 implied/deep/f2 text:""`,
		`h implied/link = closed/f`,
		`s 0711 sock`,
		`f 0644 "with\nnewline \xff" size:516 sum:f20e6968758840295f20572b`,
		`l x -> "no where"`,
	)
	wantText(t, filepath.Join(root, "closed"), Root|Times,
		`d . mtime=2001-02-03T04:05:06.789012345Z`,
		`f f mtime=1969-12-31T23:59:59.500000000Z`)
	if fi, err := os.Lstat(root + "/closed/f"); err != nil || fi.Mode() != 0o400 || fi.Size() != 3 || fi.ModTime().UnixNano() != -5e8 {
		t.Errorf("closed/f: %v, %v", fi, err)
	}
	if b, err := os.ReadFile(root + "/with\nnewline \xff"); err != nil || string(b) != strings.Repeat("A", 513)+"\x00\x00\x00" {
		t.Errorf("%q, %v", b, err)
	}
	chmodBack(t, root+"/closed")
}

// chmodBack lets t.TempDir's cleanup in.
func chmodBack(t *testing.T, dir string) {
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Error(err)
	}
}

func TestUmaskDoesNotShow(t *testing.T) {
	defer unix.Umask(unix.Umask(0o077))
	root := t.TempDir()
	Build(t, root, "f 0666 a/f\nd 0777 d\np 0666 p")
	wantText(t, root, Mode, "d 0755 a", "f 0666 a/f", "d 0777 d", "p 0666 p")
}

func TestRebuildReplaces(t *testing.T) {
	root := t.TempDir()
	Build(t, root, "d 0755 d\nf 0644 d/a text:old\nh d/b = d/a\nl l -> x")
	Build(t, root, "d 0700 d\nf 0600 d/a text:new\nl l -> y")
	wantText(t, root, Mode|Content|Links, "d 0700 d", `f 0600 d/a text:"new"`, `f 0644 d/b text:"old"`, "l l -> y")
}

// TestNeverThroughSymlinks: neither side leaves the tree.
func TestNeverThroughSymlinks(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, root+"/l"); err != nil {
		t.Fatal(err)
	}
	if err := Make(root, "f 0644 l/f"); err == nil || !strings.Contains(err.Error(), "line 1: open l: ") {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	wantText(t, root, All&^(Root|Times|Owner), "l l -> "+outside)
}

func TestErrorsNameLineAndPath(t *testing.T) {
	root := t.TempDir()
	long := strings.Repeat("x", 256)
	for text, want := range map[string]string{
		"f 0644 a\nf 0644 a/b":     "line 2: open a: not a directory",
		"\nh q/b = nowhere":        "line 2: link nowhere q/b: no such file or directory",
		"f 0644 d/" + long:         "line 1: unlink d/" + long + ": file name too long",
		"f 0644 b xattr:nospace=1": "line 1: setxattr nospace b: operation not supported",
		"f 0644 c size:1":          "line 1: f 0644 c size:1: unknown word size:1",
	} {
		if err := Make(root, text); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
	if _, err := Describe(root+"/none", All); err == nil || !strings.Contains(err.Error(), root+"/none") {
		t.Errorf("error %v", err)
	}
}

// TestDeepAndWide: beyond PATH_MAX, and names of 255 bytes.
func TestDeepAndWide(t *testing.T) {
	levels, width := 4000, 2000
	if testing.Short() {
		levels, width = 400, 200
	}
	root := t.TempDir()
	name := strings.Repeat("n", 255)
	deep := strings.Repeat(name+"/", 19) + "end"
	narrow := strings.Repeat("d/", levels) + "end"
	tree := text(
		"f 0644 "+deep+" text:deep mtime=2001-01-01T00:00:00Z",
		"d 0700 "+strings.TrimSuffix(deep, "/end"),
		"f 0600 "+narrow+" text:narrow",
		fmt.Sprintf("f 0644 wide/{1..%d}", width))
	Build(t, root, tree)
	got := describeOrFail(t, root, Mode|Content|Mtime)
	for _, want := range []string{
		"f 0644 " + deep + " text:\"deep\" mtime=2001-01-01T00:00:00.000000000Z\n",
		"d 0700 " + strings.TrimSuffix(deep, "/end") + "\n",
		"f 0600 " + narrow + " text:\"narrow\" mtime=",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no line %.20s...", want)
		}
	}
	if n := strings.Count(got, "\n"); n != levels+1+19+1+1+width {
		t.Errorf("%d lines", n)
	}
	Want(t, root, tree, All&^Times)
}

// TestUnsearchable: ".." of a directory that the caller may list but not search
// is reached from the root again.
func TestUnsearchable(t *testing.T) {
	root := loopfs.Mount(t, "tmpfs", 0)
	Build(t, root, "d 0400 a/b uid=1000\nd 0755 a uid=1000\nf 0644 c text:x")
	var got string
	err := asUser(1000, func() (err error) {
		got, err = Describe(root, Mode|Content)
		return err
	})
	if want := text("d 0755 a", "d 0400 a/b", `f 0644 c text:"x"`); err != nil || got != want {
		t.Errorf("%v, got\n%s", err, got)
	}
	// Whatever cannot be read is an error, never a shorter description.
	Build(t, root, "f 0600 a/secret")
	err = asUser(1000, func() error { _, err := Describe(root, Content); return err })
	if err == nil || !strings.Contains(err.Error(), "read a/secret: permission denied") {
		t.Errorf("error %v", err)
	}
}

// asUser runs do on a thread that gives up root; the thread ends with it.
func asUser(uid uintptr, do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uid, uid, uid); errno != 0 {
			done <- errno
			return
		}
		done <- do()
	}()
	return <-done
}

// TestSumSeesBytesNotHoles: the sum depends on the logical content alone.
func TestSumSeesBytesNotHoles(t *testing.T) {
	root := t.TempDir()
	Build(t, root, `
		f 0644 a/f data:64k@s hole:64k data:100@t
		f 0644 b/f data:64k@s zero:64k data:100@t
		f 0644 c/f data:64k@s zero:64k data:100@u
		f 0644 d/f data:64k@s hole:64k data:100@t zero:1
		f 0644 e/f zero:4k data:64k@s hole:60k data:100@t
	`)
	Equal(t, root+"/a", root+"/b", Content)
	for _, other := range []string{"c", "d", "e"} {
		d, err := Diff(root+"/a", root+"/"+other, Content)
		if err != nil || strings.Count(d, "\n") != 2 {
			t.Errorf("%s: %q, %v", other, d, err)
		}
	}
}

// TestEqualFails: a difference in any property shows, with both lines, and only
// under its mask.
func TestEqualFails(t *testing.T) {
	const base = "d 0755 d mtime=2001-01-01T00:00:00Z\nf 0644 d/f text:abc mtime=2001-01-01T00:00:00Z atime=2001-01-01T00:00:00Z\nh d/h = d/f\n"
	for what, change := range map[Mask]string{
		Mode:     "f 0600 d/f text:abc mtime=2001-01-01T00:00:00Z atime=2001-01-01T00:00:00Z\nh d/h = d/f",
		Content:  "f 0644 d/f text:abd mtime=2001-01-01T00:00:00Z atime=2001-01-01T00:00:00Z\nh d/h = d/f",
		Mtime:    "f 0644 d/f text:abc mtime=2001-01-01T00:00:00.000000001Z atime=2001-01-01T00:00:00Z\nh d/h = d/f",
		Atime:    "f 0644 d/f text:abc mtime=2001-01-01T00:00:00Z atime=2001-01-01T00:00:00.000000001Z\nh d/h = d/f",
		DirMtime: "d 0755 d mtime=2001-01-01T00:00:00.000000001Z",
		Links:    "f 0644 d/h text:abc mtime=2001-01-01T00:00:00Z atime=2001-01-01T00:00:00Z",
	} {
		a, b := t.TempDir(), t.TempDir()
		Build(t, a, base)
		Build(t, b, base)
		if !strings.HasPrefix(change, "d") {
			change += "\nd 0755 d mtime=2001-01-01T00:00:00Z"
		}
		Build(t, b, change)
		full := All&^Root | what
		for mask, same := range map[Mask]bool{what: false, full: false, full &^ what: true} {
			d, err := Diff(a, b, mask)
			if err != nil || (d == "") != same {
				t.Errorf("%b under %b: same %v, %v\n%s", what, mask, !same, err, d)
			}
		}
	}
}

// TestEqualReports through a recording testing.TB.
func TestEqualReports(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	Build(t, a, "f 0644 x text:1\nf 0644 only")
	Build(t, b, "f 0644 x text:2")
	r := &recorder{TB: t}
	Equal(r, a, b, Mode|Content)
	Want(r, b, "f 0644 x text:2", All&^Times)
	want := fmt.Sprintf("trees differ (- %s, + %s):\n- f 0644 only text:\"\"\n- f 0644 x text:\"1\"\n+ f 0644 x text:\"2\"\n", a, b)
	if r.said != want {
		t.Errorf("said %q, want %q", r.said, want)
	}
}

type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Errorf(format string, args ...any) { r.said += fmt.Sprintf(format, args...) }

// TestDescribeLeavesAtime: reading files and directories is not seen.
func TestDescribeLeavesAtime(t *testing.T) {
	root := t.TempDir()
	Build(t, root, "d 0755 d atime=2001-01-01T00:00:00Z\nf 0644 d/f data:100k atime=2001-01-01T00:00:00Z\nd 0755 . atime=2001-01-01T00:00:00Z")
	want := describeOrFail(t, root, All|Atime)
	if got := describeOrFail(t, root, All|Atime); got != want || strings.Count(got, " atime=2001-01-01T00:00:00.000000000Z") != 3 {
		t.Errorf("first\n%sthen\n%s", want, got)
	}
}

// every is a tree with each attribute there is, in canonical text.
var every = []string{
	`d 0755 . uid=0 gid=0 mtime=2001-01-01T00:00:00.000000001Z atime=2001-01-02T00:00:00.000000001Z`,
	`b 0600 blk 7 300 uid=0 gid=0 mtime=2001-01-01T00:00:00.000000002Z atime=2001-01-02T00:00:00.000000001Z`,
	`c 0666 chr 1 3 uid=0 gid=6 mtime=2001-01-01T00:00:00.000000002Z atime=2001-01-02T00:00:00.000000001Z xattr:trusted.t=dev`,
	`d 1775 dir uid=1000 gid=1001 mtime=2001-01-01T00:00:00.000000003Z atime=2001-01-02T00:00:00.000000001Z acl=u::rwx,u:1000:rw-,g::r-x,m::rwx,o::r-x dacl=u::rwx,u:7:r--,g::r-x,g:8:---,m::r-x,o::r-x xattr:user.d=1`,
	`f 6711 dir/setid text:"x" uid=4294967294 gid=1001 mtime=1970-01-01T00:00:00.000000000Z atime=2037-12-31T23:59:59.999999999Z xattr:security.capability="\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"`,
	`p 0640 fifo uid=1 gid=2 mtime=2001-01-01T00:00:00.000000004Z atime=2001-01-02T00:00:00.000000001Z acl=u::rw-,g::---,g:5:r--,m::r--,o::---`,
	`l link -> "to \xff" uid=3 gid=4 mtime=2001-01-01T00:00:00.000000005Z atime=2001-01-02T00:00:00.000000001Z xattr:trusted.l=""`,
	`h link2 = link`,
	`s 0755 sock uid=0 gid=0 mtime=2001-01-01T00:00:00.000000006Z atime=2001-01-02T00:00:00.000000001Z`,
	`f 0000 xattrs text:"" uid=0 gid=0 mtime=2040-01-01T00:00:00.000000007Z atime=2001-01-02T00:00:00.000000001Z xattr:"user.a b=c"="\x00v\xff" xattr:user.empty="" xattr:user.long=` + strings.Repeat("0123456789", 100),
	`h zlink = xattrs`,
}

// TestEveryAttribute builds it on each file system; the description must be the
// very text, whatever order the kernel lists things in.
func TestEveryAttribute(t *testing.T) {
	loopfs.Each(t, 0, func(t *testing.T, dir string) {
		Build(t, dir, text(every...))
		wantText(t, dir, All|Atime, every...)
		byOtherEyes(t, dir)
	})
}

// byOtherEyes reads some of every back through tools and calls that the package
// does not use.
func byOtherEyes(t *testing.T, dir string) {
	t.Helper()
	for _, tc := range []struct{ name, format, want string }{
		{"blk", "%F %t %T %a", "block special file 7 12c 600"},
		{"chr", "%F %t %T %g", "character special file 1 3 6"},
		{"dir", "%F %a %u %g %y", "directory 1775 1000 1001 2001-01-01 00:00:00.000000003 +0000"},
		{"dir/setid", "%a %u %x", "6711 4294967294 2037-12-31 23:59:59.999999999 +0000"},
		{"link", "%F %u %h", "symbolic link 3 2"},
		{"sock", "%F", "socket"},
	} {
		cmd := exec.Command("stat", "-c", tc.format, dir+"/"+tc.name)
		cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C")
		out, err := cmd.Output()
		if err != nil || strings.TrimSpace(string(out)) != tc.want {
			t.Errorf("stat %s: %s%v, want %s", tc.name, out, err, tc.want)
		}
	}
	if to, err := os.Readlink(dir + "/link"); err != nil || to != "to \xff" {
		t.Errorf("link to %q, %v", to, err)
	}
	buf := make([]byte, 2000)
	n, err := unix.Getxattr(dir+"/xattrs", "user.a b=c", buf)
	if err != nil || string(buf[:n]) != "\x00v\xff" {
		t.Errorf("xattr %q, %v", buf[:max(n, 0)], err)
	}
	// A file made beneath a default ACL shows that the kernel took it.
	if err := os.WriteFile(dir+"/dir/new", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	got := describeOrFail(t, dir, ACLs)
	if want := "f dir/new acl=u::rw-,u:7:r--,g::r-x,g:8:---,m::r--,o::r--\n"; !strings.Contains(got, want) {
		t.Errorf("no line %sin\n%s", want, got)
	}
}

// TestContentForms on each file system, with extents and allocation.
func TestContentForms(t *testing.T) {
	loopfs.Each(t, 0, func(t *testing.T, dir string) {
		Build(t, dir, `
			f 0644 img data:64k hole:1G data:1
			f 0644 lead hole:128k data:128k
			f 0644 tail data:64k hole:128k
			f 0644 zero zero:64k data:0
			f 0644 holes hole:1T
			f 0644 none hole:64k data:0
			f 0644 falloc falloc:64k
			f 0644 mixed data:64k hole:64k zero:64k rep:"AB"*32768
		`)
		syncFS(t, dir)
		wantText(t, dir, Extents,
			"f falloc hole:64k", // unwritten
			"f holes hole:1T",
			"f img data:64k hole:1G data:1",
			"f lead hole:128k data:128k",
			"f mixed data:64k hole:64k data:128k",
			"f none hole:64k",
			"f tail data:64k hole:128k",
			"f zero data:64k")
		got := describeOrFail(t, dir, Blocks)
		for _, want := range []string{"f img alloc:68k\n", "f holes alloc:0\n", "f falloc alloc:64k\n", "f tail alloc:64k\n", "f zero alloc:64k\n", "f mixed alloc:192k\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("no %sin\n%s", want, got)
			}
		}
		if got := describeOrFail(t, dir, Content); strings.Count(got, "sum:zeros") != 4 {
			t.Errorf("zeros in\n%s", got)
		}
	})
}

func syncFS(t *testing.T, dir string) {
	t.Helper()
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := unix.Syncfs(int(d.Fd())); err != nil {
		t.Fatal(err)
	}
}

// TestHugeHole: the largest file there can be costs nothing to build or read.
func TestHugeHole(t *testing.T) {
	for _, kind := range []string{"xfs", "tmpfs"} {
		t.Run(kind, func(t *testing.T) {
			dir := loopfs.Mount(t, kind, 0)
			Build(t, dir, "f 0644 a data:4k hole:9223372036854767615\nf 0644 b hole:9223372036854771712 data:100")
			start := time.Now()
			got := describeOrFail(t, dir, Content)
			if !strings.Contains(got, "f a size:9223372036854771711 sum:") || !strings.Contains(got, "f b size:9223372036854771812 sum:") {
				t.Error(got)
			}
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

// TestGenBuildsTwice: every drawn tree builds without privilege, twice to the
// same description.
func TestGenBuildsTwice(t *testing.T) {
	gen := Gen(Shape{})
	rapid.Check(t, func(rt *rapid.T) {
		drawn := gen.Draw(rt, "tree")
		a, b := roomFor(rt, t.TempDir()), roomFor(rt, t.TempDir())
		if err := Make(a, drawn); err != nil {
			rt.Fatal(err)
		}
		if err := Make(b, drawn); err != nil {
			rt.Fatal(err)
		}
		sameBut(rt, a, b, drawn, All&^Times)
	})
}

// roomFor makes an empty directory that goes with the drawn case, not with the test.
func roomFor(rt *rapid.T, parent string) string {
	dir, err := os.MkdirTemp(parent, "case")
	if err != nil {
		rt.Fatal(err)
	}
	rt.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			rt.Error(err)
		}
	})
	return dir
}

func sameBut(rt *rapid.T, a, b, drawn string, what Mask) {
	d, err := Diff(a, b, what)
	if err != nil {
		rt.Fatal(err)
	}
	if d != "" {
		rt.Errorf("differ:\n%s\ntree:\n%s", d, drawn)
	}
}

// TestGenCopiesWithCp: with every privilege, on every file system, and a copy by
// cp -a is equal: an independent reader and writer agrees with ours.
func TestGenCopiesWithCp(t *testing.T) {
	gen := Gen(Shape{Entries: 40, FileSize: 64 << 10, HoleSize: 1 << 20, Privileged: true, Xattrs: true, ACLs: true})
	loopfs.Each(t, 1<<30, func(t *testing.T, dir string) {
		rapid.Check(t, func(rt *rapid.T) {
			drawn := gen.Draw(rt, "tree")
			from, to := roomFor(rt, dir), roomFor(rt, dir)
			if err := Make(from, drawn); err != nil {
				rt.Fatalf("%v\n%s", err, drawn)
			}
			if out, err := exec.Command("cp", "-a", "--sparse=auto", from+"/.", to).CombinedOutput(); err != nil {
				rt.Fatalf("cp: %v: %s", err, out)
			}
			sameBut(rt, from, to, drawn, All)
		})
	})
}

func BenchmarkMake(b *testing.B) {
	root := b.TempDir()
	b.ReportAllocs()
	for b.Loop() {
		if err := Make(root, "f 0644 d{1..10}/f{1..100} data:1k"); err != nil {
			b.Fatal(err)
		}
	}
}

func TestReadAtEnd(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, bytes.Repeat([]byte{1}, 10), 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(name, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := readAt(fd, make([]byte, 11), 0); err == nil {
		t.Error("a file that shrank reads whole")
	}
}
