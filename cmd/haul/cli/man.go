package cli

import "strings"

// manPage is the page of a command in man's own language.
func manPage(c *Command) string {
	var b strings.Builder
	name := "haul-" + c.Name
	manHead(&b, name, c.Brief)
	for i, u := range c.Usage {
		if i > 0 {
			b.WriteString(".br\n")
		}
		b.WriteString(".B haul " + c.Name + "\n")
		if u != "" {
			b.WriteString(roff(u) + "\n")
		}
	}
	b.WriteString(".SH DESCRIPTION\n")
	manText(&b, c.About)
	standard, ours := split(c.Flags)
	if c.Name != "cp" {
		standard, ours = append(standard, ours...), nil
	}
	b.WriteString(".SH OPTIONS\n")
	manFlags(&b, standard)
	if len(ours) > 0 {
		b.WriteString(".SS Beyond GNU cp\n")
		manFlags(&b, ours)
	}
	for _, n := range c.Notes {
		b.WriteString(".SH " + strings.ToUpper(n.Title) + "\n")
		manText(&b, n.Text)
	}
	for i, t := range c.Tries {
		if i == 0 {
			b.WriteString(".SH EXAMPLES\n")
		}
		b.WriteString(".TP\n.B " + roff(t.Line) + "\n" + roffLines(t.Doc) + "\n")
	}
	manExits(&b, c.Exits)
	b.WriteString(".SH SEE ALSO\n.BR haul (1)\n")
	return b.String()
}

func manExits(b *strings.Builder, exits []Exit) {
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range exits {
		b.WriteString(".TP\n.B " + roff(e.Code) + "\n" + roffLines(e.Doc) + "\n")
	}
}

// manOverview is haul(1).
func manOverview() string {
	var b strings.Builder
	manHead(&b, "haul", "copy, write, compare and measure files")
	b.WriteString(".B haul\n.I COMMAND\n[OPTION]... [OPERAND]...\n.SH DESCRIPTION\n")
	manText(&b, "haul copies files as fast as the kernel allows and as safely as it is told. Each command has a page of its own and answers to --help.\n"+
		"Started under the name cp, haul is cp: it then writes existing files where they stand, as GNU cp does.")
	b.WriteString(".SH COMMANDS\n")
	for _, c := range commands {
		b.WriteString(".TP\n.BR haul-" + roff(c.Name) + " (1)\n" + roff(c.Brief) + "\n")
	}
	b.WriteString(".SH ENVIRONMENT\n")
	for _, e := range [...][2]string{
		{"POSIXLY_CORRECT", "options end at the first operand"},
		{"VERSION_CONTROL, SIMPLE_BACKUP_SUFFIX", "how haul cp names backups"},
		{"LC_ALL, LC_CTYPE, LANG", "whether names in UTF-8 are shown as they are or escaped"},
		{"TMPDIR", "where haul write keeps long input under --inplace"},
	} {
		b.WriteString(".TP\n.B " + roff(e[0]) + "\n" + roff(e[1]) + "\n")
	}
	manExits(&b, []Exit{{"0", "done; for haul diff: no difference"},
		{"1", "something could not be done, or the words typed make no sense; for haul diff: they differ"},
		{"2", "for haul diff only: something could not be read, or the words typed make no sense"}, signalExit})
	b.WriteString(".SH SEE ALSO\n")
	for _, c := range commands {
		b.WriteString(".BR haul-" + roff(c.Name) + " (1),\n")
	}
	b.WriteString(".BR cp (1),\n.BR du (1)\n")
	return b.String()
}

func manHead(b *strings.Builder, name, brief string) {
	b.WriteString(".\\\" Made by 'haul generate' from the flag table: do not edit.\n")
	b.WriteString(".TH " + strings.ToUpper(roff(name)) + " 1 \"\" \"haul " + version + "\" \"User Commands\"\n")
	b.WriteString(".SH NAME\n" + roff(name) + " \\- " + roff(brief) + "\n.SH SYNOPSIS\n")
}

func manText(b *strings.Builder, text string) {
	for i, p := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(roffLines(p) + "\n")
	}
}

func manFlags(b *strings.Builder, flags []*Flag) {
	for _, f := range flags {
		b.WriteString(".TP\n.B " + roff(f.spell(", ")) + "\n" + roffLines(f.Doc) + "\n")
	}
}

// roff escapes text: backslashes, hyphens meant as minus signs, and lines that
// begin as requests do.
func roff(s string) string {
	s = strings.ReplaceAll(s, `\`, `\e`)
	s = strings.ReplaceAll(s, "-", `\-`)
	s = strings.ReplaceAll(s, "~", `\(ti`)
	s = strings.ReplaceAll(s, "'", `\(aq`)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}

// roffLines is roff for text of any length, broken into lines.
func roffLines(text string) string {
	lines := strings.Split(fill(text, 72, 0), "\n")
	for i := range lines {
		lines[i] = roff(lines[i])
	}
	return strings.Join(lines, "\n")
}
