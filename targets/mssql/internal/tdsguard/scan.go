package tdsguard

import (
	"encoding/binary"
	"fmt"
)

// Tokens (MS-TDS 2.2.7).
const (
	tokenAltMetadata    = 0x88
	tokenAltRow         = 0xD3
	tokenColInfo        = 0xA5
	tokenColMetadata    = 0x81
	tokenDataClass      = 0xA3
	tokenDone           = 0xFD
	tokenDoneInProc     = 0xFF
	tokenDoneProc       = 0xFE
	tokenEnvChange      = 0xE3
	tokenError          = 0xAA
	tokenFeatureExtAck  = 0xAE
	tokenFedAuthInfo    = 0xEE
	tokenInfo           = 0xAB
	tokenLoginAck       = 0xAD
	tokenNBCRow         = 0xD2
	tokenOffset         = 0x78
	tokenOrder          = 0xA9
	tokenReturnStatus   = 0x79
	tokenReturnValue    = 0xAC
	tokenRow            = 0xD1
	tokenSessionState   = 0xE4
	tokenSSPI           = 0xED
	tokenTabName        = 0xA4
	featureTerminator   = 0xFF
	featureColumnCrypto = 0x04
)

// tokenNames are for error messages.
var tokenNames = map[byte]string{
	tokenAltMetadata: "ALTMETADATA", tokenAltRow: "ALTROW", tokenColInfo: "COLINFO", tokenColMetadata: "COLMETADATA",
	tokenDataClass: "DATACLASSIFICATION", tokenDone: "DONE", tokenDoneInProc: "DONEINPROC", tokenDoneProc: "DONEPROC",
	tokenEnvChange: "ENVCHANGE", tokenError: "ERROR", tokenFeatureExtAck: "FEATUREEXTACK", tokenFedAuthInfo: "FEDAUTHINFO",
	tokenInfo: "INFO", tokenLoginAck: "LOGINACK", tokenNBCRow: "NBCROW", tokenOffset: "OFFSET", tokenOrder: "ORDER",
	tokenReturnStatus: "RETURNSTATUS", tokenReturnValue: "RETURNVALUE", tokenRow: "ROW", tokenSessionState: "SESSIONSTATE",
	tokenSSPI: "SSPI", tokenTabName: "TABNAME",
}

// state is the field that the scanner reads next.
type state uint8

const (
	atToken state = iota
	atDone
	atSkipped // TABNAME, COLINFO
	atOrder
	atMessage
	atMessageText
	atMessageServer
	atMessageProc
	atMessageEnd
	atEnvSize
	atEnvType
	atEnvFirst
	atEnvSecond
	atEnvPacketSize
	atEnvCollation
	atEnvRouting
	atEnvRoutingEnd
	atLoginAck
	atLoginAckEnd
	atFeature
	atFeatureSize
	atFedAuth
	atFedAuthOption
	atSSPI
	atLoginEnd
	atColumns
	atColumn
	atColumnType
	atColumnNames
	atColumnName
	atRow
	atRowBits
	atValue
	atChunk
	atText
	atTextSize
	atVariant
	atVariantProps
	atReturnValue
	atReturnValueType
)

// scanner is the state of a Guard between two packets.
type scanner struct {
	state     state
	token     byte // current token
	attention bool // the last DONE acknowledged an attention

	acc  [32]byte // a field split between two packets
	got  int
	skip int64 // bytes to skip

	answer, messages, sets int64 // counts that the limits bound

	errs, errBytes int  // errors since the last DONE
	explained      bool // the answer has an ERROR
	queued         int  // queued tokens in the answer to a login
	suppressed     bool // only ENVCHANGE and the end of this answer go to the driver

	remaining int64 // unread bytes of the token or of its list
	env       byte
	count     int // options of FEDAUTHINFO
	size      int64
	columns   columns
	value     value
}

// position names the current token for error messages.
func (g *Guard) position() string {
	if g.state == atToken {
		return "its tokens, without a last DONE"
	}
	return tokenName(g.token)
}

func tokenName(t byte) string {
	if name := tokenNames[t]; name != "" {
		return name
	}
	return "a token"
}

// take returns the next n bytes, at most len(acc), or nil if the packet ends before. In that case
// it must be called again with the same n.
func (g *Guard) take(n int) []byte {
	if g.got == 0 && g.end-g.at >= n {
		b := g.buf[g.at : g.at+n]
		g.at += n
		return b
	}
	k := copy(g.acc[g.got:n], g.buf[g.at:g.end])
	g.got += k
	g.at += k
	if g.got < n {
		return nil
	}
	g.got = 0
	return g.acc[:n]
}

