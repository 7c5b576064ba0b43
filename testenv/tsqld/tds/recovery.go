package tds

import (
	"bytes"
	"encoding/binary"

	"github.com/jobagent/jobagent/testenv/tsqld/session"
)

// RecoveryPart is one of the two states of a session in the feature SESSIONRECOVERY (MS-TDS
// 2.2.6.4): the one after the login, or the last one before the connection was lost.
type RecoveryPart struct {
	Database  string
	Collation []byte // 5 bytes, or none
	Language  string
	States    []session.State
}

// Recovery is what a client knows of a session whose connection it has lost. Empty texts and
// missing states of Current are those of Initial.
type Recovery struct{ Initial, Current RecoveryPart }

// maxRecoveryText is the maximum length of the texts in characters (MS-TDS 2.2.6.4).
const maxRecoveryText = 128

// ReadRecovery reads the data of the feature SESSIONRECOVERY in a login. It returns nil for a login
// that recovers nothing.
func ReadRecovery(data []byte) (*Recovery, error) {
	if len(data) == 0 {
		return nil, nil
	}
	d := newDecoder("session recovery", data)
	r := &Recovery{Initial: readRecoveryPart(d), Current: readRecoveryPart(d)}
	if d.left() > 0 {
		d.failf("%d bytes too many", d.left())
	}
	if d.err != nil {
		return nil, d.err
	}
	return r, nil
}

// readRecoveryPart reads one state of a session.
func readRecoveryPart(d *decoder) RecoveryPart {
	n := d.u32()
	if int64(n) > int64(d.left()) {
		d.failf("a part of %d bytes", n)
		return RecoveryPart{}
	}
	e := newDecoder(d.what, d.take(int(n)))
	text := func() string {
		length := int(e.u8())
		if length > maxRecoveryText {
			e.failf("a text of %d characters", length)
		}
		return decodeUTF16(e.take(2 * length))
	}
	var p RecoveryPart
	p.Database = text()
	if length := int(e.u8()); length == 0 || length == 5 {
		p.Collation = append([]byte(nil), e.take(length)...)
	} else {
		e.failf("a collation of %d bytes", length)
	}
	p.Language = text()
	p.States = readStates(e)
	if e.err != nil {
		d.fail(e.err)
	}
	return p
}

// readStates reads the rest of d as a SessionStateDataSet (MS-TDS 2.2.7.21).
func readStates(d *decoder) []session.State {
	var states []session.State
	for d.left() > 0 {
		id, length := d.u8(), uint32(d.u8())
		if length == 0xFF {
			length = d.u32()
		}
		if int64(length) > int64(d.left()) {
			d.failf("state %d with %d bytes", id, length)
			return nil
		}
		states = append(states, session.State{ID: id, Value: append([]byte{}, d.take(int(length))...)})
	}
	return states
}

// AppendStates appends a SessionStateDataSet.
func AppendStates(b []byte, states []session.State) []byte {
	for _, s := range states {
		b = append(b, s.ID)
		if len(s.Value) < 0xFF {
			b = append(b, byte(len(s.Value)))
		} else {
			b = binary.LittleEndian.AppendUint32(append(b, 0xFF), uint32(len(s.Value)))
		}
		b = append(b, s.Value...)
	}
	return b
}

// SessionStates follows the state of a session that its client can recover.
type SessionStates struct {
	initial []session.State // after the login and after a reset
	told    []session.State // as the client knows it
	next    uint32          // number of the next SESSIONSTATE
	ended   bool            // the numbers are used up: the client can recover nothing any more
}

// NewSessionStates starts with the states after a login. A recovered session has other initial
// states.
func NewSessionStates(initial, current []session.State) *SessionStates {
	return &SessionStates{initial: initial, told: current}
}

// Reset notes that the client knows of a reset, after which both sides start with the initial
// states again (MS-TDS 2.2.6.4).
func (s *SessionStates) Reset() { s.told = s.initial }

// lastNumber is the number of a SESSIONSTATE after which both sides end the feature (MS-TDS
// 2.2.7.21).
const lastNumber = 1<<32 - 1

// AppendChanges appends SESSIONSTATE tokens for the states that have changed. A DONE must follow
// which ends the message.
func (s *SessionStates) AppendChanges(b []byte, current []session.State) []byte {
	var good, bad []session.State
	for i, c := range current {
		if i < len(s.told) && s.told[i].Lost == c.Lost && bytes.Equal(s.told[i].Value, c.Value) {
			continue
		}
		if c.Lost {
			bad = append(bad, c)
		} else {
			good = append(good, c)
		}
	}
	s.told = current
	return s.append(s.append(b, good, true), bad, false)
}

// append appends one SESSIONSTATE, unless there are no states.
func (s *SessionStates) append(b []byte, states []session.State, recoverable bool) []byte {
	if len(states) == 0 || s.ended {
		return b
	}
	s.ended = s.next == lastNumber
	status := byte(0)
	if recoverable && !s.ended {
		status = 1 // fRecoverable
	}
	at := len(b)
	b = append(b, tokenSessionState, 0, 0, 0, 0)
	b = append(binary.LittleEndian.AppendUint32(b, s.next), status)
	b = AppendStates(b, states)
	binary.LittleEndian.PutUint32(b[at+1:], uint32(len(b)-at-5))
	s.next++
	return b
}
