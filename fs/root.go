package fs

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxLinks is how many symbolic links RootPath follows before it calls them a loop.
const maxLinks = 255

// RootPath joins a path with a root, evaluating and bounding any symlink to the
// root directory: for what the result names, the root is "/", for absolute
// symlinks and for ".." alike. Elements that do not exist are joined as they
// stand. The root itself is not evaluated. A loop of symlinks is an error.
//
// The result is true of the moment: who can change the tree meanwhile can make
// it lead elsewhere. os.Root and haul's own functions do not have this gap.
func RootPath(root, path string) (string, error) {
	done := string(filepath.Separator) // evaluated, seen from the root
	rest := path[len(filepath.VolumeName(path)):]
	for links := 0; rest != ""; {
		var name string
		name, rest = firstElement(rest)
		switch name {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, name)
		target, err := readlink(filepath.Join(root, next))
		if err != nil {
			return "", err
		}
		if target == "" {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "readlink", Path: filepath.Join(root, next), Err: syscall.ELOOP}
		}
		inside := target[len(filepath.VolumeName(target)):]
		if inside != "" && os.IsPathSeparator(inside[0]) {
			done = string(filepath.Separator)
		}
		rest = inside + string(filepath.Separator) + rest
	}
	return filepath.Join(root, done), nil
}

// readlink is what a symbolic link holds; "" for what is none or is not there.
func readlink(path string) (string, error) {
	info, err := os.Lstat(path)
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		return "", err
	}
	return os.Readlink(path)
}

// firstElement cuts a path behind its first element, which is "" between two
// separators.
func firstElement(path string) (name, rest string) {
	for i := range len(path) {
		if os.IsPathSeparator(path[i]) {
			return path[:i], path[i+1:]
		}
	}
	return path, ""
}
