package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/measure"
	"github.com/jobagent/jobagent/targets"
)

// runToEnd runs a job to its end on some databases.
func (c *control) runToEnd(t *testing.T, term controldb.TermID, job string, databases ...string) uuid.UUID {
	t.Helper()
	id := c.start(t, job)
	c.resolve(t, term, databases...)
	var outcomes []controldb.Outcome
	for _, task := range c.pass(t, term).Tasks {
		outcomes = append(outcomes, controldb.Outcome{Task: task.ID, Attempt: task.Attempt, Outcome: targets.Succeeded})
	}
	_, err := c.CompleteTasks(t.Context(), term, outcomes)
	require.NoError(t, err)
	c.pass(t, term)
	return id
}

// One term reads the runs that have ended; another one takes over when it stops, from the stored
// instant on. Runs whose end becomes visible late are found by reading again from there.
func TestEndedRuns(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		first, second := c.term(t), c.term(t)
		c.runToEnd(t, first, "j", "a") // before the first reading
		read := func(r measure.EndedRunsRequest) measure.EndedRuns {
			if r.Hold == 0 {
				r.Hold = 30 * time.Second
			}
			if r.Limit == 0 {
				r.Limit = 10
			}
			res, err := measure.On(c.Store).EndedRuns(t.Context(), r)
			require.NoError(t, err)
			return res
		}
		began := read(measure.EndedRunsRequest{Term: first})
		require.True(t, began.Held)
		require.Empty(t, began.Runs, "history is not read")
		require.False(t, read(measure.EndedRunsRequest{Term: second}).Held)

		a, b := c.runToEnd(t, first, "j", "a"), c.runToEnd(t, first, "j", "a", "b", "c")
		found := read(measure.EndedRunsRequest{Term: first})
		require.Len(t, found.Runs, 2)
		require.Equal(t, []uuid.UUID{a, b}, []uuid.UUID{found.Runs[0].ID, found.Runs[1].ID})
		page := read(measure.EndedRunsRequest{Term: first, Limit: 1})
		require.Equal(t, found.Runs[:1], page.Runs)
		page = read(measure.EndedRunsRequest{Term: first, After: page.Runs[0], Limit: 5})
		require.Equal(t, found.Runs[1:], page.Runs)
		require.Empty(t, read(measure.EndedRunsRequest{Term: first, After: found.Runs[1]}).Runs)
		require.Len(t, read(measure.EndedRunsRequest{Term: first}).Runs, 2, "until the reader says that it has read them")

		// A late end: its time lies before what was read.
		late := found.Runs[0].EndTime.Add(-time.Microsecond)
		c.exec(t, `UPDATE jobs_internal.job_executions SET end_time = @p1 WHERE job_execution_id = @p2`, late.Format("2006-01-02T15:04:05.0000000"), b.String())
		require.Empty(t, read(measure.EndedRunsRequest{Term: first, After: found.Runs[1]}).Runs)
		require.Len(t, read(measure.EndedRunsRequest{Term: first, From: began.Now}).Runs, 2)

		read(measure.EndedRunsRequest{Term: first, ReadThrough: found.Runs[1].EndTime.Add(time.Second), Hold: time.Second})
		read(measure.EndedRunsRequest{Term: first, ReadThrough: began.Now, Hold: time.Second}) // never back
		c.exec(t, `UPDATE jobs_internal.trace_state SET held_until = '2000-01-01'`)
		taken := read(measure.EndedRunsRequest{Term: second})
		require.True(t, taken.Held)
		require.Empty(t, taken.Runs)
		require.Equal(t, found.Runs[1].EndTime.Add(time.Second), taken.ReadThrough)
		require.False(t, read(measure.EndedRunsRequest{Term: first}).Held)
		c.fails(t, 50029, `EXEC jobs_internal.read_ended_runs @term_id = 1, @hold_seconds = 0`)
	})
}

func TestRunSpans(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		term := c.term(t)
		a, b := c.runToEnd(t, term, "j", "a", "b", "c"), c.runToEnd(t, term, "j", "d")
		keys := []int64{
			get[int64](t, c, `SELECT execution_id FROM jobs_internal.job_executions WHERE job_execution_id = @p1`, a.String()),
			get[int64](t, c, `SELECT execution_id FROM jobs_internal.job_executions WHERE job_execution_id = @p1`, b.String()),
		}
		page, err := measure.On(c.Store).RunSpans(t.Context(), keys, measure.TracedTarget{}, 2)
		require.NoError(t, err)
		require.Len(t, page.Runs, 2)
		require.Len(t, page.Steps, 2)
		require.Equal(t, "step 1", page.Steps[0].StepName)
		require.Equal(t, "g", page.Steps[0].TargetGroupName)
		require.False(t, page.Runs[0].EndTime.Before(page.Runs[0].CreateTime))
		var databases []string
		for len(page.Targets) > 0 {
			for _, target := range page.Targets {
				databases = append(databases, target.Database)
			}
			page, err = measure.On(c.Store).RunSpans(t.Context(), keys, page.Targets[len(page.Targets)-1], 2)
			require.NoError(t, err)
			require.Empty(t, page.Runs, "on the first page only")
			require.Empty(t, page.Steps)
		}
		require.Equal(t, []string{"a", "b", "c", "d"}, databases)
		c.fails(t, 50029, `EXEC jobs_internal.read_run_spans @executions = N'x'`)
	})
}

// The span of a caller is kept with the run that the call starts, and only with that.
func TestTraceParentOfACaller(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		for _, given := range []string{parent, "", "garbage"} {
			ctx := caller.With(t.Context(), caller.Caller{
				Role: "jobs_operator", Name: "p", Door: caller.DoorREST, CorrelationID: uuid.New(), TraceParent: given,
			})
			id, err := executions.On(c.Store).StartJob(ctx, "j", uuid.Nil)
			require.NoError(t, err)
			want := given
			if given != parent {
				want = ""
			}
			require.Equal(t, want, get[string](t, c, `SELECT COALESCE(traceparent, N'') FROM jobs_internal.job_executions WHERE job_execution_id = @p1`, id.String()))
		}
		require.Empty(t, get[string](t, c, `SELECT COALESCE(traceparent, N'') FROM jobs_internal.job_executions WHERE job_execution_id = @p1`, c.start(t, "j").String()))
	})
}
