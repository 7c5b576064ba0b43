package exec

import "github.com/jobagent/jobagent/testenv/tsqld/session"

// States returns the states of the session, by ID.
func (s *Session) States() []session.State { return s.Options.States(s.lost()) }

// lost returns the bits of stateLost: what the session has and a new one would not have.
func (s *Session) lost() uint16 {
	var bits uint16
	for i, has := range []bool{
		s.Tran.Level > 0, len(s.Temps) > 0, len(s.cursors) > 0, len(s.TempProcedures) > 0, s.HasContext(),
		s.Impersonating(), s.Options.IdentityInsert != nil, s.bulk != nil, s.inst.Locks.Holds(s.LockOwner), s.HasGlobals(),
	} {
		if has {
			bits |= 1 << i
		}
	}
	return bits
}
