package dest

import (
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/outfile"
	"github.com/gohaul/haul/internal/sys"
)

// Waits reports whether the links made here take their names at the batch's next
// flush, like files: a link to content that is not durable must not stand where
// something did before.
func (d *Dir) Waits() bool { return !d.idle() && d.tree.Write.Batch != nil && !d.made }

// Link makes name one more name of the file old in from, over what stands there.
// If final is not nil and Waits says so, the name waits for the batch, and final
// is told how that ended.
func (d *Dir) Link(from *Dir, old, name string, there bool, final func(error)) error {
	if d.idle() {
		d.tree.Counters.Links.Add(1) // what a dry run would do
		return nil
	}
	return d.link(name, there, final, func(at string) error { return d.Dir.Link(from.Dir, old, at) })
}

// LinkSource makes name a hard link to an entry of a source directory; there and
// final are as for Link.
func (d *Dir) LinkSource(from *sys.Dir, old, name string, follow, there bool, final func(error)) error {
	if d.idle() {
		d.tree.Counters.Links.Add(1) // what a dry run would do
		return nil
	}
	link := d.Dir.Link
	if follow {
		link = d.Dir.LinkFollow
	}
	return d.link(name, there, final, func(at string) error { return link(from, old, at) })
}

func (d *Dir) link(name string, there bool, final func(error), make func(at string) error) error {
	if final != nil && d.Waits() {
		at := outfile.TempName(name)
		if err := make(at); err != nil {
			return err
		}
		d.tree.Counters.Links.Add(1)
		err := d.tree.Write.Batch.AddLink(d.Dir, at, name, final)
		if err != nil {
			d.Dir.Remove(at)
		}
		return err
	}
	err := d.beside(name, there, make)
	if err == nil {
		d.tree.Counters.Links.Add(1)
		err = d.entered()
	}
	return err
}

// Symlink makes name a symbolic link that holds m.Target.
func (d *Dir) Symlink(s *Setter, name string, m *meta.Meta, there bool) (meta.Mask, error) {
	if d.idle() {
		d.tree.Counters.Symlinks.Add(1)
		return 0, nil
	}
	return d.node(s, name, m, there, func(at string) error { return d.Dir.Symlink(m.Target, at) })
}

// Node makes name the FIFO, socket or device that m describes.
func (d *Dir) Node(s *Setter, name string, m *meta.Meta, there bool) (meta.Mask, error) {
	if d.idle() {
		d.tree.Counters.Specials.Add(1)
		return 0, nil
	}
	perm := d.filePerm(m)
	return d.node(s, name, m, there, func(at string) error {
		return d.Mknod(at, m.Mode&sys.TypeMask|perm, m.Rdev)
	})
}

// node makes an entry that has no content, with its metadata, at a name that
// nobody knows if something gives way to it.
func (d *Dir) node(s *Setter, name string, m *meta.Meta, there bool, make func(at string) error) (skipped meta.Mask, err error) {
	if d.tree.Write.Durability == syncEach {
		there = true // its metadata is logged before the name that is synced
	}
	err = d.beside(name, there, func(at string) error {
		if err := make(at); err != nil {
			return err
		}
		perm := d.filePerm(m) &^ d.tree.umask
		have := meta.Have{UID: d.tree.uid, GID: d.group, Mode: m.Mode&sys.TypeMask | perm, Xattrs: d.acl}
		if d.acl && !m.IsSymlink() { // then it had a say in the mode
			var st sys.Stat
			if err := d.Lstat(at, &st); err != nil {
				return err
			}
			have.Mode = st.Mode
		}
		var err error
		skipped, err = s.Apply(meta.Object{Dir: d.Dir, Name: at}, m, &s.Policy, have)
		return err
	})
	if err != nil {
		return skipped, err
	}
	if m.IsSymlink() {
		d.tree.Counters.Symlinks.Add(1)
	} else {
		d.tree.Counters.Specials.Add(1)
	}
	return skipped, d.entered()
}

// beside lets make work at a name of its own and renames the result over what
// stands at name; where nothing does, make works there at once. What fails
// leaves nothing behind.
func (d *Dir) beside(name string, there bool, make func(at string) error) error {
	at := name
	if there {
		at = outfile.TempName(name)
	}
	if err := make(at); err != nil {
		if !sys.IsExist(err) {
			d.Dir.Remove(at)
		}
		return err
	}
	if !there {
		return nil
	}
	if err := d.Rename(at, d.Dir, name); err != nil {
		d.Dir.Remove(at)
		return err
	}
	// Renaming one name of a file over another does nothing at all.
	if err := d.Dir.Remove(at); err != nil && !sys.IsNotExist(err) {
		return err
	}
	return nil
}

// idle reports whether nothing may be done here.
func (d *Dir) idle() bool { return d.Dir == nil || d.tree.DryRun }
