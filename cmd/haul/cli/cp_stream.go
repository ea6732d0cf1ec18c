package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	haul "github.com/gohaul/haul"
)

// nonblock opens a FIFO or a device without waiting for its other end.
const nonblock = syscall.O_NONBLOCK

// streams reports whether a source is copied as a stream of bytes here and not
// by a job: what waits for a writer, and what is written into a device, a FIFO
// or the like rather than put in its place.
func (c *copier) streams(t target, st os.FileInfo) bool {
	if st.IsDir() || st.Mode()&fs.ModeSymlink != 0 || c.Form != haul.FormCopy {
		return false
	}
	if c.Contents && st.Mode()&fs.ModeNamedPipe != 0 {
		return true
	}
	if c.Remove || c.Backup != haul.BackupNone || c.Update == haul.UpdateNone || c.Update == haul.UpdateNoneFail {
		return false
	}
	old, err := os.Stat(t.dst)
	if err != nil || old.Mode().IsRegular() || old.IsDir() {
		return false
	}
	return st.Mode().IsRegular() || c.Contents
}

func (c *copier) stream(t target, st os.FileInfo) {
	if c.ask && c.exists(t.dst) && !c.confirm(t.dst) {
		return
	}
	action := haul.Made
	if c.exists(t.dst) {
		action = haul.Updated
	}
	if c.OnItem != nil { // first, since it may take for ever
		c.OnItem(haul.Item{Action: action, Source: t.src, Target: t.dst, Mode: unixMode(st.Mode()), Size: st.Size()})
	}
	if !c.DryRun {
		if err := c.pour(t, st); err != nil {
			if c.ctx.Err() == nil {
				c.Counters.Failed.Add(1)
				c.pairs = append(c.pairs[:0], t.pair())
				c.fail(t.src, err)
				c.pairs = c.pairs[:0]
			}
			return
		}
	}
	c.Counters.Files.Add(1)
}

func (c *copier) exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// pour copies bytes from one to the other. It may wait for as long as it likes
// for the other end of a FIFO; a signal ends that.
func (c *copier) pour(t target, st os.FileInfo) error {
	src, err := openWaiting(c.ctx, t.src, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer src.Close()
	in := &input{ctx: c.ctx, in: src, want: -1}
	old, err := os.Stat(t.dst)
	if err == nil && !old.Mode().IsRegular() && !c.Remove && c.Backup == haul.BackupNone {
		return c.pourInto(t.dst, in)
	}
	if err := c.makeRoom(t.dst); err != nil {
		return err
	}
	o := c.Options
	if !c.exists(t.dst) || c.Preserve&haul.PreserveMode != 0 {
		o.Perm = c.streamPerm(st.Mode().Perm())
	}
	p, err := haul.Create(t.dst, 0, &o)
	if err != nil {
		return err
	}
	if err := c.count(p.ReadFrom(in)); err != nil {
		return errors.Join(err, p.Abort())
	}
	if err := p.Commit(); err != nil || c.Preserve&haul.PreserveMtime == 0 {
		return err
	}
	return os.Chtimes(t.dst, st.ModTime(), st.ModTime())
}

// makeRoom sets aside or removes what stands at the target, if that was asked for.
func (c *copier) makeRoom(dst string) error {
	if !c.exists(dst) {
		return nil
	}
	switch {
	case c.Backup != haul.BackupNone:
		return os.Rename(dst, backupName(dst, c.Backup, c.Suffix))
	case c.Remove:
		return os.Remove(dst)
	}
	return nil
}

// streamPerm is the mode of a new file that a stream goes into: 0 is as usual.
func (c *copier) streamPerm(perm os.FileMode) os.FileMode {
	switch {
	case c.Preserve&haul.PreserveMode != 0:
		return perm
	case c.FreshMode:
		return 0
	}
	return perm &^ os.FileMode(c.umask())
}

func (c *copier) count(n int64, err error) error {
	c.Counters.Bytes.Add(n)
	c.Counters.Copied.Add(n)
	return err
}

// pourInto writes into what is no regular file and stays where it is.
func (c *copier) pourInto(dst string, src io.Reader) error {
	f, err := openWaiting(c.ctx, dst, os.O_WRONLY)
	if err != nil {
		return err
	}
	err = c.count(io.CopyBuffer(struct{ io.Writer }{f}, src, make([]byte, 256<<10)))
	return errors.Join(err, f.Close())
}

// openWaiting opens a file, however long that takes, until the context ends.
func openWaiting(ctx context.Context, path string, flags int) (*os.File, error) {
	type opened struct {
		f   *os.File
		err error
	}
	done := make(chan opened, 1)
	go func() {
		f, err := os.OpenFile(path, flags, 0)
		done <- opened{f, err}
	}()
	select {
	case o := <-done:
		return o.f, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx) // the open ends with the process
	}
}
