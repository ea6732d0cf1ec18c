// Command driver calls haul as a library, for the rows of the benchmark that
// are about functions and not about the command.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/gohaul/haul"
)

const usage = `usage: driver copydir SRC DST
       driver writes SRC DST WRITESIZE
       driver overwrite FILE BYTES TIMES ROUNDS`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "copydir":
		return haul.CopyDir(context.Background(), args[2], args[1], nil)
	case len(args) == 4 && args[0] == "writes":
		return writes(args[1], args[2], args[3])
	case len(args) == 5 && args[0] == "overwrite":
		var n [3]int
		for i := range n {
			var err error
			if n[i], err = strconv.Atoi(args[2+i]); err != nil {
				return err
			}
		}
		return overwrite(args[1], n[0], n[1], n[2])
	}
	return fmt.Errorf("%s", usage)
}

// writes prints how many write calls the engine counts for a copy under
// sparse-always.
func writes(src, dst, writeSize string) error {
	n, err := strconv.Atoi(writeSize)
	if err != nil {
		return err
	}
	var counters haul.Counters
	o := &haul.Options{Sparse: haul.SparseAlways, WriteSize: n, Counters: &counters}
	if err := haul.CopyFile(context.Background(), dst, src, o); err != nil {
		return err
	}
	fmt.Println(counters.Writes.Load())
	return nil
}

// overwrite prints a line a round: the seconds of haul.WriteFile, then those
// of os.WriteFile, each over a file of its own that is there already.
func overwrite(name string, size, times, rounds int) error {
	data := make([]byte, size)
	rand.Read(data)
	for range rounds {
		ours, err := stopwatch(haul.WriteFile, name+".haul", data, times)
		if err != nil {
			return err
		}
		theirs, err := stopwatch(os.WriteFile, name+".os", data, times)
		if err != nil {
			return err
		}
		fmt.Println(ours.Seconds(), theirs.Seconds())
	}
	return nil
}

func stopwatch(write func(string, []byte, fs.FileMode) error, name string, data []byte, times int) (time.Duration, error) {
	if err := write(name, data, 0o644); err != nil {
		return 0, err
	}
	start := time.Now()
	for range times {
		if err := write(name, data, 0o644); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}
