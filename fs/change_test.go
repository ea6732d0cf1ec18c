package fs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gohaul/haul/fs"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/testtree"
)

// then is a time with nanoseconds, so that equal times are believed.
const then = " mtime=2001-02-03T04:05:06.5Z"

func build(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	testtree.Build(t, dir, text)
	return dir
}

// recorder notes changes as lines, "add /a/b".
type recorder struct {
	lines []string
	stop  string // the path to end at
}

var errEnough = errors.New("enough")

func (r *recorder) note(k fs.ChangeKind, path string, fi os.FileInfo, err error) error {
	if err != nil {
		return err
	}
	if (fi == nil) != (k == fs.ChangeKindDelete) {
		return fmt.Errorf("%v %s comes with info %v", k, path, fi)
	}
	if fi != nil && fi.Name() != filepath.Base(path) {
		return fmt.Errorf("%s comes with the info of %s", path, fi.Name())
	}
	r.lines = append(r.lines, k.String()+" "+path)
	if path == r.stop {
		return errEnough
	}
	return nil
}

func (r *recorder) want(t *testing.T, text string) {
	t.Helper()
	want := strings.Join(strings.Fields(strings.ReplaceAll(strings.TrimSpace(text), " /", "_/")), "\n")
	got := strings.ReplaceAll(strings.Join(r.lines, "\n"), " /", "_/")
	if got != want {
		t.Errorf("changes:\n%s\nwant:\n%s", got, want)
	}
}

func TestChanges(t *testing.T) {
	tests := []struct{ name, a, b, want string }{
		{"nothing", "f 0644 f data:9" + then + "\nd 0755 d", "f 0644 f data:9" + then + "\nd 0755 d", ""},
		{"a directory comes before what is beneath, and that before its longer namesakes",
			"", "f 0644 a-b\nd 0755 a\nf 0644 a/z\nf 0644 a.b\nf 0644 B",
			"add /B  add /a  add /a/z  add /a-b  add /a.b"},
		{"a directory that went is one change", "d 0755 d\nf 0644 d/x\nd 0755 d/e\nf 0644 d/e/y\nf 0644 f" + then,
			"f 0644 f" + then, "delete /d"},
		{"so is one that became a file, or a link", "d 0755 d\nf 0644 d/x\nd 0755 e\nf 0644 e/x", "f 0644 d\nl e -> d", "modify /d  modify /e"},
		{"a file that became a directory has additions", "f 0644 d\nl e -> d", "d 0755 d\nf 0644 d/x\nd 0755 e\nf 0644 e/x",
			"modify /d  add /d/x  modify /e  add /e/x"},
		{"a directory is not changed by what is beneath it", "d 0755 d" + then + "\nf 0644 d/x" + then, "d 0755 d\nf 0644 d/x data:1" + then + "\nf 0644 d/y",
			"modify /d/x  add /d/y"},
		{"mode of anything", "d 0755 d\nf 0644 f" + then + "\np 0644 p" + then, "d 0700 d\nf 04644 f" + then + "\np 0600 p" + then,
			"modify /d  modify /f  modify /p"},
		{"size", "f 0644 f data:5" + then, "f 0644 f data:6" + then, "modify /f"},
		{"seconds", "f 0644 f data:5@1 mtime=2001-01-01T00:00:00Z\nl l -> x mtime=2001-01-01T00:00:00Z", "f 0644 f data:5@1 mtime=2001-01-01T00:00:01Z\nl l -> x mtime=2001-01-01T00:00:01Z",
			"modify /f  modify /l"},
		{"equal nanoseconds are believed", "f 0644 f data:5@1 mtime=2001-01-01T00:00:00.1Z", "f 0644 f data:5@2 mtime=2001-01-01T00:00:00.1Z", ""},
		{"different ones too", "f 0644 f data:5@1 mtime=2001-01-01T00:00:00.1Z", "f 0644 f data:5@1 mtime=2001-01-01T00:00:00.2Z", "modify /f"},
		{"where both are zero, content decides", "f 0644 f data:5@1 mtime=2001-01-01T00:00:00Z\nf 0644 g data:5@1 mtime=2001-01-01T00:00:00Z",
			"f 0644 f data:5@1 mtime=2001-01-01T00:00:00Z\nf 0644 g data:5@2 mtime=2001-01-01T00:00:00Z", "modify /g"},
		{"and where one is", "f 0644 f data:5@1 mtime=2001-01-01T00:00:00.1Z\nf 0644 g data:5@1 mtime=2001-01-01T00:00:00Z",
			"f 0644 f data:5@1 mtime=2001-01-01T00:00:00Z\nf 0644 g data:5@2 mtime=2001-01-01T00:00:00.1Z", "modify /g"},
		{"to the last byte", "f 0644 f data:300k@1 data:1@3 mtime=2001-01-01T00:00:00Z\nf 0644 g data:256k@1 mtime=2001-01-01T00:00:00Z",
			"f 0644 f data:300k@1 data:1@4 mtime=2001-01-01T00:00:00Z\nf 0644 g data:256k@1 mtime=2001-01-01T00:00:00Z", "modify /f"},
		{"behind holes of any size", "f 0644 f hole:4T data:4k@1 hole:1T data:1@3 mtime=2001-01-01T00:00:00Z\nf 0644 g hole:4T data:4k@1 hole:1T mtime=2001-01-01T00:00:00Z",
			"f 0644 f hole:4T data:4k@1 hole:1T data:1@4 mtime=2001-01-01T00:00:00Z\nf 0644 g hole:4T data:4k@1 hole:1T mtime=2001-01-01T00:00:00Z", "modify /f"},
		{"a hole is like zeros", "f 0644 f hole:64k data:1@1 mtime=2001-01-01T00:00:00Z", "f 0644 f zero:64k data:1@1 mtime=2001-01-01T00:00:00Z", ""},
		{"so do targets of links", "l f -> a mtime=2001-01-01T00:00:00Z\nl g -> a mtime=2001-01-01T00:00:00Z", "l f -> a mtime=2001-01-01T00:00:00.1Z\nl g -> b mtime=2001-01-01T00:00:00Z", "modify /g"},
		{"a FIFO is never read", "p 0644 p mtime=2001-01-01T00:00:00Z", "p 0644 p mtime=2001-01-01T00:00:00Z", ""},
		{"unchanged names of one file are told", "f 0644 f data:5@1" + then + "\nh g = f", "f 0644 f data:5@1" + then + "\nh g = f", "unmodified /f  unmodified /g"},
		{"a new name is an addition", "f 0644 f data:5@1" + then, "f 0644 f data:5@1" + then + "\nh g = f", "unmodified /f  add /g"},
		{"a name that went", "f 0644 f data:5@1" + then + "\nh g = f", "f 0644 f data:5@1" + then, "delete /g"},
		{"user attributes are no change", "f 0644 f" + then, "f 0644 f xattr:user.a=1" + then, ""},
		{"the root itself is not compared", "d 0755 .", "d 0700 .", ""},
		{"odd names", "f 0644 \"\\xff\"\nf 0644 \"new\\nline\"" + then, "f 0644 \"new\\nline\"" + then + "\nd 0755 -d", "add /-d  delete /\xff"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r recorder
			if err := fs.Changes(t.Context(), build(t, tt.a), build(t, tt.b), r.note); err != nil {
				t.Fatal(err)
			}
			r.want(t, tt.want)
		})
	}
}

