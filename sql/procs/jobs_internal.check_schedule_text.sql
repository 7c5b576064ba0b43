-- Checks the part of a schedule's definition that T-SQL can check, and normalises the spelling of its kind. An agent
-- validates the rest, because T-SQL cannot compute a recurrence.
--
-- Parameters:
--   @kind      Kind in any case; receives the canonical spelling.
--   @spec      The text.
-- Called by: jobs_internal.store_schedule.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50048 the schedule kind is invalid.
--   50049 the schedule text is missing or empty.
CREATE OR ALTER PROCEDURE jobs_internal.check_schedule_text
    @kind NVARCHAR(20) OUTPUT,
    @spec NVARCHAR(MAX)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @canonical NVARCHAR(50);

    SELECT @canonical = k.kind
    FROM (VALUES (N'elastic'), (N'azure-scheduler'), (N'sap'), (N'cron5'), (N'cron6'), (N'quartz'), (N'rrule')) AS k (kind)
    WHERE k.kind = @kind COLLATE Latin1_General_100_CI_AS;
    IF @kind COLLATE Latin1_General_100_CI_AS IN (N'systemd', N'eventbridge', N'groc', N'airflow', N'iso8601')
    BEGIN
        -- only a program can translate the text, and only kinds are stored
        SET @message = REPLACE(CONCAT(
            N'Invalid @kind ''', @kind, N''': a text of this language is translated to a kind. To translate it, run ',
            N'jobagent schedule preview --kind ', LOWER(@kind), N' --file FILE, and give the kind and the text that it shows.'
        ), N'%', N'%%');
        THROW 50048, @message, 1;
    END;
    IF @canonical IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @kind ''', @kind, N''': want elastic, azure-scheduler, sap, cron5, cron6, quartz or rrule.'
        ), N'%', N'%%');
        THROW 50048, @message, 1;
    END;
    IF @spec IS NULL OR LTRIM(@spec) = N''
        THROW 50049,
            N'Missing schedule text: @spec is NULL or empty. To try a text, run jobagent schedule preview --kind KIND --file FILE.',
            1;
    SET @kind = @canonical;
    RETURN 0;
END;
