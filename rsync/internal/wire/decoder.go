package wire

import "bytes"

// Decoder reads the file lists of a session (§8). It refuses what cannot be an
// entry; whether entries make sense together is for its user to judge.
type Decoder struct {
	Users, Groups Owners
	ACLs          ACLTable
	Defaults      ACLTable
	Xattrs        XattrTable
	IOError       int32 // the sender's error word, bits of all lists so far

	r       *Reader
	f       Format
	last    entryState
	lastDir string
	start   int32
	count   int32
	leaders map[int32]Entry // first entries of hard-link groups in this list
	text    arena
	scratch []byte
}

// NewDecoder reads lists of format f from r.
func NewDecoder(r *Reader, f Format) *Decoder {
	return &Decoder{r: r, f: f, leaders: map[int32]Entry{}}
}

// Begin starts a list whose first entry has the number start.
func (d *Decoder) Begin(start int32) {
	d.start, d.count = start, 0
	clear(d.leaders)
}

// Next reads the next entry into e. False means that the list has ended, and
// that all that follows its last entry was read.
func (d *Decoder) Next(e *Entry) (bool, error) {
	flags, end := d.flags()
	if end {
		d.end(flags)
		return false, d.r.done("end of the file list")
	}
	*e = Entry{}
	if !d.name(e, flags) {
		return false, d.r.done("file list")
	}
	if d.abbreviated(e, flags) {
		d.copyLeader(e)
	} else {
		d.fields(e, flags)
		d.judge(e)
	}
	d.last.take(e, &d.f)
	d.tables(e)
	if e.LinkFirst {
		d.leaders[e.Leader] = *e
	}
	d.count++
	if d.r.err != nil {
		return false, d.r.done("file list")
	}
	return true, nil
}

// flags reads the flags word. At the end of the list it is the end's error
// form: 0 or flagsErrorEnd.
func (d *Decoder) flags() (flags int, end bool) {
	r := d.r
	if d.f.varintFlags() {
		flags = int(r.Varint())
		return flags, flags == 0 || r.err != nil
	}
	flags = int(r.Byte())
	if flags == 0 || r.err != nil {
		return 0, true
	}
	if d.f.Protocol >= 28 && flags&flagExtended != 0 {
		flags |= int(r.Byte()) << 8
	}
	if flags == flagsErrorEnd {
		if !d.f.safeEnd() {
			r.fail(ExitProtocol, "end of list with an error, which was not agreed on")
		}
		return flags, true
	}
	return flags, r.err != nil
}

func (d *Decoder) end(flags int) {
	r := d.r
	if flags == flagsErrorEnd || d.f.varintFlags() {
		d.IOError |= r.Varint() & ioErrorMask
	}
	if d.f.idLists() {
		if d.f.Owner || d.f.ACLs {
			d.Users.readList(r, &d.f)
		}
		if d.f.Group || d.f.ACLs {
			d.Groups.readList(r, &d.f)
		}
	}
	if d.f.Protocol < 30 {
		d.IOError |= r.Int() & ioErrorMask
	}
}

// name reads the name against the last one. Its directory is shared as long as it stays the same.
func (d *Decoder) name(e *Entry, flags int) bool {
	r := d.r
	prefix, rest := 0, 0
	if flags&flagSameName != 0 {
		prefix = int(r.Byte())
	}
	if flags&flagLongName != 0 {
		rest = int(r.Varint30())
	} else {
		rest = int(r.Byte())
	}
	switch {
	case r.err != nil:
		return false
	case rest < 0 || prefix+rest >= MaxPath:
		r.fail(ExitLimit, "name of %d+%d bytes", prefix, rest)
		return false
	case prefix > len(d.last.name):
		r.fail(ExitProtocol, "name shares %d bytes of the last one's %d", prefix, len(d.last.name))
		return false
	}
	name := append(d.last.name[:prefix], r.fit(&d.scratch, rest)...)
	d.last.name = name
	if r.err != nil {
		return false
	}
	if unsafeName(name, d.f.Absolute) {
		r.fail(ExitUnsupported, "unsafe pathname %q", name)
		return false
	}
	dir := bytes.LastIndexByte(name, '/') + 1
	if string(name[:dir]) != d.lastDir {
		d.lastDir = d.text.add(name[:dir])
	}
	e.Dir, e.Base = d.lastDir, d.text.add(name[dir:])
	return true
}

// unsafeName tells of names that leave the destination, whatever is there.
func unsafeName(name []byte, absolute bool) bool {
	if !absolute && len(name) > 0 && name[0] == '/' {
		return true
	}
	if !bytes.Contains(name, []byte("..")) {
		return false
	}
	for part := range bytes.SplitSeq(name, []byte("/")) {
		if string(part) == ".." {
			return true
		}
	}
	return false
}

// abbreviated reads the leader's number, if a hard link has one, and tells whether it says all.
func (d *Decoder) abbreviated(e *Entry, flags int) bool {
	if d.f.Protocol < 30 || !d.f.HardLinks || flags&flagLinked == 0 {
		return false
	}
	e.Linked, e.LinkFirst = true, flags&flagLinkFirst != 0
	if e.LinkFirst {
		e.Leader = d.start + d.count
		return false
	}
	e.Leader = d.r.Varint()
	if e.Leader < 0 || e.Leader >= d.start+d.count {
		d.r.fail(ExitProtocol, "hard link to entry %d, with %d so far", e.Leader, d.start+d.count)
		return false
	}
	return e.Leader >= d.start
}

