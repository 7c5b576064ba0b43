-- What jobs last did on databases: for each database and job the outcome of the newest run there, and who lacks one. It only reads. Its
-- cost depends on the databases and jobs that it examines (at most 20000 pairs, each a few keys of an index), not on the history.
--
-- Databases: one (@target_id); those of a target group, which are the list that a run resolved last (@target_group_name); else all
-- on which a job ever ran, at most 20000 of them.
-- Jobs: those whose name contains @job_search; without it, on one database those that ran there, for a group those that use it now, and
-- else all. System jobs are left out, and so are trials and preflights.
--
-- The outcome of a job on a database is that of all its steps there, in the newest run that has the database in a list of targets: the
-- first of these that a step has: InProgress or WaitingForRetry; Canceled, Failed, TimedOut, Skipped. Else it is InProgress while the run
-- is active, Incomplete if the run ended without success before its other steps began, and Succeeded otherwise.
--
-- Parameters:
--   @target_group_name  The target group; NULL: none.
--   @target_id          The database (target_id of jobs.job_execution_targets); NULL: several.
--   @search             Part of the database's or server's name; NULL or an empty text: any. Compared as the database compares names.
--   @job_search         Part of the job's name; NULL or an empty text: any.
--   @lacking            1: only databases on which the last outcome of one of these jobs is not Succeeded, or on which it never ran.
--   @after_database     The list begins behind this database; NULL: at its beginning.
--   @after_server       Its server.
--   @after_job          The jobs begin behind this name; NULL: at their beginning.
--   @top                Maximum number of databases, 1 to 1000. NULL: 50. With more than 20 jobs it may be fewer than 1000.
--   @jobs               Maximum number of jobs, 0 to 500. NULL: 50. With 0, the databases are found and nothing else.
-- Called by: members of the role jobs_reader.
-- Locks:     none.
-- Returns:   1: one row: now; job_execution_id, step_id and resolved_time of the list (NULL: it is not that of a group, or no run that is
--               kept has resolved the group); databases (number of databases of the list that @search finds), examined (of these, behind
--               @after_database), next_database and next_server (continue behind them; NULL: that was all), next_job (likewise).
--            2: the jobs, by name: job_id, job_name, and ran: number of the returned databases on which it ran.
--            3: the databases, by database and server: target_id, server_name, database_name (NULL: an endpoint), elastic_pool_name
--               (NULL: none).
--            4: the outcomes, by database and job id; a job that never ran on a database has none: target_id, job_id, outcome,
--               job_execution_id, job_version, step_id (the first step with this outcome), create_time (of the run), end_time (of its last
--               step there), error_number, message (the first 300 characters), last_success_id and last_success_time (of the newest run
--               that succeeded there among the latest 100 steps; NULL: none of them), success_unknown (1: there are older ones).
-- Throws:
--   50097 a text is longer than its limit.
--   50106 the target group does not exist.
CREATE OR ALTER PROCEDURE jobs.sp_get_target_outcomes
    @target_group_name NVARCHAR(129) = NULL,
    @target_id         UNIQUEIDENTIFIER = NULL,
    @search            NVARCHAR(257) = NULL,
    @job_search        NVARCHAR(129) = NULL,
    @lacking           BIT = 0,
    @after_database    NVARCHAR(129) = NULL,
    @after_server      NVARCHAR(257) = NULL,
    @after_job         NVARCHAR(129) = NULL,
    @top               INT = NULL,
    @jobs              INT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    IF DATALENGTH(@target_group_name) > 256
        THROW 50097, N'Invalid @target_group_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@search) > 512
        THROW 50097, N'Invalid @search: want at most 256 characters, not 257 or more.', 1;
    IF DATALENGTH(@job_search) > 256
        THROW 50097, N'Invalid @job_search: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@after_database) > 256
        THROW 50097, N'Invalid @after_database: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@after_server) > 512
        THROW 50097, N'Invalid @after_server: want at most 256 characters, not 257 or more.', 1;
    IF DATALENGTH(@after_job) > 256
        THROW 50097, N'Invalid @after_job: want at most 128 characters, not 129 or more.', 1;

    DECLARE @message NVARCHAR(2048);
    DECLARE @group_id UNIQUEIDENTIFIER;
    DECLARE @job_execution_id UNIQUEIDENTIFIER;
    DECLARE @step_id INT;
    DECLARE @step_execution_id BIGINT;
    DECLARE @resolved_at DATETIME2(7);
    DECLARE @id UNIQUEIDENTIFIER;
    DECLARE @found INT = 0;
    DECLARE @databases INT;
    DECLARE @examined INT;
    DECLARE @columns INT;
    DECLARE @window INT;
    DECLARE @next_job NVARCHAR(128);
    DECLARE @next_database NVARCHAR(128);
    DECLARE @next_server NVARCHAR(256);
    DECLARE @listed TABLE ( -- all databases
        target_id         UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        server_name       NVARCHAR(256) NOT NULL,
        database_name     NVARCHAR(128) NOT NULL,
        elastic_pool_name NVARCHAR(128) NULL
    );
    DECLARE @wanted TABLE ( -- those that are examined, and then those that are returned
        target_id         UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        place             INT NOT NULL,
        server_name       NVARCHAR(256) NOT NULL,
        database_name     NVARCHAR(128) NOT NULL,
        elastic_pool_name NVARCHAR(128) NULL
    );
    DECLARE @named TABLE (
        job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        name   NVARCHAR(128) NOT NULL
    );
    DECLARE @outcomes TABLE (
        target_id    UNIQUEIDENTIFIER NOT NULL,
        job_id       UNIQUEIDENTIFIER NOT NULL,
        execution_id BIGINT NOT NULL,
        outcome      NVARCHAR(50) NOT NULL,
        end_time     DATETIME2(7) NULL,
        PRIMARY KEY (target_id, job_id)
    );
    SET @lacking = COALESCE(@lacking, 0);
    SET @search = NULLIF(@search, N'');
    SET @job_search = NULLIF(@job_search, N'');
    SET @top = CASE WHEN @top > 1000 THEN 1000 WHEN @top < 1 THEN 1 ELSE COALESCE(@top, 50) END;
    SET @jobs = CASE WHEN @jobs > 500 THEN 500 WHEN @jobs < 0 THEN 0 ELSE COALESCE(@jobs, 50) END;

    IF @target_group_name IS NOT NULL
    BEGIN
        SELECT @group_id = g.target_group_id
        FROM jobs_internal.target_groups AS g
        WHERE g.name = @target_group_name;
        IF @group_id IS NULL
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'The target group ''', @target_group_name, N''' does not exist. The view jobs.target_groups lists all target groups.'
            ), N'%', N'%%');
            THROW 50106, @message, 1;
        END;
    END;

    -- The databases.
    IF @target_id IS NOT NULL
        -- Plan: the last key of IX_target_executions_target_id with its row. Any row does: a database has the same name in all runs but
        -- for its case.
        INSERT INTO @listed (target_id, server_name, database_name, elastic_pool_name)
        SELECT TOP (1) t.target_id, t.server_name, t.database_name, t.elastic_pool_name
        FROM jobs_internal.target_executions AS t
        WHERE t.target_id = @target_id
        ORDER BY t.job_id DESC, t.execution_id DESC;
    ELSE IF @group_id IS NOT NULL
    BEGIN
        -- Plan: the newest eight runs of each job that uses the group, and their steps by UQ_step_executions_step_id.
        SELECT TOP (1)
            @job_execution_id = e.job_execution_id,
            @step_id = s.step_id,
            @step_execution_id = s.step_execution_id,
            @resolved_at = s.resolved_at
        FROM jobs_internal.jobs AS j
        CROSS APPLY (
            SELECT TOP (8) v.execution_id, v.job_execution_id
            FROM jobs_internal.visible_runs AS v
            WHERE v.job_id = j.job_id
                AND v.only_targets IS NULL
                AND v.upstream_runs IS NULL
            ORDER BY v.create_time DESC, v.job_execution_id
        ) AS e
        INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id
        INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
        WHERE j.deleted_at IS NULL
            AND s.resolved_at IS NOT NULL
            AND d.target_group_id = @group_id
            AND EXISTS (
                SELECT 1
                FROM jobs_internal.job_steps AS c
                WHERE c.job_id = j.job_id
                    AND c.version = j.current_version
                    AND c.target_group_id = @group_id
            )
            AND EXISTS ( -- see jobs.group_resolutions
                SELECT 1
                FROM jobs_internal.task_executions AS k
                WHERE k.execution_id = s.execution_id
                    AND k.step_execution_id = s.step_execution_id
                    AND k.target_execution_id IS NULL
                    AND k.outcome = N'Succeeded'
            )
        ORDER BY s.resolved_at DESC, s.step_execution_id;
        -- Plan: the step's range of UQ_target_executions_target_id with its rows.
        INSERT INTO @listed (target_id, server_name, database_name, elastic_pool_name)
        SELECT t.target_id, t.server_name, t.database_name, t.elastic_pool_name
        FROM jobs_internal.target_executions AS t
        WHERE t.step_execution_id = @step_execution_id
            AND t.is_endpoint = 0
            AND (CHARINDEX(@search, t.database_name) > 0 OR CHARINDEX(@search, t.server_name) > 0 OR COALESCE(@search, N'') = N'')
        OPTION (RECOMPILE);
    END
    ELSE
    BEGIN
        -- Plan: one key of IX_target_executions_target_id per database, with its row: the keys of a database are skipped, however many.
        SET @id = (SELECT TOP (1) t.target_id FROM jobs_internal.target_executions AS t ORDER BY t.target_id);
        WHILE @id IS NOT NULL AND @found < 20000
        BEGIN
            INSERT INTO @listed (target_id, server_name, database_name, elastic_pool_name)
            SELECT f.target_id, f.server_name, f.database_name, f.elastic_pool_name
            FROM (
                SELECT TOP (1) t.target_id, t.server_name, t.database_name, t.elastic_pool_name, t.is_endpoint
                FROM jobs_internal.target_executions AS t
                WHERE t.target_id = @id
                ORDER BY t.job_id, t.execution_id
            ) AS f
            WHERE f.is_endpoint = 0
                AND (CHARINDEX(@search, f.database_name) > 0 OR CHARINDEX(@search, f.server_name) > 0 OR COALESCE(@search, N'') = N'');
            SET @found = @found + 1;
            SET @id = (SELECT TOP (1) t.target_id FROM jobs_internal.target_executions AS t WHERE t.target_id > @id ORDER BY t.target_id);
        END;
    END;
    SET @databases = (SELECT COUNT(*) FROM @listed AS l);

    -- The jobs. Plan: the names of jobs in their order; per job one key of job_steps, or of IX_target_executions_target_id.
    INSERT INTO @named (job_id, name)
    SELECT TOP (@jobs + 1) j.job_id, j.name
    FROM jobs_internal.jobs AS j
    WHERE j.deleted_at IS NULL
        AND j.is_system = 0
        AND j.name > COALESCE(@after_job, N'')
        AND (
            (@job_search IS NOT NULL AND CHARINDEX(@job_search, j.name) > 0)
            OR (@job_search IS NULL AND @target_id IS NOT NULL AND EXISTS (
                SELECT 1
                FROM jobs_internal.target_executions AS t
                WHERE t.target_id = @target_id
                    AND t.job_id = j.job_id
            ))
            OR (@job_search IS NULL AND @target_id IS NULL AND @group_id IS NOT NULL AND EXISTS (
                SELECT 1
                FROM jobs_internal.job_steps AS c
                WHERE c.job_id = j.job_id
                    AND c.version = j.current_version
                    AND c.target_group_id = @group_id
            ))
            OR (@job_search IS NULL AND @target_id IS NULL AND @group_id IS NULL)
        )
    ORDER BY j.name
    OPTION (RECOMPILE);
    SET @columns = @@ROWCOUNT;
    IF @columns > @jobs
    BEGIN
        DELETE FROM @named WHERE name = (SELECT MAX(n.name) FROM @named AS n);
        SET @columns = @jobs;
        SET @next_job = (SELECT MAX(n.name) FROM @named AS n);
    END;

    -- The next databases: as many as the page has, or as may be examined to find those that lack something; with many jobs fewer.
    SET @window = CASE
        WHEN @columns > 0 AND (@lacking = 1 OR 20000 / NULLIF(@columns, 0) < @top) THEN 20000 / @columns
        ELSE @top
    END;
    INSERT INTO @wanted (target_id, place, server_name, database_name, elastic_pool_name)
    SELECT TOP (@window + 1)
        l.target_id,
        ROW_NUMBER() OVER (ORDER BY l.database_name, l.server_name, l.target_id) AS place,
        l.server_name,
        l.database_name,
        l.elastic_pool_name
    FROM @listed AS l
    WHERE @after_database IS NULL
        OR l.database_name > @after_database
        OR (l.database_name = @after_database AND l.server_name > COALESCE(@after_server, N''))
    ORDER BY l.database_name, l.server_name, l.target_id
    OPTION (RECOMPILE);
    SET @examined = @@ROWCOUNT;
    IF @examined > @window
    BEGIN
        DELETE FROM @wanted WHERE place > @window;
        SET @examined = @window;
        SELECT @next_database = w.database_name, @next_server = w.server_name
        FROM @wanted AS w
        WHERE w.place = @window;
    END;

    -- Plan: for each pair the newest key of IX_target_executions_target_id with its run, and then the keys of this run, with their rows.
    INSERT INTO @outcomes (target_id, job_id, execution_id, outcome, end_time)
    SELECT
        w.target_id,
        n.job_id,
        r.execution_id,
        CASE
            WHEN s.retrying > 0 AND s.running = s.retrying THEN N'WaitingForRetry'
            WHEN s.running > 0 THEN N'InProgress'
            WHEN s.canceled > 0 THEN N'Canceled'
            WHEN s.failed > 0 THEN N'Failed'
            WHEN s.timed_out > 0 THEN N'TimedOut'
            WHEN s.skipped > 0 THEN N'Skipped'
            WHEN r.is_active = 1 THEN N'InProgress'
            WHEN r.lifecycle NOT IN (N'Succeeded', N'SucceededWithSkipped') AND EXISTS (
                SELECT 1
                FROM jobs_internal.job_steps AS d
                WHERE d.job_id = n.job_id
                    AND d.version = r.job_version
                    AND NOT EXISTS (
                        SELECT 1
                        FROM jobs_internal.step_executions AS b
                        WHERE b.execution_id = r.execution_id
                            AND b.step_id = d.step_id
                    )
            ) THEN N'Incomplete'
            ELSE N'Succeeded'
        END,
        CASE WHEN s.running = 0 THEN s.end_time END
    FROM @wanted AS w
    CROSS JOIN @named AS n
    CROSS APPLY (
        SELECT TOP (1) e.execution_id, e.job_version, e.lifecycle, e.is_active
        FROM jobs_internal.target_executions AS t
        INNER JOIN jobs_internal.visible_runs AS e ON e.execution_id = t.execution_id
        WHERE t.target_id = w.target_id
            AND t.job_id = n.job_id
            AND e.mode IS NULL -- a trial or a preflight leaves the database as it was
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.step_lists AS l WHERE l.step_execution_id = t.step_execution_id)
        ORDER BY t.execution_id DESC
    ) AS r
    CROSS APPLY (
        SELECT
            SUM(CASE WHEN t.is_active = 1 THEN 1 ELSE 0 END) AS running,
            SUM(CASE WHEN t.lifecycle = N'WaitingForRetry' THEN 1 ELSE 0 END) AS retrying,
            SUM(CASE WHEN t.lifecycle = N'Canceled' THEN 1 ELSE 0 END) AS canceled,
            SUM(CASE WHEN t.lifecycle = N'Failed' THEN 1 ELSE 0 END) AS failed,
            SUM(CASE WHEN t.lifecycle = N'TimedOut' THEN 1 ELSE 0 END) AS timed_out,
            SUM(CASE WHEN t.lifecycle = N'Skipped' THEN 1 ELSE 0 END) AS skipped,
            MAX(t.end_time) AS end_time
        FROM jobs_internal.target_executions AS t
        WHERE t.target_id = w.target_id
            AND t.job_id = n.job_id
            AND t.execution_id = r.execution_id
    ) AS s
    OPTION (RECOMPILE);

    IF @lacking = 1 AND @columns > 0
    BEGIN
        -- plan: both have the databases and jobs that are examined, and are joined by a key
        DELETE FROM @wanted
        WHERE (
            SELECT COUNT(*)
            FROM @outcomes AS o
            WHERE o.target_id = [@wanted].target_id
                AND o.outcome = N'Succeeded'
        ) = @columns;
        SELECT @next_database = p.database_name, @next_server = p.server_name
        FROM (
            SELECT w.database_name, w.server_name, ROW_NUMBER() OVER (ORDER BY w.place) AS line, COUNT(*) OVER () AS lines
            FROM @wanted AS w
        ) AS p
        WHERE p.line = @top
            AND p.lines > @top;
        DELETE FROM @wanted
        WHERE place > (
            SELECT MAX(p.place)
            FROM (SELECT TOP (@top) w.place FROM @wanted AS w ORDER BY w.place) AS p
        );
    END;

    SELECT
        SYSUTCDATETIME() AS now,
        @job_execution_id AS job_execution_id,
        @step_id AS step_id,
        @resolved_at AS resolved_time,
        @databases AS databases,
        @examined AS examined,
        @next_database AS next_database,
        @next_server AS next_server,
        @next_job AS next_job;

    SELECT n.job_id, n.name AS job_name, (
        SELECT COUNT(*)
        FROM @outcomes AS o
        INNER JOIN @wanted AS w ON w.target_id = o.target_id
        WHERE o.job_id = n.job_id
    ) AS ran
    FROM @named AS n
    ORDER BY n.name
    OPTION (RECOMPILE);

    SELECT w.target_id, w.server_name, NULLIF(w.database_name, N'') AS database_name, w.elastic_pool_name
    FROM @wanted AS w
    ORDER BY w.place;

    -- Plan: for each outcome its run, the keys of the run on this target, and at most 100 keys behind the newest one.
    SELECT
        o.target_id,
        o.job_id,
        o.outcome,
        e.job_execution_id,
        e.job_version,
        s.step_id,
        e.create_time,
        o.end_time,
        s.error_number,
        LEFT(s.last_message, 300) AS message,
        CASE WHEN o.outcome = N'Succeeded' THEN e.job_execution_id ELSE g.job_execution_id END AS last_success_id,
        CASE WHEN o.outcome = N'Succeeded' THEN o.end_time ELSE g.end_time END AS last_success_time,
        CAST(CASE
            WHEN o.outcome <> N'Succeeded' AND g.job_execution_id IS NULL AND c.keys = 101 THEN 1
            ELSE 0
        END AS BIT) AS success_unknown
    FROM @outcomes AS o
    INNER JOIN @wanted AS w ON w.target_id = o.target_id
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = o.execution_id
    CROSS APPLY (
        SELECT TOP (1) t.step_id, t.error_number, t.last_message
        FROM jobs_internal.target_executions AS t
        WHERE t.target_id = o.target_id
            AND t.job_id = o.job_id
            AND t.execution_id = o.execution_id
        ORDER BY
            CASE
                WHEN t.lifecycle = o.outcome THEN 0
                WHEN t.is_active = 1 THEN 1
                ELSE 2
            END,
            t.step_id
    ) AS s
    CROSS APPLY (
        SELECT COUNT(*) AS keys, MIN(k.execution_id) AS first_id
        FROM (
            SELECT TOP (101) t.execution_id
            FROM jobs_internal.target_executions AS t
            WHERE t.target_id = o.target_id
                AND t.job_id = o.job_id
                AND t.execution_id < o.execution_id
                AND o.outcome <> N'Succeeded'
            ORDER BY t.execution_id DESC
        ) AS k
    ) AS c
    OUTER APPLY (
        SELECT TOP (1) v.job_execution_id, t.end_time
        FROM jobs_internal.target_executions AS t
        INNER JOIN jobs_internal.visible_runs AS v ON v.execution_id = t.execution_id
        WHERE t.target_id = o.target_id
            AND t.job_id = o.job_id
            AND t.execution_id < o.execution_id
            AND (t.execution_id > c.first_id OR c.keys <= 100) -- all steps of these runs are among the keys
            AND o.outcome <> N'Succeeded'
            AND t.lifecycle = N'Succeeded'
            AND v.is_active = 0
            AND v.mode IS NULL
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.target_executions AS x
                WHERE x.target_id = o.target_id
                    AND x.job_id = o.job_id
                    AND x.execution_id = t.execution_id
                    AND x.lifecycle <> N'Succeeded'
            )
            AND (
                v.lifecycle IN (N'Succeeded', N'SucceededWithSkipped')
                OR NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.job_steps AS d
                    WHERE d.job_id = o.job_id
                        AND d.version = v.job_version
                        AND NOT EXISTS (
                            SELECT 1
                            FROM jobs_internal.step_executions AS b
                            WHERE b.execution_id = v.execution_id
                                AND b.step_id = d.step_id
                        )
                )
            )
        ORDER BY t.execution_id DESC, t.step_id DESC
    ) AS g
    ORDER BY w.place, o.job_id
    OPTION (RECOMPILE);
    RETURN 0;
END;
