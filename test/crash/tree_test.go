package crash

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gohaul/haul/test/testtree"
)

// text is the tree of one of two generations: files that change content and mode
// together, files that stay, come and go, change their kind, are links to files in
// directories that come, and all that is no file.
func text(gen int) string {
	var b strings.Builder
	other := 1 - gen
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	when := fmt.Sprintf("mtime=2020-01-02T03:04:05.00000000%dZ", gen)
	line("d 0755 .")
	sizes := []int{0, 1, 100, 4096, 5000, 10240, 65536, 70000, 200000}
	for d := range 4 {
		line("d 0755 d%d", d)
		for i := range 20 {
			line("f %04o d%d/f%02d data:%d@%d %s", 0o600+gen*0o44, d, i, sizes[i%len(sizes)], 2*(100*d+i)+gen, when)
		}
		line("f 0644 d%d/same{0..4} data:9000 mtime=2020-01-01T00:00:00Z", d)
		line("f 0644 d%d/only%d-{0..4} data:7000 %s", d, gen, when)
		line("f %04o d%d/mode data:3000@7 mtime=2020-01-01T00:00:00Z", 0o600+gen*0o44, d)
		line("f 0644 new%d/sub%d/f{0..9} data:12000 %s", gen, d, when)
		for i := range 3 {
			line("f 0644 new%d/link%d-%d data:30000@%d %s", gen, d, i, 5000+2*(10*d+i)+gen, when)
			line("h d%d/link%d = new%d/link%d-%d", d, i, gen, d, i)
		}
		line("l d%d/sym -> target%d", d, gen)
		line("l d%d/long -> %s%d", d, strings.Repeat("long/", 60), gen)
		line("p %04o d%d/pipe %s", 0o600+gen*0o44, d, when)
	}
	line("f 0644 d1/sparse%d data:4k hole:1M data:4k %s", gen, when)
	line("f 0644 d1/sparse data:4k@%d hole:1M data:4k@%d %s", gen, gen, when)
	line("f 0644 d2/big data:1M@%d %s", gen, when)
	line("f 0644 d3/swap%d data:20000 %s", gen, when)
	line("l d3/swap%d -> f00", other)
	return b.String()
}

// plant makes a tree and reads it.
func plant(t *testing.T, root, text string) State {
	t.Helper()
	testtree.Build(t, root, text)
	s, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTorn shows that the judge condemns what it must and nothing else.
func TestTorn(t *testing.T) {
	file := func(text string) Entry {
		return Entry{Mode: 0o644, Size: int64(len(text)), Sum: [32]byte{byte(len(text))}}
	}
	dir := Entry{Mode: 0o755 | 1<<31}
	old := State{"d": dir, "d/a": file("a"), "d/gone": file("g")}
	new := State{"d": dir, "d/a": file("aa"), "d/b": file("bb"), "n": dir, "n/f": file("ff")}
	for _, tc := range []struct {
		what string
		got  State
		torn int
	}{
		{"old", old, 0},
		{"new", new, 0},
		{"torn", State{"d": dir, "d/a": file("")}, 1},
		{"lost", State{"d": dir}, 1},
		{"other mode", State{"d": dir, "d/a": {Mode: 0o600, Size: 1, Sum: [32]byte{1}}}, 1},
		{"temp", State{"d": dir, "d/a": file("a"), "d/.a.0123ab": file("")}, 0},
		{"stray", State{"d": dir, "d/a": file("a"), "d/x": file("")}, 1},
		{"torn where nothing was promised", State{"d": dir, "d/a": file("a"), "n": dir, "n/f": file("")}, 0},
		{"torn beside what stood", State{"d": dir, "d/a": file("a"), "d/b": file("")}, 1},
	} {
		if got := Torn(tc.got, old, new, nil); len(got) != tc.torn {
			t.Errorf("%s: %q, want %d", tc.what, got, tc.torn)
		}
	}
	if got := Torn(old, old, new, func(name string) bool { return name == "d/b" }); len(got) != 1 {
		t.Errorf("what must be new: %q", got)
	}
	if got := Stale(old, new); len(got) != 5 {
		t.Errorf("stale: %q", got)
	}
	if got := Stale(new, new); len(got) != 0 {
		t.Errorf("not stale: %q", got)
	}
}
