package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/earlier"
)

// release0 creates a control database with the schema of release 0, as its program installed it.
func release0(t *testing.T, env *testenv.Env) *control {
	t.Helper()
	return version(t, env, earlier.Release0)
}

// version creates a control database with the schema of an earlier version.
func version(t *testing.T, env *testenv.Env, version int) *control {
	t.Helper()
	name := env.CreateDatabase(t, "control")
	c := &control{Store: env.OpenControl(t, name), env: env, name: name, db: env.DB(t, name)}
	require.NoError(t, earlier.Install(t.Context(), c.db, version))
	return c
}

// term1 starts a term like an agent of protocol 1.
func (c *control) term1(t *testing.T) controldb.TermID {
	t.Helper()
	var id controldb.TermID
	var started, expires any
	require.NoError(
		t,
		c.db.QueryRowContext(t.Context(), `EXECUTE jobs_internal.start_term @agent_id = @p1, @host_name = N'host', @version = N'1', @ttl_seconds = 3600;`,
			uuid.NewString()).
			Scan(&id.Number, &started, &expires),
	)
	return id
}

// tableDefinitions describes all tables of the schema: columns, indexes, constraints and options, a
// line each.
func (c *control) tableDefinitions(t *testing.T) []string {
	t.Helper()
	return c.rows(t, `SELECT d.line
FROM (
    SELECT CONCAT(OBJECT_NAME(c.object_id), N' column ', c.column_id, N' ', c.name, N' ', TYPE_NAME(c.user_type_id), N' ', c.max_length, N' ', c.is_nullable, N' ', c.is_identity) AS line
    FROM sys.columns AS c
    INNER JOIN sys.tables AS t ON t.object_id = c.object_id
    UNION ALL
    SELECT CONCAT(OBJECT_NAME(i.object_id), N' index ', i.name, N' ', i.type_desc, N' ', i.is_unique, N' ', i.filter_definition, N': ', (
        SELECT STRING_AGG(CONCAT(COL_NAME(k.object_id, k.column_id), N' ', k.key_ordinal, N' ', k.is_descending_key, N' ', k.is_included_column), N', ') WITHIN GROUP (ORDER BY k.index_column_id)
        FROM sys.index_columns AS k
        WHERE k.object_id = i.object_id
            AND k.index_id = i.index_id
    ))
    FROM sys.indexes AS i
    INNER JOIN sys.tables AS t ON t.object_id = i.object_id
    UNION ALL
    SELECT CONCAT(OBJECT_NAME(d.parent_object_id), N' default ', d.name, N' ', d.definition) FROM sys.default_constraints AS d
    UNION ALL
    SELECT CONCAT(OBJECT_NAME(k.parent_object_id), N' check ', k.name, N' ', k.definition, N' ', k.is_not_trusted) FROM sys.check_constraints AS k
    UNION ALL
    SELECT CONCAT(OBJECT_NAME(f.parent_object_id), N' foreign key ', f.name, N' ', OBJECT_NAME(f.referenced_object_id), N' ', f.delete_referential_action_desc) FROM sys.foreign_keys AS f
    UNION ALL
    SELECT CONCAT(t.name, N' lock escalation ', t.lock_escalation_desc) FROM sys.tables AS t
) AS d
ORDER BY d.line;`)
}

