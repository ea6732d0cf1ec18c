package local

import (
	"testing"
	"time"
)

func TestGrow(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		n         int
		cpu, wall time.Duration
		want      bool
		why       string
	}{
		{2, 40 * ms, 20 * ms, false, "both are busy all the time"},
		{2, 10 * ms, 20 * ms, true, "they wait for the disk most of the time"},
		{2, 0, 20 * ms, false, "the system does not tell"},
		{4, 40 * ms, 20 * ms, true, "four share what two could do"},
		{8, 120 * ms, 20 * ms, false, "eight processors are busy"},
		{maxWorkers, ms, 20 * ms, false, "there are enough"},
	} {
		if got := grow(c.n, c.cpu, c.wall); got != c.want {
			t.Errorf("grow(%d, %v, %v) = %v: %s", c.n, c.cpu, c.wall, got, c.why)
		}
	}
}
