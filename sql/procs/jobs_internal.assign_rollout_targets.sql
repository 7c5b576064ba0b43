-- Writes the next slice of the targets of a roll-out, and assigns them to waves when all of them are there. Targets are the databases of
-- all lists of the roll-out's own run, each once; of an undo, those of the roll-out that is undone, in reverse order. A target that no wave
-- selects stays in wave 0: the roll-out leaves it out.
--
-- Before a wave with a filter of tags is filled, each target without a wave is compared once, in slices; one that matches gets the negative
-- number of the wave as its place.
--
-- Cost: @slice targets that are written or compared. A slice of a wave in the order of resolution also reads the keys of the targets before
-- it; one of another wave reads and sorts all targets that have no wave yet, or those that match its tags: no index has the order by name,
-- by tag or by chance. So a plan costs (targets / @slice) times the targets of one roll-out; other runs advance between slices.
--
-- Parameters:
--   @execution_id  The roll-out's own run; the caller has locked the row of the roll-out, and added its waves.
--   @slice         Maximum number of targets that are written, at least 1.
--   @examined      Output. Number of targets that were read or assigned, at least 1.
--   @complete      Output. 1: each wave has its targets.
--   @fault         Output. Why the waves cannot run: their targets cannot be known, or no wave would do the actions; NULL: they can.
-- Called by: jobs_internal.advance_rollout.
-- Locks:     the roll-out, its waves and targets (X); inserts into rollout_targets.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.assign_rollout_targets
    @execution_id BIGINT,
    @slice        INT = 5000,
    @examined     INT = 0 OUTPUT,
    @complete     BIT = 0 OUTPUT,
    @fault        NVARCHAR(1200) = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @complete = 0;
    SET @fault = NULL;
    DECLARE @room INT = @slice;
    DECLARE @read INT;
    DECLARE @read_step BIGINT;
    DECLARE @read_target BIGINT;
    DECLARE @all_compared BIGINT = 9223372036854775807;
    DECLARE @targets INT;
    DECLARE @seen BIGINT;
    DECLARE @seed INT;
    DECLARE @undo_of BIGINT;
    DECLARE @undo_states NVARCHAR(100);
    DECLARE @waves INT;
    DECLARE @wave INT;
    DECLARE @selects NVARCHAR(10);
    DECLARE @selection NVARCHAR(MAX);
    DECLARE @names NVARCHAR(MAX); -- or patterns; NULL: the wave selects otherwise
    DECLARE @order NVARCHAR(10);
    DECLARE @quota INT;
    DECLARE @assigned INT;
    DECLARE @wanted INT;
    DECLARE @found INT;
    DECLARE @rows TABLE (
        step_execution_id   BIGINT NOT NULL,
        target_execution_id BIGINT NOT NULL,
        target_id           UNIQUEIDENTIFIER NOT NULL,
        server_name         NVARCHAR(256) NOT NULL,
        database_name       NVARCHAR(128) NOT NULL,
        is_planned          BIT NOT NULL,
        wave                INT NOT NULL,
        place               INT NOT NULL,
        PRIMARY KEY (step_execution_id, target_execution_id)
    );
    DECLARE @order_tag NVARCHAR(128);
    DECLARE @compared_targets NVARCHAR(MAX);
    DECLARE @matches NVARCHAR(MAX);
    DECLARE @filter_fault NVARCHAR(1000);
    DECLARE @least_place INT;
    DECLARE @most_place INT;
    DECLARE @compared TABLE (seen BIGINT NOT NULL PRIMARY KEY, target_id UNIQUEIDENTIFIER NOT NULL, is_free BIT NOT NULL);
    DECLARE @tagged TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY); -- of these, those that the filter of the wave selects
    DECLARE @chosen TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, place INT NOT NULL);

    SELECT
        @read_step = r.read_step,
        @read_target = r.read_target,
        @targets = r.targets,
        @seed = r.seed,
        @undo_of = r.undo_of,
        @undo_states = r.undo_states
    FROM jobs_internal.rollouts AS r
    WHERE r.execution_id = @execution_id;
    SET @waves = (SELECT COUNT(*) FROM jobs_internal.rollout_waves AS w WHERE w.execution_id = @execution_id);

    IF @targets IS NULL
    BEGIN
        IF @undo_of IS NULL
            -- A planned target has no message; one that was chosen for the run and is not in the target group has. Plan: a range of
            -- IX_target_executions_execution_id with a lookup each.
            INSERT INTO @rows (
                step_execution_id, target_execution_id, target_id, server_name, database_name, is_planned, wave, place
            )
            SELECT TOP (@room)
                t.step_execution_id, t.target_execution_id, t.target_id, t.server_name, t.database_name,
                CASE WHEN t.is_endpoint = 0 AND t.last_message IS NULL THEN 1 ELSE 0 END, 0, 0
            FROM jobs_internal.target_executions AS t
            WHERE t.execution_id = @execution_id
                AND t.step_execution_id >= @read_step
                AND (t.step_execution_id > @read_step OR t.target_execution_id > @read_target)
            ORDER BY t.step_execution_id, t.target_execution_id;
        ELSE
            -- Plan: a range of IX_rollout_targets_seen with a lookup each, and the last key of its wave in IX_rollout_targets_wave.
            INSERT INTO @rows (
                step_execution_id, target_execution_id, target_id, server_name, database_name, is_planned, wave, place
            )
            SELECT TOP (@room)
                0, o.seen, o.target_id, o.server_name, o.database_name,
                CASE
                    WHEN o.wave > 0 AND o.ran = 1 AND o.state IN (SELECT p.value FROM STRING_SPLIT(@undo_states, N',') AS p) THEN 1
                    ELSE 0
                END,
                @waves + 1 - o.wave,
                (
                    -- Not the number of its targets: a target that was moved to another wave leaves a gap.
                    SELECT MAX(l.place)
                    FROM jobs_internal.rollout_targets AS l
                    WHERE l.execution_id = o.execution_id
                        AND l.wave = o.wave
                ) + 1 - o.place
            FROM jobs_internal.rollout_targets AS o
            WHERE o.execution_id = @undo_of
                AND o.seen > @read_target
            ORDER BY o.seen;
        SET @read = @@ROWCOUNT;
        SET @seen = (
            SELECT COALESCE(MAX(t.seen), 0)
            FROM jobs_internal.rollout_targets AS t
            WHERE t.execution_id = @execution_id
        );
        -- plan: per target of the slice one key of PK_rollout_targets
        WITH numbered AS (
            SELECT
                w.target_id, w.server_name, w.database_name, w.wave, w.place, w.step_execution_id, w.target_execution_id,
                ROW_NUMBER() OVER (PARTITION BY w.target_id ORDER BY w.step_execution_id, w.target_execution_id) AS turn
            FROM @rows AS w
            WHERE w.is_planned = 1
        )
        INSERT INTO jobs_internal.rollout_targets (execution_id, target_id, server_name, database_name, seen, wave, place)
        SELECT
            @execution_id, n.target_id, n.server_name, n.database_name,
            @seen + ROW_NUMBER() OVER (ORDER BY n.step_execution_id, n.target_execution_id),
            n.wave, n.place
        FROM numbered AS n
        WHERE n.turn = 1
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.rollout_targets AS t
                WHERE t.execution_id = @execution_id
                    AND t.target_id = n.target_id
            );
        SET @room = @room - @read;
        SELECT TOP (1)
            @read_step = w.step_execution_id,
            @read_target = w.target_execution_id
        FROM @rows AS w
        ORDER BY w.step_execution_id DESC, w.target_execution_id DESC;
        -- Plan: the number of the targets is that of the keys of one range, once.
        IF @room > 0
            SET @targets = (SELECT COUNT(*) FROM jobs_internal.rollout_targets AS t WHERE t.execution_id = @execution_id);
        UPDATE r
        SET r.read_step = @read_step,
            r.read_target = @read_target,
            r.targets = @targets
        FROM jobs_internal.rollouts AS r
        WHERE r.execution_id = @execution_id;
    END;

    -- A wave without databases has no run, so nothing would do actions without a target group, and the roll-out would succeed.
    IF @targets = 0
        AND @undo_of IS NULL
        AND EXISTS (
            SELECT 1
            FROM jobs_internal.target_executions AS t -- of one endpoint per step, since there is no database
            WHERE t.execution_id = @execution_id
                AND t.is_endpoint = 1
        )
    BEGIN
        SET @fault = N'No step found a database, so no wave runs, and the actions without a target group would not be done.';
        SET @examined = @slice - @room + 1;
        RETURN 0;
    END;

    IF @targets IS NOT NULL AND @undo_of IS NOT NULL
    BEGIN
        -- rows: the waves of one plan, at most 100
        UPDATE w
        SET w.targets = (
                SELECT COUNT(*)
                FROM jobs_internal.rollout_targets AS t
                WHERE t.execution_id = w.execution_id
                    AND t.wave = w.wave
            )
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @execution_id;
        SET @complete = 1;
    END;
    WHILE @targets IS NOT NULL AND @complete = 0 AND @room > 0
    BEGIN
        SET @wave = (
            SELECT MIN(w.wave)
            FROM jobs_internal.rollout_waves AS w
            WHERE w.execution_id = @execution_id
                AND w.targets IS NULL
        );
        IF @wave IS NULL
        BEGIN
            SET @complete = 1;
            BREAK;
        END;
        SELECT
            @selects = w.selects,
            @selection = w.selection,
            @order = w.target_order,
            @order_tag = w.order_tag,
            @quota = CASE
                WHEN w.selects = N'percent' THEN CEILING(CAST(w.selection AS INT) * @targets / 100.0)
                ELSE COALESCE(w.quota, @targets)
            END
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @execution_id
            AND w.wave = @wave;
        SET @assigned = (
            SELECT COUNT(*)
            FROM jobs_internal.rollout_targets AS t
            WHERE t.execution_id = @execution_id
                AND t.wave = @wave
        );
        SET @wanted = CASE WHEN @quota - @assigned < @room THEN @quota - @assigned ELSE @room END;
        -- Other selections are no JSON, which OPENJSON refuses (13609) wherever the plan evaluates it.
        SET @names = CASE WHEN @selects IN (N'names', N'like') THEN @selection END;
        -- read_step is the negative number of the wave whose filter is compared, and read_target the last target.
        IF @selects = N'tags' AND (@read_step <> -@wave OR @read_target < @all_compared)
        BEGIN
            SET @read_target = CASE WHEN @read_step = -@wave THEN @read_target ELSE 0 END;
            SET @read_step = -@wave;
            DELETE FROM @compared;
            DELETE FROM @tagged;
            -- Plan: a range of IX_rollout_targets_seen.
            INSERT INTO @compared (seen, target_id, is_free)
            SELECT TOP (@room) t.seen, t.target_id, CASE WHEN t.wave = 0 THEN 1 ELSE 0 END
            FROM jobs_internal.rollout_targets AS t
            WHERE t.execution_id = @execution_id
                AND t.seen > @read_target
            ORDER BY t.seen;
            SET @read = @@ROWCOUNT;
            SET @read_target = CASE WHEN @read < @room THEN @all_compared ELSE (SELECT MAX(c.seen) FROM @compared AS c) END;
            SET @compared_targets = COALESCE((SELECT c.target_id FROM @compared AS c WHERE c.is_free = 1 FOR JSON PATH), N'[]');
            EXECUTE jobs_internal.match_tags
                @filter = @selection,
                @targets = @compared_targets,
                @matches = @matches OUTPUT,
                @fault = @filter_fault OUTPUT;
            -- A filter that cannot be evaluated, because another release has stored it. Without its targets, later waves would take them
            -- too early, or none would.
            IF @filter_fault IS NOT NULL
            BEGIN
                SELECT @fault = CONCAT(N'The tags of the wave ''', w.name, N''' cannot be evaluated: ', @filter_fault)
                FROM jobs_internal.rollout_waves AS w
                WHERE w.execution_id = @execution_id
                    AND w.wave = @wave;
                SET @examined = @slice - @room + 1;
                RETURN 0;
            END;
            INSERT INTO @tagged (target_id)
            SELECT o.target_id
            FROM OPENJSON(@matches) WITH (target_id UNIQUEIDENTIFIER) AS o;
            UPDATE t
            SET t.place = -@wave
            FROM @tagged AS g
            INNER LOOP JOIN jobs_internal.rollout_targets AS t ON t.execution_id = @execution_id AND t.target_id = g.target_id;
            UPDATE r
            SET r.read_step = @read_step,
                r.read_target = @read_target
            FROM jobs_internal.rollouts AS r
            WHERE r.execution_id = @execution_id;
            SET @room = @room - @read - 1;
            CONTINUE;
        END;
        SET @least_place = CASE WHEN @selects = N'tags' THEN -@wave ELSE -100 END; -- a plan has at most 100 waves
        SET @most_place = CASE WHEN @selects = N'tags' THEN -@wave ELSE 0 END;
        DELETE FROM @chosen;
        -- Plan: a range of IX_rollout_targets_seen, in its order, past the keys of targets that have a wave.
        IF @order = N'resolution' AND @selects IN (N'count', N'percent', N'rest')
            INSERT INTO @chosen (target_id, place)
            SELECT TOP (@wanted) t.target_id, @assigned + ROW_NUMBER() OVER (ORDER BY t.seen)
            FROM jobs_internal.rollout_targets AS t
            WHERE t.execution_id = @execution_id
                AND t.wave = 0
            ORDER BY t.seen;
        ELSE
            -- reads: the targets of the roll-out that have no wave yet, or that match its tags, which are put in order
            -- Plan: a range of IX_rollout_targets_wave with a lookup each.
            INSERT INTO @chosen (target_id, place)
            SELECT c.target_id, @assigned + ROW_NUMBER() OVER (ORDER BY c.turn)
            FROM (
                SELECT TOP (@wanted) o.target_id, o.turn
                FROM (
                    SELECT
                        t.target_id,
                        ROW_NUMBER() OVER (
                            ORDER BY
                                CASE WHEN @order = N'name' THEN t.server_name END,
                                CASE WHEN @order = N'name' THEN t.database_name END,
                                CASE WHEN @order <> N'tag' OR v.number IS NOT NULL THEN 0 WHEN g.value IS NOT NULL THEN 1 ELSE 2 END,
                                v.number,
                                g.value,
                                CASE WHEN @order = N'random' THEN HASHBYTES('SHA2_256', CONCAT(@seed, N'/', t.target_id)) END,
                                t.seen
                        ) AS turn
                    FROM jobs_internal.rollout_targets AS t
                    LEFT JOIN jobs_internal.target_tags AS g ON g.target_id = t.target_id
                        AND g.name = CASE WHEN @order = N'tag' THEN @order_tag END
                    -- A binary collation, because others have digits beside 0 to 9. A conversion to decimal obeys no language.
                    CROSS APPLY (
                        SELECT
                            CASE WHEN g.value LIKE N'-%' THEN STUFF(g.value, 1, 1, N'') ELSE g.value END
                            COLLATE Latin1_General_100_BIN2 AS text
                    ) AS d
                    CROSS APPLY (
                        SELECT CASE
                            WHEN d.text LIKE N'[0-9]%'
                                AND d.text LIKE N'%[0-9]'
                                AND d.text NOT LIKE N'%[^0-9.]%'
                                AND d.text NOT LIKE N'%.%.%'
                                THEN TRY_CONVERT(DECIMAL(38, 10), g.value)
                        END AS number
                    ) AS v
                    WHERE t.execution_id = @execution_id
                        AND t.wave = 0
                        AND t.place BETWEEN @least_place AND @most_place
                        AND (
                            @selects IN (N'count', N'percent', N'rest', N'tags')
                            OR (
                                @selects = N'names'
                                AND CONCAT(t.server_name, N'/', t.database_name) IN (SELECT n.value FROM OPENJSON(@names) AS n)
                            )
                            OR (
                                @selects = N'like'
                                AND EXISTS (SELECT 1 FROM OPENJSON(@names) AS n WHERE t.database_name LIKE n.value)
                            )
                        )
                ) AS o
                ORDER BY o.turn
            ) AS c;
        SET @found = @@ROWCOUNT;
        UPDATE t
        SET t.wave = @wave,
            t.place = c.place
        FROM @chosen AS c
        INNER LOOP JOIN jobs_internal.rollout_targets AS t ON t.execution_id = @execution_id AND t.target_id = c.target_id;
        SET @room = @room - @found - 1;
        SET @assigned = @assigned + @found;
        IF @assigned = @quota OR @found < @wanted
            UPDATE w
            SET w.targets = @assigned
            FROM jobs_internal.rollout_waves AS w
            WHERE w.execution_id = @execution_id
                AND w.wave = @wave;
    END;
    IF @complete = 1
        -- rows: the waves of one plan, at most 100
        UPDATE w
        SET w.max_failed = CASE WHEN w.max_failed_percent IS NULL THEN w.max_failed ELSE w.max_failed_percent * w.targets / 100 END,
            w.max_unreached = CASE
                WHEN w.max_unreached_percent IS NULL THEN w.max_unreached
                ELSE w.max_unreached_percent * w.targets / 100
            END
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @execution_id;
    SET @examined = @slice - @room + 1;
    RETURN 0;
END;
