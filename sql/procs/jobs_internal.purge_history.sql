-- Deletes rows that are older than the retention: first finished runs, one batch in each call; then records of skipped instants, ended
-- backfills, changes of target groups, the action log, ended terms to which no run refers, and agents without terms. When no run is left
-- to purge, it also deletes parameters to which nothing refers any more, secrets of REST that no definition names, alerts, and entries of
-- the audit log and schemas of databases (delete_drift) older than the setting audit_retention_days (default 365). It also deletes
-- schedules that have been Completed or Faulted for longer than the setting schedule_retention_days (default 60), and jobs of job
-- collections whose schedule is. Call it until @remaining is 0.
--
-- Each statement deletes at most 1,000 rows, and is a transaction of its own. A call that purges runs deletes one batch of each other
-- kind; one without runs repeats them until there are no more rows, for two seconds at most.
--
-- Ages count from the clock, but at most from a week after the first purge of the night before: if the clock is years ahead for a night,
-- the history stays. The purge of the next night believes the clock.
--
-- Parameters:
--   @batch_size      Maximum number of runs to purge in this call; at least 1.
--   @retention_days  Age from which history is deleted; NULL: the setting history_retention_days, or 45.
--   @deleted         Receives the number of purged runs, which are no longer visible. A few of their rows are deleted
--                    at once; agents delete the rest.
--   @term_id         The caller's term; NULL: no term is checked.
--   @remaining       Receives 1 if rows may be left that are older than the retention, else 0. Agents of earlier releases call
--                    it until @deleted is 0 instead.
--   @term_guid       The term's GUID; NULL: an agent of an earlier release, not compared.
-- Called by: agent/upkeep.go, for the system job jobagent$history_retention.
-- Locks:     the row of retention_state (X); the purged runs (X), then their rows in small batches; schedules that were closed long
--            ago (X), and parameters (X), skipping locked rows; secrets (X), skipping locked rows; entries of the audit log and of
--            the action log (X), and rows of drift_references, drift_states and drift_schemas (X), skipping locked rows.
-- Returns:   0.
-- Throws:
--   50029 an argument is missing or out of range.
--   50201 the term has ended.
--   50204 the control database has another incarnation than the term.
CREATE OR ALTER PROCEDURE jobs_internal.purge_history
    @batch_size     INT = 100,
    @retention_days INT = NULL,
    @deleted        INT = NULL OUTPUT,
    @term_id        BIGINT = NULL,
    @remaining      BIT = NULL OUTPUT,
    @term_guid      UNIQUEIDENTIFIER = NULL,
    @now            DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @events TABLE (event_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @oldest DATETIME2(7);
    DECLARE @scheduler_oldest DATETIME2(7);
    DECLARE @schedules_oldest DATETIME2(7);
    DECLARE @most INT = 1000;   -- rows of one statement
    DECLARE @keys INT = 10000;  -- of runs that are read in one call
    DECLARE @read INT;
    DECLARE @chunk INT;         -- of these keys, which are read at once
    DECLARE @chunk_rows INT;
    DECLARE @rows INT;
    DECLARE @is_full BIT;       -- a kind may have more rows
    DECLARE @pauses TABLE (pause_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked_pauses TABLE (pause_id BIGINT NOT NULL PRIMARY KEY, paused_at DATETIME2(7) NOT NULL);
    DECLARE @seconds INT = 0;   -- for which batches of one kind are repeated
    DECLARE @until DATETIME2(7);
    DECLARE @left BIT;
    DECLARE @position_at DATETIME2(7);
    DECLARE @position_id BIGINT;
    DECLARE @old TABLE (
        execution_id BIGINT NOT NULL PRIMARY KEY,
        end_time     DATETIME2(7) NOT NULL,
        job_id       UNIQUEIDENTIFIER NOT NULL
    );
    DECLARE @runs TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, end_time DATETIME2(7) NOT NULL);
    DECLARE @entries TABLE (log_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @schedules TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked_schedules TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY, revision INT NOT NULL);
    DECLARE @first_claimed_at DATETIME2(7); -- of the tasks that are left
    DECLARE @trusted_at DATETIME2(7);

    IF @batch_size IS NULL OR @batch_size < 1 OR @retention_days NOT BETWEEN 0 AND 36500
        THROW 50029, N'Invalid arguments of purge_history: want @batch_size of at least 1, and @retention_days of 0 to 36500 or NULL.', 1;
    IF @term_id IS NOT NULL
        EXECUTE jobs_internal.check_term @term_id = @term_id, @term_guid = @term_guid;
    -- A night that is more than an hour in the future is one before the clock was set back; less than that, another session began it.
    UPDATE p
    SET @trusted_at = n.trusted_at,
        p.trusted_at = n.trusted_at,
        p.purged_at = n.purged_at
    FROM jobs_internal.retention_state AS p
    CROSS APPLY (
        SELECT
            CASE
                WHEN p.purged_at IS NULL OR p.purged_at > DATEADD(HOUR, 1, @now) THEN @now
                WHEN p.purged_at <= DATEADD(HOUR, -12, @now) THEN p.purged_at
                ELSE p.trusted_at
            END AS trusted_at,
            CASE
                WHEN p.purged_at > DATEADD(HOUR, -12, @now) AND p.purged_at <= DATEADD(HOUR, 1, @now) THEN p.purged_at
                ELSE @now
            END AS purged_at
    ) AS n
    WHERE p.id = 1;
    IF @now > DATEADD(DAY, 7, @trusted_at)
        SET @now = DATEADD(DAY, 7, @trusted_at);
    SET @retention_days = COALESCE(
        @retention_days,
        (SELECT s.value FROM jobs_internal.effective_settings AS s WHERE s.name = N'history_retention_days')
    );
    SET @oldest = DATEADD(DAY, -@retention_days, @now);

    -- Rows that another transaction holds are left to the next call.
    -- Those of jobs of job collections are kept for 60 days at least (R-41); only their keys are read meanwhile.
    SET @scheduler_oldest = CASE WHEN @retention_days < 60 THEN DATEADD(DAY, -60, @now) ELSE @oldest END;
    SET @remaining = 0;
    SELECT
        @position_at = COALESCE(p.end_time, '0001-01-01'),
        @position_id = COALESCE(p.execution_id, 0)
    FROM jobs_internal.retention_state AS p
    WHERE p.id = 1;
    -- Few keys are read at first, since most databases have no jobs of job collections. Plan: a range of IX_job_executions_end_time, which
    -- has the job.
    SET @chunk = @batch_size;
    SET @chunk_rows = @batch_size;
    SET @rows = 0;
    SET @read = 0;
    WHILE @rows < @batch_size AND @chunk_rows = @chunk AND @read < @keys
    BEGIN
        SET @chunk = CASE WHEN @read = 0 THEN @batch_size WHEN @read * 3 < @keys - @read THEN @read * 3 ELSE @keys - @read END;
        DELETE o
        FROM @old AS o;
        INSERT INTO @old (execution_id, end_time, job_id)
        SELECT TOP (@chunk) e.execution_id, e.end_time, e.job_id
        FROM jobs_internal.job_executions AS e
        WHERE e.is_active = 0
            AND e.purged_at IS NULL
            AND e.end_time < @oldest
            AND e.end_time >= @position_at
            AND (e.end_time > @position_at OR e.execution_id > @position_id)
        ORDER BY e.end_time, e.execution_id;
        SET @chunk_rows = @@ROWCOUNT;
        SET @read = @read + @chunk_rows;
        INSERT INTO @runs (execution_id, end_time)
        SELECT TOP (@batch_size - @rows) o.execution_id, o.end_time
        FROM @old AS o
        WHERE o.end_time < @scheduler_oldest
            OR NOT EXISTS (SELECT 1 FROM jobs_internal.scheduler_jobs AS d WHERE d.job_id = o.job_id)
        ORDER BY o.end_time, o.execution_id;
        SET @rows = @rows + @@ROWCOUNT;
        SELECT TOP (1)
            @position_at = o.end_time,
            @position_id = o.execution_id
        FROM @old AS o
        ORDER BY o.end_time DESC, o.execution_id DESC;
    END;
    -- The next call continues after the last run of a full batch, or after the last run that was read. At the end, it begins again.
    IF @rows = @batch_size
        SELECT TOP (1)
            @position_at = r.end_time,
            @position_id = r.execution_id
        FROM @runs AS r
        ORDER BY r.end_time DESC, r.execution_id DESC;
    ELSE IF @chunk_rows < @chunk
    BEGIN
        SET @position_at = NULL;
        SET @position_id = NULL;
    END;
    IF @position_at IS NOT NULL
        SET @remaining = 1;
    UPDATE p
    SET p.end_time = @position_at,
        p.execution_id = @position_id
    FROM jobs_internal.retention_state AS p
    WHERE p.id = 1
        AND (p.end_time IS NOT NULL OR @position_at IS NOT NULL);
    UPDATE e
    SET e.purged_at = @now
    FROM @runs AS r
    INNER LOOP JOIN jobs_internal.job_executions AS e WITH (UPDLOCK, READPAST, ROWLOCK) ON e.execution_id = r.execution_id
    WHERE e.purged_at IS NULL;

    SET @deleted = @@ROWCOUNT;
    IF @deleted > 0
    BEGIN
        SET @remaining = 1;
        EXECUTE jobs_internal.delete_leftovers;
    END
    ELSE
        SET @seconds = 2;

    -- Each pass deletes a batch of each kind; a kind whose batch was full may have more rows. An event that waits is kept. Entries of the
    -- action log are in the order of their time (plan: the first keys of PK_rest_action_log). A term has claimed nothing after its end, and
    -- task ids grow with time. Hosts that exist for a day leave an agent each (plan: a scan of agents, and a key of IX_terms_agent_id for
    -- each).
    SET @first_claimed_at = (SELECT TOP (1) k.claimed_at FROM jobs_internal.task_executions AS k ORDER BY k.task_id);
    SET @until = DATEADD(SECOND, @seconds, SYSUTCDATETIME());
    SET @is_full = 1;
    WHILE @is_full = 1
    BEGIN
        SET @is_full = 0;
        DELETE TOP (@most) s
        FROM jobs_internal.schedule_skips AS s
        WHERE s.recorded_at < @oldest;
        SET @is_full = CASE WHEN @@ROWCOUNT = @most THEN 1 ELSE @is_full END;
        DELETE v
        FROM @events AS v;
        INSERT INTO @events (event_id)
        SELECT TOP (@most) e.event_id
        FROM jobs_internal.trigger_events AS e
        WHERE e.created_at < @oldest
            AND e.is_waiting = 0;
        SET @is_full = CASE WHEN @@ROWCOUNT = @most THEN 1 ELSE @is_full END;
        DELETE e
        FROM @events AS v
        INNER LOOP JOIN jobs_internal.trigger_events AS e ON e.event_id = v.event_id;
        DELETE TOP (@most) f
        FROM jobs_internal.schedule_backfills AS f
        WHERE f.ended_at < @oldest;
        SET @is_full = CASE WHEN @@ROWCOUNT = @most THEN 1 ELSE @is_full END;
        DELETE f
        FROM @entries AS f;
        INSERT INTO @entries (log_id)
        SELECT f.log_id
        FROM (
            SELECT TOP (@most) a.log_id, a.at
            FROM jobs_internal.rest_action_log AS a
            ORDER BY a.log_id
        ) AS f
        WHERE f.at < @oldest;
        DELETE a
        FROM @entries AS f
        INNER LOOP JOIN jobs_internal.rest_action_log AS a WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON a.log_id = f.log_id;
        SET @is_full = CASE WHEN @@ROWCOUNT = @most THEN 1 ELSE @is_full END;
        DELETE TOP (@most) c
        FROM jobs_internal.group_changes AS c
        WHERE c.resolved_at < @oldest;
        SET @is_full = CASE WHEN @@ROWCOUNT = @most THEN 1 ELSE @is_full END;
        DELETE TOP (@most) t
        FROM jobs_internal.terms AS t
        WHERE t.ended_at < @oldest
            AND t.ended_at < COALESCE(@first_claimed_at, @now)
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.task_executions AS k WHERE k.term_id = t.term_id AND k.ended_at IS NULL);
        SET @is_full = CASE WHEN @@ROWCOUNT = @most THEN 1 ELSE @is_full END;
        DELETE TOP (@most) a
        FROM jobs_internal.agents AS a WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
        WHERE a.first_seen_at < @oldest
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.terms AS t WHERE t.agent_id = a.agent_id);
        SET @is_full = CASE WHEN @@ROWCOUNT = @most THEN 1 ELSE @is_full END;
        IF @is_full = 1 AND SYSUTCDATETIME() >= @until
        BEGIN
            SET @remaining = 1;
            BREAK;
        END;
    END;
    SET @schedules_oldest = DATEADD(
        DAY,
        -(SELECT x.value FROM jobs_internal.effective_settings AS x WHERE x.name = N'schedule_retention_days'),
        @now
    );
    INSERT INTO @schedules (schedule_id)
    SELECT TOP (@most) s.schedule_id
    FROM jobs_internal.schedules AS s
    WHERE s.closed_at < @schedules_oldest
        AND s.name <> N''
        AND s.awaits_verdict = 0
        AND NOT EXISTS (SELECT 1 FROM jobs_internal.scheduler_jobs AS d WHERE d.job_id = s.job_id)
        AND NOT EXISTS (SELECT 1 FROM jobs_internal.schedule_buffer AS b WHERE b.schedule_id = s.schedule_id)
        AND NOT EXISTS (SELECT 1 FROM jobs_internal.schedule_backfills AS f WHERE f.schedule_id = s.schedule_id AND f.state = N'Open')
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.job_executions AS e
            WHERE e.schedule_id = s.schedule_id
                AND e.schedule_id IS NOT NULL
                AND e.is_active = 1
        );
    SET @rows = @@ROWCOUNT;
    IF @rows > 0
    BEGIN
        BEGIN TRANSACTION;
        -- The schedule is locked before it is checked again; otherwise a backfill that was committed meanwhile would
        -- be deleted with it. revision is in no index, so the locks are on the clustered keys.
        INSERT INTO @locked_schedules (schedule_id, revision)
        SELECT s.schedule_id, s.revision
        FROM @schedules AS c
        INNER LOOP JOIN jobs_internal.schedules AS s WITH (UPDLOCK, READPAST, ROWLOCK) ON s.schedule_id = c.schedule_id;
        DELETE s
        FROM @locked_schedules AS l
        INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = l.schedule_id
        WHERE s.closed_at < @schedules_oldest
            AND s.awaits_verdict = 0
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.schedule_buffer AS b WHERE b.schedule_id = s.schedule_id)
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.schedule_backfills AS f WHERE f.schedule_id = s.schedule_id AND f.state = N'Open')
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.job_executions AS e
                WHERE e.schedule_id = s.schedule_id
                    AND e.schedule_id IS NOT NULL
                    AND e.is_active = 1
            );
        SET @remaining = CASE WHEN @rows = @most AND @@ROWCOUNT > 0 THEN 1 ELSE @remaining END;
        COMMIT TRANSACTION;
    END;
    EXECUTE jobs_internal.delete_closed_jobs @closed_before = @schedules_oldest, @remaining = @left OUTPUT, @now = @now;
    SET @remaining = CASE WHEN @left = 1 THEN 1 ELSE @remaining END;
    -- Pauses of databases that have ended, once passes have made due what they held. Plan: a scan of few rows, and a key of
    -- IX_target_executions_held_by for each.
    INSERT INTO @pauses (pause_id)
    SELECT TOP (@most) p.pause_id
    FROM jobs_internal.target_pauses AS p
    WHERE (p.resumed_at < DATEADD(DAY, -1, @now) OR p.ends_at < DATEADD(DAY, -1, @now))
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.target_executions AS t
            WHERE t.held_by = -p.pause_id
                AND t.held_by IS NOT NULL
                AND t.next_attempt_at IS NOT NULL
        );
    SET @remaining = CASE WHEN @@ROWCOUNT = @most THEN 1 ELSE @remaining END;
    BEGIN TRANSACTION;
    -- paused_at is in no index, so that the locks are on the clustered keys.
    INSERT INTO @locked_pauses (pause_id, paused_at)
    SELECT p.pause_id, p.paused_at
    FROM @pauses AS c
    INNER LOOP JOIN jobs_internal.target_pauses AS p WITH (UPDLOCK, READPAST, ROWLOCK) ON p.pause_id = c.pause_id;
    DELETE p
    FROM @locked_pauses AS l
    INNER LOOP JOIN jobs_internal.target_pauses AS p ON p.pause_id = l.pause_id
    WHERE p.resumed_at < DATEADD(DAY, -1, @now)
        OR p.ends_at < DATEADD(DAY, -1, @now);
    COMMIT TRANSACTION;
    -- Those of runs are deleted with them: this finds those of schedules that were changed or deleted.
    IF @deleted = 0
    BEGIN
        SET @until = DATEADD(SECOND, @seconds, SYSUTCDATETIME());
        EXECUTE jobs_internal.delete_payloads @until = @until, @remaining = @left OUTPUT;
        SET @remaining = CASE WHEN @left = 1 THEN 1 ELSE @remaining END;
        SET @until = DATEADD(SECOND, @seconds, SYSUTCDATETIME());
        EXECUTE jobs_internal.delete_secrets @until = @until, @remaining = @left OUTPUT, @now = @now;
        SET @remaining = CASE WHEN @left = 1 THEN 1 ELSE @remaining END;
        SET @until = DATEADD(SECOND, @seconds, SYSUTCDATETIME());
        EXECUTE jobs_internal.delete_audit_entries @until = @until, @remaining = @left OUTPUT, @now = @now;
        SET @remaining = CASE WHEN @left = 1 THEN 1 ELSE @remaining END;
        SET @until = DATEADD(SECOND, @seconds, SYSUTCDATETIME());
        EXECUTE jobs_internal.delete_alerts @oldest = @oldest, @until = @until, @remaining = @left OUTPUT;
        SET @remaining = CASE WHEN @left = 1 THEN 1 ELSE @remaining END;
        SET @until = DATEADD(SECOND, @seconds, SYSUTCDATETIME());
        EXECUTE jobs_internal.delete_drift @until = @until, @remaining = @left OUTPUT, @now = @now;
        SET @remaining = CASE WHEN @left = 1 THEN 1 ELSE @remaining END;
        SET @until = DATEADD(SECOND, @seconds, SYSUTCDATETIME());
        EXECUTE jobs_internal.delete_window_answers @until = @until, @remaining = @left OUTPUT, @now = @now;
        SET @remaining = CASE WHEN @left = 1 THEN 1 ELSE @remaining END;
    END;
    RETURN 0;
END;
