package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// list reads one list that p holds.
func list(p []byte, f Format, start int32) ([]Entry, *Decoder, error) {
	return readList(whole(f.Protocol, p), f, start)
}

func readList(r *Reader, f Format, start int32) ([]Entry, *Decoder, error) {
	d := NewDecoder(r, f)
	d.Begin(start)
	var out []Entry
	for {
		var e Entry
		more, err := d.Next(&e)
		if err != nil || !more {
			return out, d, err
		}
		out = append(out, e)
	}
}

const allFeatures = 0x1ff

// TestListPush32 is the captured list of §8, incremental.
func TestListPush32(t *testing.T) {
	p := unhex(t, `ac01 012e 000010 6bc5e40d f0ea352610 ed410000 0004726f6f74 0004726f6f74
		a098 046c696e6b 000500 f0ea352610 ffa10000 05612e747874
		a098 03737562 000010 f0ea47a010 ed410000
		a018 05612e747874 000600 65257d93 e715cd5b a4810000
		0000`)
	f := Format{Protocol: 32, Features: allFeatures, Owner: true, Group: true, Links: true, Devices: true, Specials: true}
	got, d, err := list(p, f, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{Base: ".", Size: 4096, Mtime: 0x6b0de4c5, Nsec: 0x102635ea, Mode: 0o40755, TopDir: true},
		{Base: "link", Size: 5, Mtime: 0x6b0de4c5, Nsec: 0x102635ea, Mode: 0o120777, Link: "a.txt"},
		{Base: "sub", Size: 4096, Mtime: 0x6b0de4c5, Nsec: 0x10a047ea, Mode: 0o40755},
		{Base: "a.txt", Size: 6, Mtime: 0x65937d25, Nsec: 123456789, Mode: 0o100644},
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("entry %d: %+v\nwant     %+v", i, got[i], want[i])
		}
	}
	if name, ok := d.Users.Lookup(0); !ok || name != "root" {
		t.Errorf("user 0 is %q", name)
	}
	// the second list of the session starts from the state of the first
	p2 := unhex(t, "809a 057375622f62 000200 0000")
	all := encode(32, func(w *Writer) {
		enc := NewEncoder(w, f)
		enc.Users.Name = func(uint32) string { return "root" }
		enc.Groups.Name = enc.Users.Name
		enc.Begin(1)
		for i := range got {
			enc.Entry(&got[i])
		}
		enc.End(0)
		enc.Begin(6)
		enc.Entry(&Entry{Dir: "sub/", Base: "b", Size: 2, Mtime: 0x65937d25, Mode: 0o100644})
		enc.End(0)
	})
	if want := append(p, p2...); !bytes.Equal(all, want) {
		t.Errorf("encoded %x\nwant    %x", all, want)
	}
}

// TestListPush29 is the captured list of §8 before protocol 30: owners behind
// it, hard links by inode, a device.
func TestListPush29(t *testing.T) {
	p := unhex(t, `01 01 2e 00100000 00f15365 ed410000 00000000 00000000
		98 02 6c6e 02000000 ffa10000 02000000 6631
		8402 02 6631 02000000 a4810000 01000000 01000000 01fe0000 59889c00
		be06 01 01 32 02000000 59889c00
		8408 04 6e756c6c 00000000 a4210000 00000000 00000000 01000000 03
		98 01 64 00100000 ed410000
		00
		01000000 06 6461656d6f6e 00000000  01000000 06 6461656d6f6e 00000000
		00000000`)
	f := Format{Protocol: 29, Owner: true, Group: true, Links: true, Devices: true, Specials: true, HardLinks: true}
	got, d, err := list(p, f, 0)
	if err != nil {
		t.Fatal(err)
	}
	if f2 := got[3]; f2.Name() != "f2" || !f2.Linked || f2.Dev != 0xfe00 || f2.Ino != 0x9c8859 || f2.UID != 1 || f2.Mtime != 1700000000 {
		t.Errorf("f2: %+v", f2)
	}
	if null := got[4]; null.Major != 1 || null.Minor != 3 || null.Mode != 0o20644 {
		t.Errorf("null: %+v", null)
	}
	if name, ok := d.Groups.Lookup(1); !ok || name != "daemon" {
		t.Errorf("group 1 is %q", name)
	}
	if again := reencode(f, got, d, 0); !bytes.Equal(again, p) {
		t.Errorf("encoded %x\nwant    %x", again, p)
	}
	cuts(t, 29, p, func(r *Reader) error { _, _, err := readList(r, f, 0); return err })
}

