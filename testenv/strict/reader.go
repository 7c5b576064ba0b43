package strict

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Deviation is output that a server must not send. A [Reader] panics with it.
type Deviation struct {
	Token  byte   // the current token; 0 outside of tokens
	Offset int    // in the payload of the message
	What   string // what is wrong
}

// Error implements error.
func (d *Deviation) Error() string {
	return fmt.Sprintf("token %#02x, byte %d of the message: %s", d.Token, d.Offset, d.What)
}

// Types of packets (MS-TDS 2.2.3.1.1).
const (
	packetReply     = 4
	packetAttention = 6
	packetLogin     = 16
	packetPrelogin  = 18
)

// Bits of a packet's status (MS-TDS 2.2.3.1.2).
const (
	statusEOM       = 0x01
	statusIgnore    = 0x02
	statusReset     = 0x08
	statusResetKeep = 0x10
)

const (
	headerSize = 8
	// eagerSize is the size in bytes from which a message is read before its end has arrived.
	eagerSize = 256 << 10
)

// Reader reads one connection. It is not safe for concurrent use. After a panic it must not be
// used.
type Reader struct {
	// OnResult is called with every result set after its DONE, if it is set.
	OnResult func(*Result)
	// OnReturn is called with every return value, if it is set.
	OnReturn func(Column, any)

	version    uint32 // from LOGINACK; 0 before it
	loggedIn   bool
	prelogin   bool // the answer to PRELOGIN is due
	packetSize int  // negotiated
	spid       uint16
	*context
	attentions int  // not acknowledged yet
	cut        bool // the answer may end early: after an attention or a canceled request
	reset      bool // the acknowledgment of a reset is due

	open bool // a message has begun
	id   byte // id of the next packet
	d    decoder
	at   int // size in bytes from which the message is read before its end
	m    message
}

// context is what the sessions of a connection with MARS share.
type context struct {
	database string
	tran     uint64 // descriptor of the open transaction
	recovery bool   // SESSIONRECOVERY was acknowledged
	states   uint32 // number of SESSIONSTATE tokens
}

// message is the state of an answer.
type message struct {
	tokens    int
	proof     bool // an SSPI token has arrived, which ends its message without a DONE
	final     bool // the DONE without DONE_MORE has arrived
	cols      []Column
	result    bool // a result set is open
	rows      int64
	before    byte // the previous token
	errorSent bool // an ERROR has arrived since the last DONE
	inProc    bool // the DONEPROC of a DONEINPROC is due
	returned  bool // the DONEPROC of a RETURNSTATUS is due
	tables    int  // number of tables in TABNAME
	login     bool // the message has a LOGINACK
	ack       bool // the message acknowledges an attention
	kept      *Result
}

// NewReader returns a reader for a new connection.
func NewReader() *Reader { return &Reader{packetSize: 4096, at: eagerSize, context: &context{}} }

// Session returns a reader for a session of a connection with MARS. r has read the login.
func (r *Reader) Session() *Reader {
	return &Reader{
		packetSize: r.packetSize, at: eagerSize, context: r.context, version: r.version, loggedIn: r.loggedIn, spid: r.spid,
		OnResult: r.OnResult, OnReturn: r.OnReturn,
	}
}

// wide reports whether counts and lines have the sizes of TDS 7.2 and later.
func (r *Reader) wide() bool { return r.version >= 0x72000000 || r.version == 0x08000000 }

// Client reads a packet from the client, header included.
func (r *Reader) Client(packet []byte) {
	switch packet[0] {
	case packetPrelogin:
		r.prelogin = true
	case packetLogin:
		r.prelogin = false
	case packetAttention:
		r.attentions++
		r.cut = true
	}
	if packet[1]&(statusReset|statusResetKeep) != 0 {
		r.reset = true
	}
	if packet[1]&statusIgnore != 0 {
		r.cut = true
	}
}

// Server reads a packet from the server, header included.
func (r *Reader) Server(packet []byte) {
	r.d.token = 0
	if len(packet) < headerSize || int(binary.BigEndian.Uint16(packet[2:])) != len(packet) {
		r.d.fail("packet of %d bytes with another length in its header", len(packet))
	}
	if packet[0] != packetReply {
		r.d.fail("packet of type %#02x", packet[0])
	}
	if packet[1]&^statusEOM != 0 {
		r.d.fail("packet with status %#02x", packet[1])
	}
	if len(packet) > r.packetSize {
		r.d.fail("packet of %d bytes with a negotiated size of %d", len(packet), r.packetSize)
	}
	if packet[7] != 0 {
		r.d.fail("packet with window %d", packet[7])
	}
	if !r.open {
		r.open, r.id, r.m = true, 1, message{}
	}
	if packet[6] != r.id {
		r.d.fail("packet %d of a message is numbered %d", r.id, packet[6])
	}
	r.id++
	if spid := binary.BigEndian.Uint16(packet[4:]); r.loggedIn {
		if r.spid != 0 && spid != r.spid {
			r.d.fail("packet of session %d in that of %d", spid, r.spid)
		}
		r.spid = spid
	}
	end := packet[1]&statusEOM != 0
	r.d.b = append(r.d.b, packet[headerSize:]...)
	if !end && len(r.d.b) < r.at {
		return
	}
	switch {
	case r.prelogin && !r.loggedIn:
		if end {
			r.d.prelogin()
			r.prelogin = false
		}
	case r.version == 0 && end:
		r.unversioned()
	case r.version != 0 || end:
		r.tokens(end)
	}
	r.at = max(eagerSize, 2*len(r.d.b))
	if end {
		if r.d.left() > 0 && r.d.at > 0 {
			r.d.fail("%d bytes after the last token", r.d.left())
		}
		r.d = decoder{b: r.d.b[:0]}
		r.open, r.at = false, eagerSize
	}
}

// unversioned reads an answer to a login before its version is known: errors and DONE have one form
// before TDS 7.2 and another one since.
func (r *Reader) unversioned() {
	before := *r
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(*Deviation); !ok || r.version != 0x72000000 {
				panic(v)
			}
			*r = before
			r.version = 0x71000000
			r.tokens(true)
			if !r.loggedIn {
				r.version = 0
			}
		}
	}()
	r.version = 0x72000000
	r.tokens(true)
	if !r.loggedIn {
		r.version = 0
	}
}

// tokens reads the complete tokens; at the end of the message, all tokens.
func (r *Reader) tokens(end bool) {
	d := &r.d
	for d.left() > 0 {
		start := d.at
		if !r.whole(end) {
			d.at = start
			break
		}
		r.m.tokens++
	}
	if !end { // release the part that was read
		d.base += d.at
		d.b = d.b[:copy(d.b, d.b[d.at:])]
		d.at = 0
		return
	}
	d.token = 0
	m := &r.m
	switch {
	case !m.final && !m.proof:
		d.fail("the message ends without a final DONE")
	case m.login && !r.loggedIn:
		d.fail("a LOGINACK without a session")
	}
	if !m.ack && r.attentions == 0 {
		r.cut = false
	}
}

// whole reads one token. It returns false if the token is incomplete, which is a deviation only at
// the end of the message.
func (r *Reader) whole(end bool) (ok bool) {
	saved := r.m
	defer func() {
		if v := recover(); v != nil {
			if err, ok := v.(error); !ok || !errors.Is(err, errShort) {
				panic(v)
			}
			if end {
				r.d.fail("the message ends inside the token")
			}
			r.m, ok = saved, false
		}
	}()
	r.token()
	return true
}
