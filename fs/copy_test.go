package fs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gohaul/haul"
	"github.com/gohaul/haul/fs"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/testtree"
)

func TestCopyFile(t *testing.T) {
	mode := freshMode(t)
	const tree = "f 0640 s data:70000@7" + then + " xattr:user.a=1\nl sl -> s\nf 0600 sparse hole:1M data:5@9 hole:1M\n" +
		"f 0600 old data:100000 xattr:user.z=1" + then + "\nh old2 = old\nl ln -> old\nl dangling -> sub/none\nd 0755 sub\n"
	tests := []struct{ name, target, source, want string }{
		{"a new file has no one's mode", "new", "s", "f MODE new data:70000@7"},
		{"one that exists keeps inode, links, mode and attributes", "old", "s", "f 0600 old data:70000@7 xattr:user.z=1\nh old2 = old"},
		{"through a link", "ln", "s", "f 0600 old data:70000@7 xattr:user.z=1\nh old2 = old"},
		{"through a link to nothing yet", "dangling", "s", "f MODE sub/none data:70000@7"},
		{"from a link", "new", "sl", "f MODE new data:70000@7"},
		{"with holes", "new", "sparse", "f MODE new hole:1M data:5@9 hole:1M"},
		{"over more", "old", "sparse", "f 0600 old hole:1M data:5@9 hole:1M xattr:user.z=1\nh old2 = old"},
	}
	for _, opts := range [][]fs.CopyFileOpt{nil, {fs.WithFileSync()}} {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				dir := build(t, tree)
				if err := fs.CopyFile(filepath.Join(dir, tt.target), filepath.Join(dir, tt.source), opts...); err != nil {
					t.Fatal(err)
				}
				testtree.Want(t, dir, tree+strings.Replace(tt.want, "MODE", mode, 1), testtree.Mode|testtree.Content|testtree.Links|testtree.Xattrs|testtree.Extents)
			})
		}
	}
}

// freshMode is the mode that any program's new file gets, in octal.
func freshMode(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fresh")
	if err := os.WriteFile(name, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%04o", fi.Mode().Perm())
}

func TestCopyFileRefuses(t *testing.T) {
	const tree = "f 0644 s data:9\nh s2 = s\nl sl -> s\nd 0755 d\nf 0644 d/x data:1\nl loop -> loop\nf 0644 old data:5"
	tests := []struct {
		target, source string
		want           error
	}{
		{"s", "s", haul.ErrSameFile}, {"s2", "s", haul.ErrSameFile}, {"sl", "s", haul.ErrSameFile}, {"s", "sl", haul.ErrSameFile},
		{"d", "s", sys.ErrIsDir}, {"new", "d", sys.ErrIsDir}, {"old", "d", sys.ErrIsDir},
		{"new", "none", os.ErrNotExist}, {"old", "none", os.ErrNotExist}, {"none/new", "s", os.ErrNotExist},
		{"loop", "s", nil}, {"new", "loop", nil}, {"s/x", "old", nil},
	}
	for _, tt := range tests {
		dir := build(t, tree)
		err := fs.CopyFile(filepath.Join(dir, tt.target), filepath.Join(dir, tt.source))
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("CopyFile(%s, %s) gives %v, want %v", tt.target, tt.source, err, tt.want)
		} else if !strings.Contains(err.Error(), dir) {
			t.Errorf("CopyFile(%s, %s) gives %v, which names no path", tt.target, tt.source, err)
		}
		testtree.Want(t, dir, tree, testtree.Content|testtree.Links)
	}
}

func TestCopyDir(t *testing.T) {
	const tree = `d 0750 . mtime=2001-01-01T00:00:01.25Z
		d 0500 sealed mtime=2002-01-01T00:00:00.123456789Z xattr:user.d=1
		f 0640 sealed/f data:70000 mtime=2001-01-01T00:00:00.5Z atime=2000-01-01T00:00:00.25Z xattr:user.a=b
		f 0755 run data:20
		h run2 = run
		h sealed/run3 = run
		l link -> nowhere mtime=2001-02-01T00:00:00.5Z
		p 0604 fifo mtime=2001-02-01T00:00:00.5Z
		s 0755 sock mtime=2001-02-01T00:00:00.5Z
		f 0600 sparse hole:1M data:4k hole:1M
		f 0400 mine
		d 0755 empty mtime=2003-01-01T00:00:00.5Z`
	for name, opts := range map[string][]fs.CopyDirOpt{
		"as it is": nil, "files safe": {fs.WithCopyFileSync()}, "all safe": {fs.WithCopyDirSync()},
	} {
		t.Run(name, func(t *testing.T) {
			src := build(t, tree)
			dst := filepath.Join(t.TempDir(), "dst")
			t.Cleanup(func() { // else only root could remove them
				os.Chmod(src+"/sealed", 0o700)
				os.Chmod(dst+"/sealed", 0o700)
			})
			if err := fs.CopyDir(dst, src, opts...); err != nil {
				t.Fatal(err)
			}
			testtree.Equal(t, src, dst, testtree.All|testtree.Extents)
			if err := os.Chmod(dst+"/mine", 0o600); err != nil { // else only root could write to it
				t.Fatal(err)
			}
			if err := fs.CopyDir(dst, src, opts...); err != nil {
				t.Fatal("again: ", err)
			}
			testtree.Equal(t, src, dst, testtree.All|testtree.Extents)
		})
	}
}

