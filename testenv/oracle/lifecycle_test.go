package oracle

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs"
)

func TestCanBecome(t *testing.T) {
	t.Parallel()
	for _, from := range jobs.Lifecycles() {
		for _, to := range jobs.Lifecycles() {
			if from.Terminal() || from == to {
				require.False(t, CanBecome(from, to), "%s to %s", from, to)
			}
		}
	}
	require.True(t, CanBecome(jobs.InProgress, jobs.WaitingForRetry))
	require.True(t, CanBecome(jobs.InProgress, jobs.Created), "handed back")
	require.False(t, CanBecome(jobs.Created, jobs.WaitingForRetry))
}

// Every state can be reached from Created, and every active state can end.
func TestTransitionsReachEverything(t *testing.T) {
	t.Parallel()
	reached := map[jobs.Lifecycle]bool{jobs.Created: true}
	for range jobs.Lifecycles() {
		for from := range reached {
			for _, to := range transitions[from] {
				reached[to] = true
			}
		}
	}
	require.Len(t, reached, len(jobs.Lifecycles()))
	for from, next := range transitions {
		require.True(t, from.Active())
		require.Contains(t, next, jobs.Canceled, "a stop must be possible from %s", from)
	}
}
