-- One stage of evaluate_alerts: finds what some rules watch, raises alerts about it or counts it in those that are unresolved, and resolves
-- alerts whose condition does not hold any more.
--
-- A transaction changes few alerts: those about the jobs of one batch of runs, or @most new events and @most alerts whose condition does
-- not hold any more. What is left is said by @more.
--
-- Parameters:
--   @stage       0: the runs of one batch that have ended, for all rules about such runs; or the id of a rule whose condition lasts.
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
    DECLARE @most INT = 500;         -- new events, and alerts to resolve
    DECLARE @is_cut BIT = 0;         -- 1: more may hold than was read, so nothing may be resolved
    DECLARE @over BIT = 0;           -- 1: there is more than one transaction changes
    DECLARE @changed INT = 0;        -- alerts that this transaction has changed
    DECLARE @ended NVARCHAR(MAX);    -- JSON of the runs of the batch
    DECLARE @resolved NVARCHAR(MAX); -- JSON for resolve_alerts
    DECLARE @taken TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
    -- Runs and the rules that watch them: see judge_ended_runs.
    DECLARE @judged TABLE (
        rule_id          INT NOT NULL,
        execution_id     BIGINT NOT NULL,
        is_met           BIT NULL,
        subject_key      NVARCHAR(100) NOT NULL,
        job_id           UNIQUEIDENTIFIER NOT NULL,
        job_name         NVARCHAR(128) NOT NULL,
        job_execution_id UNIQUEIDENTIFIER NOT NULL,
        lifecycle        NVARCHAR(50) NOT NULL,
        begin_at         DATETIME2(7) NOT NULL,
        end_time         DATETIME2(7) NOT NULL,
        title            NVARCHAR(400) NOT NULL,
        message          NVARCHAR(MAX) NOT NULL,
        PRIMARY KEY (rule_id, execution_id)
    );
    -- What was found. event_key tells two events about a subject apart.
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
        is_new           BIT NOT NULL DEFAULT 1, -- it is not counted in an alert yet, and counts now
        PRIMARY KEY (rule_id, subject_key, event_key)
    );
    DECLARE @unresolved TABLE (
        alert_id    BIGINT NOT NULL UNIQUE,
        rule_id     INT NOT NULL,
        subject_key NVARCHAR(100) NOT NULL,
        event_key   NVARCHAR(100) NOT NULL,
        is_wanted   BIT NOT NULL, -- this transaction may change it
        is_locked   BIT NOT NULL DEFAULT 0,
        PRIMARY KEY (rule_id, subject_key)
    );
    DECLARE @locked TABLE (alert_id BIGINT NOT NULL PRIMARY KEY, note NVARCHAR(1000) NULL);

    SET @more = 0;
    IF @stage = 0
    BEGIN
        -- Entries that another transaction holds are left to a later batch.
        INSERT INTO @taken (execution_id)
        SELECT TOP (@batch) q.execution_id
        FROM jobs_internal.alert_runs AS q WITH (UPDLOCK, READPAST, ROWLOCK)
        WHERE q.execution_id > @runs_after
            AND q.execution_id <= @runs_to
        ORDER BY q.execution_id;
        IF @@ROWCOUNT = @batch
            SET @more = 1;
        SET @ended = (SELECT CONCAT(N'[', STRING_AGG(CAST(x.execution_id AS NVARCHAR(MAX)), N','), N']') FROM @taken AS x);
        INSERT INTO @judged (
            rule_id, execution_id, is_met, subject_key, job_id, job_name, job_execution_id, lifecycle, begin_at, end_time, title, message
        )
        EXECUTE jobs_internal.judge_ended_runs @runs = @ended;
        INSERT INTO @found (
            rule_id, subject_key, event_key, subject_kind, subject, job_id, job_execution_id, at, title, message
        )
        SELECT
            g.rule_id, g.subject_key, CONCAT(N'run:', g.execution_id), N'Job', g.job_name, g.job_id, g.job_execution_id, g.end_time,
            g.title, g.message
        FROM @judged AS g
        WHERE g.is_met = 1;
        -- Plan: UQ_alerts_subject_key.
        INSERT INTO @unresolved (alert_id, rule_id, subject_key, event_key, is_wanted)
        SELECT a.alert_id, a.rule_id, a.subject_key, a.event_key, 1
        FROM (SELECT DISTINCT g.rule_id, g.subject_key FROM @judged AS g) AS k
        INNER LOOP JOIN jobs_internal.alerts AS a ON a.rule_id = k.rule_id AND a.subject_key = k.subject_key
        WHERE a.resolved_at IS NULL;
    END
    ELSE
    BEGIN
        INSERT INTO @found (
            rule_id, subject_key, event_key, subject_kind, subject, job_id, schedule_id, agent_id, job_execution_id, at, title, message
        )
        EXECUTE jobs_internal.watch_condition @rule_id = @stage, @is_cut = @is_cut OUTPUT, @more = @more OUTPUT, @now = @now;
        -- Plan: UQ_alerts_subject_key.
        INSERT INTO @unresolved (alert_id, rule_id, subject_key, event_key, is_wanted)
        SELECT a.alert_id, a.rule_id, a.subject_key, a.event_key, 0
        FROM jobs_internal.alerts AS a
        WHERE a.rule_id = @stage
            AND a.resolved_at IS NULL;
    END;

    -- What is counted already is not new.
    UPDATE f
    SET f.is_new = 0
    FROM @found AS f
    INNER JOIN @unresolved AS u ON u.rule_id = f.rule_id AND u.subject_key = f.subject_key
    WHERE u.event_key = f.event_key;
    -- Nor is the end of a run that was counted while it was going, also if another run of the job was counted since.
    IF @stage = 0
        UPDATE f
        SET f.is_new = 0
        FROM @found AS f
        INNER JOIN @judged AS g ON g.rule_id = f.rule_id AND f.event_key = CONCAT(N'run:', g.execution_id)
        INNER JOIN jobs_internal.alert_run_limits AS l ON l.rule_id = g.rule_id AND l.execution_id = g.execution_id
        INNER JOIN @unresolved AS u ON u.rule_id = f.rule_id AND u.subject_key = f.subject_key
        WHERE l.is_raised = 1;
    -- Of a rule as much as one transaction changes: new events, and alerts whose condition does not hold any more. RunTooLong is resolved
    -- by a run that ends.
    IF @stage <> 0
    BEGIN
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
        IF @is_cut = 0
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.alert_rules AS r WHERE r.rule_id = @stage AND r.condition = N'RunTooLong')
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

    -- The alerts that no other transaction holds. acknowledge_note is in no index, so that the locks are on the clustered keys.
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
    -- Events about the subjects of the others wait, also for other rules, because all runs of their jobs wait: a run that waits and was
    -- counted for one rule would be counted again. Entries of runs that are purged, or whose jobs were deleted, do not wait.
    UPDATE f
    SET f.is_new = 0
    FROM @found AS f
    WHERE EXISTS (SELECT 1 FROM @unresolved AS u WHERE u.subject_key = f.subject_key AND u.is_wanted = 1 AND u.is_locked = 0);
    DELETE g
    FROM @judged AS g
    WHERE EXISTS (SELECT 1 FROM @unresolved AS u WHERE u.is_wanted = 1 AND u.is_locked = 0 AND u.subject_key = g.subject_key);
    DELETE q
    FROM @taken AS q
    INNER JOIN jobs_internal.visible_runs AS e ON e.execution_id = q.execution_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE j.deleted_at IS NULL
        AND (
            e.is_active = 1
            OR EXISTS (
                SELECT 1
                FROM @unresolved AS u
                WHERE u.is_wanted = 1
                    AND u.is_locked = 0
                    AND u.subject_key = CONCAT(N'job:', e.job_id)
            )
        );

    -- New events of unresolved alerts. A message of a condition that lasts is not replaced, because only its age differs.
    UPDATE a
    SET a.occurrences = a.occurrences + c.events,
        a.last_at = c.at,
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
            f.rule_id, f.subject_key, f.event_key, f.job_execution_id, f.at, f.title, f.message,
            COUNT(*) OVER (PARTITION BY f.rule_id, f.subject_key) AS events,
            ROW_NUMBER() OVER (PARTITION BY f.rule_id, f.subject_key ORDER BY f.at DESC, f.event_key DESC) AS place
        FROM @found AS f
        WHERE f.is_new = 1
    ) AS c
    INNER JOIN @unresolved AS u ON u.rule_id = c.rule_id AND u.subject_key = c.subject_key
    INNER JOIN jobs_internal.alert_rules AS r ON r.rule_id = c.rule_id
    INNER LOOP JOIN jobs_internal.alerts AS a ON a.alert_id = u.alert_id
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
    INNER JOIN jobs_internal.alert_rules AS r ON r.rule_id = c.rule_id
    OUTER APPLY (
        SELECT TOP (1) a.notified_at
        FROM jobs_internal.alerts AS a
        WHERE a.rule_id = c.rule_id
            AND a.subject_key = c.subject_key
            AND a.notified_at <= DATEADD(MINUTE, 5, @now) -- not one of before the clock was set back, as in notify_alerts
        ORDER BY a.notified_at DESC
    ) AS p
    WHERE c.place = 1;
    SET @changed = @changed + @@ROWCOUNT;
    -- Active runs that take too long are raised once.
    -- loop: only evaluations use these rows, one at a time
    UPDATE l
    SET l.is_raised = 1
    FROM jobs_internal.alert_run_limits AS l
    INNER JOIN @found AS f ON f.rule_id = l.rule_id AND f.event_key = CONCAT(N'run:', l.execution_id)
    WHERE f.is_new = 1
        AND l.limit_at <= @now
        AND l.is_raised = 0;

    IF @stage = 0
    BEGIN
        -- What the runs of a batch have raised is notified before they resolve it: the latest run that says something decides.
        EXECUTE jobs_internal.notify_alerts @now = @now;
        -- plan: few alerts of the jobs of a batch are unresolved
        SET @resolved = (
            SELECT u.alert_id, CONCAT(N'The run of ', CONVERT(NVARCHAR(19), b.begin_at, 126), N'Z ended as ', b.lifecycle, N'.') AS reason
            FROM @unresolved AS u
            CROSS APPLY (
                SELECT TOP (1) g.is_met, g.begin_at, g.lifecycle
                FROM @judged AS g
                WHERE g.rule_id = u.rule_id
                    AND g.subject_key = u.subject_key
                    AND g.is_met IS NOT NULL
                ORDER BY g.end_time DESC, g.execution_id DESC
            ) AS b
            WHERE u.is_locked = 1
                AND b.is_met = 0
            FOR JSON PATH
        );
    END
    ELSE
        SET @resolved = (
            SELECT a.alert_id, w.reason
            FROM @unresolved AS u
            INNER LOOP JOIN jobs_internal.alerts AS a ON a.alert_id = u.alert_id
            CROSS APPLY (
                SELECT CASE
                    WHEN a.job_id IS NOT NULL
                        AND NOT EXISTS (SELECT 1 FROM jobs_internal.jobs AS j WHERE j.job_id = a.job_id AND j.deleted_at IS NULL)
                        THEN N'The job was deleted.'
                    WHEN EXISTS (
                        SELECT 1
                        FROM jobs_internal.enabled_alert_rules AS r
                        INNER JOIN jobs_internal.jobs AS j ON j.job_id = a.job_id
                        WHERE r.rule_id = a.rule_id
                            AND (r.job_id <> j.job_id OR (r.job_id IS NULL AND j.name NOT LIKE r.like_pattern))
                    ) THEN N'The rule does not watch the job any more.'
                    WHEN a.subject_key LIKE N'set aside:%' THEN N'Nothing of the job is set aside any more.'
                    WHEN a.condition = N'RunNotStarted' THEN N'It has begun, or is not due any more.'
                    WHEN a.condition = N'NoAgent' THEN N'An agent works, or no work waits.'
                    WHEN a.condition = N'NoRun' THEN N'It has run.'
                    WHEN a.condition = N'ScheduleFaulted' THEN N'The schedule is not Faulted any more.'
                    WHEN a.condition = N'SchedulePaused' THEN N'The schedule is not paused any more.'
                    WHEN a.condition = N'RolloutStopped' THEN N'The roll-out goes on, or has ended.'
                    WHEN a.condition = N'RolloutApprovalWaits' THEN N'The roll-out does not wait for an approval any more.'
                    WHEN a.condition = N'RolloutBakeEnds' THEN N'The bake is over, or was extended.'
                    WHEN a.condition = N'RolloutDeadlineNear' THEN N'The roll-out has ended, or its deadline has passed or was extended.'
                    WHEN a.condition = N'TargetsChanged' THEN N'The target group is not empty, and has not changed as much again.'
                    WHEN a.condition = N'AgentSilent' THEN N'The agent works again, has ended in order, or has been gone for a week.'
                END AS reason
            ) AS w
            WHERE u.is_locked = 1
                AND w.reason IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM @found AS f WHERE f.rule_id = u.rule_id AND f.subject_key = u.subject_key)
            FOR JSON PATH
        );
    EXECUTE jobs_internal.resolve_alerts @alerts = @resolved, @now = @now;
    SET @changed = @changed + (SELECT COUNT(*) FROM OPENJSON(@resolved));

    -- The runs are done with.
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
    IF @over = 1 AND @changed > 0
        SET @more = 1;
    RETURN 0;
END;
