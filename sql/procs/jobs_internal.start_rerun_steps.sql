-- Starts steps of reruns that wait for their targets. It freezes the list, a subset of the list that the step had in
-- the origin (I3); or it requests the resolution of the step's target group, if the origin never resolved it; or it
-- ends the step. A target on which another run of the job is still at the same step is Skipped. DESIGN.md, "Reruns",
-- has the tables. Steps with on_targets = Failed are left to freeze_failed_targets.
--
-- It starts each step of a job in one rerun at a time, under the job's lock, so that two reruns see each other's targets.
-- A locked job waits for the next pass, because this procedure runs under jobagent.advance and would block all agents.
--
-- Parameters:
--   @now  For tests only.
-- Called by: jobs_internal.advance, within its transaction, before it has locked anything else.
-- Locks:     the jobs' rows (U), skipping locked rows; then inserts, and steps (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.start_rerun_steps
    @now DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @wanted_jobs TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @jobs TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, current_version INT NOT NULL);
    -- Each step of a job once, with its state in the origin.
    DECLARE @waiting TABLE (
        step_execution_id BIGINT NOT NULL PRIMARY KEY,
        execution_id      BIGINT NOT NULL,
        job_id            UNIQUEIDENTIFIER NOT NULL,
        step_id           INT NOT NULL,
        origin_id         UNIQUEIDENTIFIER NOT NULL,
        origin_step       BIGINT NULL,       -- NULL: the origin did not reach the step
        origin_state      NVARCHAR(50) NULL, -- as @only names it
        has_list          BIT NOT NULL,
        is_partial        BIT NOT NULL,
        is_dependent      BIT NOT NULL,      -- the version has dependencies; the columns below matter only then
        origin_canceled   BIT NOT NULL,      -- the origin was
        origin_skipped    BIT NOT NULL,      -- by its condition
        origin_result     NVARCHAR(10) NULL, -- as in step_executions
        reacts            BIT NOT NULL,      -- to something that happened in the rerun
        decision          NVARCHAR(10) NULL  -- List (the targets in the wanted states), Whole (all), Resolve or Skip
    );
    DECLARE @wanted_states TABLE (
        step_execution_id BIGINT NOT NULL,
        state             NVARCHAR(50) NOT NULL,
        PRIMARY KEY (step_execution_id, state)
    );

    IF NOT EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.is_active = 1 AND e.rerun_of IS NOT NULL)
        RETURN 0;

    INSERT INTO @wanted_jobs (job_id)
    SELECT DISTINCT s.job_id
    FROM jobs_internal.job_executions AS e
    INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id
    WHERE e.is_active = 1
        AND e.rerun_of IS NOT NULL
        AND e.stop_requested_at IS NULL
        AND s.is_active = 1
        AND s.lifecycle = N'Created'
        AND s.next_attempt_at IS NULL
        AND s.waits_for_list = 0;
    INSERT INTO @jobs (job_id, current_version)
    SELECT j.job_id, j.current_version
    FROM @wanted_jobs AS wj
    INNER LOOP JOIN jobs_internal.jobs AS j WITH (UPDLOCK, READPAST, ROWLOCK) ON j.job_id = wj.job_id;
    IF @@ROWCOUNT = 0
        RETURN 0;

    WITH first_steps AS (
        SELECT MIN(s.step_execution_id) AS step_execution_id
        FROM @jobs AS j
        INNER JOIN jobs_internal.step_executions AS s ON s.job_id = j.job_id
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
        WHERE s.is_active = 1
            AND s.lifecycle = N'Created'
            AND s.next_attempt_at IS NULL
            AND s.waits_for_list = 0
            AND e.stop_requested_at IS NULL
        GROUP BY s.job_id, s.step_id
    )
    INSERT INTO @waiting (
        step_execution_id, execution_id, job_id, step_id, origin_id, origin_step, origin_state, has_list, is_partial,
        is_dependent, origin_canceled, origin_skipped, origin_result, reacts
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
        END
    FROM first_steps AS f
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = f.step_execution_id
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
    INNER JOIN jobs_internal.job_versions AS v ON v.job_id = s.job_id AND v.version = s.job_version
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
    INNER JOIN jobs_internal.job_executions AS oe ON oe.execution_id = e.rerun_of
    LEFT JOIN jobs_internal.step_executions AS os ON os.execution_id = e.rerun_of AND os.step_id = s.step_id
    LEFT JOIN jobs_internal.task_executions AS k ON k.execution_id = os.execution_id
        AND k.step_execution_id = os.step_execution_id
        AND k.kind = N'Resolve'
        AND k.attempt = os.attempts
        AND k.outcome = N'Unknown';

    INSERT INTO @wanted_states (step_execution_id, state)
    SELECT w.step_execution_id, p.value
    FROM @waiting AS w
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = w.execution_id
    CROSS APPLY STRING_SPLIT(e.rerun_only, N',') AS p;

    -- The tables of DESIGN.md, "Reruns". With dependencies, excluded failures are in the results of the steps that failed.
    UPDATE w
    SET w.decision = CASE
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

    INSERT INTO jobs_internal.target_queues (execution_id, step_execution_id, job_id, step_id, server_name, elastic_pool_name)
    SELECT w.execution_id, w.step_execution_id, w.job_id, w.step_id, q.server_name, q.elastic_pool_name
    FROM @waiting AS w
    INNER JOIN jobs_internal.target_queues AS q ON q.step_execution_id = w.origin_step
    WHERE w.decision IN (N'List', N'Whole');

    -- Plan: the origin's list once, a range of UQ_target_executions_target_id with a lookup each; per target and other active step of
    -- the job one seek there.
    WITH wanted_targets AS (
        SELECT
            w.execution_id,
            w.step_execution_id,
            w.job_id,
            w.step_id,
            ROW_NUMBER() OVER (PARTITION BY w.step_execution_id ORDER BY t.ordinal) AS ordinal,
            -- The origin's, to recognise its output rows and its scripts that run at most once. An action is asked again under another
            -- idempotency key, unless it is unknown whether the origin's request was carried out (S-56).
            CASE WHEN c.command_type IN (N'TSql', N'Upkeep') OR t.outcome_unknown = 1 THEN t.internal_id ELSE NEWID() END AS internal_id,
            t.target_id,
            t.server_name,
            t.database_name,
            t.elastic_pool_name,
            t.is_endpoint,
            oq.server_name AS limit_server,
            CASE
                WHEN EXISTS (
                    SELECT 1
                    FROM jobs_internal.step_executions AS bs
                    INNER JOIN jobs_internal.target_executions AS bt ON bt.step_execution_id = bs.step_execution_id
                    WHERE bs.job_id = w.job_id
                        AND bs.step_id = w.step_id
                        AND bs.is_active = 1
                        AND bs.execution_id <> w.execution_id
                        AND bt.target_id = t.target_id
                        AND bt.is_active = 1
                ) THEN 1
                ELSE 0
            END AS is_busy -- with another run of the job
        FROM @waiting AS w
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = w.origin_step
        INNER JOIN jobs_internal.target_queues AS oq ON oq.queue_id = t.queue_id
        INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = w.step_execution_id
        INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
        INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
        WHERE w.decision = N'Whole'
            OR (w.decision = N'List' AND EXISTS (
                SELECT 1
                FROM @wanted_states AS x
                WHERE x.step_execution_id = w.step_execution_id
                    AND x.state = CASE WHEN t.outcome_unknown = 1 THEN N'Unknown' ELSE t.lifecycle END
            ))
    )
    INSERT INTO jobs_internal.target_executions (
        execution_id, step_execution_id, job_id, step_id, queue_id, ordinal, internal_id, target_id, server_name, database_name,
        elastic_pool_name, lifecycle, is_active, create_time, end_time, next_attempt_at, last_message, is_endpoint
    )
    SELECT
        v.execution_id, v.step_execution_id, v.job_id, v.step_id, q.queue_id, v.ordinal, v.internal_id, v.target_id, v.server_name,
        v.database_name, v.elastic_pool_name,
        CASE WHEN v.is_busy = 1 THEN N'Skipped' ELSE N'Created' END,
        CASE WHEN v.is_busy = 1 THEN 0 ELSE 1 END,
        @now,
        CASE WHEN v.is_busy = 1 THEN @now END,
        CASE WHEN v.is_busy = 0 THEN @now END,
        CASE
            WHEN v.is_busy = 1 THEN CONCAT(
                N'Step ', v.step_id, N' was skipped on ',
                CASE
                    WHEN v.is_endpoint = 1 THEN CONCAT(N'endpoint ''', v.server_name, N'''')
                    ELSE CONCAT(N'target (server ''', v.server_name, N''', database ''', v.database_name, N''')')
                END,
                N': another execution of the job is still running this step there.'
            )
        END,
        v.is_endpoint
    FROM wanted_targets AS v
    INNER JOIN jobs_internal.target_queues AS q ON q.step_execution_id = v.step_execution_id
        AND q.server_name = v.limit_server
        AND q.elastic_pool_name = COALESCE(v.elastic_pool_name, N'');

    WITH counted AS (
        SELECT
            w.step_execution_id,
            w.step_id,
            w.origin_id,
            w.decision,
            -- For the steps that come after it: what the rerun excludes.
            CASE
                WHEN w.is_dependent = 0 THEN NULL
                WHEN w.decision = N'Skip' AND (w.origin_step IS NULL OR w.origin_state = N'Canceled') THEN N'Canceled'
                WHEN w.decision = N'Skip' THEN COALESCE(w.origin_result, N'Failed')
                WHEN w.decision <> N'List' THEN NULL
                WHEN EXISTS (
                    SELECT 1
                    FROM jobs_internal.target_executions AS t
                    WHERE t.step_execution_id = w.origin_step
                        AND t.lifecycle IN (N'Failed', N'TimedOut')
                        AND NOT EXISTS (
                            SELECT 1
                            FROM @wanted_states AS x
                            WHERE x.step_execution_id = w.step_execution_id
                                AND x.state = CASE WHEN t.outcome_unknown = 1 THEN N'Unknown' ELSE t.lifecycle END
                        )
                ) THEN N'Failed'
                WHEN EXISTS (
                    SELECT 1
                    FROM jobs_internal.target_executions AS t
                    WHERE t.step_execution_id = w.origin_step
                        AND t.lifecycle = N'Canceled'
                        AND NOT EXISTS (
                            SELECT 1
                            FROM @wanted_states AS x
                            WHERE x.step_execution_id = w.step_execution_id
                                AND x.state = CASE WHEN t.outcome_unknown = 1 THEN N'Unknown' ELSE t.lifecycle END
                        )
                ) THEN N'Canceled'
                ELSE w.origin_result
            END AS result,
            (SELECT COUNT(*) FROM jobs_internal.target_executions AS t WHERE t.step_execution_id = w.step_execution_id) AS targets,
            (SELECT COUNT(*) FROM jobs_internal.target_executions AS t WHERE t.step_execution_id = w.origin_step) AS origin_targets
        FROM @waiting AS w
    ),
    decided AS (
        SELECT
            c.step_execution_id,
            c.step_id,
            c.origin_id,
            c.targets,
            c.origin_targets,
            c.result,
            CASE
                WHEN c.decision = N'Resolve' THEN N'Created'
                WHEN c.decision = N'Skip' THEN N'Skipped'
                WHEN c.targets = 0 THEN N'Succeeded'
                ELSE N'WaitingForChildJobExecutions'
            END AS lifecycle
        FROM counted AS c
    )
    UPDATE s
    SET s.lifecycle = d.lifecycle,
        s.is_active = CASE WHEN d.lifecycle IN (N'Succeeded', N'Skipped') THEN 0 ELSE 1 END,
        s.start_time = CASE WHEN d.lifecycle <> N'Created' THEN @now END,
        s.end_time = CASE WHEN d.lifecycle IN (N'Succeeded', N'Skipped') THEN @now END,
        s.next_attempt_at = CASE WHEN d.lifecycle = N'Created' THEN @now END,
        s.resolved_at = CASE WHEN d.lifecycle IN (N'Succeeded', N'WaitingForChildJobExecutions') THEN @now END,
        s.result = d.result,
        s.last_message = CASE d.lifecycle
            WHEN N'Created' THEN CONCAT(
                N'Step ', d.step_id, N' waits for its target group to be resolved, which it was not in the execution ', d.origin_id, N'.'
            )
            WHEN N'Skipped' THEN CONCAT(
                N'Step ', d.step_id, N' was skipped: the execution ', d.origin_id,
                N' did not run it, because of targets or steps that this rerun excludes.'
            )
            WHEN N'Succeeded' THEN CONCAT(
                N'Step ', d.step_id, N' succeeded: it needs no rerun on the ', d.origin_targets,
                N' targets that it had in the execution ', d.origin_id, N'.'
            )
            ELSE CONCAT(
                N'Step ', d.step_id, N' runs on ', d.targets, N' of the ', d.origin_targets,
                N' targets that it had in the execution ', d.origin_id, N'.'
            )
        END
    FROM decided AS d
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = d.step_execution_id;
    RETURN 0;
END;
