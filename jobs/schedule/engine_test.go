package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEngineNamesTheRules(t *testing.T) {
	t.Parallel()
	require.Regexp(t, `^jobs/schedule \d+, zones [0-9a-f]{12}$`, Engine())
	require.Equal(t, Engine(), Engine())
}

func TestUncountedLeavesTheCountToTheCaller(t *testing.T) {
	t.Parallel()
	start := instant(t, "2026-01-01T00:00:00Z")
	for _, tc := range []struct {
		kind Kind
		spec string
	}{
		{KindAzureScheduler, `{"frequency": "Day", "count": 3}`},
		{KindRRule, `FREQ=DAILY;COUNT=3`},
		{KindSAP, `{"repeatInterval": "1 day", "count": 3}`},
	} {
		counted, err := Parse(tc.kind, []byte(tc.spec), Options{Start: start})
		require.NoError(t, err)
		require.EqualValues(t, 3, counted.Count)
		require.Len(t, Preview(counted, start.Add(-time.Second), 10), 3, tc.spec)

		open, err := Parse(tc.kind, []byte(tc.spec), Options{Start: start, Uncounted: true})
		require.NoError(t, err)
		require.EqualValues(t, 3, open.Count)
		require.Len(t, Preview(open, start.Add(-time.Second), 10), 10, tc.spec)
		require.Equal(t, tc.kind == KindSAP, open.Moves())
	}
}
