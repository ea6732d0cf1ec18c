package wire

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestItemBytes has records seen on the wire (§6.2).
func TestItemBytes(t *testing.T) {
	for x, it := range map[string]Item{
		"00a0":                                {Flags: ItemTransfer | ItemNew, Basis: BasisDest},
		"0c88 00":                             {Flags: ItemTransfer | ItemTime | ItemSize | ItemBasisType, Basis: 0},
		"00b8 83 0c 66696c652d312e302e747874": {Flags: ItemTransfer | ItemNew | ItemBasisType | ItemName, Basis: BasisFuzzy, Name: "file-1.0.txt"},
		"0050 00":                             {Flags: ItemLocal | ItemName, Basis: BasisDest},
	} {
		p := unhex(t, x)
		got, err := reader(32, p).Item()
		if err != nil || got != it {
			t.Errorf("%s: %+v, %v", x, got, err)
		}
		if again := encode(32, func(w *Writer) { w.Item(it) }); !bytes.Equal(again, p) {
			t.Errorf("%s: written as %x", x, again)
		}
		cuts(t, 32, p, func(r *Reader) error { _, err := r.Item(); return err })
	}
	it, err := whole(28, nil).Item()
	if err != nil || it.Flags != ItemTransfer|ItemMissing {
		t.Errorf("before 29: %+v, %v", it, err)
	}
	if p := encode(28, func(w *Writer) { w.Item(it) }); len(p) != 0 {
		t.Errorf("before 29: written as %x", p)
	}
	_, err = whole(32, append(unhex(t, "0010 9000"), bytes.Repeat([]byte("x"), 4096)...)).Item()
	wantCode(t, err, ExitProtocol)
}

func TestIndexNames(t *testing.T) {
	for dir, index := range map[int32]int32{0: -101, 1: -102, 1000: -1101} {
		if got := ListFor(dir); got != index {
			t.Errorf("list of directory %d is %d", dir, got)
		}
		if got, ok := ListDir(index); !ok || got != dir {
			t.Errorf("index %d is directory %d, %v", index, got, ok)
		}
	}
	for _, index := range []int32{0, 5, Done, ListsEnd, DeleteCount, -100} {
		if _, ok := ListDir(index); ok {
			t.Errorf("%d announces a list", index)
		}
	}
}

func TestSumHead(t *testing.T) {
	h := SumHead{Count: 4, BlockLen: 700, StrongLen: 2, Remainder: 300}
	p := encode(32, func(w *Writer) { w.SumHead(h); w.BlockSum(0x451efbe0, []byte{0xf1, 0x6e}) })
	if want := unhex(t, "04000000 bc020000 02000000 2c010000 e0fb1e45 f16e"); !bytes.Equal(p, want) {
		t.Errorf("written as %x", p)
	}
	read := func(r *Reader) error {
		got, err := r.SumHead(16)
		if err != nil {
			return err
		}
		strong := make([]byte, got.StrongLen)
		if rolling := r.BlockSum(strong); r.err == nil && (got != h || rolling != 0x451efbe0 || string(strong) != "\xf1\x6e") {
			t.Errorf("read %+v, %#x, %x", got, rolling, strong)
		}
		return r.Err()
	}
	if err := read(reader(32, p)); err != nil {
		t.Error(err)
	}
	cuts(t, 32, p, read)
	if h.Size() != 2400 || (SumHead{Count: 3, BlockLen: 700}).Size() != 2100 || (SumHead{Remainder: 3, BlockLen: 7}).Size() != 0 {
		t.Error("size of the basis")
	}
	if off, n := h.Block(3); off != 2100 || n != 300 {
		t.Errorf("last block at %d, %d bytes", off, n)
	}
	if off, n := (SumHead{Count: 1 << 20, BlockLen: MaxBlock}).Block(1<<20 - 1); off != 1<<37-MaxBlock || n != MaxBlock {
		t.Errorf("far block at %d, %d bytes", off, n)
	}
}

