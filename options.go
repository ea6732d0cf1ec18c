package haul

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/gohaul/haul/internal/dest"
	"github.com/gohaul/haul/internal/local"
	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/outfile"
	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/internal/report"
)

// Sparse says which zeros are stored.
type Sparse = outfile.Sparse

// The values of Sparse.
const (
	SparseAuto   = outfile.SparseAuto   // holes of the source stay holes
	SparseAlways = outfile.SparseAlways // runs of zeros become holes too
	SparseNever  = outfile.SparseNever  // every byte is stored
)

// Reflink says whether a copy may share blocks with its source.
type Reflink = outfile.Reflink

// The values of Reflink.
const (
	ReflinkAuto   = outfile.ReflinkAuto   // where the file system can and it pays
	ReflinkAlways = outfile.ReflinkAlways // or fail
	ReflinkNever  = outfile.ReflinkNever
)

// Durability says what is safe from a power cut, and when.
type Durability = outfile.Durability

// The values of Durability.
const (
	NoSync    = outfile.NoSync    // when the kernel pleases, as with cp and rsync
	SyncBatch = outfile.SyncBatch // everything when the call returns, by two flushes a file system
	SyncEach  = outfile.SyncEach  // each file before the next step
)

// Preserve is a set of what a copy takes over besides content.
type Preserve = meta.Mask

// The members of Preserve.
const (
	PreserveMode   = meta.Mode   // permission bits, set-id and sticky
	PreserveOwner  = meta.Owner  // user; skipped with a note where not permitted
	PreserveGroup  = meta.Group  // group; skipped with a note where not permitted
	PreserveMtime  = meta.Mtime  // time of last change, nanoseconds
	PreserveAtime  = meta.Atime  // time of last access, nanoseconds
	PreserveXattrs = meta.Xattrs // extended attributes
	PreserveACL    = meta.ACL    // POSIX ACLs
	PreserveLinks  = plan.PreserveLinks
	PreserveAll    = meta.All | plan.PreserveLinks

	// PreserveNothing makes new files as any program would: mode cut by umask,
	// owned by the user, times of now.
	PreserveNothing = plan.PreserveNothing
)

// Compare says when a file that exists counts as up to date.
type Compare = plan.Compare

// The values of Compare.
const (
	CompareTime    = plan.CompareTime    // same size and time of last change
	CompareSize    = plan.CompareSize    // same size
	CompareContent = plan.CompareContent // same bytes; both are read
	CompareNever   = plan.CompareNever   // always copied
)

// Update says which files that exist are replaced.
type Update = plan.Update

// The values of Update.
const (
	UpdateAll      = plan.UpdateAll      // all that Compare finds different
	UpdateOlder    = plan.UpdateOlder    // only those older than the source
	UpdateNone     = plan.UpdateNone     // none
	UpdateNoneFail = plan.UpdateNoneFail // none, and each is an error
)

// Follow says which symbolic links of the source are followed.
type Follow = plan.Follow

// The values of Follow.
const (
	FollowNever     = plan.FollowNever     // links are copied as links
	FollowArguments = plan.FollowArguments // only the sources named are followed
	FollowAll       = plan.FollowAll       // links are copied as what they lead to
)

// Form says what a regular file becomes.
type Form = plan.Form

// The values of Form.
const (
	FormCopy       = plan.FormCopy       // a copy
	FormHardLink   = plan.FormHardLink   // one more name of the source
	FormSymlink    = plan.FormSymlink    // a symbolic link to the source
	FormAttributes = plan.FormAttributes // its metadata alone; content is left as it is
)

// Backup says what becomes of a file that is about to be replaced.
type Backup = dest.BackupKind

// The values of Backup.
const (
	BackupNone     = dest.BackupNone     // it goes
	BackupSimple   = dest.BackupSimple   // it is renamed to name + Suffix
	BackupNumbered = dest.BackupNumbered // it is renamed to name.~N~
	BackupExisting = dest.BackupExisting // numbered if numbered backups exist, else simple
)

// Counters grow while a job runs and may be read at any time.
type Counters = report.Counters

// Item tells what became of one entry.
type Item = report.Item

// Action is what became of an entry: see Item.
type Action = report.Action

// The values of Action.
const (
	Skipped  = report.Skipped  // left alone
	Made     = report.Made     // was not there before
	Replaced = report.Replaced // something stood there and gave way
	Updated  = report.Updated  // the same file, its content changed in place
	Touched  = report.Touched  // metadata alone changed
	Linked   = report.Linked   // one more name of a file copied before
	Deleted  = report.Deleted  // the source lacks it
	Failed   = report.Failed   // see Item.Err
	Noted    = report.Noted    // a remark, not a failure: see Item.Err
)

