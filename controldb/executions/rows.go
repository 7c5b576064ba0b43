package executions

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

// Parameters returns the parameters of a run, a JSON object; empty for a run that has none
// or does not exist.
func (s Store) Parameters(ctx context.Context, id uuid.UUID) (string, error) {
	list, err := call.SelectAll[struct {
		Parameters string `db:"parameters"`
	}](ctx, s.conn, "read parameters", `SELECT parameters
FROM jobs.job_execution_parameters
WHERE job_execution_id = @p1;`, mssqldb.UniqueIdentifier(id))
	if err != nil || len(list) == 0 {
		return "", err
	}
	return list[0].Parameters, nil
}

// Reruns lists the reruns that a run is part of: the run itself, if it is a rerun, and the
// reruns of it, oldest first.
func (s Store) Reruns(ctx context.Context, id uuid.UUID) ([]Run, error) {
	return call.SelectAll[Run](ctx, s.conn, "list reruns", `SELECT r.job_execution_id, r.rerun_of, r.only_states AS rerun_only, r.lifecycle, r.create_time,
    r.started_by
FROM (
    SELECT v.job_execution_id, v.rerun_of, v.only_states, v.lifecycle, v.create_time, v.started_by
    FROM jobs.job_execution_reruns AS v
    WHERE v.job_execution_id = @p1
    UNION ALL -- two seeks: an OR over both columns would scan all runs
    SELECT v.job_execution_id, v.rerun_of, v.only_states, v.lifecycle, v.create_time, v.started_by
    FROM jobs.job_execution_reruns AS v
    WHERE v.rerun_of = @p1
) AS r
ORDER BY r.create_time, r.job_execution_id;`, mssqldb.UniqueIdentifier(id))
}

// RerunsOf lists the reruns of a run, oldest first.
func (s Store) RerunsOf(ctx context.Context, id uuid.UUID) ([]Run, error) {
	list, err := s.Reruns(ctx, id)
	return slices.DeleteFunc(list, func(r Run) bool { return r.RerunOf != id }), err
}

// Execution is a row of the view jobs.job_executions: a run (StepID nil), one of its steps
// (TargetType "TargetGroup"), or a step on one target (TargetType "SqlDatabase" or "Endpoint").
type Execution struct {
	ID         uuid.UUID      `db:"job_execution_id" json:"job_execution_id"`
	JobName    string         `db:"job_name" json:"job_name"`
	JobID      uuid.UUID      `db:"job_id" json:"job_id"`
	JobVersion int            `db:"job_version" json:"job_version"`
	StepID     *int           `db:"step_id" json:"step_id,omitempty"`
	Active     bool           `db:"is_active" json:"is_active"`
	Lifecycle  jobs.Lifecycle `db:"lifecycle" json:"lifecycle"`
	// Times are zero when the view has NULL.
	CreateTime   time.Time `db:"create_time" json:"create_time,omitzero"`
	StartTime    time.Time `db:"start_time" json:"start_time,omitzero"`
	EndTime      time.Time `db:"end_time" json:"end_time,omitzero"`
	Attempts     int       `db:"current_attempts" json:"current_attempts"`
	AttemptStart time.Time `db:"current_attempt_start_time" json:"current_attempt_start_time,omitzero"`
	NextAttempt  time.Time `db:"next_attempt_start_time" json:"next_attempt_start_time,omitzero"`
	LastMessage  string    `db:"last_message" json:"last_message"`
	TargetType   string    `db:"target_type" json:"target_type,omitempty" doc:"TargetGroup, SqlDatabase or Endpoint"`
	TargetID     uuid.UUID `db:"target_id" json:"-"`
	TargetGroup  string    `db:"target_group_name" json:"target_group_name,omitempty"`
	Server       string    `db:"target_server_name" json:"target_server_name,omitempty"`
	Database     string    `db:"target_database_name" json:"target_database_name,omitempty"`
	// OutcomeUnknown is of targets, and DurationMS is how long a final target took by its agent's
	// clock, as in [RunTarget]. Azure's view has no columns for them; only [Store.Rows] reads them.
	OutcomeUnknown bool   `db:"outcome_unknown" json:"outcome_unknown,omitempty" doc:"whether the script ran is not known"`
	DurationMS     *int64 `db:"duration_ms" json:"-"`
}

