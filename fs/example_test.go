package fs_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gohaul/haul/fs"
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
func show(name string) {
	data, err := os.ReadFile(name)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", data)
}

func ExampleCopyFile() {
	dir := scratch("a", "bytes")
	defer os.RemoveAll(dir)

	if err := fs.CopyFile(filepath.Join(dir, "b"), filepath.Join(dir, "a")); err != nil {
		log.Fatal(err)
	}
	show(filepath.Join(dir, "b"))
	// Output: bytes
}

func ExampleWithFileSync() {
	dir := scratch("a", "bytes")
	defer os.RemoveAll(dir)

	// When this returns, no power cut can take the copy back.
	if err := fs.CopyFile(filepath.Join(dir, "b"), filepath.Join(dir, "a"), fs.WithFileSync()); err != nil {
		log.Fatal(err)
	}
	show(filepath.Join(dir, "b"))
	// Output: bytes
}

func ExampleCopyDir() {
	dir := scratch("src/sub/file", "bytes")
	defer os.RemoveAll(dir)

	if err := fs.CopyDir(filepath.Join(dir, "dst"), filepath.Join(dir, "src")); err != nil {
		log.Fatal(err)
	}
	show(filepath.Join(dir, "dst/sub/file"))
	// Output: bytes
}

func ExampleWithXAttrErrorHandler() {
	dir := scratch("src/file", "bytes")
	defer os.RemoveAll(dir)

	// Attributes that the target's file system cannot take are no reason to stop.
	tolerant := fs.WithXAttrErrorHandler(func(dst, src, key string, err error) error {
		if errors.Is(err, syscall.EOPNOTSUPP) {
			return nil
		}
		return err
	})
	if err := fs.CopyDir(filepath.Join(dir, "dst"), filepath.Join(dir, "src"), tolerant); err != nil {
		log.Fatal(err)
	}
	show(filepath.Join(dir, "dst/file"))
	// Output: bytes
}

func ExampleWithAllowXAttrErrors() {
	dir := scratch("src/file", "bytes")
	defer os.RemoveAll(dir)

	if err := fs.CopyDir(filepath.Join(dir, "dst"), filepath.Join(dir, "src"), fs.WithAllowXAttrErrors()); err != nil {
		log.Fatal(err)
	}
	show(filepath.Join(dir, "dst/file"))
	// Output: bytes
}

func ExampleWithXAttrExclude() {
	dir := scratch("src/file", "bytes")
	defer os.RemoveAll(dir)

	// The label of a security module belongs to the place, not to the file.
	if err := fs.CopyDir(filepath.Join(dir, "dst"), filepath.Join(dir, "src"), fs.WithXAttrExclude("security.selinux")); err != nil {
		log.Fatal(err)
	}
	show(filepath.Join(dir, "dst/file"))
	// Output: bytes
}

func ExampleWithCopyFileSync() {
	dir := scratch("src/file", "bytes")
	defer os.RemoveAll(dir)

	if err := fs.CopyDir(filepath.Join(dir, "dst"), filepath.Join(dir, "src"), fs.WithCopyFileSync()); err != nil {
		log.Fatal(err)
	}
	show(filepath.Join(dir, "dst/file"))
	// Output: bytes
}

func ExampleWithCopyDirSync() {
	dir := scratch("src/file", "bytes")
	defer os.RemoveAll(dir)

	if err := fs.CopyDir(filepath.Join(dir, "dst"), filepath.Join(dir, "src"), fs.WithCopyDirSync()); err != nil {
		log.Fatal(err)
	}
	show(filepath.Join(dir, "dst/file"))
	// Output: bytes
}

