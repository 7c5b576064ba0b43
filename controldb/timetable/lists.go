package timetable

import (
	"context"
	"time"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// JobSchedules sums up the schedules of a job.
type JobSchedules struct {
	JobName string `db:"job_name"`
	// Active is the number of schedules that are enabled and not paused, Paused of those that are
	// paused, and Faulted of those whose definition is invalid.
	Active  int `db:"active"`
	Paused  int `db:"paused"`
	Faulted int `db:"faulted"`
	// Defined is the number of schedules that somebody has defined.
	Defined int `db:"defined"`
	// NextDue is the earliest next instant of the active ones; zero means none.
	NextDue time.Time `db:"next_due_time"`
}

// OfJobs sums up the schedules of some jobs, by job.
func (s Store) OfJobs(ctx context.Context, names []string) ([]JobSchedules, error) {
	if len(names) == 0 {
		return nil, nil
	}
	w := call.NewFilter(0)
	call.In(w, "job_name", names)
	return call.SelectAll[JobSchedules](ctx, s.conn, "sum up schedules", `SELECT TOP (@p1) job_name,
    SUM(CASE WHEN enabled = 1 AND paused = 0 AND state = N'Enabled' THEN 1 ELSE 0 END) AS active,
    SUM(CASE WHEN paused = 1 THEN 1 ELSE 0 END) AS paused,
    SUM(CASE WHEN state = N'Faulted' THEN 1 ELSE 0 END) AS faulted,
    SUM(CASE WHEN `+definedSchedule+` THEN 1 ELSE 0 END) AS defined,
    MIN(CASE WHEN enabled = 1 AND paused = 0 AND state = N'Enabled' THEN next_due_time END) AS next_due_time
FROM jobs.schedules`+w.Text()+"\nGROUP BY job_name\nORDER BY job_name;", w.Args...)
}

// State selects schedules by what people look for.
type State string

// The states of [Store.Find].
const (
	Active    State = "active"
	Paused    State = "paused"
	Faulted   State = "faulted"
	Disabled  State = "disabled"
	Completed State = "completed"
	// Due are those with a next instant, the earliest first.
	Due State = "due"
)

// Search restricts [Store.Find]. The zero value means all schedules but the job's own
// definitions that were never used.
type Search struct {
	State State
	// Search is a part of the name of the job or of the schedule.
	Search string
	// DueBefore bounds the next instant of Due; zero means no bound.
	DueBefore time.Time
	// JobName restricts to one job.
	JobName string
}

// Key is the place of a schedule in a list: by job and name, and for Due by its
// next instant and id.
type Key struct {
	JobName, Name string
	Due           time.Time
	ID            controldb.ScheduleID
}

// Key is the place of the schedule in the lists of [Store.Find].
func (s Schedule) Key() Key {
	return Key{JobName: s.JobName, Name: s.Name, Due: s.NextDue, ID: s.ID}
}

// Find lists schedules by job and name; those of Due by their next
// instants.
//
// Plan: schedules with their jobs. There are as many as people have defined; the history is not
// read.
func (s Store) Find(ctx context.Context, f Search, p controldb.Page[Key]) ([]Schedule, error) {
	w := call.NewFilter(p.Top)
	w.Add("job_name NOT LIKE N'jobagent$%%'")
	switch f.State {
	case Active:
		w.Add("enabled = 1 AND paused = 0 AND state = N'Enabled'")
	case Paused:
		w.Add("paused = 1")
	case Faulted:
		w.Add("state = N'Faulted'")
	case Completed:
		w.Add("state = N'Completed'")
	case Disabled:
		w.Add("enabled = 0 AND paused = 0")
		w.Add(definedSchedule)
	case Due:
		w.Add("enabled = 1 AND paused = 0 AND next_due_time IS NOT NULL")
		if !f.DueBefore.IsZero() {
			w.Add("next_due_time < %s", call.Datetime2(f.DueBefore))
		}
	default:
		w.Add(definedSchedule)
	}
	if f.JobName != "" {
		w.Add("job_name = %s", f.JobName)
	}
	if f.Search != "" {
		w.Add("(CHARINDEX(%s, job_name) > 0 OR CHARINDEX(%s, schedule_name) > 0)", f.Search, f.Search)
	}
	order := "job_name, schedule_name"
	if f.State == Due {
		order = "next_due_time, schedule_id"
	}
	switch after := p.After; {
	case after != nil && f.State == Due:
		at := call.Datetime2(after.Due)
		w.Add("(next_due_time > %s OR (next_due_time = %s AND schedule_id > %s))", at, at, int64(after.ID))
	case after != nil:
		w.Add("(job_name > %s OR (job_name = %s AND schedule_name > %s))", after.JobName, after.JobName, after.Name)
	}
	return call.SelectAll[Schedule](ctx, s.conn, "find schedules", `SELECT `+columns+`
FROM jobs.schedules`+w.Text()+"\nORDER BY "+order+p.Text(w)+";", w.Args...)
}

// SkipsOf lists the skipped instants of a schedule in [from, to), the latest first.
//
// Plan: the keys of UQ_schedule_skips_due_at in the range, each with its row.
func (s Store) SkipsOf(ctx context.Context, id controldb.ScheduleID, from, to time.Time, limit int) ([]Skip, error) {
	w := call.NewFilter(limit)
	w.Add("schedule_id = %s", int64(id))
	w.Add("due_time >= %s", call.Datetime2(from))
	w.Add("due_time < %s", call.Datetime2(to))
	return call.SelectAll[Skip](ctx, s.conn, "list skipped instants of a schedule", `SELECT TOP (@p1) job_name, schedule_name, `+isDeleted+`,
    schedule_id, due_time, skipped, cause, reason, recorded_time
FROM jobs.schedule_skips`+w.Text()+"\nORDER BY due_time DESC;", w.Args...)
}

// Defined lists the definitions of schedules, by job and name, also those of the jobs' own
// definitions, whose names are empty. Names that are not nil restrict the jobs; if there are many,
// all are read.
func (s Store) Defined(ctx context.Context, jobNames []string) ([]Schedule, error) {
	w := &call.Filter{}
	w.Jobs("job_name", jobNames)
	w.Add("job_name NOT LIKE N'jobagent$%%'")
	return call.SelectAll[Schedule](ctx, s.conn, "read schedules", `SELECT job_id, job_name, schedule_name, schedule_id, kind, spec, time_zone,
    given_time_zone, enabled, last_due_time, catch_up, overlap, pause_on_failure, parameters, interval_type, interval_count, start_time, end_time
FROM jobs.schedules`+w.Text()+"\nORDER BY job_name, schedule_name;", w.Args...)
}
