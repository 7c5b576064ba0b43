package exec

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Config says what an instance is like.
type Config struct {
	// Dir keeps the databases; empty means a temporary directory that Close removes.
	Dir string
	// SAPassword is the password of the login sa; without one nobody can log in as sa.
	SAPassword string
	// ServerName is @@SERVERNAME; empty means "tsqld".
	ServerName string
	// Now is the clock; nil means time.Now. It does not drive WAITFOR and time-outs, which use package time.
	Now func() time.Time
	// OnWait is told of a statement that has waited for another session's lock for lock.LongWait; nil for nobody.
	OnWait func(w Wait)
	// OnError is told of an error of which a client is told no more than that there was one: a defect, a damaged file. The error may
	// hold the beginning of a statement as SQLite was given it, which has no values. Nil for nobody.
	OnError func(err error)
	// CommitFault is asked before each commit; an error stands for a full disk (1105). Nil for none.
	CommitFault func() error
}

// Wait is a statement that waits for another session.
type Wait struct {
	SPID             int
	Host, Program    string
	Database         string
	Application      string // the name of an application lock; "" for the right to write to the database
	Waited           time.Duration
	Blocker          int // the session that is in the way
	BlockerHost      string
	BlockerProgram   string
	BlockerIdleSince time.Time // when its last request ended; zero while one runs
}

// Login is what a client says of itself when it connects.
type Login struct {
	User, Password string
	Database       string // empty: the login's default database
	App, Host      string
	Library        string // client library's name
	PID            int    // of the client's process
	Version        uint32 // of TDS, as the server speaks it
	PacketSize     int
	ReadOnlyIntent bool
	Encrypted      bool   // the whole connection, not only the login
	NewPassword    string // replaces the password of a SQL login before the session opens; empty keeps it
}

// firstSPID is the session id of the first session; smaller ones are SQL Server's own.
const firstSPID = 51

// Instance is a server without a network. Its methods are safe for concurrent use.
type Instance struct {
	cfg     Config
	store   *store.Store
	catalog *catalog.Catalog
	locks   lock.Manager
	units   unitCache
	started time.Time

	mu       sync.Mutex
	sessions map[int]*Session
	counters map[counterKey]*counter // identities and sequences that were used
	versions map[int]*rowVersions    // by database id
	nextTran uint64
	closed   bool
	settings map[int64]catalog.Setting // options that sp_configure changed, by configuration_id
	// procedures are those of the server in T-SQL that were called, by folded name.
	procedures map[string]*catalog.Procedure
	// changing holds the databases that one session keeps others from entering, by database id.
	changing  map[int]*Session
	departure chan struct{} // closed when a session leaves a database; nil while nobody waits for that
}

// New opens the databases of an instance.
func New(cfg Config) (*Instance, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.ServerName == "" {
		cfg.ServerName = "tsqld"
	}
	ctx := context.Background()
	st, err := store.Open(ctx, store.Config{Dir: cfg.Dir, Functions: compile.Functions(), CommitFault: cfg.CommitFault})
	if err != nil {
		return nil, err
	}
	i := &Instance{
		cfg: cfg, store: st, started: cfg.Now(), sessions: map[int]*Session{},
		counters: map[counterKey]*counter{}, versions: map[int]*rowVersions{},
		changing: map[int]*Session{},
	}
	if cfg.OnWait != nil {
		i.locks.OnLongWait = i.longWait
	}
	i.catalog, err = catalog.Open(ctx, st, cfg.SAPassword, types.RoundDateTime(i.ticks()))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open catalog: %w", err), st.Close())
	}
	return i, nil
}

// now is the instance's time in UTC.
func (i *Instance) now() time.Time { return i.cfg.Now().UTC() }

// ticks is the instance's time in ticks.
func (i *Instance) ticks() int64 { return types.TicksOf(i.now()) }

