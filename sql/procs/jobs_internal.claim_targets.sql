-- Claims attempts on targets. Order: every step that has targets waiting takes turns. A target's turn is the number of
-- tasks that the step has under way, plus the target's place among those of the step that wait; the lowest turn goes
-- first, then the one that waits longest. So a step with one target is never behind the ten thousandth of another.
-- With @limited = 1 it claims for steps with max_parallelism, of which each elastic pool (each server, for databases in no
-- pool) gets no more than the step allows, over all runs of the job.
--
-- Parameters:
--   @term_id  For whom.
--   @room     Most that are claimed; 0 or less: none.
--   @limited  1: steps with max_parallelism; the caller then holds the application lock jobagent.advance, so that
--             nobody else counts at the same time. 0: all other steps.
--   @now      Tests only.
-- Called by: jobs_internal.controller_pass, within its transactions.
-- Locks:     the targets' rows (U, then X), skipping those that others have locked; inserts into task_executions.
-- Returns:   the number of tasks that were claimed.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.claim_targets
    @term_id BIGINT,
    @room    INT,
    @limited BIT,
    @now     DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @claimed INT;
    -- Steps that have targets waiting, and how many tasks each has under way.
    DECLARE @ready TABLE (
        step_execution_id    BIGINT NOT NULL PRIMARY KEY,
        running              INT NOT NULL,
        max_parallelism      INT NULL,
        step_timeout_seconds INT NOT NULL
    );
    DECLARE @picked TABLE (target_execution_id BIGINT NOT NULL PRIMARY KEY);

    IF @room <= 0
        RETURN 0;

    INSERT INTO @ready (step_execution_id, running, max_parallelism, step_timeout_seconds)
    SELECT
        s.step_execution_id,
        (
            SELECT COUNT(*)
            FROM jobs_internal.task_executions AS k
            WHERE k.step_execution_id = s.step_execution_id
                AND k.ended_at IS NULL
        ),
        d.max_parallelism,
        d.step_timeout_seconds
    FROM jobs_internal.step_executions AS s
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
    WHERE s.is_active = 1
        AND s.lifecycle = N'WaitingForChildJobExecutions'
        AND e.stop_requested_at IS NULL
        AND ((@limited = 1 AND d.max_parallelism IS NOT NULL) OR (@limited = 0 AND d.max_parallelism IS NULL))
        AND EXISTS (
            SELECT 1
            FROM jobs_internal.target_executions AS t
            WHERE t.step_execution_id = s.step_execution_id
                AND t.next_attempt_at IS NOT NULL
                AND t.next_attempt_at <= @now
        );
    IF @@ROWCOUNT = 0
        RETURN 0;

    IF @limited = 0
        INSERT INTO @picked (target_execution_id)
        SELECT TOP (@room) c.target_execution_id
        FROM (
            SELECT
                w.target_execution_id,
                w.next_attempt_at,
                r.running + ROW_NUMBER() OVER (PARTITION BY r.step_execution_id ORDER BY w.next_attempt_at, w.target_execution_id) AS turn
            FROM @ready AS r
            CROSS APPLY (
                SELECT TOP (@room)
                    t.target_execution_id,
                    t.next_attempt_at
                FROM jobs_internal.target_executions AS t WITH (UPDLOCK, READPAST, ROWLOCK)
                WHERE t.step_execution_id = r.step_execution_id
                    AND t.next_attempt_at IS NOT NULL
                    AND t.next_attempt_at <= @now
                    AND (t.deadline_at IS NULL OR t.deadline_at > @now)
                ORDER BY t.next_attempt_at, t.target_execution_id
            ) AS w
        ) AS c
        ORDER BY c.turn, c.next_attempt_at, c.target_execution_id;
    ELSE
        INSERT INTO @picked (target_execution_id)
        SELECT TOP (@room) c.target_execution_id
        FROM (
            SELECT
                t.target_execution_id,
                t.next_attempt_at,
                r.max_parallelism,
                r.running + ROW_NUMBER() OVER (PARTITION BY t.step_execution_id ORDER BY t.next_attempt_at, t.target_execution_id) AS turn,
                COALESCE(b.running, 0)
                + ROW_NUMBER() OVER (
                    PARTITION BY t.job_id, t.step_id, t.server_name, COALESCE(t.elastic_pool_name, N'')
                    ORDER BY t.next_attempt_at, t.target_execution_id
                ) AS place
            FROM @ready AS r
            INNER JOIN jobs_internal.target_executions AS t WITH (UPDLOCK, READPAST, ROWLOCK) ON t.step_execution_id = r.step_execution_id
            LEFT JOIN (
                SELECT
                    x.job_id,
                    x.step_id,
                    x.server_name,
                    COALESCE(x.elastic_pool_name, N'') AS pool,
                    COUNT(*) AS running
                FROM jobs_internal.target_executions AS x
                WHERE x.is_active = 1
                    AND x.lifecycle = N'InProgress'
                GROUP BY x.job_id, x.step_id, x.server_name, COALESCE(x.elastic_pool_name, N'')
            ) AS b ON b.job_id = t.job_id
                AND b.step_id = t.step_id
                AND b.server_name = t.server_name
                AND b.pool = COALESCE(t.elastic_pool_name, N'')
            WHERE t.next_attempt_at IS NOT NULL
                AND t.next_attempt_at <= @now
                AND (t.deadline_at IS NULL OR t.deadline_at > @now)
        ) AS c
        WHERE c.place <= c.max_parallelism
        ORDER BY c.turn, c.next_attempt_at, c.target_execution_id;
    SET @claimed = (SELECT COUNT(*) FROM @picked);
    IF @claimed = 0
        RETURN 0;

    INSERT INTO jobs_internal.task_executions (
        kind, execution_id, step_execution_id, target_execution_id, attempt, term_id, claimed_at
    )
    SELECT N'Run', t.execution_id, t.step_execution_id, t.target_execution_id, t.attempts + 1, @term_id, @now
    FROM @picked AS p
    INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = p.target_execution_id
    ORDER BY t.target_execution_id;

    UPDATE t
    SET t.lifecycle = N'InProgress',
        t.attempts = t.attempts + 1,
        t.start_time = COALESCE(t.start_time, @now),
        t.attempt_start_time = @now,
        t.deadline_at = COALESCE(t.deadline_at, DATEADD(SECOND, r.step_timeout_seconds, @now)),
        t.next_attempt_at = NULL
    FROM @picked AS p
    INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = p.target_execution_id
    INNER JOIN @ready AS r ON r.step_execution_id = t.step_execution_id;
    RETURN @claimed;
END;
