-- Evaluates the rules of alerts: raises alerts, counts further events in those that are unresolved, makes notifications that are due, and
-- resolves. Any number of agents and fronts call it some seconds apart; a call soon after another one, or while another one is at work,
-- only reads one row.
--
-- An evaluation has stages, and each stage is a transaction of its own: the runs that have ended since the last evaluation
-- (alert_runs), for all rules about them, then one rule after the other whose condition lasts (jobs_internal.raise_alerts); then what
-- remains (jobs_internal.close_alerts). A stage that fails, or that the client's time limit cuts, loses nothing but itself: the transaction
-- before it has stored which stage comes after it, so the next evaluation begins there and comes to the failed stage last. Runs are
-- taken in batches, and that transaction halves the batch as well; the batch grows again when a stage succeeds. So a batch that takes
-- too long becomes smaller until it succeeds, and a run that cannot be evaluated at all delays no other run.
--
-- Cost: the runs that ended since the last evaluation (alert_runs), the active runs that RunTooLong and RunNotStarted watch, and the
-- schedules, jobs and agents in the scope of rules and the active roll-outs, by index. Conditions that may be seen later (NoRun,
-- ScheduleFaulted, SchedulePaused, AgentSilent, TargetsChanged, and those about roll-outs) are evaluated every 15 seconds. Nothing depends
-- on the length of the history, or on the number of targets.
--
-- An alert that another transaction holds, such as an uncommitted acknowledgement, is left to a later evaluation, and so are the events
-- about it (I14).
--
-- Parameters:
--   @min_seconds  Nothing is evaluated if an evaluation has begun less than this time ago.
-- Called by: agent/alerts/service.go, in agents and fronts.
-- Locks:     the row of alert_state (U, X; READPAST), alerts (U, X; READPAST), their deliveries (X), rows of alert_runs and
--            alert_run_limits (X; READPAST); for one stage at a time.
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
    DECLARE @most INT = 500;   -- runs of one batch
    DECLARE @rounds INT = 20;  -- times that a stage may continue
    DECLARE @last_stage INT = 2147483647;
    DECLARE @is_slow BIT = 0;  -- 1: the conditions that may be seen later are evaluated, too
    DECLARE @has_more BIT = 0;
    DECLARE @more BIT;         -- the stage is to be continued
    DECLARE @state_at DATETIME2(7);
    DECLARE @slow_at DATETIME2(7);
    DECLARE @next_stage INT;
    DECLARE @stored_batch INT;
    DECLARE @stored_after BIGINT;
    DECLARE @batch INT;        -- runs of the announced batch
    DECLARE @runs_after BIGINT;
    DECLARE @runs_to BIGINT;
    DECLARE @place INT = 0;    -- of the stage in the order of this evaluation; 0: none has begun
    DECLARE @stage INT;
    DECLARE @round INT = 0;
    DECLARE @stages TABLE (place INT NOT NULL PRIMARY KEY, stage INT NOT NULL);

    IF @min_seconds IS NULL OR @min_seconds < 0
        THROW 50029, N'Invalid @min_seconds of evaluate_alerts: want at least 0.', 1;

    -- An evaluation in the future is one before the clock was set back.
    IF EXISTS (
        SELECT 1
        FROM jobs_internal.alert_state AS s
        WHERE s.evaluated_at > DATEADD(SECOND, -@min_seconds, @now)
            AND s.evaluated_at <= @now
    )
        OR (
            NOT EXISTS (SELECT 1 FROM jobs_internal.alert_rules AS r)
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.alerts AS a WHERE a.resolved_at IS NULL)
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.alert_runs AS q)
        )
        SET @place = NULL;

    -- The first transaction only announces the first stage; each of the others does what was announced, and announces the next stage.
    WHILE @place IS NOT NULL
    BEGIN
        SET @state_at = NULL;
        SET @more = 0;
        BEGIN TRANSACTION;
        -- evaluated_by is in no other index.
        -- past: the lock is what makes one session evaluate; one that does not get it leaves the evaluation to the holder
        SELECT
            @state_at = s.evaluated_at,
            @slow_at = s.slow_at,
            @next_stage = s.next_stage,
            @stored_batch = s.run_batch,
            @stored_after = s.runs_after
        FROM jobs_internal.alert_state AS s WITH (UPDLOCK, READPAST, ROWLOCK)
        WHERE s.id = 1;
        IF @state_at IS NULL OR (@place = 0 AND @state_at > DATEADD(SECOND, -@min_seconds, @now) AND @state_at <= @now)
        BEGIN
            COMMIT TRANSACTION;
            BREAK;
        END;

        IF @place = 0
        BEGIN
            IF @slow_at <= DATEADD(SECOND, -15, @now) OR @slow_at > @now
                SET @is_slow = 1;
            -- Stage 0 is the runs that have ended; the others have the ids of their rules.
            INSERT INTO @stages (place, stage)
            SELECT ROW_NUMBER() OVER (ORDER BY CASE WHEN x.stage >= @next_stage THEN 0 ELSE 1 END, x.stage), x.stage
            FROM (
                SELECT 0 AS stage
                UNION ALL
                SELECT r.rule_id
                FROM jobs_internal.alert_rules AS r
                WHERE r.enabled = 1
                    AND (
                        r.condition IN (N'RunTooLong', N'RunNotStarted', N'NoAgent')
                        OR (@is_slow = 1 AND r.condition IN (
                            N'NoRun', N'ScheduleFaulted', N'SchedulePaused', N'AgentSilent', N'RolloutStopped', N'RolloutApprovalWaits',
                            N'RolloutBakeEnds', N'RolloutDeadlineNear', N'TargetsChanged'
                        ))
                    )
                UNION ALL
                SELECT @last_stage
            ) AS x;
            UPDATE s
            SET s.evaluated_at = @now,
                s.slow_at = CASE WHEN @is_slow = 1 THEN @now ELSE s.slow_at END,
                s.evaluated_by = c.short_name
            FROM jobs_internal.alert_state AS s
            CROSS JOIN jobs_internal.current_caller AS c
            WHERE s.id = 1;
        END
        ELSE IF @stage = @last_stage
            EXECUTE jobs_internal.close_alerts @more = @more OUTPUT, @now = @now;
        ELSE
        BEGIN
            EXECUTE jobs_internal.raise_alerts
                @stage = @stage,
                @batch = @batch,
                @runs_after = @runs_after,
                @runs_to = @runs_to,
                @more = @more OUTPUT,
                @now = @now;
            IF @stage = 0
            BEGIN
                -- The stage has succeeded: the batch grows again. When fewer runs than a batch were left, the next one begins with the
                -- first run again.
                UPDATE s
                SET s.run_batch = CASE WHEN 2 * @batch < @most THEN 2 * @batch ELSE @most END,
                    s.runs_after = CASE WHEN @more = 1 THEN @runs_to ELSE 0 END
                FROM jobs_internal.alert_state AS s
                WHERE s.id = 1;
                SET @has_more = @more;
                SET @more = 0;
            END;
        END;

        SET @round = @round + 1;
        IF @more = 0 OR @round >= @rounds
        BEGIN
            SET @place = @place + 1;
            SET @round = 0;
        END;
        SET @stage = (SELECT t.stage FROM @stages AS t WHERE t.place = @place);
        IF @stage = 0
        BEGIN
            -- Locked entries were made by transactions that have not committed. Plan: the keys of one batch.
            SET @batch = @stored_batch;
            SET @runs_after = @stored_after;
            SET @runs_to = (
                SELECT MAX(f.execution_id)
                FROM (
                    SELECT TOP (@batch) q.execution_id
                    FROM jobs_internal.alert_runs AS q WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
                    WHERE q.execution_id > @runs_after
                    ORDER BY q.execution_id
                ) AS f
            );
            UPDATE s
            SET s.run_batch = CASE WHEN @batch > 1 AND @runs_to IS NOT NULL THEN @batch / 2 ELSE @batch END,
                s.runs_after = COALESCE(@runs_to, 0)
            FROM jobs_internal.alert_state AS s
            WHERE s.id = 1;
            IF @runs_to IS NULL
            BEGIN
                SET @place = @place + 1;
                SET @stage = (SELECT t.stage FROM @stages AS t WHERE t.place = @place);
            END;
        END;
        -- Where the next evaluation begins, should the announced stage not be done; an evaluation that is done begins with the runs.
        UPDATE s
        SET s.next_stage = COALESCE((SELECT t.stage FROM @stages AS t WHERE t.place = @place + 1), 0)
        FROM jobs_internal.alert_state AS s
        WHERE s.id = 1;
        COMMIT TRANSACTION;
        IF @stage IS NULL
            BREAK;
    END;

    SELECT @has_more AS has_more;
    RETURN 0;
END;
