package script

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/tsql"
)

// scriptSchedules returns T-SQL that recreates a job's named schedules and the calendars that they
// name. The script does not change existing calendars. On a server without such schedules, it
// prints a message and continues.
func scriptSchedules(ctx context.Context, store *controldb.Store, job string) (string, error) {
	list, err := timetable.On(store).List(ctx, timetable.Filter{JobName: job})
	if err != nil {
		return "", err
	}
	calendars, err := timetable.On(store).Calendars(ctx, "")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	batch := func(what, condition, calls string) {
		b.WriteString(guarded("jobs.sp_add_schedule", "This server has no "+what+".", condition+"\nBEGIN\n"+calls+"\nEND;"))
	}
	for _, c := range calendars {
		named := false
		for _, s := range list {
			named = named || slices.Contains(schedule.CalendarNames(s.Spec), c.Name)
		}
		if named {
			batch("calendars", fmt.Sprintf(" IF NOT EXISTS (SELECT 1 FROM jobs.calendars WHERE calendar_name = %s)",
				tsql.Literal(c.Name)),
				tsql.NewCall("jobs.sp_add_calendar").Text("calendar_name", c.Name).LongText("spec", "spec", c.Spec).String())
		}
	}
	for _, s := range list {
		if s.Name == "" { // the script of the job has it
			if s.Parameters != "" {
				batch("parameters of runs", "", tsql.NewCall("jobs.sp_update_schedule").Text("job_name", job).
					Text("schedule_name", "").Text("parameters", s.Parameters).String())
			}
			continue
		}
		spec := schedule.Settled(schedule.Kind(s.Kind), s.Spec, schedule.Options{Zone: lookup.GivenZone(s),
			Created: s.DefinedTime})
		call := tsql.NewCall("jobs.sp_add_schedule").Text("job_name", job).Text("schedule_name", s.Name).Text("kind", s.Kind).LongText("spec", "spec", spec)
		settings := s.ScheduleSettings
		settings.Zone, settings.Enabled = lookup.GivenZone(s), s.Enabled && s.State != "Completed"
		for i := range model.ScheduleFields {
			addSetting(call, &model.ScheduleFields[i], &settings)
		}
		call.Optional("parameters", s.Parameters)
		calls := call.String()
		if spec != s.Spec {
			calls = "-- Its text counts from when it was given: the instant stands for it.\n" + calls
		}
		if s.State == "Completed" {
			// Enabled, the schedule would start again: a past instant may start a run at once, and
			// a count starts from zero.
			calls = "-- It is Completed where this was written, and disabled here, so that it does not begin anew.\n" + calls
		}
		if s.Paused {
			calls += "\n" + tsql.NewCall("jobs.sp_pause_schedule").Text("job_name", job).Text("schedule_name",
				s.Name).Number("paused", 1).Optional("note", s.PauseNote).String()
		}
		batch("schedules beside a job's own", "", calls)
	}
	return b.String(), nil
}
