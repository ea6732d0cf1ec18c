package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVerdicts(t *testing.T) {
	m := &measure{bench: &bench{}, row: row{work: "work", fs: "ext4"}}
	outs := []outcome{
		{name: "haul", values: []float64{1, 9, 1}},
		{name: "twice", values: []float64{2, 2, 2}},
		{name: "same", values: []float64{1.004}},
		{name: "quicker", values: []float64{0.9}},
		{name: "broken", err: errors.New("exit status 1")},
	}
	m.faster(outs, "haul", "twice", 2)
	m.faster(outs, "haul", "twice", 2.01)
	m.within(outs, "haul", "twice", 0.5)
	m.within(outs, "haul", "same", 0.9)
	m.notSlower(outs, "haul", "same")
	m.notSlower(outs, "haul", "quicker")
	m.show(outs, "haul", "quicker")
	m.faster(outs, "haul", "broken", 2)
	m.under("memory", 20*mib, "B", 20*mib)
	m.under("memory", 20*mib+1, "B", 20*mib)
	m.under("calls", 0, "calls", 0)
	want := []struct{ outcome, got, wanted string }{
		{reachedOutcome, "2.00", "≥ 2"},
		{missedOutcome, "2.00", "≥ 2.01"},
		{reachedOutcome, "0.50", "≤ 0.5"},
		{missedOutcome, "1.00", "≤ 0.9"},
		{reachedOutcome, "1.00", "≥ 1"},
		{missedOutcome, "0.90", "≥ 1"},
		{shownOutcome, "0.90", ""},
		{failedOutcome, "-", "≥ 2"},
		{reachedOutcome, "20 MiB", "≤ 20 MiB"},
		{missedOutcome, "20 MiB", "≤ 20 MiB"},
		{reachedOutcome, "0 calls", "≤ 0 calls"},
	}
	for i, w := range want {
		v := m.verdicts[i]
		if v.Outcome != w.outcome || v.Got() != w.got || v.Wanted() != w.wanted {
			t.Errorf("%d: %s %q %q, want %s %q %q", i, v.Outcome, v.Got(), v.Wanted(), w.outcome, w.got, w.wanted)
		}
		if v.Outcome == reachedOutcome && v.score() < 0.99 || v.Outcome == missedOutcome && v.score() >= 1 {
			t.Errorf("%d: %s with score %g", i, v.Outcome, v.score())
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{9, 1, 2}, 2}} {
		if got := median(c.in); got != c.want {
			t.Errorf("median(%v) = %g, want %g", c.in, got, c.want)
		}
	}
}

func TestParseCalls(t *testing.T) {
	const table = `% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 61.00    0.006100           6      1011           openat
 39.00    0.003900           3      1000       999 ioctl
------ ----------- ----------- --------- --------- ----------------
100.00    0.010000           5      2011       999 total
`
	got := parseCalls(table)
	if len(got) != 2 || got["openat"] != 1011 || got["ioctl"] != 1000 {
		t.Errorf("got %v", got)
	}
}

// TestNames keeps -only useful: no row's name twice, all of the works there.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	groups := map[string]bool{}
	for _, r := range rows() {
		if seen[r.name()] {
			t.Errorf("%s twice", r.name())
		}
		seen[r.name()], groups[r.group] = true, true
	}
	for _, g := range strings.Fields("small gotree dense tebibyte always inplace overwrite batch again start million") {
		if !groups[g] {
			t.Errorf("no row for %s", g)
		}
	}
}

func TestReport(t *testing.T) {
	r := &report{
		Machine: machine{Date: "a day", Kernel: "6.18", CPU: "a <CPU>", Cores: 2},
		Verdicts: []Verdict{
			{Work: "50,000 x 10 KiB, warm", FS: "ext4", Measure: "cp -a", Ours: 1, Theirs: 3, Ratio: 3, Target: 2, AtLeast: true, Unit: "s", Outcome: reachedOutcome},
			{Work: "50,000 x 10 KiB, warm", FS: "ext4", Measure: "the floor", Ours: 1, Theirs: 0.5, Ratio: 2, Target: 1.25, Unit: "s", Outcome: missedOutcome},
			{Work: "one small file", FS: "xfs", Measure: "the row", Outcome: failedOutcome, Note: "a | b"},
		},
		Times: []timing{
			{"50,000 x 10 KiB, warm", "small", "ext4", "haul", "s", 1, 1, 1, 1, 3},
			{"50,000 x 10 KiB, warm", "small", "ext4", "rsync <&>", "s", 99, 98, 100, 1, 3},
		},
	}
	dir := t.TempDir()
	if err := r.write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 of 3 promises reached", "| 3.00 | ≥ 2 | reached |", "**MISSED**", "**FAILED**: a / b", "![", "small.svg"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("README.md lacks %q", want)
		}
	}
	for _, name := range []string{"promises.svg", "small.svg"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(f); err == nil; {
			_, err = d.Token()
		}
		f.Close()
		if err != io.EOF {
			t.Errorf("%s: %v", name, err)
		}
	}
}
