package wire

import (
	"encoding/binary"
	"fmt"
)

// Frames and messages (§4).
const (
	tagBase  = 7        // what is added to a code on the wire
	maxFrame = 0xffffff // longest payload that a header can tell
	maxText  = 5119     // longest text or name in a message
)

// Code says what a frame holds.
type Code uint8

const (
	Data        Code = 0   // bytes of the stream
	ErrorXfer   Code = 1   // text: an error that makes the exit code at least 23
	Info        Code = 2   // text for standard output
	ErrorText   Code = 3   // text: an error without effect on the exit code; from 30 on
	Warning     Code = 4   // text; from 30 on
	ErrorSocket Code = 5   // text; between processes of one side only
	Log         Code = 6   // text for the log; between processes only
	Client      Code = 7   // text for the client; between processes only
	ErrorUTF8   Code = 8   // text; between processes only
	Redo        Code = 9   // index to ask for again; between processes only
	StatsCount  Code = 10  // bytes read so far; between processes only
	IOError     Code = 22  // bits to add to the error word; from 30 on
	IOTimeout   Code = 33  // a daemon's timeout, in seconds; from 31 on
	Noop        Code = 42  // nothing, of old peers of protocol 30
	ErrorExit   Code = 86  // exit code; empty: acknowledged; from 31 on
	Success     Code = 100 // index of a file that may be removed at its source
	Deleted     Code = 101 // name that was deleted; a directory's ends in a NUL; from 29 on
	NoSend      Code = 102 // index of a file that will not come; from 30 on
)

// codeInfo is what is known about a code: its name, the payload it may have.
type codeInfo struct {
	name     string
	min, max int
	other    int  // another fixed length that is allowed
	local    bool // never on a connection
}

var codes = [256]codeInfo{
	Data:        {"DATA", 0, maxFrame, -1, false},
	ErrorXfer:   {"ERROR_XFER", 0, maxText, -1, false},
	Info:        {"INFO", 0, maxText, -1, false},
	ErrorText:   {"ERROR", 0, maxText, -1, false},
	Warning:     {"WARNING", 0, maxText, -1, false},
	ErrorSocket: {"ERROR_SOCKET", 0, maxText, -1, true},
	Log:         {"LOG", 0, maxText, -1, true},
	Client:      {"CLIENT", 0, maxText, -1, true},
	ErrorUTF8:   {"ERROR_UTF8", 0, maxText, -1, true},
	Redo:        {"REDO", 4, 4, -1, true},
	StatsCount:  {"STATS", 8, 8, -1, true},
	IOError:     {"IO_ERROR", 4, 4, -1, false},
	IOTimeout:   {"IO_TIMEOUT", 4, 4, -1, false},
	Noop:        {"NOOP", 0, 0, -1, false},
	ErrorExit:   {"ERROR_EXIT", 4, 4, 0, false},
	Success:     {"SUCCESS", 4, 4, 20, false}, // 20: a stock pair on one machine adds device and inode
	Deleted:     {"DELETED", 0, maxText, -1, false},
	NoSend:      {"NO_SEND", 4, 4, -1, false},
}

func (c Code) String() string {
	if name := codes[c].name; name != "" {
		return "message " + name
	}
	return fmt.Sprintf("message %d", uint8(c))
}

// check says what is wrong with a frame of this code and length, or "".
func (c Code) check(size int) string {
	info := &codes[c]
	switch {
	case info.name == "":
		return "unknown"
	case info.local:
		return "not for a connection"
	case size == info.other || info.min <= size && size <= info.max:
		return ""
	case info.max == maxText:
		return "too long"
	}
	return fmt.Sprintf("want %d", info.max)
}

// IsText tells whether the payload is text for a person.
func (c Code) IsText() bool { return ErrorXfer <= c && c <= ErrorUTF8 }

// Message is a frame that is no data.
type Message struct {
	Code    Code
	Payload []byte
}

// IntMessage makes a message whose payload is one number.
func IntMessage(c Code, v int32) Message {
	return Message{c, binary.LittleEndian.AppendUint32(nil, uint32(v))}
}

// TextMessage makes a message of text, or of a deleted name; what is too long is cut.
func TextMessage(c Code, s string) Message {
	return Message{c, []byte(s[:min(len(s), maxText)])}
}

// DeletedMessage tells that name was deleted (§4.3).
func DeletedMessage(name string, dir bool) Message {
	if dir {
		name += "\x00"
	}
	return TextMessage(Deleted, name)
}

// Int is the number that a message with one holds: an index, an exit code,
// seconds, error bits. An empty ERROR_EXIT gives 0.
func (m Message) Int() int32 {
	if len(m.Payload) < 4 {
		return 0
	}
	return int32(binary.LittleEndian.Uint32(m.Payload))
}

// Deleted is the name in a DELETED message, and whether it was a directory.
func (m Message) Deleted() (name string, dir bool) {
	p := m.Payload
	if n := len(p); n > 0 && p[n-1] == 0 {
		return string(p[:n-1]), true
	}
	return string(p), false
}

// Bits of the error word that lists, IO_ERROR messages and exit codes share.
const (
	IOErrorGeneral  = 1 // something could not be read
	IOErrorVanished = 2 // a file went away in between
	IOErrorDeletes  = 4 // --max-delete stopped deletions

	ioErrorMask = 7
)

// IOErrorBits are the bits in an IO_ERROR message, unknown ones removed.
func (m Message) IOErrorBits() int32 { return m.Int() & ioErrorMask }
