package definitions

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/schedule"
)

func TestCalendar(t *testing.T) {
	t.Parallel()
	zone, err := schedule.LoadZone("Europe/Berlin")
	require.NoError(t, err)
	now := time.Date(2026, 10, 20, 12, 0, 0, 0, time.UTC)
	month := monthOf("2026-10", now, zone)
	rule, err := schedule.Parse(schedule.KindCron5, []byte("30 2 * * *"), schedule.Options{Zone: "Europe/Berlin"})
	require.NoError(t, err)
	c := newCalendar(month, now, zone)
	m := dayMarks{zone: zone, marks: map[string]*calendarMark{}}
	m.add(now.AddDate(0, 0, -1), "bad", "", "Failed", "/runs/1", 1)
	m.add(now.AddDate(0, 0, -2), "ok", "", "Succeeded", "/runs/2", 1)
	m.add(now.AddDate(0, 0, -2).Add(time.Hour), "ok", "", "Succeeded", "/runs/3", 1)
	s := timetable.Schedule{ScheduleSettings: model.ScheduleSettings{Enabled: true},
		ScheduleProgress: model.ScheduleProgress{NextDue: time.Date(2026, 10, 21, 0, 30, 0, 0, time.UTC)}}
	require.False(t, m.addDue(rule, s, month, month.AddDate(0, 1, 0), now))
	c.fill(m, month)
	require.Equal(t, "October 2026", c.Title)
	require.Len(t, c.Weeks, 5)
	days := map[int]calendarDay{}
	for _, w := range c.Weeks {
		require.Len(t, w, 7)
		for _, d := range w {
			if !d.Outside {
				days[d.Day] = d
			}
		}
	}
	require.Len(t, days, 31)
	require.True(t, days[20].Today)
	require.Equal(t, []calendarMark{{Class: "bad", Count: 1, Text: "Failed", Times: "14:00", Href: "/runs/1"}}, days[19].Marks)
	require.Equal(t, []calendarMark{{Class: "ok", Count: 2, Text: "Succeeded", Times: "14:00 to 15:00"}}, days[18].Marks)
	for d := 21; d <= 31; d++ {
		require.Equal(t, []calendarMark{{Class: "wait", Icon: "clock", Count: 1, Text: "due", Times: "02:30"}}, days[d].Marks, "%d: clocks go back on the 25th", d)
	}
	s.Paused = true
	require.False(t, m.addDue(rule, s, month, month.AddDate(0, 1, 0), now))

	// February of 2027 begins on a Monday and has four weeks.
	require.Len(t, newCalendar(monthOf("2027-02", now, zone), now, zone).Weeks, 4)
	require.Equal(t, "October 2026", newCalendar(monthOf("nonsense", now, zone), now, zone).Title)
}

func TestNextRows(t *testing.T) {
	t.Parallel()
	zone, err := schedule.LoadZone("Europe/Berlin")
	require.NoError(t, err)
	rule, err := schedule.Parse(schedule.KindCron5, []byte("0 12 * * *"), schedule.Options{Zone: "Europe/Berlin"})
	require.NoError(t, err)
	due := time.Date(2026, 10, 24, 10, 0, 0, 0, time.UTC)
	rows := nextRows(timetable.Schedule{State: "Enabled", ScheduleProgress: model.ScheduleProgress{NextDue: due}}, rule, zone, due)
	require.Len(t, rows, nextInstants)
	require.Equal(t, instantRow{At: due, InZone: "Sat 24 Oct 2026 12:00 CEST"}, rows[0])
	require.Equal(t, "clocks have gone back by 1\u00a0h", rows[1].Change)
	require.Empty(t, rows[2].Change)
	require.Empty(t, nextRows(timetable.Schedule{State: "Completed"}, rule, zone, due))
	require.Equal(t, "clocks have gone forward by 30\u00a0min", clockChange(time.Date(2026, 10, 3, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 5, 0, 0, 0, 0, time.UTC), mustZone(t, "Australia/Lord_Howe")))
}

