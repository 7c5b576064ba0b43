package controldb_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
)

// schedule reads one schedule.
func (c *control) schedule(t *testing.T, job, name string) timetable.Schedule {
	t.Helper()
	list, err := timetable.On(c.Store).List(t.Context(), timetable.Filter{JobName: job, Name: &name})
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0]
}

// validate validates all schedules that wait for it: due at an instant, or faulted when that is
// zero.
func (c *control) validate(t *testing.T, term controldb.TermID, due time.Time) []controldb.RecordedValidation {
	t.Helper()
	var validations []controldb.Validation
	for _, s := range c.due(t).Unvalidated {
		v := controldb.Validation{
			Schedule: s.ID, Revision: s.Revision, SeenDueAt: s.DueAt, Zone: "Europe/Berlin", Engine: "test 1", Warnings: []string{"read this"},
			NextDueAt: due, NextFireAt: due.Add(time.Second), Upcoming: []time.Time{due, due.Add(time.Hour)},
		}
		if due.IsZero() {
			v.Errors = map[string]any{
				"errors": []map[string]string{{"path": "hour", "value": "99", "message": "want 0 to 23"}},
			}
		}
		validations = append(validations, v)
	}
	recorded, err := c.RecordValidations(t.Context(), term, validations)
	require.NoError(t, err)
	return recorded
}

// TestScheduleDescriptionIsCut: a description has at most 4,000 UTF-16 units, and no half of a
// character.
func TestScheduleDescriptionIsCut(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		term := c.term(t)
		for i, want := range []struct{ given, stored string }{
			{strings.Repeat("é", 4000), strings.Repeat("é", 4000)},
			{strings.Repeat("x", 3999) + "yz", strings.Repeat("x", 3999) + "…"},
			{strings.Repeat("x", 3998) + "😀", strings.Repeat("x", 3998) + "😀"},
			{strings.Repeat("x", 3998) + "😀y", strings.Repeat("x", 3998) + "…"},
		} {
			name := fmt.Sprint(i)
			id, err := timetable.On(c.Store).Add(t.Context(), timetable.Spec{JobName: "j", Name: name, Kind: new("cron5"), Spec: new("0 2 * * *")})
			require.NoError(t, err)
			_, err = c.RecordValidations(t.Context(), term, []controldb.Validation{{
				Schedule: id, Revision: 2, Engine: "test 1", Zone: "UTC", NextDueAt: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), Description: want.given,
			}})
			require.NoError(t, err)
			require.Equal(t, want.stored, c.schedule(t, "j", name).Description)
		}
	})
}

