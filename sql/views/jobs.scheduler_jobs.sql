-- Jobs of job collections, as the Scheduler surface shows them.
--
-- Columns:
--   job_collection_name     Name of the collection.
--   job_name                Name of the job within the collection.
--   full_name               Its name in jobs.jobs.
--   job_id                  Id of the job.
--   revision                Grows with every change of the job.
--   state                   Enabled; Disabled, or its collection is; Completed: it is not due any more; Faulted: its schedule is invalid,
--                           or it was due once and this run failed.
--   enabled                 1: due instants become runs, unless the collection is disabled.
--   location                Location of the collection.
--   schedule                JSON object with startTime and recurrence.
--   next_due_time           Next due instant (UTC); NULL: none, or not known yet.
--   awaits_validation       1: an agent has not yet read the schedule.
--   created_time            When the job was created (UTC).
--   defined_time            When its schedule was last changed (UTC).
--   activated_time          When its schedule was last changed, enabled or resumed (UTC).
--   execution_count         Number of attempts of the action.
--   failure_count           Number of these that failed.
--   faulted_count           Number of runs that ended Failed or TimedOut.
--   last_execution_time     Start of the latest run (UTC); NULL: none yet.
--   properties              The action as REST shows it; NULL: it was defined in T-SQL.
--   command_type, command, retry_attempts, retry_interval_seconds  The step MainAction.
--   error_command_type, error_command, error_retry_attempts, error_retry_interval_seconds  The step ErrorAction; NULL: there is none.
CREATE OR ALTER VIEW jobs.scheduler_jobs
AS
SELECT
    l.name AS job_collection_name,
    d.name AS job_name,
    j.name AS full_name,
    d.job_id,
    j.revision,
    v.state,
    s.enabled,
    l.location,
    s.spec AS [schedule],
    s.next_due_at AS next_due_time,
    s.awaits_verdict AS awaits_validation,
    s.created_at AS created_time,
    COALESCE(s.defined_at, s.created_at) AS defined_time,
    s.activated_at AS activated_time,
    s.main_attempts + COALESCE(o.tries, 0) AS execution_count,
    s.main_failures + COALESCE(o.failures, 0) AS failure_count,
    s.faults + COALESCE(o.faults, 0) AS faulted_count,
    COALESCE(r.started_at, s.last_started_at) AS last_execution_time,
    d.properties,
    c.command_type,
    c.command,
    m.retry_attempts,
    m.initial_retry_interval_seconds AS retry_interval_seconds,
    ec.command_type AS error_command_type,
    ec.command AS error_command,
    em.retry_attempts AS error_retry_attempts,
    em.initial_retry_interval_seconds AS error_retry_interval_seconds
FROM jobs_internal.scheduler_jobs AS d
INNER JOIN jobs_internal.job_collections AS l ON l.collection_id = d.collection_id
INNER JOIN jobs_internal.jobs AS j ON j.job_id = d.job_id
INNER JOIN jobs_internal.scheduler_states AS v ON v.job_id = d.job_id
INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = v.schedule_id
INNER JOIN jobs_internal.job_steps AS m ON m.job_id = d.job_id AND m.version = j.current_version AND m.step_id = 1
INNER JOIN jobs_internal.step_commands AS c ON c.command_id = m.command_id
LEFT JOIN jobs_internal.job_steps AS em ON em.job_id = d.job_id AND em.version = j.current_version AND em.step_id = 2
LEFT JOIN jobs_internal.step_commands AS ec ON ec.command_id = em.command_id
OUTER APPLY (
    SELECT TOP (1) COALESCE(e.start_time, e.create_time) AS started_at
    FROM jobs_internal.visible_runs AS e
    WHERE e.job_id = d.job_id
    ORDER BY e.create_time DESC, e.job_execution_id
) AS r
-- The runs that are not counted yet: those that are active, and those that have just ended.
OUTER APPLY (
    SELECT
        SUM(u.tries) AS tries,
        SUM(u.failures) AS failures,
        SUM(u.faults) AS faults
    FROM (
        SELECT
            CASE WHEN x.lifecycle IN (N'Failed', N'TimedOut') THEN 1 ELSE 0 END AS faults,
            (
                SELECT COUNT(*)
                FROM jobs_internal.step_executions AS p
                INNER JOIN jobs_internal.task_executions AS k
                    ON k.execution_id = p.execution_id AND k.step_execution_id = p.step_execution_id
                WHERE p.execution_id = x.execution_id
                    AND p.step_id = 1
                    AND k.kind = N'Run'
                    AND COALESCE(k.outcome, N'') <> N'Returned'
            ) AS tries,
            (
                SELECT COUNT(*)
                FROM jobs_internal.step_executions AS p
                INNER JOIN jobs_internal.task_executions AS k
                    ON k.execution_id = p.execution_id AND k.step_execution_id = p.step_execution_id
                WHERE p.execution_id = x.execution_id
                    AND p.step_id = 1
                    AND k.kind = N'Run'
                    AND k.outcome IN (N'Failed', N'TimedOut', N'Unknown')
            ) AS failures
        FROM (
            SELECT e.execution_id, e.lifecycle
            FROM jobs_internal.job_executions AS e
            WHERE e.job_id = d.job_id
                AND e.is_active = 1
                AND e.unaccounted = 1
            UNION ALL
            SELECT e.execution_id, e.lifecycle
            FROM jobs_internal.job_executions AS e
            WHERE e.job_id = d.job_id
                AND e.is_active = 0
                AND e.unaccounted = 1
        ) AS x
    ) AS u
) AS o;
