// Command haul copies, writes, compares and measures files.
package main

import (
	"os"

	"github.com/gohaul/haul/cmd/haul/cli"
)

func main() { os.Exit(cli.Run(os.Args, os.Stdin, os.Stdout, os.Stderr)) }
