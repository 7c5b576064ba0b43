package model

import "time"

// JobSettings are the settings of a job that have a value in any case, but times: see
// jobs.sp_add_job.
type JobSettings struct {
	Description string
	Enabled     bool
	// IntervalType is Once, Minutes, Hours, Days, Weeks or Months, in any case.
	IntervalType  string
	IntervalCount int
}

// JobSpec is what a caller gives of a job: the arguments of jobs.sp_add_job, jobs.sp_update_job and
// jobs.sp_set_job. A nil field is not sent: a new or replaced job gets the default, and an updated
// one keeps its value.
type JobSpec struct {
	Name          string
	NewName       *string // renames a job
	Description   *string
	Enabled       *bool
	IntervalType  *string
	IntervalCount *int
	Start, End    *time.Time
}

// JobField is a field of a [JobSpec].
type JobField = Field[JobSpec, JobSettings]

// JobFields are the fields of jobs in the order in which procedures take them.
var JobFields = []JobField{
	argument(JobField{Name: "new_name"}, func(s *JobSpec) **string { return &s.NewName }),
	setting(JobField{Name: "description", Flag: "description", Usage: UsageDescription},
		func(s *JobSpec) **string { return &s.Description }, func(s *JobSettings) *string { return &s.Description }),
	setting(JobField{Name: "enabled", Flag: "enabled", Usage: "enable the schedule of the job"},
		func(s *JobSpec) **bool { return &s.Enabled }, func(s *JobSettings) *bool { return &s.Enabled }),
	setting(JobField{Name: "schedule_interval_type", Flag: "interval-type", Usage: "Once, Minutes, Hours, Days, Weeks or Months"},
		func(s *JobSpec) **string { return &s.IntervalType }, func(s *JobSettings) *string { return &s.IntervalType }),
	setting(JobField{Name: "schedule_interval_count", Flag: "interval-count", Usage: "number of intervals between two runs"},
		func(s *JobSpec) **int { return &s.IntervalCount }, func(s *JobSettings) *int { return &s.IntervalCount }),
	argument(JobField{Name: "schedule_start_time", Flag: "start-time", Usage: "no run before this time (RFC 3339, or YYYY-MM-DD HH:MM in UTC)"},
		func(s *JobSpec) **time.Time { return &s.Start }),
	argument(JobField{Name: "schedule_end_time", Flag: "end-time", Usage: "no run after this time"},
		func(s *JobSpec) **time.Time { return &s.End }),
}
