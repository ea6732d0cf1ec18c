package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

// namespaceMark is set in the namespace, to the directory for the RAM disk.
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
	if err := runInNamespace(); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			os.Exit(max(exit.ExitCode(), 1)) // it said why itself
		}
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runInNamespace() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "haul-bench-")
	if err != nil {
		return err
	}
	c := exec.Command(self, os.Args[1:]...)
	c.Env = append(os.Environ(), namespaceMark+"="+dir, "LC_ALL=C")
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGTERM}
	err = runToEnd(c)
	if e := os.Remove(dir); err == nil {
		err = e
	}
	return err
}

// runToEnd runs a command and outlives it, whatever signal comes: the terminal
// interrupts both, a SIGTERM is passed on. Ignoring them would be inherited.
func runToEnd(c *exec.Cmd) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	runtime.LockOSThread() // Pdeathsig is about the thread
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case err := <-ended:
			return err
		case s := <-signals:
			if s == syscall.SIGTERM {
				c.Process.Signal(s) // it may be gone: then ended tells
			}
		}
	}
}
