package cli

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/gohaul/haul/internal/filter"
	"github.com/gohaul/haul/internal/infile"
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/internal/tree"
)

// comparison is what a diff command line means.
type comparison struct {
	content, quiet, json bool
	oneFS, links         bool
	of                   meta.Mask // what is compared besides content
	end                  string
	bareNames            bool
	filter               *filter.List
}

func (s *session) diffOptions() (*comparison, error) {
	c := &comparison{links: true, end: "\n"}
	c.of = meta.Type | meta.Size | meta.Target | meta.Rdev | meta.All&^meta.Atime
	for _, g := range s.args.Given {
		switch g.Flag.name() {
		case "content":
			c.content = true
		case "ignore":
			for _, w := range strings.Split(g.Value, ",") {
				c.ignore(w)
			}
		case "recursive": // always
		case "quiet":
			c.quiet = true
		case "one-file-system":
			c.oneFS = true
		case "null":
			c.end, c.bareNames = "\x00", true
		case "json":
			c.json = true
		}
	}
	var err error
	if c.filter, err = s.filters(); err != nil {
		return nil, misuse(err.Error())
	}
	return c, nil
}

func (c *comparison) ignore(word string) {
	switch word {
	case "mode":
		c.of &^= meta.Mode
	case "owner":
		c.of &^= meta.Owner
	case "group":
		c.of &^= meta.Group
	case "mtime":
		c.of &^= meta.Mtime
	case "xattrs":
		c.of &^= meta.Xattrs
	case "acl":
		c.of &^= meta.ACL
	case "links":
		c.links = false
	}
}

// differ compares two trees, or two files.
type differ struct {
	*session
	*comparison
	a, b                     string
	added, modified, deleted int64
	same                     int64
	failed                   bool
	linkA, linkB             map[[2]uint64]string // where a file with several names was met first
	inA, inB                 infile.File
	buf                      []byte
}

// The exit codes of diff.
const (
	exitSame   = 0
	exitDiffer = 1
	exitBroken = 2
)

func (s *session) diff() int {
	o, err := s.diffOptions()
	if err != nil {
		return s.misused(err)
	}
	ops := s.args.Operands
	switch {
	case len(ops) == 0:
		return s.misused(misuse("missing operand"))
	case len(ops) == 1:
		return s.misused(misuse("missing operand after ", s.loc.file(ops[0])))
	case len(ops) > 2:
		return s.misused(misuse("extra operand ", s.loc.file(ops[2])))
	}
	d := &differ{session: s, comparison: o, a: ops[0], b: ops[1],
		linkA: map[[2]uint64]string{}, linkB: map[[2]uint64]string{}}
	d.run()
	if o.json {
		d.printBytes(newObject(d.buf, "summary").num("added", d.added).num("modified", d.modified).
			num("deleted", d.deleted).num("same", d.same).flag("failed", d.failed).line())
	}
	switch {
	case d.failed || s.ctx.Err() != nil:
		return exitBroken
	case d.added+d.modified+d.deleted > 0:
		return exitDiffer
	}
	return exitSame
}

func (d *differ) fail(path string, err error) {
	d.failed = true
	text := plainText(d.loc, err)
	d.complain(text)
	if d.comparison.json {
		d.printBytes(newObject(nil, "error").path("path", path).str("message", text).line())
	}
}

func (d *differ) run() {
	a, dirA, errA := d.open(d.a)
	b, dirB, errB := d.open(d.b)
	if dirA != nil {
		defer dirA.Close()
	}
	if dirB != nil {
		defer dirB.Close()
	}
	if errA != nil || errB != nil {
		return
	}
	if !a.Meta.IsDir() || !b.Meta.IsDir() {
		d.both(tree.Pair{Path: ".", A: a, B: b})
		return
	}
	skipA, errA := skipper(d.filter, d.a)
	skipB, errB := skipper(d.filter, d.b)
	if err := errors.Join(errA, errB); err != nil {
		d.fail(d.a, err)
		return
	}
	o := tree.Options{Want: d.of & (meta.Xattrs | meta.ACL), OneFileSystem: d.oneFS}
	oA, oB := o, o
	oA.Skip, oB.Skip = skipA, skipB
	for p, err := range tree.Merge(tree.Walk(d.ctx, dirA, oA), tree.Walk(d.ctx, dirB, oB)) {
		switch {
		case d.ctx.Err() != nil:
			return
		case err != nil:
			d.fail(p.Path, err)
			continue
		}
		d.pair(p)
		if d.quiet && d.added+d.modified+d.deleted > 0 {
			return
		}
	}
}

