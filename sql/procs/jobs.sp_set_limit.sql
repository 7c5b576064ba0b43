-- Sets the maximum number of targets that run at once in one job, on one server, in one elastic pool, with one credential or
-- in this control database, over all steps, runs and agents. A target starts only when none of its limits is used up. A new limit
-- applies to later starts; running targets continue.
--
-- Parameters:
--   @scope                   Job, Server, ElasticPool, Credential or Agent. The capacity of the job agent sets the limit of scope
--                            Agent.
--   @name                    Name of the job, server, elastic pool or credential; NULL or N'*' for Agent. N'*': each one that has
--                            no limit of its own, counted separately. N'(default)' with Credential: steps without a credential,
--                            which run with the agent's default. The limit of a job follows the job when it is renamed,
--                            and is deleted with it.
--   @server_name             ElasticPool: the pool's server. NULL: pools of this name on each server that has no limit
--                            of its own for it, counted separately. NULL for other scopes.
--   @max_concurrent_targets  At least 1. NULL: removes the limit.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U) for a job; the limit's row (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50037 the scope is invalid.
--   50038 the name of the server, elastic pool or credential is missing or empty.
--   50039 a server name is given that the scope does not use.
--   50040 the limit is below 1.
--   50093 the name has an invisible character.
--   50097 a text is longer than its limit.
--   50098 a name is empty.
--   50100 the job does not exist.
--   50120 the limit to remove does not exist.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50403 the server name has not the form host, host\instance or host,port.
CREATE OR ALTER PROCEDURE jobs.sp_set_limit
    @scope                  NVARCHAR(21) = NULL,
    @name                   NVARCHAR(257) = NULL,
    @server_name            NVARCHAR(257) = NULL,
    @max_concurrent_targets INT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @job_name NVARCHAR(128);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @limit_id INT;
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @audit_name NVARCHAR(300);
    DECLARE @old INT;
    DECLARE @names NVARCHAR(MAX);

    IF DATALENGTH(@scope) > 40
        THROW 50097, N'Invalid @scope: want at most 20 characters, not 21 or more.', 1;
    IF DATALENGTH(@name) > 512
        THROW 50097, N'Invalid @name: want at most 256 characters, not 257 or more.', 1;
    IF DATALENGTH(@server_name) > 512
        THROW 50097, N'Invalid @server_name: want at most 256 characters, not 257 or more.', 1;
    IF LTRIM(@server_name) = N'' AND LTRIM(RTRIM(@scope)) COLLATE Latin1_General_100_CI_AS = N'elasticpool'
        THROW 50098, N'Invalid @server_name: the name is empty. Omit it to limit the pools of this name on every server.', 1;

    SET @scope = CASE LTRIM(RTRIM(@scope)) COLLATE Latin1_General_100_CI_AS
        WHEN N'job' THEN N'Job'
        WHEN N'server' THEN N'Server'
        WHEN N'elasticpool' THEN N'ElasticPool'
        WHEN N'credential' THEN N'Credential'
        WHEN N'agent' THEN N'Agent'
    END;
    IF @scope IS NULL
        THROW 50037, N'Invalid @scope: want Job, Server, ElasticPool, Credential or Agent.', 1;
    IF @scope = N'Agent' AND COALESCE(LTRIM(@name), N'') IN (N'', N'*')
        SET @name = N'*';
    ELSE IF @scope = N'Agent'
        THROW 50038, N'Invalid @name: the limit of scope Agent has the name N''*''.', 1;
    IF @scope <> N'Job' AND (@name IS NULL OR LTRIM(@name) = N'')
        THROW 50038,
            N'Missing name: @name is NULL or empty. N''*'' means all, N''(default)'' the agents'' default credential.',
            1;
    SET @server_name = COALESCE(LTRIM(RTRIM(@server_name)), N'');
    IF @server_name <> N'' AND @scope <> N'ElasticPool'
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Unexpected @server_name: the scope ', @scope, N' does not use it. Omit it, or choose the scope ElasticPool.'
        ), N'%', N'%%');
        THROW 50039, @message, 1;
    END;
    IF @max_concurrent_targets < 1
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @max_concurrent_targets ', @max_concurrent_targets, N': want at least 1, or NULL to remove the limit.'
        ), N'%', N'%%');
        THROW 50040, @message, 1;
    END;
    -- A server may be the host that an action calls, with any port.
    IF @max_concurrent_targets IS NOT NULL AND @scope IN (N'Server', N'ElasticPool')
    BEGIN
        SET @names = (
            SELECT v.parameter, v.name
            FROM (VALUES (N'@name', @name), (N'@server_name', @server_name)) AS v (parameter, name)
            FOR JSON PATH
        );
        EXECUTE jobs_internal.check_external_names @names = @names;
    END;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent;
    IF @scope = N'Job' AND COALESCE(@name, N'') <> N'*'
    BEGIN
        SET @job_name = LEFT(@name, 128); -- no job has a longer name
        IF LEN(@name) > 128
        BEGIN
            SET @message = REPLACE(CONCAT(N'The job ''', @name, N''' does not exist. The view jobs.jobs lists all jobs.'), N'%', N'%%');
            THROW 50100, @message, 1;
        END;
        EXECUTE jobs_internal.lock_job @job_name = @job_name, @job_id = @job_id OUTPUT;
    END;

    IF @job_id IS NOT NULL
        -- index: UQ_limits_job_id, in which another session may insert the same limit
        SELECT @limit_id = l.limit_id
        FROM jobs_internal.limits AS l WITH (UPDLOCK, HOLDLOCK, FORCESEEK (UQ_limits_job_id (job_id)))
        WHERE l.job_id = @job_id
            AND l.job_id IS NOT NULL; -- the filter of the index, without which the hint could leave no plan (8622)
    ELSE
        -- index: UQ_limits_name, in which another session may insert the same limit
        SELECT @limit_id = l.limit_id
        FROM jobs_internal.limits AS l WITH (UPDLOCK, HOLDLOCK, FORCESEEK (UQ_limits_name (scope, name, server_name)))
        WHERE l.scope = @scope
            AND l.name = @name
            AND l.server_name = @server_name
            AND l.job_id IS NULL;
    SELECT @old = l.max_concurrent_targets
    FROM jobs_internal.limits AS l
    WHERE l.limit_id = @limit_id;

    IF @max_concurrent_targets IS NULL AND @limit_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The limit of ', @scope, N' ''', @name, N'''', N' on server ''' + NULLIF(@server_name, N'') + N'''',
            N' does not exist. The view jobs.limits lists all limits.'
        ), N'%', N'%%');
        THROW 50120, @message, 1;
    END;
    IF @max_concurrent_targets IS NULL
        DELETE l
        FROM jobs_internal.limits AS l
        WHERE l.limit_id = @limit_id;
    ELSE IF @limit_id IS NOT NULL
        UPDATE l
        SET l.max_concurrent_targets = @max_concurrent_targets,
            l.updated_at = @now
        FROM jobs_internal.limits AS l
        WHERE l.limit_id = @limit_id;
    ELSE
        INSERT INTO jobs_internal.limits (scope, name, server_name, job_id, max_concurrent_targets, updated_at)
        VALUES (@scope, CASE WHEN @job_id IS NULL THEN @name ELSE N'' END, @server_name, @job_id, @max_concurrent_targets, @now);

    SET @audit_name = LEFT(CONCAT(@scope, N' ', @name, N' on ' + NULLIF(@server_name, N'')), 300);
    SET @audit_before = CASE WHEN @old IS NOT NULL THEN CONCAT(N'{"max_concurrent_targets":', @old, N'}') END;
    SET @audit_after = CASE
        WHEN @max_concurrent_targets IS NOT NULL THEN CONCAT(N'{"max_concurrent_targets":', @max_concurrent_targets, N'}')
    END;
    EXECUTE jobs_internal.audit
        @action = N'sp_set_limit',
        @object_kind = N'Limit',
        @object_name = @audit_name,
        @job_id = @job_id,
        @job_name = @job_name,
        @before = @audit_before,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
