package executions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs"
)

// Run is a run: how it came to be, how far it is, and the parts that a reader asked for. Lists and
// [Store.Get] return it; what they do not read is zero, and so are times that are NULL. All times
// are the database's.
type Run struct {
	ID          uuid.UUID      `db:"job_execution_id"`
	JobName     string         `db:"job_name"`
	JobID       uuid.UUID      `db:"job_id"`
	JobVersion  int            `db:"job_version"`
	Lifecycle   jobs.Lifecycle `db:"lifecycle"`
	Active      bool           `db:"is_active"`
	CreateTime  time.Time      `db:"create_time"`
	StartTime   time.Time      `db:"start_time"`
	EndTime     time.Time      `db:"end_time"`
	LastMessage string         `db:"last_message"`

	// StartedBy is empty if a schedule or a trigger started the run. Schedule is nil if none did,
	// or if it was deleted; it is empty for the schedule of the job itself. Due is zero for runs
	// that were started by hand, and Backfill is 0 for those that no backfill requested.
	StartedBy string               `db:"started_by"`
	Schedule  *string              `db:"schedule_name"`
	Due       time.Time            `db:"due_time"`
	Backfill  controldb.BackfillID `db:"backfill_id"`
	// JobTrigger is the trigger that started the run after runs of other jobs: empty if it was
	// deleted, nil if none did. [triggers.Store.Events] has these runs.
	JobTrigger *string `db:"trigger_name"`
	// RerunOf is nil if the run is no rerun, or if the other run was purged; RerunOnly is empty if
	// it is no rerun.
	RerunOf   uuid.UUID `db:"rerun_of"`
	RerunOnly string    `db:"rerun_only"`
	// StopRequested is zero without a stop request.
	StopRequested time.Time `db:"stop_requested_at"`
	StoppedBy     string    `db:"stop_requested_by"`
	// Chosen is the number of databases to which the run is limited; 0: it is not.
	Chosen int `db:"chosen_targets"`
	// Tolerated is the number of targets that failed in steps that succeeded with them.
	Tolerated int `db:"tolerated_failures"`
	// Rollout is the roll-out to which the run belongs: it is its own run, with RolloutWave 0, or
	// one of that wave. Nil: it belongs to none.
	Rollout     uuid.UUID `db:"rollout_id"`
	RolloutWave int       `db:"rollout_wave"`
	// Held is the number of targets whose databases are paused, or have a window that is not open.
	// HeldFrom and HeldUntil are when the first and the last of them may go on; zero: none is held,
	// or that is not known. Only [Store.Get] has them.
	Held      int       `db:"held"`
	HeldFrom  time.Time `db:"held_from"`
	HeldUntil time.Time `db:"held_until"`
	// Now is the time of the answer.
	Now time.Time `db:"now"`

	// Targets counts a database once for each step. NotSucceeded of them ended as Failed, TimedOut
	// or Canceled. Only lists with Query.Totals have them.
	Targets      int `db:"targets"`
	NotSucceeded int `db:"not_succeeded"`

	// LiveAgents is the number of live agents, with States. With 0, nothing moves.
	LiveAgents int          `db:"live_agents"`
	Steps      []RunStep    `db:"-"` // all of the version, in order; of [Store.Get] only
	Marks      []TargetMark `db:"-"` // of unfinished targets, with Marks
}

// Key is the place of the run in the lists of [Store.List].
func (r Run) Key() Key { return Key{Created: r.CreateTime, ID: r.ID} }

// Row is the row of the run in jobs.job_executions.
func (r Run) Row() Execution {
	return Execution{
		ID: r.ID, JobName: r.JobName, JobID: r.JobID, JobVersion: r.JobVersion, Active: r.Active, Lifecycle: r.Lifecycle,
		CreateTime: r.CreateTime, StartTime: r.StartTime, EndTime: r.EndTime, LastMessage: r.LastMessage,
	}
}

// Counts returns the numbers of the targets of all steps that have begun, with States.
func (r Run) Counts() jobs.Counts {
	var all jobs.Counts
	for _, s := range r.Steps {
		all = all.Plus(s.Counts())
	}
	return all
}

// ScheduleName is the name of the schedule; empty if there is none, or none with a name.
func (r Run) ScheduleName() string {
	if r.Schedule == nil {
		return ""
	}
	return *r.Schedule
}

