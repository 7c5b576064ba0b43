package oracle

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs"
)

// TestAggregateByEnumeration checks the rules for every list of up to four children.
func TestAggregateByEnumeration(t *testing.T) {
	t.Parallel()
	var visit func(children []jobs.Lifecycle)
	visit = func(children []jobs.Lifecycle) {
		got := Aggregate(children...)
		has := func(l jobs.Lifecycle) bool { return slices.Contains(children, l) }
		switch {
		case slices.ContainsFunc(children, jobs.Lifecycle.Active):
			require.Equal(t, jobs.WaitingForChildJobExecutions, got, children)
		case has(jobs.Canceled):
			require.Equal(t, jobs.Canceled, got, children)
		case has(jobs.Failed):
			require.Equal(t, jobs.Failed, got, children)
		case has(jobs.TimedOut):
			require.Equal(t, jobs.TimedOut, got, children)
		case has(jobs.Skipped), has(jobs.SucceededWithSkipped):
			require.Equal(t, jobs.SucceededWithSkipped, got, children)
		default:
			require.Equal(t, jobs.Succeeded, got, children)
		}
		require.Equal(t, !slices.ContainsFunc(children, jobs.Lifecycle.Active), got.Terminal())
		if len(children) == 4 {
			return
		}
		for _, l := range jobs.Lifecycles() {
			visit(append(slices.Clone(children), l))
		}
	}
	visit(nil)
	require.Equal(t, jobs.Lifecycle(""), Aggregate(jobs.Succeeded, "Done"))
}

func TestStartsNextStep(t *testing.T) {
	t.Parallel()
	for _, l := range jobs.Lifecycles() {
		require.Equal(t, l.IsSuccess(), StartsNextStep(l), l)
	}
}
