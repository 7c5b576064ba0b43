-- I26: an event is of a run that has ended, and the run that it started is of the trigger's job and has no other trigger. Constraints ensure
-- the rest: one event for each trigger and run, and a run or a reason for each event that does not wait.
SELECT CONCAT(N'event ', v.event_id, N' is of the active execution ', v.upstream_execution_id) AS detail
FROM jobs_internal.trigger_events AS v
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = v.upstream_execution_id
WHERE e.is_active = 1
UNION ALL
SELECT CONCAT(N'event ', v.event_id, N' has started the execution ', v.execution_id, N' of another job, or of another origin')
FROM jobs_internal.trigger_events AS v
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = v.execution_id
WHERE e.job_id <> v.job_id
    OR e.started_by IS NOT NULL
    OR e.schedule_id IS NOT NULL
UNION ALL
SELECT CONCAT(N'execution ', v.execution_id, N' was started by ', COUNT(DISTINCT v.trigger_id), N' triggers')
FROM jobs_internal.trigger_events AS v
WHERE v.execution_id IS NOT NULL
GROUP BY v.execution_id
HAVING COUNT(DISTINCT v.trigger_id) > 1
UNION ALL
-- A target of a run on the databases that succeeded upstream: it succeeded in the last of the runs of each upstream job that had it. Rows of
-- runs that are purged are not looked at.
SELECT CONCAT(N'target execution ', t.target_execution_id, N' is on a database on which the upstream execution ', x.execution_id,
    N' did not succeed')
FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.target_executions AS t ON t.execution_id = e.execution_id AND t.is_endpoint = 0
CROSS APPLY STRING_SPLIT(e.upstream_runs, N',') AS u
INNER JOIN jobs_internal.job_executions AS x ON x.execution_id = CAST(u.value AS BIGINT) AND x.purged_at IS NULL
WHERE e.upstream_runs IS NOT NULL
    AND u.value NOT LIKE N'-%'
    AND EXISTS (
        SELECT 1
        FROM jobs_internal.target_executions AS w
        WHERE w.execution_id = x.execution_id
            AND w.target_id = t.target_id
            AND w.lifecycle <> N'Succeeded'
    )
    AND NOT EXISTS (
        SELECT 1
        FROM STRING_SPLIT(e.upstream_runs, N',') AS o
        INNER JOIN jobs_internal.job_executions AS y ON y.execution_id = CAST(o.value AS BIGINT) AND y.job_id = x.job_id
        INNER JOIN jobs_internal.target_executions AS z ON z.execution_id = y.execution_id AND z.target_id = t.target_id
        WHERE y.execution_id > x.execution_id
    );
