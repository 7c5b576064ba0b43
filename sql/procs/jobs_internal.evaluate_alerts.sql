-- Evaluates the rules of alerts: raises alerts, counts further events in those that are unresolved, makes notifications that are due, and
-- resolves. Any number of agents and fronts call it some seconds apart; a call soon after another one, or while another one is at work,
-- only reads one row.
--
-- Cost: the runs that ended since the last evaluation (alert_runs), the active runs that RunTooLong and RunNotStarted watch, and the
-- schedules, jobs and agents in the scope of rules, by index. Conditions that may be seen later (NoRun, ScheduleFaulted, SchedulePaused,
-- AgentSilent) are evaluated every 15 seconds. Nothing depends on the length of the history.
--
-- An alert that another transaction holds, such as an uncommitted acknowledgement, is left to a later evaluation, and so are the events
-- about it (I14).
--
-- Parameters:
--   @min_seconds  Nothing is evaluated if an evaluation has begun less than this time ago.
--   @now          For tests only.
-- Called by: agent/alerts/service.go, in agents and fronts.
-- Locks:     the row of alert_state (U, X; READPAST), alerts (U, X; READPAST), their deliveries (X), rows of alert_runs and
--            alert_run_limits (X).
-- Returns:   One row: has_more, 1: call again at once, because more runs have ended than one evaluation takes.
-- Throws:
--   50029 an argument is out of range.
CREATE OR ALTER PROCEDURE jobs_internal.evaluate_alerts
    @min_seconds INT = 5,
    @now         DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @is_slow BIT = 0; -- 1: the conditions that may be seen later are evaluated, too
    DECLARE @has_more BIT = 0;
    DECLARE @state_at DATETIME2(7);
    DECLARE @slow_at DATETIME2(7);

    IF @min_seconds IS NULL OR @min_seconds < 0
        THROW 50029, N'Invalid @min_seconds of evaluate_alerts: want at least 0.', 1;

    -- An evaluation in the future is one before the clock was set back.
    IF NOT EXISTS (
        SELECT 1
        FROM jobs_internal.alert_state AS s
        WHERE s.evaluated_at > DATEADD(SECOND, -@min_seconds, @now)
            AND s.evaluated_at <= @now
    )
        AND (
            EXISTS (SELECT 1 FROM jobs_internal.alert_rules AS r)
            OR EXISTS (SELECT 1 FROM jobs_internal.alerts AS a WHERE a.resolved_at IS NULL)
            OR EXISTS (SELECT 1 FROM jobs_internal.alert_runs AS q)
        )
    BEGIN
        BEGIN TRANSACTION;
        -- evaluated_by is in no other index. No session waits for this lock: one that does not get it leaves the evaluation to the holder.
        SELECT
            @state_at = s.evaluated_at,
            @slow_at = s.slow_at
        FROM jobs_internal.alert_state AS s WITH (UPDLOCK, READPAST, ROWLOCK)
        WHERE s.id = 1;
        IF @state_at IS NOT NULL AND (@state_at <= DATEADD(SECOND, -@min_seconds, @now) OR @state_at > @now)
        BEGIN
            IF @slow_at <= DATEADD(SECOND, -15, @now) OR @slow_at > @now
                SET @is_slow = 1;
            UPDATE s
            SET s.evaluated_at = @now,
                s.slow_at = CASE WHEN @is_slow = 1 THEN @now ELSE s.slow_at END,
                s.evaluated_by = c.short_name
            FROM jobs_internal.alert_state AS s
            CROSS JOIN jobs_internal.current_caller AS c
            WHERE s.id = 1;
            EXECUTE jobs_internal.raise_alerts @is_slow = @is_slow, @has_more = @has_more OUTPUT, @now = @now;
        END;
        COMMIT TRANSACTION;
    END;

    SELECT @has_more AS has_more;
    RETURN 0;
END;
