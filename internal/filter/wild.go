package filter

import "strings"

// op matches one byte, or a run of bytes if it is a star.
type op struct {
	kind opKind
	c    byte
	set  *byteSet
}

type opKind uint8

const (
	opByte    opKind = iota // the byte c
	opOne                   // any byte but "/"
	opSet                   // a byte in set
	opStar                  // any run without "/"
	opAnyStar               // any run
	opNever                 // nothing: an unfinished pattern
)

// byteSet is a set of bytes. It never holds "/".
type byteSet [4]uint64

func (s *byteSet) add(c byte)      { s[c>>6] |= 1 << (c & 63) }
func (s *byteSet) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }
func (s *byteSet) addRange(lo, hi byte) {
	for c := int(lo); c <= int(hi); c++ {
		s.add(byte(c))
	}
}

func (o *op) matches(c byte) bool {
	switch o.kind {
	case opByte:
		return c == o.c
	case opOne:
		return c != '/'
	case opSet:
		return o.set.has(c)
	}
	return false
}

// isWild tells whether a pattern holds wildcards. Only then is a backslash an escape.
func isWild(pattern string) bool { return strings.ContainsAny(pattern, "*?[") }

// compileWild translates a pattern that isWild.
func compileWild(pattern string) []op {
	ops := make([]op, 0, len(pattern))
	for i := 0; i < len(pattern); {
		c := pattern[i]
		i++
		switch c {
		case '*':
			o := op{kind: opStar}
			for i < len(pattern) && pattern[i] == '*' {
				o.kind = opAnyStar
				i++
			}
			ops = append(ops, o)
		case '?':
			ops = append(ops, op{kind: opOne})
		case '[':
			set, n := compileSet(pattern[i:])
			if n == 0 {
				return append(ops, op{kind: opNever})
			}
			i += n
			ops = append(ops, op{kind: opSet, set: set})
		case '\\':
			if i == len(pattern) {
				return append(ops, op{kind: opNever})
			}
			ops = append(ops, op{kind: opByte, c: pattern[i]})
			i++
		default:
			ops = append(ops, op{kind: opByte, c: c})
		}
	}
	return ops
}

// compileSet translates what follows "[" and gives its length with the "]".
// The length is 0 if the set is not closed or names an unknown class.
func compileSet(s string) (*byteSet, int) {
	set, i, negate := &byteSet{}, 0, false
	if s != "" && (s[0] == '!' || s[0] == '^') {
		negate, i = true, 1
	}
	prev, ranged := byte(0), false // the byte before, if a range may start there
	for first := true; ; first = false {
		if i == len(s) {
			return nil, 0
		}
		c := s[i]
		i++
		switch {
		case c == ']' && !first:
			if negate {
				for k := range set {
					set[k] = ^set[k]
				}
			}
			set['/'>>6] &^= 1 << ('/' & 63)
			return set, i
		case c == '-' && ranged && i < len(s) && s[i] != ']':
			hi := s[i]
			i++
			if hi == '\\' {
				if i == len(s) {
					return nil, 0
				}
				hi = s[i]
				i++
			}
			set.addRange(prev, hi)
			ranged = false
			continue
		case c == '[' && i < len(s) && s[i] == ':':
			name, _, closed := strings.Cut(s[i+1:], "]")
			if !closed {
				return nil, 0
			}
			if !strings.HasSuffix(name, ":") {
				break // a "[" like any other byte
			}
			if !set.addClass(name[:len(name)-1]) {
				return nil, 0
			}
			i += 1 + len(name) + 1
			ranged = false
			continue
		case c == '\\':
			if i == len(s) {
				return nil, 0
			}
			c = s[i]
			i++
		}
		set.add(c)
		prev, ranged = c, true
	}
}

// classes are the POSIX character classes, in ASCII as rsync runs in no locale.
var classes = map[string]string{
	"alnum":  "09AZaz",
	"alpha":  "AZaz",
	"blank":  "\t\t  ",
	"cntrl":  "\x00\x1f\x7f\x7f",
	"digit":  "09",
	"graph":  "!~",
	"lower":  "az",
	"print":  " ~",
	"punct":  "!/:@[`{~",
	"space":  "\t\r  ",
	"upper":  "AZ",
	"xdigit": "09AFaf",
}

func (s *byteSet) addClass(name string) bool {
	ranges, ok := classes[name]
	for i := 0; i < len(ranges); i += 2 {
		s.addRange(ranges[i], ranges[i+1])
	}
	return ok
}

// A subject is what a pattern is matched against: the three parts in a row,
// which saves building the string.
type subject struct{ head, body, tail string }

