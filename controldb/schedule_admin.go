package controldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// ScheduleSpec is the argument of AddSchedule: the parameters of jobs.sp_add_schedule. A nil field is not sent.
type ScheduleSpec struct {
	JobName, Name string
	// Kind is elastic, azure-scheduler, sap, cron5, cron6, quartz or rrule, and Spec the text in its form.
	Kind, Spec              string
	TimeZone                *string
	CatchUp, Overlap        *string
	PauseOnFailure, Enabled *bool
}

// AddSchedule adds a schedule to a job. It returns [ErrJobNotFound], or [ErrScheduleExists] when the name is taken. The
// text is judged by an agent: see Schedule.State.
func (s *Store) AddSchedule(ctx context.Context, spec ScheduleSpec) (ScheduleID, error) {
	var id int64
	c := newCall("jobs.sp_add_schedule").in("job_name", spec.JobName).in("schedule_name", spec.Name).in("kind", spec.Kind).in("spec", spec.Spec)
	opt(c, "time_zone", spec.TimeZone)
	opt(c, "catch_up", spec.CatchUp)
	opt(c, "overlap", spec.Overlap)
	opt(c, "pause_on_failure", spec.PauseOnFailure)
	opt(c, "enabled", spec.Enabled)
	err := s.exec(ctx, "add schedule", c.out("schedule_id", &id))
	return ScheduleID(id), err
}

// ScheduleUpdate is the argument of UpdateSchedule: the parameters of jobs.sp_update_schedule. A nil field stays as it is; an
// empty TimeZone, CatchUp or Overlap is the default.
type ScheduleUpdate struct {
	JobName, Name                                   string
	NewName, Kind, Spec, TimeZone, CatchUp, Overlap *string
	PauseOnFailure, Enabled                         *bool
}

// UpdateSchedule changes what is given. It returns [ErrScheduleNotFound], or [ErrScheduleExists] when the new name is taken.
func (s *Store) UpdateSchedule(ctx context.Context, u ScheduleUpdate) error {
	c := newCall("jobs.sp_update_schedule").in("job_name", u.JobName).in("schedule_name", u.Name)
	opt(c, "new_name", u.NewName)
	opt(c, "kind", u.Kind)
	opt(c, "spec", u.Spec)
	opt(c, "time_zone", u.TimeZone)
	opt(c, "catch_up", u.CatchUp)
	opt(c, "overlap", u.Overlap)
	opt(c, "pause_on_failure", u.PauseOnFailure)
	opt(c, "enabled", u.Enabled)
	return s.exec(ctx, "update schedule", c)
}

// DeleteSchedule deletes a schedule; its runs go on.
func (s *Store) DeleteSchedule(ctx context.Context, job, name string) error {
	return s.exec(ctx, "delete schedule", newCall("jobs.sp_delete_schedule").in("job_name", job).in("schedule_name", name))
}

// EnableSchedule enables or disables a schedule; an empty name is that of the job's own definition.
func (s *Store) EnableSchedule(ctx context.Context, job, name string, enabled bool) error {
	return s.exec(ctx, "enable schedule", newCall("jobs.sp_enable_schedule").in("job_name", job).in("schedule_name", name).in("enabled", enabled))
}

// PauseSchedule pauses or resumes a schedule, with a note for people; an empty name is that of the job's own definition.
func (s *Store) PauseSchedule(ctx context.Context, job, name string, paused bool, note string) error {
	return s.exec(ctx, "pause schedule",
		newCall("jobs.sp_pause_schedule").in("job_name", job).in("schedule_name", name).in("paused", paused).optText("note", note))
}

// BackfillRequest is the argument of BackfillSchedule.
type BackfillRequest struct {
	JobName, Name string
	// From and To are the first and the last instant of the range; To is not in the future.
	From, To time.Time
	// Overlap is the policy of its runs, whatever that of the schedule is; empty: BufferAll, one after the other.
	Overlap string
}

// BackfillSchedule asks for runs of a schedule's due instants in a past range.
func (s *Store) BackfillSchedule(ctx context.Context, req BackfillRequest) (BackfillID, error) {
	var id int64
	c := newCall("jobs.sp_backfill_schedule").in("job_name", req.JobName).in("schedule_name", req.Name).in("from", req.From).in("to", req.To)
	err := s.exec(ctx, "backfill schedule", c.optText("overlap", req.Overlap).out("backfill_id", &id))
	return BackfillID(id), err
}

