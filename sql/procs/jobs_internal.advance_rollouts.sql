-- Moves on the roll-outs that are due, each as far as it can: one after the other, because there are few. A roll-out whose row another
-- session holds, or whose run, waits for a later pass (I14). DESIGN.md, "Roll-outs".
--
-- Cost: at most @slice targets, and 50 roll-outs. Roll-outs that bake, or wait for a person, cost one seek of IX_rollouts_next_check_at.
--
-- Parameters:
--   @slice  Maximum number of targets that are assigned or recorded, at least 1.
--   @more   Output. 1: there is more to do, so the next pass should follow at once.
-- Called by: jobs_internal.advance, within its transaction, at its end.
-- Locks:     the roll-outs and their runs (U), skipping locked rows; then see jobs_internal.advance_rollout.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.advance_rollouts
    @slice INT = 5000,
    @more  BIT = 0 OUTPUT,
    @now   DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    SET @more = 0;
    DECLARE @room INT = @slice;
    DECLARE @execution_id BIGINT;
    DECLARE @examined INT;
    DECLARE @moved BIT;
    DECLARE @most INT = 50; -- roll-outs in one call
    DECLARE @is_full BIT;
    DECLARE @due TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, seed INT NOT NULL);
    DECLARE @runs TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, allow_overlap BIT NOT NULL);

    -- Plan: the start of IX_rollouts_next_check_at; and the runs with a stop request, which are few, with a key of PK_rollouts each.
    INSERT INTO @due (execution_id)
    SELECT TOP (@most) r.execution_id
    FROM jobs_internal.rollouts AS r WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
    WHERE r.next_check_at IS NOT NULL
        AND r.next_check_at <= @now
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND r.execution_id BETWEEN z.first_id AND z.last_id
        )
    ORDER BY r.next_check_at;
    SET @is_full = CASE WHEN @@ROWCOUNT = @most THEN 1 ELSE 0 END;
    INSERT INTO @due (execution_id)
    SELECT e.execution_id
    FROM jobs_internal.job_executions AS e WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
    INNER JOIN jobs_internal.rollouts AS r WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON r.execution_id = e.execution_id
    WHERE e.is_active = 1
        AND e.stop_requested_at IS NOT NULL
        AND r.ended_at IS NULL
        AND r.state <> N'Aborting'
        AND NOT EXISTS (SELECT 1 FROM @due AS d WHERE d.execution_id = e.execution_id)
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND e.execution_id BETWEEN z.first_id AND z.last_id
        );

    -- seed and allow_overlap are in no index, so that the locks are on the clustered keys.
    INSERT INTO @locked (execution_id, seed)
    SELECT r.execution_id, r.seed
    FROM @due AS d
    INNER LOOP JOIN jobs_internal.rollouts AS r WITH (UPDLOCK, READPAST, ROWLOCK) ON r.execution_id = d.execution_id
    WHERE r.ended_at IS NULL;
    INSERT INTO @runs (execution_id, allow_overlap)
    SELECT e.execution_id, e.allow_overlap
    FROM @locked AS l
    INNER LOOP JOIN jobs_internal.job_executions AS e WITH (UPDLOCK, READPAST, ROWLOCK) ON e.execution_id = l.execution_id;

    SET @execution_id = (SELECT MIN(l.execution_id) FROM @runs AS l);
    WHILE @execution_id IS NOT NULL
    BEGIN
        SET @moved = 0;
        IF @room > 0
        BEGIN
            EXECUTE jobs_internal.advance_rollout
                @execution_id = @execution_id,
                @slice = @room,
                @examined = @examined OUTPUT,
                @more = @moved OUTPUT,
                @now = @now;
            SET @room = @room - @examined;
        END;
        ELSE
        BEGIN
            SET @more = 1;
            DELETE FROM @locked WHERE execution_id = @execution_id;
        END;
        SET @more = CASE WHEN @moved = 1 THEN 1 ELSE @more END;
        SET @execution_id = (SELECT MIN(l.execution_id) FROM @runs AS l WHERE l.execution_id > @execution_id);
    END;
    -- A roll-out that waits for the end of a run stays due. So that many of them do not keep others from their turn, those that were looked
    -- at come last; and the next pass follows at once only if one has waited for more than a second.
    IF @is_full = 1
    BEGIN
        UPDATE r
        SET r.next_check_at = @now
        FROM @locked AS l
        INNER LOOP JOIN jobs_internal.rollouts AS r ON r.execution_id = l.execution_id
        WHERE r.next_check_at < @now;
        IF EXISTS (
            SELECT 1
            FROM jobs_internal.rollouts AS r WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) -- past: a later pass does
            WHERE r.next_check_at IS NOT NULL
                AND r.next_check_at < DATEADD(SECOND, -1, @now)
                AND NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.set_asides AS z
                    WHERE z.kind = N'Run'
                        AND r.execution_id BETWEEN z.first_id AND z.last_id
                )
        )
            SET @more = 1;
    END;
    RETURN 0;
END;
