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

// core is the state of one connection that does not depend on the interpreter. Other goroutines may
// access only the fields guarded by mu.
type core struct {
	inst           *server
	id             int
	client         Login
	login          identity // effective identity
	original       identity // identity at login
	impersonations []impersonation
	serial         int64 // number of the session, unique in the server
	globals        bool  // it has created global temporary tables

	conn  *store.Conn
	meter *meter.Meter
	// muchUsed says that the last request used so much memory that ReleaseMemory returns it.
	muchUsed bool
	locks    *lock.Client
	owner    *lock.Owner // of session-owned application locks

	dbID   int // current database
	homeDB int // database after a reset
	opts   options
	base   options // options after login

	tran      transaction
	temps     tempTables
	leftovers []*catalog.Table // of table variables, see dropLeftovers
	// variables returns the table variables of all activations, which a rollback does not change.
	variables   func() []*catalog.Table
	contextKeys map[string]contextValue
	contextSize int // size of keys and values, in bytes

	now          int64 // time of the statement in ticks; 0 until needed
	rowCount     int64
	lastError    int32
	fetchStatus  int
	cursorRows   int
	lastIdentity types.Value // @@IDENTITY, a decimal(38,0)
	random       builtin.Generator

	connected time.Time
	ended     chan struct{} // closed by Close

	mu      sync.Mutex
	cancel  context.CancelCauseFunc // cancels the current request; nil when idle
	killed  bool
	onKill  func() // set by OnKill
	request requestInfo
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
	options   options
}

// state returns the current state of the session.
func (s *core) state() state {
	return state{
		database: s.dbID, tranCount: s.tran.level, tranID: s.tran.id, tranName: s.tran.name, tranStart: s.tran.started,
		options: s.opts,
	}
}

// publishState makes the current state of the session visible to other sessions.
func (s *core) publishState() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.request.state = s.state()
}

// ErrKilled is the cancellation cause of a request that KILL has ended.
var ErrKilled = errors.New("session was killed")

// SPID returns the session ID (@@SPID).
func (s *core) SPID() int { return s.id }

// Database returns the name of the current database.
func (s *core) Database() string {
	if d := s.databaseByID(s.dbID); d != nil {
		return d.Name
	}
	return "master"
}

// Descriptor returns the descriptor of the open transaction, or 0.
func (s *core) Descriptor() uint64 {
	if s.tran.level == 0 {
		return 0
	}
	return s.tran.id
}

// databaseByID returns a database as this session sees it, with the uncommitted definitions of this
// session.
func (s *core) databaseByID(id int) *catalog.Database {
	if d := s.tran.drafts[id]; d != nil {
		return d
	}
	return s.inst.catalog.Snapshot().DatabaseByID(id)
}

// database returns the database with a name, or nil. An empty name means the current database.
func (s *core) database(name string) *catalog.Database {
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

// ReleaseMemory returns memory to the operating system after a request that used much; otherwise,
// it is not returned before the heap has doubled. It must be called between two requests. It takes
// long on a large heap, so call it when the client has the answer.
func (s *core) ReleaseMemory() {
	if s.muchUsed {
		s.muchUsed = false
		debug.FreeOSMemory()
	}
}

// freeMemoryDivisor defines the memory use from which on a session returns memory to the operating
// system: the size of the pool divided by freeMemoryDivisor.
const freeMemoryDivisor = 8

// Meter returns the memory account of the session.
func (s *core) Meter() *meter.Meter { return s.meter }

// assign converts a value for an assignment.
func (s *core) assign(v types.Value, from, to types.Type) (types.Value, error) {
	return types.ConvertIn(v, from, to, types.NoStyle, s.opts.locale)
}

// master returns the database that stores logins.
func (s *core) master() *catalog.Database { return s.databaseByID(catalog.DatabaseMaster) }

// Now returns the time of the statement in ticks. All calls during a statement return the same time.
func (s *core) Now() int64 {
	if s.now == 0 {
		s.now = s.inst.ticks()
	}
	return s.now
}

// usable returns the database with a name if the session may use it. An empty name means the current
// database. Errors: 911, 916, and those of checkAdmission.
func (s *core) usable(name string) (*catalog.Database, error) {
	d := s.database(name)
	switch {
	case d == nil && name == "":
		return nil, mserr.NoDatabase("")
	case d == nil:
		return nil, mserr.NoDatabase(name)
	case d.ID == s.dbID:
		return d, nil
	}
	if err := s.inst.checkAdmission(s, d.ID); err != nil {
		return nil, err
	}
	if _, ok := s.login.userIn(d); !ok && d.ID != catalog.DatabaseTemp { // which all logins may use
		return nil, mserr.DatabaseAccess(s.loginName(), d.Name)
	}
	return d, nil
}
