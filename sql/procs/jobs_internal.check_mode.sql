-- Checks the mode of a run that is to start, and its options.
--
-- Parameters:
--   @mode          As in jobs.sp_start_job, in any case; receives its spelling; NULL if it is empty.
--   @mode_options  As in jobs.sp_start_job; receives the options that are not the defaults; NULL if there are none.
--   @only_targets  As in jobs.sp_start_job; its members are checked elsewhere.
-- Called by: jobs.sp_start_job.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50097 a text is longer than its limit.
--   50420 @mode is neither Trial nor Preflight, or @mode_options have a member that the mode does not have.
--   50421 a trial has no chosen databases, or more than 100.
CREATE OR ALTER PROCEDURE jobs_internal.check_mode
    @mode         NVARCHAR(11) = NULL OUTPUT,
    @mode_options NVARCHAR(401) = NULL OUTPUT,
    @only_targets NVARCHAR(MAX) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @wrong NVARCHAR(401);
    DECLARE @chosen INT;

    IF DATALENGTH(@mode) > 20
        THROW 50097, N'Invalid @mode: want at most 10 characters, not 11 or more.', 1;
    IF DATALENGTH(@mode_options) > 800
        THROW 50097, N'Invalid @mode_options: want at most 400 characters, not 401 or more.', 1;
    SET @mode = NULLIF(LTRIM(@mode), N'');
    SET @mode_options = NULLIF(LTRIM(@mode_options), N'');
    IF @mode COLLATE Latin1_General_100_CI_AS NOT IN (N'Trial', N'Preflight')
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid @mode ''', @mode, N''': want Trial or Preflight, or omit it.'), N'%', N'%%');
        THROW 50420, @message, 1;
    END;
    SET @mode = CASE
        WHEN @mode COLLATE Latin1_General_100_CI_AS = N'Trial' THEN N'Trial'
        WHEN @mode COLLATE Latin1_General_100_CI_AS = N'Preflight' THEN N'Preflight'
    END;
    IF @mode_options IS NOT NULL AND @mode IS NULL
        THROW 50420, N'Invalid @mode_options: only a run with a @mode has options.', 1;
    IF @mode_options IS NOT NULL AND (ISJSON(@mode_options) = 0 OR LEFT(@mode_options, 1) <> N'{')
        THROW 50420, N'Invalid @mode_options: want a JSON object, such as {"skip_unsupported": true}.', 1;
    SELECT TOP (1) @wrong = o.[key]
    FROM OPENJSON(@mode_options) AS o
    WHERE NOT EXISTS (
        SELECT 1
        FROM (VALUES
            (N'Trial', N'skip_unsupported', 3),
            (N'Trial', N'plan', 3),
            (N'Trial', N'plan_xml', 3),
            (N'Preflight', N'rights', 4),
            (N'Preflight', N'min_version', 2),
            (N'Preflight', N'min_compatibility', 2),
            (N'Preflight', N'min_log_mb', 2),
            (N'Preflight', N'min_data_mb', 2),
            (N'Preflight', N'max_transaction_seconds', 2),
            (N'Preflight', N'warn', 4),
            (N'Preflight', N'refuse', 4)
        ) AS k (mode, name, type)
        WHERE k.mode = @mode
            AND k.name = o.[key] COLLATE Latin1_General_BIN2
            AND k.type = o.type
    )
    ORDER BY o.[key];
    IF @wrong IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @mode_options: ''', @wrong, N''': want ',
            CASE
                WHEN @mode = N'Trial' THEN N'skip_unsupported, plan or plan_xml, true or false.'
                ELSE N'the lists rights, warn and refuse, and the numbers min_version, min_compatibility, min_log_mb, min_data_mb '
                    + N'and max_transaction_seconds.'
            END
        ), N'%', N'%%');
        THROW 50420, @message, 1;
    END;
    SET @mode_options = CASE
        WHEN @mode = N'Preflight' THEN @mode_options
        ELSE N'{' + NULLIF(STUFF(CONCAT( -- NULL, if nothing is true
            CASE WHEN JSON_VALUE(@mode_options, N'$.skip_unsupported') = N'true' THEN N',"skip_unsupported":true' END,
            CASE WHEN JSON_VALUE(@mode_options, N'$.plan') = N'true' THEN N',"plan":true' END,
            CASE WHEN JSON_VALUE(@mode_options, N'$.plan_xml') = N'true' THEN N',"plan_xml":true' END
        ), 1, 1, N''), N'') + N'}'
    END;

    IF @mode = N'Trial' AND @only_targets IS NULL
        THROW 50421, N'A trial runs on chosen databases only: give 1 to 100 target ids in @only_targets.', 1;
    IF @mode = N'Trial' AND ISJSON(@only_targets) = 1
    BEGIN
        SET @chosen = (SELECT COUNT(*) FROM OPENJSON(@only_targets) AS o);
        IF @chosen > 100
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'A trial runs on at most 100 chosen databases, not ', @chosen, N': give fewer target ids in @only_targets.'
            ), N'%', N'%%');
            THROW 50421, @message, 1;
        END;
    END;
    RETURN 0;
END;
