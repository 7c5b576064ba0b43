package controldb

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/jobs"
)

// RunProgress is the state of a run and the number of its targets in all steps.
type RunProgress struct {
	JobName   string
	Active    bool
	Lifecycle jobs.Lifecycle
	// Targets counts the targets of the steps that have begun, ActiveTargets those that have not
	// ended, and FailedTargets those that ended as Failed or TimedOut.
	Targets       int
	ActiveTargets int
	FailedTargets int
}

// RunWatch is the state of a run with the numbers of its targets by step and state.
type RunWatch struct {
	RunProgress
	CreateTime  time.Time
	EndTime     time.Time
	LastMessage string
	// Now is the database's time.
	Now   time.Time
	Steps []WatchedStep // those that have begun, in order
	// Next are the steps of the run's version that have not begun, in order.
	Next []NextStep
	// LiveAgents is the number of live agents. With 0, nothing moves.
	LiveAgents int
}

// NextStep is a step of a run that has not begun.
type NextStep struct {
	StepID int
	Name   string
}

// WatchedStep is a step of a run that has begun.
type WatchedStep struct {
	StepID    int
	Name      string
	Lifecycle jobs.Lifecycle
	StartTime time.Time
	EndTime   time.Time
	// States are the numbers of targets by state; none before the list is frozen.
	States []StepState
	// NextAttempt is when the next of its waiting retries is due; zero: none waits.
	NextAttempt time.Time
	// Message says why a step waits for another resolution of its target group; empty: it does not.
	Message string
}

// watchRow is a row of the query of RunWatch: a state of a step's targets, with the step and the
// run.
type watchRow struct {
	JobName     string         `db:"job_name"`
	Active      bool           `db:"is_active"`
	Lifecycle   jobs.Lifecycle `db:"lifecycle"`
	CreateTime  time.Time      `db:"create_time"`
	EndTime     time.Time      `db:"end_time"`
	LastMessage string         `db:"last_message"`
	Now         time.Time      `db:"now"`
	StepID      int            `db:"step_id"`
	StepName    string         `db:"step_name"`
	StepState   string         `db:"step_lifecycle"`
	StepStart   time.Time      `db:"step_start"`
	StepEnd     time.Time      `db:"step_end"`
	StepMessage string         `db:"step_message"`
	State       string         `db:"target_lifecycle"`
	Unknown     *bool          `db:"outcome_unknown"`
	Total       int            `db:"total"`
	NextAttempt time.Time      `db:"next_attempt"`
	LiveAgents  int            `db:"live_agents"`
}

