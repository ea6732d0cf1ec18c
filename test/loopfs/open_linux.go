package loopfs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// open makes the room, the image, the file system and the mount, and takes them
// down again if one fails.
func open(c *config, size int64) (_ *FS, err error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("needs root: run as root, or go test -short")
	}
	mkfs, err := findMkfs(c.kind)
	if err != nil {
		return nil, err
	}
	if c.clone && c.kind == "tmpfs" {
		return nil, errors.New("has no image to clone")
	}
	f := &FS{Kind: c.kind, mount: c.mount, cached: c.cache}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if c.clone {
		// Room for the image, what the clones unshare, and the log.
		var below []Option
		if c.cache {
			below = append(below, Cloneable())
		}
		if f.host, err = Open("xfs", 4*size+(1<<30), below...); err != nil {
			return nil, err
		}
		f.room = f.host.room
		f.Image = filepath.Join(f.host.Dir, "image")
	} else {
		if f.room, err = openRoom(); err != nil {
			return nil, err
		}
		f.Image = filepath.Join(f.room.dir, "image")
	}
	if c.kind == "tmpfs" {
		f.Image = ""
		f.mount = append([]string{fmt.Sprintf("size=%d", size), "mode=0755"}, f.mount...)
		return f, f.attachAt("fs")
	}
	if err := makeImage(f.Image, size); err != nil {
		return nil, err
	}
	args := append(mkfsArgs[c.kind], c.mkfs...)
	if out, err := exec.Command(mkfs, append(args[:len(args):len(args)], f.Image)...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", filepath.Base(mkfs), strings.Join(args, " "), err, out)
	}
	name := "fs"
	if c.clone {
		name = "guest" // "fs" is its host
	}
	if c.cache {
		name = "cached" // and "guest" is its host
	}
	if err := f.attachAt(name); err != nil {
		return nil, err
	}
	return f, f.empty()
}

var mkfsArgs = map[string][]string{
	// No background work of the kernel's: it would disturb what is measured.
	"ext4":  {"-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"},
	"xfs":   {"-q", "-f"},
	"btrfs": {"-q", "-f"},
}

func findMkfs(kind string) (string, error) {
	debian := map[string]string{"ext4": "e2fsprogs", "xfs": "xfsprogs", "btrfs": "btrfs-progs"}[kind]
	if debian == "" {
		return "", nil
	}
	return find("mkfs."+kind, debian)
}

// find looks in the system directories too, which a user's PATH often lacks.
func find(tool, debian string) (string, error) {
	for _, dir := range []string{"", "/usr/sbin", "/sbin", "/usr/local/sbin"} {
		if p, err := exec.LookPath(filepath.Join(dir, tool)); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("%s not found: install %s, or go test -short", tool, debian)
}

func makeImage(name string, size int64) error {
	w, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(w.Truncate(size), w.Close())
}

// attachAt gives the image a loop device, if there is one, and mounts it at name
// in the room. The device frees itself with its last user, the mount.
func (f *FS) attachAt(name string) error {
	dir := filepath.Join(f.room.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	f.Dir = dir
	source := f.Kind
	if f.Image != "" {
		dev, err := attach(f.Image)
		if err != nil {
			return err
		}
		defer dev.Close()
		f.Device = dev.Name()
		source = f.Device
	}
	flags, data := mountFlags(f.mount)
	err := unix.Mount(source, dir, f.Kind, flags, data)
	if err == unix.ENODEV {
		return fmt.Errorf("mount: the kernel has no %s: modprobe %s", f.Kind, f.Kind)
	}
	if err != nil {
		return fmt.Errorf("mount -o %s: %w", strings.Join(f.mount, ","), err)
	}
	return nil
}

// empty makes all kinds look alike: ext4's lost+found goes, fsck makes its own.
func (f *FS) empty() error {
	return errors.Join(remove(filepath.Join(f.Dir, "lost+found")), os.Chmod(f.Dir, 0o755))
}

// generic are the mount options that are flags of the call, not the file system's.
var generic = map[string]uintptr{
	"ro": unix.MS_RDONLY, "nosuid": unix.MS_NOSUID, "nodev": unix.MS_NODEV, "noexec": unix.MS_NOEXEC,
	"sync": unix.MS_SYNCHRONOUS, "dirsync": unix.MS_DIRSYNC, "noatime": unix.MS_NOATIME,
	"nodiratime": unix.MS_NODIRATIME, "relatime": unix.MS_RELATIME, "strictatime": unix.MS_STRICTATIME,
	"lazytime": unix.MS_LAZYTIME, "rw": 0, "defaults": 0,
}

func mountFlags(options []string) (flags uintptr, data string) {
	var rest []string
	for _, o := range options {
		if bit, ok := generic[o]; ok {
			flags |= bit
		} else {
			rest = append(rest, o)
		}
	}
	return flags, strings.Join(rest, ",")
}

// Remount changes the mount options: "ro", "rw,noatime".
func (f *FS) Remount(options string) error {
	flags, data := mountFlags(strings.Split(options, ","))
	if err := unix.Mount("", f.Dir, "", flags|unix.MS_REMOUNT, data); err != nil {
		return fmt.Errorf("loopfs: %s: remount -o %s: %w", f.Kind, options, err)
	}
	return nil
}

// Snapshot clones the image as it is at this moment, between two writes of the
// device, and mounts the clone read-write, so that the journal is replayed. It
// is the disk after a power cut, if the disk had no cache, or after it lost its
// cache if f was opened as Cached. Close it before f. Safe for concurrent use.
func (f *FS) Snapshot() (_ *FS, err error) {
	if f.host == nil {
		return nil, errors.New("loopfs: Snapshot needs a file system opened as Cloneable")
	}
	if f.cached {
		return f.cut()
	}
	name := fmt.Sprintf("snapshot%d", f.clones.Add(1))
	s := &FS{Kind: f.Kind, room: f.room, guest: true, host: f.host, mount: f.mount}
	s.Image = filepath.Join(f.host.Dir, name)
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("loopfs: %s: snapshot: %w", f.Kind, err), s.Close())
		}
	}()
	if err := clone(f.Image, s.Image); err != nil {
		return nil, err
	}
	if s.Kind == "xfs" {
		s.mount = append([]string{"nouuid"}, s.mount...) // the original is mounted with the same
	}
	return s, s.attachAt(name)
}

