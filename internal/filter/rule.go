// Package filter decides which names of a tree take part in a copy, by rsync's
// include and exclude rules.
//
// A Rule is one parsed rule. A List collects rules in the order they were
// given. List.Root turns it into a Scope, the rules in force in one directory
// as one side sees them; Scope.Enter goes down and picks up per-directory merge
// files, Scope.Check tells what happens to a name. The package touches no file:
// whoever walks the tree hands in a Loader.
//
// Grammar and meaning are those of rsync 3.5.0, section FILTER RULES of its
// manual. Where the program and its manual disagree, the comment beside the
// code says which one is followed.
package filter

import (
	"strconv"
	"strings"
)

// Kind says what a rule does with the names it matches.
type Kind uint8

const (
	KindExclude  Kind = iota + 1 // "-": hide from the transfer, protect from deletion
	KindInclude                  // "+": show, put at risk
	KindMerge                    // ".": read the named file in place of the rule
	KindDirMerge                 // ":": read the named file in every directory entered
	KindClear                    // "!": forget the rules of the current list so far
)

// Mods is the set of modifiers of a rule.
type Mods uint16

const (
	ModAbsolute    Mods = 1 << iota // "/": match the absolute path
	ModNegate                       // "!": apply when the pattern does not match
	ModCVS                          // "C": the CVS names, or a file read as CVS reads it
	ModNoInherit                    // "n": subdirectories do not inherit the file's rules
	ModWordSplit                    // "w": the file is split at white space, without comments
	ModOnlyExclude                  // "-": the file holds exclude patterns, no rules
	ModOnlyInclude                  // "+": the file holds include patterns, no rules
	ModExcludeSelf                  // "e": exclude the merge file itself
	ModXattr                        // "x": match names of extended attributes, not files
	ModSender                       // "s": for the sending side
	ModReceiver                     // "r": for the receiving side
	ModPerishable                   // "p": not in force in directories that are being deleted

	modSides   = ModSender | ModReceiver
	modBare    = ModOnlyExclude | ModOnlyInclude | ModCVS
	modHandOn  = ModAbsolute | ModNegate | ModPerishable | modSides // what a merge rule, or -C, hands to the rules of its file
	modOfMerge = ModNoInherit | ModWordSplit | ModOnlyExclude | ModOnlyInclude | ModExcludeSelf
)

// letters holds the modifiers in the order in which rsync writes them.
var letters = [...]struct {
	letter byte
	mod    Mods
}{
	{'/', ModAbsolute}, {'!', ModNegate}, {'C', ModCVS}, {'n', ModNoInherit}, {'w', ModWordSplit},
	{'-', ModOnlyExclude}, {'+', ModOnlyInclude}, {'e', ModExcludeSelf}, {'x', ModXattr},
	{'s', ModSender}, {'r', ModReceiver}, {'p', ModPerishable},
}

// kinds holds the rule names. The last four are a kind with a side, and take no side letters.
var kinds = [...]struct {
	short byte
	long  string
	kind  Kind
	side  Mods
}{
	{'-', "exclude", KindExclude, 0}, {'+', "include", KindInclude, 0},
	{'.', "merge", KindMerge, 0}, {':', "dir-merge", KindDirMerge, 0}, {'!', "clear", KindClear, 0},
	{'H', "hide", KindExclude, ModSender}, {'S', "show", KindInclude, ModSender},
	{'P', "protect", KindExclude, ModReceiver}, {'R', "risk", KindInclude, ModReceiver},
}

// MaxPattern is the length in bytes that a pattern may have: rsync drops longer
// ones with a message; here they are errors, for a dropped exclude would copy
// what it should not.
const MaxPattern = 4095

// cvsFile is the name a "C" merge rule without a name reads.
const cvsFile = ".cvsignore"

// A Rule is one filter rule. Rules are compared with ==.
type Rule struct {
	Kind    Kind
	Mods    Mods
	Pattern string // pattern or file name, verbatim; "" for KindClear and for "-C"

	local bool // stood in a per-directory file: a leading "/" means its directory
}

// Parse reads one rule in the full syntax, as --filter takes it:
// "KIND[MODS] PATTERN" or "KIND,MODS PATTERN", KIND short or long, with one
// space or underscore before the pattern. Errors are of type *Error.
func Parse(text string) (Rule, error) {
	r, rest, err := parsePrefix(text)
	if err != nil {
		return Rule{}, err
	}
	return r.withPattern(rest, text)
}

// ParseOld reads one value of --include (kind KindInclude) or --exclude
// (KindExclude): a bare pattern, or "- PATTERN", "+ PATTERN", or "!" alone.
func ParseOld(kind Kind, text string) (Rule, error) {
	r, pattern := Rule{Kind: kind}, text
	switch {
	case text == "!":
		return Rule{Kind: KindClear}, nil
	case strings.HasPrefix(text, "- "):
		r.Kind, pattern = KindExclude, text[2:]
	case strings.HasPrefix(text, "+ "):
		r.Kind, pattern = KindInclude, text[2:]
	}
	return r.withPattern(pattern, text)
}

