package executions

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

// OfBackfill lists the runs of the backfill that started a run: at most top due before
// the run, the run itself, and at most top due after it, by due time.
//
// Plan: UQ_job_executions_due_at from the due instant of the run in both directions. Runs of the
// schedule that the backfill did not request are read and left out.
func (s Store) OfBackfill(ctx context.Context, run Run, top int) ([]Run, error) {
	if run.Backfill == 0 {
		return nil, nil
	}
	return call.SelectAll[Run](ctx, s.conn, "list the runs of a backfill", `SELECT r.job_execution_id, r.due_time, r.lifecycle
FROM (
    SELECT b.job_execution_id, b.due_time, b.lifecycle
    FROM (
        SELECT TOP (@p1) v.job_execution_id, v.due_time, v.lifecycle
        FROM jobs.schedule_executions AS v
        WHERE v.schedule_id = (SELECT o.schedule_id FROM jobs.schedule_executions AS o WHERE o.job_execution_id = @p3)
            AND v.backfill_id = @p2
            AND v.due_time <= @p4
        ORDER BY v.due_time DESC
    ) AS b
    UNION ALL
    SELECT a.job_execution_id, a.due_time, a.lifecycle
    FROM (
        SELECT TOP (@p1) v.job_execution_id, v.due_time, v.lifecycle
        FROM jobs.schedule_executions AS v
        WHERE v.schedule_id = (SELECT o.schedule_id FROM jobs.schedule_executions AS o WHERE o.job_execution_id = @p3)
            AND v.backfill_id = @p2
            AND v.due_time > @p4
        ORDER BY v.due_time
    ) AS a
) AS r
ORDER BY r.due_time;`, top+1, int64(run.Backfill), mssqldb.UniqueIdentifier(run.ID), call.Datetime2(run.Due))
}

// RunTarget is a row of the view jobs.job_execution_targets: a step of a run on one target.
type RunTarget struct {
	ID         uuid.UUID `db:"job_execution_id"`
	JobName    string    `db:"job_name"`
	JobID      uuid.UUID `db:"job_id"`
	JobVersion int       `db:"job_version"`
	StepID     int       `db:"step_id"`
	StepName   string    `db:"step_name"`
	TargetID   uuid.UUID `db:"target_id"`
	TargetType string    `db:"target_type"`
	Server     string    `db:"target_server_name"`
	Database   string    `db:"target_database_name"`
	Pool       string    `db:"elastic_pool_name"`
	Active     bool      `db:"is_active"`
	// Lifecycle is also [jobs.WaitingForCallback].
	Lifecycle jobs.Lifecycle `db:"lifecycle"`
	// Times are zero when the view has NULL. CreateTime is when the list of targets was frozen.
	CreateTime   time.Time `db:"create_time"`
	StartTime    time.Time `db:"start_time"`
	EndTime      time.Time `db:"end_time"`
	Attempts     int       `db:"attempts"`
	AttemptStart time.Time `db:"attempt_start_time"`
	NextAttempt  time.Time `db:"next_attempt_time"`
	Deadline     time.Time `db:"deadline_time"`
	LastMessage  string    `db:"last_message"`
	ErrorNumber  *int32    `db:"error_number"`
	ErrorLine    *int32    `db:"error_line"`
	// OutcomeUnknown is true when it is unknown whether the script ran.
	OutcomeUnknown bool      `db:"outcome_unknown"`
	InternalID     uuid.UUID `db:"internal_execution_id"`
	// DurationMS is how long the target took by its agent's clock; see Duration. Nil while it goes
	// on.
	DurationMS *int64 `db:"duration_ms"`
	// WaitingReason says, after "because", what pause or window of the database holds the target;
	// empty: none does, or RunTargetFilter.Holds is false.
	WaitingReason string `db:"waiting_reason"`
}

// Place names the target: server/database, or the server of an endpoint alone.
func (t RunTarget) Place() string { return Execution{Server: t.Server, Database: t.Database}.Place() }

// Key is the place of the target in the lists of a run's targets.
func (t RunTarget) Key() StepRunKey {
	return StepRunKey{StepID: t.StepID, Server: t.Server, Database: t.Database, TargetID: t.TargetID}
}

// Duration is the time from the first attempt to the end of the last one by the agent's clock, or
// to now. It is negative for a target that no attempt has begun on.
func (t RunTarget) Duration(now time.Time) time.Duration {
	switch {
	case t.StartTime.IsZero():
		return -1
	case t.DurationMS != nil:
		return time.Duration(*t.DurationMS) * time.Millisecond
	case !t.EndTime.IsZero():
		now = t.EndTime
	}
	return max(now.Sub(t.StartTime), 0)
}

