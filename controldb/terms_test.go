package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

func TestTerms(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		a := controldb.Agent{ID: uuid.New(), Host: "host", Version: "1", MaxConcurrentTargets: 7}
		first, err := c.StartTerm(ctx, a, 1500*time.Millisecond)
		require.NoError(t, err)
		require.Equal(t, controldb.Term{ID: first.ID, AgentID: a.ID, TTL: 2 * time.Second}, first, "whole seconds, rounded up")
		live, err := c.RenewTerm(ctx, first.ID, time.Hour)
		require.NoError(t, err)
		require.Equal(t, 1, live)
		second, err := c.StartTerm(ctx, a, time.Hour)
		require.NoError(t, err)
		require.Greater(t, second.ID.Number, first.ID.Number)

		_, err = c.RenewTerm(ctx, first.ID, time.Hour)
		require.ErrorIs(t, err, dberror.ErrTermEnded)
		require.ErrorIs(t, c.EndTerm(ctx, first.ID), dberror.ErrTermEnded)
		_, err = c.Pass(ctx, controldb.PassRequest{Term: first.ID, MaxConcurrentTargets: 1})
		require.ErrorIs(t, err, dberror.ErrTermEnded)
		_, err = c.CompleteTasks(ctx, first.ID, []controldb.Outcome{{Task: 1, Attempt: 1, Outcome: targets.Succeeded}})
		require.ErrorIs(t, err, dberror.ErrTermEnded)
		require.ErrorIs(t, c.CompleteResolution(ctx, first.ID, 1, controldb.Resolution{Attempt: 1}), dberror.ErrTermEnded)
		_, err = c.FireSchedules(ctx, first.ID, []controldb.Firing{{Schedule: 1, DueAt: time.Now()}})
		require.ErrorIs(t, err, dberror.ErrTermEnded)
		_, err = c.RenewTerm(ctx, controldb.TermID{Number: 999}, time.Hour)
		require.ErrorIs(t, err, dberror.ErrTermEnded)
		another := controldb.TermID{Number: second.ID.Number, GUID: uuid.New()} // as after a restore
		_, err = c.RenewTerm(ctx, another, time.Hour)
		require.ErrorIs(t, err, dberror.ErrTermEnded)
		require.ErrorIs(t, c.EndTerm(ctx, another), dberror.ErrTermEnded)
		_, err = c.Pass(ctx, controldb.PassRequest{Term: another, MaxConcurrentTargets: 1})
		require.ErrorIs(t, err, dberror.ErrTermEnded)

		agents, err := fleet.On(c.Store).List(ctx)
		require.NoError(t, err)
		require.Len(t, agents, 1)
		require.Equal(t, second.ID.Number, agents[0].Term)
		require.True(t, agents[0].Live)
		require.Equal(t, a, controldb.Agent{ID: agents[0].AgentID, Host: agents[0].Host, Version: agents[0].Version, MaxConcurrentTargets: agents[0].MaxConcurrentTargets})
		require.NoError(t, c.EndTerm(ctx, second.ID))
		agents, err = fleet.On(c.Store).List(ctx)
		require.NoError(t, err)
		require.False(t, agents[0].Live)
		require.Equal(t, "Ended", agents[0].EndReason)

		c.fails(t, 50029, `EXEC jobs_internal.start_term @agent_id = NULL, @host_name = N'h', @version = N'v', @ttl_seconds = 1`)
		c.fails(t, 50029, `EXEC jobs_internal.renew_term @term_id = 1, @ttl_seconds = 0`)
	})
}

// noGap pretends that passes have followed each other for longer than a lease.
const noGap = `UPDATE jobs_internal.advance_state SET last_advanced_at = SYSUTCDATETIME(), terms_until = '2000-01-01'`

