package executions

import (
	"context"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// withSpans begins queries below with the durations of the targets of a run. An instant of the
// database stands for the end of targets that run. The table is completed by its callers.
const withSpans = `WITH spans AS (
    SELECT v.step_id, v.target_id, v.is_active,
        COALESCE(v.duration_ms, DATEDIFF_BIG(MILLISECOND, v.start_time, SYSUTCDATETIME())) AS ms,
        DATEDIFF_BIG(MILLISECOND, v.create_time, v.start_time) AS wait_ms
    FROM jobs.job_execution_targets AS v
    WHERE v.job_execution_id = @p1
        AND v.start_time IS NOT NULL
        AND v.step_id BETWEEN @p2 AND @p3`

// stepRange returns the bounds of step_id for a step; 0 means all steps.
func stepRange(step int) (from, to int) {
	if step > 0 {
		return step, step
	}
	return 1, 1 << 30
}

// DurationSummary describes how long the ended targets of a run took, waits between attempts
// included, and how long they waited for their first attempt.
type DurationSummary struct {
	Targets int   `db:"targets"`
	MinMS   int64 `db:"min_ms"`
	P50MS   int64 `db:"p50_ms"`
	P90MS   int64 `db:"p90_ms"`
	P99MS   int64 `db:"p99_ms"`
	MaxMS   int64 `db:"max_ms"`
	// WaitP50MS, WaitP90MS and WaitMaxMS are waits for the first attempt.
	WaitP50MS int64 `db:"wait_p50_ms"`
	WaitP90MS int64 `db:"wait_p90_ms"`
	WaitMaxMS int64 `db:"wait_max_ms"`
}

// Durations returns the percentiles of a run's targets: the value of the target at the place
// that the share gives, rounded up. step 0 means all steps.
func (s Store) Durations(ctx context.Context, run uuid.UUID, step int) (DurationSummary, error) {
	from, to := stepRange(step)
	const op = "read durations"
	list, err := call.SelectAll[DurationSummary](ctx, s.conn, op, withSpans+`
        AND v.end_time IS NOT NULL
),
placed AS (
    SELECT p.ms, p.wait_ms, ROW_NUMBER() OVER (ORDER BY p.ms) AS place, ROW_NUMBER() OVER (ORDER BY p.wait_ms) AS wait_place, COUNT(*) OVER () AS n
    FROM spans AS p
)
SELECT COUNT(*) AS targets,
    COALESCE(MIN(q.ms), 0) AS min_ms,
    COALESCE(MAX(CASE WHEN q.place = (q.n * 50 + 99) / 100 THEN q.ms END), 0) AS p50_ms,
    COALESCE(MAX(CASE WHEN q.place = (q.n * 90 + 99) / 100 THEN q.ms END), 0) AS p90_ms,
    COALESCE(MAX(CASE WHEN q.place = (q.n * 99 + 99) / 100 THEN q.ms END), 0) AS p99_ms,
    COALESCE(MAX(q.ms), 0) AS max_ms,
    COALESCE(MAX(CASE WHEN q.wait_place = (q.n * 50 + 99) / 100 THEN q.wait_ms END), 0) AS wait_p50_ms,
    COALESCE(MAX(CASE WHEN q.wait_place = (q.n * 90 + 99) / 100 THEN q.wait_ms END), 0) AS wait_p90_ms,
    COALESCE(MAX(q.wait_ms), 0) AS wait_max_ms
FROM placed AS q;`, mssqldb.UniqueIdentifier(run), from, to)
	return call.OnlyRow(list, err, op, dberror.ErrExecutionNotFound)
}

// DurationBucket counts the ended targets of a run whose duration d, in milliseconds, has
// floor(4·ln(d+1)) = Index: each bucket is 28 % wider than the one before it.
type DurationBucket struct {
	Index  int `db:"bucket"`
	Total  int `db:"total"`
	Failed int `db:"failed"`
}

// Histogram counts the ended targets of a run by duration. step 0 means all steps.
func (s Store) Histogram(ctx context.Context, run uuid.UUID, step int) ([]DurationBucket, error) {
	from, to := stepRange(step)
	return call.SelectAll[DurationBucket](ctx, s.conn, "read the histogram of durations", `SELECT h.bucket, COUNT(*) AS total, SUM(h.failed) AS failed
FROM (
    SELECT
        CAST(FLOOR(4 * LOG(v.duration_ms + 1)) AS INT) AS bucket,
        CASE WHEN v.lifecycle IN (N'Failed', N'TimedOut') THEN 1 ELSE 0 END AS failed
    FROM jobs.job_execution_targets AS v
    WHERE v.job_execution_id = @p1
        AND v.end_time >= v.start_time
        AND v.step_id BETWEEN @p2 AND @p3
) AS h
GROUP BY h.bucket
ORDER BY h.bucket;`, mssqldb.UniqueIdentifier(run), from, to)
}

// SlowestAttempts lists the attempts on the slowest targets ([Slowest]) of a step, by id; at most
// limit. step 0 means all steps.
func (s Store) SlowestAttempts(ctx context.Context, run uuid.UUID, step, top, limit int) ([]Attempt, error) {
	from, to := stepRange(step)
	return call.SelectAll[Attempt](ctx, s.conn, "list the attempts of the slowest targets", withSpans+`
),
slowest AS (
    SELECT TOP (@p4) p.step_id, p.target_id
    FROM spans AS p
    ORDER BY p.ms DESC, p.step_id, p.target_id
)
SELECT TOP (@p5) `+attemptColumns+`
FROM slowest AS w
INNER JOIN jobs.job_execution_attempts AS v ON v.job_execution_id = @p1
    AND v.step_id = w.step_id
    AND v.target_id = w.target_id
ORDER BY v.attempt_id;`, mssqldb.UniqueIdentifier(run), from, to, top, limit)
}

// Span returns the bounds of an attempt; now stands for the end of one that runs.
func (a Attempt) Span(now time.Time) (start, end time.Time) {
	end = a.End
	if end.IsZero() {
		end = now
	}
	if end.Before(a.Start) {
		end = a.Start
	}
	return a.Start, end
}
