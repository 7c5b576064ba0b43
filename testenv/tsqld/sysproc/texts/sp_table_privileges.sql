CREATE PROCEDURE sys.sp_table_privileges @table_name nvarchar(384), @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL, @fUsePattern bit = 1
AS
-- Documentation: sp_table_privileges; ODBC, SQLTablePrivileges. The owner of a table has all permissions
-- without a grant.
IF @table_qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1);
    RETURN 1;
END
SELECT CAST(DB_NAME() AS sysname) AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, o.name AS TABLE_NAME, CAST(USER_NAME(g.grantor) AS sysname) AS GRANTOR,
    CAST(USER_NAME(g.grantee) AS sysname) AS GRANTEE, CAST(g.privilege AS varchar(32)) AS PRIVILEGE, CAST(g.grantable AS varchar(3)) AS IS_GRANTABLE
FROM sys.all_objects AS o
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
JOIN (
    SELECT p.major_id, p.grantor_principal_id AS grantor, p.grantee_principal_id AS grantee, p.permission_name AS privilege, CASE p.state WHEN 'W' THEN 'YES' ELSE 'NO' END AS grantable
    FROM sys.database_permissions AS p
    WHERE p.class = 1 AND p.minor_id = 0 AND p.state IN ('G', 'W') AND p.permission_name IN (N'SELECT', N'INSERT', N'UPDATE', N'DELETE', N'REFERENCES')
    UNION ALL
    SELECT t.object_id, COALESCE(t.principal_id, h.principal_id), COALESCE(t.principal_id, h.principal_id), v.privilege, 'YES'
    FROM sys.all_objects AS t
    JOIN sys.schemas AS h ON h.schema_id = t.schema_id
    CROSS JOIN (VALUES (N'SELECT'), (N'INSERT'), (N'UPDATE'), (N'DELETE'), (N'REFERENCES')) AS v (privilege)
) AS g ON g.major_id = o.object_id
WHERE o.type IN ('U', 'V', 'S') AND (@fUsePattern = 1 AND o.name LIKE @table_name OR @fUsePattern = 0 AND o.name = @table_name)
    AND (@table_owner IS NULL OR @fUsePattern = 1 AND s.name LIKE @table_owner OR @fUsePattern = 0 AND s.name = @table_owner)
ORDER BY 1, 2, 3, 6, 5;
