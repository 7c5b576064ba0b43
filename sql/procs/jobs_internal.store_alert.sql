-- Adds a rule of alerts, or changes one: the writer behind jobs.sp_add_alert and jobs.sp_update_alert.
--
-- What a mode does with a rule, and with parameters that are NULL:
--   Add     the rule is new; they get their defaults
--   Update  the rule exists; they stay
--
-- Parameters: those of the callers, and
--   @mode  Add or Update.
-- Called by: jobs.sp_add_alert, jobs.sp_update_alert. It has the transaction.
-- Locks:     the job's row (U) if one is named; the channels (S); the rule's row or the range of its name (U, X), its channels (X); an
--            insert into audit_entries.
-- Returns:   0.
-- Throws:    the errors of its callers.
CREATE OR ALTER PROCEDURE jobs_internal.store_alert
    @mode             NVARCHAR(10),
    @alert_name       NVARCHAR(129),
    @condition        NVARCHAR(31) = NULL,
    @job_name         NVARCHAR(129),
    @job_pattern      NVARCHAR(129),
    @lifecycles       NVARCHAR(201),
    @percent_failed   DECIMAL(18, 4),
    @factor           DECIMAL(18, 4),
    @runs             INT,
    @seconds          INT,
    @severity         NVARCHAR(11),
    @channels         NVARCHAR(MAX),
    @throttle_seconds INT,
    @repeat_seconds   INT,
    @notify_resolved  BIT,
    @description      NVARCHAR(513),
    @enabled          BIT,
    @percent_changed  DECIMAL(18, 4),
    @target_group_pattern NVARCHAR(129)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @wrong NVARCHAR(400);
    DECLARE @rule_id INT;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @is_about_runs BIT;
    DECLARE @is_about_jobs BIT;
    DECLARE @least_seconds INT;
    DECLARE @default_seconds INT;
    DECLARE @given NVARCHAR(400);
    DECLARE @kept_job BIT = CASE WHEN @job_name IS NULL AND @job_pattern IS NULL THEN 1 ELSE 0 END;
    DECLARE @names TABLE (name NVARCHAR(129) NOT NULL); -- wider than a name, so that a longer text finds no channel
    DECLARE @channel_ids TABLE (channel_id INT NOT NULL PRIMARY KEY);
    DECLARE @action NVARCHAR(128) = CASE WHEN @mode = N'Add' THEN N'sp_add_alert' ELSE N'sp_update_alert' END;
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @lifecycle_list TABLE (name NVARCHAR(200) NOT NULL);

    IF DATALENGTH(@alert_name) > 256
        THROW 50097, N'Invalid @alert_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@condition) > 60
        THROW 50097, N'Invalid @condition: want at most 30 characters, not 31 or more.', 1;
    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@job_pattern) > 256
        THROW 50097, N'Invalid @job_pattern: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@target_group_pattern) > 256
        THROW 50097, N'Invalid @target_group_pattern: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@lifecycles) > 400
        THROW 50097, N'Invalid @lifecycles: want at most 200 characters, not 201 or more.', 1;
    IF DATALENGTH(@severity) > 20
        THROW 50097, N'Invalid @severity: want at most 10 characters, not 11 or more.', 1;
    IF DATALENGTH(@description) > 1024
        THROW 50097, N'Invalid @description: want at most 512 characters, not 513 or more.', 1;
    IF @mode = N'Add' AND LTRIM(@job_name) = N''
        THROW 50098, N'Invalid @job_name: the name is empty. Omit it to watch all jobs.', 1;
    IF @mode = N'Add' AND LTRIM(@job_pattern) = N''
        THROW 50098, N'Invalid @job_pattern: the name is empty. Omit it to watch all jobs.', 1;
    IF @mode = N'Add' AND LTRIM(@target_group_pattern) = N''
        THROW 50098, N'Invalid @target_group_pattern: the name is empty. Omit it to watch all target groups.', 1;
    IF @alert_name IS NULL OR LTRIM(@alert_name) = N''
        THROW 50034, N'Missing alert name: @alert_name is NULL or empty.', 1;
    IF @mode = N'Add'
        EXECUTE jobs_internal.check_name @name = @alert_name, @parameter = N'@alert_name';

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent;

    -- The job comes first in the order of locks, then the channels. An empty name removes the scope.
    IF @job_name <> N''
    BEGIN
        EXECUTE jobs_internal.lock_job @job_name = @job_name, @job_id = @job_id OUTPUT;
        IF @job_pattern <> N''
            THROW 50036, N'Invalid scope: give @job_name or @job_pattern, not both.', 1;
    END;
    IF @channels IS NOT NULL
    BEGIN
        IF ISJSON(@channels) = 0 OR LEFT(LTRIM(@channels), 1) <> N'['
            OR EXISTS (SELECT 1 FROM OPENJSON(CASE WHEN ISJSON(@channels) = 1 THEN @channels ELSE N'[]' END) AS o WHERE o.type <> 1)
            THROW 50045, N'Invalid @channels: want a JSON array of names of channels, such as ["on-call"].', 1;
        INSERT INTO @names (name)
        SELECT DISTINCT LEFT(o.value, 129)
        FROM OPENJSON(@channels) AS o;
        -- definition is in no index, so that the locks are on the clustered keys. Plan: there are few channels.
        -- order: shared locks, for which only a change of one channel waits
        INSERT INTO @channel_ids (channel_id)
        SELECT c.channel_id
        FROM @names AS n
        INNER LOOP JOIN jobs_internal.alert_channels AS c WITH (REPEATABLEREAD) ON c.name = n.name
        WHERE c.definition <> N'';
        SELECT @wrong = MIN(n.name)
        FROM @names AS n
        WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.alert_channels AS c WHERE c.name = n.name);
        IF @wrong IS NOT NULL
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'The alert channel ''', @wrong, N''' does not exist. The view jobs.alert_channels lists all channels.'
            ), N'%', N'%%');
            THROW 50122, @message, 1;
        END;
    END;

    -- index: UQ_alert_rules_name, in which another session may insert the same name
    SELECT @rule_id = r.rule_id
    FROM jobs_internal.alert_rules AS r WITH (UPDLOCK, HOLDLOCK)
    WHERE r.name = @alert_name;
    IF @mode = N'Add' AND @rule_id IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'An alert named ''', @alert_name, N''' exists already. Choose another name, or change it with jobs.sp_update_alert.'
        ), N'%', N'%%');
        THROW 50119, @message, 1;
    END;
    IF @mode = N'Update' AND @rule_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The alert ''', @alert_name, N''' does not exist. The view jobs.alert_rules lists all alerts.'
        ), N'%', N'%%');
        THROW 50121, @message, 1;
    END;
    IF @mode = N'Update'
        EXECUTE jobs_internal.state_of_alert @alert_name = @alert_name, @state = @audit_before OUTPUT;

    IF @mode = N'Add'
        SET @condition = (
            SELECT k.name
            FROM (VALUES
                (N'RunEnded'), (N'TargetsFailed'), (N'RunTooLong'), (N'RunNotStarted'), (N'NoRun'), (N'ScheduleFaulted'),
                (N'SchedulePaused'), (N'AgentSilent'), (N'NoAgent'), (N'RolloutStopped'), (N'RolloutApprovalWaits'),
                (N'RolloutBakeEnds'), (N'RolloutDeadlineNear'), (N'TargetsChanged')
            ) AS k (name)
            WHERE k.name = LTRIM(RTRIM(@condition)) COLLATE Latin1_General_100_CI_AS
        );
    ELSE
        SELECT @condition = r.condition
        FROM jobs_internal.alert_rules AS r
        WHERE r.rule_id = @rule_id;
    IF @condition IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @condition: want RunEnded, TargetsFailed, RunTooLong, RunNotStarted, NoRun, ScheduleFaulted, SchedulePaused, ',
            N'AgentSilent, NoAgent, RolloutStopped, RolloutApprovalWaits, RolloutBakeEnds, RolloutDeadlineNear or TargetsChanged.'
        ), N'%', N'%%');
        THROW 50035, @message, 1;
    END;

    SET @is_about_runs = CASE WHEN @condition IN (N'RunEnded', N'TargetsFailed', N'RunTooLong') THEN 1 ELSE 0 END;
    SET @is_about_jobs = CASE WHEN @condition IN (N'AgentSilent', N'NoAgent', N'TargetsChanged') THEN 0 ELSE 1 END;
    SET @given = CASE
        WHEN @percent_failed IS NOT NULL AND @condition <> N'TargetsFailed' THEN N'@percent_failed'
        WHEN @percent_changed IS NOT NULL AND @condition <> N'TargetsChanged' THEN N'@percent_changed'
        WHEN NULLIF(@target_group_pattern, N'') IS NOT NULL AND @condition <> N'TargetsChanged' THEN N'@target_group_pattern'
        WHEN @factor IS NOT NULL AND @condition <> N'RunTooLong' THEN N'@factor'
        WHEN @runs IS NOT NULL AND @condition <> N'RunTooLong' THEN N'@runs'
        WHEN NULLIF(@lifecycles, N'') IS NOT NULL AND @condition NOT IN (N'RunEnded', N'NoRun') THEN N'@lifecycles'
        WHEN @seconds IS NOT NULL
            AND @condition IN (N'RunEnded', N'TargetsFailed', N'ScheduleFaulted', N'RolloutStopped', N'RolloutApprovalWaits')
            THEN N'@seconds'
    END;
    IF @given IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(N'Unexpected ', @given, N': the condition ', @condition, N' does not use it.'), N'%', N'%%');
        THROW 50035, @message, 1;
    END;
    IF @mode = N'Add' AND @condition = N'TargetsFailed' AND @percent_failed IS NULL
        THROW 50035, N'Missing @percent_failed: the condition TargetsFailed needs it.', 1;
    IF @mode = N'Add' AND @condition = N'NoRun' AND @seconds IS NULL
        THROW 50035, N'Missing @seconds: the condition NoRun needs it.', 1;

    IF @is_about_jobs = 0 AND (@job_name <> N'' OR @job_pattern <> N'')
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid scope: the condition ', @condition, N' is not about jobs. Omit @job_name and @job_pattern.'
        ), N'%', N'%%');
        THROW 50036, @message, 1;
    END;
    IF @condition = N'NoRun' AND COALESCE(@job_name, N'') = N'' AND COALESCE(@job_pattern, N'') = N'' AND (@mode = N'Add' OR @kept_job = 0)
        THROW 50036, N'Invalid scope: the condition NoRun needs @job_name or @job_pattern.', 1;

    -- They are stored with two digits. A share of 0 would be met by each run, and by each list.
    IF @percent_failed < 0.01 OR @percent_failed > 100
        THROW 50041, N'Invalid @percent_failed: want 0.01 to 100.', 1;
    IF @percent_changed < 0.01 OR @percent_changed > 1000
        THROW 50041, N'Invalid @percent_changed: want 0.01 to 1000.', 1;

    SELECT
        @least_seconds = CASE WHEN @condition IN (N'NoRun', N'TargetsChanged') THEN 60 ELSE 0 END,
        @default_seconds = CASE @condition
            WHEN N'RunTooLong' THEN 60
            WHEN N'RunNotStarted' THEN 60
            WHEN N'SchedulePaused' THEN 86400
            WHEN N'AgentSilent' THEN 30
            WHEN N'NoAgent' THEN 60
            WHEN N'RolloutBakeEnds' THEN 300
            WHEN N'RolloutDeadlineNear' THEN 3600
            WHEN N'TargetsChanged' THEN 3600
            ELSE 0
        END;
    SET @message = REPLACE(CASE
        WHEN @seconds < @least_seconds OR @seconds > 31536000 THEN CONCAT(N'Invalid @seconds: want ', @least_seconds, N' to 31536000.')
        WHEN @factor < 1 OR @factor > 1000 THEN N'Invalid @factor: want 1 to 1000.'
        WHEN @runs < 3 OR @runs > 100 THEN N'Invalid @runs: want 3 to 100.'
        WHEN @throttle_seconds < 0 OR @throttle_seconds > 31536000 THEN N'Invalid @throttle_seconds: want 0 to 31536000.'
        WHEN @repeat_seconds <> 0 AND (@repeat_seconds < 60 OR @repeat_seconds > 31536000)
            THEN N'Invalid @repeat_seconds: want 60 to 31536000, or 0 for never.'
    END, N'%', N'%%');
    IF @message IS NOT NULL
        THROW 50042, @message, 1;

    SET @lifecycles = CASE WHEN @lifecycles IS NOT NULL THEN LTRIM(RTRIM(@lifecycles)) END;
    IF @mode = N'Add' AND @condition = N'RunEnded'
        SET @lifecycles = COALESCE(NULLIF(@lifecycles, N''), N'Failed,TimedOut');
    IF @mode = N'Update' AND @condition = N'RunEnded' AND @lifecycles = N''
        SET @lifecycles = N'Failed,TimedOut';
    IF @lifecycles <> N''
    BEGIN
        INSERT INTO @lifecycle_list (name)
        SELECT DISTINCT LTRIM(RTRIM(p.value))
        FROM STRING_SPLIT(@lifecycles, N',') AS p;
        SELECT @wrong = MIN(l.name)
        FROM @lifecycle_list AS l
        WHERE NOT EXISTS (
            SELECT 1
            FROM (VALUES (N'Succeeded'), (N'SucceededWithSkipped'), (N'Failed'), (N'TimedOut'), (N'Canceled')) AS k (name)
            WHERE k.name = l.name COLLATE Latin1_General_100_CI_AS
        );
        IF @wrong IS NOT NULL
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'Invalid @lifecycles: ''', @wrong, N''': want Succeeded, SucceededWithSkipped, Failed, TimedOut or Canceled, separated ',
                N'by commas.'
            ), N'%', N'%%');
            THROW 50043, @message, 1;
        END;
        SELECT @lifecycles = STRING_AGG(k.name, N',') WITHIN GROUP (ORDER BY k.place)
        FROM (VALUES (N'Succeeded', 1), (N'SucceededWithSkipped', 2), (N'Failed', 3), (N'TimedOut', 4), (N'Canceled', 5)) AS k (name, place)
        WHERE EXISTS (SELECT 1 FROM @lifecycle_list AS l WHERE l.name COLLATE Latin1_General_100_CI_AS = k.name);
    END;

    SET @wrong = @severity;
    SET @severity = CASE LTRIM(RTRIM(@severity)) COLLATE Latin1_General_100_CI_AS
        WHEN N'info' THEN N'Info'
        WHEN N'warning' THEN N'Warning'
        WHEN N'critical' THEN N'Critical'
    END;
    IF @wrong IS NOT NULL AND @severity IS NULL
        THROW 50045, N'Invalid @severity: want Info, Warning or Critical.', 1;

    IF @mode = N'Add'
    BEGIN
        INSERT INTO jobs_internal.alert_rules (
            name, description, condition, watches_runs, job_id, job_pattern, lifecycles, percent_failed, factor, runs, seconds, severity,
            throttle_seconds, repeat_seconds, notify_resolved, enabled, created_at, updated_at, watches_from, percent_changed,
            group_pattern
        )
        VALUES (
            @alert_name, COALESCE(@description, N''), @condition, @is_about_runs, @job_id, NULLIF(@job_pattern, N''),
            NULLIF(@lifecycles, N''), @percent_failed, CASE WHEN @condition = N'RunTooLong' THEN COALESCE(@factor, 2) END,
            CASE WHEN @condition = N'RunTooLong' THEN COALESCE(@runs, 20) END, COALESCE(@seconds, @default_seconds),
            COALESCE(@severity, N'Warning'), COALESCE(@throttle_seconds, 3600), NULLIF(@repeat_seconds, 0), COALESCE(@notify_resolved, 1),
            COALESCE(@enabled, 1), @now, @now, @now,
            CASE WHEN @condition = N'TargetsChanged' THEN COALESCE(@percent_changed, 10) END, @target_group_pattern
        );
        SET @rule_id = SCOPE_IDENTITY();
    END
    ELSE
        UPDATE r
        SET r.description = COALESCE(@description, r.description),
            r.job_id = CASE WHEN @kept_job = 1 THEN r.job_id ELSE @job_id END,
            r.job_pattern = CASE WHEN @kept_job = 1 THEN r.job_pattern ELSE NULLIF(@job_pattern, N'') END,
            r.lifecycles = CASE WHEN @lifecycles IS NULL THEN r.lifecycles ELSE NULLIF(@lifecycles, N'') END,
            r.percent_failed = COALESCE(@percent_failed, r.percent_failed),
            r.factor = COALESCE(@factor, r.factor),
            r.runs = COALESCE(@runs, r.runs),
            r.seconds = COALESCE(@seconds, r.seconds),
            r.severity = COALESCE(@severity, r.severity),
            r.throttle_seconds = COALESCE(@throttle_seconds, r.throttle_seconds),
            r.repeat_seconds = CASE WHEN @repeat_seconds IS NULL THEN r.repeat_seconds ELSE NULLIF(@repeat_seconds, 0) END,
            r.notify_resolved = COALESCE(@notify_resolved, r.notify_resolved),
            r.watches_from = CASE WHEN r.enabled = 0 AND @enabled = 1 THEN @now ELSE r.watches_from END,
            r.enabled = COALESCE(@enabled, r.enabled),
            r.percent_changed = COALESCE(@percent_changed, r.percent_changed),
            r.group_pattern = CASE WHEN @target_group_pattern IS NULL THEN r.group_pattern ELSE NULLIF(@target_group_pattern, N'') END,
            r.updated_at = @now
        FROM jobs_internal.alert_rules AS r
        WHERE r.rule_id = @rule_id;

    IF @channels IS NOT NULL
    BEGIN
        DELETE x
        FROM jobs_internal.alert_rule_channels AS x
        WHERE x.rule_id = @rule_id;
        INSERT INTO jobs_internal.alert_rule_channels (rule_id, channel_id)
        SELECT @rule_id, c.channel_id
        FROM @channel_ids AS c;
    END;

    EXECUTE jobs_internal.state_of_alert @alert_name = @alert_name, @state = @audit_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = @action,
        @object_kind = N'AlertRule',
        @object_name = @alert_name,
        @before = @audit_before,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
