-- Finds a schedule by job name and schedule name, and locks both rows until the caller's transaction ends.
--
-- Parameters:
--   @job_name       Name of the job.
--   @schedule_name  Name of the schedule; N'' is the schedule of jobs.sp_add_job.
--   @job_id         Receives the job's id.
--   @schedule_id    Receives the schedule's id.
-- Called by: the public procedures that change schedules, within their transactions.
-- Locks:     one row of jobs (U), one row of schedules (U).
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50046 the schedule name is NULL.
--   50100 the job does not exist.
--   50125 the schedule does not exist.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs_internal.lock_schedule
    @job_name      NVARCHAR(128),
    @schedule_name NVARCHAR(128),
    @job_id        UNIQUEIDENTIFIER OUTPUT,
    @schedule_id   BIGINT OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @revision INT;

    EXECUTE jobs_internal.lock_job @job_name = @job_name, @job_id = @job_id OUTPUT;
    IF @schedule_name IS NULL
        THROW 50046, N'Missing schedule name: @schedule_name is NULL. N'''' is the name of the schedule of the job''s own definition.', 1;

    SET @schedule_id = NULL;
    -- revision is in no index, so that the lock is on the clustered key, where firings and passes look for it.
    SELECT
        @schedule_id = s.schedule_id,
        @revision = s.revision
    FROM jobs_internal.schedules AS s WITH (UPDLOCK, HOLDLOCK)
    WHERE s.job_id = @job_id
        AND s.name = @schedule_name;
    IF @schedule_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job ''', @job_name, N''' has no schedule named ''', @schedule_name, N'''. The view jobs.schedules lists all schedules.'
        ), N'%', N'%%');
        THROW 50125, @message, 1;
    END;
    RETURN 0;
END;
