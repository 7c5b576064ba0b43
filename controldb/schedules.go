package controldb

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// ScheduleID identifies a schedule.
type ScheduleID int64

// BackfillID identifies a backfill; 0: none.
type BackfillID int64

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
	// Anchor is the origin of the grid of due instants: Start, or the time of activation when Start is
	// in the year 1 (decision 10).
	Anchor time.Time `db:"anchor_at"`
	// TimeZone is an IANA name. If empty, the zone in Spec applies, or else the kind's default. It is
	// "UTC" for the schedule of jobs.sp_add_job.
	TimeZone string `db:"time_zone"`
	// DueAt is the stored due instant; zero means that none is stored.
	DueAt time.Time `db:"next_due_at"`
	// LastDueAt is the latest instant that was handled; zero means none.
	LastDueAt time.Time `db:"last_due_at"`
	// FireAt is when DueAt is handled: DueAt plus the jitter.
	FireAt time.Time `db:"next_fire_at"`
	// CatchUp is the policy for missed runs. If empty, the policy in Spec applies, or else the default.
	CatchUp string `db:"catch_up"`
	// Overlap is the policy that FireSchedules applies.
	Overlap string `db:"overlap"`
	// Defined is when Kind and Spec were set. Activated is when the definition was last changed or
	// activated; instants due before it are dropped (D-P7).
	Defined   time.Time `db:"defined_at"`
	Activated time.Time `db:"activated_at"`
	// LastStarted is when its latest run was created; zero means none.
	LastStarted time.Time `db:"last_started_at"`
	// Executions is the number of runs started since Kind or Spec changed. A count in Spec is compared
	// with it (D-P3).
	Executions int64 `db:"executions"`
	// Revision is the definition's. A Verdict and a Firing name the revision from which they were
	// computed.
	Revision int `db:"revision"`
	// Engine is the program and zone data that computed the stored verdict; empty means that there
	// was none.
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
	// NextFireAt is when the earliest schedule that is not due yet will be; zero: none is stored.
	NextFireAt time.Time
	// LastWorkedAt and WorkingSince bound the latest time in which no agent held a term. They are set only if something that
	// is due lies before every present term; else both are zero: no agent was missing. LastWorkedAt alone is zero when there
	// was no term before.
	LastWorkedAt, WorkingSince time.Time
	// MinInterval is the shortest time that may lie between two instants of a schedule that is judged (D-S6); 0: any.
	MinInterval time.Duration
	// Schedules are due, the one that has been for longest first.
	Schedules []DueSchedule
	// Unjudged are those that wait for a verdict. One that has a DueAt was judged before, by another engine or with another
	// calendar, and goes on with that meanwhile.
	Unjudged []DueSchedule
	// Backfills are open, oldest first.
	Backfills []OpenBackfill
	// Calendars are all there are, if a Spec of those above may name one.
	Calendars []CalendarText
}

// backfillRow is a row of due_schedules' fourth result set: a backfill and its schedule.
type backfillRow struct {
	OpenBackfill
	DueSchedule
}

