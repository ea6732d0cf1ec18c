package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"

	haul "github.com/gohaul/haul"
)

// copying is what a cp command line means.
type copying struct {
	haul.Options

	recursive  bool
	parents    bool
	noTarget   bool   // -T
	target     string // -t
	hasTarget  bool
	strip      bool
	verbose    bool
	debug      bool
	ask        bool
	human      bool
	stats      bool
	asJSON     bool
	showing    string // progress: auto, always, never
	needXattrs bool
	warnings   []string
}

// The bits that cp's words for attributes stand for.
const (
	cpMode       = haul.PreserveMode | haul.PreserveACL
	cpOwnership  = haul.PreserveOwner | haul.PreserveGroup
	cpTimestamps = haul.PreserveMtime | haul.PreserveAtime
	cpDefault    = cpMode | cpOwnership | cpTimestamps
)

// chosen is what options leave behind until all are read: later ones may take
// it back.
type chosen struct {
	follow      string // "" is decided by -r and -l
	preserve    haul.Preserve
	noMode      bool
	needContext bool
	noClobber   bool
	update      string
	backup      bool
	control     string
	suffix      string
	hasSuffix   bool
	hard, sym   bool
	attributes  bool
	compare     string
}

// cpOptions gives options their meaning. started tells the name cp was started
// under, where the ways of the original are kept also where ours are safer.
func cpOptions(a *Args, loc locale, getenv func(string) string, posing bool) (*copying, error) {
	c := &copying{showing: "auto"}
	if posing {
		c.showing, c.InPlace, c.SplitLinks = "never", true, true
	}
	var x chosen
	for _, g := range a.Given {
		if err := c.option(g, &x, loc); err != nil {
			return nil, err
		}
	}
	return c, c.settle(&x, loc, getenv)
}

// option takes one option in. It is long because it is a table.
func (c *copying) option(g Given, x *chosen, loc locale) (err error) {
	switch g.Flag.name() {
	case "archive":
		c.recursive, x.follow = true, "never"
		c.preserve(x, "all", false)
	case "attributes-only":
		x.attributes = true
	case "backup":
		x.backup = true
		if g.Has {
			x.control = g.Value
		}
	case "-b":
		x.backup = true
	case "copy-contents":
		c.Contents = true
	case "-d":
		x.follow = "never"
		x.preserve |= haul.PreserveLinks
	case "debug":
		c.debug, c.verbose = true, true
	case "force":
		c.Force = true
	case "interactive":
		c.ask, x.noClobber = true, false
	case "-H":
		x.follow = "arguments"
	case "keep-directory-symlink":
		c.DirLinks = true
	case "link":
		x.hard = true
	case "dereference":
		x.follow = "all"
	case "no-clobber":
		c.ask, x.noClobber = false, true
	case "no-dereference":
		x.follow = "never"
	case "-p":
		c.preserve(x, "mode,ownership,timestamps", true)
	case "preserve":
		words := "mode,ownership,timestamps"
		if g.Has {
			words = g.Value
		}
		c.preserve(x, words, true)
	case "no-preserve":
		c.forget(x, g.Value)
	case "parents":
		c.parents = true
	case "recursive":
		c.recursive = true
	case "reflink":
		c.Reflink = haul.ReflinkAlways
		if g.Has {
			c.Reflink = reflinkOf(g.Value)
		}
	case "remove-destination":
		c.Remove = true
	case "sparse":
		c.Sparse = sparseOf(g.Value)
	case "strip-trailing-slashes":
		c.strip = true
	case "symbolic-link":
		x.sym = true
	case "suffix":
		x.backup, x.suffix, x.hasSuffix = true, g.Value, true
	case "target-directory":
		if c.hasTarget {
			return &usageError{text: "multiple target directories specified", plain: true}
		}
		c.target, c.hasTarget = g.Value, true
	case "no-target-directory":
		c.noTarget = true
	case "update":
		x.update = "older"
		if g.Has {
			x.update = g.Value
		}
	case "-u":
		x.update = "older"
	case "verbose":
		c.verbose = true
	case "one-file-system":
		c.OneFileSystem = true
	case "-Z":
	case "context":
		if g.Has {
			c.warnings = append(c.warnings, "warning: ignoring --context; it requires an SELinux-enabled kernel")
		}
	case "jobs":
		c.Workers, err = count(g, loc, 1, 1024)
	case "durability":
		c.Durability = durabilityOf(g.Value)
	case "inplace":
		c.InPlace, c.SplitLinks = true, false
	case "preallocate":
		c.Preallocate = true
	case "map-size":
		c.MapSize, err = ioSize(g, loc)
	case "write-size":
		c.WriteSize, err = ioSize(g, loc)
	case "compare":
		x.compare = g.Value
	case "delete":
		c.Delete = true
	case "filter":
		c.Filter = append(c.Filter, g.Value)
	case "dry-run":
		c.DryRun, c.verbose = true, true
	case "verify":
		c.Verify = true
	case "progress":
		c.showing = "always"
		if g.Has {
			c.showing = g.Value
		}
	case "stats":
		c.stats = true
	case "human-readable":
		c.human = true
	case "json":
		c.asJSON = true
	default:
		err = errors.New("option without a meaning: " + g.Flag.name())
	}
	return err
}

