package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is the ordinary user that children run as.
const nobody = 54321

func command(name string, arg ...string) {
	if out, err := exec.Command(name, arg...).CombinedOutput(); err != nil {
		fmt.Printf("%s: %v: %s\n", name, err, out)
	}
}

// publicSelf is this program where every user may run it.
func publicSelf(t testing.TB) string {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	name := filepath.Join(ram(t), "test")
	must(t, os.WriteFile(name, self, 0o755))
	return name
}

// child prepares to run one of children in another process.
func child(t testing.TB, self, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(self)
	cmd.Args = append(cmd.Args, args...)
	cmd.Env = append(os.Environ(), "LOCAL_CHILD="+name)
	return cmd
}

// asUser runs a child as an ordinary user, in dir if that is given, and returns
// what it printed. Under -short it runs as whoever runs the tests.
func asUser(t testing.TB, name string, args ...string) string {
	t.Helper()
	self := "/proc/self/exe"
	if !testing.Short() {
		needRoot(t)
		self = publicSelf(t)
	}
	cmd := child(t, self, name, args...)
	if !testing.Short() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("child %s: %v\n%s", name, err, out)
	}
	return strings.TrimSpace(string(out))
}
