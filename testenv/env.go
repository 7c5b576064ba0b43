package testenv

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/invariant"
	"github.com/jobagent/jobagent/testenv/tsqld"
	"github.com/jobagent/jobagent/testenv/tsqld/tds/strict"
)

// envDSN names a real SQL Server: a connection string whose login may create databases and logins.
const envDSN = "JOBAGENT_TEST_DSN"

// envRCSI is READ_COMMITTED_SNAPSHOT of the databases that tests make on a real server: on, off, or as the server makes them.
const envRCSI = "JOBAGENT_TEST_RCSI"

// Capability is something that not every server has.
type Capability string

const (
	// RowLocks means that statements lock rows, not databases: blocking, READPAST and deadlocks behave as on SQL Server.
	RowLocks Capability = "RowLocks"
)

// Env is a SQL Server to test against.
type Env struct {
	// Name is "embedded" or "sqlserver"; it names the subtest.
	Name string
	// ServerName is what target groups call the server.
	ServerName string
	// Server is the embedded server; nil for a real one.
	Server *tsqld.Server

	text   string    // connection string, without a database
	dsn    mssql.DSN // the same, read; its login may be another
	dialer mssqldb.HostDialer
	has    map[Capability]bool
}

// Options say how an embedded server is started. The zero value is the usual one.
type Options struct {
	// Dir keeps the databases; "" keeps nothing.
	Dir string
	// Fault is asked at each of the server's points; see tsqld.Config.
	Fault func(tsqld.Point) error
	// Dialer wraps the in-memory dialer, for faults of the network; nil: as it is.
	Dialer func(mssqldb.HostDialer) mssqldb.HostDialer
}

// password is sa's on embedded servers; they are reachable from their own process only.
const password = "Only-4-tests"

// Embedded starts an embedded server, reached over an in-memory pipe, and closes it when the test ends. A panic inside the
// server fails the test.
func Embedded(t testing.TB, opts Options) *Env {
	t.Helper()
	var mu sync.Mutex
	ended := false
	server, err := tsqld.New(tsqld.Config{
		Dir: opts.Dir, SAPassword: password, Fault: Recorder(opts.Fault), Record: strict.Watch(t),
		OnPanic: func(value any, stack []byte) {
			mu.Lock()
			defer mu.Unlock()
			if !ended {
				t.Errorf("the embedded server panicked: %v\n%s", value, stack)
			}
		},
		OnError: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			if !ended {
				t.Logf("the embedded server met an error: %v", err)
			}
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		require.NoError(t, server.Close(ctx))
		mu.Lock()
		defer mu.Unlock()
		ended = true
	})
	var dialer mssqldb.HostDialer = server.Dialer()
	if opts.Dialer != nil {
		dialer = opts.Dialer(dialer)
	}
	const text = "sqlserver://sa:" + password + "@tsqld?encrypt=disable"
	dsn, err := mssql.ParseDSN(text)
	require.NoError(t, err)
	return &Env{Name: "embedded", ServerName: "tsqld", Server: server, text: text, dsn: dsn, dialer: dialer}
}

// External connects to the server that JOBAGENT_TEST_DSN names; nil when it names none.
func External(t testing.TB) *Env {
	t.Helper()
	dsn := os.Getenv(envDSN)
	if dsn == "" {
		dsn = containerDSN(t)
	}
	if dsn == "" {
		return nil
	}
	e := At(t, dsn)
	e.has = map[Capability]bool{RowLocks: !e.isEmbedded(t)}
	return e
}

