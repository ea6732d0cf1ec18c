package filter

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A Side is one end of a transfer.
type Side uint8

const (
	Sender   Side = iota // lists what is transferred: hide and show act here
	Receiver             // deletes what the sender has not: protect and risk act here
)

func (s Side) mod() Mods {
	if s == Sender {
		return ModSender
	}
	return ModReceiver
}

// A Verdict is what the rules say about a name.
type Verdict uint8

const (
	None    Verdict = iota // no rule matches: as Include
	Include                // transferred, may be deleted
	Exclude                // not transferred and not entered; not deleted
)

// A Scope is the rules in force in one directory for one side. It never
// changes and may be used by many goroutines. A nil Scope has no rules.
type Scope struct {
	*top
	slots   []slot
	started bool // parent directories have been looked at
}

// top is what all scopes of one transfer root share.
type top struct {
	options  *Options
	side     Side
	abs      string // the transfer root, "" if unknown
	absolute string // what makes a path in it an absolute one without the first "/"
	rules    chain  // those of the list
}

// An entry is a rule made ready, or the place of a per-directory merge.
type entry struct {
	verdict    Verdict
	negate     bool
	perishable bool
	xattr      bool
	slot       int // where the merge's rules are in Scope.slots; -1 for a rule
	pattern    pattern
}

// A slot holds the rules that one dir-merge rule has brought so far.
type slot struct {
	rule  Rule
	base  string // "" once it is out of force
	owner int    // the slot whose file held the rule; -1 for the list
	rules *chain
}

// A chain is the rules of one file, before those inherited from the
// directories above.
type chain struct {
	entries []entry
	up      *chain
	cut     int    // length of the file's directory in a path, with the "/" behind
	head    string // of a file above the transfer root: what is between the two
	xattr   bool
}

// Root gives the rules as one side applies them to a transfer whose paths are
// relative to the directory abs: an absolute, clean, slash-separated path (in
// a daemon, as seen from the module), or "" if there is none; then rules about
// absolute paths see only the relative one. Call Enter for each directory
// before judging what is in it; what is named by the user itself is judged by
// the scope that Root gives. With no rules for that side the result is nil.
func (l *List) Root(side Side, abs string) (*Scope, error) {
	if l == nil || len(l.rules) == 0 {
		return nil, nil
	}
	options := l.options
	t := &top{options: &options, side: side, abs: abs}
	if a := strings.Trim(abs, "/"); a != "" {
		t.absolute = a + "/"
	}
	s := &Scope{top: t}
	var err error
	if t.rules.entries, t.rules.xattr, err = s.compile(l.rules, -1); err != nil {
		return nil, err
	}
	if len(t.rules.entries) == 0 {
		return nil, nil
	}
	s.started = !slices.ContainsFunc(s.slots, func(sl slot) bool { return strings.Contains(sl.rule.Pattern, "/") })
	return s, nil
}

// compile makes rules ready; those of a per-directory file have its slot as
// owner. Each new dir-merge rule adds a slot to s.
func (s *Scope) compile(rules []Rule, owner int) (entries []entry, xattr bool, err error) {
	if rules, err = s.options.expandAllCVS(rules); err != nil {
		return nil, false, err
	}
	for _, r := range rules {
		if !s.applies(r) {
			continue
		}
		e := entry{slot: -1}
		if r.Kind == KindDirMerge {
			base := r.baseName()
			if base == "" || slices.ContainsFunc(s.slots, func(sl slot) bool { return sl.base == base }) {
				continue
			}
			e.slot = len(s.slots)
			s.slots = append(s.slots, slot{rule: r, base: base, owner: owner})
		} else {
			e.verdict = Exclude
			if r.Kind == KindInclude {
				e.verdict = Include
			}
			e.negate, e.perishable, e.xattr = r.Mods&ModNegate != 0, r.Mods&ModPerishable != 0, r.Mods&ModXattr != 0
			e.pattern = compile(r.Pattern, r.Mods&ModAbsolute != 0, r.local)
			xattr = xattr || e.xattr
		}
		entries = append(entries, e)
	}
	return entries, xattr, nil
}

// applies tells whether a rule means anything to this side.
func (s *Scope) applies(r Rule) bool {
	sides := s.options.sidesOf(r)
	return sides == 0 || sides&s.side.mod() != 0
}

// Enter gives the rules in force in the directory dir, a path relative to the
// transfer root ("" for itself); s is the scope of a directory above it, the
// nearest one entered. Load is asked for the per-directory merge files: names
// without "/" and relative ones are in dir, absolute ones anywhere. Missing
// files are as empty ones; other errors are returned as they are, errors in the
// files as *Error.
//
// Without dir-merge rules, and where no file is found, the result is s.
func (s *Scope) Enter(dir string, load Loader) (*Scope, error) {
	if s == nil || len(s.slots) == 0 {
		return s, nil
	}
	next := s
	if !s.started {
		next = next.copy()
		next.started = true
		if err := next.readParents(dir, load); err != nil {
			return nil, err
		}
	}
	cut := 0
	if dir != "" {
		cut = len(dir) + 1
	}
	// A file may hold dir-merge rules: their slots come last and are read in this round too.
	for i := 0; i < len(next.slots); i++ {
		var err error
		if next, err = next.readSlot(i, chain{cut: cut}, load, "", next == s); err != nil {
			return nil, err
		}
	}
	return next, nil
}

func (s *Scope) copy() *Scope {
	return &Scope{top: s.top, slots: slices.Clone(s.slots), started: s.started}
}

