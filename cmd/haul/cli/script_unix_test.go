//go:build unix

package cli

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gohaul/haul/internal/sys"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"haul": func() { os.Exit(Run(append([]string{"haul"}, os.Args[1:]...), os.Stdin, os.Stdout, os.Stderr)) },
		// haul as it behaves under the name cp, which is that of the real one here.
		"hcp": func() { os.Exit(Run(append([]string{"cp"}, os.Args[1:]...), os.Stdin, os.Stdout, os.Stderr)) },
	})
}

func TestScripts(t *testing.T) {
	// A run under nohup ignores SIGHUP, and so would the commands it starts: a
	// signal that is caught here has its usual effect on them.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hup) })
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			home, err := os.MkdirTemp(memory(), "haul-same-*") // where others may go too
			if err != nil {
				return err
			}
			e.Defer(func() { os.RemoveAll(home) })
			if err := os.Chmod(home, 0o755); err != nil {
				return err
			}
			e.Vars = append(e.Vars, "LC_ALL=C", "TZ=UTC", "TMPDIR="+e.WorkDir+"/.tmp", "BOX="+home+"/box")
			syscall.Umask(0o022)
			return os.MkdirAll(filepath.Join(e.WorkDir, ".tmp"), 0o777)
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Getuid() == 0, nil
			case "gnucp":
				return coreutils() != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"same":   cmdSame,
			"octets": cmdOctets,
			"mtime":  cmdMtime,
			"mode":   cmdMode,
			"perm":   cmdPerm,
			"links":  cmdLinks,
			"fifo":   cmdFIFO,
			"hardln": cmdHardLink,
			"hole":   cmdHole,
			"blocks": cmdBlocks,
			"notemp": cmdNoTemp,
			"signal": cmdSignal,
		},
		ContinueOnError:     true,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// memory is a directory on a file system in memory, "" if there is none: what is
// compared there are words and trees, some hundred times.
func memory() string {
	const shm = "/dev/shm"
	if st, err := os.Stat(shm); err == nil && st.Mode().Perm() == 0o777 && st.Mode()&os.ModeSticky != 0 {
		return shm
	}
	return ""
}

// coreutils is the version of the cp that stands beside us; "" if it is not GNU's.
func coreutils() string {
	out, err := exec.Command("cp", "--version").Output()
	line, _, _ := strings.Cut(string(out), "\n")
	if err != nil || !strings.Contains(line, "GNU coreutils") {
		return ""
	}
	return line[strings.LastIndexByte(line, ' ')+1:]
}

// blackBox is the version whose messages are compared word by word; of others
// only what they do is.
const blackBox = "9.1"

// cmdSame runs the real cp, haul cp and haul under the name cp on copies of the
// working directory and wants the same output (but for the program's name and
// the order of lines), exit code and trees.
//
//	same [-user] [-in=TEXT] [-times] [-env=NAME=VALUE] [-loose] [-notree] [-only=haul|hcp] ARG...
func cmdSame(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("same takes no !")
	}
	version := coreutils()
	if version == "" {
		if runtime.GOOS == "linux" {
			ts.Fatalf("this test needs GNU cp")
		}
		return
	}
	var s sameRun
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch name, value, _ := strings.Cut(args[0], "="); name {
		case "-user":
			s.user = true
		case "-in":
			s.in = strings.ReplaceAll(value, `\n`, "\n")
		case "-times":
			s.times = true
		case "-env":
			s.env = append(s.env, value)
		case "-notree":
			s.notree = true
		case "-loose":
			s.loose = true
		case "-only":
			s.only = value
		case "--":
			args = args[1:]
			goto parsed
		default:
			goto parsed
		}
		args = args[1:]
	}
