-- Starts a term for an agent whose protocol this schema supports. An earlier term of the same agent ends, and its tasks
-- are handed over. A control database that was restored or copied pauses itself then; see jobs_internal.check_restored.
--
-- Parameters:
--   @agent_id                The agent.
--   @host_name               Machine, for display.
--   @version                 Program version, for display.
--   @ttl_seconds             Time to the expiry without renewal; at least 1.
--   @max_concurrent_targets  The agent's limit, for display.
--   @protocol                The agent's protocol; see the view jobs_internal.agent_protocols.
--   @command_types           The types of commands that the agent runs, separated by commas; see jobs.command_types. NULL, or a
--                            protocol before 3: TSql, and Upkeep from protocol 2 on.
--   @engine                  Program and digest of the time zone rules that compute the agent's schedules, for display; NULL: unknown.
--   @zone_data               Source and version of these rules, for display.
--   @term_guid               A GUID that the agent makes for this term and names in every later call. A restored database gives the numbers
--                            of terms again, but never the GUID (I16). NULL: an agent of an earlier release, which names none.
--   @hands_over              0: the next passes hand the tasks of earlier terms over, because the control database has refused to store
--                            something about one of them. Passes set it aside; without a term, nobody could (DESIGN.md, "Set aside").
-- Called by: agent/hosting.go, once per core.
-- Locks:     see jobs_internal.check_restored; the row of the job agent (S), the
--            agent's row (U, X), its earlier term (X) and the tasks of that term (X).
-- Returns:   one row: term_id, started_at, expires_at.
-- Throws:
--   50029 an argument is missing or out of range.
--   50182 the job agent is Creating, Disabled or Faulted, or was deleted.
--   50300 this schema does not support the agent's protocol.
CREATE OR ALTER PROCEDURE jobs_internal.start_term
    @agent_id               UNIQUEIDENTIFIER,
    @host_name              NVARCHAR(256),
    @version                NVARCHAR(128),
    @ttl_seconds            INT,
    @max_concurrent_targets INT = 100,
    @protocol               INT = 1,
    @command_types          NVARCHAR(400) = NULL,
    @engine                 NVARCHAR(128) = NULL,
    @zone_data              NVARCHAR(128) = NULL,
    @term_guid              UNIQUEIDENTIFIER = NULL,
    @hands_over             BIT = 1,
    @now                    DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @message NVARCHAR(2048);
    DECLARE @state NVARCHAR(20); -- of the job agent
    DECLARE @reason NVARCHAR(2000);
    DECLARE @incarnation UNIQUEIDENTIFIER;
    DECLARE @started TABLE (term_id BIGINT NOT NULL PRIMARY KEY, started_at DATETIME2(7) NOT NULL, expires_at DATETIME2(7) NOT NULL);

    IF @agent_id IS NULL OR @host_name IS NULL OR @version IS NULL OR @ttl_seconds IS NULL OR @ttl_seconds < 1
        THROW 50029, N'Invalid arguments of start_term: want @agent_id, @host_name, @version, and @ttl_seconds of at least 1.', 1;
    -- plan: the view has one row
    SELECT @message = REPLACE(CONCAT(
        N'This control database supports the agent protocols ', p.oldest, N' to ', p.newest,
        N', and this agent uses protocol ', @protocol, N': ',
        CASE
            WHEN @protocol > p.newest THEN N'run "jobagent db migrate" with the agent''s release.'
            ELSE N'install the release of jobagent with which the database was migrated.'
        END
    ), N'%', N'%%')
    FROM jobs_internal.agent_protocols AS p
    WHERE @protocol IS NULL
        OR @protocol NOT BETWEEN p.oldest AND p.newest;
    IF @message IS NOT NULL
        THROW 50300, @message, 1;
    IF @command_types IS NULL OR @protocol < 3
        SET @command_types = CASE WHEN @protocol < 2 THEN N'TSql' ELSE N'TSql,Upkeep' END;
    SELECT @message = REPLACE(CONCAT(
        N'Invalid @command_types ''', @command_types, N''' of start_term: want ', l.tasks, N', separated by commas.'
    ), N'%', N'%%')
    FROM STRING_SPLIT(@command_types, N',') AS p
    CROSS JOIN jobs_internal.command_type_lists AS l
    WHERE NOT EXISTS (SELECT 1 FROM jobs.command_types AS t WHERE t.is_task = 1 AND t.command_type = p.value);
    IF @message IS NOT NULL
        THROW 50029, @message, 1;

    -- A database that was restored or copied is paused before an agent gets its first pass.
    EXECUTE jobs_internal.check_restored @now = @now;
    SELECT @incarnation = i.incarnation
    FROM jobs_internal.control_identity AS i
    WHERE i.id = 1;

    BEGIN TRANSACTION;

    -- The row stays locked, so that a deletion of the job agent, which ends all terms, comes before this term or finds it.
    SELECT
        @state = a.state,
        @reason = a.reason
    FROM jobs_internal.job_agent AS a WITH (REPEATABLEREAD)
    WHERE a.id = 1;
    IF @state IN (N'Creating', N'Disabled', N'Faulted', N'Deleted')
    BEGIN
        SET @message = REPLACE(LEFT(CONCAT(
            N'The job agent is ', @state, N': ' + NULLIF(@reason, N''), N'. Agents work for it when it is Ready.'
        ), 1000), N'%', N'%%');
        THROW 50182, @message, 1;
    END;

    UPDATE a
    SET a.host_name = @host_name,
        a.version = @version,
        a.max_concurrent_targets = @max_concurrent_targets,
        a.engine = @engine,
        a.zone_data = @zone_data
    FROM jobs_internal.agents AS a WITH (UPDLOCK, HOLDLOCK)
    WHERE a.agent_id = @agent_id;
    IF @@ROWCOUNT = 0
        INSERT INTO jobs_internal.agents (agent_id, host_name, version, max_concurrent_targets, first_seen_at, engine, zone_data)
        VALUES (@agent_id, @host_name, @version, @max_concurrent_targets, @now, @engine, @zone_data);

    UPDATE t
    SET t.ended_at = @now,
        t.end_reason = N'Replaced'
    FROM jobs_internal.terms AS t
    WHERE t.agent_id = @agent_id
        AND t.ended_at IS NULL;
    IF @hands_over = 1
        EXECUTE jobs_internal.hand_over @now = @now;

    -- INTO, because OUTPUT without it is an error on a table that has a trigger, such as one of merge replication.
    INSERT INTO jobs_internal.terms (
        agent_id, started_at, expires_at, protocol, command_types, term_guid, incarnation, lease_seconds
    )
    OUTPUT inserted.term_id, inserted.started_at, inserted.expires_at
    INTO @started (term_id, started_at, expires_at)
    VALUES (
        @agent_id, @now, DATEADD(SECOND, @ttl_seconds, @now), @protocol, @command_types, @term_guid, @incarnation, @ttl_seconds
    );

    COMMIT TRANSACTION;
    SELECT s.term_id, s.started_at, s.expires_at
    FROM @started AS s;
    RETURN 0;
END;
