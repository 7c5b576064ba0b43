package importer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/testenv/bounds"
)

// ticks and millis return an instant as Quartz.NET and Java store it.
func ticks(at time.Time) int64  { return at.Unix()*1e7 + int64(at.Nanosecond()/100) + netTicks }
func millis(at time.Time) int64 { return at.UnixMilli() }

// quartz imports one job with triggers.
func quartz(t *testing.T, zone string, triggers ...QuartzTrigger) *Result {
	t.Helper()
	r, err := Quartz(QuartzStore{Jobs: []QuartzJob{{Name: "j", Group: "DEFAULT", Class: "Shop.Jobs.Nightly, Shop", Triggers: triggers}}}, Options{Now: now, Zone: zone})
	require.NoError(t, err)
	return r
}

func TestQuartzTime(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{now, time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 5e6, time.UTC)} {
		got, net := quartzTime(ticks(at))
		require.True(t, net && got.Equal(at), "%s", got)
		got, net = quartzTime(millis(at))
		require.True(t, !net && got.Equal(at), "%s", got)
	}
	for _, none := range []int64{0, -1} {
		got, _ := quartzTime(none)
		require.True(t, got.IsZero())
	}
}

func TestQuartz(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 31, 2, 30, 0, 0, time.UTC)
	base := func(name, kind string) QuartzTrigger {
		return QuartzTrigger{Name: name, Group: "g", State: "WAITING", Type: kind, Start: ticks(start), Priority: 5, Zone: "W. Europe Standard Time"}
	}
	cron, paused, complete, simple, excluded := base("cron", "CRON"), base("paused", "CRON"), base("complete", "SIMPLE"), base("simple", "SIMPLE"), base("excluded", "CRON")
	cron.Cron, cron.Misfire, cron.Start, cron.End = "0 0 2 ? * MON-FRI", 2, ticks(time.Date(2026, 7, 1, 0, 0, 0, 5e8, time.UTC)), ticks(time.Date(2026, 7, 3, 0, 0, 0, 5e8, time.UTC))
	paused.Cron, paused.State, paused.Misfire, paused.Priority = "0 0 3 * * ?", "PAUSED", misfireIgnore, 9
	complete.State, complete.RepeatCount, complete.Interval = "COMPLETE", -1, 60000
	simple.RepeatCount, simple.Interval, simple.Start = 1000, 86_400_000, ticks(start)+5_000_000
	excluded.Cron, excluded.Calendar, excluded.Data = "0 0 4 * * ?", "holidays", []byte(`{"$type":"hush","Password":"hush","db":"hush"}`)
	r, err := Quartz(QuartzStore{Calendars: []string{"holidays"}, PausedGroups: []string{"g"}, Jobs: []QuartzJob{
		{Name: "a", Group: "Shop", Description: "d", Class: "Shop.Jobs.Nightly, Shop, Version=1.0", NonConcurrent: true, UpdateData: true, Recovery: true,
			Data: []byte("#Mon\nuser=hush\npassword: hush\n"), Triggers: []QuartzTrigger{cron, paused, complete, simple, excluded}},
		{Name: "b", Group: "DEFAULT", Class: "B", Data: []byte{0, 1, 0, 0, 0, 255}},
	}}, Options{Now: now, TargetGroup: "shops"})
	require.NoError(t, err)
	noSecrets(t, r)
	job := jobOf(t, r, "Shop.a")
	require.Equal(t, "Nightly", job.Steps[0].Name)
	byName := map[string]Schedule{}
	for _, s := range job.Schedules {
		byName[s.Name] = s
		require.Equal(t, "BufferOne", s.Overlap)
	}
	require.Empty(t, due(t, byName["g.complete"], 1))
	require.Equal(t, []string{"2026-07-02T00:00:00Z", "2026-07-03T00:00:00Z"}, due(t, byName["g.cron"], 5), "an end counts, a start before it too")
	require.Equal(t, []string{"2026-06-16T02:30:00Z", "2026-06-17T02:30:00Z"}, due(t, byName["g.simple"], 2))
	require.Equal(t, map[string]string{"g.cron": "none", "g.paused": "all", "g.complete": "none", "g.simple": "last", "g.excluded": "last"}, func() map[string]string {
		m := map[string]string{}
		for n, s := range byName {
			m[n] = s.CatchUp
		}
		return m
	}())
	for name, s := range byName {
		require.Equal(t, name == "g.complete", s.Enabled, name) // the step is to be written
	}
	for _, f := range []struct {
		effect                Effect
		job, element, message string
	}{
		{Lost, "Shop.a", "JOB_CLASS_NAME", "the class Shop.Jobs.Nightly does not run"}, {Lost, "Shop.a", "JOB_DATA", `"user", "password"`},
		{Lost, "Shop.a", `trigger "g.excluded".JOB_DATA`, `"Password", "db"`}, {Lost, "b", "JOB_DATA", "6 bytes"}, {Lost, "Shop.a", "IS_UPDATE_DATA", "keeps data"},
		{Lost, "Shop.a", `trigger "g.paused".PRIORITY`, "9"}, {Note, "Shop.a", `trigger "g.paused".TRIGGER_STATE`, "paused"},
		{Lost, "Shop.a", `trigger "g.excluded".CALENDAR_NAME`, "disabled"}, {Lost, "", "calendar holidays", "blackouts"}, {Note, "", "paused group g", "paused"},
		{Changed, "Shop.a", `trigger "g.simple".START_TIME`, "fraction"}, {Note, "b", "TRIGGERS", "no triggers"}, {Note, "Shop.a", "REQUESTS_RECOVERY", ""},
		{Note, "Shop.a", "IS_NONCONCURRENT", "by itself"},
	} {
		found(t, r, f.effect, f.job, f.element, f.message)
	}
}

