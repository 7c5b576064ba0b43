package controldb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/installed"
	sqlfs "github.com/jobagent/jobagent/sql"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/earlier"
	"github.com/jobagent/jobagent/testenv/fault"
)

// work renews a term, makes passes and completes what it gets, like an agent of the term's release,
// until stop is set and nothing is left. Errors of calls are those of a schema that is being
// changed, and the calls are repeated; a lost term is returned.
func (c *control) work(ctx context.Context, term controldb.TermID, stop *atomic.Bool) error {
	idle := 0
	for !stop.Load() || idle < 3 {
		if _, err := c.RenewTerm(ctx, term, time.Hour); errors.Is(err, dberror.ErrTermEnded) {
			return fmt.Errorf("term %d: %w", term, err)
		}
		res, err := c.Pass(ctx, controldb.PassRequest{Term: term, MaxTasks: 2, MaxConcurrentTargets: 100})
		if errors.Is(err, dberror.ErrTermEnded) {
			return fmt.Errorf("term %d: %w", term, err)
		}
		idle++
		for _, task := range res.Tasks {
			idle = 0
			for again := true; again; {
				if task.Kind == controldb.TaskResolve {
					err = c.CompleteResolution(ctx, term, task.ID, controldb.Resolution{Attempt: task.Attempt, Claim: task.Claim, Targets: []targets.Target{
						targets.NewTarget("s", "a", ""), targets.NewTarget("s", "b", ""),
					}})
				} else {
					_, err = c.CompleteTasks(ctx, term, []controldb.Outcome{{Task: task.ID, Attempt: task.Attempt, Claim: task.Claim, Outcome: targets.Succeeded}})
				}
				if errors.Is(err, dberror.ErrTermEnded) {
					return fmt.Errorf("term %d: %w", term, err)
				}
				again = err != nil && ctx.Err() == nil
			}
		}
	}
	return ctx.Err()
}

// TestMigrateUnderLoad migrates from every earlier version of the tables while agents renew leases,
// claim and complete tasks: no lease ends, no outcome is lost, and each run ends as it would have.
// The procedures and agents are those of release 0, and from version 28 on also those of version
// 28. The default run takes some of the versions, and CI all of them, with its runs under other
// collations.
func TestMigrateUnderLoad(t *testing.T) {
	testenv.Long(t)
	all := os.Getenv("JOBAGENT_TEST_COLLATION") != ""
	for of := range installed.SchemaVersion() {
		if !all && of%7 != 0 && of != installed.SchemaVersion()-1 {
			continue
		}
		t.Run(fmt.Sprint(of), func(t *testing.T) { migrateUnderLoad(t, earlier.Release0, of, (*control).term1) })
		if of >= earlier.Version28 {
			t.Run(fmt.Sprintf("%d with procedures of 28", of), func(t *testing.T) {
				migrateUnderLoad(t, earlier.Version28, of, (*control).term)
			})
		}
	}
}

