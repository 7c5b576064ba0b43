package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A night of each zone in which its clocks change, and the last three days of a month in which they
// do: when something may begin, as instants in UTC. The rules of the zones are those of the IANA
// database; a window begins with the first occurrence of its time of day, and ends with the second.
func TestOpenTimesAtChangesOfClocks(t *testing.T) {
	t.Parallel()
	const nights = `{"weekly": [{"day": "saturday", "from": "22:00", "to": "06:00"}, {"day": "sunday", "from": "00:30", "to": "02:30"}]}`
	for _, c := range []struct {
		zone, spec string
		from       string   // the search begins here
		changes    []string // it opens, closes, opens, …
	}{
		// 02:00 becomes 03:00: the night has 7 hours.
		{"Europe/Berlin", nights, "2026-03-28T12:00:00Z", []string{"2026-03-28T21:00:00Z", "2026-03-29T04:00:00Z"}},
		// 03:00 becomes 02:00: it has 9.
		{"Europe/Berlin", nights, "2026-10-24T12:00:00Z", []string{"2026-10-24T20:00:00Z", "2026-10-25T05:00:00Z"}},
		{"Europe/London", nights, "2026-10-24T12:00:00Z", []string{"2026-10-24T21:00:00Z", "2026-10-25T06:00:00Z"}},
		{"America/New_York", nights, "2026-03-07T12:00:00Z", []string{"2026-03-08T03:00:00Z", "2026-03-08T10:00:00Z"}},
		{"America/New_York", nights, "2026-10-31T12:00:00Z", []string{"2026-11-01T02:00:00Z", "2026-11-01T11:00:00Z"}},
		// By half an hour.
		{"Australia/Lord_Howe", nights, "2026-04-04T06:00:00Z", []string{"2026-04-04T11:00:00Z", "2026-04-04T19:30:00Z"}},
		{"Australia/Lord_Howe", nights, "2026-10-03T06:00:00Z", []string{"2026-10-03T11:30:00Z", "2026-10-03T19:00:00Z"}},
		{"Australia/Sydney", nights, "2026-04-04T06:00:00Z", []string{"2026-04-04T11:00:00Z", "2026-04-04T20:00:00Z"}},
		// At 02:45, with an offset of 12:45.
		{"Pacific/Chatham", nights, "2026-04-04T06:00:00Z", []string{"2026-04-04T08:15:00Z", "2026-04-04T17:15:00Z"}},
		// At midnight, which does not exist on a Sunday of September, and occurs twice on one of
		// April.
		{"America/Santiago", nights, "2026-09-05T12:00:00Z", []string{"2026-09-06T02:00:00Z", "2026-09-06T09:00:00Z"}},
		{"America/Santiago", nights, "2026-04-04T12:00:00Z", []string{"2026-04-05T01:00:00Z", "2026-04-05T10:00:00Z"}},
		{"Asia/Beirut", nights, "2026-03-28T12:00:00Z", []string{"2026-03-28T20:00:00Z", "2026-03-29T03:00:00Z"}},
		// No change at all.
		{"Asia/Tokyo", nights, "2026-03-28T06:00:00Z", []string{"2026-03-28T13:00:00Z", "2026-03-28T21:00:00Z"}},
		{"Asia/Kolkata", nights, "2026-03-28T06:00:00Z", []string{"2026-03-28T16:30:00Z", "2026-03-29T00:30:00Z"}},
		// Clocks go back on 31 October 2027: the last three days have 73 hours.
		{"Europe/Berlin", `{"monthDays": [-3, -2, -1]}`, "2027-10-20T00:00:00Z", []string{"2027-10-28T22:00:00Z", "2027-10-31T23:00:00Z", "2027-11-27T23:00:00Z"}},
		// They go forward on 31 March 2030: 71 hours.
		{"Europe/Berlin", `{"monthDays": [-1, -2, -3]}`, "2030-03-20T00:00:00Z", []string{"2030-03-28T23:00:00Z", "2030-03-31T22:00:00Z"}},
		// A leap year, and one that is none.
		{"UTC", `{"monthDays": -1}`, "2028-02-10T00:00:00Z", []string{"2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z"}},
		{"UTC", `{"monthDays": [29, 30, 31]}`, "2027-02-01T00:00:00Z", []string{"2027-03-29T00:00:00Z", "2027-04-01T00:00:00Z"}},
		// Samoa has no 30 December 2011: the 29th is followed by the 31st.
		{"Pacific/Apia", `{"monthDays": [-2, -1]}`, "2011-12-15T00:00:00Z", []string{"2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"}},
	} {
		zone, err := LoadZone(c.zone)
		require.NoError(t, err)
		calendar, err := ParseCalendarIn([]byte(c.spec), zone)
		require.NoError(t, err, c.spec)
		at, err := time.Parse(time.RFC3339, c.from)
		require.NoError(t, err)
		for i, want := range c.changes {
			open, changes := OpenTimes{Within: calendar}.StateAt(at)
			require.Equal(t, i%2 == 1, open, "%s: %s at %s", c.zone, c.spec, at)
			require.Equal(t, want, changes.UTC().Format(time.RFC3339), "%s: %s after %s", c.zone, c.spec, at)
			// The opposite, as blackouts.
			open, changes = OpenTimes{Except: calendar}.StateAt(at)
			require.Equal(t, i%2 == 0, open)
			require.Equal(t, want, changes.UTC().Format(time.RFC3339))
			at = changes
		}
	}
}

