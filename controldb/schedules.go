package controldb

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/wording"
)

// ScheduleID identifies a schedule.
type ScheduleID int64

// BackfillID identifies a backfill; 0 means none.
type BackfillID int64

// Scan implements sql.Scanner.
func (id *BackfillID) Scan(src any) error { return call.ScanNull((*int64)(id), src) }

// DueSchedule is the definition and state of a schedule, from which an agent computes due instants.
type DueSchedule struct {
	ID      ScheduleID `db:"schedule_id"`
	JobID   uuid.UUID  `db:"job_id"`
	JobName string     `db:"job_name"`
	// Name is empty for the schedule that the job's own definition holds.
	Name string `db:"schedule_name"`
	Kind string `db:"kind"`
	// Spec is the definition's text. It is empty for the schedule of jobs.sp_add_job, which has
	// IntervalType, IntervalCount, Start, End and Anchor instead.
	Spec string `db:"spec"`
	// IntervalType is Once, Minutes, Hours, Days, Weeks or Months.
	IntervalType  string `db:"interval_type"`
	IntervalCount int    `db:"interval_count"`
	// Start and End bound the due instants.
	Start time.Time `db:"start_time"`
	End   time.Time `db:"end_time"`
	// Anchor is the origin of the grid of due instants: Start, or the time of activation when Start
	// is in the year 1 (decision 10).
	Anchor time.Time `db:"anchor_at"`
	// TimeZone is an IANA name. If empty, the zone in Spec applies, or else the kind's default. It
	// is "UTC" for the schedule of jobs.sp_add_job.
	TimeZone string `db:"time_zone"`
	// DueAt is the stored due instant; zero means that none is stored.
	DueAt time.Time `db:"next_due_at"`
	// LastDueAt is the latest instant that was handled; zero means none.
	LastDueAt time.Time `db:"last_due_at"`
	// FireAt is when DueAt is handled: DueAt plus the jitter.
	FireAt time.Time `db:"next_fire_at"`
	// CatchUp is the policy for missed runs. If empty, the policy in Spec applies, or else the
	// default.
	CatchUp string `db:"catch_up"`
	// Overlap is the policy that FireSchedules applies.
	Overlap string `db:"overlap"`
	// Defined is when Kind and Spec were set. Activated is when the definition was last changed or
	// activated; instants due before it are dropped (D-P7).
	Defined   time.Time `db:"defined_at"`
	Activated time.Time `db:"activated_at"`
	// LastStarted is when its latest run was created; zero means none.
	LastStarted time.Time `db:"last_started_at"`
	// Executions is the number of runs started since Kind or Spec changed. A count in Spec is
	// compared with it (D-P3).
	Executions int64 `db:"executions"`
	// Revision is the definition's. A Validation and a Firing name the revision from which they
	// were computed.
	Revision int `db:"revision"`
	// Engine is the program and zone data that validated the schedule; empty means that it has not
	// been validated.
	Engine string `db:"engine"`
}

// OpenBackfill is a request to run the due instants of a past range now.
type OpenBackfill struct {
	ID BackfillID `db:"backfill_id"`
	// From and To are the first and the last instant of the range.
	From time.Time `db:"from_at"`
	To   time.Time `db:"to_at"`
	// NextAt is the next instant to handle; zero means that the backfill has not begun.
	NextAt time.Time `db:"next_at"`
	// Overlap is the policy of its runs.
	Overlap  string      `db:"backfill_overlap"`
	Schedule DueSchedule `db:"-"`
}

// CalendarText is a calendar as it is stored.
type CalendarText struct {
	Name string `db:"name"`
	Spec string `db:"spec"`
}