// migrateUnderLoad migrates a control database with the procedures of a version, and the tables of
// a version that is the same or later. start starts a term of an agent.
func migrateUnderLoad(t *testing.T, procedures, tables int, start func(*control, *testing.T) controldb.TermID) {
	env := testenv.Embedded(t, testenv.Options{})
	c := version(t, env, procedures)
	for i := range 6 { // a run whose job runs already would skip its targets
		c.job(t, fmt.Sprintf("j%d", i), nil, nil)
	}
	c.exec(t, `EXECUTE jobs.sp_add_schedule N'j0', N's', N'cron5', N'0 2 * * *';`)
	terms := []controldb.TermID{start(c, t), start(c, t)}
	done := c.start(t, "j0")
	c.resolve(t, terms[0], "a", "b")
	c.complete(t, terms[0], targets.Succeeded, "", c.pass(t, terms[0]).Tasks...)
	require.NoError(t, c.applyMigrations(t.Context(), tables))
	require.Equal(t, tables, get[int](t, c, `SELECT MAX(version) FROM jobs_internal.schema_versions`))
	runs := []uuid.UUID{done}
	for i := range 5 {
		runs = append(runs, c.start(t, fmt.Sprintf("j%d", i+1)))
	}

	var stop atomic.Bool
	var wg sync.WaitGroup
	ended := make([]error, len(terms))
	for i, term := range terms {
		wg.Go(func() { ended[i] = c.work(t.Context(), term, &stop) })
	}
	err := deploy.On(c.Store).Migrate(t.Context())
	stop.Store(true)
	wg.Wait()
	require.NoError(t, err)
	require.NoError(t, errors.Join(ended...))
	require.NoError(t, installed.On(c.Store).Verify(t.Context()))
	for _, run := range runs {
		require.Equal(t, "root=Succeeded 1=Succeeded 1/a=Succeeded 1/b=Succeeded 2=Succeeded 2/a=Succeeded 2/b=Succeeded", c.lifecycles(t, run))
	}
	require.Equal(t, 0, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.terms WHERE ended_at IS NOT NULL`), "a lease was lost")
	require.Equal(t, 0, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.task_executions WHERE outcome <> N'Succeeded'`))
	require.Empty(t, c.rows(t, `SELECT name FROM sys.extended_properties`), "the progress is gone")
	env.CheckInvariants(t, c.name, false)
}

// TestMigrateWaitsForLocks: a report that keeps its locks makes the migration give way, so that the
// statements behind it are carried out, and try again.
func TestMigrateWaitsForLocks(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		c := release0(t, testenv.Embedded(t, testenv.Options{}))
		var report *sql.Tx
		started := time.Now()
		var lines []string
		var behind error
		var wg sync.WaitGroup
		err := deploy.On(c.Store).MigrateWith(t.Context(), deploy.MigrateOptions{Tell: func(line string) {
			lines = append(lines, fmt.Sprintf("%s %s", time.Since(started), line))
			if strings.Contains(line, "step 4 of 15 (jobs_internal.job_executions)") {
				var err error
				report, err = c.db.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				_, err = report.ExecContext(t.Context(), `SELECT COUNT(*) FROM jobs_internal.job_executions WITH (HOLDLOCK);`)
				require.NoError(t, err)
			}
			if strings.Contains(line, "tries again in 2s") {
				wg.Go(func() {
					_, behind = report.ExecContext(context.WithoutCancel(t.Context()), `SELECT COUNT(*) FROM jobs_internal.job_executions;`)
					require.NoError(t, report.Commit())
				})
			}
		}})
		require.NoError(t, err)
		wg.Wait()
		require.NoError(t, behind, "the report is not cut off")
		require.NoError(t, installed.On(c.Store).Verify(t.Context()))
		require.Equal(t, "0s migration 0001_indexes_and_lock_escalation, step 1 of 15 (jobs_internal.task_executions)", lines[0])
		require.Contains(t, lines[4], "5s migration 0001_indexes_and_lock_escalation, step 4 of 15 waits for locks of other sessions (")
		require.Contains(t, lines[4], "tries again in 1s")
		require.Contains(t, lines[5], "11s ")
		require.Contains(t, lines[6], "13s migration 0001_indexes_and_lock_escalation, step 5 of 15")
	})
}

// TestMigrateGivesUp: when a session keeps its locks, the migration ends with an error that names
// the session, and what it has done stays.
func TestMigrateGivesUp(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		c := release0(t, testenv.Embedded(t, testenv.Options{}))
		require.NoError(t, c.applyMigrations(t.Context(), 3))
		blocker, err := c.db.Conn(t.Context())
		require.NoError(t, err)
		defer blocker.Close()
		_, err = blocker.ExecContext(t.Context(), `BEGIN TRANSACTION; UPDATE s SET s.value = s.value FROM jobs_internal.settings AS s;`)
		require.NoError(t, err)
		var id int
		require.NoError(t, blocker.QueryRowContext(t.Context(), `SELECT @@SPID;`).Scan(&id))

		err = deploy.On(c.Store).Migrate(t.Context())
		require.ErrorIs(t, err, deploy.ErrLocked)
		require.Equal(t, int32(1222), dberror.NumberOf(err))
		require.ErrorContains(t, err, fmt.Sprintf("session %d of login sa", id))
		require.Equal(t, 3, get[int](t, c, `SELECT MAX(version) FROM jobs_internal.schema_versions`))
		_, err = blocker.ExecContext(t.Context(), `ROLLBACK TRANSACTION;`)
		require.NoError(t, err)
		require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))
		require.NoError(t, installed.On(c.Store).Verify(t.Context()))
	})
}

