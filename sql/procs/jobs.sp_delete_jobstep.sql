-- Deletes a step, which creates a new version of the job. Later steps move down. Active runs keep their version.
--
-- Parameters:
--   @job_name     Name of the job.
--   @step_id      Position of the step. Either it or @step_name is required.
--   @step_name    Name of the step.
--   @job_version  Receives the job's new version.
--   @if_match      The step's revision must be this one; NULL: any.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U); then inserts into job_versions, job_steps and job_step_dependencies; an insert into
--            audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50021 neither step id nor step name is given.
--   50030 step id and step name refer to different steps.
--   50066 a step whose @run_when is Failed, or whose @on_targets is not All, would come after no step.
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
--   50104 the job step does not exist.
--   50118 the job is a system job, whose steps cannot be changed.
--   50143 steps would come after each other.
--   50144 another step names this one in @after.
--   50169 the job belongs to a job collection.
--   50180 the job belongs to the SAP surface, which alone may change it.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs.sp_delete_jobstep
    @job_name    NVARCHAR(129),
    @step_id     INT = NULL,
    @step_name   NVARCHAR(129) = NULL,
    @job_version INT = NULL OUTPUT,
    @if_match    BIGINT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @version INT;
    DECLARE @found INT;
    DECLARE @message NVARCHAR(2048);
    DECLARE @name NVARCHAR(128);
    DECLARE @list NVARCHAR(1000);
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @revision_before BIGINT;

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@step_name) > 256
        THROW 50097, N'Invalid @step_name: want at most 128 characters, not 129 or more.', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_steps @job_name = @job_name, @job_id = @job_id OUTPUT, @version = @version OUTPUT;
    EXECUTE jobs_internal.find_step
        @job_name = @job_name,
        @job_id = @job_id,
        @version = @version,
        @step_id = @step_id,
        @step_name = @step_name,
        @allow_only_step = 0,
        @if_match = @if_match,
        @found = @found OUTPUT;
    EXECUTE jobs_internal.state_of_step
        @job_id = @job_id,
        @version = @version,
        @step_id = @found,
        @state = @audit_before OUTPUT,
        @revision = @revision_before OUTPUT;

    SELECT @list = LEFT(
        STRING_AGG(CAST(CONCAT(s.step_id, N' ''', s.step_name, N'''') AS NVARCHAR(MAX)), N', ') WITHIN GROUP (ORDER BY s.step_id),
        1000
    )
    FROM jobs_internal.job_step_dependencies AS d
    INNER JOIN jobs_internal.job_steps AS s ON s.job_id = d.job_id AND s.version = d.version AND s.step_id = d.step_id
    WHERE d.job_id = @job_id
        AND d.version = @version
        AND d.after_step_id = @found;
    IF @list IS NOT NULL
    BEGIN
        SELECT @name = s.step_name
        FROM jobs_internal.job_steps AS s
        WHERE s.job_id = @job_id
            AND s.version = @version
            AND s.step_id = @found;
        SET @message = REPLACE(CONCAT(
            N'The step ', @found, N' ''', @name, N''' of the job ''', @job_name, N''' comes before these steps by their option @after: ',
            @list, N'. Change them first.'
        ), N'%', N'%%');
        THROW 50144, @message, 1;
    END;

    EXECUTE jobs_internal.copy_steps
        @job_id = @job_id,
        @version = @version,
        @from = @found,
        @job_version = @job_version OUTPUT;
    EXECUTE jobs_internal.check_dependencies @job_name = @job_name, @job_id = @job_id, @version = @job_version;
    EXECUTE jobs_internal.finish_version @job_id = @job_id, @version = @version, @job_version = @job_version OUTPUT;

    EXECUTE jobs_internal.audit
        @action = N'sp_delete_jobstep',
        @object_kind = N'JobStep',
        @object_id = @found,
        @job_id = @job_id,
        @job_name = @job_name,
        @before = @audit_before,
        @version_before = @version,
        @version_after = @job_version,
        @revision_before = @revision_before;

    COMMIT TRANSACTION;
    RETURN 0;
END;