// TestMigrateFromRelease0 migrates while runs are active and tasks are held: nothing is lost, every
// outcome is accepted, and the schema equals that of a fresh install.
func TestMigrateFromRelease0(t *testing.T) {
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		ctx := t.Context()
		c := release0(t, env)
		_, err := installed.On(c.Store).CheckAgent(ctx)
		require.ErrorIs(t, err, dberror.ErrSchemaVersion, "an agent of this release needs the migration")
		const retention = "jobagent$history_retention"

		c.job(t, "done", func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		c.job(t, "busy", nil, nil)
		c.exec(t, `EXECUTE jobs_internal.ensure_system_jobs @server_name = N's';`)
		term := c.term1(t)
		done := c.start(t, "done")
		c.resolve(t, term, "a", "b")
		claimed := c.pass(t, term).Tasks
		require.Len(t, claimed, 2)
		c.complete(t, term, targets.Failed, "no", claimed...)
		c.pass(t, term)
		require.Equal(t, "root=Failed 1=Failed 1/a=Failed 1/b=Failed", c.lifecycles(t, done))
		busy := c.start(t, "busy")
		c.resolve(t, term, "a", "b", "pool/c")
		held := c.passMax(t, term, 2).Tasks
		require.Len(t, held, 2)
		rerun := uuid.New()
		c.exec(
			t,
			`DECLARE @id UNIQUEIDENTIFIER = @p2; EXECUTE jobs.sp_rerun_job_execution @job_execution_id = @p1, @new_job_execution_id = @id OUTPUT;`,
			done.String(),
			rerun.String(),
		)
		c.exec(
			t,
			`EXECUTE jobs.sp_add_schedule @job_name = N'done', @schedule_name = N'nightly', @kind = N'cron5', @spec = N'0 3 * * *', @enabled = 1;`,
		)
		// One run of the retention job waits for its resolution, and one for an agent.
		waiting := c.start(t, retention)
		upkeep := c.start(t, retention)
		pass := c.passMax(t, term, 1)
		require.Len(t, pass.Tasks, 1)
		require.Equal(t, "jobagent$control_database", pass.Tasks[0].TargetGroupName)
		require.NoError(
			t,
			c.CompleteResolution(
				ctx,
				term,
				pass.Tasks[0].ID,
				controldb.Resolution{Attempt: 1, Targets: []targets.Target{targets.NewTarget("s", c.name, "")}},
			),
		)
		require.ElementsMatch(
			t,
			[]string{
				"root=WaitingForChildJobExecutions 1=Created",
				"root=WaitingForChildJobExecutions 1=WaitingForChildJobExecutions 1/" + c.name + "=Created",
			},
			[]string{c.lifecycles(t, waiting), c.lifecycles(t, upkeep)},
		)
		before := c.lifecycles(t, busy)
		const query = `SELECT job_execution_id, step_id, target_database_name, lifecycle, current_attempts, last_message
FROM jobs.job_executions
ORDER BY create_time, job_execution_id, step_id, target_database_name;`
		history := c.rows(t, query)

		require.NoError(t, deploy.On(c.Store).Migrate(ctx))
		require.NoError(t, installed.On(c.Store).Verify(ctx))
		require.NoError(t, deploy.On(c.Store).Migrate(ctx), "migrating twice is the same as once")
		require.Equal(t, before, c.lifecycles(t, busy))
		require.Equal(t, history, c.rows(t, query))

		name := env.CreateDatabase(t, "fresh")
		fresh := env.OpenControl(t, name)
		require.NoError(t, deploy.On(fresh).Install(ctx))
		want := (&control{Store: fresh, env: env, name: name, db: env.DB(t, name)}).tableDefinitions(t)
		require.Equal(t, want, c.tableDefinitions(t), "a migrated schema is that of a fresh install")

		c.complete(t, term, targets.Succeeded, "", held...)
		for range 6 {
			for _, task := range c.pass(t, term).Tasks {
				require.NotEqual(t, retention, task.JobName, "an agent of protocol 1 does not know such tasks")
				if task.Kind == controldb.TaskResolve {
					require.NoError(
						t,
						c.CompleteResolution(
							ctx,
							term,
							task.ID,
							controldb.Resolution{
								Attempt: task.Attempt,
								Targets: []targets.Target{targets.NewTarget("s", "a", "")},
							},
						),
					)
					continue
				}
				c.complete(t, term, targets.Succeeded, "", task)
			}
		}
		require.Equal(
			t,
			"root=Succeeded 1=Succeeded 1/a=Succeeded 1/b=Succeeded 1/c=Succeeded 2=Succeeded 2/a=Succeeded",
			c.lifecycles(t, busy),
		)
		require.Equal(t, "root=Succeeded 1=Succeeded 1/a=Succeeded 1/b=Succeeded", c.lifecycles(t, rerun))
		reruns, err := executions.On(c.Store).Reruns(ctx, done)
		require.NoError(t, err)
		require.Len(t, reruns, 1)
		require.False(t, reruns[0].CreateTime.IsZero())
		reruns[0].CreateTime = time.Time{}
		require.Equal(t, executions.Run{
			ID: rerun, RerunOf: done, RerunOnly: "Canceled,Failed,Skipped,TimedOut,Unknown", Lifecycle: jobs.Succeeded, StartedBy: reruns[0].StartedBy,
		}, reruns[0])

		require.Empty(t, c.rows(t, `SELECT target_group_name FROM jobs.target_groups WHERE target_group_name LIKE N'jobagent$%'`))
		require.Equal(
			t,
			[]string{"1|Upkeep|PurgeHistory|(control database)"},
			c.rows(
				t,
				`SELECT job_version, command_type, command, target_group_name FROM jobs.jobsteps WHERE job_name = N'jobagent$history_retention'`,
			),
		)
		require.NoError(t, c.EnsureSystemJobs(ctx))
		require.Equal(
			t,
			1,
			get[int](t, c, `SELECT job_version FROM jobs.jobs WHERE job_name = N'jobagent$history_retention'`),
			"it is as it should be",
		)
		term = c.term(t)
		tasks := c.pass(t, term).Tasks
		require.Len(t, tasks, 2)
		resolve, run := tasks[0], tasks[1]
		require.Equal(
			t,
			[]any{controldb.TaskResolve, controldb.TaskRun, true, true},
			[]any{resolve.Kind, run.Kind, resolve.Upkeep, run.Upkeep},
		)
		require.Len(t, resolve.Members, 1)
		require.Equal(t, c.name, resolve.Members[0].Database)
		require.NoError(
			t,
			c.CompleteResolution(
				ctx,
				term,
				resolve.ID,
				controldb.Resolution{
					Attempt: 1,
					Targets: []targets.Target{targets.NewTarget(resolve.Members[0].Server, c.name, "")},
				},
			),
		)
		command, err := c.Command(ctx, run.CommandID)
		require.NoError(t, err)
		require.Equal(t, controldb.UpkeepPurgeHistory, command)
		c.complete(t, term, targets.Succeeded, "", append(c.pass(t, term).Tasks, run)...)
		c.pass(t, term)
		for _, id := range []uuid.UUID{waiting, upkeep} {
			require.Equal(t, "root=Succeeded 1=Succeeded 1/"+c.name+"=Succeeded", c.lifecycles(t, id))
		}
		env.CheckInvariants(t, c.name, false)
	})
}

