package controldb

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

// StartJob starts a run of a job's current version and returns its id. A non-nil id becomes the
// run's id; if a run of this job has that id already, nothing new starts (decision 21). A caller
// that lost the answer can therefore repeat the call.
func (s *Store) StartJob(ctx context.Context, name string, id uuid.UUID) (uuid.UUID, error) {
	return s.StartJobWith(ctx, name, id, "")
}

// StartJobWith is StartJob with parameters: a JSON object of at most 102,400 UTF-16 code units, to
// which the run's steps refer as $(param.NAME). Empty means none. A call that is repeated with the
// same id must have the same parameters.
func (s *Store) StartJobWith(ctx context.Context, name string, id uuid.UUID, parameters string) (uuid.UUID, error) {
	return s.Start(ctx, StartRequest{Job: name, ID: id, Parameters: parameters})
}

// StartRequest is the argument of Start.
type StartRequest struct {
	Job string
	// ID becomes the id of the run, as in StartJob. If it is nil, an id is made.
	ID uuid.UUID
	// Parameters are those of StartJobWith.
	Parameters string
	// OnlyTargets are the databases to which the run is limited: at most [MaxOnlyTargets]. None
	// means all databases of the target groups. Those that no run has had need names.
	OnlyTargets []targets.Target
	// Mode says what becomes of the scripts; empty means that they run. A trial needs OnlyTargets,
	// at most [MaxTrialTargets].
	Mode RunMode
	// ModeOptions are the options of the trial or preflight, a JSON object; empty means the
	// defaults.
	ModeOptions string
	// Plain makes a plain run of a job with a plan: all targets at once. Hold pauses its roll-out
	// when the targets are assigned to waves.
	Plain, Hold bool
	// IgnoreWindows starts a run that does not wait for the windows of its databases. Only authors
	// may say so.
	IgnoreWindows bool
}

// MaxOnlyTargets is the largest number of databases to which a run is limited.
const MaxOnlyTargets = 5000

// onlyTargets is the argument only_targets of starts and reruns; empty means that there is none.
func onlyTargets(list []targets.Target) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	type chosen struct {
		ID       uuid.UUID `json:"target_id"`
		Server   string    `json:"server_name,omitempty"`
		Database string    `json:"database_name,omitempty"`
	}
	rows := make([]chosen, 0, len(list))
	for _, t := range list {
		rows = append(rows, chosen{ID: t.ID, Server: t.Server, Database: t.Database})
	}
	text, err := json.Marshal(rows)
	return string(text), err
}

// Start is StartJob with all that a start may say.
func (s *Store) Start(ctx context.Context, req StartRequest) (uuid.UUID, error) {
	id := req.ID
	if id == uuid.Nil {
		// The id is generated here because go-mssqldb 1.11 cannot send a NULL UNIQUEIDENTIFIER: it
		// writes a length of 0, followed by 16 bytes.
		var err error
		if id, err = uuid.NewRandom(); err != nil {
			return uuid.Nil, fmt.Errorf("start job: make an id: %w", err)
		}
	}
	only, err := onlyTargets(req.OnlyTargets)
	if err != nil {
		return uuid.Nil, fmt.Errorf("start job: %w", err)
	}
	c := call.New("jobs.sp_start_job").In("job_name", req.Job).In("job_execution_id", id).OptText("parameters", req.Parameters).
		OptText("only_targets", only).OptText("mode", string(req.Mode)).OptText("mode_options", req.ModeOptions)
	if req.Plain {
		c.In("rollout", false)
	}
	if req.Hold {
		c.In("hold", true)
	}
	if req.IgnoreWindows {
		c.In("ignore_windows", true)
	}
	if err := s.conn.Exec(ctx, "start job", c); err != nil {
		return uuid.Nil, err
	}
	return id, nil
}

