package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

// One call reads a row per step and state, at each point of a run's life.
func TestRunWatch(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		_, err := c.RunWatch(t.Context(), uuid.New())
		require.ErrorIs(t, err, controldb.ErrExecutionNotFound)
		c.job(t, "j", nil, nil)
		term := c.term(t)
		id := c.start(t, "j")
		w, err := c.RunWatch(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, controldb.RunProgress{JobName: "j", Active: true, Lifecycle: jobs.Created}, w.RunProgress)
		require.Empty(t, w.Steps)
		require.False(t, w.Now.IsZero())
		require.Equal(t, []controldb.NextStep{{StepID: 1, Name: "step 1"}, {StepID: 2, Name: "step 2"}}, w.Next)
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
		w, err = c.RunWatch(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, 3, w.Targets)
		require.Equal(t, 1, w.ActiveTargets)
		require.Equal(t, 1, w.FailedTargets)
		require.Len(t, w.Steps, 1)
		require.Len(t, w.Next, 1)
		require.Equal(t, "step 1", w.Steps[0].Name)
		require.ElementsMatch(t, []controldb.StepState{
			{StepID: 1, Lifecycle: jobs.Succeeded, Total: 1}, {StepID: 1, Lifecycle: jobs.Failed, Total: 1},
			{StepID: 1, Lifecycle: jobs.InProgress, Total: 1},
		}, w.Steps[0].States)
		failed, err := c.RunFailures(t.Context(), id, 10)
		require.NoError(t, err)
		require.Len(t, failed, 1)
		require.Contains(t, failed[0].Message, "it broke")
		require.Equal(t, "s/"+tasks[1].Target.Database, failed[0].Place())

		// The last target fails and is tried again: when the retry is due.
		_, err = c.CompleteTasks(t.Context(), term, []controldb.Outcome{
			{Task: tasks[2].ID, Attempt: 1, Outcome: targets.Failed, Message: "try again"},
		})
		require.NoError(t, err)
		w, err = c.RunWatch(t.Context(), id)
		require.NoError(t, err)
		require.Contains(t, w.Steps[0].States, controldb.StepState{StepID: 1, Lifecycle: jobs.WaitingForRetry, Total: 1})
		waiting, err := c.RunRetries(t.Context(), id, 10)
		require.NoError(t, err)
		require.Equal(t, []controldb.RunFailure{{StepID: 1, Server: "s", Database: tasks[2].Target.Database, Message: "try again"}}, waiting)
		require.True(t, w.Steps[0].NextAttempt.After(w.Now.Add(-time.Minute)), w.Steps[0].NextAttempt)
	})
}
