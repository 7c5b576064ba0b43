package measure

import (
	"context"
	"time"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// runCountsDelay is how old an end or a skip is when [Store.RunCounts] counts it. Its time is that
// of the start of a procedure, which commits a little later.
const runCountsDelay = 10 * time.Second

// RunCounts are numbers of runs and of skipped instants.
type RunCounts struct {
	// Active counts the runs that have not ended, by lifecycle.
	Active map[string]int64
	// Ended counts the runs that ended after the argument of [Store.RunCounts] and no later than
	// Until, by lifecycle, without trials and preflights. Skips counts the due instants that were
	// recorded as skipped in this time, by cause.
	Ended, Skips map[string]int64
	// Paused is true while the control database is paused.
	Paused bool
	// Until is the argument of the next call.
	Until time.Time
}

// RunCounts counts runs and skips. since is Until of the result before; zero counts active runs
// only. The cost depends on the number of active runs and of those that have ended since.
func (s Store) RunCounts(ctx context.Context, since time.Time) (RunCounts, error) {
	const op = "count runs"
	now, err := call.SelectAll[time.Time](ctx, s.conn, op, "SELECT SYSUTCDATETIME() AS now;")
	if err != nil {
		return RunCounts{}, err
	}
	identity, err := s.identity.Read(ctx)
	if err != nil {
		return RunCounts{}, err
	}
	c := RunCounts{Active: map[string]int64{}, Ended: map[string]int64{}, Skips: map[string]int64{}, Paused: identity.Paused(), Until: now[0].Add(-runCountsDelay)}
	if since.IsZero() {
		since = c.Until
	}
	rows, err := call.SelectAll[struct {
		Kind  string `db:"kind"`
		Name  string `db:"name"`
		Count int64  `db:"total"`
	}](ctx, s.conn, op, `SELECT N'active' AS kind, r.lifecycle AS name, COUNT_BIG(*) AS total
FROM jobs_internal.run_states AS r
WHERE r.is_active = 1
GROUP BY r.lifecycle
UNION ALL
SELECT N'ended' AS kind, r.lifecycle AS name, COUNT_BIG(*) AS total
FROM jobs_internal.run_states AS r
WHERE r.is_active = 0 AND r.end_time > @p1 AND r.end_time <= @p2 AND r.mode IS NULL
GROUP BY r.lifecycle
UNION ALL
SELECT N'skips' AS kind, k.cause AS name, SUM(CAST(k.skipped AS BIGINT)) AS total
FROM jobs_internal.skip_counts AS k
WHERE k.recorded_at > @p1 AND k.recorded_at <= @p2
GROUP BY k.cause;`, call.Datetime2(since), call.Datetime2(c.Until))
	if err != nil {
		return RunCounts{}, err
	}
	for _, r := range rows {
		switch r.Kind {
		case "active":
			c.Active[r.Name] = r.Count
		case "ended":
			c.Ended[r.Name] = r.Count
		default:
			c.Skips[r.Name] = r.Count
		}
	}
	return c, nil
}

// SkipCauses returns the causes of skipped instants.
func SkipCauses() []string {
	return []string{controldb.SkipOverlap, controldb.SkipCatchUp, "NoSteps", "Ended", "Duplicate", "Disabled", "Paused", "Changed", "Deleted", "Other"}
}
