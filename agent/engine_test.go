package agent

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/schedule/firing"
)

// failingEngine panics at schedule 2, at the calendar "bad" and at windows in it.
func failingEngine() engine {
	right := newEngine()
	check := func(bad bool) {
		if bad {
			panic("index out of range")
		}
	}
	return engine{
		validate: func(d firing.Definition, c firing.Calendars, now time.Time) (firing.Validation, error) {
			check(d.ID == 2)
			return right.validate(d, c, now)
		},
		decide: func(d firing.Definition, c firing.Calendars, r firing.Round) (firing.Decision, error) {
			check(d.ID == 2)
			return right.decide(d, c, r)
		},
		backfill: func(d firing.Definition, c firing.Calendars, from, to time.Time) ([]time.Time, time.Time, error) {
			check(d.ID == 2)
			return right.backfill(d, c, from, to)
		},
		calendar: func(texts map[string]string) firing.Calendars {
			_, bad := texts["bad"]
			check(bad)
			return right.calendar(texts)
		},
		window: func(w controldb.Window, at time.Time) controldb.WindowState {
			check(w.Calendar == "bad")
			return right.window(w, at)
		},
	}
}

// A panic of the engine concerns one schedule, calendar or window, and not the core.
func TestPanicOfTheEngineHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	s, d := newTestScheduler(t), newDecisions()
	s.engine = failingEngine()
	due := controldb.DueSchedules{Now: newYear.Add(time.Hour)}
	for id := range controldb.ScheduleID(3) {
		sched := dueSchedule(id+1, newYear.Add(time.Hour), "")
		due.Schedules = append(due.Schedules, sched)
		due.Unvalidated = append(due.Unvalidated, sched)
		due.Backfills = append(due.Backfills, controldb.OpenBackfill{ID: controldb.BackfillID(id + 1), From: newYear, To: newYear, Schedule: sched})
	}

	validations, more := s.computeValidations(due, firing.Calendars{})
	require.False(t, more)
	require.Len(t, validations, 3)
	for i, bad := range []bool{false, true, false} {
		require.Equal(t, bad, validations[i].Errors != nil)
		require.Equal(t, bad, validations[i].NextDueAt.IsZero())
	}
	text, err := json.Marshal(validations[1].Errors)
	require.NoError(t, err)
	require.Contains(t, string(text), "internal error (index out of range)")
	require.NotContains(t, string(text), "engine_test.go", "the stack is only in the log")

	s.decideSchedules(&d, due, firing.Calendars{})
	require.Len(t, d.firings, 2)
	require.Equal(t, controldb.ScheduleID(1), d.firings[0].Schedule)
	require.Equal(t, controldb.ScheduleID(3), d.firings[1].Schedule)
	require.False(t, d.more, "the next round would find the same panic at once")

	d = newDecisions()
	s.decideBackfills(&d, due, firing.Calendars{})
	require.Len(t, d.firings, 3)
	for i, bad := range []bool{false, true, false} {
		require.Equal(t, bad, d.firings[i].Error != "")
		require.Equal(t, !bad, len(d.firings[i].Runs) == 1)
	}

	require.Empty(t, s.unknownKinds)
	require.Equal(t, map[controldb.ScheduleID]bool{2: true}, s.failed)
}

func TestPanicAtACalendar(t *testing.T) {
	t.Parallel()
	s := newTestScheduler(t)
	s.engine = failingEngine()
	always := `{"dates": ["2026-01-01"]}`
	calendars := s.readCalendars([]controldb.CalendarText{{Name: "good", Spec: always}, {Name: "bad", Spec: "{}"}})
	for name, invalid := range map[string]bool{"good": false, "bad": true} {
		d := definitionOf(dueSchedule(1, time.Time{}, ""))
		d.Executions, d.Spec = 0, `{"cron": "0 * * * *", "blackouts": {"calendars": ["`+name+`"]}}`
		v, err := firing.Validate(d, calendars, newYear)
		require.NoError(t, err)
		require.Equal(t, invalid, v.Faults != nil, name)
	}

	bad := s.windowState(controldb.Window{Calendar: "bad", Spec: always}, newYear)
	require.False(t, bad.Open)
	require.Equal(t, "bad", bad.Window.Calendar)
	require.Equal(t, "The calendar 'bad' cannot be evaluated. See the agent's log.", bad.Fault)
	good := s.windowState(controldb.Window{Calendar: "good", Spec: always}, newYear)
	require.True(t, good.Open)
	require.Empty(t, good.Fault)
}

// A stored text that the engine refuses when it is due waits for its validation. It says nothing
// about the other schedules of its kind.
func TestInvalidScheduleHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	s, d := newTestScheduler(t), newDecisions()
	invalid := dueSchedule(1, newYear.Add(time.Hour), "")
	invalid.Spec = "* * *"
	s.decideSchedules(&d, controldb.DueSchedules{
		Now: newYear.Add(time.Hour), Schedules: []controldb.DueSchedule{invalid, dueSchedule(2, newYear.Add(time.Hour), "")},
	}, firing.Calendars{})
	require.Len(t, d.firings, 1)
	require.Equal(t, controldb.ScheduleID(2), d.firings[0].Schedule)
	require.Empty(t, s.unknownKinds)
	require.False(t, d.more)
}
