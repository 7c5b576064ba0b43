-- Deletes a trigger. Runs that it has started continue; the next pass records events that wait as skipped.
--
-- Parameters:
--   @job_name      Name of the job that it starts.
--   @trigger_name  Name of the trigger.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U), the trigger (X), its upstreams (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
--   50134 the trigger does not exist.
--   50169 the job belongs to a job collection.
--   50180 the job belongs to the SAP surface, which alone may change it.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50470 the trigger name is missing or empty.
CREATE OR ALTER PROCEDURE jobs.sp_delete_job_trigger
    @job_name     NVARCHAR(129),
    @trigger_name NVARCHAR(129)
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
    DECLARE @trigger_id BIGINT;
    DECLARE @audit_before NVARCHAR(MAX);

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@trigger_name) > 256
        THROW 50097, N'Invalid @trigger_name: want at most 128 characters, not 129 or more.', 1;
    IF @trigger_name IS NULL OR LTRIM(@trigger_name) = N''
        THROW 50470, N'Missing trigger name: @trigger_name is NULL or empty.', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_job @job_name = @job_name, @job_id = @job_id OUTPUT;
    EXECUTE jobs_internal.refuse_rest_job @job_id = @job_id, @job_name = @job_name;
    SELECT @trigger_id = t.trigger_id
    FROM jobs_internal.job_triggers AS t
    WHERE t.job_id = @job_id
        AND t.name = @trigger_name;
    IF @trigger_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job ''', @job_name, N''' has no trigger ''', @trigger_name, N'''. The view jobs.job_triggers lists all triggers.'
        ), N'%', N'%%');
        THROW 50134, @message, 1;
    END;
    EXECUTE jobs_internal.state_of_trigger @trigger_id = @trigger_id, @state = @audit_before OUTPUT;
    DELETE t
    FROM jobs_internal.job_triggers AS t
    WHERE t.trigger_id = @trigger_id;
    -- rows: at most 50
    DELETE u
    FROM jobs_internal.job_trigger_upstreams AS u
    WHERE u.trigger_id = @trigger_id;
    EXECUTE jobs_internal.raise_revision @job_id = @job_id;

    EXECUTE jobs_internal.audit
        @action = N'sp_delete_job_trigger',
        @object_kind = N'Trigger',
        @object_name = @trigger_name,
        @object_id = @trigger_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @before = @audit_before,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