func (s *subject) len() int { return len(s.head) + len(s.body) + len(s.tail) }

func (s *subject) at(i int) byte {
	if i < len(s.head) {
		return s.head[i]
	}
	i -= len(s.head)
	if i < len(s.body) {
		return s.body[i]
	}
	return s.tail[i-len(s.body)]
}

// hasSuffix tells whether the subject, from byte from on, ends in lit.
func (s *subject) hasSuffix(lit string, from int) bool {
	off := s.len() - len(lit)
	if off < from {
		return false
	}
	if s.tail == "" && off >= len(s.head) {
		return s.body[off-len(s.head):] == lit
	}
	for i := range len(lit) {
		if s.at(off+i) != lit[i] {
			return false
		}
	}
	return true
}

func (s *subject) hasPrefix(lit string) bool {
	if s.head == "" {
		return strings.HasPrefix(s.body, lit)
	}
	if s.len() < len(lit) {
		return false
	}
	for i := range len(lit) {
		if s.at(i) != lit[i] {
			return false
		}
	}
	return true
}

// lastComponents gives where the last n components begin, and whether there are so many.
func (s *subject) lastComponents(n int) (int, bool) {
	for i := s.len(); i > 0; i-- {
		if s.at(i-1) == '/' {
			if n--; n == 0 {
				return i, true
			}
		}
	}
	return 0, n == 1
}

// stepsPerByte bounds what greedy may spend on a byte of the subject before
// the table takes over. Patterns people write need two or three.
const stepsPerByte = 32

// match tells whether ops match all of the subject from byte from on; under
// float they may also begin after any later "/". It takes at most
// len(ops) x s.len() steps, whatever the pattern.
func match(ops []op, s *subject, from int, float bool) bool {
	budget := stepsPerByte * (s.len() + 1)
	for start := from; ; {
		switch greedy(ops, s, start, &budget) {
		case matched:
			return true
		case gaveUp:
			return table(ops, s, from, float)
		}
		if !float {
			return false
		}
		for start < s.len() && s.at(start) != '/' {
			start++
		}
		if start == s.len() {
			return false
		}
		start++
	}
}

type outcome uint8

const (
	mismatched outcome = iota
	matched
	gaveUp
)

// greedy lets each star take as little as it can and on a mismatch lets the
// last one take a byte more. An earlier star need not be tried again, except
// that a "*" stuck at a "/" hands over to the last "**": of two ways to place
// what stands between two stars, the one that ends first leaves the rest every
// choice the other leaves. Each of the steps costs one of budget.
func greedy(ops []op, s *subject, start int, budget *int) outcome {
	n := s.len()
	p, t := 0, start
	starP, starT := -1, 0 // the op after the last "*", where it may begin
	anyP, anyT := -1, 0   // likewise for "**"
	for ; *budget > 0; *budget-- {
		if p == len(ops) {
			if t == n {
				return matched
			}
		} else if o := &ops[p]; o.kind == opStar {
			p++
			starP, starT = p, t
			continue
		} else if o.kind == opAnyStar {
			p++
			if p == len(ops) {
				return matched
			}
			anyP, anyT, starP = p, t, -1
			continue
		} else if t < n && o.matches(s.at(t)) {
			p++
			t++
			continue
		}
		switch {
		case starP >= 0 && starT < n && s.at(starT) != '/':
			starT++
			p, t = starP, starT
		case anyP >= 0 && anyT < n:
			anyT++
			p, t, starP = anyP, anyT, -1
		default:
			return mismatched
		}
	}
	return gaveUp
}

// table matches byte by byte, keeping all numbers of ops that can have matched so far.
func table(ops []op, s *subject, from int, float bool) bool {
	var a, b [MaxPattern + 2]bool
	now, next := &a, &b
	now[0] = true
	skipStars(ops, now)
	for t := from; t < s.len(); t++ {
		c := s.at(t)
		clear(next[:len(ops)+1])
		for p := range ops {
			switch o := &ops[p]; {
			case !now[p]:
			case o.kind == opAnyStar || o.kind == opStar && c != '/':
				next[p] = true
			case o.matches(c):
				next[p+1] = true
			}
		}
		if float && c == '/' {
			next[0] = true
		}
		skipStars(ops, next)
		now, next = next, now
	}
	return now[len(ops)]
}

// skipStars lets every star that is reached match nothing.
func skipStars(ops []op, set *[MaxPattern + 2]bool) {
	for p := range ops {
		if set[p] && (ops[p].kind == opStar || ops[p].kind == opAnyStar) {
			set[p+1] = true
		}
	}
}
