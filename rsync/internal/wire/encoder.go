package wire

import "strings"

// Encoder writes the file lists of a session (§8). What an entry has in common
// with the one before is left out, across lists too.
type Encoder struct {
	Users, Groups Owners // set their Name to send names
	ACLs          ACLTable
	Defaults      ACLTable
	Xattrs        XattrTable

	w     *Writer
	f     Format
	last  entryState
	start int32 // number of the list's first entry

	// Attributes of the list's hard-link leaders as they were sent: a peer goes
	// on from them after a later member, whatever that one's are by now.
	leaders map[int32]Entry
}

// NewEncoder writes lists of format f to w.
func NewEncoder(w *Writer, f Format) *Encoder {
	return &Encoder{w: w, f: f, leaders: map[int32]Entry{}}
}

// Begin starts a list whose first entry has the number start: 0, or with
// incremental recursion as §8.7 numbers them.
func (c *Encoder) Begin(start int32) {
	c.start = start
	clear(c.leaders)
}

// Entry writes e. Its type decides which fields count. From 30 on a hard link
// has a Leader: its own number with LinkFirst, else that of the first one. If
// that is in this same list all but the name is left out.
func (c *Encoder) Entry(e *Entry) {
	userName, newUser := c.owner(&c.Users, c.f.Owner, e.UID, c.last.uid)
	groupName, newGroup := c.owner(&c.Groups, c.f.Group, e.GID, c.last.gid)
	prefix := commonPrefix(c.last.name, e.Dir, e.Base)
	rest := len(e.Dir) + len(e.Base) - prefix

	flags := c.flags(e)
	if !newUser {
		flags |= flagSameUID
	}
	if !newGroup {
		flags |= flagSameGID
	}
	if userName != "" {
		flags |= flagUserName
	}
	if groupName != "" {
		flags |= flagGroupName
	}
	if prefix > 0 {
		flags |= flagSameName
	}
	if rest > 255 {
		flags |= flagLongName
	}
	c.putFlags(&flags, e.is(ModeDir))
	c.putName(e, flags, prefix, rest)
	if c.abbreviated(e, flags) {
		leader := c.leaders[e.Leader]
		c.last.take(&leader, &c.f)
	} else {
		c.putFields(e, flags, userName, groupName)
		c.last.take(e, &c.f)
	}
	if flags&flagLinkFirst != 0 && c.f.Protocol >= 30 {
		c.leaders[e.Leader] = *e
	}
	c.putTables(e)
}

// owner tells the name to send along with an id, if any, and whether the id is sent at all.
func (c *Encoder) owner(o *Owners, on bool, id, last uint32) (name string, send bool) {
	if !on || id == last && len(c.last.name) > 0 {
		return "", false
	}
	return o.use(id, &c.f), true
}

// flags are those that follow from e and the last entry, without owners and name.
func (c *Encoder) flags(e *Entry) int {
	flags := 0
	set := func(on bool, bit int) {
		if on {
			flags |= bit
		}
	}
	set(e.Mode == c.last.mode, flagSameMode)
	set(e.Mtime == c.last.mtime, flagSameTime)
	set(c.f.Protocol >= 31 && 0 < e.Nsec && e.Nsec <= maxNsec, flagNsec)
	set(c.f.Crtimes && e.Crtime == e.Mtime, flagSameCrtime)
	if e.is(ModeDir) {
		set(e.TopDir, flagTopDir)
		set(c.f.Protocol >= 30 && e.NoContent, flagNoContent)
		return flags
	}
	set(c.f.Atimes && e.Atime == c.last.atime, flagSameAtime)
	flags |= c.rdevFlags(e)
	if c.f.HardLinks && e.Linked && c.f.Protocol >= 28 {
		flags |= flagLinked
		set(c.f.Protocol < 30 && e.Dev == c.last.dev, flagSameDev)
		set(c.f.Protocol >= 30 && e.LinkFirst, flagLinkFirst)
	}
	return flags
}

// rdevFlags tells how the device number travels (§8.3).
func (c *Encoder) rdevFlags(e *Entry) int {
	flags := 0
	switch {
	case c.f.Devices && e.isDevice():
		switch {
		case c.f.Protocol < 28:
			if e.rdev() == c.last.rdev {
				flags |= flagSameRdev
			}
			return flags
		case e.Major == c.last.major:
			flags |= flagSameMajor
		}
		if c.f.Protocol < 30 && e.Minor <= 0xff {
			flags |= flagMinor8
		}
	case c.f.Specials && e.isSpecial() && c.f.Protocol < 31:
		switch {
		case c.f.Protocol < 28:
			flags |= flagSameRdev
		case c.f.Protocol < 30:
			flags |= flagSameMajor | flagMinor8
		default:
			flags |= flagSameMajor
		}
	}
	return flags
}

// putFlags writes the flags word; it may not be 0, which would end the list.
func (c *Encoder) putFlags(flags *int, dir bool) {
	w := c.w
	switch {
	case c.f.varintFlags():
		if *flags == 0 {
			w.Varint(flagExtended)
		} else {
			w.Varint(int32(*flags))
		}
	case c.f.Protocol >= 28:
		if *flags == 0 && !dir {
			*flags |= flagTopDir
		}
		if *flags&0xff00 == 0 && *flags != 0 {
			w.Byte(byte(*flags))
			return
		}
		*flags |= flagExtended
		w.Short(uint16(*flags))
	default:
		if *flags&0xff == 0 && dir {
			*flags |= flagLongName
		} else if *flags&0xff == 0 {
			*flags |= flagTopDir
		}
		w.Byte(byte(*flags))
	}
}

