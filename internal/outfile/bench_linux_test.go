package outfile

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/loopfs"
)

func BenchmarkIsZero(b *testing.B) {
	for _, size := range []int{512, 4096, 256 << 10} {
		p := make([]byte, size)
		b.Run(fmt.Sprintf("zeros/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if !isZero(p) {
					b.Fatal("not zero")
				}
			}
		})
	}
}

// BenchmarkRun searches a mebibyte in blocks.
func BenchmarkRun(b *testing.B) {
	zero, data := make([]byte, 1<<20), random(1<<20)
	late := make([]byte, 1<<20) // blocks that are zeros up to their last byte
	for at := 4095; at < len(late); at += 4096 {
		late[at] = 1
	}
	for name, p := range map[string][]byte{"zeros": zero, "data": data, "late": late} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(1 << 20)
			for b.Loop() {
				if n, _ := run(p, 0, 4096); n != 1<<20 {
					b.Fatal(n)
				}
			}
		})
	}
}

func BenchmarkSame(b *testing.B) {
	p, q := random(1<<20), random(1<<20)
	b.SetBytes(1 << 20)
	for b.Loop() {
		if n, _ := same(p, q, 0, page); n != 1<<20 {
			b.Fatal(n)
		}
	}
}

// BenchmarkSmallFile writes 10 KiB under a new name, over an old one, and into
// an old one.
func BenchmarkSmallFile(b *testing.B) {
	dir := ramDir(b)
	d := root(b, dir)
	data := random(10 << 10)
	path := filepath.Join(dir, "f")
	for name, p := range map[string]Policy{"New": {Place: New}, "Replace": {}, "InPlace": {Place: InPlace}, "New/always": {Place: New, Sparse: SparseAlways, Ways: new(Ways)}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var f File
			f.OnFinal = nil
			for b.Loop() {
				if p.Place == New {
					syscall.Unlink(path)
				}
				f.Devices(1, 1)
				if err := f.Create(d, "f", int64(len(data)), 0o600, &p); err != nil {
					b.Fatal(err)
				}
				f.At(0).Write(data)
				if err := f.Commit(nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStream writes 64 MiB in pieces, by every policy of zeros.
func BenchmarkStream(b *testing.B) {
	d := root(b, ramDir(b))
	data := random(64 << 20)
	for _, sparse := range []Sparse{SparseAuto, SparseAlways, SparseNever} {
		for _, piece := range []int{32 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%d/%d", sparse, piece), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				var f File
				p := &Policy{Sparse: sparse, Place: InPlace}
				for b.Loop() {
					if err := f.Create(d, "f", int64(len(data)), 0o600, p); err != nil {
						b.Fatal(err)
					}
					s := f.At(0)
					for at := 0; at < len(data); at += piece {
						s.Write(data[at : at+piece])
					}
					if err := f.Commit(nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkCopy is what offloadMin and cloneMin were chosen by: files of many
// sizes read and written, offloaded, and cloned.
func BenchmarkCopy(b *testing.B) {
	for _, kind := range loopfs.Kinds {
		dir := loopfs.Mount(b, kind, 2<<30)
		d := root(b, dir)
		for _, size := range []int64{4 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 1 << 20, 16 << 20} {
			src := openSource(b, dir, random(int(size)))
			ways := map[string]func(f *File) error{
				"write":   func(f *File) error { return f.At(0).Copy(src, 0, size) },
				"offload": func(f *File) error { return offloadAll(f, src, size) },
			}
			if kind == "xfs" || kind == "btrfs" {
				ways["clone"] = func(f *File) error { return f.file.Clone(src) }
			}
			for name, copy := range ways {
				b.Run(fmt.Sprintf("%s/%dKiB/%s", kind, size>>10, name), func(b *testing.B) {
					var f File
					p := &Policy{Place: New, Reflink: ReflinkNever}
					b.SetBytes(size)
					i := 0
					for b.Loop() {
						if i++; i%64 == 0 {
							b.StopTimer()
							for j := range 64 {
								os.Remove(filepath.Join(dir, fmt.Sprint(j)))
							}
							b.StartTimer()
						}
						if err := f.Create(d, names[i%64], size, 0o600, p); err != nil {
							b.Fatal(err)
						}
						if err := copy(&f); err != nil {
							b.Fatal(err)
						}
						if err := f.Commit(nil); err != nil {
							b.Fatal(err)
						}
					}
				})
				for j := range 64 {
					os.Remove(filepath.Join(dir, fmt.Sprint(j)))
				}
			}
		}
	}
}

var names = func() (list [64]string) {
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	return list
}()

func offloadAll(f *File, src *sys.File, size int64) error {
	for off := int64(0); off < size; {
		n, err := f.file.CopyRange(src, off, off, size-off)
		if err != nil || n == 0 {
			return fmt.Errorf("%d, %w", n, err)
		}
		off += n
	}
	f.main.top, f.main.end = size, size
	return nil
}

// BenchmarkOverwrite rewrites a file of 748,000 bytes, by Overwrite and by the
// standard library.
func BenchmarkOverwrite(b *testing.B) {
	data := random(748_000)
	for _, kind := range loopfs.Kinds {
		name := filepath.Join(loopfs.Mount(b, kind, 0), "f")
		for who, write := range map[string]func() error{
			"haul": func() error { return Overwrite(name, data, 0o644, nil) },
			"os":   func() error { return os.WriteFile(name, data, 0o644) },
		} {
			b.Run(kind+"/"+who, func(b *testing.B) {
				for b.Loop() {
					if err := write(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
