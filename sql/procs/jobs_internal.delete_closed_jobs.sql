-- Deletes jobs of job collections that have been Completed or Faulted for long, with their history.
--
-- Parameters:
--   @closed_before  Jobs whose schedule was closed before this time are deleted.
--   @remaining      Receives 1 if a full batch of 100 jobs was deleted.
-- Called by: jobs_internal.purge_history.
-- Locks:     jobs (U, X) and their schedules (U), skipping locked rows; rows of scheduler_jobs (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.delete_closed_jobs
    @closed_before DATETIME2(7),
    @remaining     BIT = NULL OUTPUT,
    @now           DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @wanted TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @locked TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, current_version INT NOT NULL);
    DECLARE @schedules TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @deleted TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY, job_id UNIQUEIDENTIFIER NOT NULL, revision INT NOT NULL);

    SET @remaining = 0;
    -- Plan: IX_schedules_closed_at, which has only schedules that are closed.
    INSERT INTO @wanted (job_id)
    SELECT TOP (100) d.job_id
    FROM jobs_internal.schedules AS s
    INNER JOIN jobs_internal.scheduler_jobs AS d ON d.job_id = s.job_id
    WHERE s.closed_at < @closed_before
        AND s.name = N'scheduler'
        AND NOT EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.job_id = d.job_id AND e.is_active = 1)
    ORDER BY s.closed_at;
    IF NOT EXISTS (SELECT 1 FROM @wanted)
        RETURN 0;

    BEGIN TRANSACTION;
    -- Jobs before schedules, and each in the order of its key; current_version and revision are in no index, so that the locks are on
    -- the clustered keys. A start locks the job, so the checks hold.
    INSERT INTO @locked (job_id, current_version)
    SELECT j.job_id, j.current_version
    FROM @wanted AS w
    INNER LOOP JOIN jobs_internal.jobs AS j WITH (UPDLOCK, READPAST, ROWLOCK) ON j.job_id = w.job_id
    WHERE j.deleted_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.job_id = j.job_id AND e.is_active = 1);
    INSERT INTO @schedules (schedule_id)
    SELECT s.schedule_id
    FROM @locked AS l
    INNER JOIN jobs_internal.schedules AS s ON s.job_id = l.job_id
    WHERE s.name = N'scheduler';
    INSERT INTO @deleted (schedule_id, job_id, revision)
    SELECT s.schedule_id, s.job_id, s.revision
    FROM @schedules AS w
    INNER LOOP JOIN jobs_internal.schedules AS s WITH (UPDLOCK, READPAST, ROWLOCK) ON s.schedule_id = w.schedule_id
    WHERE s.closed_at < @closed_before
        AND s.awaits_verdict = 0;
    UPDATE j
    SET j.deleted_at = @now
    FROM @locked AS l
    INNER LOOP JOIN jobs_internal.jobs AS j ON j.job_id = l.job_id
    WHERE j.job_id IN (SELECT d.job_id FROM @deleted AS d);
    IF @@ROWCOUNT = 100
        SET @remaining = 1;
    DELETE s
    FROM @locked AS l
    INNER LOOP JOIN jobs_internal.scheduler_jobs AS s ON s.job_id = l.job_id
    WHERE s.job_id IN (SELECT d.job_id FROM @deleted AS d);
    COMMIT TRANSACTION;
    RETURN 0;
END;
