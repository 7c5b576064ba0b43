-- Deletes a step, which creates a new version of the job. Later steps move down. Active runs keep their version.
--
-- Parameters:
--   @job_name     Name of the job.
--   @step_id      Position of the step. Either it or @step_name is required.
--   @step_name    Name of the step.
--   @job_version  Receives the job's new version.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U); then inserts into job_versions, job_steps.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50021 neither step id nor step name is given.
--   50030 step id and step name refer to different steps.
--   50100 the job does not exist.
--   50104 the job step does not exist.
--   50118 the job is a system job, whose steps cannot be changed.
CREATE OR ALTER PROCEDURE jobs.sp_delete_jobstep
    @job_name    NVARCHAR(128),
    @step_id     INT = NULL,
    @step_name   NVARCHAR(128) = NULL,
    @job_version INT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @version INT;
    DECLARE @found INT;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_steps @job_name = @job_name, @job_id = @job_id OUTPUT, @version = @version OUTPUT;
    EXECUTE jobs_internal.find_step
        @job_name = @job_name,
        @job_id = @job_id,
        @version = @version,
        @step_id = @step_id,
        @step_name = @step_name,
        @allow_only_step = 0,
        @found = @found OUTPUT;

    EXECUTE jobs_internal.copy_steps
        @job_id = @job_id,
        @version = @version,
        @from = @found,
        @job_version = @job_version OUTPUT;

    COMMIT TRANSACTION;
    RETURN 0;
END;
