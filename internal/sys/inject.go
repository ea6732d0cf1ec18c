package sys

import (
	"errors"
	"sync/atomic"
)

// Op describes one system call about to be made: its name, the entry it works
// on, and the bytes it would move (0 where it moves none).
type Op struct {
	Call string
	Name string
	Len  int64
}

// Fault is what a test wants to happen instead. The zero Fault lets the call
// through. Short > 0 lets at most that many bytes through.
type Fault struct {
	Err   error
	Short int
	Skip  bool // the call is not made and said to be done: for those that give no value, as fsync
}

// errSkip is how a skipped call gets past inject to retry, which knows it.
var errSkip = errors.New("a call that gives a value cannot be skipped")

var hook atomic.Pointer[func(Op) Fault]

// Inject makes every system call of this package ask f first, until the
// returned function is called. For tests: f is called from many goroutines.
func Inject(f func(Op) Fault) (restore func()) {
	old := hook.Swap(&f)
	return func() { hook.Store(old) }
}

// inject asks the hook about a call that moves no bytes.
func inject(call, name string) error {
	if h := hook.Load(); h != nil {
		f := (*h)(Op{Call: call, Name: name})
		if f.Skip {
			return errSkip
		}
		return f.Err
	}
	return nil
}

// injectIO asks the hook about a call that moves up to n bytes and returns how
// many it may move.
func injectIO(call, name string, n int64) (int64, error) {
	h := hook.Load()
	if h == nil {
		return n, nil
	}
	f := (*h)(Op{Call: call, Name: name, Len: n})
	if f.Short > 0 {
		n = min(n, int64(f.Short))
	}
	return n, f.Err
}
