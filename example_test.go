package haul_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/gohaul/haul"
)

// scratch makes a directory for an example, with files of the names and contents
// given in turn.
func scratch(files ...string) (dir string) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(files[i+1]), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	return dir
}

// show prints a file of an example.
func show(elem ...string) {
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", data)
}

func ExampleCopyFile() {
	dir := scratch("a", "bytes")
	defer os.RemoveAll(dir)

	err := haul.CopyFile(context.Background(), filepath.Join(dir, "b"), filepath.Join(dir, "a"), nil)
	if err != nil {
		log.Fatal(err)
	}
	show(dir, "b")
	// Output: bytes
}

func ExampleCopyDir() {
	dir := scratch("src/sub/file", "bytes", "src/cache/junk", "junk", "dst/gone", "old")
	defer os.RemoveAll(dir)

	err := haul.CopyDir(context.Background(), filepath.Join(dir, "dst"), filepath.Join(dir, "src"), &haul.Options{
		Delete:     true, // what the source lacks: this is a sync
		Filter:     []string{"- cache/"},
		Durability: haul.SyncBatch, // on the disk when it returns
	})
	if err != nil {
		log.Fatal(err)
	}
	list, err := filepath.Glob(filepath.Join(dir, "dst", "*"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(list), filepath.Base(list[0]))
	// Output: 1 sub
}

func ExampleCopyDir_counters() {
	dir := scratch("src/a", "12345", "src/b", "67890")
	defer os.RemoveAll(dir)

	counters := new(haul.Counters) // may be read while the job runs
	err := haul.CopyDir(context.Background(), filepath.Join(dir, "dst"), filepath.Join(dir, "src"), &haul.Options{Counters: counters})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(counters.Files.Load(), "files,", counters.Bytes.Load(), "bytes")
	// Output: 2 files, 10 bytes
}

func ExampleCopy() {
	dir := scratch("a", "1", "b/c", "2", "target/old", "")
	defer os.RemoveAll(dir)
	in := func(name string) string { return filepath.Join(dir, name) }

	err := haul.Copy(context.Background(), []haul.Pair{
		{Src: in("a"), Dst: in("target/a")},
		{Src: in("b"), Dst: in("target/b")},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	show(dir, "target/a")
	show(dir, "target/b/c")
	// Output:
	// 1
	// 2
}

func ExampleWriteFile() {
	dir := scratch("file", "longer than what comes")
	defer os.RemoveAll(dir)

	if err := haul.WriteFile(filepath.Join(dir, "file"), []byte("bytes"), 0o644); err != nil {
		log.Fatal(err)
	}
	show(dir, "file")
	// Output: bytes
}

func ExampleReplaceFile() {
	dir := scratch("config", "old")
	defer os.RemoveAll(dir)

	// Readers, and a power cut at any moment, find the old content or the new one.
	err := haul.ReplaceFile(filepath.Join(dir, "config"), []byte("new"), 0o644, haul.SyncEach)
	if err != nil {
		log.Fatal(err)
	}
	show(dir, "config")
	// Output: new
}

func ExampleCreate() {
	dir := scratch()
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "image")

	p, err := haul.Create(name, 0, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Abort() // does nothing after Commit
	fmt.Fprint(p, "head")
	if err := p.Hole(1 << 40); err != nil { // a terabyte that takes no space
		log.Fatal(err)
	}
	if _, err := p.ReadFrom(strings.NewReader("tail")); err != nil {
		log.Fatal(err)
	}
	if err := p.Commit(); err != nil {
		log.Fatal(err)
	}
	fi, err := os.Stat(name)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fi.Size())
	// Output: 1099511627784
}

func ExamplePending_Write() {
	dir := scratch("file", "old")
	defer os.RemoveAll(dir)

	p, err := haul.Create(filepath.Join(dir, "file"), 0, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Abort()
	if _, err := p.Write([]byte("new")); err != nil {
		log.Fatal(err)
	}
	show(dir, "file")
	if err := p.Commit(); err != nil {
		log.Fatal(err)
	}
	show(dir, "file")
	// Output:
	// old
	// new
}

func ExamplePending_ReadFrom() {
	dir := scratch()
	defer os.RemoveAll(dir)

	p, err := haul.Create(filepath.Join(dir, "file"), 0, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Abort()
	n, err := p.ReadFrom(strings.NewReader("streamed"))
	if err != nil {
		log.Fatal(err)
	}
	if err := p.Commit(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(n)
	show(dir, "file")
	// Output:
	// 8
	// streamed
}

func ExamplePending_Hole() {
	dir := scratch()
	defer os.RemoveAll(dir)

	p, err := haul.Create(filepath.Join(dir, "file"), 0, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Abort()
	if err := p.Hole(3); err != nil {
		log.Fatal(err)
	}
	if err := p.Commit(); err != nil {
		log.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "file"))
	fmt.Println(bytes.Equal(data, []byte{0, 0, 0}), err)
	// Output: true <nil>
}

func ExamplePending_Commit() {
	dir := scratch()
	defer os.RemoveAll(dir)

	p, err := haul.Create(filepath.Join(dir, "file"), 0, &haul.Options{Durability: haul.SyncEach})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Abort()
	fmt.Fprint(p, "bytes")
	if err := p.Commit(); err != nil { // only now is the name there, and safe
		log.Fatal(err)
	}
	show(dir, "file")
	// Output: bytes
}

func ExamplePending_Abort() {
	dir := scratch("file", "old")
	defer os.RemoveAll(dir)

	p, err := haul.Create(filepath.Join(dir, "file"), 0, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprint(p, "half of what was to co")
	if err := p.Abort(); err != nil {
		log.Fatal(err)
	}
	show(dir, "file")
	// Output: old
}

func ExamplePartialError() {
	failed := &haul.PartialError{Failed: 3, First: os.ErrPermission}
	fmt.Println(failed)
	// Output: permission denied (and 2 more)
}
