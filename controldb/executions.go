package controldb

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

// StartJob starts a run of a job's current version and returns its id. An id that is not nil is used for the
// run; if a run of this job has it already, nothing new starts (decision 21), so that a call whose answer was
// lost can be repeated.
func (s *Store) StartJob(ctx context.Context, name string, id uuid.UUID) (uuid.UUID, error) {
	if id == uuid.Nil {
		// Made here because go-mssqldb 1.11 cannot send a NULL UNIQUEIDENTIFIER: it writes a length of 0 and
		// 16 bytes all the same.
		var err error
		if id, err = uuid.NewRandom(); err != nil {
			return uuid.Nil, fmt.Errorf("start job: make an id: %w", err)
		}
	}
	if err := s.exec(ctx, "start job", newCall("jobs.sp_start_job").in("job_name", name).in("job_execution_id", id)); err != nil {
		return uuid.Nil, err
	}
	return id, nil
}

// StopJob asks for the end of a run; it does not wait for it. Stopping a finished run has no effect. It
// returns [ErrExecutionNotFound] when no run has this id.
func (s *Store) StopJob(ctx context.Context, id uuid.UUID) error {
	return s.exec(ctx, "stop job", newCall("jobs.sp_stop_job").in("job_execution_id", id))
}

// RerunRequest is the argument of RerunExecution.
type RerunRequest struct {
	// Origin is the run whose targets are run again. It must have ended.
	Origin uuid.UUID
	// Only holds the final states of targets that are run again: Failed, TimedOut, Canceled, Skipped, Unknown, divided by commas, in
	// any case. Empty: all five.
	Only string
	// ID is used for the new run; if a rerun of Origin has it already, nothing new starts. Nil: one is made.
	ID uuid.UUID
}

// RerunExecution starts a run of the same version on what went wrong in a run that has ended, and returns its id.
func (s *Store) RerunExecution(ctx context.Context, req RerunRequest) (uuid.UUID, error) {
	if req.ID == uuid.Nil {
		var err error
		if req.ID, err = uuid.NewRandom(); err != nil { // made here for the reason that StartJob gives
			return uuid.Nil, fmt.Errorf("rerun execution: make an id: %w", err)
		}
	}
	c := newCall("jobs.sp_rerun_job_execution").in("job_execution_id", req.Origin).optText("only", req.Only).in("new_job_execution_id", req.ID)
	if err := s.exec(ctx, "rerun execution", c); err != nil {
		return uuid.Nil, err
	}
	return req.ID, nil
}

// ExecutionRerun is a row of the view jobs.job_execution_reruns.
type ExecutionRerun struct {
	ID uuid.UUID
	// Origin is nil once it has been purged.
	Origin uuid.UUID
	// Only holds the final states of targets that the rerun is restricted to.
	Only string
}

// ExecutionReruns lists the reruns that a run is part of: itself, if it is one, and those of it, oldest first.
func (s *Store) ExecutionReruns(ctx context.Context, id uuid.UUID) ([]ExecutionRerun, error) {
	var rows []struct {
		ID     nullGUID `db:"job_execution_id"`
		Origin nullGUID `db:"rerun_of"`
		Only   string   `db:"only_states"`
	}
	err := s.selectAll(ctx, "list reruns", &rows, `SELECT r.job_execution_id, r.rerun_of, r.only_states
FROM (
    SELECT v.job_execution_id, v.rerun_of, v.only_states, v.create_time
    FROM jobs.job_execution_reruns AS v
    WHERE v.job_execution_id = @p1
    UNION ALL -- two seeks: an OR over both columns would scan all runs
    SELECT v.job_execution_id, v.rerun_of, v.only_states, v.create_time
    FROM jobs.job_execution_reruns AS v
    WHERE v.rerun_of = @p1
) AS r
ORDER BY r.create_time, r.job_execution_id;`, mssqldb.UniqueIdentifier(id))
	if err != nil {
		return nil, err
	}
	list := make([]ExecutionRerun, 0, len(rows))
	for _, r := range rows {
		list = append(list, ExecutionRerun{ID: r.ID.UUID, Origin: r.Origin.UUID, Only: r.Only})
	}
	return list, nil
}

// PurgeRequest is the argument of PurgeHistory. Exactly one of JobName and JobID is needed.
type PurgeRequest struct {
	JobName string
	JobID   uuid.UUID
	// Oldest keeps what is not older; zero: everything goes, active runs excepted.
	Oldest time.Time
}

