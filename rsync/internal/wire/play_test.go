package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// player decodes a recorded session to its last byte and writes all values
// again. It stands for the state machines: it knows what comes next, and
// nothing of why.
type player struct {
	s        *session
	features Features
	compress Compression
	digest   int
	format   Format

	entries map[int32]*Entry
	dirs    []*Entry
	lists   int // file lists that were sent
	dec     *Decoder

	repack func(w *Writer) (TokenWriter, error) // how to compress tokens anew; nil: they stay as they are
	packer TokenWriter

	literal, matched int // what was transferred, in bytes and in blocks
	messages         []string
}

// side is one direction: what is read, and what is written of it.
type side struct {
	r    *Reader
	w    *Writer
	data bytes.Buffer // data bytes read
	back bytes.Buffer // data bytes written
}

func (p *player) side(stream []byte) *side {
	d := &side{r: NewReader(bytes.NewReader(stream), 0)}
	d.w = NewWriter(&d.back, 0)
	d.r.Tee(&d.data)
	d.r.OnMessage = func(m Message) error {
		p.messages = append(p.messages, m.Code.String())
		return nil
	}
	return d
}

// finish compares what was written with what was read, and wants the stream at its end.
func (d *side) finish() error {
	if !d.r.AtEnd() {
		return fmt.Errorf("%d bytes are left: %w", d.r.end-d.r.pos, d.r.Err())
	}
	d.r.Tee(nil)
	if err := d.w.Flush(); err != nil {
		return err
	}
	a, b := d.data.Bytes(), d.back.Bytes()
	if !bytes.Equal(a, b) {
		n := 0
		for n < len(a) && n < len(b) && a[n] == b[n] {
			n++
		}
		return fmt.Errorf("written again it differs at %d of %d:\nread    % x\nwritten % x", n, len(a), a[max(0, n-30):min(len(a), n+50)], b[max(0, n-30):min(len(b), n+50)])
	}
	return nil
}

// play decodes both directions. The error is of the first that breaks.
func play(s *session) (*player, error) {
	p := &player{s: s, entries: map[int32]*Entry{}, format: s.Format, digest: 16, compress: s.Compress}
	server, client := p.side(s.S2C), p.side(s.C2S)
	if err := p.start(server, client); err != nil {
		return p, err
	}
	sending, asking := server, client
	if s.Push {
		sending, asking = client, server
	}
	for _, step := range []func() error{
		func() error { return p.clientSetup(server, client) },
		func() error { return p.sender(sending) },
		func() error { return p.generator(asking) },
		sending.finish, asking.finish,
	} {
		if err := step(); err != nil {
			return p, err
		}
	}
	return p, nil
}

// start is everything before framing, as §3 orders it.
func (p *player) start(server, client *side) error {
	for _, d := range []*side{server, client} {
		v := d.r.Int()
		d.w.Int(v)
	}
	protocol := p.s.Protocol
	for _, d := range []*side{server, client} {
		d.r.Protocol, d.w.Protocol = protocol, protocol
	}
	if protocol >= 30 {
		p.features = server.r.Features()
		server.w.Features(p.features)
	}
	p.format.Features = p.features
	if p.features.Has(VarintFlags) && protocol >= 30 {
		negotiated := 1
		if slices.Contains(p.s.Opts, "-rltz") {
			negotiated = 2
		}
		for _, d := range []*side{server, client} {
			for range negotiated {
				d.w.Vstring(d.r.Vstring(255, ExitUnsupported, "list of algorithms"))
			}
		}
	}
	server.w.Int(server.r.Int()) // seed
	if err := errors.Join(server.r.Err(), client.r.Err()); err != nil {
		return err
	}
	if p.s.NamesFrom != "server" || protocol >= 31 {
		server.r.SetFramed(true)
	}
	client.r.SetFramed(protocol >= 30 || p.s.Framed29 && !p.s.Push)
	return errors.Join(server.r.err, client.r.err)
}

// clientSetup is what the client sends before lists and items.
func (p *player) clientSetup(server, client *side) error {
	if p.s.Rules {
		rules, err := client.r.Rules()
		if err != nil {
			return err
		}
		client.w.Rules(rules)
	}
	d := client
	switch p.s.NamesFrom {
	case "":
		return nil
	case "server":
		d = server
	}
	framed := d.r.framed
	if p.s.Protocol < 31 {
		d.r.SetFramed(false)
	}
	var names []string
	for {
		name := d.r.Name(MaxPath, "name")
		d.w.Name(name)
		if name == "" {
			break
		}
		names = append(names, name)
	}
	if got := strings.Join(names, " "); d.r.err == nil && got != "a.txt #sub sub/x empty" {
		return fmt.Errorf("names %q", got)
	}
	d.r.SetFramed(framed || d == server)
	return d.r.done("names")
}

