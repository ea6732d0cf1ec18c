package testtree

import (
	"fmt"
	"strings"
)

// item is one line of a description.
type item struct{ name, text string }

func join(items []item) string {
	var b strings.Builder
	for _, it := range items {
		b.WriteString(it.text)
		b.WriteByte('\n')
	}
	return b.String()
}

// maxDiff bounds a report: past it, only the count is told.
const maxDiff = 50

// diff merges two descriptions, both in walk order; only differing lines stay.
func diff(a, b []item) string {
	var out strings.Builder
	n := 0
	show := func(sign byte, it item) {
		if n++; n <= maxDiff {
			fmt.Fprintf(&out, "%c %s\n", sign, it.text)
		}
	}
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && before(a[0].name, b[0].name):
			show('-', a[0])
			a = a[1:]
		case len(a) == 0 || before(b[0].name, a[0].name):
			show('+', b[0])
			b = b[1:]
		default:
			if a[0].text != b[0].text {
				show('-', a[0])
				show('+', b[0])
			}
			a, b = a[1:], b[1:]
		}
	}
	if n > maxDiff {
		fmt.Fprintf(&out, "... and %d lines more\n", n-maxDiff)
	}
	return out.String()
}

// before is walk order: parents first, then by the bytes of each name, so that
// '/' sorts below every other byte; "." is the root.
func before(a, b string) bool {
	if a == "." || b == "." {
		return a == "." && b != "."
	}
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] == b[i] {
			continue
		}
		return a[i] == '/' || b[i] != '/' && a[i] < b[i]
	}
	return len(a) < len(b)
}
