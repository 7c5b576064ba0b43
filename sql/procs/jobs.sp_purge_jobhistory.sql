-- Deletes the history of a job: its finished runs with all their rows. Active runs stay (decision 27).
--
-- The runs are invisible as soon as the purge has committed, however many they are: it is one row (jobs_internal.history_purges). Runs
-- and their rows are then marked and deleted in batches, by this call as far as it may, and by agents. The entry of the audit log
-- counts at most 10,000 runs.
--
-- Parameters:
--   @job_name     Name of the job. Exactly one of @job_name and @job_id is required.
--   @job_id       Id of the job.
--   @oldest_date  Only runs created before this time (UTC) are deleted. NULL: all.
-- Called by: members of the role jobs_admin.
-- Locks:     the job's row (U); an insert into audit_entries; then, after the commit, runs and their rows (X) in small batches.
-- Job agent: in each state: history is no definition.
-- Returns:   0.
-- Throws:
--   50027 both job name and job id are given, or neither.
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
CREATE OR ALTER PROCEDURE jobs.sp_purge_jobhistory
    @job_name    NVARCHAR(129) = NULL,
    @job_id      UNIQUEIDENTIFIER = NULL,
    @oldest_date DATETIME2 = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @before DATETIME2(7) = COALESCE(@oldest_date, CAST(N'9999-12-31T23:59:59.9999999' AS DATETIME2(7)));
    DECLARE @message NVARCHAR(2048);
    DECLARE @found UNIQUEIDENTIFIER;
    DECLARE @version INT;
    DECLARE @ended_before DATETIME2(7);
    DECLARE @batch INT = 0;
    DECLARE @more BIT = 1;
    DECLARE @deleted INT = 1;
    DECLARE @remaining BIT = 1;
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @name NVARCHAR(128);
    DECLARE @purged INT;

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;

    IF (@job_name IS NULL AND @job_id IS NULL) OR (@job_name IS NOT NULL AND @job_id IS NOT NULL)
        THROW 50027, N'Invalid arguments: want exactly one of @job_name and @job_id.', 1;

    SELECT @found = j.job_id
    FROM jobs_internal.jobs AS j
    WHERE j.deleted_at IS NULL
        AND (j.name = @job_name OR j.job_id = @job_id);
    IF @found IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job ', COALESCE(N'''' + @job_name + N'''', N'with the id ' + CONVERT(NVARCHAR(36), @job_id)),
            N' does not exist. The view jobs.jobs lists all jobs.'
        ), N'%', N'%%');
        THROW 50100, @message, 1;
    END;

    BEGIN TRANSACTION;

    -- This lock serialises with end_scheduled_runs. current_version is in no index, so the lock is on the clustered
    -- key.
    -- order: one row
    SELECT
        @version = j.current_version,
        @name = j.name
    FROM jobs_internal.jobs AS j WITH (UPDLOCK, HOLDLOCK)
    WHERE j.job_id = @found;

    -- Plan: a range of IX_job_executions_job_id_create_time, with the rows.
    SELECT @purged = COUNT(*)
    FROM (
        SELECT TOP (10000) e.execution_id
        FROM jobs_internal.visible_runs AS e
        WHERE e.job_id = @found
            AND e.is_active = 0
            AND e.create_time < @before
    ) AS f;
    -- Runs that ended before the clock was set back have ended, too. Plan: the last key of IX_job_executions_end_time.
    SELECT @ended_before = CASE WHEN MAX(f.end_time) > @now THEN MAX(f.end_time) ELSE @now END
    FROM (
        SELECT TOP (1) e.end_time
        FROM jobs_internal.job_executions AS e
        WHERE e.is_active = 0
            AND e.purged_at IS NULL
        ORDER BY e.end_time DESC
    ) AS f;
    -- This statement makes the history invisible; the rest only frees space.
    IF @purged > 0
        INSERT INTO jobs_internal.history_purges (job_id, created_before, ended_before, purged_at, marked_at)
        VALUES (@found, @before, @ended_before, @now, @now);
    SET @audit_after = (
        SELECT @purged AS purged_executions, @oldest_date AS oldest_date
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    IF @purged > 0
        EXECUTE jobs_internal.audit
            @action = N'sp_purge_jobhistory',
            @object_kind = N'Job',
            @object_name = @name,
            @object_id = @found,
            @job_id = @found,
            @job_name = @name,
            @after = @audit_after,
            @now = @now;

    COMMIT TRANSACTION;

    WHILE @more = 1 AND @batch < 10
    BEGIN
        EXECUTE jobs_internal.mark_purged_runs @more = @more OUTPUT;
        SET @batch = @batch + 1;
    END;
    WHILE @deleted > 0 AND @remaining = 1
        EXECUTE jobs_internal.delete_leftovers @deleted = @deleted OUTPUT, @remaining = @remaining OUTPUT;
    RETURN 0;
END;
