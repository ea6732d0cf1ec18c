// Package local copies between paths on this machine: trees in parallel by
// directory, each file by the cheapest way the two file systems allow.
package local

// Pair is one source and the name its copy gets.
type Pair struct{ Src, Dst string }
