package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/gohaul/haul/internal/infile"
	"github.com/gohaul/haul/internal/sys"
)

// piece is a range of a file of one kind.
type piece struct {
	off, len int64
	kind     kindOf
}

// kindOf is how a range is kept: the character of the picture.
type kindOf byte

const (
	kindData     kindOf = '#'
	kindHole     kindOf = '.'
	kindShared   kindOf = '='
	kindReserved kindOf = 'o'
	kindEncoded  kindOf = 'z'
	mixed        kindOf = '+'
)

func (k kindOf) String() string {
	switch k {
	case kindHole:
		return "hole"
	case kindShared:
		return "shared"
	case kindReserved:
		return "reserved"
	case kindEncoded:
		return "encoded"
	}
	return "data"
}

// kindFrom reads a file system's flags. What was reserved and is told as data
// by SEEK_DATA has been written in memory.
func kindFrom(f sys.SegmentFlags, data bool) kindOf {
	switch {
	case f&sys.SegmentUnwritten != 0 && !data:
		return kindReserved
	case f&sys.SegmentShared != 0:
		return kindShared
	case f&(sys.SegmentEncoded|sys.SegmentInline|sys.SegmentTail) != 0:
		return kindEncoded
	case !data:
		return kindHole // zeros that are stored, but read as a hole
	}
	return kindData
}

// charting is what a map command line means.
type charting struct {
	human, json   bool
	list, picture bool
	width         int
}

func (s *session) fileMap() int {
	c := charting{list: true, picture: true, width: 80}
	if isTerminal(s.outFile) {
		c.width = columns(s.outFile)
	}
	for _, g := range s.args.Given {
		var err error
		switch g.Flag.name() {
		case "human-readable":
			c.human = true
		case "list":
			c.list, c.picture = true, false
		case "picture":
			c.list, c.picture = false, true
		case "width":
			c.width, err = count(g, s.loc, 1, 1<<16)
		case "json":
			c.json = true
		}
		if err != nil {
			return s.misused(err)
		}
	}
	if len(s.args.Operands) == 0 {
		return s.misused(misuse("missing operand"))
	}
	code := 0
	for i, name := range s.args.Operands {
		if s.ctx.Err() != nil {
			return 1
		}
		if err := s.chart(&c, name, i > 0); err != nil {
			code = 1
			text := plainText(s.loc, err)
			s.complain(text)
			if c.json {
				s.printBytes(newObject(nil, "error").path("path", name).str("message", text).line())
			}
		}
	}
	return code
}

func (s *session) chart(c *charting, name string, more bool) error {
	var file sys.File
	if err := sys.OpenPath(&file, name, sys.ReadOnly|nonblock, 0); err != nil {
		return err
	}
	var f infile.File
	if err := f.Take(&file); err != nil {
		return err
	}
	defer f.Close()
	if !f.Stat().IsRegular() {
		return errors.New(s.loc.file(name) + " is not a regular file")
	}
	pieces, err := survey(&f)
	if err != nil {
		return err
	}
	if c.json {
		s.printBytes(chartEvent(name, &f, pieces))
		return nil
	}
	var b strings.Builder
	if more {
		b.WriteByte('\n')
	}
	b.WriteString(c.headline(s.loc.bare(name), f.Stat(), pieces))
	if c.picture {
		b.WriteString(picture(pieces, f.Size(), c.width) + "\n")
	}
	if c.list {
		c.table(&b, pieces)
	}
	s.print(b.String())
	return nil
}

// survey maps a file: data and holes as reading finds them, the rest as the file
// system tells, if it does.
func survey(f *infile.File) ([]piece, error) {
	segments, err := segments(f.Sys())
	if err != nil && !sys.NotSupported(err) && !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	var list []piece
	for e, err := range f.Extents() {
		if err != nil {
			return nil, err
		}
		list, segments = overlay(list, e, segments)
	}
	for _, g := range segments { // reserved behind the end
		off := max(g.Off, f.Size())
		list = append(list, piece{off, g.Off + g.Len - off, kindReserved})
	}
	return list, nil
}

