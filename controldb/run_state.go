package controldb

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/jobs"
)

// RunState is the answer of jobs.sp_get_run: a run, its steps, and where its unfinished targets
// are. All times are the database's; they are zero where the procedure returns NULL.
type RunState struct {
	JobName    string         `db:"job_name"`
	JobID      uuid.UUID      `db:"job_id"`
	JobVersion int            `db:"job_version"`
	Lifecycle  jobs.Lifecycle `db:"lifecycle"`
	Active     bool           `db:"is_active"`
	CreateTime time.Time      `db:"create_time"`
	StartTime  time.Time      `db:"start_time"`
	EndTime    time.Time      `db:"end_time"`
	// Schedule is empty if the run was started by hand, or if the schedule was deleted; DueTime is
	// zero for runs that were started by hand.
	Schedule  string     `db:"schedule_name"`
	DueTime   time.Time  `db:"due_time"`
	Backfill  BackfillID `db:"backfill_id"`
	StartedBy string     `db:"started_by"`
	// StopRequestedAt is zero without a stop request.
	StopRequestedAt time.Time `db:"stop_requested_at"`
	StopRequestedBy string    `db:"stop_requested_by"`
	// RerunOf is nil if the run is no rerun, or if the other run was purged; RerunOnly is empty if
	// it is no rerun.
	RerunOf   uuid.UUID `db:"rerun_of"`
	RerunOnly string    `db:"rerun_only"`
	// Chosen is the number of databases to which the run is limited; 0: it is not.
	Chosen int `db:"chosen_targets"`
	// Tolerated is the number of targets that failed in steps that succeeded with them.
	Tolerated   int       `db:"tolerated_failures"`
	LastMessage string    `db:"last_message"`
	Now         time.Time `db:"now"`

	Steps []RunStep    `db:"-"` // all of the version, in order
	Marks []TargetMark `db:"-"` // of unfinished targets
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
	ResolvedAt  time.Time `db:"resolved_at"`
	NextAttempt time.Time `db:"next_attempt_at"`
	LastMessage string    `db:"last_message"`
}

// TargetMark tells where unfinished targets of a step are. All targets of the step with an ID from
// First to Last have this mark.
type TargetMark struct {
	// Kind is Waiting, Held or Callback.
	Kind  string    `db:"kind"`
	Step  int64     `db:"step_execution_id"`
	First int64     `db:"first_id"`
	Last  int64     `db:"last_id"`
	At    time.Time `db:"at"`      // Waiting: when the next attempt may begin
	Task  int64     `db:"task_id"` // Held: the attempt
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
}

// RunState reads the state of a run. The error is [ErrExecutionNotFound] when no run has this ID.
func (s *Store) RunState(ctx context.Context, id uuid.UUID) (RunState, error) {
	const op = "read the state of the run"
	var (
		heads []RunState
		steps []RunStep
		marks []TargetMark
	)
	c := newCall("jobs.sp_get_run").in("job_execution_id", id)
	if err := s.query(ctx, op, c, into(&heads), into(&steps), into(&marks)); err != nil {
		return RunState{}, err
	}
	if len(heads) != 1 {
		return RunState{}, fmt.Errorf("%s: got %d rows, want 1", op, len(heads))
	}
	state := heads[0]
	state.Steps, state.Marks = steps, marks
	return state, nil
}

// RunTargetsOfStep lists the targets of a step of a run by their IDs. Messages are cut to a number
// of characters, at most 4,000.
func (s *Store) RunTargetsOfStep(ctx context.Context, run uuid.UUID, step, messageLength int) ([]WatchedTarget, error) {
	return s.runTargets(ctx, newCall("jobs.sp_get_run_targets").in("job_execution_id", run).in("step_id", step).
		in("max_length", messageLength))
}

// RunTargetsByID lists targets of a run, as RunTargetsOfStep does. IDs that the run does not have
// are left out.
func (s *Store) RunTargetsByID(ctx context.Context, run uuid.UUID, ids []int64, messageLength int) ([]WatchedTarget, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("encode ids: %w", err)
	}
	return s.runTargets(ctx, newCall("jobs.sp_get_run_targets").in("job_execution_id", run).in("ids", string(list)).
		in("max_length", messageLength))
}

func (s *Store) runTargets(ctx context.Context, c *call) ([]WatchedTarget, error) {
	var list []WatchedTarget
	if err := s.query(ctx, "list targets of the run", c, into(&list)); err != nil {
		return nil, err
	}
	return list, nil
}