func TestCopyDirOver(t *testing.T) {
	dst := build(t, "d 0700 d\nf 0600 d/x data:500 xattr:user.z=1\nh d/y = d/x\nf 0600 d/keep data:1\nl d/link -> keep\nl d/dir -> ..\np 0600 d/p")
	src := build(t, "d 0750 d"+then+"\nf 0644 d/x data:6"+then+"\nf 0644 d/link data:7\nl d/dir -> other\np 0644 d/p")
	if err := fs.CopyDir(dst, src); err != nil {
		t.Fatal(err)
	}
	testtree.Want(t, dst, "d 0750 d"+then+"\nf 0644 d/x data:6"+then+" xattr:user.z=1\nh d/y = d/x\nf 0600 d/keep data:1\nf 0644 d/link data:7\nl d/dir -> other\np 0644 d/p",
		testtree.Mode|testtree.Content|testtree.Links|testtree.Xattrs|testtree.DirMtime)
}

func TestCopyDirRoots(t *testing.T) {
	const tree = "d 0755 src" + then + "\nf 0644 src/f data:9" + then + "\nl link -> src\nd 0755 real\nl to -> real\nf 0644 file\nd 0755 clash\nd 0755 clash/f\nd 0755 f2d\nf 0644 f2d/x\nd 0755 d2f\nd 0755 d2f/x"
	refused := []struct {
		dst, src string
		want     error
	}{
		{"none/x", "src", os.ErrNotExist}, {"new", "none", os.ErrNotExist}, {"new", "file", sys.ErrNotDir},
		{"file", "src", nil}, {"clash", "src", nil}, {"f2d", "d2f", nil},
		{"src", "src", haul.ErrSameFile}, {"link", "src", haul.ErrSameFile}, {"src/in", "src", haul.ErrIntoItself}, {"src/in", "link", haul.ErrIntoItself},
	}
	for _, tt := range refused {
		dir := build(t, tree)
		err := fs.CopyDir(filepath.Join(dir, tt.dst), filepath.Join(dir, tt.src))
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("CopyDir(%s, %s) gives %v, want %v", tt.dst, tt.src, err, tt.want)
		}
		testtree.Want(t, dir, tree, testtree.Content)
	}
	for _, dst := range []string{"new", "new/", "to", "to/"} {
		dir := build(t, tree)
		if err := fs.CopyDir(dir+"/"+dst, dir+"/link"); err != nil {
			t.Errorf("CopyDir(%s, link) gives %v", dst, err)
			continue
		}
		testtree.Equal(t, dir+"/src", dir+"/"+strings.Replace(dst, "to", "real", 1), testtree.All)
	}
}

// TestXAttrErrors lets all attributes fail and asks who decided about them.
func TestXAttrErrors(t *testing.T) {
	src := build(t, "f 0644 f data:9 xattr:user.a=1 xattr:user.b=2\nd 0755 d xattr:user.a=4")
	errLost := errors.New("lost")
	errStop := errors.New("stop")
	var mu sync.Mutex
	var calls []string
	handler := func(result error) fs.CopyDirOpt {
		return fs.WithXAttrErrorHandler(func(dst, from, key string, err error) error {
			if !mu.TryLock() {
				t.Error("two calls of the handler at once")
				mu.Lock()
			}
			defer mu.Unlock()
			if !errors.Is(err, errLost) || filepath.Dir(from) != src || filepath.Base(from) != filepath.Base(dst) {
				t.Errorf("called with %s, %s, %s, %v", dst, from, key, err)
			}
			calls = append(calls, filepath.Base(dst)+" "+key)
			return result
		})
	}
	all := []string{"d user.a", "f user.a", "f user.b"}
	tests := []struct {
		name  string
		opts  []fs.CopyDirOpt
		calls []string
		want  error
	}{
		{"none", nil, nil, errLost},
		{"nil", []fs.CopyDirOpt{fs.WithXAttrErrorHandler(nil)}, nil, errLost},
		{"allowed", []fs.CopyDirOpt{fs.WithAllowXAttrErrors()}, nil, nil},
		{"ignored", []fs.CopyDirOpt{handler(nil)}, all, nil},
		{"stopped", []fs.CopyDirOpt{handler(errStop)}, nil, errStop},
		{"the last handler counts", []fs.CopyDirOpt{handler(errStop), fs.WithAllowXAttrErrors()}, nil, nil},
		{"excluded", []fs.CopyDirOpt{fs.WithXAttrExclude("user.a"), fs.WithXAttrExclude("user.x", "user.b")}, nil, nil},
		{"one excluded", []fs.CopyDirOpt{handler(nil), fs.WithXAttrExclude("user.a")}, []string{"f user.b"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			calls = nil
			defer sys.Inject(func(op sys.Op) sys.Fault {
				if strings.Contains(op.Call, "setxattr") {
					return sys.Fault{Err: errLost}
				}
				return sys.Fault{}
			})()
			dst := filepath.Join(t.TempDir(), "dst")
			err := fs.CopyDir(dst, src, tt.opts...)
			if !errors.Is(err, tt.want) || err != nil && tt.want == errLost && !strings.Contains(err.Error(), dst) {
				t.Fatalf("CopyDir gives %v, want %v", err, tt.want)
			}
			slices.Sort(calls)
			if tt.want == nil && !slices.Equal(calls, tt.calls) {
				t.Errorf("the handler saw %q, want %q", calls, tt.calls)
			}
			if err == nil {
				testtree.Want(t, dst, "f 0644 f data:9\nd 0755 d", testtree.Content|testtree.Xattrs)
			}
		})
	}
}
