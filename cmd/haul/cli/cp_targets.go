package cli

import (
	"os"
	"path/filepath"
	"strings"

	haul "github.com/gohaul/haul"
)

// target is one source and the name its copy gets. head is how long the part of
// dst is that was there before --parents.
type target struct {
	src, dst string
	head     int
}

func (t target) pair() haul.Pair { return haul.Pair{Src: t.src, Dst: t.dst} }

// targets reads the operands.
func (c *copier) targets() ([]target, error) {
	ops := c.args.Operands
	least := 2
	if c.hasTarget {
		least = 1
	}
	switch {
	case len(ops) == 0:
		return nil, misuse("missing file operand")
	case len(ops) < least:
		return nil, misuse("missing destination file operand after ", c.loc.file(ops[0]))
	case c.noTarget && len(ops) > 2:
		return nil, misuse("extra operand ", c.loc.file(ops[2]))
	}
	dir, inside, err := c.directory(ops)
	if err != nil {
		return nil, err
	}
	if c.parents && !inside {
		return nil, misuse("with --parents, the destination must be a directory")
	}
	if !c.hasTarget {
		ops = ops[:len(ops)-1]
	}
	list := make([]target, 0, len(ops))
	for _, src := range ops {
		if c.strip {
			src = strip(src)
		}
		t := target{src: src, dst: dir}
		if inside {
			t.dst, t.head = c.within(dir, src)
		}
		list = append(list, t)
	}
	return list, nil
}

// directory finds where the copies go: into a directory, or to a name.
func (c *copier) directory(ops []string) (dir string, inside bool, err error) {
	plain := func(text string) error { return &usageError{text: text, plain: true} }
	if c.hasTarget {
		if why := noDirectory(c.target); why != "" {
			return "", false, plain("target directory " + c.loc.file(c.target) + ": " + why)
		}
		return c.target, true, nil
	}
	last := ops[len(ops)-1]
	if c.noTarget {
		return last, false, nil
	}
	why := noDirectory(last)
	if why == "" {
		return last, true, nil
	}
	if len(ops) > 2 {
		return "", false, plain("target " + c.loc.file(last) + ": " + why)
	}
	return last, false, nil
}

// noDirectory says why a path is no directory, "" if it is one.
func noDirectory(path string) string {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return reason(err)
	case !st.IsDir():
		return "Not a directory"
	}
	return ""
}

// within is the name a source gets in a directory: its last element, or with
// --parents all of it. What ends in
// .. goes into the directory itself.
func (c *copier) within(dir, src string) (dst string, head int) {
	if c.parents {
		name := strings.TrimLeft(strip(src), "/")
		return join(dir, name), len(join(dir, ""))
	}
	base := filepath.Base(strip(src))
	switch {
	case src == "" || base == "/":
		return dir, 0
	case base == "..":
		base = "."
	}
	return join(dir, base), 0
}

// strip takes slashes off the end, but for the root's own.
func strip(path string) string {
	s := strings.TrimRight(path, "/")
	if s == "" && path != "" {
		return "/"
	}
	return s
}

// seen are the sources and targets of this run, to tell which copies would
// destroy others.
type seen struct {
	sources []os.FileInfo // by the index in targets
	targets map[string]int
}

type verdict uint8

const (
	fine       verdict = iota
	again              // the same source twice
	overwrites         // a target that this run made
	overlaps           // a directory into one that this run filled
)

// judge remembers a pair and says how it meets earlier ones. Targets are told
// apart by their cleaned names: two spellings of one name are one.
func (s *seen) judge(t target, st os.FileInfo, numbered bool) verdict {
	if s.targets == nil {
		s.targets = map[string]int{}
	}
	name := filepath.Clean(t.dst)
	i, met := s.targets[name]
	if !met {
		s.targets[name] = len(s.sources)
		s.sources = append(s.sources, st)
		return fine
	}
	switch {
	case os.SameFile(s.sources[i], st) && !(numbered && !st.IsDir()):
		return again
	case st.IsDir() && s.sources[i].IsDir():
		return overlaps
	case numbered:
		return overlaps
	}
	return overwrites
}

// backupName is the name a backup of path gets.
func backupName(path string, kind haul.Backup, suffix string) string {
	highest := 0
	if kind != haul.BackupSimple {
		dir, base := filepath.Split(path)
		if dir == "" {
			dir = "."
		}
		entries, err := os.ReadDir(dir)
		if err == nil {
			for _, e := range entries {
				if n, ok := backupNumber(e.Name(), base); ok {
					highest = max(highest, n)
				}
			}
		}
	}
	if kind == haul.BackupNumbered || highest > 0 {
		return path + ".~" + itoa(highest+1) + "~"
	}
	return path + suffix
}

// backupNumber reads the number of base.~N~.
func backupNumber(name, base string) (int, bool) {
	rest, ok := strings.CutPrefix(name, base+".~")
	if !ok {
		return 0, false
	}
	rest, ok = strings.CutSuffix(rest, "~")
	if !ok || rest == "" || rest[0] == '0' {
		return 0, false
	}
	n := 0
	for _, d := range rest {
		if d < '0' || d > '9' || n > 1<<27 {
			return 0, false
		}
		n = n*10 + int(d-'0')
	}
	return n, true
}
