package filter

// Options say how a List reads its rules. The zero value is as usual.
type Options struct {
	// Load reads the files of merge rules, names as the rules give them,
	// relative ones relative to wherever the caller is; "-" is its standard
	// input. Nil makes merge rules errors.
	Load Loader

	// From0 (--from0) says that merge files hold NUL-terminated rules, not lines.
	From0 bool

	// DeleteExcluded (--delete-excluded) makes rules without a side act on the
	// sender only.
	DeleteExcluded bool

	// CVS holds what "-C" excludes besides its fixed names: the contents of
	// $HOME/.cvsignore and of $CVSIGNORE, in this order.
	CVS []string
}

// A List is the rules of one job in the order in which they are tried. It is
// built by one goroutine; the Scopes made of it are independent of it.
type List struct {
	options Options
	rules   []Rule // no merges, no clears
	perDir  int    // how often PerDirectory was called
}

// NewList returns an empty list.
func NewList(options Options) *List { return &List{options: options} }

// Rules gives the rules in force, merge files read and clear rules obeyed. The
// caller must not change them.
func (l *List) Rules() []Rule {
	if l == nil {
		return nil
	}
	return l.rules
}

// Add appends rules; a clear rule empties the list, a merge rule is replaced by
// the rules of its file. A second dir-merge rule with a base name that is there
// already is dropped.
func (l *List) Add(rules ...Rule) error {
	return l.gather(func(g *gatherer) error {
		for _, r := range rules {
			if err := g.add(r, nil, 0); err != nil {
				return err
			}
		}
		return nil
	})
}

// Filter appends the values of --filter. An empty one does nothing.
func (l *List) Filter(texts ...string) error {
	for _, text := range texts {
		if text == "" {
			continue
		}
		r, err := Parse(text)
		if err == nil {
			err = l.Add(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Include appends the value of --include.
func (l *List) Include(pattern string) error { return l.addOld(KindInclude, pattern) }

// Exclude appends the value of --exclude.
func (l *List) Exclude(pattern string) error { return l.addOld(KindExclude, pattern) }

func (l *List) addOld(kind Kind, text string) error {
	if text == "" {
		return nil
	}
	r, err := ParseOld(kind, text)
	if err != nil {
		return err
	}
	return l.Add(r)
}

// IncludeFrom appends the lines of the file that --include-from names.
func (l *List) IncludeFrom(name string, data []byte) error {
	return l.addFrom(KindInclude, name, data)
}

// ExcludeFrom appends the lines of the file that --exclude-from names.
func (l *List) ExcludeFrom(name string, data []byte) error {
	return l.addFrom(KindExclude, name, data)
}

func (l *List) addFrom(kind Kind, name string, data []byte) error {
	return l.gather(func(g *gatherer) error {
		return g.read(&source{name: name, data: string(data), rule: Rule{Kind: kind}, old: true})
	})
}

// PerDirectory is -F: the first call looks for .rsync-filter in every directory
// from the file system's root down, the second keeps those files out of the
// transfer, further ones do nothing.
func (l *List) PerDirectory() error {
	l.perDir++
	switch l.perDir {
	case 1:
		return l.Add(Rule{Kind: KindDirMerge, Pattern: "/.rsync-filter"})
	case 2:
		return l.Add(Rule{Kind: KindExclude, Pattern: ".rsync-filter"})
	}
	return nil
}

// CVSExclude is -C, the option: .cvsignore in every directory, then the CVS
// names. It belongs behind all other rules, wherever the option stood.
func (l *List) CVSExclude() error {
	return l.Add(
		Rule{Kind: KindDirMerge, Mods: ModCVS, Pattern: cvsFile},
		Rule{Kind: KindExclude, Mods: ModCVS})
}

// gather runs fill on the rules so far and keeps the outcome, if there is no error.
func (l *List) gather(fill func(*gatherer) error) error {
	g := gatherer{options: &l.options, load: l.options.Load, rules: l.rules}
	if err := fill(&g); err != nil {
		return err
	}
	l.rules = g.rules
	return nil
}

// expandAllCVS replaces every "-C". rsync keeps one such list: kind and sides
// are those of the first rule that calls for it.
func (o *Options) expandAllCVS(rules []Rule) ([]Rule, error) {
	var out, names []Rule
	for _, r := range rules {
		if !r.isCVS() {
			out = append(out, r)
			continue
		}
		if names == nil {
			var err error
			if names, err = o.expandCVS(r); err != nil {
				return nil, err
			}
		}
		out = append(out, names...)
	}
	return out, nil
}

// sidesOf gives the sides a rule is for, 0 meaning both.
func (o *Options) sidesOf(r Rule) Mods {
	sides := r.Mods & modSides
	if o.DeleteExcluded && r.Kind == KindDirMerge && r.Mods&modBare != 0 && sides == 0 {
		return ModSender // as all rules of such a file are
	}
	return sides
}
