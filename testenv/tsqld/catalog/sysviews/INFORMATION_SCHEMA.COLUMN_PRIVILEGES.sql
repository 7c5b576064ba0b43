CREATE VIEW INFORMATION_SCHEMA.COLUMN_PRIVILEGES AS
SELECT CAST(USER_NAME(p.grantor_principal_id) AS nvarchar(128)) AS GRANTOR, CAST(USER_NAME(p.grantee_principal_id) AS nvarchar(128)) AS GRANTEE, DB_NAME() AS TABLE_CATALOG,
    s.name AS TABLE_SCHEMA, o.name AS TABLE_NAME, c.name AS COLUMN_NAME, CAST(p.permission_name AS varchar(10)) AS PRIVILEGE_TYPE, CAST(CASE p.state WHEN 'W' THEN 'YES' ELSE 'NO' END AS varchar(3)) AS IS_GRANTABLE
FROM sys.database_permissions AS p
JOIN sys.objects AS o ON o.object_id = p.major_id
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
JOIN sys.columns AS c ON c.object_id = o.object_id
WHERE p.class = 1 AND p.minor_id = 0 AND p.state IN ('G', 'W') AND o.type IN ('U', 'V') AND p.permission_name IN (N'SELECT', N'INSERT', N'UPDATE', N'REFERENCES')
    AND (p.grantee_principal_id IN (0, USER_ID()) OR p.grantor_principal_id = USER_ID()) -- granted to or by the current user
