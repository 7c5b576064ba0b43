package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dueOf returns the first due instants of a text, on the wall clock of its zone.
func dueOf(t *testing.T, kind Kind, spec string, o PreviewOptions, n int) (due []string, got Previewed) {
	t.Helper()
	o.Count = n
	got, err := PreviewSpec(kind, []byte(spec), o)
	require.NoError(t, err, spec)
	for _, at := range got.Due {
		due = append(due, at.In(got.Zone).Format("02 15:04:05"))
	}
	return due, got
}

// TestB4 checks the forms of a rule in a file of iCalendar.
func TestB4(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"DTSTART:20260101T090000\nRRULE:FREQ=DAILY;\n BYHOUR=5":                             "02 05:00:00, 03 05:00:00, 04 05:00:00",
		"DTSTART:20260101T090000\r\nRRULE:FREQ=DAI\r\n LY;BYHO\r\n\tUR=5\r\n":               "02 05:00:00, 03 05:00:00, 04 05:00:00",
		"  DTSTART:20260101T090000\n  RRULE:FREQ=DAILY":                                     "01 09:00:00, 02 09:00:00, 03 09:00:00",
		"DTSTART;TZID=\"America/New_York\":20260101T090000\nRRULE:FREQ=DAILY":               "01 09:00:00, 02 09:00:00, 03 09:00:00",
		"DTSTART;VALUE=DATE:20260101\nRRULE:FREQ=DAILY\nEXDATE;VALUE=DATE:20260102":         "01 00:00:00, 03 00:00:00, 04 00:00:00",
		"DTSTART:20260101T090000\nFREQ=DAILY\nEXDATE:20260101T090000,20260103T090000":       "02 09:00:00, 04 09:00:00, 05 09:00:00",
		"DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;COUNT=2\nRDATE:20260105T100000Z":        "01 09:00:00, 02 09:00:00, 05 10:00:00",
		"DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;COUNT=2\nEXDATE:20260101T090000Z":       "02 09:00:00",
		"DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;UNTIL=20260102T000000Z\nRDATE:20270101": "01 09:00:00, 01 00:00:00",
		"DTSTART:20260101T090000\nRDATE:20260105T090000\nRDATE:20260103T090000":             "01 09:00:00, 03 09:00:00, 05 09:00:00",
		"DTSTART:20260101T090000\nRRULE:FREQ=YEARLY\nRDATE;VALUE=PERIOD:20260105T100000Z/PT5H,20260106T100000Z/20260106T110000Z\nEXDATE:20260105T100000\nEXDATE;TZID=Europe/Berlin:20260106T110000": "01 09:00:00, 01 09:00:00, 01 09:00:00",
		"DTSTART;TZID=Europe/Berlin:20260327T023000\nRRULE:FREQ=DAILY\nEXDATE;TZID=Europe/Berlin:20260329T023000":                                                                                   "27 02:30:00, 28 02:30:00, 30 02:30:00",
	} {
		due, _ := dueOf(t, KindRRule, spec, PreviewOptions{}, 3)
		require.Equal(t, want, strings.Join(due, ", "), spec)
	}
	for spec, want := range map[string]string{
		"FREQ:DAILY": "parts NAME=value; try FREQ=DAILY",
		"BEGIN:VEVENT\nDTSTART:20260101T090000\nRRULE:FREQ=DAILY\nEND:VEVENT":  "without BEGIN and END",
		"DTSTART:20260101T090000\nEXRULE:FREQ=DAILY":                           "has no EXRULE any more",
		"DTSTART:20260101T090000\nSUMMARY:x\nRRULE:FREQ=DAILY":                 "SUMMARY says nothing",
		"DTSTRT:20260101T090000\nRRULE:FREQ=DAILY":                             "try DTSTART:20260101T090000",
		"RRULE:FREQ=DAILY\nRRULE:FREQ=WEEKLY":                                  "one rule",
		"DTSTART:20260101T090000\nRRULE:FREQ=DAILY\nEXDATE:20260101/P1D":       "invalid rrule.EXDATE",
		"DTSTART:20260101T090000\nRRULE:FREQ=DAILY\nRDATE;VALUE=TIME:20260101": "one of DATE-TIME, DATE, PERIOD",
		"FRQ=DAILY;BYHOUR=2":         "invalid rrule \"FRQ=DAILY\": want parts NAME=value with FREQ, INTERVAL, COUNT, UNTIL, WKST, BYMONTH, BYWEEKNO, BYYEARDAY, BYMONTHDAY, BYDAY, BYHOUR, BYMINUTE, BYSECOND, BYSETPOS; try FREQ=DAILY",
		"FREQ:DAILY;BYHOUR=2":        "try FREQ=DAILY",
		"FREQ":                       "invalid rrule \"FREQ\": want parts NAME=value",
		"FREQ=DAILY;BYHOUR=9-12":     "try 9,10,11,12",
		"FREQ=DAILY;BYMONTH=JAN":     "try 1",
		"FREQ=DAYS":                  "try DAILY",
		"FREQ=DAILY;BYDAY=1MO":       "invalid rrule.BYDAY \"1MO\": want numbers before weekdays only with",
		"FREQ=DAILY;BYWEEKNO=7":      "invalid rrule.BYWEEKNO \"7\": want BYWEEKNO only with",
		"FREQ=DAILY;UNTIL=20300230":  "such as 20261231T235959Z",
		"FREQ=WEEKLY;BYDAY=MOONDAYS": "want MO, TU",
	} {
		_, err := Parse(KindRRule, []byte(spec), Options{Start: instant(t, "2026-01-01T00:00:00Z")})
		require.ErrorContains(t, err, want, spec)
		if !strings.Contains(want, "try") {
			require.NotContains(t, err.Error(), "; try", spec)
		}
	}
}

