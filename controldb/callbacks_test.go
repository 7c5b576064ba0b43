package controldb_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// waits starts a run of the action j whose request was accepted, and returns the callback's token.
func (c *control) waits(t *testing.T, term controldb.TermID) (uuid.UUID, callbacks.Token) {
	t.Helper()
	run, task := c.attempt(t, term)
	token := callbacks.HashToken(uuid.NewString())
	c.begin(t, term, task, &token)
	c.complete(t, term, targets.Accepted, "202", task)
	require.Equal(t, []string{"false|false"}, c.parked(t, run))
	c.pass(t, term)
	require.Equal(t, []string{"true|true"}, c.parked(t, run))
	return run, token
}

// parked returns whether the run and its active steps are parked.
func (c *control) parked(t *testing.T, run uuid.UUID) []string {
	t.Helper()
	return c.rows(t, `SELECT e.parked, s.parked
FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id
WHERE e.job_execution_id = @p1 AND s.is_active = 1
ORDER BY s.step_id`, run.String())
}

// callback returns the only callback of a run.
func (c *control) callback(t *testing.T, run uuid.UUID) callbacks.Callback {
	t.Helper()
	list, err := callbacks.On(c.Store).OfRun(t.Context(), run)
	require.NoError(t, err)
	require.Len(t, list, 1)
	same, err := callbacks.On(c.Store).OfTarget(t.Context(), run, list[0].StepID, list[0].Target)
	require.NoError(t, err)
	require.Equal(t, list, same)
	return list[0]
}

// lifecycle returns the lifecycle of a run.
func (c *control) lifecycle(t *testing.T, run uuid.UUID) string {
	t.Helper()
	return get[string](t, c,
		`SELECT lifecycle FROM jobs_internal.job_executions WHERE job_execution_id = @p1`, run.String())
}

// TestCase74: a report ends a wait; within one pass, the run has ended, too.
func TestCase74(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", nil)
		term := c.actionTerm(t)
		run, token := c.waits(t, term)
		cb := c.callback(t, run)
		require.Equal(t, []any{callbacks.CallbackWaiting, true, "h", "", 1}, []any{cb.State, cb.Acknowledged, cb.Server, cb.Database, cb.Attempt})
		require.InDelta(t, 12*time.Hour, cb.DeadlineAt.Sub(cb.OpenedAt), float64(time.Minute), "the step's time limit is earlier than a week")
		require.WithinDuration(t, cb.DeadlineAt, c.pass(t, term).NextWake, time.Minute)

		report := callbacks.Report{Success: true, Message: "m", By: "app"}
		require.NoError(t, callbacks.On(c.Store).Report(t.Context(), token, report))
		require.Equal(t, callbacks.CallbackReported, c.callback(t, run).State)
		require.NoError(t, callbacks.On(c.Store).Report(t.Context(), token, report), "the same report again")
		c.pass(t, term)
		require.Equal(t, "Succeeded", c.lifecycle(t, run))
		require.Equal(t, "Succeeded|1|false|Step 1 succeeded execution on endpoint 'h'. m", c.state(t, run))
		cb = c.callback(t, run)
		require.Equal(t, []any{callbacks.CallbackClosed, "Report", new(true), "m", "app", ""},
			[]any{cb.State, cb.ClosedBy, cb.Success, cb.Message, cb.ReceivedBy, cb.Late})
		require.NoError(t, callbacks.On(c.Store).Report(t.Context(), token, report), "the same report on a final run")
		require.ErrorIs(t, callbacks.On(c.Store).Report(t.Context(), callbacks.HashToken("x"), report), dberror.ErrCallbackNotFound)
	})
}

