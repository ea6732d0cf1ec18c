package main

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// slow is the time after which one run must do.
const slow = 8 * time.Second

// contender is a way to do a row's work. The zero func fields mean nothing to do.
type contender struct {
	name  string
	argv  []string
	then  []string                      // a second command that belongs to the work
	value func(sample) (float64, error) // what counts of a run; the wall time in seconds if nil
	err   error                         // why it can't run
}

// contend names a program; a program that is not there stays a contender, so
// that its lines of the table say why they are empty.
func (b *bench) contend(name, program string, args ...string) contender {
	path, err := b.program(program)
	return contender{name: name, argv: append([]string{path}, args...), err: err}
}

// outcome is what a contender reached.
type outcome struct {
	name    string
	values  []float64
	samples []sample
	err     error
}

// race runs the contenders in turns, A B C A B C, each after before. A contender's error ends that contender only.
func (b *bench) race(cs []contender, runs int, before func() error) ([]outcome, error) {
	outs := make([]outcome, len(cs))
	for i, c := range cs {
		outs[i] = outcome{name: c.name, err: c.err}
	}
	for range runs {
		for i, c := range cs {
			o := &outs[i]
			if o.err != nil || (len(o.samples) > 0 && o.samples[0].Wall > slow) {
				continue
			}
			if err := before(); err != nil {
				return nil, err
			}
			s, err := b.runAll(c)
			if err != nil {
				o.err = err
				continue
			}
			x, err := c.count(s)
			if err != nil {
				o.err = err
				continue
			}
			o.samples = append(o.samples, s)
			o.values = append(o.values, x)
		}
	}
	return outs, nil
}

func (b *bench) runAll(c contender) (sample, error) {
	s, err := b.run(c.argv...)
	if err != nil || c.then == nil {
		return s, err
	}
	t, err := b.run(c.then...)
	s.Wall += t.Wall
	s.User += t.User
	s.Sys += t.Sys
	s.Peak = max(s.Peak, t.Peak)
	return s, err
}

func (c contender) count(s sample) (float64, error) {
	if c.value != nil {
		return c.value(s)
	}
	return s.Wall.Seconds(), nil
}

// remove clears a destination, directories side by side, and waits until that
// is over.
func (b *bench) remove(v *volume, name string) error {
	names, err := filepath.Glob(filepath.Join(v.path(name), "*"))
	if err != nil {
		return err
	}
	todo := make(chan string)
	var wg sync.WaitGroup
	var errs [2]error
	for i := range errs {
		wg.Go(func() {
			for path := range todo {
				errs[i] = errors.Join(errs[i], os.RemoveAll(path))
			}
		})
	}
	for _, path := range names {
		todo <- path
	}
	close(todo)
	wg.Wait()
	return errors.Join(errs[0], errs[1], os.RemoveAll(v.path(name)), v.settle())
}
