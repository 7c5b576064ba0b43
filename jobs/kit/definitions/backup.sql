-- Backs this database up to a file of its own on disk or at a URL, and reads it again with its checksums.
-- Old files are not deleted: nothing documented in T-SQL does that. Give the folder or the container a lifecycle.
-- Azure SQL Database backs itself up; there and for the log of a database in simple recovery, nothing is done.
-- https://learn.microsoft.com/sql/t-sql/statements/backup-transact-sql
-- https://learn.microsoft.com/sql/t-sql/statements/restore-statements-verifyonly-transact-sql
-- https://learn.microsoft.com/sql/relational-databases/backup-restore/sql-server-backup-to-url
SET NOCOUNT ON;
DECLARE @destination NVARCHAR(2000) = N'$(param.destination)';
DECLARE @kind NVARCHAR(20) = N'$(param.kind)'; -- full, differential or log
DECLARE @copy_only BIT = $(param.copy_only);
DECLARE @compression BIT = $(param.compression);
DECLARE @verify BIT = $(param.verify);
DECLARE @system_databases BIT = $(param.system_databases);
DECLARE @dry_run BIT = $(param.dry_run);

IF DB_NAME() IN (N'master', N'model', N'msdb', N'tempdb') AND (@system_databases = 0 OR DB_NAME() = N'tempdb')
    THROW 50000, N'This is a system database: set the parameter system_databases to back it up. tempdb has no backups.', 1;

DECLARE @edition INT = CAST(SERVERPROPERTY(N'EngineEdition') AS INT);
DECLARE @outcome NVARCHAR(200) = CASE
    WHEN @edition = 5 THEN N'skipped: Azure SQL Database backs itself up'
    -- An sql_variant equals no text of another collation.
    WHEN @kind = N'log' AND CAST(DATABASEPROPERTYEX(DB_NAME(), N'Recovery') AS NVARCHAR(128)) = N'SIMPLE'
        THEN N'skipped: simple recovery has no log backups'
    WHEN @dry_run = 1 THEN N'dry run' END;
-- Since SQL Server 2019.
SET @destination = COALESCE(NULLIF(@destination, N''), CAST(SERVERPROPERTY(N'InstanceDefaultBackupPath') AS NVARCHAR(2000)));
IF @outcome IS NULL AND @destination IS NULL
    THROW 50000, N'The parameter destination is empty, and this server tells no default folder of backups.', 1;
IF @outcome IS NULL AND @edition = 8 AND (@kind <> N'full' OR @copy_only = 0)
    THROW 50000, N'A managed instance has copy-only full backups only: set the parameter copy_only.', 1;

DECLARE @device NVARCHAR(4) = CASE WHEN @destination LIKE N'https://%' OR @destination LIKE N's3://%' THEN N'URL' ELSE N'DISK' END;
DECLARE @separator NCHAR(1) = CASE WHEN @destination LIKE N'%/%' THEN N'/' ELSE N'\' END;
DECLARE @file NVARCHAR(4000) = CASE WHEN RIGHT(@destination, 1) = @separator THEN @destination ELSE @destination + @separator END
    + TRANSLATE(CONCAT(CAST(SERVERPROPERTY(N'ServerName') AS NVARCHAR(128)), N'_', DB_NAME()), N'\/:*?"<>|%#&+ ''', REPLICATE(N'_', 15))
    + N'_' + @kind + N'_' + FORMAT(SYSUTCDATETIME(), N'yyyyMMdd_HHmmss', N'en-US') + CASE WHEN @kind = N'log' THEN N'.trn' ELSE N'.bak' END;
DECLARE @backup NVARCHAR(MAX) = N'BACKUP ' + CASE WHEN @kind = N'log' THEN N'LOG' ELSE N'DATABASE' END + N' @database TO ' + @device
    + N' = @file WITH CHECKSUM'
    + CASE WHEN @kind = N'differential' THEN N', DIFFERENTIAL' ELSE N'' END
    + CASE WHEN @copy_only = 1 THEN N', COPY_ONLY' ELSE N'' END
    + CASE WHEN @compression = 1 AND @edition <> 4 THEN N', COMPRESSION' ELSE N'' END -- Express has none
    + CASE WHEN @destination LIKE N'https://%' THEN N', MAXTRANSFERSIZE = 4194304, BLOCKSIZE = 65536' ELSE N'' END + N';';
DECLARE @read NVARCHAR(MAX) = N'RESTORE VERIFYONLY FROM ' + @device + N' = @file WITH CHECKSUM;';

DECLARE @database NVARCHAR(128) = DB_NAME(), @started DATETIME2(3) = SYSUTCDATETIME(), @seconds INT, @verify_seconds INT, @status INT = 0;
IF @outcome IS NULL
BEGIN
    -- Not in TRY: CATCH would know the last error only, which does not say why. All are messages of the run.
    EXECUTE @status = sys.sp_executesql @backup, N'@database NVARCHAR(128), @file NVARCHAR(4000)', @database = @database, @file = @file;
    SELECT @seconds = DATEDIFF(SECOND, @started, SYSUTCDATETIME()), @outcome = N'done';
    IF @verify = 1 AND @status = 0
    BEGIN
        SET @started = SYSUTCDATETIME();
        EXECUTE @status = sys.sp_executesql @read, N'@file NVARCHAR(4000)', @file = @file;
        SELECT @verify_seconds = DATEDIFF(SECOND, @started, SYSUTCDATETIME()), @outcome = N'done and verified';
    END;
END;

IF @status = 0
    SELECT SYSUTCDATETIME() AS collected_at, @@SERVERNAME AS server_name, @database AS database_name, @kind AS kind, @file AS backup_file,
        CONCAT(@backup, CASE WHEN @verify = 1 THEN N' ' + @read END) AS command, @seconds AS seconds, @verify_seconds AS verify_seconds,
        @outcome AS outcome;