// Options tune a copy. Nil, or the zero value, makes dst like src: all metadata
// this user may set, holes kept, blocks shared where the file system can, and
// what is already alike left alone.
type Options struct {
	Preserve      Preserve // 0 means PreserveAll
	Require       Preserve // what must not be lost: where it cannot be set, that is an error and not a note
	Compare       Compare
	ModifyWindow  int64 // nanoseconds by which equal times may differ
	Update        Update
	Follow        Follow
	Form          Form
	OneFileSystem bool     // do not descend into other file systems
	Delete        bool     // remove what the source lacks
	Filter        []string // rsync filter rules, in order

	Sparse      Sparse
	Reflink     Reflink
	InPlace     bool // change files where they stand instead of renaming over them
	Preallocate bool
	Durability  Durability
	WriteSize   int // bytes a write call; 0 means chosen
	MapSize     int // bytes a read window; 0 means chosen

	Backup      Backup
	Suffix      string // of simple backups; "" means "~"
	Remove      bool   // remove a file that exists before its copy is made
	Force       bool   // remove a file that exists if it cannot be opened (in place only)
	NoReplace   bool   // a directory and a file never replace each other, as with cp
	KeepLinks   bool   // a file with several names is written in place, so that all keep it
	SplitLinks  bool   // where hard links are preserved, one is replaced even with InPlace, so that its other names keep what they have
	FreshMode   bool   // where the mode is not preserved, new entries get what any program gives (666 or 777 cut by umask), not the source's mode
	DirLinks    bool   // a symbolic link to a directory that stands in the target is taken for the directory
	Contents    bool   // FIFOs and devices named as sources are read instead of made anew
	AllContents bool   // and those inside of directories

	// Perm is what Create gives a finished file, whatever stood there and whatever
	// the umask. 0 means as Create says.
	Perm fs.FileMode

	Workers int // directories copied at once; 0 means as many as pay
	DryRun  bool
	Verify  bool // read both back and compare
	Scan    bool // count what there is ahead of the copy, so that Counters can tell an ETA

	Counters *Counters                          // poll while it runs
	OnItem   func(Item)                         // one call per finished entry, never two at once
	OnError  func(path string, err error) error // nil result: go on; unset: stop at the first
	Confirm  func(path string) bool             // may this existing file be replaced? unset: yes

	// OnXattr judges an extended attribute that could not be copied; attr is ""
	// when they could not be listed. nil result: go on. Unset: what the target
	// cannot take is noted, anything else is an error.
	OnXattr    func(dst, src, attr string, err error) error
	SkipXattrs []string // names of extended attributes that are not copied
	KeepXattrs bool     // an entry that exists keeps those which its source lacks
}

// Pair is one source and the name its copy gets.
type Pair = local.Pair

// job translates the options for the engine; nil is the zero value.
func (o *Options) job() (*local.Job, error) {
	if o == nil {
		o = &Options{}
	}
	if err := o.valid(); err != nil {
		return nil, err
	}
	rules, err := local.ParseFilter(o.Filter)
	if err != nil {
		return nil, err
	}
	preserve := o.Preserve
	if preserve == 0 {
		preserve = PreserveAll
	}
	suffix := o.Suffix
	if suffix == "" {
		suffix = "~"
	}
	return &local.Job{
		Rules: plan.Rules{
			Preserve: preserve, Compare: o.Compare, ModifyWindow: o.ModifyWindow, Update: o.Update,
			Form: o.Form, InPlace: o.InPlace, NoReplace: o.NoReplace,
		},
		Dest: dest.Options{
			Write: outfile.Policy{
				Sparse: o.Sparse, Reflink: o.Reflink, Durability: o.Durability,
				Preallocate: o.Preallocate, WriteSize: o.WriteSize,
			},
			Meta:    meta.Policy{Which: preserve & meta.All, SkipXattrs: o.skipXattrs(), KeepXattrs: o.KeepXattrs},
			InPlace: o.InPlace, Remove: o.Remove, Force: o.Force, Through: o.KeepLinks, Split: o.SplitLinks, Fresh: o.FreshMode, DirLinks: o.DirLinks,
			Backup: o.Backup, Suffix: suffix, DryRun: o.DryRun, Counters: o.Counters,
		},
		Follow: o.Follow, OneFileSystem: o.OneFileSystem, Delete: o.Delete, Filter: rules,
		Workers: o.Workers, MapSize: o.MapSize, Verify: o.Verify, Require: o.Require & meta.All, Scan: o.Scan, Contents: o.Contents, AllContents: o.AllContents,
		OnItem: o.OnItem, OnError: o.OnError, Confirm: o.Confirm, OnXattr: o.OnXattr,
	}, nil
}

func (o *Options) skipXattrs() func(string) bool {
	if len(o.SkipXattrs) == 0 {
		return nil
	}
	return func(name string) bool { return slices.Contains(o.SkipXattrs, name) }
}

// valid refuses what no value stands for.
func (o *Options) valid() error {
	for _, c := range [...]struct {
		ok   bool
		name string
	}{
		{o.Compare <= CompareNever, "Compare"}, {o.ModifyWindow >= 0, "ModifyWindow"}, {o.Update <= UpdateNoneFail, "Update"},
		{o.Follow <= FollowAll, "Follow"}, {o.Form <= FormAttributes, "Form"}, {o.Sparse <= SparseNever, "Sparse"},
		{o.Reflink <= ReflinkNever, "Reflink"}, {o.Durability <= SyncEach, "Durability"}, {o.Backup <= BackupExisting, "Backup"},
		{o.WriteSize >= 0, "WriteSize"}, {o.MapSize >= 0, "MapSize"}, {o.Workers >= 0, "Workers"},
	} {
		if !c.ok {
			return fmt.Errorf("haul: Options.%s has a value that means nothing", c.name)
		}
	}
	return nil
}
