package firing

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// clock parses "15:04" or "15:04:05" on 1 January 2026, or a date with a clock time.
func clock(t *testing.T, text string) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	if !strings.Contains(text, "-") {
		text = "2026-01-01 " + text
	}
	if strings.Count(text, ":") == 1 {
		text += ":00"
	}
	at, err := time.Parse("2006-01-02 15:04:05", text)
	require.NoError(t, err)
	return at
}

// clocks returns the texts of instants, without the date if it is 1 January 2026.
func clocks(list []time.Time) []string {
	var out []string
	for _, at := range list {
		out = append(out, clockText(at))
	}
	return out
}

func clockText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	text := strings.TrimPrefix(at.UTC().Format("2006-01-02 15:04:05.999"), "2026-01-01 ")
	if strings.Count(text, ":00") > 0 {
		text = strings.TrimSuffix(text, ":00")
	}
	return text
}

// skipTexts returns each skip as "first × count".
func skipTexts(list []Skip) []string {
	var out []string
	for _, s := range list {
		out = append(out, fmt.Sprintf("%s x %d", clockText(s.Due), s.Count))
	}
	return out
}

// made returns a definition that was created at midnight.
func made(t *testing.T, kind schedule.Kind, spec string, change ...func(*Definition)) Definition {
	t.Helper()
	d := Definition{ID: 7, Kind: string(kind), Spec: spec, Defined: clock(t, "00:00"), Activated: clock(t, "00:00")}
	for _, c := range change {
		c(&d)
	}
	return d
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind     schedule.Kind
		spec     string
		change   func(*Definition)
		next     string
		upcoming int // how many are shown; 0: 10
		zone     string
		warns    bool
	}{
		"Cron5": {kind: schedule.KindCron5, spec: "30 4 * * *", next: "04:30"},
		"Cron5InZone": {
			kind: schedule.KindCron5, spec: "30 4 * * *",
			change: func(d *Definition) { d.Zone = "Europe/Berlin" }, next: "03:30", zone: "Europe/Berlin",
		},
		"ZoneOfTheText": {
			kind: schedule.KindCron5, spec: `{"cron": "30 4 * * *", "timeZone": "Asia/Tokyo"}`, next: "19:30",
			zone: "Asia/Tokyo",
		},
		"Cron6":  {kind: schedule.KindCron6, spec: "15 30 4 * * *", next: "04:30:15"},
		"Quartz": {kind: schedule.KindQuartz, spec: "0 0 12 ? * FRI", next: "2026-01-02 12:00"},
		"RRule": {
			kind: schedule.KindRRule,
			spec: `{"rrule": "FREQ=DAILY;BYHOUR=6", "startTime": "2025-12-01T00:00:00Z"}`, next: "06:00",
		},
		"RRuleCounted": {
			kind: schedule.KindRRule,
			spec: `{"rrule": "FREQ=DAILY;COUNT=3", "startTime": "2026-01-01T09:00:00Z"}`, next: "09:00",
			upcoming: 3,
		},
		"Azure": {
			kind: schedule.KindAzureScheduler,
			spec: `{"frequency": "Day", "schedule": {"hours": [5], "minutes": [15]}, "startTime": "2025-01-01T00:00:00Z"}`,
			next: "05:15",
		},
		"AzureWithoutStart": {
			kind: schedule.KindAzureScheduler, spec: `{"frequency": "Hour", "interval": 6}`, next: "00:00",
		},
		"AzureOnce": {
			kind: schedule.KindAzureScheduler, spec: `{"startTime": "2026-01-01T09:00:00-08:00"}`,
			next: "17:00", upcoming: 1, zone: "-08:00",
		},
		"AzureOncePast": {
			kind: schedule.KindAzureScheduler, spec: `{"startTime": "2020-01-01T09:00:00Z"}`, next: "00:00",
			upcoming: 1,
		},
		"SAPCron":     {kind: schedule.KindSAP, spec: `{"cron": "* * * * 10:12 */30 0"}`, next: "10:00"},
		"SAPRepeat":   {kind: schedule.KindSAP, spec: `{"repeatInterval": "5 minutes"}`, next: "00:00"},
		"SAPRepeatAt": {kind: schedule.KindSAP, spec: `{"repeatAt": "4.40pm"}`, next: "16:40"},
		"SAPTime":     {kind: schedule.KindSAP, spec: `{"time": "20 minutes from now"}`, next: "00:20", upcoming: 1},
		"SAPNow":      {kind: schedule.KindSAP, spec: `{"time": "now"}`, next: "00:00", upcoming: 1},
		"SAPTimePast": {
			kind: schedule.KindSAP, spec: `{"time": "1994-11-05T08:15:30-05:00"}`, next: "00:00", upcoming: 1,
		},
		"SAPBothDays": {kind: schedule.KindSAP, spec: `{"cron": "* * 1 thu 9 0 0"}`, next: "09:00", warns: true},
		"Elastic": {
			kind: schedule.KindElastic,
			spec: `{"schedule_interval_type": "Hours", "schedule_interval_count": 5, "schedule_start_time": "2025-12-31T23:00:00Z"}`,
			next: "04:00",
		},
		"TheJobsOwn": {
			change: func(d *Definition) {
				d.Kind, d.Job = "elastic", &schedule.Elastic{Interval: schedule.Minutes, Count: 15, Start: clock(t, "00:10")}
			},
			next: "00:10",
		},
		"TheJobsOwnSwitchedOnLater": {
			change: func(d *Definition) {
				d.Kind, d.Job = "elastic", &schedule.Elastic{Interval: schedule.Minutes, Count: 15, Start: clock(t, "00:10")}
				d.Activated = clock(t, "11:56")
			},
			next: "12:10",
		},
		// D-P7: instants before the activation are dropped. SAP's repeatInterval runs at once.
		"SwitchedOnLater": {
			kind: schedule.KindCron5, spec: "30 4 * * *",
			change: func(d *Definition) { d.Activated = clock(t, "12:00") }, next: "2026-01-02 04:30",
		},
		"SwitchedOnAtTheMoment": {
			kind: schedule.KindCron5, spec: "30 4 * * *",
			change: func(d *Definition) { d.Activated = clock(t, "04:30") }, next: "04:30",
		},
		"SwitchedOnInTheSecond": {
			kind: schedule.KindCron5, spec: "30 4 * * *", change: func(d *Definition) { d.Activated = clock(t, "04:30").Add(700 * time.Millisecond) }, next: "04:30",
		},
		"HandledInTheSecond": {
			kind: schedule.KindCron5, spec: "30 4 * * *", next: "2026-01-02 04:30",
			change: func(d *Definition) {
				d.LastDue, d.Activated = clock(t, "04:30"), clock(t, "04:30").Add(700*time.Millisecond)
			},
		},
		"RepeatSwitchedOnLater": {
			kind: schedule.KindSAP, spec: `{"repeatInterval": "1 hour", "startTime": "2026-01-01T10:00:00Z"}`, change: func(d *Definition) { d.Activated = clock(t, "12:34:56") }, next: "12:34:56",
		},
		"OnceSwitchedOnTooLate": {
			kind: schedule.KindSAP, spec: `{"time": "2026-01-01T10:00:00Z"}`,
			change: func(d *Definition) { d.Activated = clock(t, "12:00") },
		},
		"EndReached": {
			kind: schedule.KindSAP, spec: `{"repeatAt": "10.00", "endTime": "2026-01-01T11:00:00Z"}`,
			change: func(d *Definition) { d.Activated = clock(t, "12:00") },
		},
		"LastBeforeTheEnd": {
			kind: schedule.KindSAP, spec: `{"repeatAt": "10.00", "endTime": "2026-01-02T10:00:00Z"}`,
			next: "10:00", upcoming: 2,
		},
		// D-P3
		"CountPartlyUsed": {
			kind: schedule.KindSAP, spec: `{"repeatAt": "10.00", "count": 5}`,
			change: func(d *Definition) { d.Executions = 3 }, next: "10:00", upcoming: 2,
		},
		"CountUsedUp": {
			kind: schedule.KindSAP, spec: `{"repeatAt": "10.00", "count": 5}`,
			change: func(d *Definition) { d.Executions = 5 },
		},
		"CountUsedUpWarns": {
			kind: schedule.KindSAP, spec: `{"cron": "* * 1 thu 9 0 0", "count": 5}`,
			change: func(d *Definition) { d.Executions = 5 }, warns: true,
		},
		// D-P5
		"BlackoutSkips": {
			kind: schedule.KindCron5, spec: `{"cron": "0 * * * *", "blackouts": {"calendars": ["holidays"]}}`,
			next: "2026-01-02 00:00",
		},
		"BlackoutDefers": {
			kind: schedule.KindCron5,
			spec: `{"cron": "30 * * * *", "blackouts": {"mode": "defer", "calendars": ["holidays"]}}`,
			next: "2026-01-02 00:00",
		},
		// D-Z1: a second validation begins at the stored instant, or at the present if the stored
		// instant lies in the future.
		"AgainBeforeItIsDue": {
			kind: schedule.KindCron5, spec: "0 * * * *",
			change: func(d *Definition) { d.Due = clock(t, "15:00") }, next: "13:00",
		},
		"AgainWhenDue": {
			kind: schedule.KindCron5, spec: "0 * * * *",
			change: func(d *Definition) { d.Due = clock(t, "11:00") }, next: "11:00",
		},
		"AgainAtItsInstant": {
			kind: schedule.KindCron5, spec: "0 * * * *",
			change: func(d *Definition) { d.Due = clock(t, "12:00") }, next: "12:00",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := made(t, tc.kind, tc.spec)
			if tc.change != nil {
				tc.change(&d)
			}
			v, err := Validate(d, ReadCalendars(map[string]string{"holidays": `{"dates": ["2026-01-01"]}`, "broken": "{}"}), clock(t, "12:00"))
			require.NoError(t, err)
			require.NoError(t, v.Faults)
			require.Equal(t, tc.next, clockText(v.Next))
			require.Equal(t, v.Next, v.Fire)
			require.Equal(t, tc.warns, len(v.Warnings) > 0)
			if tc.zone == "" {
				tc.zone = "UTC"
			}
			require.Equal(t, tc.zone, v.Zone)
			if tc.next == "" {
				require.Empty(t, v.Upcoming)
				return
			}
			if tc.upcoming == 0 {
				tc.upcoming = shownInstants
			}
			require.Len(t, v.Upcoming, tc.upcoming)
			require.Equal(t, v.Next, v.Upcoming[0])
		})
	}
}

