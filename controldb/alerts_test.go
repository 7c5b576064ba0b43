package controldb_test

import (
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// TestAlertRulesAndChannels: what was added is read, by name or all of it, until it is deleted.
func TestAlertRulesAndChannels(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		channels := []string{"hook"}
		runs, share := 3, 12.5
		require.NoError(t, alerting.On(c.Store).AddChannel(ctx, "hook", "Http", `{"url": "https://example.com/x"}`, true))
		require.NoError(t, alerting.On(c.Store).AddChannel(ctx, "away", "Http", `{"url": "https://example.com/y"}`, false))
		require.NoError(t, alerting.On(c.Store).AddRule(ctx, "silence", model.AlertNoAgent, alerting.Change{Channels: &channels}))
		require.NoError(t, alerting.On(c.Store).AddRule(ctx, "failures", model.AlertTargetsFailed, alerting.Change{PercentFailed: &share}))

		list, err := alerting.On(c.Store).Channels(ctx, "")
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, []any{"away", false, "hook", true}, []any{list[0].Name, list[0].Enabled, list[1].Name, list[1].Enabled})
		list, err = alerting.On(c.Store).Channels(ctx, "hook")
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.JSONEq(t, `{"url": "https://example.com/x"}`, string(list[0].Definition))

		require.NoError(t, alerting.On(c.Store).Mute(ctx, "silence", time.Minute, "maintenance"))
		rules, err := alerting.On(c.Store).Rules(ctx, "")
		require.NoError(t, err)
		require.Len(t, rules, 2)
		require.Equal(t, []any{"failures", share, "silence"}, []any{rules[0].Name, rules[0].PercentFailed, rules[1].Name})
		require.True(t, rules[0].MutedUntil.IsZero())
		require.Equal(t, "maintenance", rules[1].MuteNote)
		require.Equal(t, channels, rules[1].Channels)

		require.ErrorIs(t, alerting.On(c.Store).UpdateRule(ctx, "nothing", alerting.Change{Runs: &runs}), dberror.ErrAlertNotFound)
		require.Error(t, alerting.On(c.Store).DeleteChannel(ctx, "hook"), "a rule uses it")
		require.NoError(t, alerting.On(c.Store).DeleteRule(ctx, "silence"))
		require.NoError(t, alerting.On(c.Store).DeleteChannel(ctx, "hook"))
		rules, err = alerting.On(c.Store).Rules(ctx, "silence")
		require.NoError(t, err)
		require.Empty(t, rules)
	})
}

// A notification about an ended run has the first target that failed, with its error.
func TestAlertNamesAFailedTarget(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		channels, once := []string{"hook"}, 0
		require.NoError(t, alerting.On(c.Store).AddChannel(ctx, "hook", "Http", `{"url": "https://example.com/x"}`, true))
		require.NoError(t, alerting.On(c.Store).AddRule(ctx, "failed", model.AlertRunEnded, alerting.Change{Channels: &channels}))
		c.job(t, "j", func(s *model.StepSpec) { s.RetryAttempts = &once }, nil)
		term := c.term(t)
		run := c.start(t, "j")
		c.resolve(t, term, "a", "b", "c")
		tasks := c.pass(t, term).Tasks
		require.Len(t, tasks, 3)
		c.complete(t, term, targets.Succeeded, "", tasks[0])
		c.complete(t, term, targets.Failed, "Msg 8114: cannot convert", tasks[1:]...)
		c.pass(t, term)
		_, err := alerting.On(c.Store).Evaluate(ctx, 0)
		require.NoError(t, err)
		work, err := alerting.On(c.Store).ClaimDeliveries(ctx, alerting.Claim{Holder: uuid.New(), Types: "Http", Max: 10, Lease: time.Minute})
		require.NoError(t, err)
		require.Len(t, work, 1)
		require.Equal(t, run, work[0].JobExecutionID)
		require.Equal(t, []string{"s", tasks[1].Target.Database, "Msg 8114: cannot convert"}, []string{work[0].FailedServer, work[0].FailedDatabase, work[0].FailedMessage})
	})
}

// requestJob adds a job of one request.
func (c *control) requestJob(t *testing.T, name string) {
	t.Helper()
	_, err := catalog.On(c.Store).AddJob(t.Context(), model.JobSpec{Name: name})
	require.NoError(t, err)
	_, err = catalog.On(c.Store).AddJobStep(t.Context(), model.StepSpec{JobName: name, Command: new(`{"method": "POST", "url": "https://h/"}`), CommandType: ptr("Http")})
	require.NoError(t, err)
}

// endedRuns adds runs of a job that have ended with a lifecycle and that no evaluation has seen,
// and returns the id of the last one.
func (c *control) endedRuns(t *testing.T, job, lifecycle, beginAt string, n int) int64 {
	t.Helper()
	c.exec(t, `INSERT INTO jobs_internal.job_executions (job_execution_id, job_id, job_version, lifecycle, is_active, create_time, start_time, end_time)
SELECT TOP (@n) NEWID(), j.job_id, j.job_version, @lifecycle, 0, @begin, @begin, @begin
FROM jobs.jobs AS j CROSS JOIN sys.all_objects AS o WHERE j.job_name = @job;
INSERT INTO jobs_internal.alert_runs (execution_id)
SELECT TOP (@n) e.execution_id FROM jobs_internal.job_executions AS e ORDER BY e.execution_id DESC;`,
		sql.Named("n", n), sql.Named("lifecycle", lifecycle), sql.Named("begin", beginAt), sql.Named("job", job))
	return get[int64](t, c, "SELECT MAX(execution_id) FROM jobs_internal.job_executions;")
}

