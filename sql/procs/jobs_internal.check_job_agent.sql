-- Checks that definitions may change and runs may start: the job agent, if there is one, is not being deleted, and neither
-- Disabled nor Faulted. The state may change before the caller's transaction ends (sql/DESIGN.md, "Job agents").
--
-- It also checks the options of the caller's session that SQL Server requires for changes of tables with filtered indexes
-- (https://learn.microsoft.com/sql/t-sql/statements/create-index-transact-sql#required-set-options-for-filtered-indexes).
-- QUOTED_IDENTIFIER and ANSI_NULLS are stored with the procedures, and ARITHABORT follows ANSI_WARNINGS.
--
-- Parameters:
--   @job_execution_id  The id that the caller gives to a run. If the run exists, the state is not checked: the repetition of a start,
--                      whose caller has perhaps had no answer, starts nothing. NULL: none.
-- Called by: the public procedures that change definitions or start runs, first in their transactions. Procedures that end
--            work are always permitted.
-- Locks:     none.
-- Returns:   0.
-- Throws:
--   50147 an option of the caller's session does not permit changes.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs_internal.check_job_agent
    @job_execution_id UNIQUEIDENTIFIER = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @state NVARCHAR(20);
    DECLARE @reason NVARCHAR(2000);
    DECLARE @options NVARCHAR(200) = CONCAT(
        CASE WHEN CAST(SESSIONPROPERTY(N'ANSI_WARNINGS') AS INT) = 0 THEN N' SET ANSI_WARNINGS ON;' END,
        CASE WHEN CAST(SESSIONPROPERTY(N'ANSI_PADDING') AS INT) = 0 THEN N' SET ANSI_PADDING ON;' END,
        CASE WHEN CAST(SESSIONPROPERTY(N'CONCAT_NULL_YIELDS_NULL') AS INT) = 0 THEN N' SET CONCAT_NULL_YIELDS_NULL ON;' END,
        CASE WHEN CAST(SESSIONPROPERTY(N'NUMERIC_ROUNDABORT') AS INT) = 1 THEN N' SET NUMERIC_ROUNDABORT OFF;' END
    );

    IF @options <> N''
    BEGIN
        SET @message = REPLACE(CONCAT(N'The options of this session do not permit changes of jobs. Execute first:', @options), N'%', N'%%');
        THROW 50147, @message, 1;
    END;
    SELECT
        @state = a.state,
        @reason = a.reason
    FROM jobs_internal.job_agent AS a
    WHERE a.id = 1;
    IF @state IN (N'Disabled', N'Faulted', N'Deleting', N'Deleted')
        AND NOT EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.job_execution_id = @job_execution_id)
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
