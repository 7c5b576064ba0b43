package agent_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/agents"
)

// retention is the system job that purges history.
const retention = "jobagent$history_retention"

// noTargets is a dialer that fails the test when it is used.
type noTargets struct{ t *testing.T }

func (d noTargets) DialContext(_ context.Context, network, address string) (net.Conn, error) {
	d.t.Errorf("dialed the target server %s %s", network, address)
	return nil, net.ErrClosed
}

// HostName implements mssql.HostDialer.
func (d noTargets) HostName() string { return "" }

// bareAgent runs an agent whose login has the role jobs_agent, and that has no credential for
// targets. The returned function stops it.
func (f *fixture) bareAgent(t *testing.T, cfg agent.Config) (stop func()) {
	t.Helper()
	const login, password = "bare", "Pw1-of-the-bare-agent"
	_, err := f.DB(t, "master").ExecContext(t.Context(), fmt.Sprintf("CREATE LOGIN %s WITH PASSWORD = '%s';", login, password))
	require.NoError(t, err)
	_, err = f.DB(t, f.Control).ExecContext(t.Context(), fmt.Sprintf("CREATE USER %[1]s FOR LOGIN %[1]s; ALTER ROLE jobs_agent ADD MEMBER %[1]s;", login))
	require.NoError(t, err)
	store := f.OpenControlAs(t, f.Control, login, password)

	credentials, err := mssql.NewCredentialSet()
	require.NoError(t, err)
	servers, err := mssql.NewServers(mssql.Config{Credentials: credentials, Dialer: noTargets{t}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	instance, err := store.Instance(t.Context())
	require.NoError(t, err)
	tools := agent.Tools{Runner: mssql.NewRunner(servers, targets.Limits{}), Resolver: mssql.NewResolver(servers, instance)}
	hosting, err := agent.New(cfg, store, tools, nil, zaptest.NewLogger(t))
	require.NoError(t, err)
	return agents.Run(t, hosting)
}

// An agent without any right beyond its role purges history in several batches. The job is visible
// like any other, and its steps cannot be changed.
func TestUpkeepNeedsNoCredential(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 0)
		f.AddJob(t, "old", []string{"SELECT 1;"})
		f.exec(t, f.Control, `
INSERT INTO jobs_internal.job_executions (job_execution_id, job_id, job_version, lifecycle, is_active, create_time, end_time, stop_requested_at)
SELECT NEWID(), j.job_id, 1, N'Canceled', 0, d.at, d.at, d.at
FROM jobs_internal.jobs AS j
CROSS JOIN GENERATE_SERIES(1, 250) AS n
CROSS APPLY (SELECT DATEADD(DAY, CASE WHEN n.value <= 230 THEN -46 ELSE -44 END, SYSUTCDATETIME()) AS at) AS d
WHERE j.name = N'old';`)
		stop := f.bareAgent(t, agent.Config{})
		<-time.After(time.Second)
		rows := f.ended(t, f.Start(t, retention), time.Minute)
		require.Len(t, rows, 3)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle, "%+v", rows)
		require.Equal(t, []string{"(control database)", f.Control}, []string{rows[1].TargetGroup, rows[2].Database})
		require.Contains(t, rows[2].LastMessage, "Executions purged: 230.")
		left, err := executions.On(f.Store).List(t.Context(), executions.Query{JobName: "old"}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		require.Len(t, left, 20)

		_, err = catalog.On(f.Store).UpdateJobStep(t.Context(), model.StepSpec{JobName: retention, Command: ptr("DROP TABLE x;")})
		require.ErrorContains(t, err, "is a system job. Its steps cannot be changed.")

		f.exec(t, f.Control, `
UPDATE s
SET s.next_due_at = SYSUTCDATETIME(), s.next_fire_at = SYSUTCDATETIME()
FROM jobs_internal.schedules AS s
INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
WHERE j.is_system = 1;`)
		<-time.After(10 * time.Second)
		runs, err := executions.On(f.Store).List(t.Context(), executions.Query{JobName: retention}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		require.Len(t, runs, 2, "the schedule has started it")
		require.Equal(t, jobs.Succeeded, runs[0].Lifecycle)
		stop()
		f.CheckInvariants(t, f.Control, true)
	})
}

