// Package cli is the haul command: it parses words, calls the library, prints
// and tells the exit code.
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// session is one command under way.
type session struct {
	*printer
	cmd    *Command
	posing bool     // started under the name of the program it stands in for
	words  []string // as typed
	args   Args
	in     io.Reader
	ctx    context.Context
	getenv func(string) string
}

// Run is the whole program: argv with the name it was started under, to the
// exit code. A signal that ends it makes the process die of that signal.
func Run(argv []string, in io.Reader, out, errs io.Writer) int {
	prog, words := "haul", argv
	if len(argv) > 0 {
		prog, words = argv[0], argv[1:]
	}
	s := &session{in: in, getenv: os.Getenv}
	loc := localeOf(s.getenv)
	if strings.TrimSuffix(filepath.Base(prog), ".exe") == "cp" {
		s.cmd, s.posing = &cpCommand, true
		s.printer = newPrinter(prog, loc, out, errs)
		return s.run(words)
	}
	s.printer = newPrinter("haul", loc, out, errs)
	if len(words) == 0 {
		s.raise(overview())
		return 1
	}
	switch words[0] {
	case "--help", "-h":
		words = []string{"help"}
	case "--version", "-V":
		words = []string{"version"}
	case "generate": // for make: not a command of users
		return s.end(generate(s.printer, words[1:]))
	}
	s.cmd = command(words[0])
	if s.cmd == nil {
		s.complain("there is no command " + loc.word(words[0]))
		s.raise("'haul help' lists the commands.\n")
		return 1
	}
	s.prog = "haul " + s.cmd.Name
	return s.run(words[1:])
}

func (s *session) run(words []string) int {
	p := parser{cmd: s.cmd, loc: s.loc, strict: s.getenv("POSIXLY_CORRECT") != "", posing: s.posing}
	args, err := p.parse(words)
	s.words, s.args = words, args
	if err != nil {
		return s.end(s.misused(err))
	}
	if n := len(args.Given); n > 0 {
		switch {
		case args.Given[n-1].is("help"):
			s.print(helpText(s.cmd, s.prog))
			return s.end(0)
		case args.Given[n-1].is("version"):
			s.print(versionText(s.name()))
			return s.end(0)
		}
	}
	return s.work()
}

func (s *session) name() string {
	if s.posing {
		return "cp"
	}
	return "haul"
}

// work runs the command until it ends or a signal ends it.
func (s *session) work() int {
	var cancel context.CancelCauseFunc
	s.ctx, cancel = context.WithCancelCause(context.Background())
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, endings()...)
	go func() {
		sig := <-caught
		cancel(stopped{sig})
		signal.Stop(caught) // a second one ends us at once
	}()
	code := s.dispatch()
	if stop, ok := s.stopped(); ok && s.cmd != &cpCommand && s.wantsJSON() { // cp's summary tells
		s.printBytes(newObject(nil, "error").str("message", "ended by a signal: "+stop.Error()).flag("interrupted", true).line())
	}
	code = s.end(code)
	if stop, ok := s.stopped(); ok {
		return die(stop)
	}
	return code
}

func (s *session) dispatch() int {
	switch s.cmd {
	case &cpCommand:
		return s.cp()
	case &writeCommand:
		return s.write()
	case &duCommand:
		return s.du()
	case &diffCommand:
		return s.diff()
	case &mapCommand:
		return s.fileMap()
	case &versionCommand:
		return s.version()
	}
	return s.help()
}

// endings are the signals that end a command in good order. One that was ignored
// when haul was started, as under nohup, stays ignored.
func endings() []os.Signal {
	var list []os.Signal
	for _, sig := range [...]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(sig) {
			list = append(list, sig)
		}
	}
	return list
}

// stopped is why the context ended: a signal.
type stopped struct{ sig os.Signal }

func (s stopped) Error() string { return s.sig.String() }

// code is the exit code a shell gives for a death by the signal.
func (s stopped) code() int {
	if n, ok := s.sig.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return 130
}

// stopped reports whether a signal ended the command.
func (s *session) stopped() (stopped, bool) {
	stop, ok := context.Cause(s.ctx).(stopped)
	return stop, ok
}

// die ends the process as the signal would have, so that a shell sees it. SIGQUIT
// would print the stacks of Go first: its exit code alone must do.
func die(stop stopped) int {
	if stop.sig == syscall.SIGQUIT {
		return stop.code()
	}
	signal.Reset(stop.sig)
	if p, err := os.FindProcess(os.Getpid()); err == nil && p.Signal(stop.sig) == nil {
		time.Sleep(time.Second) // it arrives when it arrives
	}
	return stop.code()
}

// end writes what is left; output that is lost makes a failure of a success.
func (s *session) end(code int) int {
	if !s.close() && code == 0 {
		return s.trouble()
	}
	return code
}

// trouble is the exit code of a command that could not do its work: diff keeps
// 1 for a difference.
func (s *session) trouble() int {
	if s.cmd == &diffCommand {
		return 2
	}
	return 1
}

// misused tells what is wrong with the words typed.
func (s *session) misused(err error) int {
	s.complain(err.Error())
	if u, ok := err.(*usageError); ok && !u.plain {
		s.raise("Try '" + s.prog + " --help' for more information.\n")
	}
	if s.wantsJSON() {
		s.printBytes(newObject(nil, "error").str("message", err.Error()).line())
	}
	return s.trouble()
}

// wantsJSON reports whether --json was typed, also behind a word that ended the
// reading of options.
func (s *session) wantsJSON() bool {
	if _, ok := s.args.last("json"); ok {
		return true
	}
	options := s.words
	if i := slices.Index(options, "--"); i >= 0 {
		options = options[:i]
	}
	return slices.Contains(options, "--json")
}

func (s *session) help() int {
	switch len(s.args.Operands) {
	case 0:
		s.print(overview())
		return 0
	case 1:
	default:
		return s.misused(misuse("extra operand ", s.loc.file(s.args.Operands[1])))
	}
	c := command(s.args.Operands[0])
	if c == nil {
		s.complain("there is no command " + s.loc.word(s.args.Operands[0]))
		return 1
	}
	s.print(helpText(c, "haul "+c.Name))
	return 0
}

func (s *session) version() int {
	if len(s.args.Operands) > 0 {
		return s.misused(misuse("extra operand ", s.loc.file(s.args.Operands[0])))
	}
	if _, ok := s.args.last("json"); ok {
		s.printBytes(versionEvent())
		return 0
	}
	s.print(versionText("haul"))
	return 0
}