// TestDatesOfOtherTypes checks the warnings for dates that match nothing.
func TestDatesOfOtherTypes(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"DTSTART:20260101T090000\nRRULE:FREQ=DAILY\nEXDATE;VALUE=DATE:20260102":             "EXDATE 20260102 is a date without time and excludes nothing",
		"DTSTART:20260101T090000\nRRULE:FREQ=DAILY\nEXDATE:20260102T100000":                 "EXDATE Fri 2 Jan 2026 10:00 excludes nothing: nothing is due then",
		"DTSTART:20260101T090000\nRRULE:FREQ=DAILY\nRDATE;VALUE=DATE:20260102":              "due at the first second of that day",
		"DTSTART:20260101T090000\nRRULE:FREQ=DAILY\nRDATE:20250102T000000":                  "RDATE Thu 2 Jan 2025 00:00 is before the start",
		"DTSTART:20260101T090000\nRRULE:FREQ=DAILY\nRDATE;VALUE=PERIOD:20260103T000000/P1D": "only the start of a period counts",
		"DTSTART:20260101T090000\nRRULE:FREQ=MONTHLY;BYDAY=6MO,1TU":                         "BYDAY 6MO: never occurs in this rule",
		"DTSTART:20260101T090000\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=15,30,-30":         "BYMONTHDAY -30, BYMONTHDAY 30: never occurs",
		"DTSTART:20260101T090000\nRRULE:FREQ=YEARLY;BYMONTH=1,2;BYMONTHDAY=30":              "BYMONTH 2: never occurs",
		"DTSTART:20260101T090000\nRRULE:FREQ=HOURLY;INTERVAL=2;BYHOUR=9,10,11":              "BYHOUR 10: never occurs",
		"DTSTART:20260101T090000\nRRULE:FREQ=MINUTELY;INTERVAL=14;BYMINUTE=0,1,2;BYHOUR=9":  "BYMINUTE 1: never occurs",
		"DTSTART;TZID=Europe/Berlin:20260101T090000\nRRULE:FREQ=HOURLY;INTERVAL=24":         "every 24 hours of elapsed time: the clock time moves when clocks change, mostly by an hour; FREQ=DAILY keeps",
		"DTSTART;TZID=Europe/Berlin:20260101T090000\nRRULE:FREQ=MINUTELY;INTERVAL=150":      "every 150 minutes of elapsed time: the clock time moves when clocks change, mostly by an hour; FREQ=MINUTELY;INTERVAL=150;BYSECOND=0 keeps",
	} {
		_, got := dueOf(t, KindRRule, spec, PreviewOptions{}, 3)
		require.Contains(t, strings.Join(got.Warnings, "\n"), want, spec)
		require.Len(t, got.Warnings, 1, spec)
	}
	for _, spec := range []string{
		"DTSTART;TZID=Asia/Kolkata:20260101T090000\nRRULE:FREQ=HOURLY;INTERVAL=24", "DTSTART:20260101T090000\nRRULE:FREQ=HOURLY;INTERVAL=24",
		"DTSTART;TZID=Europe/Berlin:20260101T090000\nRRULE:FREQ=HOURLY;INTERVAL=24;BYMINUTE=0", "DTSTART;TZID=Europe/Berlin:20260101T090000\nRRULE:FREQ=HOURLY",
	} {
		_, got := dueOf(t, KindRRule, spec, PreviewOptions{}, 3)
		require.Empty(t, got.Warnings, spec)
	}
	_, got := dueOf(t, KindAzureScheduler, `{"frequency": "Hour", "interval": 24, "timeZone": "Europe/Berlin"}`, PreviewOptions{Start: "2026-01-01T09:00:00Z"}, 3)
	require.Equal(t, []string{"every 24 hours of elapsed time: the clock time moves when clocks change, mostly by an hour; the frequency Day keeps the clock time"}, got.Warnings)
	_, got = dueOf(t, KindAzureScheduler, `{"frequency": "Hour", "interval": 24}`, PreviewOptions{Start: "2026-01-01T09:00:00Z"}, 3)
	require.Empty(t, got.Warnings)
}

