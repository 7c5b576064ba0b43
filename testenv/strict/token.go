package strict

import (
	"encoding/binary"
	"strconv"
)

// Tokens (MS-TDS 2.2.7).
const (
	tokenReturnStatus  = 0x79
	tokenColMetadata   = 0x81
	tokenTabName       = 0xA4
	tokenColInfo       = 0xA5
	tokenOrder         = 0xA9
	tokenError         = 0xAA
	tokenInfo          = 0xAB
	tokenReturnValue   = 0xAC
	tokenLoginAck      = 0xAD
	tokenSSPI          = 0xED
	tokenFeatureExtAck = 0xAE
	tokenRow           = 0xD1
	tokenNBCRow        = 0xD2
	tokenEnvChange     = 0xE3
	tokenSessionState  = 0xE4
	tokenDone          = 0xFD
	tokenDoneProc      = 0xFE
	tokenDoneInProc    = 0xFF
)

// Bits of the status of a DONE (MS-TDS 2.2.7.6 to 2.2.7.8).
const (
	doneMore       = 0x0001
	doneError      = 0x0002
	doneInTran     = 0x0004
	doneCount      = 0x0010
	doneAttention  = 0x0020
	doneRPCInBatch = 0x0080
	doneFatal      = 0x0100
)

// Result is a result set.
type Result struct {
	Columns []Column
	Rows    [][]any // values as [Column.Decode] gives them
	Command uint16  // command of its DONE
}

// token reads one token.
func (r *Reader) token() {
	d, m := &r.d, &r.m
	d.token = 0
	t := d.u8()
	d.token = t
	if m.final {
		d.fail("a token after the final DONE")
	}
	if m.returned && t != tokenReturnValue && t != tokenDoneProc && t != tokenError && t != tokenInfo && t != tokenEnvChange && t != tokenSessionState {
		d.fail("after a RETURNSTATUS, before its DONEPROC")
	}
	if !r.loggedIn && !m.login {
		switch t {
		case tokenError, tokenInfo, tokenEnvChange, tokenLoginAck, tokenSSPI, tokenDone:
		default:
			d.fail("before the LOGINACK")
		}
	}
	if m.before == tokenSessionState && t != tokenSessionState && t != tokenDone && t != tokenDoneProc {
		d.fail("after a SESSIONSTATE, before the final DONE")
	}
	switch t {
	case tokenColMetadata:
		r.colMetadata()
	case tokenTabName:
		if m.before != tokenColMetadata {
			d.fail("a TABNAME that does not follow COLMETADATA")
		}
		d.within(int(d.u16()), r.tabName)
	case tokenColInfo:
		if m.before != tokenColMetadata && m.before != tokenTabName {
			d.fail("a COLINFO that does not follow COLMETADATA or TABNAME")
		}
		d.within(int(d.u16()), r.colInfo)
	case tokenOrder:
		if !m.result || m.rows > 0 {
			d.fail("an ORDER outside of a result set, or after rows")
		}
		d.within(int(d.u16()), func(e *decoder) {
			for e.left() > 0 {
				if n := int(e.u16()); n > len(m.cols) {
					e.fail("an ORDER by column %d of %d", n, len(m.cols))
				}
			}
		})
	case tokenRow, tokenNBCRow:
		r.row(t == tokenNBCRow)
	case tokenError, tokenInfo:
		d.within(int(d.u16()), func(e *decoder) { r.problem(e, t) })
	case tokenEnvChange:
		d.within(int(d.u16()), r.envChange)
	case tokenSessionState:
		d.within(int(d.u32()), r.sessionState)
	case tokenReturnStatus:
		if m.result {
			d.fail("a RETURNSTATUS inside a result set")
		}
		d.u32()
		m.returned = true
	case tokenReturnValue:
		r.returnValue()
	case tokenLoginAck:
		if r.loggedIn || m.login {
			d.fail("a second LOGINACK")
		}
		d.within(int(d.u16()), r.loginAck)
		m.login = true
	case tokenSSPI:
		if r.loggedIn || m.login {
			d.fail("an SSPI token after the LOGINACK")
		}
		m.proof = true
		d.within(int(d.u16()), func(e *decoder) {
			for e.left() > 0 {
				e.u8()
			}
		})
	case tokenFeatureExtAck:
		r.features()
	case tokenDone, tokenDoneProc, tokenDoneInProc:
		r.done(t)
	default:
		d.fail("not a token of a server")
	}
	m.before = t
}

// tabName reads the names of tables (MS-TDS 2.2.7.23).
func (r *Reader) tabName(e *decoder) {
	for e.left() > 0 {
		r.m.tables++
		r.tableName(e, r.version > 0x71000000)
	}
	if r.m.tables == 0 {
		e.fail("a TABNAME without tables")
	}
}

