package dest

import (
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/outfile"
	"github.com/gohaul/haul/internal/sys"
)

// Link makes name one more name of the file old in from, over what stands there.
func (d *Dir) Link(from *Dir, old, name string, there bool) error {
	if d.idle() {
		return nil
	}
	err := d.beside(name, there, func(at string) error { return d.Dir.Link(from.Dir, old, at) })
	if err == nil {
		d.tree.Counters.Links.Add(1)
		err = d.note()
	}
	return err
}

// LinkSource makes name a hard link to an entry of a source directory.
func (d *Dir) LinkSource(from *sys.Dir, old, name string, follow, there bool) error {
	if d.idle() {
		return nil
	}
	link := d.Dir.Link
	if follow {
		link = d.Dir.LinkFollow
	}
	err := d.beside(name, there, func(at string) error { return link(from, old, at) })
	if err == nil {
		d.tree.Counters.Links.Add(1)
		err = d.note()
	}
	return err
}

// Symlink makes name a symbolic link that holds m.Target.
func (d *Dir) Symlink(s *Setter, name string, m *meta.Meta, there bool) (meta.Mask, error) {
	if d.idle() {
		return 0, nil
	}
	return d.node(s, name, m, there, func(at string) error { return d.Dir.Symlink(m.Target, at) })
}

// Node makes name the FIFO, socket or device that m describes.
func (d *Dir) Node(s *Setter, name string, m *meta.Meta, there bool) (meta.Mask, error) {
	if d.idle() {
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
	err = d.beside(name, there, func(at string) error {
		if err := make(at); err != nil {
			return err
		}
		perm := d.filePerm(m) &^ d.tree.umask
		have := meta.Have{UID: d.tree.uid, GID: d.group, Mode: m.Mode&sys.TypeMask | perm, Xattrs: d.acl}
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
	return skipped, d.note()
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

// note tells the batch that this directory's file system has work to flush.
func (d *Dir) note() error {
	if d.tree.Write.Batch == nil {
		return nil
	}
	return d.tree.Write.Batch.Touch(d.Dir)
}
