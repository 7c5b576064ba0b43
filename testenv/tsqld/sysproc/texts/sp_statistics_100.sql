CREATE PROCEDURE sys.sp_statistics_100
    @table_name sysname, @table_owner sysname = NULL, @table_qualifier sysname = NULL, @index_name sysname = N'%', @is_unique char(1) = 'N', @accuracy char(1) = 'Q'
AS
-- Like sp_statistics, for clients of SQL Server 2008 and later.
EXEC sys.sp_statistics @table_name, @table_owner, @table_qualifier, @index_name, @is_unique, @accuracy;