// walkedQuartz returns a random trigger and its due instants until limit, computed with package
// time as Quartz.NET does (CalendarIntervalTriggerImpl, DailyTimeIntervalTriggerImpl).
func walkedQuartz(r *rand.Rand, zone string, location *time.Location, limit time.Time) (q QuartzTrigger, want []time.Time) {
	start := time.Date(2026, 1, 1+r.IntN(300), r.IntN(24), 10*r.IntN(6), 0, 0, time.UTC)
	store := ticks
	if r.IntN(2) == 0 {
		store = millis
	}
	q = QuartzTrigger{Name: "t", State: "WAITING", Start: store(start), Zone: zone, Type: []string{"SIMPLE", "CAL_INT", "DAILY_I"}[r.IntN(3)]}
	end := limit
	if r.IntN(3) == 0 {
		end = start.AddDate(0, 0, r.IntN(40)).Add(time.Hour)
		q.End = store(end)
	}
	add := func(at time.Time) bool {
		// The end of SIMPLE and CAL_INT does not count.
		if !at.Before(limit) || at.After(end) || q.Type != "DAILY_I" && !at.Before(end) {
			return false
		}
		want = append(want, at)
		return true
	}
	switch q.Type {
	case "SIMPLE":
		q.Interval, q.RepeatCount = int64(1000*(600+r.IntN(90000))), int64(r.IntN(60)-10)
		if q.RepeatCount < 0 {
			q.RepeatCount = -1
		}
		for n := int64(0); q.RepeatCount < 0 || n <= q.RepeatCount; n++ {
			if !add(start.Add(time.Duration(n*q.Interval) * time.Millisecond)) {
				break
			}
		}
	case "CAL_INT":
		unit := r.IntN(6)
		q.Text1, q.Int1, q.Bool1 = []string{"Minute", "HOUR", "Day", "Week", "Month", "Year"}[unit], int64(1+r.IntN(4)), r.IntN(2) == 0
		if unit == 0 {
			q.Int1 *= 20
		}
		local := start.In(location)
		for n := 0; ; n++ {
			k := n * int(q.Int1)
			at := start.Add(time.Duration(k) * []time.Duration{time.Minute, time.Hour, 24 * time.Hour, 168 * time.Hour, 0, 0}[unit])
			wall := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, time.UTC)
			switch {
			case unit < 2:
			case unit == 2:
				wall = wall.AddDate(0, 0, k)
			case unit == 3:
				wall = wall.AddDate(0, 0, 7*k)
			case unit == 4:
				wall = wall.AddDate(0, k, 0)
			default:
				wall = wall.AddDate(k, 0, 0)
			}
			switch {
			case unit >= 2 && q.Bool1:
				at = closest(wall, location)
			case unit >= 4: // the offset of the start
				_, offset := local.Zone()
				at = wall.Add(-time.Duration(offset) * time.Second)
			}
			if !add(at) {
				break
			}
		}
	default:
		from := 3600*r.IntN(20) + 600*r.IntN(6)
		to := min(from+600*r.IntN(80), 86399)
		step := 60 * []int{7, 10, 15, 45, 72, 120}[r.IntN(6)]
		q.Text1, q.Int1, q.Text3, q.Long1 = "Minute", int64(step/60), fmt.Sprintf("%d,%d,%d,%d,%d,%d", from/3600, from/60%60, from%60, to/3600, to/60%60, to%60), -1
		var days []string
		var on []time.Weekday
		for d := range 7 {
			if r.IntN(2) == 0 {
				on = append(on, time.Weekday(d))
				if q.Start < maxMillis {
					d++ // Java counts from 1
				}
				days = append(days, fmt.Sprint(d))
			}
		}
		q.Text2 = strings.Join(days, ",")
		for day := start.Add(-48 * time.Hour).Truncate(24 * time.Hour); day.Before(limit.Add(48 * time.Hour)); day = day.AddDate(0, 0, 1) {
			for at := from; at <= to && (len(on) == 0 || slices.Contains(on, day.Weekday())); at += step {
				if instant := wallInstant(day.Add(time.Duration(at)*time.Second), location); !instant.Before(start) {
					add(instant)
				}
			}
		}
		slices.SortFunc(want, time.Time.Compare)
		want = slices.CompactFunc(want, time.Time.Equal)
	}
	return q, want
}