// Duration is the time from the start to the end, of targets by the agent's clock; negative until
// the end.
func (e Execution) Duration() time.Duration {
	if e.StartTime.IsZero() || e.EndTime.IsZero() {
		return -1
	}
	return RunTarget{StartTime: e.StartTime, EndTime: e.EndTime, DurationMS: e.DurationMS}.Duration(e.EndTime)
}

// IsRoot reports whether the row stands for the whole run.
func (e Execution) IsRoot() bool { return e.StepID == nil }

// IsTarget reports whether the row stands for a step on one target: a database, or the endpoint of
// an action.
func (e Execution) IsTarget() bool { return e.StepID != nil && e.TargetType != "TargetGroup" }

// Place names the target of a row: server/database, or the server of an endpoint alone.
func (e Execution) Place() string {
	if e.Database == "" {
		return e.Server
	}
	return e.Server + "/" + e.Database
}

// Rows lists the rows of a run: the run itself first, then each step with its targets, in
// order.
//
// Plan: the targets of the run once by IX_target_executions_execution_id, and for each its key of
// UQ_target_executions_target_id.
func (s Store) Rows(ctx context.Context, id uuid.UUID) ([]Execution, error) {
	return call.SelectAll[Execution](ctx, s.conn, "list executions", `SELECT `+executionColumns+`, CAST(COALESCE(t.outcome_unknown, 0) AS BIT) AS outcome_unknown,
    t.duration_ms
FROM jobs.job_executions AS v
LEFT JOIN jobs.job_execution_targets AS t ON t.job_execution_id = v.job_execution_id
    AND t.step_id = v.step_id
    AND t.target_id = v.target_id
WHERE v.job_execution_id = @p1
ORDER BY v.step_id, v.target_server_name, v.target_database_name
OPTION (`+call.SmallGrant+`);`, mssqldb.UniqueIdentifier(id))
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

// Messages lists the messages of a run's attempts, by step, target and attempt, in the
// order in which they were sent.
func (s Store) Messages(ctx context.Context, id uuid.UUID) ([]ExecutionMessage, error) {
	rows, err := call.SelectAll[struct {
		StepID       int                 `db:"step_id"`
		Server       string              `db:"target_server_name"`
		Database     string              `db:"target_database_name"`
		Attempt      int                 `db:"attempt"`
		AttemptStart time.Time           `db:"attempt_start_time"`
		Ordinal      int                 `db:"ordinal"`
		Kind         targets.MessageKind `db:"message_kind"`
		Number       int32               `db:"message_number"`
		Severity     uint8               `db:"severity"`
		State        uint8               `db:"state"`
		Line         int32               `db:"line_number"`
		Procedure    string              `db:"procedure_name"`
		Text         string              `db:"message"`
		Rows         int64               `db:"row_count"`
	}](ctx, s.conn, "list messages", `SELECT step_id, target_server_name, target_database_name, attempt,
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
		list = append(list, ExecutionMessage{
			StepID: r.StepID, Server: r.Server, Database: r.Database, Attempt: r.Attempt, Ordinal: r.Ordinal,
			AttemptStart: r.AttemptStart,
			Message: targets.Message{
				Kind: r.Kind, Number: r.Number, Severity: r.Severity, State: r.State, Line: r.Line,
				Procedure: r.Procedure, Text: r.Text, Rows: r.Rows,
			},
		})
	}
	return list, nil
}

// HistoryFilter selects runs of one job. Exactly one of JobName and JobID is set.
type HistoryFilter struct {
	JobName string
	JobID   uuid.UUID
	// Active selects runs that have not ended, instead of those that have.
	Active bool
	// Before selects runs that were created before; zero means all.
	Before time.Time
}

// Count counts the runs of a job, at most limit + 1 of them: a larger number only tells that
// there are more. So the cost is bounded, however long the history is.
func (s Store) Count(ctx context.Context, f HistoryFilter, limit int) (int, error) {
	w := call.NewFilter(limit + 1)
	w.Add("step_id IS NULL")
	if f.JobID != uuid.Nil {
		w.Add("job_id = %s", mssqldb.UniqueIdentifier(f.JobID))
	} else {
		w.Add("job_name = %s", f.JobName)
	}
	w.Add("is_active = %s", f.Active)
	if !f.Before.IsZero() {
		w.Add("create_time < CAST(%s AS DATETIME2(7))", call.Datetime2(f.Before))
	}
	rows, err := call.SelectAll[struct {
		Runs int `db:"runs"`
	}](ctx, s.conn, "count runs", `SELECT COUNT(*) AS runs
FROM (
    SELECT TOP (@p1) job_execution_id
    FROM jobs.job_executions`+w.Text()+`
) AS first_runs;`, w.Args...)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return rows[0].Runs, nil
}

// executionColumns are the columns of an Execution of the view v.
const executionColumns = `v.job_execution_id, v.job_name, v.job_id, v.job_version, v.step_id, v.is_active, v.lifecycle,
    v.create_time, v.start_time, v.end_time, v.current_attempts, v.current_attempt_start_time, v.next_attempt_start_time,
    v.last_message, v.target_type, v.target_id, v.target_group_name, v.target_server_name, v.target_database_name`

// StepRun is a step of a run, or a step of a run on one target.
type StepRun struct {
	Execution
	StepName string `db:"step_name"`
}

// StepRunKey is the place of a row in the lists of steps and targets of a run.
type StepRunKey struct {
	StepID           int
	Server, Database string
	TargetID         uuid.UUID
}

// placeOrder is the order of the lists of targets.
const placeOrder = "\nORDER BY v.step_id, v.target_server_name, COALESCE(v.target_database_name, N''), v.target_id"

// Add adds the condition that a row in the order of placeOrder is behind the key, unless that is
// nil.
func (k *StepRunKey) Add(w *call.Filter) {
	if k == nil {
		return
	}
	w.Add(`(v.step_id > %s
        OR (v.step_id = %s
            AND (v.target_server_name > %s
                OR (v.target_server_name = %s
                    AND (COALESCE(v.target_database_name, N'') > %s
                        OR (COALESCE(v.target_database_name, N'') = %s AND v.target_id > %s))))))`,
		k.StepID, k.StepID, k.Server, k.Server, k.Database, k.Database, mssqldb.UniqueIdentifier(k.TargetID))
}

// stepRunColumns select the rows of steps and targets with the names of the steps.
const stepRunColumns = executionColumns + `, n.step_name
FROM jobs.job_executions AS v
INNER JOIN jobs.jobstep_versions AS n ON n.job_id = v.job_id AND n.job_version = v.job_version AND n.step_id = v.step_id`

// Steps lists the steps of a run by their positions. A name restricts to the step of this name.
func (s Store) Steps(ctx context.Context, id uuid.UUID, stepName string, f Filter, p controldb.Page[int]) ([]StepRun, error) {
	w := p.Filter("v.step_id", ">")
	w.Add("v.job_execution_id = %s", mssqldb.UniqueIdentifier(id))
	w.Add("v.target_type = N'TargetGroup'")
	if stepName != "" {
		w.Add("n.step_name = %s", stepName)
	}
	f.add(w)
	return call.SelectAll[StepRun](ctx, s.conn, "list steps of a run",
		`SELECT `+stepRunColumns+w.Text()+"\nORDER BY v.step_id"+p.Text(w)+"\nOPTION ("+call.SmallGrant+");", w.Args...)
}

// TargetRuns lists the targets of a run by step, server and database. A name
// restricts to the step of this name, and an id that is not zero to one target.
//
// Plan: the targets of the run by IX_target_executions_execution_id, sorted: a page costs as much
// as the run has targets, and nothing of other runs.
func (s Store) TargetRuns(
	ctx context.Context, id uuid.UUID, stepName string, target uuid.UUID, f Filter, p controldb.Page[StepRunKey],
) ([]StepRun, error) {
	w := call.NewFilter(p.Top)
	w.Add("v.job_execution_id = %s", mssqldb.UniqueIdentifier(id))
	w.Add("v.target_type IN (N'SqlDatabase', N'Endpoint')")
	if stepName != "" {
		w.Add("n.step_name = %s", stepName)
	}
	if target != uuid.Nil {
		w.Add("v.target_id = %s", mssqldb.UniqueIdentifier(target))
	}
	f.add(w)
	p.After.Add(w)
	return call.SelectAll[StepRun](ctx, s.conn, "list targets of a run", `SELECT `+stepRunColumns+w.Text()+placeOrder+p.Text(w)+"\nOPTION ("+call.SmallGrant+");", w.Args...)
}
