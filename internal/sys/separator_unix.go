//go:build unix

package sys

// otherSeparators are what separates names of a path besides the slash.
const otherSeparators = ""
