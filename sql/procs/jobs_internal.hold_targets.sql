-- Says which of some waiting targets must not start now, because their databases are paused, and holds these: their next attempt is due in
-- the year 9999, until release_targets makes it due. DESIGN.md, "Held targets".
--
-- If one of them must not start, more of the waiting targets of its step are examined, @slice at most, so that a pass does not claim a few
-- after the other of many that must not start.
--
-- Parameters:
--   @targets  JSON array of objects with target_execution_id: waiting targets, whose rows the caller has locked.
--   @closed   Receives such an array of those that must not start; NULL: each may start.
--   @slice    Maximum number of targets that are examined beside the given ones, at least 1.
-- Called by: jobs_internal.claim_limited_targets, jobs_internal.claim_unlimited_targets, within their transactions.
-- Locks:     the targets (U, X), skipping locked rows.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.hold_targets
    @targets NVARCHAR(MAX),
    @closed  NVARCHAR(MAX) OUTPUT,
    @slice   INT = 5000,
    @now     DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @examined TABLE (
        target_execution_id BIGINT NOT NULL PRIMARY KEY,
        step_execution_id   BIGINT NOT NULL,
        target_id           UNIQUEIDENTIFIER NOT NULL,
        is_given            BIT NOT NULL,
        step_timeout_seconds INT NOT NULL
    );
    DECLARE @steps TABLE (step_execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @held TABLE (
        target_execution_id BIGINT NOT NULL PRIMARY KEY,
        held_by             BIGINT NOT NULL,
        is_given            BIT NOT NULL,
        step_timeout_seconds INT NOT NULL
    );
    DECLARE @locked TABLE (target_execution_id BIGINT NOT NULL PRIMARY KEY, attempts INT NOT NULL);

    SET @closed = NULL;
    INSERT INTO @examined (target_execution_id, step_execution_id, target_id, is_given, step_timeout_seconds)
    SELECT t.target_execution_id, t.step_execution_id, t.target_id, 1, d.step_timeout_seconds
    FROM OPENJSON(@targets) WITH (target_execution_id BIGINT) AS o
    INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = o.target_execution_id
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = t.step_execution_id
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
    INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
    WHERE t.is_endpoint = 0
        AND c.command_type <> N'Upkeep';
    WHILE 1 = 1
    BEGIN
        -- Plan: per target a key of UQ_target_pauses_target_id.
        INSERT INTO @held (target_execution_id, held_by, is_given, step_timeout_seconds)
        SELECT x.target_execution_id, -p.pause_id, x.is_given, x.step_timeout_seconds
        FROM @examined AS x
        INNER JOIN jobs_internal.target_pauses AS p ON p.target_id = x.target_id
        WHERE p.resumed_at IS NULL
            AND (p.ends_at IS NULL OR p.ends_at > @now);
        IF @@ROWCOUNT = 0 OR EXISTS (SELECT 1 FROM @steps AS s)
            BREAK;

        INSERT INTO @steps (step_execution_id)
        SELECT DISTINCT x.step_execution_id
        FROM @held AS h
        INNER JOIN @examined AS x ON x.target_execution_id = h.target_execution_id;
        DELETE FROM @examined;
        -- Plan: per step a range of IX_target_executions_due, each key with its row; nothing is locked.
        INSERT INTO @examined (target_execution_id, step_execution_id, target_id, is_given, step_timeout_seconds)
        SELECT TOP (@slice) t.target_execution_id, t.step_execution_id, t.target_id, 0, d.step_timeout_seconds
        FROM @steps AS w
        INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = w.step_execution_id
        INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
        CROSS APPLY (
            SELECT TOP (@slice) u.target_execution_id, u.step_execution_id, u.target_id
            FROM jobs_internal.target_executions AS u WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
            WHERE u.step_execution_id = w.step_execution_id
                AND u.next_attempt_at IS NOT NULL
                AND u.next_attempt_at <= @now
            ORDER BY u.next_attempt_at, u.target_execution_id
        ) AS t
        WHERE NOT EXISTS (SELECT 1 FROM @held AS h WHERE h.target_execution_id = t.target_execution_id);
    END;
    IF NOT EXISTS (SELECT 1 FROM @held AS h)
        RETURN 0;

    -- attempts is in no index, so that the locks are on the clustered keys. READPAST never waits.
    INSERT INTO @locked (target_execution_id, attempts)
    SELECT t.target_execution_id, t.attempts
    FROM @held AS h
    INNER LOOP JOIN jobs_internal.target_executions AS t WITH (UPDLOCK, READPAST, ROWLOCK) ON t.target_execution_id = h.target_execution_id
    WHERE t.next_attempt_at IS NOT NULL;
    UPDATE t
    SET t.next_attempt_at = '9999-12-31',
        t.held_by = h.held_by,
        t.deadline_at = COALESCE(t.deadline_at, DATEADD(SECOND, h.step_timeout_seconds, @now))
    FROM @locked AS l
    INNER JOIN @held AS h ON h.target_execution_id = l.target_execution_id
    INNER LOOP JOIN jobs_internal.target_executions AS t ON t.target_execution_id = l.target_execution_id;

    SET @closed = (
        SELECT h.target_execution_id
        FROM @held AS h
        WHERE h.is_given = 1
        FOR JSON PATH
    );
    RETURN 0;
END;
