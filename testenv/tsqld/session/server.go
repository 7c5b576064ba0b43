package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Server is what the sessions of a server without a network share. Its methods are safe for
// concurrent use.
type Server struct {
	Config  Config
	Store   *store.Store
	Catalog *catalog.Catalog
	Locks   lock.Manager
	pool    *meter.Pool
	Started time.Time
	// Messages are those of sp_addmessage.
	Messages Messages

	mu       sync.Mutex
	sessions map[int]*Session
	counters map[CounterKey]*Counter // last values of identity columns and sequences
	versions map[int]*rowVersions    // by database ID
	parked   map[*Parking]parkedTransaction
	reaches  map[int]reach // by database ID
	nextTran uint64
	// nextSerial is the number of the last session. Unlike session IDs, numbers are not used again.
	nextSerial int64
	orphans    atomic.Bool // there may be global temporary tables whose creators have ended
	closed     bool
	settings   map[int64]catalog.Setting // options that sp_configure has changed, by configuration_id
	// changing maps a database ID to the session that changes the state of the database. No other
	// session may enter the database meanwhile.
	changing map[int]*Session
	leave    chan struct{} // closed when a session leaves a database; nil without waiters
}

// NewServer opens the databases of a server. functions are the Go functions that SQLite calls.
func NewServer(ctx context.Context, cfg Config, functions *store.Functions) (*Server, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.CheckPassword == nil {
		cfg.CheckPassword = catalog.CheckPassword
	}
	if cfg.ServerName == "" {
		cfg.ServerName = "tsqld"
	}
	if types.Units(cfg.SAPassword) > MaxPassword {
		return nil, fmt.Errorf("the password of sa has more than %d characters: choose a shorter one", MaxPassword)
	}
	st, err := store.Open(ctx, store.Config{Dir: cfg.Dir, Functions: functions, CommitFault: cfg.CommitFault})
	if err != nil {
		return nil, err
	}
	i := &Server{
		Config: cfg, Store: st, pool: meter.NewPool(cfg.MaxMemory), Started: cfg.Now(), sessions: map[int]*Session{},
		counters: map[CounterKey]*Counter{}, versions: map[int]*rowVersions{},
		changing: map[int]*Session{}, parked: map[*Parking]parkedTransaction{}, reaches: map[int]reach{},
	}
	if cfg.OnWait != nil {
		i.Locks.OnLongWait = i.longWait
	}
	i.Catalog, err = catalog.Open(ctx, st, cfg.SAPassword, types.RoundDateTime(i.Ticks()))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open catalog: %w", err), st.Close())
	}
	return i, nil
}

// Close closes the databases. All sessions must be closed before.
func (i *Server) Close() error {
	i.mu.Lock()
	i.closed = true
	open := len(i.sessions)
	i.mu.Unlock()
	err := i.Store.Close()
	if open > 0 {
		err = errors.Join(fmt.Errorf("%d sessions are still open", open), err)
	}
	return err
}

