package cli

// Flag is one option: the row that parsing, help, man pages and completions
// are made from.
type Flag struct {
	Short    string   // letters, each typed after one dash
	Long     string   // typed after two dashes
	Arg      string   // what its value is called; "" takes none
	Optional bool     // the value may be left out
	Values   []string // all it may be, each with synonyms behind it; nil: anything
	List     bool     // Values may be given several, between commas
	Topic    string   // what a wrong value is reported against, if not --Long
	File     bool     // the value is a file's name
	Ours     bool     // not an option of the program this command stands in for
	Doc      string
}

// name is the flag's identity: its long name, or else a dash and its letter.
func (f *Flag) name() string {
	if f.Long != "" {
		return f.Long
	}
	return "-" + f.Short
}

func (f *Flag) topic() string {
	if f.Topic != "" {
		return f.Topic
	}
	return "--" + f.Long
}

// Command is one word after haul.
type Command struct {
	Name  string
	Brief string   // completes "haul NAME: ..."
	Usage []string // operands, a way of calling it each
	About string   // paragraphs
	Tries []Try    // examples
	Flags []Flag
	Notes []Note
	Exits []Exit
	Dirs  bool // operands are directories rather than any files
}

// Try is an example: a command line and what it does.
type Try struct{ Line, Doc string }

// Note is a section of help and man page.
type Note struct{ Title, Text string }

// Exit is an exit code and its meaning.
type Exit struct {
	Code string
	Doc  string
}

// What several commands share.
var (
	helpFlag    = Flag{Long: "help", Doc: "show this help and exit"}
	versionFlag = Flag{Long: "version", Doc: "show the version and exit"}
	jsonFlag    = Flag{Long: "json", Ours: true, Doc: "write one JSON object a line to standard output; docs/json.md tells which"}
	filterFlag  = Flag{Long: "filter", Arg: "RULE", Ours: true, Doc: "leave out or keep what RULE names, written as rsync's filter rules: '- *.o', '+ /keep/***'; may be given again, the first that fits decides"}

	durabilityFlag = Flag{Long: "durability", Arg: "WHEN", Values: []string{"none nosync", "batch", "each"}, Ours: true,
		Doc: "what a power cut can take: none (the default) leaves it to the kernel, as cp does; batch makes everything durable before haul ends, by two flushes of the file system; each makes every file durable before the next"}
	sparseFlag      = Flag{Long: "sparse", Arg: "WHEN", Values: []string{"never", "auto", "always"}, Doc: "which zeros are stored: auto (the default) keeps the holes of the source, always makes holes of runs of zeros too, never stores every byte"}
	inplaceFlag     = Flag{Long: "inplace", Ours: true, Doc: "change an existing file where it stands, and only the blocks that differ, instead of renaming a new one over it"}
	preallocateFlag = Flag{Long: "preallocate", Ours: true, Doc: "reserve the space of each file before writing it"}
	writeSizeFlag   = Flag{Long: "write-size", Arg: "SIZE", Ours: true, Doc: "bytes a write call; suffixes K, M, G"}
	mapSizeFlag     = Flag{Long: "map-size", Arg: "SIZE", Ours: true, Doc: "bytes a read call; suffixes K, M, G"}
	signalExit      = Exit{"129-131, 143", "ended by SIGHUP, SIGINT, SIGQUIT or SIGTERM (128 and its number); temporary files are gone"}
	tempNote        = Note{"Temporary files", "A new file is written beside its target as .NAME.XXXXXX, NAME the target's name (cut if it is too long) and XXXXXX random, and renamed when it is whole. " +
		"Only SIGKILL or a crash of the system can leave one behind; it may be removed once no haul is running."}
)

var preserveWords = []string{"mode", "timestamps", "ownership", "links", "context", "xattr", "all"}

