// Package local copies between paths on this machine: trees in parallel by
// directory, each file by the cheapest way the two file systems allow.
package local

import (
	"github.com/gohaul/haul/internal/dest"
	"github.com/gohaul/haul/internal/filter"
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
)

// Pair is one source and the name its copy gets.
type Pair struct{ Src, Dst string }

// Job is everything asked of a copy.
type Job struct {
	Pairs []Pair
	Rules plan.Rules
	Dest  dest.Options

	Follow        plan.Follow
	OneFileSystem bool
	Delete        bool
	Filter        *filter.List // nil: everything
	Workers       int          // 0 means as many as pay
	MapSize       int          // bytes a read window; 0 means chosen
	Verify        bool
	Require       meta.Mask // parts of the metadata that are an error where they cannot be set, not a note
	Contents      bool      // read FIFOs and devices that are named, instead of making them anew
	AllContents   bool      // and those inside of directories
	Scan          bool      // count what there is ahead of the copy, for an ETA

	OnItem  func(report.Item)
	OnError func(path string, err error) error
	Confirm func(path string) bool
	OnXattr func(dst, src, attr string, err error) error
}

// PartialError says that a job went on after errors: how many entries failed,
// and the first error.
type PartialError struct {
	Failed int
	First  error
}

func (e *PartialError) Error() string {
	if e.Failed == 1 {
		return e.First.Error()
	}
	return e.First.Error() + " (and " + itoa(e.Failed-1) + " more)"
}

func (e *PartialError) Unwrap() error { return e.First }

// keepLinks reports whether hard links among the sources are kept.
func (j *Job) keepLinks() bool { return j.Rules.Preserve&plan.PreserveLinks != 0 }

// same tells a source and a target that are one file.
func same(a, b *sys.Stat) bool { return a.Dev == b.Dev && a.Ino == b.Ino }
