-- Adds an entry to the action log of the SAP surface.
--
-- Parameters:
--   @job       The job's _id.
--   @schedule  Public id of the schedule; NULL: the entry is about the job.
--   @action    See jobs_internal.rest_action_log.
--   @by        Who did it.
--   @text      What was done.
--   @now       When.
-- Called by: the procedures of jobs_rest that change something, within their transactions.
-- Locks:     an insert into rest_action_log.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.log_rest_action
    @job      INT,
    @schedule UNIQUEIDENTIFIER = NULL,
    @action   NVARCHAR(40),
    @by       NVARCHAR(128) = NULL,
    @text     NVARCHAR(1000) = NULL,
    @now      DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    INSERT INTO jobs_internal.rest_action_log (rest_job_id, rest_schedule_id, at, action, by_user, text)
    VALUES (@job, @schedule, @now, @action, @by, @text);
    RETURN 0;
END;
