package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Windows are cut to the time that is asked for, and joined where they touch; an instant is in one
// if and only if the calendar drops it.
func TestWindows(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 10, 20, 12, 0, 0, 0, time.UTC)
	to := from.AddDate(0, 0, 14)
	for _, spec := range []string{
		`{"timeZone": "Europe/Berlin", "dates": ["2026-10-24/2026-10-26", "2026-11-01"]}`, // clocks change on 25 October
		`{"timeZone": "Europe/Berlin", "weekly": [{"day": "sunday", "from": "22:00", "to": "24:00"}, {"day": "monday", "to": "06:30"}]}`,
		`{"timeZone": "America/New_York", "weekly": [{"day": "friday", "from": "20:00", "to": "04:00"}], "dates": ["2026-10-31"]}`,
		`{"startTime": "2026-01-01T08:00:00", "rrule": "FREQ=DAILY;INTERVAL=3", "duration": "PT30H"}`,
		`{"dates": ["2020-01-01"]}`,
	} {
		c, err := ParseCalendar([]byte(spec))
		require.NoError(t, err, spec)
		list := c.Windows(from, to)
		in := 0
		for at := from; at.Before(to); at = at.Add(10 * time.Minute) {
			_, _, inside := c.around(at.Unix())
			found := false
			for i, w := range list {
				require.True(t, w.From.Before(w.To), spec)
				require.False(t, w.From.Before(from) || w.To.After(to), spec)
				require.True(t, i == 0 || list[i-1].To.Before(w.From), "%s: sorted and apart", spec)
				found = found || !at.Before(w.From) && at.Before(w.To)
			}
			require.Equal(t, inside, found, "%s: %v", spec, at)
			if inside {
				in++
			}
		}
		require.Equal(t, spec != `{"dates": ["2020-01-01"]}`, in > 0, spec)
	}
}

// StateAt agrees with Windows at each instant, and its changes are the ends of the windows.
func TestStateAt(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 10, 20, 12, 0, 0, 0, time.UTC)
	to := from.AddDate(0, 0, 60)
	for _, spec := range []string{
		`{"timeZone": "Europe/Berlin", "dates": ["2026-10-24/2026-10-26", "2026-11-01", "2027-01-10"]}`, // clocks change on 25 October
		`{"timeZone": "Europe/Berlin", "weekly": [{"day": "sunday", "from": "22:00", "to": "24:00"}, {"day": "monday", "to": "06:30"}]}`,
		`{"startTime": "2026-01-01T08:00:00", "rrule": "FREQ=MONTHLY", "duration": "PT30H"}`,
	} {
		c, err := ParseCalendar([]byte(spec))
		require.NoError(t, err, spec)
		list := c.Windows(from, to.AddDate(1, 0, 0))
		for at := from; at.Before(to); at = at.Add(31*time.Minute + time.Millisecond) {
			wantOpen, wantChange := false, time.Time{}
			for _, w := range list {
				if wantOpen = !at.Before(w.From) && at.Before(w.To); wantOpen {
					wantChange = w.To
					break
				}
				if at.Before(w.From) {
					wantChange = w.From
					break
				}
			}
			open, change := c.StateAt(at)
			require.Equal(t, wantOpen, open, "%s: %v", spec, at)
			require.Equal(t, wantChange, change, "%s: %v", spec, at)
		}
	}
	gone, err := ParseCalendar([]byte(`{"dates": ["2020-01-01"]}`))
	require.NoError(t, err)
	open, change := gone.StateAt(from)
	require.False(t, open)
	require.Zero(t, change)
}

// The windows of a schedule are those of all its calendars.
func TestBlocked(t *testing.T) {
	t.Parallel()
	plan, err := Parse(KindCron5, []byte(`{"cron": "0 3 * * *", "timeZone": "Europe/Berlin", "blackouts": {"calendars": [{"dates": ["2026-12-24"]}, {"dates": ["2026-12-25"]}]}}`), Options{})
	require.NoError(t, err)
	list := plan.Blocked(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	require.Equal(t, []Window{{time.Date(2026, 12, 23, 23, 0, 0, 0, time.UTC), time.Date(2026, 12, 25, 23, 0, 0, 0, time.UTC)}}, list)
	plan, err = Parse(KindCron5, []byte(`{"cron": "0 3 * * *"}`), Options{})
	require.NoError(t, err)
	require.Empty(t, plan.Blocked(time.Unix(0, 0), time.Unix(1e9, 0)))
}
