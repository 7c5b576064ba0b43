package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/agents"
)

// An agent and a login for targets that have exactly the rights which `jobagent db grants` prints
// can do everything: list a server's databases, run scripts, also at most once, write output
// tables, cancel, and purge history. The names of the logins need quoting.
func TestLeastPrivilege(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 0)
		const agentLogin, targetLogin, password = "agent]; DROP TABLE x; --", "o'target]", "Pw1-of-least-privilege"
		for _, name := range []string{"tenant", "results"} {
			env.CreateDatabase(t, name)
		}
		grant := func(login, role string, databases ...[]string) {
			sections, err := deploy.Grants(deploy.GrantRequest{Login: login, Role: role, Ledger: mssql.LedgerTable()})
			require.NoError(t, err)
			require.Len(t, sections, len(databases))
			for i, s := range sections {
				for _, database := range databases[i] {
					_, err := env.DB(t, database).ExecContext(t.Context(), strings.ReplaceAll(s.SQL, "<password>", password))
					require.NoError(t, err, "%s: %s", database, s.SQL)
				}
			}
		}
		grant(agentLogin, "jobs_agent", []string{"master"}, []string{f.Control})
		grant(targetLogin, deploy.GrantTarget, []string{"master"}, []string{"tenant", "results"}, []string{"results"})
		_, err := env.DBAs(t, f.Control, targetLogin, password).ExecContext(t.Context(), "SELECT 1;")
		require.Error(t, err, "the login of the targets has no user in the control database")

		store := env.OpenControlAs(t, f.Control, agentLogin, password)
		credentials, err := mssql.NewCredentialSet(mssql.LoginCredential(targets.DefaultCredential, targetLogin, password, "*"))
		require.NoError(t, err)
		servers := env.ServersWith(t, credentials)
		instance, err := store.Instance(t.Context())
		require.NoError(t, err)
		tools := agent.Tools{Runner: mssql.NewRunner(servers, targets.Limits{}), Resolver: mssql.NewResolver(servers, instance)}
		hosting, err := agent.New(agent.Config{}, store, tools, nil, zaptest.NewLogger(t))
		require.NoError(t, err)
		agents.Run(t, hosting)

		_, err = targetgroups.On(f.Store).AddMember(t.Context(), testenv.Group, targets.Member{
			Membership: targets.Include, Kind: targets.SQLServer, Server: env.ServerName,
		})
		require.NoError(t, err)
		// The first step creates the output table, the second one appends to it.
		const who = "SELECT DB_NAME() AS name, USER_NAME() AS who;"
		f.AddJob(t, "j", []string{who, who}, retries(0, 1), func(s *model.StepSpec) {
			s.Output = &model.OutputSpec{
				Type: ptr("SqlDatabase"), Server: &env.ServerName, Database: ptr("results"), Table: ptr("found"),
			}
		})
		f.AddJob(t, "once", []string{"DECLARE @n INT = (SELECT COUNT(*) FROM jobagent.executed_scripts);"}, retries(0, 1))
		f.exec(t, f.Control, "EXEC jobs.sp_set_jobstep_options N'once', 1, @at_most_once = 1;")
		f.AddJob(t, "endless", []string{"WAITFOR DELAY '10:00:00';"}, retries(0, 1))
		for _, job := range []string{"j", "once"} {
			rows := f.ended(t, f.Start(t, job), time.Minute)
			require.Equal(t, jobs.Succeeded, rows[0].Lifecycle, "%s: %+v", job, rows)
			require.Len(t, lifecycles(rows, 1), 2, "the control database is not one of the targets")
		}
		var n int
		require.NoError(t, env.DB(t, "results").QueryRowContext(t.Context(), "SELECT COUNT(*) FROM dbo.found WHERE who = @p1;", targetLogin).Scan(&n))
		require.Equal(t, 4, n)
		id := f.Start(t, "endless")
		<-time.After(5 * time.Second)
		require.NoError(t, executions.On(f.Store).Stop(t.Context(), id))
		require.Equal(t, jobs.Canceled, f.ended(t, id, 30*time.Second)[0].Lifecycle)

		// The agent's steps to end a script that does not respond to a cancellation.
		victim, err := env.DB(t, "tenant").Conn(t.Context())
		require.NoError(t, err)
		var session int
		require.NoError(t, victim.QueryRowContext(t.Context(), "SELECT @@SPID;").Scan(&session))
		target := env.DBAs(t, "tenant", targetLogin, password)
		require.NoError(t, target.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id = @p1;", session).Scan(&n))
		require.Equal(t, 1, n, "the login sees the session")
		_, err = target.ExecContext(t.Context(), fmt.Sprintf("KILL %d;", session))
		require.NoError(t, err)
		_ = victim.Close()

		f.exec(t, f.Control, `
UPDATE e
SET
    e.end_time = DATEADD(DAY, -46, e.end_time),
    e.start_time = DATEADD(DAY, -46, e.start_time),
    e.create_time = DATEADD(DAY, -46, e.create_time)
FROM jobs_internal.job_executions AS e;`)
		rows := f.Run(t, f.Start(t, retention))
		rows = f.until(t, rows[0].ID, time.Minute, func(rows []executions.Execution) bool { return !rows[0].Active })
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
		require.Contains(t, rows[2].LastMessage, "Executions purged: 3.")
	})
}
