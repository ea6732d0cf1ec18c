package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Recorded sessions of the stock program against itself, in testdata/sessions.
// They are made anew, by root and on a machine that has it, by
//
//	go test ./rsync/internal/wire -run Record -update
var update = flag.Bool("update", false, "record the sessions again, with the installed rsync")

const teeEnv = "HAUL_WIRE_TEE" // directory where the remote shell puts what it saw

func TestMain(m *testing.M) {
	if dir := os.Getenv(teeEnv); dir != "" {
		os.Exit(tee(dir, os.Args[2:]))
	}
	if setup := os.Getenv(repackEnv); setup != "" {
		if err := repackShell(setup, os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "repacking:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// tee is the remote shell: it starts the server and writes both directions down.
func tee(dir string, server []string) int {
	c2s, err1 := os.Create(filepath.Join(dir, "c2s"))
	s2c, err2 := os.Create(filepath.Join(dir, "s2c"))
	if err := errors.Join(err1, err2); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Unsetenv(teeEnv)
	cmd := exec.Command(server[0], server[1:]...)
	cmd.Stderr = os.Stderr
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		io.Copy(io.MultiWriter(c2s, in), os.Stdin)
		in.Close()
	}()
	io.Copy(io.MultiWriter(s2c, os.Stdout), out)
	os.Stdout.Close()
	if err := cmd.Wait(); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		return 1
	}
	return 0
}

// record runs the program and keeps what went over the wire.
func (s *session) record(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "wire")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, d := range []string{"src", "dst"} {
		must(t, os.Mkdir(filepath.Join(dir, d), 0o755))
	}
	trees[s.Tree](t, filepath.Join(dir, "src"), filepath.Join(dir, "dst"))
	must(t, os.WriteFile(filepath.Join(dir, "names.txt"), []byte("a.txt\n#sub\nsub/x\n\nempty\n"), 0o644))
	from, to := "src/", "h:"+dir+"/dst/"
	if !s.Push {
		from, to = "h:"+dir+"/src/", "dst/"
		if s.Empty {
			from = strings.TrimSuffix(from, "/") // an argument that a rule excludes
		}
	}
	opts := append([]string(nil), s.Opts...)
	for i := range opts {
		opts[i] = strings.Replace(opts[i], "=:names", "=:"+dir+"/names", 1)
	}
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command("rsync", append(opts, "--checksum-seed=1", "-e", exe, from, to)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), teeEnv+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	s.C2S, err = os.ReadFile(filepath.Join(dir, "c2s"))
	must(t, err)
	s.S2C, err = os.ReadFile(filepath.Join(dir, "s2c"))
	must(t, err)
	head, err := json.Marshal(s)
	must(t, err)
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, 9)
	for _, part := range [][]byte{head, s.C2S, s.S2C} {
		z.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(part))))
		z.Write(part)
	}
	must(t, z.Close())
	must(t, os.WriteFile(s.file(), b.Bytes(), 0o644))
}

// trees make source and destination of a session.
var trees = map[string]func(t *testing.T, src, dst string){
	"all": treeAll, "blocks": treeFiles("blocks"), "append": treeFiles("append"),
	"fuzzy": func(t *testing.T, src, dst string) {
		treeFiles("version-2.txt")(t, src, dst)
		must(t, os.WriteFile(filepath.Join(dst, "version-1.txt"), basisOf("version-2.txt"), 0o644))
		must(t, os.Remove(filepath.Join(dst, "version-2.txt")))
	},
}

func treeFiles(name string) func(t *testing.T, src, dst string) {
	return func(t *testing.T, src, dst string) {
		must(t, os.WriteFile(filepath.Join(src, name), contentOf(name), 0o644))
		must(t, os.WriteFile(filepath.Join(dst, name), basisOf(name), 0o644))
		when := time.Unix(1700000000, 0)
		must(t, os.Chtimes(filepath.Join(src, name), when, when))
	}
}

