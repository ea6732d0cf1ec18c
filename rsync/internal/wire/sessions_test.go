package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// session is one run of the program, and what its streams hold.
type session struct {
	Name     string
	Protocol int
	Push     bool
	Tree     string   // function that makes the trees
	Opts     []string // of the client
	Format   Format

	Compress  Compression // "auto": negotiated
	Rules     bool        // the client sends filter rules
	NamesFrom string      // files-from: "client" or "server" has them
	Framed29  bool        // the client's direction is framed before 30 too
	Dry       bool
	Append    bool
	Empty     bool // a pull of nothing

	C2S, S2C []byte `json:"-"`
}

// sessions is the table of all that are recorded.
func sessions() []*session {
	var all []*session
	add := func(s session, opts string) *session {
		dir := map[bool]string{true: "push", false: "pull"}[s.Push]
		s.Name = fmt.Sprintf("%d-%s-%s", s.Protocol, dir, s.Name)
		s.Opts = append(strings.Fields(opts), fmt.Sprintf("--protocol=%d", s.Protocol))
		s.Format.Protocol = s.Protocol
		if s.Tree == "" {
			s.Tree = "all"
		}
		if !s.Push {
			s.Rules = true
		}
		all = append(all, &s)
		return &s
	}
	archive := Format{Owner: true, Group: true, Links: true, Devices: true, Specials: true}
	with := func(change func(f *Format)) Format {
		f := archive
		change(&f)
		return f
	}
	for protocol := 27; protocol <= 32; protocol++ {
		for _, push := range []bool{true, false} {
			base := session{Protocol: protocol, Push: push, Format: archive}
			hard := with(func(f *Format) {
				f.HardLinks, f.Atimes, f.ACLs, f.Xattrs = true, protocol >= 28, protocol >= 30, protocol >= 30
			})
			opts := "-aH"
			if protocol >= 28 {
				opts += "U"
			}
			if protocol >= 30 {
				opts += "AX"
			}
			s := base
			s.Name, s.Format, s.Rules = "all", hard, true
			add(s, opts+" --delete --backup")
			s = base
			s.Name, s.Format = "sum", with(func(f *Format) { f.Sum, f.NumericIDs = 16, true })
			add(s, "-ac --numeric-ids -i")
			s = base
			s.Name, s.Framed29 = "few", true
			s.Format = Format{}
			add(s, "-rt --remove-source-files")
			s = base
			s.Name, s.Format, s.Compress = "z", Format{Links: true}, Zlib
			if protocol >= 30 {
				s.Compress = Zstd
			}
			add(s, "-rltz")
			s = base
			s.Name, s.Tree, s.Format, s.Compress = "zlib-blocks", "blocks", Format{}, Zlib
			add(s, "-rt --compress-choice=zlib --block-size=70000")
			s = base
			s.Name, s.Tree, s.Format, s.Append = "append", "append", Format{}, true
			add(s, "-rt --append")
			s = base
			s.Name, s.NamesFrom, s.Format = "names", "client", Format{}
			s.Format.Absolute = true
			if push {
				s.NamesFrom = "server"
				add(s, "-t --files-from=:names.txt")
			} else {
				add(s, "-t --files-from=names.txt")
			}
			if protocol >= 30 {
				s = base
				s.Name, s.Format, s.Rules = "flat", hard, true
				add(s, opts+" --delete --no-inc-recursive")
				for _, c := range []Compression{Zstd, LZ4, Zlibx, Zlib} {
					s = base
					s.Name, s.Format, s.Compress = string(c), Format{}, c
					add(s, "-rt --compress-choice="+string(c))
				}
			}
			if protocol >= 29 {
				s = base
				s.Name, s.Tree, s.Format = "fuzzy", "fuzzy", Format{}
				add(s, "-rty --no-inc-recursive")
			}
			if protocol == 27 || protocol == 29 || protocol == 32 {
				s = base
				s.Name, s.Dry = "dry", true
				add(s, "-an --stderr=client -vv")
			}
			if protocol == 32 && !push {
				s = base
				s.Name, s.Format, s.Empty = "empty", Format{}, true
				add(s, "-rt --exclude=*")
			}
		}
	}
	return all
}

func (s *session) file() string { return filepath.Join("testdata", "sessions", s.Name+".gz") }

// load reads the recorded streams.
func (s *session) load(t testing.TB) {
	f, err := os.Open(s.file())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var parts [][]byte
	for len(all) > 0 {
		n := binary.LittleEndian.Uint32(all)
		parts = append(parts, all[4:4+n])
		all = all[4+n:]
	}
	s.C2S, s.S2C = parts[1], parts[2]
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func seeded(name string) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, c := range []byte(name) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(h, 1))
}

// contentOf is what a file of that name holds in the source.
func contentOf(name string) []byte {
	switch name {
	case "empty", "sub/deep/empty":
		return nil
	case "big":
		b := basisOf(name)
		return bytes.Join([][]byte{b[:3333], []byte("INSERTED"), b[3333:9000], b[9500:]}, nil)
	case "blocks":
		// Behind the second block of 70000 bytes come bytes of its start and of its
		// end. Which of them the history of zlib has depends on the protocol.
		b := basisOf(name)
		return bytes.Join([][]byte{b[:140000], b[70000:74000], b[136000:139900], b[140000:]}, nil)
	case "append":
		return text(seeded(name), 9000)
	case "noise":
		b := make([]byte, 3<<20)
		fill(seeded(name), b)
		return b
	case "version-2.txt":
		b := basisOf(name)
		return append(bytes.Clone(b[:5000]), "more"...)
	case "hard1", "hard2", "sub/hard3":
		return []byte("linked content\n")
	}
	return text(seeded(name), 50+len(name))
}

// basisOf is what it holds in the destination, if it is there.
func basisOf(name string) []byte {
	switch name {
	case "big":
		return text(seeded(name), 20000)
	case "blocks":
		b := make([]byte, 210000)
		fill(seeded(name), b)
		return b
	case "append":
		return contentOf(name)[:4000]
	case "version-2.txt":
		return text(seeded(name), 6000)
	}
	return nil
}
