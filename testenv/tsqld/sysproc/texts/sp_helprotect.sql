CREATE PROCEDURE sys.sp_helprotect @name nvarchar(776) = NULL, @username sysname = NULL, @grantorname sysname = NULL, @permissionarea varchar(10) = 'o s'
AS
-- Documentation: sp_helprotect. There are no permissions on columns.
SET NOCOUNT ON;
SELECT COALESCE(SCHEMA_NAME(o.schema_id), N'.') AS Owner, COALESCE(o.name, N'.') AS Object, USER_NAME(p.grantee_principal_id) AS Grantee, USER_NAME(p.grantor_principal_id) AS Grantor,
    CAST(CASE p.state WHEN 'W' THEN 'Grant_WGO' WHEN 'D' THEN 'Deny' ELSE 'Grant' END AS nvarchar(10)) AS ProtectType, CAST(p.permission_name AS nvarchar(60)) AS Action,
    CAST(CASE WHEN p.class = 0 THEN N'.' WHEN p.permission_name IN (N'SELECT', N'UPDATE', N'REFERENCES') THEN N'(All+New)' ELSE N'.' END AS sysname) AS [Column]
INTO #found
FROM sys.database_permissions AS p
LEFT JOIN sys.all_objects AS o ON p.class = 1 AND o.object_id = p.major_id
WHERE (p.class = 1 AND @permissionarea LIKE '%o%' AND o.object_id > 0 OR p.class = 0 AND @permissionarea LIKE '%s%')
    AND (@name IS NULL OR p.class = 1 AND p.major_id = OBJECT_ID(@name) OR p.class = 0 AND p.permission_name = @name)
    AND (@username IS NULL OR p.grantee_principal_id = USER_ID(@username)) AND (@grantorname IS NULL OR p.grantor_principal_id = USER_ID(@grantorname));
IF NOT EXISTS (SELECT * FROM #found)
BEGIN
    RAISERROR(15330, -1, -1);
    RETURN 1;
END
SELECT Owner, Object, Grantee, Grantor, ProtectType, Action, [Column] FROM #found ORDER BY Owner, Object, Grantee, Grantor, ProtectType, Action;
RETURN 0;
