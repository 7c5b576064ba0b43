-- Deletes rows that nobody sees any more: executions that were given up for deletion, then deleted jobs without executions. What an
-- active rerun takes its targets from stays until that has ended.
--
-- Each batch is a transaction of its own, so that it holds few locks for a short time, and what it deletes can be cleaned up before
-- the next one. Each takes the application lock jobagent.cleanup, for which nobody waits: whoever does not get it leaves the rest to the
-- one who has it. Only agents and owners of the database may take it, so that nobody else can keep them from deleting: for all others
-- nothing is deleted here, and agents do it. Within a transaction of the caller's nothing is deleted, since all batches would be one then.
--
-- Parameters:
--   @max_rows    About how many rows to delete in this call.
--   @batch_size  Most rows that one statement deletes: fewer than the 5,000 locks at which SQL Server turns to locking the table
--                (https://learn.microsoft.com/sql/relational-databases/sql-server-transaction-locking-and-row-versioning-guide).
--   @deleted     Receives how many rows were deleted.
--   @remaining   Receives 1 if rows may be left, 0 if there are none that can be deleted now.
-- Called by: agent/cleaner.go when jobs_internal.controller_pass says so; jobs.sp_delete_job, jobs.sp_purge_jobhistory,
--            jobs_internal.purge_history.
-- Locks:     rows of one run after the other (X), children first.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.delete_leftovers
    @max_rows   INT = 20000,
    @batch_size INT = 1000,
    @deleted    INT = NULL OUTPUT,
    @remaining  BIT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @lock INT;
    DECLARE @rows INT;
    DECLARE @execution_id BIGINT; -- whose rows are being deleted
    DECLARE @job_id UNIQUEIDENTIFIER;

    SET @deleted = 0;
    SET @remaining = 1;
    IF @@TRANCOUNT > 0
        RETURN 0;
    IF COALESCE(IS_ROLEMEMBER(N'jobs_agent'), 0) = 0 AND COALESCE(IS_ROLEMEMBER(N'db_owner'), 0) = 0
        RETURN 0;

    WHILE @remaining = 1 AND @deleted < @max_rows
    BEGIN
        BEGIN TRANSACTION;
        EXECUTE @lock = sp_getapplock
            @Resource = N'jobagent.cleanup',
            @LockMode = N'Exclusive',
            @LockOwner = N'Transaction',
            @LockTimeout = 0,
            @DbPrincipal = N'jobs_agent';
        IF @lock < 0
        BEGIN
            COMMIT TRANSACTION;
            RETURN 0;
        END;

        IF @execution_id IS NULL
            SET @execution_id = (
                SELECT TOP (1) e.execution_id
                FROM jobs_internal.job_executions AS e
                WHERE e.purged_at IS NOT NULL
                    AND e.is_active = 0
                    AND NOT EXISTS (
                        SELECT 1
                        FROM jobs_internal.job_executions AS r
                        WHERE r.rerun_of = e.execution_id
                            AND r.rerun_of IS NOT NULL
                            AND r.is_active = 1
                    )
                ORDER BY e.purged_at, e.execution_id
            );
        IF @execution_id IS NULL
            SET @execution_id = (
                SELECT TOP (1) e.execution_id
                FROM jobs_internal.jobs AS j
                INNER JOIN jobs_internal.job_executions AS e ON e.job_id = j.job_id
                WHERE j.deleted_at IS NOT NULL
                    AND e.is_active = 0
                    AND NOT EXISTS (
                        SELECT 1
                        FROM jobs_internal.job_executions AS r
                        WHERE r.rerun_of = e.execution_id
                            AND r.rerun_of IS NOT NULL
                            AND r.is_active = 1
                    )
            );

        IF @execution_id IS NOT NULL
        BEGIN
            DELETE TOP (@batch_size) m
            FROM jobs_internal.task_messages AS m
            WHERE m.execution_id = @execution_id;
            SET @rows = @@ROWCOUNT;
            IF @rows = 0
            BEGIN
                DELETE TOP (@batch_size) k
                FROM jobs_internal.task_executions AS k
                WHERE k.execution_id = @execution_id;
                SET @rows = @@ROWCOUNT;
            END;
            IF @rows = 0
            BEGIN
                DELETE TOP (@batch_size) t
                FROM jobs_internal.target_executions AS t
                WHERE t.execution_id = @execution_id;
                SET @rows = @@ROWCOUNT;
            END;
            IF @rows = 0
            BEGIN
                DELETE TOP (@batch_size) q
                FROM jobs_internal.target_queues AS q
                WHERE q.execution_id = @execution_id;
                SET @rows = @@ROWCOUNT;
            END;
            IF @rows = 0
            BEGIN
                DELETE s
                FROM jobs_internal.step_executions AS s
                WHERE s.execution_id = @execution_id;
                SET @rows = @@ROWCOUNT;
                DELETE e
                FROM jobs_internal.job_executions AS e
                WHERE e.execution_id = @execution_id;
                SET @rows = @rows + 1;
                SET @execution_id = NULL;
            END;
        END
        ELSE
        BEGIN
            -- Versions, schedules and limits go with the job.
            SET @job_id = (
                SELECT TOP (1) j.job_id
                FROM jobs_internal.jobs AS j
                WHERE j.deleted_at IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.job_id = j.job_id)
            );
            SET @rows = 0;
            IF @job_id IS NOT NULL
            BEGIN
                DELETE s
                FROM jobs_internal.job_steps AS s
                WHERE s.job_id = @job_id;
                SET @rows = @rows + @@ROWCOUNT;
                DELETE c
                FROM jobs_internal.step_commands AS c
                WHERE c.job_id = @job_id;
                SET @rows = @rows + @@ROWCOUNT;
                DELETE j
                FROM jobs_internal.jobs AS j
                WHERE j.job_id = @job_id;
                SET @rows = @rows + 1;
            END;
            SET @remaining = CASE WHEN @job_id IS NULL THEN 0 ELSE 1 END;
        END;
        COMMIT TRANSACTION;
        SET @deleted = @deleted + @rows;
    END;
    RETURN 0;
END;
