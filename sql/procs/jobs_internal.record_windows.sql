-- Stores what an agent has found out about the windows of roll-outs and databases: whether they are open now, and until when that is so.
-- An answer holds for two minutes at most, and is renewed after one while something waits for it, so that a changed calendar counts soon.
-- Without an answer that holds, the window counts as closed. DESIGN.md, "Roll-outs" and "Held targets".
--
-- Parameters:
--   @term_id    The caller's term.
--   @windows    JSON array of objects: execution_id, wave, answer_id and window_check_at, of jobs_internal.due_schedules; is_open (1: the
--               window is open at the instant at; 0: it is closed); at (the time of due_schedules); changes_at (when this changes; null:
--               that is not known); fault (why that could not be evaluated; then the window is closed).
--   @term_guid  The term's GUID; NULL: it is not compared.
-- Called by: agent/scheduler.go.
-- Locks:     the roll-outs, the answers about windows of databases (U, X), skipping locked rows.
-- Returns:   one row: recorded, the number of windows; opened, the number of those that are open and were not before. One that was changed
--            meanwhile, or whose row is locked, is left out: due_schedules lists it again.
-- Throws:
--   50029 @windows is missing or no JSON.
--   50201 the term has ended.
--   50204 the control database has another incarnation than the term.
CREATE OR ALTER PROCEDURE jobs_internal.record_windows
    @term_id   BIGINT,
    @windows   NVARCHAR(MAX),
    @term_guid UNIQUEIDENTIFIER = NULL,
    @now       DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @recorded INT;
    DECLARE @opened INT;
    DECLARE @answers TABLE (
        answer_id       BIGINT NOT NULL, -- 0: of a roll-out
        execution_id    BIGINT NOT NULL,
        wave            INT NOT NULL,
        window_check_at DATETIME2(7) NOT NULL,
        open_until      DATETIME2(7) NULL,
        opens_at        DATETIME2(7) NULL,
        changes_at      DATETIME2(7) NULL,
        check_at        DATETIME2(7) NOT NULL, -- the next time
        holds_until     DATETIME2(7) NOT NULL,
        fault           NVARCHAR(400) NULL,
        PRIMARY KEY (answer_id, execution_id)
    );
    DECLARE @locked_answers TABLE (answer_id BIGINT NOT NULL PRIMARY KEY, released_to BIGINT NOT NULL);
    DECLARE @locked TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, seed INT NOT NULL);

    IF @windows IS NULL OR ISJSON(@windows) = 0
        THROW 50029, N'Invalid @windows of record_windows: want a JSON array.', 1;
    EXECUTE jobs_internal.check_term @term_id = @term_id, @term_guid = @term_guid;

    INSERT INTO @answers (answer_id, execution_id, wave, window_check_at, open_until, opens_at, changes_at, check_at, holds_until, fault)
    SELECT
        COALESCE(o.answer_id, 0),
        o.execution_id,
        o.wave,
        o.window_check_at,
        CASE WHEN o.is_open = 1 AND o.fault IS NULL THEN CASE WHEN o.changes_at < t.holds THEN o.changes_at ELSE t.holds END END,
        CASE WHEN o.is_open = 0 AND o.fault IS NULL THEN o.changes_at END,
        o.changes_at,
        CASE WHEN o.changes_at < t.renewed THEN o.changes_at ELSE t.renewed END,
        CASE WHEN o.changes_at < t.holds THEN o.changes_at ELSE t.holds END,
        o.fault
    FROM OPENJSON(@windows) WITH (
        answer_id       BIGINT,
        execution_id    BIGINT,
        wave            INT,
        window_check_at DATETIME2(7),
        is_open         BIT,
        at              DATETIME2(7),
        changes_at      DATETIME2(7),
        fault           NVARCHAR(400)
    ) AS o
    CROSS APPLY (SELECT DATEADD(MINUTE, 2, o.at) AS holds, DATEADD(MINUTE, 1, o.at) AS renewed) AS t;

    BEGIN TRANSACTION;
    -- seed is in no index, so that the locks are on the clustered keys.
    INSERT INTO @locked (execution_id, seed)
    SELECT r.execution_id, r.seed
    FROM @answers AS a
    INNER LOOP JOIN jobs_internal.rollouts AS r WITH (UPDLOCK, READPAST, ROWLOCK) ON r.execution_id = a.execution_id
    WHERE a.answer_id = 0;
    SET @opened = (
        SELECT COUNT(*)
        FROM @locked AS l
        INNER JOIN @answers AS a ON a.answer_id = 0 AND a.execution_id = l.execution_id
        INNER JOIN jobs_internal.rollouts AS r ON r.execution_id = l.execution_id
        WHERE r.window_check_at = a.window_check_at
            AND r.wave = a.wave
            AND a.open_until > @now
            AND (r.window_open_until IS NULL OR r.window_open_until <= @now)
    );
    UPDATE r
    SET r.window_check_at = a.check_at,
        r.window_open_until = a.open_until,
        r.window_opens_at = a.opens_at,
        r.window_fault = a.fault,
        r.next_check_at = CASE WHEN a.open_until > @now AND r.state = N'Starting' THEN @now ELSE r.next_check_at END
    FROM @locked AS l
    INNER JOIN @answers AS a ON a.answer_id = 0 AND a.execution_id = l.execution_id
    INNER LOOP JOIN jobs_internal.rollouts AS r ON r.execution_id = l.execution_id
    WHERE r.window_check_at = a.window_check_at
        AND r.wave = a.wave;
    SET @recorded = @@ROWCOUNT;

    -- Windows of databases. One that is open and holds nothing is asked for again only by a claim. released_to is in no index, so that the
    -- locks are on the clustered keys.
    INSERT INTO @locked_answers (answer_id, released_to)
    SELECT s.answer_id, s.released_to
    FROM @answers AS a
    INNER LOOP JOIN jobs_internal.window_answers AS s WITH (UPDLOCK, READPAST, ROWLOCK) ON s.answer_id = a.answer_id
    WHERE a.answer_id > 0
        AND s.check_at = a.window_check_at;
    SET @opened = @opened + (
        SELECT COUNT(*)
        FROM @locked_answers AS l
        INNER JOIN @answers AS a ON a.answer_id = l.answer_id
        INNER JOIN jobs_internal.window_answers AS s ON s.answer_id = l.answer_id
        WHERE a.open_until > @now
            AND (s.is_open = 0 OR s.holds_until IS NULL OR s.holds_until <= @now)
    );
    -- Plan: per answer a key of IX_target_executions_held_by.
    UPDATE s
    SET s.check_at = CASE WHEN h.has_held = 1 THEN a.check_at END,
        s.holds_until = a.holds_until,
        s.is_open = CASE WHEN a.open_until IS NULL THEN 0 ELSE 1 END,
        s.changes_at = a.changes_at,
        s.fault = a.fault
    FROM @locked_answers AS l
    INNER JOIN @answers AS a ON a.answer_id = l.answer_id
    INNER LOOP JOIN jobs_internal.window_answers AS s ON s.answer_id = l.answer_id
    CROSS APPLY (
        SELECT CASE
            WHEN EXISTS (
                SELECT 1
                FROM jobs_internal.target_executions AS t
                WHERE t.held_by = l.answer_id
                    AND t.held_by IS NOT NULL
                    AND t.next_attempt_at IS NOT NULL
            ) THEN 1
            ELSE 0
        END AS has_held
    ) AS h;
    SET @recorded = @recorded + @@ROWCOUNT;
    COMMIT TRANSACTION;

    SELECT @recorded AS recorded, @opened AS opened;
    RETURN 0;
END;
