package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
)

// authorServer is a server with a control database, a login x_author with the role jobs_author
// only, and the tenant database Tenant1.
type authorServer struct {
	t       *testing.T
	address string
	sa      *sql.DB // on the control database
	author  *controldb.Store
}

func newAuthorServer(t *testing.T, address, password string) *authorServer {
	h := &authorServer{t: t, address: address}
	h.sa = h.open("sa", password, embedded.ControlDatabase)
	h.exec("CREATE DATABASE Tenant1;")
	h.exec("CREATE LOGIN x_author WITH PASSWORD = 'Author-1'; CREATE USER x_author FOR LOGIN x_author; ALTER ROLE jobs_author ADD MEMBER x_author;")
	var err error
	h.author, err = controldb.Open(t.Context(), controldb.Config{DSN: h.dsn("x_author", "Author-1",
		embedded.ControlDatabase)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.author.Close()) })
	return h
}

func (h *authorServer) dsn(user, password, database string) string {
	u := url.URL{Scheme: "sqlserver", User: url.UserPassword(user, password), Host: h.address,
		RawQuery: url.Values{"database": {database}, "TrustServerCertificate": {"true"}}.Encode()}
	return u.String()
}

func (h *authorServer) open(user, password, database string) *sql.DB {
	h.t.Helper()
	db, err := sql.Open("sqlserver", h.dsn(user, password, database))
	require.NoError(h.t, err)
	h.t.Cleanup(func() { require.NoError(h.t, db.Close()) })
	return db
}

func (h *authorServer) exec(text string) {
	h.t.Helper()
	_, err := h.sa.ExecContext(h.t.Context(), text)
	require.NoError(h.t, err, text)
}

// count returns the number that a query selects.
func (h *authorServer) count(text string) (n int) {
	h.t.Helper()
	require.NoError(h.t, h.sa.QueryRowContext(h.t.Context(), text).Scan(&n), text)
	return n
}

// start runs a script as the author, on a database with a credential ("": the default), without
// retries.
func (h *authorServer) start(name, server, database, credential, script string) (id uuid.UUID) {
	t, ctx, one := h.t, h.t.Context(), 0
	t.Helper()
	_, err := targetgroups.On(h.author).Add(ctx, name)
	require.NoError(t, err)
	_, err = targetgroups.On(h.author).AddMember(ctx, name, targets.Member{Membership: targets.Include,
		Kind: targets.SQLDatabase, Server: server, Database: database})
	require.NoError(t, err)
	_, err = catalog.On(h.author).AddJob(ctx, model.JobSpec{Name: name})
	require.NoError(t, err)
	spec := model.StepSpec{JobName: name, TargetGroup: new(name), Command: new(script), RetryAttempts: &one}
	if credential != "" {
		spec.Credential = &credential
	}
	_, err = catalog.On(h.author).AddJobStep(ctx, spec)
	require.NoError(t, err)
	id, err = executions.On(h.author).StartJob(ctx, name, uuid.Nil)
	require.NoError(t, err)
	return id
}

// end waits for the end of a run and returns the row of its target.
func (h *authorServer) end(id uuid.UUID) executions.Execution {
	h.t.Helper()
	var found executions.Execution
	eventually(h.t, time.Minute, "the run ends", func() bool {
		rows, err := executions.On(h.author).Rows(h.t.Context(), id)
		if err != nil || len(rows) == 0 || rows[0].Active {
			return false
		}
		found = rows[len(rows)-1]
		return true
	})
	return found
}

// sysadmins returns the number of members of sysadmin.
func (h *authorServer) sysadmins() int {
	return h.count("SELECT COUNT(*) FROM sys.server_role_members AS m WHERE m.role_principal_id = SUSER_ID(N'sysadmin') AND m.member_principal_id = SUSER_ID(N'x_author')")
}

