-- Whether the server of a session has the agent's control database, although its name is another one than it was when the agent
-- started (a failover, say): asked where it matters only. NULL: there is no database called so, or the login does not see it.
SELECT
    (
        SELECT CONVERT(NVARCHAR(36), d.service_broker_guid)
        FROM sys.databases AS d
        WHERE d.name = N'$(control_name)'
    ) AS control_guid,
    -- public has it, unless somebody has taken it away.
    CASE WHEN HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW ANY DATABASE') = 1 THEN 1 ELSE 0 END AS sees_databases;
