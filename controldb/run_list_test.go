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

// TestListRuns lists runs with their triggers and the numbers of their targets.
func TestListRuns(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.job(t, "j", func(s *controldb.StepSpec) { s.RetryAttempts = ptr(0) }, nil)
		term := c.term(t)
		first := c.start(t, "j")
		c.resolve(t, term, "a", "b", "c")
		tasks := c.pass(t, term).Tasks
		c.complete(t, term, targets.Succeeded, "", tasks[:2]...)
		c.complete(t, term, targets.Failed, "no", tasks[2:]...)
		c.pass(t, term)
		again, err := c.RerunExecution(ctx, controldb.RerunRequest{Origin: first, Only: "Failed"})
		require.NoError(t, err)

		list := func(f controldb.RunListFilter) (ids []uuid.UUID) {
			t.Helper()
			runs, err := c.ListRuns(ctx, f)
			require.NoError(t, err)
			for _, r := range runs {
				ids = append(ids, r.ID)
			}
			return ids
		}
		require.Equal(t, []uuid.UUID{again, first}, list(controldb.RunListFilter{}))
		require.Equal(t, []uuid.UUID{again}, list(controldb.RunListFilter{Limit: 1}))
		require.Equal(t, []uuid.UUID{again}, list(controldb.RunListFilter{ActiveOnly: true}))
		require.Equal(t, []uuid.UUID{first}, list(controldb.RunListFilter{Lifecycles: []jobs.Lifecycle{jobs.Failed, jobs.TimedOut}}))
		require.Equal(t, []uuid.UUID{again}, list(controldb.RunListFilter{Lifecycles: []jobs.Lifecycle{jobs.Created, jobs.InProgress}}))
		require.Equal(t, []uuid.UUID{again}, list(controldb.RunListFilter{Triggers: []controldb.Trigger{controldb.TriggerRerun}}))
		require.Equal(t, []uuid.UUID{first}, list(controldb.RunListFilter{Triggers: []controldb.Trigger{controldb.TriggerManual, controldb.TriggerSchedule, controldb.TriggerBackfill}}))
		require.Empty(t, list(controldb.RunListFilter{Since: time.Now().Add(time.Hour)}))
		require.Empty(t, list(controldb.RunListFilter{JobName: "k"}))

		runs, err := c.ListRuns(ctx, controldb.RunListFilter{JobName: "j"})
		require.NoError(t, err)
		require.Equal(t, controldb.TriggerRerun, runs[0].Origin().Trigger())
		require.Equal(t, first, runs[0].RerunOf)
		require.Equal(t, "Failed", runs[0].RerunOnly)
		require.Equal(t, controldb.TriggerManual, runs[1].Origin().Trigger())
		require.NotEmpty(t, runs[1].StartedBy)

		counts, err := c.CountTargets(ctx, []uuid.UUID{first, again, uuid.New()})
		require.NoError(t, err)
		require.ElementsMatch(t, []controldb.TargetCount{
			{ID: first, Lifecycle: jobs.Succeeded, Total: 2}, {ID: first, Lifecycle: jobs.Failed, Total: 1},
		}, counts)
		none, err := c.CountTargets(ctx, nil)
		require.NoError(t, err)
		require.Empty(t, none)

		shown, err := c.ShownTargets(ctx, first, controldb.RunTargetFilter{Steps: []int{1}, FailedOnly: true})
		require.NoError(t, err)
		require.Len(t, shown, 1)
		require.Contains(t, shown[0].LastMessage, "no")
		shown, err = c.ShownTargets(ctx, first, controldb.RunTargetFilter{Limit: 2})
		require.NoError(t, err)
		require.Len(t, shown, 2)
		shown, err = c.ShownTargets(ctx, first, controldb.RunTargetFilter{Steps: []int{7}})
		require.NoError(t, err)
		require.Empty(t, shown)

		plans, err := c.JobPlans(ctx, "j")
		require.NoError(t, err)
		require.Len(t, plans, 1)
		require.Zero(t, plans[0].Named)
	})
}