// TestEmptyMigration: a database of release 0 without data is migrated. .ci/long runs this test
// under Turkish, too, where procedures of release 0 refuse their own defaults, so that the other
// tests of migrations have no data to begin with.
func TestEmptyMigration(t *testing.T) {
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		c := release0(t, env)
		require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))
		require.NoError(t, installed.On(c.Store).Verify(t.Context()))
		require.NoError(t, c.EnsureSystemJobs(t.Context()))
		env.CheckInvariants(t, c.name, false)
	})
}

// TestMigrateEditedSystemJob: an edited version of the retention job is replaced, with its group,
// when an agent restores the system jobs.
func TestMigrateEditedSystemJob(t *testing.T) {
	testenv.Long(t)
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		c := release0(t, env)
		c.exec(t, `EXECUTE jobs_internal.ensure_system_jobs @server_name = N's';
EXECUTE jobs.sp_update_jobstep @job_name = N'jobagent$history_retention', @step_id = 1, @command = N'SELECT 1;';`)
		require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))
		require.Equal(
			t,
			[]string{"1|Upkeep|(control database)", "2|TSql|jobagent$control_database"},
			c.rows(t, `SELECT job_version, command_type, target_group_name FROM jobs.jobstep_versions ORDER BY job_version`),
		)
		require.NoError(t, c.EnsureSystemJobs(t.Context()))
		require.Equal(
			t,
			[]string{"3|Upkeep|(control database)"},
			c.rows(t, `SELECT job_version, command_type, target_group_name FROM jobs.jobsteps`),
		)
		c.exec(t, `EXECUTE jobs.sp_delete_target_group N'jobagent$control_database';`)
		env.CheckInvariants(t, c.name, false)
	})
}

