package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

const namespaceMark = "HAUL_BENCH_NAMESPACE"

// inNamespace runs this program again in a mount namespace of its own and ends
// with its exit code. Whatever way that one ends, its mounts go with it, and
// with the mounts the loop devices and the RAM.
func inNamespace() {
	if os.Getenv(namespaceMark) != "" {
		return
	}
	if os.Geteuid() != 0 {
		fmt.Fprintln(os.Stderr, "bench: it mounts file systems: run it as root")
		os.Exit(1)
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	signal.Ignore(syscall.SIGINT) // the terminal tells the child too
	c := exec.Command(self, os.Args[1:]...)
	c.Env = append(os.Environ(), namespaceMark+"=1", "LC_ALL=C")
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGTERM}
	err = c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(max(exit.ExitCode(), 1))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
