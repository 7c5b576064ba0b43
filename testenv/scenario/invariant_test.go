package scenario_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/agents"
	"github.com/jobagent/jobagent/testenv/invariant"
)

// secret is not in the history until a test inserts it.
const secret = "hunter2-hunter2"

// damages are the statements that violate each check.
var damages = map[string][]string{
	"I02_one_execution_per_due_instant": {`DROP INDEX UQ_job_executions_due_at ON jobs_internal.job_executions;
UPDATE jobs_internal.job_executions SET due_at = (SELECT MIN(due_at) FROM jobs_internal.job_executions) WHERE schedule_id IS NOT NULL;`},
	"I03_frozen_target_list": {`ALTER TABLE jobs_internal.step_execution_causes NOCHECK CONSTRAINT FK_step_execution_causes_step_executions;
UPDATE jobs_internal.step_executions SET step_id = step_id + 7;`},
	"I03_rerun_targets": {`UPDATE jobs_internal.job_executions SET rerun_of = (SELECT MIN(execution_id) FROM jobs_internal.job_executions), rerun_only = N'Failed', rerun_partial = 0
WHERE execution_id = (SELECT MAX(execution_id) FROM jobs_internal.job_executions);
UPDATE jobs_internal.target_executions SET target_id = NEWID() WHERE execution_id = (SELECT MAX(execution_id) FROM jobs_internal.job_executions);`},
	"I03_parameters": {
		`UPDATE jobs_internal.job_executions SET payload_id = 77 WHERE execution_id = (SELECT MIN(execution_id) FROM jobs_internal.job_executions);`,
		`UPDATE jobs_internal.schedules SET payload_id = 77;`,
		`INSERT INTO jobs_internal.payloads (hash, text, created_at) VALUES (0x01, N'{}', SYSUTCDATETIME());`,
		`INSERT INTO jobs_internal.payloads (hash, text, created_at) VALUES (HASHBYTES('SHA2_256', N'{}'), N'{}', SYSUTCDATETIME());
UPDATE jobs_internal.job_executions SET rerun_of = (SELECT MIN(execution_id) FROM jobs_internal.job_executions), rerun_only = N'Failed', rerun_partial = 0, payload_id = SCOPE_IDENTITY()
WHERE execution_id = (SELECT MAX(execution_id) FROM jobs_internal.job_executions);`,
	},
	"I04_one_accepted_outcome": {
		`UPDATE jobs_internal.task_executions SET target_execution_id = (SELECT MIN(target_execution_id) FROM jobs_internal.task_executions WHERE kind = N'Run') WHERE kind = N'Run';`,
		`UPDATE jobs_internal.task_executions SET outcome = N'Unknown', attempt = 1, target_execution_id = (SELECT MIN(target_execution_id) FROM jobs_internal.task_executions WHERE kind = N'Run') WHERE kind = N'Run';`,
		`UPDATE jobs_internal.task_executions SET outcome = NULL, ended_at = NULL, attempt = task_id, target_execution_id = (SELECT MIN(target_execution_id) FROM jobs_internal.task_executions WHERE kind = N'Run') WHERE kind = N'Run';`,
	},
	"I04_rows_in_use": {
		`UPDATE jobs_internal.target_executions SET lifecycle = N'InProgress', is_active = 1, end_time = NULL WHERE lifecycle = N'Failed';`,
		`UPDATE jobs_internal.task_executions SET ended_at = NULL, outcome = NULL WHERE outcome = N'Failed';`,
		`UPDATE jobs_internal.task_executions SET ended_at = NULL, outcome = NULL, attempt = task_id, step_execution_id = (SELECT MIN(step_execution_id) FROM jobs_internal.step_executions),
    execution_id = (SELECT TOP (1) execution_id FROM jobs_internal.step_executions ORDER BY step_execution_id) WHERE kind = N'Resolve';`,
		`UPDATE jobs_internal.step_executions SET lifecycle = N'WaitingForRetry', is_active = 1, end_time = NULL, skipped_by_condition = 0, next_attempt_at = create_time;`,
		`UPDATE jobs_internal.step_executions SET lifecycle = N'InProgress', is_active = 1, end_time = NULL, skipped_by_condition = 0;`,
	},
	"I05_times_are_ordered": {
		`UPDATE jobs_internal.job_executions SET start_time = DATEADD(MILLISECOND, -1, create_time);`,
		`UPDATE jobs_internal.job_executions SET end_time = DATEADD(MILLISECOND, -1, start_time) WHERE end_time IS NOT NULL;`,
		`UPDATE jobs_internal.job_executions SET stop_requested_at = DATEADD(DAY, -1, create_time);`,
		`UPDATE jobs_internal.step_executions SET create_time = DATEADD(DAY, -1, create_time);`,
		`UPDATE jobs_internal.step_executions SET start_time = DATEADD(MILLISECOND, -1, create_time);`,
		`UPDATE jobs_internal.step_executions SET attempt_start_time = DATEADD(MILLISECOND, -1, start_time);`,
		`UPDATE jobs_internal.step_executions SET resolved_at = DATEADD(MILLISECOND, -1, create_time);`,
		`UPDATE jobs_internal.step_executions SET end_time = DATEADD(MILLISECOND, -1, start_time) WHERE end_time IS NOT NULL AND start_time IS NOT NULL;`,
		`UPDATE jobs_internal.step_executions SET end_time = DATEADD(DAY, 1, end_time);`,
		`UPDATE jobs_internal.target_executions SET create_time = DATEADD(DAY, -1, create_time);`,
		`UPDATE jobs_internal.target_executions SET start_time = DATEADD(MILLISECOND, -1, create_time);`,
		`UPDATE jobs_internal.target_executions SET attempt_start_time = DATEADD(MILLISECOND, -1, start_time);`,
		`UPDATE jobs_internal.target_executions SET end_time = DATEADD(MILLISECOND, -1, start_time) WHERE end_time IS NOT NULL AND start_time IS NOT NULL;`,
		`UPDATE jobs_internal.target_executions SET end_time = DATEADD(DAY, 1, end_time);`,
		`UPDATE jobs_internal.task_executions SET claimed_at = DATEADD(DAY, -1, claimed_at);`,
		`UPDATE jobs_internal.task_executions SET ended_at = DATEADD(MILLISECOND, -1, claimed_at);`,
		`UPDATE jobs_internal.task_executions SET ended_at = DATEADD(HOUR, 1, ended_at) WHERE outcome = N'Failed';`,
		`UPDATE jobs_internal.terms SET started_at = DATEADD(MILLISECOND, 1, expires_at);`,
		`UPDATE jobs_internal.terms SET started_at = DATEADD(MILLISECOND, 1, ended_at);`,
	},
	"I06_parents_follow_children": {
		`UPDATE jobs_internal.target_executions SET lifecycle = N'Failed' WHERE lifecycle = N'Succeeded';`,
		`UPDATE jobs_internal.step_executions SET lifecycle = N'Canceled' WHERE lifecycle = N'Succeeded';`,
		`ALTER TABLE jobs_internal.step_execution_causes NOCHECK CONSTRAINT FK_step_execution_causes_step_executions;
ALTER TABLE jobs_internal.task_executions NOCHECK CONSTRAINT FK_task_executions_step_executions;
UPDATE jobs_internal.step_executions SET execution_id = (SELECT MIN(execution_id) FROM jobs_internal.job_executions), step_id = 1000 + step_execution_id;`,
	},
	"I06_dependencies": {
		`UPDATE jobs_internal.step_executions SET create_time = DATEADD(DAY, -1, create_time) WHERE skipped_by_condition = 1;`,
		`UPDATE jobs_internal.step_executions SET lifecycle = N'Skipped', skipped_by_condition = 1 WHERE lifecycle = N'Succeeded';`,
		`DELETE FROM jobs_internal.step_executions WHERE skipped_by_condition = 1;`,
	},
	"I07_held_tasks_within_concurrency": {`UPDATE jobs_internal.terms SET ended_at = NULL, end_reason = NULL;
UPDATE jobs_internal.task_executions SET ended_at = NULL, outcome = NULL;`},
	"I08_success_has_a_successful_attempt": {`UPDATE jobs_internal.task_executions SET outcome = N'Unknown' WHERE outcome = N'Succeeded';`},
	"I08_outcome_unknown_is_recorded": {
		`UPDATE jobs_internal.target_executions SET outcome_unknown = 1 WHERE lifecycle = N'Failed';`,
		`UPDATE jobs_internal.task_executions SET outcome = N'Unknown' WHERE outcome = N'Failed';`,
	},
	"I11_nothing_held_at_rest":  {`UPDATE jobs_internal.task_executions SET ended_at = NULL, outcome = NULL;`},
	"I05_no_time_in_the_future": {`UPDATE jobs_internal.task_executions SET ended_at = DATEADD(YEAR, 1, ended_at);`},
	checkOfSecrets:              {`UPDATE jobs_internal.task_executions SET message = N'login with ` + secret + `, it said';`, `UPDATE jobs_internal.jobs SET description = N'` + secret + `';`},
	"I10_run_or_skipped": {
		`INSERT INTO jobs_internal.schedule_skips (schedule_id, job_id, due_at, reason, recorded_at)
SELECT schedule_id, job_id, due_at, N'', due_at FROM jobs_internal.job_executions WHERE schedule_id IS NOT NULL;`,
		`INSERT INTO jobs_internal.schedule_buffer (schedule_id, job_id, due_at, buffered_at)
SELECT schedule_id, job_id, due_at, due_at FROM jobs_internal.job_executions WHERE schedule_id IS NOT NULL;`,
		`INSERT INTO jobs_internal.schedule_buffer (schedule_id, job_id, due_at, buffered_at)
SELECT schedule_id, job_id, due_at, due_at FROM jobs_internal.schedule_skips;`,
	},
	"I09_secrets_can_be_opened": {
		`INSERT INTO jobs_internal.secrets (name, version, nonce, ciphertext, created_at, updated_at, updated_by) VALUES (N's', 1, 0x00, 0x00, SYSUTCDATETIME(), SYSUTCDATETIME(), N'x');`,
		`INSERT INTO jobs_internal.secrets (name, version, nonce, ciphertext, created_at, updated_at, updated_by) VALUES (N's', 1, 0x00, 0x00, SYSUTCDATETIME(), SYSUTCDATETIME(), N'x');
INSERT INTO jobs_internal.secret_data_keys (secret_id, key_id, data) VALUES (SCOPE_IDENTITY(), N'k', 0x00);`,
	},
	"I10_set_asides": {
		`INSERT INTO jobs_internal.set_asides (kind, first_id, is_part, last_id, created_at, tries, tried_at, retry_at)
VALUES (N'Run', 0, 1, 5, SYSUTCDATETIME(), 0, SYSUTCDATETIME(), SYSUTCDATETIME());`,
	},
	"I15_lists_being_written": {
		`INSERT INTO jobs_internal.step_lists (step_execution_id, job_id, source) SELECT step_execution_id, job_id, N'Failed' FROM jobs_internal.step_executions;`,
		`UPDATE jobs_internal.step_executions SET resolved_at = NULL;`,
		`INSERT INTO jobs_internal.step_lists (step_execution_id, job_id, source) VALUES (0, NEWID(), N'Failed');`,
	},
	"I15_steps_being_counted": {
		`INSERT INTO jobs_internal.step_counts (step_execution_id) SELECT step_execution_id FROM jobs_internal.step_executions;`,
		`INSERT INTO jobs_internal.step_counts (step_execution_id) VALUES (0);`,
		`UPDATE jobs_internal.step_executions SET targets = targets + 1;`,
	},
	"I17_waves_in_order": {
		`UPDATE jobs_internal.rollout_waves SET ended_at = DATEADD(DAY, 1, ended_at) WHERE wave = 1;`,
		`UPDATE jobs_internal.rollout_waves SET state = N'Stopped' WHERE wave = 1;`,
		`UPDATE jobs_internal.rollout_waves SET bake_until = DATEADD(DAY, 1, bake_until) WHERE wave = 1;`,
		`UPDATE jobs_internal.rollout_waves SET approval = N'any';`,
		`UPDATE jobs_internal.job_executions SET lifecycle = N'Created', is_active = 1, end_time = NULL WHERE rollout_wave = 1;`,
	},
	"I18_waves_within_their_limits": {
		`UPDATE jobs_internal.task_executions SET ended_at = NULL, outcome = NULL; UPDATE jobs_internal.rollout_waves SET max_parallelism = 0;`,
		`UPDATE jobs_internal.task_executions SET ended_at = NULL, outcome = NULL; UPDATE jobs_internal.rollout_waves SET max_failed = -1;`,
		`UPDATE jobs_internal.target_executions SET lifecycle = N'Failed', end_time = DATEADD(HOUR, -1, start_time) WHERE lifecycle = N'Succeeded';`,
	},
	"I19_rollouts_end": {
		`UPDATE jobs_internal.job_executions SET lifecycle = N'Created', is_active = 1, end_time = NULL WHERE rollout_wave = 1;`,
		`UPDATE jobs_internal.rollout_targets SET wave = 3 - wave;`,
		`UPDATE jobs_internal.rollouts SET state = N'Baking', ended_at = NULL;`,
		`UPDATE jobs_internal.rollout_waves SET targets = 7;`,
	},
	"I21_preflights": {
		`UPDATE jobs_internal.rollout_waves SET preflight_run_id = NULL;`,
		`UPDATE t SET t.lifecycle = N'Failed' FROM jobs_internal.target_executions AS t INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = t.execution_id WHERE e.mode IS NOT NULL;`,
		`UPDATE jobs_internal.target_executions SET target_id = NEWID() WHERE execution_id IN (SELECT e.execution_id FROM jobs_internal.job_executions AS e WHERE e.mode IS NOT NULL);`,
		`UPDATE jobs_internal.rollout_targets SET state = N'LeftOut' WHERE wave = 1; UPDATE jobs_internal.rollout_waves SET left_out = 1 WHERE wave = 1;`,
		`UPDATE jobs_internal.rollout_waves SET left_out = 1;`,
	},
	"I22_waves_in_their_windows": {
		`UPDATE jobs_internal.calendars SET spec = N'{"dates": ["1999-01-01"]}';`,
	},
	"I23_paused_databases": {
		`INSERT INTO jobs_internal.target_pauses (target_id, server_name, database_name, paused_at)
SELECT DISTINCT t.target_id, t.server_name, t.database_name, '1999-01-01' FROM jobs_internal.target_executions AS t;`,
	},
	"I24_held_targets": {
		`UPDATE jobs_internal.target_executions SET lifecycle = N'Created', is_active = 1, end_time = NULL, next_attempt_at = '9999-12-31', held_by = 99, outcome_unknown = 0;`,
		`UPDATE jobs_internal.target_executions SET lifecycle = N'Created', is_active = 1, end_time = NULL, next_attempt_at = create_time, held_by = -1, outcome_unknown = 0;`,
	},
	"I26_trigger_events": {
		`UPDATE jobs_internal.job_executions SET is_active = 1, lifecycle = N'Created', end_time = NULL;
INSERT INTO jobs_internal.trigger_events (trigger_id, job_id, generation, upstream_job_id, upstream_execution_id, upstream_run, upstream_lifecycle, created_at, is_waiting, ended_at, execution_id)
SELECT 1, e.job_id, 1, e.job_id, e.execution_id, e.job_execution_id, N'Failed', e.create_time, 1, NULL, NULL FROM jobs_internal.job_executions AS e;`,
		`INSERT INTO jobs_internal.trigger_events (trigger_id, job_id, generation, upstream_job_id, upstream_execution_id, upstream_run, upstream_lifecycle, created_at, is_waiting, ended_at, execution_id)
SELECT 1, NEWID(), 1, e.job_id, e.execution_id, e.job_execution_id, N'Failed', e.create_time, 0, e.create_time, e.execution_id FROM jobs_internal.job_executions AS e;`,
		`INSERT INTO jobs_internal.trigger_events (trigger_id, job_id, generation, upstream_job_id, upstream_execution_id, upstream_run, upstream_lifecycle, created_at, is_waiting, ended_at, execution_id)
SELECT x.id, e.job_id, 1, e.job_id, e.execution_id, e.job_execution_id, N'Failed', e.create_time, 0, e.create_time, e.execution_id FROM jobs_internal.job_executions AS e CROSS JOIN (VALUES (1), (2)) AS x (id);`,
		`UPDATE jobs_internal.target_executions SET lifecycle = N'Failed', is_active = 0, end_time = create_time, next_attempt_at = NULL;
UPDATE jobs_internal.job_executions SET upstream_runs = CAST(execution_id AS NVARCHAR(20));`,
	},
	"I25_databases_in_their_windows": {
		`INSERT INTO jobs_internal.window_answers (calendar_name, blackouts_name, time_zone, revision) VALUES (N'never', N'', N'', 1);
UPDATE jobs_internal.window_state SET revision = 1, changed_at = '1999-01-01';
INSERT INTO jobs_internal.gated_targets (target_id, revision) SELECT DISTINCT t.target_id, 1 FROM jobs_internal.target_executions AS t;
INSERT INTO jobs_internal.target_gates (target_id, answer_id) SELECT g.target_id, a.answer_id FROM jobs_internal.gated_targets AS g CROSS JOIN jobs_internal.window_answers AS a;`,
	},
	"I20_undos": {
		`UPDATE jobs_internal.rollouts SET undo_of = execution_id, undo_states = N'Failed';`,
	},
	"I12_callbacks": {
		`UPDATE jobs_internal.target_executions SET lifecycle = N'WaitingForCallback', is_active = 1, end_time = NULL WHERE lifecycle = N'Failed';`,
		`UPDATE jobs_internal.target_executions SET lifecycle = N'WaitingForCallback', is_active = 1, end_time = NULL WHERE lifecycle = N'Failed';
UPDATE jobs_internal.task_executions SET ended_at = NULL, outcome = NULL WHERE outcome = N'Failed';`,
		`INSERT INTO jobs_internal.callbacks (target_execution_id, attempt, execution_id, task_id, opened_at)
SELECT target_execution_id, attempt, execution_id, task_id, claimed_at FROM jobs_internal.task_executions WHERE kind = N'Run';`,
		`INSERT INTO jobs_internal.callbacks (target_execution_id, attempt, execution_id, task_id, opened_at, closed_at, closed_by)
SELECT target_execution_id, attempt, execution_id, task_id, claimed_at, ended_at, N'Report' FROM jobs_internal.task_executions WHERE kind = N'Run';`,
		`UPDATE jobs_internal.step_executions SET parked = 1, skipped_by_condition = 0, lifecycle = N'WaitingForChildJobExecutions', is_active = 1, end_time = NULL;
UPDATE jobs_internal.target_executions SET lifecycle = N'Created', is_active = 1, end_time = NULL, next_attempt_at = create_time, outcome_unknown = 0;`,
		`UPDATE jobs_internal.job_executions SET parked = 1, lifecycle = N'InProgress', is_active = 1, end_time = NULL;`,
	},
	"limits_hold": {`INSERT INTO jobs_internal.limits (scope, name, max_concurrent_targets, updated_at) VALUES (N'Server', N'*', 1, '2000-01-01');
UPDATE jobs_internal.task_executions SET ended_at = NULL, outcome = NULL;`},
	checkOfOccurrences: {`DELETE FROM jobs_internal.schedule_skips; UPDATE jobs_internal.job_executions SET schedule_id = NULL, due_at = NULL WHERE execution_id = (SELECT MIN(execution_id) + 2 FROM jobs_internal.job_executions WHERE schedule_id IS NOT NULL);`},
}

