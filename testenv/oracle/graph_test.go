package oracle

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs"
)

// world is a world of two targets in which the given steps fail on the target b.
func world(failing ...int) World {
	return World{
		Targets:  []string{"a", "b"},
		Resolves: func(int) bool { return true },
		Outcome: func(step int, target string) State {
			for _, f := range failing {
				if step == f && target == "b" {
					return StateFailed
				}
			}
			return StateSucceeded
		},
	}
}

// lifecycles returns the lifecycles of the steps of a run.
func lifecycles(r Run) []jobs.Lifecycle {
	var list []jobs.Lifecycle
	for _, s := range r.Steps {
		list = append(list, s.Lifecycle)
	}
	return list
}

func TestGraph(t *testing.T) {
	t.Parallel()
	// 0 main, 1 its error step, 2 what follows the success of main, 3 the end, whatever happened.
	g := Graph{
		{When: WhenSucceeded},
		{After: []int{0}, When: WhenFailed, OnFailed: true},
		{After: []int{0}, When: WhenSucceeded},
		{After: []int{1, 2}, When: WhenFinished},
	}
	r := g.Run(world())
	require.Equal(t, jobs.Succeeded, r.Lifecycle)
	require.Equal(t, []jobs.Lifecycle{jobs.Succeeded, jobs.Skipped, jobs.Succeeded, jobs.Succeeded}, lifecycles(r))

	r = g.Run(world(0))
	require.Equal(t, jobs.Failed, r.Lifecycle, "although its error step worked")
	require.Equal(t, []jobs.Lifecycle{jobs.Failed, jobs.Succeeded, jobs.Skipped, jobs.Succeeded}, lifecycles(r))
	require.Equal(t, map[string]State{"b": StateSucceeded}, r.Steps[1].Targets)
	require.Equal(t, []int{0, 1}, r.Steps[3].causes, "step 0 in the place of step 2, which was skipped")

	again := g.Rerun(world(), r, []State{StateFailed})
	require.Equal(t, jobs.Succeeded, again.Lifecycle)
	require.Equal(t, []jobs.Lifecycle{jobs.Succeeded, jobs.Skipped, jobs.Succeeded, jobs.Succeeded}, lifecycles(again))
	require.Equal(t, map[string]State{"b": StateSucceeded}, again.Steps[0].Targets)
	require.Len(t, again.Steps[2].Targets, 2)
	require.Len(t, again.Steps[3].Targets, 2, "it runs after everything, and something ran")

	excluding := g.Rerun(world(), r, []State{StateTimedOut})
	require.Equal(t, jobs.SucceededWithSkipped, excluding.Lifecycle)
	require.Equal(t, []jobs.Lifecycle{jobs.Succeeded, jobs.Succeeded, jobs.Skipped, jobs.Succeeded}, lifecycles(excluding))
	for _, s := range excluding.Steps {
		require.Empty(t, s.Targets)
	}
}

func TestGraphWithoutOptions(t *testing.T) {
	t.Parallel()
	g := Graph{{When: WhenSucceeded}, {When: WhenSucceeded}}
	require.False(t, g.HasOptions())
	require.Equal(t, []jobs.Lifecycle{jobs.Failed, ""}, lifecycles(g.Run(world(0))))
	require.Equal(t, []jobs.Lifecycle{jobs.Succeeded, jobs.Failed}, lifecycles(g.Run(world(1))))
	require.Equal(t, jobs.Failed, g.Run(world(1)).Lifecycle)
	for _, s := range []Step{{When: WhenFinished}, {After: []int{}, When: WhenSucceeded}} {
		require.True(t, Graph{{When: WhenSucceeded}, s}.HasOptions())
	}
}

// TestGraphOnSucceeded lets each database go on by itself.
func TestGraphOnSucceeded(t *testing.T) {
	t.Parallel()
	// 0 expand, 1 fill, 2 contract, 3 an alarm.
	g := Graph{
		{When: WhenSucceeded},
		{When: WhenSucceeded, OnSucceeded: true},
		{When: WhenSucceeded, OnSucceeded: true},
		{When: WhenFailed},
	}
	r := g.Run(world(0))
	require.Equal(t, jobs.Failed, r.Lifecycle)
	require.Equal(t, []jobs.Lifecycle{jobs.Failed, jobs.Succeeded, jobs.Succeeded, jobs.Succeeded}, lifecycles(r), "the alarm runs")
	onA := map[string]State{"a": StateSucceeded}
	require.Equal(t, onA, r.Steps[1].Targets)
	require.Equal(t, onA, r.Steps[2].Targets)

	again := g.Rerun(world(), r, []State{StateFailed})
	require.Equal(t, jobs.Succeeded, again.Lifecycle)
	onB := map[string]State{"b": StateSucceeded}
	for _, step := range again.Steps[:3] {
		require.Equal(t, onB, step.Targets)
	}
	require.Equal(t, jobs.Skipped, again.Steps[3].Lifecycle)

	// The step in the middle fails: only it and what follows run again.
	r = g.Run(world(1))
	again = g.Rerun(world(), r, []State{StateFailed})
	require.Empty(t, again.Steps[0].Targets)
	require.Equal(t, onB, again.Steps[1].Targets)
	require.Equal(t, onB, again.Steps[2].Targets)

	// A step that cannot find its targets succeeds on none.
	w := world()
	w.Resolves = func(step int) bool { return step != 0 }
	r = g.Run(w)
	require.Equal(t, []jobs.Lifecycle{jobs.Failed, jobs.Skipped, jobs.Skipped, jobs.Succeeded}, lifecycles(r))
}
