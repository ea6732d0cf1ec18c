package testtree

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

type segmentKind int

const (
	segData segmentKind = iota
	segZero
	segHole
	segFalloc
	segBytes // pattern, repeated up to size
)

// segment is a stretch of a file's content.
type segment struct {
	kind    segmentKind
	size    int64
	seed    string // of segData; "" means path and offset
	pattern string // of segBytes
}

func parseSegment(key, value string) (seg segment, err error) {
	switch key {
	case "text:":
		seg.kind = segBytes
		seg.pattern, err = unquote(value)
		seg.size = int64(len(seg.pattern))
		return seg, err
	case "rep:":
		return parseRepeat(value)
	case "data:":
		var seeded bool
		value, seg.seed, seeded = strings.Cut(value, "@")
		if seeded {
			if seg.seed, err = unquote(seg.seed); err != nil || seg.seed == "" {
				return seg, fmt.Errorf("bad seed")
			}
		}
	case "zero:":
		seg.kind = segZero
	case "hole:":
		seg.kind = segHole
	case "falloc:":
		seg.kind = segFalloc
	default:
		return seg, fmt.Errorf("unknown word %s%s", key, value)
	}
	seg.size, err = parseSize(value)
	return seg, err
}

func parseRepeat(s string) (segment, error) {
	pattern, rest, err := cutQuoted(s, "*")
	if err != nil {
		return segment{}, err
	}
	count, ok := strings.CutPrefix(rest, "*")
	n, err := strconv.ParseInt(count, 10, 64)
	if !ok || err != nil || n < 0 || pattern == "" || n > math.MaxInt64/int64(len(pattern)) {
		return segment{}, fmt.Errorf(`want rep:"A"*513`)
	}
	return segment{kind: segBytes, size: n * int64(len(pattern)), pattern: pattern}, nil
}

// source yields the bytes of a segment that is written, buffer by buffer.
// Offset and name are where the segment lies.
func (seg segment) source(name string, offset int64) func(buf []byte) {
	switch seg.kind {
	case segZero:
		return func(buf []byte) { clear(buf) }
	case segBytes:
		var done int64
		return func(buf []byte) {
			n := copy(buf, seg.pattern[done%int64(len(seg.pattern)):])
			for n < len(buf) {
				n += copy(buf[n:], seg.pattern)
			}
			done += int64(len(buf))
		}
	}
	seed := "seed " + seg.seed
	if seg.seed == "" {
		seed = fmt.Sprintf("path %s %d", name, offset)
	}
	r := rand.NewChaCha8(sha256.Sum256([]byte(seed)))
	return func(buf []byte) {
		_, _ = r.Read(buf) // never fails
		for i, c := range buf {
			if c == 0 {
				buf[i] = 0xa5
			}
		}
	}
}

const sumBlock = 4096

var zeroBlock [sumBlock]byte

// summer sums a file by its 4 KiB blocks that are not all zero, each with its
// offset: holes and written zeros come out the same, and a hole costs nothing.
type summer struct {
	h    hash.Hash
	some bool
}

// block adds the block at offset (a multiple of sumBlock; short only at the end).
func (s *summer) block(offset int64, b []byte) {
	if bytes.Equal(b, zeroBlock[:len(b)]) {
		return
	}
	if s.h == nil {
		s.h = sha256.New()
	}
	s.some = true
	var at [8]byte
	binary.LittleEndian.PutUint64(at[:], uint64(offset))
	s.h.Write(at[:])
	s.h.Write(b)
}

func (s *summer) String() string {
	if !s.some {
		return "zeros"
	}
	return fmt.Sprintf("%x", s.h.Sum(nil)[:12])
}
