-- Lists the latest 200 entries of the action log of a job of the SAP surface, newest first (S-27).
--
-- Parameters:
--   @tenant    The tenant; NULL: the provider.
--   @job       The job's _id.
--   @schedule  The schedule's id: only entries about it; NULL: all entries of the job.
-- Called by: members of the role jobs_reader.
-- Locks:     nothing.
-- Returns:   1: one row: total.
--            2: the entries: at, action, by_user, job_id, schedule_id, text.
-- Throws:
--   50097 a text is longer than its limit.
--   50172 the job does not exist in the tenant.
CREATE OR ALTER PROCEDURE jobs_rest.list_actions
    @tenant   NVARCHAR(129),
    @job      BIGINT,
    @schedule UNIQUEIDENTIFIER = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @job_id UNIQUEIDENTIFIER;

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;

    EXECUTE jobs_internal.find_rest_job @tenant = @tenant, @job = @job, @job_id = @job_id OUTPUT;
    SELECT COUNT(*) AS total
    FROM jobs_internal.rest_action_log AS a
    WHERE a.rest_job_id = @job
        AND (@schedule IS NULL OR a.rest_schedule_id = @schedule); -- plan: the job's range of IX_rest_action_log_rest_job_id
    SELECT TOP (200) a.at, a.action, a.by_user, a.rest_job_id AS job_id, a.rest_schedule_id AS schedule_id, a.text
    FROM jobs_internal.rest_action_log AS a
    WHERE a.rest_job_id = @job
        AND (@schedule IS NULL OR a.rest_schedule_id = @schedule) -- plan: the job's range of IX_rest_action_log_rest_job_id
    ORDER BY a.log_id DESC;
    RETURN 0;
END;
