package dest

import (
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/sys"
)

// Make gives the directory name, made if there is none, open and for now
// writable by us alone as far as that is more private than it will be. Leave
// sets its final metadata.
func (d *Dir) Make(name string, m *meta.Meta) (*Dir, error) {
	if d.Dir == nil {
		d.tree.Counters.Dirs.Add(1) // it would be made
		return d.tree.absent(d.Join(name)), nil
	}
	if !d.made {
		sub, err := d.enter(name)
		if err == nil && sub != nil {
			err = sub.Narrow(m)
		}
		if sub != nil || err != nil {
			return sub, err
		}
	}
	if d.tree.DryRun {
		d.tree.Counters.Dirs.Add(1) // it would be made
		return d.tree.absent(d.Join(name)), nil
	}
	perm := d.dirPerm(m)
	if err := d.Mkdir(name, perm|0o700); err != nil {
		return nil, err
	}
	d.tree.Counters.Dirs.Add(1)
	if err := d.entered(); err != nil {
		return nil, err
	}
	if d.tree.umask&0o700 != 0 { // it took our own rights
		if err := d.Chmod(name, (perm|0o700)&^(d.tree.umask&0o077)); err != nil {
			return nil, err
		}
	}
	sub, err := d.OpenDir(name)
	if err != nil {
		return nil, err
	}
	if !d.acl && d.group == d.tree.gid {
		return d.fresh(sub, perm), nil
	}
	n, err := d.tree.adopt(sub, true)
	if err == nil {
		n.have.Xattrs = d.acl
		n.lent = perm&0o700 != 0o700
	}
	return n, err
}

// fresh describes a directory just made without asking the kernel: where no
// default ACL and no set-gid bit are inherited, all of it is known.
func (d *Dir) fresh(sub *sys.Dir, perm uint32) *Dir {
	mode := sys.TypeDir | (perm|0o700)&^(d.tree.umask&0o077)
	return &Dir{
		Dir: sub, tree: d.tree, made: true, group: d.tree.gid, dev: d.dev,
		have: meta.Have{UID: d.tree.uid, GID: d.tree.gid, Mode: mode},
		lent: perm&0o700 != 0o700,
	}
}

// dirPerm is the mode a directory is made with, before umask.
func (d *Dir) dirPerm(m *meta.Meta) uint32 {
	if d.tree.Meta.Which&meta.Mode == 0 {
		if d.tree.Fresh {
			return 0o777
		}
		return m.Mode & (0o777 | sys.ModeSticky)
	}
	return d.safePerm(m, &d.tree.Meta)
}

// enter opens the directory that stands at name; nil, nil means that nothing
// stands there. One that we may not write in, though we own it, is opened up
// until Leave.
func (d *Dir) enter(name string) (*Dir, error) {
	var st sys.Stat
	there, err := d.Look(name, &st)
	if err != nil || !there {
		return nil, err
	}
	if d.tree.DryRun && !st.IsDir() && !(st.IsSymlink() && d.tree.DirLinks) {
		return nil, nil // it would have been removed
	}
	lent, err := d.unlock(name, &st)
	if err != nil {
		return nil, err
	}
	open := d.OpenDir
	if st.IsSymlink() && d.tree.DirLinks {
		open = d.OpenDirFollow // the user asked for it
	}
	sub, err := open(name)
	if err != nil {
		return nil, err
	}
	n, err := d.tree.adopt(sub, false)
	if n != nil && lent {
		n.lent = true
		n.was.Mode = st.Mode
	}
	if n != nil && lent && d.tree.Meta.Which&meta.Mode == 0 {
		n.have.Mode = st.Mode // what Leave goes back to
	}
	return n, err
}

// unlock opens up a directory that we own and may not write in, and reports
// whether it did.
func (d *Dir) unlock(name string, st *sys.Stat) (lent bool, err error) {
	if !st.IsDir() || st.Mode&0o700 == 0o700 || st.UID != d.tree.uid || d.tree.uid == 0 || d.tree.DryRun {
		return false, nil
	}
	return true, d.Chmod(name, st.Mode|0o700)
}