// TestB5 checks that contradictions are faults, and that the same value twice is none.
func TestB5(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind       Kind
		spec, want string
	}{
		{KindRRule, "DTSTART:20260101T090000\nDTSTART:20260102T090000\nRRULE:FREQ=DAILY", "rrule.DTSTART"},
		{KindRRule, `{"rrule": "DTSTART:20260101T090000\nRRULE:FREQ=DAILY", "startTime": "2026-01-01T08:00:00Z"}`, "the same instant as startTime"},
		{KindRRule, `{"rrule": "DTSTART:20260101T090000\nRRULE:FREQ=DAILY", "startTime": "2026-01-01T09:00:00Z"}`, ""},
		{KindRRule, `{"rrule": "FREQ=DAILY;COUNT=5", "count": 3}`, "the same number as count, 3"},
		{KindRRule, `{"rrule": "FREQ=DAILY;COUNT=5", "count": 5}`, ""},
		{KindRRule, `{"rrule": "FREQ=DAILY;UNTIL=20270101T000000Z", "endTime": "2028-01-01T00:00:00Z"}`, "the same instant as endTime"},
		{KindRRule, `{"rrule": "FREQ=DAILY;UNTIL=20270101T000000Z", "endTime": "2027-01-01T00:00:00Z"}`, ""},
		{KindElastic, `{"schedule_interval_type": "Once", "schedule_interval_count": 5}`, "schedule_interval_count"},
		{KindElastic, `{"schedule_interval_type": "Once", "schedule_interval_count": 1}`, ""},
	} {
		_, err := Parse(c.kind, []byte(c.spec), Options{Start: instant(t, "2026-01-01T00:00:00Z")})
		if c.want == "" {
			require.NoError(t, err, c.spec)
			continue
		}
		require.ErrorContains(t, err, c.want, c.spec)
	}
}

