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
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
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
	// MaxMemory bounds what all sessions take together, in bytes; 0 means meter.DefaultLimit. One session may have half of it.
	MaxMemory int64
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
	pool    *meter.Pool
	units   unitCache
	started time.Time
	// check is catalog.CheckPassword; a test counts its calls.
	check func(hash []byte, password string) bool

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
	if types.Units(cfg.SAPassword) > MaxPassword {
		return nil, fmt.Errorf("the password of sa has more than %d characters: choose a shorter one", MaxPassword)
	}
	ctx := context.Background()
	st, err := store.Open(ctx, store.Config{Dir: cfg.Dir, Functions: compile.Functions(), CommitFault: cfg.CommitFault})
	if err != nil {
		return nil, err
	}
	i := &Instance{
		cfg: cfg, store: st, pool: meter.NewPool(cfg.MaxMemory), started: cfg.Now(), sessions: map[int]*Session{},
		counters: map[counterKey]*counter{}, versions: map[int]*rowVersions{},
		changing: map[int]*Session{}, check: catalog.CheckPassword,
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

// LoginError is a login that was refused.
type LoginError struct {
	Message *mserr.Error // for the client, to whom it does not tell more than SQL Server does
	Reason  string       // for the server's owner
}

// Error returns the message and the reason.
func (e *LoginError) Error() string { return e.Message.Error() + " (" + e.Reason + ")" }

// Unwrap returns the message.
func (e *LoginError) Unwrap() error { return e.Message }

// NewSession logs in. Errors: a *LoginError with 18456 for an unknown login or wrong password, 18488 for a password that
// must be changed, 4060 and 4064 for a database that does not exist or that the login must not use. An unknown login
// takes as long as a wrong password.
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
	s.conn, s.meter = conn, i.pool.Session()
	conn.SetMeter(s.meter)
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
	s.locks = lock.NewClient(s.id)
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

// authenticate checks the password and picks the database. It hashes the password exactly once, whether the login exists or not and
// whether it may be used or not: the time that it takes tells nothing of that.
func (s *Session) authenticate(snap *catalog.Snapshot, l Login) error {
	login := snap.Login(l.User)
	var user *catalog.Principal
	var hash []byte
	d := snap.Database(l.Database)
	switch {
	case login != nil:
		hash = login.PasswordHash
	case d != nil:
		if user = d.Principal(l.User); user != nil && user.IsRole() {
			user = nil
		}
		if user != nil {
			hash = user.PasswordHash
		}
	}
	right := s.inst.check(hash, l.Password)
	switch {
	case login == nil && (user == nil || len(hash) == 0):
		return &LoginError{mserr.LoginFailed(l.User), "no login of that name"}
	case !right:
		return &LoginError{mserr.LoginFailed(l.User), "wrong password"}
	case login == nil:
		s.login = identity{name: user.Name, contained: d.ID, user: user.ID}
		s.original = s.login
		s.dbID, s.homeDB = d.ID, d.ID
		return nil
	case login.Disabled:
		return &LoginError{mserr.LoginFailed(l.User), "the login is disabled"}
	case login.MustChange && l.NewPassword == "":
		return &LoginError{mserr.PasswordMustChange(l.User), "the password must be changed"}
	}
	s.login = identity{name: login.Name, sid: login.SID, sysadmin: login.SysAdmin()}
	name := l.Database
	if name == "" {
		if name = login.DefaultDatabase; name == "" {
			name = "master"
		}
	}
	if d = snap.Database(name); d == nil || d.Options.Offline {
		return &LoginError{cannotOpen(l, name), "the database cannot be opened"}
	}
	if _, ok := s.login.userIn(d); !ok {
		return &LoginError{cannotOpen(l, name), "the login may not use the database"}
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

// Pool is the memory of all sessions.
func (i *Instance) Pool() *meter.Pool { return i.pool }
