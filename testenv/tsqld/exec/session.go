package exec

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Session is what one connection works with. Its methods are called by one goroutine at a time, and not
// after Close; only what is under mu may be touched by others.
type Session struct {
	inst           *Instance
	id             int
	client         Login
	login          identity // as whom it runs now
	original       identity // as whom it logged in
	impersonations []impersonation

	conn  *store.Conn
	meter *meter.Meter
	locks *lock.Client
	owner *lock.Owner // of session-owned application locks

	dbID   int // current database
	homeDB int // database after a reset
	opts   options
	base   options // options after login

	tran        transaction
	temps       tempTables
	tempProcs   map[string]*tempProcedure // by folded name
	cursors     map[string]*cursor        // global ones
	handles     map[int64]*prepared
	nextHandle  int64
	contextKeys map[string]contextValue
	contextSize int // of keys and values, in bytes

	rowCount      int64
	lastError     int32
	fetchStatus   int
	cursorRows    int
	lastIdentity  types.Value // @@IDENTITY, a decimal(38,0)
	caught        *mserr.Error
	random        builtin.Generator
	bulk          *bulkTarget
	running       *run   // the running request
	top           *frame // the innermost activation
	depth         int    // frames that are active
	functionDepth int
	names         int // counter for names of temporary objects

	connected time.Time
	ended     chan struct{} // closed by Close

	mu      sync.Mutex
	cancel  context.CancelCauseFunc // of the running request; nil when idle
	killed  bool
	onKill  func() // see OnKill
	request requestInfo
}

// requestInfo is what other sessions can see of the running request (sys.dm_exec_requests).
type requestInfo struct {
	active  bool
	command string
	text    string // of the batch or of sp_executesql, "" for other requests
	started time.Time
	ended   time.Time
	state
}

// state is what others can see of a session's state: as of the beginning or end of its last request, or its last SET.
type state struct {
	database  int
	tranCount int
	tranID    uint64
	tranName  string
	tranStart time.Time
	options   options
}

// state is the session's present state.
func (s *Session) state() state {
	return state{database: s.dbID, tranCount: s.tran.level, tranID: s.tran.id, tranName: s.tran.name, tranStart: s.tran.started, options: s.opts}
}

// announce shows others the session's present state.
func (s *Session) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.request.state = s.state()
}

// ErrKilled is the cause with which KILL ends a session's request.
var ErrKilled = errors.New("session was killed")

// SPID is the session's number (@@SPID).
func (s *Session) SPID() int { return s.id }

// Database is the name of the current database.
func (s *Session) Database() string {
	if d := s.databaseByID(s.dbID); d != nil {
		return d.Name
	}
	return "master"
}

// Descriptor is the number of the open transaction, 0 without one.
func (s *Session) Descriptor() uint64 {
	if s.tran.level == 0 {
		return 0
	}
	return s.tran.id
}

// databaseByID finds a database as this session sees it: with its own uncommitted definitions.
func (s *Session) databaseByID(id int) *catalog.Database {
	if d := s.tran.drafts[id]; d != nil {
		return d
	}
	return s.inst.catalog.Snapshot().DatabaseByID(id)
}

// database finds a database by name, "" being the current one; nil if there is none.
func (s *Session) database(name string) *catalog.Database {
	if name == "" {
		return s.databaseByID(s.dbID)
	}
	for _, d := range s.tran.drafts {
		if equalNames(d.Name, name) {
			return d
		}
	}
	d := s.inst.catalog.Snapshot().Database(name)
	if d != nil && s.tran.drafts[d.ID] != nil {
		return nil // renamed by this session
	}
	return d
}

// Batch runs a batch. Errors of statements go to the sink; the error it returns ends the connection: the
// client is gone, the request was canceled, or an error of severity 20 was sent.
func (s *Session) Batch(ctx context.Context, text string, sink Sink) error {
	return s.serveText(ctx, sink, "BATCH", text, func(r *run) error {
		u, err := s.inst.units.batch(s.meter, text, s.opts.quotedIdentifier)
		if err != nil {
			return r.reject(err)
		}
		return r.batch(u)
	})
}

// serve runs one request that has no text.
func (s *Session) serve(ctx context.Context, sink Sink, command string, do func(r *run) error) error {
	return s.serveText(ctx, sink, command, "", do)
}

