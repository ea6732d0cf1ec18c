package local

import (
	"testing"
	"time"
)

func TestGrow(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		n      int
		cpu    time.Duration
		blocks int64
		want   bool
		why    string
	}{
		{2, 40 * ms, 100, false, "both are busy all the time"},
		{2, 10 * ms, 100, true, "they wait for the disk most of the time"},
		{2, 10 * ms, 0, false, "they wait, but for each other"},
		{4, 40 * ms, 100, true, "four share what two could do"},
		{8, 120 * ms, 100, false, "eight processors are busy"},
		{maxWorkers, ms, 100, false, "there are enough"},
	} {
		if got := grow(c.n, c.cpu, c.blocks, 20*ms); got != c.want {
			t.Errorf("grow(%d, %v, %d) = %v: %s", c.n, c.cpu, c.blocks, got, c.why)
		}
	}
}
