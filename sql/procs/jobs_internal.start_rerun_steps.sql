-- Starts steps of reruns that wait for their targets. It has jobs_internal.write_lists write the list, a subset of the list that
-- the step had in the origin (I3), or in the run that the origin repeats, if the origin did not reach the step; or it requests the
-- resolution of the step's target group, if none of them resolved it; or it ends the step. DESIGN.md, "Reruns", has the tables.
-- Steps with lists of failed or succeeded targets are left to freeze_failed_targets.
--
-- Parameters:
--   @slice  Maximum number of steps that it starts, at least 1; the next pass starts the others.
--   @more   Output. 1: that many were started, so the next pass should follow at once.
-- Called by: jobs_internal.advance, within its transaction.
-- Locks:     inserts into step_lists, and the steps (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.start_rerun_steps
    @slice INT = 5000,
    @more  BIT = 0 OUTPUT,
    @now   DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    SET @more = 0;
    -- The steps, with their states in the origin.
    DECLARE @waiting TABLE (
        step_execution_id BIGINT NOT NULL PRIMARY KEY,
        execution_id      BIGINT NOT NULL,
        job_id            UNIQUEIDENTIFIER NOT NULL,
        step_id           INT NOT NULL,
        origin_id         UNIQUEIDENTIFIER NOT NULL,
        origin_step       BIGINT NULL,       -- NULL: the origin did not reach the step; then, that of an earlier run
        origin_state      NVARCHAR(50) NULL, -- as @only names it
        has_list          BIT NOT NULL,
        is_partial        BIT NOT NULL,
        is_dependent      BIT NOT NULL,      -- the version has dependencies; the columns below matter only then
        origin_canceled   BIT NOT NULL,      -- the origin was
        origin_skipped    BIT NOT NULL,      -- by its condition
        origin_result     NVARCHAR(10) NULL, -- as in step_executions
        reacts            BIT NOT NULL,      -- to something that happened in the rerun
        is_wave           BIT NOT NULL,      -- the first run of a wave of a roll-out
        is_endpoint       BIT NOT NULL,      -- an action without a target group
        decision          NVARCHAR(10) NULL  -- List (the targets in the wanted states), Wave, Whole (all), Resolve or Skip
    );
    -- Of steps that a rerun did not reach: the run that the origin repeats, or the one that this repeats, and so on.
    DECLARE @bases TABLE (
        step_execution_id BIGINT NOT NULL PRIMARY KEY,
        step_id           INT NOT NULL,
        run_id            BIGINT NOT NULL, -- the rerun of base_id, which wanted some of its targets
        base_id           BIGINT NOT NULL,
        base_step         BIGINT NULL,     -- the step there; NULL: it has no list, or is still sought
        is_lost           BIT NOT NULL DEFAULT 0 -- base_id was purged
    );
    DECLARE @count INT;
    DECLARE @wanted_states TABLE (
        step_execution_id BIGINT NOT NULL,
        state             NVARCHAR(50) NOT NULL,
        PRIMARY KEY (step_execution_id, state)
    );

    IF NOT EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.is_active = 1 AND e.rerun_of IS NOT NULL)
        RETURN 0;

    -- reads: the attempts to resolve the target group of each step
    -- Plan: IX_job_executions_active_rerun_of, per run a key of IX_step_executions_active; of the origin's step a range of
    -- IX_task_executions_execution_id, which begins with the resolutions.
    WITH first_steps AS (
        SELECT TOP (@slice) s.step_execution_id
        FROM jobs_internal.job_executions AS e
        INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id
        WHERE e.is_active = 1
            AND e.rerun_of IS NOT NULL
            AND e.stop_requested_at IS NULL
            AND s.is_active = 1
            AND s.lifecycle = N'Created'
            AND s.next_attempt_at IS NULL
            AND s.waits_for_list = 0
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.set_asides AS z
                WHERE z.kind = N'Run'
                    AND e.execution_id BETWEEN z.first_id AND z.last_id
            )
    )
    INSERT INTO @waiting (
        step_execution_id, execution_id, job_id, step_id, origin_id, origin_step, origin_state, has_list, is_partial,
        is_dependent, origin_canceled, origin_skipped, origin_result, reacts, is_wave, is_endpoint
    )
    SELECT
        s.step_execution_id,
        s.execution_id,
        s.job_id,
        s.step_id,
        oe.job_execution_id,
        os.step_execution_id,
        CASE WHEN os.lifecycle = N'Failed' AND k.task_id IS NOT NULL THEN N'Unknown' ELSE os.lifecycle END,
        CASE WHEN os.resolved_at IS NOT NULL THEN 1 ELSE 0 END,
        e.rerun_partial,
        v.has_dependencies,
        CASE WHEN oe.lifecycle = N'Canceled' THEN 1 ELSE 0 END,
        COALESCE(os.skipped_by_condition, 0),
        os.result,
        -- A step that runs after failures, or after whatever happened, runs again when that happens again.
        CASE
            WHEN d.run_when = N'Failed' AND EXISTS (
                SELECT 1
                FROM jobs_internal.step_execution_causes AS c
                INNER JOIN jobs_internal.step_executions AS cs ON cs.execution_id = c.execution_id AND cs.step_id = c.cause_step_id
                WHERE c.execution_id = s.execution_id
                    AND c.step_id = s.step_id
                    AND cs.lifecycle IN (N'Failed', N'TimedOut')
            ) THEN 1
            WHEN d.run_when = N'Finished' AND EXISTS (
                SELECT 1
                FROM jobs_internal.step_execution_causes AS c
                INNER JOIN jobs_internal.step_executions AS cs ON cs.execution_id = c.execution_id AND cs.step_id = c.cause_step_id
                WHERE c.execution_id = s.execution_id
                    AND c.step_id = s.step_id
                    AND (
                        cs.lifecycle IN (N'Failed', N'TimedOut')
                        OR EXISTS (SELECT 1 FROM jobs_internal.target_executions AS ct WHERE ct.step_execution_id = cs.step_execution_id)
                    )
            ) THEN 1
            ELSE 0
        END,
        CASE WHEN e.rollout_of = e.rerun_of THEN 1 ELSE 0 END,
        CASE WHEN d.target_group_name = N'(endpoint)' AND d.target_group_id = '00000000-0000-0000-0000-000000000000' THEN 1 ELSE 0 END
    FROM first_steps AS f
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = f.step_execution_id
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
    INNER JOIN jobs_internal.job_versions AS v ON v.job_id = s.job_id AND v.version = s.job_version
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
    INNER JOIN jobs_internal.job_executions AS oe ON oe.execution_id = e.rerun_of
    LEFT JOIN jobs_internal.step_executions AS os ON os.execution_id = e.rerun_of AND os.step_id = s.step_id
    LEFT JOIN jobs_internal.task_executions AS k ON k.execution_id = os.execution_id
        AND k.step_execution_id = os.step_execution_id
        AND k.target_execution_id IS NULL -- otherwise all attempts of the step are read
        AND k.kind = N'Resolve'
        AND k.attempt = os.attempts
        AND k.outcome = N'Unknown';
    SET @count = @@ROWCOUNT;
    IF @count = 0
        RETURN 0;
    SET @more = CASE WHEN @count = @slice THEN 1 ELSE 0 END;

    INSERT INTO @wanted_states (step_execution_id, state)
    SELECT w.step_execution_id, p.value
    FROM @waiting AS w
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = w.execution_id
    CROSS APPLY STRING_SPLIT(e.rerun_only, N',') AS p;

    -- The tables of DESIGN.md, "Reruns". With dependencies, excluded failures are in the results of the steps that failed.
    UPDATE w
    SET w.decision = CASE
        WHEN w.is_wave = 1 AND (w.is_endpoint = 1 OR w.reacts = 1) THEN N'Resolve' -- an endpoint belongs to each wave
        WHEN w.is_wave = 1 AND w.has_list = 1 THEN N'Wave'
        WHEN w.reacts = 1 AND EXISTS (
            SELECT 1
            FROM jobs_internal.target_executions AS t
            WHERE t.step_execution_id = w.origin_step
        ) THEN N'Whole'
        WHEN w.reacts = 1 THEN N'Resolve'
        WHEN w.has_list = 1 THEN N'List'
        WHEN w.is_dependent = 1 AND w.origin_skipped = 1 THEN N'Resolve'
        WHEN w.is_dependent = 1 AND w.origin_step IS NULL THEN CASE
            WHEN w.origin_canceled = 1 AND NOT EXISTS (
                SELECT 1
                FROM @wanted_states AS x
                WHERE x.step_execution_id = w.step_execution_id
                    AND x.state = N'Canceled'
            ) THEN N'Skip'
            ELSE N'Resolve'
        END
        WHEN w.origin_step IS NULL AND w.is_partial = 1 THEN N'Skip' -- excluded failures prevented the origin from reaching it
        WHEN w.origin_step IS NULL THEN N'Resolve'
        WHEN w.origin_state = N'Skipped' THEN N'Skip' -- by that rule, in an origin that is itself a rerun
        WHEN EXISTS (
            SELECT 1
            FROM @wanted_states AS x
            WHERE x.step_execution_id = w.step_execution_id
                AND x.state = w.origin_state
        ) THEN N'Resolve'
        ELSE N'Skip'
    END
    FROM @waiting AS w;

    -- What the origin would have run, because it is itself a rerun: a resolution would also list targets that had succeeded before.
    INSERT INTO @bases (step_execution_id, step_id, run_id, base_id)
    SELECT w.step_execution_id, w.step_id, o.execution_id, o.rerun_of
    FROM @waiting AS w
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = w.execution_id
    INNER JOIN jobs_internal.job_executions AS o ON o.execution_id = e.rerun_of
    WHERE w.decision = N'Resolve'
        AND w.reacts = 0
        AND w.has_list = 0
        AND o.rerun_of IS NOT NULL;
    SET @count = @@ROWCOUNT;
    WHILE @count > 0
    BEGIN
        UPDATE b
        SET b.is_lost = 1
        FROM @bases AS b
        WHERE b.base_step IS NULL
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.visible_runs AS v WHERE v.execution_id = b.base_id)
            AND NOT EXISTS ( -- runs of a roll-out are kept until it has ended
                SELECT 1
                FROM jobs_internal.job_executions AS e
                INNER JOIN jobs_internal.job_executions AS r ON r.rollout_of = e.rollout_of
                WHERE e.execution_id = b.base_id
                    AND r.execution_id = b.run_id
            );
        UPDATE b
        SET b.base_step = s.step_execution_id
        FROM @bases AS b
        INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = b.base_id AND s.step_id = b.step_id
        WHERE b.base_step IS NULL
            AND b.is_lost = 0
            AND s.resolved_at IS NOT NULL;
        UPDATE b
        SET b.run_id = b.base_id,
            b.base_id = e.rerun_of
        FROM @bases AS b
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = b.base_id
        WHERE b.base_step IS NULL
            AND b.is_lost = 0
            AND e.rerun_of IS NOT NULL;
        SET @count = @@ROWCOUNT;
    END;
    UPDATE w
    SET w.origin_step = b.base_step,
        w.decision = CASE WHEN b.is_lost = 1 THEN N'Skip' WHEN r.rollout_of = r.rerun_of THEN N'Wave' ELSE N'List' END
    FROM @waiting AS w
    INNER JOIN @bases AS b ON b.step_execution_id = w.step_execution_id
    INNER JOIN jobs_internal.job_executions AS r ON r.execution_id = b.run_id
    WHERE (b.base_step IS NOT NULL OR b.is_lost = 1)
        AND (w.is_endpoint = 0 OR COALESCE(r.rollout_of, 0) <> r.rerun_of); -- an endpoint belongs to each wave

    INSERT INTO jobs_internal.step_lists (step_execution_id, job_id, source, from_step)
    SELECT w.step_execution_id, w.job_id, CASE WHEN w.decision = N'List' THEN N'Origin' ELSE w.decision END, w.origin_step
    FROM @waiting AS w
    WHERE w.decision IN (N'List', N'Wave', N'Whole');

    UPDATE s
    SET s.lifecycle = CASE w.decision WHEN N'Resolve' THEN N'Created' WHEN N'Skip' THEN N'Skipped' ELSE N'InProgress' END,
        s.is_active = CASE WHEN w.decision = N'Skip' THEN 0 ELSE 1 END,
        s.start_time = CASE WHEN w.decision <> N'Resolve' THEN @now END,
        s.end_time = CASE WHEN w.decision = N'Skip' THEN @now END,
        s.next_attempt_at = CASE WHEN w.decision = N'Resolve' THEN @now END,
        -- For the steps that come after it: what the rerun excludes. That of a list is known when it is complete.
        s.result = CASE
            WHEN w.is_dependent = 0 OR w.decision <> N'Skip' THEN NULL
            WHEN w.origin_step IS NULL OR w.origin_state = N'Canceled' THEN N'Canceled'
            ELSE COALESCE(w.origin_result, N'Failed')
        END,
        s.last_message = CASE w.decision
            WHEN N'Resolve' THEN CONCAT(
                N'Step ', w.step_id, N' waits for its target group to be resolved, which it was not in the execution ', w.origin_id, N'.'
            )
            WHEN N'Skip' THEN CONCAT(
                N'Step ', w.step_id, N' was skipped: the execution ', w.origin_id, N' did not run it, ',
                CASE
                    WHEN EXISTS (SELECT 1 FROM @bases AS b WHERE b.step_execution_id = w.step_execution_id AND b.is_lost = 1)
                        THEN N'and the history of the execution that it repeats, which has the targets, was purged. Start the job instead.'
                    ELSE N'because of targets or steps that this rerun excludes.'
                END
            )
            ELSE CONCAT(N'Step ', w.step_id, N' waits until the list of its targets is complete.')
        END
    FROM @waiting AS w
    INNER LOOP JOIN jobs_internal.step_executions AS s ON s.step_execution_id = w.step_execution_id;
    RETURN 0;
END;
