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
	n := int64(0)
	if !c.DryRun {
		var err error
		if n, err = c.pour(t, st); err != nil {
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
	if c.OnItem != nil {
		c.OnItem(haul.Item{Action: action, Source: t.src, Target: t.dst, Mode: unixMode(st.Mode()), Size: n})
	}
}

func (c *copier) exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// pour copies bytes from one to the other. It may wait for as long as it likes
// for the other end of a FIFO; a signal ends that.
func (c *copier) pour(t target, st os.FileInfo) (int64, error) {
	src, err := openWaiting(c.ctx, t.src, os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	stop := context.AfterFunc(c.ctx, func() { src.Close() })
	defer stop()
	old, err := os.Stat(t.dst)
	if err == nil && !old.Mode().IsRegular() && !c.Remove && c.Backup == haul.BackupNone {
		return c.pourInto(t.dst, src)
	}
	if c.Backup != haul.BackupNone && c.exists(t.dst) {
		if err := os.Rename(t.dst, backupName(t.dst, c.Backup, c.Suffix)); err != nil {
			return 0, err
		}
	}
	if c.Remove {
		if err := os.Remove(t.dst); err != nil && !os.IsNotExist(err) {
			return 0, err
		}
	}
	o := c.Options
	p, err := haul.Create(t.dst, 0, &o)
	if err != nil {
		return 0, err
	}
	n, err := p.ReadFrom(src)
	if err != nil {
		return n, errors.Join(err, p.Abort())
	}
	c.Counters.Bytes.Add(n)
	return n, p.Commit()
}

// pourInto writes into what is no regular file and stays where it is.
func (c *copier) pourInto(dst string, src io.Reader) (int64, error) {
	f, err := openWaiting(c.ctx, dst, os.O_WRONLY)
	if err != nil {
		return 0, err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{src}, make([]byte, 256<<10))
	c.Counters.Bytes.Add(n)
	return n, errors.Join(err, f.Close())
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