func mustZone(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := schedule.LoadZone(name)
	require.NoError(t, err)
	return zone
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	text := func(settings model.ScheduleSettings, spec string) string {
		s := timetable.Schedule{ScheduleSettings: settings}
		var plan *schedule.Plan
		if spec != "" {
			var err error
			plan, err = schedule.Parse(schedule.KindCron5, []byte(spec), schedule.Options{Uncounted: true, Created: time.Now()})
			require.NoError(t, err)
			s.Spec = spec
		}
		return strings.Join(policies(s, plan), " ")
	}
	for _, o := range model.Overlaps {
		require.Contains(t, text(model.ScheduleSettings{Overlap: o.Name}, "* * * * *"), o.Sentence)
	}
	require.Contains(t, text(model.ScheduleSettings{Overlap: "Skip", CatchUp: "window:1h"}, "* * * * *"), "not older than 1h0m0s")
	require.Contains(t, text(model.ScheduleSettings{Overlap: "Skip"}, `{"cron": "* * * * *", "catchUp": "all", "jitter": "5m", "count": 3}`),
		"all missed runs are made up. While an earlier run is active, an instant is recorded as skipped. Each run begins up to 5m0s after its instant. The delay of an instant is always the same. The schedule ends after 3 runs.")
	require.Contains(t, text(model.ScheduleSettings{Overlap: "Elastic", PauseOnFailure: true}, ""), "pauses the schedule")
}

func TestCharts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	at := func(i int, l jobs.Lifecycle, length time.Duration) run {
		r := run{ID: string(rune('a' + i)), Lifecycle: l, Created: now.Add(time.Duration(i-10) * time.Minute)}
		if length > 0 {
			r.Ended = r.Created.Add(length)
		} else {
			r.Active = true
		}
		return r
	}
	runs := []run{at(0, jobs.Succeeded, time.Second), at(1, jobs.Failed, time.Minute), at(2, jobs.Succeeded, 3*time.Second), at(3, jobs.InProgress, 0)}
	d := chart(runs, now, func(id string) string { return "/" + id })
	require.Equal(t, 3*time.Second, d.Median)
	require.Equal(t, 7*time.Minute, d.Longest)
	require.Equal(t, 1, d.Failed)
	require.Equal(t, "/d", d.Runs[0].Href, "the latest is first")
	require.Equal(t, 4, strings.Count(string(d.Picture), "<title>"))
	require.Equal(t, 1, strings.Count(string(d.Picture), `class="mark"`))
	require.Contains(t, string(d.Picture), `class="median"`)
	require.NotContains(t, string(d.Picture), "NaN")
	require.NotContains(t, string(chart(runs[:1], runs[0].Created, func(string) string { return "" }).Picture), "NaN")
	require.Contains(t, string(strip(runs)), "the latest 4 runs: 1 Failed, 1 InProgress, 2 Succeeded")
	require.Equal(t, 16, strings.Count(string(strip(runs)), `class="none"`))
	require.Contains(t, string(strip(nil)), "no runs")
	require.Contains(t, render(t, "job.html", jobData{Last: &runs[3], Durations: d}), "median")
}

// Days on which no run starts are marked, and the times of those on which some do not.
func TestBlockedDays(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	month := time.Date(2026, 12, 1, 0, 0, 0, 0, zone)
	plan, err := schedule.Parse(schedule.KindCron5, []byte(`{"cron": "0 3 * * *", "timeZone": "Europe/Berlin", "blackouts": {"calendars": [
{"dates": ["2026-12-24/2026-12-25"]}, {"weekly": [{"day": "sunday", "from": "22:00", "to": "02:00"}, {"day": "sunday", "from": "03:00", "to": "04:30"}]}]}}`), schedule.Options{})
	require.NoError(t, err)
	c := newCalendar(month, month, zone)
	c.block(plan.Blocked(month, month.AddDate(0, 1, 0)), zone, month)
	got := map[int]string{}
	for _, week := range c.Weeks {
		for _, d := range week {
			if d.Blocked != "" {
				require.False(t, d.Outside)
				got[d.Day] = d.Blocked
			}
		}
	}
	want := map[int]string{24: "all day", 25: "all day"}
	for _, sunday := range []int{6, 13, 20, 27} {
		want[sunday], want[sunday+1] = "03:00 to 04:30, 22:00 to 24:00", "00:00 to 02:00"
	}
	require.Equal(t, want, got)
}
