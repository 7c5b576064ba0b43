package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Segments hold the instant that they are asked for, follow each other without a hole, and have the
// offsets of time.Time. Beyond 2037 time.ZoneBounds alone does not give that.
func TestSegmentsFollowEachOther(t *testing.T) {
	t.Parallel()
	for _, place := range places {
		zone, err := LoadZone(place.zone)
		require.NoError(t, err)
		at := time.Date(1890, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		end := time.Date(2450, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		before := offsetAt(zone, at)
		for at < end {
			s := SegmentAt(zone, at)
			require.LessOrEqual(t, s.Start, at, "%s at %s", zone, time.Unix(at, 0).UTC())
			require.Greater(t, s.End, at, "%s at %s", zone, time.Unix(at, 0).UTC())
			require.Equal(t, before, func() int64 {
				if s.Start == at {
					return s.before
				}
				return before
			}(), "%s at %s", zone, time.Unix(at, 0).UTC())
			if s.End == forever {
				break
			}
			for _, probe := range []int64{at, (at + s.End) / 2, s.End - 1} {
				require.Equal(t, s.Offset, offsetAt(zone, probe), "%s at %s", zone, time.Unix(probe, 0).UTC())
			}
			before, at = s.Offset, s.End
		}
	}
}

// What package time gets wrong: the last day of a leap year beyond 2037 (see SegmentAt).
func TestLastDayOfLeapYear(t *testing.T) {
	t.Parallel()
	plan, err := Parse(KindCron5, []byte("30 2 * * *"), Options{Zone: "Europe/Berlin"})
	require.NoError(t, err)
	after := instant(t, "2040-12-29T12:00:00Z")
	var got []string
	for _, due := range Preview(plan, after, 4) {
		got = append(got, due.Format(time.RFC3339))
	}
	require.Equal(t, []string{"2040-12-30T01:30:00Z", "2040-12-31T01:30:00Z", "2041-01-01T01:30:00Z", "2041-01-02T01:30:00Z"}, got)
}

func TestGapAndOverlapOptions(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, options, after, due string }{
		{"shift", ``, "2026-03-28T12:00:00Z", "2026-03-29T01:30:00Z"},
		{"skip", `, "gap": "skip"`, "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
		{"at_end", `, "gap": "at_end"`, "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"first", ``, "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		{"first only", ``, "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{"second", `, "overlap": "second"`, "2026-10-24T12:00:00Z", "2026-10-25T01:30:00Z"},
		{"both", `, "overlap": "both"`, "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
	}
	for _, c := range cases {
		spec := `{"cron": "* * * * 2 30 0", "timeZone": "Europe/Berlin"` + c.options + `}`
		plan, err := Parse(KindSAP, []byte(spec), Options{})
		require.NoError(t, err)
		next, ok := plan.Next(instant(t, c.after))
		require.True(t, ok)
		require.Equal(t, c.due, next.Format(time.RFC3339), c.name)
	}
}

func TestLoadZone(t *testing.T) {
	t.Parallel()
	for name, near := range map[string]string{
		"CET": "Europe/Berlin", "pst": "America/Los_Angeles", "europe/berlin": "Europe/Berlin", "Berlin": "Europe/Berlin", "Europe/Berln": "Europe/Berlin",
		"W. Europe Standard Time": "Europe/Berlin", "Local": "UTC", "utc": "UTC", "New York": "America/New_York", "../etc/passwd": "",
	} {
		_, err := LoadZone(name)
		var all *Error
		require.ErrorAs(t, err, &all, name)
		if near != "" {
			require.Equal(t, near, all.Faults[0].Nearest, name)
		}
	}
	for _, name := range Zones() {
		if _, short := abbreviations[name]; short {
			continue
		}
		_, err := LoadZone(name)
		require.NoError(t, err, name)
	}
}
