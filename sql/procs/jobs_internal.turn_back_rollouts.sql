-- Moves what roll-outs and windows wait for after a clock that jumped back: checks that were due are due, bakes and probes end as long
-- after as before, and the next target of a paced wave starts as soon. Answers about windows hold no longer than they did, so that agents
-- give new ones. A roll-out that is being planned tries for a minute again to find the jobs of its plan. Deadlines of roll-outs stay as
-- they are: they are times of the clock.
--
-- Parameters:
--   @turned_at  What the clock showed at the last pass before the jump.
--   @jump       Length of the jump in seconds.
--   @slice      Maximum number of rows of each table that a call changes, at least 1.
--   @more       Output. 1: a slice was full; the next pass continues.
--   @now        The time of the pass.
-- Called by: jobs_internal.turn_back.
-- Locks:     roll-outs (U, X), skipping locked rows: the procedure that holds one makes it due; their waves and paces (X); answers about
--            windows (U, X), skipping locked rows.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.turn_back_rollouts
    @turned_at DATETIME2(7),
    @jump      INT,
    @slice     INT = 5000,
    @more      BIT = 0 OUTPUT,
    @now       DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @more = 0;
    DECLARE @due INT;
    -- An answer holds for two minutes, and is renewed before (jobs_internal.record_windows).
    DECLARE @latest DATETIME2(7) = DATEADD(MINUTE, 2, @now);
    DECLARE @found TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, seed INT NOT NULL);
    DECLARE @paces TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @answers TABLE (answer_id BIGINT NOT NULL PRIMARY KEY, released_to BIGINT NOT NULL);

    -- Plan: ranges of IX_rollouts_next_check_at with a lookup each. A roll-out that waits for its deadline stays.
    INSERT INTO @found (execution_id)
    SELECT TOP (@slice) r.execution_id
    FROM jobs_internal.rollouts AS r WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) -- past: its holder makes it due
    WHERE r.next_check_at IS NOT NULL
        AND r.next_check_at > @now
        AND r.next_check_at <= @turned_at
        AND (r.deadline_at IS NULL OR r.next_check_at <> r.deadline_at)
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND r.execution_id BETWEEN z.first_id AND z.last_id
        )
    ORDER BY r.next_check_at;
    SET @due = @@ROWCOUNT;
    SET @more = CASE WHEN @due = @slice THEN 1 ELSE 0 END;
    INSERT INTO @found (execution_id)
    SELECT TOP (@slice - @due) r.execution_id
    FROM jobs_internal.rollouts AS r WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) -- past: its holder makes it due
    WHERE r.next_check_at IS NOT NULL
        AND r.next_check_at > @turned_at
        AND (r.deadline_at IS NULL OR r.next_check_at <> r.deadline_at)
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND r.execution_id BETWEEN z.first_id AND z.last_id
        )
    ORDER BY r.next_check_at;
    -- seed is in no index, so that the locks are on the clustered keys.
    INSERT INTO @locked (execution_id, seed)
    SELECT r.execution_id, r.seed
    FROM @found AS f
    INNER LOOP JOIN jobs_internal.rollouts AS r WITH (UPDLOCK, READPAST, ROWLOCK) ON r.execution_id = f.execution_id
    WHERE r.next_check_at > @now;
    UPDATE w
    SET w.bake_until = CASE
            WHEN w.bake_until <= @now THEN w.bake_until
            WHEN w.bake_until <= @turned_at THEN @now
            ELSE DATEADD(SECOND, -@jump, w.bake_until)
        END,
        w.probe_at = CASE
            WHEN w.probe_at <= @now THEN w.probe_at
            WHEN w.probe_at <= @turned_at THEN @now
            ELSE DATEADD(SECOND, -@jump, w.probe_at)
        END
    FROM @locked AS l
    INNER LOOP JOIN jobs_internal.rollouts AS r ON r.execution_id = l.execution_id
    INNER LOOP JOIN jobs_internal.rollout_waves AS w ON w.execution_id = r.execution_id AND w.wave = r.wave
    WHERE w.bake_until > @now
        OR w.probe_at > @now;
    UPDATE r
    SET r.next_check_at = CASE
            WHEN r.state = N'Planning' THEN DATEADD(MINUTE, -1, @now) -- add_rollout_waves: nobody has tried for a minute
            WHEN r.next_check_at <= @turned_at THEN @now
            ELSE DATEADD(SECOND, -@jump, r.next_check_at)
        END
    FROM @locked AS l
    INNER LOOP JOIN jobs_internal.rollouts AS r ON r.execution_id = l.execution_id;

    -- Plan: a range of IX_rollouts_window_check_at with a lookup each.
    DELETE FROM @found;
    DELETE FROM @locked;
    INSERT INTO @found (execution_id)
    SELECT TOP (@slice) r.execution_id
    FROM jobs_internal.rollouts AS r WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) -- past: its holder is the agent that answers
    WHERE r.window_check_at IS NOT NULL
        AND r.window_check_at > @latest
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND r.execution_id BETWEEN z.first_id AND z.last_id
        )
    ORDER BY r.window_check_at;
    SET @more = CASE WHEN @@ROWCOUNT = @slice THEN 1 ELSE @more END;
    INSERT INTO @locked (execution_id, seed)
    SELECT r.execution_id, r.seed
    FROM @found AS f
    INNER LOOP JOIN jobs_internal.rollouts AS r WITH (UPDLOCK, READPAST, ROWLOCK) ON r.execution_id = f.execution_id
    WHERE r.window_check_at > @latest;
    UPDATE r
    SET r.window_check_at = @now,
        r.window_open_until = NULL
    FROM @locked AS l
    INNER LOOP JOIN jobs_internal.rollouts AS r ON r.execution_id = l.execution_id;

    -- Plan: ranges of IX_rollout_paces_next_at, in which roll-outs that have ended do no harm.
    INSERT INTO @paces (execution_id)
    SELECT TOP (@slice) p.execution_id
    FROM jobs_internal.rollout_paces AS p
    WHERE p.next_at > @now
        AND p.next_at <= @turned_at
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND p.execution_id BETWEEN z.first_id AND z.last_id
        )
    ORDER BY p.next_at;
    SET @due = @@ROWCOUNT;
    SET @more = CASE WHEN @due = @slice THEN 1 ELSE @more END;
    INSERT INTO @paces (execution_id)
    SELECT TOP (@slice - @due) p.execution_id
    FROM jobs_internal.rollout_paces AS p
    WHERE p.next_at > @turned_at
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND p.execution_id BETWEEN z.first_id AND z.last_id
        )
    ORDER BY p.next_at;
    UPDATE p
    SET p.next_at = CASE WHEN p.next_at <= @turned_at THEN @now ELSE DATEADD(SECOND, -@jump, p.next_at) END
    FROM @paces AS d
    INNER LOOP JOIN jobs_internal.rollout_paces AS p ON p.execution_id = d.execution_id;

    -- reads: one row for all windows with the same calendars
    INSERT INTO @answers (answer_id, released_to)
    SELECT TOP (@slice) s.answer_id, s.released_to
    FROM jobs_internal.window_answers AS s WITH (UPDLOCK, READPAST, ROWLOCK)
    WHERE s.check_at > @latest
        OR s.holds_until > @latest
    ORDER BY s.answer_id;
    SET @more = CASE WHEN @@ROWCOUNT = @slice THEN 1 ELSE @more END;
    UPDATE s
    SET s.check_at = CASE WHEN s.check_at IS NULL THEN NULL ELSE @now END,
        s.holds_until = NULL,
        s.is_open = 0
    FROM @answers AS a
    INNER LOOP JOIN jobs_internal.window_answers AS s ON s.answer_id = a.answer_id;
    RETURN 0;
END;