// A job's author cannot become sysadmin through dev's agent: the login of targets has no rights
// beyond the tenants, and no script runs on the control database or the system databases of its
// server.
func TestAuthorStaysAuthor(t *testing.T) {
	t.Parallel()
	dev := startDev(t, t.TempDir(), "127.0.0.1:0")
	h := newAuthorServer(t, dev.address, devPassword)
	_, port, err := net.SplitHostPort(dev.address)
	require.NoError(t, err)
	const seize = "ALTER SERVER ROLE sysadmin ADD MEMBER x_author;"
	type attack struct{ server, database, script, want string }
	attacks := map[string]attack{
		"Sysadmin":   {"127.0.0.1," + port, "Tenant1", seize, ""},
		"OtherThree": {"127.0.0.1," + port, "Tenant1", "EXECUTE jobagent.jobs_internal.end_term @term_id = 1;", "916"},
		"Read":       {"127.0.0.1," + port, "Tenant1", "SELECT * FROM jobagent.jobs_internal.terms;", "916"},
		"Use":        {"127.0.0.1," + port, "Tenant1", "USE jobagent; DELETE jobs_internal.terms;", "916"},
		"Owner":      {"127.0.0.1," + port, "Tenant1", "EXECUTE AS USER = 'dbo'; " + seize, ""},
		"OwnerAcross": {"127.0.0.1," + port, "Tenant1",
			"EXECUTE AS USER = 'dbo'; SELECT * FROM jobagent.jobs_internal.terms;", "916"},
		"Trustworthy": {"127.0.0.1," + port, "Tenant1",
			"ALTER DATABASE Tenant1 SET TRUSTWORTHY ON; EXECUTE AS USER = 'dbo'; " + seize, ""},
		"Login": {"127.0.0.1," + port, "Tenant1", "EXECUTE AS LOGIN = 'sa'; " + seize, "15406"},
		"OwnerLogin": {"127.0.0.1," + port, "Tenant1",
			"EXECUTE AS USER = 'dbo'; EXECUTE AS LOGIN = 'sa'; " + seize, "15406"},
		"NamedLogin": {"127.0.0.1," + port, "Tenant1",
			"CREATE USER sa WITHOUT LOGIN; EXECUTE AS USER = 'sa'; EXECUTE AS LOGIN = 'sa'; " + seize, "15406"},
		"OwnerPassword": {"127.0.0.1," + port, "Tenant1",
			"EXECUTE AS USER = 'dbo'; ALTER LOGIN sa WITH PASSWORD = 'Taken-1';", "15151"},
		"Password": {"127.0.0.1," + port, "Tenant1", "ALTER LOGIN sa WITH PASSWORD = 'Taken-1';", ""},
		"Adopt": {"127.0.0.1," + port, "Tenant1",
			"USE master; CREATE USER jobagent_targets FOR LOGIN jobagent_targets;", ""},
		"Model":        {"127.0.0.1," + port, "Tenant1", "USE model; SELECT 1;", ""}, // the login is db_owner of model, but objects in model only come into new databases, of which it is db_owner too
		"ByLoopbackV6": {"::1," + port, embedded.ControlDatabase, seize, ""},         // nothing listens on this port
	}
	for _, name := range []string{"127.0.0.1," + port, "tcp:127.0.0.1," + port, "localhost," + port,
		"::ffff:127.0.0.1," + port} {
		attacks["Control "+name] = attack{name, embedded.ControlDatabase, seize, ""}
		attacks["Control in capitals "+name] = attack{name, "JOBAGENT", seize, ""}
		attacks["Master "+name] = attack{name, "master", seize, "holds the control database"}
		attacks["Tempdb "+name] = attack{name, "tempdb", "SELECT 1;", "holds the control database"}
	}
	runs := map[string]uuid.UUID{}
	i := 0
	for name, a := range attacks {
		i++
		runs[name] = h.start(fmt.Sprintf("attack%d", i), a.server, a.database, "", a.script)
	}
	for name, id := range runs {
		row := h.end(id)
		if name == "Model" {
			continue
		}
		require.Equal(t, jobs.Failed, row.Lifecycle, "%s: %s", name, row.LastMessage)
		require.Contains(t, row.LastMessage, attacks[name].want, name)
	}
	require.Zero(t, h.sysadmins())
	require.Zero(t, h.count("SELECT COUNT(*) FROM sys.database_principals WHERE name = N'jobagent_targets'"),
		"in the control database")
	require.Equal(t, 1, h.count("SELECT COUNT(*) FROM jobs_internal.terms WHERE ended_at IS NULL"),
		"the agent's term goes on")
	// Ordinary jobs work, also with at_most_once, and in a database that was created later.
	h.exec("CREATE DATABASE Tenant2;")
	work := h.start("work", "127.0.0.1,"+port, "Tenant2", "", "CREATE TABLE dbo.Visits (VisitedAt DATETIME2 NOT NULL);")
	require.Equal(t, jobs.Succeeded, h.end(work).Lifecycle)
	yes, stepID := true, 1
	_, err = catalog.On(h.author).UpdateJobStep(t.Context(), model.StepSpec{JobName: "work", StepID: &stepID,
		AtMostOnce: &yes})
	require.NoError(t, err)
	step := "DROP TABLE dbo.Visits;"
	_, err = catalog.On(h.author).UpdateJobStep(t.Context(), model.StepSpec{JobName: "work", StepID: &stepID, Command: &step})
	require.NoError(t, err)
	work, err = executions.On(h.author).StartJob(t.Context(), "work", uuid.Nil)
	require.NoError(t, err)
	row := h.end(work)
	require.Equal(t, jobs.Succeeded, row.Lifecycle, row.LastMessage)
	var rows int
	require.NoError(t, dev.open(t, "Tenant2").QueryRowContext(t.Context(),
		"SELECT COUNT(*) FROM jobagent.executed_scripts;").Scan(&rows))
	require.Equal(t, 1, rows)
}

