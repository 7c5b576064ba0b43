package mssql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/targets"
)

// poolKey identifies a pool. All names are folded.
type poolKey struct {
	server, database, credential string
	// checked means that sessions must pass admit at login.
	checked bool
}

// pool holds sessions for the agent's own statements on one database: listing databases and writing
// output. These statements leave no state behind, and the driver resets a session before its next
// use.
type pool struct {
	key poolKey
	db  *sql.DB

	users  int         // acquired and not yet released; guarded by Servers.mu
	unused *time.Timer // evicts the pool; nil or stopped while the pool has users
}

const (
	// poolIdle is the number of idle sessions that a pool keeps: enough for a few steps that write
	// to one output database at once. A thousand targets that write at once open further sessions
	// and close them again.
	poolIdle = 4
	// poolIdleTime is how long an idle session, and a pool without users, is kept. The time is
	// short because a serverless database pauses only when no session is connected.
	poolIdleTime = 30 * time.Second
)

// acquire returns the shared pool of a database; the caller must call release. acquire neither
// dials nor reads a secret; the first session does. The sessions of a checked pool are for
// statements that contain names of a job's author.
func (s *Servers) acquire(server, database, credential string, checked bool) (*pool, error) {
	if _, _, err := s.lookUp(server, credential); err != nil {
		return nil, err
	}
	key := poolKey{targets.FoldName(server), targets.FoldName(database), targets.FoldName(credential), checked}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the agent's connections are closed")
	}
	p := s.pools[key]
	if p == nil {
		p = &pool{key: key, db: sql.OpenDB(&namedConnector{s, server, database, credential, checked})}
		p.db.SetMaxIdleConns(poolIdle)
		p.db.SetConnMaxIdleTime(poolIdleTime)
		s.pools[key] = p
	}
	if p.unused != nil {
		p.unused.Stop()
	}
	p.users++
	return p, nil
}

// release ends a use of a pool. A pool without users is evicted after poolIdleTime.
func (s *Servers) release(p *pool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.users--; p.users == 0 && !s.closed {
		p.unused = time.AfterFunc(poolIdleTime, func() { s.evict(p) })
	}
}

// evict closes a pool that has no users, and removes it.
func (s *Servers) evict(p *pool) {
	s.mu.Lock()
	unused := p.users == 0 && s.pools[p.key] == p
	if unused {
		delete(s.pools, p.key)
	}
	s.mu.Unlock()
	if unused {
		_ = p.db.Close()
	}
}

// Close ends all idle sessions.
func (s *Servers) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for key, p := range s.pools {
		if p.unused != nil {
			p.unused.Stop()
		}
		errs = append(errs, p.db.Close())
		delete(s.pools, key)
	}
	return errors.Join(errs...)
}

// borrow takes a session of a pool; the caller must call release. checked is as for acquire. The
// session is cut soon after ctx ended, because the driver ignores the context while it writes.
func (s *Servers) borrow(
	ctx context.Context, server, database, credential string, checked bool,
) (conn *sql.Conn, release func(), err error) {
	p, err := s.acquire(server, database, credential, checked)
	if err != nil {
		return nil, nil, err
	}
	if conn, err = p.db.Conn(ctx); err != nil {
		s.release(p)
		return nil, nil, err
	}
	stop := cutAfter(ctx, wireOf(conn), ackWait)
	return conn, func() {
		_ = conn.Close()
		stop()
		s.release(p)
	}, nil
}

// namedConnector looks up its credential at each login, so that a changed secret is used at once.
type namedConnector struct {
	servers                      *Servers
	server, database, credential string
	checked                      bool
}

// Connect logs in.
func (c *namedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	connector, err := c.servers.Connector(c.server, c.database, c.credential)
	if err != nil {
		return nil, err
	}
	if !c.checked || c.servers.cfg.AllowControlDatabase {
		return connector.Connect(ctx)
	}
	own, err := connect(ctx, connector, c.server, c.database)
	if err != nil {
		return nil, err
	}
	defer cutAfter(ctx, own.wire, 0)()
	if _, err := c.servers.admit(ctx, own, c.server, c.database, c.credential); err != nil {
		own.close()
		return nil, causeOr(ctx, err)
	}
	return own.conn, nil
}

// Driver is required by driver.Connector.
func (c *namedConnector) Driver() driver.Driver { return &mssqldb.Driver{} }
