// Package haul copies, syncs and writes files as fast as the kernel allows and
// as safely as the caller asks.
//
// CopyDir and CopyFile make a copy like its source; WriteFile and ReplaceFile
// write bytes; Create streams them. All take the same policies: what is sparse,
// what is shared, what is durable. Errors are *fs.PathError and *os.LinkError,
// which name the operation and the path; a job that went on after errors ends
// in one *PartialError.
package haul

import (
	"context"
	"io/fs"

	"github.com/gohaul/haul/internal/dest"
	"github.com/gohaul/haul/internal/local"
	"github.com/gohaul/haul/internal/outfile"
	"github.com/gohaul/haul/internal/sys"
)

// PartialError says that a job went on after errors: how many entries failed,
// and the first error. OnError decided so.
type PartialError = local.PartialError

// LeftError says in what state a failure left a file that was being changed
// where it stands.
type LeftError = outfile.LeftError

// What is wrong with an entry, as errors.Is finds it in the errors of a copy.
var (
	ErrSameFile    = local.ErrSameFile    // source and target are one file
	ErrIntoItself  = local.ErrIntoItself  // a directory into itself; nothing was touched
	ErrDeleteSelf  = local.ErrDeleteSelf  // Delete would remove the source; nothing was touched
	ErrDeleteOther = local.ErrDeleteOther // Delete would remove what another source brings; nothing was touched
	ErrDangling    = local.ErrDangling    // the target is a symbolic link into nowhere
	ErrExists      = local.ErrExists      // the target exists, and UpdateNoneFail forbids that
	ErrDirOver     = local.ErrDirOver     // a directory over something else, with NoReplace
	ErrOverDir     = local.ErrOverDir     // something else over a directory, with NoReplace or without Delete
	ErrOwnBackup   = dest.ErrOwnBackup    // the backup of the target would replace the source
	ErrNoWriter    = local.ErrNoWriter    // a FIFO that nobody writes to
	ErrLoop        = local.ErrLoop        // followed links make a loop of directories
	ErrChanging    = local.ErrChanging    // the source was exchanged while it was looked at
	ErrDiffers     = local.ErrDiffers     // Verify found the copy to differ
	ErrShrank      = sys.ErrShrank        // the source became shorter while it was read
)

// CopyFile makes dst a copy of the file src. A file that stands at dst is
// replaced by rename, so that no reader ever sees a part of the copy, unless
// o.InPlace says otherwise. Symbolic links are followed on both sides. A src
// that is a directory is an error, and so is a dst that is anything but a file.
func CopyFile(ctx context.Context, dst, src string, o *Options) error {
	var st sys.Stat
	if err := sys.StatPath(src, true, &st); err != nil {
		return err
	}
	if st.IsDir() {
		return &fs.PathError{Op: "copy", Path: src, Err: sys.ErrIsDir}
	}
	if err := sys.StatPath(dst, true, &st); err == nil && st.IsDir() {
		return &fs.PathError{Op: "copy", Path: dst, Err: sys.ErrIsDir}
	} else if err == nil && !st.IsRegular() {
		return &fs.PathError{Op: "copy", Path: dst, Err: errNotRegular}
	}
	j, err := o.job()
	if err != nil {
		return err
	}
	j.Pairs = []Pair{{Src: src, Dst: dst}}
	j.Follow = FollowArguments
	return local.Run(ctx, j)
}

// CopyDir makes the directory dst like the directory src: made if it is not
// there, else what it has already is left alone where o.Compare finds it alike.
// With o.Delete what src lacks is removed, which makes it a sync. Only then a
// directory that is not empty gives way to something else of its name.
func CopyDir(ctx context.Context, dst, src string, o *Options) error {
	var st sys.Stat
	if err := sys.StatPath(src, true, &st); err != nil {
		return err
	}
	if !st.IsDir() {
		return &fs.PathError{Op: "copy", Path: src, Err: sys.ErrNotDir}
	}
	j, err := o.job()
	if err != nil {
		return err
	}
	j.Pairs = []Pair{{Src: src, Dst: dst}}
	if j.Follow == FollowNever {
		j.Follow = FollowArguments
	}
	return local.Run(ctx, j)
}

// Copy makes several copies as one job: hard links among all sources are kept,
// errors end in one *PartialError. Each pair gives a source, file or directory,
// and the name its copy gets.
func Copy(ctx context.Context, pairs []Pair, o *Options) error {
	j, err := o.job()
	if err != nil {
		return err
	}
	j.Pairs = pairs
	return local.Run(ctx, j)
}

// WriteFile writes data to the named file, as os.WriteFile does: it creates the
// file with mode perm (before umask) if there is none, follows symbolic links,
// and keeps the inode, links and mode of a file that exists. Unlike os.WriteFile
// it does not truncate first: it writes, then cuts what is left of a longer old
// file, which is many times faster on most file systems. After an error the file
// may hold a part of data, never more than was written.
func WriteFile(name string, data []byte, perm fs.FileMode) error {
	return outfile.Overwrite(name, data, sys.Perm(perm), &outfile.Policy{})
}

// ReplaceFile gives the named file the content data and the permissions perm (before
// umask) in one step: readers see the old file or the new one, never a mix, also
// after a crash if d asks for durability. A symbolic link is followed; what it
// leads to is replaced. Other names (hard links) of an old file keep the old content.
func ReplaceFile(name string, data []byte, perm fs.FileMode, d Durability) error {
	p, err := create(name, int64(len(data)), sys.TypeRegular|sys.Perm(perm), &Options{Durability: d})
	if err != nil {
		return err
	}
	defer p.Abort()
	if _, err := p.Write(data); err != nil {
		return err
	}
	return p.Commit()
}
