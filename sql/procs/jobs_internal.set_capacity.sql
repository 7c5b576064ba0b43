-- Sets the limit of scope Agent to the capacity of the job agent.
--
-- Parameters:
--   @capacity  Maximum number of targets that run at once.
--   @now       The time of the change.
-- Called by: jobs.sp_set_job_agent, jobs_internal.advance_job_agent, within their transactions, which hold the row of the job agent.
-- Locks:     the limit's row, or the range of its name (U, X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.set_capacity
    @capacity INT,
    @now      DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    -- index: UQ_limits_name, in which jobs.sp_set_limit may insert the same limit
    INSERT INTO jobs_internal.limits (scope, name, max_concurrent_targets, updated_at)
    SELECT N'Agent', N'*', @capacity, @now
    WHERE NOT EXISTS (
        SELECT 1
        FROM jobs_internal.limits AS l WITH (UPDLOCK, HOLDLOCK)
        WHERE l.scope = N'Agent'
            AND l.name = N'*'
            AND l.server_name = N''
            AND l.job_id IS NULL
    );
    UPDATE l
    SET l.max_concurrent_targets = @capacity,
        l.updated_at = @now
    FROM jobs_internal.limits AS l
    WHERE l.scope = N'Agent'
        AND l.name = N'*'
        AND l.server_name = N''
        AND l.job_id IS NULL;
    RETURN 0;
END;
