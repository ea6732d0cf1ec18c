package checksum

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gohaul/haul/test/stock"
)

var update = flag.Bool("update", false, "record testdata/sums.txt from the stock program anew")

const recorded = "testdata/sums.txt"

// vector is what rsync 3.5.0 made of a file of that many bytes, and of a basis.
type vector struct {
	protocol int
	choice   string // of --checksum-choice, empty for none
	seed     int32
	size     int
	digest   string // that ends the transfer
	list     string // of --checksum, as it is printed
	blocks   string // weak sum and the first two bytes of the strong one, of each of basis
}

const line = "%d %q %d %d %s %s %s\n"

func (v vector) session() (s Session, a Algorithm) {
	s = Session{Protocol: v.protocol, Seed: v.seed, SeedFix: v.protocol >= 30}
	switch {
	case v.choice != "":
		a, _ = ByName(v.choice)
	case v.protocol >= 30:
		a = XXH128 // negotiated
	}
	return s, a
}

func bytesOf(seed uint64, n int) []byte {
	rnd := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	return b
}

// basis is eight blocks, the last of them short.
func basis() []byte { return bytesOf(1, 7*700+300) }

// compute is the vector as we see it.
func (v vector) compute() vector {
	s, a := v.session()
	in := bytesOf(2, v.size)
	d, l := s.Digest(a), s.ListDigest(a)
	d.Write(in)
	l.Write(in)
	v.digest, v.list = hex.EncodeToString(d.Sum()), a.Text(l.Sum())
	var sums []byte
	block := s.Block(a)
	for b := basis(); len(b) > 0; {
		n := min(700, len(b))
		var sum [MaxBlockLen]byte
		block.Sum(&sum, b[:n])
		sums = binary.LittleEndian.AppendUint32(sums, Weak(b[:n]))
		sums = append(sums, sum[:2]...)
		b = b[n:]
	}
	v.blocks = hex.EncodeToString(sums)
	return v
}

// record is the vector as the stock program has it.
func (v vector) record(t *testing.T, dir string) vector {
	s, a := v.session()
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	args := []string{fmt.Sprintf("--protocol=%d", v.protocol), fmt.Sprintf("--checksum-seed=%d", v.seed)}
	if v.choice != "" {
		args = append(args, "--checksum-choice="+v.choice)
	}
	for name, b := range map[string][]byte{src: bytesOf(2, v.size), dst: basis()} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := exec.Command("rsync", append(args, "-cn", "--rsh=sh -c 'shift; exec \"$@\"' sh", "--out-format=%C", src, "h:"+dst)...)
	out, err := list.CombinedOutput()
	if err != nil {
		t.Fatalf("rsync %v: %v\n%s", list.Args, err, out)
	}
	v.list = strings.TrimSpace(string(out))

	push := stock.Push(t, src, dst, append(args, "-c")...)
	if a == Auto { // which %C does not print: the file list must have what we see
		v.list = v.compute().list
		if sum, _ := hex.DecodeString(v.list); !bytes.Contains(push.Client, sum) {
			t.Errorf("%+v: the file list has no %s", v, v.list)
		}
	}
	head := stock.Head{Count: 8, BlockLen: 700, StrongLen: 2, LastLen: 300}
	v.blocks = hex.EncodeToString(push.Blocks(t, head))
	_, digest := push.Tokens(t, head, s.Len(a))
	v.digest = hex.EncodeToString(digest)
	return v
}

func vectors() (vs []vector) {
	for protocol := 26; protocol <= 32; protocol++ {
		for _, choice := range []string{"", "sha1", "md4", "md5", "xxhash", "xxh3", "xxh128"} {
			for i, size := range []int{0, 64, 200, 5003} {
				vs = append(vs, vector{protocol: protocol, choice: choice, seed: []int32{1, -5}[i%2], size: size})
			}
		}
	}
	return vs
}

// TestStock compares with the stock program now, and with -update records it.
func TestStock(t *testing.T) {
	if testing.Short() {
		t.Skip("runs rsync")
	}
	dir := t.TempDir()
	var out strings.Builder
	for _, v := range vectors() {
		want := v.record(t, dir)
		fmt.Fprintf(&out, line, want.protocol, want.choice, want.seed, want.size, want.digest, want.list, want.blocks)
		if got := v.compute(); got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
	if *update {
		if err := os.WriteFile(recorded, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecorded compares with what was recorded.
func TestRecorded(t *testing.T) {
	text, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for l := range strings.Lines(string(text)) {
		var want vector
		if _, err := fmt.Sscanf(l, line, &want.protocol, &want.choice, &want.seed, &want.size, &want.digest, &want.list, &want.blocks); err != nil {
			t.Fatal(err)
		}
		v := vector{protocol: want.protocol, choice: want.choice, seed: want.seed, size: want.size}
		if got := v.compute(); got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		n++
	}
	if n != len(vectors()) {
		t.Errorf("%d vectors are recorded, want %d", n, len(vectors()))
	}
}
