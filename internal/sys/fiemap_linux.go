//go:build !portable

package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// fsIocFiemap is FS_IOC_FIEMAP, the same on every architecture that numbers
// ioctls as x86 does; see Documentation/filesystems/fiemap.rst.
const fsIocFiemap = 0xc020660b

type fiemapHead struct {
	start, length                  uint64
	flags, mapped, count, reserved uint32
}

type fiemapExtent struct {
	logical, physical, length uint64
	_                         [2]uint64
	flags                     uint32
	_                         [3]uint32
}

const fiemapSync = 1 // blocks that are not allocated yet are written first

// Fiemap appends the next segments at or behind off to list, as many as one
// call gives; it appends none only at the end. Holes are in no segment. What is
// not allocated yet is written first. The error is a *fs.PathError around the
// errno: see NotSupported.
func (f *File) Fiemap(off int64, list []Segment) ([]Segment, error) {
	var req struct {
		fiemapHead
		extents [128]fiemapExtent
	}
	err := f.do("extents", "fiemap", func(fd int) error {
		req.fiemapHead = fiemapHead{start: uint64(off), length: ^uint64(0) - uint64(off), flags: fiemapSync, count: uint32(len(req.extents))}
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), fsIocFiemap, uintptr(unsafe.Pointer(&req)))
		return errnoOf(e)
	})
	if err != nil {
		return list, err
	}
	for _, x := range req.extents[:min(int(req.mapped), len(req.extents))] {
		list = append(list, Segment{Off: int64(x.logical), Len: int64(x.length), Physical: int64(x.physical), Flags: SegmentFlags(x.flags)})
	}
	return list, nil
}