// TestCase76: a report that comes before the answer decides, whatever the answer is.
func TestCase76(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		term := c.actionTerm(t)
		for _, x := range []struct {
			report bool
			answer targets.Outcome
			want   string
		}{
			{true, targets.Succeeded, "Succeeded"},
			{false, targets.Succeeded, "Failed"},
			{true, targets.Failed, "Succeeded"},
			{true, targets.Unknown, "Succeeded"},
			{false, targets.Accepted, "Failed"},
		} {
			run, task := c.attempt(t, term)
			token := callbacks.HashToken(uuid.NewString())
			c.begin(t, term, task, &token)
			require.NoError(t, callbacks.On(c.Store).Report(t.Context(), token, callbacks.Report{Success: x.report, Message: "r"}))
			c.complete(t, term, x.answer, "a", task)
			c.pass(t, term)
			require.Equal(t, x.want, c.lifecycle(t, run), "report %v, answer %s", x.report, x.answer)
			require.Equal(t, "Report", c.callback(t, run).ClosedBy)
		}
		run, task := c.attempt(t, term)
		token := callbacks.HashToken(uuid.NewString())
		c.begin(t, term, task, &token)
		c.complete(t, term, targets.Succeeded, "a", task)
		c.pass(t, term)
		require.Equal(t, "Succeeded", c.lifecycle(t, run), "without a report, the answer decides")
		require.ErrorIs(t, callbacks.On(c.Store).Report(t.Context(), token, callbacks.Report{}), dberror.ErrCallbackEnded)
		require.Equal(t, "Attempt", c.callback(t, run).ClosedBy)
	})
}

// TestCase78: of two different reports at the same moment, one is accepted, and the state is that
// of the accepted one.
func TestCase78(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		term := c.actionTerm(t)
		for range 8 {
			run, token := c.waits(t, term)
			var errs [2]error
			var wg sync.WaitGroup
			for i := range errs {
				wg.Go(func() {
					errs[i] = callbacks.On(c.Store).Report(t.Context(), token, callbacks.Report{Success: i == 0, Message: "r"})
				})
			}
			wg.Wait()
			won, lost := 0, 1
			if errs[0] != nil {
				won, lost = 1, 0
			}
			require.NoError(t, errs[won])
			require.ErrorIs(t, errs[lost], dberror.ErrCallbackEnded)
			c.pass(t, term)
			require.Equal(t, []string{"Succeeded", "Failed"}[won], c.lifecycle(t, run))
			require.Contains(t, c.callback(t, run).Late, `"success":`+[]string{"true", "false"}[lost])
		}
	})
}

// TestCase80: another report on a final run changes nothing and is kept.
func TestCase80(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", nil)
		term := c.actionTerm(t)
		run, token := c.waits(t, term)
		require.NoError(t, callbacks.On(c.Store).Report(t.Context(), token, callbacks.Report{Success: true}))
		c.pass(t, term)
		err := callbacks.On(c.Store).Report(t.Context(), token, callbacks.Report{Message: "no"})
		require.ErrorIs(t, err, dberror.ErrCallbackEnded)
		require.ErrorContains(t, err, "a success was reported")
		require.Equal(t, "Succeeded", c.lifecycle(t, run))
		require.Contains(t, c.callback(t, run).Late, `"message":"no"`)
	})
}

// TestCase82: the deadline ends a wait with an unknown result, and a later report is refused but
// kept.
func TestCase82(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", nil)
		term := c.actionTerm(t)
		run, token := c.waits(t, term)
		c.exec(t, `UPDATE c SET c.deadline_at = '2026-01-01' FROM jobs_internal.callbacks AS c`)
		c.pass(t, term)
		require.Equal(t, "TimedOut", c.lifecycle(t, run))
		require.Equal(t, "TimedOut|1|true|Step 1 got no callback about endpoint 'h' until 2026-01-01T00:00:00Z. "+
			"Whether the request was carried out is unknown.", c.state(t, run))
		require.ErrorIs(t, callbacks.On(c.Store).Report(t.Context(), token, callbacks.Report{Success: true, Message: "late"}), dberror.ErrCallbackEnded)
		require.Equal(t, "TimedOut", c.lifecycle(t, run))
		cb := c.callback(t, run)
		require.Equal(t, "Deadline", cb.ClosedBy)
		require.Contains(t, cb.Late, `"message":"late"`)
	})
}

