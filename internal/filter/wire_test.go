package filter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func cvsTexts(prefix string) []string {
	var out []string
	for _, name := range strings.Fields(cvsNames) {
		out = append(out, prefix+name)
	}
	return out
}

var wireCases = []struct {
	client  Side
	proto   int
	exclude bool // --delete-excluded
	rules   []string
	want    []string // nil: too modern
}{
	{Receiver, 32, false, []string{"- *.o", "+ keep/", "-sp foo", "H hid", "P *~", ": /.rsync-filter", ":nw- /mer", ":C", "-C", "-/ /abs", "+x user.*", "-p .pp/", "-sr z", "R r"},
		[]string{"- *.o", "+ keep/", "-sp foo", "-s hid", ": /.rsync-filter", ":nw- /mer", ":C .cvsignore", "-C ", "-/ /abs", "+x user.*", "-p .pp/", "-sr z"}},
	{Sender, 31, false, []string{"-s a", "-r b", "-sr c", "H d", "P e", "R f", "S g", ":s m", ":r n", ":eps/ o"}, []string{"-r b", "-sr c", "-r e", "+r f", ":r n", "- o"}},
	{Receiver, 31, false, []string{"-s a", "-r b", "-sr c", "H d", "P e", "R f", "S g", ":s m", ":r n", ":eps/ o"}, []string{"-s a", "-sr c", "-s d", "+s g", ":s m", "- o", ":/sp o"}},
	{Sender, 30, false, []string{"-C", "- a"}, append(cvsTexts("-p "), "- a")},
	{Sender, 30, false, []string{"-Cs", "-C", "- a"}, []string{"- a"}},
	{Sender, 30, false, []string{"+C", "-C"}, append(cvsTexts("+p "), cvsTexts("+p ")...)},
	{Sender, 30, false, []string{"-Cr"}, cvsTexts("-rp ")},
	{Sender, 29, false, []string{"-C"}, nil},
	{Receiver, 29, false, []string{"-C", "-p x"}, []string{"-C ", "- x"}},
	{Receiver, 28, false, []string{"-C", "-p x"}, append(cvsTexts(""), "x")},
	{Sender, 29, false, []string{"-p x"}, nil},
	{Sender, 28, false, []string{"-p x"}, nil},
	{Receiver, 28, false, []string{"- a", "-p b", "+ c", "- - d", "- + e", "+ + f", "- -x", "- -", "- g/"}, []string{"a", "b", "+ c", "- - d", "- + e", "+ + f", "-x", "-", "g/"}},
	{Receiver, 27, false, []string{"- a", "-s b", "-r c", "-sr d"}, []string{"a", "b", "d"}},
	{Sender, 28, false, []string{"- a", "-s b", "-r c", "-sr d"}, []string{"a", "c", "d"}},
	{Receiver, 28, false, []string{"-! c"}, nil}, {Receiver, 28, false, []string{"-/ c"}, nil}, {Receiver, 28, false, []string{": c"}, nil}, {Receiver, 28, false, []string{"-x c"}, nil},
	{Sender, 31, true, []string{"- a", "-r c", ": m", ":- m1", ":C", ":s m2", "-C"}, []string{"-r c", ": m"}},
	{Receiver, 31, true, []string{"- a", "-r c", ": m", ":- m1", ":C", ":s m2", "-C", "-x x"}, []string{"-s a", ": m", ":- m1", ":C .cvsignore", ":s m2", "-Cs ", "-xs x"}},
	{Sender, 28, true, []string{"-r c"}, nil},
}

func TestWire(t *testing.T) {
	for _, c := range wireCases {
		l := NewList(Options{DeleteExcluded: c.exclude})
		if err := l.Filter(c.rules...); err != nil {
			t.Fatal(err)
		}
		got, err := l.Wire(c.client, c.proto)
		if c.want == nil {
			if !errors.Is(err, ErrTooModern) {
				t.Errorf("%v: %q, %v; want ErrTooModern", c, got, err)
			}
			continue
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, %v", c, got, err)
		}
		far := NewList(Options{})
		for _, text := range got {
			if err := far.AddWire(text, c.proto); err != nil {
				t.Errorf("AddWire(%q): %v", text, err)
			}
		}
		if len(far.Rules()) != len(got) {
			t.Errorf("%v: %q arrived as %q", c, got, texts(far))
		}
	}
	l := NewList(Options{})
	if err := l.Filter("- !"); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Wire(Receiver, 28); err != nil || !slices.Equal(got, []string{"- !"}) {
		t.Errorf("%q, %v: a lone ! clears the other side's list", got, err)
	}
	if err := l.AddWire("!", 28); err != nil || len(l.Rules()) != 0 {
		t.Error("! from an old client does not clear")
	}
	if err := l.AddWire(". /etc/passwd", 31); err == nil {
		t.Error("a client may have files read")
	}
	if got, err := (*List)(nil).Wire(Sender, 31); got != nil || err != nil {
		t.Error(got, err)
	}
}

// TestMain lets this binary stand in for ssh: it starts the server and writes
// down what the client says to it.
func TestMain(m *testing.M) {
	if file := os.Getenv("FILTER_TEST_CAPTURE"); file != "" {
		os.Exit(capture(file, os.Args[2:]))
	}
	os.Exit(m.Run())
}

func capture(file string, args []string) int {
	f, err := os.Create(file)
	if err != nil {
		return 1
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return 1
	}
	go func() { // reads until the client goes, which may be after the server
		_, _ = io.Copy(io.MultiWriter(f, in), os.Stdin)
		_ = in.Close()
	}()
	if cmd.Wait() != nil {
		return 1
	}
	return 0
}

// TestWireAsRsync compares with what rsync's client writes.
func TestWireAsRsync(t *testing.T) {
	needRsync(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range wireCases {
		if c.want == nil {
			continue
		}
		dir := t.TempDir()
		makeTree(t, dir, map[string]string{"src/x": "", "dst/": ""})
		t.Setenv("FILTER_TEST_CAPTURE", filepath.Join(dir, "cap"))
		args := append(filterArgs(c.rules), "--protocol="+strconv.Itoa(c.proto), "-e", self)
		if c.exclude {
			args = slices.Insert(args, 0, "--delete-excluded") // it acts on the rules behind it only
		}
		if c.client == Sender {
			args = append(args, "--delete", "src/", "host:"+dir+"/dst/")
		} else {
			args = append(args, "host:"+dir+"/src/", "dst/")
		}
		if _, err := rsync(t, dir, args...); err != nil {
			t.Fatal(err)
		}
		cap, err := os.ReadFile(filepath.Join(dir, "cap"))
		if err != nil {
			t.Fatal(err)
		}
		if got := capturedRules(cap, c.proto); !slices.Equal(got, c.want) {
			t.Errorf("%v: rsync sends %q", c, got)
		}
	}
}

// capturedRules finds the rules in what a client sent: version, from protocol
// 30 on its checksum names and then everything in frames.
func capturedRules(b []byte, proto int) (rules []string) {
	b = b[4:]
	if proto >= 30 {
		b = b[1+int(b[0]):]
		var data bytes.Buffer
		for len(b) >= 4 {
			h := binary.LittleEndian.Uint32(b)
			n := min(int(h&0xffffff), len(b)-4)
			data.Write(b[4 : 4+n])
			b = b[4+n:]
		}
		b = data.Bytes()
	}
	for len(b) >= 4 {
		n := int(binary.LittleEndian.Uint32(b))
		if n == 0 || n > len(b)-4 {
			break
		}
		rules = append(rules, string(b[4:4+n]))
		b = b[4+n:]
	}
	return rules
}
