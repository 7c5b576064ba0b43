-- Starts the steps of runs whose versions have dependencies, and skips those whose conditions do not hold. A step is decided
-- on as soon as all steps that come before it are final. DESIGN.md, "Dependencies", has the rules. Nothing starts after a
-- stop request. jobs_internal.advance ends the runs.
--
-- Cost: the runs given, times their steps. A round of the loop decides on all steps that can be decided on; another round
-- follows only if steps were skipped.
--
-- Parameters:
--   @executions  Keys of the runs, separated by commas; the caller has locked them.
-- Called by: jobs_internal.advance, within its transaction.
-- Locks:     steps that have ended (X), skipping locked rows; inserts into step_executions and step_execution_causes; the
--            runs (X), which the caller has locked.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.start_dependent_steps
    @executions NVARCHAR(MAX),
    @now        DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @skipped INT = 1;
    DECLARE @wanted TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, allow_overlap BIT NOT NULL);
    DECLARE @runs TABLE (
        execution_id BIGINT NOT NULL PRIMARY KEY,
        job_id       UNIQUEIDENTIFIER NOT NULL,
        job_version  INT NOT NULL,
        is_stopping  BIT NOT NULL,
        is_rerun     BIT NOT NULL
    );
    -- Steps that have no row yet.
    DECLARE @open TABLE (
        execution_id BIGINT NOT NULL,
        step_id      INT NOT NULL,
        has_after    BIT NOT NULL,
        run_when     NVARCHAR(10) NOT NULL,
        on_targets   NVARCHAR(10) NOT NULL,
        has_list     BIT NOT NULL, -- frozen by freeze_failed_targets; an action needs an agent, which knows its host
        is_ready     BIT NOT NULL, -- its targets are resolved at once
        PRIMARY KEY (execution_id, step_id)
    );
    DECLARE @edges TABLE (
        execution_id  BIGINT NOT NULL,
        step_id       INT NOT NULL,
        after_step_id INT NOT NULL,
        PRIMARY KEY (execution_id, step_id, after_step_id)
    );
    -- The steps of one round.
    DECLARE @decided TABLE (
        execution_id BIGINT NOT NULL,
        step_id      INT NOT NULL,
        run_when     NVARCHAR(10) NOT NULL,
        on_targets   NVARCHAR(10) NOT NULL,
        has_list     BIT NOT NULL,
        is_ready     BIT NOT NULL,
        starts       BIT NOT NULL,
        result       NVARCHAR(10) NULL,  -- of a step that is skipped, or that leaves out targets that did not succeed
        wanted       INT NOT NULL,       -- the number of steps that come before it
        names        NVARCHAR(MAX) NULL, -- their ids
        failed_names NVARCHAR(MAX) NULL, -- the ids of those that did not succeed
        is_partial   BIT NOT NULL,       -- one of these succeeded on the targets that it had, and left others out
        PRIMARY KEY (execution_id, step_id)
    );
    DECLARE @started TABLE (
        execution_id BIGINT NOT NULL,
        step_id      INT NOT NULL,
        PRIMARY KEY (execution_id, step_id)
    );

    -- The locks of the caller, again.
    INSERT INTO @wanted (execution_id)
    SELECT CAST(p.value AS BIGINT)
    FROM STRING_SPLIT(@executions, N',') AS p;
    INSERT INTO @locked (execution_id, allow_overlap)
    SELECT e.execution_id, e.allow_overlap
    FROM @wanted AS w
    INNER LOOP JOIN jobs_internal.job_executions AS e WITH (UPDLOCK, READPAST, ROWLOCK) ON e.execution_id = w.execution_id;
    INSERT INTO @runs (execution_id, job_id, job_version, is_stopping, is_rerun)
    SELECT
        e.execution_id,
        e.job_id,
        e.job_version,
        CASE WHEN e.stop_requested_at IS NULL THEN 0 ELSE 1 END,
        CASE WHEN e.rerun_of IS NULL THEN 0 ELSE 1 END
    FROM @locked AS l
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = l.execution_id
    WHERE e.is_active = 1;

    -- Before the reads below: a step that ends later keeps its mark for the next pass.
    UPDATE s
    SET s.unfollowed = 0
    FROM @runs AS r
    INNER LOOP JOIN jobs_internal.step_executions AS s WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON s.execution_id = r.execution_id
    WHERE s.unfollowed = 1
        AND s.is_active = 0;

    -- Plan: per run a range of PK_job_steps, of PK_job_step_dependencies and of UQ_step_executions_step_id.
    INSERT INTO @open (execution_id, step_id, has_after, run_when, on_targets, has_list, is_ready)
    SELECT
        r.execution_id,
        d.step_id,
        d.has_after,
        d.run_when,
        d.on_targets,
        CASE WHEN d.on_targets <> N'All' AND c.command_type = N'TSql' THEN 1 ELSE 0 END,
        CASE
            WHEN d.on_targets <> N'All' THEN CASE WHEN c.command_type = N'TSql' THEN 0 ELSE 1 END
            WHEN r.is_rerun = 1 THEN 0 -- jobs_internal.start_rerun_steps
            ELSE 1
        END
    FROM @runs AS r
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = r.job_id AND d.version = r.job_version
    INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
    WHERE r.is_stopping = 0
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.step_executions AS s
            WHERE s.execution_id = r.execution_id
                AND s.step_id = d.step_id
        );
    INSERT INTO @edges (execution_id, step_id, after_step_id)
    SELECT o.execution_id, o.step_id, o.step_id - 1
    FROM @open AS o
    WHERE o.has_after = 0
        AND o.step_id > 1
    UNION ALL
    SELECT r.execution_id, d.step_id, d.after_step_id
    FROM @runs AS r
    INNER JOIN jobs_internal.job_step_dependencies AS d ON d.job_id = r.job_id AND d.version = r.job_version
    WHERE EXISTS (SELECT 1 FROM @open AS o WHERE o.execution_id = r.execution_id AND o.step_id = d.step_id);

    -- A skipped step may decide the steps that come after it.
    WHILE @skipped > 0
    BEGIN
        DELETE FROM @decided;
        WITH ends AS (
            SELECT
                g.execution_id,
                g.step_id,
                g.after_step_id,
                s.is_active,
                CASE
                    WHEN s.lifecycle IN (N'Failed', N'TimedOut') THEN N'Failed'
                    ELSE COALESCE(s.result, CASE WHEN s.lifecycle = N'Canceled' THEN N'Canceled' ELSE N'Succeeded' END)
                END AS result,
                -- It had no targets, so there are none on which it succeeded.
                CASE
                    WHEN s.lifecycle IN (N'Failed', N'TimedOut') AND s.resolved_at IS NULL THEN 1
                    WHEN s.lifecycle = N'Skipped' AND s.result = N'Failed' THEN 1
                    ELSE 0
                END AS ran_nowhere,
                CASE WHEN s.lifecycle IN (N'Succeeded', N'SucceededWithSkipped') AND s.result = N'Failed' THEN 1 ELSE 0 END AS is_partial
            FROM @edges AS g
            INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = g.execution_id AND s.step_id = g.after_step_id
        ),
        counted AS (
            SELECT
                o.execution_id,
                o.step_id,
                o.run_when,
                o.on_targets,
                o.has_list,
                o.is_ready,
                COUNT(g.after_step_id) AS wanted,
                SUM(CASE WHEN x.is_active = 0 THEN 1 ELSE 0 END) AS ended,
                SUM(CASE WHEN x.result = N'Failed' THEN 1 ELSE 0 END) AS failed,
                SUM(CASE WHEN x.result = N'Canceled' THEN 1 ELSE 0 END) AS canceled,
                SUM(x.ran_nowhere) AS ran_nowhere,
                MAX(COALESCE(x.is_partial, 0)) AS is_partial,
                STRING_AGG(CAST(g.after_step_id AS NVARCHAR(MAX)), N', ') WITHIN GROUP (ORDER BY g.after_step_id) AS names,
                STRING_AGG(
                    CASE WHEN x.result <> N'Succeeded' THEN CAST(g.after_step_id AS NVARCHAR(MAX)) END, N', '
                ) WITHIN GROUP (ORDER BY g.after_step_id) AS failed_names
            FROM @open AS o
            LEFT JOIN @edges AS g ON g.execution_id = o.execution_id AND g.step_id = o.step_id
            LEFT JOIN ends AS x ON x.execution_id = g.execution_id
                AND x.step_id = g.step_id
                AND x.after_step_id = g.after_step_id
            GROUP BY o.execution_id, o.step_id, o.run_when, o.on_targets, o.has_list, o.is_ready
        )
        INSERT INTO @decided (
            execution_id, step_id, run_when, on_targets, has_list, is_ready, starts, result, wanted, names, failed_names, is_partial
        )
        SELECT
            c.execution_id,
            c.step_id,
            c.run_when,
            c.on_targets,
            c.has_list,
            c.is_ready,
            CASE
                WHEN c.canceled > 0 THEN 0
                WHEN c.run_when = N'Succeeded' AND c.on_targets = N'Succeeded' AND c.ran_nowhere = 0 THEN 1
                WHEN c.run_when = N'Succeeded' AND c.failed > 0 THEN 0
                WHEN c.run_when = N'Failed' AND c.failed = 0 THEN 0
                ELSE 1
            END,
            CASE
                WHEN c.canceled > 0 THEN N'Canceled'
                WHEN c.run_when = N'Succeeded' AND c.failed > 0 THEN N'Failed'
            END,
            c.wanted,
            c.names,
            c.failed_names,
            c.is_partial
        FROM counted AS c
        WHERE c.ended = c.wanted;

        INSERT INTO jobs_internal.step_executions (
            execution_id, job_id, job_version, step_id, lifecycle, is_active, create_time, end_time, next_attempt_at,
            waits_for_list, unfollowed, skipped_by_condition, result, last_message
        )
        SELECT
            d.execution_id,
            r.job_id,
            r.job_version,
            d.step_id,
            CASE WHEN d.starts = 1 THEN N'Created' ELSE N'Skipped' END,
            d.starts,
            @now,
            CASE WHEN d.starts = 0 THEN @now END,
            CASE WHEN d.starts = 1 AND d.is_ready = 1 THEN @now END,
            CASE WHEN d.starts = 1 THEN d.has_list ELSE 0 END,
            d.starts,
            CASE WHEN d.starts = 1 THEN 0 ELSE 1 END,
            d.result,
            CASE
                WHEN d.starts = 1 AND d.result = N'Failed' THEN CONCAT(
                    N'Step ', d.step_id, N' created, for the targets on which step', CASE WHEN d.names LIKE N'%,%' THEN N's' END, N' ',
                    d.names, N' succeeded.'
                )
                WHEN d.starts = 1 AND d.failed_names IS NOT NULL THEN CONCAT(
                    N'Step ', d.step_id, N' created, because step', CASE WHEN d.failed_names LIKE N'%,%' THEN N's' END, N' ',
                    d.failed_names, N' did not succeed.'
                )
                WHEN d.starts = 1 THEN CONCAT(N'Step ', d.step_id, N' created.')
                WHEN d.result IS NULL THEN CONCAT( -- and run_when is Failed
                    N'Step ', d.step_id, N' was skipped: it runs only when step ', REPLACE(d.names, N', ', N' or '),
                    N' fails, and ', CASE WHEN d.wanted = 1 THEN N'it did not.' ELSE N'none of them did.' END
                )
                WHEN d.result = N'Canceled' THEN CONCAT(
                    N'Step ', d.step_id, N' was skipped: step ', d.failed_names, N' was canceled, and this rerun excludes that.'
                )
                ELSE CONCAT(
                    N'Step ', d.step_id, N' was skipped: step', CASE WHEN d.failed_names LIKE N'%,%' THEN N's' END, N' ',
                    d.failed_names, N' did not succeed', CASE WHEN d.is_partial = 1 THEN N' on all targets' END,
                    N', and it runs only when ',
                    CASE WHEN d.wanted = 1 THEN N'that does.' ELSE CONCAT(N'all of the steps ', d.names, N' do.') END
                )
            END
        FROM @decided AS d
        INNER JOIN @runs AS r ON r.execution_id = d.execution_id;
        -- Conditions other than Succeeded, lists and skipped steps: what decided about them.
        INSERT INTO jobs_internal.step_execution_causes (execution_id, step_id, cause_step_id)
        SELECT DISTINCT d.execution_id, d.step_id, COALESCE(c.cause_step_id, s.step_id)
        FROM @decided AS d
        INNER JOIN @edges AS g ON g.execution_id = d.execution_id AND g.step_id = d.step_id
        INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = g.execution_id AND s.step_id = g.after_step_id
        LEFT JOIN jobs_internal.step_execution_causes AS c ON c.execution_id = s.execution_id
            AND c.step_id = s.step_id
            AND s.skipped_by_condition = 1
        WHERE d.starts = 0
            OR d.run_when <> N'Succeeded'
            OR d.on_targets <> N'All';

        INSERT INTO @started (execution_id, step_id)
        SELECT d.execution_id, d.step_id
        FROM @decided AS d
        WHERE d.starts = 1;
        DELETE o
        FROM @open AS o
        INNER JOIN @decided AS d ON d.execution_id = o.execution_id AND d.step_id = o.step_id;
        SELECT @skipped = COUNT(*)
        FROM @decided AS d
        WHERE d.starts = 0;
    END;

    -- order: the caller has locked the runs
    WITH listed AS (
        SELECT
            t.execution_id,
            COUNT(*) AS steps,
            STRING_AGG(CAST(t.step_id AS NVARCHAR(MAX)), N', ') WITHIN GROUP (ORDER BY t.step_id) AS names
        FROM @started AS t
        GROUP BY t.execution_id
    )
    UPDATE e
    SET e.lifecycle = N'WaitingForChildJobExecutions',
        e.start_time = COALESCE(e.start_time, @now),
        e.parked = 0,
        e.last_message = CONCAT(CASE WHEN l.steps = 1 THEN N'Step ' ELSE N'Steps ' END, l.names, N' started.')
    FROM listed AS l
    INNER LOOP JOIN jobs_internal.job_executions AS e ON e.execution_id = l.execution_id;
    RETURN 0;
END;
