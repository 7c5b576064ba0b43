-- Requests the end of a run and returns at once. Running statements are canceled on their servers; targets and steps
-- that have not started do not start. Stopping a finished run has no effect (decision 17).
--
-- Parameters:
--   @job_execution_id  Id of the run.
-- Called by: members of the role jobs_operator.
-- Locks:     the run's row (X); an insert into audit_entries.
-- Job agent: in each state: it ends work.
-- Returns:   0.
-- Throws:
--   50028 the job execution id is missing.
--   50111 the job execution does not exist.
CREATE OR ALTER PROCEDURE jobs.sp_stop_job
    @job_execution_id UNIQUEIDENTIFIER = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @job_name NVARCHAR(128);
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);

    IF @job_execution_id IS NULL
        THROW 50028, N'Missing job execution id: @job_execution_id is NULL.', 1;

    SELECT
        @job_id = j.job_id,
        @job_name = j.name
    FROM jobs_internal.visible_runs AS e
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE e.job_execution_id = @job_execution_id
        AND j.deleted_at IS NULL;
    IF @job_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id, N' does not exist. The view jobs.job_executions lists all executions.'
        ), N'%', N'%%');
        THROW 50111, @message, 1;
    END;

    BEGIN TRANSACTION;

    UPDATE e
    SET e.stop_requested_at = @now,
        e.stop_requested_by = @by,
        e.drains = 0,
        e.parked = 0
    FROM jobs_internal.job_executions AS e
    WHERE e.job_execution_id = @job_execution_id
        AND e.is_active = 1
        AND (e.stop_requested_at IS NULL OR e.drains = 1);
    IF @@ROWCOUNT = 1
        EXECUTE jobs_internal.audit
            @action = N'sp_stop_job',
            @object_kind = N'JobExecution',
            @object_id = @job_execution_id,
            @job_id = @job_id,
            @job_name = @job_name,
            @after = N'{"stop_requested":true}',
            @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
