package filter

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// A Loader gives the content of a merge file. The name is absolute or relative;
// what a relative one is relative to stands with the function that takes the Loader.
// For a file that is not there, and for one that is no regular file (a FIFO would
// block), the error should wrap fs.ErrNotExist.
type Loader func(name string) ([]byte, error)

// maxDepth is how deep merge files may name merge files.
const maxDepth = 32

// A source is a text with rules in it.
type source struct {
	name string
	data string
	rule Rule // the merge rule it came by: how to read it, and what its rules inherit
	old  bool // a list of --include-from or --exclude-from; rule.Kind is the default kind
}

// A gatherer puts rules in their order, replaces merge rules by the content of
// their files and obeys clear rules.
type gatherer struct {
	options *Options
	load    Loader
	rules   []Rule
	cleared bool // a clear rule was met: what was in force before is void
	depth   int  // of merge files
	perDir  bool // the source is a per-directory file
}

// add takes one rule. From where it was read decides what an error may show.
func (g *gatherer) add(r Rule, from *source, line int) error {
	if r.Kind == KindClear {
		g.rules, g.cleared = nil, true
		return nil
	}
	if r.isMerge() && r.Mods&ModExcludeSelf != 0 {
		r.Mods &^= ModExcludeSelf
		if base := r.baseName(); base != "" {
			g.rules = append(g.rules, Rule{Kind: KindExclude, Pattern: base})
		}
	}
	if r.Kind == KindMerge {
		return g.merge(r, from, line)
	}
	if g.options.DeleteExcluded && r.Kind != KindDirMerge && r.Mods&modSides == 0 {
		r.Mods |= ModSender
	}
	// As in rsync, what a file named in a per-directory file says begins at the transfer root.
	r.local = g.perDir && g.depth == 0
	if r.Kind == KindDirMerge && hasDirMerge(g.rules, r.baseName()) {
		return nil
	}
	g.rules = append(g.rules, r)
	return nil
}

// hasDirMerge tells whether per-directory files of this base name are read already.
func hasDirMerge(rules []Rule, base string) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return r.Kind == KindDirMerge && r.baseName() == base })
}

// merge reads the file of a "." rule in its place. Its sides hold for the rules
// of the file, as the manual says; rsync 3.5.0 loses them in per-directory files.
func (g *gatherer) merge(r Rule, from *source, line int) error {
	fail := func(reason string, err error) error {
		e := &Error{Rule: r.String(), Reason: reason, Line: line, Err: err}
		if from != nil {
			e.File, e.Err = from.name, anonymous(err)
		}
		return e
	}
	if g.depth == maxDepth {
		return fail("merge files nested more than "+strconv.Itoa(maxDepth)+" deep", nil)
	}
	if g.load == nil {
		return fail("merge files cannot be read here", nil)
	}
	data, err := g.load(r.Pattern)
	if err != nil {
		return fail("merge file", err)
	}
	src := source{name: r.Pattern, data: string(data), rule: r}
	if from != nil {
		src.name = "named at " + from.name + " line " + strconv.Itoa(line)
	}
	g.depth++
	defer func() { g.depth-- }()
	return g.read(&src)
}

// anonymous strips an error of the file name, which came out of a file itself.
func anonymous(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// read takes all rules of a text.
func (g *gatherer) read(src *source) error {
	if src.rule.wordSplit() {
		return g.readWords(src)
	}
	line := 0
	for data := src.data; data != ""; {
		var text string
		text, data = g.cutLine(data)
		line++
		if text == "" || text[0] == '#' || text[0] == ';' {
			continue
		}
		if err := g.addText(text, src, line); err != nil {
			return err
		}
	}
	return nil
}

// cutLine cuts off the first line: up to LF, CR or CRLF, or under From0 up to
// NUL. Without From0 a NUL hides the rest of its line.
func (g *gatherer) cutLine(data string) (line, rest string) {
	if g.options.From0 {
		line, rest, _ = strings.Cut(data, "\x00")
		return line, rest
	}
	line = data
	if i := strings.IndexAny(data, "\r\n"); i >= 0 {
		line, rest = data[:i], data[i+1:]
		if data[i] == '\r' && strings.HasPrefix(rest, "\n") {
			rest = rest[1:]
		}
	}
	line, _, _ = strings.Cut(line, "\x00")
	return line, rest
}

// readWords takes the words of a text. A word that is a whole rule prefix takes
// the next word as its pattern ("- foo + bar" is two rules): so says rsync's
// manual, while rsync 3.5.0 fails on such a file.
func (g *gatherer) readWords(src *source) error {
	words := strings.FieldsFunc(src.data, func(c rune) bool {
		return c == ' ' || c >= '\t' && c <= '\r' || c == 0 && g.options.From0
	})
	for i := 0; i < len(words); i++ {
		word, _, _ := strings.Cut(words[i], "\x00")
		if word == "" {
			continue
		}
		if src.rule.Mods&modBare == 0 && i+1 < len(words) {
			r, pattern, err := parsePrefix(word)
			if err == nil && pattern == "" && r.Kind != KindClear && r.Mods&ModCVS == 0 {
				i++
				word += " " + words[i]
			}
		}
		if err := g.addText(word, src, 0); err != nil {
			return err
		}
	}
	return nil
}

// addText takes one line or word of a source.
func (g *gatherer) addText(text string, src *source, line int) error {
	r, err := src.parse(text)
	if err != nil {
		e := err.(*Error)
		e.File, e.Line = src.name, line
		return e
	}
	return g.add(r, src, line)
}

// parse reads a rule as the source's merge rule demands. All its errors are *Error.
func (src *source) parse(text string) (Rule, error) {
	if src.old {
		return ParseOld(src.rule.Kind, text)
	}
	r, err := src.parseText(text)
	if err != nil || r.Kind == KindClear {
		return r, err
	}
	if src.rule.Mods&modSides != 0 && r.Mods&modSides != 0 {
		return r, &Error{Rule: text, Reason: "rule with a side in a merge file with a side"}
	}
	r.Mods |= src.rule.Mods & modHandOn
	return r, nil
}

func (src *source) parseText(text string) (Rule, error) {
	switch mods := src.rule.Mods; {
	case mods&ModCVS != 0 && text == "!":
		return Rule{Kind: KindClear}, nil
	case mods&(ModOnlyExclude|ModCVS) != 0:
		return Rule{Kind: KindExclude}.withPattern(text, text)
	case mods&ModOnlyInclude != 0:
		return Rule{Kind: KindInclude}.withPattern(text, text)
	}
	return Parse(text)
}
