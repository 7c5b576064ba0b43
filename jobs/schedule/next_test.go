package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The sentence of the issue, and its ends.
func TestWithNext(t *testing.T) {
	t.Parallel()
	berlin, err := LoadZone("Europe/Berlin")
	require.NoError(t, err)
	now := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	plan, err := Parse(KindQuartz, []byte("0 0 2,14 ? * MON#1"), Options{Zone: "Europe/Berlin"})
	require.NoError(t, err)
	d := plan.Describe()
	next, ok := plan.Next(now)
	require.True(t, ok)
	require.Equal(t, "At 02:00 and 14:00 on the first Monday of the month, Europe/Berlin; next: Mon 7 Dec 2026 02:00 (in 15 days)", d.WithNext(next, berlin, now))
	require.Equal(t, d.Text+"; never again", d.WithNext(time.Time{}, berlin, now))
	require.Empty(t, Description{}.WithNext(next, berlin, now), "an invalid schedule has no next instant")
}

// A clock time that occurs twice has its offset; those around it have not.
func TestLocalTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, at, want string }{
		{"Europe/Berlin", "2026-10-24T23:59:59Z", "Sun 25 Oct 2026 01:59:59"},
		{"Europe/Berlin", "2026-10-25T00:00:00Z", "Sun 25 Oct 2026 02:00 +02:00"},
		{"Europe/Berlin", "2026-10-25T00:30:00Z", "Sun 25 Oct 2026 02:30 +02:00"},
		{"Europe/Berlin", "2026-10-25T01:30:00Z", "Sun 25 Oct 2026 02:30 +01:00"},
		{"Europe/Berlin", "2026-10-25T02:00:00Z", "Sun 25 Oct 2026 03:00"},
		{"Europe/Berlin", "2026-03-29T01:00:00Z", "Sun 29 Mar 2026 03:00"},
		{"Australia/Lord_Howe", "2026-04-04T15:00:00Z", "Sun 5 Apr 2026 01:30 +10:30"},
		{"UTC", "2026-10-25T00:30:00Z", "Sun 25 Oct 2026 00:30"},
	} {
		zone, err := LoadZone(c.zone)
		require.NoError(t, err)
		at, err := time.Parse(time.RFC3339, c.at)
		require.NoError(t, err)
		require.Equal(t, c.want, LocalTime(at, zone), c.at)
	}
}

// Distances are rounded to the unit that is shown, and never to 60 s or 24 h of the next unit.
func TestDistance(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "now", 400 * time.Millisecond: "now", 600 * time.Millisecond: "in 1 s", 40 * time.Second: "in 40 s",
		99400 * time.Millisecond: "in 99 s", 99500 * time.Millisecond: "in 2 min", 90 * time.Minute: "in 90 min",
		99*time.Minute + 29*time.Second: "in 99 min", 100 * time.Minute: "in 2 h", 3 * time.Hour: "in 3 h", 47 * time.Hour: "in 47 h",
		48*time.Hour - time.Minute: "in 2 days", 15*24*time.Hour - 4*time.Hour: "in 15 days", -5 * time.Minute: "5 min ago",
	} {
		require.Equal(t, want, Distance(d), d)
	}
}

func TestZoneShown(t *testing.T) {
	t.Parallel()
	require.Equal(t, "UTC-08:00", ZoneShown("-08:00").String())
	require.Equal(t, time.UTC, ZoneShown("nonsense"))
	require.Equal(t, "Europe/Berlin", ZoneShown("Europe/Berlin").String())
}
