package wire

// Features are the compatibility flags that a server of protocol 30 or later
// announces right after the version (§3).
type Features uint32

const (
	IncrementalRecursion Features = 1 << iota // file lists come directory by directory
	SymlinkTimes                              // the server can set times of symbolic links
	SymlinkIconv                              // link targets are converted between charsets
	SafeFileList                              // the end of a list may carry an error; implied from 31 on
	AvoidXattrShortcut                        // no leaving out of attributes for hard links
	ChecksumSeedFix                           // md5 block sums hash the seed first
	InplacePartialDir                         // a partial-dir basis may be updated in place
	VarintFlags                               // entry flags are varints, algorithms are negotiated
	ID0Names                                  // id lists end with the name of id 0
)

// Has tells whether all of f are set.
func (fs Features) Has(f Features) bool { return fs&f == f }

// Features reads the server's flags: a varint, to which the single raw byte of
// older servers is equal because they never set the high bit.
func (r *Reader) Features() Features { return Features(r.Varint()) }

// Features writes the server's flags.
func (w *Writer) Features(f Features) { w.Varint(int32(f)) }
