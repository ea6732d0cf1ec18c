package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const block = 4 * kib

// dense: one file without holes. Not slower is told within 5 percent, or
// within the 10 ms that starting the process may take, which is a row of its
// own: a clone takes no time at all.
func dense(m *measure) error {
	size := int64(m.size(2*gib, 64*mib))
	v, err := m.volume(m.row.fs, 6*gib, 0)
	if err != nil {
		return err
	}
	src, dst := v.path("src"), v.path("dst")
	if err := sowLarge(src, size); err != nil {
		return err
	}
	cs := []contender{
		m.contend("haul", "haul", "cp", "-a", src, dst),
		m.contend("cp -a", "cp", "-a", src, dst),
		m.contend("rsync -a", "rsync", "-a", src, dst),
	}
	outs, err := m.race(cs, m.runs, func() error { return m.remove(v, "dst") })
	if err != nil {
		return err
	}
	m.record("s", outs)
	m.notSlower(outs, "haul", "cp -a")
	m.faster(outs, "haul", "rsync -a", 1.5)
	return nil
}

// tebibyte: a file that is all hole but for one block at each third.
func tebibyte(m *measure) error {
	v, err := m.volume(m.row.fs, 4*gib, 0)
	if err != nil {
		return err
	}
	src, dst := v.path("src"), v.path("dst")
	if err := sowTebibyte(src); err != nil {
		return err
	}
	cs := []contender{
		m.contend("haul", "haul", "cp", "-a", src, dst),
		m.contend("cp -a", "cp", "-a", src, dst),
	}
	outs, err := m.race(cs, m.runs, func() error { return m.remove(v, "dst") })
	if err != nil {
		return err
	}
	m.record("s", outs)
	ours := find(outs, "haul")
	if ours.err != nil {
		return ours.err
	}
	m.under("time", median(ours.values), "s", 0.020)
	m.show(outs, "haul", "cp -a")
	if err := m.remove(v, "dst"); err != nil {
		return err
	}
	if _, err := m.run(cs[0].argv...); err != nil {
		return err
	}
	allocated, err := v.allocated("dst")
	if err != nil {
		return err
	}
	m.under("allocated", float64(allocated), "B", 2*block)
	return nil
}

func sowTebibyte(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	data := bytes.Repeat([]byte{1}, block)
	_, first := f.WriteAt(data, 341*gib)
	_, second := f.WriteAt(data, 682*gib)
	return errors.Join(first, second, f.Truncate(tib), f.Sync(), f.Close())
}

// allocated returns the bytes of disk of a file when all has been written out.
func (v *volume) allocated(name string) (int64, error) {
	if err := v.sync(); err != nil {
		return 0, err
	}
	var st syscall.Stat_t
	err := syscall.Stat(v.path(name), &st)
	return st.Blocks * 512, err
}

// always: random data under sparse-always. The dense copy of the promise is
// the one that reads and writes too; what the kernel copies or clones by
// itself is shown beside it.
func always(m *measure) error {
	size := int64(m.size(gib, 64*mib))
	v, err := m.volume(m.row.fs, 4*gib, 0)
	if err != nil {
		return err
	}
	src, dst := v.path("src"), v.path("dst")
	if err := sowLarge(src, size); err != nil {
		return err
	}
	cs := []contender{
		m.contend("haul --sparse=always", "haul", "cp", "-a", "--sparse=always", src, dst),
		m.contend("haul --sparse=never", "haul", "cp", "-a", "--sparse=never", src, dst),
		m.contend("haul", "haul", "cp", "-a", src, dst),
		m.contend("cp -a --sparse=always", "cp", "-a", "--sparse=always", src, dst),
		m.contend("rsync -a --sparse", "rsync", "-a", "--sparse", src, dst),
	}
	outs, err := m.race(cs, m.runs, func() error { return m.remove(v, "dst") })
	if err != nil {
		return err
	}
	m.record("s", outs)
	m.within(outs, cs[0].name, cs[1].name, 1.1)
	for _, c := range cs[2:] {
		m.show(outs, cs[0].name, c.name)
	}
	m.countWrites(v, cs[0].argv[0], src, dst, size)
	return nil
}

// countWrites promises few write calls, as the kernel sees them and as the
// engine's own counter has them.
func (m *measure) countWrites(v *volume, haul, src, dst string, size int64) {
	const writeSize = mib
	promise := func(what string, calls int, err error) {
		if err != nil {
			m.failed(what, err)
			return
		}
		m.under(what, float64(calls), "calls", float64(size/writeSize+2))
	}
	calls, err := m.tracedWrites(v, haul, "cp", "-a", "--sparse=always", fmt.Sprintf("--write-size=%d", writeSize), src, dst)
	promise("write calls by strace, write size 1 MiB", calls, err)
	calls, err = m.countedWrites(v, src, dst, writeSize)
	promise("write calls by haul's counter", calls, err)
}

