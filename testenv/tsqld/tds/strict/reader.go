package strict

import (
	"encoding/binary"
	"fmt"
)

// Deviation is something that a server must not send. A [Reader] panics with it.
type Deviation struct {
	Token  byte   // the token that was being read; 0 outside of tokens
	Offset int    // of that place in the payload of the message
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
	// eager is from how many bytes on a message is read before its end has come.
	eager = 256 << 10
)

// Reader reads one connection. It is not safe for concurrent use. After a panic it must not be used.
type Reader struct {
	// OnResult, when set, is given every result set when its DONE has come.
	OnResult func(*Result)
	// OnReturn, when set, is given every return value.
	OnReturn func(Column, any)

	version    uint32 // of LOGINACK; 0 before
	loggedIn   bool
	prelogin   bool // the client waits for the answer to its PRELOGIN
	packetSize int  // negotiated
	spid       uint16
	database   string
	tran       uint64 // descriptor of the open transaction
	attentions int    // that wait for their acknowledgment
	cut        bool   // the answer may end early: an attention or a request taken back
	reset      bool   // the client asked for a reset that is not acknowledged

	open bool // a message has begun
	id   byte // of the next packet
	d    decoder
	at   int // from how many bytes on the message is read before its end
	m    message
}

// message is the state of an answer.
type message struct {
	tokens   int
	final    bool // the DONE without DONE_MORE has come
	cols     []Column
	result   bool // a result set is open
	rows     int64
	before   byte // the token before
	erred    bool // an ERROR has come since the last DONE
	inProc   bool // a DONEINPROC waits for its DONEPROC
	returned bool // a RETURNSTATUS waits for its DONEPROC
	tables   int  // of TABNAME
	login    bool // it has a LOGINACK
	ack      bool // it acknowledges an attention
	kept     *Result
}

// NewReader returns a reader for a connection that has sent nothing yet.
func NewReader() *Reader { return &Reader{packetSize: 4096, at: eager} }

// wide reports whether counts and lines have their sizes of TDS 7.2 and later.
func (r *Reader) wide() bool { return r.version >= 0x72000000 || r.version == 0x08000000 }

// Client notes a packet of the client, header included.
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

// Server reads a packet of the server, header included.
func (r *Reader) Server(packet []byte) {
	r.d.token = 0
	if len(packet) < headerSize || int(binary.BigEndian.Uint16(packet[2:])) != len(packet) {
		r.d.deviate("packet of %d bytes whose header says otherwise", len(packet))
	}
	if packet[0] != packetReply {
		r.d.deviate("packet of type %#02x", packet[0])
	}
	if packet[1]&^statusEOM != 0 {
		r.d.deviate("packet with status %#02x", packet[1])
	}
	if len(packet) > r.packetSize {
		r.d.deviate("packet of %d bytes, where %d were agreed on", len(packet), r.packetSize)
	}
	if packet[7] != 0 {
		r.d.deviate("packet with window %d", packet[7])
	}
	if !r.open {
		r.open, r.id, r.m = true, 1, message{}
	}
	if packet[6] != r.id {
		r.d.deviate("packet %d of a message is numbered %d", r.id, packet[6])
	}
	r.id++
	if spid := binary.BigEndian.Uint16(packet[4:]); r.loggedIn {
		if r.spid != 0 && spid != r.spid {
			r.d.deviate("packet of session %d in that of %d", spid, r.spid)
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
	r.at = max(eager, 2*len(r.d.b))
	if end {
		if r.d.left() > 0 && r.d.at > 0 {
			r.d.deviate("%d bytes after the last token", r.d.left())
		}
		r.d = decoder{b: r.d.b[:0]}
		r.open, r.at = false, eager
	}
}

// unversioned reads an answer to a login, the version of which stands inside it: errors and DONE have one form before TDS
// 7.2 and one since.
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

// tokens reads the tokens that are there whole; at the end of the message, all.
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
	if !end { // what was read is no longer needed
		d.base += d.at
		d.b = d.b[:copy(d.b, d.b[d.at:])]
		d.at = 0
		return
	}
	d.token = 0
	m := &r.m
	switch {
	case !m.final:
		d.deviate("the message ends without a final DONE")
	case m.login && !r.loggedIn:
		d.deviate("a LOGINACK without a session")
	}
	if !m.ack && r.attentions == 0 {
		r.cut = false
	}
}

// whole reads one token; false when its end has not come, which is no deviation before the end of the message.
func (r *Reader) whole(end bool) (ok bool) {
	saved := r.m
	defer func() {
		if v := recover(); v != nil {
			if v != errShort {
				panic(v)
			}
			if end {
				r.d.deviate("the message ends inside the token")
			}
			r.m, ok = saved, false
		}
	}()
	r.token()
	return true
}
