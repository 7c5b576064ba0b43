package controldb

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/jobs"
)

// Trigger tells why a run was started.
type Trigger string

// The triggers.
const (
	TriggerManual   Trigger = "Manual"
	TriggerSchedule Trigger = "Schedule"
	TriggerBackfill Trigger = "Backfill"
	TriggerRerun    Trigger = "Rerun"
)

// Triggers are all triggers.
func Triggers() []Trigger {
	return []Trigger{TriggerManual, TriggerSchedule, TriggerBackfill, TriggerRerun}
}

// Trigger tells why the run was started.
func (o RunOrigin) Trigger() Trigger {
	switch {
	case o.RerunOnly != "":
		return TriggerRerun
	case o.Backfill != 0:
		return TriggerBackfill
	case !o.Due.IsZero():
		return TriggerSchedule
	}
	return TriggerManual
}

// condition is the filter of a trigger on the view of origins, o.
func (t Trigger) condition() string {
	switch t {
	case TriggerRerun:
		return "o.rerun_only IS NOT NULL"
	case TriggerBackfill:
		return "o.rerun_only IS NULL AND o.backfill_id IS NOT NULL"
	case TriggerSchedule:
		return "o.rerun_only IS NULL AND o.backfill_id IS NULL AND o.due_time IS NOT NULL"
	}
	return "o.rerun_only IS NULL AND o.due_time IS NULL"
}

// RunsExamined is how many of the latest runs [Store.ListRuns] examines for a lifecycle of ended
// runs or for a trigger, which have no index: the cost does not grow with the history.
const RunsExamined = 100_000

// RunListFilter restricts the list of runs. The zero value means all runs.
type RunListFilter struct {
	JobName    string
	ActiveOnly bool
	Lifecycles []jobs.Lifecycle
	Triggers   []Trigger
	// Since is the earliest time of creation.
	Since time.Time
	Limit int
}

// ListedRun is a run with its origin.
type ListedRun struct {
	Execution
	StartedBy     string    `db:"started_by"`
	Schedule      *string   `db:"schedule_name"` // as in RunOrigin
	Due           time.Time `db:"due_time"`
	Backfill      int64     `db:"backfill_id"`
	RerunOf       uuid.UUID `db:"rerun_of"`
	RerunOnly     string    `db:"rerun_only"`
	StopRequested time.Time `db:"stop_requested_time"`
	StoppedBy     string    `db:"stop_requested_by"`
	Chosen        int       `db:"chosen_targets"` // as in RunOrigin
	Tolerated     int       `db:"tolerated_failures"`
	Now           time.Time `db:"database_time"`
}

// Origin returns how the run came to be.
func (r ListedRun) Origin() RunOrigin {
	return RunOrigin{
		ID: r.ID, JobName: r.JobName, JobID: r.JobID, JobVersion: r.JobVersion, CreateTime: r.CreateTime, StartedBy: r.StartedBy,
		Schedule: r.Schedule, Due: r.Due, Backfill: r.Backfill, RerunOf: r.RerunOf, RerunOnly: r.RerunOnly,
		StopRequested: r.StopRequested, StoppedBy: r.StoppedBy, Chosen: r.Chosen, Tolerated: r.Tolerated, Now: r.Now,
	}
}

