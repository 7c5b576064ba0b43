-- Switches a job of the SAP surface on or off by T-SQL: its schedules follow (S-46).
--
-- Parameters:
--   @job_id   The job; the caller has locked it.
--   @enabled  1: its schedules make runs. NULL: nothing changes.
--   @now      Time of the change.
-- Called by: jobs_internal.store_job, within its transaction.
-- Locks:     the job (X), its schedules (U, X); an insert into rest_action_log.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.enable_rest_job
    @job_id  UNIQUEIDENTIFIER,
    @enabled BIT,
    @now     DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @job INT = (SELECT r.rest_job_id FROM jobs_internal.rest_jobs AS r WHERE r.job_id = @job_id AND r.active <> @enabled);
    DECLARE @log NVARCHAR(40) = CASE WHEN @enabled = 1 THEN N'ACTIVATE' ELSE N'DEACTIVATE' END;
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);

    IF @job IS NULL
        RETURN 0;
    EXECUTE jobs_internal.raise_revision @job_id = @job_id;
    EXECUTE jobs_internal.read_rest_switches @job = @job;
    UPDATE r
    SET r.active = @enabled,
        r.updated_at = @now
    FROM jobs_internal.rest_jobs AS r
    WHERE r.rest_job_id = @job;
    EXECUTE jobs_internal.apply_rest_job @job = @job, @job_id = @job_id, @now = @now;
    EXECUTE jobs_internal.log_rest_action @job = @job, @action = @log, @by = @by, @text = N'by T-SQL', @now = @now;
    RETURN 0;
END;
