CREATE PROCEDURE sys.sp_helpserver @server sysname = NULL, @optname varchar(35) = NULL, @show_topology varchar(1) = NULL
AS
-- Documentation: sp_helpserver. There are no linked and remote servers.
IF @server IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.servers WHERE name = @server)
BEGIN
    RAISERROR(15015, -1, -1, @server);
    RETURN 1;
END
SELECT s.name, CAST(s.name AS sysname) AS network_name, CAST('rpc,rpc out,use remote collation' AS varchar(8000)) AS status, CAST(s.server_id AS char(4)) AS id, CAST(NULL AS sysname) AS collation_name,
    s.connect_timeout, s.query_timeout
FROM sys.servers AS s
WHERE s.name = @server OR @server IS NULL
ORDER BY s.name;
RETURN 0;