func (c *copying) preserve(x *chosen, words string, explicit bool) {
	for _, w := range strings.Split(words, ",") {
		switch w {
		case "mode":
			x.preserve |= cpMode
			x.noMode = false
		case "timestamps":
			x.preserve |= cpTimestamps
		case "ownership":
			x.preserve |= cpOwnership
		case "links":
			x.preserve |= haul.PreserveLinks
		case "context":
			x.needContext = true
		case "xattr":
			x.preserve |= haul.PreserveXattrs
			c.needXattrs = explicit
		case "all":
			x.preserve |= haul.PreserveAll
			x.noMode = false
		}
	}
}

func (c *copying) forget(x *chosen, words string) {
	for _, w := range strings.Split(words, ",") {
		switch w {
		case "mode":
			x.preserve &^= cpMode
			x.noMode = true
		case "timestamps":
			x.preserve &^= cpTimestamps
		case "ownership":
			x.preserve &^= cpOwnership
		case "links":
			x.preserve &^= haul.PreserveLinks
		case "context":
			x.needContext = false
		case "xattr":
			x.preserve &^= haul.PreserveXattrs
			c.needXattrs = false
		case "all":
			x.preserve, c.needXattrs, x.needContext, x.noMode = 0, false, false, true
		}
	}
}

// settle decides what options mean together, and refuses what contradicts.
func (c *copying) settle(x *chosen, loc locale, getenv func(string) string) error {
	switch {
	case x.hard && x.sym:
		return misuse("cannot make both hard and symbolic links")
	case x.backup && x.noClobber:
		return misuse("options --backup and --no-clobber are mutually exclusive")
	case x.backup && x.update == "none-fail":
		return misuse("--backup is mutually exclusive with -n or --update=none-fail")
	case c.Reflink == haul.ReflinkAlways && c.Sparse != haul.SparseAuto:
		return misuse("--reflink can be used only with --sparse=auto")
	case x.needContext:
		return &usageError{text: "cannot preserve security context without an SELinux-enabled kernel", plain: true}
	case c.hasTarget && c.noTarget:
		return &usageError{text: "cannot combine --target-directory (-t) and --no-target-directory (-T)", plain: true}
	}
	c.settleForm(x)
	c.settleExisting(x)
	c.Preserve = x.preserve
	c.FreshMode = x.noMode
	if x.preserve == 0 {
		c.Preserve = haul.PreserveNothing
	}
	c.AllContents = c.Contents
	if !c.recursive {
		c.Contents = true
	}
	c.NoReplace = true
	c.KeepLinks = x.preserve&haul.PreserveLinks == 0
	c.SplitLinks = c.SplitLinks && !c.KeepLinks
	if x.backup {
		return c.settleBackup(x, loc, getenv)
	}
	return nil
}