func TestNamedSchedule(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.job(t, "j", nil)
		term := c.term(t)
		due := time.Date(2999, 1, 1, 2, 0, 0, 0, time.UTC)
		id, err := timetable.On(c.Store).Add(ctx, timetable.Spec{
			JobName: "j", Name: "nightly", Kind: new("cron5"), Spec: new("0 2 * * *"), TimeZone: ptr("Europe/Berlin"), CatchUp: ptr("all"), Overlap: ptr("allowall"),
			PauseOnFailure: ptr(true), Enabled: ptr(true),
		})
		require.NoError(t, err)
		waiting := c.due(t).Unvalidated
		require.Len(t, waiting, 1)
		require.Equal(t, controldb.DueSchedule{
			ID: id, JobID: waiting[0].JobID, JobName: "j", Name: "nightly", Kind: "cron5", Spec: "0 2 * * *", TimeZone: "Europe/Berlin", CatchUp: "all",
			Overlap: "AllowAll", Start: waiting[0].Start, End: waiting[0].End, Defined: waiting[0].Defined, Activated: waiting[0].Defined, Revision: 2,
		}, waiting[0])

		recorded := c.validate(t, term, due)
		require.Equal(t, []controldb.RecordedValidation{{
			Schedule: id, JobName: "j", ScheduleName: "nightly", Result: controldb.ValidationRecorded, State: "Enabled", NextDueAt: due,
		}}, recorded)
		require.Empty(t, c.due(t).Unvalidated)
		require.Equal(t, due.Add(time.Second), c.due(t).NextFireAt)
		late, err := c.RecordValidations(ctx, term, []controldb.Validation{{Schedule: id, Revision: 1, Engine: "test 1"}})
		require.NoError(t, err)
		require.Equal(t, controldb.ValidationStale, late[0].Result, "a validation of an earlier revision")
		s := c.schedule(t, "j", "nightly")
		require.Equal(t, timetable.Schedule{
			JobName: "j", Name: "nightly", ID: id, Kind: "cron5", Spec: "0 2 * * *", TimeZone: "Europe/Berlin", State: "Enabled",
			ScheduleSettings: model.ScheduleSettings{Enabled: true, CatchUp: "all", Overlap: "AllowAll", PauseOnFailure: true},
			ScheduleProgress: model.ScheduleProgress{NextDue: due, Upcoming: []time.Time{due, due.Add(time.Hour)}}, ValidatedTime: s.ValidatedTime, Engine: "test 1",
			Warnings: []string{"read this"}, CreatedTime: s.CreatedTime, UpdatedTime: s.UpdatedTime,
			DefinedTime: s.CreatedTime, End: s.End, JobID: waiting[0].JobID,
		}, s)
		require.False(t, s.ValidatedTime.IsZero())

		n, remaining, err := c.RecheckSchedules(ctx, term, "test 2")
		require.NoError(t, err)
		require.False(t, remaining)
		require.Equal(t, 1, n)
		later := due.Add(time.Hour)
		recorded = c.validate(t, term, later)
		require.Equal(t, due, recorded[0].OldDueAt)
		require.Equal(t, later, recorded[0].NextDueAt)

		firing := controldb.Firing{
			Schedule: id, Revision: 2, DueAt: later, Runs: []time.Time{later, later.Add(time.Hour)}, Limit: 2,
			Skips: []controldb.Skip{
				{DueAt: later.Add(-time.Hour), Count: 7, Cause: controldb.SkipCatchUp, Reason: "missed"},
			}, LastDueAt: later.Add(2 * time.Hour),
			NextDueAt: later.Add(3 * time.Hour), Upcoming: []time.Time{later.Add(3 * time.Hour)},
		}
		fired, err := c.FireSchedules(ctx, term, []controldb.Firing{firing})
		require.NoError(t, err)
		require.Len(t, fired, 1)
		require.Equal(t, controldb.FiredStale, fired[0].Result, "it is not due yet: an agent may have read it while another one fired it")
		c.exec(t, `UPDATE jobs_internal.schedules SET next_fire_at = SYSUTCDATETIME() WHERE schedule_id = @p1;`, int64(id))
		fired, err = c.FireSchedules(ctx, term, []controldb.Firing{firing})
		require.NoError(t, err)
		require.Len(t, fired, 2)
		for _, f := range fired {
			require.Equal(t, controldb.FiredStarted, f.Result)
			require.NotEqual(t, uuid.Nil, f.JobExecutionID)
		}
		s = c.schedule(t, "j", "nightly")
		require.Equal(t, "Completed", s.State, "the second run used the count up")
		require.Equal(t, "No due instant is left.", s.Reason)
		require.Equal(t, fired[1].JobExecutionID, s.LastExecution)
		require.Equal(t, "Created", s.LastLifecycle)
		require.Equal(t, later.Add(2*time.Hour), s.LastDue)
		require.Equal(t, []int64{2, 7, 0, 0}, []int64{s.Executions, s.SkippedByCatchUp, s.SkippedByOverlap, s.SkippedOtherwise})

		require.Equal(
			t,
			[]string{
				fmt.Sprintf("j|nightly|%d|NULL|Created|true|%s", id, strings.ToUpper(fired[1].JobExecutionID.String())),
			},
			c.rows(
				t,
				`SELECT TOP (1) job_name, schedule_name, schedule_id, backfill_id, lifecycle, is_active, CONVERT(NVARCHAR(36), job_execution_id)
FROM jobs.schedule_executions WHERE due_time = @p1`,
				later.Add(time.Hour),
			),
		)

		skips, err := timetable.On(c.Store).Skips(ctx, timetable.SkipFilter{JobName: "j", Name: ptr("nightly"), Cause: "CatchUp", Since: due, Limit: 1})
		require.NoError(t, err)
		require.Len(t, skips, 1)
		require.Equal(t, timetable.Skip{
			JobName: "j", Name: "nightly", Schedule: id, DueAt: later.Add(-time.Hour), Count: 7, Cause: "CatchUp", Reason: "missed", RecordedTime: skips[0].RecordedTime,
		}, skips[0])

		require.NoError(t, timetable.On(c.Store).Update(ctx, timetable.Spec{
			JobName: "j", Name: "nightly", NewName: ptr("hourly"), Kind: ptr("cron6"), Spec: ptr("0 99 * * * *"), TimeZone: ptr(""), CatchUp: ptr(""), Overlap: ptr(""),
			PauseOnFailure: ptr(false), Enabled: ptr(true),
		}))
		require.Equal(t, "Faulted", c.validate(t, term, time.Time{})[0].State)
		s = c.schedule(t, "j", "hourly")
		require.JSONEq(t, `{"errors": [{"path": "hour", "value": "99", "message": "want 0 to 23"}]}`, string(s.ValidationErrors))
		require.True(t, json.Valid(s.ValidationErrors))
		require.Equal(t, "Invalid hour 99: want 0 to 23", s.Reason)
		require.Equal(t, "Skip", s.Overlap)
		require.Empty(t, s.CatchUp)
		faulted, err := timetable.On(c.Store).List(ctx, timetable.Filter{NamedOnly: true, State: "Faulted", Limit: 1})
		require.NoError(t, err)
		require.Len(t, faulted, 1)

		require.NoError(t, timetable.On(c.Store).Pause(ctx, "j", "hourly", true, "why not"))
		require.NoError(t, timetable.On(c.Store).Enable(ctx, "j", "hourly", false))
		s = c.schedule(t, "j", "hourly")
		require.Equal(t, []any{true, "why not", false, "Disabled"}, []any{s.Paused, s.PauseNote, s.Enabled, s.State})
		require.NoError(t, timetable.On(c.Store).Delete(ctx, "j", "hourly"))
		require.ErrorIs(t, timetable.On(c.Store).Delete(ctx, "j", "hourly"), dberror.ErrScheduleNotFound)
		skips, err = timetable.On(c.Store).Skips(ctx, timetable.SkipFilter{})
		require.NoError(t, err)
		require.True(t, skips[0].Deleted)
	})
}