func segments(f *sys.File) ([]sys.Segment, error) {
	var list []sys.Segment
	for off := int64(0); ; {
		n := len(list)
		var err error
		if list, err = f.Fiemap(off, list); err != nil || len(list) == n {
			return list, err
		}
		last := list[len(list)-1]
		off = last.Off + last.Len
		if last.Flags&sys.SegmentLast != 0 || off <= last.Off {
			return list, nil
		}
	}
}

// overlay adds one extent, cut where segments begin and end. It gives back the
// segments that reach beyond it.
func overlay(list []piece, e infile.Extent, segments []sys.Segment) ([]piece, []sys.Segment) {
	plain := kindData
	if e.Hole {
		plain = kindHole
	}
	at, end := e.Off, e.Off+e.Len
	for at < end {
		for len(segments) > 0 && segments[0].Off+segments[0].Len <= at {
			segments = segments[1:]
		}
		kind, to := plain, end
		if len(segments) > 0 {
			s := segments[0]
			if s.Off > at {
				to = min(end, s.Off)
			} else {
				kind, to = kindFrom(s.Flags, !e.Hole), min(end, s.Off+s.Len)
			}
		}
		list = extend(list, piece{at, to - at, kind})
		at = to
	}
	for len(segments) > 0 && segments[0].Off+segments[0].Len <= end {
		segments = segments[1:]
	}
	return list, segments
}

// extend adds a piece, as part of the last one if that goes on in it.
func extend(list []piece, p piece) []piece {
	if n := len(list); n > 0 && list[n-1].kind == p.kind && list[n-1].off+list[n-1].len == p.off {
		list[n-1].len += p.len
		return list
	}
	return append(list, p)
}

// picture draws the file, each column an equal share of it.
func picture(pieces []piece, size int64, width int) string {
	if size == 0 {
		return ""
	}
	line := make([]kindOf, width)
	for _, p := range pieces {
		if p.off >= size {
			break
		}
		from := int(float64(p.off) / float64(size) * float64(width))
		to := int(math.Ceil(float64(min(p.off+p.len, size)) / float64(size) * float64(width)))
		for i := min(from, width-1); i < min(to, width); i++ {
			line[i] = blend(line[i], p.kind)
		}
	}
	out := make([]byte, width)
	for i, k := range line {
		out[i] = byte(k)
	}
	return string(out)
}

// blend is the character of a column that holds two kinds.
func blend(a, b kindOf) kindOf {
	empty := func(k kindOf) bool { return k == kindHole || k == kindReserved }
	switch {
	case a == 0 || a == b:
		return b
	case a == mixed || empty(a) != empty(b):
		return mixed
	case empty(a):
		return kindReserved
	}
	return kindData
}

func (c *charting) size(n int64) string {
	if c.human {
		return wordySize(float64(n))
	}
	return strconv.FormatInt(n, 10)
}

func (c *charting) headline(name string, st *sys.Stat, pieces []piece) string {
	var data, holes int64
	extents := int64(0)
	for _, p := range pieces {
		switch p.kind {
		case kindHole, kindReserved:
			if p.off < st.Size {
				holes += p.len
			}
		default:
			data += p.len
			extents++
		}
	}
	return name + ": size " + c.size(st.Size) + ", data " + c.size(data) + " in " + plural(extents, "piece") +
		", holes " + c.size(holes) + ", allocated " + c.size(st.Blocks*512) + "\n"
}

func (c *charting) table(b *strings.Builder, pieces []piece) {
	wide := [2]int{6, 6}
	for _, p := range pieces {
		wide[0] = max(wide[0], len(c.size(p.off)))
		wide[1] = max(wide[1], len(c.size(p.len)))
	}
	row := func(off, length, kind string) {
		b.WriteString(strings.Repeat(" ", wide[0]-len(off)) + off + "  " +
			strings.Repeat(" ", wide[1]-len(length)) + length + "  " + kind + "\n")
	}
	row("offset", "length", "kind")
	for _, p := range pieces {
		row(c.size(p.off), c.size(p.len), p.kind.String())
	}
}

func chartEvent(name string, f *infile.File, pieces []piece) []byte {
	o := newObject(nil, "map").path("path", name).num("size", f.Size()).num("allocated", f.Stat().Blocks*512)
	o.open("extents", '[')
	for _, p := range pieces {
		o.element().num("offset", p.off).num("length", p.len).str("kind", p.kind.String()).close('}')
	}
	return o.close(']').line()
}
