package controldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/targets/mssql"
)

// Config describes the connection to the control database.
type Config struct {
	// DSN is a connection string, as mssql.ParseDSN reads it. It is not needed with Connector.
	DSN string
	// Dialer replaces the network for a DSN; nil means TCP.
	Dialer mssqldb.HostDialer
	// Login returns the connector of a DSN that does not log in with a user and a password; nil
	// means that it does.
	Login func(mssql.DSN) (*mssql.Connector, error)
	// Connector makes the connections instead of DSN.
	Connector driver.Connector
	// ServerName is the control server's name in the spelling of target groups. Empty means the
	// DSN's server.
	ServerName string
	// MaxConns bounds open connections; 0 means 16.
	MaxConns int
	// Program is the version of this program, which deployments record. One that is a semantic
	// version, such as v1.2.3, is not deployed over by an earlier one. Empty: it is not recorded.
	Program string
}

// Store is an open control database. It is safe for concurrent use.
type Store struct {
	conn       *call.Conn
	serverName string
	program    string // version of this program; see Config
}

// pingTimeout bounds the first connection of Open.
const pingTimeout = 30 * time.Second

// Open connects and checks that the server answers. It does not check the schema; package installed
// does. The errors are [dberror.ErrUnreachable], [dberror.ErrLoginFailed], or about the
// configuration. Close releases the connections.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if err := s.Ping(ctx); err != nil {
		_ = s.Close() // the error of Ping is more useful
		return nil, err
	}
	return s, nil
}

// New is Open without the first connection.
func New(cfg Config) (*Store, error) {
	connector, serverName := cfg.Connector, cfg.ServerName
	if connector == nil {
		dsn, err := mssql.ParseDSN(cfg.DSN)
		if err != nil {
			return nil, fmt.Errorf("read the connection string of the control database: %w", err)
		}
		parsed := dsn.Params
		if !strings.Contains(cfg.DSN, "=") && !strings.Contains(cfg.DSN, "://") {
			return nil, errors.New("invalid connection string: want sqlserver://user:password@host:port?database=name")
		}
		if scheme, _, isURL := strings.Cut(cfg.DSN, "://"); isURL && !strings.Contains(scheme, "=") && !strings.EqualFold(scheme, "sqlserver") {
			return nil, fmt.Errorf("a connection string of %q is of another product: want sqlserver://user:password@host:port?database=name", scheme+"://")
		}
		if parsed.Database == "" {
			return nil, errors.New("the connection string lacks the control database: add database=NAME")
		}
		if strings.EqualFold(parsed.Database, "master") {
			return nil, errors.New(
				"the control database cannot be master: create a database for it, and give database=NAME",
			)
		}
		if cfg.Login != nil {
			if connector, err = cfg.Login(dsn); err != nil {
				return nil, fmt.Errorf("prepare the login to the control database: %w", err)
			}
		} else {
			connector = dsn.Connector(cfg.Dialer)
		}
		if serverName == "" {
			serverName = dsnServerName(parsed)
		}
	}
	db := sql.OpenDB(connector)
	maxConns := cfg.MaxConns
	if maxConns <= 0 {
		maxConns = 16
	}
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxConns)
	db.SetConnMaxIdleTime(5 * time.Minute)
	db.SetConnMaxLifetime(sessionLife)
	var retire func()
	if r, ok := connector.(interface{ Retire() }); ok {
		retire = r.Retire
	}
	return &Store{conn: call.NewConn(sqlx.NewDb(db, "sqlserver"), retire), serverName: serverName, program: cfg.Program}, nil
}

// sessionLife is how long a session is used. A front that only reads would else stay on a former
// primary that became a readable secondary, and show the past: nothing there fails.
const sessionLife = 10 * time.Minute

// dsnServerName returns the server of a connection string in the spelling of target groups: host,
// host\instance or host,port.
func dsnServerName(p msdsn.Config) string {
	name := p.Host
	switch {
	case p.Instance != "":
		name += `\` + p.Instance
	case p.Port != 0 && p.Port != 1433:
		name += fmt.Sprintf(",%d", p.Port)
	}
	return name
}

// Close closes all connections. Calls in progress end with an error.
func (s *Store) Close() error { return call.DB(s.conn).Close() }

// WithCallLimit returns a store on the same connections whose calls of procedures and views end
// after limit with [dberror.ErrUnreachable]; deployments are not limited. It protects the caller
// from a connection that has stopped responding. Whether such a call had an effect is unknown.
// Closing either store closes both.
func (s *Store) WithCallLimit(limit time.Duration) *Store {
	return s.with(func(c *call.Conn) { c.Limit = limit })
}

// with returns a store on the same connections, with what set sets.
func (s *Store) with(set func(*call.Conn)) *Store {
	with, conn := *s, *s.conn
	set(&conn)
	with.conn = &conn
	return &with
}

// Conn returns the connections, for the packages below controldb: no other package can make a call.
func (s *Store) Conn() *call.Conn { return s.conn }

// Ping checks that the server answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := call.DB(s.conn).PingContext(ctx); err != nil {
		return dberror.Translate("connect to the control database", err)
	}
	return nil
}

// Now returns the time of the control database's clock, by which times are stored and compared
// (I5).
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	const op = "read the clock"
	list, err := call.SelectAll[time.Time](ctx, s.conn, op, "SELECT SYSUTCDATETIME() AS now;")
	return call.OnlyRow(list, err, op, errNoTime)
}

// errNoTime means that the server has answered with no row.
var errNoTime = errors.New("the server has returned no time")

// ServerName returns the control server's name in the spelling of target groups; it is empty when
// it is not configured.
func (s *Store) ServerName() string { return s.serverName }

// Program returns the version of this program, which deployments record; see [Config].
func (s *Store) Program() string { return s.program }

// Instance returns the control database's own names, so that a resolver can exclude it from
// targets.
func (s *Store) Instance(ctx context.Context) (mssql.Instance, error) {
	row, err := call.SelectOne[struct {
		Server   string `db:"server_name"`
		Database string `db:"database_name"`
		GUID     string `db:"database_guid"`
	}](ctx, call.DB(s.conn), `SELECT
    COALESCE(@@SERVERNAME, CAST(SERVERPROPERTY('ServerName') AS nvarchar(256)), N'') AS server_name, -- the first is NULL after sp_dropserver
    DB_NAME() AS database_name,
    (SELECT MAX(CONVERT(nvarchar(36), d.service_broker_guid)) FROM sys.databases AS d WHERE d.name = DB_NAME()) AS database_guid;`)
	if err != nil {
		return mssql.Instance{}, dberror.Translate("ask for the control database's name", err)
	}
	return mssql.Instance{Server: row.Server, Database: row.Database, GUID: row.GUID}, nil
}
