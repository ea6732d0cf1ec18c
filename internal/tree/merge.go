package tree

import (
	"iter"
	"strings"
)

// Pair is one path in two trees; a side that lacks it is nil.
type Pair struct {
	Path string
	A, B *Entry
}

// Merge walks two trees in step, both ordered as Walk orders them. An error of
// either side is yielded with its entry; since a directory that cannot be listed
// comes twice, a pair that comes with an error may lack a side that is there.
func Merge(a, b iter.Seq2[Entry, error]) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		left, right := pull(a), pull(b)
		defer left.stop()
		defer right.stop()
		for left.more() || right.more() {
			p, err := step(left, right)
			if !yield(p, err) {
				return
			}
		}
	}
}

// Compare orders paths as a walk yields them: by components, so that what is
// beneath a directory follows it at once ("a", "a/b", "a.b").
func Compare(a, b string) int {
	if a == b {
		return 0
	}
	if a == "." {
		return -1
	}
	if b == "." {
		return 1
	}
	n := min(len(a), len(b))
	for i := range n {
		if a[i] == b[i] {
			continue
		}
		if a[i] == '/' {
			return -1
		}
		if b[i] == '/' {
			return 1
		}
		return int(a[i]) - int(b[i])
	}
	return len(a) - len(b)
}

// Beneath reports whether path stands somewhere below dir.
func Beneath(path, dir string) bool {
	return dir == "." && path != "." ||
		len(path) > len(dir) && path[len(dir)] == '/' && strings.HasPrefix(path, dir)
}

func step(left, right *side) (Pair, error) {
	c := 0
	switch {
	case !left.more():
		c = 1
	case !right.more():
		c = -1
	default:
		c = Compare(left.entry.Path, right.entry.Path)
	}
	switch {
	case c < 0:
		p := Pair{Path: left.entry.Path, A: &left.entry}
		return p, left.take()
	case c > 0:
		p := Pair{Path: right.entry.Path, B: &right.entry}
		return p, right.take()
	}
	p := Pair{Path: left.entry.Path, A: &left.entry, B: &right.entry}
	err := left.take()
	if e := right.take(); err == nil {
		err = e
	}
	return p, err
}

// side is one of the two walks. An entry that was handed out stays in place
// until the next one is asked for, since it lives only until then.
type side struct {
	next  func() (Entry, error, bool)
	stop  func()
	entry Entry
	err   error
	ok    bool
	taken bool
}

func pull(s iter.Seq2[Entry, error]) *side {
	next, stop := iter.Pull2(s)
	return &side{next: next, stop: stop, taken: true, ok: true}
}

func (s *side) more() bool {
	if s.taken && s.ok {
		s.entry, s.err, s.ok = s.next()
		s.taken = false
	}
	return s.ok
}

func (s *side) take() error {
	s.taken = true
	return s.err
}
