package cli

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// version is the release; the linker may set it.
var version = "0.1.0"

// build tells the commit the program was built from, or "".
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return ""
}

func versionText(prog string) string {
	text := prog + " " + version
	if prog != "haul" {
		text = prog + " (haul) " + version
	}
	if rev := build(); rev != "" {
		text += " " + rev
	}
	return text + " (" + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + ")\n" +
		"Licence Apache-2.0: <https://www.apache.org/licenses/LICENSE-2.0>\n"
}

func overview() string {
	var b strings.Builder
	b.WriteString("Usage: haul COMMAND [OPTION]... [OPERAND]...\n")
	b.WriteString("Copy, write, compare and measure files as fast as the kernel allows.\n\nCommands:\n")
	for _, c := range commands {
		b.WriteString("  " + pad(c.Name, 10) + c.Brief + "\n")
	}
	b.WriteString("\n'haul help COMMAND' or 'haul COMMAND --help' tells more.\n" +
		"Started under the name cp, haul is cp.\n")
	return b.String()
}

// helpText is what prog --help prints.
func helpText(c *Command, prog string) string {
	var b strings.Builder
	for i, u := range c.Usage {
		intro := "Usage: "
		if i > 0 {
			intro = "  or:  "
		}
		b.WriteString(strings.TrimRight(intro+prog+" "+u, " ") + "\n")
	}
	for _, p := range strings.Split(c.About, "\n") {
		b.WriteString(fill(p, 79, 0) + "\n")
	}
	standard, ours := split(c.Flags)
	flagHelp(&b, standard)
	if len(ours) > 0 && len(standard) > 2 && c.Name == "cp" {
		b.WriteString("\nBeyond GNU cp:\n")
		flagHelp(&b, ours)
	} else {
		for _, f := range ours {
			oneFlagHelp(&b, f)
		}
	}
	for _, n := range c.Notes {
		b.WriteString("\n" + fill(n.Title+": "+n.Text, 79, 0) + "\n")
	}
	for i, t := range c.Tries {
		if i == 0 {
			b.WriteString("\nExamples:\n")
		}
		b.WriteString("  " + t.Line + "\n" + fill(t.Doc, 79, 6) + "\n")
	}
	b.WriteString("\nExit codes:\n")
	for _, e := range c.Exits {
		b.WriteString("  " + pad(e.Code, 12) + " " + strings.TrimLeft(fill(e.Doc, 79, 15), " ") + "\n")
	}
	return b.String()
}

// split parts the standard flags from ours, in order.
func split(flags []Flag) (standard, ours []*Flag) {
	for i := range flags {
		if flags[i].Ours {
			ours = append(ours, &flags[i])
		} else {
			standard = append(standard, &flags[i])
		}
	}
	return standard, ours
}

func flagHelp(b *strings.Builder, flags []*Flag) {
	b.WriteByte('\n')
	for _, f := range flags {
		oneFlagHelp(b, f)
	}
}

const docColumn = 31

func oneFlagHelp(b *strings.Builder, f *Flag) {
	left := "  " + f.spell(", ")
	if f.Short == "" {
		left = "      " + f.spell(", ")
	}
	doc := strings.TrimLeft(fill(f.Doc, 79, docColumn), " ")
	if len(left)+2 > docColumn {
		b.WriteString(left + "\n" + strings.Repeat(" ", docColumn) + doc + "\n")
		return
	}
	b.WriteString(pad(left, docColumn) + doc + "\n")
}

// spell writes the flag as it may be typed: -S, --suffix=SUFFIX.
func (f *Flag) spell(sep string) string {
	var forms []string
	for _, c := range f.Short {
		forms = append(forms, "-"+string(c))
	}
	if f.Long != "" {
		forms = append(forms, "--"+f.Long)
	}
	s := strings.Join(forms, sep)
	switch {
	case f.Arg == "":
	case f.Optional:
		s += "[=" + f.Arg + "]"
	case f.Long == "":
		s += " " + f.Arg
	default:
		s += "=" + f.Arg
	}
	return s
}

func pad(s string, n int) string {
	if len(s) < n {
		return s + strings.Repeat(" ", n-len(s))
	}
	return s
}

// fill breaks text into lines of at most width columns, indented.
func fill(text string, width, indent int) string {
	var b strings.Builder
	margin := strings.Repeat(" ", indent)
	col := 0
	for _, w := range strings.Fields(text) {
		switch {
		case col == 0:
			b.WriteString(margin)
			col = indent
		case col+1+len(w) > width:
			b.WriteString("\n" + margin)
			col = indent
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(w)
		col += len(w)
	}
	return b.String()
}

func versionEvent() []byte {
	return newObject(nil, "version").str("version", version).given("commit", build()).
		str("go", runtime.Version()).str("system", runtime.GOOS+"/"+runtime.GOARCH).line()
}
