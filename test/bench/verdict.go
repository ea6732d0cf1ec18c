package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	reachedOutcome = "reached"
	missedOutcome  = "MISSED"
	failedOutcome  = "FAILED"
	shownOutcome   = "shown" // measured, nothing promised
)

// Verdict is a line of the table: one promise and what came of it.
type Verdict struct {
	Work, FS      string
	Measure       string  // "time against cp -a"
	Ours, Theirs  float64 // medians; Theirs is 0 where the promise is absolute
	Unit          string
	Ratio, Target float64
	AtLeast       bool // the ratio is theirs/ours and must reach Target; else ours/theirs or ours, and must not pass it
	Outcome, Note string
}

// timing is what one contender reached, for the second table and the plots.
type timing struct {
	Work, Group, FS, Tool, Unit string
	Median, Min, Max            float64
	CPU                         float64 // median of user and system seconds
	N                           int
}

// measure collects the lines of one row.
type measure struct {
	*bench
	row      row
	verdicts []Verdict
	times    []timing
}

func (m *measure) fail(err error) {
	m.verdicts = append(m.verdicts, Verdict{Work: m.row.work, FS: m.row.fs, Measure: "the row", Outcome: failedOutcome, Note: m.note(err)})
}

func (m *measure) record(unit string, outs []outcome) {
	for _, o := range outs {
		if len(o.values) == 0 {
			continue
		}
		m.times = append(m.times, timing{m.row.work, m.row.group, m.row.fs, o.name, unit,
			median(o.values), slices.Min(o.values), slices.Max(o.values), o.cpu(), len(o.values)})
	}
}

// cpu is the median of what a contender's runs cost the processors; it is less
// moved by what else the machine does than the time is.
func (o outcome) cpu() float64 {
	var xs []float64
	for _, s := range o.samples {
		xs = append(xs, (s.User + s.Sys).Seconds())
	}
	return median(xs)
}

// faster promises that ours takes at most 1/target of the time of theirs.
func (m *measure) faster(outs []outcome, ours, theirs string, target float64) {
	m.against(outs, ours, theirs, target, true)
}

// notSlower promises that ours takes no longer, within what a measurement can
// tell: 5 percent, or 10 ms.
func (m *measure) notSlower(outs []outcome, ours, theirs string) {
	v := m.against(outs, ours, theirs, 1, true)
	if v.Outcome == missedOutcome && (v.Ours <= v.Theirs*1.05 || v.Ours-v.Theirs <= 0.010) {
		v.Outcome, v.Note = reachedOutcome, "within 5 % or 10 ms"
	}
}

// within promises that ours takes at most target times what theirs takes.
func (m *measure) within(outs []outcome, ours, theirs string, target float64) *Verdict {
	return m.against(outs, ours, theirs, target, false)
}

// show tells the ratio of theirs to ours where nothing is promised.
func (m *measure) show(outs []outcome, ours, theirs string) {
	m.against(outs, ours, theirs, 0, true)
}

func (m *measure) against(outs []outcome, ours, theirs string, target float64, atLeast bool) *Verdict {
	a, b := find(outs, ours), find(outs, theirs)
	v := Verdict{Work: m.row.work, FS: m.row.fs, Measure: theirs, Unit: "s", Target: target, AtLeast: atLeast,
		Ours: median(a.values), Theirs: median(b.values)}
	if ours != "haul" {
		v.Measure = ours + ", " + theirs
	}
	switch err := errors.Join(a.err, b.err); {
	case err != nil:
		v.Outcome, v.Note = failedOutcome, m.note(err)
	case atLeast:
		v.Ratio = v.Theirs / v.Ours
		v.Outcome = judge(target == 0, v.Ratio >= target)
	default:
		v.Ratio = v.Ours / v.Theirs
		v.Outcome = judge(target == 0, v.Ratio <= target)
	}
	m.verdicts = append(m.verdicts, v)
	return &m.verdicts[len(m.verdicts)-1]
}

// under promises that a value is at most target.
func (m *measure) under(what string, value float64, unit string, target float64) {
	m.verdicts = append(m.verdicts, Verdict{Work: m.row.work, FS: m.row.fs, Measure: what, Ours: value, Unit: unit,
		Target: target, Outcome: judge(false, value <= target)})
}

// failed records a promise that could not be measured.
func (m *measure) failed(what string, err error) {
	m.verdicts = append(m.verdicts, Verdict{Work: m.row.work, FS: m.row.fs, Measure: what, Outcome: failedOutcome, Note: m.note(err)})
}

func judge(unpromised, ok bool) string {
	switch {
	case unpromised:
		return shownOutcome
	case ok:
		return reachedOutcome
	}
	return missedOutcome
}

func find(outs []outcome, name string) outcome {
	for _, o := range outs {
		if o.name == name {
			return o
		}
	}
	return outcome{err: fmt.Errorf("no contender %q", name)}
}

// Got is the measured side of the promise in words, Wanted the promised one.
func (v Verdict) Got() string {
	switch {
	case v.Outcome == failedOutcome:
		return "-"
	case v.Theirs != 0:
		return fmt.Sprintf("%.2f", v.Ratio)
	}
	return quantity(v.Ours, v.Unit)
}

func (v Verdict) Wanted() string {
	switch {
	case v.Outcome == shownOutcome || v.Target == 0 && v.Outcome == failedOutcome:
		return ""
	case v.AtLeast:
		return fmt.Sprintf("≥ %.4g", v.Target)
	case v.Theirs != 0 || v.Unit == "":
		return fmt.Sprintf("≤ %.4g", v.Target)
	}
	return "≤ " + quantity(v.Target, v.Unit)
}

func (v Verdict) String() string {
	s := fmt.Sprintf("  %-34s %-6s %-36s %10s %10s  %s", v.Work, v.FS, v.Measure, v.Got(), v.Wanted(), v.Outcome)
	if v.Theirs != 0 && v.Outcome != failedOutcome {
		s += fmt.Sprintf(" (%s, %s)", quantity(v.Ours, v.Unit), quantity(v.Theirs, v.Unit))
	}
	if v.Note != "" {
		s += ": " + v.Note
	}
	return s
}

// quantity writes a value the way a reader wants it: 0.0042 s is 4.2 ms.
func quantity(x float64, unit string) string {
	switch {
	case unit == "s" && x < 1:
		return fmt.Sprintf("%.3g ms", x*1000)
	case unit == "B" && x >= mib:
		return fmt.Sprintf("%.4g MiB", x/mib)
	case unit == "B" && x >= kib:
		return fmt.Sprintf("%.4g KiB", x/kib)
	case unit == "calls" || unit == "B":
		return fmt.Sprintf("%.0f %s", x, unit)
	}
	return fmt.Sprintf("%.3g %s", x, unit)
}

// note is an error in one line, without the paths of this machine.
func (m *measure) note(err error) string {
	s := strings.Join(strings.Fields(err.Error()), " ")
	s = strings.NewReplacer(m.ram+"/", "", m.here+"/", "", m.root+"/", "", m.root, ".").Replace(s)
	if len(s) > 160 {
		s = s[:160] + "..."
	}
	return s
}