// closest returns the instant of a clock time, and in a gap the end of the gap.
func closest(wall time.Time, location *time.Location) time.Time {
	for ; ; wall = wall.Add(time.Minute) {
		at := wallInstant(wall, location)
		if local := at.In(location); local.Hour() == wall.Hour() && local.Minute() == wall.Minute() {
			return at
		}
	}
}

// Random triggers are due when the walk says so.
func TestQuartzAgainstWalk(t *testing.T) {
	t.Parallel()
	limit := time.Date(2028, 6, 1, 0, 0, 0, 0, time.UTC)
	for i, zone := range []string{"UTC", "Asia/Kolkata", "Europe/Berlin", "America/New_York"} {
		location, err := schedule.LoadZone(zone)
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(5, uint64(i)))
		compared := 0
		for range 40 {
			end := limit
			if r.IntN(4) > 0 {
				end = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
			}
			q, want := walkedQuartz(r, zone, location, end)
			result := quartz(t, "", q)
			var got []time.Time
			for _, s := range result.Jobs[0].Schedules {
				plan, err := schedule.Parse(s.Kind, []byte(s.Spec), schedule.Options{Zone: s.Zone})
				if err != nil {
					continue // an end before the first instant
				}
				for at, ok := plan.Next(time.Time{}); ok && at.Before(end); at, ok = plan.Next(at) {
					got = append(got, at)
				}
			}
			if len(result.Jobs[0].Schedules) == 0 { // the 29th or later
				continue
			}
			compared++
			slices.SortFunc(got, time.Time.Compare)
			got = slices.CompactFunc(got, time.Time.Equal)
			for i := range max(len(want), len(got)) {
				require.True(t, i < len(want) && i < len(got) && want[i].Equal(got[i]), "%+v in %s: instant %d of %d and %d: want %s, got %s", q, zone, i, len(want), len(got), at(want, i), at(got, i))
			}
		}
		require.Greater(t, compared, 25, zone)
	}
}

// A count that Quartz has run down ends with the runs that are left.
func TestQuartzCounts(t *testing.T) {
	t.Parallel()
	daily := QuartzTrigger{Name: "t", State: "WAITING", Type: "DAILY_I", Start: ticks(now.AddDate(0, -1, 0)), Next: ticks(now), Zone: "UTC",
		Text1: "Hour", Int1: 1, Text2: "0,1,2,3,4,5,6", Text3: "8,0,0,18,0,0", Long1: 99, Int2: 95}
	require.Equal(t, []string{"2026-06-15T12:00:00Z", "2026-06-15T13:00:00Z", "2026-06-15T14:00:00Z", "2026-06-15T15:00:00Z", "2026-06-15T16:00:00Z"},
		due(t, quartz(t, "", daily).Jobs[0].Schedules[0], 9))
	rule := QuartzTrigger{Name: "t", State: "WAITING", Type: "RECUR", Start: ticks(now.AddDate(0, 0, -3)), Zone: "UTC", Text1: "FREQ=DAILY;COUNT=5"}
	require.Equal(t, []string{"2026-06-15T12:00:00Z", "2026-06-16T12:00:00Z"}, due(t, quartz(t, "", rule).Jobs[0].Schedules[0], 9))
}