// tableName reads the name of one table, which must not be empty.
func (r *Reader) tableName(e *decoder, inParts bool) string {
	if !inParts {
		return e.usVarchar()
	}
	n, name := int(e.u8()), ""
	if n > 4 {
		e.fail("the name of a table in %d parts", n)
	}
	for i := range n {
		name = e.usVarchar()
		if i == n-1 && name == "" {
			e.fail("a table without a name")
		}
	}
	return name
}

// colInfo reads the origins of columns (MS-TDS 2.2.7.3).
func (r *Reader) colInfo(e *decoder) {
	for i := range r.m.cols {
		n, table, status := e.u8(), int(e.u8()), e.u8()
		const expression, key, hidden, renamed = 4, 8, 16, 32
		switch {
		case n != byte(i+1):
			e.fail("column %d in the place of column %d", n, i+1)
		case status&^(expression|key|hidden|renamed) != 0:
			e.fail("column %d with status %#02x", n, status)
		case status&expression != 0 && (table != 0 || status != expression):
			e.fail("column %d is an expression with table %d and status %#02x", n, table, status)
		case status&expression == 0 && (table == 0 || table > r.m.tables):
			e.fail("column %d of table %d of %d", n, table, r.m.tables)
		case status&hidden != 0 && status&key == 0:
			e.fail("column %d is hidden but not a key", n)
		}
		if status&renamed != 0 {
			if name := e.bVarchar(); name == "" || name == r.m.cols[i].Name {
				e.fail("column %d has the base name %q, which equals its name", n, name)
			}
		}
	}
}

// problem reads an ERROR or INFO (MS-TDS 2.2.7.10, 2.2.7.13).
func (r *Reader) problem(e *decoder, t byte) {
	number, state, class := int32(e.u32()), e.u8(), e.u8()
	e.usVarchar()
	if e.bVarchar() == "" {
		e.fail("message %d without a server", number)
	}
	e.bVarchar()
	if r.wide() {
		e.u32()
	} else {
		e.u16()
	}
	switch {
	case t == tokenError && class <= 10, t == tokenInfo && class > 9:
		e.fail("message %d of class %d, state %d", number, class, state)
	case class > 25:
		e.fail("message %d of class %d", number, class)
	}
	if t == tokenError {
		r.m.errorSent = true
	}
}

// envChange reads an ENVCHANGE (MS-TDS 2.2.7.9).
func (r *Reader) envChange(e *decoder) {
	bytes := func() []byte { return e.take(int(e.u8())) }
	switch kind := e.u8(); kind {
	case 1, 2, 4:
		value, old := e.bVarchar(), e.bVarchar()
		switch kind {
		case 1:
			if r.database != "" && old != r.database {
				e.fail("the database changes from %q instead of %q", old, r.database)
			}
			r.database = value
		case 4:
			n, err := strconv.Atoi(value)
			if err != nil || n < 512 || n > 32767 {
				e.fail("packets of %q bytes", value)
			}
			r.packetSize = max(r.packetSize, n) // this message may still use the old size
		}
		if value == "" {
			e.fail("a change of kind %d to nothing", kind)
		}
	case 7:
		if n := len(bytes()); n != 5 {
			e.fail("a collation of %d bytes", n)
		}
		if n := len(bytes()); n != 0 && n != 5 {
			e.fail("an old collation of %d bytes", n)
		}
	case 8, 9, 10:
		value, old := bytes(), bytes()
		if kind != 8 {
			value, old = old, value
		}
		if len(value) != 8 || len(old) != 0 {
			e.fail("the change of a transaction with %d and %d bytes", len(value), len(old))
		}
		switch id := binary.LittleEndian.Uint64(value); {
		case id == 0:
			e.fail("a transaction without a descriptor")
		case kind == 8 && r.tran != 0:
			e.fail("transaction %#x begins inside %#x", id, r.tran)
		case kind == 8:
			r.tran = id
		case id != r.tran:
			e.fail("transaction %#x ends while %#x is open", id, r.tran)
		default:
			r.tran = 0
		}
	case 18:
		if a, b := len(bytes()), len(bytes()); a != 0 || b != 0 {
			e.fail("the acknowledgment of a reset with %d and %d bytes", a, b)
		}
		if !r.reset {
			e.fail("an acknowledgment without a reset")
		}
		r.reset = false
	default:
		e.fail("an ENVCHANGE of kind %d", kind)
	}
}

