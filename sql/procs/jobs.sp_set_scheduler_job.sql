-- Creates a job of a job collection, or replaces it, in one transaction: the job (COLLECTION/NAME), its steps MainAction and ErrorAction,
-- and its schedule, scheduler. A call that changes nothing makes no version and does not restart the schedule. An active run continues
-- with the old definition.
--
-- Parameters:
--   @job_collection_name           Name of the collection.
--   @job_name                      Name of the job within the collection; 1 to 100 letters, digits, periods, - and _.
--   @command_type                  Type of the action: Http, StorageQueue, ServiceBusQueue or ServiceBusTopic.
--   @command                       The action: a definition as in jobs.sp_add_jobstep.
--   @schedule                      JSON object with startTime and recurrence of Azure Scheduler, both optional.
--   @retry_attempts                Retries of the action after the first attempt, 0 to 20.
--   @retry_interval_seconds        Wait before each retry, 15 to 2147483.
--   @error_command_type            Type of the error action, which runs once the last try of the action has failed; NULL: none.
--   @error_command                 The error action.
--   @error_retry_attempts          Retries of the error action; NULL: those of the action.
--   @error_retry_interval_seconds  Wait before each of them; NULL: that of the action.
--   @enabled                       1: due instants become runs.
--   @properties                    The action as REST shows it, a JSON object without secrets; NULL: REST derives it from the steps.
--   @secrets                       JSON array of the secrets that the actions name: objects with name (rest- and 32 hexadecimal digits)
--                                  and sealed (as in jobs.sp_set_secret). Those that the job has already are not given; NULL: none.
--   @gap_seconds                   Shortest time between two due instants; NULL: that of frequency and interval.
--   @quotas                        1: the quotas of the collection apply.
--   @if_match                      The revision that the job must have; 0: it must not exist; -1: it must exist. NULL: nothing is
--                                  expected.
--   @created                       Receives 1 if the job was created.
--   @revision                      Receives the revision of the job.
-- Called by: members of the role jobs_author.
-- Locks:     the row in job_collections (U), the job's row (U, X) or the range of its name, the
--            schedule's row (U, X), rows of schedule_buffer (X), the keys of secrets (S), the names in secrets (U, X); inserts into
--            job_versions, step_commands and job_steps.
-- Returns:   0.
-- Throws:
--   50007 the command type is unknown.
--   50009 the command is missing or empty.
--   50058 the definition of an action is invalid.
--   50074 the name of a secret is missing or invalid.
--   50075 the sealed secret is invalid.
--   50082 the name of a job collection, or of a job in one, is missing or invalid.
--   50084 a setting of the job is invalid.
--   50085 the plan Free permits no authentication.
--   50086 the list of secrets is invalid.
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50153 the secret is not sealed for exactly the active keys.
--   50154 the version is not the next one.
--   50164 the job collection does not exist.
--   50166 a quota of the job collection is exceeded.
--   50167 the job is Completed or Faulted.
--   50168 a job of this name exists that belongs to no job collection.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs.sp_set_scheduler_job
    @job_collection_name          NVARCHAR(201),
    @job_name                     NVARCHAR(201),
    @command_type                 NVARCHAR(51),
    @command                      NVARCHAR(MAX),
    @schedule                     NVARCHAR(MAX) = N'{}',
    @retry_attempts               INT = 4,
    @retry_interval_seconds       INT = 30,
    @error_command_type           NVARCHAR(51) = NULL,
    @error_command                NVARCHAR(MAX) = NULL,
    @error_retry_attempts         INT = NULL,
    @error_retry_interval_seconds INT = NULL,
    @enabled                      BIT = 1,
    @properties                   NVARCHAR(MAX) = NULL,
    @secrets                      NVARCHAR(MAX) = NULL,
    @gap_seconds                  BIGINT = NULL,
    @quotas                       BIT = 1,
    @if_match                     BIGINT = NULL,
    @created                      BIT = NULL OUTPUT,
    @revision                     BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @object NVARCHAR(400);
    DECLARE @before NVARCHAR(MAX);
    DECLARE @after NVARCHAR(MAX);
    DECLARE @old_revision BIGINT;
    DECLARE @old_version INT;
    DECLARE @collection_id UNIQUEIDENTIFIER;
    DECLARE @collection_state NVARCHAR(10);
    DECLARE @collection NVARCHAR(100);
    DECLARE @sku NVARCHAR(20);
    DECLARE @max_job_count INT;
    DECLARE @max_frequency NVARCHAR(10);
    DECLARE @max_interval INT;
    DECLARE @least BIGINT;
    DECLARE @nominal BIGINT;
    DECLARE @frequency NVARCHAR(20);
    DECLARE @interval INT;
    DECLARE @authenticates BIT;
    DECLARE @full_name NVARCHAR(201);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @version INT;
    DECLARE @schedule_id BIGINT;
    DECLARE @schedule_revision INT;
    DECLARE @state NVARCHAR(20);
    DECLARE @old_schedule NVARCHAR(MAX);
    DECLARE @old_enabled BIT;
    DECLARE @defined BIT;
    DECLARE @changed BIT = 0;
    DECLARE @stepped BIT = 0;
    DECLARE @cause NVARCHAR(20);
    DECLARE @command_id BIGINT;
    DECLARE @secret_no INT;
    DECLARE @secret_name NVARCHAR(128);
    DECLARE @sealed NVARCHAR(MAX);
    DECLARE @steps TABLE (
        step_id                INT NOT NULL PRIMARY KEY,
        step_name              NVARCHAR(128) NOT NULL,
        command_type           NVARCHAR(50) NOT NULL,
        command                NVARCHAR(MAX) NOT NULL,
        retry_attempts         INT NOT NULL,
        retry_interval_seconds INT NOT NULL,
        run_when               NVARCHAR(10) NOT NULL,
        command_id             BIGINT NULL, -- of the same text in the current version, or of the new one
        is_same                BIT NOT NULL DEFAULT 0
    );
    DECLARE @given TABLE (
        secret_no INT NOT NULL IDENTITY(1, 1) PRIMARY KEY,
        name      NVARCHAR(128) NULL,
        sealed    NVARCHAR(MAX) NULL
    );
    DECLARE @caller NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);

    IF DATALENGTH(@job_collection_name) > 400
        THROW 50097, N'Invalid @job_collection_name: want at most 200 characters, not 201 or more.', 1;
    IF DATALENGTH(@job_name) > 400
        THROW 50097, N'Invalid @job_name: want at most 200 characters, not 201 or more.', 1;
    IF DATALENGTH(@command_type) > 100
        THROW 50097, N'Invalid @command_type: want at most 50 characters, not 51 or more.', 1;
    IF DATALENGTH(@error_command_type) > 100
        THROW 50097, N'Invalid @error_command_type: want at most 50 characters, not 51 or more.', 1;

    EXECUTE jobs_internal.check_collection_name @name = @job_collection_name, @parameter = N'@job_collection_name';
    EXECUTE jobs_internal.check_collection_name @name = @job_name, @parameter = N'@job_name';
    SET @full_name = CONCAT(@job_collection_name, N'/', @job_name);
    IF LEN(@full_name) > 128
        THROW 50082, N'Invalid names of a job collection and a job: want at most 127 characters together.', 1;
    SET @enabled = COALESCE(@enabled, 1);
    SET @retry_attempts = COALESCE(@retry_attempts, 4);
    SET @retry_interval_seconds = COALESCE(@retry_interval_seconds, 30);
    SET @error_retry_attempts = COALESCE(@error_retry_attempts, @retry_attempts);
    SET @error_retry_interval_seconds = COALESCE(@error_retry_interval_seconds, @retry_interval_seconds);
    IF @retry_attempts NOT BETWEEN 0 AND 20
        OR @error_retry_attempts NOT BETWEEN 0 AND 20
        OR @retry_interval_seconds NOT BETWEEN 15 AND 2147483
        OR @error_retry_interval_seconds NOT BETWEEN 15 AND 2147483
        THROW 50084, N'Invalid retry policy: want 0 to 20 retries, and an interval of 15 to 2147483 seconds.', 1;
    IF @schedule IS NULL OR ISJSON(@schedule) = 0 OR LEFT(LTRIM(@schedule), 1) <> N'{'
        THROW 50084, N'Invalid @schedule: want a JSON object with startTime and recurrence, both of which may be omitted.', 1;
    IF @properties IS NOT NULL AND (ISJSON(@properties) = 0 OR LEFT(LTRIM(@properties), 1) <> N'{')
        THROW 50084, N'Invalid @properties: want a JSON object.', 1;
    IF @secrets IS NOT NULL AND (ISJSON(@secrets) = 0 OR LEFT(LTRIM(@secrets), 1) <> N'[')
        THROW 50086, N'Invalid @secrets: want a JSON array of objects with name and sealed.', 1;

    INSERT INTO @steps (step_id, step_name, command_type, command, retry_attempts, retry_interval_seconds, run_when)
    SELECT v.step_id, v.step_name, t.name, COALESCE(v.command, N''), v.attempts, v.seconds, v.run_when
    FROM (VALUES
        (1, N'MainAction', @command_type, @command, @retry_attempts, @retry_interval_seconds, N'Succeeded'),
        (2, N'ErrorAction', @error_command_type, @error_command, @error_retry_attempts, @error_retry_interval_seconds, N'Failed')
    ) AS v (step_id, step_name, command_type, command, attempts, seconds, run_when)
    INNER JOIN (VALUES (N'Http'), (N'StorageQueue'), (N'ServiceBusQueue'), (N'ServiceBusTopic')) AS t (name)
        ON t.name = v.command_type COLLATE Latin1_General_100_CI_AS;
    SET @command_type = (SELECT s.command_type FROM @steps AS s WHERE s.step_id = 1);
    IF @command_type IS NULL
        OR (@error_command_type IS NOT NULL AND NOT EXISTS (SELECT 1 FROM @steps AS s WHERE s.step_id = 2))
        THROW 50007, N'Invalid command type: want Http, StorageQueue, ServiceBusQueue or ServiceBusTopic.', 1;
    IF EXISTS (SELECT 1 FROM @steps AS s WHERE LTRIM(s.command) = N'')
        THROW 50009, N'Missing command: @command or @error_command is NULL or empty.', 1;
    EXECUTE jobs_internal.check_action @command_type = @command_type, @command = @command;
    IF @error_command_type IS NOT NULL
    BEGIN
        SET @error_command_type = (SELECT s.command_type FROM @steps AS s WHERE s.step_id = 2);
        EXECUTE jobs_internal.check_action @command_type = @error_command_type, @command = @error_command;
    END;
    SET @authenticates = CASE
        WHEN EXISTS (SELECT 1 FROM @steps AS s WHERE s.command_type = N'Http' AND JSON_QUERY(s.command, '$.auth') IS NOT NULL) THEN 1
        ELSE 0
    END;

    -- Only frequency and interval: an agent reads the rest.
    IF JSON_QUERY(@schedule, '$.recurrence') IS NULL
        SET @gap_seconds = NULL;
    ELSE
    BEGIN
        SET @frequency = LEFT(JSON_VALUE(@schedule, '$.recurrence.frequency'), 20);
        SET @interval = COALESCE(TRY_CAST(JSON_VALUE(@schedule, '$.recurrence.interval') AS INT), 1);
        EXECUTE jobs_internal.gap_seconds @frequency = @frequency, @interval = @interval, @seconds = @nominal OUTPUT;
        IF @nominal IS NULL
            THROW 50084, N'Invalid recurrence: want the frequency Minute, Hour, Day, Week, Month or Year, and an interval of 1 to 1000.', 1;
        SET @gap_seconds = CASE WHEN @gap_seconds < @nominal THEN @gap_seconds ELSE @nominal END;
    END;
    IF @secrets IS NOT NULL
        INSERT INTO @given (name, sealed)
        SELECT g.name, g.sealed
        FROM OPENJSON(@secrets) WITH (
            name   NVARCHAR(128),
            sealed NVARCHAR(MAX) AS JSON
        ) AS g;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_job_collection
        @job_collection_name = @job_collection_name,
        @collection_id = @collection_id OUTPUT,
        @state = @collection_state OUTPUT;
    SELECT
        @collection = c.name,
        @sku = c.sku,
        @max_job_count = c.max_job_count,
        @max_frequency = c.max_recurrence_frequency,
        @max_interval = c.max_recurrence_interval
    FROM jobs_internal.job_collections AS c
    WHERE c.collection_id = @collection_id;

    -- The job has the name of its collection as it is stored.
    SET @full_name = CONCAT(@collection, N'/', @job_name);
    -- index: UQ_jobs_name, in which other sessions may add the same name
    SELECT
        @job_id = j.job_id,
        @version = j.current_version,
        @revision = j.revision
    FROM jobs_internal.jobs AS j WITH (UPDLOCK, HOLDLOCK, FORCESEEK (UQ_jobs_name (name)))
    WHERE j.name = @full_name
        AND j.deleted_at IS NULL;
    IF @job_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM jobs_internal.scheduler_jobs AS s WHERE s.job_id = @job_id)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'A job named ''', @full_name, N''' exists that belongs to no job collection. Choose another name, or rename that job.'
        ), N'%', N'%%');
        THROW 50168, @message, 1;
    END;
    SET @created = CASE WHEN @job_id IS NULL THEN 1 ELSE 0 END;
    IF @created = 1
    BEGIN
        EXECUTE jobs_internal.check_name @name = @job_name, @parameter = N'@job_name';
        SET @revision = NULL;
    END;
    ELSE
    BEGIN
        -- revision is in no index, so that the lock is on the clustered key, where firings and passes look for it.
        SELECT
            @schedule_id = s.schedule_id,
            @schedule_revision = s.revision,
            @old_schedule = s.spec,
            @old_enabled = s.enabled
        FROM jobs_internal.schedules AS s WITH (UPDLOCK, HOLDLOCK)
        WHERE s.job_id = @job_id
            AND s.name = N'scheduler';
        SELECT @state = v.state
        FROM jobs_internal.scheduler_states AS v
        WHERE v.job_id = @job_id;
    END;
    SET @object = CONCAT(N'The job ''', @full_name, N'''');
    EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;
    IF @state IN (N'Completed', N'Faulted')
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job ''', @full_name, N''' is ', @state, N', which is final. Delete it, and create it again.'
        ), N'%', N'%%');
        THROW 50167, @message, 1;
    END;

    SELECT
        @old_revision = @revision,
        @old_version = @version;
    EXECUTE jobs_internal.audit_collection @job_id = @job_id, @state = @before OUTPUT;

    IF @sku = N'Free' AND @authenticates = 1
        THROW 50085, N'Invalid authentication: jobs of a job collection with the plan Free have none.', 1;
    IF COALESCE(@quotas, 1) = 1
    BEGIN
        IF @created = 1
            AND (SELECT COUNT(*) FROM jobs_internal.scheduler_jobs AS s WHERE s.collection_id = @collection_id) >= @max_job_count
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'The job collection ''', @collection, N''' has as many jobs as its quota maxJobCount permits: the limit is ',
                @max_job_count, N'.'
            ), N'%', N'%%');
            THROW 50166, @message, 1;
        END;
        EXECUTE jobs_internal.gap_seconds @frequency = @max_frequency, @interval = @max_interval, @seconds = @least OUTPUT;
        IF @gap_seconds < @least
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'The job ''', @full_name, N''' recurs every ', @gap_seconds,
                N' s, more often than the quota maxRecurrence of its job collection permits: the limit is ', @max_frequency, N'/',
                @max_interval, N'.'
            ), N'%', N'%%');
            THROW 50166, @message, 1;
        END;
    END;

    IF @created = 1
    BEGIN
        SELECT
            @job_id = NEWID(),
            @version = 0,
            @revision = 1,
            @changed = 1;
        INSERT INTO jobs_internal.jobs (job_id, name, created_at)
        VALUES (@job_id, @full_name, @now);
        INSERT INTO jobs_internal.job_versions (job_id, version, created_at)
        VALUES (@job_id, 0, @now);
        INSERT INTO jobs_internal.schedules (job_id, name, kind, interval_type, interval_count, enabled, created_at, updated_at)
        VALUES (@job_id, N'', N'elastic', N'Once', 1, 0, @now, @now);
        -- rows: one
        INSERT INTO jobs_internal.schedules (
            job_id, name, kind, spec, time_zone, catch_up, overlap, enabled, paused, paused_by, paused_at, pause_note, created_at,
            updated_at
        )
        SELECT
            @job_id, N'scheduler', N'azure-scheduler', @schedule, NULL, N'last', N'Skip', @enabled, p.paused,
            CASE WHEN p.paused = 1 THEN @caller END, CASE WHEN p.paused = 1 THEN @now END,
            CASE WHEN p.paused = 1 THEN N'collection' END, @now, @now
        FROM (SELECT CASE WHEN @collection_state = N'Disabled' THEN 1 ELSE 0 END AS paused) AS p;
        SET @schedule_id = SCOPE_IDENTITY();
        EXECUTE jobs_internal.activate_schedule @schedule_id = @schedule_id, @now = @now;
        INSERT INTO jobs_internal.scheduler_jobs (job_id, collection_id, name, properties, gap_seconds, authenticates)
        VALUES (@job_id, @collection_id, @job_name, @properties, @gap_seconds, @authenticates);
    END
    ELSE
    BEGIN
        -- Texts are compared exactly: the collation may treat different ones as equal.
        IF EXISTS (
            SELECT 1
            FROM jobs_internal.scheduler_jobs AS s
            WHERE s.job_id = @job_id
                AND CAST(COALESCE(s.properties, N'') AS VARBINARY(MAX)) <> CAST(COALESCE(@properties, N'') AS VARBINARY(MAX))
        )
            SET @changed = 1;
        SET @defined = CASE WHEN CAST(@schedule AS VARBINARY(MAX)) <> CAST(@old_schedule AS VARBINARY(MAX)) THEN 1 ELSE 0 END;
        IF @defined = 1 OR @enabled <> @old_enabled
        BEGIN
            SET @changed = 1;
            UPDATE s
            SET s.spec = @schedule,
                s.enabled = @enabled,
                s.next_due_at = NULL,
                s.next_fire_at = NULL,
                s.counted_from = CASE WHEN @defined = 1 THEN s.executions ELSE s.counted_from END,
                s.defined_at = CASE WHEN @defined = 1 THEN @now ELSE s.defined_at END
            FROM jobs_internal.schedules AS s
            WHERE s.schedule_id = @schedule_id;
            IF @defined = 1
                UPDATE f
                SET f.state = N'Canceled',
                    f.reason = N'The schedule was changed.',
                    f.next_at = NULL,
                    f.ended_at = @now
                FROM jobs_internal.schedule_backfills AS f
                WHERE f.schedule_id = @schedule_id
                    AND f.state = N'Open';
            SET @cause = CASE WHEN @enabled = 0 AND @old_enabled = 1 THEN N'Disabled' ELSE N'Changed' END;
            EXECUTE jobs_internal.activate_schedule @schedule_id = @schedule_id, @cause = @cause, @now = @now;
        END;
        UPDATE s
        SET s.properties = @properties,
            s.gap_seconds = @gap_seconds,
            s.authenticates = @authenticates
        FROM jobs_internal.scheduler_jobs AS s
        WHERE s.job_id = @job_id;
    END;

    -- A version whose steps are the given ones stays.
    UPDATE s
    SET s.command_id = d.command_id,
        s.is_same = CASE
            WHEN d.retry_attempts = s.retry_attempts AND d.initial_retry_interval_seconds = s.retry_interval_seconds THEN 1
            ELSE 0
        END
    FROM @steps AS s
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = @job_id AND d.version = @version AND d.step_id = s.step_id
    INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
    WHERE c.command_type = s.command_type
        AND CAST(c.command AS VARBINARY(MAX)) = CAST(s.command AS VARBINARY(MAX));
    IF EXISTS (SELECT 1 FROM @steps AS s WHERE s.is_same = 0)
        OR (SELECT COUNT(*) FROM jobs_internal.job_steps AS d WHERE d.job_id = @job_id AND d.version = @version)
            <> (SELECT COUNT(*) FROM @steps AS s)
        SELECT
            @changed = 1,
            @stepped = 1;
    IF @changed = 1 AND @created = 0
        EXECUTE jobs_internal.raise_revision @job_id = @job_id, @revision = @revision OUTPUT;

    IF @stepped = 1
    BEGIN
        SET @version = @version + 1;
        -- At most two steps, so a loop is sufficient.
        WHILE EXISTS (SELECT 1 FROM @steps AS s WHERE s.command_id IS NULL)
        BEGIN
            INSERT INTO jobs_internal.step_commands (job_id, command_type, command_source, command)
            SELECT TOP (1) @job_id, s.command_type, N'Inline', s.command
            FROM @steps AS s
            WHERE s.command_id IS NULL
            ORDER BY s.step_id;
            SET @command_id = SCOPE_IDENTITY();
            UPDATE s
            SET s.command_id = @command_id
            FROM @steps AS s
            WHERE s.step_id = (SELECT MIN(m.step_id) FROM @steps AS m WHERE m.command_id IS NULL);
        END;
        INSERT INTO jobs_internal.job_versions (job_id, version, created_at, has_dependencies)
        SELECT @job_id, @version, @now, CASE WHEN COUNT(*) > 1 THEN 1 ELSE 0 END
        FROM @steps AS s;
        INSERT INTO jobs_internal.job_steps (
            job_id, version, step_id, step_name, command_id, target_group_id, target_group_name, initial_retry_interval_seconds,
            maximum_retry_interval_seconds, retry_interval_backoff_multiplier, retry_attempts, step_timeout_seconds, run_when, revision
        )
        SELECT
            @job_id, @version, s.step_id, s.step_name, s.command_id, '00000000-0000-0000-0000-000000000000', N'(endpoint)',
            s.retry_interval_seconds, s.retry_interval_seconds, 1.0, s.retry_attempts, 2147483, s.run_when,
            CASE WHEN s.is_same = 1 THEN d.revision ELSE @revision END
        FROM @steps AS s
        LEFT JOIN jobs_internal.job_steps AS d ON d.job_id = @job_id AND d.version = @version - 1 AND d.step_id = s.step_id;
        UPDATE j
        SET j.current_version = @version
        FROM jobs_internal.jobs AS j
        WHERE j.job_id = @job_id;
    END;

    SET @secret_no = (SELECT MIN(g.secret_no) FROM @given AS g);
    WHILE @secret_no IS NOT NULL
    BEGIN
        SELECT
            @secret_name = g.name,
            @sealed = g.sealed
        FROM @given AS g
        WHERE g.secret_no = @secret_no;
        EXECUTE jobs_internal.store_secret @owner = N'rest', @name = @secret_name, @sealed = @sealed, @job_id = @job_id;
        SET @secret_no = (SELECT MIN(g.secret_no) FROM @given AS g WHERE g.secret_no > @secret_no);
    END;

    IF @changed = 1
    BEGIN
        EXECUTE jobs_internal.audit_collection @job_id = @job_id, @state = @after OUTPUT;
        EXECUTE jobs_internal.audit
            @action = N'sp_set_scheduler_job',
            @object_kind = N'Job',
            @object_name = @full_name,
            @object_id = @job_id,
            @job_id = @job_id,
            @before = @before,
            @after = @after,
            @version_before = @old_version,
            @version_after = @version,
            @revision_before = @old_revision,
            @revision_after = @revision,
            @now = @now;
    END;

    COMMIT TRANSACTION;
    RETURN 0;
END;
