package tdsguard

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"
)

// Rows says what becomes of the rows of result sets.
type Rows int32

const (
	// AllRows go to the driver, within the protocol's own bounds.
	AllRows Rows = iota
	// OwnRows are answers to the agent's own questions: they go to the driver, and are small.
	OwnRows
	// KeptRows go to the driver within the limits, and are accounted for (see [Budget]).
	KeptRows
	// NoRows go to the driver; it sees result sets of one column and no rows.
	NoRows
)

// The bounds of [OwnRows].
const (
	ownValueBytes = 16 << 10
	ownRowBytes   = 64 << 10
)

// The protocol's own bounds.
const (
	headerSize = 8
	// maxPacket is the largest packet that a client can ask for (MS-TDS 2.2.6.4, PacketSize), and what the driver's buffer holds.
	maxPacket = 32767
	// minPacket is the smallest.
	minPacket = 512
	// maxValue is the length of the longest value of a (max) type, 2^31-1 bytes.
	maxValue = 1<<31 - 1
	// maxColumns is "Columns per SELECT statement" of SQL Server's capacity specifications.
	maxColumns = 4096
	// maxShort is the longest value of a type that is not a (max) type.
	maxShort = 8000
	// maxVariant is the longest sql_variant, with its type.
	maxVariant = 8016
	// maxPrelogin bounds the answer to PRELOGIN, which has some 40 bytes.
	maxPrelogin = 4096
	// maxLogin bounds FEDAUTHINFO and FEATUREEXTACK.
	maxLogin = 64 << 10
)

// Errors between two DONEs that the driver keeps; what is beyond is taken out of the stream and counted. It takes all of them into memory.
const (
	keptErrors     = 1000
	keptErrorBytes = 256 << 10
)

// queuedInLogin is how many tokens the driver queues of one answer to a login without waiting for who takes them; a server sends three at most.
const queuedInLogin = 4

// Packet types of the client (MS-TDS 2.2.3.1.1).
const (
	packetReply     = 0x04
	packetAttention = 0x06
	packetLogin     = 0x10
	packetPrelogin  = 0x12
)

// phase is how far a connection is. It only grows.
type phase = uint32

const (
	phaseNone     phase = iota // nothing was sent
	phasePrelogin              // the answer to PRELOGIN is read as such
	phaseLogin                 // LOGIN7 was sent
	phaseSession               // the first request was sent
)

// Guard checks one connection's stream. Read belongs to one goroutine at a time, and so does Wrote; the other methods are safe for
// concurrent use.
type Guard struct {
	r       io.Reader
	limits  Limits
	account *Account

	phase        atomic.Uint32
	sspi         atomic.Bool
	rows         atomic.Int32
	atRest       atomic.Bool // no answer is under way
	unreadAnswer atomic.Bool // a request was sent while an answer was under way
	spid         atomic.Uint32
	dropped      atomic.Int64 // messages taken out

	// transparent: the stream is TLS, which the driver ends.
	transparent bool
	err         error

	buf []byte
	// [ready, kept) is for the driver. [at, end) is the rest of the payload that is being read. [raw, have) was read ahead.
	ready, kept, at, end, raw, have int
	// tail is a packet of the guard's own that follows.
	tail []byte
	// run is where the part of the payload begins that flush has to deal with, and out where it goes.
	run, out    int
	disposition disposition
	sent        int // of stub

	scanner
}

// disposition is what becomes of the current token.
type disposition uint8

const (
	keep disposition = iota
	drop
	replace // by stub
)

// stub describes a result set of one column of INT without a name: what the driver sees of result sets that nobody reads.
var stub = [...]byte{tokenColMetadata, 1, 0, 0, 0, 0, 0, 0, 0, typeInt4, 0}

// New guards what r sends. A nil account is one without bounds.
func New(r io.Reader, limits Limits, rows Rows, account *Account) *Guard {
	g := &Guard{r: r, limits: limits, account: account}
	g.rows.Store(int32(rows))
	g.atRest.Store(true)
	return g
}

// SetRows says what becomes of the rows from the next one on. Between two answers any change is possible; while one is read, only
// from another to NoRows.
func (g *Guard) SetRows(rows Rows) { g.rows.Store(int32(rows)) }

// SPID is the session id in the server's latest packet; 0: none.
func (g *Guard) SPID() int { return int(g.spid.Load()) }

// DroppedErrors is how many errors were taken out of the stream because there were too many.
func (g *Guard) DroppedErrors() int { return int(g.dropped.Load()) }

// Wrote is told what the client writes, before it is written.
func (g *Guard) Wrote(p []byte) {
	if len(p) < headerSize {
		return
	}
	switch now := g.phase.Load(); {
	case p[0] == packetAttention || now > phasePrelogin && p[0] == packetPrelogin:
	case p[0] == packetPrelogin:
		g.phase.Store(phasePrelogin)
	case p[0] == packetLogin:
		const integrated = 0x80 // fIntSecurity of OptionFlags2, at offset 25 of LOGIN7
		g.sspi.Store(len(p) > headerSize+25 && p[headerSize+25]&integrated != 0)
		g.phase.Store(phaseLogin)
	default:
		if now == phaseLogin && p[0] != packetFedAuth && p[0] != packetSSPI {
			g.phase.Store(phaseSession)
		}
		if !g.atRest.Load() {
			g.unreadAnswer.Store(true)
		}
	}
}

