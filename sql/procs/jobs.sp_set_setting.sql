-- Sets a setting of the whole system, or resets it to its default. The view jobs.settings lists the settings, and
-- describes them. A setting applies to later decisions.
--
-- Parameters:
--   @name   Name of the setting, in any case.
--   @value  A whole number within the setting's range. NULL: the default; this also removes a stored setting of an
--           unknown name.
-- Called by: members of the role jobs_admin.
-- Locks:     the setting's row (X); an insert into audit_entries.
-- Job agent: in each state: it is for administrators, and defines no job.
-- Returns:   0.
-- Throws:
--   50055 the setting does not exist.
--   50056 the value is outside the setting's range.
--   50097 a text is longer than its limit.
CREATE OR ALTER PROCEDURE jobs.sp_set_setting
    @name  NVARCHAR(129),
    @value INT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @known NVARCHAR(128);
    DECLARE @lowest INT;
    DECLARE @highest INT;
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);

    IF DATALENGTH(@name) > 256
        THROW 50097, N'Invalid @name: want at most 128 characters, not 129 or more.', 1;

    SELECT
        @known = v.name,
        @lowest = v.lowest,
        @highest = v.highest
    FROM jobs_internal.effective_settings AS v
    WHERE v.name = LTRIM(RTRIM(@name)) COLLATE Latin1_General_100_CI_AS;
    IF @known IS NULL
        AND (@value IS NOT NULL OR NOT EXISTS (SELECT 1 FROM jobs_internal.settings AS s WHERE s.name = @name))
    BEGIN
        SET @message = REPLACE(CONCAT(N'The setting ''', @name, N''' does not exist. Settings are ', (
            SELECT STRING_AGG(v.name, N', ') WITHIN GROUP (ORDER BY v.name)
            FROM jobs_internal.effective_settings AS v
        ), N'.'), N'%', N'%%');
        THROW 50055, @message, 1;
    END;
    IF @value NOT BETWEEN @lowest AND @highest
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid ', @known, N' ', @value, N': want ', @lowest, N' to ', @highest, N'.'), N'%', N'%%');
        THROW 50056, @message, 1;
    END;
    SET @name = COALESCE(@known, @name);

    BEGIN TRANSACTION;
    -- value is in no other index, so the lock is on the clustered key.
    SELECT @audit_before = CONCAT(N'{"value":"', STRING_ESCAPE(s.value, 'json'), N'"}')
    FROM jobs_internal.settings AS s WITH (UPDLOCK, HOLDLOCK)
    WHERE s.name = @name;
    SET @audit_after = CASE WHEN @value IS NOT NULL THEN CONCAT(N'{"value":"', @value, N'"}') END;
    DELETE s
    FROM jobs_internal.settings AS s
    WHERE s.name = @name;
    IF @value IS NOT NULL
        INSERT INTO jobs_internal.settings (name, value)
        VALUES (@name, CAST(@value AS NVARCHAR(20)));
    IF @audit_before IS NOT NULL OR @audit_after IS NOT NULL
        EXECUTE jobs_internal.audit
            @action = N'sp_set_setting',
            @object_kind = N'Setting',
            @object_name = @name,
            @before = @audit_before,
            @after = @audit_after;
    COMMIT TRANSACTION;
    RETURN 0;
END;
