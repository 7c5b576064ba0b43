-- The latest runs of the jobs that ran lately: for each job a strip of runs. It only reads. Its cost depends on the number of jobs (one key
-- each) and on the rows that it returns, not on the history. Arguments beyond their bounds count as the nearest of these. Trials and
-- preflights are left out.
--
-- Parameters:
--   @days  Length of the period, which ends now, 1 to 366. NULL: 7.
--   @jobs  Maximum number of jobs, 1 to 500: those whose latest runs began last. NULL: 40.
--   @runs  Maximum number of runs of a job, 1 to 200: the latest ones. NULL: 30.
-- Called by: members of the role jobs_reader.
-- Locks:     none.
-- Returns:   1: one row: now, since (the beginning of the period), jobs (that have a run in the period).
--            2: the runs, by job_name and from the oldest to the latest of a job: job_name, job_execution_id, lifecycle, is_active,
--               create_time, start_time, end_time.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs.sp_get_recent_runs
    @days INT = 7,
    @jobs INT = 40,
    @runs INT = 30
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    SET @days = CASE WHEN @days > 366 THEN 366 WHEN @days < 1 THEN 1 ELSE COALESCE(@days, 7) END;
    SET @jobs = CASE WHEN @jobs > 500 THEN 500 WHEN @jobs < 1 THEN 1 ELSE COALESCE(@jobs, 40) END;
    SET @runs = CASE WHEN @runs > 200 THEN 200 WHEN @runs < 1 THEN 1 ELSE COALESCE(@runs, 30) END;
    DECLARE @since DATETIME2(7) = DATEADD(DAY, -@days, @now);
    DECLARE @listed TABLE (
        job_id      UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        create_time DATETIME2(7) NOT NULL
    );

    -- Plan: UQ_jobs_name with the rows of the jobs, and per job the newest key of IX_job_executions_job_id_create_time, with its row.
    INSERT INTO @listed (job_id, create_time)
    SELECT j.job_id, l.create_time
    FROM jobs_internal.jobs AS j
    CROSS APPLY (
        SELECT TOP (1) e.create_time
        FROM jobs_internal.job_executions AS e
        WHERE e.job_id = j.job_id
            AND e.create_time >= @since
            AND e.mode IS NULL
        ORDER BY e.create_time DESC, e.job_execution_id
    ) AS l
    WHERE j.deleted_at IS NULL
        AND j.is_system = 0;

    SELECT
        @now AS now,
        @since AS since,
        COUNT(*) AS jobs
    FROM @listed AS l;

    -- Plan: per job the newest keys of IX_job_executions_job_id_create_time, each with its row.
    SELECT j.name AS job_name, r.job_execution_id, r.lifecycle, r.is_active, r.create_time, r.start_time, r.end_time
    FROM (
        SELECT TOP (@jobs) l.job_id
        FROM @listed AS l
        ORDER BY l.create_time DESC, l.job_id
    ) AS l
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = l.job_id
    CROSS APPLY (
        SELECT TOP (@runs) e.job_execution_id, e.lifecycle, e.is_active, e.create_time, e.start_time, e.end_time
        FROM jobs_internal.visible_runs AS e
        WHERE e.job_id = l.job_id
            AND e.create_time >= @since
            AND e.mode IS NULL
        ORDER BY e.create_time DESC, e.job_execution_id
    ) AS r
    ORDER BY j.name, r.create_time, r.job_execution_id
    OPTION (RECOMPILE);
    RETURN 0;
END;