const (
	packetFedAuth = 0x08
	packetSSPI    = 0x11
)

// Read gives the driver what is left of the stream. After an error all further calls return it.
func (g *Guard) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for g.ready == g.kept {
		if len(g.tail) > 0 {
			n := copy(p, g.tail)
			g.tail = g.tail[n:]
			return n, nil
		}
		if g.err != nil {
			return 0, g.err
		}
		if g.transparent {
			if g.raw < g.have {
				n := copy(p, g.buf[g.raw:g.have])
				g.raw += n
				return n, nil
			}
			g.buf = nil
			return g.r.Read(p)
		}
		if err := g.packet(); err != nil && g.err == nil {
			g.err = err
		}
		if g.err != nil {
			g.ready, g.kept = 0, 0
		}
	}
	n := copy(p, g.buf[g.ready:g.kept])
	g.ready += n
	return n, nil
}

// Drain reads on after an Exceeded, drops everything, and returns nil when the server has acknowledged an attention, which the
// caller has sent. It belongs to the goroutine that Read does.
func (g *Guard) Drain() error {
	for !g.attention {
		if err := g.packet(); err != nil {
			return err
		}
	}
	return nil
}

// packet reads one packet and checks it. What the driver is to see of it is in [ready, kept) then, with a header of its own; nothing is, when
// all of it was dropped.
func (g *Guard) packet() error {
	if g.unreadAnswer.Load() {
		return &Violation{What: "an answer was not read to its end"}
	}
	if err := g.buffer(headerSize); err != nil {
		return err
	}
	head := g.buf[g.raw : g.raw+headerSize]
	length := int(binary.BigEndian.Uint16(head[2:]))
	switch {
	case head[0] != packetReply && !(head[0] == packetPrelogin && g.phase.Load() == phaseNone):
		return violation("a packet of type 0x%02X, where 0x04 (reply) is needed", head[0])
	case length <= headerSize:
		return violation("a packet of %d bytes, header included", length)
	case length > maxPacket:
		return violation("a packet of %d bytes, where %d are the most", length, maxPacket)
	}
	if g.limits.AnswerBytes > 0 {
		if g.answer += int64(length); g.answer > g.limits.AnswerBytes {
			g.exceed("answer_bytes", g.limits.AnswerBytes, "")
		}
	}
	if err := g.buffer(length); err != nil {
		return err
	}
	if id := binary.BigEndian.Uint16(g.buf[g.raw+4:]); id != 0 {
		g.spid.Store(uint32(id))
	}
	final := g.buf[g.raw+1] != 0 // as the driver has it
	start := g.raw
	g.at, g.end, g.raw = start+headerSize, start+length, start+length
	g.run, g.out = g.at, g.at
	if g.phase.Load() == phasePrelogin {
		if err := g.prelogin(final); err != nil {
			return err
		}
		g.out = g.end
	} else {
		if err := g.scan(); err != nil {
			return err
		}
		if final && !g.atRest.Load() {
			return violation("an answer that ends in the middle of %s", g.position())
		}
	}
	g.ready, g.kept = start, g.out
	if g.out == start+headerSize {
		g.kept = start // nothing of it is left
	} else if kept := g.out - start; kept != length {
		binary.BigEndian.PutUint16(g.buf[start+2:], uint16(kept))
	}
	if len(g.tail) > 0 {
		g.buf[start+1] = 0 // it is not the last any more
	}
	return nil
}

// buffer sees to it that n bytes are there from raw on. The driver has had all that is before it.
func (g *Guard) buffer(n int) error {
	if g.have-g.raw >= n {
		return nil
	}
	const usual = 4096 // the driver's packet size by default
	if g.raw > 0 || len(g.buf) < n {
		to := g.buf
		if len(g.buf) < n {
			to = make([]byte, max(n, usual))
		}
		g.have = copy(to, g.buf[g.raw:g.have])
		g.buf, g.raw = to, 0
	}
	for g.have < n {
		m, err := g.r.Read(g.buf[g.have:])
		g.have += m
		if g.have >= n {
			break
		}
		if err != nil {
			if err == io.EOF && (g.have > 0 || !g.atRest.Load()) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// flush moves what is to be kept of the payload since the last call to its place.
func (g *Guard) flush() {
	part := g.buf[g.run:g.at]
	switch g.disposition {
	case keep:
		if g.out != g.run {
			copy(g.buf[g.out:], part)
		}
		g.out += len(part)
	case replace:
		n := copy(g.buf[g.out:g.out+len(part)], stub[g.sent:])
		g.sent += n
		g.out += n
	}
	g.run = g.at
}

// become changes the disposition of what comes from at on.
func (g *Guard) setDisposition(f disposition) {
	if g.err != nil {
		f = drop
	}
	if g.disposition != f {
		g.flush()
		g.disposition = f
	}
	g.sent = 0
}

// exceed notes that a limit is exceeded. What follows is dropped.
func (g *Guard) exceed(limit string, most int64, what string) {
	g.fail(&Exceeded{Limit: limit, Max: most, What: what})
}

// fail ends the stream for the driver; the scanner goes on and drops everything.
func (g *Guard) fail(err error) {
	if g.err == nil {
		g.err = err
		g.setDisposition(drop)
	}
}

func violation(format string, args ...any) error {
	return &Violation{What: fmt.Sprintf(format, args...)}
}
