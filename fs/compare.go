package fs

import (
	"bytes"
	"context"
	"io"

	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/internal/tree"
)

// likeness is what the metadata of two files tell about their difference.
type likeness uint8

const (
	alike   likeness = iota
	differs          // for certain
	perhaps          // contents decide
)

// likenessOf compares two files of one name. It is pure: what it cannot see are
// contents and capabilities.
func likenessOf(a, b *sys.Stat) likeness {
	switch {
	case a.Same(b):
		return alike
	case a.Mode != b.Mode || a.UID != b.UID || a.GID != b.GID || a.Rdev != b.Rdev:
		return differs
	case a.IsDir():
		return alike
	case a.Size != b.Size:
		return differs
	}
	return likenessOfTimes(a.Mtime, b.Mtime)
}

// likenessOfTimes knows that archives cut times to whole seconds: zero
// nanoseconds say nothing.
func likenessOfTimes(a, b sys.Time) likeness {
	switch {
	case a.Sec != b.Sec:
		return differs
	case a.Nsec == 0 || b.Nsec == 0:
		return perhaps
	case a.Nsec != b.Nsec:
		return differs
	}
	return alike
}

// capability is the only extended attribute that counts as a change.
const capability = "security.capability"

// compareWindow is how many bytes of each file are compared at once.
const compareWindow = 128 << 10

// comparer compares entries through buffers that it keeps.
type comparer struct {
	ctx  context.Context
	a, b []byte
}

// kind says what became of an entry; nil stands for none.
func (c *comparer) kind(a, b *tree.Entry) (ChangeKind, error) {
	switch {
	case a == nil:
		return ChangeKindAdd, nil
	case b == nil:
		return ChangeKindDelete, nil
	}
	same, err := c.same(a, b)
	if err != nil || same {
		return ChangeKindUnmodified, err
	}
	return ChangeKindModify, nil
}

func (c *comparer) same(a, b *tree.Entry) (bool, error) {
	like := likenessOf(&a.Meta.Stat, &b.Meta.Stat)
	if like == differs {
		return false, nil
	}
	if a.Meta.Same(&b.Meta.Stat) {
		return true, nil
	}
	if same, err := c.sameCapability(a, b); !same || err != nil {
		return false, err
	}
	switch {
	case like == alike:
		return true, nil
	case b.Meta.IsSymlink():
		return sameTarget(a, b)
	case b.Meta.IsRegular():
		return c.sameContent(a, b)
	}
	return true, nil // FIFOs, sockets and devices have no content to read
}

func (c *comparer) sameCapability(a, b *tree.Entry) (bool, error) {
	if !b.Meta.IsRegular() {
		return true, nil // the kernel heeds them on nothing else
	}
	var bufs [2][64]byte
	x, err := xattr(a.Dir, a.Name, capability, bufs[0][:])
	if err != nil {
		return false, err
	}
	y, err := xattr(b.Dir, b.Name, capability, bufs[1][:])
	return bytes.Equal(x, y), err
}

// xattr reads an attribute that may be missing, or unknown to the file system:
// then it is empty. buf has room for all it may hold.
func xattr(d *sys.Dir, name, attr string, buf []byte) ([]byte, error) {
	n, err := d.GetXattr(name, attr, buf)
	if sys.NoXattr(err) || sys.NotSupported(err) {
		return nil, nil
	}
	return buf[:max(n, 0)], err
}

func sameTarget(a, b *tree.Entry) (bool, error) {
	x, err := a.Dir.Readlink(a.Name)
	if err != nil {
		return false, err
	}
	y, err := b.Dir.Readlink(b.Name)
	return x == y, err
}

// sameContent reads both files, but for the holes they have in common.
func (c *comparer) sameContent(a, b *tree.Entry) (same bool, err error) {
	var x, y sys.File
	if err := a.Dir.Open(&x, a.Name, sys.ReadOnly|sys.NonBlock, 0); err != nil {
		return false, err
	}
	defer x.Close()
	if err := b.Dir.Open(&y, b.Name, sys.ReadOnly|sys.NonBlock, 0); err != nil {
		return false, err
	}
	defer y.Close()
	if c.a == nil {
		c.a, c.b = make([]byte, compareWindow), make([]byte, compareWindow)
	}
	sparse := hasHoles(&a.Meta.Stat) && hasHoles(&b.Meta.Stat)
	for off := int64(0); off < b.Meta.Size; {
		if err := c.ctx.Err(); err != nil {
			return false, err
		}
		if sparse {
			if off, err = nextData(&x, &y, off, b.Meta.Size); err != nil || off >= b.Meta.Size {
				return err == nil, err
			}
		}
		n, err := readFull(&x, c.a, off)
		if err != nil {
			return false, err
		}
		m, err := readFull(&y, c.b, off)
		if err != nil || !bytes.Equal(c.a[:n], c.b[:m]) {
			return false, err
		}
		if n < compareWindow {
			return true, nil
		}
		off += int64(n)
	}
	return true, nil
}

func hasHoles(s *sys.Stat) bool { return s.Blocks*512 < s.Size }

// nextData is the first offset from off on where either file may have data.
func nextData(x, y *sys.File, off, size int64) (int64, error) {
	next := size
	for _, f := range []*sys.File{x, y} {
		at, err := f.SeekData(off)
		switch {
		case err == nil:
			next = min(next, max(at, off))
		case sys.NoMoreData(err):
		case sys.NoHoles(err):
			return off, nil
		default:
			return off, err
		}
	}
	return next, nil
}

// readFull fills p from an offset; it gives less only at the end of the file.
func readFull(f *sys.File, p []byte, off int64) (int, error) {
	for n := 0; n < len(p); {
		k, err := f.ReadAt(p[n:], off+int64(n))
		n += k
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	return len(p), nil
}
