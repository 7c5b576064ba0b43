package schedule

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCountAgainstNext checks that a count found by arithmetic ends at the same instant as a count
// by Next, across changes of offset.
func TestCountAgainstNext(t *testing.T) {
	t.Parallel()
	specs := []struct {
		kind Kind
		spec string
	}{
		{KindCron5, `{"cron": "*/20 * * * *"%s}`},
		{KindCron5, `{"cron": "30 2 * * *", "overlap": "both"%s}`},
		{KindCron5, `{"cron": "15,45 1-3 * * sun", "gap": "shift", "overlap": "second"%s}`},
		{KindSAP, `{"cron": "* * -1 * 2 30 0", "gap": "at_end"%s}`},
		{KindAzureScheduler, `{"frequency": "Hour", "interval": 3, "schedule": {"minutes": [5, 35]}%s}`},
		{KindAzureScheduler, `{"frequency": "Month"%s}`},
		{KindSAP, `{"repeatInterval": "7 hours", "firstRunStartedAt": "2026-03-01T09:00:00Z"%s}`},
	}
	for i, s := range specs {
		for _, zone := range []string{"Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo"} {
			o := Options{Start: time.Date(2017, 9, 1+i, 2, 30, 0, 0, time.UTC), Zone: zone}
			if s.kind == KindSAP && i == 6 {
				o.Start = time.Date(2026, 3, 1, 2, 30, 0, 0, time.UTC)
			}
			plan, err := Parse(s.kind, fmt.Appendf(nil, s.spec, ""), o)
			require.NoError(t, err)
			after := o.Start.Add(-time.Second)
			for n := 1; n <= 700; n++ {
				next, ok := plan.Next(after)
				require.True(t, ok)
				if after = next; n%137 != 0 {
					continue
				}
				counted, err := Parse(s.kind, fmt.Appendf(nil, s.spec, fmt.Sprintf(`, "count": %d`, n)), o)
				require.NoError(t, err)
				last, ok := counted.Next(next.Add(-time.Second))
				require.True(t, ok, "%s %s count %d", s.spec, zone, n)
				require.Equal(t, next, last)
				_, ok = counted.Next(next)
				require.False(t, ok, "%s %s count %d", s.spec, zone, n)
			}
		}
	}
}

// TestHugeCount checks that the cost of a count that is never reached depends only on the changes
// of offset until the year 9999.
func TestHugeCount(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"* * * * * *", "*/7 0-30 * * * *", "0 30 2 * * *"} {
		begun := time.Now()
		_, err := Parse(KindCron6, fmt.Appendf(nil, `{"cron": %q, "count": 9007199254740992}`, spec), Options{Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Zone: "Europe/Berlin"})
		require.NoError(t, err)
		require.Less(t, time.Since(begun), 5*time.Second, spec)
	}
}

// TestCountAtOnce checks that an Azure schedule without a start runs at once, and that this run
// counts (D-A15).
func TestCountAtOnce(t *testing.T) {
	t.Parallel()
	for count, due := range map[int]int{1: 1, 2: 2, 9: 9} {
		got, err := PreviewSpec(KindAzureScheduler, fmt.Appendf(nil, `{"frequency": "Day", "schedule": {"hours": [5]}, "count": %d}`, count),
			PreviewOptions{After: "2026-01-01T12:00:00Z", Count: 20})
		require.NoError(t, err)
		require.Len(t, got.Due, due)
		require.True(t, got.Exhausted)
	}
}
