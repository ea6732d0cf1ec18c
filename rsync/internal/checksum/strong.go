package checksum

import (
	"crypto/md5"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/zeebo/xxh3"
)

// Block computes the strong sums of blocks for one session. It belongs to one
// goroutine and allocates nothing per sum.
type Block struct {
	alg    Algorithm
	seed   uint64 // sign-extended, as xxHash takes it
	before []byte // the seed where it is hashed ahead of the block
	behind []byte // the seed where it follows
	h      hash.Hash
	xxh    xxhash.Digest
	md4    md4
	sum    [MaxLen]byte
}

// Block gives the block sums of an algorithm. Where the seed goes:
//   - xxHash takes it as its own seed;
//   - md4 hashes it behind the block;
//   - sha1, and md5 if it was named or negotiated, ahead of it;
//   - md5 as the implied algorithm ahead of it only with the compat flag.
//
// Apart from xxHash a seed of 0 is not hashed. None has no block sums: files
// travel whole, and Sum gives zeros.
func (s Session) Block(a Algorithm) *Block {
	b := &Block{alg: a, seed: uint64(int64(s.Seed))}
	ahead := a != Auto || s.SeedFix
	if a == Auto {
		b.alg = s.Implied()
	}
	switch b.alg {
	case MD4:
		ahead = false
		b.md4.busted = a == Auto && s.Protocol < 27
	case MD5:
		b.h = md5.New()
	case SHA1:
		b.h = sha1.New()
	}
	if seed := s.seed4(); s.Seed != 0 && ahead {
		b.before = seed
	} else if s.Seed != 0 {
		b.behind = seed
	}
	return b
}

// Sum puts the strong sum of p into dst; what counts is its first bytes, as
// many as the sum head says.
func (b *Block) Sum(dst *[MaxBlockLen]byte, p []byte) {
	switch b.alg {
	case XXH128:
		put128(dst[:], xxh3.Hash128Seed(p, b.seed))
	case XXH3:
		binary.LittleEndian.PutUint64(dst[:], xxh3.HashSeed(p, b.seed))
	case XXH64:
		b.xxh.ResetWithSeed(b.seed)
		b.xxh.Write(p)
		binary.LittleEndian.PutUint64(dst[:], b.xxh.Sum64())
	case MD4:
		b.md4.Reset()
		b.md4.Write(p)
		b.md4.Write(b.behind)
		b.md4.Sum(&b.sum)
		copy(dst[:], b.sum[:])
	case MD5, SHA1:
		b.h.Reset()
		b.h.Write(b.before)
		b.h.Write(p)
		b.h.Write(b.behind)
		copy(dst[:], b.h.Sum(b.sum[:0]))
	default:
		*dst = [MaxBlockLen]byte{}
	}
}

// Digest computes whole-file sums. It is an io.Writer that never fails, belongs
// to one goroutine, and allocates nothing per file.
type Digest struct {
	alg  Algorithm
	lead []byte // the seed that old protocols hash ahead of a file
	h    hash.Hash
	xxh  xxhash.Digest
	x3   *xxh3.Hasher
	x128 *xxh3.Hasher128
	md4  md4
	sum  [MaxLen]byte
}

// Digest gives the sums that end the transfer of a file. They have no seed,
// but for md4 as the implied algorithm, which hashes it ahead, even a 0.
func (s Session) Digest(a Algorithm) *Digest {
	d := s.ListDigest(a)
	if a == Auto && d.alg == MD4 {
		d.lead = s.seed4()
	}
	d.Reset()
	return d
}

// ListDigest gives the sums of --checksum, which travel in the file list and
// never have a seed.
func (s Session) ListDigest(a Algorithm) *Digest {
	d := &Digest{alg: a}
	if a == Auto {
		d.alg = s.Implied()
	}
	switch d.alg {
	case MD4:
		d.md4.busted = a == Auto && s.Protocol < 27
	case MD5:
		d.h = md5.New()
	case SHA1:
		d.h = sha1.New()
	case XXH3:
		d.x3 = xxh3.New()
	case XXH128:
		d.x128 = xxh3.New128()
	}
	d.Reset()
	return d
}

// Reset begins the next file.
func (d *Digest) Reset() {
	switch d.alg {
	case XXH128:
		d.x128.Reset()
	case XXH3:
		d.x3.Reset()
	case XXH64:
		d.xxh.Reset()
	case MD4:
		d.md4.Reset()
		d.md4.Write(d.lead)
	case MD5, SHA1:
		d.h.Reset()
	}
}

// Write takes in bytes of the file.
func (d *Digest) Write(p []byte) (int, error) {
	switch d.alg {
	case XXH128:
		return d.x128.Write(p)
	case XXH3:
		return d.x3.Write(p)
	case XXH64:
		return d.xxh.Write(p)
	case MD4:
		return d.md4.Write(p)
	case MD5, SHA1:
		return d.h.Write(p)
	}
	return len(p), nil
}

// Len is the length of the digest in bytes.
func (d *Digest) Len() int { return lengths[d.alg] }

// Sum is the digest as it travels, valid until the next call. It ends the file:
// Reset comes next.
func (d *Digest) Sum() []byte {
	switch d.alg {
	case XXH128:
		put128(d.sum[:], d.x128.Sum128())
	case XXH3:
		binary.LittleEndian.PutUint64(d.sum[:], d.x3.Sum64())
	case XXH64:
		binary.LittleEndian.PutUint64(d.sum[:], d.xxh.Sum64())
	case MD4:
		d.md4.Sum(&d.sum)
	case MD5, SHA1:
		d.h.Sum(d.sum[:0])
	}
	return d.sum[:d.Len()]
}

// Text is a digest as people write it and %C of --out-format prints it: that of
// an xxHash the other way round than it travels.
func (a Algorithm) Text(sum []byte) string {
	if a >= XXH64 {
		sum = slices.Clone(sum)
		slices.Reverse(sum)
	}
	return hex.EncodeToString(sum)
}

// Spoil turns a digest into one that is certainly wrong, which a sender gives
// when it could not read the file to its end: zeros, or where it was all zeros
// a 1 at its end.
func Spoil(sum []byte) {
	zero := true
	for i, c := range sum {
		zero = zero && c == 0
		sum[i] = 0
	}
	if zero && len(sum) > 0 {
		sum[len(sum)-1] = 1
	}
}

func (s Session) seed4() []byte {
	return binary.LittleEndian.AppendUint32(nil, uint32(s.Seed))
}

// put128 writes a 128-bit xxHash as rsync does: the low half first.
func put128(dst []byte, u xxh3.Uint128) {
	binary.LittleEndian.PutUint64(dst, u.Lo)
	binary.LittleEndian.PutUint64(dst[8:], u.Hi)
}
