package summary

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/controldb/settings"
	"github.com/jobagent/jobagent/jobs"
)

// Many is the number at which jobs.sp_get_overview stops counting what may be very many.
const Many = 10_000

// Overview is the answer of jobs.sp_get_overview: the present state of all jobs. All times are the
// database's; they are zero where the procedure returns NULL.
type Overview struct {
	Now time.Time `db:"now"`
	// Jobs is the number of jobs that are not system jobs.
	Jobs int `db:"jobs"`
	// LiveAgents is the number of live agents, Workers that of their workers, and BusyWorkers the
	// number of tasks that they hold.
	LiveAgents  int `db:"live_agents"`
	Workers     int `db:"workers"`
	BusyWorkers int `db:"busy_workers"`
	// LeaseUntil is when the first of the live agents' terms ends unless it is renewed. LastAgentAt
	// is until when an agent worked, if none is live; zero: there was none.
	LeaseUntil  time.Time `db:"lease_until"`
	LastAgentAt time.Time `db:"last_agent_at"`
	// The next numbers end at Many.
	ActiveRuns       int       `db:"active_runs"`
	RunningTargets   int       `db:"running_targets"`
	WaitingTargets   int       `db:"waiting_targets"`
	WaitingCallbacks int       `db:"waiting_callbacks"`
	OverdueSchedules int       `db:"overdue_schedules"` // due for a minute or more
	FirstOverdueAt   time.Time `db:"first_overdue_at"`
	// Unvalidated schedules wait for an agent that reads their text.
	Unvalidated      int `db:"unvalidated_schedules"`
	PausedSchedules  int `db:"paused_schedules"`
	FaultedSchedules int `db:"faulted_schedules"`
	OpenBackfills    int `db:"open_backfills"`
	// AdvanceSkippedSince is AdvanceStatus.SkippedSince.
	AdvanceSkippedSince time.Time     `db:"advance_skipped_since"`
	JobAgentState       account.State `db:"job_agent_state"`
	JobAgentReason      string        `db:"job_agent_reason"`
	// PausedAt is zero if the control database is not paused.
	PausedAt    time.Time `db:"paused_time"`
	PauseReason string    `db:"pause_reason"`

	Runs     []ActiveRun        `db:"-"` // latest first
	Waiting  []WaitingRun       `db:"-"` // longest wait first
	Missing  []MissingType      `db:"-"`
	Due      []DueNext          `db:"-"` // earliest first
	Stopped  []StoppedSchedule  `db:"-"` // Faulted ones, then paused ones
	Backfill []BackfillProgress `db:"-"` // oldest first
}

// WorkWaits reports whether there is work that only an agent can do: a run that is active or due.
func (o Overview) WorkWaits() bool {
	return o.ActiveRuns > 0 || o.OverdueSchedules > 0 || o.Unvalidated > 0 || o.OpenBackfills > 0
}

// ActiveRun is a run in progress with the numbers of its targets.
type ActiveRun struct {
	ID              uuid.UUID      `db:"job_execution_id"`
	JobName         string         `db:"job_name"`
	JobVersion      int            `db:"job_version"`
	Lifecycle       jobs.Lifecycle `db:"lifecycle"`
	CreateTime      time.Time      `db:"create_time"`
	StartTime       time.Time      `db:"start_time"`
	StopRequestedAt time.Time      `db:"stop_requested_at"`
	Rerun           bool           `db:"is_rerun"`
	DueTime         time.Time      `db:"due_time"` // of a scheduled run
	// Steps is the number of steps of the version, StepsBegun the number of those that have begun.
	Steps      int `db:"steps"`
	StepsBegun int `db:"steps_begun"`
	// StepID and StepName are those of the first of ActiveSteps; 0 and empty: none is active.
	StepID      int    `db:"step_id"`
	StepName    string `db:"step_name"`
	ActiveSteps int    `db:"active_steps"`
	// BeganAt is when the list of this step's StepTargets targets was frozen; StepActive of them
	// have not ended.
	BeganAt     time.Time `db:"began_at"`
	StepTargets int       `db:"step_targets"`
	StepActive  int       `db:"step_active"`
	// Targets are all targets of the steps that have begun. Running, Due, Retrying, Held and
	// Callbacks have not ended; Failed ended as Failed or TimedOut. HeldFrom and HeldUntil are when
	// the first and the last of the held ones may go on; zero: none is held, or that is not known.
	Targets     int       `db:"targets"`
	Running     int       `db:"running"`
	Due         int       `db:"due"`
	Retrying    int       `db:"retrying"`
	Held        int       `db:"held"` // their databases are paused, or have a window that is not open
	HeldFrom    time.Time `db:"held_from"`
	HeldUntil   time.Time `db:"held_until"`
	Callbacks   int       `db:"callbacks"`
	Failed      int       `db:"failed"`
	NextAttempt time.Time `db:"next_attempt_at"`
	// RetryMessage is the last error of something that waits for a retry; empty: nothing waits. It
	// has at most 400 characters.
	RetryMessage string `db:"retry_message"`
}

