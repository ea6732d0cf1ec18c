package meta

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/gohaul/haul/internal/sys"
)

// Reader reads and sets metadata through buffers it uses again and again: one
// per goroutine. The zero Reader is ready.
type Reader struct {
	// Skip tells attributes that are not read, so that Diff does not see them
	// either. nil: all are.
	Skip func(name string) bool

	// OnXattr judges an attribute that could not be read (attr is "" when they
	// could not be listed). nil result: go on without it. Unset: an error.
	OnXattr func(attr string, err error) error

	names  []byte
	value  []byte
	intern map[string]string // attribute names, which repeat from file to file
}

const (
	firstNames = 1 << 10
	firstValue = 1 << 10
	maxXattr   = 64 << 10 // the kernel's limit of a value and of a list of names
)

// Read describes o: stat, what a symbolic link holds, and of the attributes and
// ACLs what want asks for.
func (r *Reader) Read(o Object, want Mask, m *Meta) error {
	if err := o.stat(&m.Stat); err != nil {
		return err
	}
	return r.Fill(o, want, m)
}

// Fill is Read for a file whose m.Stat is known. It costs one system call where
// there are no attributes, none where none are wanted, and then allocates
// nothing. What it puts into m stays valid.
func (r *Reader) Fill(o Object, want Mask, m *Meta) error {
	m.Target, m.Xattrs = "", nil
	if m.IsSymlink() && o.File == nil {
		target, err := o.Dir.Readlink(o.Name)
		if err != nil {
			return err
		}
		m.Target = target
		want &^= ACL // a symbolic link has none
	}
	if want&(Xattrs|ACL) == 0 || !sys.XattrsSupported {
		return nil
	}
	names, err := r.list(o)
	if err != nil {
		return r.judge(o, "", err)
	}
	for len(names) > 0 {
		var name string
		name, names = r.next(names)
		if PartOf(name)&want == 0 || r.Skip != nil && r.Skip(name) {
			continue
		}
		v, err := r.get(o, name)
		switch {
		case sys.NoXattr(err), sys.NotSupported(err): // gone meanwhile, or listed in vain
		case err != nil:
			if err := r.judge(o, name, err); err != nil {
				return err
			}
		default:
			m.Xattrs = append(m.Xattrs, Xattr{name, append([]byte{}, v...)})
		}
	}
	slices.SortFunc(m.Xattrs, func(x, y Xattr) int { return strings.Compare(x.Name, y.Name) })
	return nil
}

func (r *Reader) judge(o Object, attr string, err error) error {
	if r.OnXattr != nil {
		return r.OnXattr(attr, err)
	}
	return o.xattrErr("getxattr", attr, err)
}

// list is the names of o's attributes, each ended by a NUL, valid until the next
// call. A file system without attributes gives none.
func (r *Reader) list(o Object) ([]byte, error) {
	if r.names == nil {
		r.names = make([]byte, firstNames)
	}
	for {
		n, err := o.listXattr(r.names)
		switch {
		case err == nil:
			return r.names[:n], nil
		case sys.NotSupported(err):
			return nil, nil
		case sys.TooSmall(err) && len(r.names) < maxXattr:
			r.names = make([]byte, min(4*len(r.names), maxXattr))
		default:
			return nil, err
		}
	}
}

// get is the value of an attribute, valid until the next call.
func (r *Reader) get(o Object, name string) ([]byte, error) {
	if r.value == nil {
		r.value = make([]byte, firstValue)
	}
	for {
		n, err := o.getXattr(name, r.value)
		switch {
		case err == nil:
			return r.value[:n], nil
		case sys.TooSmall(err) && len(r.value) < maxXattr:
			r.value = make([]byte, maxXattr)
		default:
			return nil, err
		}
	}
}

// next cuts the first name off a list.
func (r *Reader) next(list []byte) (name string, rest []byte) {
	n := 0
	for n < len(list) && list[n] != 0 {
		n++
	}
	raw := list[:n]
	rest = list[min(n+1, len(list)):]
	name, known := r.intern[string(raw)]
	if !known {
		name = string(raw)
		if r.intern == nil || len(r.intern) >= 1024 {
			r.intern = map[string]string{}
		}
		r.intern[name] = name
	}
	return name, rest
}

// The calls on an object, whichever of the two it is.

func (o Object) path() string {
	if o.File != nil {
		return o.File.Name()
	}
	return o.Dir.Join(o.Name)
}

func (o Object) xattrErr(op, attr string, err error) error {
	return &fs.PathError{Op: strings.TrimSpace(op + " " + attr), Path: o.path(), Err: err}
}

func (o Object) stat(st *Stat) error {
	if o.File != nil {
		return o.File.Stat(st)
	}
	err := o.Dir.Lstat(o.Name, st)
	if sys.IsNotExist(err) {
		if _, told := err.(*fs.PathError); !told {
			err = &fs.PathError{Op: "stat", Path: o.path(), Err: err}
		}
	}
	return err
}

func (o Object) listXattr(buf []byte) (int, error) {
	if o.File != nil {
		return o.File.ListXattr(buf)
	}
	return o.Dir.ListXattr(o.Name, buf)
}

func (o Object) getXattr(attr string, buf []byte) (int, error) {
	if o.File != nil {
		return o.File.GetXattr(attr, buf)
	}
	return o.Dir.GetXattr(o.Name, attr, buf)
}

func (o Object) setXattr(attr string, value []byte) error {
	if o.File != nil {
		return o.File.SetXattr(attr, value)
	}
	return o.Dir.SetXattr(o.Name, attr, value)
}

func (o Object) removeXattr(attr string) error {
	if o.File != nil {
		return o.File.RemoveXattr(attr)
	}
	return o.Dir.RemoveXattr(o.Name, attr)
}

func (o Object) chown(uid, gid int) error {
	if o.File != nil {
		return o.File.Chown(uid, gid)
	}
	return o.Dir.Chown(o.Name, uid, gid)
}

func (o Object) chmod(mode uint32) error {
	if o.File != nil {
		return o.File.Chmod(mode)
	}
	return o.Dir.Chmod(o.Name, mode)
}

func (o Object) setTimes(atime, mtime *Time) error {
	if o.File != nil {
		return o.File.SetTimes(atime, mtime)
	}
	return o.Dir.SetTimes(o.Name, atime, mtime)
}
