package cli

import (
	"math"
	"strconv"

	"github.com/gohaul/haul/internal/filter"
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/tree"
)

// measuring is what a du command line means.
type measuring struct {
	all, total, summarize bool
	human, json           bool
	allocated, apparent   bool // which of the two columns
	countLinks, oneFS     bool
	block                 int64
	unit                  string // printed behind each size
	depth                 int
	end                   string // of a line
	filter                *filter.List
}

func (s *session) duOptions() (*measuring, error) {
	m := &measuring{allocated: true, apparent: true, block: 1024, depth: math.MaxInt, end: "\n"}
	depthGiven := false
	for _, g := range s.args.Given {
		var err error
		switch g.Flag.name() {
		case "null":
			m.end = "\x00"
		case "all":
			m.all = true
		case "allocated":
			m.allocated, m.apparent = true, false
		case "apparent-size":
			m.allocated, m.apparent = false, true
		case "bytes":
			m.allocated, m.apparent, m.block, m.unit, m.human = false, true, 1, "", false
		case "-k":
			m.block, m.unit, m.human = 1<<10, "", false
		case "-m":
			m.block, m.unit, m.human = 1<<20, "", false
		case "block-size":
			var ok bool
			if m.block, m.unit, ok = parseBlock(g.Value); !ok || m.block < 1 {
				err = misuse("invalid --block-size argument ", s.loc.word(g.Value))
			}
			m.human = false
		case "total":
			m.total = true
		case "max-depth":
			m.depth, err = count(g, s.loc, 0, math.MaxInt32)
			depthGiven = true
		case "human-readable":
			m.human = true
		case "count-links":
			m.countLinks = true
		case "summarize":
			m.summarize = true
		case "one-file-system":
			m.oneFS = true
		case "json":
			m.json = true
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case m.summarize && m.all:
		return nil, misuse("cannot both summarize and show all entries")
	case m.summarize && depthGiven && m.depth > 0:
		return nil, misuse("warning: summarizing conflicts with --max-depth=", strconv.Itoa(m.depth))
	case m.summarize:
		m.depth = 0
	}
	var err error
	if m.filter, err = s.filters(); err != nil {
		return nil, misuse(err.Error())
	}
	return m, nil
}

// usage is what files take, in bytes.
type usage struct{ allocated, apparent int64 }

func (u *usage) add(v usage) {
	u.allocated += v.allocated
	u.apparent += v.apparent
}

// meter adds up the trees named. A hard link counts where it is met first, over
// all of them.
type meter struct {
	*session
	*measuring
	seen   map[[2]uint64]struct{}
	failed bool
	buf    []byte
}

func (s *session) du() int {
	o, err := s.duOptions()
	if err != nil {
		return s.misused(err)
	}
	m := &meter{session: s, measuring: o, seen: map[[2]uint64]struct{}{}}
	names := s.args.Operands
	if len(names) == 0 {
		names = []string{"."}
	}
	var sum usage
	for _, name := range names {
		sum.add(m.measure(name))
		if s.ctx.Err() != nil {
			return 1
		}
	}
	if o.total {
		m.row(sum, "total", true)
	}
	if m.failed {
		return 1
	}
	return 0
}

func (m *meter) fail(path string, err error) {
	m.failed = true
	text := plainText(m.loc, err)
	m.complain(text)
	if m.measuring.json {
		m.printBytes(newObject(nil, "error").path("path", path).str("message", text).line())
	}
}

// measure adds up one tree, printing its directories as they are complete.
func (m *meter) measure(name string) usage {
	var top meta.Meta
	root, err := statNamed(name, &top)
	if err != nil {
		m.fail(name, err)
		return usage{}
	}
	if root == nil {
		u, first := m.weigh(&top)
		if first {
			m.row(u, name, false)
		}
		return u
	}
	defer root.Close()
	skip, err := skipper(m.filter, name)
	if err != nil {
		m.fail(name, err)
		return usage{}
	}
	dirs := stack{m: m, root: name}
	for e, err := range tree.Walk(m.ctx, root, tree.Options{OneFileSystem: m.oneFS, Skip: skip}) {
		if m.ctx.Err() != nil {
			return usage{}
		}
		if err != nil {
			m.fail(shown(name, e.Path), err)
			continue
		}
		dirs.leave(e.Path)
		if m.oneFS && e.Meta.IsDir() && e.Meta.Dev != top.Dev {
			continue
		}
		u, first := m.weigh(&e.Meta)
		if e.Meta.IsDir() {
			dirs.enter(e.Path, u)
			continue
		}
		if first && m.all && dirs.depth() <= m.depth {
			m.row(u, shown(name, e.Path), false)
		}
		dirs.add(u)
	}
	return dirs.end()
}

// weigh is what one entry adds: nothing, if it was met under another name.
func (m *meter) weigh(e *meta.Meta) (u usage, first bool) {
	if !e.IsDir() && e.Nlink > 1 && !m.countLinks {
		key := [2]uint64{e.Dev, e.Ino}
		if _, met := m.seen[key]; met {
			return usage{}, false
		}
		m.seen[key] = struct{}{}
	}
	u.allocated = e.Blocks * 512
	if e.IsRegular() || e.IsSymlink() || e.IsDir() {
		u.apparent = e.Size
	}
	return u, true
}

// stack is the directories that the walk is in, outermost first.
type stack struct {
	m    *meter
	root string
	dirs []directory
	sum  usage
}

type directory struct {
	path string
	sum  usage
}

func (s *stack) depth() int { return len(s.dirs) }

func (s *stack) enter(path string, own usage) { s.dirs = append(s.dirs, directory{path, own}) }

func (s *stack) add(u usage) {
	if n := len(s.dirs); n > 0 {
		s.dirs[n-1].sum.add(u)
		return
	}
	s.sum.add(u)
}

// leave ends the directories that path is not in.
func (s *stack) leave(path string) {
	for len(s.dirs) > 0 && !tree.Beneath(path, s.dirs[len(s.dirs)-1].path) {
		s.pop()
	}
}

func (s *stack) pop() {
	d := s.dirs[len(s.dirs)-1]
	s.dirs = s.dirs[:len(s.dirs)-1]
	if len(s.dirs) <= s.m.depth {
		s.m.row(d.sum, shown(s.root, d.path), false)
	}
	s.add(d.sum)
}

func (s *stack) end() usage {
	for len(s.dirs) > 0 {
		s.pop()
	}
	return s.sum
}

func (m *meter) row(u usage, name string, total bool) {
	if m.measuring.json {
		event := "usage"
		if total {
			event = "total"
		}
		o := newObject(m.buf, event)
		if !total {
			o.path("path", name)
		}
		m.buf = o.num("allocated", u.allocated).num("apparent", u.apparent).line()
		m.printBytes(m.buf)
		return
	}
	b := m.buf[:0]
	if m.allocated {
		b = append(append(b, m.size(u.allocated)...), '\t')
	}
	if m.apparent {
		b = append(append(b, m.size(u.apparent)...), '\t')
	}
	b = append(append(b, name...), m.measuring.end...)
	m.buf = b
	m.printBytes(b)
}

func (m *meter) size(n int64) string {
	if m.human {
		return humanSize(n)
	}
	blocks := n / m.block
	if n%m.block > 0 {
		blocks++
	}
	return strconv.FormatInt(blocks, 10) + m.unit
}
