-- The limits on targets that run at once, with what uses each of them and what waits for it. It only reads. Its cost depends on what runs
-- and waits, not on the history.
--
-- Parameters:
--   @top  Maximum number of rows of the second list, 1 to 5000; values beyond that count as the nearest of these. NULL: 500.
-- Called by: members of the role jobs_reader.
-- Locks:     none.
-- Returns:   1: the limits, by scope and name: limit_id, scope, name, server_name, max_concurrent_targets, running, waiting, updated_at (as
--               in jobs.limits).
--            2: the objects that count under a limit, by the number of targets that wait: limit_id (NULL: max_parallelism of a step),
--               scope, description, job_name, max_concurrent_targets, used (running targets of all jobs that share this count), running
--               and waiting (targets of this job). is_full is 1 if no further target may start.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs.sp_get_limits
    @top INT = 500
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    SET @top = CASE WHEN @top > 5000 THEN 5000 WHEN @top < 1 THEN 1 ELSE COALESCE(@top, 500) END;
    -- Queues in which targets run, or wait and could start otherwise.
    DECLARE @queues TABLE (
        queue_id BIGINT NOT NULL PRIMARY KEY,
        job_id   UNIQUEIDENTIFIER NOT NULL,
        running  INT NOT NULL,
        waiting  INT NOT NULL
    );
    DECLARE @used TABLE (
        limit_key              NVARCHAR(450) NOT NULL,
        job_id                 UNIQUEIDENTIFIER NOT NULL,
        limit_id               INT NULL,
        scope                  NVARCHAR(20) NOT NULL,
        description            NVARCHAR(1000) NOT NULL,
        max_concurrent_targets INT NOT NULL,
        running                INT NOT NULL,
        waiting                INT NOT NULL
    );

    -- Plan: IX_task_executions_held once, and the queues' ranges of IX_target_executions_queue_id, which contain what waits.
    WITH busy AS (
        SELECT t.queue_id, 1 AS running, 0 AS waiting
        FROM jobs_internal.task_executions AS k
        INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
        WHERE k.ended_at IS NULL
            AND k.kind = N'Run'
        UNION ALL
        SELECT t.queue_id, 0, 1
        FROM jobs_internal.target_executions AS t
        WHERE t.next_attempt_at IS NOT NULL
            AND t.next_attempt_at <= @now
    ),
    summed AS (
        SELECT b.queue_id, SUM(b.running) AS running, SUM(b.waiting) AS waiting
        FROM busy AS b
        GROUP BY b.queue_id
    )
    INSERT INTO @queues (queue_id, job_id, running, waiting)
    SELECT q.queue_id, q.job_id, s.running, s.waiting
    FROM summed AS s
    INNER JOIN jobs_internal.target_queues AS q ON q.queue_id = s.queue_id;

    INSERT INTO @used (limit_key, job_id, limit_id, scope, description, max_concurrent_targets, running, waiting)
    SELECT
        v.limit_key, q.job_id, MIN(v.limit_id), MIN(v.scope), MIN(v.description), MIN(v.max_concurrent_targets),
        SUM(q.running), SUM(q.waiting)
    FROM @queues AS q
    INNER JOIN jobs_internal.queue_limits AS v ON v.queue_id = q.queue_id
    GROUP BY v.limit_key, q.job_id
    OPTION (RECOMPILE);
    -- The limit of scope Agent counts all targets, and is no limit of queues.
    INSERT INTO @used (limit_key, job_id, limit_id, scope, description, max_concurrent_targets, running, waiting)
    SELECT l.scope, q.job_id, l.limit_id, l.scope, N'capacity of the job agent', l.max_concurrent_targets, SUM(q.running), SUM(q.waiting)
    FROM @queues AS q
    CROSS JOIN jobs_internal.limits AS l
    WHERE l.scope = N'Agent'
    GROUP BY l.scope, q.job_id, l.limit_id, l.max_concurrent_targets
    OPTION (RECOMPILE);

    SELECT
        l.limit_id,
        l.scope,
        CAST(CASE WHEN l.job_id IS NULL THEN l.name ELSE j.name END AS NVARCHAR(256)) AS name,
        NULLIF(l.server_name, N'') AS server_name,
        l.max_concurrent_targets,
        COALESCE((SELECT SUM(u.running) FROM @used AS u WHERE u.limit_id = l.limit_id), 0) AS running,
        COALESCE((SELECT SUM(u.waiting) FROM @used AS u WHERE u.limit_id = l.limit_id), 0) AS waiting,
        l.updated_at
    FROM jobs_internal.limits AS l
    LEFT JOIN jobs_internal.jobs AS j ON j.job_id = l.job_id
    WHERE l.job_id IS NULL
        OR j.deleted_at IS NULL
    ORDER BY l.scope, name, server_name
    OPTION (RECOMPILE);

    WITH shared AS (
        SELECT u.limit_key, SUM(u.running) AS used
        FROM @used AS u
        GROUP BY u.limit_key
    )
    SELECT TOP (@top)
        u.limit_id,
        u.scope,
        CASE WHEN u.scope = N'Job' THEN CONCAT(N'limit of the job ''', j.name, N'''') ELSE u.description END AS description,
        j.name AS job_name,
        u.max_concurrent_targets,
        s.used,
        u.running,
        u.waiting,
        CAST(CASE WHEN s.used >= u.max_concurrent_targets THEN 1 ELSE 0 END AS BIT) AS is_full
    FROM @used AS u
    INNER JOIN shared AS s ON s.limit_key = u.limit_key
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = u.job_id
    ORDER BY u.waiting DESC, s.used DESC, u.limit_key, j.name
    OPTION (RECOMPILE);
    RETURN 0;
END;