// DueSchedules is the answer of Store.DueSchedules.
type DueSchedules struct {
	// Now is the database's time.
	Now time.Time
	// NextFireAt is when the earliest schedule that is not due yet will be due; zero means none.
	NextFireAt time.Time
	// LastWorkedAt and WorkingSince bound the latest period without any agent's term. They are set
	// only if something became due before every current term began; otherwise both are zero,
	// because no agent was missing. LastWorkedAt alone is zero when there was no earlier term.
	LastWorkedAt, WorkingSince time.Time
	// MinInterval is the minimum interval between two instants of a schedule to validate (D-S6); 0
	// means that any interval is valid.
	MinInterval time.Duration
	// Schedules are the due schedules, longest overdue first.
	Schedules []DueSchedule
	// Unvalidated are the schedules that wait for validation. One with a DueAt was validated
	// before, by another engine or with another calendar, or its warnings have to be renewed; it
	// keeps its due instant meanwhile.
	Unvalidated []DueSchedule
	// Backfills are the open backfills, oldest first.
	Backfills []OpenBackfill
	// Calendars are all calendars, if a Spec above may refer to one; otherwise it is empty.
	Calendars []CalendarText
	// Windows are those of roll-outs and databases that have to be evaluated.
	Windows []Window
}

// Window is the window of the current wave of a roll-out, or one of databases. It is evaluated
// again from time to time.
type Window struct {
	ExecutionID int64 `db:"execution_id"` // of the roll-out's own run; 0: it is of databases
	Wave        int   `db:"wave"`
	// AnswerID identifies the window of databases; 0: it is of a roll-out.
	AnswerID int64 `db:"answer_id"`
	// CheckAt is when it was to be evaluated: an answer counts only if it is still the same.
	CheckAt time.Time `db:"window_check_at"`
	// The window is open while Calendar has a window, and Blackouts has none. Either may be empty.
	// An empty text of a calendar with a name means that there is no such calendar.
	Calendar      string `db:"calendar_name"`
	Spec          string `db:"spec"`
	Blackouts     string `db:"blackouts_name"`
	BlackoutsSpec string `db:"blackouts_spec"`
	// Zone is that of calendars that name none; empty means UTC.
	Zone string `db:"time_zone"`
}

// WindowState is what an agent has found out about a window.
type WindowState struct {
	Window Window
	// Open says that it is open at the instant At, which is DueSchedules.Now, and Changes when that
	// ends; zero means that this is not known.
	Open        bool
	At, Changes time.Time
	// Fault says why the window could not be evaluated; such a window is closed.
	Fault string
}

// windowJSON is the form of a WindowState in the argument of record_windows.
type windowJSON struct {
	AnswerID    int64   `json:"answer_id,omitempty"`
	ExecutionID int64   `json:"execution_id"`
	Wave        int     `json:"wave"`
	CheckAt     string  `json:"window_check_at"`
	Open        bool    `json:"is_open"`
	At          string  `json:"at"`
	ChangesAt   *string `json:"changes_at,omitempty"`
	Fault       string  `json:"fault,omitempty"`
}

// windowFaultUnits is the length of rollouts.window_fault and window_answers.fault in UTF-16 units.
const windowFaultUnits = 400

// RecordWindows stores what is known about windows; opened is the number of those that are open and
// were not before. It returns [dberror.ErrTermEnded] when the term has ended.
func (s *Store) RecordWindows(ctx context.Context, term TermID, states []WindowState) (opened int, err error) {
	if len(states) == 0 {
		return 0, nil
	}
	list := make([]windowJSON, 0, len(states))
	for _, w := range states {
		list = append(list, windowJSON{
			AnswerID: w.Window.AnswerID, ExecutionID: w.Window.ExecutionID, Wave: w.Window.Wave, CheckAt: call.Datetime2(w.Window.CheckAt), Open: w.Open, At: call.Datetime2(w.At),
			ChangesAt: optInstant(w.Changes), Fault: wording.Clip(w.Fault, windowFaultUnits, wording.UTF16),
		})
	}
	text, err := json.Marshal(list)
	if err != nil {
		return 0, fmt.Errorf("record windows: write them as JSON: %w", err)
	}
	var recorded int
	err = s.conn.Query(ctx, "record windows",
		ForTerm(call.New("jobs_internal.record_windows"), term).In("windows", string(text)), call.ScanOne(&recorded, &opened))
	return opened, err
}

// backfillRow is a row of due_schedules' fourth result set: a backfill and its schedule.
type backfillRow struct {
	OpenBackfill
	DueSchedule
}

