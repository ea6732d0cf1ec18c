// Package continuity compares haul's package fs with the one it takes the place
// of: one program, compiled with either import path, must print the same and
// leave the same behind.
package continuity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gohaul/haul/test/testtree"
)

const (
	theirPath = "github.com/containerd/continuity/fs"
	ourPath   = "github.com/gohaul/haul/fs"
)

// The program, as the three packages make it.
var haul, v045, v050 string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "dropin")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		if err := compile(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// compile makes the three. For haul nothing changes but the import path.
func compile(dir string) error {
	source, err := filepath.Abs("program/main.go")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if n := bytes.Count(text, []byte(theirPath)); n != 1 {
		return fmt.Errorf("%s names %s %d times, want once", source, theirPath, n)
	}
	changed := filepath.Join(dir, "main.go")
	overlay := filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
	if err == nil {
		err = os.WriteFile(changed, bytes.Replace(text, []byte(theirPath), []byte(ourPath), 1), 0o644)
	}
	if err == nil {
		err = os.WriteFile(overlay, replace, 0o644)
	}
	if err != nil {
		return err
	}
	haul, v045, v050 = filepath.Join(dir, "haul"), filepath.Join(dir, "v045"), filepath.Join(dir, "v050")
	for _, args := range [][]string{
		{"-overlay=" + overlay, "-o", haul}, {"-modfile=go045.mod", "-o", v045}, {"-o", v050},
	} {
		cmd := exec.Command("go", append(append([]string{"build"}, args...), "./program")...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
		}
	}
	return nil
}

// run runs a program in a directory and gives what it printed.
func run(t testing.TB, program, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, errs.Bytes())
	}
	return string(out)
}

// anyError is an error whose kind does not count: continuity has words for some
// where haul has an errno, and the reverse.
var anyError = regexp.MustCompile(`(?m)^error .*$`)

func needRoot(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes root")
	}
	if os.Geteuid() != 0 {
		t.Fatal("takes root; go test -short leaves this out")
	}
}

// looks is what a copy must have in common. Directory times are not: continuity
// loses them. haul's are compared with the source's in package fs.
const looks = testtree.Root | testtree.Mode | testtree.Owner | testtree.Content | testtree.Mtime | testtree.Xattrs | testtree.ACLs | testtree.Links

const then = " mtime=2001-02-03T04:05:06.5Z"

