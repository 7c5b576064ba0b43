package exec

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
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

// Instance executes T-SQL for the sessions of a server. Its methods are safe for concurrent use.
type Instance struct {
	*server
	units unitCache

	textMu sync.Mutex
	// procedures holds the system procedures written in T-SQL that were called, by folded name.
	procedures map[string]*catalog.Procedure
}

// New opens an instance and its databases.
func New(cfg Config) (*Instance, error) {
	srv, err := newServer(context.Background(), cfg, compile.Functions())
	if err != nil {
		return nil, err
	}
	return &Instance{server: srv}, nil
}

// now returns the current time in UTC.
func (i *server) now() time.Time { return i.cfg.Now().UTC() }

// ticks returns the current time in ticks of 100 nanoseconds.
func (i *server) ticks() int64 { return types.TicksOf(i.now()) }

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
	lower, err := i.open(ctx, l)
	if err != nil {
		return nil, err
	}
	s := &Session{core: lower, inst: i}
	s.variables = s.tableVariables
	s.conn.SetLocal(s.localFunction)
	if l.NewPassword != "" {
		if err := s.changePassword(ctx, l.NewPassword); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// authenticate checks the password and chooses the database. It hashes the password exactly once in
// every case, so that its duration does not reveal whether the login exists or may be used.
func (s *core) authenticate(snap *catalog.Snapshot, l Login) error {
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
func (s *core) openFor(snap *catalog.Snapshot, login *catalog.Login, l Login) error {
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
func (i *server) session(id int) *core {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.sessions[id]
}

// allSessions returns the open sessions in no particular order.
func (i *server) allSessions() []*core {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := make([]*core, 0, len(i.sessions))
	for _, s := range i.sessions {
		out = append(out, s)
	}
	return out
}

// Pool returns the memory pool of all sessions.
func (i *server) Pool() *meter.Pool { return i.pool }
