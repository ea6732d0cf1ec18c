// Command program does one thing with the package fs and prints what came of
// it. The test compiles this very file twice, with continuity's import path and
// with haul's, and compares what the two print and leave behind.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/continuity/fs"
)

// Every name, held to its type: a program that uses them in any way compiles.
var (
	_ func(string, string) error                                                = copyFile
	_ func(string, string, ...fs.CopyDirOpt) error                              = fs.CopyDir
	_ func() fs.CopyDirOpt                                                      = fs.WithAllowXAttrErrors
	_ func(fs.XAttrErrorHandler) fs.CopyDirOpt                                  = fs.WithXAttrErrorHandler
	_ func(...string) fs.CopyDirOpt                                             = fs.WithXAttrExclude
	_ fs.XAttrErrorHandler                                                      = func(dst, src, key string, err error) error { return err }
	_ func(context.Context, string, string, fs.ChangeFunc) error                = fs.Changes
	_ func(context.Context, string, string, fs.DiffSource, fs.ChangeFunc) error = fs.DiffDirChanges
	_ fs.ChangeFunc                                                             = func(fs.ChangeKind, string, os.FileInfo, error) error { return nil }
	_ fs.ChangeKind                                                             = fs.ChangeKindUnmodified + fs.ChangeKindAdd + fs.ChangeKindModify + fs.ChangeKindDelete
	_ int                                                                       = fs.ChangeKindUnmodified + fs.ChangeKindAdd + fs.ChangeKindModify + fs.ChangeKindDelete
	_ fs.DiffSource                                                             = fs.DiffSourceOverlayFS
	_ func(context.Context, ...string) (fs.Usage, error)                        = fs.DiskUsage
	_ func(context.Context, string, string) (fs.Usage, error)                   = fs.DiffUsage
	_ func(string, string) (string, error)                                      = fs.RootPath
	_ func(os.FileInfo) (uint64, bool)                                          = fs.GetLinkInfo
	_ func(string) (bool, error)                                                = fs.SupportsDType
	_ func(string) (fs.Magic, error)                                            = fs.GetMagic
	_ map[fs.Magic]string                                                       = fs.FsNames
	_ func(os.FileInfo) (time.Time, error)                                      = fs.Atime
	_ func(os.FileInfo) (time.Time, error)                                      = fs.Mtime
	_ func(os.FileInfo) (time.Time, error)                                      = fs.Ctime
	_ func(*syscall.Stat_t) syscall.Timespec                                    = fs.StatAtime
	_ func(*syscall.Stat_t) syscall.Timespec                                    = fs.StatMtime
	_ func(*syscall.Stat_t) syscall.Timespec                                    = fs.StatCtime
	_ func(*syscall.Stat_t) time.Time                                           = fs.StatATimeAsTime
	_                                                                           = fs.Change{Kind: fs.ChangeKindAdd, Path: "/a"}
	_                                                                           = fs.Usage{Inodes: 1, Size: 2}
)

var magics = []fs.Magic{
	fs.MagicAufs, fs.MagicBtrfs, fs.MagicCramfs, fs.MagicEcryptfs, fs.MagicExtfs, fs.MagicF2fs, fs.MagicGPFS,
	fs.MagicJffs2Fs, fs.MagicJfs, fs.MagicNfsFs, fs.MagicRAMFs, fs.MagicReiserFs, fs.MagicSmbFs, fs.MagicSquashFs,
	fs.MagicTmpFs, fs.MagicVxFS, fs.MagicXfs, fs.MagicZfs, fs.MagicOverlay, fs.MagicUnsupported,
}

// copyFile calls with two arguments, as programs do, whatever else it may take.
func copyFile(target, source string) error { return fs.CopyFile(target, source) }

func main() {
	verb, args := os.Args[1], os.Args[2:]
	run, known := verbs[verb]
	if !known {
		fmt.Println("unknown verb", verb)
		os.Exit(2)
	}
	if err := run(args); err != nil {
		fmt.Println("error", kind(err))
		fmt.Fprintln(os.Stderr, err)
	}
}