// cases are what both must do alike, each line of args one call.
var cases = []struct{ name, tree, args string }{
	{"a new file", "f 0640 s data:70000 xattr:user.a=1 uid=5" + then, "copyfile n s"},
	{"a file over a longer one", "f 0640 s data:70000\nf 0600 o data:90000 xattr:user.z=1 uid=5\nh o2 = o", "copyfile o s"},
	{"through links", "f 0640 s data:9\nl sl -> s\nf 0600 o data:5\nl ol -> o\nl dangling -> d/n\nd 0755 d", "copyfile ol sl\ncopyfile dangling s"},
	{"over set-id bits", "f 0640 s data:9\nf 06755 o data:5", "copyfile o s"},
	{"a file that cannot be", "f 0640 s data:9\nd 0755 d", "copyfile d s\ncopyfile none/n s\ncopyfile n none\ncopyfile s none"},
	{"from /proc", "d 0755 .", "copyfile n /proc/version"},
	{"a tree of all kinds", `d 01777 src uid=7 xattr:user.r=1
		d 0500 src/sub uid=5 gid=6 xattr:user.d=1
		d 0750 src/acl acl=u:9:r-x dacl=u:5:rwx
		f 0640 src/sub/f data:70000 mtime=2001-01-01T00:00:00.5Z uid=5 gid=6 xattr:user.a=b xattr:trusted.t=1 acl=u:9:rw-
		f 06755 src/run data:20 uid=5
		h src/run2 = src/run
		h src/sub/run3 = src/run
		l src/l -> nowhere uid=9 mtime=2001-02-01T00:00:00.5Z
		p 0604 src/p mtime=2001-02-01T00:00:00.5Z
		s 0755 src/s mtime=2001-02-01T00:00:00.5Z
		c 0601 src/c 1 3 uid=3
		b 0600 src/b 7 0
		f 0600 src/sparse hole:1M data:4k
		f 0000 src/none
		d 0755 empty`, "copydir dst src\ncopydir dst3/ src/\ncopydir dst4 src exclude=user.a,trusted.t exclude=user.d allow"},
	{"over what is there", "d 0700 dst/c" + then + "\nf 0600 dst/c/x data:5 xattr:user.z=1" + then + "\nh dst/c/y = dst/c/x\nf 0600 dst/c/keep data:1" + then + "\nd 0700 dst/c/sub xattr:user.z=1\nl dstl -> dst\n" +
		"d 0750 src/c\nf 0644 src/c/x data:6" + then + "\nd 0711 src/c/sub", "copydir dst src\ncopydir dstl src"},
	{"a tree that cannot be", "d 0755 src\nf 0644 src/f\nf 0644 file\nd 0755 clash/f\nd 0755 d/e\nf 0644 f2d/e", "copydir no/x src\ncopydir n none\ncopydir n file\ncopydir file src\ncopydir clash src\ncopydir f2d d"},
	{"changes", `d 0755 a/d` + then + `
		f 0644 a/d/same data:9@1` + then + `
		f 0644 a/d/mod data:9
		f 0644 a/gone
		d 0755 a/goned
		f 0644 a/goned/x
		d 0755 a/d2f
		f 0644 a/d2f/x
		f 0644 a/f2d
		f 0644 a/perm` + then + `
		f 0644 a/own` + then + `
		f 0644 a/hl data:3@1` + then + `
		h a/hl2 = a/hl
		f 0644 a/cap` + then + `
		f 0644 a/xattr` + then + `
		p 0644 a/p` + then + `
		c 0644 a/c 1 3` + then + `
		f 0644 a/z data:9@1 mtime=2001-01-01T00:00:00Z
		f 0644 a/zc data:9@1 mtime=2001-01-01T00:00:00Z
		l a/lz -> a mtime=2001-01-01T00:00:00Z
		f 0644 a/t data:9@1 mtime=2001-01-01T00:00:00.1Z
		f 0644 a/a-b
		d 0755 a/a
		f 0644 a/a/x
		d 0755 b/d` + then + `
		f 0644 b/d/same data:9@1` + then + `
		f 0644 b/d/mod data:8
		f 0644 b/d/new
		f 0644 b/d2f
		d 0755 b/f2d
		f 0644 b/f2d/x
		f 0600 b/perm` + then + `
		f 0644 b/own uid=5` + then + `
		f 0644 b/hl data:3@1` + then + `
		h b/hl2 = b/hl
		f 0644 b/cap xattr:security.capability="\x01\x00\x00\x02\x00 \x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"` + then + `
		f 0644 b/xattr xattr:user.a=1` + then + `
		p 0644 b/p` + then + `
		c 0644 b/c 1 5` + then + `
		f 0644 b/z data:9@1 mtime=2001-01-01T00:00:00Z
		f 0644 b/zc data:9@2 mtime=2001-01-01T00:00:00Z
		l b/lz -> b mtime=2001-01-01T00:00:00Z
		f 0644 b/t data:9@1 mtime=2001-01-01T00:00:00.2Z
		f 0644 b/a-b
		d 0755 b/a
		f 0644 b/a/x data:1
		f 0644 b/newd/e/f
		f 0644 "b/new\nline"`, "changes a b\nchanges b a\nchanges a a\nchanges a b /d/mod\nchanges a/ ./b\ndiffusage a b\ndiffusage b a\ndiffusage a a\ndiskusage a b\ndiskusage a/d a a\ndiskusage a/hl a/hl2\ndiskusage a/lz\ndiskusage"},
	{"changes from nothing", "f 0644 b/d/x\nh b/y = b/d/x", `changes "" b` + "\n" + `diffusage "" b`},
	{"usage of nothing", "f 0644 b/x", "diskusage none\ndiskusage b none\ndiffusage b none"},
	{"an overlay", `f 0644 base/del
		d 0755 base/deld
		f 0644 base/deld/x
		f 0644 base/mod
		d 0755 base/opq
		f 0644 base/opq/old
		d 0755 base/part` + then + `
		f 0644 base/part/a
		d 0755 base/alike` + then + `
		f 0644 base/alike/f
		d 0755 base/mode` + then + `
		f 0644 base/d2f/x
		f 0644 base/f2d
		f 0644 base/hl data:3@1` + then + `
		h base/hl2 = base/hl
		c 0600 up/del 0 0
		c 0600 up/deld 0 0
		f 0644 up/mod data:2
		d 0755 up/opq xattr:trusted.overlay.opaque=y
		f 0644 up/opq/new
		d 0755 up/part` + then + `
		c 0600 up/part/a 0 0
		d 0755 up/alike` + then + `
		f 0644 up/alike/f data:4
		d 0700 up/mode` + then + `
		f 0644 up/d2f
		d 0755 up/f2d
		f 0644 up/hl data:3@1` + then + `
		h up/hl2 = up/hl
		d 0755 up/newopq xattr:user.overlay.opaque=y
		f 0644 up/newopq/x
		d 0755 up/notopq xattr:trusted.overlay.opaque=x
		f 0644 up/notopq/x
		c 0644 up/null 1 3`, "overlay base up\noverlay base up /deld\noverlay base none\noverlay none base"},
	{"names", "d 0755 .", "names"},
	{"d_type", "d 0755 d/e\nf 0644 f\nd 0755 empty", "fs d\nfs empty\nfs f"},
	{"paths", "d 0755 r/d/e\nl r/rel -> d\nl r/abs -> /d\nl r/climb -> ../../../../d\nl r/dangling -> /no/x\nl r/escape -> ../../out\nl r/dd -> d/e/..\nl r/chain -> abs/e\nl r/dot -> .\nl r/dotdot -> ..\nl r/slash -> /\nf 0644 r/file\nl r/fl -> file\nl r/self -> self\nl r/through -> ../r/d/../file\nl rl -> r",
		"rootpath r a a/b /a/../b rel rel/e abs abs/e climb climb/x ../climb dangling dangling/.. escape escape/y dd chain chain/.. dot/dot/d dotdot dotdot/d slash slash/d d/../../x d//e d/e/ rel/ file/x fl/x fl/.. no/.. no/../d no/../../y self self/y through . .. /\nrootpath rl rel abs/e escape\nrootpath . r/rel ../r/d\nrootpath / ../x\nrootpath none a/../b"},
}

