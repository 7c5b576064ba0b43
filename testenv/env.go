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
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/invariant"
	"github.com/jobagent/jobagent/testenv/strict"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// envDSN names a real SQL Server: a connection string with a login that may create databases and
// logins.
const envDSN = "JOBAGENT_TEST_DSN"

// envRCSI is the setting of READ_COMMITTED_SNAPSHOT for test databases on a real server: on, off,
// or empty for the server's default.
const envRCSI = "JOBAGENT_TEST_RCSI"

// envCollation names the collation of test databases; empty: the server's.
const envCollation = "JOBAGENT_TEST_COLLATION"

// Capability is a property that some servers lack.
type Capability string

const (
	// RowLocks is the locking of rows and ranges by each statement, also by reads with hints:
	// blocking, READPAST and deadlocks behave as on SQL Server.
	RowLocks Capability = "RowLocks"
)

// Tests allocate much that is soon garbage. Collecting it less often saves a fifth of their time.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// Env is a SQL Server for tests.
type Env struct {
	// Name is "embedded" or "sqlserver", the name of the subtest.
	Name string
	// ServerName is the name of the server in target groups.
	ServerName string
	// Server is the embedded server, or nil for a real one.
	Server *tsqld.Server

	text   string    // connection string, without a database
	dsn    mssql.DSN // the parsed text; its login may be another
	dialer mssqldb.HostDialer
	// start starts another server on the directory of an embedded one, and current is below dialer.
	start   func() (*tsqld.Server, error)
	current *serverDialer
	has     map[Capability]bool
}

// Options are the options of an embedded server. The zero value is valid.
type Options struct {
	// Dir is the directory of the databases. Without it, the databases are in memory.
	Dir string
	// Now is the clock of the T-SQL functions; nil is time.Now.
	Now func() time.Time
	// Fault is called at each fault point of the server; see tsqld.Config.
	Fault func(tsqld.Point) error
	// Dialer wraps the in-memory dialer, to inject faults of the network. It may be nil.
	Dialer func(mssqldb.HostDialer) mssqldb.HostDialer
}

// password is the password of sa on embedded servers, which only their own process can reach.
const password = "Only-4-tests"

// Embedded starts an embedded server that is reached over an in-memory pipe, and closes it when the
// test ends. A panic inside the server fails the test.
func Embedded(t testing.TB, opts Options) *Env {
	t.Helper()
	var mu sync.Mutex
	ended := false
	e := &Env{Name: "embedded", ServerName: "tsqld"}
	config := tsqld.Config{
		Dir: opts.Dir, SAPassword: password, Now: opts.Now, Fault: Recorder(opts.Fault),
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
	}
	e.start = func() (*tsqld.Server, error) {
		config.Record = strict.Watch(t) // connections are counted anew
		return tsqld.New(config)
	}
	server, err := e.start()
	require.NoError(t, err)
	e.Server = server
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		require.NoError(t, e.Server.Close(ctx))
		mu.Lock()
		defer mu.Unlock()
		ended = true
	})
	e.current = &serverDialer{host: server.Dialer().HostName()}
	e.current.server.Store(server)
	e.dialer = e.current
	if opts.Dialer != nil {
		e.dialer = opts.Dialer(e.dialer)
	}
	const text = "sqlserver://sa:" + password + "@tsqld?encrypt=disable"
	dsn, err := mssql.ParseDSN(text)
	require.NoError(t, err)
	e.text, e.dsn = text, dsn
	return e
}

// External returns the server of JOBAGENT_TEST_DSN or of JOBAGENT_TEST_CONTAINER, or nil.
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

// At returns the real server of a connection string, without capabilities.
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

// external caches the version of the server of JOBAGENT_TEST_DSN.
var external struct {
	once    sync.Once
	version string
	err     error
}

