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

// poolKey says which sessions are alike. All names are folded.
type poolKey struct {
	server, database, credential string
	checked                      bool
}

const (
	// poolIdle is how many idle sessions a pool keeps: enough for a few steps that write to one output
	// database at once; a thousand targets that do so open what they need and let go of it.
	poolIdle = 4
	// poolIdleTime is how long an idle session is kept. A serverless database pauses only when nobody
	// is connected, hence not for long.
	poolIdleTime = 30 * time.Second
)

// pool returns the shared pool for the agent's own statements on a database: listing databases and
// writing output. They leave no state behind, and the driver resets a session before its next use. Each session of a checked pool is
// held against the control database first (admit): the names in its statements are an author's.
func (s *Servers) pool(server, database, credential string, checked bool) (*sql.DB, error) {
	if _, err := s.Connector(server, database, credential); err != nil {
		return nil, err
	}
	key := poolKey{targets.FoldName(server), targets.FoldName(database), targets.FoldName(credential), checked}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the agent's connections are closed")
	}
	db := s.pools[key]
	if db == nil {
		db = sql.OpenDB(&namedConnector{s, server, database, credential, checked})
		db.SetMaxIdleConns(poolIdle)
		db.SetConnMaxIdleTime(poolIdleTime)
		s.pools[key] = db
	}
	return db, nil
}

// lend takes a session of a pool; release gives it back. It is cut soon after ctx ended, whatever the server does: the driver does not look at
// a context while it writes.
func (s *Servers) lend(ctx context.Context, server, database, credential string) (session *sql.Conn, release func(), err error) {
	db, err := s.pool(server, database, credential, false)
	if err != nil {
		return nil, nil, err
	}
	if session, err = db.Conn(ctx); err != nil {
		return nil, nil, err
	}
	stop := cutAfter(ctx, wireOf(session), ackWait)
	return session, func() {
		_ = session.Close()
		stop()
	}, nil
}

// namedConnector looks its credential up at each login, so that a changed secret is used at once.
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
	if !c.checked {
		return connector.Connect(ctx)
	}
	own, err := connect(ctx, connector, c.server, c.database)
	if err != nil {
		return nil, err
	}
	defer cutAfter(ctx, own.wire, 0)()
	if _, err := c.servers.admit(ctx, own, c.server, c.database, c.credential); err != nil {
		own.close()
		return nil, endOr(ctx, err)
	}
	return own.conn, nil
}

// Driver is for database/sql, which hands it to its callers only.
func (c *namedConnector) Driver() driver.Driver { return &mssqldb.Driver{} }
