-- Says for each row of a run that is not final what it waits for, and how the targets that are final ended: which of them
-- decided, with which errors. Reads only, and shows at most 25 targets that wait for the same; the third result set counts all.
--
-- What a row can wait for:
--   Agent       no agent is alive.
--   Advance     the next pass of an agent moves it on.
--   Resolution  an agent resolves the target group.
--   Targets     a step, for its targets.
--   Step        a step, for the step before it.
--   Outcome     an agent runs it.
--   Stop        somebody asked for a stop: the agent that runs it must confirm, or the next pass cancels it.
--   Retry       the time of its next attempt.
--   Limit       a limit without room.
--   Worker      a free worker: all agents that are alive are busy.
--   Turn        the next pass of an agent with free workers, which claims in the order of positions.
--
-- Parameters:
--   @job_execution_id  Which run.
-- Called by: anybody with the role jobs_reader.
-- Locks:     none.
-- Returns:   1: one row: job_execution_id, job_name, job_version, lifecycle, is_active, create_time, start_time, end_time,
--               stop_requested_at, stop_requested_by, live_agents, workers (of all of them), busy_workers, explanation, now.
--            2: what waits: step_id (NULL: the run), server_name, database_name (NULL: not a target), lifecycle, waits_for,
--               explanation, attempts, position (among those that wait for the same), since, until_time,
--               limit_scope, limit_running, max_concurrent_targets, agent_id, host_name, term_id, session_id.
--            3: how many targets wait for what: step_id, waits_for, total.
--            4: how targets, and steps without targets, ended: step_id, lifecycle, error_number, total, decides (1: the run
--               ended as it did because of these), server_name, database_name, last_message (of the first of them).
-- Throws:
--   50028 the job execution id is missing.
--   50111 the job execution does not exist.
CREATE OR ALTER PROCEDURE jobs.sp_explain_execution
    @job_execution_id UNIQUEIDENTIFIER = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @execution_id BIGINT;
    DECLARE @run_lifecycle NVARCHAR(50);
    DECLARE @is_active BIT;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @job_version INT;
    DECLARE @stop_requested_at DATETIME2(7);
    DECLARE @stop_requested_by NVARCHAR(128);
    DECLARE @last_message NVARCHAR(MAX);
    DECLARE @agents INT;
    DECLARE @workers INT;
    DECLARE @busy INT;
    DECLARE @last_step INT;
    DECLARE @step_execution_id BIGINT; -- the active step
    DECLARE @step_id INT;
    DECLARE @free_reason NVARCHAR(20); -- what targets wait for that could start
    DECLARE @running TABLE (
        limit_key NVARCHAR(450) NOT NULL PRIMARY KEY,
        running   INT NOT NULL
    );
    -- Queues of the run that a limit without room keeps back; of several limits, one.
    DECLARE @full TABLE (
        queue_id               BIGINT NOT NULL PRIMARY KEY,
        scope                  NVARCHAR(20) NOT NULL,
        limit_key              NVARCHAR(450) NOT NULL,
        running                INT NOT NULL,
        max_concurrent_targets INT NOT NULL,
        description            NVARCHAR(1000) NOT NULL
    );
    -- Who has most of what a full limit counts.
    DECLARE @holders TABLE (
        limit_key NVARCHAR(450) NOT NULL PRIMARY KEY,
        job_name  NVARCHAR(128) NOT NULL,
        running   INT NOT NULL
    );
    -- How many targets of the active step wait for what, and which are shown.
    DECLARE @totals TABLE (
        waits_for NVARCHAR(20) NOT NULL PRIMARY KEY,
        total     INT NOT NULL
    );
    DECLARE @targets TABLE (
        target_execution_id BIGINT NOT NULL PRIMARY KEY,
        waits_for           NVARCHAR(20) NOT NULL,
        position            BIGINT NULL
    );
    DECLARE @ended TABLE (
        step_id             INT NOT NULL,
        lifecycle           NVARCHAR(50) NOT NULL,
        error_number        INT NULL,
        total               INT NOT NULL,
        target_execution_id BIGINT NOT NULL
    );

    IF @job_execution_id IS NULL
        THROW 50028, N'A job execution id is needed: @job_execution_id is NULL.', 1;

    SELECT
        @execution_id = e.execution_id,
        @run_lifecycle = e.lifecycle,
        @is_active = e.is_active,
        @job_id = e.job_id,
        @job_version = e.job_version,
        @stop_requested_at = e.stop_requested_at,
        @stop_requested_by = e.stop_requested_by,
        @last_message = e.last_message
    FROM jobs_internal.job_executions AS e
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE e.job_execution_id = @job_execution_id
        AND e.purged_at IS NULL
        AND j.deleted_at IS NULL;
    IF @execution_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(N'The job execution ', @job_execution_id, N' does not exist. The view jobs.job_executions lists all executions.'), N'%', N'%%');
        THROW 50111, @message, 1;
    END;

    SELECT
        @agents = COUNT(*),
        @workers = COALESCE(SUM(a.max_concurrent_targets), 0)
    FROM jobs_internal.terms AS t
    INNER JOIN jobs_internal.agents AS a ON a.agent_id = t.agent_id
    WHERE t.ended_at IS NULL
        AND t.expires_at > @now;
    SELECT @busy = COUNT(*)
    FROM jobs_internal.terms AS t
    INNER JOIN jobs_internal.task_executions AS k ON k.term_id = t.term_id
    WHERE t.ended_at IS NULL
        AND t.expires_at > @now
        AND k.ended_at IS NULL;
    SELECT @last_step = COALESCE(MAX(s.step_id), 0)
    FROM jobs_internal.step_executions AS s
    WHERE s.execution_id = @execution_id;

    IF @is_active = 1
    BEGIN
        INSERT INTO @running (limit_key, running)
        SELECT v.limit_key, COUNT(*)
        FROM jobs_internal.task_executions AS k
        INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
        INNER JOIN jobs_internal.queue_limits AS v ON v.queue_id = t.queue_id
        WHERE k.ended_at IS NULL
            AND k.kind = N'Run'
        GROUP BY v.limit_key;
    END;
    IF EXISTS (SELECT 1 FROM @running)
    BEGIN
        INSERT INTO @full (queue_id, scope, limit_key, running, max_concurrent_targets, description)
        SELECT f.queue_id, f.scope, f.limit_key, f.running, f.max_concurrent_targets, f.description
        FROM (
            SELECT
                v.queue_id,
                v.scope,
                v.limit_key,
                b.running,
                v.max_concurrent_targets,
                v.description,
                ROW_NUMBER() OVER (PARTITION BY v.queue_id ORDER BY v.max_concurrent_targets, v.scope) AS place
            FROM jobs_internal.step_executions AS s
            INNER JOIN jobs_internal.queue_limits AS v ON v.step_execution_id = s.step_execution_id
            INNER JOIN @running AS b ON b.limit_key = v.limit_key
            WHERE s.execution_id = @execution_id
                AND s.is_active = 1
                AND b.running >= v.max_concurrent_targets
        ) AS f
        WHERE f.place = 1;
    END;
    IF EXISTS (SELECT 1 FROM @full)
    BEGIN
        INSERT INTO @holders (limit_key, job_name, running)
        SELECT h.limit_key, h.job_name, h.running
        FROM (
            SELECT
                c.limit_key,
                j.name AS job_name,
                c.running,
                ROW_NUMBER() OVER (PARTITION BY c.limit_key ORDER BY c.running DESC, j.name) AS place
            FROM (
                SELECT v.limit_key, t.job_id, COUNT(*) AS running
                FROM jobs_internal.task_executions AS k
                INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
                INNER JOIN jobs_internal.queue_limits AS v ON v.queue_id = t.queue_id
                WHERE k.ended_at IS NULL
                    AND k.kind = N'Run'
                    AND EXISTS (SELECT 1 FROM @full AS f WHERE f.limit_key = v.limit_key)
                GROUP BY v.limit_key, t.job_id
            ) AS c
            INNER JOIN jobs_internal.jobs AS j ON j.job_id = c.job_id
        ) AS h
        WHERE h.place = 1;
    END;

    -- The steps of a run follow each other: at most one is active.
    SELECT
        @step_execution_id = s.step_execution_id,
        @step_id = s.step_id
    FROM jobs_internal.step_executions AS s
    WHERE s.execution_id = @execution_id
        AND s.is_active = 1;
    SET @free_reason = CASE
        WHEN @stop_requested_at IS NOT NULL THEN N'Stop'
        WHEN @agents = 0 THEN N'Agent'
        WHEN @busy >= @workers THEN N'Worker'
        ELSE N'Turn'
    END;

    INSERT INTO @totals (waits_for, total)
    SELECT c.waits_for, SUM(c.total)
    FROM (
        SELECT
            CASE WHEN @stop_requested_at IS NOT NULL THEN N'Stop' ELSE N'Outcome' END AS waits_for,
            COUNT(*) AS total
        FROM jobs_internal.task_executions AS k
        WHERE k.step_execution_id = @step_execution_id
            AND k.kind = N'Run'
            AND k.ended_at IS NULL
        UNION ALL
        SELECT
            CASE WHEN @stop_requested_at IS NOT NULL THEN N'Stop' ELSE N'Retry' END,
            COUNT(*)
        FROM jobs_internal.target_executions AS t
        WHERE t.step_execution_id = @step_execution_id
            AND t.next_attempt_at IS NOT NULL
            AND t.next_attempt_at > @now
        UNION ALL
        SELECT
            CASE WHEN f.queue_id IS NOT NULL AND @free_reason IN (N'Worker', N'Turn') THEN N'Limit' ELSE @free_reason END,
            w.total
        FROM (
            SELECT q.queue_id, COUNT(*) AS total
            FROM jobs_internal.target_queues AS q
            INNER JOIN jobs_internal.target_executions AS t ON t.queue_id = q.queue_id
            WHERE q.step_execution_id = @step_execution_id
                AND t.next_attempt_at IS NOT NULL
                AND t.next_attempt_at <= @now
            GROUP BY q.queue_id
        ) AS w
        LEFT JOIN @full AS f ON f.queue_id = w.queue_id
    ) AS c
    GROUP BY c.waits_for
    HAVING SUM(c.total) > 0;

    INSERT INTO @targets (target_execution_id, waits_for, position)
    SELECT
        w.target_execution_id,
        CASE WHEN @stop_requested_at IS NOT NULL THEN N'Stop' ELSE w.waits_for END,
        CASE WHEN w.waits_for IN (N'Outcome', N'Retry') THEN NULL ELSE ROW_NUMBER() OVER (PARTITION BY w.waits_for ORDER BY w.next_attempt_at, w.target_execution_id) END
    FROM (
        SELECT x.target_execution_id, x.next_attempt_at, N'Outcome' AS waits_for
        FROM (
            SELECT TOP (25) k.target_execution_id, k.claimed_at AS next_attempt_at
            FROM jobs_internal.task_executions AS k
            WHERE k.step_execution_id = @step_execution_id
                AND k.kind = N'Run'
                AND k.ended_at IS NULL
            ORDER BY k.claimed_at, k.task_id
        ) AS x
        UNION ALL
        SELECT x.target_execution_id, x.next_attempt_at, N'Retry'
        FROM (
            SELECT TOP (25) t.target_execution_id, t.next_attempt_at
            FROM jobs_internal.target_executions AS t
            WHERE t.step_execution_id = @step_execution_id
                AND t.next_attempt_at IS NOT NULL
                AND t.next_attempt_at > @now
            ORDER BY t.next_attempt_at, t.target_execution_id
        ) AS x
        UNION ALL
        SELECT x.target_execution_id, x.next_attempt_at, N'Limit'
        FROM (
            SELECT TOP (25) t.target_execution_id, t.next_attempt_at
            FROM jobs_internal.target_executions AS t
            WHERE @free_reason IN (N'Worker', N'Turn')
                AND t.step_execution_id = @step_execution_id
                AND t.next_attempt_at IS NOT NULL
                AND t.next_attempt_at <= @now
                AND EXISTS (SELECT 1 FROM @full AS f WHERE f.queue_id = t.queue_id)
            ORDER BY t.next_attempt_at, t.target_execution_id
        ) AS x
        UNION ALL
        SELECT x.target_execution_id, x.next_attempt_at, @free_reason
        FROM (
            SELECT TOP (25) t.target_execution_id, t.next_attempt_at
            FROM jobs_internal.target_executions AS t
            WHERE t.step_execution_id = @step_execution_id
                AND t.next_attempt_at IS NOT NULL
                AND t.next_attempt_at <= @now
                AND (@free_reason NOT IN (N'Worker', N'Turn') OR NOT EXISTS (SELECT 1 FROM @full AS f WHERE f.queue_id = t.queue_id))
            ORDER BY t.next_attempt_at, t.target_execution_id
        ) AS x
    ) AS w;

    SELECT
        e.job_execution_id,
        j.name AS job_name,
        e.job_version,
        e.lifecycle,
        e.is_active,
        e.create_time,
        e.start_time,
        e.end_time,
        e.stop_requested_at,
        e.stop_requested_by,
        @agents AS live_agents,
        @workers AS workers,
        @busy AS busy_workers,
        CAST(CASE
            WHEN e.is_active = 0 THEN e.last_message
            WHEN @agents = 0 THEN N'No agent is alive: nothing moves until one starts (jobagent run).'
            WHEN e.stop_requested_at IS NOT NULL THEN CONCAT(N'A stop was requested', N' by ' + e.stop_requested_by, N'; ', COALESCE((SELECT SUM(w.total) FROM @totals AS w), 0), N' targets are not final yet.')
            WHEN EXISTS (SELECT 1 FROM @totals AS w) THEN CONCAT(
                N'Of the targets, ', COALESCE((SELECT SUM(w.total) FROM @totals AS w WHERE w.waits_for = N'Outcome'), 0), N' run and ',
                COALESCE((SELECT SUM(w.total) FROM @totals AS w WHERE w.waits_for <> N'Outcome'), 0), N' wait.'
            )
            ELSE e.last_message
        END AS NVARCHAR(MAX)) AS explanation,
        @now AS now
    FROM jobs_internal.job_executions AS e
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE e.execution_id = @execution_id;

    SELECT
        r.step_id,
        r.server_name,
        r.database_name,
        r.lifecycle,
        r.waits_for,
        CAST(r.explanation AS NVARCHAR(MAX)) AS explanation,
        r.attempts,
        r.position,
        r.since,
        r.until_time,
        r.limit_scope,
        r.limit_running,
        r.max_concurrent_targets,
        r.agent_id,
        r.host_name,
        r.term_id,
        r.session_id
    FROM (
        -- The run, while none of its steps is active.
        SELECT
            CAST(NULL AS INT) AS step_id,
            CAST(NULL AS NVARCHAR(256)) AS server_name,
            CAST(NULL AS NVARCHAR(128)) AS database_name,
            e.lifecycle,
            CASE WHEN @agents = 0 THEN N'Agent' ELSE N'Advance' END AS waits_for,
            CASE WHEN @agents = 0 THEN N'no agent is alive' ELSE N'the next pass of an agent moves it on' END AS explanation,
            CAST(NULL AS INT) AS attempts,
            CAST(NULL AS BIGINT) AS position,
            e.create_time AS since,
            CAST(NULL AS DATETIME2(7)) AS until_time,
            CAST(NULL AS NVARCHAR(20)) AS limit_scope,
            CAST(NULL AS INT) AS limit_running,
            CAST(NULL AS INT) AS max_concurrent_targets,
            CAST(NULL AS UNIQUEIDENTIFIER) AS agent_id,
            CAST(NULL AS NVARCHAR(256)) AS host_name,
            CAST(NULL AS BIGINT) AS term_id,
            CAST(NULL AS INT) AS session_id,
            0 AS rank,
            CAST(0 AS BIGINT) AS place
        FROM jobs_internal.job_executions AS e
        WHERE e.execution_id = @execution_id
            AND e.is_active = 1
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.step_executions AS s WHERE s.execution_id = @execution_id AND s.is_active = 1)
        UNION ALL
        SELECT
            s.step_id,
            NULL,
            NULL,
            s.lifecycle,
            CASE
                WHEN s.lifecycle = N'WaitingForChildJobExecutions' THEN N'Targets'
                WHEN @stop_requested_at IS NOT NULL THEN N'Stop'
                WHEN s.lifecycle = N'InProgress' THEN N'Resolution'
                WHEN s.next_attempt_at > @now THEN N'Retry'
                WHEN @agents = 0 THEN N'Agent'
                WHEN s.next_attempt_at IS NULL THEN N'Advance'
                WHEN @busy >= @workers THEN N'Worker'
                ELSE N'Turn'
            END,
            CASE
                WHEN s.lifecycle = N'WaitingForChildJobExecutions' THEN CONCAT(COALESCE((SELECT SUM(w.total) FROM @totals AS w), 0), N' targets are not final')
                WHEN @stop_requested_at IS NOT NULL AND s.lifecycle = N'InProgress' THEN CONCAT(N'stop requested', N' by ' + @stop_requested_by, N': agent ', m.host_name, N' must confirm')
                WHEN @stop_requested_at IS NOT NULL THEN CONCAT(N'stop requested', N' by ' + @stop_requested_by, N': the next pass of an agent cancels it')
                WHEN s.lifecycle = N'InProgress' THEN CONCAT(N'agent ', m.host_name, N' resolves the target group ''', d.target_group_name, N'''')
                WHEN s.next_attempt_at > @now THEN CONCAT(N'attempt ', s.attempts + 1, N' to resolve the target group ''', d.target_group_name, N''' begins at ', CONVERT(NVARCHAR(19), s.next_attempt_at, 126), N'Z; before: ' + s.last_message)
                WHEN @agents = 0 THEN N'no agent is alive'
                WHEN s.next_attempt_at IS NULL THEN N'the next pass of an agent moves it on'
                WHEN @busy >= @workers THEN CONCAT(N'all ', @workers, N' workers of ', @agents, N' agents are busy')
                ELSE N'the next pass of an agent resolves its target group'
            END,
            s.attempts,
            NULL,
            COALESCE(k.claimed_at, s.attempt_start_time, s.create_time),
            CASE WHEN s.next_attempt_at > @now THEN s.next_attempt_at END,
            NULL,
            NULL,
            NULL,
            m.agent_id,
            m.host_name,
            k.term_id,
            k.session_id,
            1,
            0
        FROM jobs_internal.step_executions AS s
        INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
        LEFT JOIN jobs_internal.task_executions AS k ON k.step_execution_id = s.step_execution_id AND k.kind = N'Resolve' AND k.ended_at IS NULL
        LEFT JOIN jobs_internal.terms AS n ON n.term_id = k.term_id
        LEFT JOIN jobs_internal.agents AS m ON m.agent_id = n.agent_id
        WHERE s.execution_id = @execution_id
            AND s.is_active = 1
        UNION ALL
        SELECT
            t.step_id,
            t.server_name,
            t.database_name,
            t.lifecycle,
            w.waits_for,
            CASE w.waits_for
                WHEN N'Stop' THEN CASE
                    WHEN k.task_id IS NOT NULL THEN CONCAT(N'stop requested', N' by ' + @stop_requested_by, N': agent ', m.host_name, N' must confirm')
                    ELSE CONCAT(N'stop requested', N' by ' + @stop_requested_by, N': the next pass of an agent cancels it')
                END
                WHEN N'Outcome' THEN CONCAT(
                    N'attempt ', t.attempts, N' is held by agent ', m.host_name, N', term ', k.term_id, N', since ', CONVERT(NVARCHAR(19), k.claimed_at, 126), N'Z',
                    CASE WHEN n.ended_at IS NOT NULL OR n.expires_at <= @now THEN N'; the term is over: the next pass of an agent hands it over' END
                )
                WHEN N'Retry' THEN CONCAT(N'attempt ', t.attempts + 1, N' begins at ', CONVERT(NVARCHAR(19), t.next_attempt_at, 126), N'Z; before: ' + t.last_message)
                WHEN N'Agent' THEN N'no agent is alive'
                WHEN N'Limit' THEN CONCAT(f.description, N' is used up: ', f.running, N' of ', f.max_concurrent_targets, N' run, ', h.running, N' of them of job ''' + h.job_name + N'''')
                WHEN N'Worker' THEN CONCAT(N'all ', @workers, N' workers of ', @agents, N' agents are busy; position ', w.position)
                ELSE CONCAT(N'the next pass of an agent claims it; position ', w.position)
            END,
            t.attempts,
            w.position,
            CASE WHEN k.task_id IS NOT NULL THEN k.claimed_at WHEN t.next_attempt_at <= @now THEN t.next_attempt_at ELSE t.attempt_start_time END,
            CASE WHEN t.next_attempt_at > @now THEN t.next_attempt_at WHEN k.task_id IS NOT NULL THEN t.deadline_at END,
            CASE WHEN w.waits_for = N'Limit' THEN f.scope END,
            CASE WHEN w.waits_for = N'Limit' THEN f.running END,
            CASE WHEN w.waits_for = N'Limit' THEN f.max_concurrent_targets END,
            m.agent_id,
            m.host_name,
            k.term_id,
            k.session_id,
            2,
            t.target_execution_id
        FROM @targets AS w
        INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = w.target_execution_id
        LEFT JOIN jobs_internal.task_executions AS k ON k.step_execution_id = t.step_execution_id AND k.target_execution_id = t.target_execution_id AND k.ended_at IS NULL
        LEFT JOIN jobs_internal.terms AS n ON n.term_id = k.term_id
        LEFT JOIN jobs_internal.agents AS m ON m.agent_id = n.agent_id
        LEFT JOIN @full AS f ON f.queue_id = t.queue_id
        LEFT JOIN @holders AS h ON h.limit_key = f.limit_key
        UNION ALL
        SELECT
            d.step_id,
            NULL,
            NULL,
            N'Created',
            N'Step',
            CASE WHEN d.step_id = 1 THEN N'the run comes first' ELSE CONCAT(N'step ', d.step_id - 1, N' comes first') END,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            3,
            0
        FROM jobs_internal.job_steps AS d
        WHERE @is_active = 1
            AND @stop_requested_at IS NULL
            AND d.job_id = @job_id
            AND d.version = @job_version
            AND d.step_id BETWEEN @last_step + 1 AND @last_step + 25
    ) AS r
    ORDER BY r.step_id, r.rank, CASE r.waits_for WHEN N'Stop' THEN 0 WHEN N'Outcome' THEN 1 WHEN N'Limit' THEN 2 WHEN N'Retry' THEN 4 ELSE 3 END, r.position, r.until_time, r.place;

    SELECT
        @step_id AS step_id,
        w.waits_for,
        w.total
    FROM @totals AS w
    ORDER BY w.total DESC, w.waits_for;

    INSERT INTO @ended (step_id, lifecycle, error_number, total, target_execution_id)
    SELECT TOP (100) t.step_id, t.lifecycle, t.error_number, COUNT(*), MIN(t.target_execution_id)
    FROM jobs_internal.target_executions AS t
    WHERE t.execution_id = @execution_id
        AND t.is_active = 0
    GROUP BY t.step_id, t.lifecycle, t.error_number
    ORDER BY COUNT(*) DESC, t.step_id, t.lifecycle, t.error_number;

    SELECT
        r.step_id,
        r.lifecycle,
        r.error_number,
        r.total,
        CAST(CASE
            WHEN @is_active = 1 OR @run_lifecycle = N'Succeeded' THEN 0
            WHEN r.lifecycle = @run_lifecycle THEN 1
            WHEN @run_lifecycle = N'SucceededWithSkipped' AND r.lifecycle = N'Skipped' THEN 1
            ELSE 0
        END AS BIT) AS decides,
        r.server_name,
        r.database_name,
        r.last_message
    FROM (
        SELECT
            x.step_id,
            x.lifecycle,
            x.error_number,
            x.total,
            t.server_name,
            t.database_name,
            COALESCE(t.last_message, CONCAT(N'Step ', t.step_id, N' succeeded execution on target (server ''', t.server_name, N''', database ''', t.database_name, N''').')) AS last_message -- only success needs no words
        FROM @ended AS x
        INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = x.target_execution_id
        UNION ALL
        SELECT
            s.step_id,
            s.lifecycle,
            NULL,
            0,
            NULL,
            NULL,
            s.last_message
        FROM jobs_internal.step_executions AS s
        WHERE s.execution_id = @execution_id
            AND s.is_active = 0
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.target_executions AS t WHERE t.step_execution_id = s.step_execution_id)
    ) AS r
    ORDER BY r.step_id, CASE WHEN r.lifecycle = @run_lifecycle THEN 0 ELSE 1 END, r.total DESC, r.lifecycle, r.error_number;
    RETURN 0;
END;
