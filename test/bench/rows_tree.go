package main

import "fmt"

// treeTargets are the promised ratios: times as fast as, per file system.
var treeTargets = map[string]map[string]float64{
	"ext4": {"cp -a": 2, "rsync -a": 2.5, "continuity 0.4.5": 2, "continuity 0.5.0": 6},
	"xfs":  {"cp -a": 2.5, "rsync -a": 3, "continuity 0.4.5": 3, "continuity 0.5.0": 6},
}

const floorTarget = 1.25

func smallWarm(m *measure) error  { return copyTree(m, sowSmall, false) }
func smallCold(m *measure) error  { return copyTree(m, sowSmall, true) }
func goTreeWarm(m *measure) error { return copyTree(m, sowGoTree, false) }
func goTreeCold(m *measure) error { return copyTree(m, sowGoTree, true) }

func sowGoTree(m *measure, dir string) error {
	if m.quick {
		return transplant(dir, "src/net")
	}
	return transplant(dir, "")
}

func sowSmall(m *measure, dir string) error {
	return sow(dir, m.size(100, 10), m.size(50000, 1000), 10*kib)
}

// copyTree races the copiers over one tree. On btrfs and tmpfs only the floor
// is a promise.
func copyTree(m *measure, plant func(*measure, string) error, cold bool) error {
	v, err := m.volume(m.row.fs, 6*gib, 0)
	if err != nil {
		return err
	}
	src, dst := v.path("src"), v.path("dst")
	if err := plant(m, src); err != nil {
		return err
	}
	cs := []contender{
		m.contend("haul", "haul", "cp", "-a", src, dst),
		m.contend("the floor", "floor", src, dst),
		m.contend("cp -a", "cp", "-a", src, dst),
		m.contend("rsync -a", "rsync", "-a", src+"/", dst),
	}
	if err := m.sameAsSource(v, cs[:3], src, dst); err != nil {
		return err
	}
	targets := treeTargets[m.row.fs]
	if targets != nil {
		cs = append(cs,
			m.contend("continuity 0.4.5", "continuity045", src, dst),
			m.contend("continuity 0.5.0", "continuity050", src, dst))
	}
	runs := m.runs
	if cold {
		runs = min(runs, 3) // emptying the caches takes longer than the copies
	}
	outs, err := m.race(cs, runs, func() error {
		if err := m.remove(v, "dst"); err != nil || !cold {
			return err
		}
		if err := v.chill(); err != nil {
			return err
		}
		return m.warmAll(cs)
	})
	if err != nil {
		return err
	}
	m.record("s", outs)
	for _, c := range cs[2:] {
		if t := targets[c.name]; t > 0 {
			m.faster(outs, "haul", c.name, t)
		} else {
			m.show(outs, "haul", c.name)
		}
	}
	m.within(outs, "haul", "the floor", floorTarget)
	m.show(outs, "the floor", "cp -a")
	return nil
}

// sameAsSource lets each contender copy once, unmeasured, and compares: a fast
// wrong copy is worth nothing, and the floor must do the whole job of cp -a.
// It warms the caches too.
func (m *measure) sameAsSource(v *volume, cs []contender, src, dst string) error {
	for i := range cs {
		if cs[i].err != nil {
			continue
		}
		if _, err := m.run(cs[i].argv...); err != nil {
			cs[i].err = err
		} else if err := sameTree(src, dst); err != nil {
			cs[i].err = fmt.Errorf("%s: %w", cs[i].name, err)
		}
		if err := m.remove(v, "dst"); err != nil {
			return err
		}
	}
	return nil
}

func (m *measure) warmAll(cs []contender) error {
	argvs := [][]string{{m.meter}}
	for _, c := range cs {
		if c.err == nil {
			argvs = append(argvs, c.argv)
		}
	}
	return m.warmPrograms(argvs...)
}
