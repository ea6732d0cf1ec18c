package local

import (
	"runtime"
	"time"

	"github.com/gohaul/haul/internal/sys"
)

const (
	maxWorkers = 8                     // beyond, locks of directories cost more than a disk gains
	growEvery  = 20 * time.Millisecond // how often it is asked whether one more worker pays
)

// work lets the workers run until there are no tasks. Unless the caller fixed
// their number, it begins with one a processor and adds more for as long as
// they spend their time waiting for what a disk is to read, while tasks wait
// for them. Waiting alone is no reason: it may be for each other's locks.
func (e *engine) work() {
	finished := make(chan struct{}, max(maxWorkers, e.Workers))
	running := 0
	add := func() {
		running++
		go func() {
			e.newWorker().run()
			finished <- struct{}{}
		}()
	}
	for running < e.workers() {
		add()
	}
	tick := time.NewTicker(growEvery)
	defer tick.Stop()
	before, at := sys.Used(), time.Now()
	for running > 0 {
		select {
		case <-finished:
			running--
		case now := <-tick.C:
			used := sys.Used()
			if e.Workers == 0 && e.queue.waiting() && grow(running, used.CPU-before.CPU, used.Read-before.Read, now.Sub(at)) {
				add()
			}
			before, at = used, now
		}
	}
}

// grow decides whether one more worker pays: n of them kept processors busy for
// cpu within wall, and caused blocks to be read.
func grow(n int, cpu time.Duration, blocks int64, wall time.Duration) bool {
	return n < maxWorkers && blocks > 0 && cpu < wall*time.Duration(n)*6/10
}

// workers is how many goroutines copy at first.
func (e *engine) workers() int {
	if e.Workers > 0 {
		return e.Workers
	}
	return min(max(2, runtime.GOMAXPROCS(0)), maxWorkers)
}
