package filter

// cvsNames are the names that CVS ignores by itself, as rsync's manual lists
// them under --cvs-exclude.
const cvsNames = `RCS SCCS CVS CVS.adm RCSLOG cvslog.* tags TAGS .make.state .nse_depinfo
*~ #* .#* ,* _$* *$ *.old *.bak *.BAK *.orig *.rej .del-* *.a *.olb *.o *.obj
*.so *.exe *.Z *.elc *.ln core .svn/ .git/ .hg/ .bzr/`

// expandCVS gives the rules that "-C" stands for: the names of CVS, which are
// perishable, then those of the user. The rule hands kind, sides and "/" on.
func (o *Options) expandCVS(r Rule) ([]Rule, error) {
	g := gatherer{options: &Options{}}
	texts := append([]string{cvsNames}, o.CVS...)
	for i, text := range texts {
		template := Rule{Kind: KindMerge, Mods: ModCVS | r.Mods&modHandOn}
		if i == 0 {
			template.Mods |= ModPerishable
		}
		if err := g.read(&source{name: "CVSIGNORE", data: text, rule: template}); err != nil {
			return nil, err
		}
	}
	for i := range g.rules {
		g.rules[i].Kind = r.Kind
	}
	return g.rules, nil
}
