-- Adds a trigger, or changes one: the writer behind jobs.sp_add_job_trigger and jobs.sp_update_job_trigger.
--
-- Parameters:
--   @mode           Add: the trigger is new. Update: it exists; an argument that is NULL leaves its value.
--   @job_name       Name of the job that it starts.
--   @trigger_name   Name of the trigger.
--   @upstream_jobs  Names of the jobs that it watches: a JSON array.
--   @run_when       What their runs end with.
--   @targets        Which databases its runs have.
--   @enabled        1: runs that end start the job.
--   @trigger_id     Receives the id.
-- Called by: jobs.sp_add_job_trigger, jobs.sp_update_job_trigger. It has the transaction.
-- Locks:     the job's row (U), job_triggers (U as a whole), the trigger (X), its upstreams (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:    the errors of its callers.
CREATE OR ALTER PROCEDURE jobs_internal.store_trigger
    @mode          NVARCHAR(10),
    @job_name      NVARCHAR(129),
    @trigger_name  NVARCHAR(129),
    @upstream_jobs NVARCHAR(MAX),
    @run_when      NVARCHAR(11),
    @targets       NVARCHAR(11),
    @enabled       BIT,
    @trigger_id    BIGINT OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @missing NVARCHAR(128);
    DECLARE @path NVARCHAR(MAX);
    DECLARE @locked INT;
    DECLARE @count INT = 1;
    DECLARE @was_enabled BIT;
    DECLARE @old_when NVARCHAR(10);
    DECLARE @old_targets NVARCHAR(10);
    DECLARE @useless NVARCHAR(128); -- a job without a step on databases
    DECLARE @changed INT = 0; -- 1: events that wait are skipped
    DECLARE @action NVARCHAR(128) = CASE WHEN @mode = N'Add' THEN N'sp_add_job_trigger' ELSE N'sp_update_job_trigger' END;
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @upstreams TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, name NVARCHAR(128) NOT NULL);
    -- Jobs after which, directly or not, the job would start, with the jobs between them and it.
    DECLARE @reached TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, path NVARCHAR(MAX) NOT NULL, level INT NOT NULL);

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@trigger_name) > 256
        THROW 50097, N'Invalid @trigger_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@run_when) > 20
        THROW 50097, N'Invalid @run_when: want at most 10 characters, not 11 or more.', 1;
    IF DATALENGTH(@targets) > 20
        THROW 50097, N'Invalid @targets: want at most 10 characters, not 11 or more.', 1;
    IF @trigger_name IS NULL OR LTRIM(@trigger_name) = N''
        THROW 50470, N'Missing trigger name: @trigger_name is NULL or empty.', 1;
    IF @mode = N'Add'
        EXECUTE jobs_internal.check_name @name = @trigger_name, @parameter = N'@trigger_name';
    IF @run_when COLLATE Latin1_General_100_CI_AS NOT IN (N'succeeded', N'failed', N'finished') OR (@mode = N'Add' AND @run_when IS NULL)
        THROW 50471, N'Invalid @run_when of a trigger: want Succeeded, Failed or Finished.', 1;
    SET @run_when = CASE @run_when COLLATE Latin1_General_100_CI_AS
        WHEN N'succeeded' THEN N'Succeeded'
        WHEN N'failed' THEN N'Failed'
        WHEN N'finished' THEN N'Finished'
    END;
    IF @targets COLLATE Latin1_General_100_CI_AS NOT IN (N'all', N'succeeded') OR (@mode = N'Add' AND @targets IS NULL)
        THROW 50481, N'Invalid @targets of a trigger: want All or Succeeded.', 1;
    SET @targets = CASE @targets COLLATE Latin1_General_100_CI_AS WHEN N'all' THEN N'All' WHEN N'succeeded' THEN N'Succeeded' END;
    IF @upstream_jobs IS NOT NULL OR @mode = N'Add'
    BEGIN
        IF @upstream_jobs IS NULL OR ISJSON(@upstream_jobs) = 0 OR LEFT(LTRIM(@upstream_jobs), 1) <> N'['
            THROW 50472, N'Invalid @upstream_jobs: want a JSON array of 1 to 50 names of jobs, such as ["load"].', 1;
        IF NOT EXISTS (SELECT 1 FROM OPENJSON(@upstream_jobs) AS o)
            OR (SELECT COUNT(*) FROM OPENJSON(@upstream_jobs) AS o) > 50
            OR EXISTS (SELECT 1 FROM OPENJSON(@upstream_jobs) AS o WHERE o.type <> 1)
            THROW 50472, N'Invalid @upstream_jobs: want a JSON array of 1 to 50 names of jobs, such as ["load"].', 1;
    END;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_job @job_name = @job_name, @job_id = @job_id OUTPUT;
    EXECUTE jobs_internal.refuse_rest_job @job_id = @job_id, @job_name = @job_name;
    IF EXISTS (SELECT 1 FROM jobs_internal.jobs AS j WHERE j.job_id = @job_id AND j.is_system = 1)
    BEGIN
        SET @message = REPLACE(CONCAT(N'The job ''', @job_name, N''' is a system job, and no trigger can start it.'), N'%', N'%%');
        THROW 50475, @message, 1;
    END;
    -- All of them, so that two sessions cannot make a cycle together.
    SELECT @locked = COUNT(t.generation) -- which is in no index, so that the locks are on the clustered keys
    FROM jobs_internal.job_triggers AS t WITH (UPDLOCK, HOLDLOCK);

    SET @trigger_id = NULL;
    SELECT
        @trigger_id = t.trigger_id,
        @old_when = t.run_when,
        @old_targets = t.targets,
        @was_enabled = t.enabled
    FROM jobs_internal.job_triggers AS t
    WHERE t.job_id = @job_id
        AND t.name = @trigger_name;
    IF @mode = N'Add' AND @trigger_id IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job ''', @job_name, N''' has a trigger named ''', @trigger_name,
            N''' already. Choose another name, or change it with jobs.sp_update_job_trigger.'
        ), N'%', N'%%');
        THROW 50133, @message, 1;
    END;
    IF @mode = N'Update' AND @trigger_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job ''', @job_name, N''' has no trigger ''', @trigger_name, N'''. The view jobs.job_triggers lists all triggers.'
        ), N'%', N'%%');
        THROW 50134, @message, 1;
    END;

    IF @upstream_jobs IS NOT NULL
    BEGIN
        SELECT TOP (1) @missing = LEFT(o.value, 128)
        FROM OPENJSON(@upstream_jobs) AS o
        WHERE NOT EXISTS (
            SELECT 1
            FROM jobs_internal.jobs AS j
            WHERE j.name = o.value COLLATE DATABASE_DEFAULT
                AND j.deleted_at IS NULL
        )
        ORDER BY CAST(o.[key] AS INT);
        IF @missing IS NOT NULL
        BEGIN
            SET @message = REPLACE(CONCAT(N'The job ''', @missing, N''' does not exist. The view jobs.jobs lists all jobs.'), N'%', N'%%');
            THROW 50100, @message, 1;
        END;
        INSERT INTO @upstreams (job_id, name)
        SELECT j.job_id, j.name
        FROM jobs_internal.jobs AS j
        WHERE j.deleted_at IS NULL
            AND j.name IN (SELECT o.value COLLATE DATABASE_DEFAULT FROM OPENJSON(@upstream_jobs) AS o);
        SELECT TOP (1) @missing = u.name
        FROM @upstreams AS u
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = u.job_id
        WHERE j.is_system = 1
            OR EXISTS (SELECT 1 FROM jobs_internal.scheduler_jobs AS s WHERE s.job_id = u.job_id)
            OR EXISTS (SELECT 1 FROM jobs_internal.rest_jobs AS r WHERE r.job_id = u.job_id)
        ORDER BY u.name;
        IF @missing IS NOT NULL
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'The job ''', @missing,
                N''' is a system job, or belongs to a job collection or the SAP surface. No trigger can watch it.'
            ), N'%', N'%%');
            THROW 50475, @message, 1;
        END;

        INSERT INTO @reached (job_id, path, level)
        SELECT u.job_id, CONCAT(CAST(N'''' AS NVARCHAR(MAX)), u.name, N''' -> ''', @job_name, N''''), 1
        FROM @upstreams AS u;
        WHILE @count > 0 AND NOT EXISTS (SELECT 1 FROM @reached AS r WHERE r.job_id = @job_id)
        BEGIN
            INSERT INTO @reached (job_id, path, level)
            SELECT x.upstream_job_id, CONCAT(CAST(N'''' AS NVARCHAR(MAX)), MIN(j.name), N''' -> ', MIN(r.path)), MIN(r.level) + 1
            FROM @reached AS r
            INNER JOIN jobs_internal.job_triggers AS t ON t.job_id = r.job_id
            INNER JOIN jobs_internal.job_trigger_upstreams AS x ON x.trigger_id = t.trigger_id
            INNER JOIN jobs_internal.jobs AS j ON j.job_id = x.upstream_job_id
            WHERE x.upstream_job_id NOT IN (SELECT y.job_id FROM @reached AS y)
            GROUP BY x.upstream_job_id;
            SET @count = @@ROWCOUNT;
        END;
        SELECT @path = r.path
        FROM @reached AS r
        WHERE r.job_id = @job_id;
        IF @path IS NOT NULL
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'The job ''', @job_name, N''' would start itself: ', LEFT(@path, 1600),
                N'. Remove one of these triggers, or change what it watches.'
            ), N'%', N'%%');
            THROW 50476, @message, 1;
        END;
    END;

    -- A job without steps may get some. Each change of the trigger looks again, since steps may have changed.
    IF COALESCE(@targets, @old_targets) = N'Succeeded'
    BEGIN
        WITH concerned AS (
            SELECT @job_id AS job_id
            UNION
            SELECT u.job_id
            FROM @upstreams AS u
            UNION
            SELECT x.upstream_job_id
            FROM jobs_internal.job_trigger_upstreams AS x
            WHERE x.trigger_id = @trigger_id
                AND @upstream_jobs IS NULL
        )
        SELECT TOP (1) @useless = j.name
        FROM concerned AS c
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = c.job_id
        WHERE EXISTS (SELECT 1 FROM jobs_internal.job_steps AS d WHERE d.job_id = j.job_id AND d.version = j.current_version)
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.job_steps AS d
                WHERE d.job_id = j.job_id
                    AND d.version = j.current_version
                    AND d.target_group_id <> '00000000-0000-0000-0000-000000000000'
            )
        ORDER BY j.name;
        IF @useless IS NOT NULL
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'No step of the job ''', @useless, N''' runs on databases, so @targets = Succeeded leaves nothing to run on. ',
                N'Choose All, or give the job a step with a target group.'
            ), N'%', N'%%');
            THROW 50482, @message, 1;
        END;
    END;

    -- Before the first row is written: the names of jobs are read.
    IF @mode = N'Update'
        EXECUTE jobs_internal.state_of_trigger @trigger_id = @trigger_id, @state = @audit_before OUTPUT;
    SET @audit_after = (
        SELECT
            @trigger_name AS name,
            COALESCE(@run_when, @old_when) AS run_when,
            COALESCE(@targets, @old_targets) AS targets,
            JSON_QUERY(CASE
                WHEN @upstream_jobs IS NULL THEN JSON_QUERY(@audit_before, '$.upstream_jobs')
                ELSE (
                    SELECT CONCAT(N'[', STRING_AGG(
                        CONCAT(CAST(N'"' AS NVARCHAR(MAX)), STRING_ESCAPE(u.name, 'json'), N'"'), N','
                    ) WITHIN GROUP (ORDER BY u.name), N']')
                    FROM @upstreams AS u
                )
            END) AS upstream_jobs,
            COALESCE(@enabled, @was_enabled, CAST(1 AS BIT)) AS enabled
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );

    IF @mode = N'Add'
    BEGIN
        INSERT INTO jobs_internal.job_triggers (job_id, name, run_when, targets, enabled, generation, created_at, updated_at)
        VALUES (@job_id, @trigger_name, @run_when, @targets, COALESCE(@enabled, 1), 1, @now, @now);
        SET @trigger_id = SCOPE_IDENTITY();
    END
    ELSE
    BEGIN
        IF @run_when <> @old_when
            OR (@upstream_jobs IS NOT NULL AND EXISTS (
                SELECT COALESCE(u.job_id, x.upstream_job_id)
                FROM @upstreams AS u
                FULL JOIN (
                    SELECT o.upstream_job_id
                    FROM jobs_internal.job_trigger_upstreams AS o
                    WHERE o.trigger_id = @trigger_id
                ) AS x ON x.upstream_job_id = u.job_id
                WHERE u.job_id IS NULL
                    OR x.upstream_job_id IS NULL
            ))
            SET @changed = 1;
        IF @enabled = 0 AND @was_enabled = 1
            SET @changed = 1;
        UPDATE t
        SET t.run_when = COALESCE(@run_when, t.run_when),
            t.targets = COALESCE(@targets, t.targets),
            t.enabled = COALESCE(@enabled, t.enabled),
            t.generation = t.generation + @changed,
            t.updated_at = @now
        FROM jobs_internal.job_triggers AS t
        WHERE t.trigger_id = @trigger_id;
        IF @upstream_jobs IS NOT NULL
            DELETE u
            FROM jobs_internal.job_trigger_upstreams AS u
            WHERE u.trigger_id = @trigger_id;
    END;
    INSERT INTO jobs_internal.job_trigger_upstreams (trigger_id, upstream_job_id)
    SELECT @trigger_id, u.job_id
    FROM @upstreams AS u;
    EXECUTE jobs_internal.raise_revision @job_id = @job_id;

    EXECUTE jobs_internal.audit
        @action = @action,
        @object_kind = N'Trigger',
        @object_name = @trigger_name,
        @object_id = @trigger_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @before = @audit_before,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
