CREATE PROCEDURE sys.xp_getnetname @name nvarchar(255) = N'' OUTPUT, @full int = 0
AS
-- Not documented; SMO calls it for Server.Information. The default of @name distinguishes a call without arguments, which
-- returns rows, from a call with a variable. The domain of the machine is unknown, so that its full name is the short one.
IF @name = N''
    SELECT CAST(SERVERPROPERTY('MachineName') AS nvarchar(255)) AS [Server Net Name];
ELSE
    SET @name = CAST(SERVERPROPERTY('MachineName') AS nvarchar(255));