// CancelBackfill ends a backfill; the runs that it has started go on. It returns [ErrBackfillNotFound] when there is none of this id.
func (s *Store) CancelBackfill(ctx context.Context, id BackfillID) error {
	return s.exec(ctx, "cancel backfill", newCall("jobs.sp_cancel_backfill").in("backfill_id", int64(id)))
}

// Schedule is a row of the view jobs.schedules.
type Schedule struct {
	JobName string
	// Name is empty for the schedule that the job's own definition holds.
	Name     string
	ID       ScheduleID
	Kind     string
	Spec     string
	TimeZone string
	Enabled  bool
	// State is Enabled, Disabled, Completed or Faulted, and Reason why.
	State, Reason    string
	CatchUp, Overlap string
	PauseOnFailure   bool
	// Paused says whether it is paused; the others, who paused or resumed it last, when, and the note.
	Paused    bool
	PausedBy  string
	PausedAt  time.Time
	PauseNote string
	// NextDue and LastDue are zero when there are none.
	NextDue, LastDue time.Time
	// Upcoming are the next instants as of the latest validation or run.
	Upcoming                                             []time.Time
	Executions, Failures, Faults                         int64
	SkippedByOverlap, SkippedByCatchUp, SkippedOtherwise int64
	// Buffered instants wait for an earlier run to end.
	Buffered      int64
	LastExecution uuid.UUID
	LastLifecycle string
	ValidatedTime time.Time // zero: not since it was changed
	// Engine is what has computed its instants: program and time zone data.
	Engine string
	// ValidationErrors is {"errors": [{path, value, message}]}; nil: nothing is wrong.
	ValidationErrors json.RawMessage
	Warnings         []string
	CreatedTime      time.Time
	UpdatedTime      time.Time
	// DefinedTime is when kind or text last changed: what is said relative to now counts from there.
	DefinedTime time.Time
}

// ScheduleFilter restricts Schedules. The zero value means all rows.
type ScheduleFilter struct {
	JobName string
	// Name restricts to one name; a pointer, since an empty one is a name, too.
	Name  *string
	State string
	// NamedOnly leaves out the schedules of the jobs' own definitions.
	NamedOnly bool
	// Limit is the most rows that come back; 0 means 1000000.
	Limit int
}

// filter collects the conditions of a query over a view.
type filter struct {
	where []string
	args  []any
}

func newFilter(limit int) *filter {
	if limit <= 0 {
		limit = 1_000_000
	}
	return &filter{args: []any{limit}}
}

// add adds a condition, in which %s stands for the value's parameter.
func (f *filter) add(condition string, value any) {
	f.args = append(f.args, value)
	f.where = append(f.where, fmt.Sprintf(condition, fmt.Sprintf("@p%d", len(f.args))))
}

// text is the WHERE clause.
func (f *filter) text() string {
	if len(f.where) == 0 {
		return ""
	}
	return "\nWHERE " + strings.Join(f.where, "\n    AND ")
}

