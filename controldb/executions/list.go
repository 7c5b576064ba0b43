package executions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb"
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

// Examined is how many of the latest runs a reader of [Store.List] examines for a lifecycle of
// ended runs or for a trigger, which have no index: the cost does not grow with the history.
const Examined = 100_000

// Query chooses runs, and what is read of them. The zero value means the runs of all jobs that
// are not system jobs, with the columns of jobs.job_executions alone.
type Query struct {
	Filter
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

const columns = `v.job_execution_id, v.job_name, v.job_id, v.job_version, v.is_active, v.lifecycle, v.create_time, v.start_time,
    v.end_time, v.last_message`

const originColumns = `, o.started_by, o.schedule_name, o.due_time, o.backfill_id, o.rerun_of, o.rerun_only,
    o.stop_requested_time AS stop_requested_at, o.stop_requested_by, o.chosen_targets, o.tolerated_failures, o.trigger_name, o.database_time AS now`

// List lists runs, the latest first; runs of the same time by their ids.
//
// Plan: rows from IX_job_executions_create_time, of a job from
// IX_job_executions_job_id_create_time, and of active runs from
// IX_job_executions_active_create_time, all in the wanted order: a page reads its own rows, each
// with its origin and its totals. Lifecycles of ended runs and triggers are looked for in this
// order until enough are found. A lower bound of the end alone has no index in this order; then the
// server chooses between IX_job_executions_end_time with a sort, and the newest rows, by the values
// (RECOMPILE).
func (s Store) List(ctx context.Context, q Query, p controldb.Page[Key]) ([]Run, error) {
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
	q.Filter.add(w)
	p.After.Add(w)
	const order = "\nORDER BY v.create_time DESC, v.job_execution_id"
	rows := "SELECT " + columns + "\nFROM jobs.job_executions AS v" + w.Text()
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
		query = "SELECT " + columns + originColumns
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

// Of returns a run of a job. It returns [dberror.ErrExecutionNotFound] when the job has none of
// this id.
func (s Store) Of(ctx context.Context, jobName string, id uuid.UUID) (Run, error) {
	list, err := s.List(ctx, Query{JobName: jobName, ID: id}, controldb.Page[Key]{Top: 1})
	return call.OnlyRow(list, err, "read run", dberror.ErrExecutionNotFound)
}

// countedRuns is the number of runs in one call of [Store.CountTargets]; a call has at most 2,100
// parameters.
const countedRuns = 500

// CountTargets counts the targets of all steps of some runs.
//
// Plan: the targets of each run by UQ_target_executions_target_id.
func (s Store) CountTargets(ctx context.Context, runs []uuid.UUID) (map[uuid.UUID]jobs.Counts, error) {
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

// Filter restricts lists of runs, steps and targets. The zero value means all rows.
type Filter struct {
	// CreatedFrom and CreatedBefore bound the time of creation, EndedFrom and EndedBefore the time
	// of the end; zero means no bound. A bound of the end leaves out rows that have not ended.
	CreatedFrom, CreatedBefore, EndedFrom, EndedBefore time.Time
	// Active restricts to rows that are not final, or to final ones; nil means both.
	Active *bool
	// Lifecycles restricts to these lifecycles; empty means all. No index has those of ended rows:
	// give CreatedFrom as well, so that a rare lifecycle is not looked for in the whole history.
	Lifecycles []jobs.Lifecycle
}

// active reports whether a list has lifecycles of active rows alone.
func active(list []jobs.Lifecycle) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(l jobs.Lifecycle) bool { return !l.Active() })
}

// add adds the conditions to a filter. Rows end after their creation, so a bound of the end bounds
// the creation, too: this is what an index on create_time can use.
func (f Filter) add(w *call.Filter) {
	if !f.CreatedFrom.IsZero() {
		w.Add("v.create_time >= %s", call.Datetime2(f.CreatedFrom))
	}
	if !f.CreatedBefore.IsZero() {
		w.Add("v.create_time < %s", call.Datetime2(f.CreatedBefore))
	}
	if !f.EndedFrom.IsZero() {
		w.Add("v.end_time >= %s", call.Datetime2(f.EndedFrom))
	}
	if !f.EndedBefore.IsZero() {
		at := call.Datetime2(f.EndedBefore)
		w.Add("v.end_time < %s AND v.create_time < %s", at, at)
	}
	if len(f.Lifecycles) > 0 {
		call.In(w, "v.lifecycle", f.Lifecycles)
	}
	ended := !f.EndedFrom.IsZero() || !f.EndedBefore.IsZero()
	switch {
	case f.Active != nil && *f.Active && ended:
		w.Add("1 = 0") // what is active has not ended
	case f.Active != nil && *f.Active:
		w.Add("v.is_active = 1")
	case f.Active != nil || ended:
		w.Add("v.is_active = 0")
	case active(f.Lifecycles): // active runs have an index of their own
		w.Add("v.is_active = 1")
	}
}

// Key is the place of a run in the list of runs.
type Key struct {
	Created time.Time
	ID      uuid.UUID
}

// Add adds the condition that a run of the view v is behind the key, unless that is nil.
func (k *Key) Add(w *call.Filter) {
	if k != nil {
		at := call.Datetime2(k.Created)
		w.Add("v.create_time <= %s AND (v.create_time < %s OR v.job_execution_id > %s)", at, at, mssqldb.UniqueIdentifier(k.ID))
	}
}

// Latest lists the latest runs of some jobs, at most runs of each: by job, and from the oldest
// to the latest. Trials and preflights are left out.
//
// Plan: per job the newest keys of IX_job_executions_job_id_create_time, each with its row.
func (s Store) Latest(ctx context.Context, names []string, runs int) ([]Run, error) {
	if len(names) == 0 {
		return nil, nil
	}
	w := call.NewFilter(runs)
	call.In(w, "d.job_name", names)
	return call.SelectAll[Run](ctx, s.conn, "list the latest runs of jobs", `SELECT d.job_name, r.job_execution_id, r.lifecycle, r.is_active,
    r.create_time, r.start_time, r.end_time
FROM jobs.job_details AS d
CROSS APPLY (
    SELECT TOP (@p1) v.job_execution_id, v.lifecycle, v.is_active, v.create_time, v.start_time, v.end_time
    FROM jobs.job_executions AS v
    WHERE v.job_id = d.job_id AND v.step_id IS NULL AND `+call.NoMode+`
    ORDER BY v.create_time DESC, v.job_execution_id
) AS r`+w.Text()+"\nORDER BY d.job_name, r.create_time, r.job_execution_id;", w.Args...)
}

// OfSchedule lists the runs of a schedule whose due instants are in [from, to), the latest first.
//
// Plan: the keys of UQ_job_executions_due_at in the range, each with its row.
func (s Store) OfSchedule(ctx context.Context, id controldb.ScheduleID, from, to time.Time, limit int) ([]Run, error) {
	w := call.NewFilter(limit)
	w.Add("schedule_id = %s", int64(id))
	w.Add("due_time >= %s", call.Datetime2(from))
	w.Add("due_time < %s", call.Datetime2(to))
	return call.SelectAll[Run](ctx, s.conn, "list runs of a schedule", `SELECT TOP (@p1) due_time, backfill_id, job_execution_id,
    lifecycle, is_active, create_time, start_time, end_time
FROM jobs.schedule_executions`+w.Text()+"\nORDER BY due_time DESC;", w.Args...)
}
