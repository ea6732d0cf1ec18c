package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	haul "github.com/gohaul/haul"
)

// copier is one cp under way: operands become pairs, pairs become jobs.
type copier struct {
	*session
	*copying
	begun    time.Time
	alias    map[string]string // in a dry run: targets in directories that it did not make
	pairs    []haul.Pair       // of the job that is being put together, or runs
	seen     seen
	answers  *input      // to questions
	parent   []parentDir // made by --parents, innermost last
	progress *progress
	failed   bool
	slashed  bool   // a name that was typed ends in a slash
	buf      []byte // of events
}

func (s *session) cp() int {
	opts, err := cpOptions(&s.args, s.loc, s.getenv, s.posing)
	if err != nil {
		return s.misused(err)
	}
	c := &copier{session: s, copying: opts, begun: time.Now()}
	c.printer.json = opts.asJSON
	targets, err := c.targets()
	if err != nil {
		return s.misused(err)
	}
	if opts.Delete && !anyTree(targets) {
		return s.misused(misuse("--delete needs a directory as a SOURCE"))
	}
	for _, w := range opts.warnings {
		c.complain(w)
	}
	c.listen()
	c.start(targets)
	c.run(targets)
	if c.progress != nil {
		c.progress.stop()
	}
	code := 0
	if c.failed {
		code = 1
	}
	stop, interrupted := c.stopped()
	if interrupted {
		code = stop.code()
	}
	c.finish(code, interrupted)
	return code
}

// anyTree reports whether a source may be a directory: one that cannot be
// looked at is told of later.
func anyTree(targets []target) bool {
	return slices.ContainsFunc(targets, func(t target) bool {
		st, err := os.Stat(t.src)
		return err != nil || st.IsDir()
	})
}

// listen sets the hooks that somebody waits for: an item costs two names, so
// without listeners there are none.
func (c *copier) listen() {
	c.Counters = new(haul.Counters)
	c.OnError = func(path string, err error) error {
		c.fail(path, err)
		return nil
	}
	show := c.showing == "always" || c.showing == "auto" && isTerminal(c.errs)
	if show || c.printer.json && c.showing != "never" {
		c.Scan = true
		c.progress = startProgress(c.printer, c.Counters, isTerminal(c.errs))
		c.progress.last = c.showing == "always"
	}
	if c.verbose || c.printer.json || c.progress != nil {
		c.OnItem = c.item
	}
	guarded := !c.InPlace && !c.mayReplace() && os.Geteuid() != 0
	if c.ask || guarded || c.Form == haul.FormHardLink || c.Form == haul.FormSymlink {
		c.Confirm = c.confirm
	}
	if c.needXattrs {
		c.OnXattr = func(_, _, _ string, err error) error { return err }
	}
}

// run copies what the operands name, in their order. Pairs gather into one job
// until something has to happen between two of them.
func (c *copier) run(targets []target) {
	for _, t := range targets {
		if c.ctx.Err() != nil {
			break
		}
		if c.parents && !c.makeParents(t) {
			continue
		}
		if c.parents && c.DryRun {
			t = c.pretend(t)
		}
		c.take(t)
	}
	c.flush()
	c.leaveParents()
}

