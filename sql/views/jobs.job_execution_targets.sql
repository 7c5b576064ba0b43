-- Targets of step executions, with all that is known about them (beyond Azure): one row per target of a step's execution.
-- jobs.job_executions has the same rows with Azure's columns.
--
-- Read it for one run: UQ_target_executions_target_id finds the targets of its steps. With target_id, it reads one row of each.
--
-- Columns:
--   job_execution_id      Id of the run.
--   job_name              Name of the job.
--   job_id                Id of the job.
--   job_version           Version that the run uses.
--   step_id               Number of the step.
--   step_name             Name of the step.
--   target_id             Id of the database or endpoint; the same in all runs.
--   target_type           SqlDatabase or Endpoint.
--   target_server_name    Server, or host of the endpoint.
--   target_database_name  Database; NULL for an endpoint.
--   elastic_pool_name     Pool of the database; NULL: none.
--   is_active             1: not final.
--   lifecycle             As in jobs.job_executions, but WaitingForCallback while an action waits for a report.
--   create_time           When the list of targets was frozen (UTC, as all times).
--   start_time            When the first attempt began; NULL before.
--   end_time              When it became final; NULL before.
--   attempts              Number of attempts that have begun and count.
--   attempt_start_time    When the latest attempt began.
--   next_attempt_time     When the next attempt may begin; NULL if none is due, or it is not known, because the target waits.
--   deadline_time         When the step's time limit passes, or until when a target waits for its first attempt; NULL before the first
--                         attempt, unless it waits.
--   last_message          Message of the latest event; NULL: there is none beyond the lifecycle.
--   error_number          Number of the error that determined the outcome of the latest attempt; NULL: none.
--   error_line            Its line.
--   outcome_unknown       1: it is unknown whether the script ran: see jobs.job_execution_outcomes.
--   internal_execution_id  Written to output tables; the same for all attempts and for reruns.
--   duration_ms           From the first attempt to the end of the last one by the agent's clock, waits between them included; NULL: not
--                         final, or no attempt has begun. end_time is later: it is when the outcome was stored.
--   waiting_for           Pause: the database is paused, so no attempt starts (jobs.sp_pause_target); Window: a window of the database is
--                         not open (jobs.sp_set_target_window). NULL: it is not held by anything.
--   waiting_until         When that ends by itself, or the window opens; NULL: not known, or it does not.
--   waiting_reason        In words.
CREATE OR ALTER VIEW jobs.job_execution_targets
AS
SELECT
    e.job_execution_id,
    j.name AS job_name,
    e.job_id,
    e.job_version,
    t.step_id,
    d.step_name,
    t.target_id,
    CAST(CASE WHEN t.is_endpoint = 1 THEN N'Endpoint' ELSE N'SqlDatabase' END AS NVARCHAR(128)) AS target_type,
    t.server_name AS target_server_name,
    CASE WHEN t.is_endpoint = 0 THEN t.database_name END AS target_database_name,
    t.elastic_pool_name,
    t.is_active,
    t.lifecycle,
    t.create_time,
    t.start_time,
    t.end_time,
    t.attempts,
    t.attempt_start_time,
    CASE WHEN t.next_attempt_at < '9999-12-31' THEN t.next_attempt_at END AS next_attempt_time,
    t.deadline_at AS deadline_time,
    t.last_message,
    t.error_number,
    t.error_line,
    t.outcome_unknown,
    t.internal_id AS internal_execution_id,
    (SELECT x.duration_ms FROM jobs_internal.target_durations AS x WHERE x.target_execution_id = t.target_execution_id) AS duration_ms,
    h.waiting_for,
    h.waiting_until,
    h.description AS waiting_reason
FROM jobs_internal.visible_runs AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id
INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = s.step_execution_id
LEFT JOIN jobs_internal.target_holds AS h ON h.target_execution_id = t.target_execution_id
WHERE j.deleted_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM jobs_internal.step_lists AS w WHERE w.step_execution_id = s.step_execution_id);
