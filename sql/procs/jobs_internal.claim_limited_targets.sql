-- Claims attempts on targets when any step with waiting targets is under a limit: for all steps, limited or not, in one
-- order of turns (see jobs_internal.claim_unlimited_targets). If the two kinds were claimed separately, the kind
-- claimed first would always go first.
--
-- A target starts only when none of its limits is used up (see the view jobs_internal.queue_limits): the step's
-- max_parallelism for each elastic pool (each server, for databases in no pool) over all runs of the job, the
-- limits of jobs.sp_set_limit, and that of the wave of a roll-out: its parallelism, its pace, its window, and its gate, by which
-- nothing starts once more targets have failed than may. The targets that run are counted before those that failed, so that a target
-- whose attempt ends meanwhile counts twice rather than not at all. Targets whose limit is used up are left out of the order,
-- so they do not delay other targets.
--
-- Targets are chosen without locks; then exactly the chosen ones are locked. The caller holds the application lock
-- jobagent.advance, so no other session counts at the same time. Other sessions may meanwhile claim targets of steps
-- without limits; these are left out here.
--
-- Cost: (queues of limited steps with waiting targets) + (held tasks) + (targets that a queue may still start, at most the
-- number of free workers for each queue) + (steps without limits with waiting targets, some keys each, as in
-- jobs_internal.claim_unlimited_targets). It does not depend on the number of waiting targets: a queue holds the
-- targets of a step on one server in one pool, and is read only as far as its limits allow.
--
-- Parameters:
--   @term_id        The claiming term.
--   @room           Maximum number of tasks to claim, which the limit of scope Agent allows; 0 or less: none.
--   @command_types  The types of commands that the agent runs, separated by commas.
--   @claim_id       The GUID of the pass, stored with each task; NULL: the agent gave none.
--   @holds          Receives 1 if targets were held (hold_targets), so that the next pass may claim others at once.
-- Called by: jobs_internal.controller_pass, within the transaction that owns the application lock jobagent.advance.
-- Locks:     the targets' rows (U, then X), skipping locked rows; inserts into task_executions; see jobs_internal.hold_targets.
-- Returns:   the number of claimed tasks; 0 if no step is under a limit.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.claim_limited_targets
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
    DECLARE @claimed INT;
    DECLARE @remaining INT; -- candidates
    DECLARE @round INT = 1;
    DECLARE @unlimited INT;     -- steps without limits
    DECLARE @fewest INT;        -- tasks that one of them has running
    DECLARE @depth INT = @room; -- waiting targets of each of them that are read
    DECLARE @has_limits BIT;
    -- Steps with waiting targets, and the number of tasks that each has running, or that its tenant has.
    DECLARE @ready TABLE (
        step_execution_id    BIGINT NOT NULL PRIMARY KEY,
        turn_group           BIGINT NOT NULL, -- the step itself; below 0: a tenant
        running              INT NOT NULL,
        limited              BIT NOT NULL,
        is_wave              BIT NOT NULL,
        step_timeout_seconds INT NOT NULL
    );
    -- Queues under a limit with waiting targets, the limits of each, and how many more targets each limit allows.
    DECLARE @queues TABLE (
        queue_id BIGINT NOT NULL PRIMARY KEY,
        room     INT NOT NULL -- the minimum over its limits, at least 0
    );
    DECLARE @queue_limits TABLE (
        queue_id  BIGINT NOT NULL,
        limit_key NVARCHAR(450) NOT NULL,
        room      INT NOT NULL, -- the limit minus the running targets
        UNIQUE (queue_id, limit_key)
    );
    -- Runs of waves, and how many more targets each may start; a roll-out whose row another session holds starts none (I14).
    DECLARE @waves TABLE (
        execution_id BIGINT NOT NULL PRIMARY KEY,
        rollout_of   BIGINT NOT NULL,
        running      INT NOT NULL,
        room         BIGINT NOT NULL,
        burst        INT NULL, -- targets that may start at once; NULL: there is no pace
        interval_us  INT NULL, -- between two others, in microseconds
        next_at      DATETIME2(7) NULL
    );
    DECLARE @started TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, targets INT NOT NULL); -- of runs, in this call
    DECLARE @busy TABLE (queue_id BIGINT NOT NULL PRIMARY KEY, running INT NOT NULL); -- queues in which targets run
    DECLARE @running TABLE (
        limit_key NVARCHAR(450) NOT NULL PRIMARY KEY,
        running   INT NOT NULL
    );
    -- Candidates: the targets that each queue allows by itself.
    DECLARE @candidates TABLE (
        target_execution_id BIGINT NOT NULL PRIMARY KEY,
        queue_id            BIGINT NOT NULL,
        next_attempt_at     DATETIME2(7) NOT NULL,
        limited             BIT NOT NULL,
        turn                BIGINT NOT NULL
    );
    DECLARE @over_limit TABLE (target_execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @claimed_limits TABLE (
        limit_key NVARCHAR(450) NOT NULL PRIMARY KEY,
        picked    INT NOT NULL -- in this round
    );
    DECLARE @picked TABLE (
        target_execution_id BIGINT NOT NULL PRIMARY KEY,
        queue_id            BIGINT NOT NULL,
        round               INT NOT NULL
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

    SET @has_limits = CASE WHEN EXISTS (SELECT 1 FROM jobs_internal.limits AS l WHERE l.scope <> N'Agent') THEN 1 ELSE 0 END;
    IF @has_limits = 0
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.step_executions AS s
            INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
            WHERE s.is_active = 1
                AND s.parked = 0
                AND s.lifecycle = N'WaitingForChildJobExecutions'
                AND d.max_parallelism IS NOT NULL
        )
        -- Plan: the active roll-outs in IX_rollouts_job_id.
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.rollouts AS r WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) -- past: it starts no target now
            WHERE r.ended_at IS NULL
                AND r.state = N'Running'
        )
        RETURN 0;

    INSERT INTO @ready (step_execution_id, turn_group, running, limited, is_wave, step_timeout_seconds)
    SELECT
        s.step_execution_id,
        s.step_execution_id,
        s.running,
        CASE
            WHEN s.max_parallelism IS NOT NULL OR s.is_wave = 1 THEN 1
            WHEN @has_limits = 0 THEN 0
            WHEN EXISTS (SELECT 1 FROM jobs_internal.queue_limits AS v WHERE v.step_execution_id = s.step_execution_id) THEN 1
            ELSE 0
        END,
        s.is_wave,
        s.step_timeout_seconds
    FROM jobs_internal.ready_steps AS s
    WHERE s.next_attempt_at <= @now
        AND CHARINDEX(N',' + s.command_type + N',', N',' + @command_types + N',') > 0;
    IF NOT EXISTS (SELECT 1 FROM @ready AS r WHERE r.limited = 1)
        RETURN 0;

    -- The steps of a tenant take their turns together, so a tenant with many runs does not hold up the others. Without jobs of the SAP
    -- surface, this is one seek of an empty table.
    IF EXISTS (SELECT 1 FROM jobs_internal.rest_jobs)
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

    -- A target counts until its outcome is committed, so nothing is skipped here. Plan: IX_task_executions_held once, and a key of
    -- target_executions each; then per queue, and not per target, the seeks of the view.
    INSERT INTO @busy (queue_id, running)
    SELECT t.queue_id, COUNT(*)
    FROM jobs_internal.task_executions AS k
    INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
    WHERE k.ended_at IS NULL
        AND k.kind = N'Run'
    GROUP BY t.queue_id;
    INSERT INTO @running (limit_key, running)
    SELECT v.limit_key, SUM(b.running)
    FROM @busy AS b
    INNER JOIN jobs_internal.queue_limits AS v ON v.queue_id = b.queue_id
    GROUP BY v.limit_key;

    -- past: a queue whose due targets are all being claimed has nothing to claim now
    INSERT INTO @queues (queue_id, room)
    SELECT q.queue_id, @room
    FROM @ready AS r
    INNER JOIN jobs_internal.target_queues AS q ON q.step_execution_id = r.step_execution_id
    WHERE r.limited = 1
        AND EXISTS (
            SELECT 1
            FROM jobs_internal.target_executions AS t WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
            WHERE t.queue_id = q.queue_id
                AND t.next_attempt_at IS NOT NULL
                AND t.next_attempt_at <= @now
        );

    -- No statement here is compiled again in each call, because that takes longer than the claim, under the application lock. SQL Server
    -- 2017 assumes one row in a table variable, so each of them is the outer side of loops over keys, or is found by its own key.
    -- plan: per queue the seeks of the view, and one key of @running.
    INSERT INTO @queue_limits (queue_id, limit_key, room)
    SELECT v.queue_id, v.limit_key, v.max_concurrent_targets - COALESCE(b.running, 0)
    FROM @queues AS q
    INNER JOIN jobs_internal.queue_limits AS v ON v.queue_id = q.queue_id
    LEFT JOIN @running AS b ON b.limit_key = v.limit_key;

    IF EXISTS (SELECT 1 FROM @ready AS r WHERE r.is_wave = 1)
    BEGIN
        -- Plan: IX_task_executions_held once, which the hint ensures: loops may find the run in IX_task_executions_execution_id, with a
        -- lookup for each attempt that the wave has had. Nothing is skipped, as above.
        INSERT INTO @waves (execution_id, rollout_of, running, room)
        SELECT e.execution_id, e.rollout_of, COUNT(k.task_id), 0
        FROM (
            SELECT DISTINCT s.execution_id
            FROM @ready AS r
            INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = r.step_execution_id
            WHERE r.is_wave = 1
        ) AS w
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = w.execution_id
        LEFT HASH JOIN jobs_internal.task_executions AS k ON k.execution_id = e.execution_id
            AND k.ended_at IS NULL
            AND k.kind = N'Run'
        GROUP BY e.execution_id, e.rollout_of;
        -- In any minute, at most pace targets start: a twentieth of them at once, and the others at equal distances (the generic cell rate
        -- algorithm). Plan: a key of each table, and of IX_target_executions_failed as many keys as may fail, and one.
        UPDATE v
        SET v.room = CASE
                WHEN r.paused_at IS NOT NULL OR r.state <> N'Running' OR w.run_id <> v.execution_id OR f.failed > w.max_failed THEN 0
                WHEN w.window_name IS NOT NULL AND (r.window_open_until IS NULL OR r.window_open_until <= @now) THEN 0
                WHEN w.window_name IS NOT NULL AND r.window_open_until > DATEADD(MINUTE, 3, @now) THEN 0 -- as in hold_targets
                WHEN r.is_strict = 1 AND w.max_failed + 1 - f.failed < COALESCE(w.max_parallelism, 1000000)
                    THEN w.max_failed + 1 - f.failed - v.running
                ELSE COALESCE(w.max_parallelism, 1000000) - v.running
            END,
            v.burst = CASE WHEN w.pace IS NOT NULL THEN g.burst END,
            v.interval_us = (60000000 + w.pace - g.burst) / (w.pace - g.burst + 1), -- rounded up
            v.next_at = CASE WHEN p.next_at > @now THEN p.next_at ELSE @now END
        FROM @waves AS v
        INNER LOOP JOIN jobs_internal.rollouts AS r WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON r.execution_id = v.rollout_of
        INNER LOOP JOIN jobs_internal.rollout_waves AS w WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON w.execution_id = r.execution_id
            AND w.wave = r.wave
        INNER LOOP JOIN jobs_internal.rollout_paces AS p ON p.execution_id = v.rollout_of
        CROSS APPLY (SELECT CASE WHEN w.pace < 20 THEN 1 ELSE w.pace / 20 END AS burst) AS g
        CROSS APPLY (
            SELECT COUNT(*) AS failed
            FROM (
                SELECT TOP (w.max_failed + 1) t.target_execution_id
                FROM jobs_internal.target_executions AS t
                WHERE t.execution_id = v.execution_id
                    AND t.lifecycle IN (N'Failed', N'TimedOut')
            ) AS x
        ) AS f;
        UPDATE v
        SET v.room = CASE WHEN c.starts < v.room THEN c.starts ELSE v.room END
        FROM @waves AS v
        CROSS APPLY (
            SELECT DATEDIFF_BIG(MICROSECOND, v.next_at, DATEADD(MICROSECOND, v.burst * v.interval_us, @now)) / v.interval_us AS starts
        ) AS c
        WHERE v.interval_us IS NOT NULL;
        -- plan: per queue one key of target_queues, step_executions and @waves
        INSERT INTO @queue_limits (queue_id, limit_key, room)
        SELECT q.queue_id, CONCAT(N'Wave', NCHAR(31), v.execution_id), v.room
        FROM @queues AS q
        INNER LOOP JOIN jobs_internal.target_queues AS t ON t.queue_id = q.queue_id
        INNER LOOP JOIN @waves AS v ON v.execution_id = t.execution_id;
    END;

    -- More targets may be running than a limit allows, because it applies only to claims that begin after it was set.
    WITH queue_room AS (
        SELECT v.queue_id, MIN(v.room) AS room
        FROM @queue_limits AS v
        GROUP BY v.queue_id
    )
    UPDATE q
    SET q.room = CASE WHEN m.room > 0 THEN m.room ELSE 0 END
    FROM @queues AS q
    INNER JOIN queue_room AS m ON m.queue_id = q.queue_id
    WHERE m.room < q.room;

    -- Of many steps without limits, a few targets of each are read, as jobs_internal.claim_unlimited_targets does. A target of them that is
    -- not read has a turn above that of the step with the fewest tasks plus @depth. As no limit excludes those that are read, enough of
    -- them with lower turns come before it. Plan: per queue (per step without limits) a range of IX_target_executions_queue_id
    -- (IX_target_executions_due), which holds all columns; nothing is locked.
    SELECT
        @unlimited = COUNT(*),
        @fewest = MIN(r.running)
    FROM @ready AS r
    WHERE r.limited = 0;
    IF @unlimited > 2 AND @unlimited * CAST(@room AS BIGINT) > 2000
        SET @depth = 2 * @room / @unlimited + 1;
    WHILE 1 = 1
    BEGIN
        WITH waiting AS (
            SELECT w.target_execution_id, w.queue_id, w.step_execution_id, w.next_attempt_at
            FROM @queues AS q
            CROSS APPLY (
                SELECT TOP (q.room) t.target_execution_id, t.queue_id, t.step_execution_id, t.next_attempt_at
                FROM jobs_internal.target_executions AS t WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
                WHERE t.queue_id = q.queue_id
                    AND t.next_attempt_at IS NOT NULL
                    AND t.next_attempt_at <= @now
                    AND (t.deadline_at IS NULL OR t.deadline_at > @now)
                ORDER BY t.next_attempt_at, t.target_execution_id
            ) AS w
            UNION ALL
            SELECT w.target_execution_id, w.queue_id, w.step_execution_id, w.next_attempt_at
            FROM @ready AS r
            CROSS APPLY (
                SELECT TOP (@depth) t.target_execution_id, t.queue_id, t.step_execution_id, t.next_attempt_at
                FROM jobs_internal.target_executions AS t WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
                WHERE t.step_execution_id = r.step_execution_id
                    AND t.next_attempt_at IS NOT NULL
                    AND t.next_attempt_at <= @now
                    AND (t.deadline_at IS NULL OR t.deadline_at > @now)
                ORDER BY t.next_attempt_at, t.target_execution_id
            ) AS w
            WHERE r.limited = 0
        )
        INSERT INTO @candidates (target_execution_id, queue_id, next_attempt_at, limited, turn)
        SELECT
            w.target_execution_id,
            w.queue_id,
            w.next_attempt_at,
            r.limited,
            r.running + ROW_NUMBER() OVER (PARTITION BY r.turn_group ORDER BY w.next_attempt_at, w.target_execution_id)
        FROM waiting AS w
        INNER JOIN @ready AS r ON r.step_execution_id = w.step_execution_id;
        SET @remaining = @@ROWCOUNT;
        IF @depth >= @room
            OR (SELECT COUNT(*) FROM @candidates AS c WHERE c.limited = 0 AND c.turn <= @fewest + @depth) >= @room
            BREAK;
        DELETE FROM @candidates;
        SET @depth = CASE WHEN @depth < @room / 4 THEN @depth * 4 ELSE @room END;
    END;

    -- Each round picks the candidates whose position is within each of their limits. These are never too many, but may be
    -- too few: a target may be behind one that another limit excludes. Once the latter is removed, the next round
    -- finds the former. Each round picks at least the first candidate; two rounds are enough unless limits overlap.
    WHILE @remaining > 0 AND @room > 0
    BEGIN
        DELETE FROM @over_limit;
        -- Ranked once, into a table: a plan for one candidate would rank all of them once for each.
        -- plan: per candidate a range of the key of @queue_limits, which begins with queue_id
        WITH positions AS (
            SELECT
                c.target_execution_id,
                v.room,
                ROW_NUMBER() OVER (PARTITION BY v.limit_key ORDER BY c.turn, c.next_attempt_at, c.target_execution_id) AS place
            FROM @candidates AS c
            INNER LOOP JOIN @queue_limits AS v ON v.queue_id = c.queue_id
        )
        INSERT INTO @over_limit (target_execution_id)
        SELECT DISTINCT p.target_execution_id
        FROM positions AS p
        WHERE p.place > p.room;
        INSERT INTO @picked (target_execution_id, queue_id, round)
        SELECT TOP (@room) c.target_execution_id, c.queue_id, @round
        FROM @candidates AS c
        WHERE NOT EXISTS (SELECT 1 FROM @over_limit AS b WHERE b.target_execution_id = c.target_execution_id)
        ORDER BY c.turn, c.next_attempt_at, c.target_execution_id;
        SET @room = @room - @@ROWCOUNT;

        IF @room > 0
        BEGIN
            DELETE FROM @claimed_limits;
            -- plan: as above
            INSERT INTO @claimed_limits (limit_key, picked)
            SELECT v.limit_key, COUNT(*)
            FROM @picked AS p
            INNER LOOP JOIN @queue_limits AS v ON v.queue_id = p.queue_id
            WHERE p.round = @round
            GROUP BY v.limit_key;
            UPDATE v
            SET v.room = v.room - g.picked
            FROM @queue_limits AS v
            INNER LOOP JOIN @claimed_limits AS g ON g.limit_key = v.limit_key;
            DELETE c
            FROM @candidates AS c
            WHERE EXISTS (SELECT 1 FROM @picked AS p WHERE p.target_execution_id = c.target_execution_id)
                OR EXISTS (SELECT 1 FROM @queue_limits AS v WHERE v.queue_id = c.queue_id AND v.room <= 0);
            SET @remaining = (SELECT COUNT(*) FROM @candidates AS c);
            SET @round = @round + 1;
        END;
    END;

    -- attempts is in no index, so the rows themselves are locked. READPAST never waits.
    INSERT INTO @locked (target_execution_id, execution_id, step_execution_id, attempts)
    SELECT t.target_execution_id, t.execution_id, t.step_execution_id, t.attempts
    FROM @picked AS p
    INNER LOOP JOIN jobs_internal.target_executions AS t WITH (UPDLOCK, READPAST, ROWLOCK) ON t.target_execution_id = p.target_execution_id
    WHERE t.next_attempt_at IS NOT NULL;
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

    IF EXISTS (SELECT 1 FROM @waves AS v WHERE v.interval_us IS NOT NULL)
    BEGIN
        INSERT INTO @started (execution_id, targets)
        SELECT l.execution_id, COUNT(*)
        FROM @locked AS l
        GROUP BY l.execution_id;
        UPDATE p
        SET p.next_at = DATEADD(MICROSECOND, v.interval_us * l.targets, v.next_at)
        FROM @started AS l
        INNER LOOP JOIN @waves AS v ON v.execution_id = l.execution_id
        INNER LOOP JOIN jobs_internal.rollout_paces AS p ON p.execution_id = v.rollout_of
        WHERE v.interval_us IS NOT NULL;
    END;
    RETURN @claimed;
END;
