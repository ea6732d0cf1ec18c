package wire

const maxOwners = 1 << 20

// Owners are the users, or the groups, that a session's lists speak of: their
// numbers with the names they have at the sender (§8.5).
type Owners struct {
	// Name finds the name of an id, "" if it has none. It is asked once an id,
	// by an encoder; nil names none.
	Name func(id uint32) string

	names map[uint32]string // every id met; "" without a name
	order []uint32          // ids in the order they were met
}

// Lookup is the name that the peer gave an id; not ok if it gave none.
func (o *Owners) Lookup(id uint32) (name string, ok bool) {
	name = o.names[id]
	return name, name != ""
}

// note records an id without a name, and tells whether it is new.
func (o *Owners) note(id uint32) bool {
	if _, met := o.names[id]; met {
		return false
	}
	if o.names == nil {
		o.names = map[uint32]string{}
	}
	o.names[id] = ""
	o.order = append(o.order, id)
	return true
}

func (o *Owners) learn(id uint32, name string) {
	o.note(id)
	o.names[id] = name
}

// use records that an id is sent, and returns the name to send along with it:
// at its first use, where the format has names there.
func (o *Owners) use(id uint32, f *Format) string {
	if f.NumericIDs || !o.note(id) {
		return ""
	}
	name := ""
	if o.Name != nil {
		name = o.Name(id)
		name = name[:min(len(name), 255)]
	}
	o.names[id] = name
	if !f.inlineNames() {
		return ""
	}
	return name
}

// putList writes the names of all ids that have one, the last met first.
func (o *Owners) putList(w *Writer, f *Format) {
	for i := len(o.order) - 1; i >= 0; i-- {
		id := o.order[i]
		if name := o.names[id]; id != 0 && name != "" {
			w.Varint30(int32(id))
			w.ShortString(name)
		}
	}
	w.Varint30(0)
	if f.has(ID0Names) {
		name := ""
		if o.Name != nil {
			name = o.Name(0)
		}
		w.ShortString(name)
	}
}

func (o *Owners) readList(r *Reader, f *Format) {
	for n := 0; ; n++ {
		id := uint32(r.Varint30())
		if id == 0 || r.err != nil {
			break
		}
		if n == maxOwners {
			r.fail(ExitProtocol, "more than %d names of owners", n)
			return
		}
		o.learn(id, r.ShortString())
	}
	if f.has(ID0Names) {
		if name := r.ShortString(); name != "" {
			o.learn(0, name)
		}
	}
}
