-- What failed lately, the same error of a step once with the number of its runs and targets. It only reads. Its cost depends on the
-- failures of the period, at most 2000 runs and some 10000 targets, and not on the history.
--
-- A failure that a rerun of its run has mended is no failure any more: the step succeeded on the target in that rerun, or in a rerun of it.
-- Trials and preflights are left out.
--
-- Parameters:
--   @hours  Length of the period, which ends now, 1 to 720; values beyond that count as the nearest of these. NULL: 24.
-- Called by: members of the role jobs_reader.
-- Locks:     none.
-- Returns:   1: one row: now, since (the beginning of the period), complete_since (since when all failures are in the lists: later than
--               since if there were more of them than are read), runs (that ended as Failed or TimedOut, or are active with failed
--               targets), targets (that failed in these runs), mended (further targets that failed, and succeeded in a rerun).
--            2: the errors, latest first: job_name, job_id, step_id, step_name, lifecycle (Failed or TimedOut), error_number, message (the
--               first 400 characters; names of the target, where they are in quotation marks, are replaced by ...), runs, targets (0:
--               the step failed before it had targets), first_time, last_time, last_job_execution_id, server_name and database_name
--               (a target of that run).
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs.sp_get_failures
    @hours INT = 24
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    SET @hours = CASE WHEN @hours > 720 THEN 720 WHEN @hours < 1 THEN 1 ELSE COALESCE(@hours, 24) END;
    DECLARE @since DATETIME2(7) = DATEADD(HOUR, -@hours, @now);
    DECLARE @complete_since DATETIME2(7) = @since;
    DECLARE @runs TABLE (
        execution_id     BIGINT NOT NULL PRIMARY KEY,
        job_execution_id UNIQUEIDENTIFIER NOT NULL,
        job_id           UNIQUEIDENTIFIER NOT NULL,
        job_version      INT NOT NULL,
        at               DATETIME2(7) NOT NULL, -- when it ended; now, if it is active
        targets          INT NOT NULL
    );
    DECLARE @failures TABLE (
        failure_id    INT NOT NULL IDENTITY(1, 1) PRIMARY KEY, -- in the order of end_time
        execution_id  BIGINT NOT NULL,
        step_id       INT NOT NULL,
        lifecycle     NVARCHAR(50) NOT NULL,
        error_number  INT NULL,
        message       NVARCHAR(400) NOT NULL,
        is_target     INT NOT NULL, -- 0: a step without targets
        end_time      DATETIME2(7) NOT NULL,
        server_name   NVARCHAR(256) NULL,
        database_name NVARCHAR(128) NULL,
        target_id     UNIQUEIDENTIFIER NULL
    );
    DECLARE @reruns TABLE (
        execution_id BIGINT NOT NULL, -- the run that failed
        rerun_id     BIGINT NOT NULL, -- a rerun of it, or of a rerun of it
        depth        INT NOT NULL,
        PRIMARY KEY (execution_id, rerun_id)
    );
    DECLARE @depth INT = 0;
    DECLARE @mended INT;

    -- Plan: the last keys of IX_job_executions_unsuccessful, each with its row; per run a range of IX_target_executions_failed.
    INSERT INTO @runs (execution_id, job_execution_id, job_id, job_version, at, targets)
    SELECT l.execution_id, l.job_execution_id, l.job_id, l.job_version, l.end_time, (
        SELECT COUNT(*)
        FROM jobs_internal.target_executions AS t
        WHERE t.execution_id = l.execution_id
            AND t.lifecycle IN (N'Failed', N'TimedOut')
    )
    FROM (
        SELECT TOP (2000) e.execution_id, e.job_execution_id, e.job_id, e.job_version, e.end_time
        FROM jobs_internal.visible_runs AS e
        WHERE e.lifecycle IN (N'Canceled', N'Failed', N'TimedOut')
            AND e.end_time >= @since
            AND e.mode IS NULL -- who started a trial looks at it
        ORDER BY e.end_time DESC
    ) AS l;
    IF @@ROWCOUNT = 2000
        SET @complete_since = (SELECT MIN(r.at) FROM @runs AS r);
    -- Plan: the newest 500 keys of IX_job_executions_active_create_time.
    INSERT INTO @runs (execution_id, job_execution_id, job_id, job_version, at, targets)
    SELECT l.execution_id, l.job_execution_id, l.job_id, l.job_version, @now, l.targets
    FROM (
        SELECT TOP (500) e.execution_id, e.job_execution_id, e.job_id, e.job_version, (
            SELECT COUNT(*)
            FROM jobs_internal.target_executions AS t
            WHERE t.execution_id = e.execution_id
                AND t.lifecycle IN (N'Failed', N'TimedOut')
        ) AS targets
        FROM jobs_internal.visible_runs AS e
        WHERE e.is_active = 1
            AND e.mode IS NULL
            AND NOT EXISTS (SELECT 1 FROM @runs AS r WHERE r.execution_id = e.execution_id) -- it ended between the two reads
        ORDER BY e.create_time DESC, e.job_execution_id
    ) AS l
    WHERE l.targets > 0;

    -- The latest runs whose targets are 10000 together, and at least one.
    WITH summed AS (
        SELECT
            r.at,
            SUM(r.targets) OVER (ORDER BY r.at DESC, r.execution_id DESC ROWS UNBOUNDED PRECEDING) - r.targets AS before
        FROM @runs AS r
    )
    SELECT @complete_since = COALESCE(MAX(s.at), @complete_since)
    FROM summed AS s
    WHERE s.before >= 10000;

    INSERT INTO @failures (
        execution_id, step_id, lifecycle, error_number, message, is_target, end_time, server_name, database_name, target_id
    )
    SELECT
        t.execution_id,
        t.step_id,
        t.lifecycle,
        t.error_number,
        COALESCE(LEFT(REPLACE(
            REPLACE(
                REPLACE(LEFT(t.last_message, 600), CONCAT(N'''', t.server_name, N''''), N'''...'''),
                CONCAT(N'''', t.database_name, N''''),
                N'''...'''
            ),
            CONCAT(N'"', t.database_name, N'"'), -- error 4060, for example
            N'"..."'
        ), 400), N''),
        1,
        t.end_time,
        t.server_name,
        t.database_name,
        t.target_id
    FROM @runs AS r
    INNER JOIN jobs_internal.target_executions AS t ON t.execution_id = r.execution_id
    WHERE r.at > @complete_since
        AND t.lifecycle IN (N'Failed', N'TimedOut')
        AND t.end_time >= @since
    ORDER BY t.end_time, t.target_execution_id
    OPTION (RECOMPILE);
    -- Steps that failed before they had targets. Plan: per run a range of UQ_step_executions_step_id.
    INSERT INTO @failures (execution_id, step_id, lifecycle, error_number, message, is_target, end_time)
    SELECT s.execution_id, s.step_id, s.lifecycle, NULL, COALESCE(LEFT(s.last_message, 400), N''), 0, s.end_time
    FROM @runs AS r
    INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = r.execution_id
    WHERE r.at > @complete_since
        AND s.lifecycle IN (N'Failed', N'TimedOut')
        AND s.resolved_at IS NULL
        AND s.end_time >= @since
    OPTION (RECOMPILE);

    -- Plan: per run the keys of IX_job_executions_rerun_of, for its reruns, and for theirs: at most ten times.
    INSERT INTO @reruns (execution_id, rerun_id, depth)
    SELECT r.execution_id, e.execution_id, 0
    FROM @runs AS r
    INNER JOIN jobs_internal.job_executions AS e ON e.rerun_of = r.execution_id
    WHERE e.rerun_of IS NOT NULL
    OPTION (RECOMPILE);
    WHILE @@ROWCOUNT > 0 AND @depth < 10
    BEGIN
        SET @depth = @depth + 1;
        INSERT INTO @reruns (execution_id, rerun_id, depth)
        SELECT r.execution_id, e.execution_id, @depth
        FROM @reruns AS r
        INNER JOIN jobs_internal.job_executions AS e ON e.rerun_of = r.rerun_id
        WHERE r.depth = @depth - 1
            AND e.rerun_of IS NOT NULL
        OPTION (RECOMPILE);
    END;
    -- Plan: per failure and rerun one key of UQ_step_executions_step_id, and one of UQ_target_executions_target_id with its row.
    DELETE FROM @failures
    WHERE EXISTS (
        SELECT 1
        FROM @reruns AS r
        INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = r.rerun_id AND s.step_id = [@failures].step_id
        LEFT JOIN jobs_internal.target_executions AS t
            ON t.step_execution_id = s.step_execution_id
            AND t.target_id = [@failures].target_id
        WHERE r.execution_id = [@failures].execution_id
            AND (
                ([@failures].is_target = 1 AND t.lifecycle = N'Succeeded')
                OR ([@failures].is_target = 0 AND s.resolved_at IS NOT NULL)
            )
    )
    OPTION (RECOMPILE);
    SET @mended = @@ROWCOUNT;

    SELECT
        @now AS now,
        @since AS since,
        @complete_since AS complete_since,
        COUNT(DISTINCT f.execution_id) AS runs,
        COALESCE(SUM(f.is_target), 0) AS targets,
        @mended AS mended
    FROM @failures AS f;

    WITH errors AS (
        SELECT
            r.job_id,
            f.step_id,
            f.lifecycle,
            f.error_number,
            f.message,
            COUNT(DISTINCT f.execution_id) AS runs,
            SUM(f.is_target) AS targets,
            MIN(f.end_time) AS first_time,
            MAX(f.end_time) AS last_time,
            MAX(f.failure_id) AS failure_id
        FROM @failures AS f
        INNER JOIN @runs AS r ON r.execution_id = f.execution_id
        GROUP BY r.job_id, f.step_id, f.lifecycle, f.error_number, f.message
    )
    SELECT TOP (500)
        j.name AS job_name,
        x.job_id,
        x.step_id,
        d.step_name,
        x.lifecycle,
        x.error_number,
        x.message,
        x.runs,
        x.targets,
        x.first_time,
        x.last_time,
        r.job_execution_id AS last_job_execution_id,
        f.server_name,
        f.database_name
    FROM errors AS x
    INNER JOIN @failures AS f ON f.failure_id = x.failure_id
    INNER JOIN @runs AS r ON r.execution_id = f.execution_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = x.job_id
    LEFT JOIN jobs_internal.job_steps AS d ON d.job_id = r.job_id AND d.version = r.job_version AND d.step_id = f.step_id
    WHERE j.deleted_at IS NULL
    ORDER BY x.last_time DESC, x.failure_id DESC
    OPTION (RECOMPILE);
    RETURN 0;
END;
