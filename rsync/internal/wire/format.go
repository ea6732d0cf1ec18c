package wire

// Format is what both sides agreed on that shapes a file list. The stream makes
// no sense to a peer that has another one.
type Format struct {
	Protocol int
	Features Features

	Owner, Group bool // -o, -g: ids in every entry
	Links        bool // -l: targets of symbolic links
	Devices      bool // --devices: numbers of devices
	Specials     bool // --specials: before 31 numbers of sockets and fifos
	HardLinks    bool // -H
	Atimes       bool // -U
	Crtimes      bool // -N; needs VarintFlags
	ACLs         bool // -A; from 30 on
	Xattrs       bool // -X; from 30 on
	NumericIDs   bool // no names of owners
	Sum          int  // -c: length of the checksum in bytes; 0: none

	// What a decoder accepts, with no effect on the bytes.
	Absolute    bool // -R: names may start with a slash
	MissingArgs bool // --delete-missing-args: mode 0 says that an argument is missing
}

// Check refuses what cannot be said in the protocol, as the program does.
func (f *Format) Check() error {
	switch {
	case f.Protocol < 27 || f.Protocol > 32:
		return &Error{Code: ExitProtocol, What: "protocol out of range"}
	case (f.ACLs || f.Xattrs) && f.Protocol < 30:
		return &Error{Code: ExitProtocol, What: "ACLs and extended attributes need protocol 30"}
	case f.Crtimes && !f.varintFlags():
		return &Error{Code: ExitProtocol, What: "creation times need a newer peer"}
	case f.Atimes && f.Protocol < 28:
		return &Error{Code: ExitProtocol, What: "access times need protocol 28"}
	}
	return nil
}

// Incremental tells whether lists come directory by directory.
func (f *Format) Incremental() bool { return f.has(IncrementalRecursion) }

func (f *Format) has(b Features) bool { return f.Protocol >= 30 && f.Features.Has(b) }

func (f *Format) varintFlags() bool { return f.has(VarintFlags) }

// safeEnd tells whether the end of a list in byte flags may carry an error.
func (f *Format) safeEnd() bool { return f.Protocol >= 31 || f.has(SafeFileList) }

// inlineNames tells whether an id's name comes with its first use, and
// idLists whether all names come behind the list (§8.5).
func (f *Format) inlineNames() bool { return f.Incremental() && !f.NumericIDs }
func (f *Format) idLists() bool     { return !f.Incremental() && !f.NumericIDs }

// Entry flags (§8.1). Some bits have had several meanings.
const (
	flagTopDir     = 1 << 0 // also set on a file to make the word not 0
	flagSameMode   = 1 << 1
	flagSameRdev   = 1 << 2 // before 28
	flagExtended   = 1 << 2 // byte form from 28 on: a second byte follows
	flagSameUID    = 1 << 3
	flagSameGID    = 1 << 4
	flagSameName   = 1 << 5
	flagLongName   = 1 << 6
	flagSameTime   = 1 << 7
	flagSameMajor  = 1 << 8 // devices, from 28 on
	flagNoContent  = 1 << 8 // directories, from 30 on
	flagLinked     = 1 << 9
	flagSameDev    = 1 << 10 // before 30
	flagUserName   = 1 << 10 // from 30 on
	flagMinor8     = 1 << 11 // before 30
	flagGroupName  = 1 << 11 // from 30 on
	flagLinkFirst  = 1 << 12
	flagNsec       = 1 << 13
	flagSameAtime  = 1 << 14
	flagSameCrtime = 1 << 17

	flagsErrorEnd = flagExtended | 1<<12 // a whole word: end of list, an error follows
)

// File types in a mode: the values of the protocol, whatever the system's are.
const (
	ModeType    uint32 = 0o170000
	ModeFifo    uint32 = 0o010000
	ModeChar    uint32 = 0o020000
	ModeDir     uint32 = 0o040000
	ModeBlock   uint32 = 0o060000
	ModeRegular uint32 = 0o100000
	ModeLink    uint32 = 0o120000
	ModeSocket  uint32 = 0o140000
)