// list reads one list, numbers its entries and writes it again.
func (p *player) list(d *side, enc *Encoder, start int32, dir int32) (next int32, err error) {
	p.dec.Begin(start)
	var list []*Entry
	for {
		e := new(Entry)
		more, err := p.dec.Next(e)
		if err != nil {
			return 0, err
		}
		if !more {
			break
		}
		list = append(list, e)
	}
	enc.ACLs.list, enc.Defaults.list, enc.Xattrs.list = p.dec.ACLs.list, p.dec.Defaults.list, p.dec.Xattrs.list
	enc.Begin(start)
	for _, e := range list {
		enc.Entry(e)
	}
	enc.End(p.dec.IOError)
	slices.SortStableFunc(list, func(a, b *Entry) int { return listOrder(a, b, p.s.Protocol) })
	for i, e := range list {
		p.entries[start+int32(i)] = e
	}
	switch {
	case dir >= 0 && int(dir) < len(p.dirs):
		p.entries[start-1] = p.dirs[dir]
	case dir >= 0:
		return 0, fmt.Errorf("list of directory %d of %d", dir, len(p.dirs))
	case start == 1 && len(list) > 0:
		p.entries[0] = list[0]
	}
	for _, e := range list {
		if e.is(ModeDir) {
			p.dirs = append(p.dirs, e)
		}
	}
	p.lists++
	return start + int32(len(list)) + 1, nil
}

// listOrder is the order of a list (§8.7).
func listOrder(a, b *Entry, protocol int) int {
	if protocol < 29 {
		return strings.Compare(a.Name(), b.Name())
	}
	x, y := orderKey(a), orderKey(b)
	return slices.Compare(x, y)
}

func orderKey(e *Entry) []string {
	parts := strings.Split(e.Name(), "/")
	for i, part := range parts {
		switch last := i == len(parts)-1; {
		case last && !e.is(ModeDir):
			parts[i] = "0" + part
		case last && part == ".":
			parts[i] = "0"
		default:
			parts[i] = "1" + part + "/"
		}
	}
	return parts
}

// sender reads the direction of lists and file data.
func (p *player) sender(d *side) error {
	if err := p.format.Check(); err != nil {
		return err
	}
	p.dec = NewDecoder(d.r, p.format)
	enc := NewEncoder(d.w, p.format)
	enc.Users.Name = func(id uint32) string { return p.dec.Users.names[id] }
	enc.Groups.Name = func(id uint32) string { return p.dec.Groups.names[id] }
	start := int32(0)
	if p.format.Incremental() {
		start = 1
	}
	next, err := p.list(d, enc, start, -1)
	if err != nil {
		return err
	}
	tokens, err := NewTokenReader(d.r, p.compress)
	if err != nil {
		return err
	}
	defer tokens.Close()
	if p.s.Empty {
		d.w.Index(d.r.Index())
		return nil
	}
	phases := map[int]int{27: 1, 28: 1, 29: 2, 30: 2, 31: 3, 32: 3}[p.s.Protocol]
	for done := 0; ; {
		index := d.r.Index()
		if err := d.r.Err(); err != nil {
			return err
		}
		if index == DeleteCount {
			counts, err := d.r.Deletions()
			if err != nil {
				return err
			}
			d.w.Deletions(counts)
			continue
		}
		d.w.Index(index)
		dir, isList := ListDir(index)
		switch {
		case index == Done:
			done++
			if done == p.lists+min(phases, 2) && !p.s.Push {
				stats, err := d.r.Stats()
				if err != nil {
					return err
				}
				d.w.Stats(stats)
			}
			if done == p.lists+phases {
				return nil
			}
		case index == ListsEnd:
		case isList:
			if next, err = p.list(d, enc, next, dir); err != nil {
				return err
			}
		default:
			if err := p.item(d, index, tokens); err != nil {
				return fmt.Errorf("item %d: %w", index, err)
			}
		}
	}
}

