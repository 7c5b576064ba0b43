-- The oldest finished run, and the retention of history.
SELECT
    (SELECT MIN(e.end_time) FROM jobs_internal.visible_runs AS e WHERE e.is_active = 0) AS oldest,
    (
        SELECT MIN(p.purged_at)
        FROM (
            SELECT MIN(e.purged_at) AS purged_at
            FROM jobs_internal.job_executions AS e
            WHERE e.is_active = 0
                AND e.purged_at IS NOT NULL
            UNION ALL
            SELECT MIN(h.purged_at)
            FROM jobs_internal.history_purges AS h
        ) AS p
    ) AS oldest_purged,
    (
        SELECT COALESCE(SUM(p.rows), 0)
        FROM sys.partitions AS p
        WHERE p.object_id = OBJECT_ID(N'jobs_internal.target_executions')
            AND p.index_id IN (0, 1)
    ) AS target_executions,
    (SELECT s.value FROM jobs_internal.effective_settings AS s WHERE s.name = N'history_retention_days') AS retention_days,
    SYSUTCDATETIME() AS now;
