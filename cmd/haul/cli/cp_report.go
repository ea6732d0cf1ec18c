package cli

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	haul "github.com/gohaul/haul"
	"github.com/gohaul/haul/internal/sys"
)

// start tells what is about to be done.
func (c *copier) start(targets []target) {
	if !c.printer.json {
		return
	}
	sources := make([]string, len(targets))
	for i, t := range targets {
		sources[i] = t.src
	}
	dst := c.target
	if !c.hasTarget {
		dst = c.args.Operands[len(c.args.Operands)-1]
	}
	o := newObject(nil, "start").str("command", "cp").str("version", version).paths("sources", sources).path("target", dst)
	c.printBytes(o.flag("dry_run", c.DryRun).line())
}

// item tells what became of one entry. It is never called twice at once.
func (c *copier) item(i haul.Item) {
	if c.progress != nil && i.Source != "" {
		c.progress.current.Store(&latest{i.Source, time.Now()})
	}
	if c.alias != nil {
		i.Target = c.real(i.Target)
	}
	if c.printer.json {
		c.itemEvent(i)
		return
	}
	if c.verbose {
		c.itemLine(i)
	}
}

func (c *copier) itemEvent(i haul.Item) {
	if i.Action == haul.Failed || i.Action == haul.Skipped && !c.verbose {
		return // an error event has told it, or nothing was to be told
	}
	o := newObject(c.buf, "item").str("action", i.Action.String()).given("source", i.Source).given("target", i.Target)
	if i.Mode != 0 {
		o.str("type", typeName(i.Mode)).str("mode", octal(i.Mode&sys.PermMask)).num("size", i.Size)
	}
	o.given("backup", i.Backup)
	if i.Err != nil {
		o.str("message", reason(i.Err))
	}
	c.buf = o.line()
	c.printBytes(c.buf)
}

// itemLine writes what cp -v writes.
func (c *copier) itemLine(i haul.Item) {
	b := c.buf[:0]
	isDir := i.Mode&sys.TypeMask == sys.TypeDir
	switch i.Action {
	case haul.Failed:
		return
	case haul.Skipped:
		if c.Form != haul.FormAttributes || c.Update != haul.UpdateAll || isDir {
			return
		}
		b = c.arrow(b, i) // there was nothing to change, which cp does not tell
	case haul.Noted:
		if c.debug {
			b = append(b, c.loc.file(i.Target)+": "+i.Err.Error()...)
			break
		}
		return
	case haul.Deleted:
		b = append(b, "removed "...)
		if isDir {
			b = append(b, "directory "...)
		}
		b = append(b, c.loc.file(i.Target)...)
	case haul.Touched:
		if isDir {
			return // it was there before
		}
		b = c.arrow(b, i)
	case haul.Replaced:
		if c.removed(i) {
			b = append(b, "removed "+c.loc.file(i.Target)+"\n"...)
		}
		b = c.arrow(b, i)
	default:
		b = c.arrow(b, i)
	}
	c.buf = append(b, '\n')
	c.printBytes(c.buf)
}

func (c *copier) arrow(b []byte, i haul.Item) []byte {
	if c.slashed && i.Mode&sys.TypeMask == sys.TypeDir {
		i.Source, i.Target = c.spelled(i.Source, i.Target)
	}
	b = append(b, c.loc.file(i.Source)...)
	b = append(b, " -> "...)
	b = append(b, c.loc.file(i.Target)...)
	if i.Backup != "" {
		b = append(b, " (backup: "+c.loc.file(i.Backup)+")"...)
	}
	return b
}

// spelled gives the names of a directory that was typed with slashes behind it
// as they were typed.
func (c *copier) spelled(src, dst string) (string, string) {
	for _, p := range c.pairs {
		if strip(p.Src) == strip(src) && strip(p.Dst) == strip(dst) {
			return p.Src, p.Dst
		}
	}
	return src, dst
}

// removed reports whether cp would have removed what stood there first.
func (c *copier) removed(i haul.Item) bool {
	switch i.Mode & sys.TypeMask {
	case sys.TypeRegular:
		return i.Backup == "" && c.Remove
	case sys.TypeSymlink:
		return i.Backup == ""
	}
	return i.Backup == "" && (c.Remove || !c.Contents)
}

// finish tells what the whole job came to.
func (c *copier) finish(code int, interrupted bool) {
	if c.printer.json {
		c.printBytes(c.summaryEvent(code, interrupted))
		return
	}
	if c.debug {
		c.print(c.ways())
	}
	if c.stats || c.debug {
		c.print(c.summaryText())
	}
}

