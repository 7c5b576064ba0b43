-- Changes a job of the SAP surface (E5). What is absent stays.
--
-- Parameters:
--   @tenant   The tenant; NULL: the provider.
--   @job      The _id.
--   @changes  JSON object: description, action, http_method, active, start_at with start_text, end_at with end_text, ans_config,
--             calm_config, user, password (object: name, sealed), allow_http (of a given action). An empty text removes a value.
--   @by       Who does it; cut to 128 characters.
--   @request  See jobs_internal.begin_rest_request.
--   @note     Text of the entry in the action log.
-- Called by: members of the role jobs_author.
-- Locks:     the request (U, X), the job (U, X), its schedules (U, X).
-- Returns:   one row: result (JSON object: job), replayed, answer.
-- Throws:
--   50001 the job name is missing or empty.
--   50002 the job name contains %.
--   50003 the job name is reserved for system jobs.
--   50058 the definition of the action is invalid.
--   50074 the name of a secret is missing or invalid.
--   50075 the sealed secret is invalid.
--   50087 the name of a job of the SAP surface is invalid.
--   50088 the action is invalid.
--   50090 an argument is missing or out of range.
--   50097 a text is longer than its limit.
--   50153 the password is not sealed for exactly the active keys.
--   50154 the version of the secret is not the next one.
--   50172 the job does not exist in the tenant.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs_rest.update_job
    @tenant  NVARCHAR(129),
    @job     BIGINT,
    @changes NVARCHAR(MAX),
    @by      NVARCHAR(MAX) = NULL,
    @request BINARY(32) = NULL,
    @note    NVARCHAR(1001) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @replayed BIT, @result NVARCHAR(MAX), @answer NVARCHAR(MAX);
    DECLARE @action NVARCHAR(MAX), @method NVARCHAR(100), @user NVARCHAR(MAX), @description NVARCHAR(MAX), @active BIT, @allow_http BIT;
    DECLARE @start_at NVARCHAR(40), @start_text NVARCHAR(4000), @end_at NVARCHAR(40), @end_text NVARCHAR(4000);
    DECLARE @ans NVARCHAR(4000), @calm NVARCHAR(4000), @password NVARCHAR(128), @sealed NVARCHAR(MAX);
    DECLARE @type NVARCHAR(20);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @before NVARCHAR(MAX);
    DECLARE @version INT;
    DECLARE @was BIT;
    DECLARE @log NVARCHAR(40);

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@note) > 2000
        THROW 50097, N'Invalid @note: want at most 1000 characters, not 1001 or more.', 1;
    SET @by = LEFT(@by, 128); -- the length of columns for callers

    IF @changes IS NULL OR ISJSON(@changes) = 0
        THROW 50090, N'Invalid @changes: want a JSON object.', 1;
    SELECT
        @description = g.description,
        @action = g.action,
        @method = g.http_method,
        @active = g.active,
        @start_at = g.start_at,
        @start_text = g.start_text,
        @end_at = g.end_at,
        @end_text = g.end_text,
        @ans = g.ans_config,
        @calm = g.calm_config,
        @user = g.[user],
        @password = g.password_name,
        @sealed = g.sealed,
        @allow_http = g.allow_http
    FROM OPENJSON(@changes) WITH (
        description   NVARCHAR(MAX),
        action        NVARCHAR(MAX),
        http_method   NVARCHAR(100),
        active        BIT,
        start_at      NVARCHAR(40),
        start_text    NVARCHAR(4000),
        end_at        NVARCHAR(40),
        end_text      NVARCHAR(4000),
        ans_config    NVARCHAR(4000),
        calm_config   NVARCHAR(4000),
        [user]        NVARCHAR(MAX),
        password_name NVARCHAR(128) '$.password.name',
        sealed        NVARCHAR(MAX) '$.password.sealed' AS JSON,
        allow_http    BIT
    ) AS g;
    -- The type of a job never changes. A job of another tenant is refused like one that does not exist.
    SET @type = COALESCE((
        SELECT r.job_type
        FROM jobs_internal.rest_jobs AS r
        WHERE r.rest_job_id = @job
            AND r.tenant_id = COALESCE(@tenant, r.tenant_id)
    ), N'HTTP_ENDPOINT');
    EXECUTE jobs_internal.check_rest_job
        @name = NULL,
        @action = @action,
        @http_method = @method,
        @user_name = @user,
        @job_type = @type;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.begin_rest_request
        @request = @request,
        @now = @now,
        @replayed = @replayed OUTPUT,
        @result = @result OUTPUT,
        @answer = @answer OUTPUT;
    IF @replayed = 0
    BEGIN
        EXECUTE jobs_internal.lock_rest_job
            @tenant = @tenant,
            @job = @job,
            @job_id = @job_id OUTPUT,
            @version = @version OUTPUT,
            @state = @before OUTPUT;
        EXECUTE jobs_internal.read_rest_switches @job = @job;
        IF @password IS NOT NULL
            EXECUTE jobs_internal.store_secret @owner = N'rest', @name = @password, @sealed = @sealed, @job_id = @job_id;
        SET @was = (SELECT r.active FROM jobs_internal.rest_jobs AS r WHERE r.rest_job_id = @job);
        UPDATE r
        SET r.description = COALESCE(@description, r.description),
            r.action = COALESCE(@action, r.action),
            r.allow_http = CASE WHEN @action IS NULL THEN r.allow_http ELSE COALESCE(@allow_http, 0) END,
            r.http_method = COALESCE(@method, r.http_method),
            r.active = COALESCE(@active, r.active),
            r.start_at = CASE WHEN @start_at IS NULL THEN r.start_at ELSE TRY_CONVERT(DATETIME2(7), NULLIF(@start_at, N''), 126) END,
            r.start_text = CASE WHEN @start_at IS NULL THEN r.start_text ELSE NULLIF(@start_text, N'') END,
            r.end_at = CASE WHEN @end_at IS NULL THEN r.end_at ELSE TRY_CONVERT(DATETIME2(7), NULLIF(@end_at, N''), 126) END,
            r.end_text = CASE WHEN @end_at IS NULL THEN r.end_text ELSE NULLIF(@end_text, N'') END,
            r.ans_config = NULLIF(COALESCE(@ans, r.ans_config), N''),
            r.calm_config = NULLIF(COALESCE(@calm, r.calm_config), N''),
            r.user_name = NULLIF(COALESCE(@user, r.user_name), N''),
            r.password_name = CASE WHEN @user = N'' THEN NULL ELSE COALESCE(@password, r.password_name) END,
            r.updated_at = @now
        FROM jobs_internal.rest_jobs AS r
        WHERE r.rest_job_id = @job;
        IF @description IS NOT NULL
            UPDATE j
            SET j.description = CAST(@description AS NVARCHAR(512)) -- LEFT may count a pair of UTF-16 as one
            FROM jobs_internal.jobs AS j
            WHERE j.job_id = @job_id;
        EXECUTE jobs_internal.set_rest_step @job = @job, @job_id = @job_id, @version = @version, @now = @now;
        EXECUTE jobs_internal.apply_rest_job @job = @job, @job_id = @job_id, @now = @now;

        SET @log = CASE WHEN @active <> @was AND @active = 1 THEN N'ACTIVATE' WHEN @active <> @was THEN N'DEACTIVATE' ELSE N'UPDATE' END;
        EXECUTE jobs_internal.log_rest_action
            @job = @job,
            @action = @log,
            @by = @by,
            @text = @note,
            @procedure = N'jobs_rest.update_job',
            @before = @before,
            @now = @now;
        SET @result = CONCAT(N'{"job":', @job, N'}');
        EXECUTE jobs_internal.end_rest_request @request = @request, @result = @result;
    END;

    COMMIT TRANSACTION;
    SELECT @result AS result, @replayed AS replayed, @answer AS answer;
    RETURN 0;
END;