var cpCommand = Command{
	Name:  "cp",
	Brief: "copy files and directories",
	Usage: []string{"[OPTION]... [-T] SOURCE DEST", "[OPTION]... SOURCE... DIRECTORY", "[OPTION]... -t DIRECTORY SOURCE..."},
	About: "Copy SOURCE to DEST, or several SOURCEs into DIRECTORY. The options, messages and exit codes are those of GNU cp; " +
		"directories are copied in parallel, content by sharing blocks or inside the kernel where the file systems can.\n" +
		"A file that exists is replaced by renaming the finished copy over it, so that others see the old file or the new one and never a part. " +
		"A target with several hard links (unless links are preserved, as under -a), one reached through a symbolic link, or all of them under --inplace or when started under the name cp, is written where it stands.",
	Flags: []Flag{
		{Short: "a", Long: "archive", Doc: "same as -dR --preserve=all"},
		{Long: "attributes-only", Doc: "copy no content, only the attributes"},
		{Long: "backup", Arg: "CONTROL", Optional: true, Values: backupWords, Topic: "backup type", Doc: "keep each existing target under another name"},
		{Short: "b", Doc: "like --backup, but takes no argument"},
		{Long: "copy-contents", Doc: "copy the content of special files when recursive"},
		{Short: "d", Doc: "same as --no-dereference --preserve=links"},
		{Long: "debug", Doc: "tell how content was copied, and why no better way would do; implies -v"},
		{Short: "f", Long: "force", Doc: "remove an existing target that cannot be opened, and try again"},
		{Short: "i", Long: "interactive", Doc: "ask before overwriting (overrides an earlier -n)"},
		{Short: "H", Doc: "follow symbolic links named as SOURCE"},
		{Long: "keep-directory-symlink", Doc: "follow existing symbolic links to directories in the target"},
		{Short: "l", Long: "link", Doc: "make hard links instead of copies"},
		{Short: "L", Long: "dereference", Doc: "always follow symbolic links in SOURCE"},
		{Short: "n", Long: "no-clobber", Doc: "leave existing files alone, without an error (overrides an earlier -i)"},
		{Short: "P", Long: "no-dereference", Doc: "never follow symbolic links in SOURCE"},
		{Short: "p", Doc: "same as --preserve=mode,ownership,timestamps"},
		{Long: "preserve", Arg: "ATTR_LIST", Optional: true, Values: preserveWords, List: true, Doc: "preserve these attributes (default: mode,ownership,timestamps); others: context, links, xattr, all"},
		{Long: "no-preserve", Arg: "ATTR_LIST", Values: preserveWords, List: true, Doc: "do not preserve these attributes"},
		{Long: "parents", Doc: "use the full name of SOURCE beneath DIRECTORY"},
		{Short: "Rr", Long: "recursive", Doc: "copy directories with all that is in them"},
		{Long: "reflink", Arg: "WHEN", Optional: true, Values: []string{"auto", "always", "never"}, Doc: "share blocks with the source: auto (the default) where the file system can, always (also without WHEN) or fail, never"},
		{Long: "remove-destination", Doc: "remove each existing target before copying to it"},
		sparseFlag,
		{Long: "strip-trailing-slashes", Doc: "remove slashes from the end of each SOURCE"},
		{Short: "s", Long: "symbolic-link", Doc: "make symbolic links instead of copies"},
		{Short: "S", Long: "suffix", Arg: "SUFFIX", Doc: "suffix of simple backups, ~ unless set here or by SIMPLE_BACKUP_SUFFIX"},
		{Short: "t", Long: "target-directory", Arg: "DIRECTORY", File: true, Doc: "copy all SOURCEs into DIRECTORY"},
		{Short: "T", Long: "no-target-directory", Doc: "treat DEST as a file, even if it is a directory"},
		{Long: "update", Arg: "UPDATE", Optional: true, Values: []string{"all", "none", "none-fail", "older"}, Doc: "which existing files are replaced: all (the default), none, none-fail (none, and each is an error), older (those older than the source; also without UPDATE)"},
		{Short: "u", Doc: "same as --update=older"},
		{Short: "v", Long: "verbose", Doc: "tell what is being done"},
		{Short: "x", Long: "one-file-system", Doc: "do not descend into other file systems"},
		{Short: "Z", Doc: "set the SELinux context of the target to the default; without SELinux, as here, nothing"},
		{Long: "context", Arg: "CTX", Optional: true, Doc: "like -Z; a CTX is ignored with a warning, since it needs SELinux"},
		helpFlag, versionFlag,

		{Long: "jobs", Arg: "N", Ours: true, Doc: "directories copied at once (default: as many as pay)"},
		durabilityFlag, inplaceFlag, preallocateFlag, mapSizeFlag, writeSizeFlag,
		{Long: "compare", Arg: "HOW", Values: []string{"never", "time", "size", "content"}, Ours: true, Doc: "when an existing file is alike already and left alone: never (the default), time (same size and time of change, as rsync does; use with -p or -a), size, content; to make DEST like SOURCE also when DEST exists already, give -aT or name SOURCE/."},
		{Long: "delete", Ours: true, Doc: "remove from target directories what their sources lack; with -aT, or SOURCE/. as the source, DEST itself becomes like SOURCE also when it exists already"},
		filterFlag,
		{Long: "dry-run", Ours: true, Doc: "change nothing, tell what would be done; implies -v"},
		{Long: "verify", Ours: true, Doc: "read source and copy back and compare them"},
		{Long: "progress", Arg: "WHEN", Optional: true, Values: []string{"auto", "always", "never"}, Ours: true, Doc: "show how far it is: auto (the default of haul cp) on a terminal, always (also without WHEN) as plain lines otherwise, never"},
		{Long: "stats", Ours: true, Doc: "tell at the end what was done"},
		{Short: "h", Long: "human-readable", Ours: true, Doc: "sizes as 1.5 MiB, in --stats, --debug and --dry-run"},
		jsonFlag,
	},
	Tries: []Try{
		{"haul cp -aT --compare=time --delete SRC DST", "make DST like SRC, whether DST exists or not, and touch only what differs"},
		{"haul cp -a SRC/. DST", "copy what is in SRC into DST, and leave alone what DST has besides"},
		{"haul cp -aT --compare=time --delete --dry-run SRC DST", "tell what the first would do"},
		{"haul cp --inplace --sparse=always vm.img /mnt/vm.img", "write only the blocks that differ, and free those that are zero"},
	},
	Notes: []Note{
		{"Backups", "CONTROL, or else the environment variable VERSION_CONTROL, is one of: none or off (no backups), numbered or t (name.~N~), existing or nil (numbered if there are numbered ones, otherwise simple), simple or never (name and suffix). " +
			"With both --force and a backup, a file copied onto itself is backed up."},
		{"Sizes", "Plain numbers are bytes. K, M, G, T are powers of 1024 (KiB may be written too), KB, MB ... powers of 1000."},
		tempNote,
	},
	Exits: []Exit{{"0", "everything was copied, or left alone as told"}, {"1", "something was not; each is told on standard error, the rest is copied"}, signalExit},
}

