package agent_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	"go.uber.org/zap/zaptest/observer"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/agents"
	"github.com/jobagent/jobagent/testenv/earlier"
	"github.com/jobagent/jobagent/testenv/sim"
)

// TestReleases upgrades the control database under a running agent, first to a release that
// supports the agent: the agent continues to work, and can restart. The release after that does not
// support the agent: it ends the agent's term and refuses a new one.
func TestReleases(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 2)
		db := f.DB(t, f.Control)
		f.AddJob(t, "long", []string{"WAITFOR DELAY '00:01:00'; SELECT 1;"}, retries(3, 1))
		f.AddJob(t, "short", []string{"SELECT 1;", "SELECT 2;"})
		cfg := agent.Config{AgentID: uuid.New(), Lease: 30 * time.Second, PollIdle: 2 * time.Second}
		stop := f.startAgent(t, cfg)
		long := f.Start(t, "long")
		f.until(t, long, time.Minute, func(rows []executions.Execution) bool {
			return lifecycles(rows, 1)["db1"] == "InProgress" && lifecycles(rows, 1)["db2"] == "InProgress"
		})

		require.NoError(t, sim.DeployLaterRelease(t.Context(), db, controldb.AgentProtocol, controldb.AgentProtocol+1))
		require.ErrorIs(t, installed.On(f.Store).CheckVersion(t.Context()), dberror.ErrSchemaVersion)
		require.ErrorIs(t, deploy.On(f.Store).Migrate(t.Context()), dberror.ErrSchemaVersion, "an older program must not undo a release")
		rows := f.ended(t, f.Start(t, "short"), time.Minute)
		require.Equal(t, "Succeeded", string(rows[0].Lifecycle), "the agent continues")
		rows = f.ended(t, long, 2*time.Minute)
		require.Equal(t, "Succeeded", string(rows[0].Lifecycle))
		require.Equal(t, 1, rows[len(rows)-1].Attempts, "no work was lost by the deployment")
		stop()
		stop = f.startAgent(t, cfg)
		rows = f.ended(t, f.Start(t, "short"), time.Minute)
		require.Equal(t, "Succeeded", string(rows[0].Lifecycle), "the agent may restart")

		long = f.Start(t, "long")
		f.until(t, long, time.Minute, func(rows []executions.Execution) bool { return lifecycles(rows, 1)["db1"] == "InProgress" })
		require.NoError(t, sim.DeployLaterRelease(t.Context(), db, controldb.AgentProtocol+1, controldb.AgentProtocol+2))
		list, err := fleet.On(f.Store).List(t.Context())
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.False(t, list[0].Live)
		require.Equal(t, "Outdated", list[0].EndReason)
		_, err = f.Store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: "h", Version: "v"}, time.Minute)
		require.ErrorIs(t, err, dberror.ErrSchemaVersion)
		require.ErrorContains(t, err, "supports the agent protocols 5 to 6, and this agent uses protocol 4")
		stop()
		late, err := agent.New(cfg, f.Store, agents.Tools(t, f.Env, f.Store), nil, zaptest.NewLogger(t))
		require.NoError(t, err)
		require.ErrorIs(t, late.Run(context.WithoutCancel(t.Context())), dberror.ErrSchemaVersion)

		require.NoError(t, sim.ReturnToThisRelease(t.Context(), db))
		require.NoError(t, installed.On(f.Store).Verify(t.Context()))
		f.startAgent(t, cfg)
		rows = f.ended(t, long, 3*time.Minute)
		require.Equal(t, "Succeeded", string(rows[0].Lifecycle))
		require.Equal(t, 2, rows[len(rows)-1].Attempts)
	})
}

// TestEarlierRelease: an agent refuses the control schema of an earlier release at once. In a
// fleet, it waits for the migration, and the agents of other databases work.
func TestEarlierRelease(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 1)
		old := f.CreateDatabase(t, "old")
		require.NoError(t, earlier.Install(t.Context(), f.DB(t, old), earlier.Version28))
		store := f.OpenControl(t, old)
		refused, err := agent.New(agent.Config{}, store, agents.Tools(t, f.Env, store), nil, zaptest.NewLogger(t))
		require.NoError(t, err)
		started := time.Now()
		err = refused.Run(t.Context())
		require.ErrorIs(t, err, dberror.ErrSchemaVersion)
		require.ErrorContains(t, err, `the control schema has version 28 and this program needs `)
		require.ErrorContains(t, err, `run "jobagent db migrate"`)
		require.Zero(t, time.Since(started), "nothing was repeated")

		m := metrics.New(metrics.Build{})
		waits := agent.Member{Name: "old", Store: store, Metrics: m.Database("old").Agent(), OpenTools: func(context.Context) (agent.Tools, func(), error) {
			return agents.Tools(t, f.Env, store), func() {}, nil
		}}
		stop := runFleet(t, agent.Config{}, f.member(t, "new"), waits)
		f.AddJob(t, "j", []string{"SELECT 1;"})
		rows := f.ended(t, f.Start(t, "j"), time.Minute)
		require.Equal(t, "Succeeded", string(rows[0].Lifecycle))
		_, why := m.Ready()
		require.Contains(t, why, "the control schema does not support this program")
		require.NoError(t, deploy.On(store).Migrate(t.Context()))
		eventuallyReady(t, m, 2*time.Minute)
		stop()
	})
}

