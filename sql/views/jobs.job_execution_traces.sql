-- The spans of runs as the agents export them to OpenTelemetry (beyond Azure), to be read for one run. All IDs follow from the run:
-- the trace is the run's id, and a span is the first 8 bytes of the SHA-256 of a text (agent/telemetry/tracing/DESIGN.md). So the
-- view has them whether traces are exported or not.
--
-- Columns:
--   job_execution_id  Id of the run.
--   job_name          Name of the job.
--   span_kind         Run, Step, Resolution (an attempt to list the targets of a step), Target or Attempt.
--   step_id           Number of the step; NULL for the run.
--   target_id         Id of the database or endpoint; only for Target and Attempt.
--   attempt           Number of the attempt; only for Resolution and Attempt.
--   trace_id          The trace: 32 hexadecimal digits.
--   span_id           The span: 16 hexadecimal digits.
--   parent_span_id    The span above; NULL for the run.
--   start_time        When it began (UTC); NULL: not yet.
--   end_time          When it ended; NULL: not yet.
CREATE OR ALTER VIEW jobs.job_execution_traces
AS
WITH texts AS (
    SELECT
        e.execution_id,
        N'Run' AS span_kind,
        CAST(NULL AS INT) AS step_id,
        CAST(NULL AS UNIQUEIDENTIFIER) AS target_id,
        CAST(NULL AS INT) AS attempt,
        CONCAT('run:', CONVERT(CHAR(36), e.job_execution_id)) AS own,
        CAST(NULL AS VARCHAR(200)) AS parent,
        e.create_time AS start_time,
        e.end_time
    FROM jobs_internal.job_executions AS e
    UNION ALL
    SELECT
        s.execution_id,
        N'Step' AS span_kind,
        s.step_id,
        NULL AS target_id,
        NULL AS attempt,
        CONCAT('step:', CONVERT(CHAR(36), e.job_execution_id), ':', s.step_id) AS own,
        CONCAT('run:', CONVERT(CHAR(36), e.job_execution_id)) AS parent,
        s.create_time AS start_time,
        s.end_time
    FROM jobs_internal.step_executions AS s
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
    UNION ALL
    SELECT
        t.execution_id,
        N'Target' AS span_kind,
        t.step_id,
        t.target_id,
        NULL AS attempt,
        CONCAT(
            'target:', CONVERT(CHAR(36), e.job_execution_id), ':', CONVERT(CHAR(36), t.internal_id)
        ) AS own,
        CONCAT('step:', CONVERT(CHAR(36), e.job_execution_id), ':', t.step_id) AS parent,
        COALESCE(t.start_time, t.create_time) AS start_time,
        t.end_time
    FROM jobs_internal.target_executions AS t
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = t.execution_id
    UNION ALL
    SELECT
        k.execution_id,
        CASE WHEN t.target_execution_id IS NULL THEN N'Resolution' ELSE N'Attempt' END AS span_kind,
        s.step_id,
        t.target_id,
        k.attempt,
        CASE
            WHEN t.target_execution_id IS NULL
                THEN CONCAT('resolution:', CONVERT(CHAR(36), e.job_execution_id), ':', s.step_id, ':', k.attempt)
            ELSE CONCAT(
                'attempt:', CONVERT(CHAR(36), e.job_execution_id), ':', CONVERT(CHAR(36), t.internal_id), ':',
                k.attempt
            )
        END AS own,
        CASE
            WHEN t.target_execution_id IS NULL
                THEN CONCAT('step:', CONVERT(CHAR(36), e.job_execution_id), ':', s.step_id)
            ELSE CONCAT(
                'target:', CONVERT(CHAR(36), e.job_execution_id), ':', CONVERT(CHAR(36), t.internal_id)
            )
        END AS parent,
        k.claimed_at AS start_time,
        k.ended_at AS end_time
    FROM jobs_internal.task_executions AS k
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = k.execution_id
    LEFT JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
    WHERE k.outcome IS NULL
        OR k.outcome <> N'Returned'
)
SELECT
    e.job_execution_id,
    j.name AS job_name,
    x.span_kind,
    x.step_id,
    x.target_id,
    x.attempt,
    TRANSLATE(REPLACE(CONVERT(CHAR(36), e.job_execution_id), '-', ''), 'ABCDEF', 'abcdef') AS trace_id,
    TRANSLATE(CONVERT(CHAR(16), SUBSTRING(HASHBYTES('SHA2_256', x.own), 1, 8), 2), 'ABCDEF', 'abcdef') AS span_id,
    TRANSLATE(CONVERT(CHAR(16), SUBSTRING(HASHBYTES('SHA2_256', x.parent), 1, 8), 2), 'ABCDEF', 'abcdef') AS parent_span_id,
    x.start_time,
    x.end_time
FROM jobs_internal.visible_runs AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
INNER JOIN texts AS x ON x.execution_id = e.execution_id
WHERE j.deleted_at IS NULL;
