package fs_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gohaul/haul/fs"
	"github.com/gohaul/haul/internal/sys"
)

// blocks adds up what stat says is allocated.
func blocks(t *testing.T, paths ...string) int64 {
	t.Helper()
	total := int64(0)
	for _, p := range paths {
		var st sys.Stat
		if err := sys.StatPath(p, false, &st); err != nil {
			t.Fatal(err)
		}
		total += st.Blocks * 512
	}
	return total
}

func TestDiskUsage(t *testing.T) {
	dir := build(t, "f 0644 f data:10000\nh g = f\nf 0644 sparse hole:1G data:1\nd 0755 d\nh d/h = f\nf 0644 d/e\nl l -> f\np 0644 p")
	in := func(names ...string) (paths []string) {
		for _, n := range names {
			paths = append(paths, filepath.Join(dir, n))
		}
		return paths
	}
	tests := []struct {
		name  string
		roots []string
		count []string // each of them once
	}{
		{"none", nil, nil},
		{"a tree", in("."), in(".", "f", "sparse", "d", "d/e", "l", "p")},
		{"a tree twice", in(".", "d", "."), in(".", "f", "sparse", "d", "d/e", "l", "p")},
		{"a file", in("sparse"), in("sparse")},
		{"a file by two names", in("f", "d"), in("f", "d", "d/e")},
		{"a link, not what it leads to", in("l"), in("l")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := fs.DiskUsage(t.Context(), tt.roots...)
			want := fs.Usage{Inodes: int64(len(tt.count)), Size: blocks(t, tt.count...)}
			if err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
	if _, err := fs.DiskUsage(t.Context(), dir, dir+"/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing root gives %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fs.DiskUsage(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled, it gives %v", err)
	}
}

func TestDiffUsage(t *testing.T) {
	a := build(t, "f 0644 same data:5000"+then+"\nf 0644 mod data:5000"+then+"\nf 0644 gone data:9999\nf 0644 one data:5000@1"+then+"\nd 0755 d")
	b := build(t, "f 0644 same data:5000"+then+"\nf 0644 mod data:9000"+then+"\nf 0644 new data:20000\nh new2 = new\nf 0644 one data:5000@1"+then+"\nh two = one\nd 0755 d\nd 0755 e")
	got, err := fs.DiffUsage(t.Context(), a, b)
	want := fs.Usage{Inodes: 4, Size: blocks(t, b+"/mod", b+"/new", b+"/two", b+"/e")}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if got, err := fs.DiffUsage(t.Context(), b, b); err != nil || got != (fs.Usage{}) {
		t.Errorf("of a directory and itself: %+v, %v", got, err)
	}
	if _, err := fs.DiffUsage(t.Context(), a, b+"/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing directory gives %v", err)
	}
}
