package cli

import (
	"bufio"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/term"
)

// printer is the only one that writes: results to out, mistakes to errs, and
// between them the progress line, which gives way to both.
type printer struct {
	prog string // what messages begin with
	loc  locale
	json bool

	mu      sync.Mutex
	out     *bufio.Writer
	errs    io.Writer
	live    bool // out is a terminal: each line goes out at once
	outFile io.Writer
	asking  atomic.Bool // a question stands open: progress is silent
	line    int         // columns of the progress line that stands on errs
	fault   error
}

func newPrinter(prog string, loc locale, out, errs io.Writer) *printer {
	return &printer{prog: prog, loc: loc, out: bufio.NewWriterSize(out, 8<<10), errs: errs, live: isTerminal(out), outFile: out}
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns is the width of a terminal, 80 where it cannot be told.
func columns(w any) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}

// print writes results as they are.
func (p *printer) print(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		p.wipe()
	}
	p.keep(p.out.WriteString(s))
	if p.live {
		p.keep(0, p.out.Flush())
	}
}

// printBytes is print for a line that was put together in a buffer.
func (p *printer) printBytes(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		p.wipe()
	}
	p.keep(p.out.Write(b))
	if p.live {
		p.keep(0, p.out.Flush())
	}
}

func (p *printer) keep(_ int, err error) {
	if err != nil && p.fault == nil {
		p.fault = err
	}
}

// complain writes a message, headed by the program's name.
func (p *printer) complain(text string) { p.raise(p.prog + ": " + text + "\n") }

// raise writes to errs as it is, behind all that went to out before.
func (p *printer) raise(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	p.keep(0, p.out.Flush())
	io.WriteString(p.errs, s) // nobody is left to tell
}

// status shows a progress line in place of the last one.
func (p *printer) status(s string, width int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asking.Load() {
		return
	}
	if !p.live {
		p.keep(0, p.out.Flush())
	}
	io.WriteString(p.errs, "\r"+s+"\x1b[K")
	p.line = width
}

// wipe takes the progress line away.
func (p *printer) wipe() {
	if p.line > 0 {
		io.WriteString(p.errs, "\r\x1b[K")
		p.line = 0
	}
}

// close writes what is left. It reports whether everything could be written.
func (p *printer) close() bool {
	p.mu.Lock()
	p.wipe()
	p.keep(0, p.out.Flush())
	err := p.fault
	p.mu.Unlock()
	if err == nil {
		return true
	}
	p.fault = nil
	p.complain("write error: " + reason(err))
	return false
}
