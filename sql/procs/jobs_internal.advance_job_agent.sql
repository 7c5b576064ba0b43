-- Carries out the operation in progress on the job agent, as far as possible without waiting. Each step is a transaction, and
-- begins where the last one has ended, so whoever calls the procedure next continues what another caller has left.
--
--   UpsertJobAccount  1. All objects of the schema exist, or the operation fails: a new job agent is gone, and a changed one keeps
--                        its values. Only a caller with VIEW DEFINITION, such as an owner of the database, can see that one is missing.
--                     2. The limit of scope Agent is set, the job agent gets its values and is Ready, and the operation has
--                        Succeeded.
--   DropJobAccount    1. Active runs get stop requests, in batches, each a transaction of its own. A run that another session holds is
--                        stopped by a later call.
--                     2. Under the application lock jobagent.advance, executions advance as in up to ten passes of an agent, so that the
--                        runs end even if no agent works. Agents that hold tasks of these runs cancel them.
--                     3. If no run is active, terms end, the limit is removed, the job agent is gone, and the operation has Succeeded.
--
-- One caller carries out the operation at a time; others find it held and do nothing. An operation that was taken up twenty times in a
-- row, and never laid down in order, fails, and the job agent is Faulted, or gone if it was being created.
--
-- Only agents and owners of the database may take the application lock, so for other callers step 2 of a deletion is left to them.
-- Without an operation in progress the procedure only reads one row.
--
-- Parameters:
--   @holder         Mark of the caller, by which it knows what it holds itself; NULL: a new one.
--   @lease_seconds  Time after which another caller continues the operation of a caller that has ended; at least 1.
--   @slice          Maximum number of rows of each table that one transaction changes, at least 1.
-- Called by: agent/accounts/accounts.go, in agents and fronts.
-- Locks:     the operation's row (X); active runs (X), in the order of their keys, skipping locked rows, before the application lock is
--            asked for; then see jobs_internal.advance; then the row of the job agent (U, X) and terms (X). Each of these is a
--            transaction of its own, so that none waits for another one.
-- Returns:   0.
-- Throws:
--   50029 an argument is out of range.
CREATE OR ALTER PROCEDURE jobs_internal.advance_job_agent
    @holder        UNIQUEIDENTIFIER = NULL,
    @lease_seconds INT = 30,
    @slice         INT = 5000,
    @now           DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @caller NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @set_now DATETIME2(7) = @now; -- of a test; NULL: the clock
    DECLARE @pass_at DATETIME2(7);
    DECLARE @may_end BIT;
    DECLARE @turned_at DATETIME2(7);
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @message NVARCHAR(2048);
    DECLARE @code NVARCHAR(100);
    DECLARE @operation_id UNIQUEIDENTIFIER;
    DECLARE @kind NVARCHAR(20);
    DECLARE @state NVARCHAR(20); -- of the job agent
    DECLARE @from_state NVARCHAR(20);
    DECLARE @to NVARCHAR(20);
    DECLARE @capacity INT;
    DECLARE @attempts INT;
    DECLARE @lock INT = -1;
    DECLARE @runs TABLE (execution_id BIGINT NOT NULL PRIMARY KEY); -- to stop
    DECLARE @batch TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @passes INT = 10; -- that follow each other in one call
    DECLARE @more BIT;
    DECLARE @values BIT;
    DECLARE @reason NVARCHAR(2000);

    IF @lease_seconds IS NULL OR @lease_seconds < 1
        THROW 50029, N'Invalid @lease_seconds of advance_job_agent: want at least 1.', 1;
    SELECT @operation_id = a.operation_id
    FROM jobs_internal.job_agent AS a
    WHERE a.id = 1;
    IF @operation_id IS NULL
        RETURN 0;

    SET @holder = COALESCE(@holder, NEWID());
    UPDATE o
    SET o.holder = @holder,
        o.held_until = DATEADD(SECOND, @lease_seconds, @now),
        o.attempts = o.attempts + 1,
        @attempts = o.attempts + 1,
        @kind = o.kind,
        @from_state = o.from_state,
        @capacity = o.capacity
    FROM jobs_internal.job_agent_operations AS o
    WHERE o.operation_id = @operation_id
        AND o.status = N'InProgress'
        AND (
            o.holder IS NULL
            OR o.holder = @holder
            OR o.held_until <= @now
            OR o.held_until > DATEADD(SECOND, @lease_seconds + 60, @now) -- of before the clock was set back, not of a call beside this one
        );
    IF @@ROWCOUNT = 0
        RETURN 0;

    IF @attempts > 20
        SELECT
            @code = N'OperationTimedOut',
            @message = N'The operation was begun again and again, and never came to an end. The log of agents and fronts has the errors.';
    ELSE IF @kind = N'UpsertJobAccount'
        -- The names that are missing, if any. Only a caller who may see all names can tell, because OBJECT_ID is NULL for an object on
        -- which the caller has no permission
        -- (https://learn.microsoft.com/sql/relational-databases/security/metadata-visibility-configuration). Others take the schema as
        -- complete. Plan: the few hundred rows of code_objects.
        SELECT
            @code = N'ElasticJobAgentOperationUnavailable',
            @message = CONCAT(
                N'The control schema is incomplete: objects are missing, such as ', MIN(c.name), N'. Run "jobagent db migrate".'
            )
        FROM jobs_internal.code_objects AS c
        WHERE c.kind IN (N'PROCEDURE', N'VIEW')
            AND HAS_PERMS_BY_NAME(LEFT(c.name, CHARINDEX(N'.', c.name + N'.') - 1), N'SCHEMA', N'VIEW DEFINITION') = 1
            AND OBJECT_ID(c.name) IS NULL
        HAVING COUNT(*) > 0;

    IF @kind = N'DropJobAccount' AND @code IS NULL
    BEGIN
        -- Each batch is a transaction of its own, because no transaction is open here. Plan: the ids once, by
        -- IX_job_executions_active_job_id; then per run its key. A run that another session holds is left to the next call.
        INSERT INTO @runs (execution_id)
        SELECT e.execution_id
        FROM jobs_internal.job_executions AS e
        WHERE e.is_active = 1
            AND (e.stop_requested_at IS NULL OR e.drains = 1);
        WHILE EXISTS (SELECT 1 FROM @runs AS r)
        BEGIN
            DELETE FROM @batch;
            INSERT INTO @batch (execution_id)
            SELECT TOP (@slice) r.execution_id
            FROM @runs AS r
            ORDER BY r.execution_id;
            DELETE r
            FROM @batch AS w
            INNER JOIN @runs AS r ON r.execution_id = w.execution_id;
            UPDATE e
            SET e.stop_requested_at = @now,
                e.stop_requested_by = @caller,
                e.drains = 0,
                e.parked = 0
            FROM @batch AS w
            INNER LOOP JOIN jobs_internal.job_executions AS e WITH (UPDLOCK, READPAST, ROWLOCK) ON e.execution_id = w.execution_id
            WHERE e.is_active = 1
                AND (e.stop_requested_at IS NULL OR e.drains = 1);
        END;

        -- As many passes as an agent would make at once, so that the runs end without agents as well.
        WHILE @passes > 0 AND (IS_ROLEMEMBER(N'jobs_agent') = 1 OR IS_ROLEMEMBER(N'db_owner') = 1)
        BEGIN
            SET @more = 0;
            BEGIN TRANSACTION;
            EXECUTE @lock = sp_getapplock
                @Resource = N'jobagent.advance',
                @LockMode = N'Exclusive',
                @LockOwner = N'Transaction',
                @LockTimeout = 0,
                @DbPrincipal = N'jobs_agent';
            IF @lock >= 0
            BEGIN
                EXECUTE jobs_internal.begin_pass
                    @at = @pass_at OUTPUT,
                    @may_end = @may_end OUTPUT,
                    @turned_at = @turned_at OUTPUT,
                    @now = @set_now;
                EXECUTE jobs_internal.advance
                    @may_end = @may_end,
                    @turned_at = @turned_at,
                    @slice = @slice,
                    @more = @more OUTPUT,
                    @now = @pass_at;
                EXECUTE jobs_internal.end_pass @at = @pass_at, @now = @set_now;
            END;
            COMMIT TRANSACTION;
            SET @passes = CASE WHEN @more = 1 THEN @passes - 1 ELSE 0 END;
        END;
    END;

    BEGIN TRANSACTION;
    -- The job agent's row comes first in the order of locks. Its state says whether another caller has ended the operation.
    SELECT @state = a.state
    FROM jobs_internal.job_agent AS a WITH (UPDLOCK, HOLDLOCK)
    WHERE a.id = 1
        AND a.operation_id = @operation_id;
    IF @state = N'Deleting'
        AND @code IS NULL
        AND EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.is_active = 1)
        -- Laid down: the next caller need not wait.
        UPDATE o
        SET o.holder = NULL,
            o.held_until = NULL,
            o.attempts = 0
        FROM jobs_internal.job_agent_operations AS o
        WHERE o.operation_id = @operation_id
            AND o.holder = @holder;
    ELSE IF @state IS NOT NULL
    BEGIN
        SET @to = CASE
            WHEN @code IS NULL THEN CASE @state WHEN N'Deleting' THEN N'Deleted' ELSE N'Ready' END
            WHEN @state = N'Creating' THEN @from_state
            WHEN @code = N'OperationTimedOut' OR @from_state = N'Faulted' THEN N'Faulted' -- it is not repaired
            ELSE N'Ready'
        END;
        SET @values = CASE WHEN @to = N'Ready' AND @code IS NULL THEN 1 ELSE 0 END;
        SET @reason = CASE WHEN @to = N'Faulted' THEN @message END;
        EXECUTE jobs_internal.set_job_agent_state @to = @to, @reason = @reason, @values = @values, @now = @now;
        UPDATE o
        SET o.status = CASE WHEN @code IS NULL THEN N'Succeeded' ELSE N'Failed' END,
            o.error_code = @code,
            o.error_message = CASE WHEN @code IS NOT NULL THEN @message END,
            o.holder = NULL,
            o.held_until = NULL,
            o.ended_at = @now
        FROM jobs_internal.job_agent_operations AS o
        WHERE o.operation_id = @operation_id;
        IF @state = N'Deleting' AND @to = N'Deleted'
        BEGIN
            -- They hold no task, because no run is active.
            UPDATE t
            SET t.ended_at = @now,
                t.end_reason = N'Deleted'
            FROM jobs_internal.terms AS t
            WHERE t.ended_at IS NULL;
            DELETE l
            FROM jobs_internal.limits AS l
            WHERE l.scope = N'Agent'
                AND l.name = N'*'
                AND l.server_name = N''
                AND l.job_id IS NULL;
        END;
        ELSE IF @to = N'Ready' AND @code IS NULL
        BEGIN
            EXECUTE jobs_internal.set_capacity @capacity = @capacity, @now = @now;
            -- Runs of the time before: whoever started them had read the state before the deletion began, and has committed after its end.
            IF @state = N'Creating'
                AND @from_state = N'Deleted'
                -- rows: the few runs that were started while the last deletion ended
                -- order: one operation has one holder at a time; READPAST leaves a locked run to its own procedure
                UPDATE e
                SET e.stop_requested_at = @now,
                    e.stop_requested_by = @caller,
                    e.parked = 0
                FROM jobs_internal.job_executions AS e WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
                WHERE e.is_active = 1
                    AND e.stop_requested_at IS NULL;
        END;
    END;
    COMMIT TRANSACTION;
    RETURN 0;
END;