parsed:
	if s.user && os.Getuid() != 0 {
		s.user = false // we are one
	}
	want := s.run(ts, []string{"cp"}, args)
	for _, ours := range [][]string{{"haul", "cp"}, {"hcp"}} {
		if s.only != "" && s.only != ours[0] || s.only == "" && testing.Short() && ours[0] == "hcp" {
			continue
		}
		got := s.run(ts, ours, args)
		compare := func(what, g, w string) {
			if g != w {
				ts.Fatalf("%s %s: %s differs\n--- cp\n%s--- ours\n%s", strings.Join(ours, " "), strings.Join(args, " "), what, w, g)
			}
		}
		compare("exit code", fmt.Sprintln(got.code, got.err), fmt.Sprintln(want.code, func() string {
			if got.code == want.code {
				return got.err
			}
			return want.err
		}()))
		if !s.notree {
			compare("tree", got.tree, want.tree)
		}
		if version == blackBox && !s.loose {
			compare("standard output", got.out, want.out)
			compare("standard error", got.err, want.err)
		}
	}
}

type sameRun struct {
	user, times bool
	loose       bool // only the exit code and the tree
	notree      bool // all but the tree
	in, only    string
	env         []string
}

type outcome struct {
	out, err, tree string
	code           int
}

func (s *sameRun) run(ts *testscript.TestScript, prog, args []string) outcome {
	box := ts.Getenv("BOX") // the same path for all, since messages name it
	ts.Check(os.RemoveAll(box))
	ts.Check(os.Mkdir(box, 0o777))
	ts.Check(os.Chmod(box, 0o777))
	entries, err := os.ReadDir(ts.MkAbs("."))
	ts.Check(err)
	copyArgs := []string{"-a", "--"}
	for _, e := range entries {
		if e.Name() != ".tmp" {
			copyArgs = append(copyArgs, ts.MkAbs(e.Name()))
		}
	}
	if out, err := exec.Command("cp", append(copyArgs, box)...).CombinedOutput(); err != nil {
		ts.Fatalf("setting up: %s", out)
	}
	path := prog[0]
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if p := filepath.Join(dir, prog[0]); executable(p) {
			path = p
			break
		}
	}
	cmd := &exec.Cmd{Path: path, Args: append(append([]string{}, prog...), args...), Dir: box}
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(s.in), &out, &errs
	cmd.Env = append([]string{"PATH=" + ts.Getenv("PATH"), "LC_ALL=C", "HOME=/", "TMPDIR=" + ts.Getenv("TMPDIR")}, s.env...)
	if s.user {
		for dir := filepath.Dir(path); dir != "/" && os.Getuid() == 0; dir = filepath.Dir(dir) {
			if st, err := os.Stat(dir); err == nil && st.Mode()&0o005 != 0o005 && strings.HasPrefix(dir, os.TempDir()) {
				ts.Check(os.Chmod(dir, st.Mode()|0o055))
			}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	err = cmd.Run()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		ts.Check(err)
	}
	name := strings.Join(prog, " ")
	if prog[0] == "hcp" {
		name = "cp"
	}
	return outcome{sorted(out.String(), name), sorted(errs.String(), name), describe(ts, box, s.times), cmd.ProcessState.ExitCode()}
}

func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// sorted orders lines and calls the program cp.
func sorted(s, prog string) string {
	s = strings.ReplaceAll(s, prog+": ", "cp: ")
	s = strings.ReplaceAll(s, "Try '"+prog+" --help'", "Try 'cp --help'")
	lines := strings.SplitAfter(s, "\n")
	sort.Strings(lines)
	return strings.Join(lines, "")
}

