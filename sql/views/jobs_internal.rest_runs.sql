-- Runs of schedules of the SAP surface with SAP's states: one row per run. Nothing is stored for
-- this view; it reads the rows of the run: its step, its target, the latest task, its callback, and the messages of the answer.
--
-- A report decides as soon as it was accepted and the attempt has ended, so the state is final before the next pass ends the wait.
--
-- The run of a task (job type CF_TASK) is a process. It is acknowledged when the process may start, and its end decides: ERROR if the
-- process ended with another code than 0 or exceeded a limit, REQUEST_ERROR if it could not be started.
--
-- Columns:
--   execution_id    Internal key of the run.
--   schedule_id     Internal key of the schedule.
--   run_id          Public id of the run.
--   due_at          Due instant.
--   scheduled_at    When the run was made.
--   is_task         1: the run is a process.
--   executed_at     When the request began to be sent, or the process was started; NULL: neither.
--   acked_at        When the wait for a report began, or the process was started; NULL: neither.
--   ack_state       ACK_RECVD or ACK_NOT_RECVD; NULL: no wait.
--   completed_at    When it ended; NULL: not yet.
--   run_status      SCHEDULED, RUNNING or COMPLETED.
--   run_state       SCHEDULED, TRIGGERED, ACK_RECVD, ACK_NOT_RECVD, SUCCESS, ERROR, REQUEST_ERROR, UNKNOWN or TIMEOUT.
--   http_status     Status of the answer; NULL: none.
--   ack_text        Text of the state ACK_RECVD or ACK_NOT_RECVD: the body of the answer, or else what the agent says about the attempt.
--   run_text        The latest text.
--   late_at, late_text  The latest report that was refused because its time had passed; NULL: none.
CREATE OR ALTER VIEW jobs_internal.rest_runs
AS
WITH parts AS (
    SELECT
        e.execution_id,
        e.schedule_id,
        e.job_execution_id AS run_id,
        e.due_at,
        e.create_time AS scheduled_at,
        i.is_task,
        k.send_began_at AS executed_at,
        CASE
            WHEN i.is_task = 1 AND i.has_started = 1 THEN k.send_began_at
            WHEN k.outcome IN (N'Accepted', N'NoAnswer') THEN k.ended_at
        END AS acked_at,
        CASE
            WHEN i.is_task = 1 AND i.has_started = 1 THEN N'ACK_RECVD'
            WHEN k.outcome = N'Accepted' THEN N'ACK_RECVD'
            WHEN k.outcome = N'NoAnswer' THEN N'ACK_NOT_RECVD'
        END AS ack_state,
        CASE
            WHEN c.received_at IS NOT NULL AND c.deadline_at IS NOT NULL THEN c.received_at
            WHEN t.is_active = 0 THEN t.end_time
            ELSE e.end_time
        END AS completed_at,
        CASE
            WHEN c.success IS NOT NULL AND c.deadline_at IS NOT NULL AND c.success = 1 THEN N'SUCCESS'
            WHEN c.success IS NOT NULL AND c.deadline_at IS NOT NULL THEN N'ERROR'
            WHEN t.lifecycle = N'WaitingForCallback' AND c.acked = 1 THEN N'ACK_RECVD'
            WHEN t.lifecycle = N'WaitingForCallback' THEN N'ACK_NOT_RECVD'
            WHEN t.is_active = 1 AND i.is_task = 1 AND i.has_started = 1 THEN N'ACK_RECVD'
            WHEN t.is_active = 1 AND (k.send_began_at IS NOT NULL OR t.lifecycle = N'WaitingForRetry') THEN N'TRIGGERED'
            WHEN t.is_active = 1 THEN N'SCHEDULED'
            WHEN t.lifecycle IN (N'Succeeded', N'SucceededWithSkipped') THEN N'SUCCESS'
            WHEN i.is_task = 1 AND t.lifecycle = N'TimedOut' THEN N'TIMEOUT'
            WHEN i.is_task = 1 AND t.outcome_unknown = 1 THEN N'UNKNOWN'
            WHEN t.lifecycle = N'Failed' AND (a.number >= 500 OR x.message IS NOT NULL) THEN N'ERROR'
            WHEN t.lifecycle = N'TimedOut' AND c.closed_by = N'Deadline' THEN N'UNKNOWN'
            WHEN t.lifecycle = N'Canceled' AND i.is_task = 0 AND k.send_began_at IS NOT NULL THEN N'UNKNOWN'
            WHEN t.lifecycle IN (N'Canceled', N'Skipped') THEN N'ERROR'
            WHEN t.lifecycle IS NOT NULL THEN N'REQUEST_ERROR'
            WHEN e.is_active = 1 THEN N'SCHEDULED'
            WHEN e.lifecycle IN (N'Canceled', N'Skipped') THEN N'ERROR'
            ELSE N'REQUEST_ERROR'
        END AS run_state,
        a.number AS http_status,
        COALESCE(NULLIF(b.message, N''), NULLIF(k.message, N''), x.message) AS answer_text,
        b.message AS body,
        k.message AS task_message,
        c.message AS report_message,
        COALESCE(t.last_message, e.last_message) AS last_message,
        l.received_at AS late_at,
        CASE WHEN l.received_at IS NOT NULL THEN CONCAT(N'Late report: ', l.message) END AS late_text
    FROM jobs_internal.visible_runs AS e
    LEFT JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id AND s.step_id = 1
    LEFT JOIN jobs_internal.job_steps AS d ON d.job_id = e.job_id AND d.version = e.job_version AND d.step_id = 1
    LEFT JOIN jobs_internal.step_commands AS m ON m.command_id = d.command_id
    -- Plan: the first key of the run and the step in IX_target_executions_execution_id, and the last key of the target in
    -- IX_task_executions_execution_id. Each index has the order, because all columns before the key are compared. Otherwise SQL Server may
    -- read the clustered index in the order of the key until it meets a row of the run: with many targets in an average run, it expects
    -- that soon (a row goal, https://www.pythian.com/blog/technical-track/issues-plan-cache-reuse-row-goal-optimization).
    OUTER APPLY (
        SELECT TOP (1) o.target_execution_id, o.lifecycle, o.is_active, o.end_time, o.attempts, o.last_message, o.outcome_unknown
        FROM jobs_internal.target_executions AS o
        WHERE o.execution_id = e.execution_id
            AND o.step_execution_id = s.step_execution_id
        ORDER BY o.target_execution_id
    ) AS t
    OUTER APPLY (
        SELECT TOP (1) o.task_id, o.attempt, o.send_began_at, o.ended_at, o.outcome, o.message
        FROM jobs_internal.task_executions AS o
        WHERE o.execution_id = e.execution_id
            AND o.step_execution_id = s.step_execution_id
            AND o.target_execution_id = t.target_execution_id
        ORDER BY o.task_id DESC
    ) AS k
    LEFT JOIN jobs_internal.callbacks AS c ON c.target_execution_id = t.target_execution_id AND c.attempt = k.attempt
    OUTER APPLY (
        SELECT TOP (1) o.number
        FROM jobs_internal.task_messages AS o
        WHERE o.task_id = k.task_id
            AND o.kind = N'Response'
        ORDER BY o.ordinal DESC
    ) AS a
    OUTER APPLY (
        SELECT TOP (1) o.message
        FROM jobs_internal.task_messages AS o
        WHERE o.task_id = k.task_id
            AND o.kind IN (N'Body', N'Output') -- of a process, the end of its output
        ORDER BY o.ordinal DESC
    ) AS b
    OUTER APPLY (
        SELECT TOP (1) o.message
        FROM jobs_internal.task_messages AS o
        WHERE o.task_id = k.task_id
            AND o.kind = N'Exit'
        ORDER BY o.ordinal DESC
    ) AS x
    CROSS APPLY (
        SELECT
            CASE WHEN m.command_type = N'Process' THEN 1 ELSE 0 END AS is_task,
            CASE
                WHEN k.send_began_at IS NOT NULL AND (k.ended_at IS NULL OR k.outcome <> N'Failed' OR x.message IS NOT NULL) THEN 1
                ELSE 0
            END AS has_started -- of a process
    ) AS i
    OUTER APPLY (
        SELECT o.message, o.received_at
        FROM OPENJSON(c.late) WITH (
            message     NVARCHAR(MAX),
            received_at DATETIME2(7)
        ) AS o
        WHERE c.closed_by = N'Deadline'
    ) AS l
    WHERE e.schedule_id IS NOT NULL
)
SELECT
    p.execution_id,
    p.schedule_id,
    p.run_id,
    p.due_at,
    p.scheduled_at,
    CAST(p.is_task AS BIT) AS is_task,
    p.executed_at,
    p.acked_at,
    p.ack_state,
    CASE WHEN p.run_state NOT IN (N'SCHEDULED', N'TRIGGERED', N'ACK_RECVD', N'ACK_NOT_RECVD') THEN p.completed_at END AS completed_at,
    CASE
        WHEN p.run_state = N'SCHEDULED' THEN N'SCHEDULED'
        WHEN p.run_state IN (N'TRIGGERED', N'ACK_RECVD', N'ACK_NOT_RECVD') THEN N'RUNNING'
        ELSE N'COMPLETED'
    END AS run_status,
    p.run_state,
    p.http_status,
    CASE WHEN p.is_task = 1 THEN N'The process has been started' ELSE p.answer_text END AS ack_text,
    CASE
        WHEN p.run_state = N'SCHEDULED' THEN N'The job has been scheduled for a future run'
        WHEN p.run_state = N'TRIGGERED' AND p.is_task = 1 THEN N'The process is about to start'
        WHEN p.run_state = N'ACK_RECVD' AND p.is_task = 1 THEN N'The process has been started'
        WHEN p.run_state = N'TRIGGERED' THEN N'The request has been sent to the endpoint'
        WHEN p.run_state IN (N'ACK_RECVD', N'ACK_NOT_RECVD') THEN COALESCE(p.answer_text, N'')
        WHEN p.report_message IS NOT NULL THEN p.report_message
        WHEN p.run_state = N'SUCCESS' THEN COALESCE(p.answer_text, N'')
        WHEN p.run_state IN (N'ERROR', N'REQUEST_ERROR') AND p.is_task = 0 AND p.body <> N'' THEN CONCAT(N'Response: ', p.body)
        WHEN p.run_state IN (N'ERROR', N'REQUEST_ERROR') THEN COALESCE(NULLIF(p.task_message, N''), p.last_message, N'')
        ELSE CONCAT(p.last_message, N' ' + p.late_text)
    END AS run_text,
    p.late_at,
    p.late_text
FROM parts AS p;
