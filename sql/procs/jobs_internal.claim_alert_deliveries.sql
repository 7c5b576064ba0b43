-- Leases deliveries that are due to a process that can carry them out, and gives up those that have expired. A lease that has passed is
-- taken over by the next caller. While the control database is paused, nothing is leased, and deliveries wait. Those about alerts of a rule
-- that is muted wait, too. Those that tell of an alert of a rule that was deleted or disabled are canceled; one that tells that it is
-- resolved is sent.
--
-- Parameters:
--   @holder         The process.
--   @channel_types  Types of channels that it delivers to, separated by commas.
--   @with_secrets   1: it can read secrets, so it also gets channels whose definitions name some.
--   @max            Maximum number of deliveries, 1 to 100.
--   @lease_seconds  Length of the leases, 1 to 3600.
-- Called by: agent/alerts/service.go, in agents and fronts.
-- Locks:     the deliveries (U, X; READPAST).
-- Returns:   The deliveries with their channels and alerts, in the order of their times; of an ended run also the first target that
--            failed, with its error.
-- Throws:
--   50029 an argument is missing or out of range.
CREATE OR ALTER PROCEDURE jobs_internal.claim_alert_deliveries
    @holder        UNIQUEIDENTIFIER,
    @channel_types NVARCHAR(400),
    @with_secrets  BIT,
    @max           INT,
    @lease_seconds INT,
    @now           DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @latest DATETIME2(7) = DATEADD(MINUTE, 65, @now);
    DECLARE @due TABLE (delivery_id BIGINT NOT NULL PRIMARY KEY, is_expired BIT NOT NULL, is_unwanted BIT NOT NULL);
    DECLARE @locked TABLE (
        delivery_id  BIGINT NOT NULL PRIMARY KEY,
        is_expired   BIT NOT NULL,
        is_unwanted  BIT NOT NULL,
        leased_until DATETIME2(7) NULL
    );

    IF @holder IS NULL OR @channel_types IS NULL OR @with_secrets IS NULL
        THROW 50029, N'Invalid arguments of claim_alert_deliveries: a value is missing.', 1;
    IF @max IS NULL OR @max < 1 OR @max > 100 OR @lease_seconds IS NULL OR @lease_seconds < 1 OR @lease_seconds > 3600
        THROW 50029, N'Invalid arguments of claim_alert_deliveries: want @max 1 to 100, and @lease_seconds 1 to 3600.', 1;

    IF EXISTS (SELECT 1 FROM jobs_internal.job_agent AS a WHERE a.id = 1 AND a.paused_at IS NOT NULL)
        RETURN 0;
    -- No wait and no lease is longer than an hour, and no delivery is made in the future: they are of the time before the clock was set
    -- back. Plan: IX_alert_deliveries_next_attempt_at, which has only deliveries that wait.
    INSERT INTO @due (delivery_id, is_expired, is_unwanted)
    SELECT TOP (@max) d.delivery_id, CASE WHEN d.expires_at <= @now THEN 1 ELSE 0 END, u.is_unwanted
    FROM jobs_internal.alert_deliveries AS d
    LEFT JOIN jobs_internal.alert_channels AS c ON c.channel_id = d.channel_id
    CROSS APPLY (
        SELECT CASE
            WHEN d.kind IN (N'Raised', N'Again')
                AND NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.alerts AS a
                    INNER JOIN jobs_internal.alert_rules AS r ON r.rule_id = a.rule_id
                    WHERE a.alert_id = d.alert_id
                        AND r.enabled = 1
                ) THEN 1
            ELSE 0
        END AS is_unwanted
    ) AS u
    WHERE d.next_attempt_at IS NOT NULL
        AND (d.next_attempt_at <= @now OR d.next_attempt_at > @latest OR (d.attempts = 0 AND d.created_at > @now))
        AND (d.leased_until IS NULL OR d.leased_until <= @now OR d.leased_until > @latest)
        AND (
            d.expires_at <= @now
            OR u.is_unwanted = 1
            OR (
                (c.enabled = 1 OR d.kind = N'Test')
                AND (c.needs_secrets = 0 OR @with_secrets = 1)
                AND CONCAT(N',', @channel_types, N',') LIKE CONCAT(N'%,', c.channel_type, N',%')
                AND NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.alerts AS a
                    INNER JOIN jobs_internal.alert_rules AS r ON r.rule_id = a.rule_id
                    WHERE a.alert_id = d.alert_id
                        AND r.muted_until > @now
                )
            )
        )
    ORDER BY d.next_attempt_at, d.delivery_id;
    IF NOT EXISTS (SELECT 1 FROM @due AS u)
        RETURN 0;

    BEGIN TRANSACTION;
    -- leased_until is in no index, so that the locks are on the clustered keys, and the row is checked again.
    INSERT INTO @locked (delivery_id, is_expired, is_unwanted, leased_until)
    SELECT d.delivery_id, u.is_expired, u.is_unwanted, d.leased_until
    FROM @due AS u
    INNER LOOP JOIN jobs_internal.alert_deliveries AS d WITH (UPDLOCK, READPAST, ROWLOCK) ON d.delivery_id = u.delivery_id
    WHERE (d.next_attempt_at <= @now OR d.next_attempt_at > @latest OR (d.attempts = 0 AND d.created_at > @now))
        AND (d.leased_until IS NULL OR d.leased_until <= @now OR d.leased_until > @latest);
    UPDATE d
    SET d.state = N'Canceled',
        d.next_attempt_at = NULL,
        d.last_error = COALESCE(d.last_error, N'Not sent: the rule was deleted or disabled.')
    FROM @locked AS l
    INNER LOOP JOIN jobs_internal.alert_deliveries AS d ON d.delivery_id = l.delivery_id
    WHERE l.is_unwanted = 1;
    UPDATE d
    SET d.state = N'Failed',
        d.next_attempt_at = NULL,
        d.last_error = COALESCE(d.last_error, N'Given up: no process that can deliver to this channel was there in time.')
    FROM @locked AS l
    INNER LOOP JOIN jobs_internal.alert_deliveries AS d ON d.delivery_id = l.delivery_id
    WHERE l.is_expired = 1
        AND l.is_unwanted = 0;
    UPDATE d
    SET d.attempts = d.attempts + 1,
        d.next_attempt_at = CASE WHEN d.next_attempt_at > @now THEN @now ELSE d.next_attempt_at END,
        d.leased_by = @holder,
        d.leased_until = DATEADD(SECOND, @lease_seconds, @now)
    FROM @locked AS l
    INNER LOOP JOIN jobs_internal.alert_deliveries AS d ON d.delivery_id = l.delivery_id
    WHERE l.is_expired = 0
        AND l.is_unwanted = 0;
    COMMIT TRANSACTION;

    SELECT
        d.delivery_id,
        d.notification_id,
        d.attempts,
        d.kind,
        d.title,
        d.message,
        d.occurrences,
        d.last_at AS last_time,
        d.created_at AS created_time,
        c.name AS channel_name,
        c.channel_type,
        c.definition,
        a.alert_id,
        a.rule_name AS alert_name,
        a.condition,
        a.severity,
        a.subject_kind,
        a.subject,
        a.job_id,
        j.name AS job_name,
        s.name AS schedule_name,
        a.agent_id,
        COALESCE(a.job_execution_id, e.job_execution_id) AS job_execution_id,
        a.first_at AS first_time,
        f.server_name AS failed_server_name,
        f.database_name AS failed_database_name,
        f.error_number AS failed_error_number,
        f.message AS failed_message,
        d.event
    FROM @locked AS l
    INNER JOIN jobs_internal.alert_deliveries AS d ON d.delivery_id = l.delivery_id
    INNER JOIN jobs_internal.alert_channels AS c ON c.channel_id = d.channel_id
    LEFT JOIN jobs_internal.alerts AS a ON a.alert_id = d.alert_id
    LEFT JOIN jobs_internal.jobs AS j ON j.job_id = a.job_id
    LEFT JOIN jobs_internal.schedules AS s ON s.schedule_id = a.schedule_id
    LEFT JOIN jobs_internal.job_executions AS e
        ON e.job_execution_id = COALESCE(a.job_execution_id, TRY_CONVERT(UNIQUEIDENTIFIER, JSON_VALUE(d.event, '$.tags.runId')))
    -- Plan: the first key of a range of IX_target_executions_failed, and its row. A repeated delivery says the same, so the run has ended.
    OUTER APPLY (
        SELECT TOP (1)
            t.server_name,
            CASE WHEN t.is_endpoint = 0 THEN t.database_name END AS database_name,
            t.error_number,
            LEFT(t.last_message, 1000) AS message
        FROM jobs_internal.target_executions AS t
        WHERE t.execution_id = e.execution_id
            AND t.lifecycle IN (N'Failed', N'TimedOut')
            AND e.is_active = 0
        ORDER BY t.execution_id, t.step_id, t.target_execution_id
    ) AS f
    WHERE l.is_expired = 0
        AND l.is_unwanted = 0
    ORDER BY d.delivery_id;
    RETURN 0;
END;
