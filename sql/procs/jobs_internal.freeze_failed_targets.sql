-- Freezes the lists of T-SQL steps with on_targets = Failed (I3): the databases on which the steps that caused them
-- (rows of step_execution_causes) failed or exceeded their time limit, each once. A step without such databases is
-- Succeeded at once (decision 5). Actions get theirs from controller_pass, because an agent knows the host that they
-- call. A target on which another run of the job is still at the same step is Skipped, unless the run's overlap policy
-- allows both.
--
-- In a rerun, a failure of the origin that the rerun excludes counts as well, if the step ended there in one of the given
-- states on that target.
--
-- It freezes one list of each step of a job at a time, under the job's lock, so that two runs see each other's targets. A
-- locked job waits for the next pass, because this procedure runs under jobagent.advance and would block all agents.
--
-- Cost: the targets of the causes of the lists that are frozen, once.
--
-- Parameters:
--   @now  For tests only.
-- Called by: jobs_internal.advance, within its transaction, before it has locked anything else.
-- Locks:     the jobs' rows (U), skipping locked rows; then inserts, and steps (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.freeze_failed_targets
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
        allow_overlap     BIT NOT NULL,
        rerun_only        NVARCHAR(200) NULL,
        origin_step       BIGINT NULL -- of a rerun
    );
    DECLARE @causes TABLE (
        step_execution_id  BIGINT NOT NULL,
        cause_execution_id BIGINT NOT NULL,
        PRIMARY KEY (step_execution_id, cause_execution_id)
    );
    DECLARE @list TABLE (
        step_execution_id   BIGINT NOT NULL,
        target_execution_id BIGINT NOT NULL, -- the row that failed, or the origin's
        is_origin           BIT NOT NULL,
        PRIMARY KEY (step_execution_id, target_execution_id)
    );

    INSERT INTO @wanted_jobs (job_id)
    SELECT DISTINCT s.job_id
    FROM jobs_internal.step_executions AS s
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
    WHERE s.waits_for_list = 1
        AND s.is_active = 1
        AND e.stop_requested_at IS NULL;
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
        WHERE s.waits_for_list = 1
            AND s.is_active = 1
            AND e.stop_requested_at IS NULL
        GROUP BY s.job_id, s.step_id
    )
    INSERT INTO @waiting (step_execution_id, execution_id, job_id, step_id, allow_overlap, rerun_only, origin_step)
    SELECT s.step_execution_id, s.execution_id, s.job_id, s.step_id, e.allow_overlap, e.rerun_only, os.step_execution_id
    FROM first_steps AS f
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = f.step_execution_id
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
    LEFT JOIN jobs_internal.step_executions AS os ON os.execution_id = e.rerun_of AND os.step_id = s.step_id;
    INSERT INTO @causes (step_execution_id, cause_execution_id)
    SELECT w.step_execution_id, s.step_execution_id
    FROM @waiting AS w
    INNER JOIN jobs_internal.step_execution_causes AS c ON c.execution_id = w.execution_id AND c.step_id = w.step_id
    INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = c.execution_id AND s.step_id = c.cause_step_id;

    -- Plan: per cause the range of UQ_target_executions_target_id with a lookup each.
    WITH failures AS (
        SELECT
            c.step_execution_id,
            t.target_execution_id,
            ROW_NUMBER() OVER (PARTITION BY c.step_execution_id, t.target_id ORDER BY t.target_execution_id DESC) AS place
        FROM @causes AS c
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = c.cause_execution_id
        WHERE t.lifecycle IN (N'Failed', N'TimedOut')
            AND t.is_endpoint = 0
    )
    INSERT INTO @list (step_execution_id, target_execution_id, is_origin)
    SELECT f.step_execution_id, f.target_execution_id, 0
    FROM failures AS f
    WHERE f.place = 1;
    -- plan: at most one row a step of a rerun
    INSERT INTO @list (step_execution_id, target_execution_id, is_origin)
    SELECT w.step_execution_id, o.target_execution_id, 1
    FROM @waiting AS w
    INNER JOIN jobs_internal.target_executions AS o ON o.step_execution_id = w.origin_step
    WHERE EXISTS (
        SELECT 1
        FROM STRING_SPLIT(w.rerun_only, N',') AS p
        WHERE p.value = CASE WHEN o.outcome_unknown = 1 THEN N'Unknown' ELSE o.lifecycle END
    )
        AND NOT EXISTS (
            SELECT 1
            FROM @causes AS c
            INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = c.cause_execution_id
            WHERE c.step_execution_id = w.step_execution_id
                AND t.target_id = o.target_id
        );

    INSERT INTO jobs_internal.target_queues (execution_id, step_execution_id, job_id, step_id, server_name, elastic_pool_name)
    SELECT DISTINCT
        w.execution_id, w.step_execution_id, w.job_id, w.step_id, t.server_name, COALESCE(t.elastic_pool_name, N'')
    FROM @list AS l
    INNER JOIN @waiting AS w ON w.step_execution_id = l.step_execution_id
    INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = l.target_execution_id;

    -- Plan: the list once; per target and other active step of the job one seek of UQ_target_executions_target_id.
    WITH wanted_targets AS (
        SELECT
            w.execution_id,
            w.step_execution_id,
            w.job_id,
            w.step_id,
            ROW_NUMBER() OVER (PARTITION BY w.step_execution_id ORDER BY t.step_id, t.ordinal, t.target_execution_id) AS ordinal,
            CASE WHEN l.is_origin = 1 THEN t.internal_id ELSE NEWID() END AS internal_id,
            t.target_id,
            t.server_name,
            t.database_name,
            t.elastic_pool_name,
            CASE
                WHEN w.allow_overlap = 0 AND EXISTS (
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
        FROM @list AS l
        INNER JOIN @waiting AS w ON w.step_execution_id = l.step_execution_id
        INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = l.target_execution_id
    )
    INSERT INTO jobs_internal.target_executions (
        execution_id, step_execution_id, job_id, step_id, queue_id, ordinal, internal_id, target_id, server_name, database_name,
        elastic_pool_name, lifecycle, is_active, create_time, end_time, next_attempt_at, last_message
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
                N'Step ', v.step_id, N' was skipped on target (server ''', v.server_name, N''', database ''', v.database_name,
                N'''): another execution of the job is still running this step there.'
            )
        END
    FROM wanted_targets AS v
    INNER JOIN jobs_internal.target_queues AS q ON q.step_execution_id = v.step_execution_id
        AND q.server_name = v.server_name
        AND q.elastic_pool_name = COALESCE(v.elastic_pool_name, N'');

    WITH counted AS (
        SELECT
            w.step_execution_id,
            (SELECT COUNT(*) FROM @list AS l WHERE l.step_execution_id = w.step_execution_id) AS targets,
            (
                SELECT STRING_AGG(CAST(c.cause_step_id AS NVARCHAR(MAX)), N', ') WITHIN GROUP (ORDER BY c.cause_step_id)
                FROM jobs_internal.step_execution_causes AS c
                WHERE c.execution_id = w.execution_id
                    AND c.step_id = w.step_id
            ) AS names,
            -- What failed in the origin, is not run again, and still counts.
            CASE
                WHEN EXISTS (
                    SELECT 1
                    FROM jobs_internal.target_executions AS o
                    WHERE o.step_execution_id = w.origin_step
                        AND o.lifecycle IN (N'Failed', N'TimedOut', N'Canceled')
                        AND NOT EXISTS (
                            SELECT 1
                            FROM jobs_internal.target_executions AS t
                            WHERE t.step_execution_id = w.step_execution_id
                                AND t.target_id = o.target_id
                        )
                        AND NOT EXISTS (
                            SELECT 1
                            FROM @causes AS c
                            INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = c.cause_execution_id
                            WHERE c.step_execution_id = w.step_execution_id
                                AND t.target_id = o.target_id
                        )
                ) THEN N'Failed'
            END AS result
        FROM @waiting AS w
    )
    UPDATE s
    SET s.lifecycle = CASE WHEN c.targets = 0 THEN N'Succeeded' ELSE N'WaitingForChildJobExecutions' END,
        s.is_active = CASE WHEN c.targets = 0 THEN 0 ELSE 1 END,
        s.start_time = @now,
        s.end_time = CASE WHEN c.targets = 0 THEN @now END,
        s.resolved_at = @now,
        s.waits_for_list = 0,
        s.result = c.result,
        s.last_message = CASE
            WHEN c.targets = 0 THEN CONCAT(N'Step ', s.step_id, N' succeeded: there are no targets on which step ', c.names, N' failed.')
            ELSE CONCAT(N'Step ', s.step_id, N' runs on ', c.targets, N' targets on which step ', c.names, N' failed.')
        END
    FROM counted AS c
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = c.step_execution_id;
    RETURN 0;
END;
