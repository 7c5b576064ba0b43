package controldb

import (
	"context"
	"fmt"

	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Definitions are all definitions of a control database but system jobs, settings, credentials and
// secrets, each list by name.
type Definitions struct {
	Jobs []JobDetail
	// Steps are those of the current versions, by job and position.
	Steps []JobStep
	// Schedules include those of the jobs' own definitions, whose names are empty.
	Schedules []Schedule
	Triggers  []JobTrigger // without the numbers of their events
	Groups    []TargetGroupDetail
	Calendars []Calendar
	Windows   []TargetWindow
	Channels  []AlertChannel
	Limits    []Limit // without their use
	Alerts    []AlertRule
}

// jobNamesInQuery bounds the names in a query: each is a parameter, of which a call may have 2100.
const jobNamesInQuery = 1000

// Definitions reads all definitions with one query for each kind. Names that are not nil restrict
// the jobs; if there are many, all are read.
//
// Plan: the definitions, once each. The history is not read.
func (s *Store) Definitions(ctx context.Context, jobNames []string) (Definitions, error) {
	var d Definitions
	restrict := func(w *call.Filter, column string) {
		switch {
		case jobNames == nil || len(jobNames) > jobNamesInQuery:
		case len(jobNames) == 0:
			w.Add("1 = 0")
		default:
			call.In(w, column, jobNames)
		}
	}
	for _, read := range []func() error{
		func() (err error) {
			w := &call.Filter{}
			restrict(w, "job_name")
			w.Add("is_system = 0")
			d.Jobs, err = call.SelectAll[JobDetail](ctx, s.conn, "read jobs", jobDetailColumns+w.Text()+"\nORDER BY job_name;", w.Args...)
			return err
		},
		func() (err error) {
			w := &call.Filter{}
			restrict(w, "v.job_name")
			w.Add("v.command_type <> N'Upkeep'")
			d.Steps, err = call.SelectAll[JobStep](ctx, s.conn, "read steps", `SELECT `+jobStepColumns+`
FROM jobs.jobsteps AS v`+jobStepOptions+w.Text()+"\nORDER BY v.job_name, v.step_id;", w.Args...)
			return err
		},
		func() (err error) {
			w := &call.Filter{}
			restrict(w, "job_name")
			w.Add("job_name NOT LIKE N'jobagent$%%'")
			d.Schedules, err = call.SelectAll[Schedule](ctx, s.conn, "read schedules", `SELECT job_id, job_name, schedule_name, schedule_id, kind, spec, time_zone,
    given_time_zone, enabled, last_due_time, catch_up, overlap, pause_on_failure, parameters, interval_type, interval_count, start_time, end_time
FROM jobs.schedules`+w.Text()+"\nORDER BY job_name, schedule_name;", w.Args...)
			return err
		},
		func() (err error) {
			w := &call.Filter{}
			restrict(w, "job_name")
			// without the events that wait, which cost a read each
			d.Triggers, err = call.SelectAll[JobTrigger](ctx, s.conn, "read triggers", `SELECT job_id, job_name, trigger_name, enabled, run_when, targets, upstream_jobs
FROM jobs.job_triggers`+w.Text()+"\nORDER BY job_name, trigger_name;", w.Args...)
			return err
		},
		func() (err error) {
			d.Groups, err = call.SelectAll[TargetGroupDetail](ctx, s.conn, "read target groups", targetGroupColumns+"\nORDER BY target_group_name;")
			if err != nil {
				return err
			}
			return s.addMembers(ctx, d.Groups)
		},
		func() (err error) {
			d.Calendars, err = s.Calendars(ctx, "")
			return err
		},
		func() (err error) {
			d.Windows, err = s.TargetWindows(ctx, Page[string]{})
			return err
		},
		func() (err error) {
			d.Channels, err = s.AlertChannels(ctx, "")
			return err
		},
		func() (err error) {
			// without the use of the limits, which costs a count of targets each
			d.Limits, err = call.SelectAll[Limit](ctx, s.conn, "read limits", `SELECT scope, name, server_name, max_concurrent_targets, updated_at
FROM jobs.limits
ORDER BY scope, name, server_name;`)
			return err
		},
		func() (err error) {
			d.Alerts, err = s.AlertRules(ctx, "")
			return err
		},
	} {
		if err := read(); err != nil {
			return Definitions{}, fmt.Errorf("read the definitions: %w", err)
		}
	}
	return d, nil
}

// ActiveJobs lists the names of the jobs among those given that have an active run.
//
// Plan: the active runs, by their index.
func (s *Store) ActiveJobs(ctx context.Context) ([]string, error) {
	return call.SelectAll[string](ctx, s.conn, "list jobs with active runs", `SELECT DISTINCT job_name
FROM jobs.job_executions
WHERE is_active = 1 AND step_id IS NULL
ORDER BY job_name;`)
}
