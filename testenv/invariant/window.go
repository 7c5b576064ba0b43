package invariant

import (
	"context"
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
