package importer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/testenv/bounds"
)

// calendar imports an iCalendar text in a zone.
func calendar(t *testing.T, zone, text string) *Result {
	t.Helper()
	r, err := ICalendar([]Document{{"team events.ics", []byte(text)}}, Options{Now: now, Zone: zone})
	require.NoError(t, err)
	return r
}

// events returns a calendar with components.
func events(components ...string) string {
	return "BEGIN:VCALENDAR\r\n" + strings.Join(components, "\r\n") + "\r\nEND:VCALENDAR\r\n"
}

func TestICalendar(t *testing.T) {
	t.Parallel()
	r := calendar(t, "Europe/Berlin", string(read(t, "calendar.ics")))
	noSecrets(t, r)
	var names []string
	for _, j := range r.Jobs {
		names = append(names, j.Name)
	}
	require.Equal(t, []string{"Rebuild the statistics, weekly", "Year end", "Single", "Office", "team events", "Floating"}, names)
	weekly := r.Jobs[0]
	require.Equal(t, "Every Monday\nand Thursday", weekly.Description)
	require.Equal(t, []string{
		"2026-06-20T02:00:00Z", // RDATE
		// 15, 18, 22, 25 June: past, EXDATE twice, EXDATE in UTC
		"2026-06-30T03:00:00Z", // moved from 29 June
		"2026-07-06T00:00:00Z", // 2 July is cancelled
		"2026-07-09T00:00:00Z", // the twelfth
	}, due(t, weekly.Schedules[0], 9))
	require.Equal(t, []string{"2026-12-30T23:00:00Z", "2027-12-30T23:00:00Z"}, due(t, r.Jobs[1].Schedules[0], 2))
	require.False(t, r.Jobs[1].Schedules[0].Enabled)
	require.Equal(t, []string{"2026-07-01T12:00:00Z"}, due(t, r.Jobs[2].Schedules[0], 2))
	require.Equal(t, "UTC", r.Jobs[2].Schedules[0].Zone)
	require.Equal(t, []string{"2026-06-16T07:00:00Z", "2026-06-17T07:00:00Z", "2026-06-18T07:00:00Z"}, due(t, r.Jobs[3].Schedules[0], 5))
	require.False(t, r.Jobs[3].Schedules[0].Enabled, "EXRULE")
	require.Equal(t, []string{"2026-06-16T07:00:00Z", "2026-06-17T08:00:00Z"}, due(t, r.Jobs[5].Schedules[0], 5))
	for _, f := range []struct {
		effect                Effect
		job, element, message string
	}{
		{Lost, "", "VTODO at line 75", "only events"}, {Lost, names[0], "VALARM", "alarm"}, {Note, names[0], "VEVENT", "not kept: ORGANIZER, X-SECRET"},
		{Note, names[0], "DTEND", "length"}, {Note, names[0], "RECURRENCE-ID at line 39", "cancelled"}, {Note, names[1], "STATUS", "disabled"},
		{Lost, names[3], "EXRULE", "disabled"}, {Lost, "team events", "DTSTART", `zone "Mars"`}, {Note, "Floating", "DTSTART", "no zone"},
		{Lost, names[2], "SUMMARY", "does not run here"},
	} {
		found(t, r, f.effect, f.job, f.element, f.message)
	}
}

// Random events with exclusions, additions and changed instants are due when a walk over the days
// says so.
func TestICalendarAgainstEveryDay(t *testing.T) {
	t.Parallel()
	for i, zone := range []string{"UTC", "Europe/Berlin", "America/New_York"} {
		location, err := schedule.LoadZone(zone)
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(3, uint64(i)))
		for range 60 {
			text, want := walkedEvent(r, zone, location)
			result := calendar(t, "", text)
			plan, err := schedule.Parse(schedule.KindRRule, []byte(result.Jobs[0].Schedules[0].Spec), schedule.Options{Zone: result.Jobs[0].Schedules[0].Zone})
			require.NoError(t, err, text)
			var got []time.Time
			limit := time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)
			for due, ok := plan.Next(time.Time{}); ok && due.Before(limit); due, ok = plan.Next(due) {
				got = append(got, due)
			}
			want = slices.DeleteFunc(want, func(t time.Time) bool { return !t.Before(limit) })
			for i := range max(len(want), len(got)) {
				require.True(t, i < len(want) && i < len(got) && want[i].Equal(got[i]), "%s\n%s\ninstant %d of %d and %d: want %s, got %s", text, result.Jobs[0].Schedules[0].Spec, i, len(want), len(got), at(want, i), at(got, i))
			}
		}
	}
}

