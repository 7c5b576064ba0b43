-- Adds finished runs to the history, as agents leave them: each with two steps, on four and on three databases, with
-- the tasks and messages of all attempts. A run is ten rows of jobs.job_executions.
--
-- Parameters:
--   @first     Number of the first run, from 0.
--   @count     Number of runs, at most 1000.
--   @oldest    Creation time of run 0.
--   @spacing   Milliseconds from one run to the next.
--   @jobs      Prefix of the names of the jobs, over which the runs are distributed.
--   @term_id   Term that held the tasks.
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @runs TABLE (
    execution_id BIGINT NOT NULL PRIMARY KEY,
    job_id       UNIQUEIDENTIFIER NOT NULL,
    job_version  INT NOT NULL,
    lifecycle    NVARCHAR(50) NOT NULL,
    create_time  DATETIME2(7) NOT NULL,
    end_time     DATETIME2(7) NOT NULL
);
DECLARE @steps TABLE (
    step_execution_id BIGINT NOT NULL PRIMARY KEY,
    execution_id      BIGINT NOT NULL,
    job_id            UNIQUEIDENTIFIER NOT NULL,
    step_id           INT NOT NULL,
    lifecycle         NVARCHAR(50) NOT NULL,
    create_time       DATETIME2(7) NOT NULL,
    end_time          DATETIME2(7) NOT NULL
);
DECLARE @targets TABLE (
    target_execution_id BIGINT NOT NULL PRIMARY KEY,
    execution_id        BIGINT NOT NULL,
    step_execution_id   BIGINT NOT NULL,
    lifecycle           NVARCHAR(50) NOT NULL,
    attempts            INT NOT NULL,
    start_time          DATETIME2(7) NOT NULL,
    end_time            DATETIME2(7) NOT NULL
);
DECLARE @failed TABLE (
    task_id      BIGINT NOT NULL PRIMARY KEY,
    execution_id BIGINT NOT NULL
);
BEGIN TRANSACTION;

WITH digits AS (
    SELECT v.d
    FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS v (d)
),
numbers AS (
    SELECT @first + 100 * a.d + 10 * b.d + c.d AS n
    FROM digits AS a
    CROSS JOIN digits AS b
    CROSS JOIN digits AS c
    WHERE 100 * a.d + 10 * b.d + c.d < @count
),
turns AS (
    SELECT
        j.job_id,
        j.current_version,
        ROW_NUMBER() OVER (ORDER BY j.name) - 1 AS turn,
        COUNT(*) OVER () AS jobs
    FROM jobs_internal.jobs AS j
    WHERE LEFT(j.name, LEN(@jobs)) = @jobs
        AND j.deleted_at IS NULL
),
planned AS (
    SELECT
        t.job_id,
        t.current_version,
        n.n,
        DATEADD(MILLISECOND, n.n % 1000 * @spacing, DATEADD(SECOND, n.n / 1000 * @spacing, @oldest)) AS create_time,
        CASE
            WHEN n.n % 20 = 7 THEN N'Failed'
            WHEN n.n % 50 = 11 THEN N'TimedOut'
            WHEN n.n % 50 = 23 THEN N'Canceled'
            WHEN n.n % 25 = 4 THEN N'SucceededWithSkipped'
            ELSE N'Succeeded'
        END AS lifecycle
    FROM numbers AS n
    INNER JOIN turns AS t ON t.turn = n.n % t.jobs
)
INSERT INTO jobs_internal.job_executions (
    job_execution_id, job_id, job_version, lifecycle, is_active, create_time, start_time, end_time, started_by, last_message
)
OUTPUT inserted.execution_id, inserted.job_id, inserted.job_version, inserted.lifecycle, inserted.create_time, inserted.end_time
INTO @runs (execution_id, job_id, job_version, lifecycle, create_time, end_time)
SELECT
    NEWID(), p.job_id, p.current_version, p.lifecycle, 0, p.create_time, DATEADD(MILLISECOND, 40, p.create_time),
    DATEADD(SECOND, 20, p.create_time), N'bench', CONCAT(N'Job execution ended: ', p.lifecycle, N'.')
FROM planned AS p
ORDER BY p.n;

INSERT INTO jobs_internal.step_executions (
    execution_id, job_id, job_version, step_id, lifecycle, is_active, create_time, start_time, end_time, attempts,
    attempt_start_time, resolved_at, last_message
)
OUTPUT inserted.step_execution_id, inserted.execution_id, inserted.job_id, inserted.step_id, inserted.lifecycle,
    inserted.create_time, inserted.end_time
INTO @steps (step_execution_id, execution_id, job_id, step_id, lifecycle, create_time, end_time)
SELECT
    r.execution_id, r.job_id, r.job_version, v.step_id,
    CASE WHEN v.step_id = 1 THEN N'Succeeded' ELSE r.lifecycle END,
    0,
    DATEADD(SECOND, 10 * (v.step_id - 1), r.create_time),
    DATEADD(SECOND, 10 * (v.step_id - 1), r.create_time),
    DATEADD(SECOND, 10 * v.step_id, r.create_time),
    1,
    DATEADD(SECOND, 10 * (v.step_id - 1), r.create_time),
    DATEADD(SECOND, 10 * (v.step_id - 1) + 1, r.create_time),
    CONCAT(N'Step ', v.step_id, N' ended.')
