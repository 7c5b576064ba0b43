-- Acknowledges an alert: a person takes care of it. From then on nothing is sent about it, neither what was waiting for delivery nor that
-- it is resolved; further events are still counted. It stays Acknowledged until it is resolved. An attempt that has begun to send
-- cannot be taken back. A second call changes the note.
--
-- Parameters:
--   @alert_id  The alert (jobs.alerts).
--   @note      Free text; NULL: none.
-- Called by: members of the role jobs_operator.
-- Locks:     the alert (U, X), its deliveries (X); an insert into audit_entries.
-- Job agent: in each state: it defines nothing.
-- Returns:   0.
-- Throws:
--   50097 a text is longer than its limit.
--   50124 the alert does not exist.
CREATE OR ALTER PROCEDURE jobs.sp_acknowledge_alert
    @alert_id BIGINT,
    @note     NVARCHAR(1001) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @caller NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @message NVARCHAR(2048);
    DECLARE @state NVARCHAR(20);
    DECLARE @by NVARCHAR(128);
    DECLARE @old_note NVARCHAR(1000);
    DECLARE @subject NVARCHAR(400);
    DECLARE @rule_name NVARCHAR(128);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @job_name NVARCHAR(128);
    DECLARE @audit_name NVARCHAR(300);
    DECLARE @audit_id NVARCHAR(100);
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);

    IF DATALENGTH(@note) > 2000
        THROW 50097, N'Invalid @note: want at most 1000 characters, not 1001 or more.', 1;

    BEGIN TRANSACTION;

    -- acknowledge_note is in no index, so that the lock is on the clustered key.
    SELECT
        @state = a.state,
        @by = a.acknowledged_by,
        @old_note = a.acknowledge_note,
        @subject = a.subject,
        @rule_name = a.rule_name,
        @job_id = a.job_id
    FROM jobs_internal.alerts AS a WITH (UPDLOCK)
    WHERE a.alert_id = @alert_id;
    IF @state IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The alert ', COALESCE(CAST(@alert_id AS NVARCHAR(20)), N'NULL'), N' does not exist. The view jobs.alerts lists all alerts.'
        ), N'%', N'%%');
        THROW 50124, @message, 1;
    END;
    -- The first person who acknowledged it stays.
    UPDATE a
    SET a.state = CASE WHEN a.state = N'Open' THEN N'Acknowledged' ELSE a.state END,
        a.acknowledged_at = COALESCE(a.acknowledged_at, @now),
        a.acknowledged_by = COALESCE(a.acknowledged_by, @caller),
        a.acknowledge_note = COALESCE(@note, a.acknowledge_note),
        a.notify_at = NULL
    FROM jobs_internal.alerts AS a
    WHERE a.alert_id = @alert_id;
    -- rows: the deliveries of one alert, a few for each notification
    -- order: the deliveries of one alert; sessions that change several alerts hold none of these
    UPDATE d
    SET d.state = N'Canceled',
        d.next_attempt_at = NULL,
        d.last_error = COALESCE(d.last_error, N'Not sent: the alert was acknowledged.')
    FROM jobs_internal.alert_deliveries AS d
    WHERE d.alert_id = @alert_id
        AND d.state = N'Pending';

    SET @job_name = (SELECT j.name FROM jobs_internal.jobs AS j WHERE j.job_id = @job_id AND j.deleted_at IS NULL);
    SET @audit_name = LEFT(CONCAT(@rule_name, N': ', @subject), 300);
    SET @audit_id = CAST(@alert_id AS NVARCHAR(100));
    SET @audit_before = (
        SELECT @by AS acknowledged_by, @old_note AS note FOR JSON PATH, WITHOUT_ARRAY_WRAPPER, INCLUDE_NULL_VALUES
    );
    SET @audit_after = (
        SELECT COALESCE(@by, @caller) AS acknowledged_by, COALESCE(@note, @old_note) AS note
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER, INCLUDE_NULL_VALUES
    );
    EXECUTE jobs_internal.audit
        @action = N'sp_acknowledge_alert',
        @object_kind = N'Alert',
        @object_name = @audit_name,
        @object_id = @audit_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @before = @audit_before,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
