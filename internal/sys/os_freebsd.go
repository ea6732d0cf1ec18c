package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// lseek's words for data and holes, which differ from system to system.
const (
	seekData = 3
	seekHole = 4
)

func makeNode(path string, mode uint32, rdev uint64) error { return unix.Mknod(path, mode, rdev) }

func space(f *os.File) (Space, error) {
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &s); err != nil {
		return Space{}, err
	}
	return Space{
		Magic: int64(s.Type), BlockSize: int64(s.Bsize), NameMax: int64(s.Namemax),
		Blocks: s.Blocks, Free: s.Bfree, Avail: uint64(max(s.Bavail, 0)), Files: s.Files, FreeFiles: uint64(max(s.Ffree, 0)),
	}, nil
}

// errNoXattr is what asking for an attribute that is not there gives.
const errNoXattr = unix.ENOATTR
