package timetable

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// Spec is what a caller gives of a schedule.
type Spec = model.ScheduleSpec

// Add adds a schedule to a job. It returns [dberror.ErrJobNotFound], or
// [dberror.ErrScheduleExists] when the name is taken. An agent validates the text afterwards: see
// Schedule.State.
func (s Store) Add(ctx context.Context, spec Spec) (controldb.ScheduleID, error) {
	var id int64
	c := call.Given(forSchedule(call.New("jobs.sp_add_schedule"), spec.JobName, spec.Name), model.ScheduleFields, &spec)
	err := s.conn.Exec(ctx, "add schedule", c.Out("schedule_id", &id))
	return controldb.ScheduleID(id), err
}

// Update changes the given values. It returns [dberror.ErrScheduleNotFound], or
// [dberror.ErrScheduleExists] when the new name is taken.
func (s Store) Update(ctx context.Context, spec Spec) error {
	c := forSchedule(call.New("jobs.sp_update_schedule"), spec.JobName, spec.Name)
	return s.conn.Exec(ctx, "update schedule", call.Given(c, model.ScheduleFields, &spec))
}

// Delete deletes a schedule. Its active runs continue.
func (s Store) Delete(ctx context.Context, job, name string) error {
	return s.conn.Exec(ctx, "delete schedule", forSchedule(call.New("jobs.sp_delete_schedule"), job, name))
}

// forSchedule names a schedule. An empty name means the job's own definition.
func forSchedule(c *call.Call, job, name string) *call.Call {
	return c.In("job_name", job).In("schedule_name", name)
}

// Enable enables or disables a schedule. An empty name means the job's own definition.
func (s Store) Enable(ctx context.Context, job, name string, enabled bool) error {
	op := "enable schedule"
	if !enabled {
		op = "disable schedule"
	}
	return s.conn.Exec(ctx, op, forSchedule(call.New("jobs.sp_enable_schedule"), job, name).In("enabled", enabled))
}

// Pause pauses or resumes a schedule and stores a note. An empty name means the job's own
// definition.
func (s Store) Pause(ctx context.Context, job, name string, paused bool, note string) error {
	op := "pause schedule"
	if !paused {
		op = "resume schedule"
	}
	return s.conn.Exec(ctx, op, forSchedule(call.New("jobs.sp_pause_schedule"), job, name).In("paused", paused).OptText("note", note))
}

// BackfillRequest is the argument of [Store.Backfill].
type BackfillRequest struct {
	JobName, Name string
	// From and To are the first and the last instant of the range. To must not be in the future.
	From, To time.Time
	// Overlap is the policy of the backfill's runs, independent of the schedule's. Empty means
	// BufferAll: one run after the other.
	Overlap string
}

// Backfill requests runs for a schedule's due instants in a past range.
func (s Store) Backfill(ctx context.Context, req BackfillRequest) (controldb.BackfillID, error) {
	var id int64
	c := forSchedule(call.New("jobs.sp_backfill_schedule"), req.JobName, req.Name).In("from", req.From).In("to", req.To)
	err := s.conn.Exec(ctx, "backfill schedule", c.OptText("overlap", req.Overlap).Out("backfill_id", &id))
	return controldb.BackfillID(id), err
}

// CancelBackfill ends a backfill. Runs that it has started continue. It returns
// [dberror.ErrBackfillNotFound] when no backfill has this id.
func (s Store) CancelBackfill(ctx context.Context, id controldb.BackfillID) error {
	return s.conn.Exec(ctx, "cancel backfill", call.New("jobs.sp_cancel_backfill").In("backfill_id", int64(id)))
}

// Schedule is a row of the view jobs.schedules.
type Schedule struct {
	JobName string `db:"job_name"`
	// Name is empty for the schedule that the job's own definition holds.
	Name     string               `db:"schedule_name"`
	ID       controldb.ScheduleID `db:"schedule_id"`
	Kind     string               `db:"kind"`
	Spec     string               `db:"spec"`
	TimeZone string               `db:"time_zone"`
	// ScheduleSettings have the zone only if Definitions has read it.
	model.ScheduleSettings
	// State is Enabled, Disabled, Completed or Faulted. Reason explains the state.
	State  string `db:"state"`
	Reason string `db:"reason"`
	model.ScheduleProgress
	LastExecution uuid.UUID `db:"last_job_execution_id"`
	LastLifecycle string    `db:"last_lifecycle"`
	// ValidatedTime is zero when the schedule has not been validated since it was changed.
	ValidatedTime time.Time `db:"validated_time"`
	// Engine is the program and time zone data that computed its instants.
	Engine string `db:"engine"`
	// ValidationErrors is {"errors": [{path, value, message}]}; nil means that the schedule is
	// valid.
	ValidationErrors json.RawMessage `db:"validation_errors"`
	Warnings         []string        `db:"warnings"`
	CreatedTime      time.Time       `db:"created_time"`
	UpdatedTime      time.Time       `db:"updated_time"`
	// DefinedTime is when kind or text was last changed. Times in the text that are relative to now
	// count from it.
	DefinedTime time.Time `db:"defined_time"`
	// Parameters are a JSON object; empty means none.
	Parameters string `db:"parameters"`
	// ParametersFault is why they do not fit those that the job declares, so that no run starts;
	// empty means that they do.
	ParametersFault string `db:"parameters_fault"`
	// IntervalType to Anchor are the schedule of the job's own definition, which has no Spec.
	// Anchor is the origin of its intervals; zero means that it was never enabled.
	IntervalType  string    `db:"interval_type"`
	IntervalCount int       `db:"interval_count"`
	Start         time.Time `db:"start_time"`
	End           time.Time `db:"end_time"`
	Anchor        time.Time `db:"anchor_time"`
	JobID         uuid.UUID `db:"job_id"`
	// Description is the schedule in words, as of its latest validation; empty means none. See
	// Words.
	Description string `db:"description"`
}

