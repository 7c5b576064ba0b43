-- Claims attempts on targets of steps without limits. Steps with waiting targets take turns. The turn of a target is
-- the number of tasks that its step has running, plus the target's position among the waiting targets of the step. The
-- lowest turn goes first, then the longest wait. So a step with one target never waits behind the ten thousandth target
-- of another step. The steps of a tenant of the SAP surface count as one step.
--
-- The order determines how many targets of each step are claimed. Then as many rows are locked, skipping rows that
-- other sessions are claiming. So a claim locks no more rows than it takes, and agents that claim at the same time take
-- different targets.
--
-- Cost: (steps with waiting targets) + (free workers), some keys each, if the steps have about as many tasks running; at most (steps with
-- waiting targets) × (free workers). It is independent of the number of waiting targets. For one such step: (free workers).
--
-- Parameters:
--   @term_id        The claiming term.
--   @room           Maximum number of tasks to claim; 0 or less: none.
--   @command_types  The types of commands that the agent runs, separated by commas.
--   @claim_id       The GUID of the pass, stored with each task; NULL: the agent gave none.
--   @holds          Receives 1 if targets were held (hold_targets), so that the next pass may claim others at once.
-- Called by: jobs_internal.controller_pass, within its transactions.
-- Locks:     the targets' rows (U, then X), skipping locked rows; inserts into task_executions; see jobs_internal.hold_targets.
-- Returns:   the number of claimed tasks.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.claim_unlimited_targets
    @term_id       BIGINT,
    @room          INT,
    @command_types NVARCHAR(400) = N'TSql',
    @claim_id      UNIQUEIDENTIFIER = NULL,
    @holds         BIT = 0 OUTPUT,
    @now           DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    SET @holds = 0;
    DECLARE @closed NVARCHAR(MAX);
    DECLARE @steps INT;
    DECLARE @depth INT = @room; -- waiting targets of a step that are read
    DECLARE @sure INT;          -- those of them that are known to have the first turns of all
    DECLARE @claimed INT;
    -- Steps with waiting targets, and the number of tasks that each has running, or that its tenant has.
    DECLARE @ready TABLE (
        step_execution_id    BIGINT NOT NULL PRIMARY KEY,
        turn_group           BIGINT NOT NULL, -- the step itself; below 0: a tenant
        running              INT NOT NULL,
        step_timeout_seconds INT NOT NULL
    );
    -- The number of targets to claim for each step.
    DECLARE @shares TABLE (
        step_execution_id BIGINT NOT NULL PRIMARY KEY,
        targets           INT NOT NULL
    );
    -- The rows that are locked.
    DECLARE @locked TABLE (
        target_execution_id BIGINT NOT NULL PRIMARY KEY,
        execution_id        BIGINT NOT NULL,
        step_execution_id   BIGINT NOT NULL,
        attempts            INT NOT NULL
    );

    IF @room <= 0
        RETURN 0;

    INSERT INTO @ready (step_execution_id, turn_group, running, step_timeout_seconds)
    SELECT s.step_execution_id, s.step_execution_id, s.running, s.step_timeout_seconds
    FROM jobs_internal.ready_steps AS s
    WHERE s.next_attempt_at <= @now
        AND s.max_parallelism IS NULL
        AND s.is_wave = 0
        AND CHARINDEX(N',' + s.command_type + N',', N',' + @command_types + N',') > 0;
    SET @steps = @@ROWCOUNT;
    IF @steps > 0 AND EXISTS (SELECT 1 FROM jobs_internal.limits AS l WHERE l.scope <> N'Agent')
    BEGIN
        DELETE r
        FROM @ready AS r
        WHERE EXISTS (SELECT 1 FROM jobs_internal.queue_limits AS v WHERE v.step_execution_id = r.step_execution_id);
        SET @steps = @steps - @@ROWCOUNT;
    END;
    IF @steps = 0
        RETURN 0;

    -- The steps of a tenant take their turns together, so a tenant with many runs does not hold up the others. Without jobs of the SAP
    -- surface, this is one seek of an empty table.
    IF @steps > 1 AND EXISTS (SELECT 1 FROM jobs_internal.rest_jobs)
        WITH tenant_steps AS (
            SELECT p.step_execution_id, j.tenant_id
            FROM @ready AS p
            INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = p.step_execution_id
            INNER JOIN jobs_internal.rest_jobs AS j ON j.job_id = s.job_id
        ),
        tenant_tasks AS (
            SELECT j.tenant_id, COUNT(*) AS running
            FROM jobs_internal.task_executions AS k WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
            INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
            INNER JOIN jobs_internal.rest_jobs AS j ON j.job_id = s.job_id
            WHERE k.ended_at IS NULL
                AND k.kind = N'Run'
            GROUP BY j.tenant_id
        ),
        grouped AS (
            SELECT t.step_execution_id, -DENSE_RANK() OVER (ORDER BY t.tenant_id) AS turn_group, COALESCE(h.running, 0) AS running
            FROM tenant_steps AS t
            LEFT JOIN tenant_tasks AS h ON h.tenant_id = t.tenant_id
        )
        UPDATE r
        SET r.turn_group = g.turn_group,
            r.running = g.running
        FROM grouped AS g
        INNER JOIN @ready AS r ON r.step_execution_id = g.step_execution_id;

    -- A step may have all of the first turns. But where many steps wait, such as those of all jobs on a server that is down, a few targets
    -- of each are enough. A target that is not read comes after @depth others of its step, so its turn is above that of the step with the
    -- fewest tasks plus @depth. Plan: as below.
    IF @steps * CAST(@room AS BIGINT) > 2000
        SET @depth = CASE WHEN @steps > 2 THEN 2 * @room / @steps + 1 ELSE @room END;
    WHILE @depth < @room
    BEGIN
        WITH waiting AS (
            SELECT r.running + ROW_NUMBER() OVER (PARTITION BY r.turn_group ORDER BY w.next_attempt_at, w.target_execution_id) AS turn
            FROM @ready AS r
            CROSS APPLY (
                SELECT TOP (@depth) t.target_execution_id, t.next_attempt_at
                FROM jobs_internal.target_executions AS t WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
                WHERE t.step_execution_id = r.step_execution_id
                    AND t.next_attempt_at IS NOT NULL
                    AND t.next_attempt_at <= @now
                    AND (t.deadline_at IS NULL OR t.deadline_at > @now)
                ORDER BY t.next_attempt_at, t.target_execution_id
            ) AS w
        )
        SELECT @sure = COUNT(*)
        FROM waiting AS w
        WHERE w.turn <= (SELECT MIN(r.running) FROM @ready AS r) + @depth;
        IF @sure >= @room
            BREAK;
        SET @depth = CASE WHEN @depth < @room / 4 THEN @depth * 4 ELSE @room END;
    END;

    -- Nothing is locked here. Plan: per step a range of IX_target_executions_due, at most @depth keys, which holds all columns.
    IF @steps = 1
        INSERT INTO @shares (step_execution_id, targets)
        SELECT r.step_execution_id, @room
        FROM @ready AS r;
    ELSE
        WITH waiting AS (
            SELECT
                r.step_execution_id,
                w.target_execution_id,
                w.next_attempt_at,
                r.running + ROW_NUMBER() OVER (PARTITION BY r.turn_group ORDER BY w.next_attempt_at, w.target_execution_id) AS turn
            FROM @ready AS r
            CROSS APPLY (
                SELECT TOP (@depth) t.target_execution_id, t.next_attempt_at
                FROM jobs_internal.target_executions AS t WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
                WHERE t.step_execution_id = r.step_execution_id
                    AND t.next_attempt_at IS NOT NULL
                    AND t.next_attempt_at <= @now
                    AND (t.deadline_at IS NULL OR t.deadline_at > @now)
                ORDER BY t.next_attempt_at, t.target_execution_id
            ) AS w
        ),
        first_turns AS (
            SELECT TOP (@room) w.step_execution_id
            FROM waiting AS w
            ORDER BY w.turn, w.next_attempt_at, w.target_execution_id
        )
        INSERT INTO @shares (step_execution_id, targets)
        SELECT f.step_execution_id, COUNT(*)
        FROM first_turns AS f
        GROUP BY f.step_execution_id; -- not compiled in each call: the steps are the outer side, however many there are

    -- attempts is in no index, so the rows themselves are locked, after their keys in IX_target_executions_due. All procedures that change
    -- next_attempt_at take their locks in that order. READPAST never waits.
    INSERT INTO @locked (target_execution_id, execution_id, step_execution_id, attempts)
    SELECT w.target_execution_id, w.execution_id, s.step_execution_id, w.attempts
    FROM @shares AS s
    CROSS APPLY (
        SELECT TOP (s.targets) t.target_execution_id, t.execution_id, t.attempts
        FROM jobs_internal.target_executions AS t WITH (UPDLOCK, READPAST, ROWLOCK)
        WHERE t.step_execution_id = s.step_execution_id
            AND t.next_attempt_at IS NOT NULL
            AND t.next_attempt_at <= @now
            AND (t.deadline_at IS NULL OR t.deadline_at > @now)
        ORDER BY t.next_attempt_at, t.target_execution_id
    ) AS w;
    SET @claimed = @@ROWCOUNT;

    -- Without pauses and windows of databases, these are seeks of empty tables.
    IF @claimed > 0
        AND (EXISTS (SELECT 1 FROM jobs_internal.target_pauses) OR EXISTS (SELECT 1 FROM jobs_internal.target_windows))
    BEGIN
        SET @closed = (SELECT l.target_execution_id FROM @locked AS l FOR JSON PATH);
        EXECUTE jobs_internal.hold_targets @targets = @closed, @closed = @closed OUTPUT, @now = @now;
        SET @holds = CASE WHEN @closed IS NULL THEN 0 ELSE 1 END;
        DELETE l
        FROM @locked AS l
        WHERE l.target_execution_id IN (SELECT o.target_execution_id FROM OPENJSON(@closed) WITH (target_execution_id BIGINT) AS o);
        SET @claimed = @claimed - @@ROWCOUNT;
    END;
    IF @claimed = 0
        RETURN 0;

    INSERT INTO jobs_internal.task_executions (
        kind, execution_id, step_execution_id, target_execution_id, attempt, term_id, claimed_at, claim_id
    )
    SELECT N'Run', l.execution_id, l.step_execution_id, l.target_execution_id, l.attempts + 1, @term_id, @now, @claim_id
    FROM @locked AS l
    ORDER BY l.target_execution_id;

    UPDATE t
    SET t.lifecycle = N'InProgress',
        t.attempts = t.attempts + 1,
        t.start_time = COALESCE(t.start_time, @now),
        t.attempt_start_time = @now,
        t.deadline_at = COALESCE(CASE WHEN t.attempts > 0 THEN t.deadline_at END, DATEADD(SECOND, r.step_timeout_seconds, @now)),
        t.next_attempt_at = NULL
    FROM @locked AS l
    INNER JOIN @ready AS r ON r.step_execution_id = l.step_execution_id
    INNER LOOP JOIN jobs_internal.target_executions AS t ON t.target_execution_id = l.target_execution_id;
    RETURN @claimed;
END;
