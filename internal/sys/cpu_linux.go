package sys

import (
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime is how long this process has kept processors busy, in user code and in
// the kernel; 0 where that cannot be told.
func CPUTime() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
