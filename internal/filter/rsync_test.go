package filter

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// needRsync ends the test in short mode, and fails it where rsync is missing.
func needRsync(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("compares with rsync: run without -short")
	}
	if _, err := exec.LookPath("rsync"); err != nil {
		t.Fatal("this test compares with the installed rsync, and there is none: ", err)
	}
}

// rsync runs the program in dir and gives the lines of its standard output.
func rsync(t *testing.T, dir string, args ...string) ([]string, error) {
	t.Helper()
	cmd := exec.Command("rsync", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME=/nonexistent", "CVSIGNORE=", "LC_ALL=C")
	var out, errout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errout
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("rsync %q: %w\n%s", args, err, errout.String())
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), nil
}

// makeTree writes files, and directories where the name ends in "/".
func makeTree(t *testing.T, dir string, names map[string]string) {
	t.Helper()
	for name, content := range names {
		full := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(full, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func filterArgs(rules []string) []string {
	args := []string{"-8nr"}
	for _, r := range rules {
		args = append(args, "--filter="+r)
	}
	return args
}

// sameAsRsync compares what both make of a tree, as sender and as receiver.
// The names of the tree are below a directory that holds src and empty.
func sameAsRsync(t *testing.T, w *world, rules ...string) {
	t.Helper()
	lines, err := rsync(t, w.base, append(filterArgs(rules), "--out-format=%n", "src/", "none/")...)
	s, ourErr := w.root(Sender, rules...)
	var ours []string
	if ourErr == nil {
		ours, ourErr = w.shown(s, "")
	}
	if (err != nil) != (ourErr != nil) {
		t.Errorf("%q:\n rsync: %v\n ours: %v", rules, err, ourErr)
		return
	}
	if err != nil {
		return
	}
	theirs := slices.DeleteFunc(lines, func(l string) bool { return l == "./" || l == "" || strings.HasPrefix(l, "created directory") })
	compare(t, "shown", rules, theirs, ours)

	lines, err = rsync(t, w.base, append(filterArgs(rules), "--delete", "--out-format=%n", "empty/", "src/")...)
	if err != nil {
		t.Errorf("%q: %v", rules, err)
		return
	}
	theirs = nil
	for _, l := range lines {
		if name, ok := strings.CutPrefix(l, "deleting "); ok && !strings.HasSuffix(name, "/") {
			theirs = append(theirs, name)
		}
	}
	s, err = w.root(Receiver, rules...)
	if err == nil {
		ours, err = w.deleted(s, "", false)
	}
	if err != nil {
		t.Errorf("%q: %v", rules, err)
	}
	compare(t, "deleted", rules, theirs, ours)
}

func compare(t *testing.T, what string, rules, theirs, ours []string) {
	t.Helper()
	slices.Sort(theirs)
	slices.Sort(ours)
	var diff []string
	for _, name := range theirs {
		if !slices.Contains(ours, name) {
			diff = append(diff, "rsync only: "+name)
		}
	}
	for _, name := range ours {
		if !slices.Contains(theirs, name) {
			diff = append(diff, "ours only: "+name)
		}
	}
	if diff != nil {
		t.Errorf("%s, rules %q:\n %s", what, rules, strings.Join(diff, "\n "))
	}
}

var oddNames = []string{"a", "b", "ab", "aab", "a]", "[", "]", "-", "a-", "*", "**", "?", "\\", "a\\b", "!", "^", "A", "1", "a.o", ".x", "foo", "é", ":", "[a]", "a b", "b-c", "x[y"}

// oddTree holds every odd name as a file, and three directories deep some of them as directories.
func oddTree(t *testing.T) *world {
	names := map[string]string{"empty/": ""}
	for _, d := range []string{"", "a/", "a/b/", "b/a/", "foo/", "foo/a/b/", "ab/", "a-/[/"} {
		for _, n := range oddNames {
			names["src/"+d+n] = ""
		}
	}
	for n := range names { // a name that is a directory elsewhere is no file
		for m := range names {
			if n != m && strings.HasPrefix(m, n+"/") {
				delete(names, n)
			}
		}
	}
	return realWorld(t, names)
}

// realWorld is a world that is on disk, too.
func realWorld(t *testing.T, names map[string]string) *world {
	dir := t.TempDir()
	makeTree(t, dir, names)
	return newWorld(dir, names)
}

func TestTreesAsRsync(t *testing.T) {
	needRsync(t)
	for _, c := range treeCases {
		sameAsRsync(t, realWorld(t, c.tree()), c.rules...)
	}
}

func randomPattern(r *rand.Rand) string {
	atoms := []string{"a", "b", "ab", "foo", "/", "/", "*", "*", "**", "***", "?", "[ab]", "[!a]", "[^a-]", "[]a]", "[a-c]", "\\", "\\*", "[[:alpha:]]", "[[:nope:]]", "[", "]", "-", "!", ".", "[\\]]", "[a\\-c]", "[[:digit:]a]", "[a-", "[--b]", "[:a]", "[[a]", "[[:a]", "[z-a]", "[a-\\c]", "[]-a]", "[/]", "[!/]", "é", ":", "^", "x", "[a-c-e]", "[\\", "[[:alpha:]-b]", "[!]", "[!]a]", "[[:alpha:", "[[:alpha:]", "[!!]", "[^^]", "[a-[:digit:]]"}
	var b strings.Builder
	for range 1 + r.Intn(5) {
		b.WriteString(atoms[r.Intn(len(atoms))])
	}
	return b.String()
}

// seeded gives the seed and the number of rounds of a random comparison;
// FILTER_SEED="SEED ROUNDS" in the environment overrules them.
func seeded(rounds int) (*rand.Rand, int) {
	seed := int64(1)
	if s := os.Getenv("FILTER_SEED"); s != "" {
		fmt.Sscan(s, &seed, &rounds)
	}
	return rand.New(rand.NewSource(seed)), rounds
}

func TestRandomPatternsAsRsync(t *testing.T) {
	needRsync(t)
	w := oddTree(t)
	r, rounds := seeded(40)
	for range rounds {
		var rules []string
		for range 1 + r.Intn(2) {
			mods := []string{"-", "-", "-", "+", "-!", "-s", "-r", "-p", "P", "-/", "+/"}
			rules = append(rules, mods[r.Intn(len(mods))]+" "+randomPattern(r))
		}
		sameAsRsync(t, w, rules...)
	}
}

// Per-directory files at random places with random rules.
func TestRandomMergesAsRsync(t *testing.T) {
	needRsync(t)
	r, rounds := seeded(25)
	pick := func(from ...string) string { return from[r.Intn(len(from))] }
	for range rounds {
		c := treeCase{files: map[string]string{}}
		merges := []string{": .r", ":n .r", ": ../.r", ":s .r", ":r .r", ":p .r", ":/ .r", ":- .q", ":w- .q", ":C .q"}
		first, second := pick(merges...), pick(merges...)
		kinds := []string{"-", "-", "+", "-p", "-/", "-!", "-s", "-r"}
		extras := []string{"!", ": .q", ":n .q", "-C", ". ./.inc"}
		if strings.ContainsAny(first[:2]+second[:2], "sr") {
			kinds = kinds[:6]   // a side in a file with a side is an error
			extras = extras[:4] // see gatherer.merge
		}
		line := func() string {
			return pick(kinds...) + " " +
				pick("a", "b", "?", "/a", "/b", "/e", "e/a", "/e/?", "/e/***", "**/b", "/**/a", "d/**", "*.o", "f/", "src/d/a", "/d/b", "e**a", "x")
		}
		for _, dir := range []string{"", "src/", "src/d/", "src/d/e/", "src/d/e/f/", "src/k/"} {
			for _, name := range []string{".r", ".q"} {
				var lines []string
				for range r.Intn(3) {
					lines = append(lines, line())
				}
				if r.Intn(6) == 0 {
					lines = append(lines, pick(extras...))
				}
				if r.Intn(2) == 0 {
					c.files[dir+name] = strings.Join(lines, "\n")
				}
			}
			c.files[dir+".inc"] = line()
		}
		c.rules = []string{line(), first, line(), second}
		w := realWorld(t, c.tree())
		sameAsRsync(t, w, c.rules...)
		if t.Failed() {
			t.Fatalf("files: %q", c.files)
		}
	}
}