// parsePrefix reads the kind and the modifiers, and gives what follows the
// one separator after them.
func parsePrefix(text string) (r Rule, rest string, err error) {
	r, sided, i := parseKind(text)
	if i == 0 {
		return r, "", &Error{Rule: text, Reason: "unknown rule"}
	}
	if i < len(text) && text[i] == ',' {
		i++
	}
	if r.Kind == KindClear {
		if i < len(text) {
			return r, "", &Error{Rule: text, Reason: "a clear rule takes no pattern"}
		}
		return r, "", nil
	}
	for ; i < len(text) && text[i] != ' ' && text[i] != '_'; i++ {
		mod := modOf(text[i])
		if mod == 0 || !r.allows(mod, sided) {
			return r, "", &Error{Rule: text, Reason: "invalid modifier", Pos: i}
		}
		r.Mods |= mod
	}
	if r.isMerge() && r.Mods&ModCVS != 0 {
		r.Mods &^= ModNoInherit | ModWordSplit // C says both
	}
	return r, text[min(i+1, len(text)):], nil
}

// parseKind gives the kind, whether its name names a side, and its length, 0 if there is none.
func parseKind(text string) (r Rule, sided bool, n int) {
	for _, k := range kinds {
		switch {
		case text == "":
			return Rule{}, false, 0
		case text[0] == k.short:
			n = 1
		case strings.HasPrefix(text, k.long) && strings.IndexByte(", _", (text + " ")[len(k.long)]) >= 0:
			n = len(k.long)
		default:
			continue
		}
		return Rule{Kind: k.kind, Mods: k.side}, k.side != 0, n
	}
	return Rule{}, false, 0
}

func modOf(letter byte) Mods {
	for _, l := range letters {
		if l.letter == letter {
			return l.mod
		}
	}
	return 0
}

// allows tells whether mod may be added to r, whose name named a side or not.
func (r Rule) allows(mod Mods, sided bool) bool {
	if sided && mod&(modSides|ModCVS) != 0 {
		return false
	}
	if !r.isMerge() {
		return mod&modOfMerge == 0
	}
	// Of "-", "+" and "C" a merge rule takes one.
	return mod != ModNegate && (mod&modBare == 0 || r.Mods&modBare&^mod == 0)
}

// withPattern completes a parsed prefix; text is the whole rule, for errors.
func (r Rule) withPattern(pattern, text string) (Rule, error) {
	if pattern == "" && r.isMerge() && r.Mods&ModCVS != 0 {
		pattern = cvsFile
	}
	switch {
	case r.Kind == KindClear:
	case pattern == "" && r.Mods&ModCVS == 0:
		return Rule{}, &Error{Rule: text, Reason: "no pattern"}
	case len(pattern) > MaxPattern:
		return Rule{}, &Error{Rule: text, Reason: "pattern longer than " + strconv.Itoa(MaxPattern) + " bytes"}
	case strings.IndexByte(pattern, 0) >= 0:
		return Rule{}, &Error{Rule: text, Reason: "NUL byte in pattern"}
	}
	r.Pattern = pattern
	return r, nil
}

func (r Rule) isMerge() bool { return r.Kind == KindMerge || r.Kind == KindDirMerge }

// isCVS tells whether r stands for the list of CVS names.
func (r Rule) isCVS() bool { return !r.isMerge() && r.Mods&ModCVS != 0 }

// baseName is the name under which a per-directory merge file is looked for.
func (r Rule) baseName() string {
	name := strings.TrimSuffix(r.Pattern, "/")
	return name[strings.LastIndexByte(name, '/')+1:]
}

// wordSplit and noInherit tell what a merge rule says itself or by "C".
func (r Rule) wordSplit() bool { return r.Mods&(ModWordSplit|ModCVS) != 0 }
func (r Rule) noInherit() bool { return r.Mods&(ModNoInherit|ModCVS) != 0 }

// String gives the rule in the short syntax; Parse reads it back. Hide, show,
// protect and risk come out as excludes and includes with a side.
func (r Rule) String() string {
	if r.Kind == KindClear {
		return "!"
	}
	return r.prefix(r.Mods) + " " + r.Pattern
}

func (r Rule) prefix(mods Mods) string {
	buf := make([]byte, 0, 16)
	for _, k := range kinds {
		if k.kind == r.Kind {
			buf = append(buf, k.short)
			break
		}
	}
	for _, l := range letters {
		if mods&l.mod != 0 {
			buf = append(buf, l.letter)
		}
	}
	return string(buf)
}

// An Error is a rule that cannot be used. A rule that stood in a file is shown
// by its place only: the other side may have chosen the file, and the message
// must not tell it what is written there.
type Error struct {
	Rule   string // the rule as given
	File   string // the file it was read from; "" if it was given by itself
	Line   int    // its line, from 1; 0 where the file has no lines
	Reason string
	Pos    int   // offset of the offending modifier in Rule; 0 if it is not about one
	Err    error // why a merge file could not be read; nil otherwise
}

func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.File == "":
		b.WriteString("filter rule " + strconv.Quote(e.Rule))
	case e.Line == 0:
		b.WriteString("filter file " + e.File)
	default:
		b.WriteString("filter file " + e.File + ", line " + strconv.Itoa(e.Line))
	}
	b.WriteString(": " + e.Reason)
	if e.Pos > 0 {
		if e.File == "" {
			b.WriteString(" " + strconv.QuoteRune(rune(e.Rule[e.Pos])))
		}
		b.WriteString(" at position " + strconv.Itoa(e.Pos))
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }
