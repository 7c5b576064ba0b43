package session

import (
	"cmp"
	"context"
	"errors"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog/sysviews"
	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Session is the state of one connection that does not depend on the interpreter. Other goroutines
// may access only the fields guarded by mu.
//
// Its layers are types of their own, each of which uses the ones below: [Transactions],
// [Temporaries], [Security] and [View]. [Parking] is a part of the first one, [Counters] of the
// last one.
type Session struct {
	Transactions
	Client  Login
	serial  int64 // number of the session, unique in the server
	globals bool  // it has created global temporary tables

	// muchUsed says that the last request used so much memory that ReleaseMemory returns it.
	muchUsed  bool
	LockOwner *lock.Owner // of session-owned application locks

	homeDB int     // database after a reset
	base   Options // options after login

	// TempProcedures are the local temporary procedures, by folded name.
	TempProcedures map[string]*TempProcedure

	RowCount    int64
	LastError   int32
	FetchStatus int
	CursorRows  int
	// CursorsOpened counts OPEN.
	CursorsOpened int
	LastIdentity  types.Value // @@IDENTITY, a decimal(38,0)
	Random        builtin.Generator

	connected time.Time
	// connectionID is a random uniqueidentifier.
	connectionID [16]byte
	ended        chan struct{} // closed by Close

	mu      sync.Mutex
	cancel  context.CancelCauseFunc // cancels the current request; nil when idle
	killed  bool
	onKill  func() // set by OnKill
	request requestInfo
}

// Close rolls back the open transaction and releases the resources of the session. It must be
// called once. A panic in one step does not prevent the other steps.
func (s *Session) Close() error {
	defer s.ReleaseMemory() // last: KILL and disconnected clients do not wait for it
	defer close(s.ended)
	defer func() {
		s.Server.mu.Lock()
		defer s.Server.mu.Unlock()
		delete(s.Server.sessions, s.id)
		s.Server.signalLeave()
	}()
	defer func() {
		s.muchUsed = s.muchUsed || s.meter.Used() > s.Server.pool.Limit()/freeMemoryDivisor
		s.meter.Close()
	}()
	defer s.Server.Store.Release(s.Conn)
	defer s.Server.Locks.Close(s.Locks)
	s.Parking.Wake()
	if err := s.rollbackOpen(); err != nil {
		return err
	}
	return s.endGlobals(context.Background())
}

// requestInfo is the part of a request that other sessions can see (sys.dm_exec_requests).
type requestInfo struct {
	active  bool
	command string
	text    string // text of the batch or of sp_executesql, "" for other requests
	started time.Time
	ended   time.Time
	state
}

// state is the part of a session's state that other sessions can see. It is updated at the
// beginning and end of each request and after each SET statement.
type state struct {
	database  int
	tranCount int
	tranID    uint64
	tranName  string
	tranStart time.Time
	options   Options
	rowCount  int64
}

// state returns the current state of the session.
func (s *Session) state() state {
	return state{
		database: s.DatabaseID, tranCount: s.Tran.level, tranID: s.Tran.id, tranName: s.Tran.name, tranStart: s.Tran.started,
		options: s.Options, rowCount: s.RowCount,
	}
}

// PublishState makes the current state of the session visible to other sessions.
func (s *Session) PublishState() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.request.state = s.state()
}

// ErrKilled is the cancellation cause of a request that KILL has ended.
var ErrKilled = errors.New("session was killed")

// ReleaseMemory returns memory to the operating system after a request that used much; otherwise,
// it is not returned before the heap has doubled. It must be called between two requests. It takes
// long on a large heap, so call it when the client has the answer.
func (s *Session) ReleaseMemory() {
	if s.muchUsed {
		s.muchUsed = false
		debug.FreeOSMemory()
	}
}

// freeMemoryDivisor defines the memory use from which on a session returns memory to the operating
// system: the size of the pool divided by freeMemoryDivisor.
const freeMemoryDivisor = 8

// Usable returns the database with a name if the session may use it. An empty name means the
// current database. Errors: 911, 916, and those of checkAdmission.
func (s *Session) Usable(name string) (*catalog.Database, error) {
	d := s.DatabaseByName(name)
	switch {
	case d == nil && name == "":
		return nil, mserr.NoDatabase("")
	case d == nil:
		return nil, mserr.NoDatabase(name)
	case d.ID == s.DatabaseID:
		return d, nil
	}
	if err := s.Server.checkAdmission(s, d.ID); err != nil {
		return nil, err
	}
	if _, ok := s.Login.UserIn(d); !ok && d.ID != catalog.DatabaseTemp { // which all logins may use
		return nil, mserr.DatabaseAccess(s.LoginName(), d.Name)
	}
	return d, nil
}