const runTargetColumns = `v.job_execution_id, v.job_name, v.job_id, v.job_version, v.step_id, v.step_name, v.target_id, v.target_type,
    v.target_server_name, v.target_database_name, v.elastic_pool_name, v.is_active, v.lifecycle, v.create_time, v.start_time, v.end_time,
    v.attempts, v.attempt_start_time, v.next_attempt_time, v.deadline_time, v.last_message, v.error_number, v.error_line,
    v.outcome_unknown, v.internal_execution_id, v.duration_ms`

// RunTargetFilter chooses targets of a run. The zero value means all.
type RunTargetFilter struct {
	// Steps are the steps, and Lifecycles the states; empty means all.
	Steps      []int
	Lifecycles []jobs.Lifecycle
	// Target is one target; nil means all.
	Target uuid.UUID
	// Order is the order of the list.
	Order TargetOrder
	// After is the key behind which a list by place continues; nil: from its beginning.
	After *StepRunKey
	// Holds reads WaitingReason, too.
	Holds bool
	// Message is the number of characters to which messages are cut; 0: they are whole.
	Message int
	// Limit is the maximum number of targets; 0 means 1000000.
	Limit int
}

// TargetOrder is an order of targets.
type TargetOrder int

// The orders.
const (
	// ByPlace is by step, server and database.
	ByPlace TargetOrder = iota
	// Slowest has those first that took or take longest; only those that have begun.
	Slowest
	// LongestWait has those first whose first attempt began, or will begin, longest after the list
	// of targets was frozen.
	LongestWait
)

// Targets lists targets of a run.
//
// Plan: the targets of the run once by UQ_target_executions_target_id, sorted. With a target, the
// steps of the run, and for each of them a key of this index.
func (s Store) Targets(ctx context.Context, run uuid.UUID, f RunTargetFilter) ([]RunTarget, error) {
	w := call.NewFilter(f.Limit)
	w.Add("v.job_execution_id = %s", mssqldb.UniqueIdentifier(run))
	if len(f.Steps) > 0 {
		call.In(w, "v.step_id", f.Steps)
	}
	if len(f.Lifecycles) > 0 {
		call.In(w, "v.lifecycle", f.Lifecycles)
	}
	if f.Target != uuid.Nil {
		w.Add("v.target_id = %s", mssqldb.UniqueIdentifier(f.Target))
	}
	f.After.Add(w)
	columns, order := runTargetColumns, placeOrder
	if f.Message > 0 {
		columns = strings.Replace(columns, "v.last_message", fmt.Sprintf("LEFT(v.last_message, %d) AS last_message", f.Message), 1)
	}
	if f.Holds {
		columns += ", v.waiting_reason"
	}
	switch f.Order {
	case ByPlace:
	case Slowest:
		w.Add("v.start_time IS NOT NULL")
		order = "\nORDER BY COALESCE(v.duration_ms, DATEDIFF_BIG(MILLISECOND, v.start_time, SYSUTCDATETIME())) DESC, v.step_id, v.target_id"
	case LongestWait:
		w.Add("(v.start_time IS NOT NULL OR v.is_active = 1)")
		order = "\nORDER BY DATEDIFF_BIG(MILLISECOND, v.create_time, COALESCE(v.start_time, SYSUTCDATETIME())) DESC, v.step_id, v.target_id"
	}
	return call.SelectAll[RunTarget](ctx, s.conn, "list targets of the run", "SELECT TOP (@p1) "+columns+"\nFROM jobs.job_execution_targets AS v"+
		w.Text()+order+"\nOPTION ("+call.SmallGrant+");", w.Args...)
}

// Attempt is a row of the view jobs.job_execution_attempts.
type Attempt struct {
	StepID   int       `db:"step_id"`
	TargetID uuid.UUID `db:"target_id"` // nil: a resolution
	// ID grows with every attempt. Number counts those that were not handed back.
	ID     int64 `db:"attempt_id"`
	Number int   `db:"attempt"`
	// Start is when an agent claimed it; End is zero while it runs.
	Start time.Time `db:"start_time"`
	End   time.Time `db:"end_time"`
	// Outcome is Succeeded, Failed, TimedOut, Canceled, Unknown, Returned, Accepted or NoAnswer;
	// empty while the attempt runs.
	Outcome       string `db:"outcome"`
	Message       string `db:"message"`
	ErrorNumber   *int32 `db:"error_number"`
	ErrorSeverity *int32 `db:"error_severity"`
	ErrorState    *int32 `db:"error_state"`
	ErrorLine     *int32 `db:"error_line"`
	Procedure     string `db:"error_procedure"`
	RowsAffected  *int64 `db:"rows_affected"`
	// ElapsedMS is the duration by the agent's clock.
	ElapsedMS *int64 `db:"elapsed_ms"`
	SessionID int    `db:"session_id"`
	// Unreached is true when there was no connection, so that nothing was sent.
	Unreached bool `db:"unreached"`
	// AgentID is nil and Host empty when the agent's record is gone.
	AgentID  uuid.UUID `db:"agent_id"`
	Host     string    `db:"host_name"`
	Term     int64     `db:"term_id"`
	TermOver bool      `db:"is_term_over"`
}

