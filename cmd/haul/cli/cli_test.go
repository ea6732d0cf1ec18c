package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	haul "github.com/gohaul/haul"
	"github.com/gohaul/haul/internal/infile"
	"github.com/gohaul/haul/internal/sys"
)

// Every row of a table can be typed, and none is left without a meaning.
func TestEveryFlagMeansSomething(t *testing.T) {
	noEnv := func(string) string { return "" }
	for i := range cpCommand.Flags {
		f := &cpCommand.Flags[i]
		if f.Long == "help" || f.Long == "version" {
			continue
		}
		g := Given{Flag: f}
		if f.Arg != "" {
			g.Value, g.Has = "4096", true
			if len(f.Values) > 0 {
				g.Value = first(f.Values[0])
			}
			if f.Long == "jobs" {
				g.Value = "2"
			}
			if f.Long == "preserve" {
				g.Value = "mode"
			}
		}
		if _, err := cpOptions(&Args{Given: []Given{g}}, locale{}, noEnv, false); err != nil {
			t.Errorf("%s: %v", f.name(), err)
		}
	}
}

func TestTables(t *testing.T) {
	for _, c := range commands {
		short, long := map[rune]bool{}, map[string]bool{}
		for i := range c.Flags {
			f := &c.Flags[i]
			for _, s := range f.Short {
				if short[s] {
					t.Errorf("%s: -%c stands twice", c.Name, s)
				}
				short[s] = true
			}
			if long[f.Long] && f.Long != "" {
				t.Errorf("%s: --%s stands twice", c.Name, f.Long)
			}
			long[f.Long] = true
			if f.Doc == "" || f.Short+f.Long == "" {
				t.Errorf("%s: row %d says nothing", c.Name, i)
			}
			if f.Optional && f.Arg == "" {
				t.Errorf("%s: --%s: what is optional?", c.Name, f.Long)
			}
		}
		for _, line := range strings.Split(helpText(c, "haul "+c.Name), "\n") {
			if utf8.RuneCountInString(line) > 80 && !strings.Contains(line, "Usage") && !strings.Contains(line, " or: ") {
				t.Errorf("%s: help is wider than 80 columns: %q", c.Name, line)
			}
		}
	}
}

func TestParse(t *testing.T) {
	const posix = "POSIX "
	for _, x := range []struct{ words, want string }{
		{"a b", "| a b"},
		{"-rv a b", "recursive verbose | a b"},
		{"-Rrv", "recursive recursive verbose |"},
		{"a -v b", "verbose | a b"},
		{posix + "a -v b", "| a -v b"},
		{"-v -- -r --foo", "verbose | -r --foo"},
		{"-", "| -"},
		{"-S.x a", "suffix=.x | a"},
		{"-bS .x a", "-b suffix=.x | a"},
		{"-vtd a", "verbose target-directory=d | a"},
		{"--target-directory d a", "target-directory=d | a"},
		{"--target-directory=d a", "target-directory=d | a"},
		{"--target-dir= a", "target-directory= | a"},
		{"--backup a", "backup | a"},
		{"--backup=t a", "backup=numbered | a"},
		{"--backup=numb a", "backup=numbered | a"},
		{"--backup=never a", "backup=simple | a"},
		{"--pres=mo,ti,xa a", "preserve=mode,timestamps,xattr | a"},
		{"--sparse al a", "sparse=always | a"},
		{"--reflink a", "reflink | a"},
		{"-u --update=none", "-u update=none |"},
		{"--verb --verbose", "verbose verbose |"},
		{"-v --help --foo", "verbose help |"},
		{"--ver", "!option '--ver' is ambiguous; possibilities: '--verbose' '--version'"},
		{"--veri", "verify |"},
		{"--pr=never", "preserve=never"},
		{"--foo", "!unrecognized option '--foo'"},
		{"-vy", "!invalid option -- 'y'"},
		{"--recursive=x", "!option '--recursive' doesn't allow an argument"},
		{"-vS", "!option requires an argument -- 'S'"},
		{"--suffix", "!option '--suffix' requires an argument"},
		{"--sparse=a", "!ambiguous argument 'a' for '--sparse'\nValid arguments are:\n  - 'never'\n  - 'auto'\n  - 'always'"},
		{"--backup=x", "!invalid argument 'x' for 'backup type'\nValid arguments are:\n  - 'none', 'off'\n  - 'simple', 'never'\n  - 'existing', 'nil'\n  - 'numbered', 't'"},
	} {
		words, strict := strings.CutPrefix(x.words, posix)
		p := parser{cmd: &cpCommand, strict: strict}
		a, err := p.parse(strings.Split(words, " "))
		got := ""
		for _, g := range a.Given {
			got += g.Flag.name()
			if g.Has {
				got += "=" + g.Value
			}
			got += " "
		}
		got = strings.TrimSpace(got + "| " + strings.Join(a.Operands, " "))
		if err != nil {
			got = "!" + err.Error()
		}
		if x.words == "--pr=never" {
			// preserve and ours begin so: cp's wins, and takes no such word.
			if err == nil || !strings.Contains(err.Error(), "for '--preserve'") {
				t.Errorf("%q: %s", x.words, got)
			}
			continue
		}
		if got != x.want {
			t.Errorf("%q:\n got %q\nwant %q", x.words, got, x.want)
		}
	}
}

