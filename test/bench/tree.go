package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// sown is when the made files were last changed: long ago, so that reading
// them updates no access time twice.
var sown = time.Date(2024, 2, 29, 12, 0, 0, 123456789, time.UTC)

// sow makes files of random bytes in directories d000, d001, ...
func sow(root string, dirs, files, size int) error {
	pool := make([]byte, size+mib)
	rand.NewChaCha8([32]byte{1}).Read(pool)
	for d := range dirs {
		dir := filepath.Join(root, fmt.Sprintf("d%03d", d))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		for f := range files / dirs {
			at := (d*8191 + f*127) % mib
			if err := sowFile(filepath.Join(dir, fmt.Sprintf("f%06d", f)), pool[at:at+size]); err != nil {
				return err
			}
		}
		if err := os.Chtimes(dir, sown, sown); err != nil {
			return err
		}
	}
	return os.Chtimes(root, sown, sown)
}

func sowFile(name string, data []byte) error {
	if err := os.WriteFile(name, data, 0o644); err != nil {
		return err
	}
	return os.Chtimes(name, sown, sown)
}

// transplant copies Go's own tree onto the volume, or a part of it.
func transplant(dst, part string) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	return command("cp", "-a", filepath.Join(strings.TrimSpace(string(root)), part)+"/.", dst)
}

// sameTree compares two trees in everything cp -a keeps but access times,
// which reading changes.
func sameTree(a, b string) error {
	x, err := describe(a)
	if err != nil {
		return err
	}
	y, err := describe(b)
	if err != nil {
		return err
	}
	if bytes.Equal(x, y) {
		return nil
	}
	xs, ys := bytes.Split(x, []byte("\n")), bytes.Split(y, []byte("\n"))
	for i := range min(len(xs), len(ys)) {
		if !bytes.Equal(xs[i], ys[i]) {
			return fmt.Errorf("the copy differs: %q became %q", xs[i], ys[i])
		}
	}
	return fmt.Errorf("the copy has %d entries of %d", len(ys)-1, len(xs)-1)
}

// describe writes a line an entry: name, mode, owner, size, time, links,
// target, attributes, a sum of the content. Of hard links it names the first.
func describe(root string) ([]byte, error) {
	var out bytes.Buffer
	first := map[uint64]string{}
	buf := make([]byte, mib)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st syscall.Stat_t
		if err := syscall.Lstat(path, &st); err != nil {
			return &fs.PathError{Op: "lstat", Path: path, Err: err}
		}
		rel, _ := filepath.Rel(root, path)
		fmt.Fprintf(&out, "%s %o %d:%d %d.%09d", rel, st.Mode, st.Uid, st.Gid, st.Mtim.Sec, st.Mtim.Nsec)
		if !d.IsDir() {
			if st.Nlink > 1 && first[st.Ino] == "" {
				first[st.Ino] = rel
			}
			fmt.Fprintf(&out, " %d %d %s %x", st.Size, st.Nlink, first[st.Ino], st.Rdev)
		}
		err = describeRest(&out, path, d.Type(), buf)
		out.WriteByte('\n')
		return err
	})
	return out.Bytes(), err
}

func describeRest(out *bytes.Buffer, path string, kind fs.FileMode, buf []byte) error {
	switch {
	case kind == fs.ModeSymlink:
		target, err := os.Readlink(path)
		fmt.Fprintf(out, " -> %s", target)
		return err
	case kind != 0 && kind != fs.ModeDir:
		return nil
	}
	n, err := syscall.Listxattr(path, buf)
	if err != nil && err != syscall.ENOTSUP {
		return &fs.PathError{Op: "listxattr", Path: path, Err: err}
	}
	if n > 0 {
		fmt.Fprintf(out, " %q", buf[:n])
	}
	if kind == fs.ModeDir {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	_, err = io.CopyBuffer(struct{ io.Writer }{sum}, struct{ io.Reader }{f}, buf)
	fmt.Fprintf(out, " %08x", sum.Sum32())
	return errors.Join(err, f.Close())
}
