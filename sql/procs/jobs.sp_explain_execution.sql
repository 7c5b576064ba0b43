-- Explains what each unfinished row of a run waits for, and how the finished targets ended: which of them determined
-- the result, and with which errors. It only reads. It returns at most 25 targets that wait for the same; the third
-- result set counts all of them.
--
-- What a row can wait for:
--   Agent       a live agent: there is none, or none that runs commands of the step's type.
--   Advance     the next pass of an agent.
--   Resolution  the agent that resolves the target group.
--   Targets     a step: its targets.
--   Step        a step: the steps that come before it.
--   Outcome     the agent that runs it.
--   Stop        the confirmation of a stop request by the agent that runs it, or the next pass, which cancels it.
--   Retry       the time of its next attempt.
--   Pause       a database that is paused: the end of the pause.
--   Window      a window of its database: when it opens.
--   Limit       a limit that is used up; of a wave of a roll-out also its gate, its pace and a pause.
--   Wave        a roll-out: what its next wave waits for.
--   Worker      a free worker: the workers of all live agents are busy.
--   Turn        the next pass of an agent with free workers, which claims in the order of positions.
--   Callback    a report from outside that ends the action, or its deadline.
--
-- Parameters:
--   @job_execution_id  Id of the run.
--   @step_id           With @target_id: a target that is shown in any case, however many wait for the same. NULL: none.
--   @target_id         See @step_id.
-- Called by: members of the role jobs_reader.
-- Locks:     none.
-- Returns:   1: one row: job_execution_id, job_name, job_version, lifecycle, is_active, create_time, start_time, end_time,
--               stop_requested_at, stop_requested_by, live_agents, workers (of all of them), busy_workers, explanation, now,
--               advance_skipped_since (since when executions have not advanced although an agent is live; NULL: they do).
--            2: the rows that wait: step_id (NULL: the run), server_name, database_name (NULL: not a target), lifecycle, waits_for,
--               explanation, attempts, position (among those that wait for the same), since, until_time,
--               limit_scope, limit_running, max_concurrent_targets, agent_id, host_name, term_id, session_id.
--            3: the number of targets that wait for the same: step_id, waits_for, total.
--            4: the ends of targets, and of steps without targets: step_id, lifecycle, error_number, total, decides (1: the run
--               has its lifecycle because of these), server_name, database_name, last_message (of the first of them),
--               outcome_unknown (1: it is unknown whether the script ran).
-- Throws:
--   50028 the job execution id is missing.
--   50111 the job execution does not exist.
CREATE OR ALTER PROCEDURE jobs.sp_explain_execution
    @job_execution_id UNIQUEIDENTIFIER = NULL,
    @step_id          INT = NULL,
    @target_id        UNIQUEIDENTIFIER = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @execution_id BIGINT;
    DECLARE @run_lifecycle NVARCHAR(50);
    DECLARE @is_active BIT;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @job_version INT;
    DECLARE @stop_requested_at DATETIME2(7);
    DECLARE @stop_requested_by NVARCHAR(128);
    DECLARE @agents INT;
    DECLARE @workers INT;
    DECLARE @busy INT;
    DECLARE @last_step INT;
    DECLARE @skipped_since DATETIME2(7); -- since when no pass has advanced, if that is long ago
    DECLARE @has_dependencies BIT;
    DECLARE @held_reason NVARCHAR(20); -- the keyword of targets that an agent runs
    DECLARE @retry_reason NVARCHAR(20); -- targets whose next attempt begins later
    DECLARE @free_reason NVARCHAR(20); -- targets that could start
    DECLARE @hold_reason NVARCHAR(20); -- NULL: what holds the target
    DECLARE @callback_reason NVARCHAR(20); -- targets that wait for a callback
    DECLARE @not_final INT; -- targets of the active steps
    DECLARE @held INT; -- running targets of the active steps
    DECLARE @with_callback INT; -- targets that wait for a callback
    DECLARE @active TABLE (
        step_execution_id BIGINT NOT NULL PRIMARY KEY,
        step_id           INT NOT NULL,
        command_type      NVARCHAR(50) NOT NULL,
        has_agent         BIT NOT NULL -- a live agent runs commands of this type
    );
    DECLARE @running TABLE (
        limit_key NVARCHAR(450) NOT NULL PRIMARY KEY,
        running   INT NOT NULL
    );
    -- Queues of the run with a limit that is used up; one of several such limits.
    DECLARE @full TABLE (
        queue_id               BIGINT NOT NULL PRIMARY KEY,
        scope                  NVARCHAR(20) NOT NULL,
        limit_key              NVARCHAR(450) NOT NULL,
        running                INT NOT NULL,
        max_concurrent_targets INT NOT NULL,
        description            NVARCHAR(1000) NOT NULL
    );
    -- The job that uses most of a limit that is used up.
    DECLARE @holders TABLE (
        limit_key NVARCHAR(450) NOT NULL PRIMARY KEY,
        job_name  NVARCHAR(128) NOT NULL,
        running   INT NOT NULL
    );
    -- The number of targets of the active steps by what they wait for, and the targets that are shown.
    DECLARE @totals TABLE (
        step_id   INT NOT NULL,
        waits_for NVARCHAR(20) NOT NULL,
        total     INT NOT NULL,
        PRIMARY KEY (step_id, waits_for)
    );
    DECLARE @targets TABLE (
        target_execution_id BIGINT NOT NULL PRIMARY KEY,
        waits_for           NVARCHAR(20) NOT NULL,
        position            BIGINT NULL
    );
    -- The rows of the second result set: the run, its active steps, the targets of those steps, and the steps that follow. Columns that
    -- do not apply to a row are NULL.
    DECLARE @waits TABLE (
        step_id                INT NULL,
        target_execution_id    BIGINT NULL,
        queue_id               BIGINT NULL,
        server_name            NVARCHAR(256) NULL,
        database_name          NVARCHAR(128) NULL,
        target_group_name      NVARCHAR(128) NULL, -- of a step
        lifecycle              NVARCHAR(50) NOT NULL,
        waits_for              NVARCHAR(20) NOT NULL,
        attempts               INT NULL,
        position               BIGINT NULL,
        since                  DATETIME2(7) NULL,
        until_time             DATETIME2(7) NULL,
        limit_scope            NVARCHAR(20) NULL,
        limit_running          INT NULL,
        max_concurrent_targets INT NULL,
        agent_id               UNIQUEIDENTIFIER NULL,
        host_name              NVARCHAR(256) NULL,
        term_id                BIGINT NULL,
        term_is_over           BIT NOT NULL DEFAULT 0,
        session_id             INT NULL,
        last_message           NVARCHAR(MAX) NULL,
        explanation            NVARCHAR(MAX) NULL
    );
    -- The ends of targets, and of steps without targets.
    DECLARE @ended TABLE (
        step_id             INT NOT NULL,
        lifecycle           NVARCHAR(50) NOT NULL,
        error_number        INT NULL,
        outcome_unknown     BIT NOT NULL DEFAULT 0,
        total               INT NOT NULL,
        target_execution_id BIGINT NULL,       -- the first of them; NULL: a step
        last_message        NVARCHAR(MAX) NULL -- of a step
    );

    IF @job_execution_id IS NULL
        THROW 50028, N'Missing job execution id: @job_execution_id is NULL.', 1;

    SELECT
        @execution_id = e.execution_id,
        @run_lifecycle = e.lifecycle,
        @is_active = e.is_active,
        @job_id = e.job_id,
        @job_version = e.job_version,
        @stop_requested_at = e.stop_requested_at,
        @stop_requested_by = e.stop_requested_by
    FROM jobs_internal.visible_runs AS e
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE e.job_execution_id = @job_execution_id
        AND j.deleted_at IS NULL;
    IF @execution_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id, N' does not exist. The view jobs.job_executions lists all executions.'
        ), N'%', N'%%');
        THROW 50111, @message, 1;
    END;

    SELECT
        @agents = COUNT(*),
        @workers = COALESCE(SUM(a.max_concurrent_targets), 0)
    FROM jobs_internal.terms AS t
    INNER JOIN jobs_internal.agents AS a ON a.agent_id = t.agent_id
    WHERE t.ended_at IS NULL
        AND t.expires_at > @now;
    -- An agent may hold more tasks than it has workers: those that it will run next.
    SELECT @busy = COALESCE(SUM(CASE WHEN h.tasks < h.workers THEN h.tasks ELSE h.workers END), 0)
    FROM (
        SELECT COUNT(*) AS tasks, MAX(a.max_concurrent_targets) AS workers
        FROM jobs_internal.terms AS t
        INNER JOIN jobs_internal.agents AS a ON a.agent_id = t.agent_id
        INNER JOIN jobs_internal.task_executions AS k ON k.term_id = t.term_id
        WHERE t.ended_at IS NULL
            AND t.expires_at > @now
            AND k.ended_at IS NULL
        GROUP BY t.term_id
    ) AS h;
    SELECT @last_step = COALESCE(MAX(s.step_id), 0)
    FROM jobs_internal.step_executions AS s
    WHERE s.execution_id = @execution_id;

    -- Plan: IX_task_executions_held once, which has as many rows as agents have workers.
    IF @is_active = 1
        INSERT INTO @running (limit_key, running)
        SELECT v.limit_key, COUNT(*)
        FROM jobs_internal.task_executions AS k
        INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
        INNER JOIN jobs_internal.queue_limits AS v ON v.queue_id = t.queue_id
        WHERE k.ended_at IS NULL
            AND k.kind = N'Run'
        GROUP BY v.limit_key;
    IF EXISTS (SELECT 1 FROM @running AS u)
        WITH used_up AS (
            SELECT
                v.queue_id,
                v.scope,
                v.limit_key,
                u.running,
                v.max_concurrent_targets,
                v.description,
                ROW_NUMBER() OVER (PARTITION BY v.queue_id ORDER BY v.max_concurrent_targets, v.scope) AS place
            FROM jobs_internal.step_executions AS s
            INNER JOIN jobs_internal.queue_limits AS v ON v.step_execution_id = s.step_execution_id
            INNER JOIN @running AS u ON u.limit_key = v.limit_key
            WHERE s.execution_id = @execution_id
                AND s.is_active = 1
                AND u.running >= v.max_concurrent_targets
        )
        INSERT INTO @full (queue_id, scope, limit_key, running, max_concurrent_targets, description)
        SELECT l.queue_id, l.scope, l.limit_key, l.running, l.max_concurrent_targets, l.description
        FROM used_up AS l
        WHERE l.place = 1;
    -- The limits of a wave, as jobs_internal.claim_limited_targets applies them. Plan: a key of each table, and the held tasks of the run.
    IF @is_active = 1
        INSERT INTO @full (queue_id, scope, limit_key, running, max_concurrent_targets, description)
        SELECT q.queue_id, N'Wave', N'Wave', u.running, COALESCE(w.max_parallelism, 0), x.description
        FROM jobs_internal.job_executions AS e
        INNER JOIN jobs_internal.rollouts AS r ON r.execution_id = e.rollout_of
        INNER JOIN jobs_internal.rollout_waves AS w ON w.execution_id = e.rollout_of AND w.wave = e.rollout_wave
        LEFT JOIN jobs_internal.rollout_paces AS p ON p.execution_id = e.rollout_of
        CROSS APPLY (
            SELECT COUNT(*) AS running
            FROM jobs_internal.task_executions AS k
            WHERE k.execution_id = e.execution_id
                AND k.kind = N'Run'
                AND k.ended_at IS NULL
        ) AS u
        CROSS APPLY (
            SELECT CASE
                WHEN r.paused_at IS NOT NULL
                    THEN CONCAT(N'the roll-out is paused by ', r.paused_by, N' since ', CONVERT(NVARCHAR(19), r.paused_at, 126), N'Z')
                WHEN u.running >= w.max_parallelism THEN CONCAT(
                    N'the parallelism of the wave ''', w.name, N''' is used up: ', u.running, N' of ', w.max_parallelism, N' run'
                )
                WHEN w.pace IS NOT NULL AND p.next_at > @now
                    THEN CONCAT(N'in any minute, ', w.pace, N' targets of the wave ''', w.name, N''' start')
                WHEN r.is_strict = 1 AND u.running > 0 THEN CONCAT(
                    N'the plan of the wave ''', w.name, N''' is strict: no more targets run than may fail, and one'
                )
            END AS description
        ) AS x
        INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id AND s.is_active = 1
        INNER JOIN jobs_internal.target_queues AS q ON q.step_execution_id = s.step_execution_id
        WHERE e.execution_id = @execution_id
            AND e.rollout_probe = 0
            AND x.description IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM @full AS f WHERE f.queue_id = q.queue_id);
    -- The limit of scope Agent counts all targets. Plan: one key of UQ_limits_name, and IX_task_executions_held as above.
    IF @is_active = 1
        INSERT INTO @full (queue_id, scope, limit_key, running, max_concurrent_targets, description)
        SELECT q.queue_id, l.scope, l.scope, u.running, l.max_concurrent_targets, N'capacity of the job agent (limit of scope Agent)'
        FROM jobs_internal.limits AS l
        CROSS JOIN (
            SELECT COUNT(*) AS running
            FROM jobs_internal.task_executions AS k
            WHERE k.ended_at IS NULL
                AND k.kind = N'Run'
        ) AS u
        INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = @execution_id AND s.is_active = 1
        INNER JOIN jobs_internal.target_queues AS q ON q.step_execution_id = s.step_execution_id
        WHERE l.scope = N'Agent'
            AND l.name = N'*'
            AND l.server_name = N''
            AND l.job_id IS NULL
            AND u.running >= l.max_concurrent_targets
            AND NOT EXISTS (SELECT 1 FROM @full AS f WHERE f.queue_id = q.queue_id);
    IF EXISTS (SELECT 1 FROM @full AS f)
        WITH running_jobs AS (
            SELECT v.limit_key, t.job_id, COUNT(*) AS running
            FROM jobs_internal.task_executions AS k
            INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
            INNER JOIN jobs_internal.queue_limits AS v ON v.queue_id = t.queue_id
            WHERE k.ended_at IS NULL
                AND k.kind = N'Run'
                AND EXISTS (SELECT 1 FROM @full AS f WHERE f.limit_key = v.limit_key)
            GROUP BY v.limit_key, t.job_id
        ),
        ranked_jobs AS (
            SELECT
                r.limit_key,
                j.name AS job_name,
                r.running,
                ROW_NUMBER() OVER (PARTITION BY r.limit_key ORDER BY r.running DESC, j.name) AS place
            FROM running_jobs AS r
            INNER JOIN jobs_internal.jobs AS j ON j.job_id = r.job_id
        )
        INSERT INTO @holders (limit_key, job_name, running)
        SELECT o.limit_key, o.job_name, o.running
        FROM ranked_jobs AS o
        WHERE o.place = 1;

    IF @is_active = 1
        SELECT @skipped_since = v.skipped_since
        FROM jobs_internal.advance_status AS v;

    -- At most one, unless the version has dependencies.
    INSERT INTO @active (step_execution_id, step_id, command_type, has_agent)
    SELECT s.step_execution_id, s.step_id, CASE WHEN c.command_type = N'TSql' THEN COALESCE(e.mode, N'TSql') ELSE c.command_type END, CASE
        WHEN EXISTS (
            SELECT 1
            FROM jobs_internal.terms AS t
            WHERE t.ended_at IS NULL
                AND t.expires_at > @now
                AND CHARINDEX(N',' + CASE WHEN c.command_type = N'TSql' THEN COALESCE(e.mode, N'TSql') ELSE c.command_type END + N',',
                    N',' + t.command_types + N',') > 0
        ) THEN 1
        ELSE 0
    END
    FROM jobs_internal.step_executions AS s
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
    INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
    WHERE s.execution_id = @execution_id
        AND s.is_active = 1;
    SET @has_dependencies = (
        SELECT v.has_dependencies
        FROM jobs_internal.job_versions AS v
        WHERE v.job_id = @job_id
            AND v.version = @job_version
    );
    SET @free_reason = CASE
        WHEN @stop_requested_at IS NOT NULL THEN N'Stop'
        WHEN @agents = 0 THEN N'Agent'
        WHEN @busy >= @workers THEN N'Worker'
        ELSE N'Turn'
    END;

    SET @held_reason = CASE WHEN @stop_requested_at IS NOT NULL THEN N'Stop' ELSE N'Outcome' END;
    SET @retry_reason = CASE WHEN @stop_requested_at IS NOT NULL THEN N'Stop' ELSE N'Retry' END;
    SET @hold_reason = CASE WHEN @stop_requested_at IS NOT NULL THEN N'Stop' END;
    SET @callback_reason = CASE WHEN @stop_requested_at IS NOT NULL THEN N'Stop' ELSE N'Callback' END;

    -- Limits are checked only for targets that could start otherwise.
    IF @free_reason NOT IN (N'Worker', N'Turn')
        DELETE f
        FROM @full AS f;

    -- Plan: IX_task_executions_held once, as above; the rows of one step in IX_target_executions_due that are not due, and per queue
    -- those in IX_target_executions_queue_id that are.
    WITH free_targets AS (
        SELECT a.step_id, a.has_agent, q.queue_id, COUNT(*) AS total
        FROM @active AS a
        INNER JOIN jobs_internal.target_queues AS q ON q.step_execution_id = a.step_execution_id
        INNER JOIN jobs_internal.target_executions AS t ON t.queue_id = q.queue_id
        WHERE t.next_attempt_at IS NOT NULL
            AND t.next_attempt_at <= @now
        GROUP BY a.step_id, a.has_agent, q.queue_id
    ),
    counted AS (
        SELECT a.step_id, @held_reason AS waits_for, COUNT(*) AS total
        FROM @active AS a
        INNER JOIN jobs_internal.task_executions AS k ON k.step_execution_id = a.step_execution_id
        WHERE k.kind = N'Run'
            AND k.ended_at IS NULL
        GROUP BY a.step_id
        UNION ALL
        SELECT a.step_id, @retry_reason, COUNT(*)
        FROM @active AS a
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = a.step_execution_id
        WHERE t.next_attempt_at IS NOT NULL
            AND t.next_attempt_at > @now
            AND t.next_attempt_at < '9999-12-31'
        GROUP BY a.step_id
        UNION ALL
        SELECT a.step_id, COALESCE(@hold_reason, r.waiting_for), COUNT(*) -- each key with its row
        FROM @active AS a
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = a.step_execution_id
        CROSS APPLY (SELECT CASE WHEN t.held_by < 0 THEN N'Pause' ELSE N'Window' END AS waiting_for) AS r
        WHERE t.next_attempt_at IS NOT NULL
            AND t.next_attempt_at >= '9999-12-31'
        GROUP BY a.step_id, r.waiting_for
        UNION ALL
        SELECT
            p.step_id,
            CASE
                WHEN p.has_agent = 0 AND @stop_requested_at IS NULL THEN N'Agent'
                WHEN f.queue_id IS NOT NULL THEN N'Limit'
                ELSE @free_reason
            END,
            p.total
        FROM free_targets AS p
        LEFT JOIN @full AS f ON f.queue_id = p.queue_id
        UNION ALL
        SELECT a.step_id, @callback_reason, COUNT(*)
        FROM @active AS a
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = a.step_execution_id
        WHERE t.lifecycle = N'WaitingForCallback'
        GROUP BY a.step_id
    )
    INSERT INTO @totals (step_id, waits_for, total)
    SELECT c.step_id, c.waits_for, SUM(c.total)
    FROM counted AS c
    GROUP BY c.step_id, c.waits_for;
    SELECT
        @not_final = COALESCE(SUM(n.total), 0),
        @held = COALESCE(SUM(CASE WHEN n.waits_for = N'Outcome' THEN n.total END), 0),
        @with_callback = COALESCE(SUM(CASE WHEN n.waits_for = N'Callback' THEN n.total END), 0)
    FROM @totals AS n;

    -- The first 25 targets that wait for the same. Targets that could start have positions.
    WITH held AS (
        SELECT TOP (25) k.target_execution_id
        FROM @active AS a
        INNER JOIN jobs_internal.task_executions AS k ON k.step_execution_id = a.step_execution_id
        WHERE k.kind = N'Run'
            AND k.ended_at IS NULL
        ORDER BY k.claimed_at, k.task_id
    ),
    later AS (
        SELECT TOP (25) t.target_execution_id
        FROM @active AS a
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = a.step_execution_id
        WHERE t.next_attempt_at IS NOT NULL
            AND t.next_attempt_at > @now
            AND t.next_attempt_at < '9999-12-31'
        ORDER BY t.next_attempt_at, t.target_execution_id
    ),
    stayed AS (
        SELECT TOP (25) t.target_execution_id
        FROM @active AS a
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = a.step_execution_id
        WHERE t.next_attempt_at IS NOT NULL
            AND t.next_attempt_at >= '9999-12-31'
        ORDER BY t.next_attempt_at, t.target_execution_id
    ),
    limited AS (
        SELECT TOP (25) t.target_execution_id, t.next_attempt_at, a.has_agent
        FROM @active AS a
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = a.step_execution_id
        WHERE t.next_attempt_at IS NOT NULL
            AND t.next_attempt_at <= @now
            AND EXISTS (SELECT 1 FROM @full AS f WHERE f.queue_id = t.queue_id)
        ORDER BY t.next_attempt_at, t.target_execution_id
    ),
    free AS (
        SELECT TOP (25) t.target_execution_id, t.next_attempt_at, a.has_agent
        FROM @active AS a
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = a.step_execution_id
        WHERE t.next_attempt_at IS NOT NULL
            AND t.next_attempt_at <= @now
            AND NOT EXISTS (SELECT 1 FROM @full AS f WHERE f.queue_id = t.queue_id)
        ORDER BY t.next_attempt_at, t.target_execution_id
    ),
    waiting AS (
        SELECT TOP (25) t.target_execution_id
        FROM @active AS a
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = a.step_execution_id
        WHERE t.lifecycle = N'WaitingForCallback'
        ORDER BY t.target_execution_id
    ),
    shown AS (
        SELECT y.target_execution_id, @held_reason AS waits_for, CAST(NULL AS BIGINT) AS position
        FROM held AS y
        UNION ALL
        SELECT y.target_execution_id, @retry_reason, NULL
        FROM later AS y
        UNION ALL
        SELECT y.target_execution_id, COALESCE(@hold_reason, h.waiting_for, N'Turn'), NULL
        FROM stayed AS y
        LEFT JOIN jobs_internal.target_holds AS h ON h.target_execution_id = y.target_execution_id
        UNION ALL
        SELECT
            y.target_execution_id,
            CASE WHEN y.has_agent = 0 AND @stop_requested_at IS NULL THEN N'Agent' ELSE N'Limit' END,
            ROW_NUMBER() OVER (ORDER BY y.next_attempt_at, y.target_execution_id)
        FROM limited AS y
        UNION ALL
        SELECT
            y.target_execution_id,
            CASE WHEN y.has_agent = 0 AND @stop_requested_at IS NULL THEN N'Agent' ELSE @free_reason END,
            ROW_NUMBER() OVER (ORDER BY y.next_attempt_at, y.target_execution_id)
        FROM free AS y
        UNION ALL
        SELECT y.target_execution_id, @callback_reason, NULL
        FROM waiting AS y
    )
    INSERT INTO @targets (target_execution_id, waits_for, position)
    SELECT i.target_execution_id, i.waits_for, i.position
    FROM shown AS i;
    -- Plan: one key of UQ_target_executions_target_id; for its position, the rows of the active steps in IX_target_executions_due.
    IF @target_id IS NOT NULL
        INSERT INTO @targets (target_execution_id, waits_for, position)
        SELECT
            t.target_execution_id,
            CASE
                WHEN t.lifecycle = N'WaitingForCallback' THEN @callback_reason
                WHEN t.next_attempt_at IS NULL THEN @held_reason
                WHEN t.next_attempt_at >= '9999-12-31' THEN COALESCE(@hold_reason, CASE WHEN t.held_by < 0 THEN N'Pause' ELSE N'Window' END)
                WHEN t.next_attempt_at > @now THEN @retry_reason
                WHEN a.has_agent = 0 AND @stop_requested_at IS NULL THEN N'Agent'
                WHEN x.is_limited = 1 THEN N'Limit'
                ELSE @free_reason
            END,
            CASE
                WHEN t.next_attempt_at <= @now THEN (
                    SELECT COUNT(*)
                    FROM @active AS b
                    INNER JOIN jobs_internal.target_executions AS u ON u.step_execution_id = b.step_execution_id
                    WHERE u.next_attempt_at IS NOT NULL
                        AND (u.next_attempt_at < t.next_attempt_at
                            OR (u.next_attempt_at = t.next_attempt_at AND u.target_execution_id <= t.target_execution_id))
                        AND CASE WHEN EXISTS (SELECT 1 FROM @full AS f WHERE f.queue_id = u.queue_id) THEN 1 ELSE 0 END = x.is_limited
                )
            END
        FROM @active AS a
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = a.step_execution_id
            AND t.target_id = @target_id
        CROSS APPLY (
            SELECT CASE WHEN EXISTS (SELECT 1 FROM @full AS f WHERE f.queue_id = t.queue_id) THEN 1 ELSE 0 END AS is_limited
        ) AS x
        WHERE a.step_id = @step_id
            AND t.is_active = 1
            AND NOT EXISTS (SELECT 1 FROM @targets AS g WHERE g.target_execution_id = t.target_execution_id);

    -- The run, while none of its steps is active.
    IF NOT EXISTS (SELECT 1 FROM @active AS a)
        INSERT INTO @waits (lifecycle, waits_for, since, until_time, explanation)
        SELECT
            e.lifecycle,
            CASE WHEN @agents = 0 THEN N'Agent' WHEN r.next_event IS NOT NULL THEN N'Wave' ELSE N'Advance' END,
            e.create_time,
            r.next_event_at,
            r.next_event
        FROM jobs_internal.job_executions AS e
        LEFT JOIN jobs.rollouts AS r ON r.job_execution_id = e.job_execution_id
        WHERE e.execution_id = @execution_id
            AND e.is_active = 1;

    INSERT INTO @waits (
        step_id, target_group_name, lifecycle, waits_for, attempts, since, until_time, agent_id, host_name, term_id, session_id,
        last_message
    )
    SELECT
        s.step_id,
        d.target_group_name,
        s.lifecycle,
        CASE
            WHEN s.lifecycle = N'WaitingForChildJobExecutions' THEN N'Targets'
            WHEN @stop_requested_at IS NOT NULL THEN N'Stop'
            WHEN k.task_id IS NOT NULL THEN N'Resolution'
            WHEN s.next_attempt_at > @now THEN N'Retry'
            WHEN @agents = 0 OR x.has_agent = 0 THEN N'Agent'
            WHEN s.next_attempt_at IS NULL THEN N'Advance'
            WHEN @busy >= @workers THEN N'Worker'
            ELSE N'Turn'
        END,
        s.attempts,
        COALESCE(k.claimed_at, s.attempt_start_time, s.create_time),
        CASE WHEN s.next_attempt_at > @now THEN s.next_attempt_at END,
        a.agent_id,
        a.host_name,
        k.term_id,
        k.session_id,
        s.last_message
    FROM @active AS x
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = x.step_execution_id
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
    LEFT JOIN jobs_internal.task_executions AS k ON k.step_execution_id = s.step_execution_id
        AND k.kind = N'Resolve'
        AND k.ended_at IS NULL
    LEFT JOIN jobs_internal.terms AS m ON m.term_id = k.term_id
    LEFT JOIN jobs_internal.agents AS a ON a.agent_id = m.agent_id
    WHERE s.is_active = 1;

    INSERT INTO @waits (
        step_id, target_execution_id, queue_id, server_name, database_name, lifecycle, waits_for, attempts, position, since,
        until_time, agent_id, host_name, term_id, term_is_over, session_id, last_message
    )
    SELECT
        t.step_id,
        t.target_execution_id,
        t.queue_id,
        t.server_name,
        t.database_name,
        CASE WHEN t.lifecycle = N'WaitingForCallback' THEN N'InProgress' ELSE t.lifecycle END,
        x.waits_for,
        t.attempts,
        x.position,
        CASE
            WHEN k.task_id IS NOT NULL THEN k.claimed_at
            WHEN t.next_attempt_at <= @now THEN t.next_attempt_at
            ELSE COALESCE(t.attempt_start_time, t.create_time)
        END,
        CASE
            WHEN t.next_attempt_at >= '9999-12-31' THEN h.waiting_until
            WHEN t.next_attempt_at > @now THEN t.next_attempt_at
            WHEN k.task_id IS NOT NULL THEN t.deadline_at
            ELSE c.deadline_at
        END,
        a.agent_id,
        a.host_name,
        k.term_id,
        CASE WHEN m.ended_at IS NOT NULL OR m.expires_at <= @now THEN 1 ELSE 0 END,
        k.session_id,
        COALESCE(h.description, t.last_message)
    FROM @targets AS x
    INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = x.target_execution_id
    LEFT JOIN jobs_internal.target_holds AS h ON h.target_execution_id = t.target_execution_id
    LEFT JOIN jobs_internal.task_executions AS k ON k.execution_id = t.execution_id -- so that a target finds its attempts by the index
        AND k.step_execution_id = t.step_execution_id
        AND k.target_execution_id = t.target_execution_id
        AND k.ended_at IS NULL
    LEFT JOIN jobs_internal.callbacks AS c ON c.target_execution_id = t.target_execution_id
        AND c.attempt = t.attempts
        AND c.closed_at IS NULL
    LEFT JOIN jobs_internal.terms AS m ON m.term_id = k.term_id
    LEFT JOIN jobs_internal.agents AS a ON a.agent_id = m.agent_id;

    IF @is_active = 1 AND @stop_requested_at IS NULL AND @has_dependencies = 1
        WITH edges AS (
            SELECT
                d.step_id,
                d.run_when,
                d.on_targets,
                COALESCE(y.after_step_id, CASE WHEN d.has_after = 0 THEN d.step_id - 1 END) AS after_step_id
            FROM jobs_internal.job_steps AS d
            LEFT JOIN jobs_internal.job_step_dependencies AS y ON y.job_id = d.job_id AND y.version = d.version AND y.step_id = d.step_id
            WHERE d.job_id = @job_id
                AND d.version = @job_version
                AND NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.step_executions AS s
                    WHERE s.execution_id = @execution_id
                        AND s.step_id = d.step_id
                )
        ),
        listed AS (
            SELECT
                g.step_id,
                g.run_when,
                g.on_targets,
                COUNT(*) AS steps,
                STRING_AGG(CAST(g.after_step_id AS NVARCHAR(MAX)), N', ') WITHIN GROUP (ORDER BY g.after_step_id) AS names
            FROM edges AS g
            WHERE NOT EXISTS (
                SELECT 1
                FROM jobs_internal.step_executions AS s
                WHERE s.execution_id = @execution_id
                    AND s.step_id = g.after_step_id
                    AND s.is_active = 0
            )
                AND g.after_step_id >= 1
            GROUP BY g.step_id, g.run_when, g.on_targets
        )
        INSERT INTO @waits (step_id, lifecycle, waits_for, explanation)
        SELECT TOP (25)
            l.step_id,
            N'Created',
            N'Step',
            CONCAT(
                CASE WHEN l.steps = 1 THEN N'step ' ELSE N'steps ' END, l.names, CASE WHEN l.steps = 1 THEN N' comes' ELSE N' come' END,
                N' first',
                CASE
                    WHEN l.run_when = N'Failed' THEN N'; it starts only after a failure'
                    WHEN l.run_when = N'Finished' THEN N'; it starts whatever the result is'
                    WHEN l.on_targets = N'Succeeded' THEN N'; it runs on the targets on which all of it succeeds'
                END
            )
        FROM listed AS l
        ORDER BY l.step_id;
    IF @is_active = 1 AND @stop_requested_at IS NULL AND @has_dependencies = 0
        INSERT INTO @waits (step_id, lifecycle, waits_for)
        SELECT d.step_id, N'Created', N'Step'
        FROM jobs_internal.job_steps AS d
        WHERE d.job_id = @job_id
            AND d.version = @job_version
            AND d.step_id BETWEEN @last_step + 1 AND @last_step + 25;

    UPDATE w
    SET w.limit_scope = f.scope,
        w.limit_running = f.running,
        w.max_concurrent_targets = f.max_concurrent_targets
    FROM @waits AS w
    INNER JOIN @full AS f ON f.queue_id = w.queue_id
    WHERE w.waits_for = N'Limit';

    -- CONCAT omits NULL parts of a text: see DESIGN.md, "Conventions".
    UPDATE w
    SET w.explanation = CASE w.waits_for
        WHEN N'Agent' THEN CASE
            WHEN @agents = 0 THEN N'no live agent'
            ELSE CONCAT(N'no live agent runs commands of type ', (SELECT x.command_type FROM @active AS x WHERE x.step_id = w.step_id))
        END
        WHEN N'Advance' THEN CONCAT(
            N'the next pass of an agent advances it',
            N', and none has since ' + CONVERT(NVARCHAR(19), @skipped_since, 126)
                + N'Z: jobagent agent status shows the session that blocks passes'
        )
        WHEN N'Resolution' THEN CONCAT(N'agent ', w.host_name, N' resolves the target group ''', w.target_group_name, N'''')
        WHEN N'Targets' THEN (
            SELECT
                CASE WHEN SUM(n.total) = 1 THEN N'1 target is' ELSE CONCAT(COALESCE(SUM(n.total), 0), N' targets are') END + N' not final'
            FROM @totals AS n
            WHERE n.step_id = w.step_id
        )
        WHEN N'Step' THEN CASE
            WHEN w.explanation IS NOT NULL THEN w.explanation
            WHEN w.step_id = 1 THEN N'the run comes first'
            ELSE CONCAT(N'step ', w.step_id - 1, N' comes first')
        END
        WHEN N'Outcome' THEN CONCAT(
            N'attempt ', w.attempts, N' is held by agent ', w.host_name, N', term ', w.term_id, N', since ',
            CONVERT(NVARCHAR(19), w.since, 126), N'Z',
            CASE WHEN w.term_is_over = 1 THEN N'; the term is over, and the next pass of an agent hands the task over' END
        )
        WHEN N'Stop' THEN CONCAT(
            N'stop requested', N' by ' + @stop_requested_by,
            CASE
                WHEN w.term_id IS NULL THEN N': the next pass of an agent cancels it'
                ELSE CONCAT(N': agent ', w.host_name, N' must confirm')
            END
        )
        WHEN N'Retry' THEN CONCAT(
            N'attempt ', w.attempts + 1, N' to resolve the target group ''' + w.target_group_name + N'''', N' begins at ',
            CONVERT(NVARCHAR(19), w.until_time, 126), N'Z', N'; before: ' + w.last_message
        )
        WHEN N'Wave' THEN w.explanation
        WHEN N'Pause' THEN w.last_message
        WHEN N'Window' THEN w.last_message
        WHEN N'Limit' THEN CASE WHEN f.scope = N'Wave' THEN f.description ELSE CONCAT(
            f.description, N' is used up: ', f.running, N' of ', f.max_concurrent_targets, N' run',
            CONCAT(N', ', h.running, N' of them of job ''') + h.job_name + N''''
        ) END
        WHEN N'Worker' THEN CONCAT(
            CASE WHEN @workers = 1 THEN N'the only worker' ELSE CONCAT(N'all ', @workers, N' workers') END,
            CASE WHEN @agents <> 1 THEN CONCAT(N' of ', @agents, N' agents') END,
            CASE WHEN @workers = 1 THEN N' is busy' ELSE N' are busy' END,
            N'; position ' + CAST(w.position AS NVARCHAR(20))
        )
        WHEN N'Callback' THEN CONCAT(
            N'a report must end attempt ', w.attempts, N' until ', CONVERT(NVARCHAR(19), w.until_time, 126),
            N'Z; jobs.callbacks shows it, and jobs.sp_complete_callback reports by hand'
        )
        WHEN N'Turn' THEN CASE
            WHEN w.target_execution_id IS NULL THEN N'the next pass of an agent resolves its target group'
            ELSE CONCAT(N'the next pass of an agent claims it; position ', w.position)
        END
    END
    FROM @waits AS w
    LEFT JOIN @full AS f ON f.queue_id = w.queue_id
    LEFT JOIN @holders AS h ON h.limit_key = f.limit_key;

    INSERT INTO @ended (step_id, lifecycle, error_number, outcome_unknown, total, target_execution_id)
    SELECT TOP (100) t.step_id, t.lifecycle, t.error_number, t.outcome_unknown, COUNT(*), MIN(t.target_execution_id)
    FROM jobs_internal.target_executions AS t
    WHERE t.execution_id = @execution_id
        AND t.is_active = 0
    GROUP BY t.step_id, t.lifecycle, t.error_number, t.outcome_unknown
    ORDER BY COUNT(*) DESC, t.step_id, t.lifecycle, t.error_number, t.outcome_unknown;
    INSERT INTO @ended (step_id, lifecycle, total, last_message)
    SELECT s.step_id, s.lifecycle, 0, s.last_message
    FROM jobs_internal.step_executions AS s
    WHERE s.execution_id = @execution_id
        AND s.is_active = 0
        AND NOT EXISTS (SELECT 1 FROM jobs_internal.target_executions AS t WHERE t.step_execution_id = s.step_execution_id);

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
        CAST(CONCAT((
            SELECT CONCAT(N'The run is limited to ', COUNT(*), N' chosen database', CASE WHEN COUNT(*) <> 1 THEN N's' END, N'. ')
            FROM OPENJSON(e.only_targets) AS o
            HAVING COUNT(*) > 0
        ),
        CASE WHEN e.upstream_runs IS NOT NULL THEN N'The run is limited to the databases on which its upstream jobs succeeded. ' END,
        CASE
            WHEN e.is_active = 0 THEN e.last_message
            WHEN a.message IS NOT NULL THEN a.message
            WHEN @agents = 0 THEN N'No live agent: nothing advances until an agent starts (jobagent run).'
            WHEN @skipped_since IS NOT NULL THEN CONCAT(
                N'No pass of an agent has advanced executions since ', CONVERT(NVARCHAR(19), @skipped_since, 126),
                N'Z: another session holds the application lock jobagent.advance, or a pass takes long. ',
                N'"jobagent agent status" shows the session.'
            )
            WHEN e.stop_requested_at IS NOT NULL
                THEN CONCAT(N'A stop was requested', N' by ' + e.stop_requested_by, N'; ',
                    CASE WHEN @not_final = 1 THEN N'1 target is' ELSE CONCAT(@not_final, N' targets are') END, N' not final yet.')
            WHEN @not_final > 0 THEN CONCAT(
                N'Of the targets, ', @held, N' run', N', ' + CAST(NULLIF(@with_callback, 0) AS NVARCHAR(12)) + N' wait for callbacks',
                N' and ', @not_final - @held - @with_callback, N' wait.'
            )
            ELSE COALESCE((SELECT r.next_event FROM jobs.rollouts AS r WHERE r.job_execution_id = e.job_execution_id), e.last_message)
        END) AS NVARCHAR(MAX)) AS explanation,
        @now AS now,
        CASE WHEN e.is_active = 1 THEN @skipped_since END AS advance_skipped_since
    FROM jobs_internal.job_executions AS e
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    LEFT JOIN jobs_internal.set_aside_messages AS a ON a.kind = N'Run' AND a.first_id = e.execution_id
    WHERE e.execution_id = @execution_id;

    -- The run, then each step before its targets.
    SELECT
        w.step_id,
        w.server_name,
        w.database_name,
        w.lifecycle,
        w.waits_for,
        w.explanation,
        w.attempts,
        w.position,
        w.since,
        w.until_time,
        w.limit_scope,
        w.limit_running,
        w.max_concurrent_targets,
        w.agent_id,
        w.host_name,
        w.term_id,
        w.session_id
    FROM @waits AS w
    ORDER BY
        w.step_id,
        CASE WHEN w.target_execution_id IS NULL THEN 0 ELSE 1 END,
        CASE w.waits_for WHEN N'Stop' THEN 0 WHEN N'Outcome' THEN 1 WHEN N'Limit' THEN 2 WHEN N'Retry' THEN 4 ELSE 3 END,
        w.position,
        w.until_time,
        w.target_execution_id;

    SELECT n.step_id, n.waits_for, n.total
    FROM @totals AS n
    ORDER BY n.step_id, n.total DESC, n.waits_for;

    -- Only success needs no message.
    SELECT
        z.step_id,
        z.lifecycle,
        z.error_number,
        z.total,
        CAST(CASE
            WHEN @is_active = 1 OR @run_lifecycle = N'Succeeded' THEN 0
            WHEN z.lifecycle = @run_lifecycle THEN 1
            WHEN @run_lifecycle = N'SucceededWithSkipped' AND z.lifecycle = N'Skipped' THEN 1
            ELSE 0
        END AS BIT) AS decides,
        t.server_name,
        t.database_name,
        CASE
            WHEN z.target_execution_id IS NULL THEN z.last_message
            WHEN t.last_message IS NOT NULL THEN t.last_message
            ELSE CONCAT(
                N'Step ', z.step_id, N' succeeded execution on target (server ''', t.server_name, N''', database ''',
                t.database_name, N''').'
            )
        END AS last_message,
        z.outcome_unknown
    FROM @ended AS z
    LEFT JOIN jobs_internal.target_executions AS t ON t.target_execution_id = z.target_execution_id
    ORDER BY z.step_id, CASE WHEN z.lifecycle = @run_lifecycle THEN 0 ELSE 1 END, z.total DESC, z.lifecycle, z.error_number;
    RETURN 0;
END;