// Describe returns the row of the session for system views. Other sessions may call it, so that it
// only reads fields that are guarded by mu or never change.
func (s *Session) Describe() sysviews.SessionRow {
	s.mu.Lock()
	q := s.request
	s.mu.Unlock()
	datetime := func(t interface{ IsZero() bool }, ticks int64) int64 {
		if t.IsZero() {
			return 0
		}
		return types.RoundDateTime(ticks)
	}
	login, sid := s.Original.Label()
	out := sysviews.SessionRow{
		ID: s.id, LoginTime: types.RoundDateTime(types.TicksOf(s.connected)), Host: s.Client.Host,
		Program: s.Client.App,
		Login:   login, OriginalLogin: login, SID: sid, Status: "sleeping",
		DatabaseID: q.database,
		Library:    s.Client.Library, PID: s.Client.PID, Version: int64(s.Client.Version),
		OpenTransactions: q.tranCount, TransactionID: int64(q.tranID), Options: q.options.sessionOptions(),
		PacketSize:       s.Client.PacketSize,
		Address:          ClientAddress(s.Client),
		Encrypted:        s.Client.Encrypted,
		ConnectionID:     s.connectionID[:],
		RowCount:         q.rowCount,
		LastRequestStart: datetime(q.started, types.TicksOf(q.started)),
		LastRequestEnd:   datetime(q.ended, types.TicksOf(q.ended)),
	}
	if most := s.Server.Config.ProgramName; most > 0 && len(out.Program) > most {
		out.Program = out.Program[:most]
	}
	if q.tranCount > 0 {
		out.TransactionName, out.TransactionStart = cmp.Or(q.tranName, "user_transaction"), datetime(q.tranStart,
			types.TicksOf(q.tranStart))
	}
	if q.active {
		out.Status, out.Command, out.LastRequestEnd, out.Text = "running", q.command, 0, q.text
		out.Elapsed = s.Server.Now().Sub(q.started).Milliseconds()
		if w, ok := s.Server.Locks.Waiting(s.Locks); ok {
			out.Status, out.BlockedBy = "suspended", w.Blocker
			out.WaitType, out.WaitTime = "LCK_M_"+w.Mode.Abbreviation(), time.Since(w.Since).Milliseconds()
			out.WaitResource = waitResource(w.Resource)
		}
	}
	return out
}

// current returns the ID of the session's current database. Other sessions may call it.
func (s *Session) current() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.request.database
}

// ClientAddress returns client_net_address: <local machine> for a connection within the machine
// that is not one of TCP (documentation of sys.dm_exec_connections).
func ClientAddress(l Login) string {
	if host, _, ok := TCPAddress(l.Remote); ok {
		return host
	}
	return "<local machine>"
}

// Kill cancels the current request of the session and makes further requests fail. Then it calls
// the function of OnKill. Kill is safe for concurrent use.
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

// OnKill sets the function that Kill calls after it has canceled the current request. The function
// must make the owner of the session call Close soon, and must not block. If the session was killed
// before, OnKill calls the function at once.
func (s *Session) OnKill(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onKill = f
	if s.killed {
		f()
	}
}

// IsKilled reports whether the session was killed.
func (s *Session) IsKilled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.killed
}

// EndSessions kills sessions and waits until they have ended.
func (s *Session) EndSessions(ctx context.Context, list []*Session) error {
	for _, o := range list {
		o.Kill()
	}
	for _, o := range list {
		select {
		case <-o.ended:
		case <-ctx.Done():
			return s.Canceled(ctx)
		}
	}
	return nil
}

// TCPAddress returns host and port of an address; ok is false unless it is one of TCP.
func TCPAddress(a net.Addr) (host string, port int, ok bool) {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return "", 0, false
	}
	return tcp.AddrPort().Addr().Unmap().String(), tcp.Port, true
}

// BeginRequest begins a request, which cancel cancels. The error is ErrKilled.
func (s *Session) BeginRequest(ctx context.Context, cancel context.CancelCauseFunc, command, text string) error {
	s.Parking.Wake()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.killed {
		return ErrKilled
	}
	s.cancel = cancel
	s.request = requestInfo{active: true, command: command, text: text, started: s.Server.Now(), state: s.state()}
	s.meter.Begin(ctx)
	s.Tran.lasts = s.Tran.level > 0
	return nil
}

// EndRequest ends a request.
func (s *Session) EndRequest() {
	s.Parking.rest()
	s.muchUsed = s.meter.End() > s.Server.pool.Limit()/freeMemoryDivisor
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel = nil
	s.request.active, s.request.text, s.request.ended, s.request.state = false, "", s.Server.Now(), s.state()
}

// RestoreDefaults restores the state after the login, between requests. An open transaction stays,
// and with it the temporary tables. The error is one of [Session.Enter] or of SQLite.
func (s *Session) RestoreDefaults(ctx context.Context) error {
	isolation := s.Options.Isolation
	s.Options = s.base
	s.Options.Isolation = isolation // sp_reset_connection keeps the isolation level (KB 3025845)
	s.Server.Locks.ReleaseAll(s.LockOwner)
	s.Server.Locks.SetPriority(s.Locks, 0)
	s.contextKeys, s.contextSize, s.TempProcedures = nil, 0, nil
	s.RowCount, s.LastError, s.FetchStatus, s.LastIdentity = 0, 0, 0, nil
	s.DatabaseID = s.homeDB
	if s.DatabaseByID(s.DatabaseID) == nil {
		s.DatabaseID = catalog.DatabaseMaster
	}
	if err := s.Enter(s.DatabaseID); err != nil {
		return err
	}
	if s.Tran.level > 0 {
		return nil
	}
	if err := s.DropTemps(ctx, nil); err != nil {
		return err
	}
	return s.endGlobals(ctx)
}

// WaitEnd waits until the session has ended, at most for a time.
func (s *Session) WaitEnd(ctx context.Context, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-s.ended:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// HomeDatabase returns the name of the database in which the session has begun; empty if the
// database has been dropped.
func (s *Session) HomeDatabase() string {
	if d := s.DatabaseByID(s.homeDB); d != nil {
		return d.Name
	}
	return ""
}