// tracedWrites counts the writes that a program makes to files of the volume.
func (m *measure) tracedWrites(v *volume, argv ...string) (int, error) {
	strace, err := m.program("strace")
	if err != nil {
		return 0, err
	}
	if err := m.remove(v, "dst"); err != nil {
		return 0, err
	}
	log := filepath.Join(m.ram, "strace.log")
	trace := []string{strace, "-f", "-y", "-qq", "-s", "0", "-e", "trace=write,writev,pwrite64,pwritev,pwritev2,copy_file_range", "-o", log}
	if err := command(append(trace, argv...)...); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(log)
	n := 0
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "<"+v.dir+"/") && !strings.Contains(line, "resumed>") {
			n++
		}
	}
	if err == nil && n == 0 {
		err = errors.New("strace saw no write to the volume")
	}
	return n, err
}

func (m *measure) countedWrites(v *volume, src, dst string, writeSize int) (int, error) {
	driver, err := m.program("driver")
	if err != nil {
		return 0, err
	}
	if err := m.remove(v, "dst"); err != nil {
		return 0, err
	}
	out, err := exec.Command(driver, "writes", src, dst, strconv.Itoa(writeSize)).Output()
	if err != nil {
		return 0, fmt.Errorf("driver writes: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

// inPlace: the destination differs from the source in one block of a hundred.
// What counts is what the device was told to write, journal included.
func inPlace(m *measure) error {
	size := int64(m.size(gib, 64*mib))
	v, err := m.volume(m.row.fs, 4*gib, 0)
	if err != nil {
		return err
	}
	src, dst := v.path("src"), v.path("dst")
	if err := sowLarge(src, size); err != nil {
		return err
	}
	if err := command("cp", "-a", "--reflink=never", src, dst); err != nil {
		return err
	}
	var before int64
	changed := size / block / 100 * block
	prepare := func() error {
		if err := scatter(dst, int(size/block), int(changed/block)); err != nil {
			return err
		}
		if err := v.settle(); err != nil {
			return err
		}
		before, err = v.written()
		return err
	}
	wrote := func(sample) (float64, error) {
		if err := v.sync(); err != nil {
			return 0, err
		}
		after, err := v.written()
		return float64(after - before), errors.Join(err, command("cmp", src, dst))
	}
	cs := []contender{
		m.contend("haul --inplace", "haul", "cp", "-a", "--inplace", src, dst),
		m.contend("rsync -a --inplace --no-whole-file", "rsync", "-a", "--inplace", "--no-whole-file", src, dst),
	}
	for i := range cs {
		cs[i].value = wrote
	}
	outs, err := m.race(cs, min(m.runs, 3), prepare)
	if err != nil {
		return err
	}
	m.record("B", outs)
	outs = append(outs, outcome{name: "changed bytes", values: []float64{float64(changed)}})
	m.within(outs, cs[0].name, "changed bytes", 1.2).Unit = "B"
	m.against(outs, cs[1].name, "changed bytes", 0, false).Unit = "B"
	return nil
}

// scatter overwrites n random blocks of a file.
func scatter(name string, blocks, n int) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	data := make([]byte, block)
	rng := rand.NewChaCha8([32]byte{byte(n)})
	for _, at := range rand.New(rng).Perm(blocks)[:n] {
		rng.Read(data)
		if _, err := f.WriteAt(data, int64(at)*block); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

// sowLarge makes one file of random bytes, written out.
func sowLarge(name string, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.CopyN(struct{ io.Writer }{f}, rand.NewChaCha8([32]byte{2}), size)
	return errors.Join(err, f.Sync(), f.Close(), os.Chtimes(name, sown, sown))
}

// overwriteTargets are the promised ratios of os.WriteFile to haul.WriteFile.
var overwriteTargets = map[string]float64{"ext4": 10, "xfs": 2, "btrfs": 2, "tmpfs": 2}

// overwrite: the same file 200 times, by both functions in one process.
func overwrite(m *measure) error {
	v, err := m.volume(m.row.fs, gib, 0)
	if err != nil {
		return err
	}
	driver, err := m.program("driver")
	if err != nil {
		return err
	}
	out, err := exec.Command(driver, "overwrite", v.path("file"), "748000", "200", fmt.Sprint(m.runs)).Output()
	if err != nil {
		return fmt.Errorf("driver overwrite: %w", err)
	}
	outs := []outcome{{name: "haul.WriteFile"}, {name: "os.WriteFile"}}
	for line := range strings.Lines(string(out)) {
		var a, b float64
		if _, err := fmt.Sscan(line, &a, &b); err != nil {
			return fmt.Errorf("driver overwrite said %q: %w", line, err)
		}
		outs[0].values = append(outs[0].values, a)
		outs[1].values = append(outs[1].values, b)
	}
	m.record("s", outs)
	m.faster(outs, "haul.WriteFile", "os.WriteFile", overwriteTargets[m.row.fs])
	return nil
}
