-- Finds what meets a rule whose condition lasts: runs that take too long, have not begun or are set aside, jobs that do not run, schedules
-- that are Faulted or paused, roll-outs that people should look at, target groups that are empty or have changed much, and agents that are
-- silent or missing.
--
-- Parameters:
--   @rule_id  The rule. Nothing is found if it is disabled or deleted.
--   @is_cut   Receives 1 if more may meet the condition than was read.
--   @more     Receives 1 if there are more runs than one call adds to alert_run_limits.
--   @now      The time of the evaluation.
-- Called by: jobs_internal.raise_alerts.
-- Locks:     rows of alert_run_limits (X).
-- Returns:   One row for each event: rule_id, subject_key, event_key (tells two events about a subject apart), and subject_kind, subject,
--            job_id, schedule_id, agent_id, job_execution_id, at, title and message of the alert.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.watch_condition
    @rule_id INT,
    @is_cut  BIT OUTPUT,
    @more    BIT OUTPUT,
    @now     DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @condition NVARCHAR(30);
    DECLARE @watches_from DATETIME2(7);
    DECLARE @before DATETIME2(7);       -- what began to be so until then has lasted long enough
    DECLARE @live_agents INT;
    DECLARE @last_live_at DATETIME2(7); -- NULL: an agent is live, or none ever was
    DECLARE @agent_state NVARCHAR(20) = (SELECT a.state FROM jobs_internal.job_agent AS a WHERE a.id = 1);
    DECLARE @agents NVARCHAR(400);      -- whether anything can run, in words
    -- What was found. An asterisk in the title stands for the name of the job, agent or target group.
    DECLARE @events TABLE (
        subject_key      NVARCHAR(100) NULL, -- NULL: by job, schedule or agent
        event_key        NVARCHAR(100) NOT NULL,
        job_id           UNIQUEIDENTIFIER NULL,
        schedule_id      BIGINT NULL,
        agent_id         UNIQUEIDENTIFIER NULL,
        job_execution_id UNIQUEIDENTIFIER NULL,
        group_name       NVARCHAR(128) NULL,
        at               DATETIME2(7) NOT NULL,
        title            NVARCHAR(100) NOT NULL,
        message          NVARCHAR(MAX) NOT NULL
    );
    DECLARE @waiting TABLE (
        execution_id     BIGINT NOT NULL PRIMARY KEY,
        job_execution_id UNIQUEIDENTIFIER NOT NULL,
        job_id           UNIQUEIDENTIFIER NOT NULL,
        create_time      DATETIME2(7) NOT NULL
    );

    SET @is_cut = 0;
    SET @more = 0;
    SELECT
        @condition = r.condition,
        @watches_from = r.watches_from,
        @before = DATEADD(SECOND, -r.seconds, @now)
    FROM jobs_internal.enabled_alert_rules AS r
    WHERE r.rule_id = @rule_id;

    IF @condition IN (N'RunNotStarted', N'NoAgent', N'NoRun', N'AgentSilent')
    BEGIN
        SELECT @live_agents = COUNT(*)
        FROM jobs_internal.terms AS t
        WHERE t.ended_at IS NULL
            AND t.expires_at > @now;
        -- Plan: the last keys of PK_terms.
        IF @live_agents = 0
            SELECT @last_live_at = MAX(CASE WHEN f.ended_at < f.expires_at THEN f.ended_at ELSE f.expires_at END)
            FROM (
                SELECT TOP (1000) t.ended_at, t.expires_at
                FROM jobs_internal.terms AS t
                ORDER BY t.term_id DESC
            ) AS f;
        SET @agents = CONCAT(
            CASE
                WHEN @live_agents = 0 THEN CONCAT(N'No agent is live', N' since ' + CONVERT(NVARCHAR(19), @last_live_at, 126) + N'Z')
                WHEN @live_agents = 1 THEN N'1 agent is live'
                ELSE CONCAT(@live_agents, N' agents are live')
            END,
            N'.',
            CASE WHEN @agent_state NOT IN (N'None', N'Ready', N'Updating') THEN CONCAT(N' The job agent is ', @agent_state, N'.') END
        );
    END;

    IF @condition = N'RunTooLong'
    BEGIN
        -- Active runs get their limit once. Plan: IX_job_executions_active_create_time.
        INSERT INTO jobs_internal.alert_run_limits (rule_id, execution_id)
        SELECT TOP (200) @rule_id, e.execution_id
        FROM (
            SELECT TOP (10000) a.execution_id, a.job_id, a.lifecycle, a.mode
            FROM jobs_internal.job_executions AS a
            WHERE a.is_active = 1
            ORDER BY a.create_time DESC, a.job_execution_id
        ) AS e
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
        INNER JOIN jobs_internal.enabled_alert_rules AS r ON r.rule_id = @rule_id
        WHERE e.lifecycle <> N'Created'
            AND e.mode IS NULL -- who started a trial looks at it
            AND j.deleted_at IS NULL
            AND (r.job_id = j.job_id OR (r.job_id IS NULL AND (r.like_pattern IS NULL OR j.name LIKE r.like_pattern)))
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.rollouts AS o WHERE o.execution_id = e.execution_id) -- lasts as long as its bakes
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.alert_run_limits AS l
                WHERE l.rule_id = @rule_id
                    AND l.execution_id = e.execution_id
            );
        SET @more = CASE WHEN @@ROWCOUNT = 200 THEN 1 ELSE 0 END;
        -- Limits for another state of the rule. Plan: the range of the rule in PK_alert_run_limits, which has active runs.
        -- rows: the next evaluation goes on
        UPDATE TOP (200) l
        SET l.is_computed = 0
        FROM jobs_internal.alert_run_limits AS l
        WHERE l.rule_id = @rule_id
            AND l.is_computed = 1
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.enabled_alert_rules AS r
                WHERE r.rule_id = l.rule_id
                    AND r.updated_at = l.computed_for
            );
        IF @@ROWCOUNT = 200
            SET @more = 1;
        EXECUTE jobs_internal.limit_long_runs;
        INSERT INTO @events (event_key, job_id, job_execution_id, at, title, message)
        SELECT
            CONCAT(N'run:', e.execution_id), e.job_id, e.job_execution_id, l.limit_at, N'Job * takes too long',
            CONCAT(
                N'The run began at ', CONVERT(NVARCHAR(19), e.start_time, 126), N'Z and is still going after ',
                CAST(DATEDIFF_BIG(SECOND, e.start_time, @now) AS NVARCHAR(20)), N' s; the median is ',
                CAST(l.median_seconds AS DECIMAL(18, 1)), N' s.', NCHAR(10), LEFT(e.last_message, 2000)
            )
        FROM jobs_internal.alert_run_limits AS l
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = l.execution_id
        WHERE l.rule_id = @rule_id
            AND l.is_computed = 1
            AND l.limit_at <= @now
            AND l.is_raised = 0
            AND e.is_active = 1;
    END;

    IF @condition = N'RunNotStarted' AND COALESCE(@agent_state, N'None') NOT IN (N'Deleting', N'Deleted')
    BEGIN
        -- Plan: the start of IX_schedules_next_fire_at, which holds no more than what is overdue.
        INSERT INTO @events (event_key, job_id, schedule_id, at, title, message)
        SELECT
            CONCAT(N'due:', CONVERT(NVARCHAR(33), s.next_due_at, 126)), s.job_id, s.schedule_id, s.next_due_at,
            N'Job * was due and has not begun',
            CONCAT(
                N'The schedule', N' ''' + NULLIF(s.name, N'') + N'''', N' was due at ', CONVERT(NVARCHAR(19), s.next_due_at, 126),
                N'Z, and nothing has begun for ', CAST(DATEDIFF_BIG(SECOND, s.next_fire_at, @now) AS NVARCHAR(20)), N' s.',
                NCHAR(10), @agents
            )
        FROM jobs_internal.schedules AS s
        WHERE s.next_fire_at <= @before;
        -- A new schedule is due only after an agent has validated it.
        INSERT INTO @events (event_key, job_id, schedule_id, at, title, message)
        SELECT
            CONCAT(N'validation:', s.revision), s.job_id, s.schedule_id, c.changed_at,
            N'A schedule of the job * has not been validated',
            CONCAT(
                N'The schedule ''', s.name, N''' was changed at ', CONVERT(NVARCHAR(19), c.changed_at, 126),
                N'Z, and nothing is due before an agent has validated it.', NCHAR(10), @agents
            )
        FROM jobs_internal.schedules AS s
        CROSS APPLY (
            SELECT CASE WHEN s.activated_at > s.updated_at THEN s.activated_at ELSE s.updated_at END AS changed_at
        ) AS c
        WHERE s.awaits_verdict = 1
            AND s.enabled = 1
            AND s.paused = 0
            AND s.next_fire_at IS NULL
            AND c.changed_at <= @before;
        -- Of the runs of a job that have not begun, the first one. Plan: the first keys of IX_job_executions_hot.
        INSERT INTO @waiting (execution_id, job_execution_id, job_id, create_time)
        SELECT TOP (10000) e.execution_id, e.job_execution_id, e.job_id, e.create_time
        FROM jobs_internal.job_executions AS e
        WHERE e.is_active = 1
            AND e.parked = 0
            AND e.lifecycle = N'Created'
            AND e.mode IS NULL
            AND e.create_time <= @before
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.set_asides AS z
                WHERE z.kind = N'Run'
                    AND e.execution_id BETWEEN z.first_id AND z.last_id
            )
        ORDER BY e.execution_id;
        SET @is_cut = CASE WHEN @@ROWCOUNT = 10000 THEN 1 ELSE 0 END;
        INSERT INTO @events (event_key, job_id, job_execution_id, at, title, message)
        SELECT
            CONCAT(N'run:', w.execution_id), w.job_id, w.job_execution_id, w.create_time,
            N'Job * was started and has not begun',
            CONCAT(
                CASE WHEN w.of_job = 1 THEN N'A run was' ELSE CONCAT(w.of_job, N' runs were') END, N' created at ',
                CONVERT(NVARCHAR(19), w.create_time, 126), N'Z',
                CASE WHEN w.of_job > 1 THEN N' or later' END, N', and nothing has begun.', NCHAR(10), @agents
            )
        FROM (
            SELECT
                e.execution_id,
                e.job_execution_id,
                e.job_id,
                e.create_time,
                COUNT(*) OVER (PARTITION BY e.job_id) AS of_job,
                ROW_NUMBER() OVER (PARTITION BY e.job_id ORDER BY e.execution_id) AS place
            FROM @waiting AS e
        ) AS w
        WHERE w.place = 1;
        -- What is set aside, whether it has begun or not: of each job the first. Plan: PK_set_asides, usually empty, with a key for each.
        INSERT INTO @events (subject_key, event_key, job_id, schedule_id, job_execution_id, at, title, message)
        SELECT
            CONCAT(N'set aside:', w.job_id), CONCAT(w.kind, N':', w.first_id, N',', CONVERT(NVARCHAR(33), w.created_at, 126)), w.job_id,
            w.schedule_id, w.job_execution_id, w.created_at,
            CASE w.kind
                WHEN N'Run' THEN N'A run of the job * is set aside'
                WHEN N'Schedule' THEN N'A schedule of the job * is set aside'
                ELSE N'A trigger of the job * is set aside'
            END,
            CONCAT(
                CASE
                    WHEN w.of_job > 1
                        THEN CONCAT(w.of_job, N' runs, schedules and triggers of the job are set aside. The first one:', NCHAR(10))
                END,
                w.message, NCHAR(10), N'The view jobs.set_asides lists all.'
            )
        FROM (
            SELECT
                z.kind,
                z.first_id,
                z.created_at,
                x.job_id,
                s.schedule_id,
                e.job_execution_id,
                m.message,
                COUNT(*) OVER (PARTITION BY x.job_id) AS of_job,
                ROW_NUMBER() OVER (PARTITION BY x.job_id ORDER BY z.created_at, z.kind, z.first_id) AS place
            FROM jobs_internal.set_asides AS z
            INNER JOIN jobs_internal.set_aside_messages AS m ON m.kind = z.kind AND m.first_id = z.first_id
            LEFT JOIN jobs_internal.job_executions AS e ON e.execution_id = CASE WHEN z.kind = N'Run' THEN z.first_id END
            LEFT JOIN jobs_internal.schedules AS s ON s.schedule_id = CASE WHEN z.kind = N'Schedule' THEN z.first_id END
            LEFT JOIN jobs_internal.job_triggers AS t ON t.trigger_id = CASE WHEN z.kind = N'Trigger' THEN z.first_id END
            CROSS APPLY (SELECT COALESCE(e.job_id, s.job_id, t.job_id) AS job_id) AS x
            WHERE z.is_part = 0
                AND z.created_at <= @before
                AND x.job_id IS NOT NULL
        ) AS w
        WHERE w.place = 1;
    END;

    -- Plan: per job in the scope the first key of IX_job_executions_job_id_create_time and, for each lifecycle of the rule, of
    -- IX_job_executions_job_id_lifecycle. So runs of other lifecycles are not read, however many there are.
    IF @condition = N'NoRun'
        INSERT INTO @events (event_key, job_id, at, title, message)
        SELECT
            CONCAT(N'since:', CONVERT(NVARCHAR(33), w.since, 126)), j.job_id, DATEADD(SECOND, r.seconds, w.since),
            CASE WHEN r.lifecycles = N',,' THEN N'Job * has not run' ELSE N'Job * has not ended well' END,
            CONCAT(
                CASE
                    WHEN r.lifecycles = N',,' THEN N'No run began'
                    ELSE CONCAT(N'No run ended as ', REPLACE(SUBSTRING(r.lifecycles, 2, LEN(r.lifecycles) - 2), N',', N' or '))
                END,
                N' for ', r.seconds, N' s. ',
                COALESCE(N'The latest run was created at ' + CONVERT(NVARCHAR(19), p.last_at, 126) + N'Z.', N'The job has no run.'),
                NCHAR(10), @agents
            )
        FROM jobs_internal.enabled_alert_rules AS r
        CROSS JOIN jobs_internal.jobs AS j
        OUTER APPLY (
            SELECT TOP (1) e.create_time AS last_at
            FROM jobs_internal.job_executions AS e
            WHERE e.job_id = j.job_id
                AND e.mode IS NULL -- a trial is no run of the job
            ORDER BY e.create_time DESC, e.job_execution_id
        ) AS p
        OUTER APPLY (
            SELECT MAX(f.end_time) AS ended_at
            FROM STRING_SPLIT(r.lifecycles, N',') AS k
            CROSS APPLY (
                SELECT TOP (1) e.end_time
                FROM jobs_internal.job_executions AS e
                WHERE e.job_id = j.job_id
                    AND e.lifecycle = k.value
                    AND e.is_active = 0
                    AND e.mode IS NULL
                ORDER BY e.end_time DESC
            ) AS f
        ) AS g
        -- Runs that do not count are no events: the condition lasts since the run that counted last.
        CROSS APPLY (SELECT COALESCE(CASE WHEN r.lifecycles = N',,' THEN p.last_at ELSE g.ended_at END, j.created_at) AS since) AS w
        WHERE r.rule_id = @rule_id
            AND j.deleted_at IS NULL
            AND w.since <= @before
            AND (r.job_id = j.job_id OR (r.job_id IS NULL AND j.is_system = 0 AND j.name LIKE r.like_pattern));

    -- Plan: IX_schedules_closed_at, which has no other schedules.
    IF @condition = N'ScheduleFaulted'
        INSERT INTO @events (event_key, job_id, schedule_id, at, title, message)
        SELECT
            CONCAT(N'revision:', s.revision), s.job_id, s.schedule_id, s.closed_at, N'A schedule of the job * is Faulted',
            CONCAT(
                N'The schedule ''', s.name, N''' has been Faulted since ', CONVERT(NVARCHAR(19), s.closed_at, 126), N'Z.', NCHAR(10),
                LEFT(s.reason, 2000)
            )
        FROM jobs_internal.schedules AS s
        WHERE s.closed_at IS NOT NULL
            AND s.state = N'Faulted';

    -- Plan: IX_schedules_paused_at, which has no other schedules.
    IF @condition = N'SchedulePaused'
        INSERT INTO @events (event_key, job_id, schedule_id, at, title, message)
        SELECT
            CONCAT(N'paused:', CONVERT(NVARCHAR(33), s.paused_at, 126)), s.job_id, s.schedule_id, s.paused_at,
            N'A schedule of the job * is paused',
            CONCAT(
                N'The schedule', N' ''' + NULLIF(s.name, N'') + N'''', N' has been paused since ', CONVERT(NVARCHAR(19), s.paused_at, 126),
                N'Z', N' by ' + s.paused_by, N'.', NCHAR(10) + NULLIF(s.pause_note, N'')
            )
        FROM jobs_internal.schedules AS s
        WHERE s.paused = 1
            AND s.paused_at <= @before;

    -- Plan: IX_terms_expires_at, and the terms that ended in the last week, by IX_terms_ended_at; for each a key of IX_terms_agent_id.
    IF @condition = N'AgentSilent'
        INSERT INTO @events (event_key, agent_id, at, title, message)
        SELECT
            CONCAT(N'term:', t.term_id), g.agent_id, t.expires_at, N'The agent on * is silent',
            CONCAT(
                N'The term of the agent ', g.agent_id, N' on ''', g.host_name, N''' expired at ',
                CONVERT(NVARCHAR(19), t.expires_at, 126), N'Z, and the agent had not ended it: it was killed, or cannot reach the control ',
                N'database.', NCHAR(10), @agents
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
        WHERE t.expires_at <= @before
            AND t.expires_at > DATEADD(DAY, -7, @now)
            AND t.expires_at >= @watches_from
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

    IF @condition = N'NoAgent' AND @live_agents = 0 AND COALESCE(@last_live_at, @watches_from) <= @before
        INSERT INTO @events (event_key, at, title, message)
        SELECT
            CONCAT(N'since:', CONVERT(NVARCHAR(33), COALESCE(@last_live_at, @watches_from), 126)),
            COALESCE(@last_live_at, @watches_from), N'No agent works, and work waits',
            CONCAT(@agents, NCHAR(10), w.active_runs, N' active runs and ', w.due_schedules, N' due schedules wait.')
        FROM (
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
        WHERE w.active_runs + w.due_schedules + w.new_schedules > 0;

    -- Plan: IX_rollouts_job_id, which has the active roll-outs only, and a key of the other tables for each.
    IF @condition LIKE N'Rollout%'
        INSERT INTO @events (subject_key, event_key, job_id, job_execution_id, at, title, message)
        SELECT o.subject_key, o.event_key, o.job_id, o.job_execution_id, COALESCE(o.at, @now), o.title, o.message
        FROM jobs_internal.rollout_events AS o
        INNER JOIN jobs_internal.enabled_alert_rules AS r ON r.rule_id = @rule_id
        WHERE o.condition = @condition
            AND (o.due_at IS NULL OR o.due_at <= DATEADD(SECOND, r.seconds, @now));

    -- Of each target group the last event: that it is empty since a list, or that a list changed it. Plan: ranges of
    -- IX_group_changes_resolved_at and IX_group_lists_empty_at, which have what changed lately and what is empty, and a key for each.
    IF @condition = N'TargetsChanged'
    BEGIN
        WITH recent AS (
            SELECT TOP (10000) c.target_group_id, c.resolved_at, c.had, c.found, c.lost
            FROM jobs_internal.group_changes AS c
            WHERE c.resolved_at > @before
                AND c.resolved_at >= @watches_from
                AND c.resolved_at <= @now -- not a list of before the clock was set back
            ORDER BY c.resolved_at DESC
        ),
        seen AS (
            SELECT c.target_group_id, c.resolved_at AS at, c.had, c.found, c.lost, 0 AS is_empty
            FROM recent AS c
            INNER JOIN jobs_internal.enabled_alert_rules AS r ON r.rule_id = @rule_id
            WHERE c.had > 0
                AND (100.0 * c.found >= r.percent_changed * c.had OR 100.0 * c.lost >= r.percent_changed * c.had)
            UNION ALL
            SELECT l.target_group_id, l.empty_at, 0, 0, 0, 1
            FROM jobs_internal.group_lists AS l
            WHERE l.empty_at IS NOT NULL
        ),
        numbered AS (
            SELECT
                s.target_group_id, s.at, s.had, s.found, s.lost, s.is_empty,
                ROW_NUMBER() OVER (PARTITION BY s.target_group_id ORDER BY s.at DESC, s.is_empty DESC) AS place
            FROM seen AS s
        )
        INSERT INTO @events (subject_key, event_key, group_name, at, title, message)
        SELECT
            CONCAT(N'group:', g.target_group_id), CONCAT(N'list:', CONVERT(NVARCHAR(33), n.at, 126)), g.name, n.at,
            CASE WHEN n.is_empty = 1 THEN N'The target group * is empty' ELSE N'The target group * has changed' END,
            CONCAT(
                CASE
                    WHEN n.is_empty = 1 THEN CONCAT(
                        N'Its list of ', CONVERT(NVARCHAR(19), n.at, 126), N'Z has no database',
                        N'; it had ' + CAST(NULLIF(c.had, 0) AS NVARCHAR(20)) + N' before',
                        N'.'
                    )
                    ELSE CONCAT(
                        N'Of the ', n.had, N' databases that it had, its list of ', CONVERT(NVARCHAR(19), n.at, 126), N'Z lacks ', n.lost,
                        N' (', CAST(100.0 * n.lost / n.had AS DECIMAL(18, 1)), N' %), and ', n.found, N' came (',
                        CAST(100.0 * n.found / n.had AS DECIMAL(18, 1)), N' %).'
                    )
                END,
                NCHAR(10), N'Which: jobs.target_group_targets. What a run would find now: jobagent target-group resolve ''', g.name, N'''.'
            )
        FROM numbered AS n
        INNER JOIN jobs_internal.target_groups AS g ON g.target_group_id = n.target_group_id
        INNER JOIN jobs_internal.enabled_alert_rules AS r ON r.rule_id = @rule_id
        LEFT JOIN jobs_internal.group_changes AS c ON c.target_group_id = n.target_group_id AND c.resolved_at = n.at
        WHERE n.place = 1
            AND (r.like_group IS NULL OR g.name LIKE r.like_group);
        SET @is_cut = CASE
            WHEN (
                SELECT COUNT(*)
                FROM (
                    SELECT TOP (10001) c.target_group_id
                    FROM jobs_internal.group_changes AS c
                    WHERE c.resolved_at > @before
                        AND c.resolved_at >= @watches_from
                        AND c.resolved_at <= @now
                ) AS f
            ) > 10000 THEN 1
            ELSE 0
        END;
    END;

    -- Events about what the rule watches. Plan: a key of each table for each event.
    SELECT
        r.rule_id,
        CASE
            WHEN e.subject_key IS NOT NULL THEN e.subject_key
            WHEN e.agent_id IS NOT NULL THEN CONCAT(N'agent:', e.agent_id)
            WHEN e.schedule_id IS NOT NULL THEN CONCAT(N'schedule:', e.schedule_id)
            WHEN e.job_id IS NOT NULL THEN CONCAT(N'job:', e.job_id)
            ELSE N'control'
        END AS subject_key,
        e.event_key,
        CASE
            WHEN e.agent_id IS NOT NULL THEN N'Agent'
            WHEN e.schedule_id IS NOT NULL THEN N'Schedule'
            WHEN e.job_id IS NOT NULL THEN N'Job'
            WHEN e.group_name IS NOT NULL THEN N'TargetGroup'
            ELSE N'ControlDatabase'
        END AS subject_kind,
        CASE
            WHEN e.agent_id IS NOT NULL THEN g.host_name
            WHEN e.job_id IS NOT NULL THEN CONCAT(j.name, N' / ' + NULLIF(s.name, N''))
            WHEN e.group_name IS NOT NULL THEN e.group_name
            ELSE N'control database'
        END AS subject,
        e.job_id,
        e.schedule_id,
        e.agent_id,
        e.job_execution_id,
        e.at,
        REPLACE(e.title, N'*', CONCAT(N'''', COALESCE(j.name, g.host_name, e.group_name), N'''')) AS title,
        e.message
    FROM @events AS e
    INNER JOIN jobs_internal.enabled_alert_rules AS r ON r.rule_id = @rule_id
    LEFT JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    LEFT JOIN jobs_internal.schedules AS s ON s.schedule_id = e.schedule_id
    LEFT JOIN jobs_internal.agents AS g ON g.agent_id = e.agent_id
    WHERE e.job_id IS NULL
        OR (
            j.deleted_at IS NULL
            AND (r.job_id = j.job_id OR (r.job_id IS NULL AND (r.like_pattern IS NULL OR j.name LIKE r.like_pattern)))
        );
    RETURN 0;
END;
