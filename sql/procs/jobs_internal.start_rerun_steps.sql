-- Starts steps of reruns that were made and wait for their targets: freezes the list, which is part of the list that the
-- step had in the origin (I3); or sends the step to have its target group resolved, when the origin never did; or ends it.
-- A target on which another run of the job is still at the same step is Skipped. DESIGN.md, "Reruns", has the table.
--
-- One step of each job at a time, under the job's lock, so that two reruns see each other's targets. A job that somebody has
-- locked waits for the next pass: this runs under jobagent.advance, for which all agents would wait.
--
-- Parameters:
--   @now  Tests only.
-- Called by: jobs_internal.advance, within its transaction, before it has locked anything else.
-- Locks:     the jobs' rows (U), skipping those that others have locked; then inserts, and steps (X).
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
    DECLARE @waiting TABLE (
        step_execution_id BIGINT NOT NULL PRIMARY KEY,
        execution_id      BIGINT NOT NULL,
        job_id            UNIQUEIDENTIFIER NOT NULL,
        step_id           INT NOT NULL,
        origin_id         UNIQUEIDENTIFIER NOT NULL,
        origin_step       BIGINT NULL, -- NULL: the origin did not reach the step
        rerun_only        NVARCHAR(203) NOT NULL, -- with a comma before and after
        lifecycle         NVARCHAR(50) NULL -- what the step becomes; NULL: depends on its list
    );
    DECLARE @unknown TABLE (target_execution_id BIGINT NOT NULL PRIMARY KEY);

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
        AND s.next_attempt_at IS NULL;
    INSERT INTO @jobs (job_id, current_version)
    SELECT j.job_id, j.current_version
    FROM @wanted_jobs AS w
    INNER LOOP JOIN jobs_internal.jobs AS j WITH (UPDLOCK, READPAST, ROWLOCK) ON j.job_id = w.job_id;
    IF @@ROWCOUNT = 0
        RETURN 0;

    INSERT INTO @waiting (step_execution_id, execution_id, job_id, step_id, origin_id, origin_step, rerun_only, lifecycle)
    SELECT
        s.step_execution_id,
        s.execution_id,
        s.job_id,
        s.step_id,
        f.job_execution_id,
        o.step_execution_id,
        CONCAT(N',', e.rerun_only, N','),
        CASE
            WHEN o.resolved_at IS NOT NULL THEN NULL
            WHEN o.step_execution_id IS NULL AND e.rerun_partial = 0 THEN N'Created'
            WHEN o.lifecycle = N'Failed' AND k.task_id IS NOT NULL AND CHARINDEX(N',Unknown,', CONCAT(N',', e.rerun_only, N',')) > 0 THEN N'Created'
            WHEN o.lifecycle = N'Failed' AND k.task_id IS NOT NULL THEN N'Skipped'
            WHEN o.lifecycle <> N'Skipped' AND CHARINDEX(CONCAT(N',', o.lifecycle, N','), CONCAT(N',', e.rerun_only, N',')) > 0 THEN N'Created'
            ELSE N'Skipped'
        END
    FROM (
        SELECT MIN(x.step_execution_id) AS step_execution_id
        FROM @jobs AS j
        INNER JOIN jobs_internal.step_executions AS x ON x.job_id = j.job_id
        INNER JOIN jobs_internal.job_executions AS y ON y.execution_id = x.execution_id
        WHERE x.is_active = 1
            AND x.lifecycle = N'Created'
            AND x.next_attempt_at IS NULL
            AND y.stop_requested_at IS NULL
        GROUP BY x.job_id
    ) AS w
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = w.step_execution_id
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
    INNER JOIN jobs_internal.job_executions AS f ON f.execution_id = e.rerun_of
    LEFT JOIN jobs_internal.step_executions AS o ON o.execution_id = e.rerun_of AND o.step_id = s.step_id
    LEFT JOIN jobs_internal.task_executions AS k ON k.execution_id = o.execution_id
        AND k.step_execution_id = o.step_execution_id
        AND k.kind = N'Resolve'
        AND k.attempt = o.attempts
        AND k.outcome = N'Unknown';

    INSERT INTO @unknown (target_execution_id)
    SELECT DISTINCT t.target_execution_id
    FROM @waiting AS w
    INNER JOIN jobs_internal.step_executions AS o ON o.step_execution_id = w.origin_step
    INNER JOIN jobs_internal.task_executions AS k ON k.execution_id = o.execution_id AND k.step_execution_id = o.step_execution_id
    INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
    WHERE k.outcome = N'Unknown'
        AND k.attempt = t.attempts
        AND t.lifecycle = N'Failed';

    INSERT INTO jobs_internal.target_queues (execution_id, step_execution_id, job_id, step_id, server_name, elastic_pool_name)
    SELECT w.execution_id, w.step_execution_id, w.job_id, w.step_id, q.server_name, q.elastic_pool_name
    FROM @waiting AS w
    INNER JOIN jobs_internal.target_queues AS q ON q.step_execution_id = w.origin_step
    WHERE w.lifecycle IS NULL;

    INSERT INTO jobs_internal.target_executions (
        execution_id, step_execution_id, job_id, step_id, queue_id, ordinal, internal_id, target_id, server_name, database_name,
        elastic_pool_name, lifecycle, is_active, create_time, end_time, next_attempt_at, last_message
    )
    SELECT
        x.execution_id, x.step_execution_id, x.job_id, x.step_id, q.queue_id, x.ordinal, x.internal_id, x.target_id, x.server_name, x.database_name,
        x.elastic_pool_name,
        CASE WHEN x.skipped = 1 THEN N'Skipped' ELSE N'Created' END,
        CASE WHEN x.skipped = 1 THEN 0 ELSE 1 END,
        @now,
        CASE WHEN x.skipped = 1 THEN @now END,
        CASE WHEN x.skipped = 1 THEN NULL ELSE @now END,
        CASE
            WHEN x.skipped = 1 THEN CONCAT(N'Step ', x.step_id, N' was skipped on target (server ''', x.server_name, N''', database ''', x.database_name, N'''): another execution of the job is still running this step there.')
        END
    FROM (
        SELECT
            w.execution_id,
            w.step_execution_id,
            w.job_id,
            w.step_id,
            ROW_NUMBER() OVER (PARTITION BY w.step_execution_id ORDER BY t.ordinal) AS ordinal,
            t.internal_id, -- the same, so that what the origin did is recognised: output rows, scripts that run at most once
            t.target_id,
            t.server_name,
            t.database_name,
            t.elastic_pool_name,
            CASE
                WHEN EXISTS (
                    SELECT 1
                    FROM jobs_internal.step_executions AS b
                    INNER JOIN jobs_internal.target_executions AS a ON a.step_execution_id = b.step_execution_id
                    WHERE b.job_id = w.job_id
                        AND b.step_id = w.step_id
                        AND b.is_active = 1
                        AND b.execution_id <> w.execution_id
                        AND a.target_id = t.target_id
                        AND a.is_active = 1
                ) THEN 1
                ELSE 0
            END AS skipped
        FROM @waiting AS w
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = w.origin_step
        LEFT JOIN @unknown AS u ON u.target_execution_id = t.target_execution_id
        WHERE w.lifecycle IS NULL
            AND CHARINDEX(CONCAT(N',', CASE WHEN u.target_execution_id IS NULL THEN t.lifecycle ELSE N'Unknown' END, N','), w.rerun_only) > 0
    ) AS x
    INNER JOIN jobs_internal.target_queues AS q ON q.step_execution_id = x.step_execution_id
        AND q.server_name = x.server_name
        AND q.elastic_pool_name = COALESCE(x.elastic_pool_name, N'');

    UPDATE s
    SET s.lifecycle = r.lifecycle,
        s.is_active = CASE WHEN r.lifecycle IN (N'Succeeded', N'Skipped') THEN 0 ELSE 1 END,
        s.start_time = CASE WHEN r.lifecycle <> N'Created' THEN @now END,
        s.end_time = CASE WHEN r.lifecycle IN (N'Succeeded', N'Skipped') THEN @now END,
        s.next_attempt_at = CASE WHEN r.lifecycle = N'Created' THEN @now END,
        s.resolved_at = CASE WHEN r.lifecycle IN (N'Succeeded', N'WaitingForChildJobExecutions') THEN @now END,
        s.last_message = CASE r.lifecycle
            WHEN N'Created' THEN CONCAT(N'Step ', r.step_id, N' waits for its target group to be resolved, which it was not in the execution ', r.origin_id, N'.')
            WHEN N'Skipped' THEN CONCAT(N'Step ', r.step_id, N' was skipped: the execution ', r.origin_id, N' did not run it, because of targets or steps that are left out of this rerun.')
            WHEN N'Succeeded' THEN CONCAT(N'Step ', r.step_id, N' succeeded: it needs no rerun on the ', r.before, N' targets that it had in the execution ', r.origin_id, N'.')
            ELSE CONCAT(N'Step ', r.step_id, N' runs on ', r.targets, N' of the ', r.before, N' targets that it had in the execution ', r.origin_id, N'.')
        END
    FROM (
        SELECT
            c.step_execution_id,
            c.step_id,
            c.origin_id,
            c.targets,
            c.before,
            COALESCE(c.lifecycle, CASE WHEN c.targets = 0 THEN N'Succeeded' ELSE N'WaitingForChildJobExecutions' END) AS lifecycle
        FROM (
            SELECT
                w.step_execution_id,
                w.step_id,
                w.origin_id,
                w.lifecycle,
                (SELECT COUNT(*) FROM jobs_internal.target_executions AS t WHERE t.step_execution_id = w.step_execution_id) AS targets,
                (SELECT COUNT(*) FROM jobs_internal.target_executions AS t WHERE t.step_execution_id = w.origin_step) AS before
            FROM @waiting AS w
        ) AS c
    ) AS r
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = r.step_execution_id;
    RETURN 0;
END;
