-- Sets the plan by which the runs of a job are rolled out in waves, or removes it. The plan belongs to the job's version: this makes a new
-- version, unless the plan is the one that the job has. Runs keep the version, and so the plan, with which they were created.
--
-- Parameters:
--   @job_name  Name of the job.
--   @plan      JSON object, such as {"waves": [{"name": "canary", "targets": 3}, {"name": "rest", "targets": "rest"}]}; sql/DESIGN.md,
--              "Plans of roll-outs", lists its members. NULL or empty: none.
--   @if_match  The job's revision must be this one; NULL: any.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U); the calendars of the plan (U); then inserts into job_versions, job_steps and job_step_dependencies; the
--            new version's row (X); the job's row (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
--   50118 the job is a system job, whose steps cannot be changed.
--   50169 the job belongs to a job collection.
--   50180 the job belongs to the SAP surface, which alone may change it.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
--   50404 the plan of a roll-out is invalid.
CREATE OR ALTER PROCEDURE jobs.sp_set_job_rollout
    @job_name NVARCHAR(129),
    @plan     NVARCHAR(MAX),
    @if_match BIGINT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @stored NVARCHAR(MAX);
    DECLARE @names NVARCHAR(MAX); -- of its calendars, as JSON
    DECLARE @missing NVARCHAR(128);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @version INT;
    DECLARE @job_version INT;
    DECLARE @revision BIGINT;
    DECLARE @object NVARCHAR(400) = CONCAT(N'The job ''', @job_name, N'''');
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @revision_before BIGINT;
    DECLARE @revision_after BIGINT;

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;

    EXECUTE jobs_internal.check_rollout_plan @plan = @plan, @stored = @stored OUTPUT, @job_name = @job_name;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_job
        @job_name = @job_name,
        @job_id = @job_id OUTPUT,
        @version = @version OUTPUT,
        @revision = @revision OUTPUT;
    EXECUTE jobs_internal.refuse_rest_job @job_id = @job_id, @job_name = @job_name;
    EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;
    IF EXISTS (SELECT 1 FROM jobs_internal.jobs AS j WHERE j.job_id = @job_id AND j.is_system = 1)
        THROW 50118, N'A system job has no plan of a roll-out: agents maintain it.', 1;
    -- They were looked up before the transaction, and one may have been deleted since.
    SET @names = CONCAT(N'[', (
        SELECT STRING_AGG(CONCAT(CAST(N'"' AS NVARCHAR(MAX)), STRING_ESCAPE(w.window_name, 'json'), N'"'), N',')
        FROM OPENJSON(@stored, '$.waves') WITH (window_name NVARCHAR(128) '$.window') AS w
    ), N']');
    EXECUTE jobs_internal.lock_calendars @names = @names, @missing = @missing OUTPUT;
    IF @missing IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @plan: the calendar ''', @missing, N''' does not exist: want a calendar of the view jobs.calendars.'
        ), N'%', N'%%');
        THROW 50404, @message, 1;
    END;
    EXECUTE jobs_internal.state_of_job @job_id = @job_id, @state = @audit_before OUTPUT, @revision = @revision_before OUTPUT;

    EXECUTE jobs_internal.copy_steps @job_id = @job_id, @version = @version, @job_version = @job_version OUTPUT;
    UPDATE v
    SET v.rollout_plan = @stored,
        v.has_dependencies = o.has_dependencies
    FROM jobs_internal.job_versions AS v
    INNER JOIN jobs_internal.job_versions AS o ON o.job_id = v.job_id AND o.version = @version
    WHERE v.job_id = @job_id
        AND v.version = @job_version;
    EXECUTE jobs_internal.finish_version @job_id = @job_id, @version = @version, @job_version = @job_version OUTPUT;

    EXECUTE jobs_internal.state_of_job @job_id = @job_id, @state = @audit_after OUTPUT, @revision = @revision_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_set_job_rollout',
        @object_kind = N'Job',
        @object_id = @job_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @before = @audit_before,
        @after = @audit_after,
        @version_before = @version,
        @version_after = @job_version,
        @revision_before = @revision_before,
        @revision_after = @revision_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