// cut takes the snapshot of the host as its own device is, which knows of the
// image what was flushed.
func (f *FS) cut() (_ *FS, err error) {
	s := &FS{Kind: f.Kind, room: f.room, guest: true, mount: f.mount}
	if s.host, err = f.host.Snapshot(); err != nil {
		return nil, err
	}
	s.cached = true
	s.Image = filepath.Join(s.host.Dir, filepath.Base(f.Image))
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("loopfs: %s: snapshot: %w", f.Kind, err), s.Close())
		}
	}()
	if s.Kind == "xfs" {
		s.mount = append([]string{"nouuid"}, s.mount...)
	}
	return s, s.attachAt(fmt.Sprintf("cut%d", f.clones.Add(1)))
}

func clone(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.Create(to)
	if err != nil {
		return err
	}
	return errors.Join(unix.IoctlFileClone(int(w.Fd()), int(r.Fd())), w.Close())
}

// Close unmounts the file system and frees what it used. If it stays busy, it is
// detached all the same, and the error says so: somebody left a file open.
func (f *FS) Close() error {
	if f == nil || f.room == nil {
		return nil
	}
	var errs []error
	if f.Dir != "" {
		errs = append(errs, unmount(f.Dir), remove(f.Dir))
	}
	if f.Device != "" {
		errs = append(errs, waitDetached(f.Device, f.Image))
	}
	switch {
	case f.guest && f.cached:
		errs = append(errs, f.host.Close()) // its own, and the image goes with it
	case f.guest:
		errs = append(errs, remove(f.Image))
	case f.host != nil:
		errs = append(errs, f.host.Close())
	default:
		errs = append(errs, f.room.close())
	}
	f.room = nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("loopfs: %s: close: %w", f.Kind, err)
	}
	return nil
}

// patience bounds the wait for what is about to become free; tests shorten it.
var patience = 3 * time.Second

// retry calls try until it says done, for the length of patience.
func retry(try func() (done bool)) bool {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if try() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// unmount waits for a busy mount (a child between fork and exec holds our
// descriptors), then detaches it lazily. What is not mounted is no error.
func unmount(dir string) error {
	var err error
	retry(func() bool {
		err = unix.Unmount(dir, unix.UMOUNT_NOFOLLOW)
		return err != unix.EBUSY
	})
	switch err {
	case nil, unix.EINVAL:
		return nil
	case unix.EBUSY:
		lazy := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		return errors.Join(fmt.Errorf("%s is busy: a file in it is open", dir), lazy)
	}
	return &os.PathError{Op: "umount", Path: dir, Err: err}
}

// SetQuota limits a btrfs to so many bytes of data and metadata, by a qgroup on
// its top subvolume: what goes past gets EDQUOT, also for root.
func (f *FS) SetQuota(bytes int64) error {
	tool, err := find("btrfs", "btrfs-progs")
	if err != nil {
		return err
	}
	limit := strconv.FormatInt(bytes, 10)
	for _, args := range [][]string{{"quota", "enable", f.Dir}, {"quota", "rescan", "-w", f.Dir}, {"qgroup", "limit", limit, "0/5", f.Dir}} {
		if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("loopfs: %s: btrfs %s: %w: %s", f.Kind, strings.Join(args, " "), err, out)
		}
	}
	return nil
}
