package local

import (
	"runtime"
	"time"

	"github.com/gohaul/haul/internal/sys"
)

const (
	maxWorkers = 16                    // beyond, directories' locks and disks gain nothing more
	growEvery  = 20 * time.Millisecond // how often it is asked whether one more worker pays
)

// work lets the workers run until there are no tasks. Unless the caller fixed
// their number, it begins with one a processor and adds more for as long as
// they spend their time waiting for a disk while tasks wait for them.
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
	cpu, at := sys.CPUTime(), time.Now()
	for running > 0 {
		select {
		case <-finished:
			running--
		case now := <-tick.C:
			used := sys.CPUTime()
			if e.Workers == 0 && e.queue.waiting() && grow(running, used-cpu, now.Sub(at)) {
				add()
			}
			cpu, at = used, now
		}
	}
}

// grow decides whether one more worker pays: n of them kept processors busy for
// cpu within wall. Where that is not told (0), it does not.
func grow(n int, cpu, wall time.Duration) bool {
	return n < maxWorkers && cpu > 0 && cpu < wall*time.Duration(n)*6/10
}

// workers is how many goroutines copy at first.
func (e *engine) workers() int {
	if e.Workers > 0 {
		return e.Workers
	}
	return min(max(2, runtime.GOMAXPROCS(0)), maxWorkers)
}
