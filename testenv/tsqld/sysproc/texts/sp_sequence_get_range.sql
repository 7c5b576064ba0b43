CREATE PROCEDURE sys.sp_sequence_get_range @sequence_name nvarchar(776), @range_size bigint, @range_first_value sql_variant OUTPUT, @range_last_value sql_variant = NULL OUTPUT,
    @range_cycle_count int = NULL OUTPUT, @sequence_increment sql_variant = NULL OUTPUT, @sequence_min_value sql_variant = NULL OUTPUT, @sequence_max_value sql_variant = NULL OUTPUT
AS
-- Documentation: sp_sequence_get_range. The values are drawn one by one.
SET NOCOUNT ON;
DECLARE @id int = OBJECT_ID(@sequence_name, 'SO');
IF @id IS NULL
BEGIN
    RAISERROR(15001, -1, -1, @sequence_name);
    RETURN 1;
END
IF @range_size IS NULL OR @range_size < 1
BEGIN
    RAISERROR(15600, -1, -1, N'sp_sequence_get_range');
    RETURN 1;
END
DECLARE @cycles bit, @next decimal(38, 0), @text nvarchar(max), @n bigint = 1, @value sql_variant, @before sql_variant;
SELECT @sequence_increment = increment, @sequence_min_value = minimum_value, @sequence_max_value = maximum_value, @cycles = is_cycling,
    @next = CASE WHEN last_used_value IS NULL THEN CAST(current_value AS decimal(38, 0)) ELSE CAST(last_used_value AS decimal(38, 0)) + CAST(increment AS decimal(38, 0)) END,
    @text = N'SET @value = NEXT VALUE FOR ' + QUOTENAME(OBJECT_SCHEMA_NAME(object_id)) + N'.' + QUOTENAME(name)
FROM sys.sequences
WHERE object_id = @id;
SET @next = @next + CAST(@sequence_increment AS decimal(38, 0)) * (@range_size - 1);
IF @cycles = 0 AND @next NOT BETWEEN CAST(@sequence_min_value AS decimal(38, 0)) AND CAST(@sequence_max_value AS decimal(38, 0))
BEGIN
    RAISERROR(11732, -1, -1, @sequence_name);
    RETURN 1;
END
EXEC sp_executesql @text, N'@value sql_variant OUTPUT', @value = @range_first_value OUTPUT;
SELECT @range_last_value = @range_first_value, @range_cycle_count = 0;
WHILE @n < @range_size
BEGIN
    SET @before = @range_last_value;
    EXEC sp_executesql @text, N'@value sql_variant OUTPUT', @value = @range_last_value OUTPUT;
    IF CASE WHEN CAST(@sequence_increment AS decimal(38, 0)) > 0 THEN 1 ELSE -1 END * (CAST(@range_last_value AS decimal(38, 0)) - CAST(@before AS decimal(38, 0))) < 0
        SET @range_cycle_count = @range_cycle_count + 1;
    SET @n = @n + 1;
END
RETURN 0;
