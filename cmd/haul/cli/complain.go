package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	haul "github.com/gohaul/haul"
)

// reason is why something went wrong, in the C library's words: those of Go
// with a capital letter.
func reason(err error) string {
	for {
		var p *fs.PathError
		var l *os.LinkError
		switch {
		case errors.As(err, &p) && p.Err != nil:
			err = p.Err
		case errors.As(err, &l) && l.Err != nil:
			err = l.Err
		default:
			return capital(err.Error())
		}
	}
}

func capital(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(unicode.ToUpper(rune(s[0]))) + s[1:]
}

// deeds are the operations in errors as messages name them: "cannot DEED".
var deeds = [...][2]string{
	{"open", "open"}, {"stat", "stat"}, {"lstat", "stat"}, {"read", "read"}, {"write", "write"},
	{"readdir", "read directory"}, {"readlink", "read symbolic link"}, {"create", "create"},
	{"mkdir", "create directory"}, {"remove", "remove"}, {"rename", "rename"}, {"sync", "sync"},
	{"syncfs", "sync the file system of"}, {"truncate", "set the size of"}, {"allocate", "reserve space for"},
	{"punch hole", "free blocks of"}, {"chmod", "set the mode of"}, {"chown", "set the owner of"},
	{"chtimes", "set the times of"}, {"extents", "map the extents of"},
}

func deed(op string) string {
	for _, d := range deeds {
		if d[0] == op {
			return "cannot " + d[1]
		}
	}
	return "cannot " + op
}

// plainText is the message of an error that needs no more than its operation
// and its path.
func plainText(loc locale, err error) string {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return deed(p.Op) + " " + loc.file(p.Path) + ": " + reason(err)
	case errors.As(err, &l):
		return deed(l.Op) + " " + loc.file(l.Old) + " to " + loc.file(l.New) + ": " + reason(err)
	}
	return err.Error()
}

// twin is the target of a source path, by the pair whose source it stands
// beneath; "" if there is none.
func twin(pairs []haul.Pair, path string) string {
	best, found := "", -1
	for _, p := range pairs {
		rest, ok := under(path, p.Src)
		if ok && len(p.Src) > found {
			best, found = p.Dst, len(p.Src)
			if rest != "" {
				best = join(p.Dst, rest)
			}
		}
	}
	return best
}

// under is what of path follows dir.
func under(path, dir string) (rest string, ok bool) {
	if path == dir {
		return "", true
	}
	if dir == "." && !filepath.IsAbs(path) {
		return strings.TrimPrefix(path, "./"), true
	}
	if !strings.HasPrefix(path, dir) {
		return "", false
	}
	rest = path[len(dir):]
	if rest == "" || os.IsPathSeparator(rest[0]) {
		return strings.TrimLeft(rest, string(filepath.Separator)), true
	}
	return rest, dir != "" && os.IsPathSeparator(dir[len(dir)-1])
}

// join puts a name behind a directory without touching what the user wrote.
func join(dir, name string) string {
	if dir != "" && os.IsPathSeparator(dir[len(dir)-1]) {
		return dir + name
	}
	return dir + string(filepath.Separator) + name
}

// cpText is cp's message for an error that a copy of source met. Errors on the
// target's side may name a temporary file: the target is named instead.
func (c *copier) cpText(source string, err error) string {
	text := c.cpWords(source, err)
	var left *haul.LeftError
	if errors.As(err, &left) {
		text += " (the file was left " + left.State + ")"
	}
	return text
}

func (c *copier) cpWords(source string, err error) string {
	loc := c.loc
	target := twin(c.pairs, source)
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.Is(err, haul.ErrSameFile):
		return loc.file(source) + " and " + loc.file(target) + " are the same file"
	case errors.Is(err, haul.ErrIntoItself):
		return "cannot copy a directory, " + loc.file(source) + ", into itself, " + loc.file(target)
	case errors.Is(err, haul.ErrDangling):
		return "not writing through dangling symlink " + loc.file(target)
	case errors.Is(err, haul.ErrExists):
		return "not replacing " + loc.file(target)
	case errors.Is(err, haul.ErrDirOver):
		return "cannot overwrite non-directory " + loc.file(target) + " with directory " + loc.file(source)
	case errors.Is(err, haul.ErrOverDir):
		return "cannot overwrite directory " + loc.file(target) + " with non-directory"
	case errors.Is(err, haul.ErrOwnBackup):
		return "backing up " + loc.file(target) + " might destroy source;  " + loc.file(source) + " not copied"
	case errors.As(err, &l):
		return c.linkText(l, target)
	case errors.As(err, &p) && (p.Path == source || target == ""):
		return sourceText(loc, p)
	case errors.As(err, &p):
		return c.targetText(p, source, c.named(p.Path, target))
	}
	return loc.file(source) + ": " + reason(err)
}