// Open logs in. The error of a refused login is a *LoginError. A login with an unknown name takes
// as long as a login with a wrong password.
func (i *Server) Open(ctx context.Context, l Login) (*Session, error) {
	if l.Recovery != nil && l.Recovery.Initial.Database != "" {
		l.Database = l.Recovery.Initial.Database
	}
	snap := i.Catalog.Snapshot()
	s := &Session{Client: l, ended: make(chan struct{})}
	s.Server, s.Options = i, defaultOptions()
	if err := s.authenticate(snap, l); err != nil {
		return nil, err
	}
	s.Client.Password, s.Client.NewPassword = "", ""
	conn, err := i.Store.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	s.Conn, s.meter = conn, i.pool.Session()
	conn.SetMeter(s.meter)
	i.mu.Lock()
	if i.closed {
		i.mu.Unlock()
		i.Store.Release(conn)
		return nil, mserr.Of(6005)
	}
	if i.checkAdmissionLocked(s, s.DatabaseID) != nil {
		i.mu.Unlock()
		i.Store.Release(conn)
		return nil, cannotOpen(l, s.Database())
	}
	s.id = firstSPID
	for i.sessions[s.id] != nil {
		s.id++
	}
	i.nextSerial++
	s.serial = i.nextSerial
	s.connected = i.Now()
	_, _ = rand.Read(s.connectionID[:]) // never fails
	s.request.state = s.state()
	s.Locks = lock.NewClient(s.id)
	s.Counters = Counters{server: i, conn: conn, session: s.id}
	s.Parking.s = &s.Temporaries
	s.LockOwner = i.Locks.NewOwner(s.Locks, "SESSION")
	s.Tran.owner = i.Locks.NewOwner(s.Locks, "TRANSACTION")
	i.sessions[s.id] = s
	i.mu.Unlock()
	if language := types.LanguageByName(l.Language); language != nil {
		s.Options.SetLanguage(language)
	}
	s.base = s.Options
	if l.Recovery != nil {
		if err := s.recover(&l); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Config configures an Instance.
type Config struct {
	// Dir is the directory of the databases. If Dir is empty, New creates a temporary directory and
	// Close removes it.
	Dir string
	// SAPassword is the password of the login sa. If it is empty, sa cannot log in.
	SAPassword string
	// ServerName is @@SERVERNAME; empty means "tsqld".
	ServerName string
	// Now is the clock; nil means time.Now. WAITFOR and timeouts use package time instead.
	Now func() time.Time
	// MaxMemory limits the memory of all sessions together, in bytes; 0 means meter.DefaultLimit.
	// One session may use half of it.
	MaxMemory int64
	// CheckPassword compares a password with its hash; nil means catalog.CheckPassword.
	CheckPassword func(hash []byte, password string) bool
	// OnWait, if not nil, is called when a statement has waited lock.LongWait for the lock of
	// another session.
	OnWait func(w Wait)
	// OnError, if not nil, is called with an error whose details the client does not get: a defect
	// of the server or a damaged file. The error may contain the beginning of a SQLite statement,
	// but no values.
	OnError func(err error)
	// OwnSessionsOnly makes system views show a session nothing but itself, although permission
	// functions say that it may see all. ProgramName, if above 0, is how many characters of
	// program_name they show. Some servers that speak TDS do so.
	OwnSessionsOnly bool
	ProgramName     int
	// CommitFault, if not nil, is called before each commit of changes. Its error simulates a full
	// disk (1105).
	CommitFault func() error
}

// Wait describes a statement that waits for another session.
type Wait struct {
	SPID             int
	Host, Program    string
	Database         string
	Application      string // name of an application lock; "" for the writer lock of the database
	Waited           time.Duration
	Blocker          int // session ID of the blocking session
	BlockerHost      string
	BlockerProgram   string
	BlockerIdleSince time.Time // end of the blocker's last request; zero while a request runs
}

// Now returns the current time in UTC.
func (i *Server) Now() time.Time { return i.Config.Now().UTC() }

// Ticks returns the current time in ticks of 100 nanoseconds.
func (i *Server) Ticks() int64 { return types.TicksOf(i.Now()) }

// SessionByID returns the open session with an ID, or nil.
func (i *Server) SessionByID(id int) *Session {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.sessions[id]
}

// AllSessions returns the open sessions in no particular order.
func (i *Server) AllSessions() []*Session {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := make([]*Session, 0, len(i.sessions))
	for _, s := range i.sessions {
		out = append(out, s)
	}
	return out
}

// Pool returns the memory pool of all sessions.
func (i *Server) Pool() *meter.Pool { return i.pool }

// Report passes an error to Config.OnError.
func (i *Server) Report(err error) {
	if i.Config.OnError != nil {
		i.Config.OnError(err)
	}
}

// busy reports whether all of the given sessions execute a request.
func (i *Server) busy(spids []int) bool {
	for _, id := range spids {
		s := i.SessionByID(id)
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

// longWait passes a long wait to Config.OnWait.
func (i *Server) longWait(w lock.Wait) {
	out := Wait{SPID: w.SPID, Waited: time.Since(w.Since), Blocker: w.Blocker}
	if w.Resource.Kind == lock.AppKind {
		out.Application = w.Resource.Name
	}
	if d := i.Catalog.Snapshot().DatabaseByID(w.Resource.Database); d != nil {
		out.Database = d.Name
	}
	if s := i.SessionByID(w.SPID); s != nil {
		out.Host, out.Program = s.Client.Host, s.Client.App
	}
	if s := i.SessionByID(w.Blocker); s != nil {
		out.BlockerHost, out.BlockerProgram = s.Client.Host, s.Client.App
		s.mu.Lock()
		if !s.request.active {
			out.BlockerIdleSince = s.request.ended
		}
		s.mu.Unlock()
	}
	i.Config.OnWait(out)
}

// Setting returns the value of an option.
func (in *Server) Setting(id int64) catalog.Setting {
	in.mu.Lock()
	defer in.mu.Unlock()
	if s, ok := in.settings[id]; ok {
		return s
	}
	for _, c := range catalog.Configurations() {
		if c.ID == id {
			return catalog.Setting{Configured: c.Value, Running: c.Value}
		}
	}
	return catalog.Setting{}
}

// ForgetDatabase discards the cached data about a database.
func (i *Server) ForgetDatabase(id int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for k := range i.counters {
		if k.Database == id {
			delete(i.counters, k)
		}
	}
	delete(i.versions, id)
	delete(i.reaches, id)
}

// SettingsNow returns the options that sp_configure has changed, by configuration_id.
func (i *Server) SettingsNow() map[int64]catalog.Setting {
	i.mu.Lock()
	defer i.mu.Unlock()
	return maps.Clone(i.settings)
}

// Configure sets the configured value of an option.
func (i *Server) Configure(id, value int64) {
	running := i.Setting(id).Running
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.settings == nil {
		i.settings = map[int64]catalog.Setting{}
	}
	i.settings[id] = catalog.Setting{Configured: value, Running: running}
}

// Reconfigure makes configured values take effect, except for options that need a restart.
func (i *Server) Reconfigure() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, c := range catalog.Configurations() {
		if now, ok := i.settings[c.ID]; ok && !c.Restart {
			i.settings[c.ID] = catalog.Setting{Configured: now.Configured, Running: now.Configured}
		}
	}
}
