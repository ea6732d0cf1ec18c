package wire

// Stats is what a server that sends tells at the end (§9).
type Stats struct {
	Read, Written int64 // bytes, as the server counts them
	Size          int64 // of all files listed
	BuildTime     int64 // milliseconds to make the file list; from 29 on
	TransferTime  int64 // milliseconds to send it; from 29 on
}

// Stats reads the statistics.
func (r *Reader) Stats() (Stats, error) {
	s := Stats{Read: r.Varlong30(3), Written: r.Varlong30(3), Size: r.Varlong30(3)}
	if r.Protocol >= 29 {
		s.BuildTime, s.TransferTime = r.Varlong30(3), r.Varlong30(3)
	}
	return s, r.done("statistics")
}

// Stats writes the statistics.
func (w *Writer) Stats(s Stats) {
	w.Varlong30(s.Read, 3)
	w.Varlong30(s.Written, 3)
	w.Varlong30(s.Size, 3)
	if w.Protocol >= 29 {
		w.Varlong30(s.BuildTime, 3)
		w.Varlong30(s.TransferTime, 3)
	}
}

const maxDeletions = 1 << 28

// Deletions counts what was deleted; it follows the index [DeleteCount].
type Deletions struct{ Files, Dirs, Links, Devices, Specials int32 }

func (d *Deletions) fields() [5]*int32 {
	return [5]*int32{&d.Files, &d.Dirs, &d.Links, &d.Devices, &d.Specials}
}

// Deletions reads the counts.
func (r *Reader) Deletions() (Deletions, error) {
	var d Deletions
	for _, p := range d.fields() {
		*p = r.Varint()
		if *p < 0 || *p > maxDeletions {
			r.fail(ExitProtocol, "%d deletions", *p)
		}
	}
	return d, r.done("deletions")
}

// Deletions writes the index and the counts.
func (w *Writer) Deletions(d Deletions) {
	w.Index(DeleteCount)
	for _, p := range d.fields() {
		w.Varint(*p)
	}
}
