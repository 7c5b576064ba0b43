CREATE PROCEDURE sys.sp_helpconstraint @objname nvarchar(776), @nomsg varchar(5) = 'msg'
AS
-- Documentation: sp_helpconstraint.
SET NOCOUNT ON;
IF PARSENAME(@objname, 3) <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1);
    RETURN 1;
END
DECLARE @id int = OBJECT_ID(@objname), @database sysname = DB_NAME();
IF @id IS NULL
BEGIN
    RAISERROR(15009, -1, -1, @objname, @database);
    RETURN 1;
END
IF @nomsg <> 'nomsg'
    SELECT CAST(@objname AS nvarchar(776)) AS [Object Name];
IF EXISTS (SELECT * FROM sys.objects WHERE parent_object_id = @id AND type IN ('C', 'D', 'F', 'PK', 'UQ'))
    SELECT CAST(constraint_type AS nvarchar(146)) AS constraint_type, CAST(constraint_name AS sysname) AS constraint_name, CAST(delete_action AS nvarchar(11)) AS delete_action,
        CAST(update_action AS nvarchar(11)) AS update_action, CAST(status_enabled AS varchar(8)) AS status_enabled, CAST(status_for_replication AS varchar(19)) AS status_for_replication,
        CAST(constraint_keys AS nvarchar(2126)) AS constraint_keys
    FROM (
        SELECT c.name AS place, 0 AS part, CASE c.parent_column_id WHEN 0 THEN N'CHECK Table Level ' ELSE N'CHECK on column ' + COL_NAME(@id, c.parent_column_id) END AS constraint_type,
            c.name AS constraint_name, N'(n/a)' AS delete_action, N'(n/a)' AS update_action, CASE c.is_disabled WHEN 1 THEN 'Disabled' ELSE 'Enabled' END AS status_enabled,
            CASE c.is_not_for_replication WHEN 1 THEN 'Not_For_Replication' ELSE 'Is_For_Replication' END AS status_for_replication, c.definition AS constraint_keys
        FROM sys.check_constraints AS c
        WHERE c.parent_object_id = @id
        UNION ALL
        SELECT d.name, 0, N'DEFAULT on column ' + COL_NAME(@id, d.parent_column_id), d.name, N'(n/a)', N'(n/a)', '(n/a)', '(n/a)', d.definition
        FROM sys.default_constraints AS d
        WHERE d.parent_object_id = @id
        UNION ALL
        SELECT k.name, 0, CASE k.type WHEN 'PK' THEN N'PRIMARY KEY' ELSE N'UNIQUE' END + CASE i.type WHEN 1 THEN N' (clustered)' ELSE N' (non-clustered)' END, k.name, N'(n/a)', N'(n/a)', '(n/a)', '(n/a)',
            (SELECT STRING_AGG(CAST(c.name + CASE x.is_descending_key WHEN 1 THEN N'(-)' ELSE N'' END AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY x.key_ordinal)
                FROM sys.index_columns AS x
                JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id
                WHERE x.object_id = i.object_id AND x.index_id = i.index_id AND x.key_ordinal > 0)
        FROM sys.key_constraints AS k
        JOIN sys.indexes AS i ON i.object_id = k.parent_object_id AND i.index_id = k.unique_index_id
        WHERE k.parent_object_id = @id
        UNION ALL
        SELECT f.name, v.part, CASE v.part WHEN 0 THEN N'FOREIGN KEY' ELSE N' ' END, CASE v.part WHEN 0 THEN f.name ELSE N' ' END,
            CASE v.part WHEN 0 THEN CASE f.delete_referential_action WHEN 0 THEN N'No Action' WHEN 1 THEN N'Cascade' WHEN 2 THEN N'Set Null' ELSE N'Set Default' END ELSE N' ' END,
            CASE v.part WHEN 0 THEN CASE f.update_referential_action WHEN 0 THEN N'No Action' WHEN 1 THEN N'Cascade' WHEN 2 THEN N'Set Null' ELSE N'Set Default' END ELSE N' ' END,
            CASE v.part WHEN 0 THEN CASE f.is_disabled WHEN 1 THEN 'Disabled' ELSE 'Enabled' END ELSE ' ' END,
            CASE v.part WHEN 0 THEN CASE f.is_not_for_replication WHEN 1 THEN 'Not_For_Replication' ELSE 'Is_For_Replication' END ELSE ' ' END,
            CASE v.part WHEN 0 THEN (SELECT STRING_AGG(CAST(COL_NAME(x.parent_object_id, x.parent_column_id) AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY x.constraint_column_id)
                    FROM sys.foreign_key_columns AS x WHERE x.constraint_object_id = f.object_id)
                ELSE N'REFERENCES ' + DB_NAME() + N'.' + OBJECT_SCHEMA_NAME(f.referenced_object_id) + N'.' + OBJECT_NAME(f.referenced_object_id) + N' ('
                    + (SELECT STRING_AGG(CAST(COL_NAME(x.referenced_object_id, x.referenced_column_id) AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY x.constraint_column_id)
                        FROM sys.foreign_key_columns AS x WHERE x.constraint_object_id = f.object_id) + N')' END
        FROM sys.foreign_keys AS f
        CROSS JOIN (VALUES (0), (1)) AS v (part)
        WHERE f.parent_object_id = @id
    ) AS t
    ORDER BY place, part;
ELSE
    RAISERROR(15469, -1, -1, @objname);
IF EXISTS (SELECT * FROM sys.foreign_keys WHERE referenced_object_id = @id)
    SELECT CAST(DB_NAME() + N'.' + OBJECT_SCHEMA_NAME(parent_object_id) + N'.' + OBJECT_NAME(parent_object_id) + N': ' + name AS nvarchar(516)) AS [Table is referenced by]
    FROM sys.foreign_keys
    WHERE referenced_object_id = @id
    ORDER BY 1;
ELSE
    RAISERROR(15470, -1, -1, @objname);
RETURN 0;