// open describes one of the two operands. A symbolic link is followed: what it
// leads to is meant.
func (d *differ) open(path string) (*tree.Entry, *sys.Dir, error) {
	e := &tree.Entry{Path: ".", Name: "."}
	var r meta.Reader
	var f sys.File
	err := sys.OpenPath(&f, path, sys.ReadOnly|nonblock, 0)
	if err == nil {
		err = r.Read(meta.Object{File: &f}, d.of&(meta.Xattrs|meta.ACL), &e.Meta)
		f.Close()
	}
	if err != nil {
		d.fail(path, err)
		return nil, nil, err
	}
	if !e.Meta.IsDir() {
		return e, nil, nil
	}
	dir, err := sys.OpenRoot(path)
	if err != nil {
		d.fail(path, err)
	}
	e.Dir = dir
	return e, dir, err
}

func (d *differ) pair(p tree.Pair) {
	switch {
	case p.A == nil:
		d.added++
		d.tell("added", p, nil)
	case p.B == nil:
		d.deleted++
		d.tell("deleted", p, nil)
	default:
		d.both(p)
	}
}

func (d *differ) both(p tree.Pair) {
	parts, err := d.compare(p)
	if err != nil {
		d.fail(shown(d.a, p.Path), err)
		return
	}
	if len(parts) == 0 {
		d.same++
		return
	}
	d.modified++
	d.tell("modified", p, parts)
}

// part is one thing in which two entries differ, with both values where they
// say something in few words.
type part struct{ name, a, b string }

func (d *differ) compare(p tree.Pair) ([]part, error) {
	a, b := &p.A.Meta, &p.B.Meta
	mask := meta.Diff(a, b, d.of)
	var parts []part
	if mask&meta.Type != 0 {
		return append(parts, part{"type", typeName(a.Mode), typeName(b.Mode)}), nil
	}
	if a.IsRegular() {
		differ, err := d.contents(p, mask)
		if err != nil {
			return nil, err
		}
		if differ {
			parts = append(parts, part{name: "content"})
		}
	}
	for _, x := range [...]struct {
		bit  meta.Mask
		name string
		text func(*meta.Meta) string
	}{
		{meta.Size, "size", func(m *meta.Meta) string { return strconv.FormatInt(m.Size, 10) }},
		{meta.Target, "target", func(m *meta.Meta) string { return m.Target }},
		{meta.Rdev, "device", func(m *meta.Meta) string { return strconv.FormatUint(m.Rdev, 10) }},
		{meta.Mode, "mode", func(m *meta.Meta) string { return octal(m.Mode & sys.PermMask) }},
		{meta.Owner, "owner", func(m *meta.Meta) string { return strconv.FormatUint(uint64(m.UID), 10) }},
		{meta.Group, "group", func(m *meta.Meta) string { return strconv.FormatUint(uint64(m.GID), 10) }},
		{meta.Mtime, "mtime", func(m *meta.Meta) string { return m.Mtime.Std().Format("2006-01-02T15:04:05.999999999Z07:00") }},
		{meta.Xattrs, "xattrs", nil},
		{meta.ACL, "acl", nil},
	} {
		if mask&x.bit == 0 {
			continue
		}
		one := part{name: x.name}
		if x.text != nil {
			one.a, one.b = x.text(a), x.text(b)
		}
		parts = append(parts, one)
	}
	if d.links && d.relinked(p) {
		parts = append(parts, part{name: "links"})
	}
	return parts, nil
}

// relinked reports whether the names that share the file are others in the two
// trees, told by the first name of each.
func (d *differ) relinked(p tree.Pair) bool {
	a, b := &p.A.Meta, &p.B.Meta
	if a.IsDir() || p.A.Dir == nil {
		return false
	}
	return firstName(d.linkA, a, p.Path) != firstName(d.linkB, b, p.Path)
}

func firstName(met map[[2]uint64]string, m *meta.Meta, path string) string {
	if m.Nlink < 2 {
		return path
	}
	key := [2]uint64{m.Dev, m.Ino}
	if name, ok := met[key]; ok {
		return name
	}
	met[key] = path
	return path
}

