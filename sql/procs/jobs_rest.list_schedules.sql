-- Lists the schedules of a job of the SAP surface (E9), or reads one of them (E10).
--
-- Parameters:
--   @tenant    The tenant; NULL: the provider.
--   @job       The job's _id.
--   @schedule  The schedule's id; NULL: all schedules.
--   @offset    Number of schedules to leave out.
--   @size      Maximum number of schedules; NULL: all.
-- Called by: members of the role jobs_reader.
-- Locks:     nothing.
-- Returns:   1: one row: total, the number of schedules of all pages.
--            2: the schedules, with the columns of jobs_internal.rest_schedule_details; schedule_id is the public id.
-- Throws:
--   50090 an argument is missing or out of range.
--   50097 a text is longer than its limit.
--   50172 the job does not exist in the tenant.
--   50173 the job has no such schedule.
CREATE OR ALTER PROCEDURE jobs_rest.list_schedules
    @tenant   NVARCHAR(129),
    @job      BIGINT,
    @schedule UNIQUEIDENTIFIER = NULL,
    @offset   INT = 0,
    @size     INT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @schedule_id BIGINT;

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;

    IF @offset < 0 OR @size < 1 OR @offset IS NULL
        THROW 50090, N'Invalid page: want @offset of at least 0, and @size of at least 1.', 1;
    EXECUTE jobs_internal.find_rest_job @tenant = @tenant, @job = @job, @job_id = @job_id OUTPUT;
    IF @schedule IS NOT NULL
        EXECUTE jobs_internal.find_rest_schedule @job_id = @job_id, @schedule = @schedule, @schedule_id = @schedule_id OUTPUT;

    SELECT COUNT(*) AS total
    FROM jobs_internal.schedules AS s
    WHERE s.job_id = @job_id
        AND s.next_run_id IS NOT NULL
        AND s.schedule_id = COALESCE(@schedule_id, s.schedule_id);
    SELECT
        s.rest_schedule_id AS schedule_id,
        s.rest_job_id AS job_id,
        s.mode,
        s.spec,
        s.start_at,
        s.end_at,
        s.description,
        s.active,
        s.data,
        s.next_due_at AS next_run_at,
        s.created_at,
        s.updated_at AS modified_at
    FROM jobs_internal.rest_schedule_details AS s
    WHERE s.job_id = @job_id
        AND s.schedule_id = COALESCE(@schedule_id, s.schedule_id)
    ORDER BY s.schedule_id
    OFFSET @offset ROWS FETCH NEXT COALESCE(@size, 2147483647) ROWS ONLY;
    RETURN 0;
END;