// TestMigrateUnknownOutcomes: after the migration, targets of release 0 have outcome_unknown set if
// the outcome of their latest attempt is unknown, whether they have ended or not.
func TestMigrateUnknownOutcomes(t *testing.T) {
	testenv.Long(t)
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		c := release0(t, env)
		c.job(t, "once", func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		c.job(t, "twice", func(s *model.StepSpec) { s.RetryAttempts, s.InitialRetryInterval = ptr(1), ptr(1) })
		term := c.term1(t)
		outcomes := func(tasks []controldb.Task, by map[string]targets.Outcome) {
			for _, task := range tasks {
				if o, ok := by[task.Target.Database]; ok {
					c.complete(t, term, o, "m", task)
				}
			}
		}
		once := c.start(t, "once")
		c.resolve(t, term, "failed", "unknown", "fine")
		outcomes(
			c.pass(t, term).Tasks,
			map[string]targets.Outcome{"failed": targets.Failed, "unknown": targets.Unknown, "fine": targets.Succeeded},
		)
		twice := c.start(t, "twice")
		c.resolve(t, term, "told", "again", "stopped", "held")
		outcomes(
			c.pass(t, term).Tasks,
			map[string]targets.Outcome{
				"told":    targets.Unknown,
				"again":   targets.Unknown,
				"stopped": targets.Unknown,
				"held":    targets.Unknown,
			},
		)
		c.exec(
			t,
			`UPDATE t SET t.next_attempt_at = DATEADD(SECOND, -2, t.next_attempt_at) FROM jobs_internal.target_executions AS t WHERE t.database_name <> N'stopped' AND t.next_attempt_at IS NOT NULL;`,
		)
		outcomes(c.pass(t, term).Tasks, map[string]targets.Outcome{"told": targets.Failed, "again": targets.Unknown})
		require.NoError(t, executions.On(c.Store).Stop(t.Context(), twice))
		c.pass(t, term)

		require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))
		unknown := func(id uuid.UUID) map[string]bool {
			rows, err := executions.On(c.Store).Rows(t.Context(), id)
			require.NoError(t, err)
			m := map[string]bool{}
			for _, e := range rows {
				if e.Database != "" {
					m[e.Database] = e.OutcomeUnknown
				}
			}
			return m
		}
		require.Equal(t, map[string]bool{"failed": false, "unknown": true, "fine": false}, unknown(once))
		require.Equal(t, map[string]bool{"told": false, "again": true, "stopped": true, "held": true}, unknown(twice))
		env.CheckInvariants(t, c.name, false)
	})
}

// TestMigrateBusyTargets: the targets of a run that is active during a migration are busy for the
// runs that come after it, whichever release has begun it.
func TestMigrateBusyTargets(t *testing.T) {
	testenv.Long(t)
	for of, start := range map[int]func(*control, *testing.T) controldb.TermID{
		earlier.Release0: (*control).term1, earlier.Version28: (*control).term,
	} {
		testenv.Each(t, func(t *testing.T, env *testenv.Env) {
			c := version(t, env, of)
			c.job(t, "j", nil)
			term := start(c, t)
			before := c.start(t, "j")
			c.resolve(t, term, "ended", "held", "waits")
			for _, task := range c.passMax(t, term, 2).Tasks {
				if task.Target.Database == "ended" {
					c.complete(t, term, targets.Succeeded, "", task)
				}
			}
			require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))

			after := c.start(t, "j")
			c.passMax(t, term, 0)
			task := c.passMax(t, term, 1).Tasks[0]
			var list []targets.Target
			for _, name := range []string{"held", "waits", "ended", "new"} {
				list = append(list, targets.NewTarget("s", name, ""))
			}
			require.NoError(t, c.CompleteResolution(t.Context(), term, task.ID, controldb.Resolution{Attempt: task.Attempt, Claim: task.Claim, Targets: list}))
			require.Equal(
				t,
				"root=WaitingForChildJobExecutions 1=WaitingForChildJobExecutions 1/ended=Created 1/held=Skipped 1/new=Created 1/waits=Skipped",
				c.lifecycles(t, after),
			)
			require.Contains(t, c.lifecycles(t, before), "1/ended=Succeeded 1/held=InProgress 1/waits=Created")
			require.NoError(t, installed.On(c.Store).Verify(t.Context()))
			env.CheckInvariants(t, c.name, false)
		})
	}
}