// Whatever is typed, the parser neither panics nor loses a word.
func TestParseAnything(t *testing.T) {
	pieces := []string{"a", "--", "-", "-v", "-rS", "x", "--sparse", "--sparse=auto", "--backup", "-t", "--pre", "--foo", "", "-é"}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "words")
		p := parser{cmd: &cpCommand}
		a, err := p.parse(words)
		if err == nil && len(a.Operands) > len(words) {
			t.Fatalf("%q gave %q", words, a.Operands)
		}
	})
}

func TestOptions(t *testing.T) {
	env := map[string]string{}
	parse := func(words string) (*copying, error) {
		p := parser{cmd: &cpCommand}
		a, err := p.parse(strings.Fields(words))
		if err != nil {
			t.Fatal(err)
		}
		return cpOptions(&a, locale{}, func(k string) string { return env[k] }, false)
	}
	for _, x := range []struct {
		words string
		ok    func(c *copying) bool
	}{
		{"", func(c *copying) bool {
			return c.Preserve == haul.PreserveNothing && c.Compare == haul.CompareNever && c.Follow == haul.FollowAll && c.Contents && c.KeepLinks && c.NoReplace
		}},
		{"-r", func(c *copying) bool { return c.Follow == haul.FollowNever && !c.Contents && c.recursive }},
		{"-rl", func(c *copying) bool { return c.Follow == haul.FollowAll && c.Form == haul.FormHardLink }},
		{"-rs", func(c *copying) bool { return c.Follow == haul.FollowNever && c.Form == haul.FormSymlink }},
		{"-a", func(c *copying) bool { return c.Preserve == haul.PreserveAll && c.recursive && !c.needXattrs }},
		{"-a --preserve=xattr", func(c *copying) bool { return c.needXattrs }},
		{"-d", func(c *copying) bool { return !c.KeepLinks && !c.SplitLinks }},
		{"-a --inplace", func(c *copying) bool { return !c.KeepLinks && !c.SplitLinks }},
		{"-a --no-preserve=links", func(c *copying) bool { return c.KeepLinks }},
		{"-aL", func(c *copying) bool { return c.Follow == haul.FollowAll }},
		{"-La", func(c *copying) bool { return c.Follow == haul.FollowNever }},
		{"-rH", func(c *copying) bool { return c.Follow == haul.FollowArguments }},
		{"-d", func(c *copying) bool { return c.Follow == haul.FollowNever && c.Preserve == haul.PreserveLinks }},
		{"-p", func(c *copying) bool { return c.Preserve == cpDefault }},
		{"--preserve", func(c *copying) bool { return c.Preserve == cpDefault }},
		{"-p --no-preserve=mode", func(c *copying) bool { return c.Preserve == cpDefault&^cpMode && c.FreshMode }},
		{"--no-preserve=mode -p", func(c *copying) bool { return c.Preserve == cpDefault && !c.FreshMode }},
		{"-a --no-preserve=all", func(c *copying) bool { return c.Preserve == haul.PreserveNothing && c.FreshMode }},
		{"-n", func(c *copying) bool { return c.Update == haul.UpdateNone }},
		{"-n -i", func(c *copying) bool { return c.Update == haul.UpdateAll && c.ask }},
		{"-i -n", func(c *copying) bool { return c.Update == haul.UpdateNone && !c.ask }},
		{"-u", func(c *copying) bool { return c.Update == haul.UpdateOlder }},
		{"-u --update=all", func(c *copying) bool { return c.Update == haul.UpdateAll }},
		{"--update=none-fail", func(c *copying) bool { return c.Update == haul.UpdateNoneFail }},
		{"-b", func(c *copying) bool { return c.Backup == haul.BackupExisting && c.Suffix == "~" }},
		{"-S .x", func(c *copying) bool { return c.Backup == haul.BackupExisting && c.Suffix == ".x" }},
		{"-S /x -b", func(c *copying) bool { return c.Suffix == "~" }},
		{"--backup=off", func(c *copying) bool { return c.Backup == haul.BackupNone }},
		{"--backup=simple -b", func(c *copying) bool { return c.Backup == haul.BackupSimple }},
		{"--reflink", func(c *copying) bool { return c.Reflink == haul.ReflinkAlways }},
		{"--reflink=never --sparse=always", func(c *copying) bool {
			return c.Reflink == haul.ReflinkNever && c.Sparse == haul.SparseAlways
		}},
		{"--write-size=1M --map-size=64KiB", func(c *copying) bool { return c.WriteSize == 1<<20 && c.MapSize == 64<<10 }},
		{"--durability=batch --jobs 7", func(c *copying) bool { return c.Durability == haul.SyncBatch && c.Workers == 7 }},
		{"--debug", func(c *copying) bool { return c.verbose && c.debug }},
		{"--filter=-_x --filter +_y", func(c *copying) bool { return slices.Equal(c.Filter, []string{"-_x", "+_y"}) }},
		{"-r --copy-contents", func(c *copying) bool { return c.Contents && c.AllContents }},
		{"--context=x", func(c *copying) bool { return len(c.warnings) == 1 }},
	} {
		c, err := parse(x.words)
		if err != nil || !x.ok(c) {
			t.Errorf("%q: %v %+v", x.words, err, c)
		}
	}
	env["VERSION_CONTROL"], env["SIMPLE_BACKUP_SUFFIX"] = "t", ".bak"
	if c, err := parse("-b"); err != nil || c.Backup != haul.BackupNumbered || c.Suffix != ".bak" {
		t.Errorf("the environment is not obeyed: %v %+v", err, c)
	}
}

