CREATE PROCEDURE sys.xp_msver @optname sysname = NULL
AS
-- Documentation: xp_msver.
SELECT v.[Index], CAST(v.Name AS nvarchar(128)) AS Name, v.Internal_Value, CAST(v.Character_Value AS nvarchar(1024)) AS Character_Value
FROM sys.dm_os_sys_info AS i
CROSS APPLY (VALUES
    (1, N'ProductName', NULL, N'Microsoft SQL Server'), (2, N'ProductVersion', 1048576, CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128))), (3, N'Language', 1033, N'English (United States)'),
    (4, N'Platform', NULL, N'NT x64'), (5, N'Comments', NULL, N'SQL'), (6, N'CompanyName', NULL, N'Microsoft Corporation'), (7, N'FileDescription', NULL, N'SQL Server Windows NT - 64 Bit'),
    (8, N'FileVersion', NULL, CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128))), (9, N'InternalName', NULL, N'SQLSERVR'), (12, N'OriginalFilename', NULL, N'SQLSERVR.EXE'),
    (16, N'ProcessorCount', i.cpu_count, CAST(i.cpu_count AS nvarchar(20))), (18, N'ProcessorType', NULL, NULL),
    (19, N'PhysicalMemory', CAST(i.physical_memory_kb / 1024 AS int), CAST(i.physical_memory_kb / 1024 AS nvarchar(20)) + N' (' + CAST(i.physical_memory_kb * 1024 AS nvarchar(20)) + N')'),
    (20, N'Product ID', NULL, NULL)
) AS v ([Index], Name, Internal_Value, Character_Value)
WHERE v.Name = @optname OR @optname IS NULL
ORDER BY v.[Index];
