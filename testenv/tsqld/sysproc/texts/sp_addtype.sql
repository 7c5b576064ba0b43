CREATE PROCEDURE sys.sp_addtype @typename sysname, @phystype sysname, @nulltype varchar(8) = NULL, @owner sysname = NULL
AS
-- Documentation: sp_addtype: equivalent to CREATE TYPE; NONULL is a form of NOT NULL.
DECLARE @text nvarchar(max) = N'CREATE TYPE ' + COALESCE(QUOTENAME(@owner) + N'.', N'') + QUOTENAME(@typename) + N' FROM ' + @phystype +
    CASE WHEN UPPER(@nulltype) IN ('NOT NULL', 'NONULL') THEN N' NOT NULL' ELSE N' NULL' END;
EXEC (@text);
RETURN @@ERROR;
