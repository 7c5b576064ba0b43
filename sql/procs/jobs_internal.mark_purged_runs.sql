-- Marks one batch of the runs that a purge of a job's history has hidden (history_purges), and deletes the purge when all of them are
-- marked. Each call is a transaction of its own. Inside a caller's transaction nothing is marked, because all batches would be one.
--
-- A run that another transaction holds keeps its batch: the next call for this purge marks the batch again.
--
-- Parameters:
--   @more  Receives 1 if another call may mark more, 0 if no run can be marked now.
-- Called by: jobs.sp_purge_jobhistory; jobs_internal.delete_leftovers.
-- Locks:     the row of a purge (U, X; READPAST), 1,000 runs (U, X; READPAST).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.mark_purged_runs
    @more BIT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @batch INT = 1000;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @rows INT;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @created_before DATETIME2(7);
    DECLARE @ended_before DATETIME2(7);
    DECLARE @purged_at DATETIME2(7);
    DECLARE @position_at DATETIME2(7);
    DECLARE @position_id UNIQUEIDENTIFIER;
    DECLARE @locked TABLE (
        job_id         UNIQUEIDENTIFIER NOT NULL,
        purge_id       BIGINT NOT NULL,
        created_before DATETIME2(7) NOT NULL,
        ended_before   DATETIME2(7) NOT NULL,
        purged_at      DATETIME2(7) NOT NULL,
        position_at    DATETIME2(7) NULL,
        position_id    UNIQUEIDENTIFIER NULL,
        PRIMARY KEY (job_id, purge_id)
    );
    DECLARE @runs TABLE (
        execution_id     BIGINT NOT NULL PRIMARY KEY,
        create_time      DATETIME2(7) NOT NULL,
        job_execution_id UNIQUEIDENTIFIER NOT NULL
    );

    SET @more = 0;
    IF @@TRANCOUNT > 0 OR NOT EXISTS (SELECT 1 FROM jobs_internal.history_purges AS h)
        RETURN 0;

    BEGIN TRANSACTION;
    -- There is one key only, and no session waits for it.
    INSERT INTO @locked (job_id, purge_id, created_before, ended_before, purged_at, position_at, position_id)
    SELECT TOP (1) h.job_id, h.purge_id, h.created_before, h.ended_before, h.purged_at, h.position_at, h.position_id
    FROM jobs_internal.history_purges AS h WITH (UPDLOCK, READPAST, ROWLOCK)
    ORDER BY h.marked_at, h.purge_id;
    SELECT
        @job_id = l.job_id,
        @created_before = l.created_before,
        @ended_before = l.ended_before,
        @purged_at = l.purged_at,
        @position_at = l.position_at,
        @position_id = l.position_id
    FROM @locked AS l;
    IF @job_id IS NULL
    BEGIN
        COMMIT TRANSACTION;
        RETURN 0;
    END;

    -- Plan: a range of IX_job_executions_job_id_create_time, one batch of keys.
    INSERT INTO @runs (execution_id, create_time, job_execution_id)
    SELECT TOP (@batch) e.execution_id, e.create_time, e.job_execution_id
    FROM jobs_internal.job_executions AS e
    WHERE e.job_id = @job_id
        AND e.create_time < @created_before
        AND e.create_time <= COALESCE(@position_at, @created_before)
        AND NOT (@position_id IS NOT NULL AND e.create_time = @position_at AND e.job_execution_id <= @position_id)
    ORDER BY e.create_time DESC, e.job_execution_id;
    SET @rows = @@ROWCOUNT;
    UPDATE e
    SET e.purged_at = @purged_at
    FROM @runs AS r
    INNER LOOP JOIN jobs_internal.job_executions AS e WITH (UPDLOCK, READPAST, ROWLOCK) ON e.execution_id = r.execution_id
    WHERE e.is_active = 0
        AND e.purged_at IS NULL
        AND e.end_time <= @ended_before;

    IF EXISTS (
        SELECT 1
        FROM @runs AS r
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = r.execution_id
        WHERE e.is_active = 0
            AND e.purged_at IS NULL
            AND e.end_time <= @ended_before
    )
        -- Another purge may be served meanwhile.
        UPDATE h
        SET h.marked_at = @now
        FROM @locked AS l
        INNER LOOP JOIN jobs_internal.history_purges AS h ON h.job_id = l.job_id AND h.purge_id = l.purge_id;
    ELSE IF @rows < @batch
    BEGIN
        DELETE h
        FROM @locked AS l
        INNER LOOP JOIN jobs_internal.history_purges AS h ON h.job_id = l.job_id AND h.purge_id = l.purge_id;
        SET @more = 1;
    END
    ELSE
    BEGIN
        SELECT TOP (1)
            @position_at = r.create_time,
            @position_id = r.job_execution_id
        FROM @runs AS r
        ORDER BY r.create_time, r.job_execution_id DESC;
        UPDATE h
        SET h.marked_at = @now,
            h.position_at = @position_at,
            h.position_id = @position_id
        FROM @locked AS l
        INNER LOOP JOIN jobs_internal.history_purges AS h ON h.job_id = l.job_id AND h.purge_id = l.purge_id;
        SET @more = 1;
    END;
    COMMIT TRANSACTION;
    RETURN 0;
END;