FROM @runs AS r
CROSS JOIN (VALUES (1), (2)) AS v (step_id)
ORDER BY r.execution_id, v.step_id;

INSERT INTO jobs_internal.target_queues (execution_id, step_execution_id, job_id, step_id, server_name, elastic_pool_name)
SELECT
    s.execution_id, s.step_execution_id, s.job_id, s.step_id,
    CONCAT(N'server', s.execution_id % 9, N'.example.com'),
    CASE WHEN s.execution_id % 2 = 0 THEN CONCAT(N'pool', s.execution_id % 8) ELSE N'' END
FROM @steps AS s
ORDER BY s.step_execution_id;

INSERT INTO jobs_internal.target_executions (
    execution_id, step_execution_id, job_id, step_id, queue_id, ordinal, target_id, server_name, database_name, elastic_pool_name,
    lifecycle, is_active, create_time, start_time, end_time, attempts, attempt_start_time, deadline_at, last_message
)
OUTPUT inserted.target_execution_id, inserted.execution_id, inserted.step_execution_id, inserted.lifecycle, inserted.attempts,
    inserted.start_time, inserted.end_time
INTO @targets (target_execution_id, execution_id, step_execution_id, lifecycle, attempts, start_time, end_time)
SELECT
    s.execution_id, s.step_execution_id, s.job_id, s.step_id, q.queue_id, v.ordinal, NEWID(),
    CONCAT(N'server', s.execution_id % 9, N'.example.com'),
    CONCAT(N'customer', s.execution_id % 500 + v.ordinal),
    CASE WHEN s.execution_id % 2 = 0 THEN CONCAT(N'pool', s.execution_id % 8) END,
    CASE
        WHEN v.ordinal < 3 OR s.lifecycle = N'Succeeded' THEN N'Succeeded'
        WHEN s.lifecycle = N'SucceededWithSkipped' THEN N'Skipped'
        ELSE s.lifecycle
    END,
    0,
    DATEADD(SECOND, 1, s.create_time),
    DATEADD(SECOND, 2, s.create_time),
    DATEADD(SECOND, 8, s.create_time),
    CASE WHEN s.execution_id % 10 = v.ordinal THEN 2 ELSE 1 END,
    DATEADD(SECOND, 5, s.create_time),
    DATEADD(HOUR, 12, s.create_time),
    CONCAT(N'Step ', s.step_id, N' ended on target (server ''server', s.execution_id % 9, N'.example.com'', database ''customer', s.execution_id % 500 + v.ordinal, N''').')
FROM @steps AS s
INNER JOIN jobs_internal.target_queues AS q ON q.step_execution_id = s.step_execution_id
INNER JOIN (VALUES (1), (2), (3), (4)) AS v (ordinal) ON v.ordinal <= 5 - s.step_id
ORDER BY s.step_execution_id, v.ordinal;

INSERT INTO jobs_internal.task_executions (
    kind, execution_id, step_execution_id, attempt, term_id, claimed_at, ended_at, outcome, elapsed_ms
)
SELECT N'Resolve', s.execution_id, s.step_execution_id, 1, @term_id, s.create_time, DATEADD(SECOND, 1, s.create_time), N'Succeeded', 900
FROM @steps AS s
ORDER BY s.step_execution_id;

INSERT INTO jobs_internal.task_executions (
    kind, execution_id, step_execution_id, target_execution_id, attempt, term_id, claimed_at, ended_at, outcome, message,
    error_number, rows_affected, elapsed_ms, session_id
)
OUTPUT inserted.task_id, inserted.execution_id INTO @failed (task_id, execution_id)
SELECT
    N'Run', t.execution_id, t.step_execution_id, t.target_execution_id, v.attempt, @term_id, t.start_time, t.end_time,
    CASE
        WHEN v.attempt < t.attempts THEN N'Failed'
        WHEN t.lifecycle IN (N'Succeeded', N'TimedOut', N'Canceled', N'Failed') THEN t.lifecycle
        ELSE N'Returned'
    END,
    CASE WHEN v.attempt < t.attempts OR t.lifecycle = N'Failed' THEN N'Divide by zero error encountered.' END,
    CASE WHEN v.attempt < t.attempts OR t.lifecycle = N'Failed' THEN 8134 END,
    10, 3000, 60
FROM @targets AS t
INNER JOIN (VALUES (1), (2)) AS v (attempt) ON v.attempt <= t.attempts
ORDER BY t.target_execution_id, v.attempt;

INSERT INTO jobs_internal.task_messages (task_id, ordinal, execution_id, kind, number, severity, state, line, message)
SELECT k.task_id, 1, k.execution_id, N'Error', 8134, 16, 1, 1, k.message
FROM @failed AS f
INNER JOIN jobs_internal.task_executions AS k ON k.task_id = f.task_id
WHERE k.error_number IS NOT NULL;

COMMIT TRANSACTION;
