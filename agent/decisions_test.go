package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/schedule/firing"
)

// newYear is the time at which the schedules of these tests were made.
var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// dueSchedule returns a schedule of every minute.
func dueSchedule(id controldb.ScheduleID, due time.Time, catchUp string) controldb.DueSchedule {
	return controldb.DueSchedule{
		ID: id, Name: "minutely", Kind: "cron5", Spec: "* * * * *", CatchUp: catchUp, Revision: 5,
		Defined: newYear, Activated: newYear, DueAt: due, Executions: 1,
	}
}

func newTestScheduler(t *testing.T) *scheduler {
	t.Helper()
	cfg, err := Config{MaxConcurrentTargets: 1}.withDefaults()
	require.NoError(t, err)
	return newScheduler(nil, controldb.Term{}, &crowd{}, make(chan struct{}, 1), cfg, zap.NewNop())
}

func newDecisions() decisions {
	return decisions{dueNow: map[controldb.ScheduleID]bool{}, dueAgain: map[controldb.ScheduleID]bool{}}
}

// One call creates a thousand runs at most; the next round follows at once, and decides on the
// rest.
func TestDecisionsOfOneCallAreBounded(t *testing.T) {
	t.Parallel()
	s, d := newTestScheduler(t), newDecisions()
	due := controldb.DueSchedules{Now: newYear.Add(5 * time.Hour)}
	for id := range controldb.ScheduleID(12) {
		due.Schedules = append(due.Schedules, dueSchedule(id+1, newYear.Add(time.Hour), "all"))
		due.Backfills = append(due.Backfills, controldb.OpenBackfill{ID: 1, From: newYear, To: due.Now, Schedule: due.Schedules[id]})
	}
	s.decideSchedules(&d, due, firing.Calendars{})
	require.Len(t, d.firings, 10, "a hundred runs each")
	require.True(t, d.more)
	require.Len(t, d.dueNow, 10)
	require.Len(t, d.dueAgain, 10)

	d.more = false
	s.decideBackfills(&d, due, firing.Calendars{})
	require.Len(t, d.firings, 10)
	require.True(t, d.more)
}

func TestDecisionsOnSchedules(t *testing.T) {
	t.Parallel()
	s, d := newTestScheduler(t), newDecisions()
	unknown := dueSchedule(2, newYear.Add(time.Hour), "")
	unknown.Kind = "of a newer version"
	own := controldb.DueSchedule{
		ID: 4, Kind: "elastic", IntervalType: "Minutes", IntervalCount: 7, Anchor: newYear, Defined: newYear, Activated: newYear,
		DueAt: newYear.Add(63 * time.Minute), TimeZone: "UTC",
	}
	s.decideSchedules(&d, controldb.DueSchedules{
		Now:       newYear.Add(63*time.Minute + time.Second),
		Schedules: []controldb.DueSchedule{dueSchedule(1, newYear.Add(time.Hour), ""), unknown, unknown, own},
	}, firing.Calendars{})
	require.Len(t, d.firings, 2)
	f := d.firings[0]
	require.Equal(t, controldb.ScheduleID(1), f.Schedule)
	require.Equal(t, 5, f.Revision)
	require.Equal(t, newYear.Add(time.Hour), f.DueAt)
	require.Equal(t, []time.Time{newYear.Add(62 * time.Minute), newYear.Add(63 * time.Minute)}, f.Runs, "the last missed one, and one on time")
	require.Len(t, f.Skips, 1)
	require.Equal(t, newYear.Add(time.Hour), f.Skips[0].DueAt)
	require.Equal(t, 2, f.Skips[0].Count)
	require.Equal(t, controldb.SkipCatchUp, f.Skips[0].Cause)
	require.Equal(t, newYear.Add(63*time.Minute), f.LastDueAt)
	require.Equal(t, newYear.Add(64*time.Minute), f.NextDueAt)
	require.Equal(t, newYear.Add(70*time.Minute), d.firings[1].NextDueAt, "the schedule of jobs.sp_add_job")
	require.Empty(t, d.dueAgain)
	require.Equal(t, map[controldb.ScheduleID]bool{1: true, 4: true}, d.dueNow)
	require.True(t, d.more, "schedules of other kinds may not have been listed")
	require.Equal(t, []string{"of a newer version"}, s.unknownKinds)
}

func TestDecisionsOnBackfills(t *testing.T) {
	t.Parallel()
	s, d := newTestScheduler(t), newDecisions()
	unknown, invalid := dueSchedule(3, time.Time{}, ""), dueSchedule(4, time.Time{}, "")
	unknown.Kind, invalid.Spec = "of a newer version", "* * *"
	from := newYear.Add(-time.Hour)
	s.decideBackfills(&d, controldb.DueSchedules{Now: newYear, Backfills: []controldb.OpenBackfill{
		{ID: 1, From: from, To: newYear.Add(time.Hour), Schedule: dueSchedule(1, time.Time{}, "")},
		{ID: 2, From: from, To: newYear, NextAt: newYear.Add(-2 * time.Minute), Schedule: dueSchedule(2, time.Time{}, "")},
		{ID: 3, From: from, To: newYear, Schedule: unknown},
		{ID: 4, From: from, To: newYear, Schedule: invalid},
	}}, firing.Calendars{})
	require.Len(t, d.firings, 3)
	begins, goesOn, faulted := d.firings[0], d.firings[1], d.firings[2]
	require.Zero(t, begins.DueAt)
	require.Equal(t, controldb.BackfillID(1), begins.Backfill)
	require.Len(t, begins.Runs, 100)
	require.Equal(t, from, begins.Runs[0], "the first instant of the range")
	require.Equal(t, from.Add(100*time.Minute), begins.NextDueAt)
	require.Equal(t, newYear.Add(-2*time.Minute), goesOn.DueAt)
	require.Equal(t, []time.Time{newYear.Add(-2 * time.Minute), newYear.Add(-time.Minute), newYear}, goesOn.Runs)
	require.Zero(t, goesOn.NextDueAt)
	require.Equal(t, controldb.BackfillID(4), faulted.Backfill)
	require.Empty(t, faulted.Runs)
	require.NotEmpty(t, faulted.Error)
	require.Equal(t, map[controldb.ScheduleID]bool{1: true}, d.dueAgain)
	require.Empty(t, d.dueNow)
	require.True(t, d.more)
	require.Equal(t, []string{"of a newer version"}, s.unknownKinds)
}
