package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// EndedRun is a run that has ended.
type EndedRun struct {
	Key     int64     `db:"execution_id"` // internal key
	ID      uuid.UUID `db:"job_execution_id"`
	EndTime time.Time `db:"end_time"`
}

// EndedRunsRequest is the argument of Store.EndedRuns.
type EndedRunsRequest struct {
	Term controldb.TermID
	// Hold is how long the term keeps the reading without another call; whole seconds.
	Hold time.Duration
	// ReadThrough says that all runs that ended before were read; zero means no change.
	ReadThrough time.Time
	// After is the last run of the page before; its zero value means the first page from From on.
	After EndedRun
	// From lists the runs that ended at this instant or later; zero means from the stored instant
	// on.
	From time.Time
	// Limit is the largest number of runs.
	Limit int
}

// EndedRuns is the answer of Store.EndedRuns.
type EndedRuns struct {
	// Held says that the term reads; otherwise another term does, and there are no runs.
	Held bool
	// Now is the database's time.
	Now time.Time
	// ReadThrough is the stored instant: all runs that ended before were read.
	ReadThrough time.Time
	Runs        []EndedRun
}

// EndedRuns lists runs that have ended, in the order of their ends, for the export of traces. One
// term at a time reads.
func (s Store) EndedRuns(ctx context.Context, r EndedRunsRequest) (EndedRuns, error) {
	c := call.New("jobs_internal.read_ended_runs").In("term_id", r.Term.Number).
		In("hold_seconds", int64(r.Hold/time.Second)).In("max", int64(r.Limit))
	if !r.ReadThrough.IsZero() {
		c.In("read_through", call.Datetime2(r.ReadThrough))
	}
	switch {
	case r.After.Key != 0:
		c.In("from", call.Datetime2(r.After.EndTime)).In("after_id", r.After.Key)
	case !r.From.IsZero():
		c.In("from", call.Datetime2(r.From))
	}
	var res EndedRuns
	err := s.conn.Query(ctx, "list ended runs", c, call.ScanOne(&res.Held, &res.Now, &res.ReadThrough), call.Into(&res.Runs))
	return res, err
}

// TracedRun is what a trace shows of a run that has ended.
type TracedRun struct {
	Key        int64     `db:"execution_id"`
	ID         uuid.UUID `db:"job_execution_id"`
	JobName    string    `db:"job_name"`
	JobID      uuid.UUID `db:"job_id"`
	JobVersion int       `db:"job_version"`
	Lifecycle  string    `db:"lifecycle"`
	CreateTime time.Time `db:"create_time"`
	StartTime  time.Time `db:"start_time"` // zero: it ended before its first step
	EndTime    time.Time `db:"end_time"`
	// RerunOf is the run whose targets were run again; uuid.Nil means none.
	RerunOf uuid.UUID `db:"rerun_of"`
	// ScheduleName is empty for the schedule of the job itself, and for runs that were started by
	// hand; those have no DueAt.
	ScheduleName string    `db:"schedule_name"`
	DueAt        time.Time `db:"due_at"`
	Backfill     bool      `db:"is_backfill"`
	// TraceParent is the span of the caller who started the run, as the caller has given it.
	TraceParent string `db:"traceparent"`
}

// TracedStep is what a trace shows of a step that has ended.
type TracedStep struct {
	RunKey          int64     `db:"execution_id"`
	StepID          int       `db:"step_id"`
	StepName        string    `db:"step_name"`
	TargetGroupName string    `db:"target_group_name"`
	Lifecycle       string    `db:"lifecycle"`
	CreateTime      time.Time `db:"create_time"`
	StartTime       time.Time `db:"start_time"`
	EndTime         time.Time `db:"end_time"`
	Attempts        int       `db:"attempts"` // to list the targets
}

// TracedTarget is what a trace shows of a target execution that has ended.
type TracedTarget struct {
	RunKey         int64     `db:"execution_id"`
	Key            int64     `db:"target_execution_id"`
	StepID         int       `db:"step_id"`
	ID             uuid.UUID `db:"internal_id"` // Task.TargetExecutionID
	Server         string    `db:"server_name"`
	Database       string    `db:"database_name"`
	Endpoint       bool      `db:"is_endpoint"`
	Lifecycle      string    `db:"lifecycle"`
	CreateTime     time.Time `db:"create_time"`
	StartTime      time.Time `db:"start_time"` // zero: no attempt began
	EndTime        time.Time `db:"end_time"`
	Attempts       int       `db:"attempts"`
	ErrorNumber    int       `db:"error_number"`
	OutcomeUnknown bool      `db:"outcome_unknown"`
}

// RunSpans is a page of Store.RunSpans.
type RunSpans struct {
	Runs    []TracedRun
	Steps   []TracedStep
	Targets []TracedTarget
}

// RunSpans reads what traces show of runs that have ended, by their keys, at most 200: a page of
// limit targets after the last one of the page before. The first page, with a zero after, has the
// runs and the steps, too. A page with fewer targets than limit is the last one.
func (s Store) RunSpans(ctx context.Context, runs []int64, after TracedTarget, limit int) (RunSpans, error) {
	var res RunSpans
	keys, err := json.Marshal(runs)
	if err != nil {
		return res, fmt.Errorf("read spans: %w", err)
	}
	c := call.New("jobs_internal.read_run_spans").In("executions", string(keys)).In("max_targets", int64(limit))
	if after.Key != 0 {
		c.In("after_execution_id", after.RunKey).In("after_target_id", after.Key)
	}
	err = s.conn.Query(ctx, "read spans", c, call.Into(&res.Runs), call.Into(&res.Steps), call.Into(&res.Targets))
	return res, err
}
