package tdsguard

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"
)

// Rows is the treatment of the rows of result sets.
type Rows int32

const (
	// AllRows passes rows to the driver within the protocol's bounds.
	AllRows Rows = iota
	// OwnRows passes small rows to the driver: the answers to the agent's own queries.
	OwnRows
	// KeptRows passes rows to the driver within the limits, and accounts for their memory (see
	// [Budget]).
	KeptRows
	// NoRows drops the rows. The driver sees result sets of one column without rows.
	NoRows
)

// The bounds of [OwnRows].
const (
	ownValueBytes = 16 << 10
	ownRowBytes   = 64 << 10
)

// The bounds of the protocol.
const (
	headerSize = 8
	// maxPacket is the largest packet that a client can request (MS-TDS 2.2.6.4, PacketSize). The
	// driver's buffer has this size.
	maxPacket = 32767
	// minPacket is the smallest packet size that a client can request.
	minPacket = 512
	// maxValue is the length of the longest value of a (max) type, 2^31-1 bytes.
	maxValue = 1<<31 - 1
	// maxColumns is "Columns per SELECT statement" in SQL Server's capacity specifications.
	maxColumns = 4096
	// maxShort is the length of the longest value of a type other than the (max) types.
	maxShort = 8000
	// maxVariant is the length of the longest sql_variant, its type included.
	maxVariant = 8016
	// maxPrelogin bounds the answer to PRELOGIN, which has about 40 bytes.
	maxPrelogin = 4096
	// maxLogin bounds FEDAUTHINFO and FEATUREEXTACK.
	maxLogin = 64 << 10
)

// The driver keeps all errors between two DONEs in memory. Errors beyond these bounds are dropped
// and counted.
const (
	keptErrors     = 1000
	keptErrorBytes = 256 << 10
)

// errReadOnly is the number of "Failed to update database … because the database is read-only."
const errReadOnly = 3906

// queuedInLogin is how many tokens of an answer to a login the driver queues without a reader.
// Servers send at most three.
const queuedInLogin = 4

// Packet types of the client (MS-TDS 2.2.3.1.1).
const (
	packetReply     = 0x04
	packetAttention = 0x06
	packetLogin     = 0x10
	packetPrelogin  = 0x12
)

// phase is the phase of a connection. It only increases.
type phase = uint32

const (
	phaseNone     phase = iota // nothing was sent
	phasePrelogin              // PRELOGIN was sent, and the answer is read as such
	phaseLogin                 // LOGIN7 was sent
	phaseSession               // the first request was sent
)

// Guard checks the stream of one connection. Only one goroutine at a time may call Read and Drain,
// and one Wrote. The other methods are safe for concurrent use.
type Guard struct {
	r       io.Reader
	limits  Limits
	account *Account

	phase        atomic.Uint32
	sspi         atomic.Bool
	rows         atomic.Int32
	atRest       atomic.Bool // no answer is expected or being read
	unreadAnswer atomic.Bool // a request was sent before the answer was read
	spid         atomic.Uint32
	dropped      atomic.Int64 // errors dropped
	readOnly     atomic.Bool  // errReadOnly was met
	unexplained  atomic.Bool  // of the latest answer; see Unexplained

	// transparent means that the stream is TLS of the driver.
	transparent bool
	err         error

	buf []byte
	// buf[ready:kept] is for the driver, buf[at:end] the unread rest of the current payload, and
	// buf[raw:have] was read ahead.
	ready, kept, at, end, raw, have int
	// tail is a packet of the guard itself that follows.
	tail []byte
	// run is the start of the payload for the next flush, and out its destination.
	run, out    int
	disposition disposition
	sent        int // bytes of stub

	scanner
}

// disposition says what happens to the current token.
type disposition uint8

const (
	keep disposition = iota
	drop
	replace // by stub
)

// stub describes a result set of one unnamed INT column. It replaces the columns of result sets
// without a reader.
var stub = [...]byte{tokenColMetadata, 1, 0, 0, 0, 0, 0, 0, 0, typeInt4, 0}

// New returns the guard of the stream r. A nil account has no bounds.
func New(r io.Reader, limits Limits, rows Rows, account *Account) *Guard {
	g := &Guard{r: r, limits: limits, account: account}
	g.rows.Store(int32(rows))
	g.atRest.Store(true)
	return g
}

// SetRows sets the treatment of rows from the next row on. Between two answers any change is
// possible; while an answer is read, only a change to NoRows.
func (g *Guard) SetRows(rows Rows) { g.rows.Store(int32(rows)) }

// SPID returns the session ID in the server's latest packet; 0 before the first.
func (g *Guard) SPID() int { return int(g.spid.Load()) }

// DroppedErrors returns how many errors were dropped because there were too many.
func (g *Guard) DroppedErrors() int { return int(g.dropped.Load()) }

// ReadOnly reports whether the server has refused a change because a database is read-only.
func (g *Guard) ReadOnly() bool { return g.readOnly.Load() }

// Unexplained reports whether the latest answer says that a statement has failed (DONE_ERROR), and
// has no ERROR before it. The driver's message queue says nothing of such a failure.
func (g *Guard) Unexplained() bool { return g.unexplained.Load() }

// Wrote must be called with the client's data before they are written.
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

// Read reads the checked stream. After an error all further calls return the error.
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

// Drain drops the data after an Exceeded, and returns nil when the server has acknowledged the
// attention that the caller has sent.
func (g *Guard) Drain() error {
	for !g.attention {
		if err := g.packet(); err != nil {
			return err
		}
	}
	return nil
}

// packet reads and checks one packet. Afterwards buf[ready:kept] holds the packet for the driver,
// with a new header; it is empty if everything was dropped.
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
		return violation("a packet of type 0x%02X, want 0x04 (reply)", head[0])
	case length <= headerSize:
		return violation("a packet of %d bytes, header included", length)
	case length > maxPacket:
		return violation("a packet of %d bytes, want at most %d", length, maxPacket)
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
	final := g.buf[g.raw+1] != 0 // the driver's condition
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
		g.kept = start // everything was dropped
	} else if kept := g.out - start; kept != length {
		binary.BigEndian.PutUint16(g.buf[start+2:], uint16(kept))
	}
	if len(g.tail) > 0 {
		g.buf[start+1] = 0 // tail is the last packet
	}
	return nil
}

// buffer makes sure that buf has n bytes from raw on. The driver has read everything before raw.
func (g *Guard) buffer(n int) error {
	if g.have-g.raw >= n {
		return nil
	}
	const usual = 4096 // the driver's default packet size
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

// flush moves the kept part of the payload since the last call to its destination.
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

// setDisposition changes the disposition of the data from at on.
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

// exceed records that a limit was exceeded. The following data are dropped.
func (g *Guard) exceed(limit string, most int64, what string) {
	g.fail(&Exceeded{Limit: limit, Max: most, What: what})
}

// fail ends the stream for the driver. The scanner goes on and drops everything.
func (g *Guard) fail(err error) {
	if g.err == nil {
		g.err = err
		g.setDisposition(drop)
	}
}

func violation(format string, args ...any) error {
	return &Violation{What: fmt.Sprintf(format, args...)}
}
