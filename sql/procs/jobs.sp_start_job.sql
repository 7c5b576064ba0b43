-- Starts a run of a job's current version and returns at once. The job need not be enabled. The due instants of its
-- schedules do not change.
--
-- Parameters:
--   @job_name          Name of the job.
--   @job_execution_id  Receives the id of the run. With a value: that id is used; if a run of this job has it already,
--                      nothing starts (decision 21).
-- Called by: members of the role jobs_operator.
-- Locks:     the job's row (U); then an insert into job_executions.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50100 the job does not exist.
--   50103 the job has no steps.
--   50112 the job execution id belongs to an execution of another job.
CREATE OR ALTER PROCEDURE jobs.sp_start_job
    @job_name         NVARCHAR(128),
    @job_execution_id UNIQUEIDENTIFIER = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @version INT;
    DECLARE @other UNIQUEIDENTIFIER;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_job @job_name = @job_name, @job_id = @job_id OUTPUT, @version = @version OUTPUT;

    IF @job_execution_id IS NOT NULL
    BEGIN
        -- index: UQ_job_executions_job_execution_id, in which other sessions may add the same id
        SELECT @other = e.job_id
        FROM jobs_internal.job_executions AS e WITH (UPDLOCK, HOLDLOCK)
        WHERE e.job_execution_id = @job_execution_id;
        IF @other = @job_id
        BEGIN
            COMMIT TRANSACTION;
            RETURN 0;
        END;
        IF @other IS NOT NULL
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'The job execution id ', @job_execution_id,
                N' belongs to an execution of another job. Choose another id, or leave @job_execution_id NULL.'
            ), N'%', N'%%');
            THROW 50112, @message, 1;
        END;
    END;

    IF NOT EXISTS (
        SELECT 1
        FROM jobs_internal.job_steps AS s
        WHERE s.job_id = @job_id
            AND s.version = @version
    )
    BEGIN
        SET @message = REPLACE(CONCAT(N'The job ''', @job_name, N''' has no steps. Add one with jobs.sp_add_jobstep.'), N'%', N'%%');
        THROW 50103, @message, 1;
    END;

    SET @job_execution_id = COALESCE(@job_execution_id, NEWID());
    INSERT INTO jobs_internal.job_executions (
        job_execution_id, job_id, job_version, lifecycle, is_active, create_time, started_by, last_message
    )
    VALUES (
        @job_execution_id, @job_id, @version, N'Created', 1, @now, ORIGINAL_LOGIN(), N'Job execution created.'
    );

    COMMIT TRANSACTION;
    RETURN 0;
END;
