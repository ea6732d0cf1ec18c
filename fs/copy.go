// Package fs is a drop-in for github.com/containerd/continuity/fs, built on
// package haul: the same names and types, and results that differ only where the
// original's were wrong or unsafe. Changing the import path is all it takes.
//
// What differs: the times of directories survive a copy; hard links are known
// by device and inode; a failed close is an error; nothing is written through a
// symbolic link that stands inside a copy's target; a file or tree is never
// copied onto or into itself; an unchanged tree is told alike whether one or both
// of its times were cut to seconds, as continuity's documentation has it; and
// DiffDirChanges sees owners of directories, what opaque directories hide, and
// directories that took the place of files.
package fs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/gohaul/haul"
)

// CopyFileOpt is an option of CopyFile.
type CopyFileOpt func(*copyFileOpts) error

type copyFileOpts struct{ durability haul.Durability }

// WithFileSync has CopyFile return only when the copy is safe from a power cut.
func WithFileSync() CopyFileOpt {
	return func(o *copyFileOpts) error {
		o.durability = haul.SyncEach
		return nil
	}
}

// CopyFile copies the content of the source file to the target, by the cheapest
// means the two file systems allow; holes stay holes. A new target gets mode 0666
// before umask; one that exists keeps its inode, links, mode, owner and
// attributes, and holds a part of the copy after an error; a FIFO or a device is
// written to. Symbolic links are
// followed on both sides, on the target's also where they lead to nothing yet.
// A source that is the target is refused: see haul.ErrSameFile.
func CopyFile(target, source string, opts ...CopyFileOpt) error {
	var o copyFileOpts
	for _, opt := range opts {
		if err := opt(&o); err != nil {
			return err
		}
	}
	target, info := standing(target)
	switch {
	case info == nil || info.Mode().IsRegular():
	case info.IsDir():
		return &fs.PathError{Op: "open", Path: target, Err: syscall.EISDIR}
	default:
		return pour(target, source, info, o.durability)
	}
	return haul.CopyFile(context.Background(), target, source, &haul.Options{
		Preserve: haul.PreserveNothing, FreshMode: true, Compare: haul.CompareNever,
		InPlace: true, NoReplace: true, Contents: true, Durability: o.durability,
	})
}

// standing is what a path leads to, nil for nothing yet, and the path itself,
// or what a dangling symbolic link there leads to. Errors are left for the copy
// to find.
func standing(path string) (string, fs.FileInfo) {
	at := path
	for range maxLinks {
		info, err := os.Stat(at)
		if err == nil {
			return at, info
		}
		to, err := os.Readlink(at)
		if err != nil {
			return at, nil
		}
		if !filepath.IsAbs(to) {
			dir, _ := filepath.Split(at)
			to = dir + to // not Join: ".." may stand behind a link
		}
		at = to
	}
	return path, nil
}

// pour writes a file's content into what has no length to cut: a FIFO, a
// terminal, a device.
func pour(target, source string, info fs.FileInfo, d haul.Durability) error {
	src, err := os.Open(source)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(target, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err == nil && d != haul.NoSync && info.Mode().Type() == fs.ModeDevice {
		err = dst.Sync()
	}
	return errors.Join(err, dst.Close())
}

// XAttrErrorHandler transform a non-nil xattr error. Return nil to ignore an
// error. xattrKey can be empty for listxattr operation. Calls come one at a time.
type XAttrErrorHandler func(dst, src, xattrKey string, err error) error

// CopyDirOpt is an option of CopyDir.
type CopyDirOpt func(*copyDirOpts) error

type copyDirOpts struct {
	xattrError XAttrErrorHandler
	exclude    []string
	durability haul.Durability
}

// WithXAttrErrorHandler allows specifying XAttrErrorHandler. If nil
// XAttrErrorHandler is specified (default), CopyDir stops on a non-nil xattr
// error.
func WithXAttrErrorHandler(xeh XAttrErrorHandler) CopyDirOpt {
	return func(o *copyDirOpts) error {
		o.xattrError = xeh
		return nil
	}
}

// WithAllowXAttrErrors allows ignoring xattr errors.
func WithAllowXAttrErrors() CopyDirOpt {
	return WithXAttrErrorHandler(func(_, _, _ string, _ error) error { return nil })
}

// WithXAttrExclude allows for exclusion of specified xattr during CopyDir
// operation. Given more than once, all keys are excluded.
func WithXAttrExclude(keys ...string) CopyDirOpt {
	return func(o *copyDirOpts) error {
		o.exclude = append(o.exclude, keys...)
		return nil
	}
}

// WithCopyFileSync has CopyDir return only when the copied files are safe from a
// power cut. They are flushed together, by a few calls a file system and not one
// a file.
func WithCopyFileSync() CopyDirOpt {
	return func(o *copyDirOpts) error {
		o.durability = haul.SyncBatch
		return nil
	}
}

// WithCopyDirSync has CopyDir return only when files and directories are safe
// from a power cut: WithCopyFileSync does that already, since one flush takes
// both.
func WithCopyDirSync() CopyDirOpt { return WithCopyFileSync() }

// CopyDir copies the directory src, or the one a symbolic link src leads to, to
// dst, by the cheapest means the two file systems allow and several directories
// at a time. Modes, owners, times, hard links, extended attributes, ACLs and
// devices are taken over; an owner that cannot be set is an error. dst is made
// if it does not exist, in a directory that does.
//
// Of what stands in dst already, files get the new content and keep their inode
// and links, directories are merged, names that src lacks are left alone, and
// symbolic links, FIFOs, sockets and devices give way; attributes that src lacks
// stay. A directory and anything
// else do not replace each other: that is an error. The first error ends the
// copy; its cause is errors.Is and errors.As to be had.
func CopyDir(dst, src string, opts ...CopyDirOpt) error {
	var o copyDirOpts
	for _, opt := range opts {
		if err := opt(&o); err != nil {
			return err
		}
	}
	var turn sync.Mutex
	return haul.CopyDir(context.Background(), dst, src, &haul.Options{
		Compare: haul.CompareNever, InPlace: true, NoReplace: true, Durability: o.durability,
		Require: haul.PreserveOwner | haul.PreserveGroup, SkipXattrs: o.exclude, KeepXattrs: true,
		OnXattr: func(dst, src, attr string, err error) error {
			err = &fs.PathError{Op: strings.TrimSpace("copy xattr " + attr), Path: dst, Err: err}
			if o.xattrError == nil {
				return err
			}
			turn.Lock()
			defer turn.Unlock()
			return o.xattrError(dst, src, attr, err)
		},
	})
}
