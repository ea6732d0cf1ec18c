package sys

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// checkName refuses all that is not the plain name of an entry: nothing given
// to a Dir can lead out of it.
func checkName(name string) error {
	if len(name) > NameMax {
		return syscall.ENAMETOOLONG
	}
	if name == "" || name == ".." || strings.IndexByte(name, '/') >= 0 || strings.IndexByte(name, 0) >= 0 || strings.ContainsAny(name, otherSeparators) {
		return syscall.EINVAL
	}
	return nil
}

// Retain adds a reference: the directory stays usable until as many Closes.
func (d *Dir) Retain() *Dir {
	d.refs.Add(1)
	return d
}

// Path is the directory's path as the user would write it: for messages only.
func (d *Dir) Path() string {
	if d.parent == nil {
		return here(d.name)
	}
	return d.parent.Join(d.name)
}

// Join is the path of an entry of d, for messages only.
func (d *Dir) Join(name string) string {
	var names []string
	at := d
	for ; at.parent != nil; at = at.parent {
		names = append(names, at.name)
	}
	var b strings.Builder
	b.WriteString(at.name)
	for i := len(names) - 1; i >= 0; i-- {
		sep(&b)
		b.WriteString(names[i])
	}
	if name != "." {
		sep(&b)
		b.WriteString(name)
	}
	return here(b.String())
}

// here is the directory a root's path means: none at all is the working
// directory, whose entries are then named without "./", as the user named them.
func here(path string) string {
	if path == "" {
		return "."
	}
	return path
}

func sep(b *strings.Builder) {
	if s := b.String(); s != "" && s[len(s)-1] != filepath.Separator {
		b.WriteByte(filepath.Separator)
	}
}

// pathErr names the operation and the path of an entry of d.
func (d *Dir) pathErr(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: d.Join(name), Err: err}
}

// linkErr names the operation and both paths.
func linkErr(op string, from *Dir, old string, to *Dir, name string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: from.Join(old), New: to.Join(name), Err: err}
}