// raised returns the names of the rules that have raised an alert, in order.
func (c *control) raised(t *testing.T) []string {
	t.Helper()
	return c.rows(t, "SELECT alert_name FROM jobs.alerts ORDER BY alert_name;")
}

// TestAlertsBesideAFailingRun: a run that cannot be evaluated silences neither the other rules nor,
// in the end, the runs of its batch. The batch is small enough then, and becomes large again.
func TestAlertsBesideAFailingRun(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		zero := 0
		c.requestJob(t, "long")
		c.requestJob(t, "bad")
		require.NoError(t, alerting.On(c.Store).AddRule(ctx, "slow", model.AlertRunTooLong, alerting.Change{JobName: ptr("long"), Seconds: ptr(60)}))
		require.NoError(t, alerting.On(c.Store).AddRule(ctx, "failed", model.AlertRunEnded, alerting.Change{JobName: ptr("bad")}))
		require.NoError(t, alerting.On(c.Store).AddRule(ctx, "nobody", model.AlertNoAgent, alerting.Change{Seconds: &zero}))
		_, err := executions.On(c.Store).StartJob(ctx, "bad", uuid.New())
		require.NoError(t, err)
		// A minute after its begin is not a time.
		c.endedRuns(t, "long", "Failed", "9999-12-31T23:59:59", 1)
		c.endedRuns(t, "bad", "Failed", "2999-01-01T00:00:00", 1)

		_, err = alerting.On(c.Store).Evaluate(ctx, 0)
		require.Error(t, err)
		_, err = alerting.On(c.Store).Evaluate(ctx, 0)
		require.NoError(t, err)
		require.Equal(t, []string{"nobody"}, c.raised(t), "other rules go on")
		require.Equal(t, int64(250), get[int64](t, c, "SELECT run_batch FROM jobs_internal.alert_state;"))
		for range 20 {
			if slices.Contains(c.raised(t), "failed") {
				break
			}
			_, _ = alerting.On(c.Store).Evaluate(ctx, 0) // every other one fails
		}
		require.Equal(t, []string{"failed", "nobody"}, c.raised(t), "the batch became smaller")
		require.Equal(t, int64(1), get[int64](t, c, "SELECT COUNT(*) FROM jobs_internal.alert_runs;"))

		c.exec(t, "DELETE FROM jobs_internal.alert_runs;")
		for range 10 {
			c.endedRuns(t, "bad", "Failed", "2999-01-01T00:00:00", 1)
			_, err = alerting.On(c.Store).Evaluate(ctx, 0)
			require.NoError(t, err)
		}
		require.Equal(t, int64(500), get[int64](t, c, "SELECT run_batch FROM jobs_internal.alert_state;"))
	})
}

// TestAlertsOfManyRuns: an evaluation takes 500 runs, and says that it has left some.
func TestAlertsOfManyRuns(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.requestJob(t, "bad")
		require.NoError(t, alerting.On(c.Store).AddRule(ctx, "failed", model.AlertRunEnded, alerting.Change{}))
		c.endedRuns(t, "bad", "Failed", "2999-01-01T00:00:00", 600)
		var left []int64
		for more := true; more; {
			var err error
			more, err = alerting.On(c.Store).Evaluate(ctx, 0)
			require.NoError(t, err)
			left = append(left, get[int64](t, c, "SELECT COUNT(*) FROM jobs_internal.alert_runs;"))
		}
		require.Equal(t, []int64{100, 0}, left)
		require.Equal(t, []string{"1|600"}, c.rows(t, "SELECT COUNT(*), SUM(occurrences) FROM jobs.alerts;"))
	})
}

// TestAlertsBesideAnOpenPass: an evaluation does not wait for the runs that an open transaction has
// entered, and evaluates them when it has committed.
func TestAlertsBesideAnOpenPass(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.requestJob(t, "bad")
		require.NoError(t, alerting.On(c.Store).AddRule(ctx, "failed", model.AlertRunEnded, alerting.Change{}))
		first := c.endedRuns(t, "bad", "Failed", "2999-01-01T00:00:00", 2)
		tx, err := c.db.BeginTx(ctx, nil)
		require.NoError(t, err)
		defer func() { _ = tx.Rollback() }() // has committed
		_, err = tx.ExecContext(ctx, "DELETE FROM jobs_internal.alert_runs WHERE execution_id = @p1; INSERT INTO jobs_internal.alert_runs (execution_id) VALUES (@p1);", first)
		require.NoError(t, err)

		c.exec(t, "SET LOCK_TIMEOUT 0; EXECUTE jobs_internal.evaluate_alerts @min_seconds = 0;")
		require.Equal(t, []string{"1"}, c.rows(t, "SELECT occurrences FROM jobs.alerts;"))
		require.NoError(t, tx.Commit())
		c.exec(t, "EXECUTE jobs_internal.evaluate_alerts @min_seconds = 0;")
		require.Equal(t, []string{"2"}, c.rows(t, "SELECT occurrences FROM jobs.alerts;"))
	})
}
