-- Ends the steps whose targets have all ended. It counts their targets, decides on the lifecycle of each step (I6) and on the
-- failures that the step tolerates (DESIGN.md, "Tolerated failures"), and stores the numbers.
--
-- Cost: (steps that are not parked), a key each, and the targets of the steps that end: at most 4 * @slice in steps that end in this pass,
-- smaller steps first, and as many of one step that is larger. Such a step is counted over several passes (step_counts), because
-- 500,000 targets take seconds to read, during which nothing else would advance (I15). Its targets do not change meanwhile.
--
-- Parameters:
--   @slice  Maximum number of steps that end, at least 1. A target costs less to read than to change, hence the factor above.
--   @more   Output. 1: steps are left, so the next pass should follow at once.
--   @now    The time of the pass.
-- Called by: jobs_internal.advance, within its transaction.
-- Locks:     the steps (X), rows of step_counts (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.end_steps
    @slice INT = 5000,
    @more  BIT = 0 OUTPUT,
    @now   DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @more = 0;
    DECLARE @most INT = 4 * @slice; -- targets that are read at once
    DECLARE @ready INT;
    DECLARE @large BIGINT; -- a step with more
    DECLARE @execution_id BIGINT;
    DECLARE @after BIGINT = 0;
    DECLARE @last BIGINT;
    DECLARE @read INT;
    DECLARE @succeeded INT;
    DECLARE @failed INT;
    DECLARE @timed_out INT;
    DECLARE @canceled INT;
    DECLARE @skipped INT;
    DECLARE @done TABLE (step_execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @small TABLE (step_execution_id BIGINT NOT NULL PRIMARY KEY, execution_id BIGINT NOT NULL);
    DECLARE @counted TABLE (
        step_execution_id BIGINT NOT NULL PRIMARY KEY,
        targets           INT NOT NULL,
        succeeded         INT NOT NULL,
        failed            INT NOT NULL,
        timed_out         INT NOT NULL,
        canceled          INT NOT NULL,
        skipped           INT NOT NULL
    );

    -- Plan: IX_step_executions_hot, and per step one key of IX_target_executions_active.
    INSERT INTO @done (step_execution_id)
    SELECT TOP (@slice) s.step_execution_id
    FROM jobs_internal.step_executions AS s
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
    WHERE s.is_active = 1
        AND s.parked = 0
        AND e.parked = 0
        AND s.lifecycle = N'WaitingForChildJobExecutions'
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND s.execution_id BETWEEN z.first_id AND z.last_id
        )
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.target_executions AS t
            WHERE t.job_id = s.job_id
                AND t.step_execution_id = s.step_execution_id
                AND t.is_active = 1
        );
    SET @ready = @@ROWCOUNT;
    IF @ready = 0
        RETURN 0;

    -- A step whose list was completed by an earlier release has no number of targets, and is read as a whole.
    WITH summed AS (
        SELECT
            d.step_execution_id,
            s.execution_id,
            SUM(CAST(COALESCE(s.targets, 0) AS BIGINT)) OVER (
                ORDER BY COALESCE(s.targets, 0), d.step_execution_id
                ROWS UNBOUNDED PRECEDING
            ) AS targets
        FROM @done AS d
        INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = d.step_execution_id
    )
    INSERT INTO @small (step_execution_id, execution_id)
    SELECT x.step_execution_id, x.execution_id
    FROM summed AS x
    WHERE x.targets <= @most;
    -- reads: @most targets
    -- Plan: per step a range of IX_target_executions_execution_id, in the order of the rows, with a lookup each.
    INSERT INTO @counted (step_execution_id, targets, succeeded, failed, timed_out, canceled, skipped)
    SELECT
        t.step_execution_id,
        COUNT(*),
        SUM(CASE WHEN t.lifecycle = N'Succeeded' THEN 1 ELSE 0 END),
        SUM(CASE WHEN t.lifecycle = N'Failed' THEN 1 ELSE 0 END),
        SUM(CASE WHEN t.lifecycle = N'TimedOut' THEN 1 ELSE 0 END),
        SUM(CASE WHEN t.lifecycle = N'Canceled' THEN 1 ELSE 0 END),
        SUM(CASE WHEN t.lifecycle = N'Skipped' THEN 1 ELSE 0 END)
    FROM @small AS w
    INNER JOIN jobs_internal.target_executions AS t ON t.execution_id = w.execution_id AND t.step_execution_id = w.step_execution_id
    GROUP BY t.step_execution_id;

    SELECT TOP (1)
        @large = s.step_execution_id,
        @execution_id = s.execution_id
    FROM @done AS d
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = d.step_execution_id
    WHERE s.targets > @most
    ORDER BY s.targets, s.step_execution_id;
    IF @large IS NOT NULL
    BEGIN
        SELECT @after = c.after
        FROM jobs_internal.step_counts AS c
        WHERE c.step_execution_id = @large;
        IF @@ROWCOUNT = 0
            INSERT INTO jobs_internal.step_counts (step_execution_id)
            VALUES (@large);
        -- Plan: the same, from the last key on.
        SELECT
            @read = COUNT(*),
            @last = MAX(f.target_execution_id),
            @succeeded = COALESCE(SUM(CASE WHEN f.lifecycle = N'Succeeded' THEN 1 ELSE 0 END), 0),
            @failed = COALESCE(SUM(CASE WHEN f.lifecycle = N'Failed' THEN 1 ELSE 0 END), 0),
            @timed_out = COALESCE(SUM(CASE WHEN f.lifecycle = N'TimedOut' THEN 1 ELSE 0 END), 0),
            @canceled = COALESCE(SUM(CASE WHEN f.lifecycle = N'Canceled' THEN 1 ELSE 0 END), 0),
            @skipped = COALESCE(SUM(CASE WHEN f.lifecycle = N'Skipped' THEN 1 ELSE 0 END), 0)
        FROM (
            SELECT TOP (@most) t.target_execution_id, t.lifecycle
            FROM jobs_internal.target_executions AS t
            WHERE t.execution_id = @execution_id
                AND t.step_execution_id = @large
                AND t.target_execution_id > @after
            ORDER BY t.target_execution_id
        ) AS f;
        UPDATE c
        SET c.after = COALESCE(@last, c.after),
            c.targets = c.targets + @read,
            c.succeeded = c.succeeded + @succeeded,
            c.failed = c.failed + @failed,
            c.timed_out = c.timed_out + @timed_out,
            c.canceled = c.canceled + @canceled,
            c.skipped = c.skipped + @skipped
        FROM jobs_internal.step_counts AS c
        WHERE c.step_execution_id = @large;
        IF @read < @most
        BEGIN
            INSERT INTO @counted (step_execution_id, targets, succeeded, failed, timed_out, canceled, skipped)
            SELECT c.step_execution_id, c.targets, c.succeeded, c.failed, c.timed_out, c.canceled, c.skipped
            FROM jobs_internal.step_counts AS c
            WHERE c.step_execution_id = @large;
            DELETE c
            FROM jobs_internal.step_counts AS c
            WHERE c.step_execution_id = @large;
        END;
    END;

    WITH decided AS (
        SELECT
            c.step_execution_id,
            c.targets,
            c.succeeded,
            c.failed,
            c.timed_out,
            c.canceled,
            c.skipped,
            d.tolerated_failures,
            x.tolerated,
            CASE
                WHEN c.canceled > 0 THEN N'Canceled'
                WHEN c.failed > 0 AND x.tolerated IS NULL THEN N'Failed'
                WHEN c.timed_out > 0 AND x.tolerated IS NULL THEN N'TimedOut'
                WHEN c.skipped > 0 THEN N'SucceededWithSkipped'
                ELSE N'Succeeded'
            END AS lifecycle
        FROM @counted AS c
        INNER JOIN jobs_internal.step_executions AS se ON se.step_execution_id = c.step_execution_id
        INNER JOIN jobs_internal.job_steps AS d ON d.job_id = se.job_id AND d.version = se.job_version AND d.step_id = se.step_id
        -- A percentage is one of the targets on which the step ran.
        CROSS APPLY (
            SELECT CASE
                WHEN c.canceled > 0 OR c.failed + c.timed_out = 0 THEN NULL
                WHEN d.tolerated_failures LIKE N'%[%]' THEN CASE
                    WHEN CAST(100 AS BIGINT) * (c.failed + c.timed_out)
                        <= CAST(REPLACE(d.tolerated_failures, N'%', N'') AS BIGINT) * (c.targets - c.skipped)
                        THEN c.failed + c.timed_out
                END
                WHEN c.failed + c.timed_out <= TRY_CAST(d.tolerated_failures AS INT) THEN c.failed + c.timed_out
            END AS tolerated
        ) AS x
    )
    UPDATE s
    SET s.lifecycle = r.lifecycle,
        s.is_active = 0,
        s.end_time = @now,
        s.targets = r.targets,
        s.not_succeeded = r.failed + r.timed_out + r.canceled,
        s.tolerated = r.tolerated,
        s.last_message = CONCAT(
            N'Step ', s.step_id, N' ended with ', r.succeeded, N' of ', r.targets, N' targets succeeded',
            N', ' + CAST(NULLIF(r.failed, 0) AS NVARCHAR(12)) + N' failed',
            N', ' + CAST(NULLIF(r.timed_out, 0) AS NVARCHAR(12)) + N' timed out',
            N', ' + CAST(NULLIF(r.canceled, 0) AS NVARCHAR(12)) + N' canceled',
            N', ' + CAST(NULLIF(r.skipped, 0) AS NVARCHAR(12)) + N' skipped',
            CASE WHEN r.tolerated IS NOT NULL THEN CONCAT(N' (tolerated: at most ', r.tolerated_failures, N')') END,
            N'.',
            CASE
                WHEN r.tolerated_failures <> N'0' AND r.lifecycle IN (N'Failed', N'TimedOut')
                    THEN CONCAT(N' Only ', r.tolerated_failures, N' may fail.')
            END
        )
    FROM decided AS r
    INNER LOOP JOIN jobs_internal.step_executions AS s ON s.step_execution_id = r.step_execution_id;
    SET @more = CASE WHEN @ready = @slice OR @ready > (SELECT COUNT(*) FROM @counted AS c) THEN 1 ELSE 0 END;
    RETURN 0;
END;
