package main

import (
	"bytes"
	"context"
	"database/sql"
	"flag"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets/mssql"
)

var locksLog = flag.Bool("locks.log", false, "TestLocksOfProcesses waits until the agent has logged who holds the lock of passes (11 s)")

// asLogin returns a connection string with another login.
func asLogin(t *testing.T, dsn, user, password string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	u.User = url.UserPassword(user, password)
	return u.String()
}

// A login without a role cannot stop agents with an application lock. If a login with the role of
// an agent does, the commands and the agents of other processes name it.
func TestLocksOfProcesses(t *testing.T) {
	const password = "Only-4-locks"
	p := startDev(t, t.TempDir(), "127.0.0.1:0")
	control, store := p.open(t, embedded.ControlDatabase), p.store(t)
	for _, batch := range []string{
		"CREATE LOGIN nobody WITH PASSWORD = N'" + password + "'; CREATE LOGIN mate WITH PASSWORD = N'" + password + "';",
		"CREATE USER nobody FOR LOGIN nobody; CREATE USER mate FOR LOGIN mate; ALTER ROLE jobs_agent ADD MEMBER mate;",
		"EXECUTE jobs.sp_add_target_group N'none'; EXECUTE jobs.sp_add_job N'j'; EXECUTE jobs.sp_add_jobstep N'j', @command = N'SELECT 1;', @target_group_name = N'none';",
	} {
		_, err := control.ExecContext(t.Context(), batch)
		require.NoError(t, err)
	}
	connect := func(user string) func(batch string) error {
		connector, err := mssql.NewConnector(asLogin(t, p.dsn(embedded.ControlDatabase), user, password), nil)
		require.NoError(t, err)
		db := sql.OpenDB(connector)
		t.Cleanup(func() { db.Close() })
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		return func(batch string) error {
			_, err := conn.ExecContext(t.Context(), batch)
			return err
		}
	}
	start := func() uuid.UUID {
		id, err := executions.On(store).StartJob(t.Context(), "j", uuid.Nil)
		require.NoError(t, err)
		return id
	}
	lifecycle := func(id uuid.UUID) jobs.Lifecycle {
		rows, err := executions.On(store).List(t.Context(), executions.Query{ID: id}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		require.Len(t, rows, 1)
		return rows[0].Lifecycle
	}

	nobody := connect("nobody")
	for resource, principal := range map[string]string{"jobagent.advance": "jobs_agent",
		"jobagent.cleanup": "jobs_agent", "jobagent.deploy": "db_owner"} {
		lock := "EXECUTE sp_getapplock @Resource = N'" + resource +
			"', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0"
		require.ErrorContains(t, nobody(lock+", @DbPrincipal = N'"+principal+"';"), "(1202)")
		require.NoError(t, nobody(lock+";"), "that is another lock, of everybody")
	}
	id := start()
	eventually(t, 20*time.Second, "the run ends", func() bool { return lifecycle(id) == jobs.Succeeded })

	mate := connect("mate")
	const resource = "@Resource = N'jobagent.advance', @LockOwner = N'Session', @DbPrincipal = N'jobs_agent'"
	require.NoError(t, mate("EXECUTE sp_getapplock @LockMode = N'Exclusive', @LockTimeout = 10000, "+resource+";"))
	id = start()
	if *locksLog {
		<-time.After(11 * time.Second)
	} else { // the same without the wait
		_, err := control.ExecContext(t.Context(), "UPDATE e SET e.create_time = DATEADD(SECOND, -20, e.create_time) FROM jobs_internal.job_executions AS e WHERE e.is_active = 1; "+
			"UPDATE t SET t.started_at = DATEADD(SECOND, -60, t.started_at) FROM jobs_internal.terms AS t; "+
			"UPDATE a SET a.last_advanced_at = DATEADD(SECOND, -20, a.last_advanced_at) FROM jobs_internal.advance_state AS a;")
		require.NoError(t, err)
	}
	require.Equal(t, jobs.Created, lifecycle(id))
	command := func(dsn string, line ...string) (stdout, stderr string) {
		t.Setenv(config.EnvDSN, dsn)
		var out, errs strings.Builder
		require.Equal(t, exit.CodeOK, cli.Run(t.Context(), line, strings.NewReader(""), &out, &errs), errs.String())
		return out.String(), errs.String()
	}
	_, warning := command(p.dsn(embedded.ControlDatabase), "agent", "status")
	require.Regexp(t, `^warning: no pass of an agent has advanced executions since \S+ The application lock jobagent.advance is held by: session \d+ of login mate, program "[^"]+" on host "[^"]*"\.\n$`, warning)
	explained, _ := command(p.dsn(embedded.ControlDatabase), "execution", "explain", id.String())
	require.Contains(t, explained, "No pass of an agent has advanced executions since")
	require.Contains(t, explained, "of login mate")
	_, warning = command(asLogin(t, p.dsn(embedded.ControlDatabase), "mate", password), "agent", "status")
	require.Contains(t, warning, "not visible to this login without the permission VIEW SERVER STATE")

	require.NoError(t, mate("EXECUTE sp_releaseapplock "+resource+";"))
	eventually(t, 20*time.Second, "the run ends", func() bool { return lifecycle(id) == jobs.Succeeded })
	_, warning = command(p.dsn(embedded.ControlDatabase), "agent", "status")
	require.Empty(t, warning)
	if *locksLog {
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, p.cmd.Wait(), p.log.String())
		require.Contains(t, p.log.String(), "no agent can advance executions")
		require.Contains(t, p.log.String(), "of login mate")
		require.Contains(t, p.log.String(), "executions advance again")
	}
}

