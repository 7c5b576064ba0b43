package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRecover(t *testing.T) {
	t.Parallel()
	every := Elastic{Interval: Minutes, Count: 5, Start: instant(t, "2026-01-01T00:00:00Z")}
	due, now := instant(t, "2026-01-01T10:00:00Z"), instant(t, "2026-01-01T10:17:00Z") // 10:00, 05, 10, 15 were missed
	cases := map[string]struct {
		outage       time.Duration
		run, dropped int
	}{
		"last": {0, 1, 3}, "": {0, 1, 3}, "none": {0, 0, 4}, "all": {0, 4, 0}, "window:7m": {0, 2, 2}, "window:PT12M": {0, 3, 1}, "WINDOW:1h": {0, 4, 0},
		"sap-20min": {1199 * time.Second, 4, 0}, "Sap-20Min": {1200 * time.Second, 1, 3},
	}
	for text, c := range cases {
		policy, err := ParseCatchUp(text)
		require.NoError(t, err)
		again, err := ParseCatchUp(policy.String())
		require.NoError(t, err)
		require.Equal(t, policy.String(), again.String())
		r := policy.Recover(every, due, now, now, c.outage)
		require.Len(t, r.Run, c.run, text)
		require.Len(t, r.Dropped, c.dropped, text)
		require.Equal(t, c.dropped > 0, r.Reason != "", text)
		require.True(t, r.More)
		require.Equal(t, instant(t, "2026-01-01T10:20:00Z"), r.Next)
		if c.run > 0 {
			require.Equal(t, instant(t, "2026-01-01T10:15:00Z"), r.Run[c.run-1], text)
		}
	}
	for text, near := range map[string]string{"lst": "last", "window": "window:1h", "window:soon": "window:1h", "sap20min": "sap-20min"} {
		_, err := ParseCatchUp(text)
		var all *Error
		require.ErrorAs(t, err, &all)
		require.Equal(t, near, all.Faults[0].Nearest)
	}
}

// TestRecoverInParts checks that repeated calls handle more than MaxMissed instants. No instant is
// lost or run twice.
func TestRecoverInParts(t *testing.T) {
	t.Parallel()
	every := Elastic{Interval: Minutes, Count: 1, Start: instant(t, "2026-01-01T00:00:00Z")}
	due := every.Start
	now := due.Add((2*MaxMissed + 500) * time.Minute)
	var run, dropped int
	for due.Before(now) {
		r := CatchUp{}.Recover(every, due, now, now, 0)
		run, dropped, due = run+len(r.Run), dropped+len(r.Dropped), r.Next
	}
	require.Equal(t, 1, run)
	require.Equal(t, 2*MaxMissed+499, dropped)
}

func TestDelay(t *testing.T) {
	t.Parallel()
	due := instant(t, "2026-01-01T10:00:00Z")
	spread := map[time.Duration]bool{}
	for minute := range 200 {
		at := due.Add(time.Duration(minute) * time.Minute)
		d := Delay("nightly", at, at.Add(time.Minute), 5*time.Minute)
		require.Equal(t, d, Delay("nightly", at, at.Add(time.Minute), 5*time.Minute))
		require.Less(t, d, time.Minute)
		require.GreaterOrEqual(t, d, time.Duration(0))
		spread[d/(10*time.Second)] = true
	}
	require.Len(t, spread, 6)
	require.Zero(t, Delay("nightly", due, time.Time{}, 0))
	require.LessOrEqual(t, Delay("nightly", due, time.Time{}, time.Second), time.Second)
}

