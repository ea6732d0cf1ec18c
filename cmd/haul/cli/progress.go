package cli

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	haul "github.com/gohaul/haul"
)

// moment is what a progress line is made from.
type moment struct {
	files, foundFiles int64
	bytes, foundBytes int64
	scanned           bool
	elapsed           time.Duration
	rate              float64 // bytes a second, lately
	name              string  // what was finished just now
}

// eta is how long the whole job will take from now on; false where nobody can
// tell yet. Files and bytes each tell a share of the work that is done: small
// files cost by number, large ones by length, and the slower of both is right.
func (m *moment) eta() (time.Duration, bool) {
	if !m.scanned || m.elapsed < time.Second/2 {
		return 0, false
	}
	done := 1.0
	if m.foundFiles > 0 {
		done = min(done, float64(m.files)/float64(m.foundFiles))
	}
	if m.foundBytes > 0 {
		done = min(done, float64(m.bytes)/float64(m.foundBytes))
	}
	if done <= 0.001 {
		return 0, false
	}
	return time.Duration(float64(m.elapsed) * (1 - done) / done), true
}

// text is the line, cut to columns. The current name takes what is left.
func (m *moment) text(cols int) string {
	var b strings.Builder
	b.WriteString(commas(m.files))
	if m.scanned {
		b.WriteString("/" + commas(m.foundFiles))
	}
	b.WriteString(" files  " + wordySize(float64(m.bytes)))
	if m.scanned {
		b.WriteString("/" + wordySize(float64(m.foundBytes)))
		if m.foundBytes > 0 {
			b.WriteString(" " + strconv.FormatInt(percent(m.bytes, m.foundBytes), 10) + "%")
		}
	}
	b.WriteString("  " + wordySize(m.rate) + "/s")
	if left, ok := m.eta(); ok {
		b.WriteString("  ETA " + clock(left))
	}
	if m.name != "" && cols-b.Len() > 8 {
		b.WriteString("  " + tail(m.name, cols-b.Len()-2))
	}
	return head(b.String(), cols)
}

func percent(n, of int64) int64 { return min(100, int64(float64(n)/float64(of)*100)) }

// clock writes a duration as h:mm:ss or m:ss.
func clock(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	text := pad2(s / 60 % 60)
	if h := s / 3600; h > 0 {
		return strconv.FormatInt(h, 10) + ":" + text + ":" + pad2(s%60)
	}
	return strconv.FormatInt(s/60, 10) + ":" + pad2(s%60)
}

func pad2(n int64) string {
	if n < 10 {
		return "0" + strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10)
}

// head is at most n columns from the beginning of s, tail from its end, marked.
// A name's control characters become question marks.
func head(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func tail(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
	extra := utf8.RuneCountInString(s) - n
	if extra <= 0 {
		return s
	}
	for i := range s {
		if extra == -3 {
			return "..." + s[i:]
		}
		extra--
	}
	return "..."
}

// progress shows how far a job is until stop.
type progress struct {
	p        *printer
	counters *haul.Counters
	current  atomic.Pointer[latest]
	begun    time.Time
	term     bool // redraw one line; otherwise plain lines or events
	past     [8]sample
	n        int

	last bool // a line at the end tells what it came to, however short the job was

	quit chan struct{}
	done sync.WaitGroup
}

// latest is the entry that was finished last.
type latest struct {
	name string
	at   time.Time
}

type sample struct {
	at    time.Time
	bytes int64
}

const (
	redrawEvery = 100 * time.Millisecond
	lineEvery   = 2 * time.Second
	recent      = time.Second            // older names tell nothing of what goes on
	firstAfter  = 300 * time.Millisecond // short jobs show nothing at all
)

func startProgress(p *printer, c *haul.Counters, terminal bool) *progress {
	g := &progress{p: p, counters: c, term: terminal, begun: time.Now(), quit: make(chan struct{})}
	g.done.Add(1)
	go g.loop()
	return g
}

func (g *progress) stop() {
	close(g.quit)
	g.done.Wait()
	if g.last {
		g.showLast(g.now(time.Now()))
	}
}

func (g *progress) loop() {
	defer g.done.Done()
	every := lineEvery
	if g.term {
		every = redrawEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-g.quit:
			return
		case now := <-tick.C:
			if g.term && now.Sub(g.begun) < firstAfter {
				continue
			}
			g.show(g.now(now))
		}
	}
}

// now reads the counters. The rate is that of the last samples, so that it
// follows what happens without jumping.
func (g *progress) now(at time.Time) moment {
	c := g.counters
	m := moment{
		files:      finished(c),
		foundFiles: c.FoundFiles.Load(),
		bytes:      c.Bytes.Load(),
		foundBytes: c.FoundBytes.Load(),
		scanned:    c.Scanned.Load(),
		elapsed:    at.Sub(g.begun),
	}
	if l := g.current.Load(); l != nil && at.Sub(l.at) < recent {
		m.name = l.name
	}
	old := sample{g.begun, 0}
	if g.n >= len(g.past) {
		old = g.past[g.n%len(g.past)]
	}
	g.past[g.n%len(g.past)] = sample{at, m.bytes}
	g.n++
	if d := at.Sub(old.at).Seconds(); d > 0 {
		m.rate = float64(m.bytes-old.bytes) / d
	}
	return m
}

// finished counts the entries that FoundFiles counts, once they are done with.
func finished(c *haul.Counters) int64 {
	return c.Files.Load() + c.Dirs.Load() + c.Links.Load() + c.Symlinks.Load() + c.Specials.Load() +
		c.Touched.Load() + c.Skipped.Load() + c.Failed.Load()
}

func (g *progress) show(m moment) {
	switch {
	case g.p.asking.Load():
	case g.p.json:
		g.p.printBytes(m.event())
	case g.term:
		cols := columns(g.p.errs) - 1
		g.p.status(m.text(cols), cols)
	default:
		g.p.raise(m.text(1<<10) + "\n")
	}
}

// showLast leaves the line where it stands. It names no entry, and the rate is
// that of the whole job.
func (g *progress) showLast(m moment) {
	m.name = ""
	if s := m.elapsed.Seconds(); s > 0 {
		m.rate = float64(m.bytes) / s
	}
	if g.p.json {
		g.p.printBytes(m.event())
		return
	}
	cols := 1 << 10
	if g.term {
		cols = columns(g.p.errs) - 1
	}
	g.p.raise(m.text(cols) + "\n")
}

func (m *moment) event() []byte {
	o := newObject(nil, "progress").num("files", m.files).num("bytes", m.bytes).
		num("found_files", m.foundFiles).num("found_bytes", m.foundBytes).flag("scanned", m.scanned).
		float("seconds", m.elapsed.Seconds()).float("bytes_per_second", m.rate)
	if left, ok := m.eta(); ok {
		o.float("eta_seconds", left.Seconds())
	}
	return o.given("current", m.name).line()
}
