-- Records the next slice of what became of the targets of a wave in its latest run. A target that a run has more than once, at several
-- steps, has the worst outcome of them. If the run ended before all steps had their turn, no target of it has succeeded.
--
-- Parameters:
--   @execution_id  The roll-out's own run; the caller has locked the row of the roll-out.
--   @wave          Number of the wave.
--   @run_id        The run, which has ended.
--   @slice         Maximum number of targets that are read or changed, at least 1.
--   @examined      Output. Number of targets that were, at least 1.
--   @complete      Output. 1: all are recorded.
-- Called by: jobs_internal.finish_wave.
-- Locks:     the roll-out, its targets (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.record_wave
    @execution_id BIGINT,
    @wave         INT,
    @run_id       BIGINT,
    @slice        INT = 5000,
    @examined     INT = 0 OUTPUT,
    @complete     BIT = 0 OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @complete = 0;
    DECLARE @read_step BIGINT;
    DECLARE @read_target BIGINT;
    DECLARE @rows INT;
    DECLARE @read TABLE (
        step_execution_id   BIGINT NOT NULL,
        target_execution_id BIGINT NOT NULL,
        target_id           UNIQUEIDENTIFIER NOT NULL,
        severity            INT NOT NULL, -- 0 to 3, as below
        ran                 BIT NOT NULL,
        PRIMARY KEY (step_execution_id, target_execution_id)
    );
    DECLARE @worst TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, severity INT NOT NULL, ran BIT NOT NULL);
    DECLARE @halfway TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @states TABLE (severity INT NOT NULL PRIMARY KEY, state NVARCHAR(10) NOT NULL);

    INSERT INTO @states (severity, state)
    VALUES (0, N'Succeeded'), (1, N'Unreached'), (2, N'Failed'), (3, N'Unknown');
    SELECT
        @read_step = r.read_step,
        @read_target = r.read_target
    FROM jobs_internal.rollouts AS r
    WHERE r.execution_id = @execution_id;

    -- Plan: a range of IX_target_executions_execution_id with a lookup each.
    INSERT INTO @read (step_execution_id, target_execution_id, target_id, severity, ran)
    SELECT TOP (@slice)
        t.step_execution_id, t.target_execution_id, t.target_id,
        CASE
            WHEN t.outcome_unknown = 1 THEN 3
            WHEN t.lifecycle = N'Succeeded' THEN 0
            WHEN t.lifecycle IN (N'Failed', N'TimedOut') THEN 2
            ELSE 1
        END,
        CASE WHEN t.start_time IS NULL THEN 0 ELSE 1 END
    FROM jobs_internal.target_executions AS t
    WHERE t.execution_id = @run_id
        AND t.step_execution_id >= @read_step
        AND (t.step_execution_id > @read_step OR t.target_execution_id > @read_target)
    ORDER BY t.step_execution_id, t.target_execution_id;
    SET @rows = @@ROWCOUNT;
    INSERT INTO @worst (target_id, severity, ran)
    SELECT r.target_id, MAX(r.severity), MAX(CAST(r.ran AS INT))
    FROM @read AS r
    GROUP BY r.target_id;
    UPDATE t
    SET t.state = CASE
            WHEN t.run_id = @run_id AND o.severity > w.severity THEN t.state
            WHEN w.severity = 1 AND o.severity > 1 THEN t.state -- of an earlier run of the wave, which ran on it
            ELSE n.state
        END,
        t.ran = CASE WHEN w.ran = 1 THEN 1 ELSE t.ran END,
        t.run_id = @run_id
    FROM @worst AS w
    INNER LOOP JOIN jobs_internal.rollout_targets AS t ON t.execution_id = @execution_id AND t.target_id = w.target_id
    INNER JOIN @states AS n ON n.severity = w.severity
    LEFT JOIN @states AS o ON o.state = t.state
    WHERE t.wave = @wave;
    SET @examined = @rows + 1;
    IF @rows > 0
        UPDATE r
        SET r.read_step = l.step_execution_id,
            r.read_target = l.target_execution_id
        FROM (
            SELECT TOP (1) w.step_execution_id, w.target_execution_id
            FROM @read AS w
            ORDER BY w.step_execution_id DESC, w.target_execution_id DESC
        ) AS l
        CROSS JOIN jobs_internal.rollouts AS r
        WHERE r.execution_id = @execution_id;
    IF @rows = @slice
        RETURN 0;

    IF EXISTS (
        SELECT 1
        FROM jobs_internal.job_executions AS e
        INNER JOIN jobs_internal.job_steps AS d ON d.job_id = e.job_id AND d.version = e.job_version
        WHERE e.execution_id = @run_id
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.step_executions AS s
                WHERE s.execution_id = e.execution_id
                    AND s.step_id = d.step_id
                    AND (s.resolved_at IS NOT NULL OR (s.skipped_by_condition = 1 AND s.result IS NULL)) -- no failure came before it
            )
            AND e.lifecycle NOT IN (N'Succeeded', N'SucceededWithSkipped')
    )
    BEGIN
        INSERT INTO @halfway (target_id)
        SELECT TOP (@slice) t.target_id
        FROM jobs_internal.rollout_targets AS t
        WHERE t.execution_id = @execution_id
            AND t.wave = @wave
            AND t.state = N'Succeeded'
            AND t.run_id = @run_id
        ORDER BY t.place;
        SET @rows = @@ROWCOUNT;
        UPDATE t
        SET t.state = N'Unreached'
        FROM @halfway AS h
        INNER LOOP JOIN jobs_internal.rollout_targets AS t ON t.execution_id = @execution_id AND t.target_id = h.target_id;
        SET @examined = @examined + @rows;
        IF @rows = @slice
            RETURN 0;
    END;
    SET @complete = 1;
    RETURN 0;
END;