// TestMigrateParameters: runs and schedules of release 0 have no parameters after the migration,
// and can get them.
func TestMigrateParameters(t *testing.T) {
	testenv.Long(t)
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		c := release0(t, env)
		c.job(t, "j", nil)
		c.exec(t, `EXECUTE jobs.sp_add_schedule N'j', N's', N'cron5', N'0 2 * * *';`)
		before := c.start(t, "j")
		term := c.term1(t)
		c.resolve(t, term, "a")
		require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))

		tasks := c.pass(t, term).Tasks
		require.Len(t, tasks, 1)
		require.Zero(t, tasks[0].PayloadID)
		require.False(t, tasks[0].Options.BindParameters)
		c.complete(t, term, targets.Succeeded, "m", tasks[0])
		none, err := executions.On(c.Store).Parameters(t.Context(), before)
		require.NoError(t, err)
		require.Empty(t, none)

		require.NoError(t, timetable.On(c.Store).Update(t.Context(), timetable.Spec{JobName: "j", Name: "s", Parameters: ptr(`{"a": 1}`)}))
		require.JSONEq(t, `{"a": 1}`, c.schedule(t, "j", "s").Parameters)
		c.pass(t, term)
		job, err := catalog.On(c.Store).JobDetail(t.Context(), "j")
		require.NoError(t, err)
		require.Empty(t, job.Parameters)
		require.NoError(t, catalog.On(c.Store).SetJobParameters(t.Context(), "j", `[{"name": "a", "type": "integer"}, {"name": "b", "default": "x"}]`, &job.Revision))
		require.Equal(t, []string{`{"a": 1, "b": "x"}|NULL`}, c.rows(t, `SELECT p.text, s.parameters_fault FROM jobs_internal.schedules AS s
INNER JOIN jobs_internal.payloads AS p ON p.payload_id = s.run_payload_id WHERE s.name = N's'`))
		require.NoError(t, catalog.On(c.Store).SetJobParameters(t.Context(), "j", "", nil))
		id, err := executions.On(c.Store).Start(t.Context(), executions.StartRequest{Job: "j", Parameters: `{"a": 1}`})
		require.NoError(t, err)
		c.resolve(t, term, "a")
		require.Empty(t, c.pass(t, term).Tasks, "an agent of release 0 does not know parameters")
		tasks = c.pass(t, c.term(t)).Tasks
		require.Len(t, tasks, 1)
		require.Equal(t, controldb.TaskRun, tasks[0].Kind)
		text, err := c.Payload(t.Context(), tasks[0].PayloadID)
		require.NoError(t, err)
		require.Equal(t, `{"a": 1}`, text)
		text, err = executions.On(c.Store).Parameters(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, `{"a": 1}`, text)
		env.CheckInvariants(t, c.name, false)
	})
}

// TestMigrateChosenAndTolerated: runs of release 0 are not limited to databases, and go on; one
// that has ended can be run again on chosen databases. Steps of release 0 tolerate no failure.
func TestMigrateChosenAndTolerated(t *testing.T) {
	testenv.Long(t)
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		ctx := t.Context()
		c := release0(t, env)
		c.job(t, "j", func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		before := c.start(t, "j")
		term := c.term1(t)
		c.resolve(t, term, "a", "b", "c")
		require.NoError(t, deploy.On(c.Store).Migrate(ctx))

		origin, err := executions.On(c.Store).Get(ctx, before)
		require.NoError(t, err)
		require.Zero(t, origin.Chosen)
		tasks := c.pass(t, term).Tasks
		require.Len(t, tasks, 3)
		c.complete(t, term, targets.Failed, "m", tasks...)
		c.pass(t, term)
		chosen := []targets.Target{tasks[0].Target, tasks[1].Target}
		again, err := executions.On(c.Store).Rerun(ctx, executions.RerunRequest{Origin: before, OnlyTargets: chosen})
		require.NoError(t, err)
		origin, err = executions.On(c.Store).Get(ctx, again)
		require.NoError(t, err)
		require.Equal(t, 2, origin.Chosen)
		c.pass(t, term)
		tasks = c.pass(t, term).Tasks
		require.Len(t, tasks, 2)
		c.complete(t, term, targets.Succeeded, "", tasks...)
		c.pass(t, term)
		require.Equal(t, "root=Succeeded 1=Succeeded 1/a=Succeeded 1/b=Succeeded", c.lifecycles(t, again))

		// Steps of before tolerate no failure; a new version may.
		options, err := catalog.On(c.Store).JobSteps(ctx, "j", nil)
		require.NoError(t, err)
		require.Equal(t, "0", options[0].ToleratedFailures)
		_, err = catalog.On(c.Store).UpdateJobStep(ctx, model.StepSpec{JobName: "j", StepID: ptr(1), ToleratedFailures: ptr("50%")})
		require.NoError(t, err)
		tolerant := c.start(t, "j")
		c.resolve(t, term, "a", "b")
		tasks = c.pass(t, term).Tasks
		c.complete(t, term, targets.Failed, "m", tasks[0])
		c.complete(t, term, targets.Succeeded, "", tasks[1])
		c.pass(t, term)
		require.Equal(t, "root=Succeeded 1=Succeeded 1/a=Failed 1/b=Succeeded", c.lifecycles(t, tolerant))
		origin, err = executions.On(c.Store).Get(ctx, tolerant)
		require.NoError(t, err)
		require.Equal(t, 1, origin.Tolerated)
		env.CheckInvariants(t, c.name, false)
	})
}

