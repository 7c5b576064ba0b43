package invariant

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// findOutsideWindows looks for targets of waves that were claimed outside of their windows (I22).
// Only the present calendars are known, and an answer about an earlier one holds for two minutes: a
// claim counts if it is later than that.
func findOutsideWindows(ctx context.Context, db Querier) (found []Violation, err error) {
	rows, err := db.QueryContext(ctx, `SELECT w.execution_id, w.wave, k.task_id, k.claimed_at, c.spec
FROM jobs_internal.rollout_waves AS w
INNER JOIN jobs_internal.calendars AS c ON c.name = w.window_name
INNER JOIN jobs_internal.job_executions AS e ON e.rollout_of = w.execution_id AND e.rollout_wave = w.wave AND e.rollout_probe = 0
INNER JOIN jobs_internal.task_executions AS k ON k.execution_id = e.execution_id
WHERE k.kind = N'Run'
    AND k.claimed_at >= CASE WHEN c.updated_at = c.created_at THEN c.created_at ELSE DATEADD(MINUTE, 2, c.updated_at) END`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var execution, wave, task int64
		var claimed time.Time
		var spec string
		if err := rows.Scan(&execution, &wave, &task, &claimed, &spec); err != nil {
			return nil, err
		}
		calendar, err := schedule.ParseCalendar([]byte(spec))
		if err != nil {
			return nil, fmt.Errorf("calendar of roll-out %d: %w", execution, err)
		}
		if open, _ := calendar.StateAt(claimed); !open {
			found = append(found, Violation{"I22_waves_in_their_windows", fmt.Sprintf(
				"task %d of wave %d of roll-out %d was claimed at %s, outside of its window", task, wave, execution, claimed.Format(time.RFC3339Nano))})
		}
	}
	return found, rows.Err()
}

// findOutsideTargetWindows looks for attempts on databases outside of their windows (I25). Only the
// present windows and calendars are known, and an answer about an earlier one holds for two
// minutes: a claim counts if it is later than that.
func findOutsideTargetWindows(ctx context.Context, db Querier) (found []Violation, err error) {
	rows, err := db.QueryContext(ctx, `SELECT k.task_id, k.claimed_at, a.calendar_name, c.spec, b.spec, a.time_zone
FROM jobs_internal.gated_targets AS q
INNER JOIN jobs_internal.window_state AS v ON v.revision = q.revision
INNER JOIN jobs_internal.target_gates AS g ON g.target_id = q.target_id
INNER JOIN jobs_internal.window_answers AS a ON a.answer_id = g.answer_id
LEFT JOIN jobs_internal.calendars AS c ON c.name = a.calendar_name
LEFT JOIN jobs_internal.calendars AS b ON b.name = a.blackouts_name
INNER JOIN jobs_internal.target_executions AS t ON t.target_id = q.target_id AND t.is_endpoint = 0
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = t.execution_id
LEFT JOIN jobs_internal.job_executions AS r ON r.execution_id = e.rollout_of
INNER JOIN jobs_internal.task_executions AS k ON k.target_execution_id = t.target_execution_id AND k.kind = N'Run'
WHERE COALESCE(e.ignore_windows, 0) = 0
    AND COALESCE(r.ignore_windows, 0) = 0
    AND COALESCE(e.rollout_probe, 0) = 0
    AND COALESCE(e.mode, N'') <> N'Preflight'
    AND k.claimed_at > v.changed_at
    AND (c.name IS NULL OR c.updated_at = c.created_at OR k.claimed_at > DATEADD(MINUTE, 2, c.updated_at))
    AND (b.name IS NULL OR b.updated_at = b.created_at OR k.claimed_at > DATEADD(MINUTE, 2, b.updated_at))`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var task int64
		var claimed time.Time
		var name, zone string
		var within, except sql.NullString
		if err := rows.Scan(&task, &claimed, &name, &within, &except, &zone); err != nil {
			return nil, err
		}
		where := time.UTC
		if zone != "" {
			if where, err = schedule.LoadZone(zone); err != nil {
				return nil, fmt.Errorf("zone of a window: %w", err)
			}
		}
		var times schedule.OpenTimes
		for _, one := range []struct {
			spec     sql.NullString
			calendar **schedule.Calendar
		}{{within, &times.Within}, {except, &times.Except}} {
			if !one.spec.Valid {
				continue
			}
			if *one.calendar, err = schedule.ParseCalendarIn([]byte(one.spec.String), where); err != nil {
				return nil, fmt.Errorf("calendar of a window: %w", err)
			}
		}
		if open, _ := times.StateAt(claimed); !open || (name != "" && !within.Valid) {
			found = append(found, Violation{"I25_databases_in_their_windows", fmt.Sprintf(
				"task %d was claimed at %s, outside of a window of its database (calendar %q, zone %q)", task, claimed.Format(time.RFC3339Nano), name, zone)})
		}
	}
	return found, rows.Err()
}
