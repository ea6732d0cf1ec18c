package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// sample is one run of a program from start to exit.
type sample struct {
	Wall      time.Duration
	User, Sys time.Duration
	Peak      int64 // bytes of resident memory
}

// run runs a program under the meter.
func (b *bench) run(argv ...string) (sample, error) {
	out := filepath.Join(b.ram, "meter.out")
	c := exec.Command(b.meter, append([]string{out}, argv...)...)
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Run(); err != nil {
		return sample{}, fmt.Errorf("%s: %w: %s", shortArgv(argv), err, lastLines(said.String()))
	}
	line, err := os.ReadFile(out)
	if err != nil {
		return sample{}, err
	}
	var wall, user, sys, peak int64
	if _, err := fmt.Sscan(string(line), &wall, &user, &sys, &peak); err != nil {
		return sample{}, err
	}
	return sample{time.Duration(wall), time.Duration(user) * time.Microsecond, time.Duration(sys) * time.Microsecond, peak * kib}, nil
}

// shortArgv is a command without the paths of this machine.
func shortArgv(argv []string) string {
	var b strings.Builder
	for i, a := range argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		if filepath.IsAbs(a) {
			a = filepath.Base(a)
		}
		b.WriteString(a)
	}
	return b.String()
}

func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	n := len(s)
	if n == 0 {
		return 0
	}
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}
