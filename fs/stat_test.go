package fs_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gohaul/haul/fs"
)

func TestGetLinkInfo(t *testing.T) {
	dir := build(t, "f 0644 f\nh g = f\nf 0644 one\nd 0755 d/e\nl l -> f\nh l2 = l")
	info := func(name string) (uint64, bool) {
		fi, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return fs.GetLinkInfo(fi)
	}
	for name, want := range map[string]bool{"f": true, "g": true, "l": true, "one": false, "d": false} {
		if id, linked := info(name); linked != want || id == 0 {
			t.Errorf("GetLinkInfo(%s) = %d, %v, want %v", name, id, linked, want)
		}
	}
	f, _ := info("f")
	g, _ := info("g")
	if l, _ := info("l"); f != g || f == l {
		t.Errorf("identifiers %d, %d of one file, %d of another", f, g, l)
	}
}

// bareInfo is a FileInfo that no system made.
type bareInfo struct{ os.FileInfo }

func (bareInfo) Sys() any     { return nil }
func (bareInfo) Name() string { return "made up" }

func TestTimes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	atime, mtime := time.Unix(1e9, 5e8), time.Unix(2e9, 25e7)
	if err := os.Chtimes(name, atime, mtime); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := fs.Atime(fi); err != nil || !got.Equal(atime) {
		t.Errorf("Atime = %v, %v, want %v", got, err, atime)
	}
	if got, err := fs.Mtime(fi); err != nil || !got.Equal(mtime) {
		t.Errorf("Mtime = %v, %v, want %v", got, err, mtime)
	}
	if got, err := fs.Ctime(fi); err != nil || time.Since(got).Abs() > time.Hour {
		t.Errorf("Ctime = %v, %v, want now", got, err)
	}
	for name, f := range map[string]func(os.FileInfo) (time.Time, error){"Atime": fs.Atime, "Mtime": fs.Mtime, "Ctime": fs.Ctime} {
		if _, err := f(bareInfo{}); err == nil {
			t.Errorf("%s of an info without times is no error", name)
		}
	}
	if id, linked := fs.GetLinkInfo(bareInfo{fi}); id != 0 || linked {
		t.Errorf("GetLinkInfo of an info without inode = %d, %v", id, linked)
	}
}