// Schedules lists rows of jobs.schedules by the names of their jobs and their own.
func (s *Store) Schedules(ctx context.Context, f ScheduleFilter) ([]Schedule, error) {
	w := newFilter(f.Limit)
	if f.JobName != "" {
		w.add("job_name = %s", f.JobName)
	}
	if f.Name != nil {
		w.add("schedule_name = %s", *f.Name)
	}
	if f.NamedOnly {
		w.add("schedule_name <> %s", "")
	}
	if f.State != "" {
		w.add("state = %s", f.State)
	}
	var rows []struct {
		JobName          string     `db:"job_name"`
		Name             string     `db:"schedule_name"`
		ID               ScheduleID `db:"schedule_id"`
		Kind             string     `db:"kind"`
		Spec             nullText   `db:"spec"`
		TimeZone         nullText   `db:"time_zone"`
		Enabled          bool       `db:"enabled"`
		State            string     `db:"state"`
		Reason           nullText   `db:"reason"`
		CatchUp          nullText   `db:"catch_up"`
		Overlap          string     `db:"overlap"`
		PauseOnFailure   bool       `db:"pause_on_failure"`
		Paused           bool       `db:"paused"`
		PausedBy         nullText   `db:"paused_by"`
		PausedAt         nullTime   `db:"paused_at"`
		PauseNote        nullText   `db:"pause_note"`
		NextDue          nullTime   `db:"next_due_time"`
		LastDue          nullTime   `db:"last_due_time"`
		Upcoming         nullText   `db:"upcoming"`
		Executions       int64      `db:"executions"`
		Failures         int64      `db:"failures"`
		Faults           int64      `db:"faults"`
		SkippedByOverlap int64      `db:"skipped_by_overlap"`
		SkippedByCatchUp int64      `db:"skipped_by_catch_up"`
		SkippedOtherwise int64      `db:"skipped_otherwise"`
		Buffered         int64      `db:"buffered"`
		LastExecution    nullGUID   `db:"last_job_execution_id"`
		LastLifecycle    nullText   `db:"last_lifecycle"`
		ValidatedTime    nullTime   `db:"validated_time"`
		Engine           nullText   `db:"engine"`
		ValidationErrors nullText   `db:"validation_errors"`
		Warnings         nullText   `db:"warnings"`
		CreatedTime      nullTime   `db:"created_time"`
		UpdatedTime      nullTime   `db:"updated_time"`
		DefinedTime      nullTime   `db:"defined_time"`
	}
	err := s.selectAll(ctx, "list schedules", &rows, `SELECT TOP (@p1) job_name, schedule_name, schedule_id, kind, spec, time_zone, enabled,
    state, reason, catch_up, overlap, pause_on_failure, paused, paused_by, paused_at, pause_note, next_due_time, last_due_time,
    upcoming, executions, failures, faults, skipped_by_overlap, skipped_by_catch_up, skipped_otherwise, buffered,
    last_job_execution_id, last_lifecycle, validated_time, engine, validation_errors, warnings, created_time, updated_time, defined_time
FROM jobs.schedules`+w.text()+`
ORDER BY job_name, schedule_name;`, w.args...)
	if err != nil {
		return nil, err
	}
	list := make([]Schedule, 0, len(rows))
	for _, r := range rows {
		d := Schedule{
			JobName: r.JobName, Name: r.Name, ID: r.ID, Kind: r.Kind, Spec: string(r.Spec), TimeZone: string(r.TimeZone), Enabled: r.Enabled,
			State: r.State, Reason: string(r.Reason), CatchUp: string(r.CatchUp), Overlap: r.Overlap, PauseOnFailure: r.PauseOnFailure,
			Paused: r.Paused, PausedBy: string(r.PausedBy), PausedAt: r.PausedAt.Time, PauseNote: string(r.PauseNote),
			NextDue: r.NextDue.Time, LastDue: r.LastDue.Time, Executions: r.Executions, Failures: r.Failures, Faults: r.Faults,
			SkippedByOverlap: r.SkippedByOverlap, SkippedByCatchUp: r.SkippedByCatchUp, SkippedOtherwise: r.SkippedOtherwise, Buffered: r.Buffered,
			LastExecution: r.LastExecution.UUID, LastLifecycle: string(r.LastLifecycle), ValidatedTime: r.ValidatedTime.Time, Engine: string(r.Engine),
			CreatedTime: r.CreatedTime.Time, UpdatedTime: r.UpdatedTime.Time, DefinedTime: r.DefinedTime.Time,
		}
		if r.ValidationErrors != "" {
			d.ValidationErrors = json.RawMessage(r.ValidationErrors)
		}
		if err := jsonInto(string(r.Upcoming), &d.Upcoming); err != nil {
			return nil, fmt.Errorf("list schedules: read the upcoming instants of schedule %d: %w", r.ID, err)
		}
		if err := jsonInto(string(r.Warnings), &d.Warnings); err != nil {
			return nil, fmt.Errorf("list schedules: read the warnings of schedule %d: %w", r.ID, err)
		}
		list = append(list, d)
	}
	return list, nil
}

// jsonInto reads a JSON text that may be empty.
func jsonInto(text string, dest any) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), dest)
}

// ScheduleSkip is a row of the view jobs.schedule_skips.
type ScheduleSkip struct {
	JobName string
	// Name is empty for the schedule that the job's own definition holds; Deleted says that the schedule is gone.
	Name     string
	Deleted  bool
	Schedule ScheduleID
	// DueAt is the first of Count instants.
	DueAt         time.Time
	Count         int
	Cause, Reason string
	RecordedTime  time.Time
}

// SkipFilter restricts ScheduleSkips. The zero value means all rows.
type SkipFilter struct {
	JobName string
	Name    *string
	Cause   string
	// Since leaves out what was due earlier.
	Since time.Time
	// Limit is the most rows that come back; 0 means 1000000.
	Limit int
}