// TestMigrateCounts: a run of an earlier version whose list is complete and larger than what is
// counted at once ends after the migration, with the right numbers; its steps do not know the
// number of their targets yet, so they are counted as a whole. Runs that begin then know it.
func TestMigrateCounts(t *testing.T) {
	testenv.Long(t)
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		c := release0(t, env)
		c.job(t, "j", func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		before := c.start(t, "j")
		term := c.term1(t)
		databases := []string{"a", "b", "c", "d", "e", "f"}
		c.resolve(t, term, databases...)
		tasks := c.pass(t, term).Tasks
		require.Len(t, tasks, len(databases))
		c.complete(t, term, targets.Failed, "m", tasks[:2]...)
		c.complete(t, term, targets.Succeeded, "", tasks[2:]...)
		require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))

		testenv.SetSlices(t, c.db, 1) // so that 4 targets are counted at once
		const steps = `SELECT s.lifecycle, s.targets, s.not_succeeded FROM jobs_internal.step_executions AS s ORDER BY s.step_execution_id`
		require.Equal(t, []string{"WaitingForChildJobExecutions|NULL|NULL"}, c.rows(t, steps))
		c.pass(t, term)
		require.Equal(t, "Failed", c.lifecycle(t, before))
		require.Equal(t, []string{"Failed|6|2"}, c.rows(t, steps))

		after := c.start(t, "j")
		c.resolve(t, term, databases...)
		require.Equal(t, []string{"Failed|6|2", "WaitingForChildJobExecutions|6|NULL"}, c.rows(t, steps))
		c.complete(t, term, targets.Succeeded, "", c.pass(t, term).Tasks...)
		c.pass(t, term)
		require.Equal(t, "WaitingForChildJobExecutions", c.lifecycle(t, after))
		env.CheckInvariants(t, c.name, false)
		c.pass(t, term)
		require.Equal(t, "Succeeded", c.lifecycle(t, after))
		env.CheckInvariants(t, c.name, false)
	})
}

// TestMigrateScheduleDescriptions: a schedule of release 0 that is due and has an active run keeps
// its instant and its run, and gets words and the time of its renewal with the next validation.
func TestMigrateScheduleDescriptions(t *testing.T) {
	testenv.Long(t)
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		ctx := t.Context()
		c := release0(t, env)
		c.job(t, "j", nil)
		c.exec(t, `EXECUTE jobs.sp_add_schedule N'j', N's', N'cron5', N'30 2 * * *', @overlap = N'AllowAll';`)
		term := c.term1(t)
		due := time.Date(2999, 1, 1, 2, 30, 0, 0, time.UTC)
		// As an agent of release 0 does.
		c.exec(t, `EXECUTE jobs_internal.record_verdicts @term_id = @p1, @verdicts = N'[{"schedule_id": 2, "revision": 2, "zone": "UTC", "engine": "1", "next_due_at": "2999-01-01T02:30:00"}]';
EXECUTE jobs_internal.fire_schedules @term_id = @p1, @firings = N'[{"schedule_id": 2, "revision": 2, "due_at": "2999-01-01T02:30:00", "runs": ["2999-01-01T02:30:00"], "next_due_at": "2999-01-02T02:30:00"}]';`, term.Number)
		due = due.AddDate(0, 0, 1)
		require.NoError(t, deploy.On(c.Store).Migrate(ctx))

		s := c.schedule(t, "j", "s")
		require.Equal(t, []any{"Enabled", due, int64(1), "Created"}, []any{s.State, s.NextDue, s.Executions, s.LastLifecycle})
		require.Empty(t, s.Description)
		require.Equal(t, "At 02:30 every day, UTC", s.Words(), "it is described when it is read")

		// An agent of release 0 still validates; then one of this release does.
		c.exec(t, `UPDATE s SET s.awaits_verdict = 1 FROM jobs_internal.schedules AS s WHERE s.schedule_id = 2;
EXECUTE jobs_internal.record_verdicts @term_id = @p1, @verdicts = N'[{"schedule_id": 2, "revision": 2, "seen_due_at": "2999-01-02T02:30:00", "zone": "UTC", "engine": "1", "next_due_at": "2999-01-02T02:30:00"}]';`, term.Number)
		require.Empty(t, c.schedule(t, "j", "s").Description)
		n, _, err := c.RecheckSchedules(ctx, term, "2")
		require.NoError(t, err)
		require.Equal(t, 1, n)
		recorded, err := c.RecordValidations(ctx, term, []controldb.Validation{{
			Schedule: 2, Revision: 2, SeenDueAt: due, Zone: "UTC", Engine: "2", NextDueAt: due,
			Description: "stored", RecheckAt: due.AddDate(0, 3, 0),
		}})
		require.NoError(t, err)
		require.Equal(t, controldb.ValidationRecorded, recorded[0].Result)
		s = c.schedule(t, "j", "s")
		require.Equal(t, []any{"Enabled", due, int64(1), "stored"}, []any{s.State, s.NextDue, s.Executions, s.Words()})
		require.Equal(t, due.AddDate(0, 3, 0), get[time.Time](t, c, `SELECT s.recheck_at FROM jobs_internal.schedules AS s WHERE s.schedule_id = 2`))
		env.CheckInvariants(t, c.name, false)
	})
}