// Leave sets the directory's metadata for good. It is called when nothing
// beneath will change any more. changed reports whether a directory that stood
// there before was not like m; one that still is is left alone. The parts that
// this user may not set are returned. Under SyncEach the entries are durable
// when it returns.
func (d *Dir) Leave(s *Setter, m *meta.Meta) (changed bool, skipped meta.Mask, err error) {
	if d.Dir == nil || d.made && d.tree.DryRun {
		return false, 0, nil
	}
	alike := false
	err = d.With(func(f *sys.File) (err error) {
		if !d.made {
			if changed, alike, err = d.differs(f, s, m); err != nil || d.tree.DryRun {
				return err
			}
		}
		if !alike {
			if err = d.giveBack(f, m); err == nil {
				skipped, err = s.Apply(meta.Object{File: f}, m, &s.Policy, d.have)
			}
		}
		if err == nil && d.tree.Write.Durability == syncEach {
			err = f.Sync()
		}
		return err
	})
	switch {
	case err != nil:
	case alike:
		err = d.Standing()
	default:
		err = d.note()
	}
	return changed, skipped, err
}

// differs compares a directory that existed with the source's, as it was when it
// was opened and as it is. The time of access alone is no difference.
func (d *Dir) differs(f *sys.File, s *Setter, m *meta.Meta) (changed, alike bool, err error) {
	which := d.tree.Meta.Which
	var now meta.Meta
	if err := f.Stat(&now.Stat); err != nil {
		return false, false, err
	}
	if err := s.Fill(meta.Object{File: f}, which&(meta.Xattrs|meta.ACL), &now); err != nil {
		return false, false, err
	}
	alike = meta.Diff(m, &now, which)&^meta.Atime == 0 && !d.lent
	now.Stat = d.was
	return meta.Diff(m, &now, which)&^meta.Atime != 0, alike, nil
}

// GiveUp is Leave for a job that was cancelled: it only takes back what was
// lent to us.
func (d *Dir) GiveUp() error {
	if d.Dir == nil || d.tree.DryRun || d.made || !d.lent {
		return nil
	}
	return d.With(func(f *sys.File) error { return f.Chmod(d.was.Mode & d.have.Mode) })
}

// Narrow takes from a directory that stood there before whom m's will keep out,
// before anything new is in it. It stays so if the job is cancelled.
func (d *Dir) Narrow(m *meta.Meta) error {
	if d.idle() || d.tree.Meta.Which&meta.Mode == 0 {
		return nil
	}
	return d.With(func(f *sys.File) error {
		size, err := f.GetXattr(meta.AccessACL, nil)
		have := d.have
		have.Xattrs = err == nil && size > 0
		perm := meta.SafeWritePerm(m, &d.tree.Meta, have)
		if perm == have.Mode&sys.PermMask {
			return nil
		}
		if alike, err := d.letsIn(f, m); alike || err != nil {
			return err
		}
		err = f.Chmod(perm)
		if sys.NotPermitted(err) || sys.NotSupported(err) {
			return nil // Leave will tell
		}
		d.have.Mode = have.Mode&sys.TypeMask | perm
		return err
	})
}

// letsIn reports whether the directory lets the same people in as m's will.
func (d *Dir) letsIn(f *sys.File, m *meta.Meta) (bool, error) {
	const who = meta.Mode | meta.Owner | meta.Group | meta.ACL
	now := meta.Meta{Stat: d.was}
	var r meta.Reader
	if err := r.Fill(meta.Object{File: f}, d.tree.Meta.Which&meta.ACL, &now); err != nil {
		return false, err
	}
	return meta.Diff(m, &now, d.tree.Meta.Which&who) == 0, nil
}

// giveBack takes away what was lent to us while we wrote in the directory, if
// Apply will not set the mode anyway.
func (d *Dir) giveBack(f *sys.File, m *meta.Meta) error {
	if !d.lent || d.tree.Meta.Which&meta.Mode != 0 {
		return nil
	}
	mode := d.have.Mode
	if d.made {
		mode &^= 0o700 &^ m.Mode
	}
	return f.Chmod(mode)
}
