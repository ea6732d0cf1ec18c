package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// report is what one run of the benchmark found.
type report struct {
	Machine  machine
	Quick    bool
	Took     time.Duration
	Verdicts []Verdict
	Times    []timing
}

// write puts README.md, two TSV files and the plots into dir.
func (r *report) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files := map[string][]byte{
		"verdicts.tsv": r.verdictsTSV(),
		"times.tsv":    r.timesTSV(),
	}
	plots := r.plots()
	for _, p := range plots {
		files[p.name+".svg"] = p.svg()
	}
	files["README.md"] = r.markdown(plots)
	var errs []error
	for name, text := range files {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	return errors.Join(errs...)
}

func (r *report) markdown(plots []plot) []byte {
	var b bytes.Buffer
	m := r.Machine
	fmt.Fprintf(&b, "# Benchmark\n\nWritten by `make bench`. %s, haul %s, %s; %d of %d promises reached.\n\n",
		m.Date, m.Haul, m.Go, r.count(reachedOutcome), len(r.Verdicts)-r.count(shownOutcome))
	fmt.Fprintf(&b, "Linux %s, %s, %d cores, %s of memory. %s.\n\n", m.Kernel, m.CPU, m.Cores, m.Memory, strings.Join(m.Tools, "; "))
	if r.Quick {
		b.WriteString("**Small sizes (-quick): this shows that the rows work and says nothing about speed.**\n\n")
	}
	b.WriteString(method)
	b.WriteString("\n## Promises\n\n| work | file system | measured | haul | other | ratio | promised | |\n|---|---|---|--:|--:|--:|--:|---|\n")
	for _, v := range r.Verdicts {
		ours, theirs, ratio := "", "", ""
		if v.Outcome != failedOutcome {
			ours = quantity(v.Ours, v.Unit)
		}
		if v.Theirs != 0 && v.Outcome != failedOutcome {
			theirs, ratio = quantity(v.Theirs, v.Unit), v.Got()
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", v.Work, v.FS, v.Measure, ours, theirs, ratio, v.Wanted(), v.words())
	}
	b.WriteString("\n## Plots\n\n")
	for _, p := range plots {
		fmt.Fprintf(&b, "![%s](%s.svg)\n\n", p.title, p.name)
	}
	b.WriteString("## Medians\n\n| work | file system | contender | median | least | most | processor | runs |\n|---|---|---|--:|--:|--:|--:|--:|\n")
	for _, t := range r.Times {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %d |\n", t.Work, t.FS, t.Tool,
			quantity(t.Median, t.Unit), quantity(t.Min, t.Unit), quantity(t.Max, t.Unit), quantity(t.CPU, "s"), t.N)
	}
	fmt.Fprintf(&b, "\nThe run took %s.\n", r.Took.Round(time.Second))
	return b.Bytes()
}

const method = `Every row has a fresh file system in RAM: a loop device over tmpfs for ext4, xfs and btrfs, as mkfs makes them.
The contenders run in turns, A B C A B C, each from start of the process to its exit, after the last copy was removed and written out.
Compared are medians; a contender that takes more than 8 s runs once. Cold means: the file system mounted anew and all caches of the kernel dropped, the programs themselves excepted.
*The floor* is test/bench/floor/floor.c: two threads and no system call that the job of ` + "`cp -a`" + ` does not need; it clones where the file system can.
Before it is measured, each of haul, the floor and ` + "`cp -a`" + ` copies the tree once and the copy is compared with the source.
The device's own counter tells bytes written, strace counts calls, wait4 tells peak memory. Not slower is told within 5 percent or 10 ms.
`

func (v Verdict) words() string {
	s := v.Outcome
	if s == missedOutcome || s == failedOutcome {
		s = "**" + s + "**"
	}
	if v.Note != "" {
		s += ": " + strings.ReplaceAll(v.Note, "|", "/")
	}
	return s
}

func (r *report) count(outcome string) int {
	n := 0
	for _, v := range r.Verdicts {
		if v.Outcome == outcome {
			n++
		}
	}
	return n
}

func (r *report) verdictsTSV() []byte {
	var b bytes.Buffer
	b.WriteString("work\tfs\tmeasured\thaul\tother\tunit\tratio\tpromised\toutcome\tnote\n")
	for _, v := range r.Verdicts {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%g\t%g\t%s\t%.3f\t%s\t%s\t%s\n", v.Work, v.FS, v.Measure, v.Ours, v.Theirs, v.Unit, v.Ratio, v.Wanted(), v.Outcome, v.Note)
	}
	return b.Bytes()
}

func (r *report) timesTSV() []byte {
	var b bytes.Buffer
	b.WriteString("work\tfs\tcontender\tunit\tmedian\tleast\tmost\tcpu s\truns\n")
	for _, t := range r.Times {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%g\t%g\t%g\t%g\t%d\n", t.Work, t.FS, t.Tool, t.Unit, t.Median, t.Min, t.Max, t.CPU, t.N)
	}
	return b.Bytes()
}

// plots are one of all promises and one of each group that races.
func (r *report) plots() []plot {
	plots := []plot{r.promisePlot()}
	var groups []string
	for _, t := range r.Times {
		if !slices.Contains(groups, t.Group) {
			groups = append(groups, t.Group)
		}
	}
	for _, g := range groups {
		if p := r.groupPlot(g); p.bars() > 1 {
			plots = append(plots, p)
		}
	}
	return plots
}

// promisePlot shows by how much each promise was over- or underfulfilled.
func (r *report) promisePlot() plot {
	p := plot{name: "promises", title: "Reached, as a multiple of what is promised (1 = just reached)", limit: 4}
	var s section
	for _, v := range r.Verdicts {
		if v.Outcome != reachedOutcome && v.Outcome != missedOutcome {
			continue
		}
		if head := v.Work + ", " + v.FS; s.label != head {
			p.add(s)
			s = section{label: head}
		}
		s.bars = append(s.bars, bar{label: v.Measure, value: v.score(), text: fmt.Sprintf("%.2f  (%s, promised %s)", v.score(), v.Got(), v.Wanted()), good: v.Outcome == reachedOutcome})
	}
	p.add(s)
	return p
}

// score is 1 where a promise is just kept and grows with how well it is.
func (v Verdict) score() float64 {
	switch {
	case v.AtLeast:
		return v.Ratio / v.Target
	case v.Theirs != 0:
		return v.Target / v.Ratio
	case v.Ours == 0:
		return 1
	}
	return v.Target / v.Ours
}

// groupPlot shows the contenders of a group, each section on the scale of its
// first contender, which is haul where there is one.
func (r *report) groupPlot(group string) plot {
	p := plot{name: group, limit: 6}
	var s section
	base := 0.0
	for _, t := range r.Times {
		if t.Group != group {
			continue
		}
		if head := t.Work + ", " + t.FS; s.label != head {
			p.add(s)
			s, base = section{label: head}, t.Median
		}
		if p.title == "" {
			p.title = groupTitle(t)
		}
		s.bars = append(s.bars, bar{label: t.Tool, value: t.Median / base, text: fmt.Sprintf("%.2f  (%s)", t.Median/base, quantity(t.Median, t.Unit)), good: len(s.bars) == 0})
	}
	p.add(s)
	return p
}

func groupTitle(t timing) string {
	work, _, _ := strings.Cut(t.Work, ", warm")
	if t.Unit == "B" {
		return work + ": bytes written, relative"
	}
	return work + ": time, relative, shorter is better"
}
