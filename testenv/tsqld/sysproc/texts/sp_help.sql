CREATE PROCEDURE sys.sp_help @objname nvarchar(776) = NULL
AS
-- Documentation: sp_help. Only objects of the current database are found.
SET NOCOUNT ON;
IF @objname IS NULL
BEGIN
    SELECT o.name AS Name, CAST(USER_NAME(COALESCE(o.principal_id, s.principal_id)) AS nvarchar(128)) AS Owner, CAST(t.label AS nvarchar(31)) AS Object_type
    FROM sys.all_objects AS o
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    JOIN sys.spt_object_types AS t ON t.type = o.type
    ORDER BY 2, 3 DESC, 1;
    SELECT u.name AS User_type, CAST(TYPE_NAME(u.system_type_id) AS nvarchar(128)) AS Storage_type, u.max_length AS Length, CAST(u.precision AS int) AS Prec, CAST(u.scale AS int) AS Scale,
        CAST(CASE u.is_nullable WHEN 1 THEN 'yes' ELSE 'no' END AS varchar(35)) AS Nullable, CAST('none' AS sysname) AS Default_name, CAST('none' AS sysname) AS Rule_name, u.collation_name AS Collation
    FROM sys.types AS u
    WHERE u.user_type_id > 256 AND u.is_table_type = 0
    ORDER BY u.name;
    RETURN 0;
END
IF PARSENAME(@objname, 3) <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1);
    RETURN 1;
END
DECLARE @id int = OBJECT_ID(@objname), @database sysname = DB_NAME(), @type char(2);
IF @id IS NULL
BEGIN
    DECLARE @type_id int = TYPE_ID(@objname);
    IF @type_id IS NULL
    BEGIN
        RAISERROR(15009, -1, -1, @objname, @database);
        RETURN 1;
    END
    SELECT u.name AS Type_name, CAST(TYPE_NAME(u.system_type_id) AS nvarchar(128)) AS Storage_type, u.max_length AS Length, CAST(u.precision AS int) AS Prec, CAST(u.scale AS int) AS Scale,
        CAST(CASE u.is_nullable WHEN 1 THEN 'yes' ELSE 'no' END AS varchar(35)) AS Nullable, CAST('none' AS sysname) AS Default_name, CAST('none' AS sysname) AS Rule_name, u.collation_name AS Collation
    FROM sys.types AS u
    WHERE u.user_type_id = @type_id;
    RETURN 0;
END
SELECT @type = o.type FROM sys.all_objects AS o WHERE o.object_id = @id;
SELECT o.name AS Name, CAST(USER_NAME(COALESCE(o.principal_id, s.principal_id)) AS nvarchar(128)) AS Owner, CAST(t.label AS nvarchar(31)) AS Type, o.create_date AS Created_datetime
FROM sys.all_objects AS o
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
JOIN sys.spt_object_types AS t ON t.type = o.type
WHERE o.object_id = @id;
IF @type IN ('S', 'U', 'V', 'TF', 'IF')
BEGIN
    SELECT c.name AS Column_name, CAST(TYPE_NAME(c.user_type_id) AS nvarchar(128)) AS Type, CAST(CASE c.is_computed WHEN 1 THEN 'yes' ELSE 'no' END AS varchar(35)) AS Computed,
        CAST(c.max_length AS int) AS Length,
        CAST(CASE WHEN c.system_type_id IN (48, 52, 56, 59, 60, 62, 106, 108, 122, 127, 41, 42, 43) THEN CAST(c.precision AS varchar(5)) ELSE '' END AS char(5)) AS Prec,
        CAST(CASE WHEN c.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127, 41, 42, 43) THEN CAST(c.scale AS varchar(5)) ELSE '' END AS char(5)) AS Scale,
        CAST(CASE c.is_nullable WHEN 1 THEN 'yes' ELSE 'no' END AS varchar(35)) AS Nullable,
        CAST(CASE WHEN c.system_type_id NOT IN (165, 167, 173, 175) THEN '(n/a)' WHEN c.is_ansi_padded = 1 THEN 'no' ELSE 'yes' END AS varchar(35)) AS TrimTrailingBlanks,
        CAST(CASE WHEN c.system_type_id NOT IN (165, 167, 173, 175) THEN '(n/a)' WHEN c.is_nullable = 0 THEN 'no' ELSE 'yes' END AS varchar(35)) AS FixedLenNullInSource, c.collation_name AS Collation
    FROM sys.all_columns AS c
    WHERE c.object_id = @id
    ORDER BY c.column_id;
    IF EXISTS (SELECT * FROM sys.identity_columns WHERE object_id = @id)
        SELECT name AS [Identity], CAST(seed_value AS numeric(38, 0)) AS Seed, CAST(increment_value AS numeric(38, 0)) AS Increment, CAST(is_not_for_replication AS int) AS [Not For Replication]
        FROM sys.identity_columns
        WHERE object_id = @id;
    ELSE
        SELECT CAST(N'No identity column defined.' AS nvarchar(128)) AS [Identity], CAST(NULL AS numeric(38, 0)) AS Seed, CAST(NULL AS numeric(38, 0)) AS Increment, CAST(NULL AS int) AS [Not For Replication];
    IF EXISTS (SELECT * FROM sys.all_columns WHERE object_id = @id AND is_rowguidcol = 1)
        SELECT name AS [RowGuidCol] FROM sys.all_columns WHERE object_id = @id AND is_rowguidcol = 1;
    ELSE
        SELECT CAST(N'No rowguidcol column defined.' AS sysname) AS [RowGuidCol];
    IF @type IN ('S', 'U')
        SELECT CAST(N'PRIMARY' AS nvarchar(128)) AS Data_located_on_filegroup;
    IF @type IN ('S', 'U', 'V')
    BEGIN
        EXEC sys.sp_helpindex @objname;
        IF @type <> 'V'
            EXEC sys.sp_helpconstraint @objname, 'nomsg';
    END
END
IF EXISTS (SELECT * FROM sys.parameters WHERE object_id = @id)
    SELECT p.name AS Parameter_name, CAST(TYPE_NAME(p.user_type_id) AS nvarchar(128)) AS Type, p.max_length AS Length,
        CAST(CASE WHEN p.system_type_id IN (165, 167, 173, 175) THEN p.max_length WHEN p.system_type_id IN (231, 239) THEN p.max_length / 2 ELSE p.precision END AS int) AS Prec,
        CAST(CASE WHEN p.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127, 41, 42, 43) THEN p.scale END AS int) AS Scale, CAST(p.parameter_id AS smallint) AS Param_order,
        CAST(CASE WHEN p.system_type_id IN (35, 99, 167, 175, 231, 239) THEN DATABASEPROPERTYEX(DB_NAME(), 'Collation') END AS sysname) AS Collation
    FROM sys.parameters AS p
    WHERE p.object_id = @id
    ORDER BY p.parameter_id;
RETURN 0;