// DueSchedules lists what is to be done about schedules: at most limit of each list, and none of otherKinds, which the caller
// cannot read. It changes nothing: FireSchedules and RecordVerdicts do.
func (s *Store) DueSchedules(ctx context.Context, limit int, otherKinds ...string) (DueSchedules, error) {
	var (
		res         DueSchedules
		minInterval int64 // seconds
		backfills   []backfillRow
	)
	call := newCall("jobs_internal.due_schedules").in("max", int64(limit))
	if len(otherKinds) > 0 {
		call.in("other_kinds", strings.Join(otherKinds, ","))
	}
	err := s.query(ctx, "list due schedules", call,
		scanOne(&res.Now, &res.NextFireAt, &res.LastWorkedAt, &res.WorkingSince, &minInterval),
		into(&res.Schedules), into(&res.Unjudged), into(&backfills), into(&res.Calendars))
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

// Verdict is what an agent has found out about a schedule.
type Verdict struct {
	Schedule ScheduleID
	// Revision and SeenDueAt (DueSchedule.DueAt) are those of the schedule that was judged; a verdict on anything else is
	// ignored.
	Revision  int
	SeenDueAt time.Time
	// Errors is everything that is wrong, as schedule.ErrorJSON gives it; nil: nothing. Then the rest is not looked at.
	Errors any
	// Warnings are sentences for people.
	Warnings []string
	// Zone is where its clock times are.
	Zone string
	// Engine says which program and zone data gave the verdict.
	Engine string
	// NextDueAt is zero when nothing is due any more. NextFireAt is NextDueAt and the jitter; zero: NextDueAt.
	NextDueAt, NextFireAt time.Time
	// Upcoming are the next instants, at most ten, for people.
	Upcoming []time.Time
}

// The values of RecordedVerdict.Result.
const (
	// VerdictRecorded means that the verdict holds from now on.
	VerdictRecorded = "Recorded"
	// VerdictStale means that the schedule has changed, was judged by somebody else, or has moved on; nothing happened.
	VerdictStale = "Stale"
	// VerdictLocked means that another transaction holds the schedule or its job; nothing happened, and the verdict is asked for again.
	VerdictLocked = "Locked"
)

// RecordedVerdict is what became of a verdict.
type RecordedVerdict struct {
	Schedule     ScheduleID `db:"schedule_id"`
	JobName      string     `db:"job_name"`
	ScheduleName string     `db:"schedule_name"`
	Result       string     `db:"result"`
	// State is Enabled, Disabled, Completed or Faulted; empty unless Result is VerdictRecorded.
	State string `db:"state"`
	// OldDueAt is the due instant that was stored before, and NextDueAt the one that is now; zero: none.
	OldDueAt  time.Time `db:"old_due_at"`
	NextDueAt time.Time `db:"next_due_at"`
}

// verdictJSON is the form of a verdict in record_verdicts' argument.
type verdictJSON struct {
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
}

// RecordVerdicts stores what schedules that wait for a verdict got. It returns [ErrTermEnded] when the term has ended.
func (s *Store) RecordVerdicts(ctx context.Context, term TermID, verdicts []Verdict) ([]RecordedVerdict, error) {
	if len(verdicts) == 0 {
		return nil, nil
	}
	list := make([]verdictJSON, 0, len(verdicts))
	for _, v := range verdicts {
		list = append(list, verdictJSON{
			ScheduleID: v.Schedule, Revision: v.Revision, SeenDueAt: optInstant(v.SeenDueAt), Errors: v.Errors, Warnings: v.Warnings,
			Zone: v.Zone, Engine: v.Engine, NextDueAt: optInstant(v.NextDueAt), NextFireAt: optInstant(v.NextFireAt), Upcoming: upcoming(v.Upcoming),
		})
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("record verdicts: write verdicts as JSON: %w", err)
	}
	var recorded []RecordedVerdict
	err = s.query(ctx, "record verdicts",
		newCall("jobs_internal.record_verdicts").in("term_id", int64(term)).in("verdicts", string(text)),
		into(&recorded))
	return recorded, err
}

// RecheckSchedules lets schedules wait for a verdict again that another engine has judged, and returns how many: those whose
// zone is not UTC, and those that are Faulted. They keep their due instants meanwhile (D-Z1).
//
// One call covers some thousand schedules, and leaves those that another transaction holds; remaining says that there are more.
func (s *Store) RecheckSchedules(ctx context.Context, term TermID, engine string) (n int, remaining bool, err error) {
	err = s.query(ctx, "recheck schedules",
		newCall("jobs_internal.recheck_schedules").in("term_id", int64(term)).in("engine", engine), scanOne(&n, &remaining))
	return n, remaining, err
}

// The causes of a Skip that agents give. FireSchedules adds others of its own: see the view jobs.schedule_skips.
const (
	// SkipCatchUp: missed, and not made up by the catch-up policy.
	SkipCatchUp = "CatchUp"
	// SkipEnded: after the schedule's end.
	SkipEnded = "Ended"
	// SkipOther: anything else; Reason says it.
	SkipOther = "Other"
)

// Skip records due instants that are not run (I10).
type Skip struct {
	// DueAt is the first of them, and Count how many there are.
	DueAt time.Time
	Count int
	// Cause is one of the constants; empty: SkipOther.
	Cause  string
	Reason string
}

// Firing asks for the executions of due instants.
type Firing struct {
	Schedule ScheduleID
	// Revision is that of the schedule that was read; 0: it is not compared.
	Revision int
	// Backfill is the backfill whose instants these are; 0: they are the schedule's own.
	Backfill BackfillID
	// DueAt is the instant as DueSchedules gave it (of a backfill OpenBackfill.NextAt); if the stored one differs, somebody was
	// faster, and nothing happens.
	DueAt time.Time
	// Runs are the instants to run, ascending. The overlap policy decides on each of them.
	Runs []time.Time
	// Skips are instants from DueAt on that are not run.
	Skips []Skip
	// LastDueAt is the last instant that this firing deals with; zero: the latest of DueAt and Runs.
	LastDueAt time.Time
	// NextDueAt is the instant to store; zero: there are no more, and the schedule or the backfill is completed. NextFireAt is
	// NextDueAt and the jitter; zero: NextDueAt. A backfill has no NextFireAt.
	NextDueAt, NextFireAt time.Time
	// Upcoming are the next instants, at most ten, for people.
	Upcoming []time.Time
	// Limit is how many runs the schedule may start since its Kind or Spec changed; 0: any number. The run that uses it up is
	// the last one, and completes the schedule (D-P3).
	Limit int64
	// Error ends a backfill as Faulted: why it cannot go on.
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
	// FiredStale means that somebody else had moved the schedule on; nothing happened.
	FiredStale = "Stale"
	// FiredLocked means that another transaction holds the schedule, its job or a run that is to end; nothing happened, and the
	// schedule is still due.
	FiredLocked = "Locked"
)

// FiredExecution is what became of an instant of Firing.Runs, or of a firing without any that is stale, locked or only skips.
type FiredExecution struct {
	Schedule ScheduleID `db:"schedule_id"`
	JobName  string     `db:"job_name"`
	// JobExecutionID is nil unless Result is FiredStarted.
	JobExecutionID uuid.UUID `db:"job_execution_id"`
	DueAt          time.Time `db:"due_at"`
	Result         string    `db:"result"`
	// Reason is why the instant was skipped.
	Reason string `db:"reason"`
}

// firingJSON is the form of a firing in fire_schedules' argument.
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

// skipJSON is the form of a Skip in it.
type skipJSON struct {
	DueAt  string `json:"due_at"`
	Count  int    `json:"count"`
	Cause  string `json:"cause,omitempty"`
	Reason string `json:"reason"`
}

// optInstant is an instant for JSON; nil when it is zero.
func optInstant(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := datetime2(t)
	return &text
}

// instants are instants for JSON; never nil.
func instants(list []time.Time) []string {
	texts := make([]string, 0, len(list))
	for _, t := range list {
		texts = append(texts, datetime2(t))
	}
	return texts
}

// upcoming are instants for people, as the view jobs.schedules shows them.
func upcoming(list []time.Time) []string {
	texts := make([]string, 0, len(list))
	for _, t := range list {
		texts = append(texts, t.UTC().Format(time.RFC3339))
	}
	return texts
}

// FireSchedules creates the executions of due instants and moves the schedules on, in one transaction. One
// due instant of one schedule creates exactly one execution, whoever calls how often (I2). Of several firings of one schedule
// only one is carried out; the others are stale. It returns [ErrTermEnded] when the term has ended.
func (s *Store) FireSchedules(ctx context.Context, term TermID, firings []Firing) ([]FiredExecution, error) {
	if len(firings) == 0 {
		return nil, nil
	}
	list := make([]firingJSON, 0, len(firings))
	for _, f := range firings {
		j := firingJSON{
			ScheduleID: f.Schedule, Revision: f.Revision, BackfillID: f.Backfill, DueAt: optInstant(f.DueAt), Runs: instants(f.Runs),
			LastDueAt: optInstant(f.LastDueAt), NextDueAt: optInstant(f.NextDueAt), NextFireAt: optInstant(f.NextFireAt),
			Upcoming: upcoming(f.Upcoming), Limit: f.Limit, Error: f.Error,
		}
		for _, skip := range f.Skips {
			j.Skips = append(j.Skips, skipJSON{DueAt: datetime2(skip.DueAt), Count: skip.Count, Cause: skip.Cause, Reason: skip.Reason})
		}
		list = append(list, j)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("fire schedules: write firings as JSON: %w", err)
	}
	var fired []FiredExecution
	err = s.query(ctx, "fire schedules",
		newCall("jobs_internal.fire_schedules").in("term_id", int64(term)).in("firings", string(text)),
		into(&fired))
	return fired, err
}
