CREATE PROCEDURE sys.xp_msver @optname sysname = NULL, @option2 sysname = NULL, @option3 sysname = NULL, @option4 sysname = NULL, @option5 sysname = NULL, @option6 sysname = NULL, @option7 sysname = NULL, @option8 sysname = NULL, @option9 sysname = NULL, @option10 sysname = NULL, @option11 sysname = NULL, @option12 sysname = NULL, @option13 sysname = NULL, @option14 sysname = NULL, @option15 sysname = NULL, @option16 sysname = NULL, @option17 sysname = NULL, @option18 sysname = NULL, @option19 sysname = NULL, @option20 sysname = NULL
AS
-- Documentation: xp_msver. DacFx requests several options at once, all with the name @optname.
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
WHERE @optname IS NULL OR v.Name IN (@optname, @option2, @option3, @option4, @option5, @option6, @option7, @option8, @option9, @option10, @option11, @option12, @option13, @option14, @option15, @option16, @option17, @option18, @option19, @option20)
ORDER BY v.[Index];