// DueSchedules lists the work on schedules: at most limit entries of each list, and none of
// otherKinds, which the caller does not support. It changes nothing; FireSchedules and
// RecordValidations do.
func (s *Store) DueSchedules(ctx context.Context, limit int, otherKinds ...string) (DueSchedules, error) {
	var (
		res         DueSchedules
		minInterval int64 // seconds
		backfills   []backfillRow
	)
	c := call.New("jobs_internal.due_schedules").In("max", int64(limit))
	if len(otherKinds) > 0 {
		c.In("other_kinds", strings.Join(otherKinds, ","))
	}
	err := s.conn.Query(ctx, "list due schedules", c,
		call.ScanOne(&res.Now, &res.NextFireAt, &res.LastWorkedAt, &res.WorkingSince, &minInterval),
		call.Into(&res.Schedules), call.Into(&res.Unvalidated), call.Into(&backfills), call.Into(&res.Calendars), call.Into(&res.Windows))
	if err != nil {
		return DueSchedules{}, err
	}
	res.MinInterval = time.Duration(minInterval) * time.Second
	for _, r := range backfills {
		r.OpenBackfill.Schedule = r.DueSchedule
		res.Backfills = append(res.Backfills, r.OpenBackfill)
	}
	return res, nil
}

// Validation is the result of an agent's validation of a schedule.
type Validation struct {
	Schedule ScheduleID
	// Revision and SeenDueAt (DueSchedule.DueAt) are those of the validated schedule. If the
	// schedule has another revision or due instant by now, the validation is ignored.
	Revision  int
	SeenDueAt time.Time
	// Errors lists all faults in the form of schedule.ErrorJSON; nil means none. With errors, the
	// following fields are ignored.
	Errors any
	// Warnings are sentences for the owner of the schedule.
	Warnings []string
	// Zone is the time zone of its clock times.
	Zone string
	// Engine is the program and zone data that validated the schedule.
	Engine string
	// NextDueAt is zero when no due instant is left. NextFireAt is NextDueAt plus the jitter; zero
	// means NextDueAt.
	NextDueAt, NextFireAt time.Time
	// Upcoming are the next instants, at most ten, for people.
	Upcoming []time.Time
	// Description is the schedule in words; what exceeds 4,000 UTF-16 units is cut. Empty means
	// none.
	Description string
	// RecheckAt is when the validation must be renewed, because the warnings name dates that have
	// passed by then; zero means never.
	RecheckAt time.Time
}

// The values of RecordedValidation.Result.
const (
	// ValidationRecorded means that the result was stored.
	ValidationRecorded = "Recorded"
	// ValidationStale means that the schedule was changed, validated or fired meanwhile; nothing
	// was stored.
	ValidationStale = "Stale"
	// ValidationLocked means that another transaction holds the schedule or its job. Nothing was
	// stored, and the schedule still waits for validation.
	ValidationLocked = "Locked"
)

// RecordedValidation tells whether a validation was stored.
type RecordedValidation struct {
	Schedule     ScheduleID `db:"schedule_id"`
	JobName      string     `db:"job_name"`
	ScheduleName string     `db:"schedule_name"`
	Result       string     `db:"result"`
	// State is Enabled, Disabled, Completed or Faulted. It is empty unless Result is
	// ValidationRecorded.
	State string `db:"state"`
	// OldDueAt is the due instant that was stored before, and NextDueAt the one stored now; zero
	// means none.
	OldDueAt  time.Time `db:"old_due_at"`
	NextDueAt time.Time `db:"next_due_at"`
}

// validationJSON is the form of a validation in the argument of record_verdicts, whose name is
// historical.
type validationJSON struct {
	ScheduleID ScheduleID `json:"schedule_id"`
	Revision   int        `json:"revision"`
	SeenDueAt  *string    `json:"seen_due_at,omitempty"`
	Errors     any        `json:"errors,omitempty"`
	Warnings   []string   `json:"warnings,omitempty"`
	Zone       string     `json:"zone,omitempty"`
	Engine     string     `json:"engine,omitempty"`
	NextDueAt  *string    `json:"next_due_at,omitempty"`
	NextFireAt *string    `json:"next_fire_at,omitempty"`
	Upcoming   []string   `json:"upcoming,omitempty"`
	// Agents of earlier releases do not send the rest.
	Description string  `json:"description,omitempty"`
	RecheckAt   *string `json:"recheck_at,omitempty"`
}

// descriptionUnits is the length of schedules.description in UTF-16 units.
const descriptionUnits = 4000