// An agent whose login has the role jobs_agent, and which has no credentials of targets, purges
// history. No author's job can run on the control database with it.
func TestRetentionByAProcessWithoutCredentials(t *testing.T) {
	t.Parallel()
	const password = "Only-4-agents"
	owner := embedded.RandomPassword()
	server := clitest.ServerWith(t, owner, "disable")
	db, err := server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	u := server.URL(embedded.ControlDatabase)
	u.User = url.UserPassword("sa", owner)
	store, err := controldb.Open(t.Context(), controldb.Config{DSN: u.String()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	sections, err := deploy.Grants(deploy.GrantRequest{Login: "low agent", Role: "jobs_agent"})
	require.NoError(t, err)
	for _, s := range sections {
		_, err := db.ExecContext(t.Context(), strings.ReplaceAll(s.SQL, "<password>", password))
		require.NoError(t, err)
	}
	_, err = db.ExecContext(t.Context(), "EXECUTE jobs.sp_add_target_group N'control'; EXECUTE jobs.sp_add_target_group_member N'control', @target_type = N'SqlDatabase', @server_name = N'"+
		strings.Replace(u.Host, ":", ",", 1)+"', @database_name = N'"+embedded.ControlDatabase+"'; EXECUTE jobs.sp_add_job N'evil'; EXECUTE jobs.sp_add_jobstep N'evil', @command = N'CREATE TABLE dbo.evil (i INT);', "+
		"@target_group_name = N'control', @retry_attempts = 0; EXECUTE jobs.sp_start_job N'evil';")
	require.NoError(t, err)

	var log bytes.Buffer
	cmd := exec.Command(os.Args[0], "run", "--grace", "1s")
	cmd.Env = append(os.Environ(), envBeCommand+"=1", config.EnvDSN+"="+asLogin(t, u.String(), "low agent", password))
	cmd.Stderr = &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // the process may have ended
		_ = cmd.Wait()
	})
	const retention = "jobagent$history_retention"
	eventually(t, 20*time.Second, "the system job is there", func() bool {
		_, err := executions.On(store).StartJob(context.WithoutCancel(t.Context()), retention, uuid.Nil)
		return err == nil
	})
	ended := func(job string) (rows []executions.Run) {
		eventually(t, 30*time.Second, "the run ends", func() bool {
			rows, err = executions.On(store).List(t.Context(), executions.Query{JobName: job}, controldb.Page[executions.Key]{})
			return err == nil && len(rows) > 0 && !rows[0].Active
		})
		return rows
	}
	rows := ended(retention)
	require.Equal(t, jobs.Succeeded, rows[0].Lifecycle, "%+v", rows)
	require.Equal(t, jobs.Failed, ended("evil")[0].Lifecycle)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait(), log.String())
	require.NotContains(t, log.String(), password)
}
