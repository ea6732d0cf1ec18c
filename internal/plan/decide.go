package plan

import "github.com/gohaul/haul/internal/meta"

// Action is what is to be done about an entry.
type Action uint8

const (
	Skip     Action = iota // leave it alone: alike, or told to
	Touch                  // content is right, metadata may not be
	Make                   // nothing stands there
	Replace                // put the copy in its place, by rename where it is a file
	Patch                  // change the file where it stands
	Compared               // size and kind agree: Touch if the contents do, else as without
	Clash                  // a directory stands where none is wanted, or the reverse
	Refuse                 // it exists, and that was to be an error
)

// Decide says what to do about a source entry, given what stands at its target:
// nil for nothing. Directories give Make, Touch or Clash; Replace stands for
// removing what is in the way first.
func Decide(src, dst *meta.Meta, r *Rules) Action {
	if dst == nil {
		return Make
	}
	if src.IsDir() || dst.IsDir() {
		return decideDir(src, dst, r)
	}
	switch r.Update {
	case UpdateNone:
		return Skip
	case UpdateNoneFail:
		return Refuse
	case UpdateOlder:
		if !older(dst.Mtime, src.Mtime, r.ModifyWindow) {
			return Skip
		}
	}
	alike := src.Mode&typeMask == dst.Mode&typeMask
	switch {
	case alike && r.Form == FormAttributes:
		return Touch
	case r.Form == FormAttributes:
		return Refuse // no content is given, and none may be lost
	case !alike:
		return Replace
	}
	switch src.Mode & typeMask {
	case typeRegular:
		return decideFile(src, dst, r)
	case typeSymlink:
		if r.Compare != CompareNever && src.Target == dst.Target {
			return Touch
		}
	case typeChar, typeBlock:
		if r.Compare != CompareNever && src.Rdev == dst.Rdev {
			return Touch
		}
	default: // FIFOs and sockets have no content
		if r.Compare != CompareNever {
			return Touch
		}
	}
	return Replace
}

func decideDir(src, dst *meta.Meta, r *Rules) Action {
	switch {
	case src.IsDir() && dst.IsDir():
		return Touch
	case r.NoReplace && dst.IsDir() && (r.Update == UpdateNone || r.Update == UpdateOlder && !older(dst.Mtime, src.Mtime, r.ModifyWindow)):
		return Skip
	case r.NoReplace:
		return Clash
	case r.Update == UpdateNone:
		return Skip
	case r.Update == UpdateNoneFail:
		return Refuse
	}
	return Replace
}

func decideFile(src, dst *meta.Meta, r *Rules) Action {
	write := Replace
	if r.InPlace {
		write = Patch
	}
	if r.Form == FormHardLink || r.Form == FormSymlink {
		return Replace
	}
	if src.Size != dst.Size {
		return write
	}
	switch r.Compare {
	case CompareSize:
		return Touch
	case CompareTime:
		if SameTime(src.Mtime, dst.Mtime, r.ModifyWindow) {
			return Touch
		}
	case CompareContent:
		return Compared
	}
	return write
}

// SameTime reports whether two times differ by at most window nanoseconds.
func SameTime(a, b meta.Time, window int64) bool {
	return a == b || window > 0 && !older(a, b, window) && !older(b, a, window)
}

// older reports whether a is earlier than b by more than window nanoseconds.
// Seconds may be any that a file system holds, so their distance is unsigned.
func older(a, b meta.Time, window int64) bool {
	if !a.Before(b) {
		return false
	}
	window = max(window, 0)
	sec, nsec := uint64(b.Sec)-uint64(a.Sec), int64(b.Nsec)-int64(a.Nsec)
	if nsec < 0 {
		sec, nsec = sec-1, nsec+1e9
	}
	limit := uint64(window / 1e9)
	return sec > limit || sec == limit && nsec > window%1e9
}

// The file types, spelt here since plan may not ask the kernel's room.
const (
	typeMask    = 0o170000
	typeSymlink = 0o120000
	typeRegular = 0o100000
	typeBlock   = 0o060000
	typeChar    = 0o020000
)
