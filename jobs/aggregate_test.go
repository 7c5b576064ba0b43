package jobs

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// All sets of children of up to four, against the rules said one by one.
func TestAggregateByEnumeration(t *testing.T) {
	t.Parallel()
	var visit func(children []Lifecycle)
	visit = func(children []Lifecycle) {
		got := Aggregate(children...)
		has := func(l Lifecycle) bool { return slices.Contains(children, l) }
		switch {
		case slices.ContainsFunc(children, Lifecycle.Active):
			require.Equal(t, WaitingForChildJobExecutions, got, children)
		case has(Canceled):
			require.Equal(t, Canceled, got, children)
		case has(Failed):
			require.Equal(t, Failed, got, children)
		case has(TimedOut):
			require.Equal(t, TimedOut, got, children)
		case has(Skipped), has(SucceededWithSkipped):
			require.Equal(t, SucceededWithSkipped, got, children)
		default:
			require.Equal(t, Succeeded, got, children)
		}
		require.Equal(t, !slices.ContainsFunc(children, Lifecycle.Active), got.Terminal())
		if len(children) == 4 {
			return
		}
		for _, l := range Lifecycles() {
			visit(append(slices.Clone(children), l))
		}
	}
	visit(nil)
	require.Equal(t, Lifecycle(""), Aggregate(Succeeded, "Done"))
}

func TestStartsNextStep(t *testing.T) {
	t.Parallel()
	for _, l := range Lifecycles() {
		require.Equal(t, l == Succeeded || l == SucceededWithSkipped, StartsNextStep(l), l)
	}
}