func TestTermExpiresInDatabaseTime(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `EXEC jobs_internal.start_term @agent_id = '11111111-1111-1111-1111-111111111111', @host_name = N'h', @version = N'v', @ttl_seconds = 30, @now = '2026-01-01T00:00:00'`)
		c.exec(t, `EXEC jobs_internal.renew_term @term_id = 1, @ttl_seconds = 30, @now = '2026-01-01T00:00:29'`)
		c.exec(t, `EXEC jobs_internal.start_term @agent_id = '22222222-2222-2222-2222-222222222222', @host_name = N'h', @version = N'v', @ttl_seconds = 300, @now = '2026-01-01T00:00:29'`)
		c.exec(t, `UPDATE jobs_internal.advance_state SET last_advanced_at = '2026-01-01T00:00:58'`)
		c.exec(t, `EXEC jobs_internal.controller_pass @term_id = 2, @max_tasks = 1, @max_concurrent_targets = 1, @now = '2026-01-01T00:00:58.9'`)
		require.Equal(t, 2, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.terms WHERE ended_at IS NULL`))
		c.exec(t, `EXEC jobs_internal.controller_pass @term_id = 2, @max_tasks = 1, @max_concurrent_targets = 1, @now = '2026-01-01T00:00:59'`)
		c.fails(t, 50201, `EXEC jobs_internal.renew_term @term_id = 1, @ttl_seconds = 30, @now = '2026-01-01T00:00:59'`)
		c.fails(t, 50201, `EXEC jobs_internal.controller_pass @term_id = 1, @max_tasks = 1, @max_concurrent_targets = 1, @now = '2026-01-01T00:00:59'`)
	})
}

func TestHandOver(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", func(s *model.StepSpec) { s.RetryAttempts = ptr(1) })
		id := c.start(t, "j")
		dead := c.term(t)
		c.resolve(t, dead, "a", "b")
		lost := c.pass(t, dead).Tasks
		require.Len(t, lost, 2)
		c.exec(t, `UPDATE jobs_internal.terms SET expires_at = SYSUTCDATETIME() WHERE term_id = @p1`, dead.Number)
		c.exec(t, noGap)

		live := c.term(t)
		res := c.pass(t, live)
		require.Empty(t, res.Tasks, "an unknown outcome is retried by the policy, after its wait")
		require.Equal(t, "root=WaitingForChildJobExecutions 1=WaitingForChildJobExecutions 1/a=WaitingForRetry 1/b=WaitingForRetry", c.lifecycles(t, id))
		require.Equal(t, []string{"Unknown|1", "Unknown|1"}, c.rows(t, `SELECT outcome, attempt FROM jobs_internal.task_executions WHERE kind = N'Run'`))
		_, err := c.CompleteTasks(t.Context(), dead, []controldb.Outcome{{Task: lost[0].ID, Attempt: 1, Outcome: targets.Succeeded}})
		require.ErrorIs(t, err, dberror.ErrTermEnded)

		c.exec(t, `UPDATE jobs_internal.target_executions SET next_attempt_at = SYSUTCDATETIME() WHERE next_attempt_at IS NOT NULL`)
		res = c.pass(t, live)
		require.Len(t, res.Tasks, 2)
		require.Equal(t, 2, res.Tasks[0].Attempt)
		require.NoError(t, c.EndTerm(t.Context(), live))
		c.pass(t, c.term(t))
		require.Equal(t, "root=Failed 1=Failed 1/a=Failed 1/b=Failed", c.lifecycles(t, id), "no attempt is left")
		require.Equal(t, 2, get[int](t, c, `SELECT COUNT(*) FROM jobs.job_executions WHERE last_message LIKE N'%is unknown: the agent on ''host'' ended or lost its lease%' AND target_type = N'SqlDatabase'`))
	})
}

func TestHeldTasksAreBounded(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		term := c.term(t)
		c.start(t, "j")
		c.resolve(t, term, "a", "b", "c", "d", "e", "f")
		res, err := c.Pass(t.Context(), controldb.PassRequest{Term: term, MaxTasks: 100, MaxConcurrentTargets: 2})
		require.NoError(t, err)
		require.Len(t, res.Tasks, 4)
		res, err = c.Pass(t.Context(), controldb.PassRequest{Term: term, MaxTasks: 100, MaxConcurrentTargets: 2})
		require.NoError(t, err)
		require.Empty(t, res.Tasks)
		require.Equal(t, 4, res.Held.Count)
		c.fails(t, 50029, `EXEC jobs_internal.controller_pass @term_id = 1, @max_tasks = -1, @max_concurrent_targets = 1`)
	})
}

func TestTwoTermsClaimDifferentTasks(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		one, two := c.term(t), c.term(t)
		c.start(t, "j")
		c.resolve(t, one, "a", "b", "c", "d")
		first, second := c.passMax(t, one, 2), c.passMax(t, two, 100)
		require.Len(t, first.Tasks, 2)
		require.Len(t, second.Tasks, 2)
		seen := map[controldb.TaskID]bool{}
		for _, task := range append(first.Tasks, second.Tasks...) {
			require.False(t, seen[task.ID])
			seen[task.ID] = true
		}
		refusals, err := c.CompleteTasks(t.Context(), two, []controldb.Outcome{{Task: first.Tasks[0].ID, Attempt: 1, Outcome: targets.Succeeded}})
		require.NoError(t, err)
		require.Equal(t, []controldb.Refusal{{Task: first.Tasks[0].ID, Reason: "another term held the task"}}, refusals)
	})
}

func TestLiveAgentsNeedsOneRow(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		n, err := fleet.On(c.Store).Live(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		c.exec(t, `ALTER VIEW jobs.live_agents AS SELECT 0 AS live_agents WHERE 1 = 0;`)
		_, err = fleet.On(c.Store).Live(t.Context())
		require.EqualError(t, err, "count live agents: got 0 rows, want 1")
	})
}