// RecordValidations stores the results of validations. It returns [dberror.ErrTermEnded] when the
// term has ended. The name of the procedure, record_verdicts, is historical: agents of the previous
// release call it.
func (s *Store) RecordValidations(
	ctx context.Context,
	term TermID,
	validations []Validation,
) ([]RecordedValidation, error) {
	if len(validations) == 0 {
		return nil, nil
	}
	list := make([]validationJSON, 0, len(validations))
	for _, v := range validations {
		list = append(list, validationJSON{
			ScheduleID: v.Schedule, Revision: v.Revision, SeenDueAt: optInstant(v.SeenDueAt),
			Errors: v.Errors, Warnings: v.Warnings, Zone: v.Zone, Engine: v.Engine,
			NextDueAt: optInstant(v.NextDueAt), NextFireAt: optInstant(v.NextFireAt), Upcoming: upcoming(v.Upcoming),
			Description: wording.Clip(v.Description, descriptionUnits, wording.UTF16), RecheckAt: optInstant(v.RecheckAt),
		})
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("record validations: write validations as JSON: %w", err)
	}
	var recorded []RecordedValidation
	err = s.conn.Query(ctx, "record validations",
		ForTerm(call.New("jobs_internal.record_verdicts"), term).In("verdicts", string(text)),
		call.Into(&recorded))
	return recorded, err
}

// RecheckSchedules requests a new validation of schedules that another engine has validated: those
// in a zone other than UTC, and those that are Faulted. They keep their due instants meanwhile
// (D-Z1). n is the number of these schedules.
//
// One call covers some thousand schedules and skips those that another transaction holds; remaining
// is true when more are left.
func (s *Store) RecheckSchedules(ctx context.Context, term TermID, engine string) (n int, remaining bool, err error) {
	err = s.conn.Query(
		ctx,
		"recheck schedules",
		ForTerm(call.New("jobs_internal.recheck_schedules"), term).In("engine", engine),
		call.ScanOne(&n, &remaining),
	)
	return n, remaining, err
}

// SkipCatchUp is the cause of a Skip whose instants were missed and are not made up by the catch-up
// policy. FireSchedules records further causes of its own: see the view jobs.schedule_skips.
const SkipCatchUp = "CatchUp"

// SkipOverlap is the cause of an instant at which an earlier run of the schedule was active.
const SkipOverlap = "Overlap"

// Skip is a sequence of due instants that are not run (I10).
type Skip struct {
	// DueAt is the first of these instants, and Count their number.
	DueAt time.Time
	Count int
	// Cause is SkipCatchUp; empty means Other, which Reason describes.
	Cause  string
	Reason string
}

// Firing requests executions for due instants.
type Firing struct {
	Schedule ScheduleID
	// Revision is the revision of the schedule that was read; 0 means that it is not compared.
	Revision int
	// Backfill is the backfill to which the instants belong; 0 means the schedule itself.
	Backfill BackfillID
	// DueAt is the instant that DueSchedules returned (for a backfill OpenBackfill.NextAt). If the
	// stored instant differs, another agent was faster, and nothing happens.
	DueAt time.Time
	// Runs are the instants to run, in ascending order. The overlap policy decides on each of them.
	Runs []time.Time
	// Skips are instants from DueAt on that are not run.
	Skips []Skip
	// LastDueAt is the last instant of this firing; zero means the latest of DueAt and Runs.
	LastDueAt time.Time
	// NextDueAt is the next instant to store. Zero means that none is left, which completes the
	// schedule or the backfill. NextFireAt is NextDueAt plus the jitter; zero means NextDueAt. A
	// backfill has no NextFireAt.
	NextDueAt, NextFireAt time.Time
	// Upcoming are the next instants, at most ten, for people.
	Upcoming []time.Time
	// Limit is the maximum number of runs since the schedule's Kind or Spec changed; 0 means no
	// limit. The run that reaches it completes the schedule (D-P3).
	Limit int64
	// Error ends a backfill as Faulted and gives the reason.
	Error string
}