// Close closes the databases. All sessions must have been closed.
func (i *Instance) Close() error {
	i.mu.Lock()
	i.closed = true
	open := len(i.sessions)
	i.mu.Unlock()
	err := i.store.Close()
	if open > 0 {
		err = errors.Join(fmt.Errorf("%d sessions are still open", open), err)
	}
	return err
}

// NewSession logs in. Errors: *mserr.Error 18456 for an unknown login or wrong password, 18488 for a password that
// must be changed, 4060 and 4064 for a database that does not exist or that the login must not use.
func (i *Instance) NewSession(ctx context.Context, l Login) (*Session, error) {
	snap := i.catalog.Snapshot()
	s := &Session{inst: i, client: l, opts: defaultOptions(), ended: make(chan struct{})}
	if err := s.authenticate(snap, l); err != nil {
		return nil, err
	}
	s.client.Password, s.client.NewPassword = "", ""
	conn, err := i.store.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	s.conn = conn
	i.mu.Lock()
	if i.closed {
		i.mu.Unlock()
		i.store.Release(conn)
		return nil, mserr.New(6005, 14, "SHUTDOWN is in progress.")
	}
	if i.admits(s, s.dbID) != nil {
		i.mu.Unlock()
		i.store.Release(conn)
		return nil, cannotOpen(l, s.Database())
	}
	s.id = firstSPID
	for i.sessions[s.id] != nil {
		s.id++
	}
	s.connected = i.now()
	s.request.state = s.state()
	s.locks = lock.NewSession(s.id)
	s.owner = i.locks.NewOwner(s.locks, "SESSION")
	s.tran.owner = i.locks.NewOwner(s.locks, "TRANSACTION")
	i.sessions[s.id] = s
	i.mu.Unlock()
	s.attachLocal()
	s.base = s.opts
	if l.NewPassword != "" {
		if err := s.changePassword(ctx, l.NewPassword); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// authenticate checks the password and picks the database.
func (s *Session) authenticate(snap *catalog.Snapshot, l Login) error {
	login := snap.Login(l.User)
	if login == nil || login.Disabled || !catalog.CheckPassword(login.PasswordHash, l.Password) {
		if login != nil || l.Database == "" || !s.authenticateContained(snap, l) {
			return mserr.LoginFailed(l.User)
		}
		return nil
	}
	if login.MustChange && l.NewPassword == "" {
		return mserr.PasswordMustChange(l.User)
	}
	s.login = identity{name: login.Name, sid: login.SID, sysadmin: login.SysAdmin()}
	name := l.Database
	if name == "" {
		if name = login.DefaultDatabase; name == "" {
			name = "master"
		}
	}
	d := snap.Database(name)
	if d == nil || d.Options.Offline {
		return cannotOpen(l, name)
	}
	if _, ok := s.login.userIn(d); !ok {
		return cannotOpen(l, name)
	}
	s.original = s.login
	s.dbID = d.ID
	s.homeDB = d.ID
	return nil
}

// cannotOpen is the error of a login whose database cannot be opened: the one that was asked for, or the default one.
func cannotOpen(l Login, database string) *mserr.Error {
	if l.Database == "" {
		return mserr.CannotOpenDefaultDatabase()
	}
	return mserr.CannotOpenDatabase(database)
}

// authenticateContained logs a contained database user in.
func (s *Session) authenticateContained(snap *catalog.Snapshot, l Login) bool {
	d := snap.Database(l.Database)
	if d == nil {
		return false
	}
	p := d.Principal(l.User)
	if p == nil || p.IsRole() || !catalog.CheckPassword(p.PasswordHash, l.Password) {
		return false
	}
	s.login = identity{name: p.Name, contained: d.ID, user: p.ID}
	s.original = s.login
	s.dbID, s.homeDB = d.ID, d.ID
	return true
}

// session finds an open session; nil if there is none.
func (i *Instance) session(id int) *Session {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.sessions[id]
}

// allSessions returns the open sessions in no particular order.
func (i *Instance) allSessions() []*Session {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := make([]*Session, 0, len(i.sessions))
	for _, s := range i.sessions {
		out = append(out, s)
	}
	return out
}