func TestBackfill(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.job(t, "j", nil)
		term := c.term(t)
		_, err := timetable.On(c.Store).Add(ctx, timetable.Spec{JobName: "j", Name: "s", Kind: new("cron5"), Spec: new("0 * * * *")})
		require.NoError(t, err)
		from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		id, err := timetable.On(c.Store).Backfill(
			ctx,
			timetable.BackfillRequest{
				JobName: "j",
				Name:    "s",
				From:    from,
				To:      from.Add(2 * time.Hour),
				Overlap: "bufferall",
			},
		)
		require.NoError(t, err)
		require.Empty(t, c.due(t).Backfills, "the backfill waits for validation of the schedule")
		watch, err := timetable.On(c.Store).BackfillWatch(ctx, id)
		require.NoError(t, err)
		require.Equal(t, timetable.BackfillWatch{JobName: "j", Name: "s", State: "Open", LiveAgents: 1, Runs: map[jobs.Lifecycle]int{}}, watch)
		c.validate(t, term, time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC))
		open := c.due(t).Backfills
		require.Len(t, open, 1)
		require.Equal(
			t,
			controldb.OpenBackfill{
				ID:       id,
				From:     from,
				To:       from.Add(2 * time.Hour),
				Overlap:  "BufferAll",
				Schedule: open[0].Schedule,
			},
			open[0],
		)
		require.Equal(t, "0 * * * *", open[0].Schedule.Spec)

		firing := controldb.Firing{
			Schedule:  open[0].Schedule.ID,
			Backfill:  id,
			Runs:      []time.Time{from, from.Add(time.Hour)},
			NextDueAt: from.Add(2 * time.Hour),
		}
		fired, err := c.FireSchedules(ctx, term, []controldb.Firing{firing})
		require.NoError(t, err)
		require.Equal(t, []string{controldb.FiredStarted, controldb.FiredBuffered}, []string{fired[0].Result, fired[1].Result})
		fired, err = c.FireSchedules(ctx, term, []controldb.Firing{firing})
		require.NoError(t, err)
		require.Equal(t, controldb.FiredStale, fired[0].Result)
		require.True(t, fired[0].DueAt.IsZero())
		require.Empty(t, c.due(t).Backfills, "its instants wait to run one after the other")
		watch, err = timetable.On(c.Store).BackfillWatch(ctx, id)
		require.NoError(t, err)
		require.NotZero(t, watch.Active)
		require.Equal(t, timetable.BackfillWatch{
			JobName: "j", Name: "s", State: "Open", NextAt: from.Add(2 * time.Hour), Buffered: 1,
			Runs: map[jobs.Lifecycle]int{jobs.Created: 1}, ActiveRuns: 1, Active: watch.Active, LiveAgents: 1,
		}, watch)
		list, err := timetable.On(c.Store).Backfills(ctx, "j", ptr("s"), 1)
		require.NoError(t, err)
		require.Equal(t, from.Add(2*time.Hour), list[0].Next)
		_, err = c.FireSchedules(
			ctx,
			term,
			[]controldb.Firing{
				{Schedule: firing.Schedule, Backfill: id, DueAt: from.Add(2 * time.Hour), Error: "it cannot go on"},
			},
		)
		require.NoError(t, err)
		list, err = timetable.On(c.Store).Backfills(ctx, "j", ptr("s"), 1)
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, timetable.Backfill{
			JobName: "j", Name: "s", EndTime: list[0].EndTime, Backfill: model.Backfill{
				ID: int64(id), State: "Faulted", Reason: "it cannot go on", From: from, To: from.Add(2 * time.Hour), Overlap: "BufferAll", Started: 1, Buffered: 1,
				RequestedBy: list[0].RequestedBy, Requested: list[0].Requested,
			},
		}, list[0])
		require.NoError(t, timetable.On(c.Store).CancelBackfill(ctx, id))
		list, err = timetable.On(c.Store).Backfills(ctx, "j", ptr("s"), 1)
		require.NoError(t, err)
		require.Equal(t, []int64{1, 0, 1}, []int64{list[0].Started, list[0].Buffered, list[0].Skipped})
		require.ErrorIs(t, timetable.On(c.Store).CancelBackfill(ctx, id+1), dberror.ErrBackfillNotFound)
		watch, err = timetable.On(c.Store).BackfillWatch(ctx, id)
		require.NoError(t, err)
		require.Equal(t, "Canceled", watch.State)
		require.Equal(t, 1, watch.ActiveRuns)
		require.False(t, watch.Ended())
		_, err = timetable.On(c.Store).BackfillWatch(ctx, id+1)
		require.ErrorIs(t, err, dberror.ErrBackfillNotFound)
		_, err = timetable.On(c.Store).Backfill(ctx, timetable.BackfillRequest{JobName: "j", Name: "no", From: from, To: from})
		require.ErrorIs(t, err, dberror.ErrScheduleNotFound)
	})
}

