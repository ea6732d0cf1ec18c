package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFloor wants of the floor what cp -a gives, on a tree of everything that
// it may meet: a floor that does less would be a lie.
func TestFloor(t *testing.T) {
	if testing.Short() {
		t.Skip("needs gcc and root")
	}
	if os.Geteuid() != 0 {
		t.Fatal("needs root: run it as root, or with -short")
	}
	dir := t.TempDir()
	src, floor := filepath.Join(dir, "src"), filepath.Join(dir, "floor")
	if err := command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", floor, "floor/floor.c"); err != nil {
		t.Fatal(err)
	}
	plantOddities(t, src)
	for _, argv := range [][]string{
		{"cp", "-a", src, filepath.Join(dir, "by-cp")},
		{floor, src, filepath.Join(dir, "by-floor")},
	} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", argv, err, out)
		}
		if err := sameTree(src, argv[2]); err != nil {
			t.Errorf("%s: %v", filepath.Base(argv[0]), err)
		}
	}
	if err := sameTree(filepath.Join(dir, "by-cp"), filepath.Join(dir, "by-floor")); err != nil {
		t.Error(err)
	}
}

// plantOddities makes modes, owners, links, attributes and kinds of all sorts,
// and sizes around the floor's borders.
func plantOddities(t *testing.T, root string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(sow(root, 7, 70, 10*kib))
	at := func(name string) string { return filepath.Join(root, name) }
	for name, size := range map[string]int{"empty": 0, "one": 1, "block": block, "below": block - 1, "megabyte": mib, "above": mib + 1, "large": 3*mib + 17} {
		must(sowFile(at("d000/"+name), make([]byte, size)))
	}
	must(os.Chmod(at("d000/one"), 0o6711|os.ModeSetuid))
	must(os.Chown(at("d000/block"), 12, 34))
	must(os.Chmod(at("d001/f000000"), 0))
	must(os.Chmod(at("d002"), 0o2775|os.ModeSetgid))
	must(os.Chown(at("d002"), 0, 34))
	must(os.Mkdir(at("d002/below"), 0o500))
	must(os.Link(at("d000/one"), at("d003/one again")))
	must(os.Link(at("d000/one"), at("d004/one once more")))
	must(os.Symlink("../d000/one", at("d005/to one")))
	must(os.Link(at("d005/to one"), at("d006/to one")))
	must(os.Symlink("nowhere", at("d005/dangling")))
	must(syscall.Mkfifo(at("d005/fifo"), 0o640))
	must(syscall.Mknod(at("d005/device"), syscall.S_IFCHR|0o600, 1<<8|3))
	must(syscall.Setxattr(at("d000/one"), "user.colour", []byte("green"), 0))
	must(syscall.Setxattr(at("d006"), "user.colour", []byte("red"), 0))
	must(os.Chmod(at("d006"), 0o555))
	must(os.Chtimes(at("d002/below"), sown, sown))
}

func TestSameTree(t *testing.T) {
	for name, spoil := range map[string]func(string) error{
		"content": func(d string) error { return os.WriteFile(filepath.Join(d, "d000", "f000000"), []byte("no"), 0o644) },
		"byte":    func(d string) error { return sowFile(filepath.Join(d, "d000", "f000000"), make([]byte, 100)) },
		"time":    func(d string) error { return os.Chtimes(filepath.Join(d, "d001"), sown, sown.Add(1)) },
		"mode":    func(d string) error { return os.Chmod(filepath.Join(d, "d001", "f000001"), 0o600) },
		"missing": func(d string) error { return os.Remove(filepath.Join(d, "d001", "f000001")) },
	} {
		dir := t.TempDir()
		a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		for _, root := range []string{a, b} {
			if err := sow(root, 2, 4, 100); err != nil {
				t.Fatal(err)
			}
		}
		if err := sameTree(a, b); err != nil {
			t.Fatal(err)
		}
		if err := spoil(b); err != nil {
			t.Fatal(err)
		}
		if sameTree(a, b) == nil {
			t.Errorf("%s: not seen", name)
		}
	}
}