// Ended is the number of targets that ended without a failure.
func (r ActiveRun) Ended() int {
	return max(r.Targets-r.Failed-r.Running-r.Due-r.Retrying-r.Held-r.Callbacks, 0)
}

// Pace returns how many targets of the active step end per second, and estimates how long it still
// takes; 0 means that it is unknown. While targets are held, it takes at least so long.
func (r ActiveRun) Pace(now time.Time) (rate float64, left time.Duration) {
	if r.BeganAt.IsZero() {
		return 0, 0
	}
	rate, left = jobs.Pace(r.StepTargets-r.StepActive, max(r.StepActive-r.Held, 0), now.Sub(r.BeganAt))
	if r.Held > 0 {
		left = jobs.NotBefore(left, r.HeldUntil, now)
	}
	return rate, left.Round(time.Second)
}

// WaitingRun is a run that has waited for a while, and none of whose targets runs.
type WaitingRun struct {
	ID         uuid.UUID `db:"job_execution_id"`
	JobName    string    `db:"job_name"`
	CreateTime time.Time `db:"create_time"`
	// For is a keyword as in [executions.Wait]. CommandType is the type of commands that no live
	// agent runs; it is empty if no agent is live, and unless For is Agent.
	For         string    `db:"waits_for"`
	CommandType string    `db:"command_type"`
	Since       time.Time `db:"since"`
	Until       time.Time `db:"until_time"` // of Retry
	// Targets counts 1000 targets of a step at most, unless the run is among [Overview.Runs].
	Targets int `db:"targets"`
}

// MissingType is a type of commands that no live agent runs, and for which steps wait.
type MissingType struct {
	CommandType string    `db:"command_type"`
	Runs        int       `db:"runs"`
	Since       time.Time `db:"since"`
}

// DueNext is a schedule with its next due instant.
type DueNext struct {
	JobName string `db:"job_name"`
	// Schedule is empty for the schedule of jobs.sp_add_job.
	Schedule      string    `db:"schedule_name"`
	ID            int64     `db:"schedule_id"`
	Kind          string    `db:"kind"`
	NextDue       time.Time `db:"next_due_time"`
	NextFire      time.Time `db:"next_fire_time"` // NextDue and the jitter
	LastLifecycle string    `db:"last_lifecycle"` // empty: it had no run yet
}

// StoppedSchedule is a schedule that starts no runs because it is Faulted or Paused.
type StoppedSchedule struct {
	JobName  string    `db:"job_name"`
	Schedule string    `db:"schedule_name"`
	ID       int64     `db:"schedule_id"`
	State    string    `db:"state"`
	Reason   string    `db:"reason"` // the note of a pause
	Since    time.Time `db:"since"`
	By       string    `db:"changed_by"`
}

// BackfillProgress is a backfill that has not ended.
type BackfillProgress struct {
	JobName     string    `db:"job_name"`
	Schedule    string    `db:"schedule_name"`
	ID          int64     `db:"backfill_id"`
	From        time.Time `db:"from_time"`
	To          time.Time `db:"to_time"`
	Next        time.Time `db:"next_time"` // zero: it has not begun
	Started     int64     `db:"started"`
	Skipped     int64     `db:"skipped"`
	RequestedBy string    `db:"requested_by"`
	RequestedAt time.Time `db:"requested_time"`
}

// Overview returns the present state of all jobs; each list has at most top rows, of at most 200.
// It costs as much as what is active, however long the history is.
func (s Store) Overview(ctx context.Context, top int) (Overview, error) {
	const op = "read the overview"
	var (
		heads []Overview
		o     Overview
	)
	err := s.conn.Query(ctx, op, call.New("jobs.sp_get_overview").In("top", int64(top)), call.Into(&heads), call.Into(&o.Runs), call.Into(&o.Waiting),
		call.Into(&o.Missing), call.Into(&o.Due), call.Into(&o.Stopped), call.Into(&o.Backfill))
	if err != nil {
		return Overview{}, err
	}
	if len(heads) != 1 {
		return Overview{}, fmt.Errorf("%s: got %d rows, want 1", op, len(heads))
	}
	head := heads[0]
	head.Runs, head.Waiting, head.Missing, head.Due, head.Stopped, head.Backfill = o.Runs, o.Waiting, o.Missing, o.Due, o.Stopped, o.Backfill
	return head, nil
}