// StartsAtOnce reports whether enabling the schedule starts a run: it is that of a job's own
// definition, once and without a start time.
func (s Schedule) StartsAtOnce() bool {
	return s.Name == "" && !s.Enabled && s.IntervalType == "Once" && s.Start.Year() <= 1
}

// noEnd is the year of an end time that means no end: the default of jobs.sp_add_job.
const noEnd = 9999

// Elastic returns the schedule of a job's own definition.
func (s Schedule) Elastic() schedule.Elastic {
	e := schedule.Elastic{Interval: schedule.Interval(s.IntervalType), Count: s.IntervalCount, Start: s.Start}
	if s.Start.Year() <= 1 {
		e.Start = s.Anchor
	}
	if s.End.Year() < noEnd {
		e.End = s.End
	}
	return e
}

// Describe returns the schedule in words. It is empty if the definition is invalid.
func (s Schedule) Describe() schedule.Description {
	if s.Spec == "" {
		return schedule.DescribeElastic(s.Elastic())
	}
	d, err := schedule.Describe(schedule.Kind(s.Kind), []byte(s.Spec), schedule.Options{Zone: s.TimeZone, Created: s.DefinedTime})
	if err != nil {
		return schedule.Description{}
	}
	return d
}

// Words returns the schedule in words: as they were stored with its validation, or else as this
// program reads it. They are empty if the definition is invalid.
func (s Schedule) Words() string {
	if s.Description != "" {
		return s.Description
	}
	return s.Describe().Text
}

// Filter restricts [Store.List]. The zero value means all rows.
type Filter struct {
	JobName string
	// Name restricts to one name. It is a pointer because the empty name is valid, too.
	Name  *string
	State string
	// NamedOnly excludes the schedules of the jobs' own definitions.
	NamedOnly bool
	// DefinedOnly excludes those of them that nobody has defined.
	DefinedOnly bool
	// Limit is the most rows that come back; 0 means 1000000.
	Limit int
}

// newFilter returns a filter by job, unless job is empty, and by schedule, unless name is
// nil.
func newFilter(limit int, job string, name *string) *call.Filter {
	w := call.NewFilter(limit)
	if job != "" {
		w.Add("job_name = %s", job)
	}
	if name != nil {
		w.Add("schedule_name = %s", *name)
	}
	return w
}

// columns are the columns of a Schedule.
const columns = `job_name, schedule_name, schedule_id, kind, spec,
    time_zone, enabled, state, reason, catch_up, overlap, pause_on_failure, paused, paused_by, paused_at, pause_note, next_due_time,
    last_due_time, upcoming, executions, failures, faults, skipped_by_overlap, skipped_by_catch_up, skipped_otherwise, buffered,
    last_job_execution_id, last_lifecycle, validated_time, engine, validation_errors, warnings, created_time, updated_time, defined_time,
    parameters, parameters_fault, interval_type, interval_count, start_time, end_time, anchor_time, job_id, description`

// definedSchedule leaves out the schedules of jobs' own definitions that nobody has defined, as
// [catalog.Job.HasOwnSchedule] does.
const definedSchedule = "(schedule_name <> N'' OR enabled = 1 OR paused = 1 OR interval_type <> N'Once' OR start_time >= '0002-01-01')"

// List lists rows of jobs.schedules, by job name and schedule name.
func (s Store) List(ctx context.Context, f Filter) ([]Schedule, error) {
	w := newFilter(f.Limit, f.JobName, f.Name)
	if f.DefinedOnly {
		w.Add(definedSchedule)
	}
	if f.NamedOnly {
		w.Add("schedule_name <> %s", "")
	}
	if f.State != "" {
		w.Add("state = %s", f.State)
	}
	return call.SelectAll[Schedule](
		ctx,
		s.conn,
		"list schedules",
		`SELECT TOP (@p1) `+columns+`
FROM jobs.schedules`+w.Text()+`
ORDER BY job_name, schedule_name;`, w.Args...)
}

