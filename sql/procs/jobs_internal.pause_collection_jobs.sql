-- Pauses the schedules of a job collection's jobs with the note collection, or resumes those that were paused so. Schedules that were
-- paused before, and those that are Completed or Faulted, are left alone.
--
-- Parameters:
--   @collection_id  The collection; the caller has locked its row.
--   @paused         1: pause. 0: resume.
-- Called by: jobs.sp_set_job_collection, jobs.sp_enable_job_collection, within their transactions.
-- Locks:     rows of jobs (U), of schedules (U, X), and of schedule_buffer (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.pause_collection_jobs
    @collection_id UNIQUEIDENTIFIER,
    @paused        BIT,
    @now           DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @caller NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @schedule_id BIGINT;
    DECLARE @jobs TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @locked_jobs TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, current_version INT NOT NULL);
    DECLARE @schedules TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked_schedules TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY, revision INT NOT NULL);
    DECLARE @changed TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY);

    -- Jobs before schedules, and each in the order of its key; current_version and revision are in no index, so that the locks are on
    -- the clustered keys.
    INSERT INTO @jobs (job_id)
    SELECT s.job_id
    FROM jobs_internal.scheduler_jobs AS s
    WHERE s.collection_id = @collection_id;
    INSERT INTO @locked_jobs (job_id, current_version)
    SELECT j.job_id, j.current_version
    FROM @jobs AS w
    INNER LOOP JOIN jobs_internal.jobs AS j WITH (UPDLOCK, ROWLOCK) ON j.job_id = w.job_id;
    INSERT INTO @schedules (schedule_id)
    SELECT s.schedule_id
    FROM @locked_jobs AS l
    INNER JOIN jobs_internal.schedules AS s ON s.job_id = l.job_id
    WHERE s.name = N'scheduler';
    INSERT INTO @locked_schedules (schedule_id, revision)
    SELECT s.schedule_id, s.revision
    FROM @schedules AS w
    INNER LOOP JOIN jobs_internal.schedules AS s WITH (UPDLOCK, ROWLOCK) ON s.schedule_id = w.schedule_id;

    UPDATE s
    SET s.paused = @paused,
        s.paused_by = @caller,
        s.paused_at = @now,
        s.pause_note = N'collection',
        s.next_due_at = NULL,
        s.next_fire_at = NULL
    OUTPUT inserted.schedule_id INTO @changed (schedule_id)
    FROM @locked_schedules AS l
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = l.schedule_id
    WHERE s.paused <> @paused
        AND (@paused = 1 OR s.pause_note = N'collection') -- plan: few rows, found by schedule_id
        AND s.state IN (N'Enabled', N'Disabled');

    SET @schedule_id = (SELECT MIN(c.schedule_id) FROM @changed AS c);
    WHILE @schedule_id IS NOT NULL
    BEGIN
        EXECUTE jobs_internal.activate_schedule @schedule_id = @schedule_id, @cause = N'Paused', @now = @now;
        SET @schedule_id = (SELECT MIN(c.schedule_id) FROM @changed AS c WHERE c.schedule_id > @schedule_id);
    END;
    RETURN 0;
END;
