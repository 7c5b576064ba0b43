-- Creates the job agent (account) of this control database, or changes it. A control database has at most one job agent. A
-- control database that has never had one works without: its agents run jobs.
--
-- The procedure begins an operation (jobs.agent_operations), which the next agent or front to see it carries out. A job agent that is
-- Disabled is changed at once, and stays Disabled.
--
-- Parameters:
--   @agent_name    Name: 1 to 128 characters, none of < > * % & : \ / ? and control characters; no . or space at the end.
--   @location      Where it is, for display. NULL: unchanged.
--   @sku           JA and the capacity, such as JA100, or Agent. NULL: JA and @capacity; without it unchanged, or JA100 if the job agent
--                  is created.
--   @capacity      Maximum number of targets that run at once, over all runs and agents: 1 to 10000. It becomes the limit of scope
--                  Agent (jobs.sp_set_limit). NULL: the number in @sku, and 100 for Agent.
--   @identity      Resource id of the identity with which targets are connected to. N'': none. NULL: unchanged.
--   @tags          JSON object of texts, which have no effect. NULL: unchanged.
--   @create        0: only an existing job agent is changed.
--   @created       Receives 1 if the job agent did not exist, else 0.
--   @operation_id  Id for the operation; NULL: a new one. Receives the id of the operation that was begun, or NULL if none was needed.
-- Called by: members of the role jobs_admin.
-- Locks:     the row of the job agent (U, X); operations that ended a day ago (X); then an insert into job_agent_operations, or the limit
--            of scope Agent (U, X); an insert into audit_entries.
-- Job agent: in each state: it checks the state itself.
-- Returns:   0.
-- Throws:
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50094 the name of the job agent is missing or invalid.
--   50095 the SKU or the capacity is invalid, or they do not match.
--   50096 the tags are not a JSON object of texts.
--   50097 a text is longer than its limit.
--   50136 the caller has a transaction.
--   50184 an operation on the job agent is in progress.
--   50185 the job agent does not exist.
--   50186 the control database has a job agent of another name.
CREATE OR ALTER PROCEDURE jobs.sp_set_job_agent
    @agent_name   NVARCHAR(129),
    @location     NVARCHAR(129) = NULL,
    @sku          NVARCHAR(21) = NULL,
    @capacity     INT = NULL,
    @identity     NVARCHAR(1001) = NULL,
    @tags         NVARCHAR(MAX) = NULL,
    @create       BIT = 1,
    @created      BIT = NULL OUTPUT,
    @operation_id UNIQUEIDENTIFIER = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @name NVARCHAR(128); -- as it is stored
    DECLARE @state NVARCHAR(20);
    DECLARE @new_operation_id UNIQUEIDENTIFIER = COALESCE(@operation_id, NEWID());
    DECLARE @old_location NVARCHAR(128);
    DECLARE @old_sku NVARCHAR(20);
    DECLARE @old_capacity INT;
    DECLARE @old_identity NVARCHAR(1000);
    DECLARE @old_tags NVARCHAR(MAX);
    DECLARE @number INT;
    DECLARE @needed BIT; -- 1: values change that have an effect, or the state does
    DECLARE @caller NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);

    IF @@TRANCOUNT > 0
        THROW 50136, N'The job agent is not changed inside a transaction, because passes of agents would wait for it. Commit first.', 1;
    IF DATALENGTH(@agent_name) > 256
        THROW 50097, N'Invalid @agent_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@location) > 256
        THROW 50097, N'Invalid @location: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@sku) > 40
        THROW 50097, N'Invalid @sku: want at most 20 characters, not 21 or more.', 1;
    IF DATALENGTH(@identity) > 2000
        THROW 50097, N'Invalid @identity: want at most 1000 characters, not 1001 or more.', 1;

    SET @created = 0;
    SET @operation_id = NULL;
    IF @agent_name IS NULL
        OR LTRIM(@agent_name) = N''
        OR @agent_name LIKE N'%[<>*%&:\/?]%'
        OR @agent_name LIKE N'%[' + NCHAR(1) + N'-' + NCHAR(31) + N']%' COLLATE Latin1_General_100_BIN2
        OR RIGHT(CONCAT(@agent_name, N'|'), 2) IN (N'.|', N' |')
        THROW 50094,
            N'Invalid @agent_name: want 1 to 128 characters, no < > * %% & : \ / ? or control character, and no . or space at the end.',
            1;

    -- A SKU is JA and a number without leading zeros, or Agent.
    SET @sku = NULLIF(LTRIM(RTRIM(@sku)), N'');
    IF @sku COLLATE Latin1_General_100_CI_AS = N'Agent'
        SELECT @sku = N'Agent', @number = COALESCE(@capacity, 100);
    ELSE IF @sku COLLATE Latin1_General_100_CI_AS LIKE N'JA[1-9]%' AND SUBSTRING(@sku, 3, 18) NOT LIKE N'%[^0-9]%'
        SELECT @number = TRY_CAST(SUBSTRING(@sku, 3, 18) AS INT), @sku = N'JA' + SUBSTRING(@sku, 3, 18);
    IF @sku IS NOT NULL AND (@number IS NULL OR @number NOT BETWEEN 1 AND 10000 OR @capacity <> @number)
        OR @capacity NOT BETWEEN 1 AND 10000
        THROW 50095,
            N'Invalid @sku or @capacity: want the SKU JA1 to JA10000 and the same number as capacity, such as JA100 and 100, or Agent.',
            1;
    SET @capacity = COALESCE(@capacity, @number);
    SET @sku = COALESCE(@sku, N'JA' + CAST(@capacity AS NVARCHAR(12)));

    IF ISJSON(@tags) = 0
        OR LEFT(LTRIM(@tags), 1) <> N'{'
        OR EXISTS (SELECT 1 FROM OPENJSON(CASE WHEN ISJSON(@tags) = 1 THEN @tags ELSE N'{}' END) AS t WHERE t.type <> 1)
        THROW 50096, N'Invalid @tags: want a JSON object whose values are texts, such as {"team": "data"}.', 1;

    BEGIN TRANSACTION;

    SELECT
        @name = a.name,
        @state = a.state,
        @old_location = a.location,
        @old_sku = a.sku,
        @old_capacity = a.capacity,
        @old_identity = a.identity_id,
        @old_tags = a.tags
    FROM jobs_internal.job_agent AS a WITH (UPDLOCK, HOLDLOCK)
    WHERE a.id = 1;
    IF @name <> @agent_name COLLATE Latin1_General_100_CI_AS
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'This control database has the job agent ''', @name, N'''. It can have no other one; the job agent must be deleted before.'
        ), N'%', N'%%');
        THROW 50186, @message, 1;
    END;
    IF @name IS NULL AND @create = 0
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job agent ''', @agent_name, N''' does not exist. The view jobs.agent shows the job agent of this control database.'
        ), N'%', N'%%');
        THROW 50185, @message, 1;
    END;
    IF @state IN (N'Creating', N'Updating', N'Deleting')
    BEGIN
        SET @message = REPLACE(CONCAT(N'The job agent is ', @state, N'. Wait until this operation has ended.'), N'%', N'%%');
        THROW 50184, @message, 1;
    END;

    SET @location = COALESCE(@location, @old_location);
    SET @sku = COALESCE(@sku, @old_sku, N'JA100');
    SET @capacity = COALESCE(@capacity, @old_capacity, 100);
    SET @identity = NULLIF(COALESCE(@identity, @old_identity), N'');
    SET @tags = COALESCE(@tags, @old_tags);
    SET @needed = CASE
        WHEN @name IS NULL
            OR @sku <> @old_sku
            OR @capacity <> @old_capacity
            OR COALESCE(@identity, N'') <> COALESCE(@old_identity, N'')
            OR @state = N'Faulted' THEN 1
        ELSE 0
    END;
    -- An operation would let agents work meanwhile, and end in Ready.
    IF @needed = 1 AND @state = N'Disabled'
    BEGIN
        UPDATE a
        SET a.location = @location,
            a.sku = @sku,
            a.capacity = @capacity,
            a.identity_id = @identity,
            a.tags = @tags,
            a.changed_at = @now
        FROM jobs_internal.job_agent AS a
        WHERE a.id = 1;
        EXECUTE jobs_internal.set_capacity @capacity = @capacity, @now = @now;
    END
    ELSE IF @needed = 1
    BEGIN
        SET @created = CASE WHEN @name IS NULL THEN 1 ELSE 0 END;
        SET @operation_id = @new_operation_id;
        DELETE o
        FROM jobs_internal.job_agent_operations AS o
        WHERE o.ended_at < DATEADD(HOUR, -24, @now);
        INSERT INTO jobs_internal.job_agent_operations (
            operation_id, kind, agent_name, from_state, location, sku, capacity, identity_id, tags, started_at, started_by
        )
        VALUES (
            @operation_id, N'UpsertJobAccount', @agent_name, @state, @location, @sku, @capacity, @identity, @tags, @now, @caller
        );
        IF @created = 1
        BEGIN
            EXECUTE jobs_internal.check_name @name = @agent_name, @parameter = N'@agent_name';
            EXECUTE jobs_internal.set_job_agent_state @to = N'Creating', @operation_id = @operation_id, @values = 1, @now = @now;
        END;
        ELSE
            EXECUTE jobs_internal.set_job_agent_state @to = N'Updating', @operation_id = @operation_id, @now = @now;
    END;
    ELSE
        -- Neither of them has an effect, so no operation is needed.
        UPDATE a
        SET a.location = @location,
            a.tags = @tags,
            a.changed_at = @now
        FROM jobs_internal.job_agent AS a
        WHERE a.id = 1
            AND (COALESCE(a.location, N'') <> COALESCE(@location, N'')
                OR CAST(COALESCE(a.tags, N'') AS VARBINARY(MAX)) <> CAST(COALESCE(@tags, N'') AS VARBINARY(MAX)));

    -- What was wanted: an operation that updates the job agent has it, until it has ended.
    SET @audit_before = CASE WHEN @created = 0 THEN (
        SELECT
            @old_location AS location, @old_sku AS sku, @old_capacity AS capacity, @old_identity AS [identity],
            JSON_QUERY(@old_tags) AS tags
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    ) END;
    SET @audit_after = (
        SELECT @location AS location, @sku AS sku, @capacity AS capacity, @identity AS [identity], JSON_QUERY(@tags) AS tags
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    EXECUTE jobs_internal.audit
        @action = N'sp_set_job_agent',
        @object_kind = N'JobAgent',
        @object_name = @agent_name,
        @object_id = @operation_id,
        @before = @audit_before,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