// TestSumHeadLimits: heads that a peer must not send (§13).
func TestSumHeadLimits(t *testing.T) {
	for name, c := range map[string]struct {
		protocol int
		h        SumHead
		ok       bool
	}{
		"negative count":      {32, SumHead{Count: -1}, false},
		"blocks of no length": {32, SumHead{Count: 1}, false},
		"long blocks":         {32, SumHead{Count: 1, BlockLen: MaxBlock + 1}, false},
		"longest blocks":      {32, SumHead{Count: 1<<31 - 1, BlockLen: MaxBlock}, true},
		"long blocks of old":  {29, SumHead{Count: 1, BlockLen: MaxBlock29}, true},
		"too long for old":    {29, SumHead{Count: 1, BlockLen: MaxBlock29 + 1}, false},
		"negative length":     {32, SumHead{Count: 1, BlockLen: -700}, false},
		"long sums":           {32, SumHead{Count: 1, BlockLen: 700, StrongLen: 17}, false},
		"negative sums":       {32, SumHead{Count: 1, BlockLen: 700, StrongLen: -1}, false},
		"long rest":           {32, SumHead{Count: 1, BlockLen: 700, Remainder: 701}, false},
		"negative rest":       {32, SumHead{Count: 1, BlockLen: 700, Remainder: -1}, false},
		"nothing":             {32, SumHead{}, true},
	} {
		got, err := whole(c.protocol, encode(c.protocol, func(w *Writer) { w.SumHead(c.h) })).SumHead(16)
		if c.ok {
			if err != nil || got != c.h {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			continue
		}
		if got != (SumHead{}) {
			t.Errorf("%s: %+v comes with an error", name, got)
		}
		wantCode(t, err, ExitProtocol)
	}
}

func TestStatsBytes(t *testing.T) {
	s := Stats{Read: 20, Written: 55, Size: 3, BuildTime: 1}
	for protocol, x := range map[int]string{
		32: "001400 003700 000300 000100 000000",
		29: "14000000 37000000 03000000 01000000 00000000",
		27: "14000000 37000000 03000000",
	} {
		p := encode(protocol, func(w *Writer) { w.Stats(s) })
		if !bytes.Equal(p, unhex(t, x)) {
			t.Errorf("%d: %x", protocol, p)
		}
		got, err := reader(protocol, p).Stats()
		want := s
		if protocol < 29 {
			want.BuildTime = 0
		}
		if err != nil || got != want {
			t.Errorf("%d: %+v, %v", protocol, got, err)
		}
		cuts(t, protocol, p, func(r *Reader) error { _, err := r.Stats(); return err })
	}
}

func TestDeletionsBytes(t *testing.T) {
	p := encode(32, func(w *Writer) { w.Deletions(Deletions{Files: 2, Dirs: 1}) })
	if !bytes.Equal(p, unhex(t, "ff02 02 01 00 00 00")) {
		t.Errorf("written as %x", p)
	}
	read := func(r *Reader) error {
		if i := r.Index(); i != DeleteCount && r.err == nil {
			t.Errorf("index %d", i)
		}
		got, err := r.Deletions()
		if err == nil && got != (Deletions{2, 1, 0, 0, 0}) {
			t.Errorf("read %+v", got)
		}
		return err
	}
	if err := read(whole(32, p)); err != nil {
		t.Error(err)
	}
	cuts(t, 32, p, read)
	for _, x := range []string{"f0ffffffff 00 00 00 00", "00 00 00 00 f001000010"} {
		_, err := whole(32, unhex(t, x)).Deletions()
		wantCode(t, err, ExitProtocol)
	}
}

func TestRules(t *testing.T) {
	rules := []string{"- *.o", "+ keep/", ":C .cvsignore", strings.Repeat("x", 5119)}
	p := encode(32, func(w *Writer) {
		if err := w.Rules(rules); err != nil {
			t.Fatal(err)
		}
	})
	got, err := reader(32, p).Rules()
	if err != nil || strings.Join(got, "|") != strings.Join(rules, "|") {
		t.Errorf("%q, %v", got, err)
	}
	cuts(t, 32, p[:60], func(r *Reader) error { _, err := r.Rules(); return err })
	for _, x := range []string{"00140000", "ffffffff", "ffffff7f"} {
		_, err := whole(32, append(unhex(t, x), make([]byte, 6000)...)).Rules()
		wantCode(t, err, ExitLimit)
	}
	_, err = whole(32, bytes.Repeat([]byte{1, 0, 0, 0, 'x'}, maxRules+1)).Rules()
	wantCode(t, err, ExitLimit)
	for _, rule := range []string{"", strings.Repeat("x", 5120)} {
		encode(32, func(w *Writer) { wantCode(t, w.Rules([]string{rule}), ExitLimit) })
	}
}

func TestBatchHead(t *testing.T) {
	h := BatchHead{Options: 0x9f, Protocol: 32, Features: allFeatures, Seed: 5}
	p := encode(0, func(w *Writer) { w.BatchHead(h) })
	if !bytes.Equal(p, unhex(t, "9f000000 20000000 81ff 05000000")) {
		t.Errorf("written as %x", p)
	}
	r := whole(0, p)
	if got, err := r.BatchHead(); err != nil || got != h || r.Protocol != 32 {
		t.Errorf("%+v, %v", got, err)
	}
	cuts(t, 0, p, func(r *Reader) error { _, err := r.BatchHead(); return err })
	_, err := whole(0, unhex(t, "00000000 29000000")).BatchHead()
	wantCode(t, err, ExitProtocol)
}

// TestValuesProperty: items, heads, statistics and counts survive in every protocol.
func TestValuesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		protocol := rapid.IntRange(27, 32).Draw(t, "protocol")
		it := Item{Flags: ItemFlags(rapid.Uint16().Draw(t, "flags")) &^ ItemMissing, Basis: BasisDest}
		if it.Flags&ItemBasisType != 0 {
			it.Basis = rapid.Byte().Draw(t, "basis")
		}
		if it.Flags&ItemName != 0 {
			it.Name = rapid.StringN(0, 200, -1).Draw(t, "name")
		}
		n := rapid.Int64Range(0, 1<<50)
		s := Stats{n.Draw(t, "read"), n.Draw(t, "written"), n.Draw(t, "size"), n.Draw(t, "build"), n.Draw(t, "transfer")}
		h := SumHead{Count: rapid.Int32Range(0, 1<<31-1).Draw(t, "count"), BlockLen: rapid.Int32Range(1, MaxBlock).Draw(t, "len"), StrongLen: rapid.Int32Range(0, 16).Draw(t, "strong")}
		h.Remainder = rapid.Int32Range(0, h.BlockLen).Draw(t, "rest")
		c := rapid.Int32Range(0, maxDeletions)
		d := Deletions{c.Draw(t, "f"), c.Draw(t, "d"), c.Draw(t, "l"), c.Draw(t, "v"), c.Draw(t, "s")}
		p := encode(protocol, func(w *Writer) {
			w.Item(it)
			w.SumHead(h)
			w.Stats(s)
			w.Deletions(d)
		})
		if protocol < 29 {
			it = Item{Flags: ItemTransfer | ItemMissing, Basis: BasisDest}
			s.BuildTime, s.TransferTime = 0, 0
		}
		r := reader(protocol, p)
		it2, err1 := r.Item()
		h2, err2 := r.SumHead(16)
		s2, err3 := r.Stats()
		r.Index()
		d2, err4 := r.Deletions()
		if it2 != it || h2 != h || s2 != s || d2 != d || !r.AtEnd() {
			t.Fatalf("%+v %+v %+v %+v\nwant %+v %+v %+v %+v\n%v %v %v %v", it2, h2, s2, d2, it, h, s, d, err1, err2, err3, err4)
		}
	})
}

// TestLengthsClaimNothing: a length alone makes nobody allocate it.
func TestLengthsClaimNothing(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		if r := whole(32, make([]byte, 100)); r.Blob(MaxXattrValue) != nil || r.Err() == nil {
			t.Fatal("128 MiB out of 100 bytes")
		}
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 10<<20 {
		t.Errorf("%d bytes for ten lengths", used)
	}
}
