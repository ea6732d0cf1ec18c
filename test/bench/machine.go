package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine says where and when the figures were taken; no names, no paths.
type machine struct {
	Date, Kernel, CPU, Memory, Go, Haul string
	Cores                               int
	Tools                               []string
}

func thisMachine(b *bench) machine {
	m := machine{
		Date:   time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		Kernel: firstField("/proc/sys/kernel/osrelease", ""),
		CPU:    firstField("/proc/cpuinfo", "model name"),
		Cores:  runtime.NumCPU(),
		Go:     runtime.Version(),
		Haul:   said(1, "git", "-C", b.root, "describe", "--always", "--dirty"),
	}
	var kb int64
	if _, err := fmt.Sscan(firstField("/proc/meminfo", "MemTotal"), &kb); err == nil {
		m.Memory = fmt.Sprintf("%.1f GiB", float64(kb)/mib)
	}
	for _, argv := range [][]string{{"cp", "--version"}, {"rsync", "--version"}, {"gcc", "--version"}, {"mkfs.ext4", "-V"}, {"mkfs.xfs", "-V"}, {"mkfs.btrfs", "--version"}} {
		if s := said(1, argv...); s != "" {
			m.Tools = append(m.Tools, s)
		}
	}
	return m
}

// firstField returns what stands behind "key :" in the first such line of a
// file of /proc, or all of the first line where key is empty.
func firstField(name, key string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key == "" {
			return strings.TrimSpace(line)
		}
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

// said returns the n-th line that a program says, or nothing.
func said(n int, argv ...string) string {
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(out)) {
		if n--; n == 0 {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return ""
}
