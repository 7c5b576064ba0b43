-- Finds out whether this database was restored, copied or renamed since its place was accepted last (I16). It compares
-- documented facts, each only if the session can see it and it was known before:
--
--   name of the database         a copy or a renamed backup (DB_NAME)
--   recovery_fork_guid           a restore (sys.database_recovery_status; a login sees the row with VIEW ANY DATABASE, which public has
--                                unless it was revoked). Azure SQL Database does not have this view
--     (https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-database-recovery-status-transact-sql)
--   create_date                  a database that was made anew, such as by a restore in Azure; compared on the same server only
--     (https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-databases-transact-sql)
--   name of the server           a move or a copy. In Azure SQL Database it also changes with a failover group, so there it is no evidence
--
-- In an availability group the replicas have other names, dates and forks, and a failover is no restore. There only the name of the
-- database and, on the same server, the date are compared.
--
-- Parameters:
--   @accept  1: the present place is stored, and nothing is compared.
--   @found   Receives what has changed and what to do, for the reason of the pause; NULL: nothing. The caller pauses the control database
--            then.
-- Called by: jobs_internal.check_restored; jobs_internal.record_deployment, jobs.sp_pause_control_database,
--            jobs.sp_resume_control_database and jobs.sp_after_restore, within theirs.
-- Locks:     the row of control_identity (X), only if something has changed.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.check_place
    @accept BIT = 0,
    @found  NVARCHAR(1000) = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @server NVARCHAR(256) = CAST(SERVERPROPERTY(N'ServerName') AS NVARCHAR(256));
    DECLARE @database NVARCHAR(128) = DB_NAME();
    DECLARE @azure BIT = CASE WHEN CAST(SERVERPROPERTY(N'EngineEdition') AS INT) = 5 THEN 1 ELSE 0 END;
    DECLARE @created_at DATETIME2(7);
    DECLARE @fork UNIQUEIDENTIFIER;
    DECLARE @is_replica BIT;
    DECLARE @is_known BIT;

    SET @found = NULL;
    SELECT
        @created_at = CAST(d.create_date AS DATETIME2(7)),
        @is_replica = CASE WHEN d.replica_id IS NULL THEN 0 ELSE 1 END
    FROM sys.databases AS d
    WHERE d.database_id = DB_ID()
        OR (@azure = 1 AND d.name = @database); -- there the two ids differ
    IF @azure = 0
        SELECT @fork = r.recovery_fork_guid
        FROM sys.database_recovery_status AS r
        WHERE r.database_id = DB_ID();

    SELECT
        @found = CASE
            WHEN i.place_database <> @database THEN CONCAT(N'its name was ', i.place_database, N' and is ', @database)
            WHEN i.place_server = @server AND i.place_created_at <> @created_at
                THEN CONCAT(N'it was created anew at ', CONVERT(NVARCHAR(30), @created_at, 126))
            WHEN @azure = 1 OR @is_replica = 1 THEN NULL
            WHEN i.place_fork <> @fork THEN N'its recovery fork has changed'
            WHEN i.place_server <> @server AND i.place_is_replica = 0 THEN CONCAT(N'its server was ', i.place_server, N' and is ', @server)
        END,
        @is_known = CASE
            WHEN i.place_server = @server
                AND i.place_database = @database
                AND (i.place_created_at = @created_at OR @created_at IS NULL)
                AND (i.place_fork = @fork OR @fork IS NULL)
                AND (i.place_is_replica = @is_replica OR @is_replica IS NULL) THEN 1
            ELSE 0
        END
    FROM jobs_internal.control_identity AS i
    WHERE i.id = 1;
    IF @accept = 0 AND @found IS NULL AND @is_known = 1
        RETURN 0;
    IF @found IS NOT NULL
        SET @found = CONCAT(
            N'This database was restored, copied, moved or renamed: ', @found,
            N'. Run "jobagent db after-restore" and then "jobagent db resume"'
        );

    IF @accept = 1 OR @found IS NULL
        UPDATE i
        SET i.place_server = @server,
            i.place_database = @database,
            i.place_created_at = @created_at,
            i.place_fork = @fork,
            i.place_is_replica = @is_replica
        FROM jobs_internal.control_identity AS i
        WHERE i.id = 1;
    RETURN 0;
END;