var backupWords = []string{"none off", "simple never", "existing nil", "numbered t"}

var writeCommand = Command{
	Name:  "write",
	Brief: "write standard input into a file, all of it or nothing",
	Usage: []string{"[OPTION]... FILE"},
	About: "Read standard input to its end, then put it in the place of FILE in one step: FILE may be read by the same pipeline, and whoever opens it sees the old content or the new. " +
		"FILE keeps its mode, owner and, if it is a symbolic link, its place. If reading or writing fails, FILE is left as it was.\n" +
		"When the command that feeds a pipeline fails, what it wrote so far counts as the whole input, since a pipe ends the same way in both cases: --size finds that out, set -o pipefail comes too late to keep FILE.",
	Flags: []Flag{
		{Long: "append", Short: "a", Doc: "put the input behind what FILE holds, in the same single step"},
		durabilityFlag,
		{Long: "sparse", Arg: "WHEN", Values: []string{"never", "auto", "always"}, Doc: "always makes holes of runs of zeros; auto and never store them"},
		{Long: "inplace", Doc: "change FILE where it stands once all input is read; keeps hard links, but is not a single step"},
		preallocateFlag, writeSizeFlag,
		{Long: "mode", Arg: "MODE", Doc: "permission bits of FILE in octal (default: those it has, or 666 cut by umask)"},
		{Long: "size", Arg: "SIZE", Doc: "how much is coming: space is reserved at once, and any other size is an error"},
		jsonFlag, helpFlag, versionFlag,
	},
	Notes: []Note{tempNote},
	Exits: []Exit{{"0", "FILE holds the input"}, {"1", "it does not; FILE is as it was, except under --inplace, where the message tells"}, signalExit},
}