// ListRuns lists runs with their origins, the latest first.
//
// Plan: TOP rows from IX_job_executions_create_time, of a job from
// IX_job_executions_job_id_create_time, and of active runs from
// IX_job_executions_active_create_time, all in the wanted order; each with its origin. Lifecycles
// of ended runs and triggers are looked for in the latest RunsExamined rows of this order, until
// enough are found.
func (s *Store) ListRuns(ctx context.Context, f RunListFilter) ([]ListedRun, error) {
	w := newFilter(f.Limit)
	w.add("v.step_id IS NULL")
	if f.JobName != "" {
		w.add("v.job_name = %s", f.JobName)
	}
	active := f.ActiveOnly
	if len(f.Lifecycles) > 0 && !active {
		active = true
		for _, l := range f.Lifecycles {
			active = active && l.Active()
		}
	}
	if active {
		w.add("v.is_active = 1")
	}
	if !f.Since.IsZero() {
		w.add("v.create_time >= %s", datetime2(f.Since))
	}
	inner := w.text()
	outer := &filter{args: w.args}
	if len(f.Lifecycles) > 0 {
		var names []string
		for _, l := range f.Lifecycles {
			names = append(names, string(l))
		}
		outer.in("v.lifecycle", names)
	}
	if len(f.Triggers) > 0 {
		var list []string
		for _, t := range f.Triggers {
			list = append(list, "("+t.condition()+")")
		}
		outer.add("(" + strings.Join(list, " OR ") + ")")
	}
	examined := "@p1"
	if len(outer.where) > 0 {
		examined = fmt.Sprint(RunsExamined)
	}
	return selectAll[ListedRun](ctx, s, "list runs", `SELECT TOP (@p1) v.job_execution_id, v.job_name, v.job_id, v.job_version, v.is_active,
    v.lifecycle, v.create_time, v.start_time, v.end_time, v.last_message, o.started_by, o.schedule_name, o.due_time, o.backfill_id,
    o.rerun_of, o.rerun_only, o.stop_requested_time, o.stop_requested_by, o.chosen_targets, o.tolerated_failures,
    o.database_time
FROM (
    SELECT TOP (`+examined+`) v.job_execution_id, v.job_name, v.job_id, v.job_version, v.is_active, v.lifecycle, v.create_time,
        v.start_time, v.end_time, v.last_message
    FROM jobs.job_executions AS v`+inner+`
    ORDER BY v.create_time DESC, v.job_execution_id
) AS v
INNER JOIN jobs.job_execution_origins AS o ON o.job_execution_id = v.job_execution_id`+outer.text()+`
ORDER BY v.create_time DESC, v.job_execution_id
OPTION (RECOMPILE, `+smallGrant+`);`, outer.args...)
}

// RunSummary tells how a run came to be, and the numbers of its targets.
type RunSummary struct {
	ID        uuid.UUID `db:"job_execution_id"`
	StartedBy string    `db:"started_by"`
	Schedule  *string   `db:"schedule_name"` // as in RunOrigin
	Due       time.Time `db:"due_time"`
	Backfill  int64     `db:"backfill_id"`
	RerunOf   uuid.UUID `db:"rerun_of"`
	RerunOnly string    `db:"rerun_only"`
	// Targets counts a database once for each step. NotSucceeded of them ended as Failed, TimedOut
	// or Canceled.
	Targets      int `db:"targets"`
	NotSucceeded int `db:"not_succeeded"`
	// Tolerated is the number of those that failed in steps that succeeded with them.
	Tolerated int `db:"tolerated_failures"`
}

// Trigger tells why the run was started.
func (r RunSummary) Trigger() Trigger {
	return RunOrigin{Schedule: r.Schedule, Due: r.Due, Backfill: r.Backfill, RerunOnly: r.RerunOnly}.Trigger()
}

// RunSummaries returns the summaries of some runs, at most 500, by their IDs.
//
// Plan: each run and its steps by their keys; see jobs.job_execution_totals.
func (s *Store) RunSummaries(ctx context.Context, runs []uuid.UUID) (map[uuid.UUID]RunSummary, error) {
	all := map[uuid.UUID]RunSummary{}
	if len(runs) == 0 {
		return all, nil
	}
	w := newFilter(len(runs))
	ids := make([]any, len(runs))
	for i, id := range runs {
		ids[i] = mssqldb.UniqueIdentifier(id)
	}
	w.add("o.job_execution_id IN (%s"+strings.Repeat(", %s", len(ids)-1)+")", ids...)
	list, err := selectAll[RunSummary](ctx, s, "sum up runs", `SELECT TOP (@p1) o.job_execution_id, o.started_by, o.schedule_name, o.due_time,
    o.backfill_id, o.rerun_of, o.rerun_only, c.targets, c.not_succeeded, o.tolerated_failures
FROM jobs.job_execution_origins AS o
INNER JOIN jobs.job_execution_totals AS c ON c.job_execution_id = o.job_execution_id`+w.text()+";", w.args...)
	for _, one := range list {
		all[one.ID] = one
	}
	return all, err
}

