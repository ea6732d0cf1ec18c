package outfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/loopfs"
)

// TestVerbs writes files by random verbs under random policies, with short
// transfers, interrupts and full disks on the way, and compares with a slice.
func TestVerbs(t *testing.T) {
	runs := 4000
	if testing.Short() {
		runs = 400
	}
	dir := ramDir(t)
	for seed := range runs {
		if !runVerbs(t, dir, uint64(seed)) {
			return
		}
	}
}

// TestVerbsOnDisks is TestVerbs where blocks really move.
func TestVerbsOnDisks(t *testing.T) {
	loopfs.Each(t, 0, func(t *testing.T, dir string) {
		for seed := range 500 {
			if !runVerbs(t, dir, uint64(1_000_000+seed)) {
				return
			}
		}
	})
}

// ramDir is a directory in memory if there is any, so that thousands of files
// cost nothing.
func ramDir(t testing.TB) string {
	if dir, err := os.MkdirTemp("/dev/shm", "outfile"); err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	}
	return t.TempDir()
}

// play is one run: what the file was, what it is to become, and how.
type play struct {
	r        *rand.Rand
	policy   Policy
	old      []byte // nil: none
	want     []byte
	source   []byte
	srcFile  sys.File
	log      []string
	full     bool // the disk will be full
	streams  int
	counters report.Counters
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func runVerbs(t *testing.T, path string, seed uint64) bool {
	t.Helper()
	p := &play{r: newRand(seed)}
	p.policy = Policy{
		Sparse:      Sparse(p.r.IntN(3)),
		Place:       Place(p.r.IntN(3)),
		Reflink:     []Reflink{ReflinkAuto, ReflinkNever}[p.r.IntN(2)],
		Preallocate: p.r.IntN(3) == 0,
		WriteSize:   []int{0, 512, 1000, 4096, 10_000, 64 << 10}[p.r.IntN(6)],
		Counters:    &p.counters,
	}
	if p.policy.Place != New && p.r.IntN(8) != 0 {
		p.old = content(p.r, p.r.IntN(300_000))
	}
	p.source = content(p.r, 200_000)
	p.full = p.r.IntN(8) == 0
	failed, err := p.run(path)
	if err == nil && !failed {
		err = p.check(path)
	}
	os.RemoveAll(filepath.Join(path, "f"))
	if err != nil {
		t.Errorf("seed %d, %+v, old %d bytes, disk full %v:\n%s\n%v", seed, p.policy, len(p.old), p.full, strings.Join(p.log, "\n"), err)
		return false
	}
	return true
}

// content is n bytes of data and zeros in runs of all sizes.
func content(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for at := 0; at < n; {
		m := min(length(r), n-at)
		if r.IntN(2) == 0 {
			fill(r, b[at:at+m])
		}
		at += m
	}
	return b
}

func fill(r *rand.Rand, p []byte) {
	for len(p) >= 8 {
		binary.NativeEndian.PutUint64(p, r.Uint64())
		p = p[8:]
	}
	for i := range p {
		p[i] = byte(r.Uint32())
	}
}

// length is a size such as makes trouble.
func length(r *rand.Rand) int {
	switch r.IntN(6) {
	case 0:
		return 1 + r.IntN(100)
	case 1:
		return 512 * (1 + r.IntN(8))
	case 2:
		return 4096 * (1 + r.IntN(8))
	case 3:
		return 4096*(1+r.IntN(8)) - 1 + r.IntN(3)
	case 4:
		return 1 + r.IntN(100_000)
	}
	return 700 * (1 + r.IntN(20))
}

// run writes the file. It reports whether that failed, and rightly so.
func (p *play) run(path string) (failed bool, err error) {
	dir, err := sys.OpenRoot(path)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	name := filepath.Join(path, "f")
	if p.old != nil {
		if err := writeSparse(name, p.old, p.r.IntN(2) == 0); err != nil {
			return false, err
		}
	}
	srcName := filepath.Join(path, "source")
	if err := writeSparse(srcName, p.source, true); err != nil {
		return false, err
	}
	defer os.Remove(srcName)
	if err := sys.OpenPath(&p.srcFile, srcName, sys.ReadOnly, 0); err != nil {
		return false, err
	}
	defer p.srcFile.Close()

	scripts, size := p.scripts()
	expect := int64(size)
	switch p.r.IntN(4) {
	case 0:
		expect = 0
	case 1:
		expect = int64(p.r.IntN(size + 100_000))
	}
	var f File
	fault := p.inject()
	err = f.Create(dir, "f", expect, 0o600, &p.policy)
	if err == nil {
		err = p.write(&f, scripts)
		if err == nil {
			err = f.Commit(nil)
		}
	}
	fault.restore()
	if e := f.Abort(); err == nil {
		err = e
	}
	switch {
	case err == nil && fault.did.Load():
		return false, errors.New("a full disk was not noticed")
	case err != nil && fault.did.Load() && errors.Is(err, syscall.ENOSPC):
		return true, p.checkFailed(path, err)
	}
	return false, err
}

// script is one stream's work.
type script struct {
	off   int
	verbs []func(*Stream) error
}

// scripts makes up the verbs, for one stream or several, and so what the file
// will be.
func (p *play) scripts() (scripts []script, size int) {
	p.streams = 1 + p.r.IntN(4)/3*(1+p.r.IntN(3))
	for range p.streams {
		s := script{off: len(p.want)}
		for range 1 + p.r.IntN(20) {
			s.verbs = append(s.verbs, p.verb())
		}
		scripts = append(scripts, s)
		if rest := len(p.want) % 4096; rest != 0 && len(scripts) < p.streams {
			s.verbs = append(s.verbs, p.writeVerb(4096-rest)) // ranges meet at borders of blocks
			scripts[len(scripts)-1] = s
		}
	}
	return scripts, len(p.want)
}

func (p *play) verb() func(*Stream) error {
	at, n := len(p.want), length(p.r)
	switch p.r.IntN(5) {
	case 0:
		p.want = append(p.want, make([]byte, n)...)
		p.note("Hole(%d)", n)
		return func(s *Stream) error { return s.Hole(int64(n)) }
	case 1, 2:
		if at >= len(p.old) {
			break
		}
		n = min(n*(1+p.r.IntN(3)), len(p.old)-at)
		kept := p.old[at : at+n]
		p.want = append(p.want, kept...)
		p.note("Keep(%d)", n)
		return func(s *Stream) error { return s.Keep(kept) }
	case 3:
		off := p.r.IntN(len(p.source))
		n = min(n*(1+p.r.IntN(3)), len(p.source)-off)
		p.want = append(p.want, p.source[off:off+n]...)
		p.note("Copy(%d, %d)", off, n)
		return func(s *Stream) error { return s.Copy(&p.srcFile, int64(off), int64(n)) }
	}
	return p.writeVerb(n)
}

func (p *play) writeVerb(n int) func(*Stream) error {
	data := content(p.r, n)
	p.want = append(p.want, data...)
	p.note("Write(%d)", n)
	return func(s *Stream) error {
		m, err := s.Write(data)
		if err == nil && m != n {
			err = fmt.Errorf("Write took %d of %d bytes", m, n)
		}
		return err
	}
}

func (p *play) note(format string, args ...any) {
	p.log = append(p.log, fmt.Sprintf("%8d ", len(p.want))+fmt.Sprintf(format, args...))
}

func (p *play) write(f *File, scripts []script) error {
	errs := make([]error, len(scripts))
	var wg sync.WaitGroup
	for i, sc := range scripts {
		s := f.At(int64(sc.off))
		wg.Go(func() {
			for _, v := range sc.verbs {
				if errs[i] = v(s); errs[i] != nil {
					return
				}
			}
			errs[i] = s.Close()
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// failure tells whether the disk was full.
type failure struct {
	did     atomic.Bool
	restore func()
}

// inject makes transfers short, interrupts calls, and fills the disk.
func (p *play) inject() *failure {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(p.r.Uint64(), 2))
	fail := &failure{}
	left := -1
	if p.full {
		left = p.r.IntN(12)
	}
	moves := map[string]bool{"pwrite64": true, "copy_file_range": true, "pread64": true}
	fail.restore = sys.Inject(func(op sys.Op) sys.Fault {
		mu.Lock()
		defer mu.Unlock()
		if !moves[op.Call] {
			return sys.Fault{}
		}
		if left >= 0 && op.Call != "pread64" {
			if left == 0 {
				fail.did.Store(true)
				return sys.Fault{Err: syscall.ENOSPC}
			}
			left--
		}
		switch r.IntN(8) {
		case 0:
			return sys.Fault{Short: 1 + r.IntN(5000)}
		case 1:
			return sys.Fault{Err: syscall.EINTR}
		}
		return sys.Fault{}
	})
	return fail
}

func (p *play) check(path string) error {
	name := filepath.Join(path, "f")
	got, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := differ(got, p.want); err != nil {
		return err
	}
	if err := onlyThese(path, "f"); err != nil {
		return err
	}
	return p.checkSpace(name)
}

// checkFailed wants what a failure may leave: the old file, or nothing, or in
// place a file whose state the error tells.
func (p *play) checkFailed(path string, err error) error {
	name := filepath.Join(path, "f")
	got, e := os.ReadFile(name)
	left := []string{"f"}
	switch {
	case p.policy.Place == InPlace && p.old != nil:
		var le *LeftError
		if differ(got, p.old) != nil && !errors.As(err, &le) {
			return fmt.Errorf("no word of the state the file was left in: %v", err)
		}
	case p.policy.Place == Replace && p.old != nil:
		if e != nil {
			return e
		}
		if err := differ(got, p.old); err != nil {
			return fmt.Errorf("old file changed: %w", err)
		}
	default:
		left = nil
		if e == nil {
			return errors.New("a file was left that nobody asked for")
		}
	}
	return onlyThese(path, left...)
}

func differ(got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Errorf("byte %d of %d (want %d) is %#x, want %#x", i, len(got), len(want), got[i], want[i])
		}
	}
	return fmt.Errorf("%d bytes, want %d", len(got), len(want))
}

// onlyThese wants no other entries, the source and lost+found aside.
func onlyThese(path string, names ...string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		ok := e.Name() == "source" || e.Name() == "lost+found"
		for _, n := range names {
			ok = ok || e.Name() == n
		}
		if !ok {
			return fmt.Errorf("%s was left", e.Name())
		}
	}
	return nil
}

// checkSpace wants the least allocation under always, the most under never.
func (p *play) checkSpace(name string) error {
	least := leastBlocks(p.want)
	got, err := allocated(name)
	if err != nil {
		return err
	}
	all := (int64(len(p.want)) + 4095) / 4096 * 4096
	switch p.policy.Sparse {
	case SparseAlways:
		if got > least+metaBlocks(name) {
			return fmt.Errorf("%d bytes allocated, want %d", got, least)
		}
	case SparseNever:
		if got < all {
			return fmt.Errorf("%d bytes allocated of %d", got, all)
		}
	}
	return nil
}

// metaBlocks is what a file system may count for its own records of one file.
func metaBlocks(name string) int64 {
	if strings.HasPrefix(name, "/dev/shm/") || strings.Contains(name, "tmpfs") {
		return 0
	}
	return 8 << 10
}

// leastBlocks is the space that the blocks of content with data in them take.
func leastBlocks(content []byte) (n int64) {
	for at := 0; at < len(content); at += 4096 {
		if !isZero(content[at:min(at+4096, len(content))]) {
			n += 4096
		}
	}
	return n
}

// allocated is what a file takes on disk, when everything is written.
func allocated(name string) (int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return 0, err
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		return 0, err
	}
	return st.Blocks * 512, nil
}

// writeSparse writes content, with holes for its blocks of zeros or without.
func writeSparse(name string, content []byte, holes bool) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if !holes {
		_, err := f.Write(content)
		return err
	}
	if err := f.Truncate(int64(len(content))); err != nil {
		return err
	}
	for at := 0; at < len(content); at += 4096 {
		block := content[at:min(at+4096, len(content))]
		if isZero(block) {
			continue
		}
		if _, err := f.WriteAt(block, int64(at)); err != nil {
			return err
		}
	}
	return nil
}
