-- Deletes a rule of alerts. Its history stays; the next evaluation resolves its open alerts, and nothing more is sent about them.
--
-- Parameters:
--   @alert_name  Name of the rule.
-- Called by: members of the role jobs_author.
-- Locks:     the rule's row (U, X) and its channels (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50034 the name is missing or empty.
--   50097 a text is longer than its limit.
--   50121 the rule does not exist.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_delete_alert
    @alert_name NVARCHAR(129)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @rule_id INT;

    IF DATALENGTH(@alert_name) > 256
        THROW 50097, N'Invalid @alert_name: want at most 128 characters, not 129 or more.', 1;

    IF @alert_name IS NULL OR LTRIM(@alert_name) = N''
        THROW 50034, N'Missing alert name: @alert_name is NULL or empty.', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent;
    -- index: UQ_alert_rules_name, in which another session may insert the same name
    SELECT @rule_id = r.rule_id
    FROM jobs_internal.alert_rules AS r WITH (UPDLOCK, HOLDLOCK)
    WHERE r.name = @alert_name;
    IF @rule_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The alert ''', @alert_name, N''' does not exist. The view jobs.alert_rules lists all alerts.'
        ), N'%', N'%%');
        THROW 50121, @message, 1;
    END;
    EXECUTE jobs_internal.state_of_alert @alert_name = @alert_name, @state = @audit_before OUTPUT;
    DELETE r
    FROM jobs_internal.alert_rules AS r
    WHERE r.rule_id = @rule_id;

    EXECUTE jobs_internal.audit
        @action = N'sp_delete_alert',
        @object_kind = N'AlertRule',
        @object_name = @alert_name,
        @before = @audit_before,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
