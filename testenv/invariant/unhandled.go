package invariant

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// jobSchedule is a job's own schedule, the one of jobs.sp_add_job.
type jobSchedule struct {
	id      int64
	job     string
	rule    schedule.Elastic
	from    time.Time // before this time the schedule was another one, or its history may be deleted
	handled []handled
}

// handled is a series of successive occurrences that became a run or were recorded as skipped.
type handled struct {
	due   time.Time
	count int
}

// mostUnhandled is the maximum number of reported violations of a schedule.
const mostUnhandled = 20

// FindUnhandled looks for occurrences that became no run and are not recorded as skipped, between
// the first and the last handled occurrence of a schedule (I10). It checks the schedules of
// jobs.sp_add_job, whose occurrences follow from their columns, since their last change or
// enabling, and within the retention of the history.
func FindUnhandled(ctx context.Context, db Querier) ([]Violation, error) {
	schedules, err := jobSchedules(ctx, db)
	if err != nil {
		return nil, err
	}
	var found []Violation
	for _, s := range schedules {
		for _, due := range s.unhandled() {
			found = append(found, Violation{"I10_every_occurrence_is_handled",
				fmt.Sprintf("job %q (schedule %d): %s was due, and became neither a run nor a skip", s.job, s.id, due.Format(time.RFC3339))})
		}
	}
	return found, nil
}

// unhandled returns the missing occurrences between the first and the last handled one.
func (s jobSchedule) unhandled() (missing []time.Time) {
	slices.SortFunc(s.handled, func(x, y handled) int { return x.due.Compare(y.due) })
	covered := 0 // number of occurrences from due on that the previous series covers
	rest := s.handled
	if len(rest) == 0 {
		return nil
	}
	for due, more := rest[0].due, true; more && len(missing) < mostUnhandled; due, more = s.rule.Next(due) {
		for len(rest) > 0 && !rest[0].due.After(due) {
			if rest[0].due.Equal(due) {
				covered = max(covered, rest[0].count)
			}
			rest = rest[1:]
		}
		switch {
		case covered > 0:
			covered--
		case len(rest) == 0:
			return missing
		default:
			missing = append(missing, due)
		}
	}
	return missing
}

// jobSchedules returns the schedules of all jobs with their handled occurrences.
func jobSchedules(ctx context.Context, db Querier) (list []*jobSchedule, err error) {
	// Finished runs are deleted after the retention, a day at a time; skips may outlive them.
	rows, err := db.QueryContext(ctx, `DECLARE @days INT = COALESCE(
    (SELECT TRY_CAST(value AS INT) FROM jobs_internal.settings WHERE name = N'history_retention_days'), 45
);
DECLARE @kept DATETIME2(7) = DATEADD(DAY, 1 - @days, SYSUTCDATETIME());
SELECT
    s.schedule_id, j.name, s.interval_type, s.interval_count, s.anchor_at, s.end_time,
    CASE WHEN s.updated_at > @kept THEN s.updated_at ELSE @kept END AS kept_from, h.due_at, h.instants
FROM jobs_internal.schedules AS s
INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
INNER JOIN (
    SELECT schedule_id, due_at, 1 AS instants FROM jobs_internal.job_executions WHERE schedule_id IS NOT NULL
    UNION ALL
    SELECT schedule_id, due_at, skipped FROM jobs_internal.schedule_skips
) AS h ON h.schedule_id = s.schedule_id
WHERE s.name = N'' AND s.anchor_at IS NOT NULL AND s.updated_at IS NOT NULL AND s.interval_type IS NOT NULL
ORDER BY s.schedule_id, h.due_at;`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var (
			s     jobSchedule
			kind  string
			count sql.NullInt64
			h     handled
		)
		if err := rows.Scan(&s.id, &s.job, &kind, &count, &s.rule.Start, &s.rule.End, &s.from, &h.due, &h.count); err != nil {
			return nil, err
		}
		for _, i := range schedule.Intervals() {
			if strings.EqualFold(kind, string(i)) {
				s.rule.Interval = i
			}
		}
		s.rule.Count = int(count.Int64)
		if n := len(list); n == 0 || list[n-1].id != s.id {
			list = append(list, &s)
		}
		if last := list[len(list)-1]; !h.due.Before(last.from.Truncate(time.Second)) {
			last.handled = append(last.handled, h)
		}
	}
	return list, rows.Err()
}
