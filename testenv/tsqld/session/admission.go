package session

import (
	"context"

	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// Enter checks that the session may use a database now, and publishes the database as the session's
// current one.
func (s *Session) Enter(id int) error {
	i := s.Server
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.checkAdmissionLocked(s, id); err != nil {
		return err
	}
	s.mu.Lock()
	s.request.database = id
	s.mu.Unlock()
	i.signalLeave()
	return nil
}

// checkAdmissionLocked returns an error if a session may not use a database now: the state of the
// database is changing (952), the database is offline (942), or its access is restricted (923,
// 924). i.mu must be held.
func (i *Server) checkAdmissionLocked(s *Session, id int) error {
	d := s.DatabaseByID(id)
	if d == nil {
		return nil
	}
	switch o := i.changing[id]; {
	case o != nil && o != s:
		return mserr.Of(952, d.Name)
	case d.Options.Offline:
		return mserr.DatabaseOffline(d.Name)
	case d.Options.RestrictedUser && !s.OwnsDatabase(d) && !s.ServerRole("dbcreator"):
		return mserr.Of(923, d.Name)
	case d.Options.SingleUser && i.hasOtherLocked(id, s):
		return mserr.Of(924, d.Name)
	}
	return nil
}

// checkAdmission is checkAdmissionLocked for callers that do not hold i.mu.
func (i *Server) checkAdmission(s *Session, id int) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.checkAdmissionLocked(s, id)
}

// hasOtherLocked reports whether a database is the current one of another session. i.mu must be
// held.
func (i *Server) hasOtherLocked(id int, except *Session) bool {
	for _, o := range i.sessions {
		if o != except && o.current() == id {
			return true
		}
	}
	return false
}

// HasOther is hasOtherLocked for callers that do not hold i.mu.
func (i *Server) HasOther(id int, except *Session) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.hasOtherLocked(id, except)
}

// Users returns the other sessions that use a database: it is their current database, or they hold
// or wait for its lock.
func (i *Server) Users(id int, except *Session) []*Session {
	var out []*Session
	locked := map[int]bool{}
	for _, l := range i.Locks.Locks() {
		if l.Resource.Database == id && l.Resource.Kind != lock.AppKind {
			locked[l.SPID] = true
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, o := range i.sessions {
		if o != except && (locked[o.id] || o.current() == id) {
			out = append(out, o)
		}
	}
	return out
}

// signalLeave wakes the goroutines that wait for a session to leave a database. i.mu must be held.
func (i *Server) signalLeave() {
	if i.leave != nil {
		close(i.leave)
		i.leave = nil
	}
}

// NextLeave returns a channel that is closed when a session leaves a database or ends.
func (i *Server) NextLeave() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.leave == nil {
		i.leave = make(chan struct{})
	}
	return i.leave
}

// Reserve keeps other sessions from entering a database until release is called. ok is false if
// another session has reserved the database.
func (s *Session) Reserve(ctx context.Context, id int) (release func(), ok bool) {
	i := s.Server
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.changing[id] != nil || ctx.Err() != nil {
		return nil, false
	}
	i.changing[id] = s
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.changing, id)
	}, true
}
