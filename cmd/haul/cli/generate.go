package cli

import (
	"os"
	"path/filepath"

	haul "github.com/gohaul/haul"
)

// artifact is a file that is made from the flag table.
type artifact struct{ name, content string }

// artifacts are all of a kind: man or completions.
func artifacts(kind string) []artifact {
	switch kind {
	case "man":
		list := []artifact{{"haul.1", manOverview()}}
		for _, c := range commands {
			list = append(list, artifact{"haul-" + c.Name + ".1", manPage(c)})
		}
		return list
	case "completions":
		return []artifact{{"haul.bash", bashCompletion()}, {"_haul", zshCompletion()}, {"haul.fish", fishCompletion()}}
	}
	return nil
}

// generate writes man pages or completions into a directory.
func generate(p *printer, words []string) int {
	if len(words) != 2 || artifacts(words[0]) == nil {
		p.complain("usage: haul generate man|completions DIRECTORY")
		return 1
	}
	if err := os.MkdirAll(words[1], 0o777); err != nil {
		p.complain(plainText(p.loc, err))
		return 1
	}
	for _, a := range artifacts(words[0]) {
		if err := haul.WriteFile(filepath.Join(words[1], a.name), []byte(a.content), 0o644); err != nil {
			p.complain(plainText(p.loc, err))
			return 1
		}
	}
	return 0
}
