package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// TestRunQueries lists runs with their triggers and the numbers of their targets.
func TestRunQueries(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.job(t, "j", func(s *model.StepSpec) { s.RetryAttempts = ptr(0) }, nil)
		term := c.term(t)
		first := c.start(t, "j")
		c.resolve(t, term, "a", "b", "c")
		tasks := c.pass(t, term).Tasks
		c.complete(t, term, targets.Succeeded, "", tasks[:2]...)
		c.complete(t, term, targets.Failed, "no", tasks[2:]...)
		c.pass(t, term)
		again, err := executions.On(c.Store).Rerun(ctx, executions.RerunRequest{Origin: first, Only: "Failed"})
		require.NoError(t, err)

		list := func(q executions.Query) (ids []uuid.UUID) {
			t.Helper()
			q.Origins, q.System, q.Examine = true, true, executions.Examined
			runs, err := executions.On(c.Store).List(ctx, q, controldb.Page[executions.Key]{Top: 10})
			require.NoError(t, err)
			for _, r := range runs {
				ids = append(ids, r.ID)
			}
			return ids
		}
		require.Equal(t, []uuid.UUID{again, first}, list(executions.Query{}))
		require.Equal(t, []uuid.UUID{again}, list(executions.Query{Filter: executions.Filter{Active: ptr(true)}}))
		require.Equal(t, []uuid.UUID{again}, list(executions.Query{ID: again}))
		require.Equal(t, []uuid.UUID{first}, list(executions.Query{Filter: executions.Filter{Lifecycles: []jobs.Lifecycle{jobs.Failed, jobs.TimedOut}}}))
		require.Equal(t, []uuid.UUID{again}, list(executions.Query{Filter: executions.Filter{Lifecycles: []jobs.Lifecycle{jobs.Created, jobs.InProgress}}}))
		require.Equal(t, []uuid.UUID{again}, list(executions.Query{Triggers: []executions.Trigger{executions.TriggerRerun}}))
		require.Equal(t, []uuid.UUID{first}, list(executions.Query{Triggers: []executions.Trigger{executions.TriggerManual, executions.TriggerSchedule, executions.TriggerBackfill}}))
		require.Empty(t, list(executions.Query{Filter: executions.Filter{CreatedFrom: time.Now().Add(time.Hour)}}))
		require.Empty(t, list(executions.Query{JobName: "k"}))

		runs, err := executions.On(c.Store).List(ctx, executions.Query{JobName: "j", Origins: true}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		require.Equal(t, executions.TriggerRerun, runs[0].Trigger())
		require.Equal(t, first, runs[0].RerunOf)
		require.Equal(t, "Failed", runs[0].RerunOnly)
		require.Equal(t, executions.TriggerManual, runs[1].Trigger())
		require.NotEmpty(t, runs[1].StartedBy)

		counts, err := executions.On(c.Store).CountTargets(ctx, []uuid.UUID{first, again, uuid.New()})
		require.NoError(t, err)
		require.Equal(t, map[uuid.UUID]jobs.Counts{first: {Succeeded: 2, Failed: 1}}, counts)
		none, err := executions.On(c.Store).CountTargets(ctx, nil)
		require.NoError(t, err)
		require.Empty(t, none)

		shown, err := executions.On(c.Store).Targets(ctx, first, executions.RunTargetFilter{Steps: []int{1}, Lifecycles: []jobs.Lifecycle{jobs.Failed}, Message: 3})
		require.NoError(t, err)
		require.Len(t, shown, 1)
		require.NotEmpty(t, shown[0].LastMessage)
		require.LessOrEqual(t, len(shown[0].LastMessage), 3)
		shown, err = executions.On(c.Store).Targets(ctx, first, executions.RunTargetFilter{Limit: 2})
		require.NoError(t, err)
		require.Len(t, shown, 2)
		shown, err = executions.On(c.Store).Targets(ctx, first, executions.RunTargetFilter{Steps: []int{7}})
		require.NoError(t, err)
		require.Empty(t, shown)

		plans, err := catalog.On(c.Store).JobPlans(ctx, "j")
		require.NoError(t, err)
		require.Len(t, plans, 1)
		require.Zero(t, plans[0].Named)
	})
}