// TestCase86: a deadline that passes while no agent runs ends the wait at the first pass of the
// next agent, and nothing is sent again.
func TestCase86(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", nil)
		term := c.actionTerm(t)
		run, _ := c.waits(t, term)
		require.NoError(t, c.EndTerm(t.Context(), term))
		require.Contains(t, c.state(t, run), "WaitingForCallback|1|")
		c.exec(t, `UPDATE c SET c.deadline_at = '2026-01-01' FROM jobs_internal.callbacks AS c`)
		require.Empty(t, c.pass(t, c.actionTerm(t)).Tasks)
		require.Equal(t, "TimedOut", c.lifecycle(t, run))
	})
}

// TestCase88: deleting a job ends the waits of its runs, and a report finds nothing.
func TestCase88(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", nil)
		term := c.actionTerm(t)
		run, token := c.waits(t, term)
		require.ErrorIs(t, catalog.On(c.Store).DeleteJob(t.Context(), "j", false), dberror.ErrJobActive)
		require.NoError(t, catalog.On(c.Store).DeleteJob(t.Context(), "j", true))
		require.ErrorIs(t, callbacks.On(c.Store).Report(t.Context(), token, callbacks.Report{Success: true}), dberror.ErrCallbackNotFound)
		require.ErrorIs(t, callbacks.On(c.Store).Complete(t.Context(), callbacks.Ref{Execution: run}, true, ""), dberror.ErrExecutionNotFound)
		c.pass(t, term)
		require.Equal(t, "Canceled", c.lifecycle(t, run))
		_, _, err := c.DeleteLeftovers(t.Context())
		require.NoError(t, err)
		require.Zero(t, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.callbacks`))
	})
}

// TestCase90: the request of a lost agent is not sent again if the step awaits a report, and a
// report ends the run.
func TestCase90(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", nil)
		c.exec(t, `EXECUTE jobs.sp_set_jobstep_options @job_name = N'j', @on_unknown_outcome = N'Await'`)
		term := c.actionTerm(t)
		run, task := c.attempt(t, term)
		token := callbacks.HashToken("t")
		c.begin(t, term, task, &token)
		require.NoError(t, c.EndTerm(t.Context(), term))
		term = c.actionTerm(t)
		require.Empty(t, c.pass(t, term).Tasks)
		require.Equal(t, []string{"true|true"}, c.parked(t, run))
		require.False(t, c.callback(t, run).Acknowledged)
		require.NoError(t, callbacks.On(c.Store).Complete(t.Context(), callbacks.Ref{Execution: run}, true, "by hand"))
		require.Empty(t, c.pass(t, term).Tasks)
		require.Equal(t, "Succeeded", c.lifecycle(t, run))
	})
}

// TestReportedFailure: a failure that is reported is retried by the step's policy, with a callback
// of its own.
func TestReportedFailure(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", nil)
		term := c.actionTerm(t)
		run, first := c.waits(t, term)
		require.NoError(t, callbacks.On(c.Store).Report(t.Context(), first, callbacks.Report{Message: "no"}))
		c.pass(t, term)
		require.Equal(t, "WaitingForRetry|1|false|Step 1 failed on endpoint 'h', as its callback reports: no", c.state(t, run))
		require.Equal(t, []string{"false|false"}, c.parked(t, run))
		c.exec(t, `UPDATE t SET t.next_attempt_at = '2026-01-01' FROM jobs_internal.target_executions AS t`)
		tasks := c.pass(t, term).Tasks
		require.Len(t, tasks, 1)
		require.Equal(t, 2, tasks[0].Attempt)
		second := callbacks.HashToken("second")
		c.begin(t, term, tasks[0], &second)
		require.ErrorIs(t, callbacks.On(c.Store).Report(t.Context(), first, callbacks.Report{Success: true}), dberror.ErrCallbackEnded)
		c.complete(t, term, targets.Accepted, "202", tasks...)
		require.NoError(t, callbacks.On(c.Store).Report(t.Context(), second, callbacks.Report{Message: "no again"}))
		c.pass(t, term)
		require.Equal(t, "Failed", c.lifecycle(t, run))
		list, err := callbacks.On(c.Store).OfRun(t.Context(), run)
		require.NoError(t, err)
		require.Len(t, list, 2)
	})
}

// TestStopWhileWaiting: a stop request ends a wait, without any agent that holds it. A report that
// was accepted before decides.
func TestStopWhileWaiting(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", nil)
		term := c.actionTerm(t)
		run, token := c.waits(t, term)
		c.exec(t, `EXECUTE jobs.sp_stop_job @p1`, run.String())
		c.pass(t, term)
		require.Equal(t, "Canceled", c.lifecycle(t, run))
		require.Equal(t, "Canceled|1|true|Step 1 was canceled by a stop request while it waited for a callback about endpoint 'h'. "+
			"Whether the request was carried out is unknown.", c.state(t, run))
		err := callbacks.On(c.Store).Report(t.Context(), token, callbacks.Report{Success: true})
		require.ErrorIs(t, err, dberror.ErrCallbackEnded)
		require.ErrorContains(t, err, "was stopped")

		run, token = c.waits(t, term)
		require.NoError(t, callbacks.On(c.Store).Report(t.Context(), token, callbacks.Report{Success: true}))
		c.exec(t, `EXECUTE jobs.sp_stop_job @p1`, run.String())
		c.pass(t, term)
		require.Equal(t, "Succeeded", c.lifecycle(t, run))
		require.ErrorIs(t, callbacks.On(c.Store).Complete(t.Context(), callbacks.Ref{Execution: run}, false, ""), dberror.ErrCallbackEnded)
	})
}

// TestReportRaces: reports, deadlines, stops and passes at the same time end each wait once, and
// the answer to the report agrees with the run.
func TestReportRaces(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", nil)
		term := c.actionTerm(t)
		for _, other := range []string{
			`UPDATE c SET c.deadline_at = '2026-01-01' FROM jobs_internal.callbacks AS c WHERE c.closed_at IS NULL`,
			`EXECUTE jobs.sp_stop_job @p1`,
			`SELECT 1`,
		} {
			for range 4 {
				run, token := c.waits(t, term)
				var reported error
				var wg sync.WaitGroup
				wg.Go(func() { reported = callbacks.On(c.Store).Report(t.Context(), token, callbacks.Report{Success: true}) })
				wg.Go(func() {
					args := []any{run.String()}
					if other[0] != 'E' {
						args = nil
					}
					_, err := c.db.ExecContext(t.Context(), other, args...)
					if err != nil {
						t.Error(err)
					}
				})
				wg.Go(func() {
					if _, err := c.Pass(t.Context(), controldb.PassRequest{Term: term, MaxConcurrentTargets: 1}); err != nil {
						t.Error(err)
					}
				})
				wg.Wait()
				c.pass(t, term)
				want := "Succeeded"
				if reported != nil {
					require.ErrorIs(t, reported, dberror.ErrCallbackEnded)
					want = map[byte]string{'U': "TimedOut", 'E': "Canceled"}[other[0]]
				}
				require.Equal(t, want, c.lifecycle(t, run), other)
			}
		}
	})
}

// TestReportAgainstOutcome: a report at the moment when the attempt ends is accepted and decides,
// or is refused because the answer decided.
func TestReportAgainstOutcome(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		term := c.actionTerm(t)
		for _, answer := range []targets.Outcome{targets.Accepted, targets.Failed} {
			for range 4 {
				run, task := c.attempt(t, term)
				token := callbacks.HashToken(uuid.NewString())
				c.begin(t, term, task, &token)
				var reported, completed error
				var wg sync.WaitGroup
				wg.Go(func() { reported = callbacks.On(c.Store).Report(t.Context(), token, callbacks.Report{Success: true}) })
				wg.Go(func() {
					_, completed = c.CompleteTasks(t.Context(), term, []controldb.Outcome{{Task: task.ID, Attempt: 1, Outcome: answer}})
				})
				wg.Wait()
				require.NoError(t, completed)
				c.pass(t, term)
				if reported == nil {
					require.Equal(t, "Succeeded", c.lifecycle(t, run))
				} else {
					require.True(t, errors.Is(reported, dberror.ErrCallbackEnded) && answer == targets.Failed, "%v", reported)
					require.Equal(t, "Failed", c.lifecycle(t, run))
				}
			}
		}
	})
}

// TestParking: a step is parked while all its active targets wait for callbacks, and no longer.
func TestParking(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "other", nil)
		c.httpJob(t, "j", func(s *model.StepSpec) { s.TargetGroup = new("g") })
		term := c.actionTerm(t)
		run := c.start(t, "j")
		c.resolve(t, term, "a", "b", "c")
		tasks := c.pass(t, term).Tasks
		require.Len(t, tasks, 3)
		tokens := make([]callbacks.Token, len(tasks))
		for i, task := range tasks {
			tokens[i] = callbacks.HashToken(task.Target.Database)
			c.begin(t, term, task, &tokens[i])
		}
		c.complete(t, term, targets.Accepted, "", tasks[0], tasks[1])
		c.pass(t, term)
		require.Equal(t, []string{"false|false"}, c.parked(t, run), "a task is held")
		c.complete(t, term, targets.Failed, "", tasks[2])
		c.pass(t, term)
		require.Equal(t, []string{"false|false"}, c.parked(t, run), "a target waits for its next attempt")
		c.exec(t, `UPDATE t SET t.next_attempt_at = '2026-01-01' FROM jobs_internal.target_executions AS t WHERE t.next_attempt_at IS NOT NULL`)
		again := c.pass(t, term).Tasks
		require.Len(t, again, 1)
		c.begin(t, term, again[0], nil)
		c.complete(t, term, targets.Accepted, "", again...)
		c.pass(t, term)
		require.Equal(t, []string{"true|true"}, c.parked(t, run))

		require.NoError(t, callbacks.On(c.Store).Report(t.Context(), tokens[1], callbacks.Report{Message: "no"}))
		c.pass(t, term)
		require.Equal(t, []string{"false|false"}, c.parked(t, run), "a target waits for its next attempt")
		ref := callbacks.Ref{Execution: run}
		c.fails(t, 50061, `EXECUTE jobs.sp_complete_callback @p1, 1`, run.String())
		ref.Target = &tasks[0].Target.ID
		require.NoError(t, callbacks.On(c.Store).Complete(t.Context(), ref, true, ""))
		c.exec(t, `UPDATE t SET t.next_attempt_at = '2026-01-01' FROM jobs_internal.target_executions AS t WHERE t.next_attempt_at IS NOT NULL`)
		again = c.pass(t, term).Tasks
		require.Len(t, again, 1)
		c.begin(t, term, again[0], nil)
		c.complete(t, term, targets.Succeeded, "", again...)
		c.pass(t, term)
		require.Equal(t, []string{"true|true"}, c.parked(t, run), "only one target is left")
		c.fails(t, 50061, `EXECUTE jobs.sp_complete_callback @p1, 1`, run.String()) // it may repeat the report on the first target
		ref.Target = &tasks[2].Target.ID
		require.NoError(t, callbacks.On(c.Store).Complete(t.Context(), ref, true, ""))
		c.pass(t, term)
		require.Equal(t, "root=Succeeded 1=Succeeded 1/a=Succeeded 1/b=Succeeded 1/c=Succeeded", c.lifecycles(t, run))
	})
}

// TestRerunOfActions: a rerun asks again under another idempotency key, unless it is unknown
// whether the origin's request was carried out (S-56).
func TestRerunOfActions(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		term := c.actionTerm(t)
		key := func(run uuid.UUID) string {
			return get[string](t, c, `SELECT CAST(t.internal_id AS NVARCHAR(36))
FROM jobs_internal.target_executions AS t
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = t.execution_id
WHERE e.job_execution_id = @p1`, run.String())
		}
		rerun := func(run uuid.UUID) uuid.UUID {
			id := uuid.New()
			c.exec(t, `DECLARE @id UNIQUEIDENTIFIER = @p2;
EXECUTE jobs.sp_rerun_job_execution @job_execution_id = @p1, @new_job_execution_id = @id OUTPUT;`, run.String(), id.String())
			c.pass(t, term)
			tasks := c.pass(t, term).Tasks
			require.Len(t, tasks, 1)
			require.Equal(t, targets.NewTarget("h", "", ""), tasks[0].Target)
			c.begin(t, term, tasks[0], nil)
			c.complete(t, term, targets.Succeeded, "", tasks...)
			c.pass(t, term)
			require.Equal(t, "Succeeded", c.lifecycle(t, id))
			return id
		}
		run, _ := c.waits(t, term)
		c.exec(t, `UPDATE c SET c.deadline_at = '2026-01-01' FROM jobs_internal.callbacks AS c`)
		c.pass(t, term)
		require.Equal(t, "TimedOut", c.lifecycle(t, run))
		require.Equal(t, key(run), key(rerun(run)))

		run, token := c.waits(t, term)
		require.NoError(t, callbacks.On(c.Store).Report(t.Context(), token, callbacks.Report{}))
		c.pass(t, term)
		require.Equal(t, "Failed", c.lifecycle(t, run))
		require.NotEqual(t, key(run), key(rerun(run)))
	})
}

// TestReportInTransaction: a report is refused inside a transaction, because outcomes would wait
// for it (I14).
func TestReportInTransaction(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", nil)
		run, _ := c.waits(t, c.actionTerm(t))
		c.fails(t, 50136, `BEGIN TRANSACTION; EXECUTE jobs.sp_complete_callback @p1, 1; COMMIT TRANSACTION;`, run.String())
		c.fails(t, 50136, `BEGIN TRANSACTION; EXECUTE jobs_internal.report_callback 0x01, 1; COMMIT TRANSACTION;`)
		c.fails(t, 50060, `EXECUTE jobs_internal.report_callback 0x01, NULL`)
	})
}

// TestCase72: a run that waits for a report is active and in progress for clients that know Azure's
// lifecycles, and its explanation names what it waits for.
func TestCase72(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", nil)
		run, _ := c.waits(t, c.actionTerm(t))
		require.Equal(t, []string{"true|InProgress"}, c.rows(t, `SELECT is_active, lifecycle
FROM jobs.job_executions
WHERE job_execution_id = @p1 AND target_type = N'Endpoint'`, run.String()))
		require.Equal(t, []string{"true|InProgress|h|NULL"}, c.rows(t, `SELECT is_active, lifecycle, target_server_name, target_database_name
FROM jobs.job_execution_outcomes
WHERE job_execution_id = @p1`, run.String()))
		cb := c.callback(t, run)
		require.True(t, cb.Acknowledged)
		require.False(t, cb.OpenedAt.IsZero() || cb.DeadlineAt.IsZero())
		why, err := executions.On(c.Store).Explain(t.Context(), run)
		require.NoError(t, err)
		require.Equal(t, "Of the targets, 0 run, 1 wait for callbacks and 0 wait.", why.Text)
		require.Len(t, why.Waits, 2)
		wait := why.Waits[1]
		require.Equal(t, []any{"h", "InProgress", "Callback", cb.DeadlineAt},
			[]any{wait.Server, string(wait.Lifecycle), wait.For, wait.Until})
		require.Equal(t, "a report must end attempt 1 until "+cb.DeadlineAt.Format("2006-01-02T15:04:05Z")+
			"; jobs.callbacks shows it, and jobs.sp_complete_callback reports by hand", wait.Text)
	})
}

// TestCase48: a change of the setting for the time of callbacks holds for waits that begin after
// it.
func TestCase48(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", func(s *model.StepSpec) { s.Timeout = ptr(2147483) })
		term := c.actionTerm(t)
		first, token := c.waits(t, term)
		before := c.callback(t, first).DeadlineAt
		c.exec(t, `EXECUTE jobs.sp_set_setting N'async_exec_timeout_seconds', 600`)
		require.Equal(t, before, c.callback(t, first).DeadlineAt)
		require.InDelta(t, 604800, before.Sub(c.callback(t, first).OpenedAt).Seconds(), 60)
		require.NoError(t, callbacks.On(c.Store).Report(t.Context(), token, callbacks.Report{Success: true}))
		c.pass(t, term)
		second, _ := c.waits(t, term)
		cb := c.callback(t, second)
		require.InDelta(t, 600, cb.DeadlineAt.Sub(cb.OpenedAt).Seconds(), 60)
	})
}
