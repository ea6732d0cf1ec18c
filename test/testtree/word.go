package testtree

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quote writes s as a word: bare where that reads back, else as a Go string.
func quote(s string) string {
	bare := s != "" && utf8.ValidString(s) && !strings.ContainsAny(s, "\"\\{}*,")
	for _, r := range s {
		bare = bare && unicode.IsPrint(r) && !unicode.IsSpace(r)
	}
	if bare {
		return s
	}
	return strconv.Quote(s)
}

// fields splits a line at spaces outside quotes.
func fields(line string) ([]string, error) {
	var out []string
	for {
		line = strings.TrimLeft(line, " \t\r")
		if line == "" {
			return out, nil
		}
		end := 0
		for end < len(line) && !strings.ContainsRune(" \t\r", rune(line[end])) {
			if line[end] != '"' {
				end++
				continue
			}
			q, err := strconv.QuotedPrefix(line[end:])
			if err != nil {
				return nil, fmt.Errorf("bad quoting at %s", line[end:])
			}
			end += len(q)
		}
		out = append(out, line[:end])
		line = line[end:]
	}
}

// unquote reads a word that may not have ranges.
func unquote(s string) (string, error) {
	if !strings.Contains(s, `"`) {
		return s, nil
	}
	var b strings.Builder
	for s != "" {
		if s[0] != '"' {
			n := strings.IndexByte(s, '"')
			if n < 0 {
				n = len(s)
			}
			b.WriteString(s[:n])
			s = s[n:]
			continue
		}
		q, err := strconv.QuotedPrefix(s)
		if err != nil {
			return "", fmt.Errorf("bad quoting at %s", s)
		}
		lit, err := strconv.Unquote(q)
		if err != nil {
			return "", fmt.Errorf("bad quoting at %s", s)
		}
		b.WriteString(lit)
		s = s[len(q):]
	}
	return b.String(), nil
}

// cutQuoted takes a leading quoted or bare part, up to one of the stop bytes.
func cutQuoted(s, stop string) (value, rest string, err error) {
	if strings.HasPrefix(s, `"`) {
		q, err := strconv.QuotedPrefix(s)
		if err != nil {
			return "", "", fmt.Errorf("bad quoting at %s", s)
		}
		value, err = strconv.Unquote(q)
		return value, s[len(q):], err
	}
	n := strings.IndexAny(s, stop)
	if n < 0 {
		n = len(s)
	}
	return s[:n], s[n:], nil
}

// part is a literal, or a range of numbers if n > 0.
type part struct {
	lit      string
	from, n  int
	minWidth int
}

// word is a name that may stand for many.
type word []part

func parseWord(s string) (word, error) {
	var w word
	for s != "" {
		switch {
		case s[0] == '"':
			lit, rest, err := cutQuoted(s, "")
			if err != nil {
				return nil, err
			}
			w = append(w, part{lit: lit})
			s = rest
		case s[0] == '{':
			end := strings.IndexByte(s, '}')
			if end < 0 {
				return nil, fmt.Errorf("range without end: %s", s)
			}
			p, err := parseRange(s[1:end])
			if err != nil {
				return nil, err
			}
			w = append(w, p)
			s = s[end+1:]
		default:
			lit, rest, _ := cutQuoted(s, `"{`)
			w = append(w, part{lit: lit})
			s = rest
		}
	}
	return w, nil
}

func parseRange(s string) (part, error) {
	lo, hi, ok := strings.Cut(s, "..")
	from, err1 := strconv.Atoi(lo)
	to, err2 := strconv.Atoi(hi)
	if !ok || err1 != nil || err2 != nil || from < 0 || to < from {
		return part{}, fmt.Errorf("bad range {%s}, want {1..9}", s)
	}
	p := part{from: from, n: to - from + 1}
	if strings.HasPrefix(lo, "0") && len(lo) > 1 {
		p.minWidth = len(lo)
	}
	return p, nil
}

// ranges lists the lengths of the word's ranges.
func (w word) ranges() []int {
	var n []int
	for _, p := range w {
		if p.n > 0 {
			n = append(n, p.n)
		}
	}
	return n
}

// at is the word with its k-th range at index[k].
func (w word) at(index []int) string {
	if len(w) == 1 && w[0].n == 0 {
		return w[0].lit
	}
	var b strings.Builder
	k := 0
	for _, p := range w {
		if p.n == 0 {
			b.WriteString(p.lit)
			continue
		}
		fmt.Fprintf(&b, "%0*d", p.minWidth, p.from+index[k])
		k++
	}
	return b.String()
}

// advance steps index like an odometer; false after the last.
func advance(index, lengths []int) bool {
	for k := len(index) - 1; k >= 0; k-- {
		if index[k]++; index[k] < lengths[k] {
			return true
		}
		index[k] = 0
	}
	return false
}

const units = "kMGTPE"

// parseSize reads bytes with an optional binary unit.
func parseSize(s string) (int64, error) {
	num, shift := s, 0
	if s != "" {
		if i := strings.IndexByte(units, s[len(s)-1]); i >= 0 {
			num, shift = s[:len(s)-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(num, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("bad size %q", s)
	}
	return n << shift, nil
}

// formatSize is the shortest exact form that parseSize reads.
func formatSize(n int64) string {
	i := 0
	for n != 0 && n%1024 == 0 && i < len(units) {
		n /= 1024
		i++
	}
	s := strconv.FormatInt(n, 10)
	if i > 0 {
		s += units[i-1 : i]
	}
	return s
}