// take judges one source and adds it to the job, or copies it here if it is
// nothing that a job does.
func (c *copier) take(t target) {
	stat := os.Stat
	if c.Follow == haul.FollowNever {
		stat = os.Lstat
	}
	st, err := stat(t.src)
	if err != nil {
		c.refuse(t, "cannot stat "+c.loc.file(t.src)+": "+reason(err))
		return
	}
	if st.IsDir() && !c.recursive {
		c.refuse(t, "-r not specified; omitting directory "+c.loc.file(t.src))
		return
	}
	if why := c.misplaced(t, st); why != "" {
		c.refuse(t, why)
		return
	}
	switch c.seen.judge(t, st, c.Backup == haul.BackupNumbered) {
	case again:
		c.complain("warning: source " + kind(st) + " " + c.loc.file(t.src) + " specified more than once")
		return
	case overwrites:
		c.refuse(t, "will not overwrite just-created "+c.loc.file(t.dst)+" with "+c.loc.file(t.src))
		return
	case overlaps:
		c.flush() // what it meets must be there already
	}
	if c.Update == haul.UpdateOlder && c.isSame(t, st) {
		c.refuse(t, c.loc.file(t.src)+" and "+c.loc.file(t.dst)+" are the same file")
		return
	}
	if c.streams(t, st) {
		c.flush()
		c.stream(t, st)
		return
	}
	if backup := c.ontoItself(t, st); backup != "" {
		t.dst = backup
		o := c.Options
		o.Backup = haul.BackupNone
		c.flush()
		c.job(&o, t.pair())
		return
	}
	c.slashed = c.slashed || strip(t.src) != t.src || strip(t.dst) != t.dst
	c.pairs = append(c.pairs, t.pair())
}

func kind(st os.FileInfo) string {
	if st.IsDir() {
		return "directory"
	}
	return "file"
}

// misplaced says why a source cannot get the name that was given, "" if it can.
func (c *copier) misplaced(t target, st os.FileInfo) string {
	name := c.loc.file(t.dst)
	switch {
	case t.dst == "":
		return "cannot create regular file '': No such file or directory"
	case st.IsDir():
		if old, err := os.Lstat(t.dst); err == nil && old.Mode()&fs.ModeSymlink != 0 && !c.DirLinks {
			return "cannot overwrite non-directory " + name + " with directory " + c.loc.file(t.src)
		}
		return c.relativeTree(t)
	case strings.HasSuffix(t.dst, "/"):
		if _, err := os.Lstat(strings.TrimRight(t.dst, "/")); err == nil {
			return "cannot stat " + name + ": Not a directory"
		}
		return "cannot create regular file " + name + ": Not a directory"
	}
	return c.relativeLinks(t)
}

// relativeLinks refuses what would make links that lead nowhere: a relative
// name means something else in another directory.
func (c *copier) relativeLinks(t target) string {
	if c.Form != haul.FormSymlink || filepath.IsAbs(t.src) || filepath.Dir(t.dst) == "." {
		return ""
	}
	here, err1 := os.Stat(".")
	there, err2 := os.Stat(filepath.Dir(t.dst))
	if err1 == nil && err2 == nil && os.SameFile(here, there) {
		return ""
	}
	return c.loc.bare(t.dst) + ": can make relative symbolic links only in current directory"
}

// relativeTree is relativeLinks for what stands inside of a directory.
func (c *copier) relativeTree(t target) string {
	if c.Form != haul.FormSymlink || filepath.IsAbs(t.src) {
		return ""
	}
	return c.loc.bare(t.dst) + ": can make relative symbolic links only in current directory"
}

// isSame reports whether both names lead to one file. A job finds out by itself
// what it would destroy; what it would skip is for us to refuse.
func (c *copier) isSame(t target, st os.FileInfo) bool {
	old, err := os.Stat(t.dst)
	return err == nil && !st.IsDir() && os.SameFile(st, old)
}

// ontoItself is the backup name that cp -f with backups copies a file to when it
// is told to copy it onto itself; "" for everything else.
func (c *copier) ontoItself(t target, st os.FileInfo) string {
	if !c.Force || c.Backup == haul.BackupNone || !st.Mode().IsRegular() || t.src != t.dst {
		return ""
	}
	return backupName(t.dst, c.Backup, c.Suffix)
}

// flush runs the job of the pairs gathered so far.
func (c *copier) flush() {
	if len(c.pairs) > 0 {
		c.job(&c.Options, c.pairs...)
	}
}

func (c *copier) job(o *haul.Options, pairs ...haul.Pair) {
	c.pairs = pairs
	defer func() { c.pairs = c.pairs[:0] }()
	err := haul.Copy(c.ctx, pairs, o)
	var partial *haul.PartialError
	switch {
	case err == nil, errors.As(err, &partial), c.ctx.Err() != nil:
	default:
		c.fail("", err)
	}
	if c.ctx.Err() != nil {
		c.failed = true
	}
}