// PurgeHistory deletes the history of a job.
func (s *Store) PurgeHistory(ctx context.Context, req PurgeRequest) error {
	c := newCall("jobs.sp_purge_jobhistory").optText("job_name", req.JobName)
	if req.JobID != uuid.Nil {
		c.in("job_id", req.JobID)
	}
	return s.exec(ctx, "purge history", c.optTime("oldest_date", req.Oldest))
}

// Execution is a row of the view jobs.job_executions: a run (StepID nil), one of its steps (TargetType
// "TargetGroup"), or a step on one database (TargetType "SqlDatabase").
type Execution struct {
	ID         uuid.UUID
	JobName    string
	JobID      uuid.UUID
	JobVersion int
	StepID     *int
	Active     bool
	Lifecycle  jobs.Lifecycle
	// Times are zero when the view has NULL.
	CreateTime, StartTime, EndTime time.Time
	Attempts                       int
	AttemptStart, NextAttempt      time.Time
	LastMessage                    string
	TargetType                     string
	TargetID                       uuid.UUID
	TargetGroup                    string
	Server, Database               string
	// OutcomeUnknown says of a target that nobody can say whether the script ran; only [Store.MarkUnknown] sets it.
	OutcomeUnknown bool
}

// MarkUnknown sets OutcomeUnknown of the targets among rows, which are those of the run id: one more round trip.
func (s *Store) MarkUnknown(ctx context.Context, id uuid.UUID, rows []Execution) error {
	var list []struct {
		StepID   int      `db:"step_id"`
		TargetID nullGUID `db:"target_id"`
	}
	err := s.selectAll(ctx, "list unknown outcomes", &list, `SELECT o.step_id, o.target_id
FROM jobs.job_execution_outcomes AS o
WHERE o.job_execution_id = @p1
    AND o.outcome_unknown = 1;`, mssqldb.UniqueIdentifier(id))
	if err != nil {
		return err
	}
	type place struct {
		step   int
		target uuid.UUID
	}
	unknown := make(map[place]bool, len(list))
	for _, r := range list {
		unknown[place{r.StepID, r.TargetID.UUID}] = true
	}
	for i, e := range rows {
		rows[i].OutcomeUnknown = e.StepID != nil && e.TargetType == "SqlDatabase" && unknown[place{*e.StepID, e.TargetID}]
	}
	return nil
}

// IsRoot says whether the row stands for the whole run.
func (e Execution) IsRoot() bool { return e.StepID == nil }

// ExecutionFilter restricts Executions. The zero value means all rows.
type ExecutionFilter struct {
	// ID restricts to the rows of one run.
	ID uuid.UUID
	// JobName restricts to one job.
	JobName string
	// RootsOnly leaves out steps and targets.
	RootsOnly bool
	// ActiveOnly leaves out what is finished.
	ActiveOnly bool
	// Lifecycles, if any, are those that are kept.
	Lifecycles []jobs.Lifecycle
	// Limit is the most rows that come back; 0 means 1000000.
	Limit int
}

// executionRow scans an Execution.
type executionRow struct {
	ID           nullGUID `db:"job_execution_id"`
	JobName      string   `db:"job_name"`
	JobID        nullGUID `db:"job_id"`
	JobVersion   int      `db:"job_version"`
	StepID       *int     `db:"step_id"`
	Active       bool     `db:"is_active"`
	Lifecycle    string   `db:"lifecycle"`
	CreateTime   nullTime `db:"create_time"`
	StartTime    nullTime `db:"start_time"`
	EndTime      nullTime `db:"end_time"`
	Attempts     int      `db:"current_attempts"`
	AttemptStart nullTime `db:"current_attempt_start_time"`
	NextAttempt  nullTime `db:"next_attempt_start_time"`
	LastMessage  nullText `db:"last_message"`
	TargetType   nullText `db:"target_type"`
	TargetID     nullGUID `db:"target_id"`
	TargetGroup  nullText `db:"target_group_name"`
	Server       nullText `db:"target_server_name"`
	Database     nullText `db:"target_database_name"`
}

