package scenario

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/agents"
	"github.com/jobagent/jobagent/testenv/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// controlDatabase is the name of the job database in the samples.
const controlDatabase = "ElasticJobs"

// controlServer is the name of the server with the control database.
const controlServer = "jobserver"

// serverDatabases lists the user databases of each server that the samples name.
var serverDatabases = map[string][]string{
	controlServer: nil,
	"server1":     {"db1", "db2", "MappingDB", "MappingDB2", "Results"},
	"server2":     {"tenant1", "tenant2"},
	"london":      {"uk1"},
	"newyork":     {"us1", "us2"},
}

// jobCredentials are the samples' names of credentials that run scripts and write output;
// refreshCredentials are the names of those that list databases.
var (
	jobCredentials     = []string{"job_credential", "myjobcred", "mydbcred", "outputcred"}
	refreshCredentials = []string{"refresh_credential", "mymastercred"}
)

// The logins of the credentials have exactly the rights that the documentation requires.
const (
	jobLogin, jobPassword         = "jobuser", "Job-Pa55word"
	refreshLogin, refreshPassword = "refreshuser", "Refresh-Pa55word"
)

// fleet is several servers, each reached by its host name.
type fleet struct {
	servers map[string]*testenv.Env // by the first label of the host name, in lower case
	control *testenv.Env
	store   *controldb.Store
}

// DialContext connects to the server with the name in addr. Only servers of the fleet exist.
func (f *fleet) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, _ := strings.Cut(addr, ":")
	name, _, _ := strings.Cut(strings.ToLower(host), ".")
	env, ok := f.servers[name]
	if host == f.control.ServerName || addr == f.control.Address() { // the name in the agent's system jobs
		env, ok = f.control, true
	}
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return env.Dial(ctx, network)
}

// HostName returns "": the driver must not resolve names.
func (f *fleet) HostName() string { return "" }

// newFleet creates the databases that the samples expect on all servers, and the logins of their
// credentials. start returns the server for a name.
func newFleet(t *testing.T, start func(name string) *testenv.Env) *fleet {
	t.Helper()
	f := &fleet{servers: map[string]*testenv.Env{}}
	for name, databases := range serverDatabases {
		env := start(name)
		f.servers[name] = env
		master := env.DB(t, "master")
		exec := func(db *sql.DB, format string, args ...any) {
			_, err := db.ExecContext(t.Context(), fmt.Sprintf(format, args...))
			require.NoError(t, err)
		}
		exec(master, "CREATE LOGIN %s WITH PASSWORD = '%s';", jobLogin, jobPassword)
		exec(master, "CREATE LOGIN %s WITH PASSWORD = '%s';", refreshLogin, refreshPassword)
		exec(master, "CREATE USER %[1]s FOR LOGIN %[1]s; CREATE USER %[2]s FOR LOGIN %[2]s;", jobLogin, refreshLogin)
		for _, database := range databases {
			f.addDatabase(t, env, database)
		}
	}
	f.control = f.servers[controlServer]
	f.control.CreateControl(t, controlDatabase)
	f.store = f.control.OpenControl(t, controlDatabase)
	return f
}

// addDatabase creates a database that the job credentials own.
func (f *fleet) addDatabase(t testing.TB, env *testenv.Env, database string) {
	t.Helper()
	createDatabase(t, env, database)
	_, err := env.DB(t, database).ExecContext(t.Context(), fmt.Sprintf(
		"CREATE USER %[1]s FOR LOGIN %[1]s; ALTER ROLE db_owner ADD MEMBER %[1]s;", jobLogin))
	require.NoError(t, err)
}

// createDatabase creates a database of exactly this name, on which a scenario relies.
func createDatabase(t testing.TB, env *testenv.Env, name string) {
	t.Helper()
	_, err := env.DB(t, "master").ExecContext(t.Context(), "CREATE DATABASE ["+name+"];")
	require.NoError(t, err)
}

// startAgent runs an agent until the test ends.
func (f *fleet) startAgent(t *testing.T, cfg agent.Config) {
	t.Helper()
	// The default credential takes the place of the managed identity.
	params, err := msdsn.Parse(f.control.DSN("master"))
	require.NoError(t, err)
	list := []mssql.Credential{mssql.LoginCredential(targets.DefaultCredential, params.User, params.Password, "*")}
	for _, name := range jobCredentials {
		list = append(list, mssql.LoginCredential(name, jobLogin, jobPassword, "*.database.windows.net"))
	}
	for _, name := range refreshCredentials {
		list = append(list, mssql.LoginCredential(name, refreshLogin, refreshPassword, "*.database.windows.net"))
	}
	credentials, err := mssql.NewCredentialSet(list...)
	require.NoError(t, err)
	encrypt := "disable"
	if f.control.Server == nil {
		encrypt = "true"
	}
	// On Azure, jobs may run on the job database and write to it.
	servers, err := mssql.NewServers(mssql.Config{
		Credentials: credentials, Encrypt: encrypt, TrustServerCertificate: true, Dialer: f, AllowControlDatabase: true,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	instance, err := f.store.Instance(t.Context())
	require.NoError(t, err)
	tools := agent.Tools{Runner: mssql.NewRunner(servers, targets.Limits{}), Resolver: mssql.NewResolver(servers, instance)}
	hosting, err := agent.New(cfg, f.store, tools, nil, zap.NewNop())
	require.NoError(t, err)
	agents.Run(t, hosting)
}

// TestScenarios runs every scenario.
func TestScenarios(t *testing.T) {
	paths, err := filepath.Glob("testdata/S*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				newFleet(t, func(string) *testenv.Env { return testenv.Embedded(t, testenv.Options{}) }).play(t, path)
			})
		})
	}
}

// longWait matches a wait of ten minutes or more.
var longWait = regexp.MustCompile(`(?m)^WAITFOR DELAY '(0[1-9]|00:[1-5])`)

// play runs a scenario with an agent.
func (f *fleet) play(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var cfg agent.Config
	switch { // most passes of a long wait would find nothing to do
	case longWait.Match(text) && bytes.Contains(text, []byte("DATEDIFF(SECOND,")): // it counts the seconds
		cfg.PollIdle = time.Second
	case longWait.Match(text):
		cfg.PollIdle = 5 * time.Second
	}
	f.startAgent(t, cfg)
	script.Run(t, path, f.control.Name, func(t testing.TB, session string) script.Session {
		server, database, ok := strings.Cut(session, "/")
		if !ok {
			return script.Connect(t, f.control.DB(t, controlDatabase))
		}
		require.Contains(t, f.servers, server)
		return script.Connect(t, f.servers[server].DB(t, database))
	})
	f.control.CheckInvariants(t, controlDatabase, false)
	if !strings.Contains(string(text), "UPDATE jobs_internal") { // such a script backdates history
		f.control.CheckHistory(t, controlDatabase)
	}
}

// TestEveryScenarioHasAScript checks that the scripts cover the numbers of the specification.
func TestEveryScenarioHasAScript(t *testing.T) {
	for i := range 31 {
		paths, err := filepath.Glob(fmt.Sprintf("testdata/*S%02d_*.txt", i+1))
		require.NoError(t, err)
		require.Len(t, paths, 1, "S%d", i+1)
	}
}