func TestDropIn(t *testing.T) {
	needRoot(t)
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			wantOut, wantTree := outcome(t, v045, tt.tree, tt.args)
			gotOut, gotTree := outcome(t, haul, tt.tree, tt.args)
			if gotOut != wantOut {
				t.Errorf("haul prints\n%s\ncontinuity prints\n%s", gotOut, wantOut)
			}
			if gotTree != wantTree {
				t.Errorf("haul (+) and continuity (-) leave different trees:\n%s", lines(wantTree, gotTree))
			}
			if out, left := outcome(t, v050, tt.tree, tt.args); out != wantOut || left != wantTree {
				t.Errorf("continuity 0.5.0 differs from 0.4.5: it prints\n%s\nand leaves\n%s", out, left)
			}
		})
	}
}

// TestInfo asks all three about one tree: they only look.
func TestInfo(t *testing.T) {
	dir := t.TempDir()
	if err := testtree.Make(dir, "f 0644 f mtime=2001-02-03T04:05:06.5Z atime=2001-02-03T04:05:06.25Z\nh g = f\nl l -> f\nh l2 = l\nd 0755 d"); err != nil {
		t.Fatal(err)
	}
	args := []string{"info", "f", "g", "l", "l2", "d"}
	ours := run(t, haul, dir, args...)
	for _, program := range []string{v045, v050} {
		if theirs := run(t, program, dir, args...); theirs != ours {
			t.Errorf("haul prints\n%s\n%s prints\n%s", ours, filepath.Base(program), theirs)
		}
	}
}

// outcome builds a tree, makes the calls in it, and tells what was printed and left.
func outcome(t *testing.T, program, tree, calls string) (printed, left string) {
	t.Helper()
	dir := t.TempDir()
	if err := testtree.Make(dir, tree); err != nil {
		t.Fatal(err)
	}
	for _, call := range strings.Split(calls, "\n") {
		args := strings.Fields(call)
		for i := range args {
			args[i] = strings.Trim(args[i], `"`)
		}
		printed += "$ " + call + "\n" + run(t, program, dir, args...)
	}
	left, err := testtree.Describe(dir, looks&^testtree.Mtime)
	if err != nil {
		t.Fatal(err)
	}
	return anyError.ReplaceAllString(printed, "error"), left
}

// lines are the lines that only one of two texts has.
func lines(a, b string) string {
	var out strings.Builder
	in := func(text, line string) bool { return strings.Contains("\n"+text, "\n"+line+"\n") }
	for _, l := range strings.Split(a, "\n") {
		if !in(b, l) {
			fmt.Fprintln(&out, "-", l)
		}
	}
	for _, l := range strings.Split(b, "\n") {
		if !in(a, l) {
			fmt.Fprintln(&out, "+", l)
		}
	}
	return out.String()
}
