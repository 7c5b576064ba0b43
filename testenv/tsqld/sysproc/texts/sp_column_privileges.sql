CREATE PROCEDURE sys.sp_column_privileges @table_name sysname, @table_owner sysname = NULL, @table_qualifier sysname = NULL, @column_name nvarchar(384) = NULL
AS
-- Documentation: sp_column_privileges; ODBC, SQLColumnPrivileges. A grant on a table
-- applies to its columns. The owner has all permissions without a grant.
IF @table_qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1);
    RETURN 1;
END
DECLARE @id int = OBJECT_ID(CASE WHEN @table_owner IS NULL THEN QUOTENAME(@table_name) ELSE QUOTENAME(@table_owner) + N'.' + QUOTENAME(@table_name) END);
SELECT CAST(DB_NAME() AS sysname) AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, o.name AS TABLE_NAME, c.name AS COLUMN_NAME, CAST(USER_NAME(g.grantor) AS sysname) AS GRANTOR,
    CAST(USER_NAME(g.grantee) AS sysname) AS GRANTEE, CAST(g.privilege AS varchar(32)) AS PRIVILEGE, CAST(g.grantable AS varchar(3)) AS IS_GRANTABLE
FROM sys.all_objects AS o
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
JOIN sys.all_columns AS c ON c.object_id = o.object_id
JOIN (
    SELECT p.major_id, p.grantor_principal_id AS grantor, p.grantee_principal_id AS grantee, p.permission_name AS privilege, CASE p.state WHEN 'W' THEN 'YES' ELSE 'NO' END AS grantable
    FROM sys.database_permissions AS p
    WHERE p.class = 1 AND p.minor_id = 0 AND p.state IN ('G', 'W') AND p.permission_name IN (N'SELECT', N'INSERT', N'UPDATE', N'REFERENCES')
    UNION ALL
    SELECT t.object_id, COALESCE(t.principal_id, h.principal_id), COALESCE(t.principal_id, h.principal_id), v.privilege, 'YES'
    FROM sys.all_objects AS t
    JOIN sys.schemas AS h ON h.schema_id = t.schema_id
    CROSS JOIN (VALUES (N'SELECT'), (N'INSERT'), (N'UPDATE'), (N'REFERENCES')) AS v (privilege)
    WHERE t.object_id = @id
) AS g ON g.major_id = o.object_id
WHERE o.object_id = @id AND o.type IN ('U', 'V', 'S') AND (@column_name IS NULL OR c.name LIKE @column_name)
ORDER BY 1, 2, 3, 4, 7, 6;