// reencode writes entries of one list with what their decoder learnt.
func reencode(f Format, entries []Entry, d *Decoder, ioError int32) []byte {
	return encode(f.Protocol, func(w *Writer) {
		e := NewEncoder(w, f)
		e.like(d)
		e.Begin(d.start)
		for i := range entries {
			e.Entry(&entries[i])
		}
		e.End(ioError)
	})
}

// like gives an encoder the tables of a decoder.
func (c *Encoder) like(d *Decoder) {
	c.Users.Name = func(id uint32) string { return d.Users.names[id] }
	c.Groups.Name = func(id uint32) string { return d.Groups.names[id] }
	c.ACLs.list, c.Defaults.list, c.Xattrs.list = d.ACLs.list, d.Defaults.list, d.Xattrs.list
}

// TestListByteFlags has an end of list with an error, in byte flags (§8.2).
func TestListByteFlags(t *testing.T) {
	f := Format{Protocol: 31, Features: allFeatures &^ VarintFlags}
	_, d, err := list(unhex(t, "0410 01"), f, 3)
	if err != nil || d.IOError != 1 {
		t.Errorf("io error %d, %v", d.IOError, err)
	}
	if got := encode(31, func(w *Writer) { NewEncoder(w, f).End(1) }); !bytes.Equal(got, unhex(t, "041001")) {
		t.Errorf("encoded %x", got)
	}
	f = Format{Protocol: 30, Features: IncrementalRecursion}
	_, _, err = list(unhex(t, "0410 01"), f, 3)
	wantCode(t, err, ExitProtocol)
}

// TestListHardLinks32 is the end of the transcript in §8.4.
func TestListHardLinks32(t *testing.T) {
	f := Format{Protocol: 32, Features: allFeatures &^ IncrementalRecursion, Owner: true, Group: true, HardLinks: true}
	entries := []Entry{
		{Base: "ln", Mtime: 1700000000, Mode: 0o120777},
		{Base: "f1", Size: 2, Mtime: 1700000000, Mode: 0o100644, UID: 1, GID: 1, Linked: true, LinkFirst: true},
		{Base: "f2", Size: 2, Mtime: 1700000000, Mode: 0o100644, UID: 1, GID: 1, Linked: true, Leader: 2},
	}
	got := encode(32, func(w *Writer) {
		e := NewEncoder(w, f)
		names := map[uint32]string{0: "root", 1: "daemon"}
		e.Users.Name = func(id uint32) string { return names[id] }
		e.Groups.Name = e.Users.Name
		e.Begin(1)
		for i := range entries {
			e.Entry(&entries[i])
		}
		e.End(0)
	})
	want := unhex(t, "9280 02 6631 000200 a4810000 01 01  82ba 01 01 32 02  0000 01 06 6461656d6f6e 00 04 726f6f74 01 06 6461656d6f6e 00 04 726f6f74")
	if !bytes.HasSuffix(got, want) {
		t.Errorf("encoded %x\nwant    %x", got, want)
	}
	back, d, err := list(got, f, 1)
	if err != nil || len(back) != 3 {
		t.Fatal(err)
	}
	if f2 := back[2]; f2.Size != 2 || f2.UID != 1 || f2.Leader != 2 || f2.LinkFirst || !f2.Linked || f2.Name() != "f2" {
		t.Errorf("f2: %+v", f2)
	}
	if name, ok := d.Users.Lookup(0); !ok || name != "root" {
		t.Errorf("user 0: %q", name)
	}
}

