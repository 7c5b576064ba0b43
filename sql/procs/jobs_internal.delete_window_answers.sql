-- Deletes what is known about the windows of databases, and is not so any more (gated_targets, target_gates), in batches; then answers
-- about windows that no database has any more. Both only if no window and no tag has changed for a day, so that each claim that runs knows
-- the present revision, and reads none of these rows.
--
-- Parameters:
--   @until      No further batch of 1,000 databases begins after this time; NULL: there is one batch.
--   @remaining  Receives 1 if rows may be left because of @until.
-- Called by: jobs_internal.purge_history.
-- Locks:     the application lock jobagent.windows, which no session waits for; gated_targets and target_gates (X); answers about windows
--            (U, X; READPAST).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.delete_window_answers
    @until     DATETIME2(7) = NULL,
    @remaining BIT = NULL OUTPUT,
    @now       DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @lock INT = 0;
    DECLARE @rows INT = 1000;
    DECLARE @revision BIGINT;
    DECLARE @old TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @unused TABLE (answer_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked TABLE (answer_id BIGINT NOT NULL PRIMARY KEY, released_to BIGINT NOT NULL);

    SET @remaining = 0;
    WHILE @rows = 1000 AND @remaining = 0
    BEGIN
        SET @revision = NULL;
        DELETE o
        FROM @old AS o;
        BEGIN TRANSACTION;
        EXECUTE @lock = sp_getapplock
            @Resource = N'jobagent.windows',
            @LockMode = N'Exclusive',
            @LockOwner = N'Transaction',
            @LockTimeout = 0,
            @DbPrincipal = N'jobs_agent';
        -- A claim that finds out windows now is not disturbed: the next night is soon enough.
        IF @lock >= 0
            SELECT @revision = v.revision
            FROM jobs_internal.window_state AS v
            WHERE v.changed_at < DATEADD(DAY, -1, @now);
        -- Plan: a scan of gated_targets, which has as many rows as databases ran since a window was first set.
        INSERT INTO @old (target_id)
        SELECT TOP (1000) g.target_id
        FROM jobs_internal.gated_targets AS g
        WHERE g.revision <> @revision;
        SET @rows = @@ROWCOUNT;
        DELETE t
        FROM @old AS o
        INNER LOOP JOIN jobs_internal.target_gates AS t ON t.target_id = o.target_id;
        DELETE g
        FROM @old AS o
        INNER LOOP JOIN jobs_internal.gated_targets AS g ON g.target_id = o.target_id;
        COMMIT TRANSACTION;
        IF @rows = 1000 AND (@until IS NULL OR SYSUTCDATETIME() >= @until)
            SET @remaining = 1;
    END;
    IF @revision IS NULL OR @remaining = 1
        RETURN 0;

    BEGIN TRANSACTION;
    EXECUTE @lock = sp_getapplock
        @Resource = N'jobagent.windows',
        @LockMode = N'Exclusive',
        @LockOwner = N'Transaction',
        @LockTimeout = 0,
        @DbPrincipal = N'jobs_agent';
    -- Plan: a scan of target_gates, and of window_answers, which has as many rows as windows in different zones, with a key of
    -- IX_target_executions_held_by for each that is not used.
    INSERT INTO @unused (answer_id)
    SELECT TOP (1000) a.answer_id
    FROM jobs_internal.window_answers AS a
    WHERE @lock >= 0
        AND EXISTS (SELECT 1 FROM jobs_internal.window_state AS v WHERE v.revision = @revision)
        AND a.answer_id NOT IN (SELECT g.answer_id FROM jobs_internal.target_gates AS g)
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.target_executions AS t
            WHERE t.held_by = a.answer_id
                AND t.held_by IS NOT NULL
                AND t.next_attempt_at IS NOT NULL
        );
    -- released_to is in no index, so that the locks are on the clustered keys.
    INSERT INTO @locked (answer_id, released_to)
    SELECT a.answer_id, a.released_to
    FROM @unused AS u
    INNER LOOP JOIN jobs_internal.window_answers AS a WITH (UPDLOCK, READPAST, ROWLOCK) ON a.answer_id = u.answer_id;
    DELETE a
    FROM @locked AS l
    INNER LOOP JOIN jobs_internal.window_answers AS a ON a.answer_id = l.answer_id;
    COMMIT TRANSACTION;
    RETURN 0;
END;
