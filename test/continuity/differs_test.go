package continuity

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gohaul/haul/test/testtree"
	"pgregory.net/rapid"
)

// differs are the cases in which haul does otherwise, and why: each line of what
// is printed is told for both. A "." stands for nothing printed.
var differs = []struct{ name, why, tree, args, theirs, ours string }{
	{"one time cut to seconds", "continuity's own documentation of Changes",
		"f 0644 a/f data:5@1 mtime=2001-01-01T00:00:00Z\nf 0644 b/f data:5@1 mtime=2001-01-01T00:00:00.1Z", "changes a b",
		"modify /f (-rw-r--r-- f)", "."},
	{"a linked root", "a link to a directory is no empty directory",
		"f 0644 a/f\nd 0755 b\nl l -> b", "changes b l\nchanges l a",
		".|add /f (-rw-r--r-- f)", ".|add /f (-rw-r--r-- f)"},
	{"a root that is a file", "all that was there would be told as deleted",
		"f 0644 a/f\nf 0644 b", "changes a b", "delete /f (no info)", "error"},
	{"a file onto itself", "its content would be lost",
		"f 0644 f data:5", "copyfile f f", ".", "error"},
	{"a directory that took the place of a file", "what it has is new, not an error",
		"f 0644 base/d\nd 0755 up/d\nf 0644 up/d/f", "overlay base up",
		"modify /d (drwxr-xr-x d)|error", "modify /d (drwxr-xr-x d)|add /d/f (-rw-r--r-- f)"},
	{"a dangling link in the base", "it is there, though it leads nowhere",
		"l base/l -> no\nl up/l -> no", "overlay base up", "add /l (Lrwxrwxrwx l)", "modify /l (Lrwxrwxrwx l)"},
	{"an owner in an overlay", "it is a change of the directory",
		"d 0755 base/d" + then + "\nd 0755 up/d uid=5" + then, "overlay base up", ".", "modify /d (drwxr-xr-x d)"},
	{"beneath an opaque directory", "what the base had there does not show: all is new",
		"d 0755 base/d/e" + then + "\nf 0644 base/d/f\nd 0700 up/d xattr:trusted.overlay.opaque=y\nd 0755 up/d/e" + then + "\nf 0644 up/d/f", "overlay base up",
		"delete /d/.wh..opq (no info)|modify /d (drwx------ d)|modify /d/f (-rw-r--r-- f)",
		"delete /d/.wh..opq (no info)|modify /d (drwx------ d)|add /d/e (drwxr-xr-x e)|add /d/f (-rw-r--r-- f)"},
	{"a whiteout of nothing", "it is no device that anybody made",
		"d 0755 base\nc 0600 up/w 0 0", "overlay base up", "add /w (Dcrw------- w)", "."},
	{"an opaque directory in place of a link", "a receiver would empty what the link leads to",
		"l base/d -> x\nd 0755 up/d xattr:trusted.overlay.opaque=y", "overlay base up",
		"delete /d/.wh..opq (no info)|add /d (drwxr-xr-x d)", "modify /d (drwxr-xr-x d)"},
	{"links in the way of a copy", "nothing is written through a link in the target",
		"l dst/f -> ../victim\nf 0644 victim data:5\nf 0644 src/f data:9", "copydir dst src\ncopydir victimdir src", ".|.", ".|."},
	{"a tree over its like", "links, FIFOs and devices are made anew",
		"l src/l -> x\np 0644 src/p", "copydir dst src\ncopydir dst src", ".|error", ".|."},
	{"a link to a link by way of a dot", "the kernel agrees with haul",
		"d 0755 r/a\nl r/l -> m/.\nl r/m -> n\nl r/n -> a", "rootpath r l", `"l" r/a/a`, `"l" r/a`},
	{"a link up through a link", "the kernel agrees with haul",
		"d 0755 r/a/a\nl r/a/n -> ../l/..\nl r/l -> a/a", "rootpath r a/n", `"a/n" r`, `"a/n" r/a`},
	{"names of one FIFO", "they are kept together", "p 0644 src/p" + then + "\nh src/q = src/p", "copydir dst src\nchanges src dst", ".|.", ".|unmodified /p (prw-r--r-- p)|unmodified /q (prw-r--r-- q)"},
}

func TestDiffers(t *testing.T) {
	needRoot(t)
	for _, tt := range differs {
		t.Run(tt.name, func(t *testing.T) {
			for program, want := range map[string]string{v045: tt.theirs, haul: tt.ours} {
				dir := t.TempDir()
				if err := testtree.Make(dir, tt.tree); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, call := range strings.Split(tt.args, "\n") {
					out := strings.TrimSpace(run(t, program, dir, strings.Fields(call)...))
					if out == "" {
						out = "."
					}
					got = append(got, strings.Split(anyError.ReplaceAllString(out, "error"), "\n")...)
				}
				if got := strings.Join(got, "|"); got != want {
					t.Errorf("%s prints\n%s, want\n%s\n(%s)", filepath.Base(program), got, want, tt.why)
				}
			}
		})
	}
}

// TestCopyDirAnything has both copy trees of all there is, but for ACLs, since
// continuity's copies inherit those of their directories, and hard links, since
// it keeps only those of regular files.
func TestCopyDirAnything(t *testing.T) {
	needRoot(t)
	gen := testtree.Gen(testtree.Shape{Entries: 24, Privileged: true, Xattrs: true})
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		if err := testtree.Make(dir+"/src", gen.Draw(rt, "tree")); err != nil {
			rt.Fatal(err)
		}
		theirs, ours := run(t, v045, dir, "copydir", "theirs", "src"), run(t, haul, dir, "copydir", "ours", "src")
		if theirs != ours {
			rt.Fatalf("continuity prints %s, haul %s", theirs, ours)
		}
		if diff, err := testtree.Diff(dir+"/theirs", dir+"/ours", looks&^testtree.Links); err != nil || diff != "" {
			rt.Fatalf("%v\n%s", err, diff)
		}
	})
}

// TestChangesAnything has both compare trees that share a part.
func TestChangesAnything(t *testing.T) {
	needRoot(t)
	gen := testtree.Gen(testtree.Shape{Entries: 16, FileSize: 5000, HoleSize: 10000, Privileged: true})
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		shared := gen.Draw(rt, "in both")
		for _, side := range []string{"a", "b"} {
			if err := os.Mkdir(filepath.Join(dir, side), 0o755); err != nil {
				rt.Fatal(err)
			}
			if testtree.Make(dir+"/"+side, shared) != nil || testtree.Make(dir+"/"+side, gen.Draw(rt, "only in "+side)) != nil {
				rt.Skip("the halves of a tree do not fit")
			}
		}
		for _, verb := range []string{"changes", "diffusage"} {
			theirs, ours := run(t, v045, dir, verb, "a", "b"), run(t, haul, dir, verb, "a", "b")
			if theirs != ours {
				rt.Fatalf("%s: continuity prints\n%s\nhaul prints\n%s", verb, theirs, ours)
			}
		}
		if theirs, ours := run(t, v045, dir, "diskusage", "a", "b"), run(t, haul, dir, "diskusage", "a", "b"); theirs != ours {
			rt.Fatalf("continuity counts %s, haul %s", theirs, ours)
		}
	})
}
