-- Makes the next attempt due of all targets of a run that wait for a retry, or of some, such as after their data was mended. The attempt
-- counts as it would have later. What runs, has not begun or is final stays as it is; jobs.sp_rerun_job_execution runs again what is final.
--
-- Parameters:
--   @job_execution_id  Id of the run.
--   @step_id           Only of this step; NULL: of all steps.
--   @target_id         Only this target, as in jobs.job_executions; NULL: all, and resolutions of target groups.
--   @changed           Receives the number of targets and resolutions that were changed; 0: nothing waits for a retry there.
--   @slice             Number of targets that one transaction changes at most. For tests only.
-- Called by: members of the role jobs_operator.
-- Locks:     see jobs_internal.change_step_retries and change_target_retries; an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50028 the job execution id is missing.
--   50111 the job execution does not exist.
--   50136 the caller has a transaction.
CREATE OR ALTER PROCEDURE jobs.sp_retry_job_execution_now
    @job_execution_id UNIQUEIDENTIFIER = NULL,
    @step_id          INT = NULL,
    @target_id        UNIQUEIDENTIFIER = NULL,
    @changed          INT = NULL OUTPUT,
    @slice            INT = 5000
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @execution_id BIGINT;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @job_name NVARCHAR(128);
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @more BIT = 1;
    DECLARE @part INT;
    DECLARE @audit_after NVARCHAR(MAX);
    SET @changed = 0;

    IF @@TRANCOUNT > 0
        THROW 50136, N'Retries are not made due inside a transaction, because passes of agents would wait for it. Commit first.', 1;
    IF @job_execution_id IS NULL
        THROW 50028, N'Missing job execution id: @job_execution_id is NULL.', 1;
    SELECT
        @execution_id = e.execution_id,
        @job_id = j.job_id,
        @job_name = j.name
    FROM jobs_internal.visible_runs AS e
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE e.job_execution_id = @job_execution_id
        AND j.deleted_at IS NULL;
    IF @execution_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id, N' does not exist. The view jobs.job_executions lists all executions.'
        ), N'%', N'%%');
        THROW 50111, @message, 1;
    END;

    -- Resolutions, and each slice of targets, are a transaction of their own, with its entry (I15).
    IF @target_id IS NULL
    BEGIN
        BEGIN TRANSACTION;
        EXECUTE jobs_internal.change_step_retries
            @execution_id = @execution_id,
            @step_id = @step_id,
            @give_up = 0,
            @by = @by,
            @changed = @part OUTPUT,
            @now = @now;
        SET @changed = @part;
        SET @audit_after = (SELECT @part AS retried_now, @step_id AS step_id FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);
        IF @part > 0
            EXECUTE jobs_internal.audit
                @action = N'sp_retry_job_execution_now',
                @object_kind = N'JobExecution',
                @object_id = @job_execution_id,
                @job_id = @job_id,
                @job_name = @job_name,
                @after = @audit_after,
                @now = @now;
        COMMIT TRANSACTION;
    END;
    WHILE @more = 1
    BEGIN
        BEGIN TRANSACTION;
        EXECUTE jobs_internal.change_target_retries
            @execution_id = @execution_id,
            @step_id = @step_id,
            @target_id = @target_id,
            @give_up = 0,
            @by = @by,
            @slice = @slice,
            @changed = @part OUTPUT,
            @more = @more OUTPUT,
            @now = @now;
        SET @changed = @changed + @part;
        SET @audit_after = (
            SELECT @part AS retried_now, @step_id AS step_id, @target_id AS target_id
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        );
        IF @part > 0
            EXECUTE jobs_internal.audit
                @action = N'sp_retry_job_execution_now',
                @object_kind = N'JobExecution',
                @object_id = @job_execution_id,
                @job_id = @job_id,
                @job_name = @job_name,
                @after = @audit_after,
                @now = @now;
        ELSE
            SET @more = 0; -- agents have claimed what was found
        COMMIT TRANSACTION;
    END;
    RETURN 0;
END;
