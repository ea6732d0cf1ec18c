package outfile

import (
	"io/fs"
	"math/rand/v2"
	"unicode/utf8"
	"unsafe"

	"github.com/gohaul/haul/internal/sys"
)

const (
	tempDigits = "0123456789abcdefghijklmnopqrstuvwxyz"
	tempTail   = 1 + 6 // ".XXXXXX"
	tempTries  = 10_000
)

// tempName holds the name of a temporary file: ".NAME.XXXXXX", as rsync's, cut
// to what a directory takes. It is reused, so that a file costs no allocation.
type tempName struct {
	buf [sys.NameMax]byte
	n   int
}

// String is valid until set is called again.
func (t *tempName) String() string { return unsafe.String(&t.buf[0], t.n) }

// set makes a new random name for name, of at most most bytes.
func (t *tempName) set(name string, most int) {
	if room := most - 1 - tempTail; len(name) > room {
		for cut := room; cut > room-utf8.UTFMax; cut-- {
			if utf8.RuneStart(name[cut]) {
				room = cut // no half of a character
				break
			}
		}
		name = name[:room]
	}
	b := append(t.buf[:0], '.')
	b = append(b, name...)
	b = append(b, '.')
	for r, i := rand.Uint64(), 0; i < tempTail-1; i++ {
		b = append(b, tempDigits[r%uint64(len(tempDigits))])
		r /= uint64(len(tempDigits))
	}
	t.n = len(b)
}

// shortName is a length that every file system takes.
const shortName = 100

// createTemp makes a temporary file that nobody else can have: a name in use is
// never opened. Where the file system takes no long names, a short one does.
func (f *File) createTemp(dir *sys.Dir, name string, perm uint32) error {
	flags := sys.WriteOnly | sys.CreateNew
	if f.p.TempDir != nil {
		flags = sys.ReadWrite | sys.CreateNew // it may have to be copied to its place
	}
	most := sys.NameMax
	var refused error
	for range tempTries {
		f.temp.set(name, most)
		err := dir.Open(&f.file, f.temp.String(), flags, perm)
		switch {
		case err == nil:
			return nil
		case sys.IsExist(err):
		case refused != nil:
			return refused
		case f.temp.n <= shortName:
			return err
		default:
			most, refused = shortName, err
		}
	}
	return &fs.PathError{Op: "open", Path: dir.Join(f.temp.String()), Err: fs.ErrExist}
}

// TempName is a new name for what is made beside name and renamed over it.
func TempName(name string) string {
	var t tempName
	t.set(name, sys.NameMax)
	return string(t.buf[:t.n])
}