func (c *copying) settleForm(x *chosen) {
	switch {
	case x.hard:
		c.Form = haul.FormHardLink
	case x.sym:
		c.Form = haul.FormSymlink
	case x.attributes:
		c.Form = haul.FormAttributes
	}
	switch x.follow {
	case "never":
		c.Follow = haul.FollowNever
	case "arguments":
		c.Follow = haul.FollowArguments
	case "all":
		c.Follow = haul.FollowAll
	default: // directories are copied with the links in them, unless they are linked
		c.Follow = haul.FollowAll
		if c.recursive && !x.hard {
			c.Follow = haul.FollowNever
		}
	}
}

func (c *copying) settleExisting(x *chosen) {
	switch {
	case x.noClobber || x.update == "none":
		c.Update = haul.UpdateNone
	case x.update == "none-fail":
		c.Update = haul.UpdateNoneFail
	case x.update == "older":
		c.Update = haul.UpdateOlder
	}
	switch x.compare {
	case "time":
		c.Compare = haul.CompareTime
	case "size":
		c.Compare = haul.CompareSize
	case "content":
		c.Compare = haul.CompareContent
	default:
		c.Compare = haul.CompareNever
	}
}

func (c *copying) settleBackup(x *chosen, loc locale, getenv func(string) string) error {
	control := x.control
	if control == "" {
		if v := getenv("VERSION_CONTROL"); v != "" {
			var err error
			if control, err = choose(loc, v, "$VERSION_CONTROL", backupWords); err != nil {
				return err
			}
		}
	}
	switch control {
	case "none":
		c.Backup = haul.BackupNone
	case "simple":
		c.Backup = haul.BackupSimple
	case "numbered":
		c.Backup = haul.BackupNumbered
	default:
		c.Backup = haul.BackupExisting
	}
	suffix := x.suffix
	if !x.hasSuffix {
		suffix = getenv("SIMPLE_BACKUP_SUFFIX")
	}
	if suffix == "" || strings.Contains(suffix, "/") {
		suffix = "~"
	}
	c.Suffix = suffix
	return nil
}

func sparseOf(word string) haul.Sparse {
	switch word {
	case "always":
		return haul.SparseAlways
	case "never":
		return haul.SparseNever
	}
	return haul.SparseAuto
}

func reflinkOf(word string) haul.Reflink {
	switch word {
	case "always":
		return haul.ReflinkAlways
	case "never":
		return haul.ReflinkNever
	}
	return haul.ReflinkAuto
}

func durabilityOf(word string) haul.Durability {
	switch word {
	case "batch":
		return haul.SyncBatch
	case "each":
		return haul.SyncEach
	}
	return haul.NoSync
}

// The sizes a read or write call may have, in bytes.
const (
	minIOSize = 512
	maxIOSize = 1 << 30
)

func ioSize(g Given, loc locale) (int, error) {
	n, ok := parseSize(g.Value)
	if !ok || n < minIOSize || n > maxIOSize {
		return 0, misuse("invalid --", g.Flag.Long, " value ", loc.word(g.Value), ": a size from 512 bytes to 1 GiB is wanted")
	}
	return int(n), nil
}

func count(g Given, loc locale, least, most int64) (int, error) {
	n, err := strconv.ParseInt(g.Value, 10, 64)
	if err != nil || n < least || n > most {
		text := "a number from " + strconv.FormatInt(least, 10)
		if most < math.MaxInt32 {
			text += " to " + strconv.FormatInt(most, 10)
		}
		return 0, misuse("invalid --", g.Flag.Long, " value ", loc.word(g.Value), ": ", text, " is wanted")
	}
	return int(n), nil
}