// TestMigrateResumes ends the connection before each step of migration 5 in turn. The next
// migration goes on with the step that did not end, and the schema is that of a fresh install.
func TestMigrateResumes(t *testing.T) {
	testenv.Long(t)
	env := testenv.Embedded(t, testenv.Options{})
	c := release0(t, env)
	c.job(t, "j", nil)
	run := c.start(t, "j")
	c.resolve(t, c.term1(t), "a", "b")
	require.NoError(t, c.applyMigrations(t.Context(), 4))
	stopped := errors.New("stopped")
	for step := 2; ; step++ {
		ctx, cancel := context.WithCancelCause(t.Context())
		var first string
		err := deploy.On(c.Store).MigrateWith(ctx, deploy.MigrateOptions{Tell: func(line string) {
			if first == "" {
				first = line
			}
			if strings.HasPrefix(line, fmt.Sprintf("migration 0005_actions, step %d of ", step)) {
				cancel(stopped)
			}
		}})
		cancel(nil)
		require.Contains(t, first, fmt.Sprintf("migration 0005_actions, step %d of ", step-1))
		if err == nil {
			require.Greater(t, step, 15)
			break
		}
		require.Equal(t, []string{fmt.Sprintf("5/%d", step-1)}, c.rows(t, `SELECT CAST(p.value AS NVARCHAR(100)) FROM sys.extended_properties AS p`))
		require.Equal(t, 4, get[int](t, c, `SELECT MAX(version) FROM jobs_internal.schema_versions`))
	}
	require.NoError(t, installed.On(c.Store).Verify(t.Context()))
	require.Equal(t, "root=WaitingForChildJobExecutions 1=WaitingForChildJobExecutions 1/a=Created 1/b=Created", c.lifecycles(t, run))
	name := env.CreateDatabase(t, "fresh")
	fresh := env.OpenControl(t, name)
	require.NoError(t, deploy.On(fresh).Install(t.Context()))
	require.Equal(t, (&control{Store: fresh, env: env, name: name, db: env.DB(t, name)}).tableDefinitions(t), c.tableDefinitions(t))
}

