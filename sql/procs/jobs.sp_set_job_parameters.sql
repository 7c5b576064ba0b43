-- Declares the parameters of a job, in place of those that it declares. They are checked when a run is started or fired, and a
-- run has all of them: what is not given has its default, or null. A job that declares none takes any parameters. The job's
-- version does not change, because a run has its parameters from its start on. A schedule whose parameters do not fit the
-- declarations any more starts no runs; each of its instants is recorded as skipped with the reason.
--
-- Parameters:
--   @job_name    Name of the job.
--   @parameters  JSON array of at most 100 objects: name (letters, digits, _ and -; compared exactly), type (text, integer, number,
--                boolean, date or datetime; default: text), required (true: it must be given, and has no default), default, choices
--                (array of the only values), description (at most 512 characters). NULL, empty or []: none.
--   @if_match    The job's revision must be this one; NULL: any.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U, X), the job's schedules (U, X), the stored parameters (S); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50062 the declarations of parameters are invalid.
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
--   50118 the job is a system job.
--   50169 the job belongs to a job collection.
--   50180 the job belongs to the SAP surface, which alone may change it.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs.sp_set_job_parameters
    @job_name   NVARCHAR(129),
    @parameters NVARCHAR(MAX),
    @if_match   BIGINT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @stored NVARCHAR(MAX);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @revision BIGINT;
    DECLARE @object NVARCHAR(400) = CONCAT(N'The job ''', @job_name, N'''');
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @revision_before BIGINT;
    DECLARE @revision_after BIGINT;

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;

    EXECUTE jobs_internal.check_declarations @parameters = @parameters, @stored = @stored OUTPUT;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_job @job_name = @job_name, @job_id = @job_id OUTPUT, @revision = @revision OUTPUT;
    EXECUTE jobs_internal.refuse_rest_job @job_id = @job_id, @job_name = @job_name;
    EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;
    IF EXISTS (SELECT 1 FROM jobs_internal.jobs AS j WHERE j.job_id = @job_id AND j.is_system = 1)
        THROW 50118, N'A system job declares no parameters: agents maintain it.', 1;
    EXECUTE jobs_internal.state_of_job @job_id = @job_id, @state = @audit_before OUTPUT, @revision = @revision_before OUTPUT;

    -- Compared exactly: the collation may treat different texts as equal.
    UPDATE j
    SET j.parameters = @stored,
        j.revision = @revision + 1
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id
        AND CAST(COALESCE(@stored, N'') AS VARBINARY(MAX)) <> CAST(COALESCE(j.parameters, N'') AS VARBINARY(MAX));
    IF @@ROWCOUNT > 0
        EXECUTE jobs_internal.complete_schedules @job_id = @job_id;

    EXECUTE jobs_internal.state_of_job @job_id = @job_id, @state = @audit_after OUTPUT, @revision = @revision_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_set_job_parameters',
        @object_kind = N'Job',
        @object_id = @job_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @before = @audit_before,
        @after = @audit_after,
        @revision_before = @revision_before,
        @revision_after = @revision_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
