// Command bench measures haul against cp, rsync, continuity and a minimal C
// program, in one run and as ratios, on RAM-backed file systems that it makes
// itself. `make bench` runs it; it needs root, gcc, rsync, losetup and the
// mkfs programs of ext4, xfs and btrfs.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

func main() {
	inNamespace()
	var err error
	if len(os.Args) > 1 && os.Args[1] == "syscalls" {
		err = syscallsMain(os.Args[2:])
	} else {
		err = benchMain(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func benchMain(args []string) error {
	fl := flag.NewFlagSet("bench", flag.ExitOnError)
	only := fl.String("only", "", "measure the rows whose name matches this `regexp`")
	runs := fl.Int("runs", 5, "measure each contender `N` times")
	quick := fl.Bool("quick", false, "small sizes: shows that every row works, says nothing about speed")
	list := fl.Bool("list", false, "list the rows and stop")
	out := fl.String("out", "", "write table and plots into `dir` (default docs/bench, but nowhere with -only or -quick)")
	limit := fl.Duration("limit", 25*time.Minute, "start no further row after this time")
	fl.Parse(args)

	pattern, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	var chosen []row
	for _, r := range rows() {
		if pattern.MatchString(r.name()) {
			chosen = append(chosen, r)
		}
	}
	if *list {
		for _, r := range chosen {
			fmt.Printf("%-24s %s\n", r.name(), r.work)
		}
		return nil
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no row matches %q", *only)
	}
	b, err := newBench(*runs, *quick)
	if err != nil {
		return err
	}
	defer b.close()
	if *out == "" && *only == "" && !*quick {
		*out = filepath.Join(b.root, "docs", "bench")
	}
	return b.measure(chosen, *limit, *out)
}

// measure runs the rows one after the other, prints as it goes and writes the
// report. It fails if a row could not be measured; a missed target is a result.
func (b *bench) measure(chosen []row, limit time.Duration, out string) error {
	start := time.Now()
	rep := report{Quick: b.quick}
	failed := 0
	for _, r := range chosen {
		began := time.Now()
		m := &measure{bench: b, row: r}
		err := errors.New("not started: out of time")
		if time.Since(start) < limit {
			err = r.measure(m)
		}
		if e := b.release(); err == nil {
			err = e
		}
		if err != nil {
			m.fail(err)
		}
		for _, v := range m.verdicts {
			fmt.Println(v)
			if v.Outcome == failedOutcome {
				failed++
			}
		}
		fmt.Printf("%-24s %s\n", r.name(), time.Since(began).Round(100*time.Millisecond))
		rep.Verdicts = append(rep.Verdicts, m.verdicts...)
		rep.Times = append(rep.Times, m.times...)
	}
	rep.Machine = thisMachine(b)
	rep.Took = time.Since(start)
	if out != "" {
		if err := rep.write(out); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d lines could not be measured", failed)
	}
	return nil
}
