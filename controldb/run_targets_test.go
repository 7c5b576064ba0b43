package controldb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/settings"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// outcomes completes the tasks of a pass: each database as result says.
func (c *control) outcomes(t *testing.T, term controldb.TermID, tasks []controldb.Task, result func(database string) controldb.Outcome) {
	t.Helper()
	var list []controldb.Outcome
	for _, task := range tasks {
		o := result(task.Target.Database)
		o.Task, o.Attempt = task.ID, task.Attempt
		list = append(list, o)
	}
	refusals, err := c.CompleteTasks(t.Context(), term, list)
	require.NoError(t, err)
	require.Empty(t, refusals)
}

// states returns a function for outcomes: databases in failed fail with an error, all others
// succeed.
func states(failed ...string) func(string) controldb.Outcome {
	return func(database string) controldb.Outcome {
		for _, name := range failed {
			if name == database {
				return controldb.Outcome{
					Outcome: targets.Failed, Message: "no " + name, NoRetry: true, SPID: 51, RowsAffected: 3, Elapsed: time.Second,
					Error: targets.ErrorDetail{Number: 2627, Severity: 14, State: 1, Line: 7, Procedure: "p"},
					Messages: []targets.Message{
						{Kind: targets.KindInfo, Text: "begin"}, {Kind: targets.KindRows, Rows: 3},
						{Kind: targets.KindError, Number: 2627, Severity: 14, State: 1, Line: 7, Procedure: "p", Text: "no " + name},
					},
				}
			}
		}
		return controldb.Outcome{Outcome: targets.Succeeded, Elapsed: time.Second}
	}
}

// TestTargetsOfRun checks the reads of a target's page, of the tree and of the timeline.
func TestTargetsOfRun(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		term := c.term(t)
		c.job(t, "j", func(s *model.StepSpec) { s.RetryAttempts = ptr(1) })
		first := c.start(t, "j")
		c.resolve(t, term, "a", "b", "c")
		c.outcomes(t, term, c.pass(t, term).Tasks, states("b"))
		c.pass(t, term)
		second := c.start(t, "j")
		c.resolve(t, term, "a", "b", "d", "e")
		tasks := c.pass(t, term).Tasks
		require.Len(t, tasks, 4)
		retry := states("a", "b")
		c.outcomes(t, term, tasks[:3], func(database string) controldb.Outcome {
			o := retry(database)
			o.NoRetry = database != "a"
			return o
		})

		target := targets.NewTarget("s", "a", "").ID
		steps, err := executions.On(c.Store).Targets(ctx, second, executions.RunTargetFilter{Target: target})
		require.NoError(t, err)
		require.Len(t, steps, 1)
		a := steps[0]
		require.Equal(t, "WaitingForRetry", string(a.Lifecycle))
		require.Equal(t, "s/a", a.Place())
		require.Equal(t, "step 1", a.StepName)
		require.Equal(t, int32(7), *a.ErrorLine)
		require.False(t, a.NextAttempt.IsZero())
		steps, err = executions.On(c.Store).Targets(ctx, second, executions.RunTargetFilter{Target: uuid.New()})
		require.NoError(t, err)
		require.Empty(t, steps)

		attempts, err := executions.On(c.Store).Attempts(ctx, second, 1, target, 0, 10)
		require.NoError(t, err)
		require.Len(t, attempts, 1)
		require.Equal(t, "Failed", attempts[0].Outcome)
		require.Equal(t, "host", attempts[0].Host)
		require.Equal(t, "p", attempts[0].Procedure)
		require.Equal(t, int64(3), *attempts[0].RowsAffected)
		older, err := executions.On(c.Store).Attempts(ctx, second, 1, target, attempts[0].ID, 10)
		require.NoError(t, err)
		require.Empty(t, older)
		count, err := executions.On(c.Store).CountMessages(ctx, second, attempts[0].ID)
		require.NoError(t, err)
		require.Equal(t, executions.MessageCount{Total: 3, Important: 1}, count)
		messages, err := executions.On(c.Store).AttemptMessages(ctx, second, attempts[0].ID, false, 1, 1)
		require.NoError(t, err)
		require.Equal(t, []executions.AttemptMessage{{Ordinal: 2, Message: targets.Message{Kind: targets.KindRows, Rows: 3}}}, messages)
		messages, err = executions.On(c.Store).AttemptMessages(ctx, second, attempts[0].ID, true, 0, 10)
		require.NoError(t, err)
		require.Len(t, messages, 1)
		require.Equal(t, "no a", messages[0].Message.Text)

		origin, err := executions.On(c.Store).Get(ctx, second, executions.States)
		require.NoError(t, err)
		require.Equal(t, "j", origin.JobName)
		require.NotEmpty(t, origin.StartedBy)
		require.Nil(t, origin.Schedule)
		_, err = executions.On(c.Store).Get(ctx, uuid.New())
		require.ErrorIs(t, err, dberror.ErrExecutionNotFound)
		history, err := executions.On(c.Store).TargetHistory(ctx, a, origin.CreateTime, 5)
		require.NoError(t, err)
		require.Equal(t, []string{"WaitingForRetry", "Succeeded"},
			names(history, func(r executions.TargetResult) string { return string(r.Lifecycle) }))

		peers, err := executions.On(c.Store).StepPeers(ctx, second, 1, ptr(int32(2627)))
		require.NoError(t, err)
		require.Equal(t, executions.StepPeers{Total: 4, Active: 2, Failed: 1, Alike: 1}, peers)
		require.Equal(t, []string{"1 Failed 1", "1 InProgress 1", "1 Succeeded 1", "1 WaitingForRetry 1"},
			names(origin.Steps[0].States, func(n executions.StateCount) string { return fmt.Sprint(n.StepID, " ", n.Lifecycle, " ", n.Total) }))
		place := func(r executions.RunTarget) string { return fmt.Sprint(r.Lifecycle, " ", r.Place()) }
		list, err := executions.On(c.Store).FirstTargets(ctx, first, 1)
		require.NoError(t, err)
		require.Equal(t, []string{"Failed s/b", "Succeeded s/a"}, names(list, place))
		succeeded := executions.RunTargetFilter{
			Steps: []int{1}, Lifecycles: []jobs.Lifecycle{jobs.Succeeded}, After: &executions.StepRunKey{StepID: 1, Server: "s", Database: "a"}, Limit: 5,
		}
		list, err = executions.On(c.Store).Targets(ctx, first, succeeded)
		require.NoError(t, err)
		require.Equal(t, []string{"Succeeded s/a", "Succeeded s/c"}, names(list, place)) // of the same name, by id
		succeeded.After.TargetID = target
		list, err = executions.On(c.Store).Targets(ctx, first, succeeded)
		require.NoError(t, err)
		require.Equal(t, []string{"Succeeded s/c"}, names(list, place))

		e, err := executions.On(c.Store).ExplainTarget(ctx, second, 1, target)
		require.NoError(t, err)
		found := 0
		for _, w := range e.Waits {
			if w.Database == "a" {
				found++
				require.Equal(t, "Retry", w.For)
			}
		}
		require.Equal(t, 1, found)
	})
}