// TriggeredBy names the trigger that started the run after runs of other jobs; empty if none did.
func (r Run) TriggeredBy() string {
	switch {
	case r.JobTrigger == nil:
		return ""
	case *r.JobTrigger == "":
		return "a deleted trigger"
	}
	return "trigger " + *r.JobTrigger
}

// Duration is the time from the first step to the end, or to now; negative before the first step.
func (r Run) Duration() time.Duration {
	return RunTarget{StartTime: r.StartTime, EndTime: r.EndTime}.Duration(r.Now)
}

// RunStep is a step of a run. ID is 0 if it has not begun.
type RunStep struct {
	StepID      int    `db:"step_id"`
	Name        string `db:"step_name"`
	CommandType string `db:"command_type"`
	// TargetGroup is empty for an action without one.
	TargetGroup string         `db:"target_group_name"`
	RunWhen     string         `db:"run_when"`
	ID          int64          `db:"step_execution_id"`
	Lifecycle   jobs.Lifecycle `db:"lifecycle"`
	Active      bool           `db:"is_active"`
	CreateTime  time.Time      `db:"create_time"`
	StartTime   time.Time      `db:"start_time"`
	EndTime     time.Time      `db:"end_time"`
	// ResolvedAt is when the list of targets was frozen.
	ResolvedAt  time.Time    `db:"resolved_at"`
	NextAttempt time.Time    `db:"next_attempt_at"` // of the resolution of its target group
	LastMessage string       `db:"last_message"`
	States      []StateCount `db:"-"` // with States; none before the list is frozen
}

// Begun reports whether the step has begun.
func (s RunStep) Begun() bool { return s.ID != 0 }

// Counts returns the numbers of the targets, with States.
func (s RunStep) Counts() jobs.Counts {
	var c jobs.Counts
	for _, state := range s.States {
		c.Add(state.Lifecycle, state.Total)
	}
	return c
}

