package fs_test

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gohaul/haul/fs"
)

func TestRootPath(t *testing.T) {
	root := build(t, `d 0755 d/e
		f 0644 file
		l rel -> d
		l abs -> /d
		l climb -> ../../../../d
		l dangling -> /no/x
		l escape -> ../../out
		l pw -> /etc/passwd
		l up -> d/e/..
		l chain -> abs/e
		l dot -> .
		l dotdot -> ..
		l slash -> /
		l tofile -> file
		l through -> ../r/d/../file
		l loop1 -> loop2
		l loop2 -> loop1
		l self -> self`)
	tests := []struct{ path, want string }{
		{"", "."}, {".", "."}, {"/", "."}, {"..", "."}, {"../..", "."},
		{"a", "a"}, {"a/b", "a/b"}, {"/a/../b", "b"}, {"d//e/", "d/e"}, {"d/./e", "d/e"},
		{"rel", "d"}, {"rel/e", "d/e"}, {"rel/", "d"}, {"abs", "d"}, {"abs/e", "d/e"},
		{"climb", "d"}, {"climb/x", "d/x"}, {"../climb", "d"}, {"d/../../x", "x"},
		{"dangling", "no/x"}, {"dangling/..", "no"}, {"escape", "out"}, {"escape/y", "out/y"}, {"pw", "etc/passwd"},
		{"up", "d"}, {"chain", "d/e"}, {"chain/..", "d"}, {"dot/dot/d", "d"},
		{"dotdot", "."}, {"dotdot/d", "d"}, {"dotdot/..", "."}, {"slash", "."}, {"slash/d", "d"},
		{"tofile", "file"}, {"tofile/..", "."}, {"through", "r/file"},
		{"no/..", "."}, {"no/../d", "d"}, {"no/../../y", "y"}, {"rel/no/../x", "d/x"}, {"d/../rel/..", "."},
	}
	for _, tt := range tests {
		got, err := fs.RootPath(root, tt.path)
		if want := filepath.Join(root, tt.want); err != nil || got != want {
			t.Errorf("RootPath(root, %q) = %s, %v, want %s", tt.path, strings.TrimPrefix(got, root), err, strings.TrimPrefix(want, root))
		}
	}
	for path, want := range map[string]error{
		"loop1": syscall.ELOOP, "loop1/x": syscall.ELOOP, "self": syscall.ELOOP, "d/../self/y": syscall.ELOOP,
		"file/x": syscall.ENOTDIR, "tofile/x": syscall.ENOTDIR,
	} {
		if got, err := fs.RootPath(root, path); !errors.Is(err, want) || got != "" {
			t.Errorf("RootPath(root, %q) = %s, %v, want %v", path, got, err, want)
		}
	}
	for _, r := range []string{"", "/", "none"} {
		if got, err := fs.RootPath(r, "../x/../haul"); err != nil || got != filepath.Join(r, "/haul") {
			t.Errorf("RootPath(%q) = %s, %v", r, got, err)
		}
	}
}