// The checks that are not queries of a folder.
const (
	checkOfSecrets     = "I09_no_secret_in_database_or_logs"
	checkOfOccurrences = "I10_every_occurrence_is_handled"
)

// all runs all checks.
func all(t *testing.T, db invariant.Querier, logs ...string) (found []invariant.Violation) {
	t.Helper()
	for _, check := range []string{"", checkOfSecrets, checkOfOccurrences} {
		found = append(found, those(t, db, check, logs...)...)
	}
	return found
}

// those runs one of the two checks, or for another name the queries of all folders.
func those(t *testing.T, db invariant.Querier, check string, logs ...string) []invariant.Violation {
	t.Helper()
	var found, clock []invariant.Violation
	var err error
	switch check {
	case checkOfSecrets:
		found, err = invariant.FindSecrets(t.Context(), db, []string{secret}, logs...)
	case checkOfOccurrences:
		found, err = invariant.FindUnhandled(t.Context(), db)
	default:
		found, err = invariant.Find(t.Context(), db, true)
		require.NoError(t, err)
		clock, err = invariant.FindClock(t.Context(), db)
	}
	require.NoError(t, err)
	return append(found, clock...)
}

// TestChecks makes a history of runs without violations, and then damages it once for each check.
func TestChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := testenv.Embedded(t, testenv.Options{})
		store, control := env.Control(t)
		makeHistory(t, env, store, control)
		db := env.DB(t, control)
		require.Empty(t, all(t, db))
		env.CheckHistory(t, control, "nothing to hide")

		for check, statements := range damages {
			for _, damage := range statements {
				tx, err := db.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				_, err = tx.ExecContext(t.Context(), damage)
				require.NoError(t, err, damage)
				found := those(t, tx, check)
				require.True(t, slices.ContainsFunc(found, func(v invariant.Violation) bool { return v.Check == check }), "%s does not see: %s\n%v", check, damage, found)
				for _, v := range found {
					require.NotContains(t, v.Detail, secret)
				}
				require.NoError(t, tx.Rollback())
			}
		}
		require.Empty(t, all(t, db))
		require.Len(t, all(t, db, "fine", "password "+secret), 1)
		_, err := invariant.FindSecrets(t.Context(), db, []string{"abc"})
		require.Error(t, err)
		_, err = invariant.FindSecrets(t.Context(), env.DB(t, "master"), []string{secret})
		require.Error(t, err, "there is nothing to look into")
	})
}