// A stop request and the step's time limit end a long upkeep. Another agent continues it if its
// agent stops or has lost the term.
func TestUpkeepIsInterrupted(t *testing.T) {
	testenv.Long(t)
	// slowly makes each batch take ten seconds and report a deleted run, without end.
	const slowly = `CREATE OR ALTER PROCEDURE jobs_internal.purge_history
    @batch_size INT, @term_id BIGINT, @term_guid UNIQUEIDENTIFIER, @deleted INT OUTPUT, @remaining BIT OUTPUT
AS
BEGIN
    WAITFOR DELAY '00:00:10';
    SET @deleted = 1;
    SET @remaining = 1;
END;`
	const quickly = `CREATE OR ALTER PROCEDURE jobs_internal.purge_history
    @batch_size INT, @term_id BIGINT, @term_guid UNIQUEIDENTIFIER, @deleted INT OUTPUT, @remaining BIT OUTPUT
AS
    SELECT @deleted = 0, @remaining = 0;`
	for name, test := range map[string]func(t *testing.T, f *fixture, stop func()) []executions.Execution{
		"stop request": func(t *testing.T, f *fixture, _ func()) []executions.Execution {
			id := f.Start(t, retention)
			<-time.After(35 * time.Second)
			require.NoError(t, executions.On(f.Store).Stop(t.Context(), id))
			rows := f.ended(t, id, 5*time.Second)
			require.Contains(t, rows[2].LastMessage, "Canceled. Executions purged before: 3.")
			return rows
		},
		"time limit": func(t *testing.T, f *fixture, _ func()) []executions.Execution {
			f.exec(t, f.Control, `UPDATE s SET s.step_timeout_seconds = 25 FROM jobs_internal.job_steps AS s WHERE s.target_group_name = N'(control database)';`)
			rows := f.ended(t, f.Start(t, retention), 30*time.Second)
			require.Contains(t, rows[2].LastMessage, "The step's time limit passed, and older history is left. Executions purged before: 2.")
			return rows
		},
		"stopping agent": func(t *testing.T, f *fixture, stop func()) []executions.Execution {
			id := f.Start(t, retention)
			<-time.After(15 * time.Second)
			stop()
			rows := f.Run(t, id)
			require.Equal(t, []any{jobs.Created, 0}, []any{rows[2].Lifecycle, rows[2].Attempts}, "returned")
			_, err := f.DB(t, f.Control).ExecContext(t.Context(), quickly)
			require.NoError(t, err)
			f.startAgent(t, agent.Config{})
			return f.ended(t, id, 10*time.Second)
		},
		"lost term": func(t *testing.T, f *fixture, _ func()) []executions.Execution {
			id := f.Start(t, retention)
			<-time.After(15 * time.Second)
			db := f.DB(t, f.Control)
			_, err := db.ExecContext(t.Context(), quickly)
			require.NoError(t, err)
			_, err = db.ExecContext(t.Context(), endTerm)
			require.NoError(t, err)
			rows := f.ended(t, id, 5*time.Minute)
			require.Equal(t, 2, rows[2].Attempts, "the attempt of the lost term counts")
			return rows
		},
	} {
		t.Run(name, func(t *testing.T) {
			longBubble(t, func(t *testing.T, env *testenv.Env) {
				f := newFixture(t, env, 0)
				require.NoError(t, f.Store.EnsureSystemJobs(t.Context()))
				_, err := env.DB(t, f.Control).ExecContext(t.Context(), slowly)
				require.NoError(t, err)
				stop := f.startAgent(t, agent.Config{Grace: time.Second})
				rows := test(t, f, stop)
				want := map[string]jobs.Lifecycle{"stop request": jobs.Canceled, "time limit": jobs.TimedOut}[name]
				if want == "" {
					want = jobs.Succeeded
				}
				require.Equal(t, want, rows[0].Lifecycle, "%+v", rows)
			})
		})
	}
}