// TargetCount is the number of targets of a run in a state.
type TargetCount struct {
	ID        uuid.UUID      `db:"job_execution_id"`
	Lifecycle jobs.Lifecycle `db:"lifecycle"` // may also be WaitingForCallback
	Total     int            `db:"total"`
}

// countedRuns is the number of runs in one call of [Store.CountTargets]; a call has at most 2,100
// parameters.
const countedRuns = 500

// CountTargets counts the targets of all steps of some runs by state.
//
// Plan: the targets of each run by UQ_target_executions_target_id.
func (s *Store) CountTargets(ctx context.Context, runs []uuid.UUID) ([]TargetCount, error) {
	var all []TargetCount
	for len(runs) > 0 {
		part := runs[:min(len(runs), countedRuns)]
		runs = runs[len(part):]
		w := newFilter(0)
		ids := make([]any, len(part))
		for i, id := range part {
			ids[i] = mssqldb.UniqueIdentifier(id)
		}
		w.add("t.job_execution_id IN (%s"+strings.Repeat(", %s", len(ids)-1)+")", ids...)
		list, err := selectAll[TargetCount](ctx, s, "count targets", `SELECT TOP (@p1) t.job_execution_id, t.lifecycle, COUNT(*) AS total
FROM jobs.job_execution_targets AS t`+w.text()+"\nGROUP BY t.job_execution_id, t.lifecycle;", w.args...)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// RunTargetFilter restricts the targets of a run. The zero value means all.
type RunTargetFilter struct {
	// Steps are the steps; empty means all.
	Steps []int
	// FailedOnly restricts to those that ended as Failed or TimedOut.
	FailedOnly bool
	// Limit is the maximum number of targets; 0 means 1000000.
	Limit int
}

// ShownTarget is a target of a run.
type ShownTarget struct {
	StepID         int            `db:"step_id"`
	Server         string         `db:"target_server_name"`
	Database       string         `db:"target_database_name"` // empty for an endpoint
	Lifecycle      jobs.Lifecycle `db:"lifecycle"`            // may also be WaitingForCallback
	Attempts       int            `db:"attempts"`
	StartTime      time.Time      `db:"start_time"`
	EndTime        time.Time      `db:"end_time"`
	NextAttempt    time.Time      `db:"next_attempt_time"`
	LastMessage    string         `db:"last_message"`
	OutcomeUnknown bool           `db:"outcome_unknown"`
	DurationMS     *int64         `db:"duration_ms"` // nil while it goes on
}

// ShownTargets lists targets of a run by step, server and database.
func (s *Store) ShownTargets(ctx context.Context, run uuid.UUID, f RunTargetFilter) ([]ShownTarget, error) {
	w := newFilter(f.Limit)
	w.add("v.job_execution_id = %s", mssqldb.UniqueIdentifier(run))
	if len(f.Steps) > 0 {
		ids := make([]any, len(f.Steps))
		for i, id := range f.Steps {
			ids[i] = id
		}
		w.add("v.step_id IN (%s"+strings.Repeat(", %s", len(ids)-1)+")", ids...)
	}
	if f.FailedOnly {
		w.add("v.lifecycle IN (N'Failed', N'TimedOut')")
	}
	return selectAll[ShownTarget](ctx, s, "list targets of the run", `SELECT TOP (@p1) v.step_id, v.target_server_name, v.target_database_name,
    v.lifecycle, v.attempts, v.start_time, v.end_time, v.next_attempt_time, v.last_message, v.outcome_unknown,
    v.duration_ms
FROM jobs.job_execution_targets AS v`+w.text()+"\nORDER BY v.step_id, v.target_server_name, v.target_database_name\nOPTION ("+smallGrant+");", w.args...)
}
