package controldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRunsThatEndTogetherAreAccountedAtOnce: more scheduled runs than a pass accounts for do not
// wait for the next poll of an agent.
func TestRunsThatEndTogetherAreAccountedAtOnce(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		term := c.term(t)
		c.exec(t, `INSERT INTO jobs_internal.job_executions (
    job_execution_id, job_id, job_version, lifecycle, is_active, create_time, end_time, schedule_id, due_at, unaccounted
)
SELECT NEWID(), s.job_id, 1, N'Failed', 0, '2026-01-01', '2026-01-02', s.schedule_id, DATEADD(MINUTE, ROW_NUMBER() OVER (ORDER BY a.object_id), '2026-01-01'), 1
FROM jobs_internal.schedules AS s
CROSS JOIN (SELECT TOP (150) o.object_id FROM sys.all_objects AS o ORDER BY o.object_id) AS a;`)
		left := func() int {
			return get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.job_executions WHERE unaccounted = 1`)
		}
		require.Equal(t, 150, left())
		require.True(t, c.passMax(t, term, 0).More())
		require.Equal(t, 50, left())
		require.False(t, c.passMax(t, term, 0).More())
		require.Zero(t, left())
		require.Equal(t, 150, get[int](t, c, `SELECT faults FROM jobs_internal.schedules`))
	})
}