func TestCalendars(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.job(t, "j", nil)
		require.NoError(t, timetable.On(c.Store).AddCalendar(ctx, "holidays", `{"dates": ["2026-12-24"]}`))
		require.ErrorIs(t, timetable.On(c.Store).AddCalendar(ctx, "holidays", `{}`), dberror.ErrCalendarExists)
		require.NoError(t, timetable.On(c.Store).UpdateCalendar(ctx, "holidays", `{"dates": ["2026-12-25"]}`))
		require.ErrorIs(t, timetable.On(c.Store).UpdateCalendar(ctx, "none", `{}`), dberror.ErrCalendarNotFound)
		_, err := timetable.On(c.Store).Add(
			ctx,
			timetable.Spec{
				JobName: "j",
				Name:    "s",
				Kind:    new("cron5"),
				Spec:    new(`{"cron": "0 * * * *", "blackouts": {"calendars": ["holidays"]}}`),
			},
		)
		require.NoError(t, err)
		require.Equal(t, []controldb.CalendarText{{Name: "holidays", Spec: `{"dates": ["2026-12-25"]}`}}, c.due(t).Calendars)
		require.Equal(t, dberror.KindConflict, dberror.KindOf(timetable.On(c.Store).DeleteCalendar(ctx, "holidays")))
		require.NoError(t, timetable.On(c.Store).Delete(ctx, "j", "s"))
		require.Empty(t, c.due(t).Calendars)
		list, err := timetable.On(c.Store).Calendars(ctx, "holidays")
		require.NoError(t, err)
		require.Equal(
			t,
			[]timetable.Calendar{
				{
					Name:        "holidays",
					Spec:        `{"dates": ["2026-12-25"]}`,
					CreatedTime: list[0].CreatedTime,
					UpdatedTime: list[0].UpdatedTime,
				},
			},
			list,
		)
		require.NoError(t, timetable.On(c.Store).DeleteCalendar(ctx, "holidays"))
		list, err = timetable.On(c.Store).Calendars(ctx, "")
		require.NoError(t, err)
		require.Empty(t, list)
	})
}

// TestOutage: instants due before every current term fell into a period without agents.
func TestOutage(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.job(t, "j", nil)
		require.NoError(t, c.EndTerm(ctx, c.term(t)))
		require.NoError(t, catalog.On(c.Store).UpdateJob(ctx, model.JobSpec{Name: "j", Enabled: ptr(true)}))
		term := c.term(t)
		due := c.due(t)
		require.Len(t, due.Schedules, 1)
		require.Equal(
			t,
			c.rows(t, `SELECT CONVERT(NVARCHAR(33), ended_at, 126) FROM jobs_internal.terms WHERE term_id <> @p1`, term.Number)[0][:26],
			due.LastWorkedAt.Format("2006-01-02T15:04:05.000000"),
		)
		require.Equal(
			t,
			c.rows(t, `SELECT CONVERT(NVARCHAR(33), started_at, 126) FROM jobs_internal.terms WHERE term_id = @p1`, term.Number)[0][:26],
			due.WorkingSince.Format("2006-01-02T15:04:05.000000"),
		)
		require.True(t, due.LastWorkedAt.Before(due.Schedules[0].DueAt))
		require.False(t, due.WorkingSince.Before(due.Schedules[0].DueAt))
	})
}