// TestSchemaGetsOlder: an agent that meets the schema of an earlier release while it runs, as after
// the restore of a backup, waits for the migration and says so. So does its probe.
func TestSchemaGetsOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 1)
		f.AddJob(t, "j", []string{"SELECT 1;"})
		m := metrics.New(metrics.Build{})
		core, logs := observer.New(zap.WarnLevel)
		hosting, err := agent.New(agent.Config{Metrics: m.Database("jobs").Agent()}, f.Store, agents.Tools(t, f.Env, f.Store), nil, zap.New(core))
		require.NoError(t, err)
		stop := agents.Run(t, hosting)
		eventuallyReady(t, m, time.Minute)

		f.exec(t, f.Control, "DROP PROCEDURE jobs_internal.confirm_term;")
		f.exec(t, f.Control, "DELETE c FROM jobs_internal.code_objects AS c WHERE c.name = N'jobs_internal.confirm_term';")
		f.exec(t, f.Control, endTerm)
		time.Sleep(time.Minute) // virtual time
		ready, why := m.Ready()
		require.False(t, ready)
		require.Contains(t, why, "the control schema does not support this program")
		waits := logs.FilterMessage("no term: the agent waits for a control schema that supports it").All()
		require.NotEmpty(t, waits)
		require.Less(t, len(waits), 20, "the waits grow")
		require.Contains(t, waits[0].ContextMap()["error"], `1 object missing (jobs_internal.confirm_term): run "jobagent db migrate"`)

		require.NoError(t, deploy.On(f.Store).Migrate(t.Context()))
		eventuallyReady(t, m, time.Minute)
		rows := f.ended(t, f.Start(t, "j"), time.Minute)
		require.Equal(t, "Succeeded", string(rows[0].Lifecycle))
		stop()
	})
}

// eventuallyReady waits until an agent holds a term.
func eventuallyReady(t *testing.T, m *metrics.Metrics, limit time.Duration) {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) { // virtual time
		ready, why := m.Ready()
		if ready {
			return
		}
		require.True(t, time.Now().Before(end), why)
	}
}

// TestAgentNeedsRowVersions: an agent does not start with READ_COMMITTED_SNAPSHOT off, and says
// what to do.
func TestAgentNeedsRowVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 1)
		set := func(state string) {
			_, err := f.DB(t, "master").ExecContext(t.Context(), "ALTER DATABASE ["+f.Control+"] SET READ_COMMITTED_SNAPSHOT "+state+" WITH ROLLBACK IMMEDIATE;")
			require.NoError(t, err)
		}
		set("OFF")
		cfg := agent.Config{AgentID: uuid.New()}
		refused, err := agent.New(cfg, f.Store, agents.Tools(t, f.Env, f.Store), nil, zaptest.NewLogger(t))
		require.NoError(t, err)
		err = refused.Run(t.Context())
		require.ErrorIs(t, err, doctor.ErrUnfit)
		require.ErrorContains(t, err, "stop all agents and fronts")
		require.ErrorContains(t, err, "ALTER DATABASE ["+f.Control+"] SET READ_COMMITTED_SNAPSHOT ON WITH NO_WAIT;")
		set("ON")
		f.AddJob(t, "j", []string{"SELECT 1;"})
		f.startAgent(t, cfg)
		rows := f.ended(t, f.Start(t, "j"), time.Minute)
		require.Equal(t, "Succeeded", string(rows[0].Lifecycle))
	})
}

// TestMigrateUnderAgent deploys all procedures again while an agent runs scripts, and while a
// report keeps its locks for a time: the agent keeps its term, and no attempt is repeated.
func TestMigrateUnderAgent(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 2)
		db := f.DB(t, f.Control)
		f.AddJob(t, "long", []string{"WAITFOR DELAY '00:01:00'; SELECT 1;"}, retries(3, 1))
		f.AddJob(t, "short", []string{"SELECT 1;", "SELECT 2;"})
		f.startAgent(t, agent.Config{AgentID: uuid.New(), Lease: 30 * time.Second, PollIdle: 2 * time.Second})
		long := f.Start(t, "long")
		f.until(t, long, time.Minute, func(rows []executions.Execution) bool {
			return lifecycles(rows, 1)["db1"] == "InProgress" && lifecycles(rows, 1)["db2"] == "InProgress"
		})
		before, err := fleet.On(f.Store).List(t.Context())
		require.NoError(t, err)
		short := f.Start(t, "short")
		_, err = db.ExecContext(t.Context(), `UPDATE c SET c.sha256 = REPLICATE('0', 64) FROM jobs_internal.code_objects AS c;`)
		require.NoError(t, err)
		report, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = report.ExecContext(t.Context(), `SELECT COUNT(*) FROM jobs_internal.job_executions WITH (HOLDLOCK);`)
		require.NoError(t, err)
		waits := 0
		require.NoError(t, deploy.On(f.Store).MigrateWith(t.Context(), deploy.MigrateOptions{Tell: func(line string) {
			if strings.Contains(line, "tries again in") {
				if waits++; waits == 2 {
					require.NoError(t, report.Commit())
				}
			}
		}}))
		require.Equal(t, 2, waits)
		require.NoError(t, installed.On(f.Store).Verify(t.Context()))
		require.Equal(t, "Succeeded", string(f.ended(t, short, time.Minute)[0].Lifecycle))
		rows := f.ended(t, long, 2*time.Minute)
		require.Equal(t, "Succeeded", string(rows[0].Lifecycle))
		require.Equal(t, 1, rows[len(rows)-1].Attempts)
		after, err := fleet.On(f.Store).List(t.Context())
		require.NoError(t, err)
		require.Equal(t, before[0].Term, after[0].Term, "the agent has kept its term")
	})
}
