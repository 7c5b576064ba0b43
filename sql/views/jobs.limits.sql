-- Limits on targets that run at once, set by jobs.sp_set_limit, with their present use.
--
-- Columns:
--   scope                   Job, Server, ElasticPool, Credential or Agent (all targets of this control database).
--   name                    Name of the job, server, pool or credential; (default): the agents' default credential; *:
--                           each one that has no limit of its own, counted separately.
--   server_name             Server of an elastic pool; NULL: pools of this name on any server, counted separately.
--   max_concurrent_targets  The limit.
--   running                 Number of running targets that it counts; for *, the sum over all its objects.
--   waiting                 Number of targets under it that could start now, apart from limits and free workers.
--   updated_at              When the limit was set (UTC).
CREATE OR ALTER VIEW jobs.limits
AS
SELECT
    l.scope,
    CAST(CASE WHEN l.job_id IS NULL THEN l.name ELSE j.name END AS NVARCHAR(256)) AS name,
    NULLIF(l.server_name, N'') AS server_name,
    l.max_concurrent_targets,
    (
        SELECT COUNT(*)
        FROM jobs_internal.task_executions AS k
        INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
        INNER JOIN jobs_internal.queue_limits AS v ON v.queue_id = t.queue_id
        WHERE k.ended_at IS NULL
            AND k.kind = N'Run'
            AND v.limit_id = l.limit_id
    ) + CASE
        WHEN l.scope = N'Agent'
            THEN (SELECT COUNT(*) FROM jobs_internal.task_executions AS k WHERE k.ended_at IS NULL AND k.kind = N'Run')
        ELSE 0
    END AS running,
    (
        SELECT COUNT(*)
        FROM jobs_internal.target_executions AS t
        INNER JOIN jobs_internal.queue_limits AS v ON v.queue_id = t.queue_id
        WHERE t.next_attempt_at IS NOT NULL
            AND t.next_attempt_at <= SYSUTCDATETIME()
            AND v.limit_id = l.limit_id
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.step_lists AS w WHERE w.step_execution_id = t.step_execution_id)
    ) + CASE
        WHEN l.scope = N'Agent' THEN (
            SELECT COUNT(*)
            FROM jobs_internal.target_executions AS t
            WHERE t.next_attempt_at IS NOT NULL
                AND t.next_attempt_at <= SYSUTCDATETIME()
                AND NOT EXISTS (SELECT 1 FROM jobs_internal.step_lists AS w WHERE w.step_execution_id = t.step_execution_id)
        )
        ELSE 0
    END AS waiting,
    l.updated_at
FROM jobs_internal.limits AS l
LEFT JOIN jobs_internal.jobs AS j ON j.job_id = l.job_id
WHERE l.job_id IS NULL
    OR j.deleted_at IS NULL;
