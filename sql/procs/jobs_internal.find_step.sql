-- Finds a step by id, by name, or by both, and checks its revision.
--
-- Parameters:
--   @job_name           Name of the job, for messages.
--   @job_id             The job.
--   @version            Version of the job.
--   @step_id            Position of the step, or NULL.
--   @step_name          Name of the step, or NULL.
--   @allow_only_step    1: without id and name, the only step of the job is found, if it has exactly one.
--   @if_match           The revision that the step must have; NULL: any.
--   @found              Receives the position.
-- Called by: jobs_internal.store_step, jobs.sp_delete_jobstep.
-- Locks:     nothing beyond what the caller holds.
-- Returns:   0.
-- Throws:
--   50021 neither step id nor step name is given.
--   50030 step id and step name refer to different steps.
--   50104 the job step does not exist.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs_internal.find_step
    @job_name        NVARCHAR(128),
    @job_id          UNIQUEIDENTIFIER,
    @version         INT,
    @step_id         INT,
    @step_name       NVARCHAR(128),
    @allow_only_step BIT,
    @if_match        BIGINT,
    @found           INT OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @list NVARCHAR(1000);
    DECLARE @steps INT;
    DECLARE @by_name INT;
    DECLARE @object NVARCHAR(400);
    DECLARE @revision BIGINT;

    SELECT
        @steps = COUNT(*),
        @list = LEFT(
            STRING_AGG(CAST(CONCAT(s.step_id, N' ''', s.step_name, N'''') AS NVARCHAR(MAX)), N', ') WITHIN GROUP (ORDER BY s.step_id),
            1000
        )
    FROM jobs_internal.job_steps AS s
    WHERE s.job_id = @job_id
        AND s.version = @version;
    SET @list = CASE WHEN @steps = 0 THEN N'The job has no steps.' ELSE CONCAT(N'Its steps are: ', @list, N'.') END;

    IF @step_id IS NULL AND @step_name IS NULL AND @allow_only_step = 1 AND @steps = 1
        SET @step_id = 1;
    IF @step_id IS NULL AND @step_name IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Missing step of the job ''', @job_name, N''': want @step_id or @step_name. ', @list
        ), N'%', N'%%');
        THROW 50021, @message, 1;
    END;

    IF @step_id IS NOT NULL AND (@step_id < 1 OR @step_id > @steps)
    BEGIN
        SET @message = REPLACE(CONCAT(N'The job ''', @job_name, N''' has no step ', @step_id, N'. ', @list), N'%', N'%%');
        THROW 50104, @message, 1;
    END;

    IF @step_name IS NOT NULL
    BEGIN
        SELECT @by_name = s.step_id
        FROM jobs_internal.job_steps AS s
        WHERE s.job_id = @job_id
            AND s.version = @version
            AND s.step_name = @step_name;
        IF @by_name IS NULL
        BEGIN
            SET @message = REPLACE(CONCAT(N'The job ''', @job_name, N''' has no step named ''', @step_name, N'''. ', @list), N'%', N'%%');
            THROW 50104, @message, 1;
        END;
        IF @step_id IS NOT NULL AND @step_id <> @by_name
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'@step_id ', @step_id, N' and @step_name ''', @step_name, N''' refer to different steps of the job ''', @job_name, N'''. ',
                @list
            ), N'%', N'%%');
            THROW 50030, @message, 1;
        END;
    END;

    SET @found = COALESCE(@step_id, @by_name);
    IF @if_match IS NOT NULL
    BEGIN
        SELECT
            @object = CONCAT(N'The step ''', s.step_name, N''' of the job ''', @job_name, N''''),
            @revision = s.revision
        FROM jobs_internal.job_steps AS s
        WHERE s.job_id = @job_id
            AND s.version = @version
            AND s.step_id = @found;
        EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;
    END;
    RETURN 0;
END;