func TestQuote(t *testing.T) {
	c, u := locale{}, locale{utf8: true}
	for _, x := range []struct {
		l                locale
		s                string
		file, word, bare string
	}{
		{c, "a", "'a'", "'a'", "a"},
		{c, "", "''", "''", "''"},
		{c, "a b", "'a b'", "'a b'", "'a b'"},
		{c, "it's", `"it's"`, `'it\'s'`, `"it's"`},
		{c, `it's "q"`, `'it'\''s "q"'`, `'it\'s "q"'`, `'it'\''s "q"'`},
		{c, "a$b", "'a$b'", "'a$b'", "'a$b'"},
		{c, "a\nb", `'a'$'\n''b'`, `'a\nb'`, `'a'$'\n''b'`},
		{c, "\n", `''$'\n'`, `'\n'`, `''$'\n'`},
		{c, "\x01\x02z", `''$'\001\002''z'`, `'\001\002z'`, `''$'\001\002''z'`},
		{c, "a'\nb", `'a'\'''$'\n''b'`, `'a\'\nb'`, `'a'\'''$'\n''b'`},
		{c, "\xff\xc3\xa9", `''$'\377\303\251'`, `'\377\303\251'`, `''$'\377\303\251'`},
		{u, "\xff\xc3\xa9", `''$'\377''é'`, "‘\\377é’", `''$'\377''é'`},
		{u, "é", "'é'", "‘é’", "é"},
		{c, "~x", "'~x'", "'~x'", "'~x'"},
		{c, "x~#", "'x~#'", "'x~#'", "x~#"},
		{c, "a:b", "'a:b'", "'a:b'", "'a:b'"},
	} {
		if got := x.l.file(x.s); strings.TrimSuffix(got, "'") != strings.TrimSuffix(x.file, "'") {
			t.Errorf("file(%q) = %s, want %s", x.s, got, x.file)
		}
		if got := x.l.word(x.s); got != x.word {
			t.Errorf("word(%q) = %s, want %s", x.s, got, x.word)
		}
		if got := x.l.bare(x.s); strings.TrimSuffix(got, "'") != strings.TrimSuffix(x.bare, "'") {
			t.Errorf("bare(%q) = %s, want %s", x.s, got, x.bare)
		}
	}
}

