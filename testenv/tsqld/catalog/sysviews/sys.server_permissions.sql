CREATE VIEW sys.server_permissions AS
SELECT CAST(100 AS tinyint) AS class, CAST('SERVER' AS nvarchar(60)) AS class_desc, 0 AS major_id, 0 AS minor_id, p.principal_id AS grantee_principal_id, 1 AS grantor_principal_id,
    CAST(CASE p.type WHEN 'R' THEN 'VWDB' ELSE 'COSQ' END AS char(4)) AS type, CAST(CASE p.type WHEN 'R' THEN 'VIEW ANY DATABASE' ELSE 'CONNECT SQL' END AS nvarchar(128)) AS permission_name,
    CAST('G' AS char(1)) AS state, CAST('GRANT' AS nvarchar(60)) AS state_desc
FROM sys.server_principals AS p
WHERE p.type = 'S' OR p.name = 'public'