// treeAll has every kind of entry that a list can have.
func treeAll(t *testing.T, src, dst string) {
	in := func(name string) string { return filepath.Join(src, name) }
	for _, d := range []string{"sub", "sub/deep", "sub/deep/deeper", "emptydir", "sub/" + strings.Repeat("L", 250), "sub/" + strings.Repeat("L", 250) + "/" + strings.Repeat("M", 250)} {
		must(t, os.Mkdir(in(d), 0o755))
	}
	long := "sub/" + strings.Repeat("L", 250) + "/" + strings.Repeat("M", 250) + "/" + strings.Repeat("N", 255)
	files := []string{"a.txt", "big", "empty", "hard1", "owned", "unknown", "old", "late", "bad\xff\xfename", "sub/x", "sub/y", "sub/deep/empty",
		"sub/deep/deeper/x", "sub/deep/deeper/xy", "private", "#sub", long}
	for _, f := range files {
		must(t, os.WriteFile(in(f), contentOf(f), 0o644))
	}
	must(t, os.Link(in("hard1"), in("hard2")))
	must(t, os.Link(in("hard1"), in("sub/hard3")))
	must(t, os.Symlink("a.txt", in("link")))
	must(t, os.Link(in("link"), in("link2")))
	must(t, os.Symlink(strings.Repeat("far/", 80)+"away", in("sub/link")))
	must(t, unix.Mkfifo(in("fifo"), 0o600))
	must(t, os.Link(in("fifo"), in("fifo2")))
	must(t, unix.Mknod(in("sock"), unix.S_IFSOCK|0o644, 0))
	must(t, unix.Mknod(in("null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	must(t, os.Link(in("null"), in("null2")))
	must(t, unix.Mknod(in("sub/full"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 7))))
	must(t, unix.Mknod(in("sub/tty"), unix.S_IFCHR|0o620, int(unix.Mkdev(4, 300))))
	must(t, unix.Mknod(in("disk"), unix.S_IFBLK|0o660, int(unix.Mkdev(259, 70000))))
	must(t, os.Lchown(in("owned"), 1, 2))
	must(t, os.Lchown(in("unknown"), 54321, 54322))
	must(t, os.Lchown(in("sub/link"), 1, 1))
	must(t, os.Chmod(in("private"), 0))
	must(t, os.Chmod(in("sub/x"), os.ModeSetuid|0o755))
	must(t, unix.Setxattr(in("a.txt"), "user.short", []byte("value"), 0))
	must(t, unix.Setxattr(in("a.txt"), "user.long", bytes.Repeat([]byte("long "), 40), 0))
	must(t, unix.Setxattr(in("sub/x"), "user.short", []byte("value"), 0))
	must(t, unix.Setxattr(in("sub/x"), "user.long", bytes.Repeat([]byte("long "), 40), 0))
	must(t, unix.Setxattr(in("sub"), "user.32", bytes.Repeat([]byte("x"), 32), 0))
	acl := func(entries ...[3]uint32) []byte {
		b := binary.LittleEndian.AppendUint32(nil, 2)
		for _, e := range entries {
			b = binary.LittleEndian.AppendUint16(b, uint16(e[0]))
			b = binary.LittleEndian.AppendUint16(b, uint16(e[1]))
			b = binary.LittleEndian.AppendUint32(b, e[2])
		}
		return b
	}
	const none = ^uint32(0)
	access := acl([3]uint32{1, 6, none}, [3]uint32{2, 6, 1}, [3]uint32{2, 4, 2}, [3]uint32{4, 4, none}, [3]uint32{8, 4, 3}, [3]uint32{16, 6, none}, [3]uint32{32, 4, none})
	must(t, unix.Setxattr(in("owned"), "system.posix_acl_access", access, 0))
	must(t, unix.Setxattr(in("sub/y"), "system.posix_acl_access", access, 0))
	must(t, unix.Setxattr(in("sub/deep"), "system.posix_acl_default", access, 0))
	// Times last: directories too. Access times lie ahead, where reading leaves them.
	when := time.Unix(1700000000, 123456789)
	must(t, filepath.WalkDir(src, func(p string, d os.DirEntry, err error) error {
		ts := []unix.Timespec{unix.NsecToTimespec(time.Unix(4102444800, 0).UnixNano()), unix.NsecToTimespec(when.UnixNano())}
		return errors.Join(err, unix.UtimesNanoAt(unix.AT_FDCWD, p, ts, unix.AT_SYMLINK_NOFOLLOW))
	}))
	must(t, os.Chtimes(in("old"), time.Unix(0, 0), time.Unix(0, 0)))
	must(t, os.Chtimes(in("late"), time.Unix(1<<32-5, 0), time.Unix(1<<32-5, 7)))
	must(t, os.WriteFile(filepath.Join(dst, "big"), basisOf("big"), 0o644))
	must(t, os.WriteFile(filepath.Join(dst, "gone"), []byte("x"), 0o644))
	must(t, os.MkdirAll(filepath.Join(dst, "gonedir/more"), 0o755))
}

// TestRecord makes the recorded sessions anew, when told to.
func TestRecord(t *testing.T) {
	if !*update {
		return
	}
	must(t, os.MkdirAll(filepath.Join("testdata", "sessions"), 0o755))
	for _, s := range sessions() {
		t.Run(s.Name, s.record)
	}
}
