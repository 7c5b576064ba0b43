-- Callbacks: reports from outside that end actions, or that may still end them. One row per attempt that asked for a callback
-- or waited for one. jobs.sp_complete_callback reports by hand.
--
-- Columns:
--   job_execution_id      Id of the run.
--   job_name              Name of the job.
--   job_id                Id of the job.
--   step_id               Number of the step.
--   step_name             Name of the step.
--   target_id             Id of the target.
--   target_type           Endpoint, or SqlDatabase for an action that runs once per database.
--   target_server_name    Host of the endpoint, or server.
--   target_database_name  Database; NULL for an endpoint.
--   attempt               Number of the attempt.
--   state                 Open: the attempt runs. Waiting: it waits for the report. Reported: the report decides at the next pass.
--                         Closed: no report is accepted any more.
--   acknowledged          1: the endpoint has accepted the request. 0: not yet, or there was no answer.
--   opened_at             When the callback was opened (UTC, as all times).
--   deadline_at           When the wait ends without a report; NULL before the wait.
--   success               The report: 1: the work succeeded, 0: it failed; NULL: there is none.
--   message               The report's message.
--   received_at           When the report was accepted.
--   received_by           Who sent it.
--   closed_at             When the callback was closed.
--   closed_by             What closed it: Report, Deadline, Stop, or Attempt (the attempt ended without a wait).
--   late                  The latest report that was refused, a JSON object: success, message, received_at, received_by.
CREATE OR ALTER VIEW jobs.callbacks
AS
SELECT
    e.job_execution_id,
    j.name AS job_name,
    e.job_id,
    t.step_id,
    d.step_name,
    t.target_id,
    CAST(CASE WHEN t.is_endpoint = 1 THEN N'Endpoint' ELSE N'SqlDatabase' END AS NVARCHAR(128)) AS target_type,
    t.server_name AS target_server_name,
    CASE WHEN t.is_endpoint = 0 THEN t.database_name END AS target_database_name,
    c.attempt,
    CAST(CASE
        WHEN c.closed_at IS NOT NULL THEN N'Closed'
        WHEN c.received_at IS NOT NULL THEN N'Reported'
        WHEN c.deadline_at IS NOT NULL THEN N'Waiting'
        ELSE N'Open'
    END AS NVARCHAR(20)) AS state,
    c.acked AS acknowledged,
    c.opened_at,
    c.deadline_at,
    c.success,
    c.message,
    c.received_at,
    c.received_by,
    c.closed_at,
    c.closed_by,
    c.late
FROM jobs_internal.callbacks AS c
INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = c.target_execution_id
INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = t.step_execution_id
    AND s.execution_id = c.execution_id -- so that a target of a step of a run finds its callbacks by keys
INNER JOIN jobs_internal.visible_runs AS e ON e.execution_id = c.execution_id
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
INNER JOIN jobs_internal.job_steps AS d ON d.job_id = e.job_id AND d.version = e.job_version AND d.step_id = t.step_id
WHERE j.deleted_at IS NULL;
