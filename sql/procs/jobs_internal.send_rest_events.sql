-- Makes the events of runs of the SAP surface that have ended (ansConfig): one delivery for each event, to the alert channel of the
-- instance. A job asks for events of success, of failure, and of delay: a start more than 20 minutes after the due instant, which is
-- SAP's service level. Without a channel, or without one that is enabled, nothing is sent.
--
-- An event has the form of SAP Alert Notification, so that a channel can be that service itself.
--
-- Parameters:
--   @runs  JSON array of internal keys of runs that have ended; entries of other runs are ignored.
--   @now   The time of the evaluation.
-- Called by: jobs_internal.raise_alerts, within its transaction, which takes each run once.
-- Locks:     inserts into alert_deliveries.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.send_rest_events
    @runs NVARCHAR(MAX),
    @now  DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @channel_id INT;
    DECLARE @channel_name NVARCHAR(128);

    SELECT
        @channel_id = c.channel_id,
        @channel_name = c.name
    FROM jobs_internal.tenants AS n
    INNER JOIN jobs_internal.alert_channels AS c ON c.name = n.events_channel
    WHERE n.is_provider = 1
        AND c.enabled = 1;
    IF @channel_id IS NULL
        RETURN 0;

    -- Plan: the keys of the runs in job_executions, one key of UQ_rest_jobs_job_id each; then the runs of jobs that want events.
    -- rows: at most two for each run of the batch
    WITH runs AS (
        SELECT
            e.execution_id,
            e.schedule_id,
            r.rest_job_id,
            r.tenant_id COLLATE DATABASE_DEFAULT AS tenant_id,
            r.name COLLATE DATABASE_DEFAULT AS name,
            r.job_type,
            a.on_success,
            a.on_error,
            a.on_delay
        FROM OPENJSON(@runs) AS v
        INNER JOIN jobs_internal.visible_runs AS e ON e.execution_id = CAST(v.value AS BIGINT)
        INNER JOIN jobs_internal.rest_jobs AS r ON r.job_id = e.job_id
        -- A text that is no JSON, or no BIT, would be an error in each evaluation of alerts.
        CROSS APPLY OPENJSON(CASE WHEN ISJSON(r.ans_config) = 1 THEN r.ans_config END) WITH (
            on_success NVARCHAR(10) '$.onSuccess',
            on_error   NVARCHAR(10) '$.onError',
            on_delay   NVARCHAR(10) '$.onDelay'
        ) AS a
        WHERE e.is_active = 0
            AND e.schedule_id IS NOT NULL
    ),
    events AS (
        SELECT
            r.rest_job_id,
            r.tenant_id,
            r.name,
            r.job_type,
            s.rest_schedule_id,
            s.description,
            x.run_id,
            x.run_status,
            x.run_state,
            x.http_status,
            COALESCE(x.completed_at, @now) AS at,
            LEFT(x.run_text, 4000) AS text,
            k.severity,
            k.category,
            k.subject
        FROM runs AS r
        INNER JOIN jobs_internal.rest_runs AS x ON x.execution_id = r.execution_id
        INNER JOIN jobs_internal.rest_schedules AS s ON s.schedule_id = r.schedule_id
        CROSS APPLY (
            SELECT N'INFO' AS severity, N'NOTIFICATION' AS category, CONCAT(N'The job ''', r.name, N''' has succeeded') AS subject
            WHERE r.on_success = N'true'
                AND x.run_state = N'SUCCESS'
            UNION ALL
            SELECT N'ERROR', N'EXCEPTION', CONCAT(N'The job ''', r.name, N''' has failed: ', x.run_state)
            WHERE r.on_error = N'true'
                AND x.run_state <> N'SUCCESS'
            UNION ALL
            SELECT
                N'WARNING', N'ALERT',
                CONCAT(N'The job ''', r.name, N''' has started ', DATEDIFF(MINUTE, x.due_at, x.executed_at), N' minutes late')
            WHERE r.on_delay = N'true'
                AND x.executed_at > DATEADD(MINUTE, 20, x.due_at)
        ) AS k
    )
    INSERT INTO jobs_internal.alert_deliveries (
        notification_id, alert_id, channel_id, channel_name, kind, title, message, occurrences, last_at, state, created_at, expires_at,
        next_attempt_at, attempts, event
    )
    SELECT
        NEWID(), NULL, @channel_id, @channel_name, N'Event', v.subject, COALESCE(NULLIF(v.text, N''), v.subject), 1, v.at, N'Pending', @now,
        DATEADD(DAY, 1, @now), @now, 0,
        (
            SELECT
                CASE WHEN v.job_type = N'CF_TASK' THEN N'JobSchedulerTaskExecution' ELSE N'JobSchedulerJobExecution' END AS eventType,
                DATEDIFF_BIG(SECOND, '1970-01-01', v.at) AS eventTimestamp,
                v.severity,
                v.category,
                v.subject,
                COALESCE(NULLIF(v.text, N''), v.subject) AS body,
                v.name AS [resource.resourceName],
                N'job' AS [resource.resourceType],
                CAST(v.rest_job_id AS NVARCHAR(12)) AS [tags.jobId],
                v.name AS [tags.jobName],
                v.tenant_id AS [tags.tenantId],
                TRANSLATE(CAST(v.rest_schedule_id AS NVARCHAR(36)), N'ABCDEF', N'abcdef') AS [tags.scheduleId],
                v.description AS [tags.scheduleDescription],
                TRANSLATE(CAST(v.run_id AS NVARCHAR(36)), N'ABCDEF', N'abcdef') AS [tags.runId],
                v.run_status AS [tags.runStatus],
                v.run_state AS [tags.runState],
                CAST(v.http_status AS NVARCHAR(12)) AS [tags.httpStatus]
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        )
    FROM events AS v;
    RETURN 0;
END;
