-- Starts a run of a job of a job collection and returns at once, also if the job is disabled. The run does not count toward the count of
-- the recurrence, and the due instants of the job do not change.
--
-- Parameters:
--   @job_collection_name  Name of the collection.
--   @job_name             Name of the job within the collection.
--   @job_execution_id     Receives the id of the run. With a value: that id is used; if a run of this job has it already, nothing starts.
--                         An id that an earlier call in the session has made is no value, as in jobs.sp_start_job.
-- Called by: members of the role jobs_operator.
-- Locks:     the rows in job_collections (U), jobs (U), schedules (U); then an insert into job_executions.
-- Returns:   0.
-- Throws:
--   50097 a text is longer than its limit.
--   50112 the id belongs to a run of another job.
--   50164 the job collection does not exist.
--   50165 the job collection has no job of this name.
--   50170 the job collection is disabled, or the job is Faulted.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50193 the control database is paused, and the run does not exist yet.
CREATE OR ALTER PROCEDURE jobs.sp_run_scheduler_job
    @job_collection_name NVARCHAR(201),
    @job_name            NVARCHAR(201),
    @job_execution_id    UNIQUEIDENTIFIER = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @collection_id UNIQUEIDENTIFIER;
    DECLARE @collection_state NVARCHAR(10);
    DECLARE @full_name NVARCHAR(128);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @schedule_id BIGINT;
    DECLARE @state NVARCHAR(20);
    DECLARE @other UNIQUEIDENTIFIER;
    DECLARE @caller NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);

    IF DATALENGTH(@job_collection_name) > 400
        THROW 50097, N'Invalid @job_collection_name: want at most 200 characters, not 201 or more.', 1;
    IF DATALENGTH(@job_name) > 400
        THROW 50097, N'Invalid @job_name: want at most 200 characters, not 201 or more.', 1;

    IF CHARINDEX(CAST(@job_execution_id AS NVARCHAR(36)), CAST(SESSION_CONTEXT(N'jobagent.made_ids') AS NVARCHAR(4000))) > 0
        SET @job_execution_id = NULL;
    EXECUTE jobs_internal.check_not_paused @job_execution_id = @job_execution_id;
    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_scheduler_job
        @job_collection_name = @job_collection_name,
        @job_name = @job_name,
        @collection_id = @collection_id OUTPUT,
        @collection_state = @collection_state OUTPUT,
        @full_name = @full_name OUTPUT,
        @job_id = @job_id OUTPUT,
        @schedule_id = @schedule_id OUTPUT,
        @state = @state OUTPUT;
    IF @job_execution_id IS NOT NULL
    BEGIN
        -- Calls for one job follow each other, because each holds the job. If a call for another job has added the id and not committed,
        -- the insert below waits for it, and fails (2627). A lock on the id would be one on a range of random ids, and passes insert there.
        SELECT @other = e.job_id
        FROM jobs_internal.job_executions AS e
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
                N' belongs to an execution of another job. Choose another id, or omit @job_execution_id.'
            ), N'%', N'%%');
            THROW 50112, @message, 1;
        END;
    END;
    IF @collection_state <> N'Enabled' OR @state = N'Faulted'
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job ''', @full_name, N''' cannot run: ',
            CASE WHEN @state = N'Faulted' THEN N'it is Faulted' ELSE N'its job collection is disabled' END, N'.'
        ), N'%', N'%%');
        THROW 50170, @message, 1;
    END;

    EXECUTE jobs_internal.make_execution_id @job_execution_id = @job_execution_id OUTPUT;
    -- rows: one
    INSERT INTO jobs_internal.job_executions (
        job_execution_id, job_id, job_version, lifecycle, is_active, create_time, unaccounted, started_by, traceparent,
        last_message
    )
    SELECT @job_execution_id, j.job_id, j.current_version, N'Created', 1, @now, 1, @caller,
        CAST(SESSION_CONTEXT(N'jobagent.traceparent') AS NVARCHAR(55)), N'Job execution created.'
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id;
    EXECUTE jobs_internal.audit
        @action = N'sp_run_scheduler_job',
        @object_kind = N'JobExecution',
        @object_name = @full_name,
        @object_id = @job_execution_id,
        @job_id = @job_id,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
