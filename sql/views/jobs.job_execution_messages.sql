-- All messages of the attempts of a run, from scripts, servers and the agent (beyond Azure). The order is
-- attempt_start_time, then ordinal. Messages are kept as long as the run's history.
--
-- Columns:
--   job_execution_id      Id of the run.
--   job_name              Name of the job.
--   job_id                Id of the job.
--   job_version           Version that the run uses.
--   step_id               Number of the step.
--   target_id             Id of the database or endpoint; NULL for messages of the resolution of a target group.
--   target_server_name    Server, or host of the endpoint; NULL for messages of a resolution.
--   target_database_name  Database; NULL for endpoints, and for messages of a resolution.
--   attempt               Number of the attempt.
--   attempt_start_time    When the attempt was claimed (UTC).
--   ordinal               Position within the attempt, from 1.
--   message_kind          Info (PRINT, RAISERROR below severity 11), Error, Rows (a row count) or Agent. Of actions also Response (status
--                         line and headers, or the id that a queue gave a message), Body (of a response; base64 if it is not UTF-8),
--                         Output and ErrorOutput (of a process), and Exit (its end).
--   message_number        The server's message number, the status code of a response, or the exit code of a process; 0: none.
--   severity              The server's severity; 0: none.
--   state                 The server's state; 0: none.
--   line_number           Line of the script, or of procedure_name; 0: none.
--   procedure_name        Procedure that sent the message; NULL: the script itself.
--   message               Text; NULL for Rows.
--   row_count             The row count; only for Rows.
--   trace_id              The trace of the run (jobs.job_execution_traces).
--   span_id               The span of the attempt in it.
--   attempt_id            Id of the attempt, as in jobs.job_execution_attempts. With it, and the run, one attempt is read.
CREATE OR ALTER VIEW jobs.job_execution_messages
AS
SELECT
    e.job_execution_id,
    j.name AS job_name,
    e.job_id,
    e.job_version,
    s.step_id,
    t.target_id,
    t.server_name AS target_server_name,
    CASE WHEN t.is_endpoint = 0 THEN t.database_name END AS target_database_name,
    k.attempt,
    k.claimed_at AS attempt_start_time,
    m.ordinal,
    m.kind AS message_kind,
    m.number AS message_number,
    m.severity,
    m.state,
    m.line AS line_number,
    m.procedure_name,
    m.message,
    m.row_count,
    TRANSLATE(REPLACE(CONVERT(CHAR(36), e.job_execution_id), '-', ''), 'ABCDEF', 'abcdef') AS trace_id,
    TRANSLATE(CONVERT(CHAR(16), SUBSTRING(HASHBYTES('SHA2_256', CASE
        WHEN t.target_execution_id IS NULL
            THEN CONCAT('resolution:', CONVERT(CHAR(36), e.job_execution_id), ':', s.step_id, ':', k.attempt)
        ELSE CONCAT(
            'attempt:', CONVERT(CHAR(36), e.job_execution_id), ':', CONVERT(CHAR(36), t.internal_id), ':', k.attempt
        )
    END), 1, 8), 2), 'ABCDEF', 'abcdef') AS span_id,
    m.task_id AS attempt_id
FROM jobs_internal.task_messages AS m
INNER JOIN jobs_internal.task_executions AS k ON k.task_id = m.task_id
    AND k.execution_id = m.execution_id -- so that a target finds its attempts by the index
INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
INNER JOIN jobs_internal.visible_runs AS e ON e.execution_id = m.execution_id
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
LEFT JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
    AND t.step_execution_id = k.step_execution_id
WHERE j.deleted_at IS NULL;
