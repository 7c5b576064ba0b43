-- Creates a job of the SAP surface, or replaces one by its name (E1, E6, S-16). Of the schedules, one that equals a given one (mode, text,
-- data and description) and can still run keeps its id, its instants and its log; all others are deleted, and the other given ones are
-- made.
--
-- Parameters:
--   @tenant       The tenant; NULL: the provider, in whose own tenant the job is.
--   @job          JSON object: name, job_type, description, action, http_method, active, start_at, end_at, start_text, end_text,
--                 ans_config, calm_config, user, password (object: name, sealed), credential, allow_http, schedules (array of objects
--                 as in jobs_internal.add_rest_schedule). Members without a value are left out. A job whose job_type is CF_TASK is a
--                 task: its action is process: and the name of an entry of the agents' configuration.
--   @create_only  1: a job of this name must not exist.
--   @by           Who does it; cut to 128 characters.
--   @request      See jobs_internal.begin_rest_request.
--   @note         Text of the entry in the action log.
-- Called by: members of the role jobs_author.
-- Locks:     the request (U, X), the tenant (U), the name in jobs (U), the job (U, X), its schedules (U, X) and their active runs (X).
-- Returns:   one row: result (JSON object: job, created, schedules), replayed, answer.
-- Throws:
--   50001 the job name is missing or empty.
--   50002 the job name contains %.
--   50003 the job name is reserved for system jobs.
--   50058 the definition of the action is invalid.
--   50074 the name of a secret is missing or invalid.
--   50075 the sealed secret is invalid.
--   50087 the name of a job is invalid.
--   50088 the action is invalid, or the job has another type.
--   50090 an argument is missing or out of range.
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50153 the password is not sealed for exactly the active keys.
--   50154 the version of the secret is not the next one.
--   50172 the job does not exist in the tenant.
--   50175 a job of this name exists already in the tenant.
--   50178 the tenant has no subscription.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs_rest.set_job
    @tenant      NVARCHAR(129),
    @job         NVARCHAR(MAX),
    @create_only BIT = 0,
    @by          NVARCHAR(MAX) = NULL,
    @request     BINARY(32) = NULL,
    @note        NVARCHAR(1001) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @replayed BIT, @result NVARCHAR(MAX), @answer NVARCHAR(MAX);
    DECLARE @name NVARCHAR(MAX), @type NVARCHAR(20), @action NVARCHAR(MAX), @method NVARCHAR(100), @active BIT, @user NVARCHAR(MAX);
    DECLARE @description NVARCHAR(MAX), @given NVARCHAR(MAX), @password NVARCHAR(128), @sealed NVARCHAR(MAX);
    DECLARE @owner NVARCHAR(128);
    DECLARE @job_name NVARCHAR(128); -- the name, after its length was checked
    DECLARE @rest_job_id INT;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @before NVARCHAR(MAX);
    DECLARE @version INT = 0;
    DECLARE @created BIT = 0;
    DECLARE @doomed NVARCHAR(MAX);
    DECLARE @ordinal INT;
    DECLARE @one NVARCHAR(MAX);
    DECLARE @id UNIQUEIDENTIFIER;
    DECLARE @payload_id BIGINT;
    DECLARE @log NVARCHAR(40);
    DECLARE @schedules TABLE (
        ordinal     INT NOT NULL PRIMARY KEY,
        definition  NVARCHAR(MAX) NOT NULL,
        digest      BINARY(32) NOT NULL,
        place       INT NOT NULL, -- among the equal ones
        active      BIT NOT NULL,
        data        NVARCHAR(MAX) NULL,
        payload_id  BIGINT NULL,
        schedule_id BIGINT NULL,  -- of the schedule that is kept
        id          UNIQUEIDENTIFIER NULL
    );
    DECLARE @old TABLE (
        schedule_id BIGINT NOT NULL PRIMARY KEY,
        id          UNIQUEIDENTIFIER NOT NULL,
        payload_id  BIGINT NOT NULL, -- 0: none
        digest      BINARY(32) NOT NULL,
        place       INT NOT NULL
    );

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@note) > 2000
        THROW 50097, N'Invalid @note: want at most 1000 characters, not 1001 or more.', 1;
    SET @by = LEFT(@by, 128); -- the length of columns for callers

    IF @job IS NULL OR ISJSON(@job) = 0
        THROW 50090, N'Invalid @job: want a JSON object.', 1;
    SELECT
        @name = g.name,
        @type = COALESCE(g.job_type, N'HTTP_ENDPOINT'),
        @action = g.action,
        @method = COALESCE(g.http_method, N'POST'),
        @active = COALESCE(g.active, 0),
        @user = g.[user],
        @description = COALESCE(g.description, N''),
        @given = g.schedules,
        @password = g.password_name,
        @sealed = g.sealed
    FROM OPENJSON(@job) WITH (
        name          NVARCHAR(MAX),
        job_type      NVARCHAR(20),
        action        NVARCHAR(MAX),
        http_method   NVARCHAR(100),
        active        BIT,
        [user]        NVARCHAR(MAX),
        description   NVARCHAR(MAX),
        schedules     NVARCHAR(MAX) AS JSON,
        password_name NVARCHAR(128) '$.password.name',
        sealed        NVARCHAR(MAX) '$.password.sealed' AS JSON
    ) AS g;
    IF @name IS NULL OR @action IS NULL
        THROW 50090, N'Missing name or action of a job.', 1;
    EXECUTE jobs_internal.check_rest_job
        @name = @name,
        @action = @action,
        @http_method = @method,
        @user_name = @user,
        @job_type = @type;
    SET @job_name = @name;
    INSERT INTO @schedules (ordinal, definition, digest, place, active, data)
    SELECT CAST(v.[key] AS INT), v.value, h.digest, 0, COALESCE(g.active, 0), g.data
    FROM OPENJSON(COALESCE(@given, N'[]')) AS v
    CROSS APPLY OPENJSON(v.value) WITH (
        mode        NVARCHAR(20),
        spec        NVARCHAR(MAX),
        active      BIT,
        description NVARCHAR(MAX),
        data        NVARCHAR(MAX)
    ) AS g
    CROSS APPLY (
        SELECT CAST(HASHBYTES('SHA2_256', CONCAT(g.mode, NCHAR(1), g.spec, NCHAR(1), g.description)) AS BINARY(32)) AS digest
    ) AS h;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.begin_rest_request
        @request = @request,
        @now = @now,
        @makes = N'job',
        @replayed = @replayed OUTPUT,
        @result = @result OUTPUT,
        @answer = @answer OUTPUT;
    IF @replayed = 1
    BEGIN
        COMMIT TRANSACTION;
        SELECT @result AS result, @replayed AS replayed, @answer AS answer;
        RETURN 0;
    END;

    EXECUTE jobs_internal.lock_tenant @tenant = @tenant, @tenant_id = @owner OUTPUT;
    -- Nobody else adds a job to the tenant, whose row is locked.
    SELECT @rest_job_id = r.rest_job_id
    FROM jobs_internal.rest_jobs AS r
    WHERE r.tenant_id = @owner
        AND r.name = @job_name;
    IF @rest_job_id IS NOT NULL AND @create_only = 1
    BEGIN
        SET @message = REPLACE(CONCAT(N'Job with name ''', @name, N''' already exists'), N'%', N'%%');
        THROW 50175, @message, 1;
    END;

    IF EXISTS (SELECT 1 FROM jobs_internal.rest_jobs AS r WHERE r.rest_job_id = @rest_job_id AND r.job_type <> @type)
        THROW 50088, N'The type of a job cannot be changed. Delete the job, or give the other one another name.', 1;

    IF @rest_job_id IS NULL
    BEGIN
        EXECUTE jobs_internal.check_name @name = @job_name, @parameter = N'@name';
        SET @created = 1;
        EXECUTE jobs_internal.add_rest_job
            @tenant_id = @owner,
            @name = @job_name,
            @now = @now,
            @rest_job_id = @rest_job_id OUTPUT,
            @job_id = @job_id OUTPUT;
    END
    ELSE
        EXECUTE jobs_internal.lock_rest_job
            @tenant = @owner,
            @job = @rest_job_id,
            @job_id = @job_id OUTPUT,
            @version = @version OUTPUT,
            @state = @before OUTPUT;
    SET @ordinal = (SELECT MIN(n.ordinal) FROM @schedules AS n);
    WHILE @ordinal IS NOT NULL
    BEGIN
        SELECT @one = n.data
        FROM @schedules AS n
        WHERE n.ordinal = @ordinal;
        EXECUTE jobs_internal.store_rest_data @data = @one, @payload_id = @payload_id OUTPUT;
        UPDATE n
        SET n.payload_id = @payload_id
        FROM @schedules AS n
        WHERE n.ordinal = @ordinal;
        SET @ordinal = (SELECT MIN(n.ordinal) FROM @schedules AS n WHERE n.ordinal > @ordinal);
    END;
    WITH places AS (
        SELECT n.place, ROW_NUMBER() OVER (PARTITION BY n.digest, n.payload_id ORDER BY n.ordinal) AS new_place
        FROM @schedules AS n
    )
    UPDATE p
    SET p.place = p.new_place
    FROM places AS p;
    -- Every job has the schedule of jobs.sp_add_job.
    IF @created = 1
        INSERT INTO jobs_internal.schedules (job_id, name, kind, interval_type, interval_count, enabled, created_at, updated_at)
        VALUES (@job_id, N'', N'elastic', N'Once', 1, 0, @now, @now);
    EXECUTE jobs_internal.read_rest_switches @job = @rest_job_id;
    UPDATE j
    SET j.description = LEFT(@description, 512)
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id;
    IF @password IS NOT NULL
        EXECUTE jobs_internal.store_secret @owner = N'rest', @name = @password, @sealed = @sealed, @job_id = @job_id;
    UPDATE r
    SET r.description = @description,
        r.job_type = @type,
        r.action = @action,
        r.http_method = @method,
        r.active = @active,
        r.start_at = g.start_at,
        r.end_at = g.end_at,
        r.start_text = NULLIF(g.start_text, N''),
        r.end_text = NULLIF(g.end_text, N''),
        r.user_name = NULLIF(@user, N''),
        r.password_name = @password,
        r.credential_name = NULLIF(g.credential, N''),
        r.allow_http = COALESCE(g.allow_http, 0),
        r.ans_config = NULLIF(g.ans_config, N''),
        r.calm_config = NULLIF(g.calm_config, N''),
        r.updated_at = @now
    FROM OPENJSON(@job) WITH (
        start_at    DATETIME2(7),
        end_at      DATETIME2(7),
        start_text  NVARCHAR(4000),
        end_text    NVARCHAR(4000),
        credential  NVARCHAR(128),
        allow_http  BIT,
        ans_config  NVARCHAR(4000),
        calm_config NVARCHAR(4000)
    ) AS g
    INNER JOIN jobs_internal.rest_jobs AS r ON r.rest_job_id = @rest_job_id;
    EXECUTE jobs_internal.set_rest_step @job = @rest_job_id, @job_id = @job_id, @version = @version, @now = @now;

    -- Equal schedules are paired one to one.
    INSERT INTO @old (schedule_id, id, payload_id, digest, place)
    SELECT
        s.schedule_id, x.rest_schedule_id, COALESCE(s.payload_id, 0), h.digest,
        CASE
            WHEN s.state IN (N'Completed', N'Faulted') THEN 0 -- it cannot run any more
            ELSE ROW_NUMBER() OVER (
                PARTITION BY h.digest, s.payload_id, CASE WHEN s.state IN (N'Completed', N'Faulted') THEN 0 ELSE 1 END
                ORDER BY s.schedule_id
            )
        END
    FROM jobs_internal.schedules AS s
    INNER JOIN jobs_internal.rest_schedules AS x ON x.schedule_id = s.schedule_id
    CROSS APPLY (
        SELECT CAST(HASHBYTES('SHA2_256', CONCAT(x.mode, NCHAR(1), x.spec, NCHAR(1), x.description)) AS BINARY(32)) AS digest
    ) AS h
    WHERE s.job_id = @job_id;
    -- plan: as many rows as the job and the request have schedules
    UPDATE n
    SET n.schedule_id = o.schedule_id,
        n.id = o.id
    FROM @schedules AS n
    INNER JOIN @old AS o ON o.digest = n.digest AND o.payload_id = COALESCE(n.payload_id, 0) AND o.place = n.place;
    -- plan: as many rows as the job has schedules
    SET @doomed = (
        SELECT CONCAT(N'[', STRING_AGG(CAST(o.schedule_id AS NVARCHAR(MAX)), N','), N']')
        FROM @old AS o
        WHERE NOT EXISTS (SELECT 1 FROM @schedules AS n WHERE n.schedule_id = o.schedule_id)
    );
    EXECUTE jobs_internal.delete_rest_schedules @schedules = @doomed, @now = @now;
    UPDATE x
    SET x.active = n.active
    FROM @schedules AS n
    INNER LOOP JOIN jobs_internal.rest_schedules AS x ON x.schedule_id = n.schedule_id;
    EXECUTE jobs_internal.apply_rest_job @job = @rest_job_id, @job_id = @job_id, @now = @now;
    SET @ordinal = (SELECT MIN(n.ordinal) FROM @schedules AS n WHERE n.schedule_id IS NULL);
    WHILE @ordinal IS NOT NULL
    BEGIN
        SELECT
            @one = n.definition,
            @payload_id = n.payload_id
        FROM @schedules AS n
        WHERE n.ordinal = @ordinal;
        EXECUTE jobs_internal.add_rest_schedule
            @job = @rest_job_id,
            @schedule = @one,
            @payload_id = @payload_id,
            @now = @now,
            @id = @id OUTPUT;
        UPDATE n
        SET n.id = @id
        FROM @schedules AS n
        WHERE n.ordinal = @ordinal;
        SET @ordinal = (SELECT MIN(n.ordinal) FROM @schedules AS n WHERE n.schedule_id IS NULL AND n.ordinal > @ordinal);
    END;

    SET @log = CASE WHEN @created = 1 THEN N'CREATE' ELSE N'UPDATE' END;
    EXECUTE jobs_internal.log_rest_action
        @job = @rest_job_id,
        @action = @log,
        @by = @by,
        @text = @note,
        @procedure = N'jobs_rest.set_job',
        @before = @before,
        @now = @now;
    SET @result = CONCAT(
        N'{"job":', @rest_job_id, N',"created":', CASE WHEN @created = 1 THEN N'true' ELSE N'false' END, N',"schedules":[',
        (
            SELECT STRING_AGG(CAST(CONCAT(N'"', CAST(n.id AS NVARCHAR(36)), N'"') AS NVARCHAR(MAX)), N',')
                WITHIN GROUP (ORDER BY n.ordinal)
            FROM @schedules AS n
        ), N']}'
    );
    EXECUTE jobs_internal.stop_rest_runs @schedules = @doomed, @by = @by, @now = @now;
    EXECUTE jobs_internal.end_rest_request @request = @request, @result = @result;

    COMMIT TRANSACTION;
    SELECT @result AS result, @replayed AS replayed, @answer AS answer;
    RETURN 0;
END;
