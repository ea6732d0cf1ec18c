package cli

import (
	"os"
	"path/filepath"

	haul "github.com/gohaul/haul"
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/sys"
)

// parentDir is a directory that --parents made: its final metadata comes when
// everything beneath is done.
type parentDir struct{ src, dst string }

// makeParents makes the directories of the source's name beneath the target
// directory, as far as they are missing.
func (c *copier) makeParents(t target) bool {
	from, to := len(t.src)-(len(strip(t.dst))-t.head), t.head
	from = max(0, from-(len(t.src)-len(strip(t.src))))
	rest := strip(t.dst)[to:]
	for i := 0; i < len(rest); i++ {
		if rest[i] != '/' || i > 0 && rest[i-1] == '/' {
			continue
		}
		if !c.makeParent(parentDir{t.src[:from+i], t.dst[:to+i]}, t) {
			return false
		}
	}
	return true
}

func (c *copier) makeParent(p parentDir, t target) bool {
	st, err := os.Stat(p.src)
	if err != nil {
		c.refuse(t, "failed to get attributes of "+c.loc.file(p.src)+": "+reason(err))
		return false
	}
	if !st.IsDir() {
		c.refuse(t, "failed to get attributes of "+c.loc.file(p.src)+": Not a directory")
		return false
	}
	old, err := os.Stat(p.dst)
	switch {
	case err == nil && old.IsDir():
		return true
	case err == nil:
		c.refuse(t, c.loc.file(p.dst)+" exists but is not a directory")
		return false
	case !os.IsNotExist(err):
		c.refuse(t, "failed to get attributes of "+c.loc.file(p.dst)+": "+reason(err))
		return false
	}
	if c.DryRun {
		if !c.parentKnown(p.dst) {
			c.parent = append(c.parent, p)
			c.tellParent(p, st)
		}
		return true
	}
	if err := os.Mkdir(p.dst, c.parentPerm(st.Mode())); err != nil {
		c.refuse(t, "cannot make directory "+c.loc.file(p.dst)+": "+reason(err))
		return false
	}
	c.Counters.Dirs.Add(1)
	c.parent = append(c.parent, p)
	c.tellParent(p, st)
	return true
}

// pretend gives a source of a dry run a target in a directory that exists, if
// its own does not: a name that nothing has, which items tell as the real one.
func (c *copier) pretend(t target) target {
	if _, err := os.Stat(filepath.Dir(strip(t.dst))); err == nil {
		return t
	}
	if c.alias == nil {
		c.alias = map[string]string{}
	}
	name := t.dst[:t.head] + ".haul-dry-run-" + itoa(len(c.alias))
	c.alias[name] = t.dst
	t.dst = name
	return t
}

// real is the name behind a pretended one.
func (c *copier) real(path string) string {
	for name, dst := range c.alias {
		if rest, ok := under(path, name); ok {
			if rest == "" {
				return dst
			}
			return join(dst, rest)
		}
	}
	return path
}

func (c *copier) parentKnown(dst string) bool {
	for _, p := range c.parent {
		if p.dst == dst {
			return true
		}
	}
	return false
}

// parentPerm is the mode a parent is made with: ours to write in, and nobody
// else's until it has its owner, if it gets one.
func (c *copier) parentPerm(mode os.FileMode) os.FileMode {
	switch {
	case c.FreshMode:
		return 0o777
	case c.Preserve&(haul.PreserveMode|haul.PreserveOwner|haul.PreserveGroup) != 0:
		return 0o700
	}
	return mode&(os.ModePerm|os.ModeSticky) | 0o700
}

func (c *copier) tellParent(p parentDir, st os.FileInfo) {
	if c.printer.json {
		o := newObject(c.buf, "item").str("action", haul.Made.String()).path("source", p.src).path("target", p.dst).
			str("type", "directory").str("mode", octal4(st.Mode()))
		c.buf = o.line()
		c.printBytes(c.buf)
	} else if c.verbose {
		c.print(p.src + " -> " + p.dst + "\n")
	}
}

// leaveParents gives the parents the metadata of their sources, innermost first.
func (c *copier) leaveParents() {
	if c.DryRun {
		return
	}
	for i := len(c.parent) - 1; i >= 0; i-- {
		if err := c.leaveParent(c.parent[i]); err != nil {
			c.fail(c.parent[i].src, err)
		}
	}
}

func (c *copier) leaveParent(p parentDir) error {
	which := c.Preserve & meta.All
	if which == 0 {
		return c.narrowParent(p)
	}
	var r meta.Reader
	var m, have meta.Meta
	src, err := sys.OpenRoot(p.src)
	if err != nil {
		return err
	}
	defer src.Close()
	err = src.With(func(f *sys.File) error { return r.Read(meta.Object{File: f}, which, &m) })
	if err != nil {
		return err
	}
	dst, err := sys.OpenRoot(p.dst)
	if err != nil {
		return err
	}
	defer dst.Close()
	return dst.With(func(f *sys.File) error {
		if err := f.Stat(&have.Stat); err != nil {
			return err
		}
		if which&meta.Mode == 0 && which&(meta.Owner|meta.Group) != 0 {
			which, m.Mode = which|meta.Mode, m.Mode&^c.umask()
		}
		_, err := r.Apply(meta.Object{File: f}, &m, &meta.Policy{Which: which},
			meta.Have{UID: have.UID, GID: have.GID, Mode: have.Mode, Xattrs: true})
		return err
	})
}

// narrowParent takes back the rights that only we needed to write in it.
func (c *copier) narrowParent(p parentDir) error {
	src, err := os.Stat(p.src)
	if err != nil || c.FreshMode || src.Mode().Perm()&0o700 == 0o700 {
		return err
	}
	dst, err := os.Stat(p.dst)
	if err != nil {
		return err
	}
	return os.Chmod(p.dst, dst.Mode()&^(0o700&^src.Mode().Perm()))
}

// umask is the process's; where it cannot be told, one that is safe.
func (c *copier) umask() uint32 {
	mask, err := sys.Umask()
	if err != nil {
		return 0o077
	}
	return mask
}