func TestQuartzFaults(t *testing.T) {
	t.Parallel()
	good := QuartzTrigger{Name: "t", State: "WAITING", Type: "SIMPLE", Start: ticks(now), RepeatCount: -1, Interval: 60000, Zone: "UTC", Text1: "Day", Int1: 1, Cron: "0 0 2 * * ?"}
	for want, change := range map[string]func(*QuartzTrigger){
		"whole seconds":            func(q *QuartzTrigger) { q.Interval = 1500 },
		"no START_TIME":            func(q *QuartzTrigger) { q.Start = 0 },
		"no row for it":            func(q *QuartzTrigger) { q.Missing = true },
		"END_TIME is not after":    func(q *QuartzTrigger) { q.RepeatCount, q.End = 0, q.Start },
		"TIME_ZONE_ID \"Mars\"":    func(q *QuartzTrigger) { q.Type, q.Zone = "CRON", "Mars" },
		"the schedule is not":      func(q *QuartzTrigger) { q.Type, q.Cron = "CRON", "nonsense" },
		"serialised (BLOB_":        func(q *QuartzTrigger) { q.Type = "BLOB" },
		"want CRON":                func(q *QuartzTrigger) { q.Type = "hush" },
		"is not from 1 on":         func(q *QuartzTrigger) { q.Type, q.Int1 = "CAL_INT", 0 },
		"invalid unit":             func(q *QuartzTrigger) { q.Type, q.Text1 = "CAL_INT", "hush" },
		"the 29th or later":        func(q *QuartzTrigger) { q.Type, q.Text1, q.Start = "CAL_INT", "Month", ticks(now.AddDate(0, 0, 14)) },
		"its interval is not one":  func(q *QuartzTrigger) { q.Type = "DAILY_I" },
		"numbers of weekdays":      func(q *QuartzTrigger) { q.Type, q.Text1, q.Text2 = "DAILY_I", "Hour", "7" },
		"two times in their order": func(q *QuartzTrigger) { q.Type, q.Text1, q.Text3 = "DAILY_I", "Hour", "9,0,0,8,0,0" },
		"runs are left":            func(q *QuartzTrigger) { q.Type, q.Text1, q.Text3, q.Long1 = "DAILY_I", "Hour", "", 1<<40 },
		"holidays":                 func(q *QuartzTrigger) { q.Calendar = "holidays" },
	} {
		q := good
		change(&q)
		r := quartz(t, "", q)
		found(t, r, Lost, "j", "trigger", want)
		noSecrets(t, r)
	}
	q := good
	q.RepeatCount, q.Next = 0, ticks(now.Add(-time.Hour))
	found(t, quartz(t, "", q), Lost, "j", "NEXT_FIRE_TIME", "make up for the run")
	q = good
	q.State = "ERROR"
	found(t, quartz(t, "", q), Changed, "j", "TRIGGER_STATE", "disabled")
	q.State = "DELETED"
	require.Empty(t, quartz(t, "", q).Jobs[0].Schedules)
	_, err := Quartz(QuartzStore{}, Options{Now: now, Zone: "Mars"})
	require.Error(t, err)
}

// The columns of a trigger are numbers and texts without limits.
func FuzzQuartz(f *testing.F) {
	const ticks = 639000000000000000
	f.Add("CRON", "WAITING", "0 0 12 * * ?", "Europe/Berlin", int64(1767225600000), int64(0), int64(5), int64(0), int64(0), "", "", "")
	f.Add("DAILY_I", "WAITING", "", "UTC", int64(ticks), int64(math.MaxInt64), int64(7), int64(0), int64(math.MaxInt64), "MINUTE", "1,2,3", "8,0,0,18,0,0")
	f.Add("CAL_INT", "COMPLETE", "", "Europe/Berlin", int64(ticks), int64(0), int64(7), int64(0), int64(0), "MONTH", "", "")
	f.Add("RECUR", "PAUSED", "", "Europe/Berlin", int64(ticks), int64(0), int64(0), int64(0), int64(0), "FREQ=DAILY;COUNT=5", "", "")
	f.Add("SIMPLE", "WAITING", "", "", int64(ticks), int64(0), int64(math.MaxInt64), int64(math.MaxInt64/1000*1000), int64(0), "", "", "")
	f.Fuzz(func(t *testing.T, kind, state, line, zone string, start, end, first, second, third int64, text1, text2, text3 string) {
		trigger := QuartzTrigger{Name: "t", Type: kind, State: state, Cron: line, Zone: zone, Start: start, End: end, RepeatCount: first, Interval: second,
			Int1: first, Int2: second, Long1: third, Text1: text1, Text2: text2, Text3: text3}
		var r *Result
		var err error
		bounds.Allocations(t, len(kind+state+line+zone+text1+text2+text3), fuzzFixed, fuzzPerByte, func() {
			if r, err = Quartz(QuartzStore{Jobs: []QuartzJob{{Name: "j", Class: "a.b, c", Triggers: []QuartzTrigger{trigger}}}}, Options{Now: now}); err == nil {
				r.Script()
			}
		})
		require.NoError(t, err)
		for _, s := range r.Jobs[0].Schedules {
			// More runs than can be counted are no reason for an end before the first one.
			require.False(t, kind == "DAILY_I" && state == "WAITING" && third > maxCounted && second == 0, s.Spec)
		}
	})
}