// copyLeader gives e what is told only once for a group.
func (d *Decoder) copyLeader(e *Entry) {
	leader, ok := d.leaders[e.Leader]
	if !ok {
		d.r.fail(ExitProtocol, "hard link to entry %d, which leads no group", e.Leader)
		return
	}
	leader.Dir, leader.Base, leader.LinkFirst = e.Dir, e.Base, false
	leader.ACL, leader.DefaultACL, leader.Xattrs = 0, 0, 0
	*e = leader
}

func (d *Decoder) fields(e *Entry, flags int) {
	r := d.r
	e.Size = r.Varlong30(3)
	e.Mtime = d.last.mtime
	if flags&flagSameTime == 0 {
		if d.f.Protocol >= 30 {
			e.Mtime = r.Varlong(4)
		} else {
			e.Mtime = int64(uint32(r.Int()))
		}
	}
	if d.f.Protocol >= 31 && flags&flagNsec != 0 {
		e.Nsec = uint32(r.Varint())
	}
	if d.f.Crtimes {
		e.Crtime = e.Mtime
		if flags&flagSameCrtime == 0 {
			e.Crtime = r.Varlong(4)
		}
	}
	e.Mode = d.last.mode
	if flags&flagSameMode == 0 {
		e.Mode = uint32(r.Int())
	}
	if d.f.Atimes && !e.is(ModeDir) {
		e.Atime = d.last.atime
		if flags&flagSameAtime == 0 {
			e.Atime = r.Varlong(4)
		}
	}
	e.UID = d.owner(&d.Users, d.f.Owner, d.last.uid, flags&flagSameUID, flags&flagUserName)
	e.GID = d.owner(&d.Groups, d.f.Group, d.last.gid, flags&flagSameGID, flags&flagGroupName)
	d.rdev(e, flags)
	if e.is(ModeDir) {
		e.Linked, e.LinkFirst = false, false
		e.TopDir = flags&flagTopDir != 0
		e.NoContent = d.f.Protocol >= 30 && flags&flagNoContent != 0
	}
	if d.f.Links && e.is(ModeLink) {
		d.link(e)
	}
	if d.f.hasInode(e, flags) {
		e.Linked = true
		e.Dev = d.last.dev
		if flags&flagSameDev == 0 || d.f.Protocol < 28 {
			e.Dev = uint64(r.Longint()) - 1
		}
		e.Ino = uint64(r.Longint())
		d.last.dev = e.Dev
	}
	if d.f.hasSum(e) {
		e.Sum = d.text.add(r.fit(&d.scratch, d.f.Sum))
	}
}

func (d *Decoder) owner(o *Owners, on bool, last uint32, same, named int) uint32 {
	if !on || same != 0 {
		return last
	}
	id := uint32(d.r.Varint30())
	if d.f.Protocol >= 30 && named != 0 {
		o.learn(id, d.r.ShortString())
	} else {
		o.note(id)
	}
	return id
}

func (d *Decoder) rdev(e *Entry, flags int) {
	r := d.r
	special := d.f.Specials && e.isSpecial() && d.f.Protocol < 31
	if !special && !(d.f.Devices && e.isDevice()) {
		return
	}
	if d.f.Protocol < 28 {
		v := d.last.rdev
		if flags&flagSameRdev == 0 {
			v = uint32(r.Int())
		}
		if !special {
			e.setRdev(v)
		}
		return
	}
	major, minor := d.last.major, uint32(0)
	if flags&flagSameMajor == 0 {
		major = uint32(r.Varint30())
	}
	if d.f.Protocol < 30 && flags&flagMinor8 != 0 {
		minor = uint32(r.Byte())
	} else {
		minor = uint32(r.Varint30())
	}
	if !special {
		e.Major, e.Minor = major, minor
	}
}

func (d *Decoder) link(e *Entry) {
	n := d.r.Varint30()
	if n < 0 || n >= MaxPath {
		d.r.fail(ExitLimit, "link target of %d bytes", n)
		return
	}
	e.Link = d.text.add(d.r.fit(&d.scratch, int(n)))
}

// judge refuses values that no entry can have (§13).
func (d *Decoder) judge(e *Entry) {
	r := d.r
	if r.err != nil {
		return
	}
	if e.Nsec > maxNsec {
		r.fail(ExitProtocol, "%d nanoseconds", int32(e.Nsec))
	}
	if e.Size < 0 {
		r.fail(ExitUnsupported, "size %d", e.Size)
	}
	switch e.Mode & ModeType {
	case ModeFifo, ModeChar, ModeDir, ModeBlock, ModeRegular, ModeLink, ModeSocket:
	default:
		if e.Mode != 0 || !d.f.MissingArgs {
			r.fail(ExitProtocol, "mode %#o is of no type", e.Mode)
		}
	}
	if e.Base == "." && (e.Dir == "" || e.Dir == "/") && !e.is(ModeDir) {
		r.fail(ExitProtocol, "%q is no directory", e.Name())
	}
}

func (d *Decoder) tables(e *Entry) {
	if d.f.ACLs && !e.is(ModeLink) {
		e.ACL = d.ACLs.read(d.r, d)
		if e.is(ModeDir) {
			e.DefaultACL = d.Defaults.read(d.r, d)
		}
	}
	if d.f.Xattrs {
		e.Xattrs = d.Xattrs.read(d.r)
	}
}

// fit returns the next n bytes, valid until the next read: where they lie in
// the buffer, or else copied to scratch. The caller bounds n.
func (r *Reader) fit(scratch *[]byte, n int) []byte {
	if r.err != nil {
		return nil
	}
	if r.lim-r.pos >= n {
		r.pos += n
		return r.buf[r.pos-n : r.pos]
	}
	if cap(*scratch) < n {
		*scratch = make([]byte, max(n, 256))
	}
	p := (*scratch)[:n]
	if !r.Full(p) {
		return nil
	}
	return p
}