// ExecutionParameters returns the parameters of a run, a JSON object; empty for a run that has none
// or does not exist.
func (s *Store) ExecutionParameters(ctx context.Context, id uuid.UUID) (string, error) {
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

// StopJob requests the end of a run and does not wait for it. Stopping a finished run has no
// effect. It returns [dberror.ErrExecutionNotFound] when no run has this id.
func (s *Store) StopJob(ctx context.Context, id uuid.UUID) error {
	return s.conn.Exec(ctx, "stop job", call.New("jobs.sp_stop_job").In("job_execution_id", id))
}

// Retries names what waits for another attempt in a run: all, or only that of a step or of a
// target.
type Retries struct {
	Run    uuid.UUID
	StepID *int
	Target *uuid.UUID
}

// RetryNow makes the next attempts of what waits for a retry due, and returns how many targets and
// resolutions of target groups these are.
func (s *Store) RetryNow(ctx context.Context, r Retries) (int, error) {
	return s.changeRetries(ctx, "retry now", call.New("jobs.sp_retry_job_execution_now"), r)
}

// GiveUp ends what waits for a retry as Failed, with its last error, and returns its number.
func (s *Store) GiveUp(ctx context.Context, r Retries) (int, error) {
	return s.changeRetries(ctx, "give up", call.New("jobs.sp_give_up_job_execution"), r)
}

func (s *Store) changeRetries(ctx context.Context, op string, c *call.Call, r Retries) (int, error) {
	var changed int64
	c.In("job_execution_id", r.Run)
	call.Opt(c, "step_id", r.StepID)
	call.Opt(c, "target_id", r.Target)
	c.Out("changed", &changed)
	err := s.conn.Exec(ctx, op, c)
	return int(changed), err
}

// RerunRequest is the argument of RerunExecution.
type RerunRequest struct {
	// Origin is the run whose targets are run again. It must have ended.
	Origin uuid.UUID
	// Only restricts the rerun to targets in these final states: Failed, TimedOut, Canceled,
	// Skipped, Unknown, Succeeded, separated by commas, in any case. Empty: all but the last.
	Only string
	// Version is the version of the job that runs: Current, or a number. Empty: that of Origin.
	Version string
	// OnlyTargets are the databases to which the rerun is limited, by their IDs. They must be
	// targets of Origin. None: those of Origin.
	OnlyTargets []targets.Target
	// IgnoreWindows is that of a [StartRequest], whatever Origin did.
	IgnoreWindows bool
	// ID becomes the id of the new run. If a rerun of Origin has it already, nothing new starts,
	// and the other fields must be the same. If nil, an id is generated.
	ID uuid.UUID
}

// RerunExecution starts a run on the targets of a finished run that did not
// succeed, and returns its id.
func (s *Store) RerunExecution(ctx context.Context, req RerunRequest) (uuid.UUID, error) {
	if req.ID == uuid.Nil {
		var err error
		if req.ID, err = uuid.NewRandom(); err != nil { // generated here for the reason given in StartJob
			return uuid.Nil, fmt.Errorf("rerun execution: make an id: %w", err)
		}
	}
	c := call.New(
		"jobs.sp_rerun_job_execution",
	).In("job_execution_id", req.Origin).
		OptText("only", req.Only).
		In("new_job_execution_id", req.ID).
		OptText("job_version", req.Version)
	only, err := onlyTargets(req.OnlyTargets)
	if err != nil {
		return uuid.Nil, fmt.Errorf("rerun execution: %w", err)
	}
	c.OptText("only_targets", only)
	if req.IgnoreWindows {
		c.In("ignore_windows", true)
	}
	if err := s.conn.Exec(ctx, "rerun execution", c); err != nil {
		return uuid.Nil, err
	}
	return req.ID, nil
}

// ExecutionReruns lists the reruns that a run is part of: the run itself, if it is a rerun, and the
// reruns of it, oldest first.
func (s *Store) ExecutionReruns(ctx context.Context, id uuid.UUID) ([]Run, error) {
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
func (s *Store) RerunsOf(ctx context.Context, id uuid.UUID) ([]Run, error) {
	list, err := s.ExecutionReruns(ctx, id)
	return slices.DeleteFunc(list, func(r Run) bool { return r.RerunOf != id }), err
}

// PurgeRequest is the argument of PurgeHistory. Exactly one of JobName and JobID must be set.
type PurgeRequest struct {
	JobName string
	JobID   uuid.UUID
	// Oldest is the end time of the oldest run to keep. Zero deletes all runs that are not active.
	Oldest time.Time
}

// PurgeHistory deletes the history of a job.
func (s *Store) PurgeHistory(ctx context.Context, req PurgeRequest) error {
	c := call.New("jobs.sp_purge_jobhistory").OptText("job_name", req.JobName)
	if req.JobID != uuid.Nil {
		c.In("job_id", req.JobID)
	}
	return s.conn.Exec(ctx, "purge history", c.OptTime("oldest_date", req.Oldest))
}

// Execution is a row of the view jobs.job_executions: a run (StepID nil), one of its steps
// (TargetType "TargetGroup"), or a step on one target (TargetType "SqlDatabase" or "Endpoint").
type Execution struct {
	ID         uuid.UUID      `db:"job_execution_id"`
	JobName    string         `db:"job_name"`
	JobID      uuid.UUID      `db:"job_id"`
	JobVersion int            `db:"job_version"`
	StepID     *int           `db:"step_id"`
	Active     bool           `db:"is_active"`
	Lifecycle  jobs.Lifecycle `db:"lifecycle"`
	// Times are zero when the view has NULL.
	CreateTime   time.Time `db:"create_time"`
	StartTime    time.Time `db:"start_time"`
	EndTime      time.Time `db:"end_time"`
	Attempts     int       `db:"current_attempts"`
	AttemptStart time.Time `db:"current_attempt_start_time"`
	NextAttempt  time.Time `db:"next_attempt_start_time"`
	LastMessage  string    `db:"last_message"`
	TargetType   string    `db:"target_type"`
	TargetID     uuid.UUID `db:"target_id"`
	TargetGroup  string    `db:"target_group_name"`
	Server       string    `db:"target_server_name"`
	Database     string    `db:"target_database_name"`
	// OutcomeUnknown is true for a target when it is unknown whether the script ran, and DurationMS
	// is how long a final target took by its agent's clock, as in [RunTarget]. Azure's view has no
	// columns for them; only [Store.Executions] reads them.
	OutcomeUnknown bool   `db:"outcome_unknown"`
	DurationMS     *int64 `db:"duration_ms"`
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

// Executions lists the rows of a run: the run itself first, then each step with its targets, in
// order.
//
// Plan: the targets of the run once by IX_target_executions_execution_id, and for each its key of
// UQ_target_executions_target_id.
func (s *Store) Executions(ctx context.Context, id uuid.UUID) ([]Execution, error) {
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

// ExecutionMessages lists the messages of a run's attempts, by step, target and attempt, in the
// order in which they were sent.
func (s *Store) ExecutionMessages(ctx context.Context, id uuid.UUID) ([]ExecutionMessage, error) {
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

// CountRuns counts the runs of a job, at most limit + 1 of them: a larger number only tells that
// there are more. So the cost is bounded, however long the history is.
func (s *Store) CountRuns(ctx context.Context, f HistoryFilter, limit int) (int, error) {
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
