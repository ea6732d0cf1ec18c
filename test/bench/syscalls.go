package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// syscallsMain prints the system calls per file of each copier, side by side.
func syscallsMain(args []string) (err error) {
	fl := flag.NewFlagSet("bench syscalls", flag.ExitOnError)
	fs := fl.String("fs", "ext4", "the file `system`: ext4, xfs, btrfs or tmpfs")
	files := fl.Int("files", 1000, "copy `N` files, in ten directories")
	size := fl.Int("size", 10*kib, "of so many `bytes`")
	fl.Parse(args)

	b, err := newBench(1, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	v, err := b.volume(*fs, gib, 0)
	if err != nil {
		return err
	}
	src, dst := v.path("src"), v.path("dst")
	if err := sow(src, 10, *files, *size); err != nil {
		return err
	}
	cs := []contender{
		b.contend("floor", "floor", src, dst),
		b.contend("haul cp -a", "haul", "cp", "-a", src, dst),
		b.contend("cp -a", "cp", "-a", src, dst),
		b.contend("rsync -a", "rsync", "-a", src+"/", dst),
	}
	counts := make([]map[string]int, len(cs))
	for i, c := range cs {
		if c.err == nil {
			counts[i], c.err = b.countCalls(c.argv)
		}
		if c.err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", c.name, c.err)
		}
		if err := b.remove(v, "dst"); err != nil {
			return err
		}
	}
	printCalls(cs, counts, *files)
	return nil
}

// countCalls runs a program under strace -c.
func (b *bench) countCalls(argv []string) (map[string]int, error) {
	strace, err := b.program("strace")
	if err != nil {
		return nil, err
	}
	log := filepath.Join(b.ram, "strace.log")
	if err := command(append([]string{strace, "-f", "-c", "-o", log}, argv...)...); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(log)
	return parseCalls(string(text)), err
}

// parseCalls reads strace's table: % time, seconds, usecs/call, calls,
// [errors], syscall.
func parseCalls(text string) map[string]int {
	counts := map[string]int{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 5 || f[len(f)-1] == "total" {
			continue
		}
		if n, err := strconv.Atoi(f[3]); err == nil {
			counts[f[len(f)-1]] += n
		}
	}
	return counts
}

// printCalls leaves out what no program does once in fifty files.
func printCalls(cs []contender, counts []map[string]int, files int) {
	most, totals := map[string]int{}, make([]int, len(cs))
	for i := range counts {
		for name, n := range counts[i] {
			most[name] = max(most[name], n)
			totals[i] += n
		}
	}
	names := slices.SortedFunc(maps.Keys(most), func(a, b string) int { return most[b] - most[a] })
	line := func(name string, count func(i int) int) {
		fmt.Printf("%-18s", name)
		for i := range cs {
			if counts[i] == nil {
				fmt.Printf(" %11s", "-")
			} else if n := count(i); n == 0 {
				fmt.Printf(" %11s", "")
			} else {
				fmt.Printf(" %11.2f", float64(n)/float64(files))
			}
		}
		fmt.Println()
	}
	fmt.Printf("%-18s", "calls per file")
	for _, c := range cs {
		fmt.Printf(" %11s", c.name)
	}
	fmt.Println()
	for _, name := range names {
		if most[name]*50 >= files {
			line(name, func(i int) int { return counts[i][name] })
		}
	}
	line("all", func(i int) int { return totals[i] })
}
