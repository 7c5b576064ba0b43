package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// The times that a calendar blocks are listed, with the number of those that are left out.
func TestBlockedTimes(t *testing.T) {
	now := time.Date(2026, 12, 1, 8, 30, 0, 5, time.UTC)
	c, err := schedule.ParseCalendar([]byte(`{"dates": ["2026-12-24/2026-12-26"], "weekly": [{"day": "sunday", "from": "22:00", "to": "24:00"}]}`))
	require.NoError(t, err)
	list := blockedTimes(c, now)
	require.Len(t, list, 9)
	require.Contains(t, blockedText(list), "Blocked in the next 60 days (UTC):\n  Sun 2026-12-06 22:00 to Mon 2026-12-07 00:00\n")
	require.Contains(t, blockedText(list), "  Thu 2026-12-24 00:00 to Sun 2026-12-27 00:00\n")
	require.NotContains(t, blockedText(list), "more")
	hourly, err := schedule.ParseCalendar([]byte(`{"startTime": "2026-12-01T00:00:00", "rrule": "FREQ=HOURLY", "duration": "PT10M"}`))
	require.NoError(t, err)
	require.Contains(t, blockedText(blockedTimes(hourly, now)), "and 1420 more")
	require.Equal(t, "It blocks no time of the next 60 days.", blockedText(nil))
}
