package cli

import (
	"slices"
	"strings"
)

// Args is what was typed: options in their order, values as their flags spell
// them, and operands. What it means is each command's own matter.
type Args struct {
	Given    []Given
	Operands []string
}

// Given is one option as it was typed.
type Given struct {
	Flag  *Flag
	Value string
	Has   bool // a value was given
}

// is reports whether the option is the one of this name.
func (g Given) is(long string) bool { return g.Flag.Long == long }

// usageError is a mistake in what was typed. It ends with the hint at --help
// unless plain.
type usageError struct {
	text  string
	plain bool
}

func (e *usageError) Error() string { return e.text }

func misuse(parts ...string) error { return &usageError{text: strings.Join(parts, "")} }

// parser turns words into Args by the rules of GNU's getopt_long.
type parser struct {
	cmd    *Command
	loc    locale
	strict bool // POSIXLY_CORRECT: the first operand ends the options
	posing bool // started under the name of the program it stands in for
	args   Args
	rest   []string
}

// parse reads words up to --help or --version, which end it.
func (p *parser) parse(words []string) (Args, error) {
	p.rest = words
	for len(p.rest) > 0 {
		word := p.rest[0]
		p.rest = p.rest[1:]
		var err error
		switch {
		case word == "--":
			p.args.Operands = append(p.args.Operands, p.rest...)
			return p.args, nil
		case strings.HasPrefix(word, "--"):
			err = p.long(word[2:])
		case len(word) > 1 && word[0] == '-':
			err = p.cluster(word[1:])
		default:
			p.args.Operands = append(p.args.Operands, word)
			if p.strict {
				p.args.Operands = append(p.args.Operands, p.rest...)
				return p.args, nil
			}
		}
		if err != nil {
			return p.args, err
		}
		if n := len(p.args.Given); n > 0 && (p.args.Given[n-1].is("help") || p.args.Given[n-1].is("version")) {
			return p.args, nil
		}
	}
	return p.args, nil
}

func (p *parser) long(word string) error {
	name, value, has := strings.Cut(word, "=")
	f, err := p.find(name)
	switch {
	case err != nil:
		return err
	case f.Arg == "" && has:
		return misuse("option '--", f.Long, "' doesn't allow an argument")
	case f.Arg != "" && !has && !f.Optional:
		if len(p.rest) == 0 {
			return misuse("option '--", f.Long, "' requires an argument")
		}
		value, has = p.rest[0], true
		p.rest = p.rest[1:]
	}
	return p.give(f, value, has)
}

// find is the flag a long name or an unambiguous beginning of one means.
func (p *parser) find(name string) (*Flag, error) {
	var standard, ours []*Flag
	for i := range p.cmd.Flags {
		f := &p.cmd.Flags[i]
		switch {
		case f.Long == "" || !strings.HasPrefix(f.Long, name):
		case f.Long == name:
			return f, nil
		case f.Ours:
			ours = append(ours, f)
		default:
			standard = append(standard, f)
		}
	}
	// An abbreviation that works with the original works here: ours stand back.
	found := standard
	if len(found) == 0 {
		found = ours
	}
	switch len(found) {
	case 0:
		return nil, misuse("unrecognized option '--", name, "'")
	case 1:
		return found[0], nil
	}
	var b strings.Builder
	for _, f := range found {
		b.WriteString(" '--" + f.Long + "'")
	}
	return nil, misuse("option '--", name, "' is ambiguous; possibilities:", b.String())
}

func (p *parser) cluster(word string) error {
	for i := 0; i < len(word); i++ {
		f := p.short(word[i])
		if f == nil {
			return misuse("invalid option -- '", word[i:i+1], "'")
		}
		if f.Arg == "" || f.Optional {
			if err := p.give(f, "", false); err != nil {
				return err
			}
			continue
		}
		value := word[i+1:]
		if value == "" {
			if len(p.rest) == 0 {
				return misuse("option requires an argument -- '", word[i:i+1], "'")
			}
			value = p.rest[0]
			p.rest = p.rest[1:]
		}
		return p.give(f, value, true)
	}
	return nil
}

func (p *parser) short(c byte) *Flag {
	for i := range p.cmd.Flags {
		f := &p.cmd.Flags[i]
		if strings.IndexByte(f.Short, c) >= 0 && !(p.posing && f.Ours) {
			return f
		}
	}
	return nil
}

func (p *parser) give(f *Flag, value string, has bool) error {
	if has && len(f.Values) > 0 {
		words := []string{value}
		if f.List {
			words = strings.Split(value, ",")
		}
		for i, w := range words {
			canonical, err := choose(p.loc, w, f.topic(), f.Values)
			if err != nil {
				return err
			}
			words[i] = canonical
		}
		value = strings.Join(words, ",")
	}
	p.args.Given = append(p.args.Given, Given{f, value, has})
	return nil
}

// choose finds the value a word or an unambiguous beginning of one means. Each
// of values is one meaning: its name, and synonyms behind it.
func choose(loc locale, word, topic string, values []string) (string, error) {
	match := -1
	ambiguous := false
	for i, v := range values {
		for _, name := range strings.Fields(v) {
			switch {
			case name == word:
				return first(v), nil
			case !strings.HasPrefix(name, word):
			case match >= 0 && match != i:
				ambiguous = true
			default:
				match = i
			}
		}
	}
	if match >= 0 && !ambiguous {
		return first(values[match]), nil
	}
	kind := "invalid"
	if ambiguous {
		kind = "ambiguous"
	}
	var b strings.Builder
	b.WriteString(kind + " argument " + loc.word(word) + " for " + loc.word(topic) + "\nValid arguments are:")
	for _, v := range values {
		names := strings.Fields(v)
		for i := range names {
			names[i] = loc.word(names[i])
		}
		b.WriteString("\n  - " + strings.Join(names, ", "))
	}
	return "", misuse(b.String())
}

func first(values string) string {
	name, _, _ := strings.Cut(values, " ")
	return name
}

// last reports whether the option was given, and its last value.
func (a *Args) last(long string) (string, bool) {
	for _, g := range slices.Backward(a.Given) {
		if g.is(long) {
			return g.Value, true
		}
	}
	return "", false
}