// TestLeaderChanged: a later hard link whose attributes have changed since the
// first was sent (an access time, say) leaves both sides at the first's.
func TestLeaderChanged(t *testing.T) {
	f := Format{Protocol: 32, Features: VarintFlags, HardLinks: true, Atimes: true}
	entries := []Entry{
		{Base: "a", Mode: ModeRegular, Atime: 5, Mtime: 1, Linked: true, LinkFirst: true},
		{Base: "b", Mode: ModeRegular | 0o1, Atime: 6, Mtime: 2, Linked: true},
		{Base: "c", Mode: ModeRegular | 0o1, Atime: 6, Mtime: 2},
	}
	p := encode(32, func(w *Writer) {
		e := NewEncoder(w, f)
		e.Begin(0)
		for i := range entries {
			e.Entry(&entries[i])
		}
		e.End(0)
	})
	got, _, err := list(p, f, 0)
	if err != nil || len(got) != 3 || got[1].Atime != 5 || got[2] != entries[2] {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestListTables is the transcript of ACLs and attributes in §8.6.
func TestListTables(t *testing.T) {
	f := Format{Protocol: 32, Features: allFeatures, ACLs: true, Xattrs: true}
	r := whole(32, unhex(t, "00 1f 07 05 07 05 01 01 1f 06 6461656d6f6e  01"))
	d := NewDecoder(r, f)
	if i := d.Defaults.read(r, d); i != 0 || r.err != nil {
		t.Fatal(i, r.Err())
	}
	a := d.Defaults.At(0)
	if a.User != 7 || a.Group != 5 || a.Mask != 7 || a.Other != 5 || len(a.Names) != 1 || a.Names[0] != (ACLName{1, true, 7}) {
		t.Errorf("ACL %+v", a)
	}
	if name, _ := d.Users.Lookup(1); name != "daemon" {
		t.Errorf("user 1: %q", name)
	}
	if i := d.Defaults.read(r, d); i != 0 || r.err != nil {
		t.Errorf("repeated: %d, %v", i, r.Err())
	}
	r = whole(32, unhex(t, "00 01 09 03 757365722e666f6f00 626172 00 01 09 32 757365722e62696700 000102030405060708090a0b0c0d0e0f 02"))
	for i, want := range []int32{0, 1, 1} {
		if n := d.Xattrs.read(r); n != want || r.err != nil {
			t.Fatalf("set %d: %d, %v", i, n, r.Err())
		}
	}
	if x := d.Xattrs.At(0)[0]; x.Name != "user.foo" || string(x.Value) != "bar" || x.Abbreviated() {
		t.Errorf("attribute %+v", x)
	}
	if x := d.Xattrs.At(1)[0]; x.Name != "user.big" || x.Size != 50 || len(x.Value) != 16 || !x.Abbreviated() {
		t.Errorf("attribute %+v", x)
	}
}

func TestXattrRequest(t *testing.T) {
	set := []Xattr{{"a", 50, make([]byte, 16)}, {"b", 3, []byte("xyz")}, {"c", 33, make([]byte, 16)}}
	got := encode(32, func(w *Writer) { w.WriteXattrWants([]int{0, 2}) })
	if !bytes.Equal(got, []byte{1, 2, 0}) {
		t.Errorf("request % x", got)
	}
	wants, err := whole(32, got).XattrWants(set)
	if err != nil || fmt.Sprint(wants) != "[0 2]" {
		t.Errorf("wants %v, %v", wants, err)
	}
	got = encode(32, func(w *Writer) { w.WriteXattrValues([]XattrValue{{0, bytes.Repeat([]byte("v"), 50)}, {2, nil}}) })
	values, err := whole(32, got).XattrValues(set)
	if err != nil || len(values) != 2 || len(values[0].Value) != 50 || values[1].Position != 2 || len(values[1].Value) != 0 {
		t.Errorf("values %v, %v", values, err)
	}
	cuts(t, 32, got, func(r *Reader) error { _, err := r.XattrValues(set); return err })
	for name, p := range map[string]string{"none": "04", "whole": "02", "before the first": "f0ffffffff", "endless": "01 00"} {
		r := whole(32, unhex(t, p))
		_, err := r.XattrWants(set[:max(1, len(p)/3)])
		if name == "endless" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		wantCode(t, err, ExitProtocol)
	}
	_, err = whole(32, unhex(t, "01 f000000008")).XattrValues(set) // 2^27 is allowed, but does not come
	wantCode(t, err, ExitStream)
	_, err = whole(32, unhex(t, "01 f001000008")).XattrValues(set)
	wantCode(t, err, ExitProtocol)
}

// genFormat draws what both sides may have agreed on.
func genFormat(t *rapid.T) Format {
	on := func(name string) bool { return rapid.Bool().Draw(t, name) }
	f := Format{
		Protocol: rapid.IntRange(27, 32).Draw(t, "protocol"),
		Owner:    on("owner"), Group: on("group"), Links: on("links"), Devices: on("devices"), Specials: on("specials"),
		HardLinks: on("hardlinks"), NumericIDs: on("numeric"),
		Sum: rapid.SampledFrom([]int{0, 0, 1, 8, 16, 20}).Draw(t, "sum"),
	}
	if f.Protocol >= 30 {
		f.Features = Features(rapid.Uint32Range(0, 0x1ff).Draw(t, "features"))
		f.ACLs, f.Xattrs = on("acls"), on("xattrs")
		f.Crtimes = f.varintFlags() && on("crtimes")
	}
	f.Atimes = f.Protocol >= 28 && on("atimes")
	return f
}

// genEntries draws a session's lists, as a sender of that format would have them.
func genEntries(t *rapid.T, f Format) (entries []Entry, starts map[int]int32) {
	starts = map[int]int32{0: 1}
	start, leaders := int32(1), []Entry{}
	n := rapid.IntRange(0, 25).Draw(t, "n")
	small := rapid.Uint32Range(0, 3)
	for i := range n {
		if i > 0 && rapid.IntRange(0, 9).Draw(t, "newlist") == 0 {
			start += int32(i) - 0 + 1
			starts[i] = start
		}
		e := Entry{
			Dir:  rapid.SampledFrom([]string{"", "a/", "a/b/", strings.Repeat("long/", 80)}).Draw(t, "dir"),
			Base: string(rapid.SliceOfN(rapid.ByteRange('0', 'z'), 1, 300).Draw(t, "base")),
			Size: rapid.OneOf(rapid.Int64Range(0, 1<<40), rapid.Int64Range(0, 5)).Draw(t, "size"),
			Mode: rapid.SampledFrom([]uint32{ModeFifo, ModeChar, ModeDir, ModeBlock, ModeRegular, ModeRegular, ModeLink, ModeSocket}).Draw(t, "type") |
				rapid.SampledFrom([]uint32{0o644, 0o755, 0o4711}).Draw(t, "perm"),
			Mtime: rapid.OneOf(rapid.Int64Range(0, 2), rapid.Int64Range(0, 1<<32-1)).Draw(t, "mtime"),
		}
		e.Base = strings.ReplaceAll(e.Base, "..", "xx")
		if f.Protocol >= 30 {
			e.Mtime -= 1 << 31
		}
		if f.Protocol >= 31 {
			e.Nsec = rapid.Uint32Range(0, maxNsec).Draw(t, "nsec")
		}
		if f.Owner {
			e.UID = small.Draw(t, "uid")
		}
		if f.Group {
			e.GID = small.Draw(t, "gid") + 1<<31
		}
		if f.Crtimes {
			e.Crtime = e.Mtime + int64(small.Draw(t, "crtime")/2)
		}
		dir := e.is(ModeDir)
		if f.Atimes && !dir {
			e.Atime = int64(small.Draw(t, "atime")) << 31
		}
		if f.Links && e.is(ModeLink) {
			e.Link = rapid.StringN(0, 20, -1).Draw(t, "link")
		}
		if f.Devices && e.isDevice() {
			e.Major, e.Minor = small.Draw(t, "major"), rapid.Uint32Range(0, 300).Draw(t, "minor")
		}
		if dir {
			e.TopDir = rapid.Bool().Draw(t, "top")
			e.NoContent = f.Protocol >= 30 && rapid.Bool().Draw(t, "nocontent")
		}
		if f.hasSum(&e) {
			e.Sum = string(rapid.SliceOfN(rapid.Byte(), f.Sum, f.Sum).Draw(t, "sum"))
		}
		if f.HardLinks && !dir {
			e.Linked = f.Protocol < 28 && e.is(ModeRegular) || f.Protocol >= 28 && rapid.Bool().Draw(t, "linked")
			listed := int32(i)
			for at, s := range starts {
				if s == start {
					listed = int32(i - at)
				}
			}
			switch {
			case e.Linked && f.Protocol < 30:
				e.Dev, e.Ino = uint64(small.Draw(t, "dev")), uint64(small.Draw(t, "ino"))<<20
			case e.Linked && len(leaders) > 0 && rapid.Bool().Draw(t, "later"):
				lead := rapid.SampledFrom(leaders).Draw(t, "leader")
				e.Leader = lead.Leader
				if e.Leader >= start {
					lead.Dir, lead.Base, lead.LinkFirst = e.Dir, e.Base, false
					e = lead
				}
			case e.Linked:
				e.LinkFirst, e.Leader = true, start+listed
				leaders = append(leaders, e)
			}
		}
		entries = append(entries, e)
	}
	return entries, starts
}

// TestListProperty: entries of any format survive, and any list that is cut fails.
func TestListProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := genFormat(t)
		if err := f.Check(); err != nil {
			t.Fatal(err)
		}
		entries, starts := genEntries(t, f)
		ioError := rapid.Int32Range(0, 7).Draw(t, "ioerror")
		var enc *Encoder
		p := encode(f.Protocol, func(w *Writer) {
			enc = NewEncoder(w, f)
			enc.Users.Name = func(id uint32) string { return strings.Repeat("u", int(id)) }
			enc.Groups.Name = func(id uint32) string { return fmt.Sprint("g", id) }
			for i := range entries {
				e := &entries[i]
				if start, ok := starts[i]; ok {
					if i > 0 {
						enc.End(0)
					}
					enc.Begin(start)
				}
				genTables(t, enc, e, f)
				enc.Entry(e)
			}
			enc.End(ioError)
		})
		d := NewDecoder(reader(f.Protocol, p), f)
		read := func(d *Decoder, check bool) error {
			lists := 1
			d.Begin(1)
			for i := 0; i < len(entries); {
				if start, ok := starts[i]; ok && i > 0 && d.start != start {
					var none Entry
					if more, err := d.Next(&none); more || err != nil {
						if !check {
							return err
						}
						t.Fatalf("list %d does not end: %v", lists, err)
					}
					lists++
					d.Begin(start)
				}
				var e Entry
				more, err := d.Next(&e)
				if !more || err != nil {
					if !check {
						return err
					}
					t.Fatalf("entry %d of %d: %v", i, len(entries), err)
				}
				if check {
					sameEntry(t, enc, d, entries[i], e)
				}
				i++
			}
			var none Entry
			more, err := d.Next(&none)
			if check && (more || err != nil) {
				t.Fatalf("no end: %v", err)
			}
			return err
		}
		read(d, true)
		if !d.r.AtEnd() {
			t.Fatal("bytes are left")
		}
		if told := f.Protocol != 30 || f.varintFlags() || f.safeEnd(); told && d.IOError != ioError {
			t.Fatalf("io error %d, want %d", d.IOError, ioError)
		}
		if f.Owner && !f.NumericIDs && !f.Incremental() && len(entries) > 0 {
			for _, e := range entries {
				if name, _ := d.Users.Lookup(e.UID); name != strings.Repeat("u", int(e.UID)) {
					t.Fatalf("user %d is %q", e.UID, name)
				}
			}
		}
		cut := rapid.IntRange(0, len(p)-1).Draw(t, "cut")
		if err := read(NewDecoder(whole(f.Protocol, p[:cut]), f), false); err == nil {
			t.Fatalf("cut at %d of %d: no error", cut, len(p))
		}
	})
}

