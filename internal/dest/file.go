package dest

import (
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/outfile"
	"github.com/gohaul/haul/internal/sys"
)

// Writer writes one file after another; it is kept by one goroutine, so that a
// small file costs no allocation.
type Writer struct {
	outfile.File
	Meta Setter

	src     *meta.Meta
	which   meta.Policy
	merged  meta.Meta
	have    meta.Have
	skipped meta.Mask
	place   outfile.Place
	apply   func(*sys.File) error
	policy  outfile.Policy
}

// Setter sets metadata by a policy; it is kept by one goroutine.
type Setter struct {
	meta.Reader
	Policy meta.Policy
}

// Place says where the bytes of a file go while they are written.
func (d *Dir) Place(old *sys.Stat) outfile.Place {
	switch {
	case old == nil && d.made:
		return outfile.New
	case old == nil:
		return outfile.Replace
	case old.IsRegular() && !d.tree.Remove && (d.tree.InPlace || d.tree.Through && old.Nlink > 1):
		return outfile.InPlace
	}
	return outfile.Replace
}

// Create begins to write the file name, of about size bytes, that will get
// src's metadata; old is what stands there, nil for nothing. Commit or Abort
// ends it.
func (w *Writer) Create(d *Dir, name string, size int64, src *meta.Meta, old *sys.Stat) error {
	t := d.tree
	w.src, w.which = src, w.Meta.Policy
	w.place = d.Place(old)
	w.policy = t.Write
	w.policy.Place = w.place
	perm := d.filePerm(src)
	w.have = meta.Have{UID: t.uid, GID: d.group, Mode: sys.TypeRegular | perm&^t.umask, Xattrs: d.acl}
	switch {
	case w.place == outfile.InPlace:
		w.have = meta.Have{UID: old.UID, GID: old.GID, Mode: old.Mode, Xattrs: true}
	case old != nil && old.IsRegular() && !t.Remove:
		if err := w.inherit(d, name, old); err != nil {
			return err
		}
		perm = d.safePerm(w.src, &w.which)
		w.have.Mode = sys.TypeRegular | perm&^t.umask
	}
	err := w.File.Create(d.Dir, name, size, perm, &w.policy)
	if err != nil && t.Force && w.place == outfile.InPlace {
		if d.Remove(name) == nil {
			w.have = meta.Have{UID: t.uid, GID: d.group, Mode: sys.TypeRegular | perm&^t.umask, Xattrs: d.acl}
			err = w.File.Create(d.Dir, name, size, perm, &w.policy)
		}
	}
	if err == nil && (d.acl || w.place == outfile.InPlace) {
		err = w.guard(t.uid)
	}
	return err
}

// guard looks at a file whose mode is not what it was created with, since it
// stood there before or a default ACL had a say, and takes from it, before the
// first byte, what nobody will have at the end.
func (w *Writer) guard(uid uint32) error {
	f := w.File.Sys()
	var st sys.Stat
	err := f.Stat(&st)
	if err == nil {
		w.have.UID, w.have.GID, w.have.Mode = st.UID, st.GID, st.Mode
		err = w.narrow(f, uid)
	}
	if err != nil {
		w.File.Abort() // nothing was written; that error is the one that counts
	}
	return err
}

func (w *Writer) narrow(f *sys.File, uid uint32) error {
	have := w.have
	size, err := f.GetXattr(meta.AccessACL, nil)
	have.Xattrs = err == nil && size > 0
	perm := meta.SafeWritePerm(w.src, &w.which, have)
	if perm == have.Mode&sys.PermMask {
		return nil
	}
	err = f.Chmod(perm)
	switch {
	case err == nil:
		w.have.Mode = have.Mode&sys.TypeMask | perm
	case (sys.NotPermitted(err) || sys.NotSupported(err)) && (uid == 0 || uid == have.UID):
		return nil // a file system without modes
	}
	return err
}

// filePerm is the mode a file is made with, before umask.
func (d *Dir) filePerm(m *meta.Meta) uint32 {
	if d.tree.Meta.Which&meta.Mode == 0 {
		if d.tree.Fresh {
			return 0o666
		}
		return m.Mode & 0o777
	}
	return d.safePerm(m, &d.tree.Meta)
}

// safePerm is the widest mode to create m's copy with. A default ACL may let in
// whom the source's ACL does not.
func (d *Dir) safePerm(m *meta.Meta, p *meta.Policy) uint32 {
	if d.acl {
		return meta.SafeCreatePerm(m, p, meta.Unknown, meta.Unknown)
	}
	return meta.SafeCreatePerm(m, p, d.tree.uid, d.group)
}

// inherit lets a file that is replaced by rename hand on what the source does
// not set: a copy into an existing file keeps that file's mode and owner.
func (w *Writer) inherit(d *Dir, name string, old *sys.Stat) error {
	const kept = meta.Mode | meta.Owner | meta.Group | meta.Xattrs | meta.ACL
	missing := kept &^ w.which.Which
	if missing == 0 {
		return nil
	}
	was := meta.Meta{Stat: *old}
	if err := w.Meta.Fill(meta.Object{Dir: d.Dir, Name: name}, missing, &was); err != nil {
		return err
	}
	w.merged = Merge(w.src, &was, missing)
	w.src = &w.merged
	w.which.Which |= missing
	return nil
}

// Merge is src, but with the parts named taken from old.
func Merge(src, old *meta.Meta, from meta.Mask) meta.Meta {
	m := *src
	if from&meta.Mode != 0 {
		m.Mode = m.Mode&sys.TypeMask | old.Mode&sys.PermMask
	}
	if from&meta.Owner != 0 {
		m.UID = old.UID
	}
	if from&meta.Group != 0 {
		m.GID = old.GID
	}
	m.Xattrs = nil
	for _, x := range src.Xattrs {
		if meta.PartOf(x.Name)&from == 0 {
			m.Xattrs = append(m.Xattrs, x)
		}
	}
	for _, x := range old.Xattrs {
		if meta.PartOf(x.Name)&from != 0 {
			m.Xattrs = append(m.Xattrs, x)
		}
	}
	return m
}

// Commit sets the metadata and makes the file final. The parts that this user
// may not set are returned.
func (w *Writer) Commit() (skipped meta.Mask, err error) {
	if w.apply == nil {
		w.apply = w.setMeta
	}
	w.skipped = 0
	err = w.File.Commit(w.apply)
	return w.skipped, err
}

func (w *Writer) setMeta(f *sys.File) error {
	var err error
	w.skipped, err = w.Meta.Apply(meta.Object{File: f}, w.src, &w.which, w.have)
	return err
}

// Touch sets the metadata of an entry whose content is right already and
// reports whether it differed.
func (d *Dir) Touch(s *Setter, name string, src *meta.Meta, have *meta.Meta) (changed bool, skipped meta.Mask, err error) {
	which := d.tree.Meta.Which
	if src.IsSymlink() {
		which &^= meta.Mode
	}
	differs := meta.Diff(src, have, which)
	if differs&^meta.Atime == 0 {
		return false, 0, nil // reading alone changes the time of access
	}
	if d.Dir == nil || d.tree.DryRun {
		return true, 0, nil
	}
	p := s.Policy
	p.Which = which & (meta.Dependent(differs) | meta.Mtime | meta.Atime)
	skipped, err = s.Apply(meta.Object{Dir: d.Dir, Name: name}, src, &p,
		meta.Have{UID: have.UID, GID: have.GID, Mode: have.Mode, Xattrs: true})
	if err == nil {
		err = d.changed(name, &have.Stat)
	}
	return skipped&differs != differs, skipped, err
}