// The values of FiredExecution.Result.
const (
	// FiredStarted means that an execution was created.
	FiredStarted = "Started"
	// FiredBuffered means that the instant waits until an earlier run of the schedule has ended.
	FiredBuffered = "Buffered"
	// FiredSkipped means that the instant was recorded as skipped, with its reason.
	FiredSkipped = "Skipped"
	// FiredStale means that another agent has fired the schedule already; nothing happened.
	FiredStale = "Stale"
	// FiredLocked means that another transaction holds the schedule, its job, or a run that the
	// overlap policy would end, or that the job agent or the control database starts nothing; the
	// reason says which. Nothing happened, and the schedule is still due.
	FiredLocked = "Locked"
)

// FiredExecution is the result for one instant of Firing.Runs. A firing without such instants that
// is stale or locked, or only skips, has one result, too.
type FiredExecution struct {
	Schedule ScheduleID `db:"schedule_id"`
	JobName  string     `db:"job_name"`
	// JobExecutionID is nil unless Result is FiredStarted.
	JobExecutionID uuid.UUID `db:"job_execution_id"`
	DueAt          time.Time `db:"due_at"`
	Result         string    `db:"result"`
	// Reason is why the instant was skipped, or left due.
	Reason string `db:"reason"`
}

// firingJSON is the form of a firing in the argument of fire_schedules.
type firingJSON struct {
	ScheduleID ScheduleID `json:"schedule_id"`
	Revision   int        `json:"revision,omitempty"`
	BackfillID BackfillID `json:"backfill_id,omitempty"`
	DueAt      *string    `json:"due_at,omitempty"`
	Runs       []string   `json:"runs"`
	Skips      []skipJSON `json:"skips,omitempty"`
	LastDueAt  *string    `json:"last_due_at,omitempty"`
	NextDueAt  *string    `json:"next_due_at,omitempty"`
	NextFireAt *string    `json:"next_fire_at,omitempty"`
	Upcoming   []string   `json:"upcoming,omitempty"`
	Limit      int64      `json:"limit,omitempty"`
	Error      string     `json:"error,omitempty"`
}

// skipJSON is the form of a Skip in firingJSON.
type skipJSON struct {
	DueAt  string `json:"due_at"`
	Count  int    `json:"count"`
	Cause  string `json:"cause,omitempty"`
	Reason string `json:"reason"`
}

// optInstant formats an instant for JSON; zero is nil.
func optInstant(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := call.Datetime2(t)
	return &text
}

// instants formats instants for JSON. The result is never nil.
func instants(list []time.Time) []string {
	texts := make([]string, 0, len(list))
	for _, t := range list {
		texts = append(texts, call.Datetime2(t))
	}
	return texts
}

// upcoming formats instants as the view jobs.schedules shows them.
func upcoming(list []time.Time) []string {
	texts := make([]string, 0, len(list))
	for _, t := range list {
		texts = append(texts, t.UTC().Format(time.RFC3339))
	}
	return texts
}

// FireSchedules creates the executions of due instants and stores the next due instants, in one
// transaction. One due instant of one schedule creates exactly one execution, however often and by
// whichever agent FireSchedules is called (I2). Of several firings of one schedule, one is carried
// out; the others are stale. It returns [dberror.ErrTermEnded] when the term has ended.
func (s *Store) FireSchedules(ctx context.Context, term TermID, firings []Firing) ([]FiredExecution, error) {
	if len(firings) == 0 {
		return nil, nil
	}
	list := make([]firingJSON, 0, len(firings))
	for _, f := range firings {
		j := firingJSON{
			ScheduleID: f.Schedule, Revision: f.Revision, BackfillID: f.Backfill,
			DueAt: optInstant(f.DueAt), Runs: instants(f.Runs),
			LastDueAt: optInstant(
				f.LastDueAt,
			), NextDueAt: optInstant(f.NextDueAt), NextFireAt: optInstant(f.NextFireAt),
			Upcoming: upcoming(f.Upcoming), Limit: f.Limit, Error: f.Error,
		}
		for _, skip := range f.Skips {
			j.Skips = append(
				j.Skips,
				skipJSON{DueAt: call.Datetime2(skip.DueAt), Count: skip.Count, Cause: skip.Cause, Reason: skip.Reason},
			)
		}
		list = append(list, j)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("fire schedules: write firings as JSON: %w", err)
	}
	var fired []FiredExecution
	err = s.conn.Query(ctx, "fire schedules",
		ForTerm(call.New("jobs_internal.fire_schedules"), term).In("firings", string(text)),
		call.Into(&fired))
	return fired, err
}
