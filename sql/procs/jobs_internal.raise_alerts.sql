-- One stage of evaluate_alerts: finds what the rules of the stage watch, and changes alerts accordingly.
--
-- A transaction changes few alerts: those about the jobs of one batch of runs, or @most new events and @most alerts whose condition does
-- not hold any more. What is left is said by @more.
--
-- Parameters:
--   @stage       0: the runs of one batch that have ended, for all rules about such runs; the id of a rule whose condition lasts; or
--                2147483647: what remains, namely alerts whose rule or job is gone, notifications, and rows that are not needed any more.
--   @batch       Runs of the batch, for stage 0.
--   @runs_after  Runs with a greater id belong to the batch, for stage 0.
--   @runs_to     Runs with an id up to this one belong to the batch, for stage 0.
--   @more        Receives 1 if the stage is to be continued.
--   @now         The time of the evaluation.
-- Called by: jobs_internal.evaluate_alerts, within a transaction that holds the row of alert_state.
-- Locks:     rows of alert_runs (U, X; READPAST), alerts (U, X; READPAST), their deliveries (X), rows of alert_run_limits (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.raise_alerts
    @stage      INT,
    @batch      INT,
    @runs_after BIGINT,
    @runs_to    BIGINT,
    @more       BIT OUTPUT,
    @now        DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @most INT = 500;    -- new events, and alerts to resolve
    DECLARE @last_stage INT = 2147483647;
    DECLARE @taken_runs INT = 0;
    DECLARE @is_cut BIT = 0;    -- 1: more holds than was read, so nothing may be resolved
    DECLARE @over BIT = 0;      -- 1: there is more than one transaction changes
    DECLARE @changed INT = 0;   -- alerts that this transaction has changed
    DECLARE @live_agents INT;
    DECLARE @last_live_at DATETIME2(7);
    DECLARE @agent_state NVARCHAR(20) = (SELECT a.state FROM jobs_internal.job_agent AS a WHERE a.id = 1);
    DECLARE @least_grace INT;
    DECLARE @why NVARCHAR(400); -- nothing runs
    DECLARE @ended NVARCHAR(MAX); -- the runs of the batch
    -- The rules that are enabled.
    DECLARE @rules TABLE (
        rule_id          INT NOT NULL PRIMARY KEY,
        name             NVARCHAR(128) NOT NULL,
        condition        NVARCHAR(30) NOT NULL,
        severity         NVARCHAR(10) NOT NULL,
        job_id           UNIQUEIDENTIFIER NULL,
        like_pattern     NVARCHAR(600) NULL,
        lifecycles       NVARCHAR(210) NULL, -- between commas
        percent_failed   DECIMAL(5, 2) NULL,
        factor           DECIMAL(9, 2) NULL,
        runs             INT NULL,
        seconds          INT NOT NULL,
        throttle_seconds INT NOT NULL,
        watches_from     DATETIME2(7) NOT NULL
    );
    DECLARE @taken TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @runs TABLE (
        execution_id     BIGINT NOT NULL PRIMARY KEY,
        job_execution_id UNIQUEIDENTIFIER NOT NULL,
        job_id           UNIQUEIDENTIFIER NOT NULL,
        job_name         NVARCHAR(128) NOT NULL,
        lifecycle        NVARCHAR(50) NOT NULL,
        begin_at         DATETIME2(7) NOT NULL,
        end_time         DATETIME2(7) NOT NULL,
        message          NVARCHAR(2000) NULL,
        targets          INT NOT NULL,
        not_succeeded    INT NOT NULL
    );
    -- Runs and the rules that watch them: whether the condition is met, not met (0), or nothing is said (NULL).
    DECLARE @judged TABLE (
        rule_id        INT NOT NULL,
        execution_id   BIGINT NOT NULL,
        is_met         BIT NULL,
        median_seconds DECIMAL(18, 3) NULL,
        PRIMARY KEY (rule_id, execution_id)
    );
    -- What was found. event_key tells two events about a subject apart. is_new: it is not counted in an alert yet, and counts now.
    DECLARE @found TABLE (
        rule_id          INT NOT NULL,
        subject_key      NVARCHAR(100) NOT NULL,
        event_key        NVARCHAR(100) NOT NULL,
        subject_kind     NVARCHAR(20) NOT NULL,
        subject          NVARCHAR(400) NOT NULL,
        job_id           UNIQUEIDENTIFIER NULL,
        schedule_id      BIGINT NULL,
        agent_id         UNIQUEIDENTIFIER NULL,
        job_execution_id UNIQUEIDENTIFIER NULL,
        at               DATETIME2(7) NOT NULL,
        title            NVARCHAR(400) NOT NULL,
        message          NVARCHAR(MAX) NOT NULL,
        is_new           BIT NOT NULL DEFAULT 1,
        PRIMARY KEY (rule_id, subject_key, event_key)
    );
    DECLARE @waiting TABLE (
        execution_id     BIGINT NOT NULL PRIMARY KEY,
        job_execution_id UNIQUEIDENTIFIER NOT NULL,
        job_id           UNIQUEIDENTIFIER NOT NULL,
        create_time      DATETIME2(7) NOT NULL
    );
    DECLARE @unresolved TABLE (
        alert_id    BIGINT NOT NULL UNIQUE,
        rule_id     INT NOT NULL,
        subject_key NVARCHAR(100) NOT NULL,
        event_key   NVARCHAR(100) NOT NULL,
        is_wanted   BIT NOT NULL DEFAULT 0, -- this transaction may change it
        is_locked   BIT NOT NULL DEFAULT 0,
        PRIMARY KEY (rule_id, subject_key)
    );
    DECLARE @locked TABLE (alert_id BIGINT NOT NULL PRIMARY KEY, note NVARCHAR(1000) NULL);
    DECLARE @resolved TABLE (alert_id BIGINT NOT NULL PRIMARY KEY, reason NVARCHAR(1000) NOT NULL);

    SET @more = 0;
    INSERT INTO @rules (
        rule_id, name, condition, severity, job_id, like_pattern, lifecycles, percent_failed, factor, runs, seconds, throttle_seconds,
        watches_from
    )
    SELECT
        r.rule_id, r.name, r.condition, r.severity, r.job_id,
        REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(
            r.job_pattern, N'[', N'[[]'), N'%', N'[%]'), N'_', N'[_]'), N'*', N'%'), N'?', N'_'),
        CONCAT(N',', r.lifecycles, N','), r.percent_failed, r.factor, r.runs, r.seconds, r.throttle_seconds, r.watches_from
    FROM jobs_internal.alert_rules AS r
    WHERE r.enabled = 1
        AND (r.rule_id = @stage OR (@stage = 0 AND r.condition IN (N'RunEnded', N'TargetsFailed', N'RunTooLong')));

    -- Runs that have ended. Entries of runs that were purged, or whose jobs were deleted, are only removed. Entries that another
    -- transaction holds are left to a later batch.
    IF @stage = 0
    BEGIN
        INSERT INTO @taken (execution_id)
        SELECT TOP (@batch) q.execution_id
        FROM jobs_internal.alert_runs AS q WITH (UPDLOCK, READPAST, ROWLOCK)
        WHERE q.execution_id > @runs_after
            AND q.execution_id <= @runs_to
        ORDER BY q.execution_id;
        SET @taken_runs = @@ROWCOUNT;
        INSERT INTO @runs (
            execution_id, job_execution_id, job_id, job_name, lifecycle, begin_at, end_time, message, targets, not_succeeded
        )
        SELECT
            e.execution_id, e.job_execution_id, e.job_id, j.name, e.lifecycle, COALESCE(e.start_time, e.create_time), e.end_time,
            LEFT(e.last_message, 2000), 0, 0
        FROM @taken AS q
        INNER LOOP JOIN jobs_internal.visible_runs AS e ON e.execution_id = q.execution_id
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
        WHERE e.is_active = 0
            AND j.deleted_at IS NULL;
    END;

    -- Each step that has ended knows the number of its targets; those that failed and are tolerated count, too. Plan: per run the range
    -- of UQ_step_executions_step_id, as many rows as the run has had steps.
    IF EXISTS (SELECT 1 FROM @rules AS r WHERE r.condition = N'TargetsFailed')
        UPDATE x
        SET x.targets = c.targets,
            x.not_succeeded = c.not_succeeded
        FROM (
            SELECT
                s.execution_id,
                SUM(COALESCE(s.targets, 0)) AS targets,
                SUM(COALESCE(s.not_succeeded, 0)) AS not_succeeded
            FROM @runs AS r
            INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = r.execution_id
            GROUP BY s.execution_id
        ) AS c
        INNER JOIN @runs AS x ON x.execution_id = c.execution_id;

    -- Active runs get their limit once. Plan: IX_job_executions_active_create_time, and per new run the latest 200 runs of its job.
    IF EXISTS (SELECT 1 FROM @rules AS r WHERE r.condition = N'RunTooLong')
    BEGIN
        IF @stage <> 0
        BEGIN
            INSERT INTO jobs_internal.alert_run_limits (rule_id, execution_id)
            SELECT TOP (200) r.rule_id, e.execution_id
            FROM @rules AS r
            CROSS JOIN (
                SELECT TOP (10000) a.execution_id, a.job_id, a.lifecycle
                FROM jobs_internal.job_executions AS a
                WHERE a.is_active = 1
                ORDER BY a.create_time DESC, a.job_execution_id
            ) AS e
            INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
            WHERE r.condition = N'RunTooLong'
                AND e.lifecycle <> N'Created'
                AND j.deleted_at IS NULL
                AND (r.job_id = j.job_id OR (r.job_id IS NULL AND (r.like_pattern IS NULL OR j.name LIKE r.like_pattern)))
                AND NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.alert_run_limits AS l
                    WHERE l.rule_id = r.rule_id
                        AND l.execution_id = e.execution_id
                );
            IF @@ROWCOUNT = 200
                SET @more = 1;
        END;
        -- Those that ended before they were seen, and took long enough.
        -- plan: there are few rules
        INSERT INTO jobs_internal.alert_run_limits (rule_id, execution_id)
        SELECT r.rule_id, x.execution_id
        FROM @rules AS r
        CROSS JOIN @runs AS x
        WHERE r.condition = N'RunTooLong'
            AND (r.job_id = x.job_id OR (r.job_id IS NULL AND (r.like_pattern IS NULL OR x.job_name LIKE r.like_pattern)))
            AND x.end_time > DATEADD(SECOND, r.seconds, x.begin_at)
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.alert_run_limits AS l
                WHERE l.rule_id = r.rule_id
                    AND l.execution_id = x.execution_id
            );
        WITH lasting AS (
            SELECT
                l.rule_id,
                l.execution_id,
                r.runs,
                p.execution_id AS earlier_id,
                DATEDIFF_BIG(MILLISECOND, p.start_time, p.end_time) AS milliseconds,
                ROW_NUMBER() OVER (PARTITION BY l.rule_id, l.execution_id ORDER BY p.execution_id DESC) AS place
            FROM jobs_internal.alert_run_limits AS l
            INNER JOIN @rules AS r ON r.rule_id = l.rule_id
            INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = l.execution_id
            CROSS APPLY (
                SELECT TOP (200) h.execution_id, h.lifecycle, h.start_time, h.end_time
                FROM jobs_internal.job_executions AS h
                WHERE h.job_id = e.job_id
                    AND h.create_time <= e.create_time
                ORDER BY h.create_time DESC, h.job_execution_id
            ) AS p
            WHERE l.is_computed = 0
                AND p.execution_id <> l.execution_id
                AND p.lifecycle IN (N'Succeeded', N'SucceededWithSkipped')
                AND p.start_time IS NOT NULL
        ),
        ranked AS (
            SELECT
                s.rule_id,
                s.execution_id,
                s.milliseconds,
                ROW_NUMBER() OVER (PARTITION BY s.rule_id, s.execution_id ORDER BY s.milliseconds, s.earlier_id) AS rank,
                COUNT(*) OVER (PARTITION BY s.rule_id, s.execution_id) AS total
            FROM lasting AS s
            WHERE s.place <= s.runs
        ),
        medians AS (
            SELECT k.rule_id, k.execution_id, AVG(CAST(k.milliseconds AS DECIMAL(18, 3))) / 1000 AS median_seconds
            FROM ranked AS k
            WHERE k.total >= 3
                AND k.rank IN ((k.total + 1) / 2, (k.total + 2) / 2)
            GROUP BY k.rule_id, k.execution_id
        )
        UPDATE l
        SET l.is_computed = 1,
            l.median_seconds = m.median_seconds,
            l.limit_at = DATEADD(
                MILLISECOND,
                CAST(m.median_seconds * r.factor * 1000 AS BIGINT) % 1000,
                DATEADD(SECOND, CASE
                    WHEN m.median_seconds IS NULL THEN NULL
                    WHEN m.median_seconds * r.factor > r.seconds THEN CAST(CASE
                        WHEN m.median_seconds * r.factor > 315360000 THEN 315360000
                        ELSE FLOOR(m.median_seconds * r.factor)
                    END AS INT)
                    ELSE r.seconds
                END, COALESCE(e.start_time, e.create_time))
            )
        FROM jobs_internal.alert_run_limits AS l
        INNER JOIN @rules AS r ON r.rule_id = l.rule_id
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = l.execution_id
        LEFT JOIN medians AS m ON m.rule_id = l.rule_id AND m.execution_id = l.execution_id
        WHERE l.is_computed = 0;
    END;

    INSERT INTO @judged (rule_id, execution_id, is_met, median_seconds)
    SELECT
        r.rule_id,
        x.execution_id,
        CASE
            WHEN r.condition = N'RunEnded' AND r.lifecycles LIKE CONCAT(N'%,', x.lifecycle, N',%') THEN 1
            WHEN r.condition = N'TargetsFailed' AND x.targets > 0 AND 100.0 * x.not_succeeded / x.targets >= r.percent_failed THEN 1
            WHEN r.condition = N'RunTooLong' AND x.end_time > l.limit_at THEN 1
            WHEN x.lifecycle = N'Canceled' THEN NULL -- it says nothing
            ELSE 0
        END,
        l.median_seconds
    FROM @rules AS r
    CROSS JOIN @runs AS x
    LEFT JOIN jobs_internal.alert_run_limits AS l ON l.rule_id = r.rule_id AND l.execution_id = x.execution_id
    WHERE r.condition IN (N'RunEnded', N'TargetsFailed', N'RunTooLong')
        AND (r.job_id = x.job_id OR (r.job_id IS NULL AND (r.like_pattern IS NULL OR x.job_name LIKE r.like_pattern)))
        AND x.end_time >= r.watches_from;

    INSERT INTO @found (
        rule_id, subject_key, event_key, subject_kind, subject, job_id, job_execution_id, at, title, message
    )
    SELECT
        r.rule_id,
        CONCAT(N'job:', x.job_id),
        CONCAT(N'run:', x.execution_id),
        N'Job',
        x.job_name,
        x.job_id,
        x.job_execution_id,
        x.end_time,
        CONCAT(N'Job ''', x.job_name, N''' ', CASE r.condition
            WHEN N'RunEnded' THEN CONCAT(N'ended as ', x.lifecycle)
            WHEN N'TargetsFailed' THEN CONCAT(
                N'did not succeed on ', x.not_succeeded, N' of ', x.targets, N' targets (',
                CAST(100.0 * x.not_succeeded / NULLIF(x.targets, 0) AS DECIMAL(5, 1)), N' %)'
            )
            ELSE N'took too long'
        END),
        CONCAT(
            N'The run of ', CONVERT(NVARCHAR(19), x.begin_at, 126), N'Z ended as ', x.lifecycle, N' at ',
            CONVERT(NVARCHAR(19), x.end_time, 126), N'Z, after ', CAST(DATEDIFF_BIG(SECOND, x.begin_at, x.end_time) AS NVARCHAR(20)), N' s',
            N'; the median is ' + CASE
                WHEN r.condition = N'RunTooLong' THEN CONCAT(CAST(g.median_seconds AS DECIMAL(18, 1)), N' s')
            END,
            N'.', NCHAR(10), x.message
        )
    FROM @judged AS g
    INNER JOIN @rules AS r ON r.rule_id = g.rule_id
    INNER JOIN @runs AS x ON x.execution_id = g.execution_id
    WHERE g.is_met = 1;
    INSERT INTO @found (
        rule_id, subject_key, event_key, subject_kind, subject, job_id, job_execution_id, at, title, message
    )
    SELECT
        r.rule_id,
        CONCAT(N'job:', e.job_id),
        CONCAT(N'run:', e.execution_id),
        N'Job',
        j.name,
        e.job_id,
        e.job_execution_id,
        l.limit_at,
        CONCAT(N'Job ''', j.name, N''' takes too long'),
        CONCAT(
            N'The run began at ', CONVERT(NVARCHAR(19), e.start_time, 126), N'Z and is still going after ',
            CAST(DATEDIFF_BIG(SECOND, e.start_time, @now) AS NVARCHAR(20)), N' s; the median is ',
            CAST(l.median_seconds AS DECIMAL(18, 1)), N' s.', NCHAR(10), LEFT(e.last_message, 2000)
        )
    FROM jobs_internal.alert_run_limits AS l
    INNER JOIN @rules AS r ON r.rule_id = l.rule_id
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = l.execution_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE l.rule_id = @stage
        AND l.limit_at <= @now
        AND l.is_raised = 0
        AND e.is_active = 1
        AND j.deleted_at IS NULL;

    -- Whether anything can run.
    IF EXISTS (SELECT 1 FROM @rules AS r WHERE r.condition NOT IN (N'RunEnded', N'TargetsFailed', N'RunTooLong'))
        SELECT @live_agents = COUNT(*)
        FROM jobs_internal.terms AS t
        WHERE t.ended_at IS NULL
            AND t.expires_at > @now;
    IF @live_agents = 0
    BEGIN
        -- Plan: the last keys of PK_terms.
        SELECT @last_live_at = MAX(CASE WHEN f.ended_at < f.expires_at THEN f.ended_at ELSE f.expires_at END)
        FROM (
            SELECT TOP (1000) t.ended_at, t.expires_at
            FROM jobs_internal.terms AS t
            ORDER BY t.term_id DESC
        ) AS f;
        SET @why = CONCAT(
            N'No agent is live', N' since ' + CONVERT(NVARCHAR(19), @last_live_at, 126) + N'Z', N'.',
            CASE WHEN @agent_state NOT IN (N'None', N'Ready', N'Updating') THEN CONCAT(N' The job agent is ', @agent_state, N'.') END
        );
    END
    ELSE
        SET @why = CONCAT(
            CASE WHEN @live_agents = 1 THEN N'1 agent is' ELSE CONCAT(@live_agents, N' agents are') END, N' live.',
            CASE WHEN @agent_state NOT IN (N'None', N'Ready', N'Updating') THEN CONCAT(N' The job agent is ', @agent_state, N'.') END
        );

    SELECT @least_grace = MIN(r.seconds)
    FROM @rules AS r
    WHERE r.condition = N'RunNotStarted';
    IF @least_grace IS NOT NULL AND COALESCE(@agent_state, N'None') NOT IN (N'Deleting', N'Deleted')
    BEGIN
        -- Plan: the start of IX_schedules_next_fire_at, which holds no more than what is overdue.
        INSERT INTO @found (rule_id, subject_key, event_key, subject_kind, subject, job_id, schedule_id, at, title, message)
        SELECT
            r.rule_id,
            CONCAT(N'schedule:', s.schedule_id),
            CONCAT(N'due:', CONVERT(NVARCHAR(33), s.next_due_at, 126)),
            N'Schedule',
            CONCAT(j.name, N' / ' + NULLIF(s.name, N'')),
            s.job_id,
            s.schedule_id,
            s.next_due_at,
            CONCAT(N'Job ''', j.name, N''' was due and has not begun'),
            CONCAT(
                N'The schedule', N' ''' + NULLIF(s.name, N'') + N'''', N' was due at ', CONVERT(NVARCHAR(19), s.next_due_at, 126),
                N'Z, and nothing has begun for ', CAST(DATEDIFF_BIG(SECOND, s.next_fire_at, @now) AS NVARCHAR(20)), N' s.', NCHAR(10), @why
            )
        FROM jobs_internal.schedules AS s
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
        CROSS JOIN @rules AS r
        WHERE s.next_fire_at <= DATEADD(SECOND, -@least_grace, @now)
            AND j.deleted_at IS NULL
            AND r.condition = N'RunNotStarted'
            AND s.next_fire_at <= DATEADD(SECOND, -r.seconds, @now)
            AND (r.job_id = j.job_id OR (r.job_id IS NULL AND (r.like_pattern IS NULL OR j.name LIKE r.like_pattern)));
        -- A new schedule is due only after an agent has validated it.
        INSERT INTO @found (rule_id, subject_key, event_key, subject_kind, subject, job_id, schedule_id, at, title, message)
        SELECT
            r.rule_id,
            CONCAT(N'schedule:', s.schedule_id),
            CONCAT(N'validation:', s.revision),
            N'Schedule',
            CONCAT(j.name, N' / ' + NULLIF(s.name, N'')),
            s.job_id,
            s.schedule_id,
            c.changed_at,
            CONCAT(N'A schedule of the job ''', j.name, N''' has not been validated'),
            CONCAT(
                N'The schedule ''', s.name, N''' was changed at ', CONVERT(NVARCHAR(19), c.changed_at, 126),
                N'Z, and nothing is due before an agent has validated it.', NCHAR(10), @why
            )
        FROM jobs_internal.schedules AS s
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
        CROSS APPLY (
            SELECT CASE WHEN s.activated_at > s.updated_at THEN s.activated_at ELSE s.updated_at END AS changed_at
        ) AS c
        CROSS JOIN @rules AS r
        WHERE s.awaits_verdict = 1
            AND s.enabled = 1
            AND s.paused = 0
            AND s.next_fire_at IS NULL
            AND j.deleted_at IS NULL
            AND r.condition = N'RunNotStarted'
            AND c.changed_at <= DATEADD(SECOND, -r.seconds, @now)
            AND (r.job_id = j.job_id OR (r.job_id IS NULL AND (r.like_pattern IS NULL OR j.name LIKE r.like_pattern)));
        -- Runs that were created and have not begun, one of each job.
        -- Plan: the first keys of IX_job_executions_hot.
        INSERT INTO @waiting (execution_id, job_execution_id, job_id, create_time)
        SELECT TOP (10000) e.execution_id, e.job_execution_id, e.job_id, e.create_time
        FROM jobs_internal.job_executions AS e
        WHERE e.is_active = 1
            AND e.parked = 0
            AND e.lifecycle = N'Created'
            AND e.create_time <= DATEADD(SECOND, -@least_grace, @now)
        ORDER BY e.execution_id;
        IF @@ROWCOUNT = 10000
            SET @is_cut = 1;
        -- plan: there is one rule
        INSERT INTO @found (rule_id, subject_key, event_key, subject_kind, subject, job_id, job_execution_id, at, title, message)
        SELECT
            f.rule_id, CONCAT(N'job:', f.job_id), CONCAT(N'run:', f.execution_id), N'Job', f.job_name, f.job_id, f.job_execution_id,
            f.create_time,
            CONCAT(N'Job ''', f.job_name, N''' was started and has not begun'),
            CONCAT(
                CASE WHEN f.total = 1 THEN N'A run was' ELSE CONCAT(f.total, N' runs were') END, N' created at ',
                CONVERT(NVARCHAR(19), f.create_time, 126), N'Z',
                CASE WHEN f.total > 1 THEN N' or later' END, N', and nothing has begun.', NCHAR(10), @why
            )
        FROM (
            SELECT
                r.rule_id,
                e.execution_id,
                e.job_execution_id,
                e.job_id,
                e.create_time,
                j.name AS job_name,
                COUNT(*) OVER (PARTITION BY r.rule_id, e.job_id) AS total,
                ROW_NUMBER() OVER (PARTITION BY r.rule_id, e.job_id ORDER BY e.execution_id) AS place
            FROM @waiting AS e
            INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
            CROSS JOIN @rules AS r
            WHERE j.deleted_at IS NULL
                AND r.condition = N'RunNotStarted'
                AND e.create_time <= DATEADD(SECOND, -r.seconds, @now)
                AND (r.job_id = j.job_id OR (r.job_id IS NULL AND (r.like_pattern IS NULL OR j.name LIKE r.like_pattern)))
        ) AS f
        WHERE f.place = 1;
    END;

    IF @live_agents = 0
        INSERT INTO @found (rule_id, subject_key, event_key, subject_kind, subject, at, title, message)
        SELECT
            r.rule_id,
            N'control',
            CONCAT(N'since:', CONVERT(NVARCHAR(33), COALESCE(@last_live_at, r.watches_from), 126)),
            N'ControlDatabase',
            N'control database',
            COALESCE(@last_live_at, r.watches_from),
            N'No agent works, and work waits',
            CONCAT(
                @why, NCHAR(10), w.active_runs, N' active runs and ', w.due_schedules, N' due schedules wait.'
            )
        FROM @rules AS r
        CROSS JOIN (
            SELECT
                (
                    SELECT COUNT(*)
                    FROM (
                        SELECT TOP (10000) e.execution_id
                        FROM jobs_internal.job_executions AS e
                        WHERE e.is_active = 1
                            AND e.parked = 0
                    ) AS h
                ) AS active_runs,
                (SELECT COUNT(*) FROM jobs_internal.schedules AS s WHERE s.next_fire_at <= @now) AS due_schedules,
                (SELECT COUNT(*) FROM jobs_internal.schedules AS s WHERE s.awaits_verdict = 1) AS new_schedules
        ) AS w
        WHERE r.condition = N'NoAgent'
            AND COALESCE(@last_live_at, r.watches_from) <= DATEADD(SECOND, -r.seconds, @now)
            AND w.active_runs + w.due_schedules + w.new_schedules > 0;

    IF EXISTS (SELECT 1 FROM @rules AS r WHERE r.condition IN (N'NoRun', N'ScheduleFaulted', N'SchedulePaused', N'AgentSilent'))
    BEGIN
        -- Plan: per rule the jobs in its scope, and per job the first key of IX_job_executions_job_id_create_time and, for each lifecycle
        -- of the rule, of IX_job_executions_job_id_lifecycle. So runs of other lifecycles are not read, however many there are.
        INSERT INTO @found (rule_id, subject_key, event_key, subject_kind, subject, job_id, at, title, message)
        SELECT
            r.rule_id,
            CONCAT(N'job:', j.job_id),
            CONCAT(N'since:', CONVERT(NVARCHAR(33), COALESCE(p.last_at, j.created_at), 126)),
            N'Job',
            j.name,
            j.job_id,
            DATEADD(SECOND, r.seconds, COALESCE(p.last_at, j.created_at)),
            CONCAT(N'Job ''', j.name, N''' ', CASE WHEN r.lifecycles = N',,' THEN N'has not run' ELSE N'has not ended well' END),
            CONCAT(
                CASE
                    WHEN r.lifecycles = N',,' THEN N'No run began'
                    ELSE CONCAT(N'No run ended as ', REPLACE(SUBSTRING(r.lifecycles, 2, LEN(r.lifecycles) - 2), N',', N' or '))
                END,
                N' for ', r.seconds, N' s. ',
                COALESCE(N'The latest run was created at ' + CONVERT(NVARCHAR(19), p.last_at, 126) + N'Z.', N'The job has no run.'),
                NCHAR(10), @why
            )
        FROM @rules AS r
        CROSS JOIN jobs_internal.jobs AS j
        OUTER APPLY (
            SELECT TOP (1) e.create_time AS last_at
            FROM jobs_internal.job_executions AS e
            WHERE e.job_id = j.job_id
            ORDER BY e.create_time DESC, e.job_execution_id
        ) AS p
        WHERE r.condition = N'NoRun'
            AND j.deleted_at IS NULL
            AND j.created_at <= DATEADD(SECOND, -r.seconds, @now)
            AND (r.job_id = j.job_id OR (r.job_id IS NULL AND j.is_system = 0 AND j.name LIKE r.like_pattern))
            AND (r.lifecycles <> N',,' OR p.last_at IS NULL OR p.last_at <= DATEADD(SECOND, -r.seconds, @now))
            AND NOT EXISTS (
                SELECT 1
                FROM STRING_SPLIT(r.lifecycles, N',') AS k
                CROSS APPLY (
                    SELECT TOP (1) e.end_time
                    FROM jobs_internal.job_executions AS e
                    WHERE e.job_id = j.job_id
                        AND e.lifecycle = k.value
                        AND e.is_active = 0
                        AND e.end_time > DATEADD(SECOND, -r.seconds, @now)
                    ORDER BY e.end_time DESC
                ) AS f
            );

        -- Plan: IX_schedules_closed_at and IX_schedules_paused_at, which have no other schedules.
        INSERT INTO @found (rule_id, subject_key, event_key, subject_kind, subject, job_id, schedule_id, at, title, message)
        SELECT
            r.rule_id,
            CONCAT(N'schedule:', s.schedule_id),
            CONCAT(N'revision:', s.revision),
            N'Schedule',
            CONCAT(j.name, N' / ' + NULLIF(s.name, N'')),
            s.job_id,
            s.schedule_id,
            s.closed_at,
            CONCAT(N'A schedule of the job ''', j.name, N''' is Faulted'),
            CONCAT(
                N'The schedule ''', s.name, N''' has been Faulted since ', CONVERT(NVARCHAR(19), s.closed_at, 126), N'Z.', NCHAR(10),
                LEFT(s.reason, 2000)
            )
        FROM jobs_internal.schedules AS s
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
        CROSS JOIN @rules AS r
        WHERE s.closed_at IS NOT NULL
            AND s.state = N'Faulted'
            AND j.deleted_at IS NULL
            AND r.condition = N'ScheduleFaulted'
            AND (r.job_id = j.job_id OR (r.job_id IS NULL AND (r.like_pattern IS NULL OR j.name LIKE r.like_pattern)));
        INSERT INTO @found (rule_id, subject_key, event_key, subject_kind, subject, job_id, schedule_id, at, title, message)
        SELECT
            r.rule_id,
            CONCAT(N'schedule:', s.schedule_id),
            CONCAT(N'paused:', CONVERT(NVARCHAR(33), s.paused_at, 126)),
            N'Schedule',
            CONCAT(j.name, N' / ' + NULLIF(s.name, N'')),
            s.job_id,
            s.schedule_id,
            s.paused_at,
            CONCAT(N'A schedule of the job ''', j.name, N''' is paused'),
            CONCAT(
                N'The schedule', N' ''' + NULLIF(s.name, N'') + N'''', N' has been paused since ', CONVERT(NVARCHAR(19), s.paused_at, 126),
                N'Z', N' by ' + s.paused_by, N'.', NCHAR(10) + NULLIF(s.pause_note, N'')
            )
        FROM jobs_internal.schedules AS s
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
        CROSS JOIN @rules AS r
        WHERE s.paused = 1
            AND s.paused_at <= DATEADD(SECOND, -r.seconds, @now)
            AND j.deleted_at IS NULL
            AND r.condition = N'SchedulePaused'
            AND (r.job_id = j.job_id OR (r.job_id IS NULL AND (r.like_pattern IS NULL OR j.name LIKE r.like_pattern)));

        -- Plan: IX_terms_expires_at, and the terms that ended in the last week, by IX_terms_ended_at; for each a key of IX_terms_agent_id.
        INSERT INTO @found (rule_id, subject_key, event_key, subject_kind, subject, agent_id, at, title, message)
        SELECT
            r.rule_id,
            CONCAT(N'agent:', g.agent_id),
            CONCAT(N'term:', t.term_id),
            N'Agent',
            g.host_name,
            g.agent_id,
            t.expires_at,
            CONCAT(N'The agent on ''', g.host_name, N''' is silent'),
            CONCAT(
                N'The term of the agent ', g.agent_id, N' on ''', g.host_name, N''' expired at ',
                CONVERT(NVARCHAR(19), t.expires_at, 126), N'Z, and the agent had not ended it: it was killed, or cannot reach the control ',
                N'database.', NCHAR(10), @why
            )
        FROM (
            SELECT x.term_id, x.agent_id, x.expires_at
            FROM jobs_internal.terms AS x
            WHERE x.ended_at IS NULL
                AND x.expires_at <= @now
            UNION ALL
            SELECT x.term_id, x.agent_id, x.expires_at
            FROM jobs_internal.terms AS x
            WHERE x.ended_at > DATEADD(DAY, -7, @now)
                AND x.end_reason = N'Expired'
        ) AS t
        INNER JOIN jobs_internal.agents AS g ON g.agent_id = t.agent_id
        CROSS JOIN @rules AS r
        WHERE r.condition = N'AgentSilent'
            AND t.expires_at <= DATEADD(SECOND, -r.seconds, @now)
            AND t.expires_at > DATEADD(DAY, -7, @now)
            AND t.expires_at >= r.watches_from
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.terms AS y WHERE y.agent_id = t.agent_id AND y.term_id > t.term_id)
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.agents AS o
                INNER JOIN jobs_internal.terms AS u ON u.agent_id = o.agent_id
                WHERE o.host_name = g.host_name
                    AND u.ended_at IS NULL
                    AND u.expires_at > @now
                    AND u.term_id > t.term_id
            );
    END;

    -- The unresolved alerts of the stage. Plan: UQ_alerts_subject_key.
    IF @stage = 0
        -- plan: each rule with each job
        INSERT INTO @unresolved (alert_id, rule_id, subject_key, event_key, is_wanted)
        SELECT a.alert_id, a.rule_id, a.subject_key, a.event_key, 1
        FROM (
            SELECT DISTINCT r.rule_id, CONCAT(N'job:', x.job_id) AS subject_key
            FROM @rules AS r
            CROSS JOIN @runs AS x
        ) AS k
        INNER LOOP JOIN jobs_internal.alerts AS a ON a.rule_id = k.rule_id AND a.subject_key = k.subject_key
        WHERE a.resolved_at IS NULL;
    ELSE IF @stage = @last_stage
    BEGIN
        INSERT INTO @unresolved (alert_id, rule_id, subject_key, event_key, is_wanted)
        SELECT TOP (@most) a.alert_id, a.rule_id, a.subject_key, a.event_key, 1
        FROM jobs_internal.alerts AS a
        WHERE a.resolved_at IS NULL
            AND (
                NOT EXISTS (SELECT 1 FROM jobs_internal.alert_rules AS r WHERE r.rule_id = a.rule_id AND r.enabled = 1)
                OR (
                    a.job_id IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM jobs_internal.jobs AS j WHERE j.job_id = a.job_id AND j.deleted_at IS NULL)
                )
            );
        IF @@ROWCOUNT = @most
            SET @over = 1;
    END
    ELSE
    BEGIN
        INSERT INTO @unresolved (alert_id, rule_id, subject_key, event_key)
        SELECT a.alert_id, a.rule_id, a.subject_key, a.event_key
        FROM jobs_internal.alerts AS a
        WHERE a.rule_id = @stage
            AND a.resolved_at IS NULL;
        -- What is counted already is not new; of what is new, as much as one transaction changes.
        UPDATE f
        SET f.is_new = 0
        FROM @found AS f
        INNER JOIN @unresolved AS u ON u.rule_id = f.rule_id AND u.subject_key = f.subject_key
        WHERE u.event_key = f.event_key;
        WITH newest AS (
            SELECT f.is_new, ROW_NUMBER() OVER (ORDER BY f.at, f.subject_key, f.event_key) AS place
            FROM @found AS f
            WHERE f.is_new = 1
        )
        UPDATE n
        SET n.is_new = 0
        FROM newest AS n
        WHERE n.place > @most;
        IF @@ROWCOUNT > 0
            SET @over = 1;
        UPDATE u
        SET u.is_wanted = 1
        FROM @unresolved AS u
        WHERE EXISTS (SELECT 1 FROM @found AS f WHERE f.rule_id = u.rule_id AND f.subject_key = u.subject_key AND f.is_new = 1);
        -- RunTooLong is resolved by a run that ends.
        IF @is_cut = 0 AND NOT EXISTS (SELECT 1 FROM @rules AS r WHERE r.condition = N'RunTooLong')
        BEGIN
            UPDATE TOP (@most) u
            SET u.is_wanted = 1
            FROM @unresolved AS u
            WHERE u.is_wanted = 0
                AND NOT EXISTS (SELECT 1 FROM @found AS f WHERE f.rule_id = u.rule_id AND f.subject_key = u.subject_key);
            IF @@ROWCOUNT = @most
                SET @over = 1;
        END;
    END;

    -- Those of them that no other transaction holds. acknowledge_note is in no index, so that the locks are on the clustered keys.
    INSERT INTO @locked (alert_id, note)
    SELECT a.alert_id, a.acknowledge_note
    FROM @unresolved AS u
    INNER LOOP JOIN jobs_internal.alerts AS a WITH (UPDLOCK, READPAST, ROWLOCK) ON a.alert_id = u.alert_id
    WHERE u.is_wanted = 1
        AND a.resolved_at IS NULL;
    UPDATE u
    SET u.is_locked = 1
    FROM @locked AS l
    INNER JOIN @unresolved AS u ON u.alert_id = l.alert_id;
    -- Events about the others wait, and so do their runs.
    UPDATE f
    SET f.is_new = 0
    FROM @found AS f
    INNER JOIN @unresolved AS u ON u.rule_id = f.rule_id AND u.subject_key = f.subject_key
    WHERE u.is_locked = 0;
    DELETE x
    FROM @runs AS x
    WHERE EXISTS (
        SELECT 1
        FROM @unresolved AS u
        WHERE u.is_wanted = 1
            AND u.is_locked = 0
            AND u.subject_key = CONCAT(N'job:', x.job_id)
    );
    DELETE g
    FROM @judged AS g
    WHERE NOT EXISTS (SELECT 1 FROM @runs AS x WHERE x.execution_id = g.execution_id);
    DELETE q
    FROM @taken AS q
    WHERE @stage = 0
        AND NOT EXISTS (SELECT 1 FROM @runs AS x WHERE x.execution_id = q.execution_id)
        AND EXISTS (
            SELECT 1
            FROM jobs_internal.visible_runs AS e
            INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
            WHERE e.execution_id = q.execution_id
                AND j.deleted_at IS NULL
        );

    -- New events of unresolved alerts. A message of a condition that lasts is not replaced, because only its age differs.
    UPDATE a
    SET a.occurrences = a.occurrences + c.events,
        a.last_at = c.last_at,
        a.event_key = c.event_key,
        a.title = c.title,
        a.message = c.message,
        a.job_execution_id = COALESCE(c.job_execution_id, a.job_execution_id),
        a.notify_at = CASE
            WHEN a.state <> N'Open' THEN NULL
            WHEN a.notified_at IS NULL THEN a.notify_at
            WHEN a.notify_at < DATEADD(SECOND, r.throttle_seconds, a.notified_at) THEN a.notify_at
            WHEN DATEADD(SECOND, r.throttle_seconds, a.notified_at) > @now THEN DATEADD(SECOND, r.throttle_seconds, a.notified_at)
            ELSE @now
        END
    FROM (
        SELECT
            f.rule_id,
            f.subject_key,
            f.event_key,
            f.at AS last_at,
            f.title,
            f.message,
            f.job_execution_id,
            COUNT(*) OVER (PARTITION BY f.rule_id, f.subject_key) AS events,
            ROW_NUMBER() OVER (PARTITION BY f.rule_id, f.subject_key ORDER BY f.at DESC, f.event_key DESC) AS place
        FROM @found AS f
        WHERE f.is_new = 1
            AND NOT EXISTS (
                SELECT 1
                FROM @unresolved AS u
                WHERE u.rule_id = f.rule_id
                    AND u.subject_key = f.subject_key
                    AND u.event_key = f.event_key
            )
    ) AS c
    INNER JOIN @unresolved AS u ON u.rule_id = c.rule_id AND u.subject_key = c.subject_key
    INNER JOIN @rules AS r ON r.rule_id = c.rule_id
    INNER JOIN jobs_internal.alerts AS a ON a.alert_id = u.alert_id
    WHERE c.place = 1;
    SET @changed = @@ROWCOUNT;

    -- New alerts. The throttle counts notifications about the same subject in earlier alerts, too. Plan: IX_alerts_notified_at.
    INSERT INTO jobs_internal.alerts (
        rule_id, rule_name, condition, severity, subject_key, subject_kind, subject, job_id, schedule_id, agent_id, job_execution_id,
        event_key, state, occurrences, first_at, last_at, raised_at, title, message, notify_at, notifications
    )
    OUTPUT inserted.alert_id, inserted.rule_id, inserted.subject_key, inserted.event_key, 1, 1
    INTO @unresolved (alert_id, rule_id, subject_key, event_key, is_wanted, is_locked)
    SELECT
        c.rule_id, r.name, r.condition, r.severity, c.subject_key, c.subject_kind, c.subject, c.job_id, c.schedule_id, c.agent_id,
        c.job_execution_id, c.event_key, N'Open', c.events, c.first_at, c.at, @now, c.title, c.message,
        CASE
            WHEN DATEADD(SECOND, r.throttle_seconds, p.notified_at) > @now THEN DATEADD(SECOND, r.throttle_seconds, p.notified_at)
            ELSE @now
        END,
        0
    FROM (
        SELECT
            f.rule_id, f.subject_key, f.event_key, f.subject_kind, f.subject, f.job_id, f.schedule_id, f.agent_id, f.job_execution_id, f.at,
            f.title, f.message,
            MIN(f.at) OVER (PARTITION BY f.rule_id, f.subject_key) AS first_at,
            COUNT(*) OVER (PARTITION BY f.rule_id, f.subject_key) AS events,
            ROW_NUMBER() OVER (PARTITION BY f.rule_id, f.subject_key ORDER BY f.at DESC, f.event_key DESC) AS place
        FROM @found AS f
        WHERE f.is_new = 1
            AND NOT EXISTS (SELECT 1 FROM @unresolved AS u WHERE u.rule_id = f.rule_id AND u.subject_key = f.subject_key)
    ) AS c
    INNER JOIN @rules AS r ON r.rule_id = c.rule_id
    OUTER APPLY (
        SELECT MAX(a.notified_at) AS notified_at
        FROM jobs_internal.alerts AS a
        WHERE a.rule_id = c.rule_id
            AND a.subject_key = c.subject_key
            AND a.notified_at IS NOT NULL
    ) AS p
    WHERE c.place = 1;
    SET @changed = @changed + @@ROWCOUNT;
    -- Active runs that take too long are raised once.
    UPDATE l
    SET l.is_raised = 1
    FROM jobs_internal.alert_run_limits AS l
    INNER JOIN @found AS f ON f.rule_id = l.rule_id AND f.event_key = CONCAT(N'run:', l.execution_id)
    WHERE f.is_new = 1
        AND l.limit_at <= @now
        AND l.is_raised = 0;

    -- What the runs of a batch have raised is notified before they resolve it.
    IF @stage IN (0, @last_stage)
        EXECUTE jobs_internal.notify_alerts @now = @now;

    -- Alerts are resolved: by the latest run that says something, by a condition that does not hold any more, with their rules and jobs.
    INSERT INTO @resolved (alert_id, reason)
    SELECT a.alert_id, w.reason
    FROM @unresolved AS u
    INNER LOOP JOIN jobs_internal.alerts AS a ON a.alert_id = u.alert_id
    CROSS APPLY (
        SELECT CASE
            WHEN @stage = @last_stage THEN CASE
                WHEN EXISTS (SELECT 1 FROM jobs_internal.alert_rules AS r WHERE r.rule_id = a.rule_id AND r.enabled = 1)
                    THEN N'The job was deleted.'
                ELSE N'The rule was deleted or disabled.'
            END
            WHEN @stage = 0 THEN (
                SELECT CASE
                    WHEN b.is_met = 0
                        THEN CONCAT(N'The run of ', CONVERT(NVARCHAR(19), b.begin_at, 126), N'Z ended as ', b.lifecycle, N'.')
                END
                FROM (
                    SELECT TOP (1) g.is_met, x.begin_at, x.lifecycle
                    FROM @judged AS g
                    INNER JOIN @runs AS x ON x.execution_id = g.execution_id
                    WHERE g.rule_id = a.rule_id
                        AND a.subject_key = CONCAT(N'job:', x.job_id)
                        AND g.is_met IS NOT NULL
                    ORDER BY x.end_time DESC, x.execution_id DESC
                ) AS b
            )
            WHEN EXISTS (SELECT 1 FROM @found AS f WHERE f.rule_id = a.rule_id AND f.subject_key = a.subject_key) THEN NULL
            WHEN NOT EXISTS (SELECT 1 FROM jobs_internal.jobs AS j WHERE j.job_id = a.job_id AND j.deleted_at IS NULL)
                AND a.job_id IS NOT NULL THEN N'The job was deleted.'
            WHEN a.condition = N'RunNotStarted' THEN N'It has begun, or is not due any more.'
            WHEN a.condition = N'NoAgent' THEN N'An agent works, or no work waits.'
            WHEN a.condition = N'NoRun' THEN N'It has run.'
            WHEN a.condition = N'ScheduleFaulted' THEN N'The schedule is not Faulted any more.'
            WHEN a.condition = N'SchedulePaused' THEN N'The schedule is not paused any more.'
            WHEN a.condition = N'AgentSilent' THEN N'The agent works again, has ended in order, or has been gone for a week.'
        END AS reason
    ) AS w
    WHERE u.is_wanted = 1
        AND u.is_locked = 1
        AND w.reason IS NOT NULL;
    SET @changed = @changed + @@ROWCOUNT;
    IF EXISTS (SELECT 1 FROM @resolved)
    BEGIN
        -- Nothing more is sent for rules that are gone. A delivery that another session holds is being sent or canceled.
        UPDATE d
        SET d.state = N'Canceled',
            d.next_attempt_at = NULL,
            d.last_error = COALESCE(d.last_error, N'Not sent: the rule was deleted or disabled.')
        FROM @resolved AS v
        INNER JOIN jobs_internal.alerts AS a ON a.alert_id = v.alert_id
        INNER JOIN jobs_internal.alert_deliveries AS d WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON d.alert_id = a.alert_id
        WHERE d.state = N'Pending'
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.alert_rules AS r WHERE r.rule_id = a.rule_id AND r.enabled = 1);
        INSERT INTO jobs_internal.alert_deliveries (
            notification_id, alert_id, channel_id, channel_name, kind, title, message, occurrences, last_at, state, created_at, expires_at,
            next_attempt_at, attempts
        )
        SELECT
            NEWID(), a.alert_id, c.channel_id, c.name, N'Resolved', LEFT(CONCAT(N'Resolved: ', a.title), 400),
            CONCAT(v.reason, NCHAR(10), N'Before: ', a.message), a.occurrences, a.last_at, N'Pending', @now, DATEADD(DAY, 1, @now), @now, 0
        FROM @resolved AS v
        INNER JOIN jobs_internal.alerts AS a ON a.alert_id = v.alert_id
        INNER JOIN jobs_internal.alert_rules AS r ON r.rule_id = a.rule_id
        INNER JOIN jobs_internal.alert_rule_channels AS x ON x.rule_id = r.rule_id
        INNER JOIN jobs_internal.alert_channels AS c ON c.channel_id = x.channel_id
        WHERE a.state = N'Open'
            AND a.acknowledged_at IS NULL
            AND a.notified_at IS NOT NULL
            AND r.enabled = 1
            AND r.notify_resolved = 1
            AND (r.muted_until IS NULL OR r.muted_until <= @now)
            AND c.enabled = 1;
        UPDATE a
        SET a.state = N'Resolved',
            a.resolved_at = @now,
            a.resolve_reason = v.reason,
            a.notify_at = NULL
        FROM @resolved AS v
        INNER LOOP JOIN jobs_internal.alerts AS a ON a.alert_id = v.alert_id;
    END;

    -- The runs are done with; so are limits of runs that have ended, and of rules that are gone.
    IF @stage = 0
    BEGIN
        IF EXISTS (SELECT 1 FROM jobs_internal.tenants AS n WHERE n.events_channel IS NOT NULL)
        BEGIN
            SET @ended = (SELECT CONCAT(N'[', STRING_AGG(CAST(x.execution_id AS NVARCHAR(MAX)), N','), N']') FROM @taken AS x);
            EXECUTE jobs_internal.send_rest_events @runs = @ended, @now = @now;
        END;
        DELETE q
        FROM @taken AS x
        INNER LOOP JOIN jobs_internal.alert_runs AS q ON q.execution_id = x.execution_id;
    END;
    IF @stage = @last_stage AND EXISTS (SELECT 1 FROM jobs_internal.alert_run_limits AS l)
    BEGIN
        -- rows: the next evaluation goes on
        DELETE TOP (1000) l
        FROM jobs_internal.alert_run_limits AS l
        WHERE NOT EXISTS (
                SELECT 1
                FROM jobs_internal.alert_rules AS r
                WHERE r.rule_id = l.rule_id
                    AND r.enabled = 1
                    AND r.condition = N'RunTooLong'
            )
            OR NOT EXISTS (
                SELECT 1
                FROM jobs_internal.job_executions AS e
                WHERE e.execution_id = l.execution_id
                    AND e.is_active = 1
            ) AND NOT EXISTS (SELECT 1 FROM jobs_internal.alert_runs AS q WHERE q.execution_id = l.execution_id);
        IF @@ROWCOUNT = 1000
            SET @more = 1;
    END;
    IF (@over = 1 AND @changed > 0) OR @taken_runs = @batch
        SET @more = 1;
    RETURN 0;
END;
