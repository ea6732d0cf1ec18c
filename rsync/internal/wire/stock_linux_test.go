package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// These tests let the installed program read what our writers compress.

// stockRun is a directory with trees src and dst, and the program.
type stockRun struct {
	dir   string
	names []string
	args  []string
	env   []string
}

func newStockRun(t *testing.T, protocol int, method Compression) *stockRun {
	if testing.Short() {
		t.Skip("runs rsync; not with -short")
	}
	if _, err := exec.LookPath("rsync"); err != nil {
		t.Fatal("rsync is not installed; with -short this test is left out")
	}
	r := &stockRun{dir: t.TempDir(), names: []string{"a.txt", "big", "blocks", "empty", "noise", "version-2.txt", "zz"}}
	for _, d := range []string{"src", "dst"} {
		must(t, os.Mkdir(filepath.Join(r.dir, d), 0o755))
	}
	for _, name := range r.names {
		treeFiles(name)(t, filepath.Join(r.dir, "src"), filepath.Join(r.dir, "dst"))
	}
	r.args = []string{"-rtI", fmt.Sprintf("--protocol=%d", protocol), "--block-size=70000"}
	if method != NoCompression {
		r.args = append(r.args, "--compress-choice="+string(method))
	}
	return r
}

func (r *stockRun) run(t *testing.T, more ...string) {
	t.Helper()
	cmd := exec.Command("rsync", append(append([]string(nil), r.args...), more...)...)
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), r.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// check wants every file at the destination, with the source's time.
func (r *stockRun) check(t *testing.T) {
	for _, name := range r.names {
		got, err := os.ReadFile(filepath.Join(r.dir, "dst", name))
		if err != nil || !bytes.Equal(got, contentOf(name)) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		info, err := os.Stat(filepath.Join(r.dir, "dst", name))
		if err != nil || !info.ModTime().Equal(time.Unix(1700000000, 0)) {
			t.Errorf("%s: %v: not applied", name, err)
		}
	}
}

type repackRow struct {
	Protocol int
	Method   Compression
	Level    int
}

// TestPullRepacked stands between the program and itself and compresses all
// tokens anew on their way.
func TestPullRepacked(t *testing.T) {
	rows := []repackRow{{31, LZ4, 0}, {27, Zlib, 6}, {29, Zlib, 9}, {30, Zlib, 1}, {32, NoCompression, 0}}
	for _, level := range []int{-5, 1, 3, 5, 9, 19} {
		rows = append(rows, repackRow{32, Zstd, level})
	}
	for _, level := range []int{1, 4, 6, 9} {
		rows = append(rows, repackRow{32, Zlib, level}, repackRow{31, Zlibx, level})
	}
	for _, row := range rows {
		t.Run(fmt.Sprintf("%d-%s-%d", row.Protocol, row.Method, row.Level), func(t *testing.T) {
			r := newStockRun(t, row.Protocol, row.Method)
			setup, err := json.Marshal(row)
			must(t, err)
			exe, err := os.Executable()
			must(t, err)
			r.env = []string{repackEnv + "=" + string(setup)}
			r.run(t, "-e", exe, "h:"+r.dir+"/src/", "dst/")
			r.check(t)
		})
	}
}

const repackEnv = "HAUL_WIRE_REPACK"

// repackShell is a remote shell for a pull that decodes what the server sends
// and sends on what we make of it.
func repackShell(setup string, server []string) error {
	var row repackRow
	if err := json.Unmarshal([]byte(setup), &row); err != nil {
		return err
	}
	os.Unsetenv(repackEnv)
	cmd := exec.Command(server[0], server[1:]...)
	cmd.Stderr, cmd.Stdin = os.Stderr, os.Stdin
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	method := row.Method
	if method == NoCompression {
		method = ""
	}
	s := &session{Protocol: row.Protocol, Compress: method}
	p := &player{s: s, entries: map[int32]*Entry{}, digest: 16, compress: method,
		repack: func(w *Writer) (TokenWriter, error) { return NewTokenWriter(w, method, row.Level) }}
	d := &side{r: NewReader(out, 0), w: NewWriter(os.Stdout, 4<<20)} // frames as long as the longest file
	d.r.BeforeRead = d.w.Flush
	d.w.Int(d.r.Int())
	d.r.Protocol, d.w.Protocol = row.Protocol, row.Protocol
	if row.Protocol >= 30 {
		p.features = d.r.Features()
		d.w.Features(p.features)
		d.w.Vstring(d.r.Vstring(255, ExitUnsupported, "list of checksums"))
	}
	p.format = Format{Protocol: row.Protocol, Features: p.features}
	d.w.Int(d.r.Int())
	d.r.SetFramed(true)
	d.w.SetFramed(true)
	if err := p.sender(d); err != nil {
		return err
	}
	if err := d.w.Flush(); err != nil {
		return err
	}
	if p.matched == 0 {
		return fmt.Errorf("nothing matched")
	}
	if !d.r.AtEnd() {
		return fmt.Errorf("bytes are left: %w", d.r.Err())
	}
	return cmd.Wait()
}

// TestBatchRepacked lets the program record a batch file, compresses its tokens
// anew, and lets the program apply the result.
func TestBatchRepacked(t *testing.T) {
	for _, row := range []repackRow{{32, NoCompression, 0}, {27, NoCompression, 0}, {29, Zlib, 6}, {30, Zlib, 9}, {32, Zlib, 1}} {
		t.Run(fmt.Sprintf("%d-%s-%d", row.Protocol, row.Method, row.Level), func(t *testing.T) {
			r := newStockRun(t, row.Protocol, row.Method)
			r.run(t, "--no-inc-recursive", "--only-write-batch=batch", "src/", "dst/")
			old, err := os.ReadFile(filepath.Join(r.dir, "batch"))
			must(t, err)
			must(t, os.WriteFile(filepath.Join(r.dir, "batch"), repackBatch(t, old, row.Method, row.Level), 0o644))
			r.run(t, "--no-inc-recursive", "--read-batch=batch", "dst/")
			r.check(t)
		})
	}
}

// repackBatch writes a batch again with tokens of our own making.
func repackBatch(t *testing.T, old []byte, method Compression, level int) []byte {
	if method == NoCompression {
		method = ""
	}
	s := &session{Compress: method}
	p := &player{s: s, entries: map[int32]*Entry{}, digest: 16, compress: method,
		repack: func(w *Writer) (TokenWriter, error) { return NewTokenWriter(w, method, level) }}
	d := p.side(old)
	d.r.Tee(nil)
	head, err := d.r.BatchHead()
	must(t, err)
	d.w.BatchHead(head)
	if on := head.Options&BatchCompress != 0; on != (method != "") {
		t.Fatalf("options %#x, method %q", head.Options, method)
	}
	s.Protocol, p.features = head.Protocol, head.Features
	p.format = Format{Protocol: head.Protocol, Features: head.Features}
	must(t, p.sender(d))
	if !d.r.AtEnd() {
		t.Fatalf("%d bytes are left", d.r.end-d.r.pos)
	}
	must(t, p.packer.Close())
	must(t, d.w.Flush())
	if p.matched == 0 {
		t.Error("nothing matched")
	}
	return d.back.Bytes()
}