// TestMigrateSteps: batches are repeated until nothing is left; an index that was created before
// its step could be recorded is no error; an error names the file and the line.
func TestMigrateSteps(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		embedded, err := sqlfs.Migrations()
		require.NoError(t, err)
		with := func(text string) []sqlfs.Migration {
			return append(embedded[:len(embedded):len(embedded)], sqlfs.Migration{
				Version: len(embedded) + 1, Name: "next", Text: text, SHA256: strings.Repeat("0", 64),
			})
		}
		for i := range 25 {
			c.exec(t, `INSERT INTO jobs_internal.settings (name, value) VALUES (@p1, N'1');`, fmt.Sprintf("mine%d", i))
		}
		c.exec(t, `CREATE INDEX IX_settings_value ON jobs_internal.settings (value);`)
		const good = `-- A comment.
ALTER TABLE jobs_internal.settings ADD extra INT NULL;

-- batches: ten at once.
UPDATE TOP (10) s
SET s.extra = 5
FROM jobs_internal.settings AS s
WHERE s.extra IS NULL;
CREATE INDEX IX_settings_value ON jobs_internal.settings (value);
`
		err = c.migrateTo(t.Context(), with(good+`ALTER TABLE jobs_internal.settings
    ADD CONSTRAINT CK_settings_extra CHECK (extra = 4);`), nil)
		require.ErrorContains(t, err, "migrations/next.sql:10")
		require.Equal(t, 0, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.settings WHERE extra IS NULL`))
		require.Equal(t, len(embedded), get[int](t, c, `SELECT MAX(version) FROM jobs_internal.schema_versions`))
		var lines []string
		require.NoError(t, c.migrateTo(t.Context(), with(good+`ALTER TABLE jobs_internal.settings ADD CONSTRAINT CK_settings_extra CHECK (extra = 5);`),
			func(line string) { lines = append(lines, line) }))
		require.Equal(t, []string{"migration next, step 4 of 4 (jobs_internal.settings)"}, lines)
		require.Equal(t, len(embedded)+1, get[int](t, c, `SELECT MAX(version) FROM jobs_internal.schema_versions`))
		require.Empty(t, c.rows(t, `SELECT name FROM sys.extended_properties`))
	})
}

// TestDeploymentRoundTrips: the number of round trips of a deployment does not grow with the number
// of procedures, since each makes all calls of agents wait that use one of them.
func TestDeploymentRoundTrips(t *testing.T) {
	var network *fault.Network
	env := testenv.Embedded(t, testenv.Options{Dialer: func(inner mssqldb.HostDialer) mssqldb.HostDialer {
		network = fault.NewNetwork(inner, nil)
		return network
	}})
	store, name := env.Control(t)
	c := &control{Store: store, env: env, name: name, db: env.DB(t, name)}
	c.exec(t, `UPDATE jobs_internal.code_objects SET sha256 = REPLICATE('0', 64);`)
	require.Error(t, installed.On(store).CheckVersion(t.Context()))
	before := network.Calls()
	require.NoError(t, deploy.On(store).Migrate(t.Context()))
	calls := network.Calls() - before
	t.Logf("%d round trips for %d objects", calls, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.code_objects`))
	require.Less(t, calls, 40)
	require.NoError(t, installed.On(store).Verify(t.Context()))
}

// TestMigrateNamesTheBrokenObject: all objects are sent at once, and yet an error names the file.
func TestMigrateNamesTheBrokenObject(t *testing.T) {
	testenv.Long(t)
	each(t, func(t *testing.T, c *control) {
		// A table of the name of a view that is to be created.
		c.exec(t, `DROP VIEW jobs.live_agents; CREATE TABLE jobs.live_agents (a INT);
UPDATE c SET c.sha256 = REPLICATE('0', 64) FROM jobs_internal.code_objects AS c;`)
		err := deploy.On(c.Store).Migrate(t.Context())
		require.ErrorContains(t, err, "deploy views/jobs.live_agents.sql")
		c.exec(t, `DROP TABLE jobs.live_agents;`)
		require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))
		require.NoError(t, installed.On(c.Store).Verify(t.Context()))
	})
}

// TestMigrateRestoresGrants: roles have exactly the permissions of their files after a migration;
// those of other principals stay.
func TestMigrateRestoresGrants(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `CREATE USER reporter WITHOUT LOGIN;
GRANT SELECT ON OBJECT::jobs_internal.terms TO reporter;
GRANT SELECT ON SCHEMA::jobs_internal TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs.sp_start_job TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs.sp_stop_job TO jobs_operator WITH GRANT OPTION;
REVOKE EXECUTE ON OBJECT::jobs_internal.renew_term FROM jobs_agent;
DENY EXECUTE ON OBJECT::jobs.sp_start_job TO jobs_author;`)
		require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))
		require.Equal(t, []string{
			"jobs_agent|renew_term|G", "jobs_author|sp_start_job|D", "jobs_operator|sp_start_job|G", "jobs_operator|sp_stop_job|G", "reporter|terms|G",
		}, c.rows(t, `SELECT USER_NAME(p.grantee_principal_id), OBJECT_NAME(p.major_id), p.state
FROM sys.database_permissions AS p
WHERE p.class = 1
    AND (OBJECT_NAME(p.major_id) IN (N'terms', N'renew_term', N'sp_start_job', N'sp_stop_job'))
    AND p.permission_name IN (N'SELECT', N'EXECUTE')
UNION ALL
SELECT USER_NAME(p.grantee_principal_id), SCHEMA_NAME(p.major_id), p.state
FROM sys.database_permissions AS p
WHERE p.class = 3
    AND SCHEMA_NAME(p.major_id) = N'jobs_internal'
ORDER BY 1, 2;`))
		require.NoError(t, installed.On(c.Store).Verify(t.Context()))
	})
}