// TestW3 checks what is taken for missing parts of a text without a start.
func TestW3(t *testing.T) {
	t.Parallel()
	now := PreviewOptions{Now: time.Date(2026, 11, 23, 14, 27, 40, 0, time.UTC)}
	both, second := "Second 0 and minute 0: the text has neither these nor a start.", "Second 0: the text has neither a second nor a start."
	for _, c := range []struct {
		kind        Kind
		spec, due   string
		assumptions []string
	}{
		{KindRRule, "FREQ=DAILY;BYHOUR=2", "24 02:00:00", []string{both}},
		{KindRRule, "FREQ=DAILY;BYHOUR=18;BYMINUTE=0", "23 18:00:00", []string{second}},
		{KindRRule, "FREQ=DAILY;BYHOUR=2;BYMINUTE=0;BYSECOND=0", "24 02:00:00", nil},
		{KindRRule, "FREQ=DAILY", "23 14:28:00", []string{second, "Hour 14 and minute 28, as at the first full minute after the creation: the text has neither these nor a start."}},
		{KindRRule, "FREQ=HOURLY", "23 14:28:00", []string{second, "Minute 28, as at the first full minute after the creation: the text has neither this nor a start."}},
		{KindRRule, "FREQ=DAILY;INTERVAL=30", "23 14:28:00", []string{second, "Hour 14 and minute 28, as at the first full minute after the creation: the text has neither these nor a start."}},
		{KindRRule, "FREQ=MINUTELY;INTERVAL=20;BYHOUR=16", "23 16:00:00", []string{both}},
		{KindRRule, "FREQ=SECONDLY;INTERVAL=45", "23 14:27:40", nil},
		{KindRRule, "FREQ=WEEKLY;BYHOUR=16", "23 16:00:00", []string{both, "Weekday Monday, as at the first full minute after the creation: the text has neither this nor a start."}},
		{KindRRule, "FREQ=YEARLY;BYHOUR=16", "23 16:00:00", []string{both, "Month November and day 23, as at the first full minute after the creation: the text has neither these nor a start."}},
		{KindAzureScheduler, `{"frequency": "Day", "schedule": {"hours": [2], "minutes": [0]}}`, "23 14:27:40 24 02:00:00", []string{second}},
		{KindAzureScheduler, `{"frequency": "Day", "schedule": {"hours": [2]}}`, "23 14:27:40 24 02:00:00", []string{both}},
		{KindAzureScheduler, `{"frequency": "Hour", "schedule": {"minutes": [15]}}`, "23 14:27:40 23 15:15:00", []string{second}},
		{KindAzureScheduler, `{"frequency": "Day", "interval": 30, "schedule": {"hours": [2]}}`, "23 14:27:40 23 02:00:00", []string{both}},
		{KindAzureScheduler, `{"frequency": "Day"}`, "23 14:27:40 24 14:27:40", nil},
	} {
		due, got := dueOf(t, c.kind, c.spec, now, len(strings.Fields(c.due))/2)
		require.Equal(t, c.due, strings.Join(due, " "), c.spec)
		require.Equal(t, c.assumptions, got.Assumptions, c.spec)
		// A text with a start assumes nothing.
		due, got = dueOf(t, c.kind, c.spec, PreviewOptions{Start: "2026-11-23T14:27:40"}, 1)
		require.Empty(t, got.Assumptions, c.spec)
		if !strings.Contains(c.spec, "SECOND") && !strings.Contains(c.spec, "minutes") {
			require.Contains(t, due[0], ":40", c.spec)
		}
	}
}

// TestStoredContradictions checks that a text with contradictions, which an older release accepted,
// goes on with the value that counted then, and that a new one is refused.
func TestStoredContradictions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind        Kind
		spec, first string
		count       int64
	}{
		{KindRRule, `{"rrule": "DTSTART:20270101T090000Z\nRRULE:FREQ=DAILY", "startTime": "2027-02-01T00:00:00Z"}`, "2027-01-01T09:00:00Z", 0},
		{KindRRule, "DTSTART:20270101T090000Z\nDTSTART:20270201T090000Z\nRRULE:FREQ=DAILY", "2027-02-01T09:00:00Z", 0},
		{KindRRule, `{"rrule": "DTSTART:20270101T090000Z\nRRULE:FREQ=DAILY;COUNT=5", "count": 3}`, "2027-01-01T09:00:00Z", 5},
		{KindRRule, `{"rrule": "DTSTART:20270101T090000Z\nRRULE:FREQ=DAILY;UNTIL=20270301T000000Z", "endTime": "2027-02-01T00:00:00Z"}`, "2027-01-01T09:00:00Z", 0},
		{KindElastic, `{"schedule_interval_type": "Once", "schedule_interval_count": 5, "schedule_start_time": "2027-01-01"}`, "2027-01-01T00:00:00Z", 0},
	} {
		opts := Options{Created: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), Uncounted: true}
		_, err := Parse(c.kind, []byte(c.spec), opts)
		require.Error(t, err, c.spec)
		opts.Stored = true
		plan, err := Parse(c.kind, []byte(c.spec), opts)
		require.NoError(t, err, c.spec)
		require.Len(t, plan.Warnings, 1, c.spec)
		require.Equal(t, c.count, plan.Count, c.spec)
		next, _ := plan.Next(opts.Created)
		require.Equal(t, c.first, next.Format(time.RFC3339), c.spec)
	}
}
