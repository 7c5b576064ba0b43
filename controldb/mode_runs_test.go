package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/measure"
	"github.com/jobagent/jobagent/controldb/summary"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// TestModesAreNoRuns: a preflight that fails on a database after a run that succeeded there changes
// nothing of what is said about the job: its latest runs, what it last did on databases, its
// failures, its usual duration, and its alerts.
func TestModesAreNoRuns(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		term, err := c.StartTerm(ctx, controldb.Agent{
			ID: uuid.New(), Host: "host", Version: "test", MaxConcurrentTargets: 100,
			Modes: []controldb.RunMode{controldb.ModePreflight},
		}, time.Hour)
		require.NoError(t, err)
		c.job(t, "j", once)
		c.job(t, "never", once)
		minute := 60
		for name, change := range map[string]alerting.Change{
			"ended": {JobName: ptr("j")}, "unfinished": {JobName: ptr("never"), Seconds: &minute},
		} {
			condition := model.AlertRunEnded
			if name == "unfinished" {
				condition = model.AlertNoRun
			}
			require.NoError(t, alerting.On(c.Store).AddRule(ctx, name, condition, change))
		}
		run := c.start(t, "j")
		c.resolve(t, term.ID, "a")
		c.complete(t, term.ID, targets.Succeeded, "", c.pass(t, term.ID).Tasks...)
		c.pass(t, term.ID)
		for _, job := range []string{"j", "never"} {
			_, err := executions.On(c.Store).Start(ctx, executions.StartRequest{Job: job, Mode: controldb.ModePreflight})
			require.NoError(t, err)
			c.resolve(t, term.ID, "a")
			c.complete(t, term.ID, targets.Failed, "no right", c.pass(t, term.ID).Tasks...)
			c.pass(t, term.ID)
		}
		require.Equal(t, 2, get[int](t, c, "SELECT COUNT(*) FROM jobs_internal.job_executions WHERE mode IS NOT NULL AND lifecycle = N'Failed';"))

		latest, err := executions.On(c.Store).Latest(ctx, []string{"j", "never"}, 10)
		require.NoError(t, err)
		require.Len(t, latest, 1)
		require.Equal(t, run, latest[0].ID)
		found, err := catalog.On(c.Store).FindJobs(ctx, catalog.JobFilter{Failed: true}, controldb.Page[string]{})
		require.NoError(t, err)
		require.Empty(t, found)
		recent, err := summary.On(c.Store).RecentRuns(ctx, 7, 10, 10)
		require.NoError(t, err)
		require.Equal(t, 1, recent.Jobs)
		require.Len(t, recent.Runs, 1)
		failures, err := summary.On(c.Store).Failures(ctx, 1)
		require.NoError(t, err)
		require.Empty(t, failures.Errors)
		outcomes, err := executions.On(c.Store).TargetOutcomes(ctx, executions.TargetFilter{Top: 10, Jobs: 10})
		require.NoError(t, err)
		require.Len(t, outcomes.Outcomes, 1)
		require.Equal(t, []any{"Succeeded", run}, []any{outcomes.Outcomes[0].Outcome, outcomes.Outcomes[0].Run})
		listed, err := executions.On(c.Store).OnTarget(ctx, outcomes.Targets[0].ID, "j", uuid.Nil, 10)
		require.NoError(t, err)
		require.Len(t, listed, 2)
		require.Equal(t, []controldb.RunMode{controldb.ModePreflight, ""}, []controldb.RunMode{listed[0].Mode, listed[1].Mode})
		c.exec(t, "EXEC jobs_internal.register_targets;")
		require.Equal(t, []string{"Succeeded"}, c.rows(t, "SELECT lifecycle FROM jobs.target_last_runs;"))

		c.exec(t, "UPDATE jobs_internal.job_executions SET end_time = DATEADD(SECOND, -30, end_time), start_time = DATEADD(SECOND, -30, start_time), create_time = DATEADD(SECOND, -30, create_time);")
		counts, err := measure.On(c.Store).RunCounts(ctx, time.Now().Add(-time.Hour))
		require.NoError(t, err)
		require.Equal(t, map[string]int64{"Succeeded": 1}, counts.Ended)

		// The preflight of a job is no run that a rule waits for.
		c.exec(t, "UPDATE jobs_internal.jobs SET created_at = DATEADD(HOUR, -1, created_at);")
		_, err = alerting.On(c.Store).Evaluate(ctx, 0)
		require.NoError(t, err)
		require.Equal(t, []string{"unfinished"}, c.raised(t))
	})
}

// TestAlertsAboutLongRuns: neither a trial nor the own run of a roll-out, which lasts as long as
// its bakes, takes too long; a wave may.
func TestAlertsAboutLongRuns(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		term := c.term(t)
		c.job(t, "j", once)
		c.endedRuns(t, "j", "Succeeded", "2020-01-01T00:00:00", 5)
		c.plan(t, nil, members{"name": "all", "targets": "rest", "bake_seconds": 3600})
		require.NoError(t, alerting.On(c.Store).AddRule(ctx, "slow", model.AlertRunTooLong, alerting.Change{JobName: ptr("j"), Seconds: ptr(60)}))
		run := c.start(t, "j")
		c.rollOut(t, term, numbered(2), succeed)
		require.Equal(t, "Baking: Baking", c.rollout(t, run))
		c.exec(t, "UPDATE jobs_internal.job_executions SET start_time = DATEADD(DAY, -1, start_time) WHERE is_active = 1;")
		c.endedRuns(t, "j", "Failed", "2020-01-01T00:00:00", 1)
		c.exec(t, "UPDATE jobs_internal.job_executions SET mode = N'Preflight', is_active = 1, lifecycle = N'InProgress', end_time = NULL WHERE lifecycle = N'Failed';")
		_, err := alerting.On(c.Store).Evaluate(ctx, 0)
		require.NoError(t, err)
		require.Empty(t, c.raised(t))
		c.exec(t, "UPDATE jobs_internal.job_executions SET mode = NULL WHERE mode IS NOT NULL;")
		_, err = alerting.On(c.Store).Evaluate(ctx, 0)
		require.NoError(t, err)
		require.Equal(t, []string{"slow"}, c.raised(t))
		// These have no steps, which no run lacks.
		c.exec(t, "DELETE FROM jobs_internal.job_executions WHERE create_time < '2021-01-01';")
	})
}
