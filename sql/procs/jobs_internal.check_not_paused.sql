-- Checks that the control database is not paused, unless the run exists already: the repetition of a start, whose caller has perhaps had
-- no answer, starts nothing. A pause that begins later does not take back what the caller starts: it waits unclaimed.
--
-- Parameters:
--   @job_execution_id  The id that the caller gives to the run; NULL: none.
-- Called by: the procedures that start runs, before their transactions.
-- Locks:     none.
-- Returns:   0.
-- Throws:
--   50193 the control database is paused.
CREATE OR ALTER PROCEDURE jobs_internal.check_not_paused
    @job_execution_id UNIQUEIDENTIFIER = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);

    SELECT @message = REPLACE(LEFT(CONCAT(
        N'The control database is paused', N': ' + NULLIF(a.pause_reason, N''),
        N'. Nothing starts until jobs.sp_resume_control_database.'
    ), 1000), N'%', N'%%')
    FROM jobs_internal.job_agent AS a
    WHERE a.id = 1
        AND a.paused_at IS NOT NULL;
    IF @message IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.job_execution_id = @job_execution_id)
        THROW 50193, @message, 1;
    RETURN 0;
END;