// scan reads the payload from at to end.
func (g *Guard) scan() error {
	for {
		if g.skip > 0 {
			n := min(g.skip, int64(g.end-g.at))
			g.skip -= n
			g.at += int(n)
		}
		if g.state == atLoginEnd && g.skip == 0 {
			g.endAnswer()
		}
		if g.at == g.end {
			break
		}
		if g.state == atToken && g.atRest.Load() {
			g.begin()
		}
		if err := g.step(); err != nil {
			return err
		}
	}
	g.flush()
	return nil
}

// begin begins an answer.
func (g *Guard) begin() {
	g.atRest.Store(false)
	g.columns.known = false
	g.errs, g.errBytes, g.attention, g.queued, g.suppressed = 0, 0, false, 0, false
	g.explained = false
	g.unexplained.Store(false)
}

// step reads one field.
func (g *Guard) step() error {
	switch g.state {
	case atToken:
		return g.startToken()
	case atRow, atRowBits, atValue, atChunk, atText, atTextSize, atVariant, atVariantProps:
		return g.rowStep()
	case atColumns, atColumn, atColumnType, atColumnNames, atColumnName, atReturnValue, atReturnValueType:
		return g.columnStep()
	case atLoginAck, atLoginAckEnd, atFeature, atFeatureSize, atFedAuth, atFedAuthOption, atSSPI:
		return g.loginStep()
	case atMessage, atMessageText, atMessageServer, atMessageProc, atMessageEnd:
		return g.messageStep()
	case atDone:
		return g.done()
	case atSkipped, atOrder:
		if b := g.take(2); b != nil {
			g.skip = int64(binary.LittleEndian.Uint16(b))
			if g.state == atOrder && g.skip > 2*maxColumns {
				return violation("an ORDER of %d columns", g.skip/2)
			}
			g.state = atToken
		}
		return nil
	default:
		return g.envStep()
	}
}

// startToken reads the first byte of a token and decides on its disposition.
func (g *Guard) startToken() error {
	t := g.buf[g.at]
	disposition, next := keep, atToken
	switch t {
	case tokenDone, tokenDoneInProc, tokenDoneProc:
		next = atDone
	case tokenInfo, tokenError:
		next = atMessage
		if t == tokenError && (g.errs >= keptErrors || g.errBytes >= keptErrorBytes) {
			disposition = drop
			g.dropped.Add(1)
		}
		g.errs += int(t&1 ^ 1)
		g.explained = g.explained || t == tokenError
		if g.messages++; g.limits.Messages > 0 && g.messages > g.limits.Messages {
			g.exceed("messages", g.limits.Messages, "")
		}
	case tokenEnvChange:
		next = atEnvSize
	case tokenLoginAck, tokenFeatureExtAck, tokenFedAuthInfo, tokenSSPI:
		if g.phase.Load() != phaseLogin {
			return violation("%s outside of a login", tokenName(t))
		}
		switch t {
		case tokenLoginAck:
			next = atLoginAck
		case tokenFeatureExtAck:
			next, g.remaining = atFeature, maxLogin
		case tokenFedAuthInfo:
			next = atFedAuth
		default:
			if next = atSSPI; !g.sspi.Load() {
				return violation("SSPI, which the login did not request")
			}
		}
	case tokenReturnStatus:
		g.skip = 4
	case tokenTabName, tokenColInfo:
		next = atSkipped
	case tokenOrder:
		next = atOrder
	case tokenColMetadata, tokenRow, tokenNBCRow, tokenReturnValue:
		if g.phase.Load() == phaseLogin {
			return violation("%s in the answer to a login", tokenName(t))
		}
		switch t {
		case tokenColMetadata:
			next = atColumns
			if Rows(g.rows.Load()) == NoRows {
				disposition = replace
			}
			if g.sets++; g.limits.ResultSets > 0 && g.sets > g.limits.ResultSets {
				g.exceed("result_sets", g.limits.ResultSets, "")
			}
		case tokenReturnValue:
			next = atReturnValue
			if Rows(g.rows.Load()) != AllRows {
				disposition = drop // the agent sends batches only, which return no values
			}
		default:
			if !g.columns.known {
				return violation("%s without COLMETADATA", tokenName(t))
			}
			if g.columns.replaced || Rows(g.rows.Load()) == NoRows {
				disposition = drop
			}
			if next = atRow; t == tokenNBCRow {
				next = atRowBits
			}
		}
	case tokenAltMetadata, tokenAltRow, tokenOffset, tokenSessionState, tokenDataClass:
		return violation("%s, which this client did not request", tokenName(t))
	default:
		return violation("unknown token 0x%02X", t)
	}
	if g.phase.Load() == phaseLogin {
		switch t {
		case tokenLoginAck, tokenFeatureExtAck, tokenDone, tokenDoneInProc, tokenDoneProc, tokenReturnStatus, tokenOrder:
			// The driver queues these tokens, and after a failed login nothing reads the queue.
			if g.queued++; g.queued > queuedInLogin {
				return violation("more than %d tokens in the answer to a login", queuedInLogin)
			}
		}
	}
	switch {
	case g.suppressed && t == tokenEnvChange:
		// The driver's reading goroutine handles ENVCHANGE itself and does not wait for a reader.
	case g.suppressed, g.errs > 0 && (t == tokenDone || t == tokenDoneProc) && g.stopsAtErrors():
		disposition = drop // done passes on the end of the answer
	}
	g.setDisposition(disposition)
	if next == atRow || next == atRowBits || next == atReturnValue {
		g.beginRow()
	}
	g.at++
	g.token, g.state = t, next
	return nil
}

