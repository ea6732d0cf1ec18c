package testtree

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func describe(root string, what Mask) ([]item, error) {
	c, err := openCursor(root)
	if err != nil {
		return nil, err
	}
	defer c.close()
	d := describer{at: c, what: what, seen: map[inode]string{}}
	var st unix.Stat_t
	if err := unix.Fstatat(c.fd, ".", &st, 0); err != nil {
		return nil, c.fail("stat", ".", err)
	}
	if what&Root != 0 {
		line, err := d.entry(".", ".", &st)
		if err != nil {
			return nil, err
		}
		d.items = append(d.items, item{".", line})
	}
	err = d.walk(".")
	return d.items, err
}

type inode struct{ dev, ino uint64 }

type describer struct {
	at    *cursor
	what  Mask
	seen  map[inode]string // first name of each inode with several
	items []item
	buf   []byte
}

// walk describes what lies in the directory dir, and beneath.
func (d *describer) walk(dir string) error {
	if err := d.at.cd(dir); err != nil {
		return err
	}
	names, err := d.names()
	if err != nil {
		return err
	}
	for _, base := range names {
		if err := d.at.cd(dir); err != nil {
			return err
		}
		name := child(dir, base)
		var st unix.Stat_t
		if err := unix.Fstatat(d.at.fd, base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return d.at.fail("lstat", base, err)
		}
		line, err := d.entry(name, base, &st)
		if err != nil {
			return err
		}
		d.items = append(d.items, item{name, line})
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			if err := d.walk(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// names lists the current directory in byte order.
func (d *describer) names() ([]string, error) {
	var names []string
	buf := make([]byte, 64<<10)
	if _, err := unix.Seek(d.at.fd, 0, io.SeekStart); err != nil {
		return nil, d.at.fail("readdir", ".", err)
	}
	for {
		n, err := unix.Getdents(d.at.fd, buf)
		if err != nil {
			return nil, d.at.fail("readdir", ".", err)
		}
		if n == 0 {
			slices.Sort(names)
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

var kinds = map[uint32]byte{
	unix.S_IFDIR: 'd', unix.S_IFREG: 'f', unix.S_IFLNK: 'l', unix.S_IFIFO: 'p',
	unix.S_IFSOCK: 's', unix.S_IFCHR: 'c', unix.S_IFBLK: 'b',
}

func (d *describer) entry(name, base string, st *unix.Stat_t) (string, error) {
	kind := kinds[st.Mode&unix.S_IFMT]
	var b strings.Builder
	if d.what&Links != 0 && kind != 'd' && st.Nlink > 1 {
		key := inode{uint64(st.Dev), st.Ino}
		if first, ok := d.seen[key]; ok {
			return fmt.Sprintf("h %s = %s", quote(name), quote(first)), nil
		}
		d.seen[key] = name
	}
	b.WriteByte(kind)
	if kind != 'l' && d.what&Mode != 0 {
		fmt.Fprintf(&b, " %04o", st.Mode&0o7777)
	}
	b.WriteString(" " + quote(name))
	switch kind {
	case 'l':
		target, err := readlink(d.at.fd, base)
		if err != nil {
			return "", d.at.fail("readlink", base, err)
		}
		b.WriteString(" -> " + quote(target))
	case 'c', 'b':
		fmt.Fprintf(&b, " %d %d", unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev)))
	case 'f':
		if err := d.file(&b, base, st); err != nil {
			return "", d.at.fail("read", base, err)
		}
	}
	d.stat(&b, kind, st)
	if d.what&(Xattrs|ACLs) != 0 {
		if err := d.xattrs(&b, base); err != nil {
			return "", d.at.fail("getxattr", base, err)
		}
	}
	return b.String(), nil
}

func (d *describer) stat(b *strings.Builder, kind byte, st *unix.Stat_t) {
	if d.what&Blocks != 0 && kind == 'f' {
		b.WriteString(" alloc:" + formatSize(st.Blocks*512))
	}
	if d.what&Owner != 0 {
		fmt.Fprintf(b, " uid=%d gid=%d", st.Uid, st.Gid)
	}
	if kind == 'd' && d.what&DirMtime != 0 || kind != 'd' && d.what&Mtime != 0 {
		b.WriteString(" mtime=" + formatTime(st.Mtim.Unix()))
	}
	if d.what&Atime != 0 {
		b.WriteString(" atime=" + formatTime(st.Atim.Unix()))
	}
}

// file writes extents and content. A file that changes while it is read gives
// the content of some moment or an error.
func (d *describer) file(b *strings.Builder, base string, st *unix.Stat_t) (err error) {
	if d.what&(Content|Extents) == 0 {
		return nil
	}
	fd, err := openQuiet(d.at.fd, base, unix.O_NOFOLLOW|unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	spans, err := dataSpans(fd, st.Size)
	if err != nil {
		return err
	}
	if d.what&Extents != 0 {
		writeSpans(b, spans, st.Size)
	}
	if d.what&Content == 0 {
		return nil
	}
	if st.Size <= maxText {
		return d.text(b, fd, st.Size)
	}
	sum, err := d.sum(fd, spans, st.Size)
	fmt.Fprintf(b, " size:%s sum:%s", formatSize(st.Size), sum)
	return err
}

// maxText is the size in bytes up to which a description shows a file's content.
const maxText = 64

func (d *describer) text(b *strings.Builder, fd int, size int64) error {
	buf := make([]byte, size)
	if err := readAt(fd, buf, 0); err != nil {
		return err
	}
	b.WriteString(" text:" + fmt.Sprintf("%q", buf))
	return nil
}

type span struct{ start, end int64 }

// dataSpans lists the data of a file by SEEK_DATA and SEEK_HOLE; all of it where
// the file system knows no holes.
func dataSpans(fd int, size int64) ([]span, error) {
	var spans []span
	for pos := int64(0); pos < size; {
		start, err := unix.Seek(fd, pos, unix.SEEK_DATA)
		switch err {
		case nil:
		case unix.ENXIO:
			return spans, nil
		case unix.EINVAL, unix.EOPNOTSUPP:
			return append(spans, span{pos, size}), nil
		default:
			return nil, err
		}
		end, err := unix.Seek(fd, start, unix.SEEK_HOLE)
		if err != nil {
			return nil, err
		}
		if start >= size || end <= start {
			return spans, nil
		}
		spans = append(spans, span{start, min(end, size)})
		pos = end
	}
	return spans, nil
}

func writeSpans(b *strings.Builder, spans []span, size int64) {
	var pos int64
	for _, s := range spans {
		if s.start > pos {
			b.WriteString(" hole:" + formatSize(s.start-pos))
		}
		b.WriteString(" data:" + formatSize(s.end-s.start))
		pos = s.end
	}
	if pos < size {
		b.WriteString(" hole:" + formatSize(size-pos))
	}
}

// sum reads the data in whole blocks, also where spans begin or end inside one.
func (d *describer) sum(fd int, spans []span, size int64) (*summer, error) {
	if d.buf == nil {
		d.buf = make([]byte, 64*sumBlock)
	}
	s := &summer{}
	var next int64
	for _, sp := range spans {
		next = max(next, sp.start-sp.start%sumBlock)
		for next < sp.end {
			// A block at the span's end is read whole: the rest is zeros or the next span.
			end := (sp.end + sumBlock - 1) / sumBlock * sumBlock
			if end < sp.end || end > size {
				end = size
			}
			buf := d.buf[:min(end-next, int64(len(d.buf)))]
			if err := readAt(fd, buf, next); err != nil {
				return nil, err
			}
			for at := 0; at < len(buf); at += sumBlock {
				s.block(next+int64(at), buf[at:min(at+sumBlock, len(buf))])
			}
			next += int64(len(buf))
		}
	}
	return s, nil
}

func readAt(fd int, buf []byte, offset int64) error {
	for len(buf) > 0 {
		n, err := unix.Pread(fd, buf, offset)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case n == 0:
			return io.ErrUnexpectedEOF
		}
		buf, offset = buf[n:], offset+int64(n)
	}
	return nil
}

// xattrs writes ACLs and extended attributes, by name.
func (d *describer) xattrs(b *strings.Builder, base string) error {
	path := procPath(d.at.fd, base)
	list, err := grow(func(buf []byte) (int, error) { return unix.Llistxattr(path, buf) })
	if err == unix.EOPNOTSUPP {
		return nil
	}
	if err != nil {
		return err
	}
	var names []string
	for raw := range bytes.SplitSeq(list, []byte{0}) {
		if name := string(raw); d.shows(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		value, err := grow(func(buf []byte) (int, error) { return unix.Lgetxattr(path, name, buf) })
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := writeXattr(b, name, value); err != nil {
			return err
		}
	}
	return nil
}

// shows leaves out what a file system or a security module adds by itself.
func (d *describer) shows(name string) bool {
	switch {
	case name == aclAccess || name == aclDefault:
		return d.what&ACLs != 0
	case name == "" || name == "security.selinux" || strings.HasPrefix(name, "system.") || strings.HasPrefix(name, "btrfs."):
		return false
	case strings.HasPrefix(name, "trusted.SGI_ACL_"): // xfs shows root its ACLs once more
		return false
	}
	return d.what&Xattrs != 0
}

func writeXattr(b *strings.Builder, name string, value []byte) error {
	if name != aclAccess && name != aclDefault {
		key := quote(name)
		if strings.Contains(name, "=") {
			key = strconv.Quote(name)
		}
		fmt.Fprintf(b, " xattr:%s=%s", key, quote(string(value)))
		return nil
	}
	a, err := decodeACL(value)
	if err != nil {
		return err
	}
	key := "acl"
	if name == aclDefault {
		key = "dacl"
	}
	fmt.Fprintf(b, " %s=%s", key, a)
	return nil
}

// grow calls get with ever larger buffers until the answer fits.
func grow(get func([]byte) (int, error)) ([]byte, error) {
	for size := 1 << 10; ; size *= 4 {
		buf := make([]byte, size)
		n, err := get(buf)
		if err == unix.ERANGE && size < 1<<20 {
			continue
		}
		return buf[:max(n, 0)], err
	}
}

func readlink(fd int, base string) (string, error) {
	for size := 256; ; size *= 2 {
		buf := make([]byte, size)
		n, err := unix.Readlinkat(fd, base, buf)
		if err != nil {
			return "", err
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}