func TestChangesFromNothing(t *testing.T) {
	var r recorder
	b := build(t, "d 0755 d\nf 0644 d/x\nf 0644 e")
	if err := fs.Changes(t.Context(), "", b, r.note); err != nil {
		t.Fatal(err)
	}
	r.want(t, "add /d add /d/x add /e")
}

func TestChangesStops(t *testing.T) {
	r := recorder{stop: "/b"}
	dir := build(t, "f 0644 a\nf 0644 b\nf 0644 c")
	if err := fs.Changes(t.Context(), "", dir, r.note); err != errEnough {
		t.Errorf("stopping gives %v", err)
	}
	r.want(t, "add /a add /b")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := fs.Changes(ctx, "", dir, r.note); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled, it gives %v", err)
	}
	for _, args := range [][2]string{{dir + "/none", dir}, {dir, dir + "/none"}, {dir + "/a", dir}, {dir, dir + "/a"}} {
		if err := fs.Changes(t.Context(), args[0], args[1], r.note); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("Changes(%v) gives %v", args, err)
		}
	}
}

// TestChangesReadError wants the error of a file that had to be read, not a
// wrong answer.
func TestChangesReadError(t *testing.T) {
	text := "f 0644 f data:9@1 mtime=2001-01-01T00:00:00Z"
	a, b := build(t, text), build(t, text)
	for _, call := range []string{"pread64", "openat"} {
		met := 0
		restore := sys.Inject(func(op sys.Op) sys.Fault {
			if op.Call == call && op.Name == "f" {
				met++
				return sys.Fault{Err: errEnough}
			}
			return sys.Fault{}
		})
		var r recorder
		err := fs.Changes(t.Context(), a, b, r.note)
		restore()
		if met == 0 {
			t.Fatalf("no %s was made", call)
		}
		if !errors.Is(err, errEnough) || len(r.lines) > 0 {
			t.Errorf("with a failing %s: %v, %v", call, err, r.lines)
		}
	}
}