// Executions lists rows of jobs.job_executions: latest runs first, and within a run the root, then steps and
// their targets in order.
func (s *Store) Executions(ctx context.Context, f ExecutionFilter) ([]Execution, error) {
	var where []string
	args := []any{f.Limit}
	if f.Limit <= 0 {
		args[0] = 1_000_000
	}
	arg := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("@p%d", len(args))
	}
	if f.ID != uuid.Nil {
		where = append(where, "job_execution_id = "+arg(mssqldb.UniqueIdentifier(f.ID)))
	}
	if f.JobName != "" {
		where = append(where, "job_name = "+arg(f.JobName))
	}
	if f.RootsOnly {
		where = append(where, "step_id IS NULL")
	}
	if f.ActiveOnly {
		where = append(where, "is_active = 1")
	}
	if len(f.Lifecycles) > 0 {
		var names []string
		for _, l := range f.Lifecycles {
			names = append(names, arg(string(l)))
		}
		where = append(where, "lifecycle IN ("+strings.Join(names, ", ")+")")
	}
	query := `SELECT TOP (@p1) job_execution_id, job_name, job_id, job_version, step_id, is_active, lifecycle,
    create_time, start_time, end_time, current_attempts, current_attempt_start_time, next_attempt_start_time,
    last_message, target_type, target_id, target_group_name, target_server_name, target_database_name
FROM jobs.job_executions`
	if len(where) > 0 {
		query += "\nWHERE " + strings.Join(where, "\n    AND ")
	}
	query += "\nORDER BY "
	if f.ID == uuid.Nil && f.RootsOnly {
		query += "create_time DESC, job_execution_id;"
	} else if f.ID == uuid.Nil {
		query += "create_time DESC, job_execution_id, step_id, target_server_name, target_database_name;"
	} else {
		query += "step_id, target_server_name, target_database_name;"
	}
	var rows []executionRow
	if err := s.selectAll(ctx, "list executions", &rows, query, args...); err != nil {
		return nil, err
	}
	list := make([]Execution, 0, len(rows))
	for _, r := range rows {
		list = append(list, Execution{
			ID: r.ID.UUID, JobName: r.JobName, JobID: r.JobID.UUID, JobVersion: r.JobVersion, StepID: r.StepID,
			Active: r.Active, Lifecycle: jobs.Lifecycle(r.Lifecycle),
			CreateTime: r.CreateTime.Time, StartTime: r.StartTime.Time, EndTime: r.EndTime.Time,
			Attempts: r.Attempts, AttemptStart: r.AttemptStart.Time, NextAttempt: r.NextAttempt.Time,
			LastMessage: string(r.LastMessage), TargetType: string(r.TargetType), TargetID: r.TargetID.UUID,
			TargetGroup: string(r.TargetGroup), Server: string(r.Server), Database: string(r.Database),
		})
	}
	return list, nil
}

// ExecutionMessage is a row of the view jobs.job_execution_messages.
type ExecutionMessage struct {
	StepID           int
	Server, Database string
	Attempt, Ordinal int
	Message          targets.Message
	// AttemptStart is when the attempt began, by the database's clock.
	AttemptStart time.Time
}

// ExecutionMessages lists what the attempts of a run said: by step, target, attempt, and in order.
func (s *Store) ExecutionMessages(ctx context.Context, id uuid.UUID) ([]ExecutionMessage, error) {
	var rows []struct {
		StepID       int      `db:"step_id"`
		Server       nullText `db:"target_server_name"`
		Database     nullText `db:"target_database_name"`
		Attempt      int      `db:"attempt"`
		AttemptStart nullTime `db:"attempt_start_time"`
		Ordinal      int      `db:"ordinal"`
		Kind         string   `db:"message_kind"`
		Number       int32    `db:"message_number"`
		Severity     uint8    `db:"severity"`
		State        uint8    `db:"state"`
		Line         int32    `db:"line_number"`
		Procedure    nullText `db:"procedure_name"`
		Text         nullText `db:"message"`
		Rows         *int64   `db:"row_count"`
	}
	err := s.selectAll(ctx, "list messages", &rows, `SELECT step_id, target_server_name, target_database_name, attempt,
    attempt_start_time, ordinal, message_kind, message_number, severity, state, line_number, procedure_name,
    message, row_count
FROM jobs.job_execution_messages
WHERE job_execution_id = @p1
ORDER BY step_id, target_server_name, target_database_name, attempt_start_time, attempt, ordinal;`, mssqldb.UniqueIdentifier(id))
	if err != nil {
		return nil, err
	}
	list := make([]ExecutionMessage, 0, len(rows))
	for _, r := range rows {
		m := ExecutionMessage{
			StepID: r.StepID, Server: string(r.Server), Database: string(r.Database), Attempt: r.Attempt, Ordinal: r.Ordinal,
			AttemptStart: r.AttemptStart.Time,
			Message: targets.Message{
				Kind: targets.MessageKind(r.Kind), Number: r.Number, Severity: r.Severity, State: r.State, Line: r.Line,
				Procedure: string(r.Procedure), Text: string(r.Text),
			},
		}
		if r.Rows != nil {
			m.Message.Rows = *r.Rows
		}
		list = append(list, m)
	}
	return list, nil
}
