package outfile

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/gohaul/haul/internal/sys"
)

// Ways remembers what pairs of devices cannot do for each other, so that a job
// of a million files asks the kernel once, and what file systems tell of
// themselves. The zero Ways knows nothing; it may be shared by many goroutines.
type Ways struct {
	known atomic.Pointer[knowledge] // replaced whole, so that reading takes no lock
	mu    sync.Mutex                // held while replacing it
}

type knowledge struct {
	pairs map[pair]*[ways]atomic.Int32
	kinds map[uint64]kind
}

// pair is a source and a target device. The zero pair is unknown: nothing is
// remembered of it.
type pair struct{ src, dst uint64 }

// way is one way to copy inside the kernel.
type way uint8

const (
	byClone way = iota
	byRange
	ways
)

var wayNames = [ways]string{"ficlone", "copy_file_range"}

// strikes is how many failures that may be the fault of one file (a swap file,
// an immutable one) close a way. A failure that blames the devices closes it
// at once.
const strikes = 8

// open reports whether a way may be tried.
func (w *Ways) open(p pair, by way) bool {
	n := w.failures(p)
	return n == nil || n[by].Load() < strikes
}

// worked forgets failures that were some file's own fault.
func (w *Ways) worked(p pair, by way) {
	if n := w.failures(p); n != nil && n[by].Load() != 0 {
		n[by].Store(0)
	}
}

// failed remembers that a way failed.
func (w *Ways) failed(p pair, by way, err error) {
	if w == nil || p == (pair{}) {
		return
	}
	n := w.failures(p)
	if n == nil {
		n = w.add(p)
	}
	if sys.OtherDevice(err) || sys.NotSupported(err) {
		n[by].Store(strikes)
	} else {
		n[by].Add(1)
	}
}

func (w *Ways) failures(p pair) *[ways]atomic.Int32 {
	if w == nil {
		return nil
	}
	if k := w.known.Load(); k != nil {
		return k.pairs[p]
	}
	return nil
}

func (w *Ways) add(p pair) (n *[ways]atomic.Int32) {
	w.change(func(k *knowledge) {
		if n = k.pairs[p]; n == nil {
			n = new([ways]atomic.Int32)
			k.pairs[p] = n
		}
	})
	return n
}

func (w *Ways) change(f func(k *knowledge)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := &knowledge{pairs: map[pair]*[ways]atomic.Int32{}, kinds: map[uint64]kind{}}
	if old := w.known.Load(); old != nil {
		maps.Copy(k.pairs, old.pairs)
		maps.Copy(k.kinds, old.kinds)
	}
	f(k)
	w.known.Store(k)
}

// kind is what matters of a file system.
type kind struct {
	block int64 // the unit of its allocation, in bytes
	eager bool  // it allocates ahead of writes, and so into holes: XFS
}

const (
	magicXFS = 0x58465342

	// maxBlock is the biggest unit believed: network file systems tell the size
	// of their transfers instead.
	maxBlock     = 64 << 10
	defaultBlock = 4 << 10
)

// kindOf asks the file system of an open file, once for each device it knows
// the number of.
func (w *Ways) kindOf(f *sys.File, dev uint64) (kind, error) {
	if w != nil && dev != 0 {
		if k := w.known.Load(); k != nil {
			if found, ok := k.kinds[dev]; ok {
				return found, nil
			}
		}
	}
	space, err := f.Space()
	if err != nil {
		return kind{}, err
	}
	found := kind{block: blockSize(space.BlockSize), eager: space.Magic == magicXFS}
	if w != nil && dev != 0 {
		w.change(func(k *knowledge) { k.kinds[dev] = found })
	}
	return found, nil
}

// blockSize is the unit in which zeros are looked for, from what a file system
// tells. A unit too small costs calls and a unit too big costs holes.
func blockSize(told int64) int64 {
	if told < 512 || told > maxBlock || told&(told-1) != 0 {
		return defaultBlock
	}
	return told
}
