-- I10: an occurrence has a run, or waits for an earlier run, or is recorded as skipped, and only
-- one of these. An occurrence of a backfill may have been skipped before. So may an occurrence of a
-- job without steps: it is due again with the job's first step, and at the same instant if the
-- clock stands still, as in tests.
SELECT CONCAT(N'schedule ', x.schedule_id, N' due at ', CONVERT(NVARCHAR(30), x.due_at, 126), N' is ', MIN(x.what), N' and ', MAX(x.what)) AS detail
FROM (
    SELECT e.schedule_id, e.due_at, N'run' AS what
    FROM jobs_internal.job_executions AS e
    WHERE e.schedule_id IS NOT NULL
        AND e.backfill_id IS NULL
    UNION
    SELECT b.schedule_id, b.due_at, N'waiting'
    FROM jobs_internal.schedule_buffer AS b
    WHERE b.backfill_id IS NULL
    UNION
    SELECT k.schedule_id, k.due_at, N'skipped'
    FROM jobs_internal.schedule_skips AS k
    WHERE k.cause <> N'NoSteps'
) AS x
GROUP BY x.schedule_id, x.due_at
HAVING COUNT(*) > 1;