func TestValidateFaults(t *testing.T) {
	t.Parallel()
	d := made(t, schedule.KindSAP, `{"cron": "* * * 10:12 */30 0", "jitter": "soon"}`, func(d *Definition) { d.Zone, d.CatchUp = "Berlin", "every" })
	v, err := Validate(d, Calendars{}, clock(t, "12:00"))
	require.NoError(t, err)
	var all *schedule.Error
	require.ErrorAs(t, v.Faults, &all)
	var paths []string
	for _, f := range all.Faults {
		paths = append(paths, f.Path)
	}
	require.ElementsMatch(t, []string{"cron", "jitter", "timeZone", "catchUp"}, paths, "all at once")
	require.Zero(t, v.Next)

	d = made(t, schedule.KindCron5, `{"cron": "0 * * * *", "blackouts": {"calendars": ["broken"]}}`)
	v, err = Validate(d, ReadCalendars(map[string]string{"broken": `{"dates": ["2026-02-30"]}`, "other": `{"dates": 7}`}), clock(t, "12:00"))
	require.NoError(t, err)
	require.ErrorContains(t, v.Faults, "calendar broken: dates[0]")
	require.NotContains(t, v.Faults.Error(), "calendar other")
	require.NotContains(t, v.Faults.Error(), "blackouts.calendars[0]", "the name is right")

	// A calendar name is found in every JSON spelling.
	for _, name := range []string{`a "b" \`, "tab\there", "a\u00a0b", "\u0001"} {
		spec, marshalErr := json.Marshal(map[string]any{"cron": "0 * * * *", "blackouts": map[string]any{"calendars": []string{name}}})
		require.NoError(t, marshalErr)
		v, err = Validate(made(t, schedule.KindCron5, string(spec)), ReadCalendars(map[string]string{name: `{"dates": 7}`}), clock(t, "12:00"))
		require.NoError(t, err)
		require.ErrorContains(t, v.Faults, "calendar "+name+": dates")
		require.NotContains(t, v.Faults.Error(), "blackouts.calendars")
	}

	_, err = Validate(made(t, "moon", "full"), Calendars{}, clock(t, "12:00"))
	require.ErrorIs(t, err, ErrUnknownKind)

	// A form is no kind that a newer agent may know: the schedule is Faulted with its translation.
	v, err = Validate(made(t, "systemd", "Mon..Fri 09:00"), Calendars{}, clock(t, "12:00"))
	require.NoError(t, err)
	require.ErrorContains(t, v.Faults, "try the kind cron5: 0 9 * * 1-5")
}

func TestDecide(t *testing.T) {
	t.Parallel()
	minutely := `{"cron": "*/5 * * * *"}`
	policy := func(text string) func(*Definition) { return func(d *Definition) { d.CatchUp = text } }
	for name, tc := range map[string]struct {
		kind   schedule.Kind
		spec   string
		change func(*Definition)
		due    string
		now    string
		// worked and since are the end of the last period with agents and the beginning of the
		// current one.
		worked, since string

		runs   []string
		skips  []string
		reason string
		next   string
		fire   string // if it differs from next
		done   bool
		// upcoming is how many instants are shown, if not 10; -1: none.
		upcoming int
	}{
		"OnTime": {spec: minutely, due: "10:00", now: "10:00", runs: []string{"10:00"}, next: "10:05"},
		"Late":   {spec: minutely, due: "10:00", now: "10:00:59", runs: []string{"10:00"}, next: "10:05"},
		"NotYet": {
			spec: `{"cron": "*/5 * * * *", "jitter": "2m"}`, due: "10:00", now: "10:00", next: "10:00",
			fire: "10:01:10.028",
		},
		"Jittered": {
			spec: `{"cron": "*/5 * * * *", "jitter": "2m"}`, due: "10:00", now: "10:01:32",
			runs: []string{"10:00"}, next: "10:05", fire: "10:05:01.843",
		},
		"LateTwice": {
			kind: schedule.KindCron6, spec: "*/20 * * * * *", due: "10:00", now: "10:00:45",
			runs: []string{"10:00", "10:00:20", "10:00:40"}, next: "10:01",
		},

		"MissedLast": {
			spec: minutely, due: "10:00", now: "10:31:30", runs: []string{"10:30"},
			skips: []string{"10:00 x 6"}, reason: "makes up only the last", next: "10:35",
		},
		// The start of the last instant, with its jitter, decides whether it is missed.
		"MissedJittered": {
			spec: `{"cron": "*/5 * * * *", "jitter": "2m"}`, due: "10:00", now: "10:34", runs: []string{"10:30"},
			skips: []string{"10:00 x 6"}, reason: "only the last", next: "10:35", fire: "10:35:44.569",
		},
		"MissedExceptTheLastStart": {
			spec: `{"cron": "*/5 * * * *", "jitter": "2m"}`, due: "10:00", now: "10:06:01.500", runs: []string{"10:00", "10:05"}, next: "10:10", fire: "10:10:33.125",
		},
		"MissedOne": {spec: minutely, due: "10:00", now: "10:04:30", runs: []string{"10:00"}, next: "10:05"},
		"MissedNone": {
			spec: minutely, change: policy("none"), due: "10:00", now: "10:31:30",
			skips: []string{"10:00 x 7"}, reason: "makes up nothing", next: "10:35",
		},
		"MissedAll": {
			spec: minutely, change: policy("all"), due: "10:00", now: "10:13",
			runs: []string{"10:00", "10:05", "10:10"}, next: "10:15",
		},
		"MissedWindow": {
			spec: minutely, change: policy("window:12m"), due: "10:00", now: "10:22",
			runs: []string{"10:10", "10:15", "10:20"}, skips: []string{"10:00 x 2"}, reason: "window of 12m",
			next: "10:25",
		},
		"PolicyOfText": {
			spec: `{"cron": "*/5 * * * *", "catchUp": "none"}`, due: "10:00", now: "10:03",
			skips: []string{"10:00 x 1"}, reason: "makes up nothing", next: "10:05",
		},
		"TheColumnWins": {
			spec: `{"cron": "*/5 * * * *", "catchUp": "none"}`, change: policy("last"), due: "10:00", now: "10:03", runs: []string{"10:00"}, next: "10:05",
		},
		// A run for the instant now is on time.
		"MissedAndOnTime": {
			spec: minutely, due: "10:00", now: "10:15", runs: []string{"10:10", "10:15"},
			skips: []string{"10:00 x 2"}, reason: "only the last", next: "10:20",
		},
		// A short outage: no agent worked, although the instant is less than the threshold ago.
		"InAnOutage": {
			kind: schedule.KindCron6, spec: "*/10 * * * * *", due: "10:00", now: "10:00:45", worked: "09:59:59", since: "10:00:35",
			runs: []string{"10:00:30", "10:00:40"}, skips: []string{"10:00 x 3"}, reason: "only the last", next: "10:00:50",
		},
		// D-S7, with SAP's own examples.
		"SAP17Minutes": {
			spec: minutely, change: policy("sap-20min"), due: "08:00", now: "08:16", worked: "07:59", since: "08:16",
			runs: []string{"08:00", "08:05", "08:10", "08:15"}, next: "08:20",
		},
		"SAP22Minutes": {
			spec: minutely, change: policy("sap-20min"), due: "11:55", now: "12:13", worked: "11:51", since: "12:13",
			runs: []string{"12:10"}, skips: []string{"11:55 x 3"}, reason: "only the last", next: "12:15",
		},
		"SAPNeverWorked": {
			spec: minutely, change: policy("sap-20min"), due: "11:50", now: "12:13", since: "12:13", runs: []string{"12:10"}, skips: []string{"11:50 x 4"}, reason: "only the last", next: "12:15",
		},
		"SAPNeverWorkedForAShortTime": {
			spec: minutely, change: policy("sap-20min"), due: "12:00", now: "12:13", since: "12:13", runs: []string{"12:00", "12:05", "12:10"}, next: "12:15",
		},
		"SAPLateWithoutOutage": {
			spec: minutely, change: policy("sap-20min"), due: "11:45", now: "12:13", worked: "01:00", since: "02:00",
			runs: []string{"11:45", "11:50", "11:55", "12:00", "12:05", "12:10"}, next: "12:15",
		},

		// A schedule of every minute missed one and a half weeks. The second call continues after
		// the first.
		"Many": {
			spec: "* * * * *", due: "00:00", now: "2026-01-09 12:00:30", skips: []string{"00:00 x 10000"}, reason: "only the last", next: "2026-01-07 22:40",
		},
		"ManyAll": {
			spec: "* * * * *", change: policy("all"), due: "00:00", now: "2026-01-09 12:00:30", runs: []string{"00:00", "...", "01:39"}, next: "01:40",
		},
		"AHundredExactly": {
			spec: "* * * * *", change: policy("all"), due: "08:00", now: "09:40:30", runs: []string{"08:00", "...", "09:39"}, next: "09:40",
		},

		// SAP's repeatInterval: the following instants count from the start of the run (D-S15).
		"RepeatOnTime": {
			kind: schedule.KindSAP, spec: `{"repeatInterval": "7 minutes"}`, due: "10:00", now: "10:00",
			runs: []string{"10:00"}, next: "10:07",
		},
		"RepeatLate": {
			kind: schedule.KindSAP, spec: `{"repeatInterval": "7 minutes"}`, due: "10:00", now: "10:00:30",
			runs: []string{"10:00"}, next: "10:07:30",
		},
		"RepeatMissed": {
			kind: schedule.KindSAP, spec: `{"repeatInterval": "7 minutes"}`, due: "10:00", now: "10:30:30",
			runs: []string{"10:00"}, next: "10:37:30",
		},
		"RepeatAll": {
			kind: schedule.KindSAP, spec: `{"repeatInterval": "7 minutes", "catchUp": "all"}`, due: "10:00",
			now: "10:30:30", runs: []string{"10:00"}, next: "10:37:30",
		},
		"RepeatNone": {
			kind: schedule.KindSAP, spec: `{"repeatInterval": "7 minutes", "catchUp": "none"}`, due: "10:00", now: "10:30:30", skips: []string{"10:00 x 5"}, reason: "nothing", next: "10:35",
		},
		"RepeatWindow": {
			kind: schedule.KindSAP, spec: `{"repeatInterval": "7 minutes", "catchUp": "window:10m"}`, due: "10:00", now: "10:30:30",
			runs: []string{"10:21"}, skips: []string{"10:00 x 3"}, reason: "window", next: "10:37:30",
		},
		"RepeatAnchoredToTheStart": {
			kind: schedule.KindSAP, spec: `{"repeatInterval": "7 minutes", "anchor": "start", "startTime": "2026-01-01T10:00:00Z"}`, due: "10:00", now: "10:00:30", runs: []string{"10:00"}, next: "10:07",
		},

		// D-P3: only runs that were started count.
		"CountLeft": {
			spec: `{"rrule": "FREQ=HOURLY;COUNT=3"}`, kind: schedule.KindRRule,
			change: func(d *Definition) { d.Executions = 1 }, due: "10:00", now: "10:00",
			runs: []string{"10:00"}, next: "11:00", upcoming: 1,
		},
		"CountLeftOfMissed": {
			spec: `{"rrule": "FREQ=HOURLY;COUNT=3"}`, kind: schedule.KindRRule, change: func(d *Definition) { d.Executions, d.CatchUp = 1, "all" }, due: "10:00", now: "15:00:10",
			runs: []string{"10:00", "11:00"}, next: "12:00", upcoming: -1,
		},
		"CountDroppedDoNotCount": {
			spec: `{"rrule": "FREQ=HOURLY;COUNT=3"}`, kind: schedule.KindRRule, due: "10:00", now: "15:02", runs: []string{"15:00"}, skips: []string{"10:00 x 5"}, reason: "last", next: "16:00", upcoming: 2,
		},
		"CountUsedUp": {
			spec: `{"rrule": "FREQ=HOURLY;COUNT=3"}`, kind: schedule.KindRRule,
			change: func(d *Definition) { d.Executions = 3 }, due: "10:00", now: "10:00", done: true,
		},

		"End": {
			kind: schedule.KindSAP, spec: `{"repeatAt": "10.00", "endTime": "2026-01-01T10:00:00Z"}`,
			due: "10:00", now: "10:00", runs: []string{"10:00"}, done: true,
		},
		"Once": {
			kind: schedule.KindSAP, spec: `{"time": "2026-01-01T10:00:00Z"}`, due: "10:00", now: "23:00",
			runs: []string{"10:00"}, done: true,
		},
		"OnceNotMadeUp": {
			kind: schedule.KindSAP, spec: `{"time": "2026-01-01T10:00:00Z", "catchUp": "none"}`, due: "10:00", now: "23:00", skips: []string{"10:00 x 1"}, reason: "nothing", done: true,
		},
		"Deferred": {
			spec: `{"cron": "0 9,10,11 * * *", "blackouts": {"mode": "defer", "calendars": ["mornings"]}}`, due: "12:00", now: "12:00", runs: []string{"12:00"}, next: "2026-01-02 12:00",
		},
		// Clocks move forward at 01:00 UTC: 02:30 becomes 03:30 with an offset of two hours.
		"Gap": {
			spec: `{"cron": "30 2 * * *", "timeZone": "Europe/Berlin"}`, due: "2026-03-28 01:30",
			now: "2026-03-28 01:30", runs: []string{"2026-03-28 01:30"}, next: "2026-03-29 01:30",
		},
		"Overlap": {
			spec: `{"cron": "30 2 * * *", "timeZone": "Europe/Berlin"}`, due: "2026-10-25 00:30",
			now: "2026-10-25 00:30", runs: []string{"2026-10-25 00:30"}, next: "2026-10-26 01:30",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.kind == "" {
				tc.kind = schedule.KindCron5
			}
			d := made(t, tc.kind, tc.spec)
			d.Due = clock(t, tc.due)
			if tc.change != nil {
				tc.change(&d)
			}
			f, err := Decide(d, ReadCalendars(map[string]string{"mornings": `{"weekly": [{"day": "thursday", "to": "12:00"}, {"day": "friday", "to": "12:00"}]}`}),
				Round{Now: clock(t, tc.now), WorkingSince: clock(t, tc.since), LastWorked: clock(t, tc.worked), MissedAfter: time.Minute})
			require.NoError(t, err)
			runs := clocks(f.Runs)
			if len(runs) > 10 {
				require.Len(t, runs, runsPerFiring)
				runs = []string{runs[0], "...", runs[len(runs)-1]}
			}
			require.Equal(t, tc.runs, runs)
			require.Equal(t, tc.skips, skipTexts(f.Skips))
			for _, s := range f.Skips {
				require.Contains(t, s.Reason, tc.reason)
			}
			require.Equal(t, tc.next, clockText(f.Next))
			if tc.fire == "" {
				tc.fire = tc.next
			}
			require.Equal(t, tc.fire, clockText(f.Fire))
			require.Equal(t, tc.done, f.Next.IsZero())
			if tc.done || tc.upcoming < 0 {
				require.Empty(t, f.Upcoming)
				return
			}
			if tc.upcoming == 0 {
				tc.upcoming = shownInstants
			}
			require.Len(t, f.Upcoming, tc.upcoming)
			require.Equal(t, f.Next, f.Upcoming[0])
		})
	}
}

func TestDecideOfTheJobsOwnSchedule(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		interval schedule.Interval
		end      string
		now      string
		skips    []string
		next     string
	}{
		"OnTime":           {interval: schedule.Hours, now: "03:00", next: "04:00"},
		"Missed":           {interval: schedule.Hours, now: "06:30", skips: []string{"04:00 x 3"}, next: "07:00"},
		"Once":             {interval: schedule.Once, now: "05:00"},
		"LastBeforeTheEnd": {interval: schedule.Hours, end: "03:30", now: "03:00"},
		"MissedToTheEnd":   {interval: schedule.Hours, end: "05:00", now: "09:00", skips: []string{"04:00 x 2"}},
		// A schedule of every minute missed two years. Every instant is counted.
		"MissedForYears": {
			interval: schedule.Minutes, now: "2028-01-01 03:00:30", skips: []string{"03:01 x 1051200"},
			next: "2028-01-01 03:01",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			anchor := clock(t, "00:00")
			if tc.interval == schedule.Once {
				anchor = clock(t, "03:00")
			}
			d := Definition{ID: 7, Kind: "elastic", Due: clock(t, "03:00"), Job: &schedule.Elastic{Interval: tc.interval, Count: 1, Start: anchor, End: clock(t, tc.end)}}
			f, err := Decide(d, Calendars{}, Round{Now: clock(t, tc.now), MissedAfter: time.Minute})
			require.NoError(t, err)
			require.Equal(t, []string{"03:00"}, clocks(f.Runs))
			require.Equal(t, tc.skips, skipTexts(f.Skips))
			require.Equal(t, tc.next, clockText(f.Next))
			require.Equal(t, tc.next, clockText(f.Fire))
			last := clock(t, "03:00")
			for _, s := range f.Skips {
				last = s.Due.Add(time.Duration(s.Count-1) * map[schedule.Interval]time.Duration{schedule.Hours: time.Hour, schedule.Minutes: time.Minute}[tc.interval])
			}
			require.Equal(t, last, f.Last())
		})
	}
}

// What was decided last may be a run or a skip, and no agent decides it again.
func TestLastDecidedInstant(t *testing.T) {
	t.Parallel()
	first, second := clock(t, "10:00"), clock(t, "11:00")
	require.True(t, Decision{}.Last().IsZero())
	require.Equal(t, first, Decision{Runs: []time.Time{first}}.Last())
	require.Equal(t, second, Decision{Skips: []Skip{{Due: first, Last: second, Count: 2}}}.Last())
	require.Equal(t, second, Decision{Runs: []time.Time{second}, Skips: []Skip{{Due: first, Last: first, Count: 1}}}.Last())
	require.Equal(t, second, Decision{Runs: []time.Time{first}, Skips: []Skip{{Due: second, Last: second, Count: 1}}}.Last())
}

// TestDecideHandlesEachInstantOnce simulates many schedules for a day with random pauses. Each
// instant of a schedule must be run or skipped exactly once.
func TestDecideHandlesEachInstantOnce(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"last", "none", "all", "window:17m", "sap-20min"} {
		for _, spec := range []string{"* * * * *", "*/7 * * * *", `{"cron": "*/3 8-20 * * *", "jitter": "10m"}`, `{"cron": "* * * * *", "blackouts": {"mode": "defer", "calendars": [{"weekly": [{"day": "thursday", "from": "10:00", "to": "10:30"}]}]}}`} {
			d := made(t, schedule.KindCron5, spec, func(d *Definition) { d.CatchUp, d.Zone = policy, "Europe/Berlin" })
			v, err := Validate(d, Calendars{}, d.Defined)
			require.NoError(t, err)
			require.NoError(t, v.Faults)
			r, err := d.read(Calendars{})
			require.NoError(t, err)
			d.Due = v.Next
			answered := map[time.Time]int{}
			now, since, worked := d.Defined, d.Defined, time.Time{}
			for step := 1; now.Before(clock(t, "2026-01-02 00:00")); step++ {
				now = now.Add(time.Duration(step*step%131) * 20 * time.Second)
				if step%9 == 0 {
					worked, since = now, now.Add(time.Duration(step%40)*time.Minute)
					now = since
				}
				for {
					f, err := Decide(d, Calendars{}, Round{Now: now, WorkingSince: since, LastWorked: worked, MissedAfter: time.Minute})
					require.NoError(t, err)
					for _, s := range f.Skips {
						for at := s.Due; s.Count > 0; s.Count-- {
							answered[at]++
							at, _ = r.Next(at)
						}
					}
					for _, at := range f.Runs {
						answered[at]++
						require.False(t, r.fire(at).After(now), "too early")
					}
					d.Due = f.Next
					require.False(t, f.Fire.Before(f.Next))
					if f.Fire.After(now) {
						break
					}
				}
			}
			for at, more := r.Next(d.Defined.Add(-time.Nanosecond)); more && at.Before(d.Due); at, more = r.Next(at) {
				require.Equal(t, 1, answered[at], "%s %s at %s", policy, spec, at)
				delete(answered, at)
			}
			require.Empty(t, answered, "%s %s", policy, spec)
		}
	}
}

func TestBackfillRange(t *testing.T) {
	t.Parallel()
	d := made(t, schedule.KindCron5, `{"cron": "0 * * * *"}`)
	runs, next, err := Backfill(d, Calendars{}, clock(t, "2025-12-31 22:00"), clock(t, "01:00"))
	require.NoError(t, err)
	require.Zero(t, next)
	require.Equal(t, []string{"2025-12-31 22:00", "2025-12-31 23:00", "00:00", "01:00"}, clocks(runs), "both ends, and before it was made")

	runs, next, err = Backfill(d, Calendars{}, clock(t, "2025-12-01 00:00"), clock(t, "00:00"))
	require.NoError(t, err)
	require.Len(t, runs, runsPerFiring)
	require.Equal(t, runs[runsPerFiring-1].Add(time.Hour), next)

	// A schedule that depends on its creation keeps its grid after later changes and runs.
	for _, spec := range []string{`{"repeatInterval": "7 hours"}`, `{"repeatInterval": "7 hours", "startTime": "2025-12-30T01:00:00Z"}`} {
		d = made(t, schedule.KindSAP, spec)
		d.Due, d.Activated, d.Executions = clock(t, "21:00"), clock(t, "12:00"), 3
		runs, next, err = Backfill(d, Calendars{}, clock(t, "2025-12-31 22:00"), clock(t, "15:00"))
		require.NoError(t, err)
		require.Zero(t, next)
		require.Equal(t, []string{"00:00", "07:00", "14:00"}, clocks(runs), spec)
	}
	d = made(t, schedule.KindAzureScheduler, `{"frequency": "Hour", "interval": 9}`)
	runs, _, err = Backfill(d, Calendars{}, clock(t, "2025-12-31 22:00"), clock(t, "15:00"))
	require.NoError(t, err)
	require.Equal(t, []string{"00:00", "09:00"}, clocks(runs))

	// A schedule that ends in the range, and that of jobs.sp_add_job.
	runs, next, err = Backfill(made(t, schedule.KindSAP, `{"repeatAt": "10.00", "endTime": "2026-01-02T10:00:00Z"}`), Calendars{}, clock(t, "00:00"), clock(t, "2026-01-09 00:00"))
	require.NoError(t, err)
	require.Zero(t, next)
	require.Equal(t, []string{"10:00", "2026-01-02 10:00"}, clocks(runs))
	own := Definition{Kind: "elastic", Job: &schedule.Elastic{Interval: schedule.Hours, Count: 5, Start: clock(t, "03:00")}}
	runs, _, err = Backfill(own, Calendars{}, clock(t, "00:00"), clock(t, "09:00"))
	require.NoError(t, err)
	require.Equal(t, []string{"03:00", "08:00"}, clocks(runs))

	_, _, err = Backfill(made(t, "moon", "full"), Calendars{}, clock(t, "00:00"), clock(t, "15:00"))
	require.ErrorIs(t, err, ErrUnknownKind)
}

// TestValidateWarnsOfClocks: the warnings name the next changes of clocks, and say until when they
// hold. A change after the last run does not matter.
func TestValidateWarnsOfClocks(t *testing.T) {
	t.Parallel()
	const (
		moved   = "02:30 is moved to 03:30 on Sunday 29 March 2026, when clocks go forward in Europe/Berlin"
		doubled = `On Sunday 25 October 2026 it runs twice at 02:30, because clocks go back in Europe/Berlin; set "overlap" to "first" for one run`
	)
	inBerlin := func(d *Definition) { d.Zone = "Europe/Berlin" }
	for name, tc := range map[string]struct {
		spec     string
		change   func(*Definition)
		warnings []string
		recheck  bool
		words    string
	}{
		"Nightly":  {`{"cron": "30 2 * * *", "overlap": "both"}`, inBerlin, []string{moved, doubled}, true, "At 02:30 every day, Europe/Berlin"},
		"UTC":      {"30 2 * * *", nil, nil, false, "At 02:30 every day, UTC"},
		"Counted":  {`{"cron": "30 2 * * *", "count": 3}`, inBerlin, nil, true, "At 02:30 every day, Europe/Berlin; 3 runs"},
		"Ten":      {`{"cron": "30 2 * * *", "count": 10}`, inBerlin, nil, true, ""},
		"Ends":     {`{"cron": "30 2 * * *", "endTime": "2026-01-04"}`, inBerlin, nil, true, ""},
		"Finished": {`{"cron": "30 2 * * *", "count": 3}`, func(d *Definition) { d.Zone, d.Executions = "Europe/Berlin", 3 }, nil, false, ""},
	} {
		d := made(t, schedule.KindCron5, tc.spec, func(d *Definition) {
			if tc.change != nil {
				tc.change(d)
			}
		})
		v, err := Validate(d, Calendars{}, clock(t, "12:00"))
		require.NoError(t, err, name)
		require.NoError(t, v.Faults, name)
		require.Equal(t, tc.warnings, v.Warnings, name)
		if tc.recheck {
			require.Equal(t, time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC), v.RecheckAt, name)
		} else {
			require.Zero(t, v.RecheckAt, name)
		}
		if tc.words != "" {
			require.Equal(t, tc.words, v.Description, name)
		}
	}
	v, err := Validate(Definition{Job: &schedule.Elastic{Interval: schedule.Hours, Count: 2, Start: clock(t, "01:00")}, Due: clock(t, "13:00")}, Calendars{}, clock(t, "12:00"))
	require.NoError(t, err)
	require.Contains(t, v.Description, "Every 2 hours")
}

// TestAcceptedDefinitionGoesOn checks that a contradiction stops a new definition only.
func TestAcceptedDefinitionGoesOn(t *testing.T) {
	t.Parallel()
	d := Definition{
		Kind: "rrule", Spec: `{"rrule": "DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY", "startTime": "2026-02-01T00:00:00Z"}`,
		Defined: clock(t, "08:00"), Activated: clock(t, "08:00"),
	}
	v, err := Validate(d, Calendars{}, clock(t, "08:00"))
	require.NoError(t, err)
	require.Error(t, v.Faults)
	d.Due = clock(t, "09:00")
	v, err = Validate(d, Calendars{}, clock(t, "08:00"))
	require.NoError(t, err)
	require.NoError(t, v.Faults)
	require.Equal(t, d.Due, v.Next)
	require.NotEmpty(t, v.Warnings)

	// A schedule without a stored instant was accepted if it has started a run or handled an
	// instant.
	for _, handled := range []func(*Definition){
		func(d *Definition) { d.Executions = 1 },
		func(d *Definition) { d.LastDue = clock(t, "09:00") },
	} {
		later := d
		later.Due = time.Time{}
		handled(&later)
		v, err = Validate(later, Calendars{}, clock(t, "08:00"))
		require.NoError(t, err)
		require.NoError(t, v.Faults)
	}
}
