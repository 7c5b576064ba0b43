package exec

import (
	"context"
	"errors"
	"fmt"
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

// server is what the sessions of a server without a network share. Its methods are safe for
// concurrent use.
type server struct {
	cfg     Config
	store   *store.Store
	catalog *catalog.Catalog
	locks   lock.Manager
	pool    *meter.Pool
	started time.Time
	// check is catalog.CheckPassword. A test replaces it to count the calls.
	check func(hash []byte, password string) bool

	mu       sync.Mutex
	sessions map[int]*core
	counters map[counterKey]*counter // last values of identity columns and sequences
	versions map[int]*rowVersions    // by database ID
	nextTran uint64
	// nextSerial is the number of the last session. Unlike session IDs, numbers are not used again.
	nextSerial int64
	orphans    atomic.Bool // there may be global temporary tables whose creators have ended
	closed     bool
	settings   map[int64]catalog.Setting // options that sp_configure has changed, by configuration_id
	// changing maps a database ID to the session that changes the state of the database. No other
	// session may enter the database meanwhile.
	changing map[int]*core
	leave    chan struct{} // closed when a session leaves a database; nil without waiters
}

// newServer opens the databases of a server. functions are the Go functions that SQLite calls.
func newServer(ctx context.Context, cfg Config, functions *store.Functions) (*server, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
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
	i := &server{
		cfg: cfg, store: st, pool: meter.NewPool(cfg.MaxMemory), started: cfg.Now(), sessions: map[int]*core{},
		counters: map[counterKey]*counter{}, versions: map[int]*rowVersions{},
		changing: map[int]*core{}, check: catalog.CheckPassword,
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

// Close closes the databases. All sessions must be closed before.
func (i *server) Close() error {
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

// open logs in. The error of a refused login is a *LoginError. A login with an unknown name takes as
// long as a login with a wrong password.
func (i *server) open(ctx context.Context, l Login) (*core, error) {
	if l.Recovery != nil && l.Recovery.Initial.Database != "" {
		l.Database = l.Recovery.Initial.Database
	}
	snap := i.catalog.Snapshot()
	s := &core{inst: i, client: l, opts: defaultOptions(), ended: make(chan struct{})}
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
	if language := types.LanguageByName(l.Language); language != nil {
		s.opts.setLanguage(language)
	}
	s.base = s.opts
	if l.Recovery != nil {
		if err := s.recover(&l); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}