// At is the real server of a connection string, with no capability.
func At(t testing.TB, dsn string) *Env {
	t.Helper()
	parsed, err := mssql.ParseDSN(dsn)
	require.NoError(t, err, "a test server's connection string")
	params := parsed.Params
	name := params.Host
	if params.Instance != "" {
		name += `\` + params.Instance
	} else if params.Port != 0 {
		name += fmt.Sprintf(",%d", params.Port)
	}
	return &Env{Name: "sqlserver", ServerName: name, text: dsn, dsn: parsed}
}

// external is what the one server of JOBAGENT_TEST_DSN has said of itself.
var external struct {
	once    sync.Once
	version string
	err     error
}

// isEmbedded reports whether the server is `jobagent dev` in another process: scripts that are for a real server are tried with it.
func (e *Env) isEmbedded(t testing.TB) bool {
	t.Helper()
	external.once.Do(func() {
		db := sql.OpenDB(e.Connector(t, "master"))
		external.err = errors.Join(db.QueryRowContext(t.Context(), "SELECT @@VERSION;").Scan(&external.version), db.Close())
	})
	require.NoError(t, external.err, "the server of "+envDSN+" does not answer")
	return strings.Contains(external.version, "tsqld")
}

// Each runs fn as a subtest on every server there is.
func Each(t *testing.T, fn func(t *testing.T, env *Env)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { fn(t, Embedded(t, Options{})) })
	if external := External(t); external != nil {
		t.Run(external.Name, func(t *testing.T) { fn(t, external) })
	}
}

// Address is host:port of a real server; "" for an embedded one.
func (e *Env) Address() string {
	if e.Server != nil {
		return ""
	}
	return net.JoinHostPort(e.dsn.Params.Host, strconv.FormatUint(cmp.Or(e.dsn.Params.Port, 1433), 10))
}

// Dial connects to the server, whatever name it was called by.
func (e *Env) Dial(ctx context.Context, network string) (net.Conn, error) {
	if e.Server != nil {
		return e.Server.Dialer().DialContext(ctx, network, "")
	}
	var d net.Dialer
	return d.DialContext(ctx, network, e.Address())
}

// Requires skips the test where the server lacks a capability; COMPAT.md of the embedded server lists them.
func (e *Env) Requires(t testing.TB, c Capability) {
	t.Helper()
	if !e.has[c] {
		t.Skipf("the %s server has no %s; COMPAT.md says why", e.Name, c)
	}
}

// DSN is the connection string of a database, password included.
func (e *Env) DSN(database string) string {
	u, err := url.Parse(e.text)
	if err != nil || u.Scheme != "sqlserver" {
		return e.text + ";database=" + database // the last one counts
	}
	q := u.Query()
	q.Set("database", database)
	u.RawQuery = q.Encode()
	return u.String()
}

// Connector makes connections to a database.
func (e *Env) Connector(t testing.TB, database string) *mssql.Connector {
	t.Helper()
	d := e.dsn
	d.Params.Database = database
	return d.Connector(e.dialer)
}

// DB opens a pool on a database and closes it when the test ends.
func (e *Env) DB(t testing.TB, database string) *sql.DB {
	t.Helper()
	db := sql.OpenDB(e.Connector(t, database))
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// CreateDatabase makes a database of a new name that begins with prefix. On a real server it is dropped when the test has
// passed, and kept and named in the log otherwise.
func (e *Env) CreateDatabase(t testing.TB, prefix string) string {
	t.Helper()
	return e.CreateDatabaseWith(t, prefix, "")
}

// CreateDatabaseWith is CreateDatabase with a collation; empty: the server's.
func (e *Env) CreateDatabaseWith(t testing.TB, prefix, collation string) string {
	t.Helper()
	name := prefix
	if e.Server == nil {
		name += "_" + rand.Text()[:10]
	}
	master := e.DB(t, "master")
	create := "CREATE DATABASE [" + name + "]"
	if collation != "" {
		create += " COLLATE " + collation
	}
	_, err := master.ExecContext(t.Context(), create+";")
	require.NoError(t, err)
	if e.Server == nil {
		e.setSnapshot(t, name)
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("kept database %s", name)
				return
			}
			_, err := master.ExecContext(context.WithoutCancel(t.Context()), "ALTER DATABASE ["+name+"] SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE ["+name+"];")
			require.NoError(t, err)
		})
	}
	return name
}

// setSnapshot sets READ_COMMITTED_SNAPSHOT of a database as the environment asks. It ends the sessions that are in the database, those of
// pools among them, so that it changes nothing where nothing is to be changed.
func (e *Env) setSnapshot(t testing.TB, database string) {
	t.Helper()
	state := strings.ToUpper(os.Getenv(envRCSI))
	if state == "" || e.Server != nil {
		return
	}
	require.Contains(t, []string{"ON", "OFF"}, state, envRCSI)
	master := e.DB(t, "master")
	var on bool
	require.NoError(t, master.QueryRowContext(t.Context(), "SELECT is_read_committed_snapshot_on FROM sys.databases WHERE name = @p1;", database).Scan(&on))
	if on != (state == "ON") {
		_, err := master.ExecContext(t.Context(), "ALTER DATABASE ["+database+"] SET READ_COMMITTED_SNAPSHOT "+state+" WITH ROLLBACK IMMEDIATE;")
		require.NoError(t, err)
	}
}

// Control makes a database, installs the control schema in it, and opens it. It is closed when the test ends.
func (e *Env) Control(t testing.TB) (*controldb.Store, string) {
	t.Helper()
	name := e.CreateDatabase(t, "control")
	installer, err := controldb.New(controldb.Config{Connector: e.Connector(t, name), ServerName: e.ServerName})
	require.NoError(t, err)
	require.NoError(t, errors.Join(installer.Install(t.Context()), installer.Close()))
	e.setSnapshot(t, name) // an installation may have turned it on
	store := e.OpenControl(t, name)
	return store, name
}

// OpenControl opens a control database.
func (e *Env) OpenControl(t testing.TB, database string) *controldb.Store {
	t.Helper()
	store, err := controldb.New(controldb.Config{Connector: e.Connector(t, database), ServerName: e.ServerName})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// OpenControlAs is OpenControl with another login.
func (e *Env) OpenControlAs(t testing.TB, database, user, password string) *controldb.Store {
	t.Helper()
	as := *e
	as.dsn.Params.User, as.dsn.Params.Password = user, password
	return as.OpenControl(t, database)
}

// DBAs opens a database with another login. It is closed when the test ends.
func (e *Env) DBAs(t testing.TB, database, user, password string) *sql.DB {
	t.Helper()
	as := *e
	as.dsn.Params.User, as.dsn.Params.Password = user, password
	return as.DB(t, database)
}

// Servers makes what reaches the server's databases as targets, with the server's own login as the default credential, and closes it
// when the test ends.
func (e *Env) Servers(t testing.TB) *mssql.Servers {
	t.Helper()
	credentials, err := mssql.NewCredentialSet(mssql.LoginCredential(targets.DefaultCredential, e.dsn.Params.User, e.dsn.Params.Password, "*"))
	require.NoError(t, err)
	return e.ServersWith(t, credentials)
}

// ServersWith is Servers with other credentials.
func (e *Env) ServersWith(t testing.TB, credentials *mssql.CredentialSet) *mssql.Servers {
	t.Helper()
	encrypt := "true"
	if e.Server != nil {
		encrypt = "disable"
	}
	servers, err := mssql.NewServers(mssql.Config{
		Credentials: credentials, Encrypt: encrypt, TrustServerCertificate: true, Dialer: e.dialer,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	return servers
}

// Tools are what an agent reaches the server's databases with. control is the control database's name.
func (e *Env) Tools(t testing.TB, store *controldb.Store) agent.Tools {
	t.Helper()
	servers := e.Servers(t)
	instance, err := store.Instance(t.Context())
	require.NoError(t, err)
	return agent.Tools{Runner: mssql.NewRunner(servers, targets.Limits{}), Resolver: mssql.NewResolver(servers, instance)}
}

// CheckInvariants fails the test for each violation of an invariant of the design in a control database.
func (e *Env) CheckInvariants(t testing.TB, database string, atRest bool) {
	t.Helper()
	found, err := invariant.Find(t.Context(), e.DB(t, database), atRest)
	require.NoError(t, err)
	complain(t, found)
}

// CheckHistory is CheckInvariants for a control database in which no procedure was given a time, and of which everything that agents have
// logged is known: all times are of the database's clock (I5), no secret of the server stands anywhere (I9), no due instant was forgotten (I10).
func (e *Env) CheckHistory(t testing.TB, database string, logs ...string) {
	t.Helper()
	db := e.DB(t, database)
	found, err := invariant.FindClock(t.Context(), db)
	require.NoError(t, err)
	complain(t, found)
	found, err = invariant.FindSecrets(t.Context(), db, []string{e.dsn.Params.Password}, logs...)
	require.NoError(t, err)
	complain(t, found)
	found, err = invariant.FindUnhandled(t.Context(), db)
	require.NoError(t, err)
	complain(t, found)
}

// complain fails the test for each violation.
func complain(t testing.TB, found []invariant.Violation) {
	t.Helper()
	for _, v := range found {
		t.Errorf("invariant violated: %s", v)
	}
}

// redactedURL is a connection string for logs.
func redactedURL(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil || !strings.HasPrefix(dsn, "sqlserver://") {
		return "(a connection string)"
	}
	return u.Redacted()
}
