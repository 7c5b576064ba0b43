package controldb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

// One call reads a row per step and state, at each point of a run's life.
func TestReadRun(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		_, err := executions.On(c.Store).Get(t.Context(), uuid.New(), executions.States)
		require.ErrorIs(t, err, dberror.ErrExecutionNotFound)
		c.job(t, "j", nil, nil)
		term := c.term(t)
		id := c.start(t, "j")
		w, err := executions.On(c.Store).Get(t.Context(), id, executions.States)
		require.NoError(t, err)
		require.Equal(t, id, w.ID)
		require.Equal(t, "j", w.JobName)
		require.True(t, w.Active)
		require.Equal(t, jobs.Created, w.Lifecycle)
		require.Zero(t, w.Counts())
		require.False(t, w.Now.IsZero())
		require.Equal(t, []string{"step 1 false", "step 2 false"}, names(w.Steps, func(s executions.RunStep) string { return fmt.Sprint(s.Name, " ", s.Begun()) }))
		require.Equal(t, 1, w.LiveAgents)

		c.resolve(t, term, "a", "b", "c")
		tasks := c.pass(t, term).Tasks
		require.Len(t, tasks, 3)
		refused, err := c.CompleteTasks(t.Context(), term, []controldb.Outcome{
			{Task: tasks[0].ID, Attempt: 1, Outcome: targets.Succeeded},
			{Task: tasks[1].ID, Attempt: 1, Outcome: targets.Failed, NoRetry: true, Message: "it broke"},
		})
		require.NoError(t, err)
		require.Empty(t, refused)
		w, err = executions.On(c.Store).Get(t.Context(), id, executions.States, executions.Marks)
		require.NoError(t, err)
		require.Equal(t, jobs.Counts{Succeeded: 1, Failed: 1, Running: 1}, w.Counts())
		require.True(t, w.Steps[0].Begun())
		require.False(t, w.Steps[1].Begun())
		require.Len(t, w.Marks, 1)
		plain, err := executions.On(c.Store).Get(t.Context(), id)
		require.NoError(t, err)
		require.Zero(t, plain.Counts())
		require.Empty(t, plain.Marks, "they were not asked for")
		require.Zero(t, plain.LiveAgents)
		require.ElementsMatch(t, []executions.StateCount{
			{StepID: 1, Lifecycle: jobs.Succeeded, Total: 1}, {StepID: 1, Lifecycle: jobs.Failed, Total: 1},
			{StepID: 1, Lifecycle: jobs.InProgress, Total: 1},
		}, w.Steps[0].States)
		failed, err := executions.On(c.Store).Targets(t.Context(), id, executions.RunTargetFilter{Lifecycles: []jobs.Lifecycle{jobs.Failed, jobs.TimedOut}, Message: 400, Limit: 10})
		require.NoError(t, err)
		require.Len(t, failed, 1)
		require.Contains(t, failed[0].LastMessage, "it broke")
		require.Equal(t, "s/"+tasks[1].Target.Database, failed[0].Place())

		// The last target fails and is tried again: when the retry is due.
		_, err = c.CompleteTasks(t.Context(), term, []controldb.Outcome{
			{Task: tasks[2].ID, Attempt: 1, Outcome: targets.Failed, Message: "try again"},
		})
		require.NoError(t, err)
		w, err = executions.On(c.Store).Get(t.Context(), id, executions.States, executions.Marks)
		require.NoError(t, err)
		require.Equal(t, jobs.Counts{Succeeded: 1, Failed: 1, Retrying: 1}, w.Steps[0].Counts())
		waiting, err := executions.On(c.Store).Targets(t.Context(), id, executions.RunTargetFilter{Lifecycles: []jobs.Lifecycle{jobs.WaitingForRetry}, Limit: 10})
		require.NoError(t, err)
		require.Len(t, waiting, 1)
		require.Equal(t, "s/"+tasks[2].Target.Database, waiting[0].Place())
		require.Equal(t, "try again", waiting[0].LastMessage)
		require.True(t, w.Steps[0].NextRetry().After(w.Now.Add(-time.Minute)), w.Steps[0].NextRetry())
	})
}
