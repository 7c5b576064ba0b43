-- Makes targets due that were held by what has ended: pauses of databases, and the time outside of their windows. A claim then looks again
-- whether they may start (hold_targets).
--
-- Cost: the pauses that have ended and the answers about windows, a key each, and the targets that they held, in slices. It does not depend
-- on the number of targets that are held.
--
-- Parameters:
--   @slice  Maximum number of targets that it changes, at least 1.
--   @more   Output. 1: some may be left; the next pass continues.
--   @now    The time of the pass.
-- Called by: jobs_internal.advance, within a transaction that holds the application lock jobagent.advance.
-- Locks:     the answers about windows (U, X), skipping locked rows; the targets (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.release_targets
    @slice INT = 5000,
    @more  BIT = 0 OUTPUT,
    @now   DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    -- An answer holds for two minutes at most, and may have been given since the pass began. One that holds for longer is one before the
    -- clock was set back.
    DECLARE @latest DATETIME2(7) = DATEADD(MINUTE, 3, @now);
    DECLARE @ended TABLE (held_by BIGINT NOT NULL PRIMARY KEY);
    DECLARE @revision BIGINT;
    DECLARE @answers TABLE (
        answer_id   BIGINT NOT NULL PRIMARY KEY,
        is_open     BIT NOT NULL,
        round       BIGINT NULL, -- the revision for which all that it holds is looked at; NULL: that was done
        released_to BIGINT NOT NULL
    );
    DECLARE @targets TABLE (target_execution_id BIGINT NOT NULL PRIMARY KEY, held_by BIGINT NOT NULL);

    SET @more = 0;
    -- The rows of pauses that have ended stay until the night's upkeep, a hundred thousand if a fleet was paused. They are read only
    -- while a pause holds something. Plan: the first key of IX_target_executions_held_by; then IX_target_pauses_resumed_at,
    -- IX_target_pauses_ends_at, and a key of the first index for each.
    IF EXISTS (
        SELECT 1
        FROM jobs_internal.target_executions AS t
        WHERE t.held_by IS NOT NULL
            AND t.held_by < 0
            AND t.next_attempt_at IS NOT NULL
    )
        WITH over_pauses AS (
            SELECT p.pause_id
            FROM jobs_internal.target_pauses AS p
            WHERE p.resumed_at IS NOT NULL
            UNION ALL
            SELECT p.pause_id
            FROM jobs_internal.target_pauses AS p
            WHERE p.ends_at IS NOT NULL
                AND p.ends_at <= @now
                AND p.resumed_at IS NULL
        )
        INSERT INTO @ended (held_by)
        SELECT TOP (@slice) -o.pause_id
        FROM over_pauses AS o
        WHERE EXISTS (
            SELECT 1
            FROM jobs_internal.target_executions AS t
            WHERE t.held_by = -o.pause_id
                AND t.held_by IS NOT NULL
                AND t.next_attempt_at IS NOT NULL
        );
    -- What a window holds that is open now; and once what each holds, when windows or tags have changed. A target that is held again keeps
    -- its id, so the second one goes on after the last id. What has changed since it began takes another round, because a target of a
    -- lower id may have been held again before. An answer is asked for as long as it holds something.
    SELECT @revision = v.revision
    FROM jobs_internal.window_state AS v;
    -- released_to is in no index, so that the locks are on the clustered keys. Plan: all answers, which are as many as windows in different
    -- zones, and a key of IX_target_executions_held_by for each.
    INSERT INTO @answers (answer_id, is_open, round, released_to)
    SELECT
        a.answer_id,
        CASE WHEN a.is_open = 1 AND a.holds_until > @now AND a.holds_until <= @latest THEN 1 ELSE 0 END,
        CASE WHEN a.revision < 0 THEN -a.revision WHEN a.revision <> @revision THEN @revision END,
        a.released_to
    FROM jobs_internal.window_answers AS a WITH (UPDLOCK, READPAST, ROWLOCK)
    WHERE (
            a.revision <> @revision
            OR a.check_at IS NULL
            OR (a.is_open = 1 AND a.holds_until > @now AND a.holds_until <= @latest)
        )
        AND EXISTS (
            SELECT 1
            FROM jobs_internal.target_executions AS t
            WHERE t.held_by = a.answer_id
                AND t.held_by IS NOT NULL
                AND t.next_attempt_at IS NOT NULL
        );
    IF NOT EXISTS (SELECT 1 FROM @ended AS d) AND NOT EXISTS (SELECT 1 FROM @answers AS a)
        RETURN 0;

    -- Plan: ranges of IX_target_executions_held_by.
    WITH over_holds AS (
        SELECT d.held_by, CAST(0 AS BIGINT) AS after_id
        FROM @ended AS d
        UNION ALL
        SELECT l.answer_id, CASE WHEN l.is_open = 1 THEN 0 ELSE l.released_to END
        FROM @answers AS l
        WHERE l.is_open = 1
            OR l.round IS NOT NULL
    )
    INSERT INTO @targets (target_execution_id, held_by)
    SELECT TOP (@slice) t.target_execution_id, t.held_by
    FROM over_holds AS o
    INNER JOIN jobs_internal.target_executions AS t ON t.held_by = o.held_by AND t.target_execution_id > o.after_id
    WHERE t.held_by IS NOT NULL
        AND t.next_attempt_at IS NOT NULL
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND t.execution_id BETWEEN z.first_id AND z.last_id
        )
    ORDER BY t.held_by, t.target_execution_id;
    SET @more = CASE WHEN @@ROWCOUNT = @slice THEN 1 ELSE 0 END;
    UPDATE t
    SET t.next_attempt_at = @now,
        t.held_by = NULL
    FROM @targets AS w
    INNER LOOP JOIN jobs_internal.target_executions AS t ON t.target_execution_id = w.target_execution_id
    WHERE t.next_attempt_at IS NOT NULL;

    -- Plan: per answer the targets of the slice, and one key of IX_target_executions_held_by.
    UPDATE a
    SET a.check_at = COALESCE(a.check_at, @now),
        a.revision = CASE
            WHEN l.is_open = 1 AND r.is_left = 1 THEN a.revision
            WHEN l.is_open = 1 THEN @revision
            WHEN r.is_left = 1 THEN COALESCE(-l.round, a.revision)
            ELSE COALESCE(l.round, a.revision)
        END,
        a.released_to = CASE WHEN l.is_open = 0 AND r.is_left = 1 THEN p.released_to ELSE 0 END
    FROM @answers AS l
    INNER LOOP JOIN jobs_internal.window_answers AS a ON a.answer_id = l.answer_id
    CROSS APPLY (
        SELECT COALESCE(
            (SELECT MAX(w.target_execution_id) FROM @targets AS w WHERE w.held_by = l.answer_id),
            CASE WHEN l.is_open = 1 THEN 0 ELSE l.released_to END
        ) AS released_to
    ) AS p
    CROSS APPLY (
        SELECT CASE WHEN EXISTS (
            SELECT 1
            FROM jobs_internal.target_executions AS t
            WHERE t.held_by = l.answer_id
                AND t.held_by IS NOT NULL
                AND t.next_attempt_at IS NOT NULL
                AND t.target_execution_id > p.released_to
        ) THEN 1 ELSE 0 END AS is_left
    ) AS r;
    IF EXISTS (SELECT 1 FROM @answers AS l WHERE l.round <> @revision)
        SET @more = 1;
    RETURN 0;
END;
