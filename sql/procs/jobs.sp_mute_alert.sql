-- Mutes a rule of alerts until a time, or ends that. A muted rule raises and resolves alerts, but nothing is sent, also nothing that waits
-- for delivery already; an alert that is still open when the time has passed is notified then.
--
-- Parameters:
--   @alert_name  Name of the rule.
--   @until       When notifications begin again (UTC).
--   @minutes     The same as minutes from now. NULL for both: the rule is not muted any more.
--   @note        The reason.
-- Called by: members of the role jobs_operator.
-- Locks:     the rule's row (U, X); an insert into audit_entries.
-- Job agent: in each state: it starts nothing.
-- Returns:   0.
-- Throws:
--   50034 the name is missing or empty.
--   50042 the time has passed, or both times are given, or the minutes are out of range.
--   50097 a text is longer than its limit.
--   50121 the rule does not exist.
CREATE OR ALTER PROCEDURE jobs.sp_mute_alert
    @alert_name NVARCHAR(129),
    @until      DATETIME2(7) = NULL,
    @minutes    INT = NULL,
    @note       NVARCHAR(1001) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @message NVARCHAR(2048);
    DECLARE @rule_id INT;
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);

    IF DATALENGTH(@alert_name) > 256
        THROW 50097, N'Invalid @alert_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@note) > 2000
        THROW 50097, N'Invalid @note: want at most 1000 characters, not 1001 or more.', 1;

    IF @alert_name IS NULL OR LTRIM(@alert_name) = N''
        THROW 50034, N'Missing alert name: @alert_name is NULL or empty.', 1;
    IF @minutes < 1 OR @minutes > 527040
        THROW 50042, N'Invalid @minutes: want 1 to 527040 (366 days).', 1;
    IF @until IS NOT NULL AND (@minutes IS NOT NULL OR @until <= @now)
        THROW 50042, N'Invalid @until: want a time in the future (UTC), and no @minutes beside it.', 1;
    SET @until = COALESCE(@until, DATEADD(MINUTE, @minutes, @now));

    BEGIN TRANSACTION;

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
    UPDATE r
    SET r.muted_until = @until,
        r.muted_by = @by,
        r.mute_note = @note
    FROM jobs_internal.alert_rules AS r
    WHERE r.rule_id = @rule_id;

    EXECUTE jobs_internal.state_of_alert @alert_name = @alert_name, @state = @audit_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_mute_alert',
        @object_kind = N'AlertRule',
        @object_name = @alert_name,
        @before = @audit_before,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
