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
HAVING COUNT(DISTINCT v.trigger_id) > 1;