// refuse reports a source that is not copied.
func (c *copier) refuse(t target, text string) {
	c.Counters.Failed.Add(1)
	c.trouble(t.src, text, nil)
}

// fail reports what went wrong with a source, in cp's words.
func (c *copier) fail(path string, err error) {
	text := plainText(c.loc, err)
	if path != "" {
		text = c.cpText(path, err)
	}
	c.trouble(path, text, err)
}

func (c *copier) trouble(path, text string, err error) {
	c.failed = true
	c.complain(text)
	if c.printer.json {
		o := newObject(c.buf, "error").given("source", path).str("message", text)
		var p *fs.PathError
		if errors.As(err, &p) {
			o.str("operation", p.Op).path("path", p.Path)
		}
		c.buf = o.line()
		c.printBytes(c.buf)
	}
}

// mayReplace reports whether options allow what stands at a target to go,
// whatever it is.
func (c *copier) mayReplace() bool {
	return c.Force || c.Remove || c.Backup != haul.BackupNone
}

// confirm decides whether an existing file may be replaced: by asking, or, where
// nothing allows it, by what cp could do. That makes no links over files, and
// cannot write into a file that is not writable, while a rename would.
func (c *copier) confirm(path string) bool {
	if c.ask && !c.yes(c.question(path)) {
		return false
	}
	if c.ask && c.Form != haul.FormCopy || c.mayReplace() {
		return true
	}
	source := c.origin(path)
	name, from := c.loc.file(path), c.loc.file(source)
	why := ""
	switch c.Form {
	case haul.FormHardLink:
		why = "cannot create hard link " + name + " to " + from + ": File exists"
	case haul.FormSymlink:
		why = "cannot create symbolic link " + name + " to " + from + ": File exists"
	case haul.FormCopy:
		old, err := os.Lstat(path)
		if err != nil || !old.Mode().IsRegular() || writable(path) {
			return true
		}
		if st, err := os.Lstat(source); err == nil && st.Mode()&fs.ModeSymlink != 0 && c.Follow != haul.FollowAll {
			return true
		}
		why = "cannot create regular file " + name + ": Permission denied"
	default:
		return true
	}
	c.Counters.Failed.Add(1)
	c.trouble(source, why, nil)
	return false
}

// origin is the source of a target path.
func (c *copier) origin(target string) string {
	turned := make([]haul.Pair, len(c.pairs))
	for i, p := range c.pairs {
		turned[i] = haul.Pair{Src: p.Dst, Dst: p.Src}
	}
	return twin(turned, target)
}

func (c *copier) question(path string) string {
	name := c.loc.file(path)
	st, err := os.Stat(path)
	if err != nil || writable(path) {
		return "overwrite " + name + "? "
	}
	mode := octal4(st.Mode())
	bits := st.Mode().Perm().String()[1:]
	if c.Force || c.Remove {
		return "replace " + name + ", overriding mode " + mode + " (" + bits + ")? "
	}
	return "unwritable " + name + " (mode " + mode + ", " + bits + "); try anyway? "
}

func writable(path string) bool {
	f, err := os.OpenFile(path, os.O_WRONLY|nonblock, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrPermission)
	}
	return f.Close() == nil
}

// yes asks on the terminal, or whatever standard input is.
func (c *copier) yes(question string) bool {
	c.asking.Store(true)
	defer c.asking.Store(false)
	c.raise(c.prog + ": " + question)
	if c.answers == nil {
		c.answers = &input{ctx: c.ctx, in: c.in, want: -1}
	}
	answer := readLine(c.answers)
	return answer != "" && (answer[0] == 'y' || answer[0] == 'Y')
}

// readLine reads up to the end of a line, byte by byte: what follows belongs to
// the next question.
func readLine(in io.Reader) string {
	var line strings.Builder
	var c [1]byte
	for {
		n, err := in.Read(c[:])
		if n == 1 && c[0] == '\n' || err != nil || n == 0 {
			return line.String()
		}
		line.WriteByte(c[0])
	}
}
