package dest

import (
	"github.com/gohaul/haul/internal/outfile"
	"github.com/gohaul/haul/internal/sys"
)

const syncEach = outfile.SyncEach

// volumes knows the file systems that Close flushes; nil for none.
func (t *Tree) volumes() *outfile.Batch {
	if t.Write.Batch != nil {
		return t.Write.Batch
	}
	return t.standing
}

// note tells the batch that this directory's file system has work to flush.
func (d *Dir) note() error {
	if d.tree.Write.Batch == nil {
		return nil
	}
	return d.flushLater()
}

func (d *Dir) flushLater() error {
	b := d.tree.volumes()
	if b == nil || d.noted.Load() {
		return nil
	}
	err := b.Touch(d.Dir)
	if err == nil {
		d.noted.Store(true)
	}
	return err
}

// entered is note, but makes an entry just made or renamed durable at once
// under SyncEach.
func (d *Dir) entered() error {
	if d.tree.Write.Durability == syncEach {
		return d.With(func(f *sys.File) error { return f.Sync() })
	}
	return d.note()
}

// Standing says that an entry was found right and left alone. It may be so
// because of a run that was killed before its last flush: what Close promises is
// promised for it too.
func (d *Dir) Standing() error {
	if d.idle() {
		return nil
	}
	return d.flushLater()
}

// changed makes new metadata of an entry durable, by the policy. What cannot be
// opened, as a symbolic link, waits for Close.
func (d *Dir) changed(name string, st *sys.Stat) error {
	if d.tree.Write.Durability != syncEach || !st.IsRegular() {
		return d.flushLater()
	}
	var f sys.File
	err := d.Open(&f, name, sys.ReadOnly, 0)
	if sys.NotPermitted(err) {
		err = d.Open(&f, name, sys.WriteOnly, 0)
	}
	if sys.NotPermitted(err) {
		return d.flushLater()
	}
	if err != nil {
		return err
	}
	err = f.Sync()
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
