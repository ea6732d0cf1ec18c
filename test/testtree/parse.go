package testtree

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// entry is one thing to build.
type entry struct {
	line         int
	kind         byte // one of d f h l p s c b
	mode         uint32
	name         string // clean, beneath the root
	target       string // of h (clean, beneath the root) and l
	major, minor uint32
	content      []segment
	attrs        attrs
}

// attrs are what a line sets beyond the mode; zero means leave alone.
type attrs struct {
	mtime, atime *time.Time
	uid, gid     int // -1: leave
	xattrs       []xattr
	acl, dacl    acl
}

type xattr struct{ name, value string }

// statement is a line before its ranges are expanded.
type statement struct {
	entry
	name, target word
}

// parse reads a whole text. The statements are checked; their names are checked
// when each expands.
func parse(text string) ([]statement, error) {
	var out []statement
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		s, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", i+1, line, err)
		}
		s.line = i + 1
		out = append(out, s)
	}
	return out, nil
}

func parseLine(line string) (s statement, err error) {
	f, err := fields(line)
	if err != nil {
		return s, err
	}
	s.kind = f[0][0]
	if len(f[0]) != 1 || !strings.Contains("dfhlpscb", f[0]) {
		return s, fmt.Errorf("kind %q is none of d f h l p s c b", f[0])
	}
	f = f[1:]
	if s.kind != 'h' && s.kind != 'l' {
		if f, err = s.parseMode(f); err != nil {
			return s, err
		}
	}
	if f, err = s.parseNames(f); err != nil {
		return s, err
	}
	if s.kind == 'c' || s.kind == 'b' {
		if f, err = s.parseDevice(f); err != nil {
			return s, err
		}
	}
	s.attrs = attrs{uid: -1, gid: -1}
	for _, word := range f {
		if err := s.parseExtra(word); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *statement) parseMode(f []string) ([]string, error) {
	if len(f) == 0 {
		return nil, fmt.Errorf("no mode")
	}
	mode, err := strconv.ParseUint(f[0], 8, 32)
	if err != nil || mode > 0o7777 {
		return nil, fmt.Errorf("bad mode %q", f[0])
	}
	s.mode = uint32(mode)
	return f[1:], nil
}

func (s *statement) parseNames(f []string) (rest []string, err error) {
	if len(f) == 0 {
		return nil, fmt.Errorf("no name")
	}
	if s.name, err = parseWord(f[0]); err != nil {
		return nil, err
	}
	f = f[1:]
	sep := map[byte]string{'h': "=", 'l': "->"}[s.kind]
	if sep == "" {
		return f, nil
	}
	if len(f) < 2 || f[0] != sep {
		return nil, fmt.Errorf("want %c NAME %s TARGET", s.kind, sep)
	}
	if s.target, err = parseWord(f[1]); err != nil {
		return nil, err
	}
	if r := s.target.ranges(); r != nil && !slices.Equal(r, s.name.ranges()) {
		return nil, fmt.Errorf("ranges of name and target differ")
	}
	return f[2:], nil
}

func (s *statement) parseDevice(f []string) ([]string, error) {
	if len(f) < 2 {
		return nil, fmt.Errorf("want %c MODE NAME MAJOR MINOR", s.kind)
	}
	major, err1 := strconv.ParseUint(f[0], 10, 32)
	minor, err2 := strconv.ParseUint(f[1], 10, 32)
	if err1 != nil || err2 != nil {
		return nil, fmt.Errorf("bad device number %s %s", f[0], f[1])
	}
	s.major, s.minor = uint32(major), uint32(minor)
	return f[2:], nil
}

// parseExtra reads one content or attribute word.
func (s *statement) parseExtra(word string) (err error) {
	if s.kind == 'h' {
		return fmt.Errorf("%s: a hard link has the attributes of its target", word)
	}
	n := strings.IndexAny(word, ":=")
	if n < 0 {
		return fmt.Errorf("unknown word %q", word)
	}
	key, value := word[:n+1], word[n+1:]
	a := &s.attrs
	switch key {
	case "mtime=":
		a.mtime, err = parseTime(value)
	case "atime=":
		a.atime, err = parseTime(value)
	case "uid=":
		a.uid, err = parseID(value)
	case "gid=":
		a.gid, err = parseID(value)
	case "xattr:":
		var x xattr
		x, err = parseXattr(value)
		a.xattrs = append(a.xattrs, x)
	case "acl=":
		a.acl, err = parseACL(value)
	case "dacl=":
		a.dacl, err = parseACL(value)
	default:
		if s.kind != 'f' {
			return fmt.Errorf("unknown word %q", word)
		}
		var seg segment
		seg, err = parseSegment(key, value)
		s.content = append(s.content, seg)
	}
	return err
}

func parseTime(s string) (*time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	return &t, err
}

func formatTime(sec, nsec int64) string {
	return time.Unix(sec, nsec).UTC().Format("2006-01-02T15:04:05.000000000Z07:00")
}

func parseID(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("bad id %q", s)
	}
	return int(n), nil
}

func parseXattr(s string) (x xattr, err error) {
	name, rest, err := cutQuoted(s, "=")
	if err != nil {
		return x, err
	}
	value, ok := strings.CutPrefix(rest, "=")
	if !ok || name == "" {
		return x, fmt.Errorf("want xattr:NAME=VALUE")
	}
	value, err = unquote(value)
	return xattr{name, value}, err
}

// entries expands the statements, in order. It stops at the first bad name.
func entries(list []statement) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		for _, s := range list {
			lengths := s.name.ranges()
			index := make([]int, len(lengths))
			for {
				e, err := s.expand(index)
				if !yield(e, err) || err != nil {
					return
				}
				if !advance(index, lengths) {
					break
				}
			}
		}
	}
}

func (s *statement) expand(index []int) (entry, error) {
	e := s.entry
	var err error
	if e.name, err = clean(s.name.at(index)); err != nil {
		return e, fmt.Errorf("line %d: %w", e.line, err)
	}
	if e.name == "." && e.kind != 'd' {
		return e, fmt.Errorf("line %d: the root is a directory", e.line)
	}
	if s.target != nil {
		e.target = s.target.at(index)
	}
	if e.kind == 'h' {
		if e.target, err = clean(e.target); err != nil {
			return e, fmt.Errorf("line %d: %w", e.line, err)
		}
	}
	return e, nil
}

// clean wants a name beneath the root.
func clean(name string) (string, error) {
	c := path.Clean(name)
	if name == "" || c[0] == '/' || c == ".." || strings.HasPrefix(c, "../") || strings.Contains(c, "\x00") {
		return "", fmt.Errorf("name %q is not beneath the root", name)
	}
	return c, nil
}

// child joins without cleaning.
func child(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

// split is the parent ("." at the top) and the last component.
func split(name string) (dir, base string) {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return ".", name
}
