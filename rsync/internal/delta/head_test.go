package delta

import (
	"math"
	"testing"
)

// What rsync 3.5.0 chooses, as --debug=deltasum2 tells it.
func TestHead(t *testing.T) {
	for _, c := range []struct {
		size     int64
		protocol int
		want     Head
	}{
		{0, 32, Head{}},
		{-1, 32, Head{}},
		{1, 32, Head{1, 700, 2, 1}},
		{700, 32, Head{1, 700, 2, 0}},
		{701, 32, Head{2, 700, 2, 1}},
		{65536, 32, Head{94, 700, 2, 436}},
		{490000, 32, Head{700, 700, 2, 0}},
		{490001, 32, Head{701, 700, 2, 1}},
		{500000, 32, Head{711, 704, 2, 160}},
		{700000, 32, Head{842, 832, 2, 288}},
		{1000000, 32, Head{1000, 1000, 2, 0}},
		{1048576, 32, Head{1024, 1024, 2, 0}},
		{2000000, 32, Head{1421, 1408, 2, 640}},
		{10000000, 32, Head{3165, 3160, 2, 1760}},
		{16777216, 32, Head{4096, 4096, 2, 0}},
		{33554432, 32, Head{5794, 5792, 3, 1376}},
		{123456789, 32, Head{11119, 11104, 3, 2517}},
		{1073741824, 32, Head{32768, 32768, 3, 0}},
		{4294967296, 32, Head{65536, 65536, 4, 0}},
		{10000000000, 30, Head{100000, 100000, 4, 0}},
		{17179869183, 32, Head{131081, 131064, 4, 63}},
		{20000000000, 32, Head{152588, 131072, 4, 116736}},
		{20000000000, 29, Head{141427, 141416, 4, 100784}},
		{68719476736, 32, Head{524288, 131072, 5, 0}},
		{1099511627776, 32, Head{8388608, 131072, 6, 0}},
		{1099511627776, 29, Head{1048576, 1048576, 5, 0}},
		{math.MaxInt64, 32, Head{}}, // more blocks than can be counted
	} {
		if got := (Spec{Protocol: c.protocol, Digest: 16}).Head(c.size); got != c.want {
			t.Errorf("%d bytes, protocol %d: %+v, want %+v", c.size, c.protocol, got, c.want)
		} else if c.want.Count > 0 && got.Size() != c.size {
			t.Errorf("%+v is of %d bytes, want %d", got, got.Size(), c.size)
		}
	}
	for _, c := range []struct {
		spec Spec
		want Head
	}{
		{Spec{Protocol: 32, Digest: 16, Redo: true}, Head{1000, 1000, 16, 0}},
		{Spec{Protocol: 32, Digest: 20, Redo: true}, Head{1000, 1000, 16, 0}},
		{Spec{Protocol: 32, Digest: 8, Redo: true}, Head{1000, 1000, 8, 0}},
		{Spec{Protocol: 32, Digest: 16, BlockLen: 7}, Head{142858, 7, 2, 1}},
		{Spec{Protocol: 32, Digest: 1, BlockLen: 700}, Head{1429, 700, 1, 400}},
	} {
		if got := c.spec.Head(1000000); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.spec, got, c.want)
		}
	}
}

func TestHeadCheck(t *testing.T) {
	for _, h := range []Head{
		{-1, 700, 2, 0}, {1, -700, 2, 0}, {1, 700, -2, 0}, {1, 700, 2, -1}, {1, 0, 2, 0},
		{1, 700, 2, 701}, {1, 700, 17, 0}, {1, MaxOldBlockLen + 1, 2, 0},
	} {
		if h.Check() == nil || new(Signature).Reset(h) == nil {
			t.Errorf("%+v passes", h)
		}
	}
	for _, h := range []Head{{}, {0, 700, 2, 0}, {1, 700, 0, 700}, {1, MaxOldBlockLen, 16, 1}} {
		if err := h.Check(); err != nil {
			t.Errorf("%+v: %v", h, err)
		}
	}
}
