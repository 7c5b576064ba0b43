-- Checks the tolerated_failures of a step.
--
-- Parameters:
--   @tolerated_failures  A number of targets from 0 to 1,000,000, or a percentage from 0% to 100% without decimals; receives its plain
--                        spelling, without leading zeros. NULL stays NULL.
-- Called by: jobs_internal.store_step.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50400 @tolerated_failures is neither a number nor a percentage.
CREATE OR ALTER PROCEDURE jobs_internal.check_tolerated_failures
    @tolerated_failures NVARCHAR(10) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @is_percent BIT = CASE WHEN @tolerated_failures LIKE N'%[%]' THEN 1 ELSE 0 END;
    DECLARE @digits NVARCHAR(11);
    DECLARE @number INT;

    SET @digits = CASE WHEN @is_percent = 1 THEN LEFT(@tolerated_failures, LEN(@tolerated_failures) - 1) ELSE @tolerated_failures END;
    SET @number = CASE WHEN @digits NOT LIKE N'%[^0-9]%' AND LEN(@digits) > 0 THEN TRY_CAST(@digits AS INT) END;
    IF @tolerated_failures IS NOT NULL
        AND (@number IS NULL OR @number > CASE WHEN @is_percent = 1 THEN 100 ELSE 1000000 END)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @tolerated_failures ''', @tolerated_failures,
            N''': want a number of targets, such as 3, or a percentage from 0% to 100% without decimals, such as 1%.'
        ), N'%', N'%%');
        THROW 50400, @message, 1;
    END;
    SET @tolerated_failures = CASE
        WHEN @number = 0 THEN N'0'
        ELSE CAST(@number AS NVARCHAR(10)) + CASE WHEN @is_percent = 1 THEN N'%' ELSE N'' END
    END;
    RETURN 0;
END;