// TestEveryCheckCanFail requires a damage for each file of a check.
func TestEveryCheckCanFail(t *testing.T) {
	for _, folder := range []string{"../invariant/checks", "../invariant/clock"} {
		files, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, f := range files {
			name := strings.TrimSuffix(f.Name(), filepath.Ext(f.Name()))
			require.NotEmpty(t, damages[name], name)
		}
	}
}

// makeHistory runs an agent with a schedule and an outage, and with a job that fails and is
// retried.
func makeHistory(t *testing.T, env *testenv.Env, store *controldb.Store, control string) {
	t.Helper()
	_, err := targetgroups.On(store).Add(t.Context(), "g")
	require.NoError(t, err)
	_, err = targetgroups.On(store).AddMember(t.Context(), "g", targets.Member{
		Membership: targets.Include, Kind: targets.SQLDatabase, Server: env.ServerName, Database: env.CreateDatabase(t, "db"),
	})
	require.NoError(t, err)
	minutes, one, enabled, twice, seconds := "Minutes", 1, true, 2, 1
	cleanup, success, first, failed := "clean up", "after success", "JobStep", "Failed"
	_, err = catalog.On(store).AddJob(t.Context(), model.JobSpec{Name: "every minute", Enabled: &enabled, IntervalType: &minutes, IntervalCount: &one})
	require.NoError(t, err)
	_, err = catalog.On(store).AddJobStep(t.Context(), model.StepSpec{JobName: "every minute", Command: new("PRINT 'x';"), TargetGroup: new("g")})
	require.NoError(t, err)
	_, err = catalog.On(store).AddJob(t.Context(), model.JobSpec{Name: "broken"})
	require.NoError(t, err)
	_, err = catalog.On(store).AddJobStep(t.Context(), model.StepSpec{
		JobName: "broken", Command: new("THROW 50123, N'no', 1;"), TargetGroup: new("g"), RetryAttempts: &twice, InitialRetryInterval: &seconds,
	})
	require.NoError(t, err)
	_, err = catalog.On(store).AddJobStep(t.Context(), model.StepSpec{
		JobName: "broken", StepName: &cleanup, Command: new("PRINT 'x';"), TargetGroup: new("g"),
		RunWhen: &failed, OnTargets: &failed,
	})
	require.NoError(t, err)
	_, err = catalog.On(store).AddJobStep(t.Context(), model.StepSpec{
		JobName: "broken", StepName: &success, Command: new("PRINT 'x';"), TargetGroup: new("g"),
		After: &first,
	})
	require.NoError(t, err)
	_, err = targetgroups.On(store).AddMember(t.Context(), "g", targets.Member{
		Membership: targets.Include, Kind: targets.SQLDatabase, Server: env.ServerName, Database: env.CreateDatabase(t, "second"),
	})
	require.NoError(t, err)
	_, err = catalog.On(store).AddJob(t.Context(), model.JobSpec{Name: "rolled out"})
	require.NoError(t, err)
	_, err = catalog.On(store).AddJobStep(t.Context(), model.StepSpec{JobName: "rolled out", Command: new("PRINT 'x';"), TargetGroup: new("g")})
	require.NoError(t, err)
	require.NoError(t, timetable.On(store).AddCalendar(t.Context(), "always", `{"dates": ["1999-12-31/2009-12-31"]}`))
	_, err = env.DB(t, control).ExecContext(t.Context(), `EXECUTE jobs.sp_set_job_rollout N'rolled out', N'{"waves": [
{"name": "first", "targets": 1, "bake_seconds": 5}, {"name": "rest", "targets": "rest", "parallelism": 1, "window": "always"}], "strict": true, "preflight": "leave_out"}'`)
	require.NoError(t, err)
	for i := range 2 {
		if i == 0 {
			_, err = executions.On(store).StartJob(t.Context(), "rolled out", uuid.Nil)
			require.NoError(t, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		hosting, err := agent.New(agent.Config{MaxConcurrentTargets: 1}, store, agents.Tools(t, env, store), nil, zap.NewNop())
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() { ended <- hosting.Run(ctx) }()
		_, err = executions.On(store).StartJob(t.Context(), "broken", uuid.Nil)
		require.NoError(t, err)
		<-time.After(5*time.Minute + 30*time.Second)
		cancel()
		require.NoError(t, <-ended)
		<-time.After(10 * time.Minute) // no agent runs: catch-up, and skips
	}
}