func genTables(t *rapid.T, enc *Encoder, e *Entry, f Format) {
	if f.ACLs && !e.is(ModeLink) {
		e.ACL = enc.ACLs.Add(genACL(t))
		if e.is(ModeDir) {
			e.DefaultACL = enc.Defaults.Add(genACL(t))
		}
	}
	if f.Xattrs {
		var set []Xattr
		for i := range rapid.IntRange(0, 3).Draw(t, "nxattr") {
			x := Xattr{Name: fmt.Sprint("user.", i), Size: rapid.SampledFrom([]int{0, 32, 33, 1000}).Draw(t, "size")}
			x.Value = bytes.Repeat([]byte{'v'}, x.Size)
			if x.Abbreviated() {
				x.Value = make([]byte, xattrSum)
			}
			set = append(set, x)
		}
		e.Xattrs = enc.Xattrs.Add(set)
	}
}

func genACL(t *rapid.T) ACL {
	perm := rapid.Custom(func(t *rapid.T) int8 { return int8(rapid.IntRange(-1, 7).Draw(t, "perm")) })
	a := ACL{User: perm.Draw(t, "u"), Group: perm.Draw(t, "g"), Mask: perm.Draw(t, "m"), Other: perm.Draw(t, "o")}
	for range rapid.IntRange(0, 2).Draw(t, "nacl") {
		a.Names = append(a.Names, ACLName{rapid.Uint32Range(0, 4).Draw(t, "id"), rapid.Bool().Draw(t, "user"), uint8(rapid.IntRange(0, 7).Draw(t, "p"))})
	}
	return a
}

