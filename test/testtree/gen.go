package testtree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// Shape bounds the trees that Gen draws; zero fields mean as usual.
type Shape struct {
	Entries    int   // at most so many lines; 0: 24
	FileSize   int64 // at most so many bytes of content in a segment; 0: 256 KiB
	HoleSize   int64 // at most so many bytes in a hole; 0: 16 MiB
	Privileged bool  // owners, devices, modes that lock out all but root, trusted xattrs
	Xattrs     bool  // user xattrs on files and directories; the file system must take them
	ACLs       bool  // POSIX ACLs; the file system must take them
}

// Gen draws the text of a tree for Build: all kinds, odd names, hard links to
// anything but directories, dangling and absolute symlinks, sparse and dense
// content at block borders, modes and times. Every text builds.
func Gen(shape Shape) *rapid.Generator[string] {
	if shape.Entries == 0 {
		shape.Entries = 24
	}
	if shape.FileSize == 0 {
		shape.FileSize = 256 << 10
	}
	if shape.HoleSize == 0 {
		shape.HoleSize = 16 << 20
	}
	return rapid.Custom(func(t *rapid.T) string {
		g := grower{Shape: shape, t: t, dirs: []string{"."}, taken: map[string]bool{}}
		for range rapid.IntRange(0, shape.Entries).Draw(t, "entries") {
			g.line()
		}
		return strings.Join(g.lines, "\n")
	})
}

type grower struct {
	Shape
	t     *rapid.T
	lines []string
	dirs  []string
	files []string // whatever a hard link can name
	taken map[string]bool
}

func (g *grower) line() {
	kinds := []string{"d", "f", "f", "f", "f", "l", "h", "p", "s"}
	if g.Privileged {
		kinds = append(kinds, "c", "b")
	}
	kind := rapid.SampledFrom(kinds).Draw(g.t, "kind")
	if kind == "h" && len(g.files) == 0 {
		kind = "f"
	}
	name := child(rapid.SampledFrom(g.dirs).Draw(g.t, "parent"), g.name())
	if g.taken[name] {
		return
	}
	g.taken[name] = true
	var words []string
	switch kind {
	case "d":
		words = []string{kind, g.mode(0o700), quote(name)}
		g.dirs = append(g.dirs, name)
	case "f":
		words = append([]string{kind, g.mode(0o400), quote(name)}, g.content()...)
	case "l":
		words = []string{kind, quote(name), "->", quote(g.target())}
	case "h":
		words = []string{kind, quote(name), "=", quote(rapid.SampledFrom(g.files).Draw(g.t, "link"))}
	case "p", "s":
		words = []string{kind, g.mode(0o400), quote(name)}
	case "c", "b":
		words = []string{kind, g.mode(0), quote(name), "1", strconv.Itoa(rapid.IntRange(0, 300).Draw(g.t, "minor"))}
	}
	if kind != "d" && kind != "h" {
		g.files = append(g.files, name)
	}
	if kind != "h" {
		words = append(words, g.attrs(kind)...)
	}
	g.lines = append(g.lines, strings.Join(words, " "))
}

var oddNames = []string{
	" ", "  two  spaces ", "new\nline", "tab\t", "\xff\xfe", "\xc3", "-rf", "--", "*", "?", "[a]", "{1..3}", "#hash",
	`quo"te`, "quo'te", `back\slash`, "...", ".hidden", "..two", "a.b", "a:b", "a=b", "->", "~", "$HOME", "é", "e\u0301",
	"日本語", "\u200b", "\x01", "\x7f", "name.tmp", ".~tmp~", "CON", strings.Repeat("x", 255), strings.Repeat("é", 127),
}

func (g *grower) name() string {
	return rapid.OneOf(
		rapid.StringMatching(`[a-z]{1,8}(\.[a-z]{1,3})?`),
		rapid.SampledFrom(oddNames),
		rapid.Custom(func(t *rapid.T) string { return fileName(rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "bytes")) }),
	).Draw(g.t, "name")
}

// fileName makes any bytes a name.
func fileName(b []byte) string {
	s := strings.NewReplacer("/", "_", "\x00", "0").Replace(string(b))
	if s == "." || s == ".." {
		return s + "_"
	}
	return s
}

