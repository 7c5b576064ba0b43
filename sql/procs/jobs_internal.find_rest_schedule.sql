-- Finds a schedule of a job of the SAP surface by its public id.
--
-- Parameters:
--   @job_id       The job, which the caller has found.
--   @schedule     The public id.
--   @schedule_id  Receives the internal key.
-- Called by: the procedures of jobs_rest that name a schedule.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50173 the job has no such schedule.
CREATE OR ALTER PROCEDURE jobs_internal.find_rest_schedule
    @job_id      UNIQUEIDENTIFIER,
    @schedule    UNIQUEIDENTIFIER,
    @schedule_id BIGINT OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SET @schedule_id = NULL;
    SELECT @schedule_id = s.schedule_id
    FROM jobs_internal.schedules AS s
    WHERE s.job_id = @job_id
        AND s.name = CAST(@schedule AS NVARCHAR(36))
        AND s.next_run_id IS NOT NULL;
    IF @schedule_id IS NULL
        THROW 50173, N'The schedule does not exist.', 1;
    RETURN 0;
END;