// sameEntry compares an entry with what was read of it, tables by content.
func sameEntry(t *rapid.T, enc *Encoder, d *Decoder, want, got Entry) {
	t.Helper()
	if f := enc.f; f.ACLs && !want.is(ModeLink) {
		if a, b := *enc.ACLs.At(want.ACL), *d.ACLs.At(got.ACL); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("ACL %v, want %v", b, a)
		}
		if want.is(ModeDir) {
			if a, b := *enc.Defaults.At(want.DefaultACL), *d.Defaults.At(got.DefaultACL); fmt.Sprint(a) != fmt.Sprint(b) {
				t.Fatalf("default ACL %v, want %v", b, a)
			}
		}
	}
	if enc.f.Xattrs {
		if a, b := enc.Xattrs.At(want.Xattrs), d.Xattrs.At(got.Xattrs); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("xattrs %v, want %v", b, a)
		}
	}
	want.ACL, want.DefaultACL, want.Xattrs = 0, 0, 0
	got.ACL, got.DefaultACL, got.Xattrs = 0, 0, 0
	if want != got {
		t.Fatalf("entry %+v\nwant  %+v", got, want)
	}
}

// TestEntryLimits: entries that a peer must not send, by hand (§13).
func TestEntryLimits(t *testing.T) {
	varint := Format{Protocol: 32, Features: VarintFlags, Links: true, HardLinks: true, ACLs: true, Xattrs: true}
	bytes31 := Format{Protocol: 31}
	file := "a4810000" // mode
	for name, c := range map[string]struct {
		f    Format
		x    string
		code int
	}{
		"name of 4096 bytes":      {bytes31, "40 9000" + strings.Repeat("61", 4096), ExitLimit},
		"name of 2^31-1 bytes":    {bytes31, "40 f0ffffff7f", ExitLimit},
		"name of -1 bytes":        {bytes31, "40 f0ffffffff", ExitLimit},
		"prefix out of nothing":   {bytes31, "20 05 01 61", ExitProtocol},
		"climbs":                  {bytes31, "01 05 612f2e2e62", 0}, // a/..b is fine
		"climbs in the middle":    {bytes31, "01 06 612f2e2e2f62 000000 00000000" + file, ExitUnsupported},
		"climbs at once":          {bytes31, "01 02 2e2e 000000 00000000" + file, ExitUnsupported},
		"absolute":                {bytes31, "01 02 2f61 000000 00000000" + file, ExitUnsupported},
		"of no type":              {bytes31, "01 01 61 000000 00000000 a4010000", ExitProtocol},
		"missing argument":        {bytes31, "01 01 61 000000 00000000 00000000", ExitProtocol},
		"of type 7":               {bytes31, "01 01 61 000000 00000000 a4e10000", ExitProtocol},
		"negative size":           {bytes31, "01 01 61 fcffffffffffffffff 00000000" + file, ExitUnsupported},
		"nanoseconds":             {bytes31, "0420 01 61 000000 00000000 f000ca9a3b" + file, ExitProtocol},
		"negative nanoseconds":    {bytes31, "0420 01 61 000000 00000000 f0ffffffff" + file, ExitProtocol},
		"dot is a file":           {bytes31, "01 01 2e 000000 00000000" + file, ExitProtocol},
		"link of 4096 bytes":      {varint, "04 01 61 000000 00000000 ffa10000 9000", ExitLimit},
		"link of 2^31-1 bytes":    {varint, "04 01 61 000000 00000000 ffa10000 f0ffffff7f", ExitLimit},
		"link of -1 bytes":        {varint, "04 01 61 000000 00000000 ffa10000 f0ffffffff", ExitLimit},
		"hard link to the future": {varint, "8200 01 61 03", ExitProtocol},
		"hard link to -1":         {varint, "8200 01 61 f0ffffffff", ExitProtocol},
		"flags varint too long":   {varint, "f8", ExitStream},
		"ACL number":              {varint, "04 01 61 000000 00000000" + file + "01", ExitStream},
		"ACL number -2":           {varint, "04 01 61 000000 00000000" + file + "f0feffffff", ExitStream},
		"ACL bits":                {varint, "04 01 61 000000 00000000" + file + "00 01 08", ExitStream},
		"ACL access bits":         {varint, "04 01 61 000000 00000000" + file + "00 10 01 01 22", ExitStream},
		"ACL flags":               {varint, "04 01 61 000000 00000000" + file + "00 20", ExitStream},
		"ACL of 65537 names":      {varint, "04 01 61 000000 00000000" + file + "00 10 c10100", ExitProtocol},
		"ACL of -1 names":         {varint, "04 01 61 000000 00000000" + file + "00 10 f0ffffffff", ExitProtocol},
		"xattr set":               {varint, "04 01 61 000000 00000000" + file + "0000 01", ExitStream},
		"65537 xattrs":            {varint, "04 01 61 000000 00000000" + file + "0000 00 c10100", ExitProtocol},
		"xattr name of 4097":      {varint, "04 01 61 000000 00000000" + file + "0000 00 01 9001 00", ExitProtocol},
		"xattr name of -1":        {varint, "04 01 61 000000 00000000" + file + "0000 00 01 f0ffffffff 00", ExitProtocol},
		"xattr value of 128M+1":   {varint, "04 01 61 000000 00000000" + file + "0000 00 01 01 f001000008 00", ExitProtocol},
		"xattr value of -1":       {varint, "04 01 61 000000 00000000" + file + "0000 00 01 01 f0ffffffff 00", ExitProtocol},
		"xattr name without end":  {varint, "04 01 61 000000 00000000" + file + "0000 00 01 01 00 61", ExitFile},
		"xattr name of nothing":   {varint, "04 01 61 000000 00000000" + file + "0000 00 01 00 00", ExitFile},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := list(unhex(t, c.x), c.f, 0)
			if c.code == 0 {
				c.code = ExitStream // only cut off
			}
			wantCode(t, err, c.code)
		})
	}
	// five values of 128 MiB are more than a set may have
	var x strings.Builder
	x.WriteString("04 01 61 000000 00000000" + file + "0000 00 05")
	for range 5 {
		x.WriteString("01 f000000008 00" + strings.Repeat("00", 16))
	}
	_, _, err := list(unhex(t, x.String()), varint, 0)
	wantCode(t, err, ExitProtocol)

	abs := bytes31
	abs.Absolute, abs.MissingArgs = true, true
	got, _, err := list(unhex(t, "01 02 2f61 000000 00000000 00000000 00"), abs, 0)
	if err != nil || len(got) != 1 || got[0].Name() != "/a" || got[0].Dir != "/" || got[0].Mode != 0 {
		t.Errorf("absolute, missing: %+v, %v", got, err)
	}
}