// item reads what the sender says of one entry.
func (p *player) item(d *side, index int32, tokens TokenReader) error {
	it, err := d.r.Item()
	if err != nil {
		return err
	}
	d.w.Item(it)
	e := p.entries[index]
	if e == nil {
		return fmt.Errorf("no such entry")
	}
	if p.format.Xattrs && it.Flags&ItemXattr != 0 && !p.s.Dry {
		values, err := d.r.XattrValues(p.dec.Xattrs.At(e.Xattrs))
		if err != nil {
			return err
		}
		d.w.WriteXattrValues(values)
	}
	if it.Flags&ItemTransfer == 0 || p.s.Dry {
		return nil
	}
	head, err := d.r.SumHead(p.digest)
	if err != nil {
		return err
	}
	d.w.SumHead(head)
	if basis := basisOf(e.Name()); head.Count > 0 && head.Size() != int64(len(basis)) {
		return fmt.Errorf("%q has a basis of %d bytes, want %d", e.Name(), head.Size(), len(basis))
	}
	got, err := p.tokens(d, head, basisOf(e.Name()), tokens)
	if err != nil {
		return err
	}
	if want := contentOf(e.Name()); !bytes.Equal(got, want) {
		return fmt.Errorf("%q came out as %d bytes, want %d", e.Name(), len(got), len(want))
	}
	sum := make([]byte, p.digest)
	if err := d.r.Digest(sum); err != nil {
		return err
	}
	d.w.Bytes(sum)
	return nil
}

// tokens rebuilds a file, and writes its tokens again: plain ones from their
// values, compressed ones item by item.
func (p *player) tokens(d *side, head SumHead, basis []byte, tr TokenReader) ([]byte, error) {
	if p.repack != nil {
		return p.tokensAnew(d, head, basis, tr)
	}
	var raw bytes.Buffer
	d.r.Tee(&raw)
	tr.Begin(head)
	plain := &plainWriter{w: d.w}
	var out, literal []byte
	if p.s.Append {
		out = append(out, basis...)
		head = SumHead{}
	}
	flush := func() {
		if p.compress == "" {
			plain.Literal(literal)
		}
		literal = literal[:0]
	}
	for {
		tok, err := tr.Next()
		if err != nil {
			return nil, err
		}
		if tok.Kind == Literal {
			literal = append(literal, tok.Data...)
			out = append(out, tok.Data...)
			p.literal += len(tok.Data)
			continue
		}
		flush()
		if tok.Kind == End {
			break
		}
		b := blockOf(basis, head, tok.Block)
		tr.Matched(b)
		out = append(out, b...)
		p.matched++
		if p.compress == "" {
			plain.Match(tok.Block, nil)
		}
	}
	d.r.Tee(&d.data)
	d.data.Write(raw.Bytes())
	if p.compress == "" {
		plain.End()
		return out, nil
	}
	items := itemReader{r: whole(p.s.Protocol, raw.Bytes()), head: head}
	again := itemWriter{w: d.w}
	for items.next() {
		switch items.kind {
		case Literal:
			again.data(items.r.Blob(items.data))
		case Match:
			again.match(items.last)
		case End:
			again.end()
			return out, nil
		}
	}
	return nil, items.r.Err()
}

// tokensAnew rebuilds a file and compresses it with our own writer.
func (p *player) tokensAnew(d *side, head SumHead, basis []byte, tr TokenReader) (out []byte, err error) {
	if p.packer == nil {
		if p.packer, err = p.repack(d.w); err != nil {
			return nil, err
		}
	}
	tr.Begin(head)
	p.packer.Begin()
	for {
		tok, err := tr.Next()
		switch {
		case err != nil:
			return nil, err
		case tok.Kind == End:
			return out, p.packer.End()
		case tok.Kind == Literal:
			out = append(out, tok.Data...)
			err = p.packer.Literal(tok.Data)
		default:
			b := blockOf(basis, head, tok.Block)
			tr.Matched(b)
			out = append(out, b...)
			p.matched++
			err = p.packer.Match(tok.Block, b)
		}
		if err != nil {
			return nil, err
		}
	}
}

// generator reads the direction of requests.
func (p *player) generator(d *side) error {
	if p.s.Empty {
		return nil
	}
	phases := map[int]int{27: 2, 28: 2, 29: 3, 30: 3, 31: 4, 32: 4}[p.s.Protocol]
	for done := 0; done < p.lists+phases; {
		index := d.r.Index()
		if err := d.r.Err(); err != nil {
			return err
		}
		if index == DeleteCount {
			counts, err := d.r.Deletions()
			if err != nil {
				return err
			}
			d.w.Deletions(counts)
			continue
		}
		d.w.Index(index)
		if index == Done {
			done++
			continue
		}
		if err := p.request(d, index); err != nil {
			return fmt.Errorf("request %d: %w", index, err)
		}
	}
	return nil
}

