-- Deletes rows that nobody sees any more: executions that were given up for deletion, then deleted jobs without
-- executions. What an active rerun takes its targets from stays until that has ended. Each statement deletes at most @batch_size rows, so that no lock escalates.
--
-- Parameters:
--   @max_executions  Most runs to delete in this call.
--   @batch_size      Most rows that one statement deletes.
--   @deleted         Receives how many runs were deleted.
-- Called by: jobs.sp_delete_job, jobs.sp_purge_jobhistory, jobs_internal.purge_history, jobs_internal.advance.
-- Locks:     rows of one run after the other (X), children first.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.delete_leftovers
    @max_executions INT = 100,
    @batch_size     INT = 1000,
    @deleted        INT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @rows INT;
    DECLARE @gone TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @jobs TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY); -- that are deleted
    SET @deleted = 0;

    INSERT INTO @gone (execution_id)
    SELECT TOP (@max_executions) e.execution_id
    FROM jobs_internal.job_executions AS e
    WHERE e.purged_at IS NOT NULL
        AND e.is_active = 0
        AND NOT EXISTS (SELECT 1 FROM jobs_internal.job_executions AS r WHERE r.rerun_of = e.execution_id AND r.rerun_of IS NOT NULL AND r.is_active = 1)
    ORDER BY e.purged_at, e.execution_id;

    INSERT INTO @jobs (job_id)
    SELECT j.job_id
    FROM jobs_internal.jobs AS j
    WHERE j.deleted_at IS NOT NULL;

    IF EXISTS (SELECT 1 FROM @jobs)
        INSERT INTO @gone (execution_id)
        SELECT TOP (@max_executions) e.execution_id
        FROM @jobs AS g
        INNER JOIN jobs_internal.job_executions AS e ON e.job_id = g.job_id
        WHERE e.is_active = 0
            AND e.purged_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.job_executions AS r WHERE r.rerun_of = e.execution_id AND r.rerun_of IS NOT NULL AND r.is_active = 1)
        ORDER BY g.job_id, e.start_time;

    IF EXISTS (SELECT 1 FROM @gone)
    BEGIN
        SET @rows = 1;
        WHILE @rows > 0
        BEGIN
            DELETE TOP (@batch_size) m
            FROM @gone AS g
            INNER JOIN jobs_internal.task_messages AS m ON m.execution_id = g.execution_id;
            SET @rows = @@ROWCOUNT;
        END;
        SET @rows = 1;
        WHILE @rows > 0
        BEGIN
            DELETE TOP (@batch_size) k
            FROM @gone AS g
            INNER JOIN jobs_internal.task_executions AS k ON k.execution_id = g.execution_id;
            SET @rows = @@ROWCOUNT;
        END;
        SET @rows = 1;
        WHILE @rows > 0
        BEGIN
            DELETE TOP (@batch_size) t
            FROM @gone AS g
            INNER JOIN jobs_internal.target_executions AS t ON t.execution_id = g.execution_id;
            SET @rows = @@ROWCOUNT;
        END;
        DELETE q
        FROM @gone AS g
        INNER JOIN jobs_internal.target_queues AS q ON q.execution_id = g.execution_id;
        DELETE s
        FROM @gone AS g
        INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = g.execution_id;
        DELETE e
        FROM @gone AS g
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = g.execution_id;
        SET @deleted = @@ROWCOUNT;
    END;

    DELETE g
    FROM @jobs AS g
    WHERE EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.job_id = g.job_id);

    IF EXISTS (SELECT 1 FROM @jobs)
    BEGIN
        BEGIN TRANSACTION;
        DELETE s
        FROM @jobs AS g
        INNER JOIN jobs_internal.job_steps AS s ON s.job_id = g.job_id;
        DELETE c
        FROM @jobs AS g
        INNER JOIN jobs_internal.step_commands AS c ON c.job_id = g.job_id;
        DELETE j
        FROM @jobs AS g
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = g.job_id;
        COMMIT TRANSACTION;
    END;
    RETURN 0;
END;
