package wire

// table holds the distinct values of one kind that a session has seen. Its
// literals are numbered; a repeated one is sent by number (§8.6).
type table[T any] struct {
	list []T
	find map[string]int32
	sent []int32 // number on the wire + 1, 0 if not yet sent; for an encoder
	next int32   // number of the next literal
	key  []byte  // of the value at hand
}

// Len is the number of values.
func (t *table[T]) Len() int { return len(t.list) }

// place returns the position of the value whose key is at hand, v if there is
// none yet.
func (t *table[T]) place(v T) int32 {
	if i, ok := t.find[string(t.key)]; ok {
		return i
	}
	if t.find == nil {
		t.find = map[string]int32{}
	}
	i := t.append(v)
	t.find[string(t.key)] = i
	return i
}

func (t *table[T]) append(v T) int32 {
	t.list = append(t.list, v)
	return int32(len(t.list) - 1)
}

// putNumber writes the number of value i and reports true, or announces a
// literal that the caller is to write.
func (t *table[T]) putNumber(w *Writer, i int32) bool {
	for len(t.sent) < len(t.list) {
		t.sent = append(t.sent, 0)
	}
	if t.sent[i] > 0 {
		w.Varint(t.sent[i])
		return true
	}
	t.next++
	t.sent[i] = t.next
	w.Byte(0)
	return false
}

// readNumber returns the position that a number stands for, or reports that a
// literal follows. what names the kind of value in an error.
func (t *table[T]) readNumber(r *Reader, what string) (i int32, literal bool) {
	n := r.Varint()
	if n == 0 {
		return 0, true
	}
	if n < 0 || int(n) > len(t.list) {
		r.fail(ExitStream, what+" %d of %d", int64(n)-1, len(t.list))
		return 0, false
	}
	return n - 1, false
}