const attemptColumns = `v.step_id, v.target_id, v.attempt_id, v.attempt, v.start_time, v.end_time, v.outcome, v.message, v.error_number,
    v.error_severity, v.error_state, v.error_line, v.error_procedure, v.rows_affected, v.elapsed_ms, v.session_id, v.unreached,
    v.agent_id, v.host_name, v.term_id, v.is_term_over`

// Attempts lists the attempts of a step on a target, the latest first, before the attempt
// before, which is 0 for the latest.
//
// Plan: the attempts of this target by IX_task_executions_execution_id.
func (s Store) Attempts(ctx context.Context, run uuid.UUID, step int, target uuid.UUID, before int64, top int) ([]Attempt, error) {
	w := call.NewFilter(top)
	w.Add("v.job_execution_id = %s", mssqldb.UniqueIdentifier(run))
	w.Add("v.step_id = %s", step)
	w.Add("v.target_id = %s", mssqldb.UniqueIdentifier(target))
	if before > 0 {
		w.Add("v.attempt_id < %s", before)
	}
	return call.SelectAll[Attempt](ctx, s.conn, "list attempts", `SELECT TOP (@p1) `+attemptColumns+`
FROM jobs.job_execution_attempts AS v`+w.Text()+"\nORDER BY v.attempt_id DESC;", w.Args...)
}

// AttemptMessage is a message of one attempt.
type AttemptMessage struct {
	Ordinal int
	Message targets.Message
}

// AttemptMessages lists the messages of an attempt behind an ordinal, in order; only those that a
// reader looks for first (errors, and what the agent and a response said) with important.
//
// Plan: a range of the key of task_messages.
func (s Store) AttemptMessages(ctx context.Context, run uuid.UUID, attempt int64, important bool, after, top int) ([]AttemptMessage, error) {
	w := call.NewFilter(top)
	w.Add("v.job_execution_id = %s", mssqldb.UniqueIdentifier(run))
	w.Add("v.attempt_id = %s", attempt)
	w.Add("v.ordinal > %s", after)
	if important {
		w.Add("v.message_kind NOT IN (N'Info', N'Rows', N'Output')")
	}
	rows, err := call.SelectAll[struct {
		Ordinal   int                 `db:"ordinal"`
		Kind      targets.MessageKind `db:"message_kind"`
		Number    int32               `db:"message_number"`
		Severity  uint8               `db:"severity"`
		State     uint8               `db:"state"`
		Line      int32               `db:"line_number"`
		Procedure string              `db:"procedure_name"`
		Text      string              `db:"message"`
		Rows      int64               `db:"row_count"`
	}](ctx, s.conn, "list messages of an attempt", `SELECT TOP (@p1) v.ordinal, v.message_kind, v.message_number, v.severity, v.state, v.line_number,
    v.procedure_name, v.message, v.row_count
FROM jobs.job_execution_messages AS v`+w.Text()+"\nORDER BY v.ordinal;", w.Args...)
	if err != nil {
		return nil, err
	}
	list := make([]AttemptMessage, 0, len(rows))
	for _, r := range rows {
		list = append(list, AttemptMessage{Ordinal: r.Ordinal, Message: targets.Message{
			Kind: r.Kind, Number: r.Number, Severity: r.Severity, State: r.State, Line: r.Line, Procedure: r.Procedure, Text: r.Text, Rows: r.Rows,
		}})
	}
	return list, nil
}

// MessageCount counts the messages of an attempt. Important counts those of
// [Store.AttemptMessages] with important.
type MessageCount struct {
	Total     int `db:"total"`
	Important int `db:"important"`
}

// CountMessages counts the messages of an attempt.
func (s Store) CountMessages(ctx context.Context, run uuid.UUID, attempt int64) (MessageCount, error) {
	list, err := call.SelectAll[MessageCount](ctx, s.conn, "count messages of an attempt", `SELECT COUNT(*) AS total,
    COALESCE(SUM(CASE WHEN v.message_kind NOT IN (N'Info', N'Rows', N'Output') THEN 1 ELSE 0 END), 0) AS important
FROM jobs.job_execution_messages AS v
WHERE v.job_execution_id = @p1
    AND v.attempt_id = @p2;`, mssqldb.UniqueIdentifier(run), attempt)
	return call.OnlyRow(list, err, "count messages of an attempt", dberror.ErrExecutionNotFound)
}

