package dest

import (
	"errors"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/gohaul/haul/internal/sys"
)

// ErrOwnBackup is the error of a backup that would take its source's name.
var ErrOwnBackup = errors.New("the backup would replace the source")

// BackupKind says what becomes of a file that is about to be replaced.
type BackupKind uint8

const (
	BackupNone     BackupKind = iota // it goes
	BackupSimple                     // it is renamed to name + suffix
	BackupNumbered                   // it is renamed to name.~N~
	BackupExisting                   // numbered if numbered backups exist, else simple
)

// BackupName is the name that SetAside would give to what stands at name; ""
// where no backups are wanted.
func (d *Dir) BackupName(name string) (string, error) {
	if d.tree.Backup == BackupNone {
		return "", nil
	}
	if d.tree.Backup != BackupSimple {
		n, err := d.lastBackup(name)
		if err != nil {
			return "", err
		}
		if n > 0 || d.tree.Backup == BackupNumbered {
			return name + ".~" + strconv.Itoa(n+1) + "~", nil
		}
	}
	return name + d.tree.Suffix, nil
}

// SetAside gives what stands at name its backup's name, over what has that name,
// and returns it; "" where no backups are wanted. With keep it stays under its
// own name too, where that can be done, so that there is no moment without it:
// its successor is renamed over it. What is src is not given up for a backup.
func (d *Dir) SetAside(name string, src *sys.Stat, keep bool) (string, error) {
	to, err := d.BackupName(name)
	if err != nil || to == "" {
		return "", err
	}
	var there sys.Stat
	if d.Dir != nil && d.Lstat(to, &there) == nil && there.Same(src) {
		return to, &os.LinkError{Op: "rename", Old: d.Join(name), New: d.Join(to), Err: ErrOwnBackup}
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

// lastBackup is the highest number of a numbered backup of name, 0 for none. The
// directory is read for the first name alone; what came later is found by asking
// for it.
func (d *Dir) lastBackup(name string) (int, error) {
	last, err := d.foundBackup(name)
	for err == nil && last < math.MaxInt {
		var st sys.Stat
		there, e := d.Look(name+".~"+strconv.Itoa(last+1)+"~", &st)
		if !there || e != nil {
			return last, e
		}
		last++
	}
	return last, err
}

func (d *Dir) foundBackup(name string) (int, error) {
	d.numbering.Lock()
	defer d.numbering.Unlock()
	if d.backups == nil {
		found := map[string]int{}
		err := d.Each(func(n string) error {
			if of, k := number(n); k > found[of] {
				found[strings.Clone(of)] = k
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		d.backups = found
	}
	return d.backups[name], nil
}

// Numbered reports whether a name is that of a numbered backup.
func Numbered(name string) bool {
	_, k := number(name)
	return k > 0
}

// number takes the name of a numbered backup apart; 0 for any other name.
func number(backup string) (of string, k int) {
	rest, ok := strings.CutSuffix(backup, "~")
	i := strings.LastIndex(rest, ".~")
	if !ok || i < 0 {
		return "", 0
	}
	k, err := strconv.Atoi(rest[i+2:])
	if err != nil || k < 0 || rest[i+2] == '+' {
		return "", 0
	}
	return rest[:i], k
}
