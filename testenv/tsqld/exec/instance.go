package exec

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

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

// Login holds the client's data of a login request.
type Login struct {
	User, Password string
	// Windows says that User and Realm are those of a verified Kerberos ticket.
	Windows        bool
	Foreign        bool // the realm is not the server's
	Realm          string
	Database       string // "" means the login's default database
	Language       string // name or alias; an unknown one and "" mean us_english
	App, Host      string
	Library        string // name of the client library
	PID            int    // of the client process
	Version        uint32 // TDS version that the server speaks
	PacketSize     int
	ReadOnlyIntent bool
	Encrypted      bool      // true if the whole connection is encrypted, not only the login
	Multiple       bool      // true if the client may run several requests at once (MARS)
	NewPassword    string    // new password of a SQL login; "" keeps the password
	Recovery       *Recovery // the session that the login continues; nil for a new one
	// Local and Remote are the addresses of the connection; nil: there is no connection.
	Local, Remote net.Addr
}

// firstSPID is the first session ID of a client. SQL Server reserves the smaller ones for itself.
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
	// check is catalog.CheckPassword. A test replaces it to count the calls.
	check func(hash []byte, password string) bool

	mu       sync.Mutex
	sessions map[int]*Session
	counters map[counterKey]*counter // last values of identity columns and sequences
	versions map[int]*rowVersions    // by database ID
	nextTran uint64
	// nextSerial is the number of the last session. Unlike session IDs, numbers are not used again.
	nextSerial int64
	orphans    atomic.Bool // there may be global temporary tables whose creators have ended
	closed     bool
	settings   map[int64]catalog.Setting // options that sp_configure has changed, by configuration_id
	// procedures holds the system procedures written in T-SQL that were called, by folded name.
	procedures map[string]*catalog.Procedure
	// changing maps a database ID to the session that changes the state of the database. No other
	// session may enter the database meanwhile.
	changing map[int]*Session
	leave    chan struct{} // closed when a session leaves a database; nil without waiters
}

// New opens an instance and its databases.
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

// now returns the current time in UTC.
func (i *Instance) now() time.Time { return i.cfg.Now().UTC() }

// ticks returns the current time in ticks of 100 nanoseconds.
func (i *Instance) ticks() int64 { return types.TicksOf(i.now()) }

// Close closes the databases. All sessions must be closed before.
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

// LoginError is the error of a rejected login.
type LoginError struct {
	Message *mserr.Error // for the client; as vague as SQL Server's message
	Reason  string       // for the operator of the server
}

// Error returns the message and the reason.
func (e *LoginError) Error() string { return e.Message.Error() + " (" + e.Reason + ")" }

// Unwrap returns the message.
func (e *LoginError) Unwrap() error { return e.Message }

// NewSession logs in. A *LoginError has number 18456 for an unknown login or a wrong password,
// 18488 for a password that must be changed, and 4060 or 4064 for a database that does not exist or
// that the login may not use. A login with an unknown name takes as long as a login with a wrong
// password.
func (i *Instance) NewSession(ctx context.Context, l Login) (*Session, error) {
	if l.Recovery != nil && l.Recovery.Initial.Database != "" {
		l.Database = l.Recovery.Initial.Database
	}
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
	if i.checkAdmissionLocked(s, s.dbID) != nil {
		i.mu.Unlock()
		i.store.Release(conn)
		return nil, cannotOpen(l, s.Database())
	}
	s.id = firstSPID
	for i.sessions[s.id] != nil {
		s.id++
	}
	i.nextSerial++
	s.serial = i.nextSerial
	s.connected = i.now()
	s.request.state = s.state()
	s.locks = lock.NewClient(s.id)
	s.owner = i.locks.NewOwner(s.locks, "SESSION")
	s.tran.owner = i.locks.NewOwner(s.locks, "TRANSACTION")
	i.sessions[s.id] = s
	i.mu.Unlock()
	s.attachLocal()
	if language := types.LanguageByName(l.Language); language != nil {
		s.opts.setLanguage(language)
	}
	s.base = s.opts
	if l.Recovery != nil {
		if err := s.recover(&l); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if l.NewPassword != "" {
		if err := s.changePassword(ctx, l.NewPassword); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// authenticate checks the password and chooses the database. It hashes the password exactly once in
// every case, so that its duration does not reveal whether the login exists or may be used.
func (s *Session) authenticate(snap *catalog.Snapshot, l Login) error {
	if l.Windows {
		return s.authenticateWindows(snap, l)
	}
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
		return &LoginError{mserr.LoginFailed(l.User), "unknown login"}
	case !right:
		return &LoginError{mserr.LoginFailed(l.User), "wrong password"}
	case login == nil:
		s.login = userIdentity{shown: user.Name, database: d.ID, user: user.ID}
		s.original = s.login
		s.dbID, s.homeDB = d.ID, d.ID
		return nil
	case login.Disabled:
		return &LoginError{mserr.LoginFailed(l.User), "the login is disabled"}
	case login.MustChange && l.NewPassword == "":
		return &LoginError{mserr.PasswordMustChange(l.User), "the password must be changed"}
	}
	return s.openFor(snap, login, l)
}

// openFor chooses the database of an authenticated login.
func (s *Session) openFor(snap *catalog.Snapshot, login *catalog.Login, l Login) error {
	s.login = loginIdentity{name: login.Name, sid: login.SID, sysadmin: login.SysAdmin()}
	name := l.Database
	if name == "" {
		if name = login.DefaultDatabase; name == "" {
			name = "master"
		}
	}
	d := snap.Database(name)
	if d == nil || d.Options.Offline {
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

// cannotOpen returns the error of a login whose database cannot be opened: 4064 for the default
// database, 4060 for a requested one.
func cannotOpen(l Login, database string) *mserr.Error {
	if l.Database == "" {
		return mserr.CannotOpenDefaultDatabase()
	}
	return mserr.CannotOpenDatabase(database)
}

// session returns the open session with an ID, or nil.
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

// Pool returns the memory pool of all sessions.
func (i *Instance) Pool() *meter.Pool { return i.pool }