// named is the path a message gives for one that the engine met: temporary
// names stand for their target.
func (c *copier) named(path, target string) string {
	if rest, ok := under(target, strip(path)); ok && rest != "" {
		return target // its directory could not be opened
	}
	base := filepath.Base(path)
	if strings.HasPrefix(base, "."+first(filepath.Base(target))) || filepath.Dir(path) == filepath.Dir(target) && strings.HasPrefix(base, ".") {
		return target
	}
	return path
}

func (c *copier) linkText(l *os.LinkError, target string) string {
	old, name := c.loc.file(l.Old), c.loc.file(l.New)
	switch l.Op {
	case "link":
		return "cannot create hard link " + name + " to " + old + ": " + reason(l)
	case "symlink":
		return "cannot create symbolic link " + name + " to " + old + ": " + reason(l)
	case "clone":
		return "failed to clone " + name + " from " + old + ": " + reason(l)
	case "rename":
		if l.Old == target || c.named(l.Old, target) == l.Old {
			return "cannot backup " + old + ": " + reason(l)
		}
		return "cannot create regular file " + c.loc.file(c.named(l.New, target)) + ": " + reason(l)
	}
	return plainText(c.loc, l)
}

func sourceText(loc locale, p *fs.PathError) string {
	name, why := loc.file(p.Path), reason(p)
	switch p.Op {
	case "open":
		st, err := os.Stat(p.Path)
		switch {
		case err == nil && st.IsDir():
			return "cannot access " + name + ": " + why
		case errors.Is(err, fs.ErrPermission):
			return "cannot stat " + name + ": " + why // its directory may not be entered
		}
		return "cannot open " + name + " for reading: " + why
	case "stat", "lstat":
		return "cannot stat " + name + ": " + why
	case "read":
		return "error reading " + name + ": " + why
	case "readdir":
		return "cannot access " + name + ": " + why
	case "readlink":
		return "cannot read symbolic link " + name + ": " + why
	}
	return plainText(loc, p)
}

func (c *copier) targetText(p *fs.PathError, source, path string) string {
	name, why := c.loc.file(path), reason(p)
	verb, object, _ := strings.Cut(p.Op, " ")
	switch verb {
	case "copy", "write":
		return "error writing " + name + ": " + why
	case "clone":
		return "failed to clone " + name + " from " + c.loc.file(strings.TrimSuffix(object, " to")) + ": " + why
	case "set":
		return "failed to preserve " + object + " for " + name + ": " + why
	case "open", "create":
		return c.cannotCreate(path, source, why)
	case "symlink":
		return "cannot create symbolic link " + name + " to " + c.loc.file(c.leads(source)) + ": " + why
	}
	for _, w := range targetWords {
		if w[0] == p.Op {
			return w[1] + name + ": " + why
		}
	}
	return plainText(c.loc, &fs.PathError{Op: p.Op, Path: path, Err: p.Err})
}

// targetWords are what cp says of a target on which an operation failed.
var targetWords = [...][2]string{
	{"stat", "cannot stat "}, {"lstat", "cannot stat "}, {"mkdir", "cannot create directory "},
	{"mknod", "cannot create special file "}, {"close", "failed to close "}, {"remove", "cannot remove "},
	{"truncate", "failed to truncate "}, {"chown", "failed to preserve ownership for "},
	{"chmod", "preserving permissions for "}, {"chtimes", "preserving times for "},
	{"setxattr", "setting attributes for "}, {"removexattr", "setting attributes for "},
}

// cannotCreate says at which of cp's steps a target that cannot be made would
// have been found out.
func (c *copier) cannotCreate(path, source, why string) string {
	name := c.loc.file(path)
	_, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "cannot stat " + name + ": " + reason(err)
	case err == nil && (c.Force || c.Remove):
		return "cannot remove " + name + ": " + why
	}
	return "cannot create " + c.made(source) + " " + name + ": " + why
}

// made is what cp would say it makes of a source.
func (c *copier) made(source string) string {
	stat := os.Stat
	if c.Follow == haul.FollowNever {
		stat = os.Lstat
	}
	st, err := stat(source)
	switch {
	case err != nil, st.Mode().IsRegular():
	case st.IsDir():
		return "directory"
	case st.Mode()&fs.ModeSymlink != 0:
		return "symbolic link"
	case c.Contents:
	case st.Mode()&fs.ModeNamedPipe != 0:
		return "fifo"
	default:
		return "special file"
	}
	return "regular file"
}

// leads is what a symbolic link made for a source would hold.
func (c *copier) leads(source string) string {
	if c.Form == haul.FormSymlink {
		return source
	}
	if to, err := os.Readlink(source); err == nil {
		return to
	}
	return source
}