func TestBlackouts(t *testing.T) {
	t.Parallel()
	calendars := `"calendars": [{"dates": ["2026-12-24/2026-12-26"]}, {"weekly": [{"day": "saturday"}, {"day": "sunday", "to": "18:00"}]}]`
	cases := map[string]struct {
		spec, after string
		due         []string
	}{
		"skip": {`{"cron": "0 12 * * *", "timeZone": "Europe/Berlin", "blackouts": {` + calendars + `}}`, "2026-12-22T12:00:00Z",
			[]string{"2026-12-23T11:00:00Z", "2026-12-28T11:00:00Z"}},
		"defer": {`{"cron": "0 */6 * * *", "timeZone": "Europe/Berlin", "blackouts": {"mode": "defer", ` + calendars + `}}`, "2026-12-23T12:00:00Z",
			[]string{"2026-12-23T17:00:00Z", "2026-12-27T17:00:00Z", "2026-12-27T23:00:00Z"}},
		"asked within": {`{"cron": "0 12 * * *", "timeZone": "Europe/Berlin", "blackouts": {"mode": "defer", ` + calendars + `}}`, "2026-12-27T15:00:00Z",
			[]string{"2026-12-27T17:00:00Z", "2026-12-28T11:00:00Z"}},
		// The windows from the 24th until Sunday touch, so that the instant before the last one of
		// them waits for its end, whenever that is asked for.
		"asked within the last": {`{"cron": "0 12 24 * *", "timeZone": "Europe/Berlin", "blackouts": {"mode": "defer", ` + calendars + `}}`, "2026-12-27T15:00:00Z",
			[]string{"2026-12-27T17:00:00Z", "2027-01-24T17:00:00Z"}},
		"rule": {`{"cron": "0 * * * *", "blackouts": {"calendars": [{"rrule": "FREQ=DAILY", "startTime": "2026-01-01T01:30:00Z", "duration": "PT22H"}]}}`,
			"2026-05-05T00:00:00Z", []string{"2026-05-05T01:00:00Z", "2026-05-06T00:00:00Z"}},
		"count": {`{"cron": "0 12 * * *", "timeZone": "Europe/Berlin", "startTime": "2026-12-23", "count": 2, "blackouts": {` + calendars + `}}`,
			"2026-12-01T00:00:00Z", []string{"2026-12-23T11:00:00Z", "2026-12-28T11:00:00Z", ""}},
	}
	for name, c := range cases {
		plan, err := Parse(KindCron5, []byte(c.spec), Options{})
		require.NoError(t, err, name)
		after := instant(t, c.after)
		for _, want := range c.due {
			next, ok := plan.Next(after)
			require.Equal(t, want != "", ok, name)
			if ok {
				require.Equal(t, want, next.Format(time.RFC3339), name)
			}
			after = next
		}
	}
	calendar, err := ParseCalendar([]byte(`{"timeZone": "Asia/Tokyo", "dates": ["2026-05-05"]}`))
	require.NoError(t, err)
	plan, err := Parse(KindCron5, []byte(`{"cron": "0 0 * * *", "blackouts": {"calendars": ["golden week"]}}`), Options{Calendars: map[string]*Calendar{"golden week": calendar}})
	require.NoError(t, err)
	next, _ := plan.Next(instant(t, "2026-05-04T00:00:00Z"))
	require.Equal(t, "2026-05-06T00:00:00Z", next.Format(time.RFC3339))
}

func TestMinInterval(t *testing.T) {
	t.Parallel()
	for spec, ok := range map[string]bool{"*/5 * * * *": true, "*/4 * * * *": false, "0,4 0 1 1 *": false, "0 12 * * *": true} {
		_, err := Parse(KindCron5, []byte(spec), Options{MinInterval: 5 * time.Minute, Start: instant(t, "2026-03-01T00:00:00Z")})
		require.Equal(t, ok, err == nil, "%s: %v", spec, err)
	}
}

// TestStarted checks that SAP's repeatInterval counts from the actual start (D-S15), with
// Plan.Started and with Options.LastStarted.
func TestStarted(t *testing.T) {
	t.Parallel()
	plan, err := Parse(KindSAP, []byte(`{"repeatInterval": "1 hour"}`), Options{Start: instant(t, "2026-01-01T18:00:00Z")})
	require.NoError(t, err)
	due, _ := plan.Next(instant(t, "2026-01-01T18:30:00Z"))
	late := plan.Started(due, due.Add(7*time.Minute))
	next, _ := late.Next(due)
	require.Equal(t, instant(t, "2026-01-01T20:07:00Z"), next)
	told, err := Parse(KindSAP, []byte(`{"repeatInterval": "1 hour"}`), Options{Start: instant(t, "2026-01-01T18:00:00Z"), LastStarted: due.Add(7 * time.Minute)})
	require.NoError(t, err)
	next, _ = told.Next(due.Add(7 * time.Minute))
	require.Equal(t, instant(t, "2026-01-01T20:07:00Z"), next)
	fixed, err := Parse(KindSAP, []byte(`{"repeatInterval": "1 hour", "anchor": "start"}`), Options{Start: instant(t, "2026-01-01T18:00:00Z")})
	require.NoError(t, err)
	next, _ = fixed.Started(due, due.Add(7*time.Minute)).Next(due)
	require.Equal(t, instant(t, "2026-01-01T20:00:00Z"), next)
}
