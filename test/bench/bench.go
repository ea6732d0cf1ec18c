package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

//go:embed floor/floor.c
var floorSource []byte

//go:embed meter/meter.c
var meterSource []byte

// bench is what all rows share: a RAM disk, the programs, the sizes.
type bench struct {
	runs  int
	quick bool
	here  string // this module
	root  string // haul's module
	ram   string // a tmpfs of our own
	meter string
	built map[string]func() (string, error)
	vol   *volume // of the row that runs
}

func newBench(runs int, quick bool) (*bench, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return nil, err
	}
	here := filepath.Dir(strings.TrimSpace(string(mod)))
	if _, err := os.Stat(filepath.Join(here, "floor", "floor.c")); err != nil {
		return nil, errors.New("run it in test/bench")
	}
	ram := os.Getenv(namespaceMark)
	if err := command("mount", "-t", "tmpfs", "-o", "size=90%,nr_inodes=0", "bench", ram); err != nil {
		return nil, err
	}
	b := &bench{runs: max(runs, 1), quick: quick, here: here, root: filepath.Dir(filepath.Dir(here)), ram: ram}
	if b.meter, err = b.compileC("meter", meterSource); err != nil {
		b.close()
		return nil, err
	}
	b.built = map[string]func() (string, error){
		"cp":     b.once(func() (string, error) { return exec.LookPath("cp") }),
		"rsync":  b.once(func() (string, error) { return exec.LookPath("rsync") }),
		"strace": b.once(func() (string, error) { return exec.LookPath("strace") }),
		"floor":  b.once(func() (string, error) { return b.compileC("floor", floorSource) }),
		"haul":   b.once(func() (string, error) { return b.compileGo("haul", b.root, "./cmd/haul") }),
		"driver": b.once(func() (string, error) { return b.compileGo("driver", b.here, "./driver") }),
		"continuity045": b.once(func() (string, error) {
			return b.compileGo("continuity045", filepath.Join(b.here, "continuity045"), ".")
		}),
		"continuity050": b.once(func() (string, error) {
			return b.compileGo("continuity050", filepath.Join(b.here, "continuity050"), ".")
		}),
	}
	return b, nil
}

func (b *bench) once(build func() (string, error)) func() (string, error) {
	return sync.OnceValues(build)
}

// program returns the path of a program, which is built at its first use.
// Programs are in RAM, so that a cold run is not about reading them.
func (b *bench) program(name string) (string, error) { return b.built[name]() }

func (b *bench) compileC(name string, source []byte) (string, error) {
	out := filepath.Join(b.ram, name)
	if err := os.WriteFile(out+".c", source, 0o644); err != nil {
		return "", err
	}
	return out, command("gcc", "-O2", "-Wall", "-pthread", "-o", out, out+".c")
}

func (b *bench) compileGo(name, dir, pkg string) (string, error) {
	out := filepath.Join(b.ram, name)
	if err := command("go", "build", "-C", dir, "-o", out, pkg); err != nil {
		return "", fmt.Errorf("%s is not there: %w", name, err)
	}
	return out, nil
}

// volume makes the file system of the row that runs.
func (b *bench) volume(fs string, size int64, inodes int) (*volume, error) {
	v, err := newVolume(b.ram, fs, size, inodes)
	b.vol = v
	return v, err
}

func (b *bench) release() error {
	if b.vol == nil {
		return nil
	}
	err := b.vol.close()
	b.vol = nil
	return err
}

func (b *bench) close() error {
	return errors.Join(b.release(), command("umount", b.ram))
}

// size is the first value, or the second under -quick.
func (b *bench) size(full, quick int) int {
	if b.quick {
		return quick
	}
	return full
}

// warmPrograms reads programs back into the cache after it was emptied, with
// the libraries they load.
func (b *bench) warmPrograms(argvs ...[]string) error {
	for _, argv := range argvs {
		f, err := os.Open(argv[0])
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, f); err != nil {
			return errors.Join(err, f.Close())
		}
		if err := f.Close(); err != nil {
			return err
		}
		exec.Command(argv[0], "--version").Run() // some don't know the option: they were started all the same
	}
	return nil
}
