-- Lists the work of agents on schedules: due schedules, schedules that wait for validation or whose validation must be renewed, and open
-- backfills; and the windows of roll-outs and databases that have to be evaluated, which only agents can do, too. It changes nothing.
-- Without any such work it reads only the first keys of six filtered indexes; otherwise it reads the rows that it lists, and
-- (next_fire_at, next_due_at) of every due schedule.
--
-- Parameters:
--   @max          Maximum number of rows of each of the three lists; at least 1. While the job agent is Disabled, Faulted or being
--                 deleted, or the control database is paused, the lists are empty.
--   @other_kinds  Kinds that the caller does not support, separated by commas. They are left out, because many of them
--                 could crowd out the kinds that the caller supports. NULL: all kinds are listed.
-- Called by: agent/scheduler.go.
-- Locks:     nothing; rows with uncommitted changes of another transaction are left out.
-- Returns:   1: one row: now; next_fire_at (when the earliest schedule that is not due yet will be; NULL: none);
--               last_worked_at and working_since, if the earliest due instant lies before the start of every current term, else NULL:
--               the period without agents, from the end of the last earlier term (NULL: there was none)
--               to the start of the first current term; min_interval_seconds (the setting schedule_min_interval_seconds; 0: any
--               interval is valid).
--            2: the due schedules, longest overdue first. A count in the text is compared with the column executions.
--            3: the schedules that wait for validation, with the same columns, and after them at most 100 whose recheck_at has passed:
--               many pass at one change of clocks, and due schedules should not wait for all of them.
--            4: open backfills, oldest first, except those whose instants wait to run one after the other (they are listed again
--               when none waits; otherwise a large range would fill schedule_buffer): backfill_id, from_at, to_at, next_at,
--               backfill_overlap, and the same columns.
--            5: all calendars (name, spec), if a text of those above has "blackouts"; else none.
--            6: at most @max roll-outs whose wave waits for its window, or is in it, and whose last answer has expired: execution_id; wave;
--               window_check_at, which record_windows compares; calendar_name; spec (NULL: there is no such calendar). And at most @max
--               windows of databases: answer_id, window_check_at, calendar_name and spec (empty: at all times), blackouts_name and
--               blackouts_spec, time_zone (of calendars that name none; empty: UTC); execution_id and wave are 0.
-- Throws:
--   50029 an argument is missing or out of range.
CREATE OR ALTER PROCEDURE jobs_internal.due_schedules
    @max         INT,
    @other_kinds NVARCHAR(4000) = NULL,
    @now         DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @first_due_at DATETIME2(7);
    DECLARE @last_worked_at DATETIME2(7);
    DECLARE @working_since DATETIME2(7);
    DECLARE @waiting INT; -- schedules that wait for validation
    DECLARE @calendars BIT;
    DECLARE @listed TABLE (
        list        NVARCHAR(11) NOT NULL, -- Due, Unvalidated or Backfill
        place       INT NOT NULL,
        schedule_id BIGINT NOT NULL,
        backfill_id BIGINT NULL,
        PRIMARY KEY (list, place)
    );

    IF @max IS NULL OR @max < 1
        THROW 50029, N'Invalid @max of due_schedules: want at least 1.', 1;

    SET @other_kinds = CONCAT(N',', @other_kinds, N',');
    IF EXISTS (
        SELECT 1
        FROM jobs_internal.job_agent AS a
        WHERE a.id = 1
            AND (a.state IN (N'Disabled', N'Faulted', N'Deleting', N'Deleted') OR a.paused_at IS NOT NULL)
    )
        SET @max = 0;

    -- Plan: the start of IX_schedules_next_fire_at, which holds next_due_at: as many keys as schedules are due.
    SELECT @first_due_at = MIN(s.next_due_at)
    FROM jobs_internal.schedules AS s
    WHERE s.next_fire_at IS NOT NULL
        AND s.next_fire_at <= @now;

    -- A current term has had no gap since it began. Plan: all terms, as many as agents were started within
    -- the retention time, and only after an outage.
    IF @first_due_at IS NOT NULL
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.terms AS t
            WHERE t.ended_at IS NULL
                AND t.expires_at > @now
                AND t.started_at <= @first_due_at
        )
        WITH term_periods AS (
            SELECT
                t.term_id,
                t.started_at,
                MAX(CASE WHEN t.ended_at < t.expires_at THEN t.ended_at ELSE t.expires_at END)
                    OVER (ORDER BY t.started_at, t.term_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS worked_until
            FROM jobs_internal.terms AS t
            WHERE t.started_at <= @now
        )
        SELECT TOP (1)
            @last_worked_at = g.worked_until,
            @working_since = g.started_at
        FROM term_periods AS g
        WHERE g.worked_until IS NULL
            OR g.worked_until < g.started_at
        ORDER BY g.started_at DESC, g.term_id DESC;

    -- TOP (1) and not MIN, which may read all schedules that are not due (DESIGN.md, "Rules of sql/", first). Plan: one key of
    -- IX_schedules_next_fire_at.
    SELECT
        @now AS now,
        (
            SELECT TOP (1) s.next_fire_at
            FROM jobs_internal.schedules AS s
            WHERE s.next_fire_at IS NOT NULL
                AND s.next_fire_at > @now
            ORDER BY s.next_fire_at
        ) AS next_fire_at,
        @last_worked_at AS last_worked_at,
        @working_since AS working_since,
        (SELECT x.value FROM jobs_internal.effective_settings AS x WHERE x.name = N'schedule_min_interval_seconds') AS min_interval_seconds;

    -- The locks are not kept: they detect schedules and jobs that another transaction has changed, which are left to a later call (I14).
    -- Plan: IX_schedules_next_fire_at, IX_schedules_awaits_verdict, IX_schedules_recheck_at and the open backfills, each in the required
    -- order, so that at most @max rows are looked up, plus those that are left out.
    INSERT INTO @listed (list, place, schedule_id)
    SELECT TOP (@max) N'Due', ROW_NUMBER() OVER (ORDER BY s.next_fire_at, s.schedule_id), s.schedule_id
    FROM jobs_internal.schedules AS s WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
    INNER JOIN jobs_internal.jobs AS j WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON j.job_id = s.job_id
    WHERE s.next_fire_at IS NOT NULL
        AND s.next_fire_at <= @now
        AND CHARINDEX(CONCAT(N',', s.kind, N','), @other_kinds) = 0
        AND j.deleted_at IS NULL
    ORDER BY s.next_fire_at, s.schedule_id;
    INSERT INTO @listed (list, place, schedule_id)
    SELECT TOP (@max) N'Unvalidated', ROW_NUMBER() OVER (ORDER BY s.schedule_id), s.schedule_id
    FROM jobs_internal.schedules AS s WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
    INNER JOIN jobs_internal.jobs AS j WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON j.job_id = s.job_id
    WHERE s.awaits_verdict = 1
        AND CHARINDEX(CONCAT(N',', s.kind, N','), @other_kinds) = 0
        AND j.deleted_at IS NULL
    ORDER BY s.schedule_id;
    SELECT @waiting = COUNT(*)
    FROM @listed AS l
    WHERE l.list = N'Unvalidated';
    INSERT INTO @listed (list, place, schedule_id)
    SELECT TOP (CASE WHEN @max - @waiting < 100 THEN @max - @waiting ELSE 100 END)
        N'Unvalidated', @waiting + ROW_NUMBER() OVER (ORDER BY s.recheck_at, s.schedule_id), s.schedule_id
    FROM jobs_internal.schedules AS s WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
    INNER JOIN jobs_internal.jobs AS j WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON j.job_id = s.job_id
    WHERE s.recheck_at IS NOT NULL
        AND s.recheck_at <= @now
        AND s.awaits_verdict = 0
        AND CHARINDEX(CONCAT(N',', s.kind, N','), @other_kinds) = 0
        AND j.deleted_at IS NULL
    ORDER BY s.recheck_at, s.schedule_id;
    INSERT INTO @listed (list, place, schedule_id, backfill_id)
    SELECT TOP (@max) N'Backfill', ROW_NUMBER() OVER (ORDER BY f.backfill_id), f.schedule_id, f.backfill_id
    FROM jobs_internal.schedule_backfills AS f
    INNER JOIN jobs_internal.schedules AS s WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON s.schedule_id = f.schedule_id
    INNER JOIN jobs_internal.jobs AS j WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON j.job_id = s.job_id
    WHERE f.state = N'Open'
        AND (s.validated_at IS NOT NULL OR s.spec IS NULL)
        AND CHARINDEX(CONCAT(N',', s.kind, N','), @other_kinds) = 0
        AND j.deleted_at IS NULL
        AND NOT (f.overlap = N'BufferAll' AND EXISTS (
            SELECT 1
            FROM jobs_internal.schedule_buffer AS b
            WHERE b.schedule_id = f.schedule_id
                AND b.backfill_id = f.backfill_id
        ))
    ORDER BY f.backfill_id;

    SELECT
        d.schedule_id,
        d.job_id,
        d.job_name,
        d.schedule_name,
        d.kind,
        d.spec,
        d.interval_type,
        d.interval_count,
        d.start_time,
        d.end_time,
        d.anchor_at,
        d.time_zone,
        d.next_due_at,
        d.last_due_at,
        d.next_fire_at,
        d.catch_up,
        d.overlap,
        d.defined_at,
        d.activated_at,
        d.last_started_at,
        d.executions,
        d.revision,
        d.engine
    FROM @listed AS l
    INNER JOIN jobs_internal.schedule_definitions AS d ON d.schedule_id = l.schedule_id
    WHERE l.list = N'Due'
        AND d.next_fire_at <= @now -- another agent may have fired it since it was listed, so that its next instant is not due
    ORDER BY l.place;

    SELECT
        d.schedule_id,
        d.job_id,
        d.job_name,
        d.schedule_name,
        d.kind,
        d.spec,
        d.interval_type,
        d.interval_count,
        d.start_time,
        d.end_time,
        d.anchor_at,
        d.time_zone,
        d.next_due_at,
        d.last_due_at,
        d.next_fire_at,
        d.catch_up,
        d.overlap,
        d.defined_at,
        d.activated_at,
        d.last_started_at,
        d.executions,
        d.revision,
        d.engine
    FROM @listed AS l
    INNER JOIN jobs_internal.schedule_definitions AS d ON d.schedule_id = l.schedule_id
    WHERE l.list = N'Unvalidated'
    ORDER BY l.place;

    SELECT
        f.backfill_id,
        f.from_at,
        f.to_at,
        f.next_at,
        f.overlap AS backfill_overlap,
        d.schedule_id,
        d.job_id,
        d.job_name,
        d.schedule_name,
        d.kind,
        d.spec,
        d.interval_type,
        d.interval_count,
        d.start_time,
        d.end_time,
        d.anchor_at,
        d.time_zone,
        d.next_due_at,
        d.last_due_at,
        d.next_fire_at,
        d.catch_up,
        d.overlap,
        d.defined_at,
        d.activated_at,
        d.last_started_at,
        d.executions,
        d.revision,
        d.engine
    FROM @listed AS l
    INNER JOIN jobs_internal.schedule_backfills AS f ON f.backfill_id = l.backfill_id
    INNER JOIN jobs_internal.schedule_definitions AS d ON d.schedule_id = l.schedule_id
    WHERE l.list = N'Backfill'
    ORDER BY l.place;

    SET @calendars = CASE
        WHEN EXISTS (
            SELECT 1
            FROM @listed AS l
            INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = l.schedule_id
            WHERE s.spec LIKE N'%blackouts%'
        ) THEN 1
        ELSE 0
    END;
    SELECT
        c.name,
        c.spec
    FROM jobs_internal.calendars AS c
    WHERE @calendars = 1
    ORDER BY c.name;

    -- The next time is a minute away at most, or was set since the call began. One that is further away is of before the clock was set
    -- back.
    -- Plan: the starts and the ends of IX_rollouts_window_check_at and of IX_window_answers_check_at; a key of rollout_waves and of
    -- calendars each.
    WITH waves AS (
        SELECT TOP (@max)
            r.execution_id,
            r.wave,
            r.window_check_at,
            w.window_name
        FROM jobs_internal.rollouts AS r
        INNER JOIN jobs_internal.rollout_waves AS w ON w.execution_id = r.execution_id AND w.wave = r.wave
        WHERE r.window_check_at IS NOT NULL
            AND (r.window_check_at <= @now OR r.window_check_at > DATEADD(MINUTE, 2, @now))
            AND w.window_name IS NOT NULL
        ORDER BY r.window_check_at, r.execution_id
    ),
    asked AS (
        SELECT TOP (@max)
            a.answer_id,
            a.check_at,
            a.calendar_name,
            a.blackouts_name,
            a.time_zone
        FROM jobs_internal.window_answers AS a WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
        WHERE a.check_at IS NOT NULL
            AND (a.check_at <= @now OR a.check_at > DATEADD(MINUTE, 2, @now))
        ORDER BY a.check_at, a.answer_id
    )
    SELECT
        w.execution_id,
        w.wave,
        w.window_check_at,
        w.window_name AS calendar_name,
        c.spec,
        CAST(0 AS BIGINT) AS answer_id,
        CAST(N'' AS NVARCHAR(128)) AS blackouts_name,
        CAST(NULL AS NVARCHAR(MAX)) AS blackouts_spec,
        CAST(N'' AS NVARCHAR(128)) AS time_zone
    FROM waves AS w
    LEFT JOIN jobs_internal.calendars AS c ON c.name = w.window_name
    UNION ALL
    SELECT
        CAST(0 AS BIGINT),
        0,
        k.check_at,
        k.calendar_name,
        c.spec,
        k.answer_id,
        k.blackouts_name,
        b.spec,
        k.time_zone
    FROM asked AS k
    LEFT JOIN jobs_internal.calendars AS c ON c.name = k.calendar_name
    LEFT JOIN jobs_internal.calendars AS b ON b.name = k.blackouts_name
    ORDER BY window_check_at, execution_id, answer_id;
    RETURN 0;
END;