// walkedEvent returns a calendar with a random event, and its due instants until March 2027.
func walkedEvent(r *rand.Rand, zone string, location *time.Location) (text string, want []time.Time) {
	const layout = "20060102T150405"
	start := time.Date(2026, 1, 1+r.IntN(200), 4+r.IntN(18), 5*r.IntN(12), 0, 0, time.UTC)
	tzid := fmt.Sprintf(`;TZID="%s"`, zone)
	interval, rule := 1+r.IntN(3), ""
	days := []time.Weekday{start.Weekday()}
	weekly := r.IntN(2) == 0
	if weekly {
		names := []string{ruleDays[start.Weekday()]}
		for d := range 7 {
			if r.IntN(3) == 0 && time.Weekday(d) != start.Weekday() {
				days, names = append(days, time.Weekday(d)), append(names, ruleDays[d])
			}
		}
		rule = fmt.Sprintf("FREQ=WEEKLY;WKST=SU;INTERVAL=%d;BYDAY=%s", interval, strings.Join(names, ","))
	} else {
		rule = fmt.Sprintf("FREQ=DAILY;INTERVAL=%d", interval)
	}
	count, until := 1<<30, time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)
	switch r.IntN(3) {
	case 0:
		count = 1 + r.IntN(30)
		rule += fmt.Sprintf(";COUNT=%d", count)
	case 1:
		until = wallInstant(start.AddDate(0, 0, r.IntN(100)), location)
		rule += ";UNTIL=" + until.UTC().Format(layout) + "Z"
	}
	var walls []time.Time
	for n := 0; len(walls) < count && n < 450; n++ {
		day := start.AddDate(0, 0, n)
		due := n%interval == 0
		if weekly {
			due = (n+int(start.Weekday()))/7%interval == 0 && slices.Contains(days, day.Weekday())
		}
		if due && !wallInstant(day, location).After(until) {
			walls = append(walls, day)
		}
	}
	lines := []string{"BEGIN:VEVENT", "UID:a", "SUMMARY:e", "DTSTART" + tzid + ":" + start.Format(layout), "RRULE:" + rule[:8], " " + rule[8:]}
	var others []string
	gone, extra := map[time.Time]bool{}, []time.Time{}
	for i, wall := range walls[:min(len(walls), 20)] {
		switch {
		case i == 0:
		case r.IntN(6) == 0:
			gone[wall] = true
			if r.IntN(2) == 0 {
				lines = append(lines, "EXDATE"+tzid+":"+wall.Format(layout))
			} else {
				lines = append(lines, "EXDATE:"+wallInstant(wall, location).UTC().Format(layout)+"Z")
			}
		case r.IntN(8) == 0: // perhaps to the time of another instant, or to one that is gone
			to := wall.AddDate(0, 0, r.IntN(3)).Add(time.Duration(r.IntN(2)) * time.Hour)
			if gone[to] {
				continue
			}
			if !to.Equal(wall) {
				gone[wall] = true
			}
			extra = append(extra, to)
			others = append(others, "BEGIN:VEVENT\r\nUID:a\r\nRECURRENCE-ID"+tzid+":"+wall.Format(layout)+"\r\nDTSTART"+tzid+":"+to.Format(layout)+"\r\nEND:VEVENT")
		}
	}
	if r.IntN(2) == 0 {
		added := start.AddDate(0, 0, r.IntN(50)).Add(30 * time.Minute)
		extra = append(extra, added)
		lines = append(lines, "RDATE"+tzid+":"+added.Format(layout))
	}
	// An excluded instant to which another one was moved: exclusions win, unless the instant
	// itself has moved away.
	for _, wall := range walls {
		if !gone[wall] {
			want = append(want, wallInstant(wall, location))
		}
	}
	for _, wall := range extra {
		excluded := slices.ContainsFunc(lines, func(l string) bool {
			return l == "EXDATE"+tzid+":"+wall.Format(layout) || l == "EXDATE:"+wallInstant(wall, location).UTC().Format(layout)+"Z"
		})
		if !excluded {
			want = append(want, wallInstant(wall, location))
		}
	}
	slices.SortFunc(want, time.Time.Compare)
	want = slices.CompactFunc(want, time.Time.Equal)
	return events(append([]string{strings.Join(append(lines, "END:VEVENT"), "\r\n")}, others...)...), want
}

