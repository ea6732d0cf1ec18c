package cli

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// locale tells how names and words are quoted in messages.
type locale struct{ utf8 bool }

// localeOf reads the character set from the environment as setlocale does.
func localeOf(getenv func(string) string) locale {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToLower(v)
			return locale{strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")}
		}
	}
	return locale{}
}

// printable is the length of the printable character s starts with, or 0.
func (l locale) printable(s string) int {
	if s[0] < utf8.RuneSelf {
		if s[0] < ' ' || s[0] == 0x7f {
			return 0
		}
		return 1
	}
	if !l.utf8 {
		return 0
	}
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 || !strconv.IsPrint(r) {
		return 0
	}
	return n
}

// file quotes a file name so that it can be pasted into a shell: always in
// quotes, bytes that do not print as $'...'.
func (l locale) file(s string) string {
	plain, quote, special := true, false, false
	for i := 0; i < len(s); {
		n := l.printable(s[i:])
		if n == 0 {
			plain, n = false, 1
		}
		quote = quote || s[i] == '\''
		special = special || strings.IndexByte("!\"#$&()*;<=>?[\\`{|}~", s[i]) >= 0
		i += n
	}
	switch {
	case plain && !quote:
		return "'" + s + "'"
	case plain && !special:
		return `"` + s + `"`
	}
	return l.escape(s)
}

func (l locale) escape(s string) string {
	b := make([]byte, 0, len(s)+16)
	b = append(b, '\'')
	escaping := false
	for i := 0; i < len(s); {
		n := l.printable(s[i:])
		switch {
		case n == 0:
			if !escaping {
				b = append(b, `'$'`...)
			}
			escaping = true
			b = appendEscape(b, s[i])
			n = 1
		case s[i] == '\'':
			escaping = false
			b = append(b, `'\''`...)
		default:
			if escaping {
				b = append(b, `''`...)
			}
			escaping = false
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return string(append(b, '\''))
}

// bare is file without the quotes where the shell would not need them.
func (l locale) bare(s string) string {
	if s == "" || s[0] == '#' || s[0] == '~' {
		return l.file(s)
	}
	for i := 0; i < len(s); {
		n := l.printable(s[i:])
		if n == 0 || strings.IndexByte(" !\"$&'(*:;<=>?[\\^`|", s[i]) >= 0 {
			return l.file(s)
		}
		i += n
	}
	return s
}

// word quotes what was typed as the value of an option.
func (l locale) word(s string) string {
	left, right := "'", "'"
	if l.utf8 {
		left, right = "‘", "’"
	}
	b := append(make([]byte, 0, len(s)+6), left...)
	for i := 0; i < len(s); {
		n := l.printable(s[i:])
		switch {
		case n == 0:
			b, n = appendEscape(b, s[i]), 1
		case s[i] == '\\' || s[i] == '\'' && !l.utf8:
			b = append(b, '\\', s[i])
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return string(append(b, right...))
}

func appendEscape(b []byte, c byte) []byte {
	if i := strings.IndexByte("\a\b\t\n\v\f\r", c); i >= 0 {
		return append(b, '\\', "abtnvfr"[i])
	}
	return append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
}
