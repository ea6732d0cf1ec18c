package fs

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/internal/tree"
)

// Magic unsigned id of the filesystem in use.
type Magic uint32

// The ids of file systems, as statfs(2) gives them on Linux.
const (
	MagicUnsupported = Magic(0x00000000) // no id of any file system

	MagicAufs     = Magic(0x61756673)
	MagicBtrfs    = Magic(0x9123683E)
	MagicCramfs   = Magic(0x28cd3d45)
	MagicEcryptfs = Magic(0xf15f)
	MagicExtfs    = Magic(0x0000EF53) // ext2, ext3 and ext4
	MagicF2fs     = Magic(0xF2F52010)
	MagicGPFS     = Magic(0x47504653)
	MagicJffs2Fs  = Magic(0x000072b6)
	MagicJfs      = Magic(0x3153464a)
	MagicNfsFs    = Magic(0x00006969)
	MagicOverlay  = Magic(0x794C7630)
	MagicRAMFs    = Magic(0x858458f6)
	MagicReiserFs = Magic(0x52654973)
	MagicSmbFs    = Magic(0x0000517B)
	MagicSquashFs = Magic(0x73717368)
	MagicTmpFs    = Magic(0x01021994)
	MagicVxFS     = Magic(0xa501fcf5)
	MagicXfs      = Magic(0x58465342)
	MagicZfs      = Magic(0x2fc12fc1)
)

// FsNames maps filesystem id to name of the filesystem.
var FsNames = map[Magic]string{
	MagicAufs:        "aufs",
	MagicBtrfs:       "btrfs",
	MagicCramfs:      "cramfs",
	MagicExtfs:       "extfs",
	MagicF2fs:        "f2fs",
	MagicGPFS:        "gpfs",
	MagicJffs2Fs:     "jffs2",
	MagicJfs:         "jfs",
	MagicNfsFs:       "nfs",
	MagicOverlay:     "overlayfs",
	MagicRAMFs:       "ramfs",
	MagicReiserFs:    "reiserfs",
	MagicSmbFs:       "smb",
	MagicSquashFs:    "squashfs",
	MagicTmpFs:       "tmpfs",
	MagicUnsupported: "unsupported",
	MagicVxFS:        "vxfs",
	MagicXfs:         "xfs",
	MagicZfs:         "zfs",
}

// GetMagic returns the id of the file system that rootpath stands on. If there
// is no rootpath, or this user may not open it, it is that of the directory
// where rootpath stands or would be made. Only Linux tells.
func GetMagic(rootpath string) (Magic, error) {
	magic, err := magicOf(rootpath)
	if err != nil {
		magic, err = magicOf(filepath.Dir(rootpath))
	}
	return magic, err
}

func magicOf(path string) (Magic, error) {
	var f sys.File
	if err := sys.OpenPath(&f, path, sys.ReadOnly|sys.NonBlock, 0); err != nil {
		return MagicUnsupported, err
	}
	space, err := f.Space()
	return Magic(space.Magic), errors.Join(err, f.Close())
}

// SupportsDType returns whether the filesystem mounted on path supports d_type:
// whether a directory tells the types of its entries, which overlayfs needs of
// what it stands on. In an empty directory a file is made for the answer and
// removed again.
func SupportsDType(path string) (bool, error) {
	d, err := sys.OpenRoot(path)
	if err != nil {
		return false, err
	}
	list, err := d.Read(make([]byte, tree.BatchSize), nil)
	if err == nil && len(list) == 0 {
		list, err = readProbe(d)
	}
	untyped := slices.ContainsFunc(list, func(e sys.Dirent) bool { return e.Type == 0 })
	return err == nil && !untyped, errors.Join(err, d.Close())
}

// readProbe reads an empty directory while it has an entry.
func readProbe(d *sys.Dir) ([]sys.Dirent, error) {
	const name = ".haul-dtype"
	var f sys.File
	if err := d.Open(&f, name, sys.WriteOnly|sys.CreateAny, 0o600); err != nil {
		return nil, err
	}
	err := errors.Join(f.Close(), d.Rewind())
	var list []sys.Dirent
	if err == nil {
		list, err = d.Read(make([]byte, tree.BatchSize), nil)
	}
	if e := d.Remove(name); !sys.IsNotExist(e) { // another probe may have been faster
		err = errors.Join(err, e)
	}
	return list, err
}
