-- Makes the next attempts of what waits for a retry in a run due, or gives it up: resolutions, and then targets in slices, each slice in a
-- transaction of its own with its entry in the audit log (I15).
--
-- Parameters:
--   @job_execution_id  Id of the run.
--   @step_id           Only of this step; NULL: of all steps.
--   @target_id         Only this target; NULL: all, and resolutions of target groups.
--   @give_up           1: they end as Failed, with their last error. 0: their next attempt is due now.
--   @changed           Receives the number of targets and resolutions that were changed.
--   @slice             Number of targets that one transaction changes at most.
-- Called by: jobs.sp_retry_job_execution_now, jobs.sp_give_up_job_execution, outside of a transaction.
-- Locks:     see jobs_internal.change_step_retries and change_target_retries; an insert into audit_entries; the row of set_asides (X).
-- Returns:   0.
-- Throws:
--   50028 the job execution id is missing.
--   50111 the job execution does not exist.
CREATE OR ALTER PROCEDURE jobs_internal.change_retries
    @job_execution_id UNIQUEIDENTIFIER,
    @step_id          INT,
    @target_id        UNIQUEIDENTIFIER,
    @give_up          BIT,
    @changed          INT OUTPUT,
    @slice            INT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @execution_id BIGINT;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @job_name NVARCHAR(128);
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @action NVARCHAR(128) = CASE WHEN @give_up = 1 THEN N'sp_give_up_job_execution' ELSE N'sp_retry_job_execution_now' END;
    DECLARE @more BIT = 1;
    DECLARE @part INT;
    DECLARE @audit_after NVARCHAR(MAX);
    SET @changed = 0;

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

    IF @target_id IS NULL
    BEGIN
        BEGIN TRANSACTION;
        EXECUTE jobs_internal.change_step_retries
            @execution_id = @execution_id,
            @step_id = @step_id,
            @give_up = @give_up,
            @by = @by,
            @changed = @part OUTPUT,
            @now = @now;
        SET @changed = @part;
        SET @audit_after = (
            SELECT
                CASE WHEN @give_up = 1 THEN @part END AS given_up,
                CASE WHEN @give_up = 0 THEN @part END AS retried_now,
                @step_id AS step_id
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        );
        IF @part > 0
            EXECUTE jobs_internal.audit
                @action = @action,
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
            @give_up = @give_up,
            @by = @by,
            @slice = @slice,
            @changed = @part OUTPUT,
            @more = @more OUTPUT,
            @now = @now;
        SET @changed = @changed + @part;
        SET @audit_after = (
            SELECT
                CASE WHEN @give_up = 1 THEN @part END AS given_up,
                CASE WHEN @give_up = 0 THEN @part END AS retried_now,
                @step_id AS step_id,
                @target_id AS target_id
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        );
        IF @part > 0
            EXECUTE jobs_internal.audit
                @action = @action,
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

    -- A run that is set aside is tried again at once.
    UPDATE z
    SET z.retry_at = @now
    FROM jobs_internal.set_asides AS z
    WHERE z.kind = N'Run'
        AND z.first_id = @execution_id
        AND z.is_part = 0;
    RETURN 0;
END;
