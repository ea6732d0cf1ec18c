package cli

import "strings"

// Completions are made from the flag table, one script a shell. They complete
// commands, options, values and file names.

func bashCompletion() string {
	var b strings.Builder
	b.WriteString(`# bash completion for haul, made by 'haul generate' from the flag table.
_haul() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd=${COMP_WORDS[1]} opt=
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W '` + commandNames() + `' -- "$cur"))
		return
	fi
	# --option=value comes as three words: readline breaks at the sign.
	if [[ $cur == = ]]; then opt=$prev cur=
	elif [[ $prev == = ]]; then opt=${COMP_WORDS[COMP_CWORD-2]}
	elif [[ $prev == -* ]]; then opt=$prev
	fi
	case $cmd in
`)
	for _, c := range commands {
		b.WriteString("\t" + c.Name + ")\n\t\tcase $opt in\n")
		for i := range c.Flags {
			f := &c.Flags[i]
			if len(f.Values) > 0 && f.Long != "" {
				b.WriteString("\t\t--" + f.Long + ") COMPREPLY=($(compgen -W '" + valueNames(f) + "' -- \"$cur\")); ((${#COMPREPLY[@]})) && return ;;\n")
			}
		}
		b.WriteString("\t\tesac\n\t\t[[ $cur == -* ]] && COMPREPLY=($(compgen -W '" + strings.Join(spellings(c), " ") + "' -- \"$cur\"))\n")
		if c.Name == "help" {
			b.WriteString("\t\tCOMPREPLY+=($(compgen -W '" + commandNames() + "' -- \"$cur\"))\n")
		}
		b.WriteString("\t\t;;\n")
	}
	b.WriteString(`	esac
	[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
complete -o default -F _haul haul
`)
	return b.String()
}

func zshCompletion() string {
	var b strings.Builder
	b.WriteString("#compdef haul\n# zsh completion for haul, made by 'haul generate' from the flag table.\n_haul() {\n\tlocal -a commands=(\n")
	for _, c := range commands {
		b.WriteString("\t\t" + single(c.Name+":"+c.Brief) + "\n")
	}
	b.WriteString("\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n\tlocal cmd=$words[2]\n\tshift words\n\t((CURRENT--))\n\tcase $cmd in\n")
	for _, c := range commands {
		b.WriteString("\t" + c.Name + ")\n\t\t_arguments -s -S")
		for i := range c.Flags {
			f := &c.Flags[i]
			for _, s := range f.Short {
				b.WriteString(" \\\n\t\t\t" + single("*-"+string(s)+zshArg(f, "+", !f.Optional)))
			}
			if f.Long != "" {
				b.WriteString(" \\\n\t\t\t" + single("*--"+f.Long+zshArg(f, "=", true)))
			}
		}
		switch {
		case c.Name == "help":
			b.WriteString(" \\\n\t\t\t'1:command:(" + commandNames() + ")'")
		case c.Dirs, len(c.Usage[0]) > 0:
			b.WriteString(" \\\n\t\t\t'*:file:_files'")
		}
		b.WriteString("\n\t\t;;\n")
	}
	b.WriteString("\tesac\n}\n_haul \"$@\"\n")
	return b.String()
}

// zshArg is what follows an option in _arguments: its doc, and its value.
func zshArg(f *Flag, sign string, takes bool) string {
	doc := strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(brief(f.Doc))
	if f.Arg == "" || !takes {
		return "[" + doc + "]"
	}
	if f.Optional {
		sign += "-"
	}
	s := sign + "[" + doc + "]:"
	if f.Optional {
		s = sign + "[" + doc + "]::"
	}
	s += strings.ToLower(f.Arg) + ":"
	switch {
	case len(f.Values) > 0:
		s += "(" + valueNames(f) + ")"
	case f.File:
		s += "_files"
	}
	return s
}

func fishCompletion() string {
	var b strings.Builder
	b.WriteString("# fish completion for haul, made by 'haul generate' from the flag table.\n")
	for _, c := range commands {
		b.WriteString("complete -c haul -n __fish_use_subcommand -f -a " + c.Name + " -d " + fishQuote(c.Brief) + "\n")
	}
	b.WriteString("complete -c haul -n '__fish_seen_subcommand_from help' -f -a " + single(commandNames()) + "\n")
	for _, c := range commands {
		for i := range c.Flags {
			f := &c.Flags[i]
			b.WriteString("complete -c haul -n '__fish_seen_subcommand_from " + c.Name + "'")
			for _, s := range f.Short {
				b.WriteString(" -s " + string(s))
			}
			if f.Long != "" {
				b.WriteString(" -l " + f.Long)
			}
			switch {
			case f.Arg == "" || f.Optional && len(f.Values) == 0:
			case len(f.Values) > 0 && f.Optional:
				b.WriteString(" -a " + single(valueNames(f)))
			case len(f.Values) > 0:
				b.WriteString(" -x -a " + single(valueNames(f)))
			case f.File:
				b.WriteString(" -r -F")
			default:
				b.WriteString(" -x")
			}
			b.WriteString(" -d " + fishQuote(brief(f.Doc)) + "\n")
		}
	}
	return b.String()
}

func commandNames() string {
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.Name
	}
	return strings.Join(names, " ")
}

func valueNames(f *Flag) string {
	names := make([]string, len(f.Values))
	for i, v := range f.Values {
		names[i] = first(v)
	}
	return strings.Join(names, " ")
}

// spellings are all options of a command as bash completes them.
func spellings(c *Command) []string {
	var all []string
	for i := range c.Flags {
		f := &c.Flags[i]
		for _, s := range f.Short {
			all = append(all, "-"+string(s))
		}
		switch {
		case f.Long == "":
		case f.Arg == "" || f.Optional:
			all = append(all, "--"+f.Long)
		default:
			all = append(all, "--"+f.Long+"=")
		}
	}
	return all
}

// brief is the first clause of a doc.
func brief(doc string) string {
	if i := strings.IndexAny(doc, ";:("); i > 0 {
		doc = doc[:i]
	}
	return strings.TrimSpace(doc)
}

// single quotes for bash and zsh, fishQuote for fish, which knows \' inside.
func single(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