// ScheduleSkips lists rows of jobs.schedule_skips, latest first.
func (s *Store) ScheduleSkips(ctx context.Context, f SkipFilter) ([]ScheduleSkip, error) {
	w := newFilter(f.Limit)
	if f.JobName != "" {
		w.add("job_name = %s", f.JobName)
	}
	if f.Name != nil {
		w.add("schedule_name = %s", *f.Name)
	}
	if f.Cause != "" {
		w.add("cause = %s", f.Cause)
	}
	if !f.Since.IsZero() {
		w.add("due_time >= %s", datetime2(f.Since))
	}
	var rows []struct {
		JobName  string         `db:"job_name"`
		Name     sql.NullString `db:"schedule_name"`
		Schedule ScheduleID     `db:"schedule_id"`
		DueAt    nullTime       `db:"due_time"`
		Count    int            `db:"skipped"`
		Cause    string         `db:"cause"`
		Reason   string         `db:"reason"`
		Recorded nullTime       `db:"recorded_time"`
	}
	err := s.selectAll(ctx, "list skipped instants", &rows, `SELECT TOP (@p1) job_name, schedule_name, schedule_id, due_time, skipped, cause, reason, recorded_time
FROM jobs.schedule_skips`+w.text()+`
ORDER BY due_time DESC, schedule_id;`, w.args...)
	if err != nil {
		return nil, err
	}
	list := make([]ScheduleSkip, 0, len(rows))
	for _, r := range rows {
		list = append(list, ScheduleSkip{
			JobName: r.JobName, Name: r.Name.String, Deleted: !r.Name.Valid, Schedule: r.Schedule, DueAt: r.DueAt.Time, Count: r.Count,
			Cause: r.Cause, Reason: r.Reason, RecordedTime: r.Recorded.Time,
		})
	}
	return list, nil
}

// ScheduleExecution is a row of the view jobs.schedule_executions: a run that a schedule has started.
type ScheduleExecution struct {
	JobName string
	// Name is empty for the schedule that the job's own definition holds; Deleted says that the schedule is gone.
	Name     string
	Deleted  bool
	Schedule ScheduleID
	// DueAt is the due instant that the run stands for.
	DueAt time.Time
	// Backfill asked for the run; 0: the schedule itself.
	Backfill  BackfillID
	Execution uuid.UUID
	Lifecycle string
	Active    bool
	// StartTime and EndTime are zero when they are not known yet.
	CreateTime, StartTime, EndTime time.Time
}

// ScheduleExecutions lists rows of jobs.schedule_executions, latest due instants first; an empty job and a nil name mean all, limit
// 0 means 1000000.
func (s *Store) ScheduleExecutions(ctx context.Context, job string, name *string, limit int) ([]ScheduleExecution, error) {
	w := newFilter(limit)
	if job != "" {
		w.add("job_name = %s", job)
	}
	if name != nil {
		w.add("schedule_name = %s", *name)
	}
	var rows []struct {
		JobName   string         `db:"job_name"`
		Name      sql.NullString `db:"schedule_name"`
		Schedule  ScheduleID     `db:"schedule_id"`
		DueAt     nullTime       `db:"due_time"`
		Backfill  sql.NullInt64  `db:"backfill_id"`
		Execution nullGUID       `db:"job_execution_id"`
		Lifecycle string         `db:"lifecycle"`
		Active    bool           `db:"is_active"`
		Create    nullTime       `db:"create_time"`
		Start     nullTime       `db:"start_time"`
		End       nullTime       `db:"end_time"`
	}
	err := s.selectAll(ctx, "list runs of schedules", &rows, `SELECT TOP (@p1) job_name, schedule_name, schedule_id, due_time, backfill_id, job_execution_id, lifecycle, is_active,
    create_time, start_time, end_time
FROM jobs.schedule_executions`+w.text()+`
ORDER BY due_time DESC, schedule_id;`, w.args...)
	if err != nil {
		return nil, err
	}
	list := make([]ScheduleExecution, 0, len(rows))
	for _, r := range rows {
		list = append(list, ScheduleExecution{
			JobName: r.JobName, Name: r.Name.String, Deleted: !r.Name.Valid, Schedule: r.Schedule, DueAt: r.DueAt.Time, Backfill: BackfillID(r.Backfill.Int64),
			Execution: r.Execution.UUID, Lifecycle: r.Lifecycle, Active: r.Active, CreateTime: r.Create.Time, StartTime: r.Start.Time, EndTime: r.End.Time,
		})
	}
	return list, nil
}