// readSlot reads the file of slot i in one directory, given as place and, for
// those above the transfer root, as prefix of the names to load. It changes s,
// or under share a copy of it if there is anything to change.
func (s *Scope) readSlot(i int, place chain, load Loader, prefix string, share bool) (*Scope, error) {
	sl := &s.slots[i]
	if sl.base == "" {
		return s, nil
	}
	data, err := load(prefix + sl.base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	drop := sl.rule.noInherit() && sl.rules != nil
	if len(data) == 0 && !drop {
		return s, nil
	}
	rules, cleared, err := s.parseFile(sl.rule, prefix, string(data), load)
	if err != nil {
		return nil, err
	}
	if len(rules) == 0 && !cleared && !drop {
		return s, nil
	}
	if share {
		s = s.copy()
	}
	return s, s.replace(i, place, rules, cleared || drop)
}

// parseFile gives the rules of one file of a dir-merge rule, and whether those
// inherited are void. The file is in the directory entered or in prefix.
func (s *Scope) parseFile(r Rule, prefix, data string, load Loader) (rules []Rule, cleared bool, err error) {
	g := gatherer{options: s.options, perDir: true}
	g.load = func(name string) ([]byte, error) { return load(s.nestedName(name, prefix)) }
	err = g.read(&source{name: prefix + r.baseName(), data: data, rule: r})
	return g.rules, g.cleared, err
}

// replace puts the rules of a file in force; under fresh those inherited go.
func (s *Scope) replace(i int, place chain, rules []Rule, fresh bool) error {
	if fresh {
		s.slots[i].rules = nil
		s.release(i)
	}
	entries, xattr, err := s.compile(rules, i)
	if err != nil || len(entries) == 0 {
		return err
	}
	place.entries, place.xattr, place.up = entries, xattr, s.slots[i].rules
	s.slots[i].rules = &place
	return nil
}

// release puts the slots out of force whose rules stood in files of slot owner.
func (s *Scope) release(owner int) {
	for i := range s.slots {
		if s.slots[i].owner == owner && s.slots[i].base != "" {
			s.slots[i].base, s.slots[i].rules = "", nil
			s.release(i)
		}
	}
}

// nestedName says which file a merge rule in a per-directory file means. As in
// rsync a name without "/" is in the transfer root, one with a "/" is relative
// to the directory of the file.
func (s *Scope) nestedName(name, prefix string) string {
	switch {
	case strings.HasPrefix(name, "/"):
		return name
	case strings.Contains(name, "/"):
		return prefix + name
	}
	return path.Join(s.abs, name)
}

// readParents handles dir-merge rules whose name has a directory: if that is
// above the directory first entered, all from there down are looked at, and
// their rules are inherited. rsync does so for the first argument only.
func (s *Scope) readParents(dir string, load Loader) error {
	if !strings.HasPrefix(s.abs, "/") {
		return nil
	}
	first := path.Join(s.abs, dir)
	for i := 0; i < len(s.slots); i++ {
		sl := s.slots[i]
		if !strings.Contains(sl.rule.Pattern, "/") || sl.rule.noInherit() {
			continue
		}
		from := path.Dir(strings.TrimSuffix(sl.rule.Pattern, "/"))
		if !path.IsAbs(from) {
			from = path.Join(first, from)
		}
		from = path.Clean(from)
		for from != first && beneath(first, from) {
			if _, err := s.readSlot(i, s.placeOf(from), load, slashed(from), false); err != nil {
				return err
			}
			name, _, _ := strings.Cut(first[len(slashed(from)):], "/")
			from = path.Join(from, name)
		}
	}
	return nil
}

// placeOf says how the subject of an anchored rule found in the directory abs comes about.
func (s *Scope) placeOf(abs string) chain {
	root, dir := slashed(path.Clean(s.abs)), slashed(abs)
	if strings.HasPrefix(root, dir) {
		return chain{head: root[len(dir):]}
	}
	return chain{cut: len(dir) - len(root)}
}

func beneath(name, dir string) bool { return name == dir || strings.HasPrefix(name, slashed(dir)) }

func slashed(dir string) string {
	if strings.HasSuffix(dir, "/") {
		return dir
	}
	return dir + "/"
}

// Check judges a name by the first rule that matches. The path is relative to
// the transfer root, without "/" at either end, and in the directory entered.
func (s *Scope) Check(path string, isDir bool) Verdict {
	if s == nil {
		return None
	}
	return s.judge(&s.rules, &query{path: path, name: lastComponent(path), dir: isDir})
}

// CheckDoomed is Check inside a directory that is being deleted: perishable
// rules are not in force there.
func (s *Scope) CheckDoomed(path string, isDir bool) Verdict {
	if s == nil {
		return None
	}
	return s.judge(&s.rules, &query{path: path, name: lastComponent(path), dir: isDir, doomed: true})
}

// Xattr judges the name of an extended attribute, by the rules marked x.
func (s *Scope) Xattr(name string) Verdict {
	if !s.HasXattr() {
		return None
	}
	return s.judge(&s.rules, &query{path: name, name: lastComponent(name), xattr: true})
}

// HasXattr tells whether there are rules about extended attributes. If so they
// replace what is copied by default.
func (s *Scope) HasXattr() bool {
	if s == nil || s.rules.xattr {
		return s != nil
	}
	for i := range s.slots {
		for c := s.slots[i].rules; c != nil; c = c.up {
			if c.xattr {
				return true
			}
		}
	}
	return false
}

func lastComponent(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func (s *Scope) judge(c *chain, q *query) Verdict {
	for i := range c.entries {
		e := &c.entries[i]
		if e.slot >= 0 {
			for sub := s.slots[e.slot].rules; sub != nil; sub = sub.up {
				if v := s.judge(sub, q); v != None {
					return v
				}
			}
			continue
		}
		if e.xattr != q.xattr || e.perishable && q.doomed {
			continue
		}
		if e.pattern.matches(q, s.absolute, c) != e.negate {
			return e.verdict
		}
	}
	return None
}
