// Package wire turns the bytes of rsync's protocol, 27 to 32, into values and back.
//
// It is pure: it is given an io.Reader and an io.Writer and touches no file,
// socket or clock. A [Conn] has two independent halves, a [Reader] and a
// [Writer], each for one goroutine; both know the protocol in force and hold
// the first error, so that code may read several values and look once at the
// end. Out-of-band messages go to a func. On these primitives stand the codecs
// of what travels: file lists ([Encoder], [Decoder]), owners, ACLs, extended
// attributes, items, block sums, token streams, statistics, filter rules.
//
// Every length that a peer sends is bounded before anything is allocated for
// it; what breaks a rule ends in an [Error] with the exit code that rsync gives
// it. Sections named in comments are those of docs/protocol.md.
package wire
