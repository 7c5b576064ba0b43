package timetable

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs"
)

// BackfillWatch is the state of a backfill with the numbers of its runs by state.
type BackfillWatch struct {
	JobName string
	Name    string // of the schedule; empty for that of the job's own definition
	// State is Open, Completed, Canceled or Faulted. Reason explains the state.
	State  string
	Reason string
	// NextAt is the next instant to handle; zero means that the backfill has not begun, or has
	// ended.
	NextAt time.Time
	// Buffered is the number of instants that wait for an earlier run, Skipped that of those that
	// will have no run.
	Buffered, Skipped int
	// Runs are the numbers of runs by state, ActiveRuns that of those that have not ended.
	Runs       map[jobs.Lifecycle]int
	ActiveRuns int
	// Active is the active run with the earliest due instant; zero: there is none.
	Active uuid.UUID
	// LiveAgents is the number of live agents. With 0, nothing moves.
	LiveAgents int
}

// Ended reports whether the backfill and all its runs have ended.
func (w BackfillWatch) Ended() bool { return w.State != "Open" && w.Buffered == 0 && w.ActiveRuns == 0 }

// backfillStateRow is a row of the query of BackfillWatch: a state of the runs, with the backfill.
type backfillStateRow struct {
	JobName    string    `db:"job_name"`
	Name       string    `db:"schedule_name"`
	State      string    `db:"state"`
	Reason     string    `db:"reason"`
	NextAt     time.Time `db:"next_time"`
	Buffered   int       `db:"buffered"`
	Skipped    int       `db:"skipped"`
	Lifecycle  string    `db:"lifecycle"`
	Active     bool      `db:"is_active"`
	Total      int       `db:"total"`
	ActiveID   uuid.UUID `db:"active_id"`
	LiveAgents int       `db:"live_agents"`
}

// BackfillWatch reads a backfill with one call, whose answer has a row for each state of its runs.
// The error is [dberror.ErrBackfillNotFound] when no backfill has this id.
//
// Plan: the backfill by its key; the runs of its schedule that are due in its range, once, by
// UQ_job_executions_due_at. It costs as much as the range has runs.
func (s Store) BackfillWatch(ctx context.Context, id controldb.BackfillID) (BackfillWatch, error) {
	const op = "watch the backfill"
	rows, err := call.SelectAll[backfillStateRow](ctx, s.conn, op, `SELECT f.job_name, f.schedule_name, f.state, f.reason, f.next_time, f.buffered, f.skipped,
    r.lifecycle, COALESCE(r.is_active, 0) AS is_active, COALESCE(r.total, 0) AS total, a.job_execution_id AS active_id, l.live_agents
FROM jobs.schedule_backfills AS f
CROSS JOIN jobs.live_agents AS l
INNER JOIN jobs.schedules AS s ON s.job_name = f.job_name
    AND s.schedule_name = f.schedule_name
OUTER APPLY (
    SELECT e.lifecycle, e.is_active, COUNT(*) AS total
    FROM jobs.schedule_executions AS e
    WHERE e.schedule_id = s.schedule_id
        AND e.due_time >= f.from_time
        AND e.due_time <= f.to_time
        AND e.backfill_id = f.backfill_id
    GROUP BY e.lifecycle, e.is_active
) AS r
OUTER APPLY (
    SELECT TOP (1) e.job_execution_id
    FROM jobs.schedule_executions AS e
    WHERE e.schedule_id = s.schedule_id
        AND e.due_time >= f.from_time
        AND e.due_time <= f.to_time
        AND e.backfill_id = f.backfill_id
        AND e.is_active = 1
    ORDER BY e.due_time
) AS a
WHERE f.backfill_id = @p1
ORDER BY r.lifecycle;`, int64(id))
	switch {
	case err != nil:
		return BackfillWatch{}, err
	case len(rows) == 0:
		return BackfillWatch{}, fmt.Errorf("%s: %w", op, dberror.ErrBackfillNotFound)
	}
	first := rows[0]
	w := BackfillWatch{
		JobName: first.JobName, Name: first.Name, State: first.State, Reason: first.Reason, NextAt: first.NextAt,
		Buffered: first.Buffered, Skipped: first.Skipped, Active: first.ActiveID, LiveAgents: first.LiveAgents,
		Runs: map[jobs.Lifecycle]int{},
	}
	for _, r := range rows {
		if r.Total == 0 {
			continue
		}
		w.Runs[jobs.Lifecycle(r.Lifecycle)] += r.Total
		if r.Active {
			w.ActiveRuns += r.Total
		}
	}
	return w, nil
}

// BackfillRunsWithoutTarget returns the number of runs of a backfill in which no target ran: there
// was none, or all were skipped. It is 0 for a backfill that does not exist.
//
// Plan: as [Store.BackfillWatch], and the targets of each of the runs by the key of the run.
func (s Store) BackfillRunsWithoutTarget(ctx context.Context, id controldb.BackfillID) (int, error) {
	rows, err := call.SelectAll[struct {
		Total int `db:"total"`
	}](ctx, s.conn, "count the runs of the backfill without a target", `SELECT COUNT(*) AS total
FROM jobs.schedule_backfills AS f
INNER JOIN jobs.schedules AS s ON s.job_name = f.job_name
    AND s.schedule_name = f.schedule_name
INNER JOIN jobs.schedule_executions AS e ON e.schedule_id = s.schedule_id
    AND e.due_time >= f.from_time
    AND e.due_time <= f.to_time
    AND e.backfill_id = f.backfill_id
WHERE f.backfill_id = @p1
    AND NOT EXISTS (
        SELECT 1
        FROM jobs.job_executions AS t
        WHERE t.job_execution_id = e.job_execution_id
            AND t.target_type <> N'TargetGroup' -- NULL: the run itself
            AND t.lifecycle <> N'Skipped'
    );`, int64(id))
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return rows[0].Total, nil
}