var duCommand = Command{
	Name:  "du",
	Brief: "tell how much space files take and how long they are",
	Usage: []string{"[OPTION]... [FILE]..."},
	About: "For each directory, and for each FILE named, print the space allocated, the apparent size, and the name, both sizes in units of 1024 bytes rounded up. " +
		"A file with several hard links counts once, where it is met first. Symbolic links are not followed.",
	Flags: []Flag{
		{Short: "0", Long: "null", Doc: "end each line with a NUL byte"},
		{Short: "a", Long: "all", Doc: "print files too, not only directories"},
		{Long: "allocated", Doc: "print only the space allocated"},
		{Long: "apparent-size", Doc: "print only the apparent size"},
		{Short: "b", Long: "bytes", Doc: "same as --apparent-size --block-size=1"},
		{Short: "B", Long: "block-size", Arg: "SIZE", Doc: "unit of the sizes printed (default 1024); a unit without a number, as in -BM, is printed behind each"},
		{Short: "c", Long: "total", Doc: "print a grand total"},
		{Short: "d", Long: "max-depth", Arg: "N", Doc: "print what is at most N levels beneath a FILE named; its sizes count all the same"},
		{Short: "h", Long: "human-readable", Doc: "print sizes as 1.1K, 234M, 2.0G"},
		{Short: "k", Doc: "same as --block-size=1K"},
		{Short: "m", Doc: "same as --block-size=1M"},
		{Short: "l", Long: "count-links", Doc: "count a file as often as it has names"},
		{Short: "s", Long: "summarize", Doc: "print only a line for each FILE named"},
		{Short: "x", Long: "one-file-system", Doc: "leave out directories on other file systems"},
		filterFlag, jsonFlag, helpFlag, versionFlag,
	},
	Exits: []Exit{{"0", "all was counted"}, {"1", "something could not be read"}, signalExit},
}

var diffCommand = Command{
	Name:  "diff",
	Brief: "tell how two trees or files differ",
	Usage: []string{"[OPTION]... A B"},
	About: "Print one line for each name that is in B only (added), in A only (deleted) or in both but not alike (modified), and in what they differ: " +
		"content, size, mode, owner, group, mtime, xattrs, acl, target, device, type, links (names that share a file in one tree and not in the other). " +
		"Files of the same size and time of change count as having the same content unless --content is given. Access times are not compared.",
	Flags: []Flag{
		{Short: "c", Long: "content", Doc: "read files of the same size and compare every byte"},
		{Short: "i", Long: "ignore", Arg: "LIST", List: true, Values: diffWords, Doc: "leave these out of the comparison: mode, owner, group, mtime, xattrs, acl, links"},
		{Short: "r", Long: "recursive", Doc: "nothing: trees are always compared whole; for the habit of diff"},
		{Short: "q", Long: "quiet", Doc: "print nothing, end at the first difference"},
		{Short: "x", Long: "one-file-system", Doc: "do not descend into other file systems"},
		{Short: "0", Long: "null", Doc: "end each line with a NUL byte and quote no names"},
		filterFlag, jsonFlag, helpFlag, versionFlag,
	},
	Exits: []Exit{{"0", "no difference"}, {"1", "they differ"}, {"2", "something could not be read"}, signalExit},
	Dirs:  true,
}

var diffWords = []string{"mode", "owner", "group", "mtime", "xattrs", "acl", "links"}

var mapCommand = Command{
	Name:  "map",
	Brief: "show the data and the holes of a file",
	Usage: []string{"[OPTION]... FILE..."},
	About: "Draw each FILE as a line and list its extents: offset, length and kind. In the line '#' is data, '.' a hole, '=' data shared with another file, " +
		"'o' space reserved and not written, 'z' data the file system compresses or packs, and '+' a column with data and holes. " +
		"Sharing and the like are told where the file system does (FIEMAP on Linux).",
	Flags: []Flag{
		{Short: "h", Long: "human-readable", Doc: "offsets and lengths as 1.5 MiB"},
		{Short: "l", Long: "list", Doc: "only the list"},
		{Short: "p", Long: "picture", Doc: "only the picture"},
		{Short: "w", Long: "width", Arg: "COLUMNS", Doc: "width of the picture (default: the terminal's, or 80)"},
		jsonFlag, helpFlag, versionFlag,
	},
	Exits: []Exit{{"0", "shown"}, {"1", "a FILE could not be read"}, signalExit},
}

var helpCommand = Command{
	Name:  "help",
	Brief: "explain haul or one of its commands",
	Usage: []string{"[COMMAND]"},
	About: "Without COMMAND, list the commands.",
	Flags: []Flag{helpFlag, versionFlag},
	Exits: []Exit{{"0", "shown"}, {"1", "there is no such command"}},
}

var versionCommand = Command{
	Name:  "version",
	Brief: "show the version of haul",
	Usage: []string{""},
	About: "Print version, Go release and system.",
	Flags: []Flag{jsonFlag, helpFlag, versionFlag},
	Exits: []Exit{{"0", "shown"}},
}

// commands are all of them, as help lists them.
var commands = [...]*Command{&cpCommand, &writeCommand, &duCommand, &diffCommand, &mapCommand, &helpCommand, &versionCommand}

func command(name string) *Command {
	for _, c := range commands {
		if c.Name == name {
			return c
		}
	}
	return nil
}