// TestExplainTargetBehindOthers shows that a target is explained behind 25 others.
func TestExplainTargetBehindOthers(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		term := c.term(t)
		c.job(t, "j", nil)
		run := c.start(t, "j")
		var databases []string
		for i := range 40 {
			databases = append(databases, fmt.Sprintf("d%02d", i))
		}
		c.resolve(t, term, databases...)
		e, err := executions.On(c.Store).ExplainTarget(t.Context(), run, 1, targets.NewTarget("s", "d37", "").ID)
		require.NoError(t, err)
		var last executions.Wait
		n := 0
		for _, w := range e.Waits {
			if w.Database != "" {
				n++
				last = w
			}
		}
		require.Equal(t, 26, n)
		require.Equal(t, "d37", last.Database)
		require.Equal(t, int64(38), last.Position)
		require.Equal(t, "Turn", last.For)

		require.NoError(t, settings.On(c.Store).SetLimit(t.Context(), model.Limit{Scope: model.LimitServer, Name: "s", Max: 1}))
		require.Len(t, c.pass(t, term).Tasks, 1)
		e, err = executions.On(c.Store).ExplainTarget(t.Context(), run, 1, targets.NewTarget("s", "d37", "").ID)
		require.NoError(t, err)
		for _, w := range e.Waits {
			if w.Database == "d37" {
				last = w
			}
		}
		require.Equal(t, "Limit", last.For)
		require.Equal(t, int64(37), last.Position)
		require.Equal(t, 1, last.LimitMax)
	})
}