// target draws at most 1023 bytes, which is what xfs takes.
func (g *grower) target() string {
	odd := rapid.SampledFrom(append(slices.Clone(oddNames), "..", "../../..", "/", "/nowhere/at/all", ".", strings.Repeat("long/", 200)))
	if len(g.files) == 0 {
		return odd.Draw(g.t, "target")
	}
	return rapid.OneOf(odd, rapid.SampledFrom(g.files), rapid.SampledFrom(g.dirs)).Draw(g.t, "target")
}

// mode draws permissions; without privilege the owner keeps those in keep.
func (g *grower) mode(keep uint32) string {
	common := rapid.SampledFrom([]uint32{0o644, 0o755, 0o600, 0o700, 0o444, 0o555, 0o4755, 0o2755, 0o1777, 0o6711})
	mode := rapid.OneOf(common, rapid.Uint32Range(0, 0o7777)).Draw(g.t, "mode")
	if !g.Privileged {
		mode |= keep
	}
	return fmt.Sprintf("%04o", mode)
}

// size draws sizes at and about the borders of sectors, pages and windows.
func (g *grower) size(limit int64) int64 {
	near := rapid.Custom(func(t *rapid.T) int64 {
		border := rapid.SampledFrom([]int64{0, 512, 1024, 4096, 8192, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 1 << 20}).Draw(t, "border")
		return border + rapid.Int64Range(-1, 1).Draw(t, "off")
	})
	n := rapid.OneOf(near, rapid.Int64Range(0, limit)).Draw(g.t, "size")
	return min(max(n, 0), limit)
}

func (g *grower) content() []string {
	var out []string
	for range rapid.IntRange(0, 4).Draw(g.t, "segments") {
		switch rapid.IntRange(0, 5).Draw(g.t, "segment") {
		case 0, 1:
			out = append(out, "data:"+formatSize(g.size(g.FileSize)))
		case 2:
			out = append(out, "zero:"+formatSize(g.size(g.FileSize)))
		case 3:
			out = append(out, "hole:"+formatSize(g.size(g.HoleSize)))
		case 4:
			out = append(out, "data:"+formatSize(g.size(g.FileSize))+"@shared")
		case 5:
			out = append(out, fmt.Sprintf("rep:%q*%d", "AB", g.size(g.FileSize)/2))
		}
	}
	return out
}

// attrs draws what every file system of Linux can hold: times from 1970 to 2037,
// as ext4 with small inodes does.
func (g *grower) attrs(kind string) []string {
	var out []string
	maybe := func() bool { return rapid.Bool().Draw(g.t, "maybe") }
	if maybe() {
		sec := rapid.Int64Range(0, 1<<31-1).Draw(g.t, "sec")
		nsec := rapid.Int64Range(0, int64(time.Second)-1).Draw(g.t, "nsec")
		out = append(out, "mtime="+formatTime(sec, nsec))
	}
	if g.Privileged && maybe() {
		ids := rapid.SampledFrom([]int64{0, 1, 1000, 65534, 1 << 20, 1<<31 + 1})
		out = append(out, fmt.Sprintf("uid=%d gid=%d", ids.Draw(g.t, "uid"), ids.Draw(g.t, "gid")))
	}
	if g.Xattrs && (kind == "f" || kind == "d") && maybe() {
		value := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(g.t, "xattr")
		out = append(out, "xattr:user.k="+strconv.Quote(string(value)))
	}
	if g.Xattrs && g.Privileged && maybe() {
		out = append(out, "xattr:trusted.t=x")
	}
	if g.ACLs && kind != "l" && maybe() {
		out = append(out, "acl=u:1000:"+g.perm()+",g:100:"+g.perm())
	}
	if g.ACLs && kind == "d" && maybe() {
		out = append(out, "dacl=u:1:"+g.perm())
	}
	return out
}

func (g *grower) perm() string {
	return rapid.SampledFrom([]string{"---", "r--", "rw-", "r-x", "rwx", "--x"}).Draw(g.t, "perm")
}
