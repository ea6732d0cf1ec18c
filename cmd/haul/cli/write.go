package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	haul "github.com/gohaul/haul"
)

// writing is what a write command line means.
type writing struct {
	haul.Options
	name   string
	append bool
	size   int64 // -1: not told
	json   bool
}

func (s *session) writeOptions() (*writing, error) {
	w := &writing{size: -1}
	for _, g := range s.args.Given {
		var err error
		switch g.Flag.name() {
		case "append":
			w.append = true
		case "durability":
			w.Durability = durabilityOf(g.Value)
		case "sparse":
			w.Sparse = sparseOf(g.Value)
		case "inplace":
			w.InPlace = true
		case "preallocate":
			w.Preallocate = true
		case "write-size":
			w.WriteSize, err = ioSize(g, s.loc)
		case "mode":
			w.Perm, err = modeOf(g, s.loc)
		case "size":
			var ok bool
			if w.size, ok = parseSize(g.Value); !ok {
				err = misuse("invalid --size value ", s.loc.word(g.Value))
			}
		case "json":
			w.json = true
		}
		if err != nil {
			return nil, err
		}
	}
	switch ops := s.args.Operands; {
	case len(ops) == 0:
		return nil, misuse("missing file operand")
	case len(ops) > 1:
		return nil, misuse("extra operand ", s.loc.file(ops[1]))
	default:
		w.name = ops[0]
	}
	return w, nil
}

func modeOf(g Given, loc locale) (fs.FileMode, error) {
	n, err := strconv.ParseUint(g.Value, 8, 32)
	if err != nil || n == 0 || n > 0o777 {
		return 0, misuse("invalid --mode value ", loc.word(g.Value), ": octal permission bits from 1 to 777 are wanted")
	}
	return fs.FileMode(n), nil
}

// write takes standard input into a file.
func (s *session) write() int {
	w, err := s.writeOptions()
	if err != nil {
		return s.misused(err)
	}
	n, err := s.take(w)
	switch {
	case s.ctx.Err() != nil:
		return 1
	case err != nil:
		text := plainText(s.loc, w.renamed(err))
		s.complain(text)
		if w.json {
			s.printBytes(newObject(nil, "error").path("path", w.name).str("message", text).line())
		}
		return 1
	case w.json:
		s.printBytes(newObject(nil, "summary").path("path", w.name).num("bytes", n).line())
	}
	return 0
}

// renamed is an error that names the file, where it named the temporary one.
func (w *writing) renamed(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) && strings.HasPrefix(filepath.Base(p.Path), "."+filepath.Base(w.name)+".") {
		return &fs.PathError{Op: p.Op, Path: w.name, Err: p.Err}
	}
	if p != nil && p.Op == "open" && (filepath.Clean(p.Path) == filepath.Dir(w.name) || p.Path == w.name && errors.Is(err, fs.ErrNotExist)) {
		return &fs.PathError{Op: "create", Path: w.name, Err: p.Err} // its directory could not be opened
	}
	return err
}

func (s *session) take(w *writing) (int64, error) {
	if closedInput(s.in) {
		return 0, &fs.PathError{Op: "read", Path: "/dev/stdin", Err: errors.New("standard input is closed")}
	}
	in := &input{ctx: s.ctx, in: s.in, want: w.size}
	st, err := os.Stat(w.name)
	switch {
	case err == nil && st.IsDir():
		return 0, &fs.PathError{Op: "create", Path: w.name, Err: errors.New("is a directory")}
	case err == nil && !st.Mode().IsRegular():
		return w.passOn(in)
	case w.InPlace:
		return w.inPlace(in)
	}
	p, err := haul.Create(w.name, max(w.size, 0), &w.Options)
	if err != nil {
		return 0, err
	}
	n, err := w.fill(p, in)
	if err != nil {
		return n, errors.Join(err, p.Abort())
	}
	return n, p.Commit()
}

// closedInput reports whether the process was started without a standard input,
// which is not an empty one: a file would be lost to it. Go's runtime has opened
// /dev/null in its place, for reading and writing, as no shell does for "<".
func closedInput(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	st, err1 := f.Stat()
	null, err2 := os.Stat(os.DevNull)
	if err1 != nil || err2 != nil || !os.SameFile(st, null) {
		return false
	}
	info, err := os.ReadFile("/proc/self/fdinfo/" + strconv.FormatUint(uint64(f.Fd()), 10))
	_, flags, _ := strings.Cut(string(info), "flags:")
	flags, _, _ = strings.Cut(strings.TrimSpace(flags), "\n")
	bits, e := strconv.ParseUint(flags, 8, 64)
	return err == nil && e == nil && bits&uint64(os.O_RDWR) != 0
}

