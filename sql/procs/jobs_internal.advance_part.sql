-- Makes the part of a pass that concerns some runs, schedules or triggers only, and leaves out all others. An agent whose passes are
-- refused finds out with it which of them is the cause (DESIGN.md, "Set aside"): the call fails with the error of the pass, and then has
-- changed nothing, or it has advanced this part. It also claims tasks as a pass would, only to see whether that is refused, and takes
-- the claims back.
--
-- Parameters:
--   @term_id    The caller's term.
--   @term_guid  The term's GUID; NULL: not compared.
--   @kind       Run, Schedule or Trigger; NULL: none of any kind, or all of all kinds if @tried_at is given.
--   @first_id   The first run, schedule or trigger of the part.
--   @last_id    The last one.
--   @tried_at   What jobs_internal.take_set_asides has taken at this time, and is in the part, is not set aside any more if the call
--               succeeds. NULL: what is set aside is left out.
--   @max_tasks  Number of tasks that are claimed and given back at most; 0: none.
-- Called by: agent/set_aside.go.
-- Locks:     rows of set_asides (X), which only this procedure inserts or deletes, under the application lock jobagent.advance; then
--            see jobs_internal.begin_pass, jobs_internal.advance, jobs_internal.claim_steps, jobs_internal.claim_limited_targets,
--            jobs_internal.claim_unlimited_targets.
-- Returns:   1: one row: is_skipped (1: another session held the application lock, so nothing was tried).
--            2: if @kind and @tried_at are NULL, the ranges of ids that may be searched: kind, first_id, last_id.
-- Throws:
--   50029 an argument is missing or out of range.
--   50201 the term has ended.
--   50204 the control database has another incarnation than the term.
CREATE OR ALTER PROCEDURE jobs_internal.advance_part
    @term_id   BIGINT,
    @term_guid UNIQUEIDENTIFIER = NULL,
    @kind      NVARCHAR(10) = NULL,
    @first_id  BIGINT = NULL,
    @last_id   BIGINT = NULL,
    @tried_at  DATETIME2(7) = NULL,
    @max_tasks INT = 0,
    @now       DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @set_now DATETIME2(7) = @now; -- of a test; NULL: the clock
    DECLARE @command_types NVARCHAR(400);
    DECLARE @lock INT;
    DECLARE @may_end BIT;
    DECLARE @turned_at DATETIME2(7);
    DECLARE @more BIT;
    DECLARE @room INT = @max_tasks;
    DECLARE @claimed INT;
    DECLARE @holds BIT;
    DECLARE @parts TABLE (
        kind     NVARCHAR(10) NOT NULL,
        first_id BIGINT NOT NULL,
        last_id  BIGINT NOT NULL,
        PRIMARY KEY (kind, first_id)
    );

    IF @max_tasks IS NULL OR @max_tasks < 0
        OR (@kind IS NULL AND (@first_id IS NOT NULL OR @last_id IS NOT NULL))
        OR (@kind IS NOT NULL AND @kind NOT IN (N'Run', N'Schedule', N'Trigger'))
        OR (@kind IS NOT NULL AND (@first_id IS NULL OR @last_id IS NULL OR @first_id < 1 OR @last_id < @first_id))
        THROW 50029, N'Invalid arguments of advance_part: want @kind with a range of ids, or none, and @max_tasks of at least 0.', 1;
    EXECUTE jobs_internal.check_term
        @term_id = @term_id,
        @term_guid = @term_guid,
        @command_types = @command_types OUTPUT;

    -- The ranges that are left out. A kind without a range of its own is left out as a whole.
    INSERT INTO @parts (kind, first_id, last_id)
    SELECT k.kind, 0, CASE WHEN k.kind = @kind THEN @first_id - 1 ELSE 9223372036854775807 END
    FROM (VALUES (N'Run'), (N'Schedule'), (N'Trigger')) AS k (kind)
    WHERE @kind IS NOT NULL
        OR @tried_at IS NULL;
    IF @kind IS NOT NULL AND @last_id < 9223372036854775807
        INSERT INTO @parts (kind, first_id, last_id)
        VALUES (@kind, @last_id + 1, 9223372036854775807);

    BEGIN TRANSACTION;
    EXECUTE @lock = sp_getapplock
        @Resource = N'jobagent.advance',
        @LockMode = N'Exclusive',
        @LockOwner = N'Transaction',
        @LockTimeout = 2000, -- passes of other agents hold it for a moment
        @DbPrincipal = N'jobs_agent';
    IF @lock >= 0
    BEGIN
        DELETE z
        FROM jobs_internal.set_asides AS z
        WHERE z.is_part = 0
            AND z.tried_at = @tried_at
            AND (@kind IS NULL OR (z.kind = @kind AND z.first_id BETWEEN @first_id AND @last_id)); -- plan: a few rows
        INSERT INTO jobs_internal.set_asides (kind, first_id, is_part, last_id, created_at, tries, tried_at, retry_at)
        SELECT p.kind, p.first_id, 1, p.last_id, SYSUTCDATETIME(), 0, SYSUTCDATETIME(), SYSUTCDATETIME()
        FROM @parts AS p;
        EXECUTE jobs_internal.begin_pass
            @at = @now OUTPUT,
            @may_end = @may_end OUTPUT,
            @turned_at = @turned_at OUTPUT,
            @now = @set_now;
        EXECUTE jobs_internal.advance
            @term_id = @term_id,
            @may_end = @may_end,
            @turned_at = @turned_at,
            @more = @more OUTPUT,
            @now = @now;
        IF @room > 0
        BEGIN
            SAVE TRANSACTION advanced; -- save: agents call this procedure outside of transactions, so this one is never distributed
            EXECUTE @claimed = jobs_internal.claim_steps
                @term_id = @term_id,
                @room = @room,
                @command_types = @command_types,
                @now = @now;
            SET @room = @room - @claimed;
            EXECUTE @claimed = jobs_internal.claim_limited_targets
                @term_id = @term_id,
                @room = @room,
                @command_types = @command_types,
                @holds = @holds OUTPUT,
                @now = @now;
            SET @room = @room - @claimed;
            EXECUTE jobs_internal.claim_unlimited_targets
                @term_id = @term_id,
                @room = @room,
                @command_types = @command_types,
                @holds = @holds OUTPUT,
                @now = @now;
            ROLLBACK TRANSACTION advanced;
        END;
        DELETE z
        FROM jobs_internal.set_asides AS z
        WHERE z.is_part = 1;
        EXECUTE jobs_internal.end_pass @at = @now, @now = @set_now;
    END;
    COMMIT TRANSACTION;

    SELECT CAST(CASE WHEN @lock < 0 THEN 1 ELSE 0 END AS BIT) AS is_skipped;
    -- Plan: IX_job_executions_active_job_id, with a sort; the first key of IX_job_executions_unaccounted; the last keys of two primary
    -- keys; and the events that wait.
    WITH first_runs AS (
        SELECT x.execution_id
        FROM (
            SELECT TOP (1) e.execution_id
            FROM jobs_internal.job_executions AS e
            WHERE e.is_active = 1
            ORDER BY e.execution_id
        ) AS x
        UNION ALL
        SELECT x.execution_id
        FROM (
            SELECT TOP (1) e.execution_id
            FROM jobs_internal.job_executions AS e
            WHERE e.unaccounted = 1
                AND e.is_active = 0
            ORDER BY e.execution_id
        ) AS x
    ),
    ranges AS (
        SELECT
            N'Run' AS kind,
            (SELECT MIN(f.execution_id) FROM first_runs AS f) AS first_id,
            (SELECT TOP (1) e.execution_id FROM jobs_internal.job_executions AS e ORDER BY e.execution_id DESC) AS last_id
        UNION ALL
        SELECT N'Schedule', 1, (SELECT TOP (1) s.schedule_id FROM jobs_internal.schedules AS s ORDER BY s.schedule_id DESC)
        UNION ALL
        SELECT N'Trigger', 1, (SELECT MAX(e.trigger_id) FROM jobs_internal.trigger_events AS e WHERE e.is_waiting = 1)
    )
    SELECT r.kind, r.first_id, r.last_id
    FROM ranges AS r
    WHERE @kind IS NULL
        AND @tried_at IS NULL
        AND r.first_id IS NOT NULL
        AND r.last_id IS NOT NULL;
    RETURN 0;
END;