// loginAck reads a LOGINACK (MS-TDS 2.2.7.14).
func (r *Reader) loginAck(e *decoder) {
	if kind := e.u8(); kind != 1 {
		e.fail("interface %d", kind)
	}
	v := binary.BigEndian.Uint32(e.take(4))
	switch v {
	case 0x71000000, 0x71000001, 0x72090002, 0x730A0003, 0x730B0003, 0x74000004, 0x08000000:
	default:
		e.fail("TDS version %#08x", v)
	}
	if (v == 0x08000000 || v >= 0x72000000) != r.wide() {
		e.fail("TDS version %#08x with messages in the form of another", v)
	}
	r.version = v
	if e.bVarchar() == "" {
		e.fail("a program without a name")
	}
	e.take(4)
}

// features reads a FEATUREEXTACK (MS-TDS 2.2.7.11).
func (r *Reader) features() {
	d := &r.d
	if !r.m.login || r.version < 0x74000000 && r.version != 0x08000000 {
		d.fail("a FEATUREEXTACK outside of a login of TDS 7.4")
	}
	seen := map[byte]bool{}
	for {
		id := d.u8()
		if id == 0xFF {
			return
		}
		if seen[id] {
			d.fail("feature %d twice", id)
		}
		seen[id] = true
		data := d.take(int(d.u32()))
		r.recovery = r.recovery || id == 1
		if id == 10 && (len(data) != 1 || data[0] > 1) {
			d.fail("UTF8_SUPPORT with % x", data)
		}
	}
}

// done reads a DONE, DONEPROC or DONEINPROC.
func (r *Reader) done(t byte) {
	d, m := &r.d, &r.m
	status, command := d.u16(), d.u16()
	var count uint64
	if r.wide() {
		count = d.u64()
	} else {
		count = uint64(d.u32())
	}
	allowed := uint16(doneMore | doneError | doneInTran | doneCount | doneFatal)
	switch t {
	case tokenDone:
		allowed |= doneAttention
	case tokenDoneProc:
		allowed |= doneRPCInBatch
	}
	switch {
	case status&^allowed != 0:
		d.fail("status %#04x", status)
	case status&doneCount == 0 && count != 0:
		d.fail("a count of %d that is not valid", count)
	case m.result && status&doneCount != 0 && count != uint64(m.rows):
		d.fail("a count of %d after %d rows", count, m.rows)
	case m.result && command == 0 && !r.cut && status&(doneError|doneFatal) == 0:
		d.fail("the end of a result set without a command")
	case t == tokenDone && m.inProc && !r.cut && status&(doneError|doneFatal) == 0:
		d.fail("a DONE after a DONEINPROC, which DONEPROC must follow") // except if an error ends the batch
	case t == tokenDoneInProc && status&doneMore == 0:
		d.fail("the answer ends with a DONEINPROC")
	case status&doneError != 0 && !m.errorSent && !r.cut:
		d.fail("error bit without an ERROR")
	case status&(doneError|doneFatal) == 0 && m.errorSent:
		d.fail("no error bit after an ERROR")
	case m.returned && t != tokenDoneProc:
		d.fail("after a RETURNSTATUS, before its DONEPROC")
	}
	if status&doneAttention != 0 {
		if r.attentions == 0 {
			d.fail("an acknowledgment without an attention")
		}
		r.attentions-- // one acknowledgment covers several attentions
		r.attentions = 0
		m.ack, r.cut = true, false
	}
	if m.result && r.OnResult != nil && m.kept != nil {
		m.kept.Command = command
		r.OnResult(m.kept)
	}
	if m.login && t == tokenDone && status&doneError == 0 {
		r.loggedIn = true
	}
	m.result, m.cols, m.rows, m.kept, m.tables = false, nil, 0, nil, 0
	m.errorSent, m.returned = false, false
	m.inProc = t == tokenDoneInProc
	m.final = status&doneMore == 0
	if m.before == tokenSessionState && !m.final {
		d.fail("a SESSIONSTATE before a DONE that is not final")
	}
}

// sessionState reads a SESSIONSTATE (MS-TDS 2.2.7.21).
func (r *Reader) sessionState(e *decoder) {
	if !r.recovery {
		e.fail("a SESSIONSTATE for a client without the feature")
	}
	if n := e.u32(); n != r.states {
		e.fail("SESSIONSTATE %d has the number %d", r.states, n)
	}
	r.states++
	if status := e.u8(); status > 1 {
		e.fail("a SESSIONSTATE with the status %#02x", status)
	}
	if e.left() == 0 {
		e.fail("a SESSIONSTATE without a state")
	}
	for e.left() > 0 {
		e.u8()
		n := int(e.u8())
		if n == 0xFF {
			n = int(e.u32())
		}
		e.take(n)
	}
}
