// Package stock runs the stock rsync for tests and reads what its two ends told
// each other about one file.
package stock

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Session is one recorded push of a single file, frames taken off.
type Session struct {
	Out      string // what the client printed
	Protocol int
	Client   []byte // the sender's stream from the file list on
	Server   []byte // the generator's stream
}

// Head is what precedes the sums of blocks.
type Head struct{ Count, BlockLen, StrongLen, LastLen int }

// bytes are the head as it travels; before protocol 27 its strong length did not.
func (h Head) bytes(protocol int) []byte {
	fields := []int{h.Count, h.BlockLen, h.StrongLen, h.LastLen}
	if protocol < 27 {
		fields = slices.Delete(fields, 2, 3)
	}
	var b []byte
	for _, n := range fields {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return b
}

// tee is the remote shell: it runs the server here and keeps both streams.
const tee = `#!/bin/bash
shift
cd "$(dirname "$0")"
dir=$PWD
cd /
"$@" < <(exec tee "$dir/client") > >(exec tee "$dir/server")
`

// Push sends the file src to dst with both ends stock, the delta algorithm on,
// and records it. The test fails without rsync and bash.
func Push(t testing.TB, src, dst string, args ...string) *Session {
	t.Helper()
	dir := t.TempDir()
	shell := filepath.Join(dir, "tee")
	if err := os.WriteFile(shell, []byte(tee), 0o755); err != nil {
		t.Fatal(err)
	}
	argv := append([]string{"-I", "--no-whole-file", "--stats", "-e", shell}, args...)
	cmd := exec.Command("rsync", append(argv, src, "h:"+dst)...)
	cmd.Env = append(os.Environ(), "RSYNC_CHECKSUM_LIST=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("rsync %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	s := &Session{Out: string(out)}
	client, server := read(t, dir, "client"), read(t, dir, "server")
	s.Protocol = int(min(binary.LittleEndian.Uint32(client), binary.LittleEndian.Uint32(server)))
	client, server = client[4:], server[4:]
	if s.Protocol >= 30 {
		server = server[varint(server[0]):]
		named := slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "--checksum-choice") || strings.HasPrefix(a, "--cc")
		})
		if !named {
			client, server = client[1+client[0]:], server[1+server[0]:]
		}
		client = unframe(client)
	}
	s.Client, s.Server = client, unframe(server[4:]) // behind the seed
	return s
}

// Blocks are the sums of the blocks as the generator sent them: four bytes of
// weak sum and h.StrongLen of strong sum each.
func (s *Session) Blocks(t testing.TB, h Head) []byte {
	t.Helper()
	rest := s.behind(t, "generator", s.Server, h)
	return rest[:h.Count*(4+h.StrongLen)]
}

// Tokens are the tokens of the file, literal ones without their bytes and the
// end left out, and the digest behind them.
func (s *Session) Tokens(t testing.TB, h Head, digestLen int) (tokens []int, digest []byte) {
	t.Helper()
	rest := s.behind(t, "sender", s.Client, h)
	for {
		n := int(int32(binary.LittleEndian.Uint32(rest)))
		rest = rest[4:]
		if n == 0 {
			return tokens, rest[:digestLen]
		}
		tokens = append(tokens, n)
		rest = rest[max(n, 0):]
	}
}

// Stat is a number of --stats, such as "Literal data".
func (s *Session) Stat(t testing.TB, name string) int64 {
	t.Helper()
	for line := range strings.Lines(s.Out) {
		if rest, ok := strings.CutPrefix(line, name+": "); ok {
			var n int64
			for _, c := range rest {
				switch {
				case c >= '0' && c <= '9':
					n = n*10 + int64(c-'0')
				case c != ',':
					return n
				}
			}
		}
	}
	t.Fatalf("no %q in the statistics:\n%s", name, s.Out)
	return 0
}

func (s *Session) behind(t testing.TB, who string, stream []byte, h Head) []byte {
	t.Helper()
	_, rest, found := bytes.Cut(stream, h.bytes(s.Protocol))
	if !found {
		t.Fatalf("the %s did not send the head %+v", who, h)
	}
	return rest
}

func read(t testing.TB, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// varint is the length in bytes of the variable integer that begins with c.
func varint(c byte) int {
	n := 1
	for ; c&0x80 != 0; c <<= 1 {
		n++
	}
	return n
}

// unframe joins the data of frames; messages are dropped.
func unframe(b []byte) []byte {
	const data = 7
	var out []byte
	for len(b) >= 4 {
		head := binary.LittleEndian.Uint32(b)
		n := int(head & 0xffffff)
		if n > len(b)-4 {
			break // the copy ends before the session, by a goodbye
		}
		if head>>24 == data {
			out = append(out, b[4:4+n]...)
		}
		b = b[4+n:]
	}
	return out
}
