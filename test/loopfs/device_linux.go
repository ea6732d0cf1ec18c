package loopfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// attach binds image to a free loop device and gives the device open. It clears
// itself when its last user closes it. Another process may take the free number
// first; then the next is tried.
func attach(image string) (dev *os.File, err error) {
	back, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer back.Close()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return nil, fmt.Errorf("no loop devices (modprobe loop): %w", err)
	}
	if err != nil {
		return nil, err
	}
	defer control.Close()
	retry(func() bool {
		var again bool
		dev, again, err = attachOnce(control, back)
		return !again
	})
	if err != nil {
		return nil, fmt.Errorf("loop device: %w", err)
	}
	return dev, nil
}

// attachOnce says again if another process was quicker.
func attachOnce(control, back *os.File) (dev *os.File, again bool, err error) {
	n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
	if err != nil {
		return nil, err == unix.EAGAIN || err == unix.EBUSY, err
	}
	name := fmt.Sprintf("/dev/loop%d", n)
	dev, err = os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		// A /dev that the kernel does not fill, as in containers. Loop's major is 7.
		if err = unix.Mknod(name, unix.S_IFBLK|0o660, int(unix.Mkdev(7, uint32(n)))); err == nil || err == unix.EEXIST {
			dev, err = os.OpenFile(name, os.O_RDWR, 0)
		}
	}
	if err != nil {
		return nil, errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EBUSY), err
	}
	c := unix.LoopConfig{Fd: uint32(back.Fd())}
	c.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
	copy(c.Info.File_name[:len(c.Info.File_name)-1], back.Name())
	if err := unix.IoctlLoopConfigure(int(dev.Fd()), &c); err != nil {
		_ = dev.Close()
		return nil, err == unix.EBUSY || err == unix.EAGAIN || err == unix.ENXIO, err
	}
	return dev, false, nil
}

// waitDetached waits until the device no longer holds the image, and forces it
// off if it does so for too long.
func waitDetached(device, image string) error {
	file := filepath.Join("/sys/block", filepath.Base(device), "loop/backing_file")
	gone := func() bool {
		held, err := os.ReadFile(file)
		return err != nil || strings.TrimSpace(string(held)) != image
	}
	if retry(gone) {
		return nil
	}
	dev, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer dev.Close()
	if err := unix.IoctlSetInt(int(dev.Fd()), unix.LOOP_CLR_FD, 0); err != nil {
		return &os.PathError{Op: "detach", Path: device, Err: err}
	}
	return nil
}
