-- Limits (jobs_internal.queue_limits): no more targets run than a limit allows. Targets that ran
-- when the limit was set continue, so a higher count is a violation only if one of the targets was
-- claimed afterwards. The check applies to active runs only. max_parallelism does not change within
-- a run.
SELECT CONCAT(c.description, N': ', c.running, N' targets run, ', c.max_concurrent_targets, N' may') AS detail
FROM (
    SELECT
        v.limit_key,
        MIN(v.description) AS description,
        MIN(v.max_concurrent_targets) AS max_concurrent_targets,
        COUNT(*) AS running,
        MAX(CASE WHEN l.limit_id IS NULL OR k.claimed_at > l.updated_at THEN 1 ELSE 0 END) AS claimed_since
    FROM jobs_internal.task_executions AS k
    INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
    INNER JOIN jobs_internal.queue_limits AS v ON v.queue_id = t.queue_id
    LEFT JOIN jobs_internal.limits AS l ON l.limit_id = v.limit_id
    WHERE k.ended_at IS NULL
    GROUP BY v.limit_key
) AS c
WHERE c.claimed_since = 1
    AND c.running > c.max_concurrent_targets;