// runAgent starts `jobagent run` with a configuration and returns a function that stops it.
func (h *authorServer) runAgent(dsn string, allow bool, credentials ...config.Credential) (stop func()) {
	t := h.t
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"targets":     map[string]any{"trust_server_certificate": true, "allow_control_database": allow},
		"credentials": credentials,
	})
	require.NoError(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "config.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	defer log.Close()
	cmd := exec.Command(os.Args[0], "run", "--config", path, "--grace", "1s")
	cmd.Env = append(os.Environ(), envBeCommand+"=1", config.EnvDSN+"="+dsn, "AGENT_PASSWORD=Agent-12",
		"TENANT_PASSWORD=Tenant-12")
	cmd.Stderr = log
	require.NoError(t, cmd.Start())
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(os.Interrupt) // the process may have ended
		_ = cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("agent: %s", text)
		}
	})
	t.Cleanup(stop)
	return stop
}

// A job's author cannot call the agent's procedures, under whatever name the control database is
// reached, and even with the agent's own login as credential: the term continues, and no history is
// forged. The same attacks succeed where the configuration allows the control database, so it is
// the check that prevents them.
func TestAuthorForgesNothing(t *testing.T) {
	testenv.Long(t)
	password := embedded.RandomPassword()
	server := clitest.ServerWith(t, password, "true")
	h := newAuthorServer(t, server.Address, password)
	h.exec("CREATE LOGIN agent WITH PASSWORD = 'Agent-12'; CREATE USER agent FOR LOGIN agent; ALTER ROLE jobs_agent ADD MEMBER agent;")
	h.exec("CREATE LOGIN tenant WITH PASSWORD = 'Tenant-12';")
	for _, user := range []string{"agent", "tenant"} {
		h.exec("EXECUTE Tenant1.sys.sp_executesql N'CREATE USER " + user + " FOR LOGIN " + user +
			"; ALTER ROLE db_owner ADD MEMBER " + user + ";';")
	}
	forwarder, err := fault.NewProxy(server.Address, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, forwarder.Close()) })
	_, port, err := net.SplitHostPort(server.Address)
	require.NoError(t, err)
	_, forwarded, err := net.SplitHostPort(forwarder.Address())
	require.NoError(t, err)
	credentials := []config.Credential{
		{Name: "agent", Servers: []string{"*"}, User: "agent", Secret: "env:AGENT_PASSWORD"},
		{Name: "tenant", Servers: []string{"*"}, User: "tenant", Secret: "env:TENANT_PASSWORD"},
	}
	terms := func() int { return h.count("SELECT COUNT(*) FROM jobs_internal.terms") }
	const endTerms = "DECLARE @t BIGINT = 1; WHILE @t < 9 BEGIN BEGIN TRY EXECUTE jobs_internal.end_term @term_id = @t; END TRY BEGIN CATCH IF XACT_STATE() <> 0 ROLLBACK; END CATCH; SET @t += 1; END;"

	stop := h.runAgent(h.dsn("agent", "Agent-12", embedded.ControlDatabase), false, credentials...)
	type attack struct{ server, database, credential, script, want string }
	attacks := []attack{
		{"127.0.0.1," + port, "Tenant1", "agent", "EXECUTE jobagent.jobs_internal.end_term @term_id = 1;",
			"can enter the control database [jobagent]"},
		{"127.0.0.1," + port, "Tenant1", "tenant", "EXECUTE jobagent.jobs_internal.end_term @term_id = 1;", "916"},
		{"127.0.0.1," + port, "master", "tenant", "SELECT 1;", "holds the control database"},
		{"127.0.0.1," + port, embedded.ControlDatabase, "", "SELECT 1;",
			"neither the step or member nor the agent names a credential"},
	}
	for _, name := range []string{
		"127.0.0.1," + port, "localhost," + port, "tcp:127.0.0.1," + port, "LOCALHOST.," + port, "::ffff:127.0.0.1," + port,
		"127.0.0.1," + forwarded, "localhost," + forwarded,
	} {
		attacks = append(attacks, attack{
			server:     name,
			database:   embedded.ControlDatabase,
			credential: "agent",
			script:     endTerms,
			want:       "is installed in it",
		})
		attacks = append(attacks, attack{
			server:     name,
			database:   "JobAgent",
			credential: "agent",
			script:     endTerms,
			want:       "is installed in it",
		})
	}
	runs := make([]uuid.UUID, len(attacks))
	for i, a := range attacks {
		runs[i] = h.start(fmt.Sprintf("attack%d", i), a.server, a.database, a.credential, a.script)
	}
	for i, id := range runs {
		row := h.end(id)
		require.Equal(t, jobs.Failed, row.Lifecycle, "%+v: %s", attacks[i], row.LastMessage)
		require.Contains(t, row.LastMessage, attacks[i].want, "%+v", attacks[i])
	}
	require.Equal(t, 1, terms(), "the agent's term goes on")
	good := h.start("good", "127.0.0.1,"+forwarded, "Tenant1", "tenant", "SELECT 1;")
	require.Equal(t, jobs.Succeeded, h.end(good).Lifecycle)
	stop()

	// The same attack succeeds where it is allowed.
	h.runAgent(h.dsn("agent", "Agent-12", embedded.ControlDatabase), true, credentials...)
	h.start("allowed", "127.0.0.1,"+port, embedded.ControlDatabase, "agent", endTerms)
	eventually(t, 30*time.Second, "the agent has lost its term, and taken another", func() bool { return terms() > 2 })
}
