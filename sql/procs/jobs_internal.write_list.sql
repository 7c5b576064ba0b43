-- Writes the next slice of a step's list of targets (I3), and makes the step visible with the last slice: until then nobody sees,
-- claims or counts its targets. A target on which another run of the job is still at the same step is Skipped, unless the run's overlap
-- policy allows both. An empty list is a success (decision 5). DESIGN.md, "Slices" and "Reruns".
--
-- A run on chosen databases (only_targets of job_executions) has no others in its lists. Those that a target group does not have are
-- Skipped, with the last slice, so that nobody takes them for done. DESIGN.md, "Chosen databases".
--
-- A run that a trigger started on the databases that succeeded upstream has no others in its lists (upstream_runs of
-- job_executions). DESIGN.md, "Triggers".
--
-- Of two runs whose lists are written at the same time, the run that writes a target first runs on it: the callers hold the
-- job's row, so slices of the same job follow each other.
--
-- Cost: (targets of the slice); one part of a list, however many targets it has; and the chosen databases, at most 5,000. If other runs of
-- the job are active, each target costs a seek for each of the 16 oldest ones, and the rows of the job's runs on it since.
--
-- Parameters:
--   @step_execution_id  The step; it is InProgress. It has a row in step_lists unless @targets is given.
--   @targets            The whole list, as in jobs_internal.complete_resolution; NULL: the next slice of the source in step_lists.
--   @slice              Maximum number of targets that are read from the origin or from a step that failed, at least 1.
--   @examined           Output. Number of targets that were read.
--   @complete           Output. 1: it was the last slice.
-- Called by: jobs_internal.write_lists and jobs_internal.complete_resolution, within their transactions, with the job's row locked.
-- Locks:     inserts into target_queues and target_executions; the step (X), its row in step_lists and its parts (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.write_list
    @step_execution_id BIGINT,
    @targets           NVARCHAR(MAX) = NULL,
    @slice             INT = 5000,
    @examined          INT = 0 OUTPUT,
    @complete          BIT = 0 OUTPUT,
    @now               DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @source NVARCHAR(10) = N'Parts';
    DECLARE @task_id BIGINT;
    DECLARE @from_step BIGINT;
    DECLARE @from_execution BIGINT;
    DECLARE @from_origin BIT = 0;
    DECLARE @next_step BIGINT;
    DECLARE @after BIGINT = 0;
    DECLARE @origin_examined INT = 0;
    DECLARE @last BIGINT; -- that the slice reads
    DECLARE @written INT = 0;
    DECLARE @left_failed BIT = 0;
    DECLARE @left_canceled BIT = 0;
    DECLARE @execution_id BIGINT;
    DECLARE @job_execution_id UNIQUEIDENTIFIER;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @step_id INT;
    DECLARE @allow_overlap BIT;
    DECLARE @rerun_of BIGINT;
    DECLARE @rerun_only NVARCHAR(200);
    DECLARE @base_id BIGINT; -- the run whose list is read, if the origin has none
    DECLARE @origin_id UNIQUEIDENTIFIER;
    DECLARE @origin_step BIGINT;
    DECLARE @origin_result NVARCHAR(10);
    DECLARE @target_group_name NVARCHAR(128);
    DECLARE @is_endpoint BIT; -- 1: an action without a target group
    DECLARE @on_targets NVARCHAR(10);
    DECLARE @is_script BIT;
    DECLARE @is_upkeep BIT;
    DECLARE @is_dependent BIT;
    DECLARE @origin_tolerated INT;
    DECLARE @origin_lifecycle NVARCHAR(50);
    DECLARE @level INT = 0;
    DECLARE @level_execution BIGINT;
    DECLARE @left_out BIT = 0; -- 1: the rerun excludes what the origin did not reach
    DECLARE @is_planned BIT; -- the run is that of a roll-out: its targets run in waves
    DECLARE @rollout_of BIGINT;
    DECLARE @wave INT;
    DECLARE @only_targets NVARCHAR(MAX);
    DECLARE @chosen_count INT;
    DECLARE @missing INT = 0; -- chosen databases that the target group does not have
    DECLARE @chosen TABLE (
        target_id     UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        server_name   NVARCHAR(256) NOT NULL,
        database_name NVARCHAR(128) NOT NULL
    );
    DECLARE @listed TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY); -- those of the slice
    DECLARE @others TABLE (execution_id BIGINT NOT NULL PRIMARY KEY); -- the oldest other active runs of the job
    DECLARE @most_others INT = 16;
    DECLARE @other_count INT = 0;
    DECLARE @last_other BIGINT;
    DECLARE @upstream_runs NVARCHAR(4000); -- NULL: not only the targets count on which upstream jobs succeeded
    DECLARE @upstreams TABLE (
        execution_id BIGINT NOT NULL PRIMARY KEY,
        job_id       UNIQUEIDENTIFIER NOT NULL,
        is_rollout   BIT NOT NULL
    );
    DECLARE @verdicts TABLE (
        target_id    UNIQUEIDENTIFIER NOT NULL,
        job_id       UNIQUEIDENTIFIER NOT NULL,
        execution_id BIGINT NOT NULL,
        succeeded    BIT NOT NULL,
        PRIMARY KEY (target_id, job_id, execution_id)
    );
    DECLARE @causes TABLE (step_execution_id BIGINT NOT NULL PRIMARY KEY);
    -- Of a list of succeeded targets: its causes, and the step itself, in this run (0), its origin (1), the origin's origin, …
    DECLARE @levels TABLE (
        step_execution_id BIGINT NOT NULL PRIMARY KEY,
        execution_id      BIGINT NOT NULL,
        step_id           INT NOT NULL,
        level             INT NOT NULL
    );
    -- What the slice reads from the origin or from a step that failed.
    DECLARE @read TABLE (
        target_execution_id BIGINT NOT NULL PRIMARY KEY,
        target_id           UNIQUEIDENTIFIER NOT NULL,
        lifecycle           NVARCHAR(50) NOT NULL,
        state               NVARCHAR(50) NOT NULL, -- as @only of jobs.sp_rerun_job_execution names it
        is_endpoint         BIT NOT NULL,
        ran                 BIT NOT NULL, -- 1: of the origin, and a cause ran on it in the rerun
        wanted              BIT NOT NULL,
        place               BIGINT NOT NULL, -- in the order in which they are read
        own_id              BIGINT NULL   -- of a list of succeeded targets: the step's target execution in the origin
    );
    -- The targets of the slice.
    DECLARE @rows TABLE (
        ordinal           INT NOT NULL,
        internal_id       UNIQUEIDENTIFIER NULL, -- NULL: that of the run, the step and the target
        target_id         UNIQUEIDENTIFIER NOT NULL,
        server_name       NVARCHAR(256) NOT NULL,
        database_name     NVARCHAR(128) NOT NULL,
        elastic_pool_name NVARCHAR(128) NULL,
        is_endpoint       BIT NOT NULL,
        limit_server      NVARCHAR(256) NOT NULL,
        is_busy           BIT NOT NULL DEFAULT 0, -- with another run of the job
        is_missing        BIT NOT NULL DEFAULT 0, -- chosen, and not in the target group
        PRIMARY KEY (ordinal, target_id)
    );

    SELECT
        @execution_id = s.execution_id,
        @job_execution_id = e.job_execution_id,
        @job_id = s.job_id,
        @step_id = s.step_id,
        @allow_overlap = e.allow_overlap,
        @rerun_of = e.rerun_of,
        @rerun_only = e.rerun_only,
        @only_targets = e.only_targets,
        @upstream_runs = e.upstream_runs,
        @is_planned = CASE
            WHEN EXISTS (SELECT 1 FROM jobs_internal.rollout_runs AS r WHERE r.execution_id = e.execution_id) THEN 1
            ELSE 0
        END,
        @rollout_of = e.rollout_of,
        @wave = e.rollout_wave,
        @origin_id = oe.job_execution_id,
        @origin_lifecycle = oe.lifecycle,
        @origin_step = os.step_execution_id,
        @origin_result = os.result,
        @origin_tolerated = os.tolerated,
        @target_group_name = d.target_group_name,
        @is_endpoint = CASE
            WHEN d.target_group_id = '00000000-0000-0000-0000-000000000000' AND d.target_group_name = N'(endpoint)' THEN 1
            ELSE 0
        END,
        @on_targets = d.on_targets,
        @is_script = CASE WHEN c.command_type IN (N'TSql', N'Upkeep') THEN 1 ELSE 0 END,
        @is_upkeep = CASE WHEN c.command_type = N'Upkeep' THEN 1 ELSE 0 END,
        @is_dependent = v.has_dependencies
    FROM jobs_internal.step_executions AS s
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
    INNER JOIN jobs_internal.job_versions AS v ON v.job_id = s.job_id AND v.version = s.job_version
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
    INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
    LEFT JOIN jobs_internal.job_executions AS oe ON oe.execution_id = e.rerun_of
    LEFT JOIN jobs_internal.step_executions AS os ON os.execution_id = e.rerun_of AND os.step_id = s.step_id
    WHERE s.step_execution_id = @step_execution_id;
    IF @only_targets IS NOT NULL
        INSERT INTO @chosen (target_id, server_name, database_name)
        SELECT o.target_id, o.server_name, o.database_name
        FROM OPENJSON(@only_targets) WITH (
            target_id     UNIQUEIDENTIFIER,
            server_name   NVARCHAR(256),
            database_name NVARCHAR(128)
        ) AS o;
    SET @chosen_count = CASE WHEN @only_targets IS NOT NULL THEN @@ROWCOUNT END;
    IF @targets IS NULL
        SELECT
            @source = l.source,
            @task_id = l.task_id,
            @from_step = l.from_step,
            @after = l.after,
            @origin_examined = l.examined,
            @written = l.written,
            @left_failed = l.left_failed,
            @left_canceled = l.left_canceled
        FROM jobs_internal.step_lists AS l
        WHERE l.step_execution_id = @step_execution_id;

    IF @source IN (N'Origin', N'Wave') AND @from_step <> COALESCE(@origin_step, 0)
    BEGIN
        -- The origin is a rerun that did not reach the step. Its place takes the run that it repeats, directly or not, and which has the
        -- list; wanted are the states that the rerun of that run has asked for.
        SET @base_id = (SELECT s.execution_id FROM jobs_internal.step_executions AS s WHERE s.step_execution_id = @from_step);
        WHILE @rerun_of <> @base_id
            SELECT
                @rerun_only = e.rerun_only,
                @rerun_of = e.rerun_of
            FROM jobs_internal.job_executions AS e
            WHERE e.execution_id = @rerun_of;
        SELECT
            @origin_id = e.job_execution_id,
            @origin_lifecycle = e.lifecycle,
            @origin_step = s.step_execution_id,
            @origin_result = s.result,
            @origin_tolerated = s.tolerated
        FROM jobs_internal.step_executions AS s
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
        WHERE s.step_execution_id = @from_step;
    END;

    IF @source = N'Parts'
    BEGIN
        IF @targets IS NULL
            SELECT TOP (1)
                @after = p.part,
                @targets = p.targets
            FROM jobs_internal.list_parts AS p
            WHERE p.task_id = @task_id
                AND p.part > @after
            ORDER BY p.part;
        -- A target that an agent lists twice would be refused by the unique key in each pass, and hold up all jobs.
        WITH given AS (
            SELECT
                o.ordinal,
                COALESCE(
                    o.target_id,
                    CAST(HASHBYTES('MD5', CONCAT(
                        LOWER(o.server_name COLLATE Latin1_General_100_CI_AS), N'/',
                        LOWER(o.database_name COLLATE Latin1_General_100_CI_AS)
                    )) AS UNIQUEIDENTIFIER)
                ) AS target_id,
                o.server_name,
                o.database_name,
                o.elastic_pool_name,
                CASE WHEN o.target_type = N'Endpoint' THEN 1 ELSE 0 END AS is_endpoint,
                COALESCE(o.limit_server, o.server_name) AS limit_server
            FROM OPENJSON(@targets) WITH (
                ordinal           INT,
                target_id         UNIQUEIDENTIFIER,
                server_name       NVARCHAR(256),
                database_name     NVARCHAR(128),
                elastic_pool_name NVARCHAR(128),
                target_type       NVARCHAR(20),
                limit_server      NVARCHAR(256)
            ) AS o
        ),
        numbered AS (
            SELECT
                g.ordinal, g.target_id, g.server_name, g.database_name, g.elastic_pool_name, g.is_endpoint, g.limit_server,
                ROW_NUMBER() OVER (PARTITION BY g.target_id ORDER BY g.ordinal) AS place
            FROM given AS g
        )
        INSERT INTO @rows (
            ordinal, internal_id, target_id, server_name, database_name, elastic_pool_name, is_endpoint, limit_server
        )
        SELECT
            n.ordinal, t.internal_id, n.target_id, n.server_name, n.database_name, n.elastic_pool_name, n.is_endpoint, n.limit_server
        FROM numbered AS n
        -- Whether the origin's request was carried out is unknown, and no cause has run since: the same idempotency key (S-56).
        LEFT JOIN jobs_internal.target_executions AS t ON @on_targets = N'Succeeded'
            AND t.step_execution_id = @origin_step
            AND t.target_id = n.target_id
            AND t.outcome_unknown = 1
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.step_execution_causes AS c
                INNER JOIN jobs_internal.step_executions AS cs ON cs.execution_id = c.execution_id AND cs.step_id = c.cause_step_id
                INNER JOIN jobs_internal.target_executions AS ct ON ct.step_execution_id = cs.step_execution_id
                WHERE c.execution_id = @execution_id
                    AND c.step_id = @step_id
                    AND ct.target_id = n.target_id
            )
        WHERE n.place = 1
            AND (@only_targets IS NULL OR n.is_endpoint = 1 OR n.target_id IN (SELECT c.target_id FROM @chosen AS c)) -- plan: one part
            AND (@rollout_of IS NULL OR n.is_endpoint = 1 OR EXISTS (
                SELECT 1
                FROM jobs_internal.rollout_targets AS t
                WHERE t.execution_id = @rollout_of
                    AND t.target_id = n.target_id
                    AND t.wave = @wave
                    AND t.state <> N'LeftOut'
            ))
            AND (@written = 0 OR NOT EXISTS (
                SELECT 1
                FROM jobs_internal.target_executions AS t
                WHERE t.step_execution_id = @step_execution_id
                    AND t.target_id = n.target_id
            ));
        SET @examined = @@ROWCOUNT;
        IF @upstream_runs IS NOT NULL
        BEGIN
            INSERT INTO @upstreams (execution_id, job_id, is_rollout)
            SELECT e.execution_id, e.job_id, CASE WHEN u.value LIKE N'-%' THEN 1 ELSE 0 END
            FROM STRING_SPLIT(@upstream_runs, N',') AS u
            INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = ABS(CAST(u.value AS BIGINT));
            -- plan: per target and upstream run one key of PK_rollout_targets, or for each step one of UQ_target_executions_target_id
            INSERT INTO @verdicts (target_id, job_id, execution_id, succeeded)
            SELECT r.target_id, u.job_id, u.execution_id, k.succeeded
            FROM @rows AS r
            CROSS JOIN @upstreams AS u
            CROSS APPLY (
                SELECT MIN(CASE WHEN t.state = N'Succeeded' THEN 1 ELSE 0 END) AS succeeded
                FROM jobs_internal.rollout_targets AS t
                WHERE u.is_rollout = 1
                    AND t.execution_id = u.execution_id
                    AND t.target_id = r.target_id
                UNION ALL
                SELECT MIN(CASE WHEN t.lifecycle = N'Succeeded' THEN 1 ELSE 0 END)
                FROM jobs_internal.step_executions AS s
                INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = s.step_execution_id
                WHERE u.is_rollout = 0
                    AND s.execution_id = u.execution_id
                    AND t.target_id = r.target_id
            ) AS k
            WHERE r.is_endpoint = 0
                AND k.succeeded IS NOT NULL;
            -- The last run of each upstream job that had the target counts. Without one, nothing is known to have succeeded.
            DELETE r
            FROM @rows AS r
            WHERE r.is_endpoint = 0
                AND (
                    NOT EXISTS (SELECT 1 FROM @upstreams AS u)
                    OR (SELECT COUNT(DISTINCT u.job_id) FROM @upstreams AS u) > (
                        SELECT COUNT(*)
                        FROM @verdicts AS v
                        WHERE v.target_id = r.target_id
                            AND v.succeeded = 1
                            AND NOT EXISTS (
                                SELECT 1
                                FROM @verdicts AS w
                                WHERE w.target_id = v.target_id
                                    AND w.job_id = v.job_id
                                    AND w.execution_id > v.execution_id
                            )
                    )
                );
        END;
        IF @only_targets IS NOT NULL OR @rollout_of IS NOT NULL OR @upstream_runs IS NOT NULL
            SET @examined = (SELECT COUNT(*) FROM OPENJSON(@targets) AS o);
        SET @complete = CASE
            WHEN EXISTS (SELECT 1 FROM jobs_internal.list_parts AS p WHERE p.task_id = @task_id AND p.part > @after) THEN 0
            ELSE 1
        END;
        IF @complete = 1 AND @only_targets IS NOT NULL AND @on_targets = N'All' AND @is_endpoint = 0 AND @is_upkeep = 0
        BEGIN
            INSERT INTO @listed (target_id)
            SELECT DISTINCT r.target_id
            FROM @rows AS r;
            -- plan: per chosen database one key of @listed and of UQ_target_executions_target_id
            INSERT INTO @rows (
                ordinal, internal_id, target_id, server_name, database_name, elastic_pool_name, is_endpoint, limit_server, is_missing
            )
            SELECT
                (SELECT COALESCE(MAX(r.ordinal), @written) FROM @rows AS r) + ROW_NUMBER() OVER (ORDER BY c.server_name, c.database_name),
                NULL, c.target_id, c.server_name, c.database_name, NULL, 0, c.server_name, 1
            FROM @chosen AS c
            WHERE c.target_id NOT IN (SELECT r.target_id FROM @listed AS r)
                AND (@written = 0 OR NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.target_executions AS t
                    WHERE t.step_execution_id = @step_execution_id
                        AND t.target_id = c.target_id
                ));
            SET @missing = @@ROWCOUNT;
        END;
    END;
    ELSE
    BEGIN
        IF @source = N'Failed'
            INSERT INTO @causes (step_execution_id)
            SELECT s.step_execution_id
            FROM jobs_internal.step_execution_causes AS c
            INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = c.execution_id AND s.step_id = c.cause_step_id
            WHERE c.execution_id = @execution_id
                AND c.step_id = @step_id;
        -- The chain ends where a purge has deleted the rows of a run.
        SET @level_execution = CASE WHEN @source = N'Succeeded' THEN @execution_id END;
        WHILE @level_execution IS NOT NULL
        BEGIN
            INSERT INTO @levels (step_execution_id, execution_id, step_id, level)
            SELECT s.step_execution_id, s.execution_id, s.step_id, @level
            FROM jobs_internal.step_executions AS s
            WHERE s.execution_id = @level_execution
                AND (
                    (s.step_id = @step_id AND @level > 0)
                    OR s.step_id IN (
                        SELECT c.cause_step_id
                        FROM jobs_internal.step_execution_causes AS c
                        WHERE c.execution_id = @execution_id
                            AND c.step_id = @step_id
                    )
                );
            SET @level = @level + 1;
            SET @level_execution = (
                SELECT e.rerun_of
                FROM jobs_internal.job_executions AS e
                WHERE e.execution_id = @level_execution
            );
        END;
        IF @source = N'Succeeded'
            INSERT INTO @causes (step_execution_id)
            SELECT v.step_execution_id
            FROM @levels AS v
            WHERE v.step_id <> @step_id;
        SET @from_step = COALESCE(
            @from_step,
            (SELECT MIN(c.step_execution_id) FROM @causes AS c),
            CASE WHEN @source <> N'Succeeded' THEN @origin_step END
        );
        SET @from_origin = CASE WHEN @from_step = @origin_step THEN 1 ELSE 0 END;
        SET @from_execution = CASE
            WHEN @source = N'Succeeded' THEN (SELECT v.execution_id FROM @levels AS v WHERE v.step_execution_id = @from_step)
            WHEN @from_origin = 1 THEN @rerun_of
            ELSE @execution_id
        END;

        IF @source = N'Wave'
        BEGIN
            -- The targets of the wave that the step has in the roll-out's own run, in the order of the wave. One without a place in the
            -- list there, or with a message, was chosen for the run and is not in the target group. Plan: a range of
            -- IX_rollout_targets_wave, and per target one key of UQ_target_executions_target_id with a lookup.
            SELECT
                @examined = COUNT(*),
                @last = MAX(w.place)
            FROM (
                SELECT TOP (@slice) r.place
                FROM jobs_internal.rollout_targets AS r
                WHERE r.execution_id = @rollout_of
                    AND r.wave = @wave
                    AND r.place > @after
                ORDER BY r.place
            ) AS w;
            INSERT INTO @read (target_execution_id, target_id, lifecycle, state, is_endpoint, ran, wanted, place)
            SELECT t.target_execution_id, t.target_id, t.lifecycle, N'', 0, 0, 1, r.place
            FROM jobs_internal.rollout_targets AS r
            INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = @origin_step AND t.target_id = r.target_id
            WHERE r.execution_id = @rollout_of
                AND r.wave = @wave
                AND r.place > @after
                AND r.place <= @last
                AND r.state <> N'LeftOut'
                AND t.last_message IS NULL;
        END;
        ELSE
        BEGIN
            -- Plan: a range of IX_target_executions_execution_id with a lookup each.
            INSERT INTO @read (target_execution_id, target_id, lifecycle, state, is_endpoint, ran, wanted, place)
            SELECT TOP (@slice)
                t.target_execution_id, t.target_id, t.lifecycle,
                CASE WHEN t.outcome_unknown = 1 THEN N'Unknown' ELSE t.lifecycle END, t.is_endpoint, 0, 0, t.target_execution_id
            FROM jobs_internal.target_executions AS t
            WHERE t.execution_id = @from_execution
                AND t.step_execution_id = @from_step
                AND t.target_execution_id > @after
            ORDER BY t.target_execution_id;
            SET @examined = @@ROWCOUNT;
            SET @last = (SELECT MAX(r.target_execution_id) FROM @read AS r);
        END;
        IF @only_targets IS NOT NULL
            DELETE r
            FROM @read AS r
            WHERE r.is_endpoint = 0
                AND r.target_id NOT IN (SELECT c.target_id FROM @chosen AS c);
        -- plan: a few causes, and for each target one key of UQ_target_executions_target_id
        IF @source = N'Failed' AND @from_origin = 1
            UPDATE r
            SET r.ran = 1
            FROM @read AS r
            WHERE EXISTS (
                SELECT 1
                FROM @causes AS c
                INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = c.step_execution_id
                WHERE t.target_id = r.target_id
            );
        IF @source = N'Succeeded'
        BEGIN
            SET @left_out = CASE
                WHEN (@origin_step IS NULL AND @origin_lifecycle = N'Canceled')
                    OR EXISTS (
                        SELECT 1
                        FROM jobs_internal.step_executions AS s
                        WHERE s.step_execution_id = @origin_step
                            AND s.resolved_at IS NULL
                            AND s.lifecycle = N'Canceled'
                    )
                    THEN CASE WHEN N'Canceled' IN (SELECT p.value FROM STRING_SPLIT(@rerun_only, N',') AS p) THEN 0 ELSE 1 END
                ELSE 0
            END;
            -- plan: a few causes, and for each target one key of UQ_target_executions_target_id
            UPDATE r
            SET r.ran = CASE
                    WHEN EXISTS (
                        SELECT 1
                        FROM @levels AS v
                        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = v.step_execution_id
                        WHERE v.level = 0
                            AND t.target_id = r.target_id
                    ) THEN 1
                    ELSE 0
                END,
                r.own_id = CASE WHEN o.level = 1 THEN o.target_execution_id END,
                -- Of the step on it in the origin. Earlier, Left: the origin left it out, after a success or after a failure; none: the
                -- step never ran on it.
                r.state = CASE
                    WHEN o.level IS NULL THEN N''
                    WHEN o.level = 1 AND o.outcome_unknown = 1 THEN N'Unknown'
                    WHEN o.level = 1 THEN o.lifecycle
                    WHEN o.lifecycle IN (N'Succeeded', N'Skipped') THEN N'Earlier'
                    ELSE N'Left'
                END
            FROM @read AS r
            OUTER APPLY (
                SELECT TOP (1) t.target_execution_id, t.lifecycle, t.outcome_unknown, v.level
                FROM @levels AS v
                INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = v.step_execution_id
                WHERE v.step_id = @step_id
                    AND t.target_id = r.target_id
                ORDER BY v.level
            ) AS o;
            -- What the causes did last on the target counts: all that ran on it succeeded.
            DELETE r
            FROM @read AS r
            WHERE r.lifecycle <> N'Succeeded'
                OR r.is_endpoint = 1
                OR EXISTS (
                    SELECT 1
                    FROM @levels AS v
                    INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = v.step_execution_id
                    WHERE v.step_id <> @step_id
                        AND t.target_id = r.target_id
                        AND t.lifecycle <> N'Succeeded'
                        AND NOT EXISTS (
                            SELECT 1
                            FROM @levels AS n
                            INNER JOIN jobs_internal.target_executions AS l ON l.step_execution_id = n.step_execution_id
                            WHERE n.step_id = v.step_id
                                AND n.level < v.level
                                AND l.target_id = r.target_id
                        )
                );
            UPDATE r
            SET r.wanted = 1
            FROM @read AS r
            WHERE (
                r.ran = 1
                OR (r.state = N'' AND @left_out = 0)
                OR r.state IN (SELECT p.value FROM STRING_SPLIT(@rerun_only, N',') AS p)
            )
                AND NOT EXISTS ( -- of another cause, too
                    SELECT 1
                    FROM jobs_internal.target_executions AS t
                    WHERE t.step_execution_id = @step_execution_id
                        AND t.target_id = r.target_id
                );
            SET @left_failed = CASE
                WHEN EXISTS (
                    SELECT 1
                    FROM @read AS r
                    WHERE r.ran = 0
                        AND r.state NOT IN (N'Succeeded', N'Skipped', N'Earlier')
                        AND (r.state <> N'' OR @left_out = 1)
                        AND r.state NOT IN (SELECT p.value FROM STRING_SPLIT(@rerun_only, N',') AS p)
                ) THEN 1
                ELSE @left_failed
            END;
        END;
        UPDATE r
        SET r.wanted = 1
        FROM @read AS r
        WHERE r.ran = 0
            AND @source <> N'Succeeded'
            AND (
                @source = N'Whole'
                OR (@from_origin = 1 AND r.state IN (SELECT p.value FROM STRING_SPLIT(@rerun_only, N',') AS p))
                OR (
                    @source = N'Failed'
                    AND @from_origin = 0
                    AND r.lifecycle IN (N'Failed', N'TimedOut')
                    AND r.is_endpoint = 0
                    AND NOT EXISTS ( -- failed in another cause, too
                        SELECT 1
                        FROM jobs_internal.target_executions AS t
                        WHERE t.step_execution_id = @step_execution_id
                            AND t.target_id = r.target_id
                    )
                )
            );
        IF @from_origin = 1
            SELECT
                @origin_examined = @origin_examined + COUNT(*),
                @left_failed = CASE
                    WHEN @left_failed = 1 THEN 1
                    ELSE MAX(CASE
                        WHEN r.wanted = 1 OR r.ran = 1 THEN 0
                        WHEN r.lifecycle IN (N'Failed', N'TimedOut') OR (r.lifecycle = N'Canceled' AND @source = N'Failed') THEN 1
                        ELSE 0
                    END)
                END,
                @left_canceled = CASE
                    WHEN @left_canceled = 1 THEN 1
                    ELSE MAX(CASE WHEN r.wanted = 0 AND r.lifecycle = N'Canceled' THEN 1 ELSE 0 END)
                END
            FROM @read AS r
            HAVING COUNT(*) > 0;

        -- The internal id is the origin's, to recognise its output rows and its scripts that run at most once. An action is asked again
        -- under another idempotency key, unless it is unknown whether the origin's request was carried out (S-56).
        INSERT INTO @rows (
            ordinal, internal_id, target_id, server_name, database_name, elastic_pool_name, is_endpoint, limit_server
        )
        SELECT
            @written + ROW_NUMBER() OVER (ORDER BY r.place),
            CASE
                WHEN r.state = N'Succeeded' AND @source <> N'Whole' THEN NULL -- what has succeeded is not recognised, but runs anew
                WHEN @from_origin = 1 AND (@is_script = 1 OR t.outcome_unknown = 1) THEN t.internal_id
                WHEN r.ran = 0 THEN o.internal_id
            END,
            t.target_id, t.server_name, t.database_name, t.elastic_pool_name, t.is_endpoint,
            CASE WHEN @source IN (N'Failed', N'Succeeded') THEN t.server_name ELSE q.server_name END
        FROM @read AS r
        INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = r.target_execution_id
        INNER JOIN jobs_internal.target_queues AS q ON q.queue_id = t.queue_id
        LEFT JOIN jobs_internal.target_executions AS o ON o.target_execution_id = r.own_id
        WHERE r.wanted = 1;

        SET @complete = 0;
        IF @examined = @slice
            SET @after = @last;
        ELSE
        BEGIN
            SET @next_step = CASE
                WHEN @source IN (N'Failed', N'Succeeded') AND @from_origin = 0 THEN COALESCE(
                    (SELECT MIN(c.step_execution_id) FROM @causes AS c WHERE c.step_execution_id > @from_step),
                    CASE WHEN @source = N'Failed' THEN @origin_step END
                )
            END;
            SELECT
                @complete = CASE WHEN @next_step IS NULL THEN 1 ELSE 0 END,
                @from_step = @next_step,
                @after = 0;
        END;
    END;

    -- Plan: the first keys of IX_job_executions_active_job_id. Usually there is no other run.
    IF @allow_overlap = 0 AND @is_planned = 0
    BEGIN
        INSERT INTO @others (execution_id)
        SELECT TOP (@most_others) e.execution_id
        FROM jobs_internal.job_executions AS e
        WHERE e.job_id = @job_id
            AND e.is_active = 1
            AND e.execution_id <> @execution_id
            AND e.mode IS NULL -- a trial leaves nothing undone
        ORDER BY e.execution_id;
        SET @other_count = @@ROWCOUNT;
    END;
    -- plan: per target and other run one key of UQ_target_executions_target_id
    IF @other_count > 0
        UPDATE r
        SET r.is_busy = 1
        FROM @rows AS r
        WHERE EXISTS (
            SELECT 1
            FROM @others AS o
            INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = o.execution_id AND s.step_id = @step_id
            INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = s.step_execution_id
            WHERE t.target_id = r.target_id
                AND t.is_active = 1
        );
    -- Plan: per target a range of IX_target_executions_target_id, which has the runs of the job on the target since the runs above, with a
    -- lookup of each of these runs. So runs that hang make no range long, until there are more of them than @most_others.
    IF @other_count = @most_others
    BEGIN
        SET @last_other = (SELECT MAX(o.execution_id) FROM @others AS o);
        UPDATE r
        SET r.is_busy = 1
        FROM @rows AS r
        WHERE r.is_busy = 0
            AND EXISTS (
                SELECT 1
                FROM jobs_internal.target_executions AS t
                INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = t.execution_id
                WHERE t.target_id = r.target_id
                    AND t.job_id = @job_id
                    AND t.execution_id > @last_other
                    AND t.execution_id <> @execution_id
                    AND t.step_id = @step_id
                    AND t.is_active = 1
                    AND e.is_active = 1
                    AND e.mode IS NULL
            );
    END;

    INSERT INTO jobs_internal.target_queues (execution_id, step_execution_id, job_id, step_id, server_name, elastic_pool_name)
    SELECT DISTINCT @execution_id, @step_execution_id, @job_id, @step_id, r.limit_server, COALESCE(r.elastic_pool_name, N'')
    FROM @rows AS r
    WHERE NOT EXISTS (
        SELECT 1
        FROM jobs_internal.target_queues AS q
        WHERE q.step_execution_id = @step_execution_id
            AND q.server_name = r.limit_server
            AND q.elastic_pool_name = COALESCE(r.elastic_pool_name, N'')
    );

    -- The internal id is computed and not drawn: a control database that was restored to a time before this step gives its targets the same
    -- again, so that a script that runs at most once and the receiver of an idempotency key recognise them.
    -- The order determines the keys of the targets, and so their turns. Plan: the step's queues, a few rows, are a range of the unique key
    -- of target_queues that begins with the step.
    INSERT INTO jobs_internal.target_executions (
        execution_id, step_execution_id, job_id, step_id, queue_id, ordinal, internal_id, target_id, server_name, database_name,
        elastic_pool_name, lifecycle, is_active, create_time, end_time, next_attempt_at, last_message, is_endpoint
    )
    SELECT
        @execution_id, @step_execution_id, @job_id, @step_id, q.queue_id, r.ordinal,
        COALESCE(r.internal_id, CAST(CAST(
            HASHBYTES('SHA2_256', CONCAT(@job_execution_id, N'/', @step_id, N'/', r.target_id)) AS BINARY(16)
        ) AS UNIQUEIDENTIFIER)),
        r.target_id, r.server_name, r.database_name, r.elastic_pool_name,
        CASE WHEN @is_planned = 1 OR r.is_busy = 1 OR r.is_missing = 1 THEN N'Skipped' ELSE N'Created' END,
        CASE WHEN @is_planned = 1 OR r.is_busy = 1 OR r.is_missing = 1 THEN 0 ELSE 1 END,
        @now,
        CASE WHEN @is_planned = 1 OR r.is_busy = 1 OR r.is_missing = 1 THEN @now END,
        CASE WHEN @is_planned = 0 AND r.is_busy = 0 AND r.is_missing = 0 THEN @now END,
        CASE
            WHEN r.is_missing = 1 THEN CONCAT(
                N'Step ', @step_id, N' was skipped on target (server ''', r.server_name, N''', database ''', r.database_name,
                N'''): the database was chosen for the run, but is not in the target group ''', @target_group_name, N'''.'
            )
            WHEN r.is_busy = 1 THEN CONCAT(
                N'Step ', @step_id, N' was skipped on ',
                CASE
                    WHEN r.is_endpoint = 1 THEN CONCAT(N'endpoint ''', r.server_name, N'''')
                    ELSE CONCAT(N'target (server ''', r.server_name, N''', database ''', r.database_name, N''')')
                END,
                N': another execution of the job is still running this step there.'
            )
        END,
        r.is_endpoint
    FROM @rows AS r
    INNER JOIN jobs_internal.target_queues AS q ON q.step_execution_id = @step_execution_id
        AND q.server_name = r.limit_server
        AND q.elastic_pool_name = COALESCE(r.elastic_pool_name, N'')
    ORDER BY r.ordinal;
    SET @written = @written + @@ROWCOUNT;

    IF @task_id IS NOT NULL
        DELETE p
        FROM jobs_internal.list_parts AS p
        WHERE p.task_id = @task_id
            AND p.part = @after;
    IF @complete = 0
    BEGIN
        UPDATE l
        SET l.from_step = @from_step,
            l.after = @after,
            l.examined = @origin_examined,
            l.written = @written,
            l.left_failed = @left_failed,
            l.left_canceled = @left_canceled
        FROM jobs_internal.step_lists AS l
        WHERE l.step_execution_id = @step_execution_id;
        RETURN 0;
    END;

    -- Failures that the origin tolerated did not count for the steps that come after.
    IF @origin_tolerated IS NOT NULL
        SET @left_failed = 0;
    DELETE l
    FROM jobs_internal.step_lists AS l
    WHERE l.step_execution_id = @step_execution_id;
    UPDATE s
    SET s.lifecycle = CASE WHEN @written = 0 THEN N'Succeeded' ELSE N'WaitingForChildJobExecutions' END,
        s.is_active = CASE WHEN @written = 0 THEN 0 ELSE 1 END,
        s.end_time = CASE WHEN @written = 0 THEN @now END,
        s.resolved_at = @now,
        s.targets = NULLIF(@written, 0),
        s.result = CASE
            WHEN @source IN (N'Failed', N'Succeeded') AND @left_failed = 1 THEN N'Failed'
            WHEN @source <> N'Origin' OR @is_dependent = 0 THEN s.result
            WHEN @left_failed = 1 THEN N'Failed'
            WHEN @left_canceled = 1 THEN N'Canceled'
            ELSE @origin_result
        END,
        s.last_message = CASE
            WHEN @is_planned = 1 AND @written > 0 THEN CONCAT(
                N'Step ', @step_id, N' has ', @written, N' target', CASE WHEN @written <> 1 THEN N's' END,
                N', on which it runs in the waves of the roll-out.'
            )
            WHEN @source = N'Wave' THEN CONCAT(
                N'Step ', @step_id,
                CASE WHEN @written = 0 THEN N' succeeded: it has none of' ELSE CONCAT(N' runs on ', @written, N' of') END,
                N' the ', @origin_examined, N' target', CASE WHEN @origin_examined <> 1 THEN N's' END, N' of the wave ''', (
                    SELECT w.name
                    FROM jobs_internal.rollout_waves AS w WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
                    WHERE w.execution_id = @rollout_of
                        AND w.wave = @wave
                ), N'''.'
            )
            WHEN @source IN (N'Origin', N'Whole') AND @written = 0 THEN CONCAT(
                N'Step ', @step_id, N' succeeded: it needs no rerun on the ', @origin_examined,
                N' ' + CASE WHEN @only_targets IS NOT NULL THEN N'chosen' END, N' target', CASE WHEN @origin_examined <> 1 THEN N's' END,
                N' that it had in the execution ', @origin_id, N'.'
            )
            WHEN @source IN (N'Origin', N'Whole') THEN CONCAT(
                N'Step ', @step_id, N' runs on ', @written, N' of the ', @origin_examined,
                N' ' + CASE WHEN @only_targets IS NOT NULL THEN N'chosen' END, N' target', CASE WHEN @origin_examined <> 1 THEN N's' END,
                N' that it had in the execution ', @origin_id, N'.'
            )
            WHEN @source IN (N'Failed', N'Succeeded') THEN CONCAT(
                N'Step ', @step_id,
                CASE
                    WHEN @written = 0 THEN N' succeeded: there are no targets'
                    ELSE CONCAT(N' runs on ', @written, N' target', CASE WHEN @written <> 1 THEN N's' END)
                END,
                N' on which step ',
                (
                    SELECT STRING_AGG(CAST(c.cause_step_id AS NVARCHAR(MAX)), N', ') WITHIN GROUP (ORDER BY c.cause_step_id)
                    FROM jobs_internal.step_execution_causes AS c
                    WHERE c.execution_id = @execution_id
                        AND c.step_id = @step_id
                ),
                CASE WHEN @source = N'Failed' THEN N' failed.' ELSE N' succeeded.' END
            )
            WHEN @written = 0 AND @on_targets <> N'All' THEN CONCAT(
                N'Step ', @step_id, N' succeeded: there are no targets on which the steps before it',
                CASE WHEN @on_targets = N'Failed' THEN N' failed.' ELSE N' succeeded.' END
            )
            WHEN @written = 0
                THEN CONCAT(N'Step ', @step_id, N' succeeded: the target group ''', @target_group_name, N''' resolved to no databases.')
            WHEN @on_targets <> N'All' THEN CONCAT(
                N'Step ', @step_id, N' runs on ', @written, N' target', CASE WHEN @written <> 1 THEN N's' END,
                N' on which the steps before it',
                CASE WHEN @on_targets = N'Failed' THEN N' failed.' ELSE N' succeeded.' END
            )
            WHEN @is_endpoint = 1 THEN CONCAT(N'Step ', @step_id, N' runs on its endpoint.')
            WHEN @only_targets IS NOT NULL AND @is_upkeep = 0 THEN CONCAT(
                N'Step ', @step_id, N' runs on ', @written - @missing, N' of the ', @chosen_count, N' chosen database',
                CASE WHEN @chosen_count <> 1 THEN N's' END,
                N'; ' + CAST(NULLIF(@missing, 0) AS NVARCHAR(12)) + CASE WHEN @missing = 1 THEN N' is' ELSE N' are' END + N' not',
                N' in the target group ''', @target_group_name, N'''.'
            )
            ELSE CONCAT(
                N'Step ', @step_id, N' runs on ', @written, N' target', CASE WHEN @written <> 1 THEN N's' END,
                N' of the target group ''', @target_group_name, N'''.'
            )
        END
    FROM jobs_internal.step_executions AS s
    WHERE s.step_execution_id = @step_execution_id;
    RETURN 0;
END;
