-- Deletes a job with its steps, schedules and history. Its name can be used again at once. With @force = 1, active
-- executions are canceled; their agents notice on the next pass. The remaining rows are deleted in small batches.
--
-- Parameters:
--   @job_name  Name of the job.
--   @force     1: cancel active executions. 0: fail if there are any.
--   @if_match  The job's revision must be this one; NULL: any.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U, X), its schedules (U, X), their rows in schedule_buffer (X), its active executions (X); an
--            insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
--   50102 the job has active executions.
--   50141 the job has a trigger, or one of another job watches it.
--   50169 the job belongs to a job collection.
--   50180 the job belongs to the SAP surface, which alone may change it.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs.sp_delete_job
    @job_name NVARCHAR(129) = NULL,
    @force    BIT = 0,
    @if_match BIGINT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @locked INT;
    DECLARE @object NVARCHAR(400) = CONCAT(N'The job ''', @job_name, N'''');
    DECLARE @revision BIGINT;
    DECLARE @schedules TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @runs TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @revision_before BIGINT;

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_job @job_name = @job_name, @job_id = @job_id OUTPUT, @revision = @revision OUTPUT;
    EXECUTE jobs_internal.refuse_rest_job @job_id = @job_id, @job_name = @job_name;
    EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;
    EXECUTE jobs_internal.state_of_job @job_id = @job_id, @state = @audit_before OUTPUT, @revision = @revision_before OUTPUT;

    IF COALESCE(@force, 0) = 0
        AND EXISTS (
            SELECT 1
            FROM jobs_internal.job_executions AS e
            WHERE e.job_id = @job_id
                AND e.is_active = 1
        )
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job ''', @job_name,
            N''' has active executions. Wait for them, stop them with jobs.sp_stop_job, or delete with @force = 1.'
        ), N'%', N'%%');
        THROW 50102, @message, 1;
    END;

    SELECT TOP (1) @message = REPLACE(CONCAT(
        N'The job ''', @job_name, N''' cannot be deleted: the trigger ''', t.name, N''' of the job ''', j.name,
        N''' starts or watches it. Delete it with jobs.sp_delete_job_trigger first.'
    ), N'%', N'%%')
    FROM jobs_internal.job_triggers AS t
    INNER JOIN jobs_internal.job_trigger_upstreams AS u ON u.trigger_id = t.trigger_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = t.job_id
    WHERE u.upstream_job_id = @job_id
        OR t.job_id = @job_id
    ORDER BY j.name, t.name;
    IF @message IS NOT NULL
        THROW 50141, @message, 1;

    UPDATE j
    SET j.deleted_at = @now
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id;

    -- The schedules' rows are locked in the order of their keys; revision is in no index, so that the locks are on the clustered ones.
    INSERT INTO @schedules (schedule_id)
    SELECT s.schedule_id
    FROM jobs_internal.schedules AS s
    WHERE s.job_id = @job_id;
    SELECT @locked = COUNT(s.revision)
    FROM @schedules AS w
    INNER LOOP JOIN jobs_internal.schedules AS s WITH (UPDLOCK, ROWLOCK) ON s.schedule_id = w.schedule_id;

    UPDATE s
    SET s.enabled = 0,
        s.state = N'Disabled',
        s.reason = N'The job was deleted.',
        s.next_due_at = NULL,
        s.next_fire_at = NULL,
        s.awaits_verdict = 0,
        s.recheck_at = NULL,
        s.buffered = 0,
        s.updated_at = @now
    FROM @schedules AS w
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = w.schedule_id;
    -- rows: the waiting instants of the schedules of one job
    DELETE b
    FROM jobs_internal.schedules AS s
    INNER LOOP JOIN jobs_internal.schedule_buffer AS b ON b.schedule_id = s.schedule_id
    WHERE s.job_id = @job_id;
    UPDATE f
    SET f.state = N'Canceled',
        f.reason = N'The job was deleted.',
        f.next_at = NULL,
        f.ended_at = @now
    FROM jobs_internal.schedules AS s
    INNER LOOP JOIN jobs_internal.schedule_backfills AS f ON f.schedule_id = s.schedule_id
    WHERE s.job_id = @job_id
        AND f.state = N'Open';

    -- The list is read first, and the runs are then locked by their clustered keys, as passes lock them: found by
    -- IX_job_executions_active_job_id, a run that a pass is ending would be locked in the opposite order. The read waits for a run of a
    -- roll-out that a pass has added and not committed.
    INSERT INTO @runs (execution_id)
    SELECT e.execution_id
    FROM jobs_internal.job_executions AS e WITH (READCOMMITTEDLOCK)
    WHERE e.job_id = @job_id
        AND e.is_active = 1;
    UPDATE e
    SET e.stop_requested_at = COALESCE(e.stop_requested_at, @now),
        e.stop_requested_by = COALESCE(e.stop_requested_by, @by),
        e.drains = 0,
        e.parked = 0
    FROM @runs AS r
    INNER LOOP JOIN jobs_internal.job_executions AS e ON e.execution_id = r.execution_id
    WHERE e.is_active = 1;

    EXECUTE jobs_internal.audit
        @action = N'sp_delete_job',
        @object_kind = N'Job',
        @object_id = @job_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @before = @audit_before,
        @revision_before = @revision_before,
        @now = @now;

    COMMIT TRANSACTION;

    -- A short history is deleted at once. Agents delete the rest, and everything if the caller has a transaction.
    EXECUTE jobs_internal.delete_leftovers @max_rows = 2000;
    RETURN 0;
END;
