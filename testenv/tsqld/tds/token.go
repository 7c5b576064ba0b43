package tds

import (
	"encoding/binary"
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Tokens of the server's answers (MS-TDS 2.2.7).
const (
	tokenReturnStatus  = 0x79
	tokenColMetadata   = 0x81
	tokenTabName       = 0xA4
	tokenColInfo       = 0xA5
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

// DoneStatus is the status of a DONE, DONEPROC or DONEINPROC, a set of bits.
type DoneStatus uint16

// Status bits.
const (
	DoneMore      DoneStatus = 0x0001 // more of the answer follows
	DoneError     DoneStatus = 0x0002
	DoneCount     DoneStatus = 0x0010 // the count is valid
	DoneAttention DoneStatus = 0x0020 // acknowledges an attention; DONE only
	DoneFatal     DoneStatus = 0x0100 // the connection ends
)

// DoneKind is one of the three DONE tokens.
type DoneKind uint8

// The three tokens.
const (
	DoneBatch  DoneKind = tokenDone
	DoneProc   DoneKind = tokenDoneProc
	DoneInProc DoneKind = tokenDoneInProc
)

// CommandAttention is DONE's CurCmd with [DoneAttention]. MS-TDS does not define its values.
const CommandAttention = 0xFD

// AppendDone appends a DONE, DONEPROC or DONEINPROC.
func AppendDone(b []byte, kind DoneKind, status DoneStatus, command uint16, rows int64, v Version) []byte {
	b = append(b, byte(kind))
	b = binary.LittleEndian.AppendUint16(b, uint16(status))
	b = binary.LittleEndian.AppendUint16(b, command)
	if v.since72() {
		return binary.LittleEndian.AppendUint64(b, uint64(rows))
	}
	return binary.LittleEndian.AppendUint32(b, uint32(min(rows, 1<<31-1)))
}

// sized appends a token and its length in two bytes around the output of body.
func sized(b []byte, token byte, body func([]byte) []byte) []byte {
	at := len(b)
	b = body(append(b, token, 0, 0))
	binary.LittleEndian.PutUint16(b[at+1:], uint16(len(b)-at-3))
	return b
}

// maxMessage is the longest text of a message in characters; longer ones are truncated. RAISERROR
// allows 2047.
const maxMessage = 8000

// AppendMessage appends an ERROR (class over 10) or INFO. server is the server's name.
func AppendMessage(b []byte, m *mserr.Error, server string, v Version) []byte {
	token := byte(tokenInfo)
	if m.Class > 10 {
		token = tokenError
	}
	return sized(b, token, func(b []byte) []byte {
		b = binary.LittleEndian.AppendUint32(b, uint32(m.Number))
		b = append(b, m.State, m.Class)
		b = appendUSVarchar(b, m.Message, maxMessage)
		b = appendBVarchar(b, server)
		b = appendBVarchar(b, m.Proc)
		if v.since72() {
			return binary.LittleEndian.AppendUint32(b, uint32(m.Line))
		}
		return binary.LittleEndian.AppendUint16(b, uint16(m.Line))
	})
}

// LoginAck is the server's answer to a login.
type LoginAck struct {
	Version  Version
	Program  string  // server's product name
	Released [4]byte // version of the product: major, minor, build (big-endian)
}

// AppendLoginAck appends a LOGINACK.
func AppendLoginAck(b []byte, a LoginAck) []byte {
	return sized(b, tokenLoginAck, func(b []byte) []byte {
		b = append(b, 1) // SQL_TSQL
		b = binary.BigEndian.AppendUint32(b, uint32(a.Version))
		b = appendBVarchar(b, a.Program)
		return append(b, a.Released[:]...)
	})
}

// AppendSSPI appends an SSPI token: the server's answer in an integrated login (MS-TDS 2.2.7.22).
func AppendSSPI(b, token []byte) []byte {
	return sized(b, tokenSSPI, func(b []byte) []byte { return append(b, token...) })
}

// AppendFeatureExtAck appends a FEATUREEXTACK for the requested features that the server has:
// UTF8_SUPPORT, and SESSIONRECOVERY if states is not nil. states are those of the session. The
// absence of a feature declines it.
func AppendFeatureExtAck(b []byte, asked []Feature, states []session.State) []byte {
	b = append(b, tokenFeatureExtAck)
	for _, f := range asked {
		switch {
		case f.ID == FeatureUTF8:
			b = append(binary.LittleEndian.AppendUint32(append(b, f.ID), 1), 1)
		case f.ID == FeatureSessionRecovery && states != nil:
			data := AppendStates(nil, states)
			b = append(binary.LittleEndian.AppendUint32(append(b, f.ID), uint32(len(data))), data...)
		}
	}
	return append(b, featureEnd)
}

// Types of ENVCHANGE (MS-TDS 2.2.7.9).
const (
	envDatabase     = 1
	envLanguage     = 2
	envPacketSize   = 4
	envCollation    = 7
	envBeginTran    = 8
	envCommitTran   = 9
	envRollbackTran = 10
	envResetAck     = 18
)

// appendEnvText appends an ENVCHANGE with two texts.
func appendEnvText(b []byte, kind byte, value, old string) []byte {
	return sized(b, tokenEnvChange, func(b []byte) []byte {
		return appendBVarchar(appendBVarchar(append(b, kind), value), old)
	})
}

// AppendDatabaseChange appends the ENVCHANGE of the current database.
func AppendDatabaseChange(b []byte, name, old string) []byte {
	return appendEnvText(b, envDatabase, name, old)
}

// AppendLanguageChange appends the ENVCHANGE of the session's language.
func AppendLanguageChange(b []byte, name, old string) []byte {
	return appendEnvText(b, envLanguage, name, old)
}

// AppendPacketSizeChange appends the ENVCHANGE of the packet size, in bytes.
func AppendPacketSizeChange(b []byte, size, old int) []byte {
	return appendEnvText(b, envPacketSize, strconv.Itoa(size), strconv.Itoa(old))
}

// AppendCollationChange appends the ENVCHANGE of the collation of the current database. The old
// value is empty: go-mssqldb reads no other one.
func AppendCollationChange(b []byte, c types.Collation) []byte {
	return sized(b, tokenEnvChange, func(b []byte) []byte {
		return append(appendCollation(append(b, envCollation, 5), c), 0)
	})
}

// AppendTranBegun appends the ENVCHANGE of a transaction that began.
func AppendTranBegun(b []byte, descriptor uint64) []byte {
	return sized(b, tokenEnvChange, func(b []byte) []byte {
		return append(binary.LittleEndian.AppendUint64(append(b, envBeginTran, 8), descriptor), 0)
	})
}

// AppendTranEnded appends the ENVCHANGE of a transaction that was committed or rolled back.
func AppendTranEnded(b []byte, descriptor uint64, committed bool) []byte {
	kind := byte(envRollbackTran)
	if committed {
		kind = envCommitTran
	}
	return sized(b, tokenEnvChange, func(b []byte) []byte {
		return binary.LittleEndian.AppendUint64(append(b, kind, 0, 8), descriptor)
	})
}

// AppendResetAck appends the ENVCHANGE that acknowledges the reset of a session.
func AppendResetAck(b []byte) []byte {
	return sized(b, tokenEnvChange, func(b []byte) []byte { return append(b, envResetAck, 0, 0) })
}

// AppendReturnStatus appends the return code of a procedure.
func AppendReturnStatus(b []byte, code int32) []byte {
	return binary.LittleEndian.AppendUint32(append(b, tokenReturnStatus), uint32(code))
}

// AppendReturnValue appends the final value of an OUTPUT parameter; ordinal counts from 0. The
// error is a [*ValueError]; b is returned unchanged then.
func AppendReturnValue(b []byte, ordinal int, name string, t types.Type, val types.Value, v Version) ([]byte, error) {
	at := len(b)
	b = binary.LittleEndian.AppendUint16(append(b, tokenReturnValue), uint16(ordinal))
	b = appendBVarchar(b, name)
	b = append(b, 1) // an output parameter; not a function's result
	b = appendUserType(b, t, v)
	b = binary.LittleEndian.AppendUint16(b, columnNullable)
	b, err := AppendType(b, t, v)
	if err == nil {
		b, err = AppendValue(b, t, val, v)
	}
	if err != nil {
		return b[:at], err
	}
	return b, nil
}

// AppendType appends the TYPE_INFO of a parameter. The error is a [*ValueError]; b is returned
// unchanged then.
func AppendType(b []byte, t types.Type, v Version) ([]byte, error) {
	ti, err := wireType(t, formParam, v)
	if err != nil {
		return b, err
	}
	return appendTypeInfo(b, ti), nil
}

// AppendValue appends the value of a parameter, with its length. The error is a [*ValueError].
func AppendValue(b []byte, t types.Type, val types.Value, v Version) ([]byte, error) {
	ti, err := wireType(t, formParam, v)
	if err != nil {
		return b, err
	}
	return appendValue(b, ti, formParam, val)
}

// appendUserType appends the UserType of a column or value.
func appendUserType(b []byte, t types.Type, v Version) []byte {
	n := uint32(0)
	if t.ID == types.RowVersion {
		n = userTypeTimestamp
	}
	if v.since72() {
		return binary.LittleEndian.AppendUint32(b, n)
	}
	return binary.LittleEndian.AppendUint16(b, uint16(n))
}