// Skip is a row of the view jobs.schedule_skips.
type Skip struct {
	JobName string `db:"job_name"`
	// Name is empty for the schedule that the job's own definition holds. Deleted is true when the
	// schedule no longer exists; then Name is empty, too.
	Name     string               `db:"schedule_name"`
	Deleted  bool                 `db:"is_deleted"`
	Schedule controldb.ScheduleID `db:"schedule_id"`
	// DueAt is the first of Count instants.
	DueAt        time.Time `db:"due_time"`
	Count        int       `db:"skipped"`
	Cause        string    `db:"cause"`
	Reason       string    `db:"reason"`
	RecordedTime time.Time `db:"recorded_time"`
}

// isDeleted is the column of Skip.Deleted.
const isDeleted = "CAST(CASE WHEN schedule_name IS NULL THEN 1 ELSE 0 END AS BIT) AS is_deleted"

// SkipFilter restricts [Store.Skips]. The zero value means all rows.
type SkipFilter struct {
	JobName string
	Name    *string
	Cause   string
	// Since excludes instants that were due before it.
	Since time.Time
	// Limit is the most rows that come back; 0 means 1000000.
	Limit int
}

// Skips lists rows of jobs.schedule_skips, latest first.
func (s Store) Skips(ctx context.Context, f SkipFilter) ([]Skip, error) {
	w := newFilter(f.Limit, f.JobName, f.Name)
	if f.Cause != "" {
		w.Add("cause = %s", f.Cause)
	}
	if !f.Since.IsZero() {
		w.Add("due_time >= %s", call.Datetime2(f.Since))
	}
	return call.SelectAll[Skip](
		ctx,
		s.conn,
		"list skipped instants",
		`SELECT TOP (@p1) job_name, schedule_name, `+isDeleted+`,
    schedule_id, due_time, skipped, cause, reason, recorded_time
FROM jobs.schedule_skips`+w.Text()+`
ORDER BY due_time DESC, schedule_id;`, w.Args...)
}

// Backfill is a row of the view jobs.schedule_backfills.
type Backfill struct {
	JobName string `db:"job_name"`
	Name    string `db:"schedule_name"`
	model.Backfill
	EndTime time.Time `db:"end_time"`
}

// Backfills lists rows of jobs.schedule_backfills, latest first. An empty job and a nil name mean
// all; limit 0 means 1000000.
func (s Store) Backfills(ctx context.Context, job string, name *string, limit int) ([]Backfill, error) {
	w := newFilter(limit, job, name)
	return call.SelectAll[Backfill](
		ctx,
		s.conn,
		"list backfills",
		`SELECT TOP (@p1) job_name, schedule_name, backfill_id, state, reason, from_time,
    to_time, next_time, overlap, started, buffered, skipped, requested_by, requested_time, end_time
FROM jobs.schedule_backfills`+w.Text()+`
ORDER BY backfill_id DESC;`, w.Args...)
}

// AddCalendar adds a calendar. It returns [dberror.ErrCalendarExists] when the name is taken.
func (s Store) AddCalendar(ctx context.Context, name, spec string) error {
	return s.conn.Exec(ctx, "add calendar", call.New("jobs.sp_add_calendar").In("calendar_name", name).In("spec", spec))
}

// UpdateCalendar changes a calendar. It returns [dberror.ErrCalendarNotFound] when no calendar has
// this name.
func (s Store) UpdateCalendar(ctx context.Context, name, spec string) error {
	return s.conn.Exec(ctx, "update calendar", call.New("jobs.sp_update_calendar").In("calendar_name", name).In("spec", spec))
}

// DeleteCalendar deletes a calendar. The procedure refuses while a schedule uses the calendar.
func (s Store) DeleteCalendar(ctx context.Context, name string) error {
	return s.conn.Exec(ctx, "delete calendar", call.New("jobs.sp_delete_calendar").In("calendar_name", name))
}

// Calendar is a row of the view jobs.calendars.
type Calendar struct {
	Name        string    `db:"calendar_name"`
	Spec        string    `db:"spec"`
	CreatedTime time.Time `db:"created_time"`
	UpdatedTime time.Time `db:"updated_time"`
}

// Calendars lists the calendar of a name, or all when it is empty, by name.
func (s Store) Calendars(ctx context.Context, name string) ([]Calendar, error) {
	w := call.NewFilter(0)
	if name != "" {
		w.Add("calendar_name = %s", name)
	}
	return call.SelectAll[Calendar](
		ctx,
		s.conn,
		"list calendars",
		`SELECT TOP (@p1) calendar_name, spec, created_time, updated_time
FROM jobs.calendars`+w.Text()+`
ORDER BY calendar_name;`, w.Args...)
}
