package local

import (
	"strings"
	"sync"

	"github.com/gohaul/haul/internal/dest"
	"github.com/gohaul/haul/internal/sys"
)

// linkTable knows the files with several names that this job has met, over all
// workers. The first name met is copied, later ones become links to that copy.
type linkTable struct {
	mu    sync.Mutex
	files map[fileID]*linked

	// Files of the destination that have several names, and what they are copies
	// of: the first source that met one of the names.
	copies map[fileID]*owner
}

type owner struct {
	source fileID
	left   uint64 // names not met yet: when there are none, it is forgotten
}

// owns reports whether no other source than src has met a name of the file dst
// of the destination. A name that is met again, after it waited for its group,
// is not counted twice; if its file is forgotten by then, nobody owns it.
func (t *linkTable) owns(src, dst *sys.Stat, again bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	source, id := fileID{src.Dev, src.Ino}, fileID{dst.Dev, dst.Ino}
	o := t.copies[id]
	if again {
		return o != nil && o.source == source
	}
	if o == nil {
		if t.copies == nil {
			t.copies = map[fileID]*owner{}
		}
		o = &owner{source: source, left: dst.Nlink}
		t.copies[id] = o
	}
	if o.left--; o.left == 0 {
		delete(t.copies, id)
	}
	return o.source == source
}

type fileID struct{ dev, ino uint64 }

// linked is one such file. While its copy is not final, other names wait.
type linked struct {
	dir     *dest.Dir // retained; of the copy's name
	name    string
	final   bool
	durable bool   // its content is safe from a power cut, under SyncBatch
	anew    bool   // a dry run would have made a new file of it
	left    uint64 // names not met yet: when there are none, it is forgotten
	wait    []waiter
}

// waiter is a name whose link is made once the copy is final. Its node is held
// open until then.
type waiter struct {
	node         *node
	name, target string
}

// claim says what to do with one more name of a file: copy it (first is true),
// nothing yet (the waiter was queued), or link it to what is returned. The
// names need to be valid for the time of the call only.
func (t *linkTable) claim(st *sys.Stat, n *node, name, target string) (l linked, first, queued bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := fileID{st.Dev, st.Ino}
	f := t.files[id]
	if f == nil {
		if t.files == nil {
			t.files = map[fileID]*linked{}
		}
		t.files[id] = &linked{dir: n.dst.Retain(), name: strings.Clone(target), left: st.Nlink - 1}
		return linked{}, true, false
	}
	if f.left > 0 {
		f.left--
	}
	if !f.final {
		n.hold()
		f.wait = append(f.wait, waiter{n, strings.Clone(name), strings.Clone(target)})
		return linked{}, false, true
	}
	l = *f
	l.dir = f.dir.Retain()
	if f.left == 0 {
		t.forget(id, f)
	}
	return l, false, false
}

// settle says that the first copy is final, or that it failed, and gives back
// who waited for it.
func (t *linkTable) settle(st *sys.Stat, ok, durable bool) (l linked, wait []waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := fileID{st.Dev, st.Ino}
	f := t.files[id]
	if f == nil {
		return linked{}, nil
	}
	wait, f.wait = f.wait, nil
	f.left += uint64(len(wait)) // they will come and claim once more
	f.final, f.durable = ok, durable
	l = *f
	l.dir = f.dir.Retain()
	if !ok || f.left == 0 {
		t.forget(id, f)
	}
	return l, wait
}

// dryMade says that a dry run would have made the first copy anew.
func (t *linkTable) dryMade(st *sys.Stat) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.files[fileID{st.Dev, st.Ino}]; f != nil {
		f.anew = true
	}
}

func (t *linkTable) forget(id fileID, f *linked) {
	delete(t.files, id)
	f.dir.Close()
}

// close forgets all files that had names outside of the job, and gives back who
// still waits, after a job that was cancelled.
func (t *linkTable) close() (wait []waiter) {
	for id, f := range t.files {
		wait = append(wait, f.wait...)
		t.forget(id, f)
	}
	return wait
}
