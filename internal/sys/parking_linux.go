//go:build !portable

package sys

import (
	"sync"

	"golang.org/x/sys/unix"
)

// parkedBase marks a Dir whose descriptor is closed: far below any number of
// calls that could be under way.
const parkedBase = -1 << 30

// openDirs is the clock of directories whose descriptors may be closed while
// they are idle. It keeps a walk of a tree thousands of levels deep within the
// process's limit of open files.
var openDirs = dirTable{limit: openDirLimit()}

type dirTable struct {
	mu    sync.Mutex
	limit int
	hand  int
	dirs  []*Dir
}

func openDirLimit() int {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil || r.Cur > 4096 {
		return 1024
	}
	return max(16, int(r.Cur)/4)
}

// add takes in a directory that was just opened and parks others for it.
func (t *dirTable) add(d *Dir) {
	t.mu.Lock()
	d.slot = len(t.dirs)
	t.dirs = append(t.dirs, d)
	t.shrink(t.limit, d)
	t.mu.Unlock()
}

// shed parks half of what is open and reports whether it parked anything: the
// process has run out of descriptors.
func (t *dirTable) shed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.dirs)
	t.shrink(before/2, nil)
	return len(t.dirs) < before
}

// shrink parks idle directories other than keep until limit are open or the hand
// has passed all of them twice: once to forget that they were used.
func (t *dirTable) shrink(limit int, keep *Dir) {
	for tries := 2 * len(t.dirs); len(t.dirs) > limit && tries > 0; tries-- {
		t.hand = (t.hand + 1) % len(t.dirs)
		if old := t.dirs[t.hand]; old != keep && !old.recent.Swap(false) && old.park() {
			t.drop(old)
		}
	}
}

func (t *dirTable) remove(d *Dir) {
	t.mu.Lock()
	if d.slot < len(t.dirs) && t.dirs[d.slot] == d {
		t.drop(d)
	}
	t.mu.Unlock()
}

func (t *dirTable) drop(d *Dir) {
	last := len(t.dirs) - 1
	t.dirs[d.slot] = t.dirs[last]
	t.dirs[d.slot].slot = d.slot
	t.dirs[last] = nil
	t.dirs = t.dirs[:last]
}

// enter pins the descriptor for one call, opening it again if it was parked.
func (d *Dir) enter() (int, error) {
	if d.uses.Add(1) > 0 {
		if !d.recent.Load() {
			d.recent.Store(true)
		}
		return d.fd, nil
	}
	if err := d.reopen(); err != nil {
		d.uses.Add(-1)
		return -1, err
	}
	return d.fd, nil
}

func (d *Dir) leave() { d.uses.Add(-1) }

func (d *Dir) parked() bool { return d.uses.Load() < 0 }

// park closes the descriptor unless a call is under way. It remembers who the
// directory is, so that only the very same one is opened again.
func (d *Dir) park() bool {
	if !d.mu.TryLock() {
		return false
	}
	defer d.mu.Unlock()
	if d.fd < 0 || !d.uses.CompareAndSwap(0, parkedBase) {
		return false
	}
	var st Stat
	if fstat(d.fd, &st) != nil {
		d.uses.Add(-parkedBase)
		return false
	}
	d.dev, d.ino = st.Dev, st.Ino
	unix.Close(d.fd)
	d.fd = -1
	return true
}

// reopen opens a parked directory from the nearest one above it that is open.
// Those between stay parked: taking them all in would park what is in use, in a
// deep tree everything. reviveFrom opens them when their turn comes.
func (d *Dir) reopen() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fd >= 0 {
		return nil // another call was faster
	}
	var between []*Dir
	top := d.parent
	for ; top.parked(); top = top.parent {
		between = append(between, top)
	}
	at, err := top.enter()
	if err != nil {
		return err
	}
	defer top.leave()
	for i := len(between) - 1; i >= 0 && err == nil; i-- {
		var fd int
		fd, err = openat(at, between[i].name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if i < len(between)-1 {
			unix.Close(at)
		}
		at = fd
	}
	if err != nil {
		return err
	}
	fd, err := openat(at, d.name, dirFlags|unix.O_NOFOLLOW, 0)
	if len(between) > 0 {
		unix.Close(at)
	}
	if err != nil {
		return err
	}
	return d.adopt(fd)
}

// reviveFrom opens a parked directory through ".." of one beneath it, which is
// one step where reopen may need as many as the tree is deep. It may fail
// silently: reopen is always there.
func (d *Dir) reviveFrom(child int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fd >= 0 || !d.parked() {
		return
	}
	fd, err := unix.Openat(child, "..", dirFlags|unix.O_NOFOLLOW, 0)
	if err == nil {
		d.adopt(fd)
	}
}

// adopt takes fd as the parked directory's descriptor, if it is that directory.
func (d *Dir) adopt(fd int) error {
	var st Stat
	err := fstat(fd, &st)
	if err == nil && (st.Dev != d.dev || st.Ino != d.ino) {
		err = unix.ESTALE // moved or replaced by another while parked
	}
	if err == nil && d.cookie != 0 && !d.end {
		_, err = unix.Seek(fd, d.cookie, unix.SEEK_SET)
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	d.fd = fd
	d.uses.Add(-parkedBase)
	openDirs.add(d)
	return nil
}
