package cli

import (
	"math"
	"strconv"
	"strings"
)

// parseSize reads a number of bytes: plain, or with K, M, G, T, P, E (powers of
// 1024, also written KiB) or KB, MB ... (powers of 1000).
func parseSize(s string) (int64, bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	n, err := strconv.ParseInt(s[:i], 10, 64)
	if err != nil {
		return 0, false
	}
	unit := strings.ToUpper(s[i:])
	if unit == "" || unit == "B" {
		return n, true
	}
	power := strings.IndexByte("KMGTPE", unit[0]) + 1
	base := int64(1024)
	switch unit[1:] {
	case "", "IB":
	case "B":
		base = 1000
	default:
		return 0, false
	}
	if power == 0 {
		return 0, false
	}
	for ; power > 0; power-- {
		if n > math.MaxInt64/base {
			return 0, false
		}
		n *= base
	}
	return n, true
}

// parseBlock reads the unit that sizes are printed in. One without a number, such
// as M, is one of that unit, and its name is printed behind each size.
func parseBlock(s string) (n int64, unit string, ok bool) {
	if n, ok = parseSize(s); ok {
		return n, "", true
	}
	if s == "" || strings.IndexByte("kKmMGTPE", s[0]) < 0 {
		return 0, "", false
	}
	n, ok = parseSize("1" + s)
	if s[0] == 'm' || s[0] == 'k' && !strings.HasSuffix(s, "B") || s == "kiB" {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	return n, s, ok
}

// humanSize writes n bytes as du -h does: one digit behind the point below ten,
// rounded up.
func humanSize(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10)
	}
	unit, scale := 0, int64(1024)
	for n/scale >= 1024 && unit < 5 {
		scale *= 1024
		unit++
	}
	whole, part := n/scale, n%scale
	if whole < 10 {
		// Tenths, rounded up; scale may be near the end of int64.
		tenths := whole*10 + int64(math.Ceil(float64(part)*10/float64(scale)))
		if tenths < 100 {
			return strconv.FormatInt(tenths/10, 10) + "." + strconv.FormatInt(tenths%10, 10) + "KMGTPE"[unit:unit+1]
		}
		return "10" + "KMGTPE"[unit:unit+1]
	}
	if part > 0 {
		whole++
	}
	if whole == 1024 && unit < 5 {
		return "1.0" + "KMGTPE"[unit+1:unit+2]
	}
	return strconv.FormatInt(whole, 10) + "KMGTPE"[unit:unit+1]
}

// wordySize writes n bytes for people to read: 1.5 MiB.
func wordySize(n float64) string {
	unit := 0
	for n >= 1023.95 && unit < 6 {
		n /= 1024
		unit++
	}
	if unit == 0 {
		return strconv.FormatFloat(n, 'f', 0, 64) + " B"
	}
	return strconv.FormatFloat(n, 'f', 1, 64) + " " + "KMGTPE"[unit-1:unit] + "iB"
}

// commas writes n with its thousands apart.
func commas(n int64) string {
	s := strconv.FormatInt(n, 10)
	start := len(s) % 3
	if n < 0 {
		start = (len(s)-1)%3 + 1
	}
	var b strings.Builder
	b.WriteString(s[:start])
	for i := start; i < len(s); i += 3 {
		if b.Len() > 0 && s[:i] != "-" {
			b.WriteByte(',')
		}
		b.WriteString(s[i : i+3])
	}
	return b.String()
}
