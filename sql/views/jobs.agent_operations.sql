-- Operations on the job agent (account) of this control database: the one in progress, and those that ended within a day.
--
-- Columns:
--   operation_id   Its id.
--   kind           UpsertJobAccount (creation or change) or DropJobAccount (deletion).
--   agent_name     Name of the job agent.
--   status         InProgress, Succeeded or Failed.
--   error_code     Code of a failure.
--   error_message  The failure in words.
--   active_runs    DropJobAccount in progress: the number of runs that are still active.
--   start_time     When it began (UTC).
--   started_by     Login that began it.
--   end_time       When it ended (UTC).
CREATE OR ALTER VIEW jobs.agent_operations
AS
SELECT
    o.operation_id,
    o.kind,
    o.agent_name,
    o.status,
    o.error_code,
    o.error_message,
    CASE
        WHEN o.status = N'InProgress' AND o.kind = N'DropJobAccount'
            THEN (SELECT COUNT(*) FROM jobs_internal.job_executions AS e WHERE e.is_active = 1)
    END AS active_runs,
    o.started_at AS start_time,
    o.started_by,
    o.ended_at AS end_time
FROM jobs_internal.job_agent_operations AS o
WHERE o.ended_at IS NULL
    OR o.ended_at > DATEADD(HOUR, -24, SYSUTCDATETIME());