// The difference of two calendars agrees with both at each instant, and it changes where StateAt
// says.
func TestOpenTimes(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago"} {
		where, err := LoadZone(zone)
		require.NoError(t, err)
		within, err := ParseCalendarIn([]byte(`{"weekly": [{"day": "thursday", "from": "22:00", "to": "06:00"}, {"day": "saturday"}, {"day": "sunday", "from": "00:00", "to": "05:00"}]}`), where)
		require.NoError(t, err)
		except, err := ParseCalendarIn([]byte(`{"monthDays": [-1, -2, -3], "dates": ["2026-10-10"]}`), where)
		require.NoError(t, err)
		o := OpenTimes{Within: within, Except: except}
		from, to := time.Date(2026, 9, 20, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC)
		next, open := from, false
		for at := from; at.Before(to); at = at.Add(15 * time.Minute) {
			inside, _ := within.StateAt(at)
			out, _ := except.StateAt(at)
			now, changes := o.StateAt(at)
			require.Equal(t, inside && !out, now, "%s: %s", zone, at)
			if !at.Before(next) {
				require.True(t, at.Equal(from) || now != open, "%s: %s", zone, at)
				require.True(t, changes.After(at))
				open, next = now, changes
			}
			require.Equal(t, open, now, "%s: %s", zone, at)
			require.Equal(t, next, changes, "%s: %s", zone, at)
		}
	}
	never, err := ParseCalendar([]byte(`{"dates": ["2020-01-01"]}`))
	require.NoError(t, err)
	open, changes := OpenTimes{Within: never}.StateAt(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	require.False(t, open)
	require.Zero(t, changes)
	open, changes = OpenTimes{Except: never}.StateAt(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	require.True(t, open)
	require.Zero(t, changes)
}

// Open times that are not known, or that never come, have a fault that names the calendar.
func TestNamedOpenTimes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	const night, past, always = `{"weekly": [{"day": "friday", "to": "06:00"}]}`, `{"dates": ["2020-01-01"]}`, `{"monthDays": [1, 2], "dates": ["2026-01-01/2027-12-31"]}`
	for fault, n := range map[string]NamedOpenTimes{
		"": {Calendar: "night", Spec: night},
		"The calendar 'night' has no window within a year.":                   {Calendar: "night", Spec: past},
		"Outside of the calendar 'holidays', there is no time within a year.": {Blackouts: "holidays", BlackoutsSpec: always},
		"The calendar 'night' does not exist.":                                {Calendar: "night"},
		"The calendar 'holidays' does not exist.":                             {Calendar: "night", Spec: night, Blackouts: "holidays"},
		"The time zone 'Mars' is not known.":                                  {Calendar: "night", Spec: night, Zone: "Mars"},
	} {
		open, changes, got := n.StateAt(at)
		require.False(t, open, fault)
		require.Equal(t, fault, got)
		require.Equal(t, fault != "", changes.IsZero(), fault)
	}
	open, changes, fault := NamedOpenTimes{Calendar: "night", Spec: night, Zone: "Asia/Tokyo"}.StateAt(at.Add(4 * time.Hour))
	require.True(t, open, "Friday, one o'clock")
	require.Equal(t, at.Add(9*time.Hour), changes)
	require.Empty(t, fault)
}

// Days of months have their faults where they are.
func TestMonthDaysOfCalendars(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{`{"monthDays": [0]}`, `{"monthDays": [32]}`, `{"monthDays": []}`, `{"monthDays": ["last"]}`} {
		_, err := ParseCalendar([]byte(spec))
		require.ErrorContains(t, err, "monthDays", spec)
	}
}
