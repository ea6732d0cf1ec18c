//go:build !linux

package loopfs

import (
	"errors"
	"fmt"
)

var errLinux = fmt.Errorf("needs Linux; elsewhere run go test -short: %w", errors.ErrUnsupported)

type room struct{}

func open(c *config, size int64) (*FS, error) { return nil, errLinux }

// Close unmounts the file system and frees what it used.
func (f *FS) Close() error { return errLinux }

// Snapshot clones the image as it is at this moment and mounts the clone.
func (f *FS) Snapshot() (*FS, error) { return nil, errLinux }

// Remount changes the mount options: "ro", "rw,noatime".
func (f *FS) Remount(options string) error { return errLinux }

// SetQuota limits a btrfs to so many bytes.
func (f *FS) SetQuota(bytes int64) error { return errLinux }
