//go:build linux && !portable

package sys

import (
	"os"
	"path/filepath"
	"testing"
)

// The segments of a file with a hole cover its data and nothing else, in order.
func TestFiemap(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	w, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	const mib = 1 << 20
	data := make([]byte, mib)
	for i := range data {
		data[i] = 1
	}
	for _, off := range []int64{0, 4 * mib, 9 * mib} {
		if _, err := w.WriteAt(data, off); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var f File
	if err := OpenPath(&f, name, ReadOnly, 0); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []Segment
	for off := int64(0); ; {
		n := len(list)
		list, err = f.Fiemap(off, list)
		if NotSupported(err) {
			t.Logf("%v: nothing to check on this file system", err)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == n {
			break
		}
		last := list[len(list)-1]
		off = last.Off + last.Len
	}
	end, sum := int64(0), int64(0)
	for _, s := range list {
		if s.Off < end || s.Len <= 0 {
			t.Fatalf("segments out of order or empty: %+v", list)
		}
		end, sum = s.Off+s.Len, sum+s.Len
	}
	if sum < 3*mib || sum > 3*mib+1<<16 {
		t.Errorf("segments hold %d bytes, want 3 MiB: %+v", sum, list)
	}
}
