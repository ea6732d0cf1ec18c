package main

import "time"

type report struct {
	Machine  machine
	Took     time.Duration
	Verdicts []Verdict
	Times    []timing
}

func (r *report) write(dir string) error { return nil }