func (c *Encoder) putName(e *Entry, flags, prefix, rest int) {
	w := c.w
	if flags&flagSameName != 0 {
		w.Byte(byte(prefix))
	}
	if flags&flagLongName != 0 {
		w.Varint30(int32(rest))
	} else {
		w.Byte(byte(rest))
	}
	if prefix < len(e.Dir) {
		w.String(e.Dir[prefix:])
		w.String(e.Base)
	} else {
		w.String(e.Base[prefix-len(e.Dir):])
	}
	c.last.name = append(append(c.last.name[:0], e.Dir...), e.Base...)
}

// abbreviated writes the leader's number if there is one, and tells whether it says all.
func (c *Encoder) abbreviated(e *Entry, flags int) bool {
	if c.f.Protocol < 30 || flags&(flagLinked|flagLinkFirst) != flagLinked {
		return false
	}
	c.w.Varint(e.Leader)
	return e.Leader >= c.start
}

func (c *Encoder) putFields(e *Entry, flags int, userName, groupName string) {
	w := c.w
	w.Varlong30(e.Size, 3)
	if flags&flagSameTime == 0 {
		if c.f.Protocol >= 30 {
			w.Varlong(e.Mtime, 4)
		} else {
			w.Int(int32(e.Mtime))
		}
	}
	if flags&flagNsec != 0 {
		w.Varint(int32(e.Nsec))
	}
	if c.f.Crtimes && flags&flagSameCrtime == 0 {
		w.Varlong(e.Crtime, 4)
	}
	if flags&flagSameMode == 0 {
		w.Int(int32(e.Mode))
	}
	if c.f.Atimes && !e.is(ModeDir) && flags&flagSameAtime == 0 {
		w.Varlong(e.Atime, 4)
	}
	if flags&flagSameUID == 0 {
		w.Varint30(int32(e.UID))
		if userName != "" {
			w.ShortString(userName)
		}
	}
	if flags&flagSameGID == 0 {
		w.Varint30(int32(e.GID))
		if groupName != "" {
			w.ShortString(groupName)
		}
	}
	c.putRdev(e, flags)
	if c.f.Links && e.is(ModeLink) {
		w.Varint30(int32(len(e.Link)))
		w.String(e.Link)
	}
	c.putInode(e, flags)
	c.putSum(e)
}

func (c *Encoder) putRdev(e *Entry, flags int) {
	w := c.w
	special := c.f.Specials && e.isSpecial() && c.f.Protocol < 31
	if !special && !(c.f.Devices && e.isDevice()) {
		return
	}
	if c.f.Protocol < 28 {
		if flags&flagSameRdev == 0 {
			w.Int(int32(e.rdev()))
		}
		return
	}
	minor := e.Minor
	if special {
		minor = 0
	}
	if flags&flagSameMajor == 0 {
		w.Varint30(int32(e.Major))
	}
	if c.f.Protocol < 30 && flags&flagMinor8 != 0 {
		w.Byte(byte(minor))
	} else {
		w.Varint30(int32(minor))
	}
}

// putInode writes what tells hard links before 30.
func (c *Encoder) putInode(e *Entry, flags int) {
	if !c.f.hasInode(e, flags) {
		return
	}
	if flags&flagSameDev == 0 || c.f.Protocol < 28 {
		c.w.Longint(int64(e.Dev + 1))
	}
	c.w.Longint(int64(e.Ino))
	c.last.dev = e.Dev
}

func (f *Format) hasInode(e *Entry, flags int) bool {
	if !f.HardLinks || f.Protocol >= 30 {
		return false
	}
	if f.Protocol < 28 {
		return e.is(ModeRegular)
	}
	return flags&flagLinked != 0 && !e.is(ModeDir)
}

func (f *Format) hasSum(e *Entry) bool {
	return f.Sum > 0 && (f.Protocol < 28 || e.is(ModeRegular))
}

// putSum writes the checksum: zeros where there is none.
func (c *Encoder) putSum(e *Entry) {
	if !c.f.hasSum(e) {
		return
	}
	sum := e.Sum[:min(len(e.Sum), c.f.Sum)]
	c.w.String(sum)
	c.w.String(strings.Repeat("\x00", c.f.Sum-len(sum)))
}

func (c *Encoder) putTables(e *Entry) {
	if c.f.ACLs && !e.is(ModeLink) {
		c.ACLs.put(c.w, e.ACL, c)
		if e.is(ModeDir) {
			c.Defaults.put(c.w, e.DefaultACL, c)
		}
	}
	if c.f.Xattrs {
		c.Xattrs.put(c.w, e.Xattrs)
	}
}

// End ends the list and adds what follows the last entry: the error word where
// the format has a place for it and, without incremental recursion, the names
// of owners. Protocol 30 without [SafeFileList] has no place: send an IO_ERROR
// message (§8.2).
func (c *Encoder) End(ioError int32) {
	w := c.w
	switch {
	case c.f.varintFlags():
		w.Varint(0)
		w.Varint(ioError)
	case ioError != 0 && c.f.safeEnd():
		w.Short(flagsErrorEnd)
		w.Varint(ioError)
	default:
		w.Byte(0)
	}
	if c.f.idLists() {
		if c.f.Owner || c.f.ACLs {
			c.Users.putList(w, &c.f)
		}
		if c.f.Group || c.f.ACLs {
			c.Groups.putList(w, &c.f)
		}
	}
	if c.f.Protocol < 30 {
		w.Int(ioError)
	}
}

// commonPrefix is how much of dir+base the last name starts with, 255 at most.
func commonPrefix(last []byte, dir, base string) int {
	n := commonLen(last[:min(len(last), 255)], dir)
	if n == len(dir) {
		n += commonLen(last[n:max(n, min(len(last), 255))], base)
	}
	return n
}

func commonLen(a []byte, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
