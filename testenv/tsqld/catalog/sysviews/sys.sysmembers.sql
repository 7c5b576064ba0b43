CREATE VIEW sys.sysmembers AS
SELECT CAST(m.member_principal_id AS smallint) AS memberuid, CAST(m.role_principal_id AS smallint) AS groupuid
FROM sys.database_role_members AS m
