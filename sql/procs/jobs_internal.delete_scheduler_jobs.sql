-- Deletes jobs of a job collection, with their history; their active runs are canceled.
--
-- Parameters:
--   @collection_id  The collection; the caller has locked its row.
--   @job_id         The job; NULL: all jobs of the collection.
-- Called by: jobs.sp_delete_job_collection, jobs.sp_delete_scheduler_job, within their transactions.
-- Locks:     rows of jobs (U, X), of schedules (U, X), of schedule_buffer (X), active executions (X), rows of scheduler_jobs (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.delete_scheduler_jobs
    @collection_id UNIQUEIDENTIFIER,
    @job_id        UNIQUEIDENTIFIER = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @locked INT;
    DECLARE @jobs TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @schedules TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @runs TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @caller NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);

    -- Jobs before schedules, and each in the order of its key; current_version and revision are in no index, so that the locks are on
    -- the clustered keys.
    -- plan: the jobs of one collection
    INSERT INTO @jobs (job_id)
    SELECT s.job_id
    FROM jobs_internal.scheduler_jobs AS s
    WHERE s.collection_id = @collection_id
        AND (@job_id IS NULL OR s.job_id = @job_id);
    SELECT @locked = COUNT(j.current_version)
    FROM @jobs AS w
    INNER LOOP JOIN jobs_internal.jobs AS j WITH (UPDLOCK, ROWLOCK) ON j.job_id = w.job_id;
    UPDATE j
    SET j.deleted_at = @now
    FROM @jobs AS w
    INNER LOOP JOIN jobs_internal.jobs AS j ON j.job_id = w.job_id
    WHERE j.deleted_at IS NULL;
    DELETE s
    FROM @jobs AS w
    INNER LOOP JOIN jobs_internal.scheduler_jobs AS s ON s.job_id = w.job_id;

    INSERT INTO @schedules (schedule_id)
    SELECT s.schedule_id
    FROM @jobs AS w
    INNER JOIN jobs_internal.schedules AS s ON s.job_id = w.job_id;
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
    DELETE b
    FROM @schedules AS w
    INNER LOOP JOIN jobs_internal.schedule_buffer AS b ON b.schedule_id = w.schedule_id;
    UPDATE f
    SET f.state = N'Canceled',
        f.reason = N'The job was deleted.',
        f.next_at = NULL,
        f.ended_at = @now
    FROM @schedules AS w
    INNER LOOP JOIN jobs_internal.schedule_backfills AS f ON f.schedule_id = w.schedule_id
    WHERE f.state = N'Open';

    INSERT INTO @runs (execution_id)
    SELECT e.execution_id
    FROM @jobs AS w
    INNER JOIN jobs_internal.job_executions AS e ON e.job_id = w.job_id
    WHERE e.is_active = 1;
    UPDATE e
    SET e.stop_requested_at = COALESCE(e.stop_requested_at, @now),
        e.stop_requested_by = COALESCE(e.stop_requested_by, @caller),
        e.parked = 0
    FROM @runs AS r
    INNER LOOP JOIN jobs_internal.job_executions AS e ON e.execution_id = r.execution_id
    WHERE e.is_active = 1;
    RETURN 0;
END;
