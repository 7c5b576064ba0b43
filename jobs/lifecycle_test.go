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
		require.NotEmpty(t, l.Class(), l)
	}
	for _, l := range []Lifecycle{"", "succeeded", "WaitingForChildExecutions"} {
		require.False(t, l.Valid() || l.Active() || l.Terminal(), "%q", l)
		require.Empty(t, l.Class(), "%q", l)
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
