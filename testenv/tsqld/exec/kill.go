package exec

import (
	"context"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// killWait bounds how long KILL waits for the other session's end. SQL Server's KILL does not wait at all; a session that
// ends at once is gone for whoever looks next, and a session that rolls back or hangs keeps nobody.
const killWait = time.Second

// kill is KILL. It returns when the other session has ended, or after killWait.
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
	case st.StatusOnly && other.dying():
		return r.info(mserr.New(6109, 10, "SPID %d: transaction rollback in progress. Estimated rollback completion: 0%%. Estimated time remaining: 0 seconds.", id))
	case st.StatusOnly:
		return mserr.New(6120, 16, "Status report cannot be obtained. Rollback operation for Process ID %d is not in progress.", id)
	}
	other.Kill()
	timer := time.NewTimer(killWait)
	defer timer.Stop()
	select {
	case <-other.ended:
	case <-timer.C:
	case <-r.ctx.Done():
		return r.canceled()
	}
	return nil
}

// endSessions kills sessions and waits until they have ended.
func (r *run) endSessions(list []*Session) error {
	for _, o := range list {
		o.Kill()
	}
	for _, o := range list {
		select {
		case <-o.ended:
		case <-r.ctx.Done():
			return r.canceled()
		}
	}
	return nil
}

// Kill ends the session's running request and refuses further ones; then it tells who owns the session to close it. It may
// be called by any goroutine.
func (s *Session) Kill() {
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

// OnKill sets what KILL calls after the running request was canceled: it must make the session's owner call Close soon, and
// must not wait for that. A session that was killed already calls it at once.
func (s *Session) OnKill(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onKill = f
	if s.killed {
		f()
	}
}

// dying reports a session that was killed and has not ended.
func (s *Session) dying() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.killed
}

// enter makes a database the session's current one as other sessions see it, if it may be used now.
func (s *Session) enter(id int) error {
	i := s.inst
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.admits(s, id); err != nil {
		return err
	}
	s.mu.Lock()
	s.request.database = id
	s.mu.Unlock()
	i.announceDeparture()
	return nil
}

// admits answers why a session may not use a database now: it is changing its state, offline (942), or open to few (923, 924).
// i.mu is held.
func (i *Instance) admits(s *Session, id int) error {
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
		return mserr.New(923, 14, "Database '%s' is in restricted mode. Only the database owner and members of the dbcreator and sysadmin roles can access it.", d.Name)
	case d.Options.SingleUser && i.hasOther(id, s):
		return mserr.New(924, 14, "Database '%s' is already open and can only have one user at a time.", d.Name)
	}
	return nil
}

// admission is admits for who does not hold i.mu.
func (i *Instance) admission(s *Session, id int) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.admits(s, id)
}

// hasOther reports whether a database is the current one of another session. i.mu is held.
func (i *Instance) hasOther(id int, except *Session) bool {
	for _, o := range i.sessions {
		if o != except && o.current() == id {
			return true
		}
	}
	return false
}

// occupied is hasOther for who does not hold i.mu.
func (i *Instance) occupied(id int, except *Session) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.hasOther(id, except)
}

// users are the sessions but one that use a database: it is their current one, or a transaction of theirs has locked it or waits to.
func (i *Instance) users(id int, except *Session) []*Session {
	var out []*Session
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

// announceDeparture wakes those who wait for a session to leave a database. i.mu is held.
func (i *Instance) announceDeparture() {
	if i.departure != nil {
		close(i.departure)
		i.departure = nil
	}
}

// nextDeparture is closed when a session has left a database or ended.
func (i *Instance) nextDeparture() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.departure == nil {
		i.departure = make(chan struct{})
	}
	return i.departure
}

// reserve keeps all other sessions from entering a database until release is called; false when another session has done so.
func (s *Session) reserve(ctx context.Context, id int) (release func(), ok bool) {
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