// isEmbedded reports whether the server is `jobagent dev` in another process. Such a server is used
// to try the scripts for real servers.
func (e *Env) isEmbedded(t testing.TB) bool {
	t.Helper()
	external.once.Do(func() {
		db := sql.OpenDB(e.Connector(t, "master"))
		external.err = errors.Join(db.QueryRowContext(t.Context(), "SELECT @@VERSION;").Scan(&external.version), db.Close())
	})
	require.NoError(t, external.err, "the server of "+envDSN+" does not answer")
	return strings.Contains(external.version, "tsqld")
}

// Each runs fn as a subtest on every available server.
func Each(t *testing.T, fn func(t *testing.T, env *Env)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { fn(t, Embedded(t, Options{})) })
	if external := External(t); external != nil {
		t.Run(external.Name, func(t *testing.T) { fn(t, external) })
	}
}

// Address returns host:port of a real server, or "" for an embedded one.
func (e *Env) Address() string {
	if e.Server != nil {
		return ""
	}
	return net.JoinHostPort(e.dsn.Params.Host, strconv.FormatUint(cmp.Or(e.dsn.Params.Port, 1433), 10))
}

// Dial connects to the server.
func (e *Env) Dial(ctx context.Context, network string) (net.Conn, error) {
	if e.Server != nil {
		return e.Server.Dialer().DialContext(ctx, network, "")
	}
	var d net.Dialer
	return d.DialContext(ctx, network, e.Address())
}

// Requires skips the test if the server lacks a capability. COMPAT.md lists what the embedded
// server lacks.
func (e *Env) Requires(t testing.TB, c Capability) {
	t.Helper()
	if !e.has[c] {
		t.Skipf("the %s server has no %s; COMPAT.md says why", e.Name, c)
	}
}

// DSN returns the connection string of a database. It contains the password.
func (e *Env) DSN(database string) string {
	u, err := url.Parse(e.text)
	if err != nil || u.Scheme != "sqlserver" {
		return e.text + ";database=" + database // of two databases, the last one applies
	}
	q := u.Query()
	q.Set("database", database)
	u.RawQuery = q.Encode()
	return u.String()
}

// Connector returns a connector for a database.
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

// CreateDatabase creates a database whose name begins with prefix. On a real server, a test that
// passes drops the database, and a test that fails keeps and logs it.
func (e *Env) CreateDatabase(t testing.TB, prefix string) string {
	t.Helper()
	return e.CreateDatabaseWith(t, prefix, "")
}

// Collation returns the collation of test databases, or "" for the server's.
func Collation() string { return os.Getenv(envCollation) }

