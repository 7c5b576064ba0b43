-- Makes the id of a run whose caller has given none, and notes it in the session: a procedure that starts a run takes one of the last
-- hundred ids that were made in its session for no value, so that scripts may receive the ids of several runs in one variable.
--
-- Parameters:
--   @job_execution_id  The id that the caller has given, which stays; NULL: receives a new one.
-- Called by: the procedures that start runs.
-- Locks:     none.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.make_execution_id
    @job_execution_id UNIQUEIDENTIFIER OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @made NVARCHAR(4000) = CAST(SESSION_CONTEXT(N'jobagent.made_ids') AS NVARCHAR(4000));

    IF @job_execution_id IS NULL
    BEGIN
        SET @job_execution_id = NEWID();
        SET @made = LEFT(CONCAT(@job_execution_id, N' ', @made), 3700); -- the last hundred
        EXECUTE sys.sp_set_session_context N'jobagent.made_ids', @made;
    END;
    RETURN 0;
END;