// TestHardLinkToNonLeader: a number in this list that leads no group.
func TestHardLinkToNonLeader(t *testing.T) {
	f := Format{Protocol: 32, Features: VarintFlags, HardLinks: true}
	_, _, err := list(unhex(t, "04 01 61 000000 00000000 a4810000 8200 01 62 00"), f, 0)
	wantCode(t, err, ExitProtocol)
}

func TestFormatCheck(t *testing.T) {
	for _, f := range []Format{
		{Protocol: 26}, {Protocol: 33}, {Protocol: 29, ACLs: true}, {Protocol: 29, Xattrs: true},
		{Protocol: 29, Crtimes: true, Features: allFeatures}, {Protocol: 31, Crtimes: true}, {Protocol: 27, Atimes: true},
	} {
		wantCode(t, f.Check(), ExitProtocol)
	}
}

// million encodes a list of n files, 1000 a directory.
func million(n int) ([]byte, Format) {
	f := Format{Protocol: 32, Features: allFeatures &^ IncrementalRecursion, Owner: true, Group: true, Links: true}
	return encode(32, func(w *Writer) {
		enc := NewEncoder(w, f)
		e := Entry{Mode: ModeRegular | 0o644}
		for i := range n {
			if i%1000 == 0 {
				e.Dir = fmt.Sprintf("top/some-directory-%06d/", i/1000)
			}
			e.Base = fmt.Sprintf("file-%06d.txt", i)
			e.Size, e.Mtime, e.Nsec = int64(i), 1700000000+int64(i), uint32(i+1)
			enc.Entry(&e)
		}
		enc.End(0)
	}), f
}

// TestDecodeAllocations: names of a large list cost no allocation each.
func TestDecodeAllocations(t *testing.T) {
	const n = 20000
	p, f := million(n)
	allocs := testing.AllocsPerRun(1, func() {
		d := NewDecoder(whole(32, p), f)
		d.Begin(0)
		var e Entry
		for {
			more, err := d.Next(&e)
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				return
			}
		}
	})
	if allocs > n/50 {
		t.Errorf("%.0f allocations for %d entries", allocs, n)
	}
}

func BenchmarkDecode(b *testing.B) {
	const n = 100000
	p, f := million(n)
	b.ReportAllocs()
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		d := NewDecoder(whole(32, p), f)
		d.Begin(0)
		var e Entry
		for {
			more, err := d.Next(&e)
			if err != nil {
				b.Fatal(err)
			}
			if !more {
				break
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
}

func BenchmarkEncode(b *testing.B) {
	const n = 100000
	b.ReportAllocs()
	for b.Loop() {
		million(n)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
}
