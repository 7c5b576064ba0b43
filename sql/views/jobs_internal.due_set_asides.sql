-- What is set aside and is to be tried again now: after its wait, or because a stop was requested after the last try, or the clock was set
-- back since.
--
-- Plan: set_asides is usually empty; per row one key of PK_job_executions.
--
-- Columns:
--   kind, first_id  The run, schedule or trigger, as in jobs_internal.set_asides.
CREATE OR ALTER VIEW jobs_internal.due_set_asides
AS
SELECT z.kind, z.first_id
FROM jobs_internal.set_asides AS z
LEFT JOIN jobs_internal.job_executions AS e ON e.execution_id = CASE WHEN z.kind = N'Run' THEN z.first_id END
WHERE z.is_part = 0
    AND (
        z.retry_at <= SYSUTCDATETIME()
        OR z.tried_at > DATEADD(MINUTE, 1, SYSUTCDATETIME())
        OR (e.is_active = 1 AND e.stop_requested_at > z.tried_at)
    );
