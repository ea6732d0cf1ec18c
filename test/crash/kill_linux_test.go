package crash

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gohaul/haul"
)

// child is the variable that makes the test's own program the one that is killed.
const child = "HAUL_CRASH_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(child) != "" {
		os.Exit(work(os.Args[1], os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

// work copies src over dst, in the child, and obeys SIGTERM as a program that uses
// the library does. It says when it begins and ends.
func work(what, dst, src string) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM) // to the end: a late signal is none
	go func() { <-term; cancel() }()
	fmt.Println("begins")
	defer fmt.Println("ends")
	var err error
	switch what {
	case "CopyDir":
		err = haul.CopyDir(ctx, dst, src, &haul.Options{Delete: true})
	case "SyncBatch":
		err = haul.CopyDir(ctx, dst, src, &haul.Options{Delete: true, Durability: haul.SyncBatch})
	default:
		for _, j := range files([2]string{src}, haul.NoSync) {
			if j.what == what {
				err = j.run(dst, 0, func(string) {})
			}
		}
	}
	if errors.Is(err, context.Canceled) {
		return 143
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// strike runs the child and sends it a signal after wait. It tells how the child
// ended and how long it ran.
func strike(t *testing.T, what, dst, src string, sig os.Signal, wait time.Duration) (code int, took time.Duration) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, what, dst, src)
	cmd.Env = append(os.Environ(), child+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); err != nil || line != "begins\n" {
		t.Errorf("the child said %q, %v", line, err)
	}
	began := time.Now()
	timer := time.AfterFunc(wait, func() { _ = cmd.Process.Signal(sig) })
	_, _ = said.ReadString('\n') // or it ended without a word
	took = time.Since(began)
	err = cmd.Wait()
	timer.Stop()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), took
}

// TestKill kills at random moments with a signal that cannot be caught, and with
// one that ends the context. Each name is old or new; only the first may leave
// temporary files, and the next run takes those away.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	var src, flats [2]string
	var treeGens, flatGens [2]State
	for gen := range 2 {
		src[gen], flats[gen] = fmt.Sprintf("%s/tree%d", dir, gen), fmt.Sprintf("%s/flat%d", dir, gen)
		treeGens[gen] = plant(t, src[gen], text(gen))
		flatGens[gen] = timeless(plant(t, flats[gen], flat(gen)))
	}
	rounds := 8 * many
	if testing.Short() {
		rounds = 2
	}
	for _, what := range []string{"CopyDir", "SyncBatch", "ReplaceFile", "CopyFile", "Create"} {
		from, gens, signals := src, treeGens, []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}
		whole := what == "CopyDir" || what == "SyncBatch"
		if !whole { // these take no context
			from, gens, signals = flats, flatGens, signals[:1]
		}
		for _, sig := range signals {
			t.Run(what+" "+sig.String(), func(t *testing.T) {
				dst := filepath.Join(t.TempDir(), "dst")
				if err := haul.CopyDir(t.Context(), dst, from[0], nil); err != nil {
					t.Fatal(err)
				}
				_, took := strike(t, what, dst, from[1], sig, time.Hour)
				struck := 0
				for n := range rounds {
					old, new := gens[1-n%2], gens[n%2]
					code, _ := strike(t, what, dst, from[n%2], sig, time.Duration(rand.Int64N(int64(took)+1)))
					struck += judge(t, dst, sig, code, old, new)
					if code, _ := strike(t, what, dst, from[n%2], sig, time.Hour); code != 0 {
						t.Fatalf("the next run ended with %d", code)
					}
					got, err := Read(dst)
					if wrong := Stale(got, new); err != nil || wrong != nil && (whole || !stray(wrong)) {
						t.Fatalf("after the next run: %q, %v", wrong, err)
					}
				}
				t.Logf("%d of %d were struck at work, of %v", struck, rounds, took)
			})
		}
	}
}

// stray reports whether only temporary files are left over: nobody sweeps a
// directory in which single files are replaced.
func stray(wrong []string) bool {
	for _, w := range wrong {
		name, _, _ := strings.Cut(w, ": left over")
		if name == w || !temp.MatchString(filepath.Base(name)) {
			return false
		}
	}
	return true
}

// judge looks at what a struck child left, and counts it if it did not end first.
func judge(t *testing.T, dst string, sig syscall.Signal, code int, old, new State) int {
	t.Helper()
	got, err := Read(dst)
	if err != nil {
		t.Fatal(err)
	}
	if code == 0 {
		if wrong := Stale(got, new); wrong != nil && !stray(wrong) {
			t.Errorf("ended in peace: %q", wrong)
		}
		return 0
	}
	if wrong := Torn(got, old, new, nil); wrong != nil {
		t.Errorf("%v: %q", sig, wrong)
	}
	if sig != syscall.SIGTERM {
		return 1
	}
	if code != 143 {
		t.Errorf("SIGTERM: exit code %d", code)
	}
	for name := range got {
		if temp.MatchString(filepath.Base(name)) {
			t.Errorf("SIGTERM left %s", name)
		}
	}
	return 1
}
