CREATE PROCEDURE sys.sp_helplanguage @language sysname = NULL
AS
-- Documentation: sp_helplanguage.
SELECT langid, dateformat, datefirst, upgrade, name, alias, months, shortmonths, days, lcid, msglangid
FROM sys.syslanguages
WHERE @language IS NULL OR @language IN (name, alias)
ORDER BY langid;
RETURN 0;