// TestPlanMigration: the plan has the steps that Migrate carries out, with the rows of their
// tables, and changes nothing.
func TestPlanMigration(t *testing.T) {
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		ctx := t.Context()
		c := release0(t, env)
		c.job(t, "j", nil)
		term := c.term1(t)
		c.start(t, "j")
		c.resolve(t, term, "a", "b", "d")
		require.Len(t, c.pass(t, term).Tasks, 3)
		require.NoError(t, c.applyMigrations(ctx, 4))
		before := c.tableDefinitions(t)
		p, err := deploy.On(c.Store).Plan(ctx, deploy.MigrateOptions{})
		require.NoError(t, err)
		require.Equal(t, before, c.tableDefinitions(t))
		require.Equal(t, []any{4, installed.SchemaVersion(), true}, []any{p.Version, p.Want, p.Online})
		require.Greater(t, p.Code, 200)
		require.Len(t, p.Agents, 1)
		require.Equal(t, deploy.PlannedAgent{Host: "host", Version: "1", Protocol: 1, Tasks: 3}, p.Agents[0])
		require.Empty(t, p.Warnings)
		require.Equal(t, deploy.PlannedStep{
			Migration: "0005_actions", Step: 14, Of: 18, Table: "jobs_internal.target_executions", Rows: 3,
			Statements: []deploy.PlannedStatement{
				{Kind: sqlfs.AlterMetadata, Text: "ALTER TABLE jobs_internal.target_executions DROP CONSTRAINT CK_target_executions_lifecycle;",
					Lock: "Sch-M for a moment: only metadata changes"},
				{Kind: sqlfs.CheckRows, Text: "ALTER TABLE jobs_internal.target_executions WITH CHECK ADD CONSTRAINT CK_target_executions_lifecycle CHECK (",
					Lock: "Sch-M while each row is read: all others wait", Grows: true},
			},
		}, withoutSize(p.Steps[13]))
		require.Equal(t, "S for a moment at the begin and at the end: built online", p.Steps[14].Statements[0].Lock)

		done := 0
		cut, cancel := context.WithCancel(ctx)
		defer cancel()
		require.Error(t, deploy.On(c.Store).MigrateWith(cut, deploy.MigrateOptions{Tell: func(line string) {
			if strings.HasPrefix(line, "migration ") {
				if done++; done == 7 {
					cancel()
				}
			}
		}}))
		again, err := deploy.On(c.Store).Plan(ctx, deploy.MigrateOptions{})
		require.NoError(t, err)
		require.Equal(t, p.Steps[6:], again.Steps, "steps that have ended are not planned")
		require.NoError(t, deploy.On(c.Store).Migrate(ctx))
		none, err := deploy.On(c.Store).Plan(ctx, deploy.MigrateOptions{})
		require.NoError(t, err)
		require.Empty(t, none.Steps)
		require.Zero(t, none.Code)
	})
}

// withoutSize returns a step without the size of its table, which depends on the server.
func withoutSize(s deploy.PlannedStep) deploy.PlannedStep {
	s.MB = 0
	return s
}

// migrateTo migrates with other migrations than those of this program.
func (c *control) migrateTo(ctx context.Context, migrations []sqlfs.Migration, tell func(string)) error {
	return deploy.On(c.Store).MigrateWith(ctx, deploy.MigrateOptions{Migrations: migrations, Tell: tell})
}

// applyMigrations applies migrations without deploying the procedures of this release.
func (c *control) applyMigrations(ctx context.Context, upTo int) error {
	migrations, err := sqlfs.Migrations()
	if err != nil {
		return err
	}
	return deploy.On(c.Store).MigrateWith(ctx, deploy.MigrateOptions{Migrations: migrations[:upTo], TablesOnly: true})
}