var verbs = map[string]func(args []string) error{
	"copyfile": func(a []string) error { return copyFile(a[0], a[1]) },
	"copydir":  func(a []string) error { return fs.CopyDir(a[0], a[1], options(a[2:])...) },
	"changes":  func(a []string) error { return fs.Changes(ctx(), a[0], a[1], tell(a[2:])) },
	"overlay": func(a []string) error {
		return fs.DiffDirChanges(ctx(), a[0], a[1], fs.DiffSourceOverlayFS, tell(a[2:]))
	},
	"diskusage": func(a []string) error { return usage(fs.DiskUsage(ctx(), a...)) },
	"diffusage": func(a []string) error { return usage(fs.DiffUsage(ctx(), a[0], a[1])) },
	"rootpath":  rootPath,
	"info":      info,
	"fs":        fileSystem,
	"names":     names,
}

func ctx() context.Context { return context.Background() }

// options reads handler words: "allow", "exclude=NAME", "skip" (a handler that
// tells and goes on), "stop" (one that tells and stops).
func options(words []string) (opts []fs.CopyDirOpt) {
	for _, w := range words {
		name, isExclude := strings.CutPrefix(w, "exclude=")
		switch {
		case isExclude:
			opts = append(opts, fs.WithXAttrExclude(strings.Split(name, ",")...))
		case w == "allow":
			opts = append(opts, fs.WithAllowXAttrErrors())
		case w == "nil":
			opts = append(opts, fs.WithXAttrErrorHandler(nil))
		default:
			opts = append(opts, fs.WithXAttrErrorHandler(func(dst, src, key string, err error) error {
				fmt.Printf("xattr %s %s %q: %s\n", filepath.Base(dst), filepath.Base(src), key, kind(err))
				if w == "stop" {
					return fmt.Errorf("stopped: %w", err)
				}
				return nil
			}))
		}
	}
	return opts
}

// tell prints each change; with an argument it stops at that path.
func tell(stop []string) fs.ChangeFunc {
	return func(k fs.ChangeKind, path string, fi os.FileInfo, err error) error {
		if err != nil {
			fmt.Println("change with error", kind(err))
			return err
		}
		about := "no info"
		if fi != nil {
			about = fmt.Sprintf("%v %s", fi.Mode(), fi.Name())
		}
		fmt.Printf("%v %s (%s)\n", k, path, about)
		if len(stop) > 0 && stop[0] == path {
			return errors.New("enough")
		}
		return nil
	}
}

func usage(u fs.Usage, err error) error {
	fmt.Println(u.Inodes, "inodes", u.Size, "bytes")
	return err
}

// rootPath answers for a root and any number of paths, a line each.
func rootPath(a []string) error {
	for _, path := range a[1:] {
		p, err := fs.RootPath(a[0], path)
		if err != nil {
			p = "error"
		}
		fmt.Printf("%q %s\n", path, p)
	}
	return nil
}

func info(a []string) error {
	ids := map[uint64]int{}
	for _, name := range a {
		fi, err := os.Lstat(name)
		if err != nil {
			return err
		}
		id, linked := fs.GetLinkInfo(fi)
		if _, seen := ids[id]; !seen && id != 0 {
			ids[id] = len(ids) + 1
		}
		at, aerr := fs.Atime(fi)
		mt, merr := fs.Mtime(fi)
		ct, cerr := fs.Ctime(fi)
		fmt.Println(filepath.Base(name), linked, ids[id], at.UTC(), aerr, mt.UTC(), merr, ct.UTC(), cerr)
		st := fi.Sys().(*syscall.Stat_t)
		fmt.Println(fs.StatAtime(st), fs.StatMtime(st), fs.StatCtime(st), fs.StatATimeAsTime(st).UTC())
	}
	return nil
}

func fileSystem(a []string) error {
	magic, err := fs.GetMagic(a[0])
	fmt.Printf("%#x %s\n", uint32(magic), fs.FsNames[magic])
	if err != nil {
		return err
	}
	ok, err := fs.SupportsDType(a[0])
	fmt.Println("d_type", ok)
	return err
}

func names([]string) error {
	for _, m := range magics {
		name, known := fs.FsNames[m]
		fmt.Printf("%#x %q %v\n", uint32(m), name, known)
	}
	fmt.Println(len(fs.FsNames))
	for k := fs.ChangeKind(-1); k < 6; k++ {
		fmt.Printf("%d %s\n", int(k), k)
	}
	return nil
}

// kind is the part of an error that a program can test for; texts may differ.
func kind(err error) string {
	var e syscall.Errno
	switch {
	case errors.As(err, &e):
		return fmt.Sprintf("errno %d", int(e))
	case errors.Is(err, os.ErrNotExist):
		return "not exist"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return "other"
}
