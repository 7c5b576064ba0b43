-- The newest runs that had a database in a list of targets, of all jobs or one: one row per step. It only reads. Its cost depends on the
-- number of jobs (one key each) and on the rows that it returns, not on the history.
--
-- Parameters:
--   @target_id  The database (target_id of jobs.job_execution_targets).
--   @job_name   Only runs of this job; NULL: of all.
--   @before     Only runs that were created before this one (job_execution_id); NULL: all. A run that does not exist counts as NULL.
--   @top        Maximum number of runs, 1 to 500. NULL: 50.
-- Called by: members of the role jobs_reader.
-- Locks:     none.
-- Returns:   One row per step of a run on the target, the newest runs first: job_execution_id, job_name, job_id, job_version, step_id,
--            step_name, server_name, database_name (NULL: an endpoint), lifecycle (as in jobs.job_execution_targets), is_active,
--            attempts, start_time, end_time, error_number, message (the first 300 characters; NULL: that of the lifecycle),
--            run_lifecycle, create_time (of the run), started_by (NULL: a schedule or a trigger), schedule_name, due_time, is_rerun,
--            duration_ms (as in jobs.job_execution_targets), mode (Trial or Preflight; NULL: its scripts ran), trigger_name (as in
--            jobs.sp_get_run).
-- Throws:
--   50097 a text is longer than its limit.
CREATE OR ALTER PROCEDURE jobs.sp_get_target_runs
    @target_id UNIQUEIDENTIFIER = NULL,
    @job_name  NVARCHAR(129) = NULL,
    @before    UNIQUEIDENTIFIER = NULL,
    @top       INT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    DECLARE @before_id BIGINT = 9223372036854775807;
    DECLARE @runs TABLE (
        execution_id BIGINT NOT NULL PRIMARY KEY,
        job_id       UNIQUEIDENTIFIER NOT NULL
    );
    SET @top = CASE WHEN @top > 500 THEN 500 WHEN @top < 1 THEN 1 ELSE COALESCE(@top, 50) END;
    SELECT @before_id = e.execution_id
    FROM jobs_internal.visible_runs AS e
    WHERE e.job_execution_id = @before;

    -- Plan: UQ_jobs_name with the rows of the jobs, and per job the newest keys of IX_target_executions_target_id.
    INSERT INTO @runs (execution_id, job_id)
    SELECT TOP (@top) r.execution_id, j.job_id
    FROM jobs_internal.jobs AS j
    CROSS APPLY (
        SELECT DISTINCT TOP (@top) e.execution_id
        FROM jobs_internal.target_executions AS t
        INNER JOIN jobs_internal.visible_runs AS e ON e.execution_id = t.execution_id
        WHERE t.target_id = @target_id
            AND t.job_id = j.job_id
            AND t.execution_id < @before_id
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.step_lists AS l WHERE l.step_execution_id = t.step_execution_id)
        ORDER BY e.execution_id DESC
    ) AS r
    WHERE j.deleted_at IS NULL
        AND (@job_name IS NULL OR j.name = @job_name)
    ORDER BY r.execution_id DESC
    OPTION (RECOMPILE);

    SELECT
        e.job_execution_id,
        j.name AS job_name,
        e.job_id,
        e.job_version,
        t.step_id,
        d.step_name,
        t.server_name,
        CASE WHEN t.is_endpoint = 0 THEN t.database_name END AS database_name,
        t.lifecycle,
        t.is_active,
        t.attempts,
        t.start_time,
        t.end_time,
        t.error_number,
        LEFT(t.last_message, 300) AS message,
        e.lifecycle AS run_lifecycle,
        e.create_time,
        e.started_by,
        h.name AS schedule_name,
        e.due_at AS due_time,
        CAST(CASE WHEN e.rerun_of IS NULL THEN 0 ELSE 1 END AS BIT) AS is_rerun,
        (SELECT x.duration_ms FROM jobs_internal.target_durations AS x WHERE x.target_execution_id = t.target_execution_id) AS duration_ms,
        e.mode,
        (
            SELECT MIN(COALESCE(g.name, N''))
            FROM jobs_internal.trigger_events AS v
            LEFT JOIN jobs_internal.job_triggers AS g ON g.trigger_id = v.trigger_id
            WHERE v.execution_id = e.execution_id
                AND v.execution_id IS NOT NULL
        ) AS trigger_name
    FROM @runs AS r
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = r.execution_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = r.job_id
    INNER JOIN jobs_internal.target_executions AS t ON t.target_id = @target_id AND t.job_id = r.job_id AND t.execution_id = r.execution_id
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = e.job_id AND d.version = e.job_version AND d.step_id = t.step_id
    LEFT JOIN jobs_internal.schedules AS h ON h.schedule_id = e.schedule_id
    WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.step_lists AS l WHERE l.step_execution_id = t.step_execution_id)
    ORDER BY r.execution_id DESC, t.step_id
    OPTION (RECOMPILE);
    RETURN 0;
END;