// serveText runs one request: it makes the run and its context, and leaves the session in order at the end.
func (s *Session) serveText(ctx context.Context, sink Sink, command, text string, do func(r *run) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	if s.killed {
		s.mu.Unlock()
		return ErrKilled
	}
	s.cancel = cancel
	s.request = requestInfo{active: true, command: command, text: text, started: s.inst.now(), state: s.state()}
	s.mu.Unlock()
	r := &run{s: s, ctx: ctx, out: sink}
	s.running = r
	s.meter.Begin(ctx)
	err := s.finish(r, do(r))
	if s.meter.End() > s.inst.pool.Limit()/muchMemory {
		debug.FreeOSMemory() // what it has left behind would stay until the heap has doubled
	}
	s.running, s.top, s.depth, s.functionDepth = nil, nil, 0, 0
	s.mu.Lock()
	s.cancel = nil
	s.request.active, s.request.text, s.request.ended, s.request.state = false, "", s.inst.now(), s.state()
	s.mu.Unlock()
	return err
}

// muchMemory is the part of the server's memory from which on a request's is given back to the system at its end.
const muchMemory = 8

// Meter is the account of the session's memory.
func (s *Session) Meter() *meter.Meter { return s.meter }

// finish maps the end of a request to what its caller must know.
func (s *Session) finish(r *run, err error) error {
	var f *failure
	var end error
	switch {
	case err == nil:
	case errors.As(err, &f):
		if f.reach == endConnection {
			end = f.err
		}
		err = nil
	case r.ctx.Err() != nil:
		// An attention leaves the transaction open unless XACT_ABORT is on, or SQLite had to be interrupted while it wrote: that
		// rolls back all of it. KILL and a lost client end it when the session is closed.
		end = err
		if s.tran.level > 0 && (s.opts.xactAbort || s.tran.begun && !s.conn.InTransaction()) {
			end = errors.Join(end, s.rollback(r))
		}
	default:
		end = err
	}
	s.caught = nil
	if end == nil && s.tran.level > 0 && s.tran.doomed {
		m := mserr.UncommittableAtEnd()
		m.Line = 1
		s.lastError = m.Number
		end = errors.Join(gone(r.out.Message(m)), s.rollback(r), gone(r.out.Done(Done{Error: true})))
	}
	return end
}

// reject reports a text that could not be parsed, of which nothing ran.
func (r *run) reject(err error) error {
	m := r.message(err)
	if m == nil {
		return err
	}
	r.s.lastError = m.Number
	return errors.Join(gone(r.out.Message(m)), gone(r.out.Done(Done{Error: true})))
}

// Reset brings the session back to its state after login, between requests. keepTransaction leaves an open
// transaction alone.
func (s *Session) Reset(ctx context.Context, sink Sink, keepTransaction bool) error {
	if s.dying() {
		return ErrKilled
	}
	r := &run{s: s, ctx: ctx, out: sink}
	if !keepTransaction && s.tran.level > 0 {
		if err := s.rollback(r); err != nil {
			return err
		}
	}
	for len(s.impersonations) > 0 {
		s.popImpersonation()
	}
	s.login = s.original
	isolation := s.opts.isolation
	s.opts = s.base
	s.opts.isolation = isolation // sp_reset_connection keeps it (KB 3025845)
	s.inst.locks.ReleaseAll(s.owner)
	s.inst.locks.SetPriority(s.locks, 0)
	for _, c := range s.cursors {
		s.empty(c)
	}
	for _, p := range s.handles {
		s.meter.Drop(p.size())
	}
	s.cursors, s.handles, s.contextKeys, s.contextSize, s.bulk, s.tempProcs = nil, nil, nil, 0, nil, nil
	s.rowCount, s.lastError, s.fetchStatus, s.lastIdentity, s.caught = 0, 0, 0, nil, nil
	s.dbID = s.homeDB
	if s.databaseByID(s.dbID) == nil {
		s.dbID = catalog.DatabaseMaster
	}
	if err := s.enter(s.dbID); err != nil {
		return err
	}
	if s.tran.level == 0 {
		if err := s.dropTemps(ctx, nil); err != nil {
			return err
		}
	}
	return sink.EnvChange(EnvChange{Kind: EnvResetAck})
}

// Close rolls back what is open and frees the session. It is called once.
// Everything is freed even when a part of that panics.
func (s *Session) Close() error {
	defer close(s.ended)
	defer func() {
		s.inst.mu.Lock()
		defer s.inst.mu.Unlock()
		delete(s.inst.sessions, s.id)
		s.inst.announceDeparture()
	}()
	defer func() {
		much := s.meter.Used() > s.inst.pool.Limit()/muchMemory
		s.meter.Close()
		if much {
			debug.FreeOSMemory()
		}
	}()
	defer s.inst.store.Release(s.conn)
	defer s.inst.locks.Close(s.locks)
	return s.abandon()
}
