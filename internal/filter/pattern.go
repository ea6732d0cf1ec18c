package filter

import "strings"

// shape says what a pattern is compared with, and how.
type shape uint8

const (
	nameIs   shape = iota // the last component is lit
	nameAny               // any last component
	nameEnds              // the last component is lit, anything, end
	nameWild              // ops match the last component
	pathIs                // the whole path is lit
	pathEnds              // the path's last components are lit
	pathTree              // the path is the directory lit or something beneath it
	pathWild              // ops match the whole path
	lastWild              // ops match exactly the last comps components
	fromWild              // ops match from the start or from behind any "/", to the end
)

// A pattern is a rule's pattern, ready to be matched.
type pattern struct {
	shape    shape
	dirOnly  bool // a trailing "/": directories only
	absolute bool // the subject is the absolute path
	local    bool // the subject begins at the directory of the merge file
	rooted   bool // the subject gets a "/" in front, so that "**/x" matches x
	slashDir bool // a directory's subject gets a "/" behind, so that "x/***" matches x
	comps    int
	lit, end string // for the wild path shapes, end is what every subject must end in
	ops      []op
}

// compile translates the pattern of a rule that is no merge. A leading "/" means
// the root of the transfer, or under local the directory of the file it stood in.
func compile(text string, absolute, local bool) pattern {
	var p pattern
	if len(text) > 1 && strings.HasSuffix(text, "/") {
		p.dirOnly, text = true, text[:len(text)-1]
	}
	wild, anyStar := isWild(text), strings.Contains(text, "**")
	slashes := strings.Count(text, "/")
	if slashes == 0 && !anyStar {
		p.compileName(text, wild)
		return p
	}
	anchored := strings.HasPrefix(text, "/")
	p.absolute = absolute
	p.local = local && anchored && !absolute
	p.rooted = !absolute && strings.HasPrefix(text, "**")
	p.slashDir = strings.HasSuffix(text, "***")
	p.comps = slashes + 1
	text = strings.TrimPrefix(text, "/")
	if tree := strings.TrimSuffix(text, "/***"); anchored && tree != text && tree != "" && !isWild(tree) && !strings.Contains(tree, `\`) {
		p.shape, p.lit = pathTree, tree
		return p
	}
	p.compilePath(text, wild, anchored || p.rooted || strings.HasPrefix(text, "**"), anyStar)
	return p
}

func (p *pattern) compileName(text string, wild bool) {
	if !wild {
		p.shape, p.lit = nameIs, text
		return
	}
	ops := compileWild(text)
	lit, rest := literalHead(ops)
	end, middle := literalTail(rest)
	switch {
	case len(rest) == 0:
		p.shape, p.lit = nameIs, lit
	case len(middle) == 1 && middle[0].kind == opStar && lit == "" && end == "":
		p.shape = nameAny
	case len(middle) == 1 && middle[0].kind == opStar:
		p.shape, p.lit, p.end = nameEnds, lit, end
	default:
		p.shape, p.ops = nameWild, ops
	}
}

func (p *pattern) compilePath(text string, wild, whole, anyStar bool) {
	if wild {
		p.ops = compileWild(text)
		p.end, _ = literalTail(p.ops)
	}
	switch {
	case !wild && whole:
		p.shape, p.lit = pathIs, text
	case !wild:
		p.shape, p.lit = pathEnds, text
	case whole:
		p.shape = pathWild
	case anyStar:
		p.shape = fromWild
	default:
		p.shape = lastWild
	}
}

func literalHead(ops []op) (string, []op) {
	n := 0
	for n < len(ops) && ops[n].kind == opByte {
		n++
	}
	return literal(ops[:n]), ops[n:]
}

func literalTail(ops []op) (string, []op) {
	n := len(ops)
	for n > 0 && ops[n-1].kind == opByte {
		n--
	}
	return literal(ops[n:]), ops[:n]
}

func literal(ops []op) string {
	buf := make([]byte, len(ops))
	for i := range ops {
		buf[i] = ops[i].c
	}
	return string(buf)
}

// A query is a name to be judged.
type query struct {
	path, name string // relative to the root of the transfer; its last component
	dir        bool
	xattr      bool // an attribute's name
	doomed     bool // in a directory that is being deleted
}

// matches tells whether the pattern matches the queried name. Absolute is what
// stands before the path in an absolute path; place is where the rule's file was found.
func (p *pattern) matches(q *query, absolute string, place *chain) bool {
	if p.dirOnly && !q.dir {
		return false
	}
	switch p.shape {
	case nameIs:
		return q.name == p.lit
	case nameAny:
		return true
	case nameEnds:
		return len(q.name) >= len(p.lit)+len(p.end) && strings.HasPrefix(q.name, p.lit) && strings.HasSuffix(q.name, p.end)
	case nameWild:
		return match(p.ops, &subject{body: q.name}, 0, false)
	}
	s := subject{body: q.path}
	switch {
	case p.absolute:
		s.head = absolute
	case p.local:
		if len(q.path) < place.cut {
			return false
		}
		s.head, s.body = place.head, q.path[place.cut:]
	case p.rooted:
		s.head = "/"
	}
	if p.slashDir && q.dir {
		s.tail = "/"
	}
	return p.matchesPath(&s)
}

func (p *pattern) matchesPath(s *subject) bool {
	switch p.shape {
	case pathIs:
		return s.len() == len(p.lit) && s.hasSuffix(p.lit, 0)
	case pathEnds:
		off := s.len() - len(p.lit)
		return s.hasSuffix(p.lit, 0) && (off == 0 || s.at(off-1) == '/')
	case pathTree:
		return s.len() > len(p.lit) && s.at(len(p.lit)) == '/' && s.hasPrefix(p.lit)
	}
	start := 0
	if p.shape == lastWild {
		ok := false
		if start, ok = s.lastComponents(p.comps); !ok {
			return false
		}
	}
	return s.hasSuffix(p.end, start) && match(p.ops, s, start, p.shape == fromWild)
}
