package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A time relative to the creation becomes the instant that it means; any other text stays as it is.
func TestSettled(t *testing.T) {
	t.Parallel()
	opts := Options{Zone: "Europe/Berlin", Created: time.Date(2026, 3, 28, 22, 30, 0, 0, time.UTC)} // clocks change in that night
	for spec, want := range map[string]string{
		`{"time": "2 hours from now"}`:                         `{"time": "2026-03-29T00:30:00Z"}`,
		`{"active": true, "time": "tomorrow at 4pm"}`:          `{"active": true, "time": "2026-03-29T14:00:00Z"}`,
		`{"time": {"date": "15:04", "format": "HH:mm"}}`:       `{"time": "2026-03-28T14:04:00Z"}`,
		`{"time": {"date": "2026-05", "format": "YYYY-MM"}}`:   "",
		`{"time": "2026-05-01T10:00:00Z"}`:                     "",
		`{"repeatAt": "4.40pm"}`:                               "",
		`{"time": "2 moons from now"}`:                         "",
		`{"time": "20 minutes from"}`:                          "",
		`{"time": {"date": "2026-05-01", "format": "YYYY-MM"`:  "",
		`{"time": {"date": "1 May 2026", "format": "DD MMMM"}`: "",
	} {
		if want == "" {
			want = spec
		}
		require.Equal(t, want, Settled(KindSAP, spec, opts), spec)
	}
	const other = `{"cron": "0 4 * * *"}`
	require.Equal(t, other, Settled(KindCron5, other, opts))
	require.Equal(t, other, Settled("moon", other, opts))
}

func TestCalendarNames(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string][]string{
		`{"blackouts": {"calendars": ["a", {"dates": ["2026-01-01"]}, "b"]}}`: {"a", "b"},
		`{"blackouts": {"calendars": "a"}}`:                                   {"a"},
		`{"blackouts": {"mode": "skip"}}`:                                     nil,
		`{"cron": "0 4 * * *"}`:                                               nil,
		"0 4 * * *":                                                           nil,
	} {
		require.Equal(t, want, CalendarNames(spec), spec)
	}
}
