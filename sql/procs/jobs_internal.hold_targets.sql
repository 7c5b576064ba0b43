-- Says which of some waiting targets must not start now, because their databases are paused or a window of them is not open, and holds
-- these: their next attempt is due in the year 9999, until release_targets makes it due. DESIGN.md, "Held targets".
--
-- If one of them must not start, more of the waiting targets of its step are examined, @slice at most, so that a pass does not claim a few
-- after the other of many that must not start.
--
-- Parameters:
--   @targets  JSON array of objects with target_execution_id: waiting targets, whose rows the caller has locked.
--   @closed   Receives such an array of those that must not start; NULL: each may start.
--   @slice    Maximum number of targets that are examined beside the given ones, at least 1.
-- Called by: jobs_internal.claim_limited_targets, jobs_internal.claim_unlimited_targets, within their transactions.
-- Locks:     the targets (U, X), the answers about windows (U, X), skipping locked rows; see jobs_internal.match_windows.
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
    -- An answer holds for two minutes at most, and may have been given since the pass began. One that holds for longer is one before the
    -- clock was set back.
    DECLARE @latest DATETIME2(7) = DATEADD(MINUTE, 3, @now);
    DECLARE @has_windows BIT = CASE WHEN EXISTS (SELECT 1 FROM jobs_internal.target_windows AS w) THEN 1 ELSE 0 END;
    DECLARE @revision BIGINT;
    DECLARE @unknown NVARCHAR(MAX);
    DECLARE @round INT = 1;
    DECLARE @examined TABLE (
        target_execution_id  BIGINT NOT NULL PRIMARY KEY,
        step_execution_id    BIGINT NOT NULL,
        target_id            UNIQUEIDENTIFIER NOT NULL,
        is_given             BIT NOT NULL,
        has_windows          BIT NOT NULL, -- 0: the run does not wait for windows
        step_timeout_seconds INT NOT NULL
    );
    DECLARE @steps TABLE (step_execution_id BIGINT NOT NULL PRIMARY KEY, has_windows BIT NOT NULL, step_timeout_seconds INT NOT NULL);
    DECLARE @held TABLE (
        target_execution_id  BIGINT NOT NULL PRIMARY KEY,
        held_by              BIGINT NULL, -- NULL: it is not known yet whether it may start, and the next pass looks again
        is_given             BIT NOT NULL,
        step_execution_id    BIGINT NOT NULL,
        step_timeout_seconds INT NOT NULL
    );
    DECLARE @locked TABLE (target_execution_id BIGINT NOT NULL PRIMARY KEY, attempts INT NOT NULL);
    DECLARE @asked TABLE (answer_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked_answers TABLE (answer_id BIGINT NOT NULL PRIMARY KEY, released_to BIGINT NOT NULL);

    SET @closed = NULL;
    SELECT @revision = v.revision
    FROM jobs_internal.window_state AS v;
    -- A run that ignores windows, a preflight, and a probe of a roll-out do not wait for windows; a wave does as its roll-out.
    INSERT INTO @examined (target_execution_id, step_execution_id, target_id, is_given, has_windows, step_timeout_seconds)
    SELECT
        t.target_execution_id,
        t.step_execution_id,
        t.target_id,
        1,
        CASE WHEN e.ignore_windows = 1 OR r.ignore_windows = 1 OR e.rollout_probe = 1 OR e.mode = N'Preflight' THEN 0 ELSE @has_windows END,
        d.step_timeout_seconds
    FROM OPENJSON(@targets) WITH (target_execution_id BIGINT) AS o
    INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = o.target_execution_id
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = t.step_execution_id
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
    LEFT JOIN jobs_internal.job_executions AS r ON r.execution_id = e.rollout_of
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
    INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
    WHERE t.is_endpoint = 0
        AND c.command_type <> N'Upkeep';
    WHILE 1 = 1
    BEGIN
        -- Plan: per target a key of UQ_target_pauses_target_id.
        INSERT INTO @held (target_execution_id, held_by, is_given, step_execution_id, step_timeout_seconds)
        SELECT x.target_execution_id, -p.pause_id, x.is_given, x.step_execution_id, x.step_timeout_seconds
        FROM @examined AS x
        INNER JOIN jobs_internal.target_pauses AS p ON p.target_id = x.target_id
        WHERE p.resumed_at IS NULL
            AND (p.ends_at IS NULL OR p.ends_at > @now);
        IF @has_windows = 1
        BEGIN
            -- Databases whose windows are not known, or not as they are now. Plan: per target a key of gated_targets.
            SET @unknown = (
                SELECT x.target_id
                FROM @examined AS x
                LEFT JOIN jobs_internal.gated_targets AS g ON g.target_id = x.target_id AND g.revision = @revision
                WHERE x.has_windows = 1
                    AND g.target_id IS NULL
                FOR JSON PATH
            );
            IF @unknown IS NOT NULL
                EXECUTE jobs_internal.match_windows @targets = @unknown;
            -- What another session is finding out now does not start in this pass.
            INSERT INTO @held (target_execution_id, held_by, is_given, step_execution_id, step_timeout_seconds)
            SELECT x.target_execution_id, NULL, x.is_given, x.step_execution_id, x.step_timeout_seconds
            FROM @examined AS x
            LEFT JOIN jobs_internal.gated_targets AS g ON g.target_id = x.target_id AND g.revision = @revision
            WHERE x.has_windows = 1
                AND g.target_id IS NULL
                AND NOT EXISTS (SELECT 1 FROM @held AS h WHERE h.target_execution_id = x.target_execution_id);
            -- Of several windows that are closed, the one that opens last holds the target. Plan: per target a range of target_gates, and
            -- a key of window_answers for each.
            INSERT INTO @held (target_execution_id, held_by, is_given, step_execution_id, step_timeout_seconds)
            SELECT x.target_execution_id, c.answer_id, x.is_given, x.step_execution_id, x.step_timeout_seconds
            FROM @examined AS x
            CROSS APPLY (
                SELECT TOP (1) a.answer_id
                FROM jobs_internal.target_gates AS g
                INNER JOIN jobs_internal.window_answers AS a ON a.answer_id = g.answer_id
                WHERE g.target_id = x.target_id
                    AND (a.is_open = 0 OR a.holds_until IS NULL OR a.holds_until <= @now OR a.holds_until > @latest)
                ORDER BY CASE WHEN a.holds_until > @now THEN COALESCE(a.changes_at, '9999-12-31') ELSE '9999-12-31' END DESC, a.answer_id
            ) AS c
            WHERE x.has_windows = 1
                AND NOT EXISTS (SELECT 1 FROM @held AS h WHERE h.target_execution_id = x.target_execution_id);
            -- An answer is asked for a minute before it expires, so that a long run does not stop and go.
            INSERT INTO @asked (answer_id)
            SELECT DISTINCT g.answer_id
            FROM @examined AS x
            INNER JOIN jobs_internal.target_gates AS g ON g.target_id = x.target_id
            INNER JOIN jobs_internal.window_answers AS a ON a.answer_id = g.answer_id
            WHERE x.has_windows = 1
                AND a.check_at IS NULL
                AND (a.holds_until IS NULL OR a.holds_until <= DATEADD(SECOND, 60, @now) OR a.holds_until > @latest)
                AND g.answer_id NOT IN (SELECT k.answer_id FROM @asked AS k);
        END;
        IF @round = 2 OR NOT EXISTS (SELECT 1 FROM @held AS h WHERE h.held_by IS NOT NULL)
            BREAK;
        SET @round = 2;

        INSERT INTO @steps (step_execution_id, has_windows, step_timeout_seconds)
        SELECT x.step_execution_id, MAX(CAST(x.has_windows AS INT)), MAX(x.step_timeout_seconds)
        FROM @held AS h
        INNER JOIN @examined AS x ON x.target_execution_id = h.target_execution_id
        GROUP BY x.step_execution_id;
        DELETE FROM @examined;
        -- Plan: per step a range of IX_target_executions_due, each key with its row; nothing is locked.
        INSERT INTO @examined (target_execution_id, step_execution_id, target_id, is_given, has_windows, step_timeout_seconds)
        SELECT TOP (@slice) t.target_execution_id, t.step_execution_id, t.target_id, 0, w.has_windows, w.step_timeout_seconds
        FROM @steps AS w
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
    IF EXISTS (SELECT 1 FROM @asked AS k)
    BEGIN
        -- released_to is in no index, so that the locks are on the clustered keys.
        INSERT INTO @locked_answers (answer_id, released_to)
        SELECT a.answer_id, a.released_to
        FROM @asked AS k
        INNER LOOP JOIN jobs_internal.window_answers AS a WITH (UPDLOCK, READPAST, ROWLOCK) ON a.answer_id = k.answer_id;
        UPDATE a
        SET a.check_at = @now
        FROM @locked_answers AS l
        INNER LOOP JOIN jobs_internal.window_answers AS a ON a.answer_id = l.answer_id
        WHERE a.check_at IS NULL;
    END;
    IF NOT EXISTS (SELECT 1 FROM @held AS h)
        RETURN 0;

    -- attempts is in no index, so that the locks are on the clustered keys. READPAST never waits.
    INSERT INTO @locked (target_execution_id, attempts)
    SELECT t.target_execution_id, t.attempts
    FROM @held AS h
    INNER LOOP JOIN jobs_internal.target_executions AS t WITH (UPDLOCK, READPAST, ROWLOCK) ON t.target_execution_id = h.target_execution_id
    WHERE t.next_attempt_at IS NOT NULL
        AND h.held_by IS NOT NULL;
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