// done reads DONE, DONEPROC and DONEINPROC: status, command, row count.
func (g *Guard) done() error {
	b := g.take(12)
	if b == nil {
		return nil
	}
	const more, wrong, acknowledged, fatal = 0x01, 0x02, 0x20, 0x100
	status := binary.LittleEndian.Uint16(b)
	if g.messages++; g.limits.Messages > 0 && g.messages > g.limits.Messages {
		g.exceed("messages", g.limits.Messages, "")
	}
	if g.attention = status&acknowledged != 0; g.attention && status&more != 0 {
		return violation("%s that acknowledges an attention and is not the last", tokenName(g.token))
	}
	if status&wrong != 0 && !g.attention && !g.explained {
		g.unexplained.Store(true)
	}
	g.state = atToken
	g.columns.known = false // the result set has ended, and the next one has columns of its own
	if g.token != tokenDoneInProc {
		if g.stopsAtErrors() && (status&wrong != 0 || g.errs > 0) {
			g.suppressed = true
		}
		g.errs, g.errBytes = 0, 0
	}
	if status&more == 0 || g.token != tokenDoneInProc && status&fatal != 0 {
		if g.suppressed && g.disposition == drop && g.err == nil {
			id := g.spid.Load()
			head := []byte{packetReply, 1, 0, headerSize + 13, byte(id >> 8), byte(id), 1, 0, g.token}
			g.tail = append(append(g.tail[:0], head...), b...)
		}
		g.endAnswer()
	}
	return nil
}

// stopsAtErrors reports whether the driver stops reading the current answer at its first DONE after
// an error, because no message queue takes everything. Its reading goroutine would wait for a
// reader for ever, and so would the connection's next user. The guard therefore drops what follows
// the first error, and this DONE too. Two kinds of tokens pass: each ENVCHANGE, which tells the
// driver that a transaction has ended, and the last DONE. They reach the driver in this order, so
// that the driver knows of the transaction's end before its caller knows of the error. Otherwise
// the next request could name a transaction that the server has rolled back (error 3989).
func (g *Guard) stopsAtErrors() bool {
	rows := Rows(g.rows.Load())
	return rows == AllRows || rows == OwnRows || g.phase.Load() == phaseLogin
}

// endAnswer ends an answer. The driver stops reading here and takes the next packet for the
// beginning of another answer.
func (g *Guard) endAnswer() {
	g.flush()
	g.at, g.run = g.end, g.end
	g.state = atToken
	g.atRest.Store(true)
}

// messageStep reads INFO and ERROR. The driver ignores the token's length, so that the fields must
// have this length.
func (g *Guard) messageStep() error {
	short := func() error { return violation("%s whose fields are not what its length says", tokenName(g.token)) }
	switch g.state {
	case atMessage: // length, number, state, class
		b := g.take(8)
		if b == nil {
			return nil
		}
		if g.token == tokenError && binary.LittleEndian.Uint32(b[2:]) == errReadOnly {
			g.readOnly.Store(true)
		}
		g.remaining = int64(binary.LittleEndian.Uint16(b)) - 6
		g.state = atMessageText
	case atMessageText:
		b := g.take(2)
		if b == nil {
			return nil
		}
		n := 2 * int64(binary.LittleEndian.Uint16(b))
		if g.remaining -= 2 + n; g.remaining < 0 {
			return short()
		}
		if g.token == tokenError {
			g.errBytes += int(n)
		}
		if most := g.limits.MessageBytes; most > 0 && n > most {
			g.exceed("message_bytes", most, fmt.Sprintf("a message of %d bytes", n))
		}
		g.skip, g.state = n, atMessageServer
	case atMessageServer, atMessageProc:
		b := g.take(1)
		if b == nil {
			return nil
		}
		n := 2 * int64(b[0])
		if g.remaining -= 1 + n; g.remaining < 0 {
			return short()
		}
		g.skip = n
		g.state++
	default:
		if g.remaining != 4 { // the line
			return short()
		}
		g.skip, g.state = 4, atToken
	}
	return nil
}
