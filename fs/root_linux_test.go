package fs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gohaul/haul/fs"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// TestRootPathAsKernel draws trees of links and compares with the kernel, which
// resolves a path beneath a root by itself (openat2, RESOLVE_IN_ROOT).
func TestRootPathAsKernel(t *testing.T) {
	element := rapid.SampledFrom([]string{"a", "b", "c", "d", "f", "l", "m", "n", "..", ".", ""})
	path := rapid.Custom(func(t *rapid.T) string {
		p := strings.Join(rapid.SliceOfN(element, 1, 6).Draw(t, "path"), "/")
		if p == "" {
			return "/"
		}
		return p
	})
	rapid.Check(t, func(rt *rapid.T) {
		root := t.TempDir()
		for _, dir := range []string{"a/b/c", "b/a", "c", "d/d"} {
			os.MkdirAll(filepath.Join(root, dir), 0o755)
		}
		os.WriteFile(filepath.Join(root, "f"), nil, 0o644)
		for _, dir := range []string{".", "a", "a/b", "d"} {
			for _, name := range []string{"l", "m", "n"} {
				if err := os.Symlink(path.Draw(rt, dir+"/"+name), filepath.Join(root, dir, name)); err != nil {
					rt.Fatal(err)
				}
			}
		}
		for range 10 {
			p := path.Draw(rt, "asked")
			want, err := kernelPath(root, p)
			got, gotErr := fs.RootPath(root, p)
			switch {
			case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENOTDIR):
				continue // RootPath goes on where nothing is, and takes ".." of a file
			case err != nil && gotErr == nil:
				rt.Errorf("%q: %s, but the kernel says %v", p, got, err)
			case err == nil && (gotErr != nil || got != want):
				rt.Errorf("%q: %s, %v, but the kernel says %s", p, got, gotErr, want)
			}
		}
	})
}

func kernelPath(root, path string) (string, error) {
	at, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(at)
	fd, err := unix.Openat2(at, path, &unix.OpenHow{Flags: unix.O_PATH, Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
}
