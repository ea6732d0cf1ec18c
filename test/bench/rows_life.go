package main

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// batch: what durability costs.
func batch(m *measure) error {
	v, err := m.volume(m.row.fs, 6*gib, 0)
	if err != nil {
		return err
	}
	src, dst := v.path("src"), v.path("dst")
	if err := sowSmall(m, src); err != nil {
		return err
	}
	cs := []contender{
		m.contend("SyncBatch", "haul", "cp", "-a", "--durability=batch", src, dst),
		m.contend("NoSync, then sync -f", "haul", "cp", "-a", "--durability=none", src, dst),
		m.contend("SyncEach", "haul", "cp", "-a", "--durability=each", src, dst),
	}
	cs[1].then = []string{"sync", "-f", v.dir}
	outs, err := m.race(cs, m.runs, func() error { return m.remove(v, "dst") })
	if err != nil {
		return err
	}
	m.record("s", outs)
	m.within(outs, cs[0].name, cs[1].name, 1.2)
	m.faster(outs, cs[0].name, cs[2].name, 4)
	return nil
}

// again: nothing has changed since the last copy. It is the library's CopyDir,
// since cp copies always.
func again(m *measure) error {
	v, err := m.volume(m.row.fs, 6*gib, 0)
	if err != nil {
		return err
	}
	src, dst := v.path("src"), v.path("dst")
	if err := sowSmall(m, src); err != nil {
		return err
	}
	if err := command("cp", "-a", src, dst); err != nil {
		return err
	}
	cs := []contender{
		m.contend("haul.CopyDir", "driver", "copydir", src, dst),
		m.contend("rsync -a", "rsync", "-a", src+"/", dst),
	}
	outs, err := m.race(cs, m.runs, v.settle)
	if err != nil {
		return err
	}
	m.record("s", outs)
	m.faster(outs, cs[0].name, cs[1].name, 1.5)
	return sameTree(src, dst)
}

// start: the whole life of the process for one small file.
func start(m *measure) error {
	v, err := m.volume(m.row.fs, gib, 0)
	if err != nil {
		return err
	}
	src, dst := v.path("src"), v.path("dst")
	if err := sowFile(src, make([]byte, 10*kib)); err != nil {
		return err
	}
	cs := []contender{
		m.contend("haul", "haul", "cp", src, dst),
		m.contend("cp", "cp", src, dst),
	}
	outs, err := m.race(cs, 4*m.runs+1, func() error { return m.remove(v, "dst") })
	if err != nil {
		return err
	}
	m.record("s", outs)
	ours := find(outs, "haul")
	if ours.err != nil {
		return ours.err
	}
	m.under("time", median(ours.values), "s", 0.010)
	m.under("peak memory", ours.peak(), "B", 20*mib)
	m.show(outs, "haul", "cp")
	return nil
}

// million copies so many empty files: it is about memory.
func million(dirs int) func(*measure) error {
	return func(m *measure) error {
		files := m.size(1_000_000, 20_000)
		v, err := m.volume(m.row.fs, 6*gib, 2*files+3*dirs+1000)
		if err != nil {
			return err
		}
		src, dst := v.path("src"), v.path("dst")
		haul := m.contend("haul", "haul", "cp", "-a", src, dst)
		if haul.err != nil {
			return haul.err
		}
		if err := sow(src, dirs, files, 0); err != nil {
			return err
		}
		outs, err := m.race([]contender{haul}, 1, v.settle)
		if err != nil {
			return err
		}
		m.record("s", outs)
		if outs[0].err != nil {
			return outs[0].err
		}
		m.under("peak memory", outs[0].peak(), "B", 150*mib)
		if n, err := countFiles(dst); err != nil || n != files {
			return fmt.Errorf("the copy has %d files of %d: %v", n, files, err)
		}
		return nil
	}
}

func countFiles(root string) (int, error) {
	n := 0
	err := filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	})
	return n, err
}

func (o outcome) peak() float64 {
	p := slices.MaxFunc(o.samples, func(a, b sample) int { return int(a.Peak - b.Peak) })
	return float64(p.Peak)
}