// fill writes the old content, if it is to be kept, and all input.
func (w *writing) fill(p *haul.Pending, in io.Reader) (int64, error) {
	if w.append {
		old, err := os.Open(w.name)
		switch {
		case err == nil:
			_, err = p.ReadFrom(old)
			if err = errors.Join(err, old.Close()); err != nil {
				return 0, err
			}
		case !errors.Is(err, fs.ErrNotExist):
			return 0, err
		}
	}
	return p.ReadFrom(in)
}

// inPlace changes the file where it stands, but not before all input is there:
// the pipeline may be reading it still.
func (w *writing) inPlace(in io.Reader) (int64, error) {
	all, done, err := spool(in)
	if err != nil {
		return 0, err
	}
	defer done()
	if w.append {
		return w.behind(all)
	}
	p, err := haul.Create(w.name, max(w.size, 0), &w.Options)
	if err != nil {
		return 0, err
	}
	n, err := p.ReadFrom(all)
	if err != nil {
		return n, errors.Join(err, p.Abort())
	}
	return n, p.Commit()
}

// behind writes at the end of the file as it is by then.
func (w *writing) behind(all io.Reader) (int64, error) {
	perm := w.Perm
	if perm == 0 {
		perm = 0o666
	}
	f, err := os.OpenFile(w.name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, perm)
	if err != nil {
		return 0, err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, all, make([]byte, 256<<10))
	if err == nil && w.Perm != 0 {
		err = f.Chmod(w.Perm)
	}
	if err == nil && w.Durability != haul.NoSync {
		err = f.Sync()
	}
	return n, errors.Join(err, f.Close())
}

// passOn writes into a device, a FIFO or the like.
func (w *writing) passOn(in *input) (int64, error) {
	f, err := openWaiting(in.ctx, w.name, os.O_WRONLY)
	if err != nil {
		return 0, err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, in, make([]byte, 256<<10))
	return n, errors.Join(err, f.Close())
}

// spoolMax is how much input is kept in memory, in bytes; more goes to a file.
const spoolMax = 64 << 20

func spool(in io.Reader) (all io.Reader, done func() error, err error) {
	var head bytes.Buffer
	_, err = io.CopyN(&head, in, spoolMax)
	if err == io.EOF {
		return &head, func() error { return nil }, nil
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := os.CreateTemp("", "haul-write-*")
	if err != nil {
		return nil, nil, err
	}
	done = func() error { return errors.Join(f.Close(), os.Remove(f.Name())) }
	if _, err = io.Copy(f, in); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, nil, errors.Join(err, done())
	}
	return io.MultiReader(&head, f), done, nil
}

// input is standard input: it ends when the context does, and knows how much
// was promised.
type input struct {
	ctx  context.Context
	in   io.Reader
	got  int64
	want int64 // -1: anything
	wait chan got
	buf  []byte // of the read under way
}

type got struct {
	n   int
	err error
}

func (i *input) Read(p []byte) (int, error) {
	n, err := i.read(p)
	i.got += int64(n)
	switch {
	case i.want < 0:
	case i.got > i.want:
		return n, errors.New("more input than the " + strconv.FormatInt(i.want, 10) + " bytes of --size")
	case err == io.EOF && i.got < i.want:
		return n, errors.New("input ended after " + strconv.FormatInt(i.got, 10) + " of the " + strconv.FormatInt(i.want, 10) + " bytes of --size")
	}
	return n, err
}

// read gives up waiting when the context ends: a terminal or a pipe may never
// say anything again.
func (i *input) read(p []byte) (int, error) {
	if i.wait == nil {
		i.wait = make(chan got, 1)
		i.buf = make([]byte, 256<<10)
	}
	room := i.buf[:min(len(p), len(i.buf))]
	go func() {
		n, err := i.in.Read(room)
		i.wait <- got{n, err}
	}()
	select {
	case g := <-i.wait:
		copy(p, room[:g.n])
		return g.n, g.err
	case <-i.ctx.Done():
		return 0, context.Cause(i.ctx)
	}
}
