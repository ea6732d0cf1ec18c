package wire

import "strings"

// MaxPath is the length that names and link targets must stay under.
const MaxPath = 4096

const maxNsec = 999_999_999

// Entry is one item of a file list. Strings share storage with those of other
// entries: keeping one keeps about 32 KiB of its neighbours.
type Entry struct {
	Dir  string // the name up to its last slash, that one included; entries of one directory share it
	Base string // the rest of the name
	Link string // target of a symbolic link

	Size   int64
	Mtime  int64 // seconds since 1970
	Atime  int64
	Crtime int64
	Nsec   uint32 // of Mtime

	Mode         uint32 // permissions and one of the types above; 0: a missing argument
	UID, GID     uint32
	Major, Minor uint32 // of a device

	TopDir    bool // a directory named as an argument
	NoContent bool // a directory whose content is not listed; from 30 on

	// Hard links: before 30 told by device and inode, then by the number of the
	// group's first entry, which is LinkFirst itself.
	Linked    bool
	LinkFirst bool
	Leader    int32 // list start + position of the first entry; from 30 on
	Dev, Ino  uint64

	Sum string // checksum of the content, Format.Sum bytes; regular files

	// Positions in the tables of the codec that wrote or read the entry.
	ACL, DefaultACL, Xattrs int32
}

// Name is the whole name, as it is on the wire.
func (e *Entry) Name() string { return e.Dir + e.Base }

func (e *Entry) is(mode uint32) bool { return e.Mode&ModeType == mode }
func (e *Entry) isDevice() bool      { return e.is(ModeChar) || e.is(ModeBlock) }
func (e *Entry) isSpecial() bool     { return e.is(ModeFifo) || e.is(ModeSocket) }

// entryState is what an entry is told against: the last values of the session,
// over all its lists.
type entryState struct {
	name     []byte
	mode     uint32
	mtime    int64
	atime    int64
	uid, gid uint32
	major    uint32
	rdev     uint32 // before 28
	dev      uint64 // of the last hard link, before 30
}

// take makes an entry's attributes the last ones. Both sides do it even for
// a hard link of which only the leader's number travels.
func (s *entryState) take(e *Entry, f *Format) {
	s.mode, s.mtime, s.uid, s.gid = e.Mode, e.Mtime, e.UID, e.GID
	if !e.is(ModeDir) {
		s.atime = e.Atime
	}
	switch {
	case f.Devices && e.isDevice():
		s.major, s.rdev = e.Major, e.rdev()
	case f.Specials && e.isSpecial():
	default:
		s.rdev = 0
	}
}

// rdev is the device number in one piece, as protocols before 28 send it.
func (e *Entry) rdev() uint32 {
	return e.Minor&0xff | e.Major&0xfff<<8 | e.Minor>>8<<20
}

func (e *Entry) setRdev(v uint32) {
	e.Major, e.Minor = v>>8&0xfff, v&0xff|v>>20<<8
}

// arena makes strings of one block of memory after the other.
type arena struct{ b strings.Builder }

const arenaBlock = 32 << 10

func (a *arena) add(p []byte) string {
	if len(p) == 0 {
		return ""
	}
	n := a.b.Len()
	if a.b.Cap()-n < len(p) {
		a.b.Reset() // the block lives on in its strings
		a.b.Grow(max(arenaBlock, len(p)))
		n = 0
	}
	a.b.Write(p)
	return a.b.String()[n:]
}