// contents reports whether two regular files hold other bytes. Without
// --content those of one size and one time of change are taken for equal.
func (d *differ) contents(p tree.Pair, mask meta.Mask) (bool, error) {
	a, b := &p.A.Meta, &p.B.Meta
	switch {
	case a.Same(&b.Stat):
		return false, nil
	case mask&meta.Size != 0:
		return true, nil
	case !d.content && a.Mtime == b.Mtime:
		return false, nil
	}
	if err := d.openEntry(&d.inA, p.A, d.a); err != nil {
		return false, err
	}
	defer d.inA.Close()
	if err := d.openEntry(&d.inB, p.B, d.b); err != nil {
		return false, err
	}
	defer d.inB.Close()
	return d.bytesDiffer()
}

func (d *differ) openEntry(f *infile.File, e *tree.Entry, path string) error {
	if e.Dir != nil {
		return f.Open(e.Dir, e.Name)
	}
	var file sys.File
	if err := sys.OpenPath(&file, path, sys.ReadOnly, 0); err != nil {
		return err
	}
	return f.Take(&file)
}

const compareStep = 256 << 10

// bytesDiffer compares the two open files. Where both have a hole nothing is
// read.
func (d *differ) bytesDiffer() (bool, error) {
	size := min(d.inA.Size(), d.inB.Size())
	for off := int64(0); off < size; {
		if err := d.ctx.Err(); err != nil {
			return false, err
		}
		skip, err := d.bothHoles(off)
		if err != nil {
			return false, err
		}
		if skip > 0 {
			off += skip
			continue
		}
		n := int(min(compareStep, size-off))
		x, errA := d.inA.Window(off, n)
		y, errB := d.inB.Window(off, n)
		if err := errors.Join(errA, errB); errors.Is(err, io.ErrUnexpectedEOF) {
			return true, nil // one of them is being cut
		} else if err != nil {
			return false, err
		}
		if !bytes.Equal(x, y) {
			return true, nil
		}
		off += int64(n)
	}
	return d.inA.Size() != d.inB.Size(), nil
}

// bothHoles is how far both files have a hole at off, 0 if one has data.
func (d *differ) bothHoles(off int64) (int64, error) {
	if d.inA.Dense() || d.inB.Dense() {
		return 0, nil
	}
	a, err := d.inA.Next(off)
	if err != nil || !a.Hole {
		return 0, err
	}
	b, err := d.inB.Next(off)
	if err != nil || !b.Hole {
		return 0, err
	}
	return min(a.End(), b.End()) - off, nil
}

// isPair reports whether the two operands themselves are compared, and not two
// trees: then their names differ and both are told.
func isPair(p tree.Pair) bool {
	return p.Path == "." && (p.A != nil && !p.A.Meta.IsDir() || p.B != nil && !p.B.Meta.IsDir())
}

// tell prints one difference.
func (d *differ) tell(what string, p tree.Pair, parts []part) {
	if d.quiet {
		return
	}
	if d.comparison.json {
		d.event(what, p, parts)
		return
	}
	show := d.loc.bare
	if d.bareNames {
		show = func(s string) string { return s }
	}
	name := show(p.Path)
	if isPair(p) {
		name = show(d.a) + " -> " + show(d.b)
	}
	b := append(d.buf[:0], what...)
	b = append(b, strings.Repeat(" ", 9-len(what))...)
	b = append(b, name...)
	sep := ": "
	for _, x := range parts {
		b = append(append(b, sep...), x.name...)
		if x.a != "" || x.b != "" {
			b = append(b, " "+d.loc.bare(x.a)+" -> "+d.loc.bare(x.b)...)
		}
		sep = ", "
	}
	d.buf = append(b, d.comparison.end...)
	d.printBytes(d.buf)
}

func (d *differ) event(what string, p tree.Pair, parts []part) {
	o := newObject(d.buf, what)
	if isPair(p) {
		o.path("path", d.a).path("other", d.b)
	} else {
		o.path("path", p.Path)
	}
	e := p.A
	if e == nil {
		e = p.B
	}
	o.str("type", typeName(e.Meta.Mode))
	if len(parts) > 0 {
		o.open("differs", '{')
		for _, x := range parts {
			o.open(x.name, '{')
			if x.a != "" || x.b != "" {
				o.path("a", x.a).path("b", x.b)
			}
			o.close('}')
		}
		o.close('}')
	}
	d.buf = o.line()
	d.printBytes(d.buf)
}
