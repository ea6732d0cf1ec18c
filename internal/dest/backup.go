package dest

import (
	"strconv"
	"strings"

	"github.com/gohaul/haul/internal/sys"
)

// BackupKind says what becomes of a file that is about to be replaced.
type BackupKind uint8

const (
	BackupNone     BackupKind = iota // it goes
	BackupSimple                     // it is renamed to name + suffix
	BackupNumbered                   // it is renamed to name.~N~
	BackupExisting                   // numbered if numbered backups exist, else simple
)

// SetAside gives what stands at name its backup's name and returns that name; ""
// where no backups are wanted. With keep it stays under its own name too, where
// that can be done, so that there is no moment without it: its successor is
// renamed over it.
func (d *Dir) SetAside(name string, keep bool) (string, error) {
	if d.tree.Backup == BackupNone {
		return "", nil
	}
	to := name + d.tree.Suffix
	if d.tree.Backup != BackupSimple {
		n, err := d.lastBackup(name)
		if err != nil {
			return "", err
		}
		if n > 0 || d.tree.Backup == BackupNumbered {
			to = name + ".~" + strconv.Itoa(n+1) + "~"
		}
	}
	if d.idle() {
		return to, nil
	}
	kept := keep && d.beside(to, true, func(at string) error { return d.Dir.Link(d.Dir, name, at) }) == nil
	if !kept { // a directory, or no links to be had
		if err := d.Rename(name, d.Dir, to); err != nil {
			return to, err
		}
	}
	return to, d.note()
}

// lastBackup is the highest number of a numbered backup of name, 0 for none.
func (d *Dir) lastBackup(name string) (int, error) {
	last := 0
	err := d.Each(func(n string) error {
		rest, ok := strings.CutPrefix(n, name+".~")
		if !ok {
			return nil
		}
		digits, ok := strings.CutSuffix(rest, "~")
		if k, err := strconv.Atoi(digits); ok && err == nil && k > last {
			last = k
		}
		return nil
	})
	return last, err
}

// SameFile reports whether a name leads to the very file st describes.
func (d *Dir) SameFile(name string, st *sys.Stat) bool {
	var mine sys.Stat
	there, err := d.Look(name, &mine)
	return err == nil && there && mine.Same(st)
}
