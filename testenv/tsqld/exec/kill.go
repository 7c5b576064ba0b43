package exec

import (
	"context"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// killWait limits how long KILL waits for the end of the other session. SQL Server's KILL does not
// wait. With the wait, a session that ends at once is gone before the next statement runs. The
// limit bounds the delay caused by a session that rolls back or hangs.
const killWait = time.Second

// kill executes KILL. It returns when the other session has ended, or after killWait.
func (r *run) kill(st *syntax.KillStmt) error {
	v, t, err := r.eval(st.Session)
	if err != nil {
		return err
	}
	if uow, ok := v.(string); ok && t.IsCharacter() {
		return mserr.New(6110, 16, "The distributed transaction with UOW {%s} does not exist.", uow)
	}
	id, _ := v.(int64)
	switch {
	case !r.s.mayServer("ALTER ANY CONNECTION") && !r.s.serverRole("processadmin"):
		return mserr.New(6102, 14, "User does not have permission to use the KILL statement.")
	case r.s.tran.level > 0:
		return mserr.New(6115, 16, "KILL command cannot be used inside user transactions.")
	case id == int64(r.s.id) && !st.StatusOnly:
		return mserr.KillSelf()
	case id < 1 || id > 32767:
		return mserr.InvalidSPID(id)
	}
	other := r.s.inst.session(int(id))
	switch {
	case other == nil:
		return mserr.NoProcess(id)
	case st.StatusOnly && other.isKilled():
		return r.info(mserr.New(6109, 10,
			"SPID %d: transaction rollback in progress. Estimated rollback completion: 0%%. Estimated time remaining: 0 seconds.",
			id))
	case st.StatusOnly:
		return mserr.New(6120, 16,
			"Status report cannot be obtained. Rollback operation for Process ID %d is not in progress.", id)
	}
	other.Kill()
	timer := time.NewTimer(killWait)
	defer timer.Stop()
	select {
	case <-other.ended:
	case <-timer.C:
	case <-r.ctx.Done():
		return r.s.canceled(r.ctx)
	}
	return nil
}

// endSessions kills sessions and waits until they have ended.
func (s *core) endSessions(ctx context.Context, list []*core) error {
	for _, o := range list {
		o.Kill()
	}
	for _, o := range list {
		select {
		case <-o.ended:
		case <-ctx.Done():
			return s.canceled(ctx)
		}
	}
	return nil
}

// Kill cancels the current request of the session and makes further requests fail. Then it calls
// the function of OnKill. Kill is safe for concurrent use.
func (s *core) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.killed {
		return
	}
	s.killed = true
	if s.cancel != nil {
		s.cancel(ErrKilled)
	}
	if s.onKill != nil {
		s.onKill()
	}
}

// OnKill sets the function that Kill calls after it has canceled the current request. The function
// must make the owner of the session call Close soon, and must not block. If the session was killed
// before, OnKill calls the function at once.
func (s *core) OnKill(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onKill = f
	if s.killed {
		f()
	}
}

// isKilled reports whether the session was killed.
func (s *core) isKilled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.killed
}

// enter checks that the session may use a database now, and publishes the database as the session's
// current one.
func (s *core) enter(id int) error {
	i := s.inst
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
func (i *server) checkAdmissionLocked(s *core, id int) error {
	d := s.databaseByID(id)
	if d == nil {
		return nil
	}
	switch o := i.changing[id]; {
	case o != nil && o != s:
		return mserr.New(952, 16, "Database '%s' is in transition. Try the statement later.", d.Name)
	case d.Options.Offline:
		return mserr.DatabaseOffline(d.Name)
	case d.Options.RestrictedUser && !s.ownsDatabase(d) && !s.serverRole("dbcreator"):
		return mserr.New(923, 14,
			"Database '%s' is in restricted mode. Only the database owner and members of the dbcreator and sysadmin roles can access it.",
			d.Name)
	case d.Options.SingleUser && i.hasOtherLocked(id, s):
		return mserr.New(924, 14, "Database '%s' is already open and can only have one user at a time.", d.Name)
	}
	return nil
}

// checkAdmission is checkAdmissionLocked for callers that do not hold i.mu.
func (i *server) checkAdmission(s *core, id int) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.checkAdmissionLocked(s, id)
}

// hasOtherLocked reports whether a database is the current one of another session. i.mu must be
// held.
func (i *server) hasOtherLocked(id int, except *core) bool {
	for _, o := range i.sessions {
		if o != except && o.current() == id {
			return true
		}
	}
	return false
}

// hasOther is hasOtherLocked for callers that do not hold i.mu.
func (i *server) hasOther(id int, except *core) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.hasOtherLocked(id, except)
}

// users returns the other sessions that use a database: it is their current database, or they hold
// or wait for its lock.
func (i *server) users(id int, except *core) []*core {
	var out []*core
	locked := map[int]bool{}
	for _, l := range i.locks.Locks() {
		if l.Resource.Database == id && !l.Resource.App {
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
func (i *server) signalLeave() {
	if i.leave != nil {
		close(i.leave)
		i.leave = nil
	}
}

// nextLeave returns a channel that is closed when a session leaves a database or ends.
func (i *server) nextLeave() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.leave == nil {
		i.leave = make(chan struct{})
	}
	return i.leave
}

// reserve keeps other sessions from entering a database until release is called. ok is false if
// another session has reserved the database.
func (s *core) reserve(ctx context.Context, id int) (release func(), ok bool) {
	i := s.inst
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
