-- The permissions of our roles on our schemas, on objects in them, and on the users as which fronts make calls.
SELECT p.permission_name, N'OBJECT' AS class, CONCAT(s.name, N'.', o.name) AS name, COALESCE(c.name, N'') AS column_name, g.name AS role_name,
    p.state
FROM sys.database_permissions AS p
INNER JOIN sys.database_principals AS g ON g.principal_id = p.grantee_principal_id
INNER JOIN sys.objects AS o ON o.object_id = p.major_id
INNER JOIN sys.schemas AS s ON s.schema_id = o.schema_id
LEFT JOIN sys.columns AS c ON c.object_id = p.major_id AND c.column_id = p.minor_id
WHERE p.class = 1
    AND g.type = 'R'
    AND g.name LIKE N'jobs[_]%'
    AND s.name IN (N'jobs', N'jobs_internal', N'jobs_rest')
UNION ALL
SELECT p.permission_name, N'SCHEMA', s.name, N'', g.name, p.state
FROM sys.database_permissions AS p
INNER JOIN sys.database_principals AS g ON g.principal_id = p.grantee_principal_id
INNER JOIN sys.schemas AS s ON s.schema_id = p.major_id
WHERE p.class = 3
    AND g.type = 'R'
    AND g.name LIKE N'jobs[_]%'
    AND s.name IN (N'jobs', N'jobs_internal', N'jobs_rest')
UNION ALL
SELECT p.permission_name, N'USER', u.name, N'', g.name, p.state
FROM sys.database_permissions AS p
INNER JOIN sys.database_principals AS g ON g.principal_id = p.grantee_principal_id
INNER JOIN sys.database_principals AS u ON u.principal_id = p.major_id
WHERE p.class = 4
    AND g.type = 'R'
    AND g.name LIKE N'jobs[_]%'
    AND u.name IN (N'jobagent_reader', N'jobagent_operator', N'jobagent_author', N'jobagent_admin')
ORDER BY 5, 2, 3, 1;