// TestTimelineAndCompare checks durations and the comparison of two runs, whose times are set in
// the tables.
func TestTimelineAndCompare(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		term := c.term(t)
		c.job(t, "j", nil)
		run := func(failed []string, databases ...string) uuid.UUID {
			id := c.start(t, "j")
			c.resolve(t, term, databases...)
			c.outcomes(t, term, c.pass(t, term).Tasks, states(failed...))
			c.pass(t, term)
			return id
		}
		before := run([]string{"still", "fixed"}, "good", "still", "fixed", "fails", "gone", "slow", "fast")
		after := run([]string{"still", "fails", "new"}, "good", "still", "fixed", "fails", "new", "slow", "fast")
		set := func(id uuid.UUID, database string, d time.Duration) {
			c.exec(t, `UPDATE t SET t.end_time = DATEADD(MILLISECOND, @p3, t.start_time)
FROM jobs_internal.target_executions AS t
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = t.execution_id
WHERE e.job_execution_id = @p1 AND (t.database_name = @p2 OR @p2 = N'');`, id.String(), database, d.Milliseconds())
		}
		for _, id := range []uuid.UUID{before, after} {
			set(id, "", 100*time.Millisecond)
		}
		set(before, "slow", time.Second)
		set(after, "slow", 5*time.Second)
		set(before, "fast", 9*time.Second)

		counts, err := executions.On(c.Store).Compare(ctx, after, before)
		require.NoError(t, err)
		require.Equal(t, map[executions.Change]int{
			executions.NewlyFailing: 1, executions.StillFailing: 1, executions.NewlyFixed: 1, executions.NewTarget: 1, executions.Vanished: 1,
			executions.Slower: 1, executions.Faster: 1, executions.Same: 1,
		}, counts)
		for change, database := range map[executions.Change]string{
			executions.NewlyFailing: "fails", executions.StillFailing: "still", executions.NewlyFixed: "fixed", executions.NewTarget: "new",
			executions.Vanished: "gone", executions.Slower: "slow", executions.Faster: "fast", executions.Same: "good",
		} {
			list, err := executions.On(c.Store).ComparedTargets(ctx, after, before, change, 0, 5)
			require.NoError(t, err)
			require.Len(t, list, 1, change)
			require.Equal(t, "s/"+database, list[0].Place())
			require.Equal(t, change, list[0].Change)
		}
		slower, err := executions.On(c.Store).ComparedTargets(ctx, after, before, executions.Slower, 0, 100)
		require.NoError(t, err)
		require.EqualValues(t, 4000, *slower[0].MS-*slower[0].MSBefore)
		none, err := executions.On(c.Store).ComparedTargets(ctx, after, before, executions.Slower, 1, 100)
		require.NoError(t, err)
		require.Empty(t, none)

		d, err := executions.On(c.Store).Durations(ctx, after, 0)
		require.NoError(t, err)
		require.Equal(t, []int64{7, 100, 100, 5000, 5000, 5000}, []int64{int64(d.Targets), d.MinMS, d.P50MS, d.P90MS, d.P99MS, d.MaxMS})
		d, err = executions.On(c.Store).Durations(ctx, after, 2)
		require.NoError(t, err)
		require.Zero(t, d)
		histogram, err := executions.On(c.Store).Histogram(ctx, after, 0)
		require.NoError(t, err)
		require.Equal(t, []executions.DurationBucket{{Index: 18, Total: 6, Failed: 3}, {Index: 34, Total: 1}}, histogram)
		slowest, err := executions.On(c.Store).Targets(ctx, after, executions.RunTargetFilter{Order: executions.Slowest, Steps: []int{1}, Limit: 2})
		require.NoError(t, err)
		require.Len(t, slowest, 2)
		require.Equal(t, "slow", slowest[0].Database)
		require.Equal(t, 5*time.Second, slowest[0].Duration(time.Now()))
		attempts, err := executions.On(c.Store).SlowestAttempts(ctx, after, 0, 2, 10)
		require.NoError(t, err)
		require.Len(t, attempts, 2)
		waits, err := executions.On(c.Store).Targets(ctx, after, executions.RunTargetFilter{Order: executions.LongestWait, Limit: 3})
		require.NoError(t, err)
		require.Len(t, waits, 3)

		_, err = catalog.On(c.Store).UpdateJobStep(ctx, model.StepSpec{JobName: "j", StepID: ptr(1), Command: ptr("SELECT 2")})
		require.NoError(t, err)
		origin, err := executions.On(c.Store).Get(ctx, after)
		require.NoError(t, err)
		changed, err := executions.On(c.Store).ChangedSteps(ctx, origin.JobID, 1, 2)
		require.NoError(t, err)
		require.Equal(t, []executions.ChangedStep{{StepName: "step 1", Change: "Changed"}}, changed)
		changed, err = executions.On(c.Store).ChangedSteps(ctx, origin.JobID, 0, 1)
		require.NoError(t, err)
		require.Equal(t, []executions.ChangedStep{{StepName: "step 1", Change: "Added"}}, changed)
	})
}