func (c *copier) size(n int64) string {
	if c.human {
		return wordySize(float64(n))
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// counted are the counters worth a word, with their names in text and events.
func (c *copier) counted() []counted {
	n := c.Counters
	return []counted{
		{"files", n.Files.Load()}, {"directories", n.Dirs.Load()}, {"links", n.Links.Load()},
		{"symlinks", n.Symlinks.Load()}, {"specials", n.Specials.Load()}, {"touched", n.Touched.Load()},
		{"skipped", n.Skipped.Load()}, {"deleted", n.Deleted.Load()}, {"failed", n.Failed.Load()},
	}
}

type counted struct {
	name string
	n    int64
}

// named is the word for so many.
func (x counted) named() string {
	if x.n != 1 {
		return x.name
	}
	switch x.name {
	case "directories":
		return "directory"
	case "files", "links", "symlinks", "specials":
		return strings.TrimSuffix(x.name, "s")
	}
	return x.name
}

// handled is the content that went from sources to targets, in bytes. Counters'
// Bytes measure progress: they include what was linked or left alone. A dry run
// moves nothing and tells what it would have handled.
func (c *copier) handled() int64 {
	if c.DryRun {
		return c.Counters.Bytes.Load()
	}
	var sum int64
	for _, m := range c.moved()[1:6] {
		sum += m.n
	}
	return sum
}

// streams of bytes by the way they went.
func (c *copier) moved() []counted {
	n := c.Counters
	return []counted{
		{"bytes", n.Bytes.Load()}, {"cloned", n.Cloned.Load()}, {"offloaded", n.Offloaded.Load()},
		{"copied", n.Copied.Load()}, {"holes", n.Holes.Load()}, {"kept", n.Kept.Load()}, {"written", n.Written.Load()},
	}
}

func (c *copier) fallbacks() []counted {
	var list []counted
	c.Counters.EachFallback(func(why string, n int64) { list = append(list, counted{why, n}) })
	slices.SortFunc(list, func(a, b counted) int { return strings.Compare(a.name, b.name) })
	return list
}

// ways tells how content went: what --debug is for.
func (c *copier) ways() string {
	var b strings.Builder
	b.WriteString("content:")
	sep := " "
	for _, m := range c.moved()[1:6] {
		b.WriteString(sep + m.name + " " + c.size(m.n))
		sep = ", "
	}
	n := c.Counters
	b.WriteString("\ncalls: " + plural(n.Writes.Load(), "write") + " of " + c.size(n.Written.Load()) +
		", " + plural(n.Punches.Load(), "punch") + ", " + plural(n.Cuts.Load(), "cut") + "\n")
	for _, f := range c.fallbacks() {
		b.WriteString("another way: " + f.name + ", " + plural(f.n, "time") + "\n")
	}
	return b.String()
}

func plural(n int64, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "ch"):
		what += "e"
	}
	return commas(n) + " " + what + "s"
}

func (c *copier) summaryText() string {
	var b strings.Builder
	for i, x := range c.counted() {
		if x.n > 0 || i == 0 {
			if b.Len() > 0 {
				b.WriteString(", ")
			}
			b.WriteString(commas(x.n) + " " + x.named())
		}
	}
	took := time.Since(c.begun)
	b.WriteString("; " + c.size(c.handled()) + " in " + strconv.FormatFloat(took.Seconds(), 'f', 3, 64) + " s\n")
	return b.String()
}

func (c *copier) summaryEvent(code int, interrupted bool) []byte {
	o := newObject(nil, "summary")
	for _, x := range c.counted() {
		o.num(x.name, x.n)
	}
	for _, x := range c.moved() {
		if x.name != "bytes" {
			x.name += "_bytes"
		}
		o.num(x.name, x.n)
	}
	n := c.Counters
	o.num("write_calls", n.Writes.Load()).num("punch_calls", n.Punches.Load()).num("cut_calls", n.Cuts.Load())
	if list := c.fallbacks(); len(list) > 0 {
		o.open("fallbacks", '{')
		for _, f := range list {
			o.num(f.name, f.n)
		}
		o.close('}')
	}
	if interrupted {
		o.flag("interrupted", true)
	}
	return o.float("seconds", time.Since(c.begun).Seconds()).num("exit", int64(code)).line()
}

var typeNames = [...]struct {
	bits uint32
	name string
}{
	{sys.TypeRegular, "file"}, {sys.TypeDir, "directory"}, {sys.TypeSymlink, "symlink"}, {sys.TypeFIFO, "fifo"},
	{sys.TypeSocket, "socket"}, {sys.TypeChar, "character device"}, {sys.TypeBlock, "block device"},
}

func typeName(mode uint32) string {
	for _, t := range typeNames {
		if mode&sys.TypeMask == t.bits {
			return t.name
		}
	}
	return "unknown"
}

// octal writes permission bits with four digits.
func octal(perm uint32) string {
	s := strconv.FormatUint(uint64(perm), 8)
	return strings.Repeat("0", max(0, 4-len(s))) + s
}

func octal4(m os.FileMode) string { return octal(sys.Perm(m)) }

// unixMode is Go's mode as the kernel writes it.
func unixMode(m os.FileMode) uint32 {
	for _, t := range typeNames {
		if sys.FileMode(t.bits).Type() == m.Type() {
			return t.bits | sys.Perm(m)
		}
	}
	return sys.Perm(m)
}

func itoa(n int) string { return strconv.Itoa(n) }
