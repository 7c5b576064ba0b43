CREATE PROCEDURE sys.sp_enumerrorlogs @p1 int = NULL
AS
-- Not documented; SMO calls it for EnumErrorLogs. The server has no error log, so that there are no rows.
SELECT CAST(NULL AS int) AS [Archive #], CAST(NULL AS nvarchar(24)) AS [Date], CAST(NULL AS int) AS [Log File Size (Byte)]
WHERE 1 = 0;
