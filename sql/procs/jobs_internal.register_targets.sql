-- Registers the databases of lists of targets in jobs_internal.targets and jobs_internal.group_targets, and finds those that are gone.
-- Each call does one slice of this work. It reads what runs have written, long after they did: neither the write of a list nor a claim
-- does anything for it. DESIGN.md, "Targets and tags".
--
-- A call does the first of these that there is to do: it deletes rows of a target group that was deleted; it reads a slice of a list in
-- target_lists, in the order of target_id, and compares it with what the group had in this range; or it reads the next steps. Of the lists
-- of one group that these steps have, the last one says what the group resolves. The others can only have databases that are new.
--
-- The last slice of a list that says what the group resolves also says how many databases came and went: group_changes, for the alert
-- TargetsChanged.
--
-- The list of a group that has been purged meanwhile is left out. A step whose group is not resolved yet waits in target_lists.
--
-- Cost: at most 1,000 steps and two slices of targets a call. Targets that are known already are only read; last_seen_at is written once an
-- hour.
--
-- Parameters:
--   @slice  Maximum number of targets of a list, and of the group's rows, that a call compares; at least 1.
--   @more   Receives 1 if another call has more to do, 0 if nothing is left, or another session is at work.
-- Called by: agent/registrar.go.
-- Locks:     the application lock jobagent.targets; the row of target_state (X), rows of target_lists (X), group_lists (X), targets (X) and
--            group_targets (X); an insert into group_changes.
-- Returns:   0.
-- Throws:
--   50029 an argument is missing or out of range.
CREATE OR ALTER PROCEDURE jobs_internal.register_targets
    @slice INT = 5000,
    @more  BIT = NULL OUTPUT,
    @now   DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @lock INT;
    DECLARE @most INT = 1000; -- steps that a call reads
    DECLARE @rows INT;
    DECLARE @has_list BIT = 0;
    DECLARE @step_execution_id BIGINT;
    DECLARE @only_new BIT;
    DECLARE @after UNIQUEIDENTIFIER;
    DECLARE @last UNIQUEIDENTIFIER; -- of the slice; NULL: it is the last slice
    DECLARE @last_had UNIQUEIDENTIFIER;
    DECLARE @execution_id BIGINT;
    DECLARE @target_group_id UNIQUEIDENTIFIER;
    DECLARE @resolved_at DATETIME2(7);
    DECLARE @claimed_at DATETIME2(7);
    DECLARE @by_tags BIT;
    DECLARE @count INT;
    DECLARE @had_count INT;   -- of the list so far: databases that the group had, and those that came and went
    DECLARE @found_count INT;
    DECLARE @lost_count INT;
    DECLARE @is_chosen BIT; -- 1: of a run on chosen databases
    DECLARE @list_at DATETIME2(7);
    DECLARE @is_purged BIT;
    DECLARE @last_step BIGINT;
    -- The targets of the slice, and the rows of the group in the same range.
    DECLARE @list TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @had TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, is_gone BIT NOT NULL);
    DECLARE @found TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY); -- new rows of the group
    DECLARE @again TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY); -- that were gone
    DECLARE @lost TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);  -- that the list does not have
    DECLARE @changed TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, is_lost BIT NOT NULL); -- whose row in targets changes
    DECLARE @groups TABLE (target_group_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @unread TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, step_execution_id BIGINT NOT NULL); -- that are not known
    DECLARE @steps TABLE (
        step_execution_id BIGINT NOT NULL PRIMARY KEY,
        target_group_id   UNIQUEIDENTIFIER NOT NULL,
        is_list           BIT NOT NULL, -- of a resolution, by an agent
        is_open           BIT NOT NULL, -- its target group is not resolved yet
        is_recent         BIT NOT NULL,
        is_chosen         BIT NOT NULL,
        resolved_at       DATETIME2(7) NULL,
        targets           INT NULL,
        is_last           BIT NOT NULL DEFAULT 0
    );

    IF @slice IS NULL OR @slice < 1
        THROW 50029, N'Invalid @slice of register_targets: want at least 1.', 1;
    SET @more = 0;
    IF @@TRANCOUNT > 0
        RETURN 0;

    BEGIN TRANSACTION;
    EXECUTE @lock = sp_getapplock
        @Resource = N'jobagent.targets',
        @LockMode = N'Exclusive',
        @LockOwner = N'Transaction',
        @LockTimeout = 0,
        @DbPrincipal = N'jobs_agent';
    IF @lock < 0
    BEGIN
        COMMIT TRANSACTION;
        RETURN 0;
    END;

    -- A target group that was deleted.
    SET @target_group_id = (
        SELECT TOP (1) l.target_group_id
        FROM jobs_internal.group_lists AS l
        WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.target_groups AS g WHERE g.target_group_id = l.target_group_id)
        ORDER BY l.target_group_id
    );
    IF @target_group_id IS NOT NULL
    BEGIN
        SET @more = 1;
        SET @by_tags = (SELECT l.by_tags FROM jobs_internal.group_lists AS l WHERE l.target_group_id = @target_group_id);
        INSERT INTO @had (target_id, is_gone)
        SELECT TOP (@slice) m.target_id, CASE WHEN m.gone_at IS NULL THEN 0 ELSE 1 END
        FROM jobs_internal.group_targets AS m
        WHERE m.target_group_id = @target_group_id
        ORDER BY m.target_id;
        SET @rows = @@ROWCOUNT;
        DELETE m
        FROM @had AS h
        INNER LOOP JOIN jobs_internal.group_targets AS m ON m.target_group_id = @target_group_id AND m.target_id = h.target_id;
        IF @rows < @slice
            DELETE l
            FROM jobs_internal.group_lists AS l
            WHERE l.target_group_id = @target_group_id;
        INSERT INTO @lost (target_id)
        SELECT h.target_id
        FROM @had AS h
        WHERE h.is_gone = 0;
        SET @resolved_at = @now;
    END;

    -- The next list. Those of steps that wait for their resolution are few: each of them is active.
    IF @more = 0
        SELECT TOP (1)
            @has_list = 1,
            @step_execution_id = l.step_execution_id,
            @only_new = l.only_new,
            @after = l.after,
            @had_count = l.had,
            @found_count = l.found,
            @lost_count = l.lost
        FROM jobs_internal.target_lists AS l
        LEFT JOIN jobs_internal.step_executions AS s ON s.step_execution_id = l.step_execution_id
        WHERE s.step_execution_id IS NULL
            OR s.resolved_at IS NOT NULL
            OR s.is_active = 0
        ORDER BY l.step_execution_id;
    IF @has_list = 1
    BEGIN
        SET @more = 1;
        SELECT
            @target_group_id = d.target_group_id,
            @resolved_at = s.resolved_at,
            @claimed_at = s.attempt_start_time,
            @is_chosen = CASE WHEN e.only_targets IS NULL AND e.upstream_runs IS NULL THEN 0 ELSE 1 END
        FROM jobs_internal.step_executions AS s
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
        INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
        WHERE s.step_execution_id = @step_execution_id;
        SELECT
            @list_at = l.resolved_at,
            @by_tags = l.by_tags
        FROM jobs_internal.group_lists AS l
        WHERE l.target_group_id = @target_group_id;
        -- A slice that begins has zeros in @after. Another list of the group may have overtaken one that has begun.
        SET @only_new = CASE
            WHEN @is_chosen = 1 THEN 1
            WHEN NOT EXISTS (SELECT 1 FROM jobs_internal.target_groups AS g WHERE g.target_group_id = @target_group_id) THEN 1
            -- A list in the future is one before the clock was set back, unless it was read since the call began.
            WHEN @after = '00000000-0000-0000-0000-000000000000'
                AND @list_at BETWEEN @resolved_at AND DATEADD(MINUTE, 5, @now) THEN 1
            WHEN @after <> '00000000-0000-0000-0000-000000000000' AND @list_at <> @resolved_at THEN 1
            ELSE @only_new
        END;

        -- Plan: a range of UQ_target_executions_target_id, which has all of it.
        INSERT INTO @list (target_id)
        SELECT TOP (@slice) t.target_id
        FROM jobs_internal.target_executions AS t
        WHERE t.step_execution_id = @step_execution_id
            AND t.target_id > @after
        ORDER BY t.target_id;
        IF @@ROWCOUNT = @slice
            SET @last = (SELECT TOP (1) l.target_id FROM @list AS l ORDER BY l.target_id DESC);
        IF @only_new = 0
        BEGIN
            INSERT INTO @had (target_id, is_gone)
            SELECT TOP (@slice) m.target_id, CASE WHEN m.gone_at IS NULL THEN 0 ELSE 1 END
            FROM jobs_internal.group_targets AS m
            WHERE m.target_group_id = @target_group_id
                AND m.target_id > @after
            ORDER BY m.target_id;
            IF @@ROWCOUNT = @slice
                SET @last_had = (SELECT TOP (1) h.target_id FROM @had AS h ORDER BY h.target_id DESC);
            SET @last = CASE WHEN @last IS NULL OR @last_had < @last THEN @last_had ELSE @last END;
            DELETE l
            FROM @list AS l
            WHERE l.target_id > @last;
            DELETE h
            FROM @had AS h
            WHERE h.target_id > @last;
        END;

        -- After the targets were read, because a purge first marks the run, or its job, and then deletes them.
        SET @is_purged = CASE
            WHEN EXISTS (
                SELECT 1
                FROM jobs_internal.step_executions AS s
                INNER JOIN jobs_internal.visible_runs AS e ON e.execution_id = s.execution_id
                INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
                WHERE s.step_execution_id = @step_execution_id
                    AND s.resolved_at IS NOT NULL
                    AND j.deleted_at IS NULL
            ) THEN 0
            ELSE 1
        END;
        IF @is_purged = 1
        BEGIN
            DELETE l
            FROM @list AS l;
            DELETE h
            FROM @had AS h;
            SET @last = NULL;
            SET @only_new = 1;
        END;
        -- A database that was chosen, and is not in the group, is Skipped, with a message. Those of a roll-out have none.
        IF @is_chosen = 1
            DELETE l
            FROM @list AS l
            INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = @step_execution_id AND t.target_id = l.target_id
            WHERE t.lifecycle = N'Skipped'
                AND t.last_message IS NOT NULL;

        IF @only_new = 0 AND @after = '00000000-0000-0000-0000-000000000000'
        BEGIN
            -- Of the group, and of the groups that are its members.
            SET @count = 1;
            DELETE g
            FROM @groups AS g;
            INSERT INTO @groups (target_group_id)
            VALUES (@target_group_id);
            WHILE @count > 0
            BEGIN
                INSERT INTO @groups (target_group_id)
                SELECT DISTINCT m.member_group_id
                FROM @groups AS g
                INNER JOIN jobs_internal.target_group_members AS m ON m.target_group_id = g.target_group_id
                WHERE m.member_group_id IS NOT NULL
                    AND m.member_group_id NOT IN (SELECT x.target_group_id FROM @groups AS x);
                SET @count = @@ROWCOUNT;
            END;
            SET @by_tags = CASE
                WHEN EXISTS (
                    SELECT 1
                    FROM @groups AS g
                    INNER JOIN jobs_internal.target_group_members AS m ON m.target_group_id = g.target_group_id
                    WHERE m.target_type = N'Tag'
                        AND m.membership_type = N'Include'
                ) THEN 1
                ELSE 0
            END;
            UPDATE l
            SET l.resolved_at = @resolved_at,
                l.by_tags = @by_tags
            FROM jobs_internal.group_lists AS l
            WHERE l.target_group_id = @target_group_id;
            IF @@ROWCOUNT = 0
                INSERT INTO jobs_internal.group_lists (target_group_id, resolved_at, by_tags)
                VALUES (@target_group_id, @resolved_at, @by_tags);
        END;
        INSERT INTO @unread (target_id, step_execution_id)
        SELECT l.target_id, @step_execution_id
        FROM @list AS l
        WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.targets AS t WHERE t.target_id = l.target_id);

        IF @only_new = 0
        BEGIN
            INSERT INTO @found (target_id)
            SELECT l.target_id
            FROM @list AS l
            WHERE l.target_id NOT IN (SELECT h.target_id FROM @had AS h);
            INSERT INTO jobs_internal.group_targets (target_group_id, target_id, found_at)
            SELECT @target_group_id, f.target_id, @resolved_at
            FROM @found AS f;
            INSERT INTO @again (target_id)
            SELECT h.target_id
            FROM @had AS h
            WHERE h.is_gone = 1
                AND h.target_id IN (SELECT l.target_id FROM @list AS l);
            UPDATE m
            SET m.found_at = @resolved_at,
                m.gone_at = NULL
            FROM @again AS a
            INNER LOOP JOIN jobs_internal.group_targets AS m ON m.target_group_id = @target_group_id AND m.target_id = a.target_id;
            INSERT INTO @lost (target_id)
            SELECT h.target_id
            FROM @had AS h
            WHERE h.is_gone = 0
                AND h.target_id NOT IN (SELECT l.target_id FROM @list AS l);
            UPDATE m
            SET m.gone_at = @resolved_at
            FROM @lost AS o
            INNER LOOP JOIN jobs_internal.group_targets AS m ON m.target_group_id = @target_group_id AND m.target_id = o.target_id;
            SET @had_count = @had_count + (SELECT COUNT(*) FROM @had AS h WHERE h.is_gone = 0);
            SET @found_count = @found_count + (SELECT COUNT(*) FROM @found AS f) + (SELECT COUNT(*) FROM @again AS a);
            SET @lost_count = @lost_count + (SELECT COUNT(*) FROM @lost AS o);
            IF @last IS NULL
            BEGIN
                UPDATE l
                SET l.empty_at = CASE WHEN @had_count + @found_count = @lost_count THEN COALESCE(l.empty_at, @resolved_at) END
                FROM jobs_internal.group_lists AS l
                WHERE l.target_group_id = @target_group_id;
                IF @found_count + @lost_count > 0
                    INSERT INTO jobs_internal.group_changes (target_group_id, resolved_at, had, found, lost)
                    VALUES (@target_group_id, @resolved_at, @had_count, @found_count, @lost_count);
            END;
        END;

        -- A target that is there again, or whose last_seen_at is old. A group with Tag members has no target that was gone when it was
        -- resolved, unless another member found it.
        INSERT INTO @changed (target_id, is_lost)
        SELECT l.target_id, 0
        FROM @list AS l
        INNER JOIN jobs_internal.targets AS t ON t.target_id = l.target_id
        WHERE t.gone_at < @claimed_at
            OR (
                @only_new = 0
                AND @by_tags = 0
                AND (t.gone_at IS NOT NULL OR t.last_seen_at IS NULL OR t.last_seen_at < DATEADD(HOUR, -1, @resolved_at))
            );
        IF @last IS NULL
            DELETE l
            FROM jobs_internal.target_lists AS l
            WHERE l.step_execution_id = @step_execution_id;
        ELSE
            UPDATE l
            SET l.after = @last,
                l.only_new = @only_new,
                l.had = @had_count,
                l.found = @found_count,
                l.lost = @lost_count
            FROM jobs_internal.target_lists AS l
            WHERE l.step_execution_id = @step_execution_id;
    END;

    -- The next steps, up to the first one that is likely to be resolved in a moment.
    IF @more = 0
    BEGIN
        SET @last_step = (SELECT p.last_step FROM jobs_internal.target_state AS p WHERE p.id = 1);
        -- Plan: a range of PK_step_executions.
        INSERT INTO @steps (
            step_execution_id, target_group_id, is_list, is_open, is_recent, is_chosen, resolved_at, targets
        )
        SELECT TOP (@most)
            s.step_execution_id,
            d.target_group_id,
            CASE WHEN s.resolved_at IS NOT NULL AND s.attempts > 0 THEN 1 ELSE 0 END,
            CASE WHEN s.resolved_at IS NULL AND s.is_active = 1 THEN 1 ELSE 0 END,
            CASE WHEN s.create_time > DATEADD(MINUTE, -1, @now) THEN 1 ELSE 0 END,
            CASE WHEN e.only_targets IS NULL AND e.upstream_runs IS NULL THEN 0 ELSE 1 END,
            s.resolved_at,
            s.targets
        FROM jobs_internal.step_executions AS s
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
        INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
        WHERE s.step_execution_id > @last_step
        ORDER BY s.step_execution_id;
        -- An action without a target group has an endpoint, and a step that follows others has targets that they had.
        UPDATE s
        SET s.is_list = 0,
            s.is_open = 0
        FROM @steps AS s
        WHERE s.target_group_id = '00000000-0000-0000-0000-000000000000'
            OR EXISTS (
                SELECT 1
                FROM jobs_internal.step_executions AS x
                INNER JOIN jobs_internal.job_steps AS d ON d.job_id = x.job_id AND d.version = x.job_version AND d.step_id = x.step_id
                WHERE x.step_execution_id = s.step_execution_id
                    AND d.on_targets <> N'All'
            );
        DELETE s
        FROM @steps AS s
        WHERE s.step_execution_id >= (
            SELECT MIN(o.step_execution_id)
            FROM @steps AS o
            WHERE o.is_open = 1
                AND o.is_recent = 1
        );
        -- The lists that are read here have two slices of targets at most.
        WITH counted AS (
            SELECT
                s.step_execution_id,
                SUM(CASE WHEN s.is_list = 1 AND s.targets <= @slice THEN s.targets ELSE 0 END) OVER (
                    ORDER BY s.step_execution_id ROWS UNBOUNDED PRECEDING
                ) AS targets
            FROM @steps AS s
        )
        DELETE s
        FROM @steps AS s
        INNER JOIN counted AS c ON c.step_execution_id = s.step_execution_id
        WHERE c.targets > 2 * @slice;
        IF EXISTS (SELECT 1 FROM @steps AS s)
        BEGIN
            SET @more = 1;
            UPDATE p
            SET p.last_step = (SELECT MAX(s.step_execution_id) FROM @steps AS s)
            FROM jobs_internal.target_state AS p
            WHERE p.id = 1;
            WITH numbered AS (
                SELECT
                    s.step_execution_id,
                    ROW_NUMBER() OVER (PARTITION BY s.target_group_id ORDER BY s.resolved_at DESC, s.step_execution_id DESC) AS place
                FROM @steps AS s
                WHERE s.is_list = 1
                    AND s.is_chosen = 0
            )
            UPDATE s
            SET s.is_last = 1
            FROM @steps AS s
            INNER JOIN numbered AS n ON n.step_execution_id = s.step_execution_id
            WHERE n.place = 1;
            INSERT INTO jobs_internal.target_lists (step_execution_id, only_new)
            SELECT s.step_execution_id, CASE WHEN s.is_last = 1 OR s.is_open = 1 THEN 0 ELSE 1 END
            FROM @steps AS s
            WHERE s.is_open = 1
                OR (s.is_list = 1 AND (s.is_last = 1 OR s.is_chosen = 1 OR COALESCE(s.targets, @slice + 1) > @slice));
            -- Each list has less than a slice, and all of them less than three.
            INSERT INTO @unread (target_id, step_execution_id)
            SELECT t.target_id, MAX(s.step_execution_id)
            FROM @steps AS s
            INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = s.step_execution_id
            WHERE s.is_list = 1
                AND s.is_last = 0
                AND s.is_chosen = 0
                AND s.targets <= @slice
                AND NOT EXISTS (SELECT 1 FROM jobs_internal.targets AS k WHERE k.target_id = t.target_id)
            GROUP BY t.target_id;
        END;
    END;

    -- Those that no other group resolves: a group that finds databases by tags does not tell whether they are there.
    IF @by_tags = 0
        INSERT INTO @changed (target_id, is_lost)
        SELECT o.target_id, 1
        FROM @lost AS o
        INNER JOIN jobs_internal.targets AS t ON t.target_id = o.target_id
        WHERE t.gone_at IS NULL
            AND t.first_seen_at IS NOT NULL
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.group_targets AS m
                INNER JOIN jobs_internal.group_lists AS l ON l.target_group_id = m.target_group_id
                WHERE m.target_id = o.target_id
                    AND m.gone_at IS NULL
                    AND l.by_tags = 0
            );
    -- Known ones before new ones, in the order of their ids, as in jobs.sp_set_target_tags.
    UPDATE t
    SET t.server_name = COALESCE(n.server_name, t.server_name),
        t.database_name = COALESCE(n.database_name, t.database_name),
        t.elastic_pool_name = CASE WHEN c.is_lost = 1 THEN t.elastic_pool_name ELSE n.elastic_pool_name END,
        t.first_seen_at = COALESCE(t.first_seen_at, @resolved_at),
        t.last_seen_at = CASE WHEN c.is_lost = 1 OR t.last_seen_at > @resolved_at THEN t.last_seen_at ELSE @resolved_at END,
        t.gone_at = CASE
            WHEN c.is_lost = 1 THEN @resolved_at
            WHEN (@only_new = 1 OR @by_tags = 1) AND t.gone_at >= @claimed_at THEN t.gone_at
        END
    FROM @changed AS c
    INNER LOOP JOIN jobs_internal.targets AS t ON t.target_id = c.target_id
    LEFT JOIN jobs_internal.target_executions AS n ON n.step_execution_id = @step_execution_id
        AND n.target_id = c.target_id
        AND c.is_lost = 0;

    -- Those that are not known yet. Plan: a key of UQ_target_executions_target_id with a lookup for each.
    INSERT INTO jobs_internal.targets (
        target_id, server_name, database_name, server_key, database_key, elastic_pool_name, first_seen_at, last_seen_at
    )
    SELECT
        u.target_id,
        t.server_name,
        t.database_name,
        CASE WHEN k.server_key LIKE N'%,1433' THEN LEFT(k.server_key, LEN(k.server_key) - 5) ELSE k.server_key END,
        LTRIM(RTRIM(LOWER(t.database_name COLLATE Latin1_General_100_CI_AS))),
        t.elastic_pool_name,
        s.resolved_at,
        s.resolved_at
    FROM @unread AS u
    INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = u.step_execution_id AND t.target_id = u.target_id
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = u.step_execution_id
    CROSS APPLY (
        SELECT LTRIM(RTRIM(LOWER(t.server_name COLLATE Latin1_General_100_CI_AS))) AS folded
    ) AS f
    CROSS APPLY (
        SELECT CASE WHEN f.folded LIKE N'tcp:%' THEN STUFF(f.folded, 1, 4, N'') ELSE f.folded END AS server_key
    ) AS k
    WHERE t.is_endpoint = 0
    ORDER BY u.target_id;
    COMMIT TRANSACTION;
    RETURN 0;
END;
