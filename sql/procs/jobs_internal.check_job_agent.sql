-- Checks that definitions may change and runs may start: the job agent, if there is one, is not being deleted, and neither
-- Disabled nor Faulted. The state may change before the caller's transaction ends (sql/DESIGN.md, "Job agents").
--
-- Called by: the public procedures that change definitions or start runs, first in their transactions. Procedures that end
--            work are always permitted.
-- Locks:     none.
-- Returns:   0.
-- Throws:
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs_internal.check_job_agent
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @state NVARCHAR(20);
    DECLARE @reason NVARCHAR(2000);

    SELECT
        @state = a.state,
        @reason = a.reason
    FROM jobs_internal.job_agent AS a
    WHERE a.id = 1;
    IF @state IN (N'Disabled', N'Faulted', N'Deleting', N'Deleted')
    BEGIN
        SET @message = REPLACE(LEFT(CONCAT(
            N'The job agent is ', @state, N': ' + NULLIF(@reason, N''),
            N'. Definitions cannot be changed, and nothing starts. ',
            CASE @state
                WHEN N'Deleting' THEN N'Wait until it is deleted.'
                WHEN N'Deleted' THEN N'Create one with jobs.sp_set_job_agent.'
                ELSE N'Enable it with jobs.sp_enable_job_agent.'
            END
        ), 1000), N'%', N'%%');
        THROW 50183, @message, 1;
    END;
    RETURN 0;
END;
