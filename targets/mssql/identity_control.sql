-- Returns whether the server of a session has the agent's control database, although the server's name has changed since the
-- agent started, as after a failover. control_guid is NULL if there is no database of this name, or if the login cannot see it.
SELECT
    (
        SELECT CONVERT(NVARCHAR(36), d.service_broker_guid)
        FROM sys.databases AS d
        WHERE d.name = N'$(control_name)'
    ) AS control_guid,
    -- public has this permission by default.
    CASE WHEN HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW ANY DATABASE') = 1 THEN 1 ELSE 0 END AS sees_databases;
