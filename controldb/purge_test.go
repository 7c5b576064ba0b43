package controldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPurgeOfManyRuns: a purge changes no run, however many there are, and hides all of them at
// once in each public view. Batches mark them afterwards, each in a transaction of its own.
func TestPurgeOfManyRuns(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.requestJob(t, "j")
		c.requestJob(t, "other")
		c.exec(t, `DECLARE @n INT = 0;
WHILE @n < 5
BEGIN
    INSERT INTO jobs_internal.job_executions (job_execution_id, job_id, job_version, lifecycle, is_active, create_time, start_time, end_time)
    SELECT TOP (500) NEWID(), j.job_id, j.job_version, N'Failed', 0, '2026-01-01', '2026-01-01', '2026-01-02'
    FROM jobs.jobs AS j CROSS JOIN sys.all_objects AS o WHERE j.job_name = N'j';
    SET @n = @n + 1;
END;
INSERT INTO jobs_internal.job_executions (job_execution_id, job_id, job_version, lifecycle, is_active, create_time, start_time, end_time)
SELECT NEWID(), j.job_id, j.job_version, x.lifecycle, x.is_active, x.at, x.at, x.end_time FROM jobs.jobs AS j
CROSS JOIN (VALUES (N'Created', 1, CAST('2025-12-31' AS DATETIME2(7)), NULL), (N'Failed', 0, '2026-02-01', CAST('2026-02-02' AS DATETIME2(7))))
    AS x (lifecycle, is_active, at, end_time);`)
		visible := func() []string {
			return c.rows(t, "SELECT job_name, lifecycle, COUNT(*) FROM jobs.job_executions GROUP BY job_name, lifecycle ORDER BY job_name, lifecycle;")
		}
		kept := []string{"j|Created|1", "j|Failed|1", "other|Created|1", "other|Failed|1"}

		tx, err := c.db.BeginTx(ctx, nil)
		require.NoError(t, err)
		defer func() { _ = tx.Rollback() }() // has committed
		_, err = tx.ExecContext(ctx, "EXEC jobs.sp_purge_jobhistory N'j', NULL, '2026-01-15';")
		require.NoError(t, err)
		require.NoError(t, tx.Commit())
		marked := "SELECT COUNT(*), (SELECT COUNT(*) FROM jobs_internal.history_purges) FROM jobs_internal.job_executions WHERE purged_at IS NOT NULL;"
		require.Equal(t, []string{"0|1"}, c.rows(t, marked), "no run has changed")
		require.Equal(t, kept, visible())

		views := c.rows(t, `SELECT v.name FROM sys.views AS v INNER JOIN sys.columns AS x ON x.object_id = v.object_id
WHERE v.schema_id = SCHEMA_ID(N'jobs') AND x.name = N'job_execution_id' AND v.name <> N'alerts' ORDER BY v.name;`)
		require.Greater(t, len(views), 10)
		for _, v := range views {
			require.Empty(t, c.rows(t, `SELECT TOP (1) x.job_execution_id FROM jobs.`+v+` AS x
WHERE x.job_execution_id IN (SELECT e.job_execution_id FROM jobs_internal.job_executions AS e WHERE e.create_time = '2026-01-01' AND e.is_active = 0);`), v)
		}

		// A run that was active stays when it ends; the next purge of the same runs finds none.
		c.exec(t, "UPDATE jobs_internal.job_executions SET lifecycle = N'Failed', is_active = 0, end_time = SYSUTCDATETIME() WHERE is_active = 1;")
		kept = []string{"j|Failed|2", "other|Failed|2"}
		require.Equal(t, kept, visible())

		var steps []string
		for more := true; more; {
			more = get[bool](t, c, "DECLARE @more BIT; EXECUTE jobs_internal.mark_purged_runs @more = @more OUTPUT; SELECT @more;")
			steps = append(steps, c.rows(t, marked)...)
			require.Equal(t, kept, visible())
		}
		require.Equal(t, []string{"1000|1", "2000|1", "2500|0", "2500|0"}, steps)

		c.exec(t, "EXECUTE jobs_internal.delete_leftovers;")
		require.Equal(t, int64(4), get[int64](t, c, "SELECT COUNT(*) FROM jobs_internal.job_executions;"))
		require.Equal(t, kept, visible())
	})
}

// TestPurgeIsMarkedByAgents: what the caller of a purge has left, an agent marks and deletes.
func TestPurgeIsMarkedByAgents(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.requestJob(t, "j")
		c.exec(t, `INSERT INTO jobs_internal.job_executions (job_execution_id, job_id, job_version, lifecycle, is_active, create_time, start_time, end_time)
SELECT NEWID(), j.job_id, j.job_version, N'Failed', 0, '2026-01-01', '2026-01-01', '2026-01-02' FROM jobs.jobs AS j;
BEGIN TRANSACTION;
EXEC jobs.sp_purge_jobhistory N'j';
COMMIT TRANSACTION;`)
		require.Equal(t, int64(1), get[int64](t, c, "SELECT COUNT(*) FROM jobs_internal.job_executions;"))
		c.exec(t, `DECLARE @more BIT;
EXECUTE jobs_internal.delete_leftovers @remaining = @more OUTPUT;
IF @more = 1
    THROW 50000, N'more is left', 1;`)
		require.Equal(t, []string{"0|0"}, c.rows(t, "SELECT COUNT(*), (SELECT COUNT(*) FROM jobs_internal.history_purges) FROM jobs_internal.job_executions;"))
	})
}
