package session

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// State is a part of a session's state that the client keeps for the server (MS-TDS 2.2.7.21). If
// the connection breaks, the client logs in again with its states, and the new session continues
// with them (connection resiliency). The meaning of a value is the server's own.
type State struct {
	ID    uint8
	Value []byte
	// Lost says that the session could not be recovered in this state.
	Lost bool
}

// Recovery is the data of a login that recovers a session: the database, the language and the
// states after its first login, and the last ones. Empty texts and missing states of Current are
// those of Initial.
type Recovery struct{ Initial, Current RecoveryPart }

// RecoveryPart is one of the two parts of a Recovery.
type RecoveryPart struct {
	Database, Language string
	States             []State
}

// The IDs of states. Their values are little endian.
const (
	stateFlags     = iota // number of the ON/OFF options (1 byte), one bit for each (8 bytes)
	stateDates            // DATEFORMAT, DATEFIRST
	stateIsolation        // 1 byte
	stateDeadlock         // DEADLOCK_PRIORITY, 1 byte
	stateLock             // LOCK_TIMEOUT, 4 bytes
	stateRowCount         // ROWCOUNT, 8 bytes
	stateTextSize         // TEXTSIZE, 4 bytes
	stateContext          // CONTEXT_INFO, 128 bytes or none
	stateLost             // a bit for each thing that cannot be recovered, 2 bytes
	stateCount
)

// flagNames are the ON/OFF options of stateFlags, in the order of the bits.
var flagNames = func() []string {
	names := slices.Sorted(maps.Keys(toggles))
	return slices.DeleteFunc(names, func(name string) bool { return toggles[name].get == nil })
}()

// flags returns the bits of stateFlags.
func (o *Options) flags() uint64 {
	var bits uint64
	for i, name := range flagNames {
		if *toggles[name].get(o) {
			bits |= 1 << i
		}
	}
	return bits
}

// InitialStates returns the states to which a reset returns.
func (s *Session) InitialStates() []State { return s.base.States(0) }

// States returns the states of a session with the options, by ID.
func (o *Options) States(lost uint16) []State {
	le := binary.LittleEndian
	return []State{
		{ID: stateFlags, Value: le.AppendUint64([]byte{byte(len(flagNames))}, o.flags())},
		{ID: stateDates, Value: []byte{byte(o.Locale.Order), byte(o.DateFirst)}},
		{ID: stateIsolation, Value: []byte{byte(o.Isolation)}},
		{ID: stateDeadlock, Value: []byte{byte(int8(o.deadlockPriority))}},
		{ID: stateLock, Value: le.AppendUint32(nil, uint32(int32(o.LockTimeout)))},
		{ID: stateRowCount, Value: le.AppendUint64(nil, uint64(o.RowCount))},
		{ID: stateTextSize, Value: le.AppendUint32(nil, uint32(o.TextSize))},
		{ID: stateContext, Value: o.ContextInfo},
		{ID: stateLost, Value: le.AppendUint16(nil, lost), Lost: lost != 0},
	}
}

// errInvalidState is the error of a state that no session can have.
var errInvalidState = errors.New("invalid state of a session")

// set sets the part of the options that a state has.
func (o *Options) set(st State) error {
	le, v := binary.LittleEndian, st.Value
	sizes := map[uint8]int{
		stateFlags: 9, stateDates: 2, stateIsolation: 1, stateDeadlock: 1, stateLock: 4, stateRowCount: 8, stateTextSize: 4,
		stateContext: 128, stateLost: 2,
	}
	size, known := sizes[st.ID]
	if !known || len(v) != size && (st.ID != stateContext || len(v) != 0) {
		return errInvalidState
	}
	valid := true
	switch st.ID {
	case stateFlags:
		return o.setFlags(int(v[0]), le.Uint64(v[1:]))
	case stateDates:
		o.Locale.Order, o.DateFirst = types.DateOrder(v[0]), int(v[1])
		valid = o.Locale.Order <= types.DYM && o.DateFirst >= 1 && o.DateFirst <= 7
	case stateIsolation:
		o.Isolation = syntax.Isolation(v[0])
		valid = o.Isolation >= syntax.ReadUncommitted && o.Isolation <= syntax.Snapshot
	case stateDeadlock:
		o.deadlockPriority = int(int8(v[0]))
		valid = o.deadlockPriority >= -10 && o.deadlockPriority <= 10
	case stateLock:
		o.LockTimeout = int(int32(le.Uint32(v)))
		valid = o.LockTimeout >= -1
	case stateRowCount:
		o.RowCount = int64(le.Uint64(v))
		valid = o.RowCount >= 0
	case stateTextSize:
		o.TextSize = int(int32(le.Uint32(v)))
		valid = o.TextSize > 0
	case stateContext:
		o.ContextInfo = v[:len(v):len(v)]
		if len(v) == 0 {
			o.ContextInfo = nil
		}
	case stateLost:
		valid = le.Uint16(v) == 0
	}
	if !valid {
		return errInvalidState
	}
	return nil
}

// setFlags sets the ON/OFF options. It sets no combination that SET refuses.
func (o *Options) setFlags(count int, bits uint64) error {
	if count != len(flagNames) || bits>>count != 0 {
		return errInvalidState
	}
	for _, on := range []bool{true, false} { // some options must not be OFF together, not even in between
		for i, name := range flagNames {
			if bits>>i&1 == 1 != on || *toggles[name].get(o) == on {
				continue
			}
			if err := o.SetFlag(name, on); err != nil {
				return err
			}
		}
	}
	if o.flags() != bits {
		return errInvalidState
	}
	return nil
}

// setPart sets the language and the states of a part.
func (o *Options) setPart(p *RecoveryPart) error {
	if p.Language != "" {
		language := types.LanguageByName(p.Language)
		if language == nil {
			return errInvalidState
		}
		o.SetLanguage(language)
	}
	for i, st := range p.States {
		if slices.ContainsFunc(p.States[:i], func(other State) bool { return other.ID == st.ID }) {
			return errInvalidState
		}
		if err := o.set(st); err != nil {
			return err
		}
	}
	return nil
}

// recover sets the state of the session whose connection the client has lost. A reset returns to
// the state of its first login. Error 17832 for states that the server has not sent, and 4060 for a
// database that cannot be used any more. ("Validate the content in SessionRecoveryData, and fail
// the login if any data is invalid or any unknown session state exists", MS-TDS 2.2.6.4.)
func (s *Session) recover(l *Login) error {
	r := l.Recovery
	if err := s.Options.setPart(&r.Initial); err != nil {
		return &LoginError{mserr.InvalidLoginPacket(), "session recovery: " + err.Error()}
	}
	s.base = s.Options
	if err := s.Options.setPart(&r.Current); err != nil {
		return &LoginError{mserr.InvalidLoginPacket(), "session recovery: " + err.Error()}
	}
	s.SetPriority(s.Options.deadlockPriority)
	if r.Current.Database == "" {
		return nil
	}
	d := s.DatabaseByName(r.Current.Database)
	if d != nil {
		if _, ok := s.Login.UserIn(d); !ok || s.Enter(d.ID) != nil {
			d = nil
		}
	}
	if d == nil {
		return &LoginError{mserr.CannotOpenDatabase(r.Current.Database), "session recovery: the database cannot be used"}
	}
	s.DatabaseID = d.ID
	s.PublishState()
	return nil
}