func (p *player) request(d *side, index int32) error {
	it, err := d.r.Item()
	if err != nil {
		return err
	}
	d.w.Item(it)
	e := p.entries[index]
	if e == nil {
		return fmt.Errorf("no such entry")
	}
	if p.format.Xattrs && it.Flags&ItemXattr != 0 && !p.s.Dry {
		wants, err := d.r.XattrWants(p.dec.Xattrs.At(e.Xattrs))
		if err != nil {
			return err
		}
		d.w.WriteXattrWants(wants)
	}
	if it.Flags&ItemTransfer == 0 || p.s.Dry {
		return nil
	}
	head, err := d.r.SumHead(p.digest)
	if err != nil {
		return err
	}
	d.w.SumHead(head)
	if p.s.Append {
		return nil
	}
	if basis := basisOf(e.Name()); head.Size() != 0 && head.Size() != int64(len(basis)) {
		return fmt.Errorf("%q has a basis of %d bytes, want %d", e.Name(), head.Size(), len(basis))
	}
	strong := make([]byte, head.StrongLen)
	for range head.Count {
		d.w.BlockSum(d.r.BlockSum(strong), strong)
	}
	return d.r.done("block sums")
}

// TestSessions decodes every recorded session to the last byte and encodes it again to the same.
func TestSessions(t *testing.T) {
	for _, s := range sessions() {
		t.Run(s.Name, func(t *testing.T) {
			s.load(t)
			p, err := play(s)
			if err != nil {
				t.Fatal(err)
			}
			if t.Failed() || testing.Verbose() {
				t.Logf("%d entries, %d lists, %d literal bytes, %d blocks, messages %v", len(p.entries), p.lists, p.literal, p.matched, p.messages)
			}
		})
	}
}

// TestSessionsCut: a session that breaks off at any byte of either direction ends in an error.
func TestSessionsCut(t *testing.T) {
	for _, s := range sessions() {
		t.Run(s.Name, func(t *testing.T) {
			s.load(t)
			c2s, s2c := s.C2S, s.S2C
			step := 1 + (len(c2s)+len(s2c))/60
			if testing.Short() {
				step *= 5
			}
			try := func(n int) {
				_, err := play(s)
				if err == nil {
					t.Fatalf("cut at %d: no error", n)
				}
				if !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("cut at %d: %v", n, err)
				}
			}
			for n := 0; n < len(c2s); n += step {
				s.C2S = c2s[:n]
				try(n)
			}
			s.C2S = c2s
			for n := 0; n < len(s2c); n += step {
				s.S2C = s2c[:n]
				try(n)
			}
		})
	}
}

// TestSessionFrames splits the framed directions into frames and writes each again.
func TestSessionFrames(t *testing.T) {
	for _, s := range sessions() {
		if s.Protocol < 30 || s.NamesFrom != "" && s.Protocol < 31 {
			continue
		}
		s.load(t)
		p := &player{s: s, entries: map[int32]*Entry{}, format: s.Format}
		server, client := p.side(s.S2C), p.side(s.C2S)
		if err := p.start(server, client); err != nil {
			t.Fatal(err)
		}
		for _, d := range []*side{server, client} {
			stream := s.S2C
			if d == client {
				stream = s.C2S
			}
			rest := stream[len(stream)-(d.r.end-d.r.pos):]
			var b bytes.Buffer
			w := NewWriter(&b, maxFrame)
			w.SetFramed(true)
			for q := rest; len(q) > 0; {
				n := int(q[0]) | int(q[1])<<8 | int(q[2])<<16
				payload := q[4 : 4+n]
				switch code := Code(q[3] - tagBase); {
				case code != Data:
					if !w.Post(Message{code, payload}) {
						t.Fatalf("%s: %v of %d bytes cannot be sent", s.Name, code, n)
					}
					w.FlushMessages()
				case n == 0:
					w.KeepAlive()
				default:
					w.Bytes(payload)
					w.Flush()
				}
				q = q[4+n:]
			}
			if !bytes.Equal(b.Bytes(), rest) {
				t.Errorf("%s: frames differ", s.Name)
			}
		}
	}
}
