package exec

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog/sysviews"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// materialize fills the temporary table of a system row set.
func (r *run) materialize(ref *compile.SystemRef) error {
	s := r.s
	t := ref.Table
	d := s.databaseByID(ref.DatabaseID)
	if d == nil {
		return mserr.NoDatabase(strconv.Itoa(ref.DatabaseID))
	}
	if err := s.beginRead(r.ctx, &compile.Needs{Databases: []int{d.ID}}, r.f.unit, false, false); err != nil {
		return err
	}
	e := &sysviews.Env{
		Snapshot: s.inst.catalog.Snapshot(), Database: d, Principal: s.principal(d),
		SeeAll:      s.sysadmin() || s.principal(d) == catalog.PrincipalDBO,
		SeeLogins:   s.sysadmin(),
		SeeSessions: s.mayServer("VIEW SERVER PERFORMANCE STATE"),
		Conn:        s.conn, Login: s.ownLogin(),
		Server: s.inst.cfg.ServerName, Started: types.RoundDateTime(types.TicksOf(s.inst.started)),
		Path:  s.inst.store.Path,
		Shape: func(v *sysviews.SystemView) ([]types.Column, error) { return r.compiler().SystemColumns(d, v) },
	}
	if d.ID == catalog.DatabaseTemp {
		e.Temporary = s.temporary()
		e.Database = d.WithTemporary(e.Temporary)
	}
	s.publishState() // a session sees its own current state
	e.Sessions = append(e.Sessions, s.describe())
	for _, o := range s.inst.allSessions() {
		if o != s && !s.inst.cfg.OwnSessionsOnly {
			e.Sessions = append(e.Sessions, o.describe())
		}
	}
	s.inst.mu.Lock()
	e.Settings = maps.Clone(s.inst.settings)
	s.inst.mu.Unlock()
	for _, l := range s.inst.locks.Locks() {
		e.Locks = append(e.Locks, sysviews.LockInfo{
			DatabaseID: l.Resource.Database, App: l.Resource.App, Application: l.Resource.Name,
			Principal: l.Resource.Principal,
			Mode:      l.Mode.Abbreviation(), Waiting: l.Waiting, SessionID: l.SPID, Owner: l.Owner,
		})
	}
	return t.Materialize(r.ctx, e, ref.Temp)
}

// temporary returns the temporary tables of the session.
func (s *Session) temporary() []catalog.TempTable {
	var out []catalog.TempTable
	for _, t := range s.temps {
		temp := catalog.TempTable{Table: t, Number: tempNumber(t)}
		s.inst.mu.Lock()
		if c := s.inst.counters[s.identityKey(0, t)]; c != nil && c.used {
			temp.Identity = c.last
		}
		s.inst.mu.Unlock()
		out = append(out, temp)
	}
	return out
}

// describe returns the row of the session for system views. Other sessions may call it, so that it
// only reads fields that are guarded by mu or never change.
func (s *Session) describe() sysviews.SessionRow {
	s.mu.Lock()
	q := s.request
	s.mu.Unlock()
	datetime := func(t interface{ IsZero() bool }, ticks int64) int64 {
		if t.IsZero() {
			return 0
		}
		return types.RoundDateTime(ticks)
	}
	login, sid := s.original.label()
	out := sysviews.SessionRow{
		ID: s.id, LoginTime: types.RoundDateTime(types.TicksOf(s.connected)), Host: s.client.Host,
		Program: s.client.App,
		Login:   login, OriginalLogin: login, SID: sid, Status: "sleeping",
		DatabaseID: q.database,
		Library:    s.client.Library, PID: s.client.PID, Version: int64(s.client.Version),
		OpenTransactions: q.tranCount, TransactionID: int64(q.tranID), Options: q.options.sessionOptions(),
		PacketSize:       s.client.PacketSize,
		Address:          clientAddress(s.client),
		Encrypted:        s.client.Encrypted,
		LastRequestStart: datetime(q.started, types.TicksOf(q.started)),
		LastRequestEnd:   datetime(q.ended, types.TicksOf(q.ended)),
	}
	if most := s.inst.cfg.ProgramName; most > 0 && len(out.Program) > most {
		out.Program = out.Program[:most]
	}
	if q.tranCount > 0 {
		out.TransactionName, out.TransactionStart = cmp.Or(q.tranName, "user_transaction"), datetime(q.tranStart,
			types.TicksOf(q.tranStart))
	}
	if q.active {
		out.Status, out.Command, out.LastRequestEnd, out.Text = "running", q.command, 0, q.text
		out.Elapsed = s.inst.now().Sub(q.started).Milliseconds()
		if w, ok := s.inst.locks.Waiting(s.locks); ok {
			out.Status, out.BlockedBy = "suspended", w.Blocker
			out.WaitType, out.WaitTime = "LCK_M_"+w.Mode.Abbreviation(), time.Since(w.Since).Milliseconds()
			out.WaitResource = fmt.Sprintf("DATABASE: %d", w.Resource.Database)
			if w.Resource.App {
				out.WaitResource = fmt.Sprintf("APPLICATION: %d:%d:[%s]", w.Resource.Database, w.Resource.Principal,
					w.Resource.Name)
			}
		}
	}
	return out
}

// busy reports whether all of the given sessions execute a request.
func (i *Instance) busy(spids []int) bool {
	for _, id := range spids {
		s := i.session(id)
		if s == nil {
			continue
		}
		s.mu.Lock()
		active := s.request.active
		s.mu.Unlock()
		if !active {
			return false
		}
	}
	return true
}

// current returns the ID of the session's current database. Other sessions may call it.
func (s *Session) current() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.request.database
}

// longWait passes a long wait to Config.OnWait.
func (i *Instance) longWait(w lock.Wait) {
	out := Wait{SPID: w.SPID, Application: w.Resource.Name, Waited: time.Since(w.Since), Blocker: w.Blocker}
	if d := i.catalog.Snapshot().DatabaseByID(w.Resource.Database); d != nil {
		out.Database = d.Name
	}
	if s := i.session(w.SPID); s != nil {
		out.Host, out.Program = s.client.Host, s.client.App
	}
	if s := i.session(w.Blocker); s != nil {
		out.BlockerHost, out.BlockerProgram = s.client.Host, s.client.App
		s.mu.Lock()
		if !s.request.active {
			out.BlockerIdleSince = s.request.ended
		}
		s.mu.Unlock()
	}
	i.cfg.OnWait(out)
}
