// Package plan decides what to do about an entry: pure functions from what the
// source is, what stands at the target, and the user's rules, to an action.
package plan

import "github.com/gohaul/haul/internal/meta"

// Compare says when a file that exists counts as up to date.
type Compare uint8

const (
	CompareTime    Compare = iota // same size and time of last change
	CompareSize                   // same size
	CompareContent                // same bytes
	CompareNever                  // never
)

// Update says which files that exist may be replaced.
type Update uint8

const (
	UpdateAll      Update = iota // all
	UpdateOlder                  // only those older than the source
	UpdateNone                   // none
	UpdateNoneFail               // none, and each is an error
)

// Follow says which symbolic links of the source are followed.
type Follow uint8

const (
	FollowNever     Follow = iota // none
	FollowArguments               // those named as sources
	FollowAll                     // all
)

// Form says what a regular file becomes.
type Form uint8

const (
	FormCopy       Form = iota // a copy
	FormHardLink               // one more name of the source
	FormSymlink                // a symbolic link to the source
	FormAttributes             // its metadata alone
)

// PreserveLinks and PreserveNothing extend meta's masks: hard links are a
// matter of names, not of one file's metadata.
const (
	PreserveLinks   meta.Mask = 1 << 15
	PreserveNothing meta.Mask = 1 << 14
)

// Rules are what a user asks of a copy, as far as it decides about entries.
type Rules struct {
	Preserve     meta.Mask
	Compare      Compare
	ModifyWindow int64 // nanoseconds by which equal times may differ
	Update       Update
	Form         Form
	InPlace      bool // existing files are changed where they stand
	NoReplace    bool // a directory and anything else never replace each other
}