// Backfill is a row of the view jobs.schedule_backfills.
type Backfill struct {
	JobName, Name string
	ID            BackfillID
	// State is Open, Completed, Canceled or Faulted, and Reason why.
	State, Reason string
	From, To      time.Time
	// NextAt is the next instant to look at; zero: it has not begun, or has ended.
	NextAt                     time.Time
	Overlap                    string
	Started, Buffered, Skipped int64
	RequestedBy                string
	RequestedTime, EndTime     time.Time
}

// Backfills lists rows of jobs.schedule_backfills, latest first; an empty job and a nil name mean all, limit 0 means 1000000.
func (s *Store) Backfills(ctx context.Context, job string, name *string, limit int) ([]Backfill, error) {
	w := newFilter(limit)
	if job != "" {
		w.add("job_name = %s", job)
	}
	if name != nil {
		w.add("schedule_name = %s", *name)
	}
	var rows []struct {
		JobName     string     `db:"job_name"`
		Name        string     `db:"schedule_name"`
		ID          BackfillID `db:"backfill_id"`
		State       string     `db:"state"`
		Reason      nullText   `db:"reason"`
		From        nullTime   `db:"from_time"`
		To          nullTime   `db:"to_time"`
		NextAt      nullTime   `db:"next_time"`
		Overlap     string     `db:"overlap"`
		Started     int64      `db:"started"`
		Buffered    int64      `db:"buffered"`
		Skipped     int64      `db:"skipped"`
		RequestedBy string     `db:"requested_by"`
		Requested   nullTime   `db:"requested_time"`
		End         nullTime   `db:"end_time"`
	}
	err := s.selectAll(ctx, "list backfills", &rows, `SELECT TOP (@p1) job_name, schedule_name, backfill_id, state, reason, from_time, to_time, next_time, overlap,
    started, buffered, skipped, requested_by, requested_time, end_time
FROM jobs.schedule_backfills`+w.text()+`
ORDER BY backfill_id DESC;`, w.args...)
	if err != nil {
		return nil, err
	}
	list := make([]Backfill, 0, len(rows))
	for _, r := range rows {
		list = append(list, Backfill{
			JobName: r.JobName, Name: r.Name, ID: r.ID, State: r.State, Reason: string(r.Reason), From: r.From.Time, To: r.To.Time,
			NextAt: r.NextAt.Time, Overlap: r.Overlap, Started: r.Started, Buffered: r.Buffered, Skipped: r.Skipped,
			RequestedBy: r.RequestedBy, RequestedTime: r.Requested.Time, EndTime: r.End.Time,
		})
	}
	return list, nil
}

// AddCalendar adds a calendar. It returns [ErrCalendarExists] when the name is taken.
func (s *Store) AddCalendar(ctx context.Context, name, spec string) error {
	return s.exec(ctx, "add calendar", newCall("jobs.sp_add_calendar").in("calendar_name", name).in("spec", spec))
}

// UpdateCalendar changes a calendar. It returns [ErrCalendarNotFound] when there is none of this name.
func (s *Store) UpdateCalendar(ctx context.Context, name, spec string) error {
	return s.exec(ctx, "update calendar", newCall("jobs.sp_update_calendar").in("calendar_name", name).in("spec", spec))
}

// DeleteCalendar deletes a calendar that no schedule names.
func (s *Store) DeleteCalendar(ctx context.Context, name string) error {
	return s.exec(ctx, "delete calendar", newCall("jobs.sp_delete_calendar").in("calendar_name", name))
}

// Calendar is a row of the view jobs.calendars.
type Calendar struct {
	Name, Spec               string
	CreatedTime, UpdatedTime time.Time
}

// Calendars lists the calendar of a name, or all when it is empty, by name.
func (s *Store) Calendars(ctx context.Context, name string) ([]Calendar, error) {
	w := newFilter(0)
	if name != "" {
		w.add("calendar_name = %s", name)
	}
	var rows []struct {
		Name    string   `db:"calendar_name"`
		Spec    string   `db:"spec"`
		Created nullTime `db:"created_time"`
		Updated nullTime `db:"updated_time"`
	}
	err := s.selectAll(ctx, "list calendars", &rows, `SELECT TOP (@p1) calendar_name, spec, created_time, updated_time
FROM jobs.calendars`+w.text()+`
ORDER BY calendar_name;`, w.args...)
	if err != nil {
		return nil, err
	}
	list := make([]Calendar, 0, len(rows))
	for _, r := range rows {
		list = append(list, Calendar{Name: r.Name, Spec: r.Spec, CreatedTime: r.Created.Time, UpdatedTime: r.Updated.Time})
	}
	return list, nil
}
