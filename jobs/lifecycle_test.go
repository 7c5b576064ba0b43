package jobs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLifecycleSets(t *testing.T) {
	t.Parallel()
	active := map[Lifecycle]bool{Created: true, InProgress: true, WaitingForChildJobExecutions: true, WaitingForRetry: true}
	require.Len(t, Lifecycles(), 10)
	for _, l := range Lifecycles() {
		require.True(t, l.Valid())
		require.Equal(t, active[l], l.Active(), l)
		require.Equal(t, !active[l], l.Terminal(), l)
	}
	for _, l := range []Lifecycle{"", "succeeded", "WaitingForChildExecutions"} {
		require.False(t, l.Valid() || l.Active() || l.Terminal(), "%q", l)
	}
}

func TestParseLifecycle(t *testing.T) {
	t.Parallel()
	for _, l := range Lifecycles() {
		got, err := ParseLifecycle(strings.ToUpper(string(l)))
		require.NoError(t, err)
		require.Equal(t, l, got)
	}
	_, err := ParseLifecycle("Cancelled")
	var unknown *UnknownLifecycleError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, "Cancelled", unknown.Text)
	require.Contains(t, err.Error(), "Canceled")
}

func TestTransitions(t *testing.T) {
	t.Parallel()
	for _, from := range Lifecycles() {
		for _, to := range Lifecycles() {
			err := CheckTransition("advance", from, to)
			if from.Terminal() || from == to {
				require.Error(t, err, "%s to %s", from, to)
			}
			if err != nil {
				var transition *TransitionError
				require.ErrorAs(t, err, &transition)
				require.Equal(t, from.Terminal(), strings.Contains(err.Error(), "is final"), err)
			}
		}
	}
	require.NoError(t, CheckTransition("retry", InProgress, WaitingForRetry))
	require.NoError(t, CheckTransition("hand back", InProgress, Created))
	require.Error(t, CheckTransition("retry", Created, WaitingForRetry))
}

// Every state can be reached from Created, and every active state can end.
func TestTransitionsReachEverything(t *testing.T) {
	t.Parallel()
	reached := map[Lifecycle]bool{Created: true}
	for range Lifecycles() {
		for from := range reached {
			for _, to := range transitions[from] {
				reached[to] = true
			}
		}
	}
	require.Len(t, reached, len(Lifecycles()))
	for from, next := range transitions {
		require.True(t, from.Active())
		require.Contains(t, next, Canceled, "a stop must be possible from %s", from)
	}
}