// CreateDatabaseWith is CreateDatabase with a collation. An empty collation is that of the
// environment, or the server's.
func (e *Env) CreateDatabaseWith(t testing.TB, prefix, collation string) string {
	t.Helper()
	name := prefix
	if e.Server == nil {
		name += "_" + rand.Text()[:10]
	}
	master := e.DB(t, "master")
	create := "CREATE DATABASE [" + name + "]"
	if collation = cmp.Or(collation, Collation()); collation != "" {
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

// setSnapshot sets READ_COMMITTED_SNAPSHOT of a database to the value of the environment. The
// change ends all sessions in the database, so setSnapshot makes it only where the value differs.
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

// Control creates a control database and opens it until the test ends.
func (e *Env) Control(t testing.TB) (*controldb.Store, string) {
	t.Helper()
	if e.Server != nil {
		const name = "control"
		e.CreateControl(t, name)
		return e.OpenControl(t, name), name
	}
	name := e.CreateDatabase(t, "control")
	e.install(t, name)
	return e.OpenControl(t, name), name
}

// CreateControl creates a control database of exactly this name, which stays on a real server.
func (e *Env) CreateControl(t testing.TB, name string) {
	t.Helper()
	if e.Server != nil {
		require.NoError(t, e.Server.CreateFrom(t.Context(), name, Installed(t)))
		return
	}
	_, err := e.DB(t, "master").ExecContext(t.Context(), "CREATE DATABASE ["+name+"];")
	require.NoError(t, err)
	e.install(t, name)
}

// install installs the control schema in a database.
func (e *Env) install(t testing.TB, database string) {
	t.Helper()
	installer, err := controldb.New(controldb.Config{Connector: e.Connector(t, database), ServerName: e.ServerName})
	require.NoError(t, err)
	require.NoError(t, errors.Join(deploy.On(installer).Install(t.Context()), installer.Close()))
	e.setSnapshot(t, database) // the installation may have turned it on
}

// installedAt is when the schema of the image was installed.
var installedAt = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)

// image is a database of the embedded server in which the control schema was installed, for all
// tests of the process.
var image struct {
	mu   sync.Mutex
	made bool
	tsqld.Image
}

// Installed returns a database with the control schema, as the content of databases of embedded
// servers. Its first call installs the schema, with a clock before those of all tests, so that no
// time in the database is in a test's future.
func Installed(t testing.TB) tsqld.Image {
	t.Helper()
	image.mu.Lock()
	defer image.mu.Unlock()
	if image.made {
		return image.Image
	}
	e := Embedded(t, Options{Now: func() time.Time { return installedAt }})
	name := e.CreateDatabase(t, "control")
	e.install(t, name)
	// A copy is no restore: the first term there stores its place.
	_, err := e.DB(t, name).ExecContext(t.Context(), `UPDATE jobs_internal.control_identity
SET place_server = NULL, place_database = NULL, place_created_at = NULL, place_fork = NULL, place_is_replica = NULL;`)
	require.NoError(t, err)
	image.Image, err = e.Server.Image(t.Context(), name)
	require.NoError(t, err)
	image.made = true
	return image.Image
}

// OpenControl opens a control database until the test ends.
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

// DBAs opens a pool with another login until the test ends.
func (e *Env) DBAs(t testing.TB, database, user, password string) *sql.DB {
	t.Helper()
	as := *e
	as.dsn.Params.User, as.dsn.Params.Password = user, password
	return as.DB(t, database)
}

// Servers returns the connections to the server's databases as targets, until the test ends. The
// default credential is the server's own login.
func (e *Env) Servers(t testing.TB) *mssql.Servers {
	t.Helper()
	return e.ServersWith(t, e.Credentials(t))
}

// Credentials returns the set with the test's own login as the default credential.
func (e *Env) Credentials(t testing.TB) *mssql.CredentialSet {
	t.Helper()
	set, err := mssql.NewCredentialSet(mssql.LoginCredential(targets.DefaultCredential, e.dsn.Params.User, e.dsn.Params.Password, "*"))
	require.NoError(t, err)
	return set
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

// CheckInvariants fails the test for each violated invariant of the design in a control database.
func (e *Env) CheckInvariants(t testing.TB, database string, atRest bool) {
	t.Helper()
	found, err := invariant.Find(t.Context(), e.DB(t, database), atRest)
	require.NoError(t, err)
	report(t, found)
}

// CheckHistory extends CheckInvariants to control databases in which no procedure was called with a
// time of the test. All times must come from the database's clock (I5), no secret of the server may
// appear in the database or in logs, which are everything that agents have logged (I9), and no
// occurrence may be without an answer (I10).
func (e *Env) CheckHistory(t testing.TB, database string, logs ...string) {
	t.Helper()
	db := e.DB(t, database)
	found, err := invariant.FindClock(t.Context(), db)
	require.NoError(t, err)
	report(t, found)
	found, err = invariant.FindSecrets(t.Context(), db, []string{e.dsn.Params.Password}, logs...)
	require.NoError(t, err)
	report(t, found)
	found, err = invariant.FindUnhandled(t.Context(), db)
	require.NoError(t, err)
	report(t, found)
}

// report fails the test for each violation.
func report(t testing.TB, found []invariant.Violation) {
	t.Helper()
	for _, v := range found {
		t.Errorf("invariant violated: %s", v)
	}
}

// redactedURL returns a connection string for logs.
func redactedURL(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil || !strings.HasPrefix(dsn, "sqlserver://") {
		return "(a connection string)"
	}
	return u.Redacted()
}