// Failures is the answer of jobs.sp_get_failures: what failed in a period that ends now.
type Failures struct {
	Now   time.Time `db:"now"`
	Since time.Time `db:"since"`
	// CompleteSince is later than Since if there were more failures than are counted: those before
	// it are left out.
	CompleteSince time.Time `db:"complete_since"`
	Runs          int       `db:"runs"`
	Targets       int       `db:"targets"`
	// Mended is the number of further failures that a rerun has mended; they are in no other
	// number.
	Mended int `db:"mended"`
	// Errors has the same error of a step once, latest first.
	Errors []FailureGroup `db:"-"`
}

// FailureGroup is an error of a step, with the number of runs and targets that had it.
type FailureGroup struct {
	JobName     string         `db:"job_name"`
	JobID       uuid.UUID      `db:"job_id"`
	StepID      int            `db:"step_id"`
	StepName    string         `db:"step_name"`
	Lifecycle   jobs.Lifecycle `db:"lifecycle"` // Failed or TimedOut
	ErrorNumber *int32         `db:"error_number"`
	// Message has at most 400 characters. Names of the target in quotation marks are replaced by
	// ....
	Message string `db:"message"`
	Runs    int    `db:"runs"`
	// Targets is 0 if the step failed before it had targets.
	Targets int       `db:"targets"`
	First   time.Time `db:"first_time"`
	Last    time.Time `db:"last_time"`
	// LastRun is the latest of the runs; Server and Database are one of its targets.
	LastRun  uuid.UUID `db:"last_job_execution_id"`
	Server   string    `db:"server_name"`
	Database string    `db:"database_name"`
}

// Failures summarizes what failed in the last hours, of at most 720.
func (s Store) Failures(ctx context.Context, hours int) (Failures, error) {
	const op = "summarize failures"
	var (
		heads []Failures
		list  []FailureGroup
	)
	if err := s.conn.Query(ctx, op, call.New("jobs.sp_get_failures").In("hours", int64(hours)), call.Into(&heads), call.Into(&list)); err != nil {
		return Failures{}, err
	}
	if len(heads) != 1 {
		return Failures{}, fmt.Errorf("%s: got %d rows, want 1", op, len(heads))
	}
	heads[0].Errors = list
	return heads[0], nil
}

// RecentRuns is the answer of jobs.sp_get_recent_runs: the latest runs of the jobs that ran lately.
type RecentRuns struct {
	Now   time.Time `db:"now"`
	Since time.Time `db:"since"`
	// Jobs is the number of jobs with a run since then; Runs has those of the jobs that ran last.
	Jobs int `db:"jobs"`
	// Runs are by job name, and from the oldest to the latest of a job.
	Runs []executions.Run `db:"-"`
}

// RecentRuns returns the latest runs of the jobs that ran in the last days: at most jobs jobs, of
// at most 500, and at most runs runs of each, of at most 200.
func (s Store) RecentRuns(ctx context.Context, days, jobs, runs int) (RecentRuns, error) {
	const op = "list recent runs"
	var (
		heads []RecentRuns
		list  []executions.Run
	)
	c := call.New("jobs.sp_get_recent_runs").In("days", int64(days)).In("jobs", int64(jobs)).In("runs", int64(runs))
	if err := s.conn.Query(ctx, op, c, call.Into(&heads), call.Into(&list)); err != nil {
		return RecentRuns{}, err
	}
	if len(heads) != 1 {
		return RecentRuns{}, fmt.Errorf("%s: got %d rows, want 1", op, len(heads))
	}
	heads[0].Runs = list
	return heads[0], nil
}

// LimitUse is the answer of jobs.sp_get_limits.
type LimitUse struct {
	// Limits are all limits, with their ids and use.
	Limits []LimitWithID
	// Uses are the objects that count under limits, those with the most waiting targets first.
	Uses []LimitedJob
}

// LimitWithID is a limit and its id.
type LimitWithID struct {
	ID int `db:"limit_id"`
	settings.Limit
}

// LimitedJob is a job's share of a limit: of one object that the limit counts, such as a server.
type LimitedJob struct {
	// LimitID is nil for max_parallelism of a step; Scope is then Step.
	LimitID     *int   `db:"limit_id"`
	Scope       string `db:"scope"`
	Description string `db:"description"`
	JobName     string `db:"job_name"`
	Max         int    `db:"max_concurrent_targets"`
	// Used is the number of running targets of all jobs that this object counts. Running and
	// Waiting are targets of this job.
	Used    int  `db:"used"`
	Running int  `db:"running"`
	Waiting int  `db:"waiting"`
	Full    bool `db:"is_full"` // no further target may start
}

// LimitUse returns all limits, what uses them and what waits for them: at most top objects and
// jobs, of at most 5000.
func (s Store) LimitUse(ctx context.Context, top int) (LimitUse, error) {
	var u LimitUse
	err := s.conn.Query(ctx, "list the use of limits", call.New("jobs.sp_get_limits").In("top", int64(top)), call.Into(&u.Limits), call.Into(&u.Uses))
	return u, err
}