// TestMigrateActions: while a run of release 0 and its agent of protocol 1 go on, the migrated
// schema runs actions for agents of this release, and gives none to the other agent.
func TestMigrateActions(t *testing.T) {
	testenv.Long(t)
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		c := release0(t, env)
		c.job(t, "old", nil)
		old := c.term1(t)
		run := c.start(t, "old")
		c.resolve(t, old, "a", "b")
		held := c.passMax(t, old, 1).Tasks
		require.Len(t, held, 1)
		require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))
		require.Equal(t, []string{"1|TSql"}, c.rows(t, `SELECT protocol, command_types FROM jobs_internal.terms`))

		c.httpJob(t, "j", nil)
		action := c.start(t, "j")
		rest := c.pass(t, old).Tasks
		require.Len(t, rest, 1, "the other target, and no action")
		term := c.actionTerm(t)
		c.endpoint(t, term)
		require.Empty(t, c.pass(t, old).Tasks)
		tasks := c.pass(t, term).Tasks
		require.Len(t, tasks, 1)
		token := callbacks.HashToken("t")
		c.begin(t, term, tasks[0], &token)
		c.complete(t, term, targets.Accepted, "202", tasks...)
		c.complete(t, old, targets.Succeeded, "", append(held, rest...)...)
		c.pass(t, old)
		require.Equal(t, []string{"true|true"}, c.parked(t, action), "a pass of any agent parks it")
		require.Equal(t, "root=Succeeded 1=Succeeded 1/a=Succeeded 1/b=Succeeded", c.lifecycles(t, run))
		require.NoError(t, callbacks.On(c.Store).Report(t.Context(), token, callbacks.Report{Success: true}))
		c.pass(t, old)
		require.Equal(t, "Succeeded", c.lifecycle(t, action), "a pass of any agent ends its wait")
		env.CheckInvariants(t, c.name, true)
	})
}

// TestMigrateAgentOptions: what procedures of version 28 wrote into a column of its own is an
// option that agents read, also in versions that are made later, and can be changed.
func TestMigrateAgentOptions(t *testing.T) {
	testenv.Long(t)
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		c := version(t, env, earlier.Version28)
		c.job(t, "j", nil)
		c.exec(t, `EXECUTE jobs.sp_set_jobstep_options N'j', @bind_parameters = 1;`)
		require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))
		bound := func() (list []bool) {
			for _, version := range []int{1, 2, 3, 4} {
				steps, err := catalog.On(c.Store).JobSteps(t.Context(), "j", &version)
				require.NoError(t, err)
				for _, s := range steps {
					list = append(list, s.BindParameters)
				}
			}
			return list
		}
		require.Equal(t, []bool{false, true}, bound())
		_, err := catalog.On(c.Store).UpdateJobStep(t.Context(), model.StepSpec{JobName: "j", StepID: ptr(1), NewName: ptr("renamed")})
		require.NoError(t, err)
		_, err = catalog.On(c.Store).UpdateJobStep(t.Context(), model.StepSpec{JobName: "j", StepID: ptr(1), BindParameters: ptr(false)})
		require.NoError(t, err)
		require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))
		require.Equal(t, []bool{false, true, true, false}, bound())
	})
}