func TestICalendarFaults(t *testing.T) {
	t.Parallel()
	event := func(lines string) string {
		return events("BEGIN:VEVENT\r\nUID:1\r\nSUMMARY:e\r\n" + lines + "\r\nEND:VEVENT")
	}
	for lines, want := range map[string]string{
		"X:1":                     "want one start, there are 0",
		"DTSTART:hush":            "invalid DTSTART",
		"DTSTART:20260230T000000": "invalid DTSTART",
		"DTSTART:20260701T000000,20260702T000000":                          "want one date and time",
		"DTSTART:20260701T000000\r\nRRULE:FREQ=SOMETIMES":                  "the schedule is not created",
		"DTSTART:20260701T000000\r\nRRULE:FREQ=DAILY\r\nEXDATE:hush":       "invalid EXDATE",
		"DTSTART:20260701T000000\r\nRDATE;TZID=hu:20260701T000000":         `the zone "hu" of RDATE`,
		"DTSTART:20260701T000000Z\r\nRRULE:FREQ=DAILY\r\nBEGIN:X\r\nEND:X": "no counterpart",
	} {
		r := calendar(t, "", event(lines))
		found(t, r, Lost, "e", "", want)
		noSecrets(t, r)
	}
	r := calendar(t, "", event("DTSTART:20260701T000000Z\r\nRRULE:FREQ=DAILY;BYHOUR=3\r\nRRULE:FREQ=MONTHLY"))
	found(t, r, Note, "e", "DTSTART", "not due at its start")
	found(t, r, Changed, "e", "RRULE", "there are 2")
	require.Len(t, r.Jobs[0].Schedules, 2)
	change := "\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nUID:1\r\nRECURRENCE-ID;RANGE=THISANDFUTURE:20260702T000000Z\r\nDTSTART:20260702T010000Z"
	found(t, calendar(t, "", event("DTSTART:20260701T000000Z\r\nRRULE:FREQ=DAILY"+change)), Lost, "e", "RECURRENCE-ID", "all later")
	found(t, calendar(t, "", events("X-WR-TIMEZONE:Europe/Berlin", "CALSCALE:HUSH", "BEGIN:VEVENT\r\nDTSTART:20260701T000000\r\nEND:VEVENT")), Note, "", "X-WR-TIMEZONE", "Europe/Berlin")
	for text, want := range map[string]string{
		"":                              "no calendar",
		"hush":                          "line 1: want NAME:VALUE",
		"A:hush":                        "line 1: want components",
		"BEGIN:VEVENT\nEND:VEVENT":      "want BEGIN:VCALENDAR",
		"BEGIN:VCALENDAR\nBEGIN:VEVENT": "the component of line 2 has no END",
		"BEGIN:VCALENDAR\nEND:VEVENT":   "line 2: want components",
		strings.Repeat("BEGIN:A\n", 40): "40 levels"[2:],
	} {
		_, err := ICalendar([]Document{{"a.ics", []byte(text)}}, Options{Now: now})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hush")
	}
}

func TestICalendarZones(t *testing.T) {
	t.Parallel()
	zones := icalZones{places: map[string]string{"Office": "Europe/Berlin"}}
	for id, want := range map[string]string{
		"Europe/Berlin": "Europe/Berlin", "W. Europe Standard Time": "Europe/Berlin", "Office": "Europe/Berlin",
		"/mozilla.org/20050126_1/Europe/Berlin": "Europe/Berlin", "/freeassociation.sourceforge.net/America/New_York": "America/New_York", "Mars": "",
	} {
		zone, ok := zones.resolve(id)
		require.Equal(t, want != "", ok, id)
		require.Equal(t, want, zone, id)
	}
}

func FuzzICalendar(f *testing.F) {
	f.Add([]byte(events("BEGIN:VEVENT\r\nDTSTART;TZID=Europe/Berlin:20260701T000000\r\nRRULE:FREQ=DAILY;COUNT=3\r\nEXDATE:20260702T000000Z\r\nEND:VEVENT")))
	f.Add([]byte(events("BEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20260701\r\nRDATE;VALUE=PERIOD:20260701T000000/P1D\r\nEND:VEVENT")))
	f.Fuzz(func(t *testing.T, text []byte) {
		bounds.Allocations(t, len(text), fuzzFixed, fuzzPerByte, func() {
			r, err := ICalendar([]Document{{"f.ics", text}}, Options{Now: now, Zone: "Europe/Berlin"})
			if err == nil {
				_ = r.Script()
			}
		})
	})
}
