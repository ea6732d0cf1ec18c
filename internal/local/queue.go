package local

import "sync"

// task is work on one node: go on listing it, enter some of its subdirectories,
// or copy some of its entries anew.
type task struct {
	node  *node
	kind  kind
	names []string
}

type kind uint8

const (
	list kind = iota
	enter
	retry
)

// queue hands tasks to workers, the newest first, which keeps a walk depth
// first and so its memory bounded by the depth of the tree and not by its size.
type queue struct {
	mu    sync.Mutex
	wake  sync.Cond
	tasks []task
	busy  int // workers that hold a task
	idle  int // workers that wait for one
	ended bool
}

func newQueue() *queue {
	q := &queue{}
	q.wake.L = &q.mu
	return q
}

func (q *queue) push(t task) {
	q.mu.Lock()
	q.tasks = append(q.tasks, t)
	if q.idle > 0 {
		q.wake.Signal()
	}
	q.mu.Unlock()
}

// pop waits for a task. Of a batch of subdirectories it takes one and leaves the
// rest. false means that all is done, or the job has ended.
func (q *queue) pop() (task, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.tasks) == 0 && !q.ended {
		if q.busy == 0 {
			q.ended = true
			q.wake.Broadcast()
			break
		}
		q.idle++
		q.wake.Wait()
		q.idle--
	}
	if q.ended {
		return task{}, false
	}
	q.busy++
	last := len(q.tasks) - 1
	t := q.tasks[last]
	if t.kind == enter && len(t.names) > 1 {
		q.tasks[last].names = t.names[1:]
		t.names = t.names[:1]
		if q.idle > 0 {
			q.wake.Signal()
		}
		return t, true
	}
	q.tasks[last] = task{}
	q.tasks = q.tasks[:last]
	return t, true
}

// done gives a task back. The last one wakes everybody to see the end.
func (q *queue) done() {
	q.mu.Lock()
	q.busy--
	if q.busy == 0 && len(q.tasks) == 0 {
		q.wake.Broadcast()
	}
	q.mu.Unlock()
}

// end makes every pop return false.
func (q *queue) end() {
	q.mu.Lock()
	q.ended = true
	q.wake.Broadcast()
	q.mu.Unlock()
}

// waiting reports whether tasks are there that nobody has taken.
func (q *queue) waiting() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.tasks) > 0
}

// drain takes all tasks that are left.
func (q *queue) drain() []task {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.tasks
	q.tasks = nil
	return t
}

// resume lets workers take tasks again after all were idle.
func (q *queue) resume() {
	q.mu.Lock()
	q.ended = false
	q.mu.Unlock()
}
