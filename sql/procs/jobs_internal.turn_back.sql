-- Follows a clock that jumped back. What the former clock had made due would otherwise wait for the length of the jump: attempts, and
-- the expiry of terms whose agents are gone. Planned instants of schedules, time limits and deadlines of callbacks stay as they are,
-- so the latter two last longer by the jump.
--
-- In slices (I15): attempts that were due come first, at most @slice steps and targets each a call. When none is left, attempts that
-- waited for a retry are moved by the length of the jump, as many as fit into the slice, the next ones first; any other comes later
-- by it. Then jobs_internal.turn_back_rollouts does the same for roll-outs and windows.
--
-- Parameters:
--   @turned_at  What the clock showed at the last pass before the jump.
--   @slice      Maximum number of steps, and of targets, that a call changes, at least 1.
--   @more       Output. 1: a slice was full; the next pass continues.
--   @now        The time of the pass.
-- Called by: jobs_internal.advance, within its transaction.
-- Locks:     the row of advance_state, which the pass has locked (X), terms (X), targets (X), steps (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.turn_back
    @turned_at DATETIME2(7),
    @slice     INT = 5000,
    @more      BIT = 0 OUTPUT,
    @now       DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @more = 0;
    -- DATEDIFF overflows from 68 years on, and DATEADD takes no more: then the rest of a wait stays longer than it was.
    DECLARE @seconds BIGINT = DATEDIFF_BIG(SECOND, @now, @turned_at);
    DECLARE @jump INT = CASE WHEN @seconds > 2147483647 THEN 2147483647 ELSE @seconds END;
    DECLARE @targets INT;
    DECLARE @steps INT;
    DECLARE @late TABLE (term_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @due_targets TABLE (target_execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @due_steps TABLE (step_execution_id BIGINT NOT NULL PRIMARY KEY);

    -- Terms that were not renewed since the jump. One that was is not among them: its lease began a moment ago at most.
    INSERT INTO @late (term_id)
    SELECT t.term_id
    FROM jobs_internal.terms AS t
    WHERE t.ended_at IS NULL
        AND t.expires_at > DATEADD(SECOND, COALESCE(t.lease_seconds, 60) + 5, @now);
    IF @@ROWCOUNT > 0
        UPDATE t
        SET t.expires_at = DATEADD(SECOND, COALESCE(t.lease_seconds, 60), @now)
        FROM @late AS l
        INNER LOOP JOIN jobs_internal.terms AS t ON t.term_id = l.term_id
        WHERE t.ended_at IS NULL
            AND t.expires_at > DATEADD(SECOND, COALESCE(t.lease_seconds, 60) + 5, @now);

    -- Plan: a scan of IX_target_executions_due, which has what waits, with a sort: first attempts have no deadline, so they are not in
    -- IX_target_executions_next_attempt_at. A range of IX_step_executions_due.
    INSERT INTO @due_targets (target_execution_id)
    SELECT TOP (@slice) t.target_execution_id
    FROM jobs_internal.target_executions AS t
    WHERE t.next_attempt_at IS NOT NULL
        AND t.next_attempt_at > @now
        AND t.next_attempt_at <= @turned_at
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND t.execution_id BETWEEN z.first_id AND z.last_id
        )
    ORDER BY t.next_attempt_at;
    SET @targets = @@ROWCOUNT;
    INSERT INTO @due_steps (step_execution_id)
    SELECT TOP (@slice) s.step_execution_id
    FROM jobs_internal.step_executions AS s
    WHERE s.next_attempt_at IS NOT NULL
        AND s.next_attempt_at > @now
        AND s.next_attempt_at <= @turned_at
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND s.execution_id BETWEEN z.first_id AND z.last_id
        )
    ORDER BY s.next_attempt_at;
    SET @steps = @@ROWCOUNT;
    SET @more = CASE WHEN @targets = @slice OR @steps = @slice THEN 1 ELSE 0 END;
    IF @more = 0
    BEGIN
        INSERT INTO @due_targets (target_execution_id)
        SELECT TOP (@slice - @targets) t.target_execution_id
        FROM jobs_internal.target_executions AS t
        WHERE t.next_attempt_at IS NOT NULL
            AND t.next_attempt_at > @turned_at
            AND t.next_attempt_at < '9999-12-31' -- not those that are held
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.set_asides AS z
                WHERE z.kind = N'Run'
                    AND t.execution_id BETWEEN z.first_id AND z.last_id
            )
        ORDER BY t.next_attempt_at;
        INSERT INTO @due_steps (step_execution_id)
        SELECT TOP (@slice - @steps) s.step_execution_id
        FROM jobs_internal.step_executions AS s
        WHERE s.next_attempt_at IS NOT NULL
            AND s.next_attempt_at > @turned_at
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.set_asides AS z
                WHERE z.kind = N'Run'
                    AND s.execution_id BETWEEN z.first_id AND z.last_id
            )
        ORDER BY s.next_attempt_at;
    END;
    UPDATE t
    SET t.next_attempt_at = CASE WHEN t.next_attempt_at <= @turned_at THEN @now ELSE DATEADD(SECOND, -@jump, t.next_attempt_at) END
    FROM @due_targets AS d
    INNER LOOP JOIN jobs_internal.target_executions AS t ON t.target_execution_id = d.target_execution_id
    WHERE t.next_attempt_at > @now; -- another pass may have claimed it meanwhile
    UPDATE s
    SET s.next_attempt_at = CASE WHEN s.next_attempt_at <= @turned_at THEN @now ELSE DATEADD(SECOND, -@jump, s.next_attempt_at) END
    FROM @due_steps AS d
    INNER LOOP JOIN jobs_internal.step_executions AS s ON s.step_execution_id = d.step_execution_id
    WHERE s.next_attempt_at > @now;

    IF @more = 0
        EXECUTE jobs_internal.turn_back_rollouts
            @turned_at = @turned_at,
            @jump = @jump,
            @slice = @slice,
            @more = @more OUTPUT,
            @now = @now;
    -- The next pass compares with the new clock.
    IF @more = 0
        UPDATE a
        SET a.last_advanced_at = @now
        FROM jobs_internal.advance_state AS a
        WHERE a.id = 1;
    RETURN 0;
END;
