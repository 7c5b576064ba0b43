-- Checks the settings of a step, after the defaults and former values have been filled in.
--
-- Parameters:
--   @command_type                       A type of steps of jobs.command_types, in any case; receives its spelling.
--   @command_source                     Inline in any case.
--   @initial_retry_interval_seconds     1 to 2147483 (the range of INT in milliseconds).
--   @maximum_retry_interval_seconds     1 to 2147483.
--   @retry_interval_backoff_multiplier  At least 1.
--   @retry_attempts                     At least 0.
--   @step_timeout_seconds               1 to 2147483.
--   @output_type                        SqlDatabase in any case, or NULL.
--   @output_server_name                 Required with an output.
--   @output_database_name               Required with an output.
--   @output_table_name                  Required with an output.
--   @max_parallelism                    At least 1, or NULL.
-- Called by: jobs_internal.store_step.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50007 the command type is unknown.
--   50008 the command source is not Inline.
--   50013 the initial retry interval is out of range.
--   50014 the maximum retry interval is out of range.
--   50015 the retry interval backoff multiplier is below 1.
--   50016 the number of retry attempts is negative.
--   50017 a time limit of the step is out of range.
--   50018 the output type is not SqlDatabase.
--   50019 the output lacks its server, database or table name.
--   50020 the maximum parallelism is below 1.
--   50057 an action has an output.
CREATE OR ALTER PROCEDURE jobs_internal.check_step
    @command_type                      NVARCHAR(50) OUTPUT,
    @command_source                    NVARCHAR(50),
    @initial_retry_interval_seconds    INT,
    @maximum_retry_interval_seconds    INT,
    @retry_interval_backoff_multiplier REAL,
    @retry_attempts                    INT,
    @step_timeout_seconds              INT,
    @output_type                       NVARCHAR(50),
    @output_server_name                NVARCHAR(256),
    @output_database_name              NVARCHAR(128),
    @output_table_name                 NVARCHAR(128),
    @max_parallelism                   INT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @canonical_type NVARCHAR(50) = (
        SELECT t.command_type
        FROM jobs.command_types AS t
        WHERE t.is_step = 1
            AND t.command_type = @command_type COLLATE Latin1_General_100_CI_AS
    );

    IF @canonical_type IS NULL
    BEGIN
        -- plan: the view has one row
        SELECT @message = REPLACE(CONCAT(N'Invalid @command_type ''', @command_type, N''': want ', l.steps, N'.'), N'%', N'%%')
        FROM jobs_internal.command_type_lists AS l;
        THROW 50007, @message, 1;
    END;
    SET @command_type = @canonical_type;
    IF @command_source COLLATE Latin1_General_100_CI_AS <> N'inline'
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid @command_source ''', @command_source, N''': want Inline.'), N'%', N'%%');
        THROW 50008, @message, 1;
    END;
    IF @initial_retry_interval_seconds < 1 OR @initial_retry_interval_seconds > 2147483
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @initial_retry_interval_seconds ', @initial_retry_interval_seconds, N': want 1 to 2147483.'
        ), N'%', N'%%');
        THROW 50013, @message, 1;
    END;
    IF @maximum_retry_interval_seconds < 1 OR @maximum_retry_interval_seconds > 2147483
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @maximum_retry_interval_seconds ', @maximum_retry_interval_seconds, N': want 1 to 2147483.'
        ), N'%', N'%%');
        THROW 50014, @message, 1;
    END;
    IF @retry_interval_backoff_multiplier < 1
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @retry_interval_backoff_multiplier ', @retry_interval_backoff_multiplier, N': want at least 1.'
        ), N'%', N'%%');
        THROW 50015, @message, 1;
    END;
    IF @retry_attempts < 0
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid @retry_attempts ', @retry_attempts, N': want at least 0.'), N'%', N'%%');
        THROW 50016, @message, 1;
    END;
    IF @step_timeout_seconds < 1 OR @step_timeout_seconds > 2147483
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid @step_timeout_seconds ', @step_timeout_seconds, N': want 1 to 2147483.'), N'%', N'%%');
        THROW 50017, @message, 1;
    END;
    IF @output_type IS NOT NULL AND @output_type COLLATE Latin1_General_100_CI_AS <> N'sqldatabase'
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid @output_type ''', @output_type, N''': want SqlDatabase.'), N'%', N'%%');
        THROW 50018, @message, 1;
    END;
    IF @output_type IS NOT NULL AND (@output_server_name IS NULL OR @output_database_name IS NULL OR @output_table_name IS NULL)
        THROW 50019, N'Missing output: the type SqlDatabase needs @output_server_name, @output_database_name and @output_table_name.', 1;
    IF @output_type IS NOT NULL AND @command_type <> N'TSql'
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @output_type ''', @output_type, N''': a step of type ', @command_type, N' has no output.'
        ), N'%', N'%%');
        THROW 50057, @message, 1;
    END;
    IF @max_parallelism < 1
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @max_parallelism ', @max_parallelism, N': want at least 1; omit it for no limit.'
        ), N'%', N'%%');
        THROW 50020, @message, 1;
    END;
    RETURN 0;
END;
