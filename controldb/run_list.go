package controldb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs"
)

// condition is the filter of a trigger on the view of origins, o.
func (t Trigger) condition() string {
	switch t {
	case TriggerRerun:
		return "o.rerun_only IS NOT NULL"
	case TriggerBackfill:
		return "o.rerun_only IS NULL AND o.backfill_id IS NOT NULL"
	case TriggerSchedule:
		return "o.rerun_only IS NULL AND o.backfill_id IS NULL AND o.due_time IS NOT NULL"
	case TriggerJob:
		return "o.trigger_name IS NOT NULL"
	}
	return "o.rerun_only IS NULL AND o.due_time IS NULL AND o.trigger_name IS NULL"
}

// RunsExamined is how many of the latest runs a reader of [Store.Runs] examines for a lifecycle of
// ended runs or for a trigger, which have no index: the cost does not grow with the history.
const RunsExamined = 100_000

// RunQuery chooses runs, and what is read of them. The zero value means the runs of all jobs that
// are not system jobs, with the columns of jobs.job_executions alone.
type RunQuery struct {
	RunFilter
	// ID restricts to one run, and JobName to one job.
	ID      uuid.UUID
	JobName string
	// System includes the runs of system jobs, as an ID does.
	System bool
	// Origins reads how the runs came to be, and Totals also the numbers of their targets.
	Origins, Totals bool
	// Triggers restricts to runs with these triggers; empty means all.
	Triggers []Trigger
	// Examine bounds the runs that are examined for Lifecycles and Triggers; 0: all that the other
	// conditions choose.
	Examine int
}

const runColumns = `v.job_execution_id, v.job_name, v.job_id, v.job_version, v.is_active, v.lifecycle, v.create_time, v.start_time,
    v.end_time, v.last_message`

const originColumns = `, o.started_by, o.schedule_name, o.due_time, o.backfill_id, o.rerun_of, o.rerun_only,
    o.stop_requested_time AS stop_requested_at, o.stop_requested_by, o.chosen_targets, o.tolerated_failures, o.trigger_name, o.database_time AS now`

// Runs lists runs, the latest first; runs of the same time by their ids.
//
// Plan: rows from IX_job_executions_create_time, of a job from
// IX_job_executions_job_id_create_time, and of active runs from
// IX_job_executions_active_create_time, all in the wanted order: a page reads its own rows, each
// with its origin and its totals. Lifecycles of ended runs and triggers are looked for in this
// order until enough are found. A lower bound of the end alone has no index in this order; then the
// server chooses between IX_job_executions_end_time with a sort, and the newest rows, by the values
// (RECOMPILE).
func (s *Store) Runs(ctx context.Context, q RunQuery, p Page[RunKey]) ([]Run, error) {
	w := call.NewFilter(p.Top)
	switch {
	case q.JobName != "":
		w.Add("v.job_name = %s", q.JobName)
	case !q.System && q.ID == uuid.Nil:
		w.Add("v.job_name NOT LIKE N'jobagent$%%'")
	}
	if q.ID != uuid.Nil {
		w.Add("v.job_execution_id = %s", mssqldb.UniqueIdentifier(q.ID))
	}
	w.Add("v.step_id IS NULL")
	late := q.Lifecycles // what is looked for among the examined runs
	if q.Examine == 0 || active(late) {
		late = nil
	} else {
		q.Lifecycles = nil
	}
	q.RunFilter.add(w)
	p.After.Add(w)
	const order = "\nORDER BY v.create_time DESC, v.job_execution_id"
	rows := "SELECT " + runColumns + "\nFROM jobs.job_executions AS v" + w.Text()
	behind := &call.Filter{Args: w.Args}
	if len(late) > 0 {
		call.In(behind, "v.lifecycle", late)
	}
	var triggers []string
	for _, t := range q.Triggers {
		triggers = append(triggers, "("+t.condition()+")")
	}
	if len(triggers) > 0 {
		behind.Add("(" + strings.Join(triggers, " OR ") + ")")
	}
	switch {
	case behind.Text() == "":
		rows += order + p.Text(behind)
	case q.Examine > 0:
		rows += order + fmt.Sprintf("\nOFFSET 0 ROWS FETCH NEXT %d ROWS ONLY", q.Examine)
	}
	query := rows
	if q.Origins || q.Totals || behind.Text() != "" {
		query = "SELECT " + runColumns + originColumns
		from := "\nFROM (" + rows + "\n) AS v\nINNER JOIN jobs.job_execution_origins AS o ON o.job_execution_id = v.job_execution_id"
		if q.Totals {
			query += ", c.targets, c.not_succeeded"
			from += "\nINNER JOIN jobs.job_execution_totals AS c ON c.job_execution_id = v.job_execution_id"
		}
		query += from + behind.Text() + order
		if behind.Text() != "" {
			query += p.Text(behind)
		}
	}
	return call.SelectAll[Run](ctx, s.conn, "list runs", query+"\nOPTION (RECOMPILE, "+call.SmallGrant+");", behind.Args...)
}

// RunOf returns a run of a job. It returns [dberror.ErrExecutionNotFound] when the job has none of
// this id.
func (s *Store) RunOf(ctx context.Context, jobName string, id uuid.UUID) (Run, error) {
	list, err := s.Runs(ctx, RunQuery{JobName: jobName, ID: id}, Page[RunKey]{Top: 1})
	return call.OnlyRow(list, err, "read run", dberror.ErrExecutionNotFound)
}

// countedRuns is the number of runs in one call of [Store.CountTargets]; a call has at most 2,100
// parameters.
const countedRuns = 500

// CountTargets counts the targets of all steps of some runs.
//
// Plan: the targets of each run by UQ_target_executions_target_id.
func (s *Store) CountTargets(ctx context.Context, runs []uuid.UUID) (map[uuid.UUID]jobs.Counts, error) {
	all := make(map[uuid.UUID]jobs.Counts, len(runs))
	for part := range slices.Chunk(runs, countedRuns) {
		w := call.NewFilter(0)
		call.In(w, "t.job_execution_id", part)
		list, err := call.SelectAll[struct {
			ID        uuid.UUID      `db:"job_execution_id"`
			Lifecycle jobs.Lifecycle `db:"lifecycle"`
			Total     int            `db:"total"`
		}](ctx, s.conn, "count targets", `SELECT TOP (@p1) t.job_execution_id, t.lifecycle, COUNT(*) AS total
FROM jobs.job_execution_targets AS t`+w.Text()+"\nGROUP BY t.job_execution_id, t.lifecycle;", w.Args...)
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			c := all[one.ID]
			c.Add(one.Lifecycle, one.Total)
			all[one.ID] = c
		}
	}
	return all, nil
}