// A shell reads a quoted name as the name.
func TestQuoteShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here; coreutils alone must do for -short")
	}
	names := []string{"a", "it's", "x'y\"z", "\n", "a\n'", "\x01'1", "é\xff'", "$x`y`", "-", "!'", "\\"}
	for _, l := range []locale{{}, {utf8: true}} {
		for _, name := range names {
			out, err := exec.Command(bash, "-c", "printf %s "+l.file(name)).Output()
			if err != nil || string(out) != name {
				t.Errorf("%q quoted as %s is read as %q (%v)", name, l.file(name), out, err)
			}
		}
	}
}

func TestSizes(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "1": 1, "512": 512, "1K": 1024, "1k": 1024, "1KiB": 1024, "1KB": 1000, "64K": 65536, "2M": 2 << 20,
		"1GB": 1e9, "1T": 1 << 40, "7E": 7 << 60, "12B": 12,
		"": -1, "K": -1, "1X": -1, "-1": -1, "1.5M": -1, "8E": -1, "99999999999999999999": -1, "1KiBs": -1, "1I": -1,
	} {
		n, ok := parseSize(s)
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("parseSize(%q) = %d, want %d", s, n, want)
		}
	}
	for n, want := range map[int64]string{
		0: "0", 1: "1", 1023: "1023", 1024: "1.0K", 1025: "1.1K", 10239: "10K", 10240: "10K", 10241: "11K",
		1048575: "1.0M", 1 << 20: "1.0M", 100000: "98K", math.MaxInt64: "8.0E",
	} {
		if got := humanSize(n); got != want {
			t.Errorf("humanSize(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[float64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1 << 30: "1.0 GiB"} {
		if got := wordySize(n); got != want {
			t.Errorf("wordySize(%v) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", 100000: "100,000"} {
		if got := commas(n); got != want {
			t.Errorf("commas(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestProgressLine(t *testing.T) {
	m := moment{files: 1234, foundFiles: 5000, bytes: 1 << 30, foundBytes: 4 << 30, scanned: true,
		elapsed: 10 * time.Second, rate: 100 << 20, name: "some/where/down/in/a/tree/with a\nname.txt"}
	const want = "1,234/5,000 files  1.0 GiB/4.0 GiB 25%  100.0 MiB/s  ETA 0:31  "
	if got := m.text(200); got != want+"some/where/down/in/a/tree/with a?name.txt" {
		t.Errorf("got %q", got)
	}
	for cols := range 120 {
		got := m.text(cols)
		if n := utf8.RuneCountInString(got); n > cols {
			t.Errorf("%d columns are %d: %q", cols, n, got)
		}
	}
	if got := m.text(80); !strings.HasSuffix(got, "...me.txt") && !strings.HasSuffix(got, "name.txt") {
		t.Errorf("the end of the name is lost: %q", got)
	}
	m.scanned = false
	if got := m.text(200); strings.Contains(got, "ETA") || strings.Contains(got, "%") {
		t.Errorf("a guess before everything is found: %q", got)
	}
	for d, want := range map[time.Duration]string{0: "0:00", 61 * time.Second: "1:01", 3*time.Hour + 5*time.Second: "3:00:05"} {
		if got := clock(d); got != want {
			t.Errorf("clock(%v) = %s, want %s", d, got, want)
		}
	}
}

// The progress line is gone before anything else is written, and at the end.
func TestProgressGivesWay(t *testing.T) {
	var out, errs bytes.Buffer
	p := newPrinter("haul", locale{}, &out, &errs)
	p.status("half way", 8)
	p.complain("trouble")
	p.status("more", 4)
	p.asking.Store(true)
	p.raise("overwrite? ")
	p.status("over the question", 17)
	(&progress{p: p}).show(moment{})
	p.asking.Store(false)
	p.close()
	if want := "\rhalf way\x1b[K\r\x1b[Khaul: trouble\n\rmore\x1b[K\r\x1b[Koverwrite? "; errs.String() != want {
		t.Errorf("got %q\nwant %q", errs.String(), want)
	}
}

// Whatever a name holds, its event is one line of valid JSON that gives it back.
func TestJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := string(rapid.SliceOf(rapid.Byte()).Draw(t, "name"))
		n := rapid.Int64().Draw(t, "n")
		line := newObject(nil, "item").path("path", name).num("n", n).flag("yes", true).float("f", 1.5).
			paths("list", []string{name, "b"}).open("o", '{').str("k", "v").close('}').line()
		if bytes.Count(line, []byte("\n")) != 1 {
			t.Fatalf("not one line: %q", line)
		}
		var got struct {
			Event, Path string
			Base64      []byte `json:"path_base64"`
			N           int64
			Yes         bool
			F           float64
			List        []string
			O           map[string]string
		}
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		back := got.Path
		if got.Base64 != nil {
			back = string(got.Base64)
		}
		if back != name || got.N != n || !got.Yes || got.F != 1.5 || len(got.List) != 2 || got.O["k"] != "v" || got.Event != "item" {
			t.Fatalf("%q gave %+v", line, got)
		}
	})
}

// What stands in docs/man and completions is what the table says.
func TestArtifactsAreCurrent(t *testing.T) {
	for kind, dir := range map[string]string{"man": "../../../docs/man", "completions": "../../../completions"} {
		var names []string
		for _, a := range artifacts(kind) {
			names = append(names, a.name)
			got, err := os.ReadFile(filepath.Join(dir, a.name))
			if err != nil || string(got) != a.content {
				t.Errorf("%s/%s is not what the flag table says: run make %s (%v)", dir, a.name, kind, err)
			}
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !slices.Contains(names, e.Name()) {
				t.Errorf("%s/%s is made by nobody", dir, e.Name())
			}
		}
	}
}

func TestOverlay(t *testing.T) {
	const k = 1024
	segments := []sys.Segment{
		{Off: 0, Len: 4 * k}, {Off: 4 * k, Len: 4 * k, Flags: sys.SegmentShared},
		{Off: 12 * k, Len: 8 * k, Flags: sys.SegmentUnwritten}, {Off: 20 * k, Len: 4 * k, Flags: sys.SegmentEncoded},
		{Off: 40 * k, Len: 8 * k, Flags: sys.SegmentUnwritten},
	}
	var list []piece
	rest := segments
	for _, e := range []infile.Extent{
		{Off: 0, Len: 8 * k}, {Off: 8 * k, Len: 8 * k, Hole: true}, {Off: 16 * k, Len: 12 * k}, {Off: 28 * k, Len: 8 * k, Hole: true},
	} {
		list, rest = overlay(list, e, rest)
	}
	want := []piece{
		{0, 4 * k, kindData}, {4 * k, 4 * k, kindShared}, {8 * k, 4 * k, kindHole}, {12 * k, 4 * k, kindReserved},
		{16 * k, 4 * k, kindData}, {20 * k, 4 * k, kindEncoded}, {24 * k, 4 * k, kindData}, {28 * k, 8 * k, kindHole},
	}
	if !slices.Equal(list, want) {
		t.Errorf("got  %v\nwant %v", list, want)
	}
	if len(rest) != 1 || rest[0].Off != 40*k {
		t.Errorf("behind the end: %v", rest)
	}
	if got := picture(want, 36*k, 9); got != "#=.o#z#.." {
		t.Errorf("picture: %s", got)
	}
	if got := picture(want, 36*k, 3); got != "++." && got != "+++" {
		t.Errorf("picture: %s", got)
	}
}

func TestTwin(t *testing.T) {
	pairs := []haul.Pair{{Src: "a", Dst: "x/a"}, {Src: "a/b", Dst: "y"}, {Src: ".", Dst: "e/."}, {Src: "/", Dst: "r"}, {Src: "d/", Dst: "n"}}
	for path, want := range map[string]string{
		"a": "x/a", "a/c/d": "x/a/c/d", "a/b": "y", "a/b/c": "y/c", "./q": "e/./q", "/etc": "r/etc", "d/f": "n/f", ".": "e/.",
	} {
		if got := twin(pairs, path); got != want {
			t.Errorf("twin(%q) = %q, want %q", path, got, want)
		}
	}
	if got := twin(pairs[:2], "ab"); got != "" {
		t.Errorf("twin(ab) = %q", got)
	}
}

func TestBackupNumber(t *testing.T) {
	for name, want := range map[string]int{
		"a.~1~": 1, "a.~12~": 12, "a.~0~": -1, "a.~01~": -1, "a.~~": -1, "a.~x~": -1, "a~": -1, "b.~1~": -1, "a.~1": -1,
	} {
		n, ok := backupNumber(name, "a")
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("backupNumber(%q) = %d, want %d", name, n, want)
		}
	}
}
