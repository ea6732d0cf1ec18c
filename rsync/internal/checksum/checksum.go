// Package checksum computes the sums of the rsync protocol: the weak one that
// rolls, and the strong ones under their wire names, lengths and seeds, as
// rsync 3.5.0 computes them for each protocol. It is pure: bytes in, sums out.
package checksum

import (
	"slices"
	"strings"
)

// Algorithm is a strong sum, by the name it has on the wire.
type Algorithm uint8

// Auto is what the protocol implies when nobody named an algorithm. It differs
// from the same algorithm chosen by name: see [Session].
const (
	Auto Algorithm = iota
	None
	SHA1
	MD4
	MD5
	XXH64
	XXH3
	XXH128
)

// MaxLen is the length in bytes of the longest digest.
const MaxLen = 20

// MaxBlockLen is how many bytes of a block's strong sum can travel at most.
const MaxBlockLen = 16

var names = [...]string{
	Auto: "auto", None: "none", SHA1: "sha1", MD4: "md4", MD5: "md5",
	XXH64: "xxh64", XXH3: "xxh3", XXH128: "xxh128",
}

var lengths = [...]int{None: 1, SHA1: 20, MD4: 16, MD5: 16, XXH64: 8, XXH3: 8, XXH128: 16}

// String is the algorithm's name on the wire.
func (a Algorithm) String() string { return names[a] }

// ByName finds an algorithm by its name in any case; "auto" and the alias
// "xxhash" count.
func ByName(name string) (Algorithm, bool) {
	name = strings.ToLower(name)
	if name == "xxhash" {
		return XXH64, true
	}
	i := slices.Index(names[:], name)
	return Algorithm(max(i, 0)), i >= 0
}

// Session is what a handshake settled that the sums depend on.
type Session struct {
	Protocol int
	Seed     int32
	SeedFix  bool // compat flag 0x020: an implied md5 hashes the seed before the block, not behind
}

// Implied is the algorithm that Auto stands for.
func (s Session) Implied() Algorithm {
	if s.Protocol >= 30 {
		return MD5
	}
	return MD4
}

// Len is the length in bytes of a whole-file digest on the wire; that of none
// is one zero byte.
func (s Session) Len(a Algorithm) int {
	if a == Auto {
		a = s.Implied()
	}
	return lengths[a]
}

// BlockLen is how many bytes of a block's strong sum may travel at most.
func (s Session) BlockLen(a Algorithm) int {
	return min(s.Len(a), MaxBlockLen)
}
