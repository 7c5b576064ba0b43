CREATE PROCEDURE sys.sp_helpfilegroup @filegroupname sysname = NULL
AS
-- Documentation: sp_helpfilegroup.
IF @filegroupname IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.filegroups WHERE name = @filegroupname)
BEGIN
    RAISERROR(15325, -1, -1, N'file group', @filegroupname);
    RETURN 1;
END
SELECT g.name AS groupname, CAST(g.data_space_id AS smallint) AS groupid, (SELECT COUNT(*) FROM sys.database_files AS f WHERE f.data_space_id = g.data_space_id) AS filecount
FROM sys.filegroups AS g
WHERE g.name = @filegroupname OR @filegroupname IS NULL
ORDER BY g.data_space_id;
RETURN 0;