// RunWatch reads a run with one call, whose answer has a row for each step and state, however many
// targets the run has. The error is [ErrExecutionNotFound] when no run has this ID.
//
// Plan: the steps of the run's version by the key of the version, those of the run by
// UQ_step_executions_step_id, and its targets once by IX_target_executions_execution_id.
func (s *Store) RunWatch(ctx context.Context, id uuid.UUID) (RunWatch, error) {
	const op = "watch the run"
	rows, err := selectAll[watchRow](ctx, s, op, `SELECT r.job_name, r.is_active, r.lifecycle, r.create_time, r.end_time, r.last_message,
    SYSUTCDATETIME() AS now, d.step_id, d.step_name, p.lifecycle AS step_lifecycle, p.start_time AS step_start, p.end_time AS step_end,
    CASE WHEN p.lifecycle = N'WaitingForRetry' THEN LEFT(p.last_message, 400) END AS step_message,
    t.lifecycle AS target_lifecycle, t.outcome_unknown, COALESCE(t.total, 0) AS total, t.next_attempt, a.live_agents
FROM jobs.job_executions AS r
CROSS JOIN jobs.live_agents AS a
LEFT JOIN jobs.jobstep_versions AS d ON d.job_id = r.job_id
    AND d.job_version = r.job_version
LEFT JOIN jobs.job_executions AS p ON p.job_execution_id = r.job_execution_id
    AND p.step_id = d.step_id
    AND p.target_type = N'TargetGroup'
LEFT JOIN (
    SELECT v.step_id, v.lifecycle, v.outcome_unknown, COUNT(*) AS total,
        MIN(CASE WHEN v.lifecycle = N'WaitingForRetry' THEN v.next_attempt_time END) AS next_attempt
    FROM jobs.job_execution_targets AS v
    WHERE v.job_execution_id = @p1
    GROUP BY v.step_id, v.lifecycle, v.outcome_unknown
) AS t ON t.step_id = p.step_id
WHERE r.job_execution_id = @p1
    AND r.step_id IS NULL
ORDER BY d.step_id, t.lifecycle, t.outcome_unknown
OPTION (`+smallGrant+`);`, mssqldb.UniqueIdentifier(id))
	switch {
	case err != nil:
		return RunWatch{}, err
	case len(rows) == 0:
		return RunWatch{}, fmt.Errorf("%s: %w", op, ErrExecutionNotFound)
	}
	first := rows[0]
	w := RunWatch{
		RunProgress: RunProgress{JobName: first.JobName, Active: first.Active, Lifecycle: first.Lifecycle},
		CreateTime:  first.CreateTime, EndTime: first.EndTime, LastMessage: first.LastMessage, Now: first.Now,
		LiveAgents: first.LiveAgents,
	}
	for _, r := range rows {
		switch {
		case r.StepID == 0:
			continue
		case r.StepState == "":
			w.Next = append(w.Next, NextStep{StepID: r.StepID, Name: r.StepName})
			continue
		}
		if n := len(w.Steps); n == 0 || w.Steps[n-1].StepID != r.StepID {
			w.Steps = append(w.Steps, WatchedStep{
				StepID: r.StepID, Name: r.StepName, Lifecycle: jobs.Lifecycle(r.StepState), StartTime: r.StepStart, EndTime: r.StepEnd,
				Message: r.StepMessage,
			})
		}
		if r.Total == 0 {
			continue
		}
		step := &w.Steps[len(w.Steps)-1]
		state := StepState{StepID: r.StepID, Lifecycle: jobs.Lifecycle(r.State), Unknown: r.Unknown != nil && *r.Unknown, Total: r.Total}
		step.States = append(step.States, state)
		if !r.NextAttempt.IsZero() && (step.NextAttempt.IsZero() || r.NextAttempt.Before(step.NextAttempt)) {
			step.NextAttempt = r.NextAttempt
		}
		w.Targets += r.Total
		switch state.Lifecycle {
		case jobs.Failed, jobs.TimedOut:
			w.FailedTargets += r.Total
		case jobs.Succeeded, jobs.SucceededWithSkipped, jobs.Skipped, jobs.Canceled:
		default:
			w.ActiveTargets += r.Total
		}
	}
	return w, nil
}

// RunFailure is a target of a run that ended as Failed or TimedOut, or waits for another attempt.
type RunFailure struct {
	StepID   int    `db:"step_id"`
	Server   string `db:"target_server_name"`
	Database string `db:"target_database_name"` // empty for an endpoint
	// Message has at most 400 characters.
	Message string `db:"last_message"`
}

// Place names the target: server/database, or the server of an endpoint alone.
func (f RunFailure) Place() string {
	if f.Database == "" {
		return f.Server
	}
	return f.Server + "/" + f.Database
}

// RunFailures lists failed targets of a run, at most top.
func (s *Store) RunFailures(ctx context.Context, run uuid.UUID, top int) ([]RunFailure, error) {
	return s.targetsIn(ctx, "list failed targets", run, top, "N'Failed', N'TimedOut'")
}

// RunRetries lists targets of a run that wait for another attempt, with their last errors, at most
// top.
func (s *Store) RunRetries(ctx context.Context, run uuid.UUID, top int) ([]RunFailure, error) {
	return s.targetsIn(ctx, "list targets that wait for a retry", run, top, "N'WaitingForRetry'")
}

// targetsIn lists targets in some lifecycles, which are literals of T-SQL.
func (s *Store) targetsIn(ctx context.Context, op string, run uuid.UUID, top int, lifecycles string) ([]RunFailure, error) {
	return selectAll[RunFailure](ctx, s, op, `SELECT TOP (@p1) v.step_id, v.target_server_name, v.target_database_name,
    LEFT(v.last_message, 400) AS last_message
FROM jobs.job_execution_targets AS v
WHERE v.job_execution_id = @p2
    AND v.lifecycle IN (`+lifecycles+`)
ORDER BY v.step_id, v.target_server_name, v.target_database_name
OPTION (`+smallGrant+`);`, top, mssqldb.UniqueIdentifier(run))
}