// TargetResult is the result of a step on a target in one of several runs.
type TargetResult struct {
	Run        uuid.UUID `db:"job_execution_id"`
	CreateTime time.Time `db:"create_time"`
	JobVersion int       `db:"job_version"`
	// Lifecycle is empty if the run did not have the target at this step.
	Lifecycle      jobs.Lifecycle `db:"lifecycle"`
	StepID         int            `db:"step_id"`
	StartTime      time.Time      `db:"start_time"`
	EndTime        time.Time      `db:"end_time"`
	Attempts       int            `db:"attempts"`
	ErrorNumber    *int32         `db:"error_number"`
	OutcomeUnknown bool           `db:"outcome_unknown"`
	LastMessage    string         `db:"last_message"`
}

// TargetHistory lists the results on a target in a run and in at most top runs of its job before
// it, the latest first. Steps are compared by name, because their numbers differ between versions.
//
// Plan: IX_job_executions_job_id_create_time from the run on; for each run the key of the step and
// of UQ_target_executions_target_id.
func (s Store) TargetHistory(ctx context.Context, t RunTarget, created time.Time, top int) ([]TargetResult, error) {
	return call.SelectAll[TargetResult](ctx, s.conn, "list the results of a target", `SELECT r.job_execution_id, r.create_time, r.job_version,
    COALESCE(v.lifecycle, N'') AS lifecycle, v.step_id, v.start_time, v.end_time, v.attempts, v.error_number, v.outcome_unknown, v.last_message
FROM (
    SELECT TOP (@p1) e.job_execution_id, e.create_time, e.job_version
    FROM jobs.job_executions AS e
    WHERE e.job_id = @p2
        AND e.step_id IS NULL
        AND e.create_time <= @p3
    ORDER BY e.create_time DESC, e.job_execution_id
) AS r
LEFT JOIN jobs.job_execution_targets AS v ON v.job_execution_id = r.job_execution_id
    AND v.step_name = @p4
    AND v.target_id = @p5
ORDER BY r.create_time DESC, r.job_execution_id
OPTION (`+call.SmallGrant+`);`,
		top+1, mssqldb.UniqueIdentifier(t.JobID), call.Datetime2(created), t.StepName, mssqldb.UniqueIdentifier(t.TargetID))
}

// StepPeers counts the targets of a step of a run, to tell a fault of the script from one of a
// target.
type StepPeers struct {
	Total  int `db:"targets"`
	Active int `db:"active_targets"`
	Failed int `db:"failed_targets"`
	// Alike counts the failed targets with the error number that was asked for.
	Alike int `db:"alike"`
}

// StepPeers counts the targets of a step. number is the error to count; nil means failures without
// a number.
//
// Plan: indexes alone, see jobs.job_execution_step_counts and jobs.job_execution_errors.
func (s Store) StepPeers(ctx context.Context, run uuid.UUID, step int, number *int32) (StepPeers, error) {
	wanted := int32(0)
	if number != nil {
		wanted = *number
	}
	list, err := call.SelectAll[StepPeers](ctx, s.conn, "count the targets of a step", `SELECT c.targets, c.active_targets, f.failed_targets, f.alike
FROM jobs.job_execution_step_counts AS c
CROSS JOIN (
    SELECT COALESCE(SUM(v.failed_targets), 0) AS failed_targets,
        COALESCE(SUM(CASE WHEN COALESCE(v.error_number, 0) = @p3 THEN v.failed_targets ELSE 0 END), 0) AS alike
    FROM jobs.job_execution_errors AS v
    WHERE v.job_execution_id = @p1
        AND v.step_id = @p2
) AS f
WHERE c.job_execution_id = @p1
    AND c.step_id = @p2;`, mssqldb.UniqueIdentifier(run), step, wanted)
	return call.OnlyRow(list, err, "count the targets of a step", dberror.ErrExecutionNotFound)
}

// FirstTargets lists the first targets of each step and state of a run, by server and database, at
// most top of each.
//
// Plan: the targets of the run once by UQ_target_executions_target_id.
func (s Store) FirstTargets(ctx context.Context, run uuid.UUID, top int) ([]RunTarget, error) {
	return call.SelectAll[RunTarget](ctx, s.conn, "list first targets", `SELECT `+runTargetColumns+`
FROM (
    SELECT `+strings.ReplaceAll(runTargetColumns, "v.", "w.")+`,
        ROW_NUMBER() OVER (PARTITION BY w.step_id, w.lifecycle ORDER BY w.target_server_name, w.target_database_name, w.target_id) AS place
    FROM jobs.job_execution_targets AS w
    WHERE w.job_execution_id = @p1
) AS v
WHERE v.place <= @p2
ORDER BY v.step_id, v.lifecycle, v.place;`, mssqldb.UniqueIdentifier(run), top)
}
