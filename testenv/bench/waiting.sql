-- Adds runs that wait for callbacks, as agents leave them: each with one action on its endpoint, which was accepted.
--
-- Parameters:
--   @first     Number of the first run, from 0.
--   @count     Number of runs, at most 1000.
--   @job       Name of the job; it has one step.
--   @term_id   Term that held the tasks.
--   @deadline  Seconds from now to the deadlines.
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
DECLARE @runs TABLE (
    execution_id BIGINT NOT NULL PRIMARY KEY,
    job_id       UNIQUEIDENTIFIER NOT NULL,
    job_version  INT NOT NULL
);
DECLARE @steps TABLE (
    step_execution_id BIGINT NOT NULL PRIMARY KEY,
    execution_id      BIGINT NOT NULL,
    job_id            UNIQUEIDENTIFIER NOT NULL
);
DECLARE @queues TABLE (
    queue_id          BIGINT NOT NULL PRIMARY KEY,
    step_execution_id BIGINT NOT NULL,
    execution_id      BIGINT NOT NULL,
    job_id            UNIQUEIDENTIFIER NOT NULL
);
DECLARE @targets TABLE (
    target_execution_id BIGINT NOT NULL PRIMARY KEY,
    execution_id        BIGINT NOT NULL,
    step_execution_id   BIGINT NOT NULL
);
DECLARE @tasks TABLE (
    task_id             BIGINT NOT NULL PRIMARY KEY,
    target_execution_id BIGINT NOT NULL,
    execution_id        BIGINT NOT NULL
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
)
INSERT INTO jobs_internal.job_executions (
    job_execution_id, job_id, job_version, lifecycle, is_active, create_time, start_time, allow_overlap, parked
)
OUTPUT inserted.execution_id, inserted.job_id, inserted.job_version INTO @runs (execution_id, job_id, job_version)
SELECT NEWID(), j.job_id, j.current_version, N'WaitingForChildJobExecutions', 1, @now, @now, 1, 1
FROM numbers AS n
INNER JOIN jobs_internal.jobs AS j ON j.name = @job AND j.deleted_at IS NULL;
INSERT INTO jobs_internal.step_executions (
    execution_id, job_id, job_version, step_id, lifecycle, is_active, create_time, start_time, attempts, attempt_start_time,
    resolved_at, parked
)
OUTPUT inserted.step_execution_id, inserted.execution_id, inserted.job_id INTO @steps (step_execution_id, execution_id, job_id)
SELECT r.execution_id, r.job_id, r.job_version, 1, N'WaitingForChildJobExecutions', 1, @now, @now, 1, @now, @now, 1
FROM @runs AS r;
INSERT INTO jobs_internal.target_queues (execution_id, step_execution_id, job_id, step_id, server_name, elastic_pool_name)
OUTPUT inserted.queue_id, inserted.step_execution_id, inserted.execution_id, inserted.job_id
INTO @queues (queue_id, step_execution_id, execution_id, job_id)
SELECT s.execution_id, s.step_execution_id, s.job_id, 1, N'endpoint.invalid', N''
FROM @steps AS s;
INSERT INTO jobs_internal.target_executions (
    execution_id, step_execution_id, job_id, step_id, queue_id, ordinal, target_id, server_name, database_name, lifecycle, is_active,
    create_time, start_time, attempts, attempt_start_time, deadline_at, is_endpoint
)
OUTPUT inserted.target_execution_id, inserted.execution_id, inserted.step_execution_id
INTO @targets (target_execution_id, execution_id, step_execution_id)
SELECT
    q.execution_id, q.step_execution_id, q.job_id, 1, q.queue_id, 1, NEWID(), N'endpoint.invalid', N'', N'WaitingForCallback', 1,
    @now, @now, 1, @now, DATEADD(DAY, 30, @now), 1
FROM @queues AS q;
INSERT INTO jobs_internal.task_executions (
    kind, execution_id, step_execution_id, target_execution_id, attempt, term_id, claimed_at, ended_at, outcome, send_began_at
)
OUTPUT inserted.task_id, inserted.target_execution_id, inserted.execution_id INTO @tasks (task_id, target_execution_id, execution_id)
SELECT N'Run', t.execution_id, t.step_execution_id, t.target_execution_id, 1, @term_id, @now, @now, N'Accepted', @now
FROM @targets AS t;
INSERT INTO jobs_internal.callbacks (
    target_execution_id, attempt, execution_id, task_id, token_hash, acked, opened_at, deadline_at
)
SELECT
    k.target_execution_id, 1, k.execution_id, k.task_id, HASHBYTES('SHA2_256', CAST(k.task_id AS NVARCHAR(20))), 1, @now,
    DATEADD(MILLISECOND, k.task_id % 1000, DATEADD(SECOND, @deadline, @now))
FROM @tasks AS k;
COMMIT TRANSACTION;