// describe tells everything of a tree that a copy decides.
func describe(ts *testscript.TestScript, root string, times bool) string {
	var b strings.Builder
	groups := map[uint64]string{}
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		raw := st.Sys().(*syscall.Stat_t)
		rel, _ := filepath.Rel(root, path)
		fmt.Fprintf(&b, "%q %v %d:%d", rel, st.Mode(), raw.Uid, raw.Gid)
		if times && st.Mode()&fs.ModeSymlink == 0 && rel != "." {
			if time.Since(st.ModTime()) < time.Hour {
				b.WriteString(" lately")
			} else {
				fmt.Fprintf(&b, " %d", st.ModTime().UnixNano())
			}
		}
		switch {
		case st.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %d %x", st.Size(), sha256.Sum256(data))
		case st.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			fmt.Fprintf(&b, " -> %q", to)
		}
		if raw.Nlink > 1 && !st.IsDir() {
			if first, ok := groups[raw.Ino]; ok {
				fmt.Fprintf(&b, " = %q", first)
			} else {
				groups[raw.Ino] = rel
			}
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

// octets FILE SIZE writes SIZE bytes that do not repeat.
func cmdOctets(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	data := make([]byte, n)
	x := uint32(len(args[0]) + n)
	for i := range data {
		x = x*1664525 + 1013904223
		data[i] = byte(x >> 24)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o666))
}

// mtime FILE [SECONDS] sets the time of change, or with ! wants another.
func cmdMtime(ts *testscript.TestScript, neg bool, args []string) {
	sec, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	at := time.Unix(sec, 123456789)
	if len(args) > 2 && args[2] == "is" {
		st, err := os.Lstat(ts.MkAbs(args[0]))
		ts.Check(err)
		if st.ModTime().Equal(at) == neg {
			ts.Fatalf("mtime of %s is %v", args[0], st.ModTime())
		}
		return
	}
	ts.Check(os.Chtimes(ts.MkAbs(args[0]), at, at))
}

// mode FILE OCTAL wants a mode.
func cmdMode(ts *testscript.TestScript, neg bool, args []string) {
	st, err := os.Lstat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", sys.Perm(st.Mode())); (got == args[1]) == neg {
		ts.Fatalf("mode of %s is %s", args[0], got)
	}
}

// perm FILE OCTAL sets a mode.
func cmdPerm(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.ParseUint(args[1], 8, 32)
	ts.Check(err)
	ts.Check(syscall.Chmod(ts.MkAbs(args[0]), uint32(n)))
}

// links FILE N wants so many hard links.
func cmdLinks(ts *testscript.TestScript, neg bool, args []string) {
	st, err := os.Lstat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := strconv.FormatUint(uint64(st.Sys().(*syscall.Stat_t).Nlink), 10); (got == args[1]) == neg {
		ts.Fatalf("%s has %s links", args[0], got)
	}
}

func cmdFIFO(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o644))
}

func cmdHardLink(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.Link(ts.MkAbs(args[0]), ts.MkAbs(args[1])))
}

// hole FILE SIZE cuts or extends FILE, made if need be, by a hole.
func cmdHole(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_CREATE|os.O_WRONLY, 0o666)
	ts.Check(err)
	ts.Check(f.Truncate(n))
	ts.Check(f.Close())
}

// blocks FILE MOST wants at most so many bytes allocated; with ! more.
func cmdBlocks(ts *testscript.TestScript, neg bool, args []string) {
	most, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	st, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := int64(st.Sys().(*syscall.Stat_t).Blocks) * 512; (got <= most) == neg {
		ts.Fatalf("%s takes %d bytes", args[0], got)
	}
}

// notemp wants no temporary file beneath the working directory.
func cmdNoTemp(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(filepath.WalkDir(ts.MkAbs("."), func(path string, d fs.DirEntry, err error) error {
		if name := filepath.Base(path); err == nil && d.Type().IsRegular() && strings.HasPrefix(name, ".") && strings.Count(name, ".") >= 2 {
			return fmt.Errorf("temporary file left: %s", path)
		}
		return err
	}))
}

// signal NAME COMMAND... starts a command, sends it the signal once it waits for
// input, and wants it to die of it.
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	sig := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT}[args[0]]
	path := ""
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if p := filepath.Join(dir, args[1]); executable(p) {
			path = p
			break
		}
	}
	cmd := &exec.Cmd{Path: path, Args: args[1:], Dir: ts.MkAbs("."), Env: []string{"LC_ALL=C", "PATH=" + ts.Getenv("PATH")}}
	in, err := cmd.StdinPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	if _, err := in.Write([]byte("half of it")); err != nil {
		ts.Fatalf("%v", err)
	}
	time.Sleep(500 * time.Millisecond) // it has begun to read and to write beside
	ts.Check(cmd.Process.Signal(sig))
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		cmd.Process.Kill()
		ts.Fatalf("it did not end")
	}
	in.Close()
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if sig == syscall.SIGQUIT {
		if ws.ExitStatus() != 131 {
			ts.Fatalf("it ended with %v", cmd.ProcessState)
		}
	} else if !ws.Signaled() || ws.Signal() != sig {
		ts.Fatalf("it ended with %v", cmd.ProcessState)
	}
}