func ExampleChanges() {
	before := scratch("gone/file", "1", "kept", "2")
	defer os.RemoveAll(before)
	after := scratch("kept", "22", "new/file", "3")
	defer os.RemoveAll(after)

	err := fs.Changes(context.Background(), before, after, func(k fs.ChangeKind, path string, fi os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		fmt.Println(k, path)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// delete /gone
	// modify /kept
	// add /new
	// add /new/file
}

func ExampleDiffDirChanges() {
	base := scratch("file", "1")
	defer os.RemoveAll(base)
	upper := scratch("new", "2") // of an overlay over base
	defer os.RemoveAll(upper)

	err := fs.DiffDirChanges(context.Background(), base, upper, fs.DiffSourceOverlayFS, func(k fs.ChangeKind, path string, fi os.FileInfo, err error) error {
		fmt.Println(k, path)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: add /new
}

func ExampleChangeKind_String() {
	fmt.Println(fs.ChangeKind(fs.ChangeKindDelete).String())
	// Output: delete
}

func ExampleDiskUsage() {
	dir := scratch("a", "1", "b", "2")
	defer os.RemoveAll(dir)
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "c")); err != nil {
		log.Fatal(err)
	}

	usage, err := fs.DiskUsage(context.Background(), dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(usage.Inodes, "inodes: the directory, a, which is c too, and b")
	// Output: 3 inodes: the directory, a, which is c too, and b
}

func ExampleDiffUsage() {
	before := scratch("a", "1")
	defer os.RemoveAll(before)
	after := scratch("a", "11", "b", "2")
	defer os.RemoveAll(after)

	usage, err := fs.DiffUsage(context.Background(), before, after)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(usage.Inodes, "inodes are new or changed")
	// Output: 2 inodes are new or changed
}

func ExampleRootPath() {
	root := scratch("etc/passwd", "")
	defer os.RemoveAll(root)
	if err := os.Symlink("/etc/passwd", filepath.Join(root, "link")); err != nil {
		log.Fatal(err)
	}

	path, err := fs.RootPath(root, "../../link")
	if err != nil {
		log.Fatal(err)
	}
	inside, err := filepath.Rel(root, path)
	fmt.Println(inside, err)
	// Output: etc/passwd <nil>
}

func ExampleGetLinkInfo() {
	dir := scratch("a", "1")
	defer os.RemoveAll(dir)
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
		log.Fatal(err)
	}

	a, _ := os.Stat(filepath.Join(dir, "a"))
	b, _ := os.Stat(filepath.Join(dir, "b"))
	idA, linked := fs.GetLinkInfo(a)
	idB, _ := fs.GetLinkInfo(b)
	fmt.Println(linked, idA == idB)
	// Output: true true
}

func ExampleGetMagic() {
	magic, err := fs.GetMagic(os.TempDir())
	if err != nil {
		log.Fatal(err)
	}
	name, known := fs.FsNames[magic]
	fmt.Println(known, name != "")
	// Output: true true
}

func ExampleSupportsDType() {
	ok, err := fs.SupportsDType(os.TempDir())
	fmt.Println(ok, err)
	// Output: true <nil>
}

// stamped is the info of a file whose times are known.
func stamped(atime, mtime time.Time) os.FileInfo {
	dir := scratch("file", "")
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "file")
	if err := os.Chtimes(name, atime, mtime); err != nil {
		log.Fatal(err)
	}
	fi, err := os.Stat(name)
	if err != nil {
		log.Fatal(err)
	}
	return fi
}

func ExampleAtime() {
	atime, err := fs.Atime(stamped(time.Unix(1, 0), time.Unix(2, 0)))
	fmt.Println(atime.UTC(), err)
	// Output: 1970-01-01 00:00:01 +0000 UTC <nil>
}

func ExampleMtime() {
	mtime, err := fs.Mtime(stamped(time.Unix(1, 0), time.Unix(2, 0)))
	fmt.Println(mtime.UTC(), err)
	// Output: 1970-01-01 00:00:02 +0000 UTC <nil>
}

func ExampleCtime() {
	ctime, err := fs.Ctime(stamped(time.Unix(1, 0), time.Unix(2, 0)))
	fmt.Println(time.Since(ctime) < time.Hour, err)
	// Output: true <nil>
}
