-- Makes targets due that were held by what has ended: pauses of databases. A claim then looks again whether they may start (hold_targets).
--
-- Cost: without pauses, a seek of an empty table; otherwise the pauses that have ended, and the targets that they held, in slices. It does
-- not depend on the number of targets that are held.
--
-- Parameters:
--   @slice  Maximum number of targets that it changes, at least 1.
--   @more   Output. 1: some may be left; the next pass continues.
--   @now    The time of the pass.
-- Called by: jobs_internal.advance, within a transaction that holds the application lock jobagent.advance.
-- Locks:     the targets (X).
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
    DECLARE @ended TABLE (held_by BIGINT NOT NULL PRIMARY KEY);
    DECLARE @targets TABLE (target_execution_id BIGINT NOT NULL PRIMARY KEY);

    SET @more = 0;
    -- The rows of pauses that have ended stay until the night's upkeep. Plan: IX_target_pauses_resumed_at, IX_target_pauses_ends_at, and a
    -- key of IX_target_executions_held_by for each.
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
    IF @@ROWCOUNT = 0
        RETURN 0;

    -- Plan: ranges of IX_target_executions_held_by.
    INSERT INTO @targets (target_execution_id)
    SELECT TOP (@slice) t.target_execution_id
    FROM @ended AS d
    INNER JOIN jobs_internal.target_executions AS t ON t.held_by = d.held_by
    WHERE t.held_by IS NOT NULL
        AND t.next_attempt_at IS NOT NULL
    ORDER BY t.held_by, t.target_execution_id;
    SET @more = CASE WHEN @@ROWCOUNT = @slice THEN 1 ELSE 0 END;
    UPDATE t
    SET t.next_attempt_at = @now,
        t.held_by = NULL
    FROM @targets AS w
    INNER LOOP JOIN jobs_internal.target_executions AS t ON t.target_execution_id = w.target_execution_id
    WHERE t.next_attempt_at IS NOT NULL;
    RETURN 0;
END;