// NextRetry is when the next of the targets that wait for another attempt is due; zero: none waits.
func (s RunStep) NextRetry() time.Time {
	var next time.Time
	for _, state := range s.States {
		if t := state.NextAttempt; !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return next
}

// StateCount counts the targets of a step of a run in one state.
type StateCount struct {
	StepID int `db:"step_id"`
	// Lifecycle is also [jobs.WaitingForCallback].
	Lifecycle jobs.Lifecycle `db:"lifecycle"`
	// Unknown is true for targets of which it is unknown whether the script ran.
	Unknown bool `db:"outcome_unknown"`
	Total   int  `db:"total"`
	// NextAttempt is when the first of them is due, if they wait for another attempt.
	NextAttempt time.Time `db:"next_attempt_at"`
	// Held is how many of them do not start, because their databases are paused or have a
	// window that is not open.
	Held int `db:"held"`
}

// TargetMark tells where unfinished targets of a step are. All targets of the step with an ID from
// First to Last have this mark.
type TargetMark struct {
	// Kind is Waiting, Held (an agent runs it), Callback, or Hold (its database is paused, or
	// has a window that is not open).
	Kind  string    `db:"kind"`
	Step  int64     `db:"step_execution_id"`
	First int64     `db:"first_id"`
	Last  int64     `db:"last_id"`
	At    time.Time `db:"at"`      // Waiting: when the next attempt may begin
	Task  int64     `db:"task_id"` // Held: the attempt
}

// Part is a part of a run that costs more than its steps.
type Part int

// The parts.
const (
	// Marks are the marks of unfinished targets. They cost as much as these targets have ranges.
	Marks Part = 1 + iota
	// States are the numbers of targets by step and state. They cost a read of all targets of
	// the run, and few rows.
	States
)

// Get reads a run with its steps and some parts, in one call. The error is
// [dberror.ErrExecutionNotFound] when no run has this ID.
func (s Store) Get(ctx context.Context, id uuid.UUID, parts ...Part) (Run, error) {
	const op = "read the run"
	var (
		heads  []Run
		steps  []RunStep
		marks  []TargetMark
		states []StateCount
	)
	sets := []func(*sqlx.Rows) error{call.Into(&heads), call.Into(&steps), call.Into(&marks)}
	if slices.Contains(parts, States) {
		sets = append(sets, call.Into(&states))
	}
	c := call.New("jobs.sp_get_run").In("job_execution_id", id).In("marks", slices.Contains(parts, Marks)).
		In("states", slices.Contains(parts, States))
	if err := s.conn.Query(ctx, op, c, sets...); err != nil {
		return Run{}, err
	}
	if len(heads) != 1 {
		return Run{}, fmt.Errorf("%s: got %d rows, want 1", op, len(heads))
	}
	run := heads[0]
	run.ID, run.Steps, run.Marks = id, steps, marks
	for _, one := range states {
		if i := slices.IndexFunc(steps, func(s RunStep) bool { return s.StepID == one.StepID }); i >= 0 {
			steps[i].States = append(steps[i].States, one)
		}
	}
	return run, nil
}

// Trigger tells why a run was started.
type Trigger string

// The triggers.
const (
	TriggerManual   Trigger = "Manual"
	TriggerSchedule Trigger = "Schedule"
	TriggerBackfill Trigger = "Backfill"
	TriggerRerun    Trigger = "Rerun"
	TriggerJob      Trigger = "Job" // runs of other jobs
)

// Triggers are all triggers.
func Triggers() []Trigger {
	return []Trigger{TriggerManual, TriggerSchedule, TriggerBackfill, TriggerRerun, TriggerJob}
}

// Trigger tells why the run was started.
func (r Run) Trigger() Trigger {
	switch {
	case r.RerunOnly != "":
		return TriggerRerun
	case r.Backfill != 0:
		return TriggerBackfill
	case !r.Due.IsZero():
		return TriggerSchedule
	case r.JobTrigger != nil:
		return TriggerJob
	}
	return TriggerManual
}

// WatchedTarget is a row of jobs.sp_get_run_targets: a step on one target.
type WatchedTarget struct {
	ID       int64     `db:"target_execution_id"`
	StepID   int       `db:"step_id"`
	TargetID uuid.UUID `db:"target_id"`
	Server   string    `db:"server_name"`
	// Database is empty for an endpoint.
	Database string `db:"database_name"`
	// Lifecycle may also be WaitingForCallback.
	Lifecycle      jobs.Lifecycle `db:"lifecycle"`
	Active         bool           `db:"is_active"`
	StartTime      time.Time      `db:"start_time"`
	EndTime        time.Time      `db:"end_time"`
	Attempts       int            `db:"attempts"`
	AttemptStart   time.Time      `db:"attempt_start_time"`
	NextAttempt    time.Time      `db:"next_attempt_at"`
	ErrorNumber    int            `db:"error_number"` // 0: none
	OutcomeUnknown bool           `db:"outcome_unknown"`
	// Message is cut to a length; empty means that there is none but the lifecycle.
	Message string `db:"message"`
	// DurationMS is how long the target took by its agent's clock; nil while it goes on.
	DurationMS *int64 `db:"duration_ms"`
	// WaitingReason says, after "because", what pause or window of the database holds the target;
	// empty: none does.
	WaitingReason string `db:"waiting_reason"`
}

// TargetsOfStep lists the targets of a step of a run by their IDs. Messages are cut to a number
// of characters, at most 4,000.
func (s Store) TargetsOfStep(ctx context.Context, run uuid.UUID, step, messageLength int) ([]WatchedTarget, error) {
	return s.targets(ctx, call.New("jobs.sp_get_run_targets").In("job_execution_id", run).In("step_id", step).
		In("max_length", messageLength))
}

// TargetsByID lists targets of a run, as TargetsOfStep does. IDs that the run does not have
// are left out.
func (s Store) TargetsByID(ctx context.Context, run uuid.UUID, ids []int64, messageLength int) ([]WatchedTarget, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("encode ids: %w", err)
	}
	return s.targets(ctx, call.New("jobs.sp_get_run_targets").In("job_execution_id", run).In("ids", string(list)).
		In("max_length", messageLength))
}

func (s Store) targets(ctx context.Context, c *call.Call) ([]WatchedTarget, error) {
	var list []WatchedTarget
	if err := s.conn.Query(ctx, "list targets of the run", c, call.Into(&list)); err != nil {
		return nil, err
	}
	return list, nil
}
