CREATE VIEW sys.spt_columns_odbc_view AS
-- The columns of tables, views and table-valued functions for sp_columns and its variants.
SELECT o.object_id, CAST(DB_NAME() AS sysname) AS TABLE_QUALIFIER, CAST(SCHEMA_NAME(o.schema_id) AS sysname) AS TABLE_OWNER, o.name AS TABLE_NAME, c.name AS COLUMN_NAME,
    t.data_type, t.data_type_2, t.data_type_28,
    CAST(CASE WHEN t.is_identity = 0 THEN t.type_name WHEN t.system_type_id IN (106, 108) THEN t.type_name + N'() identity' ELSE t.type_name + N' identity' END AS sysname) AS TYPE_NAME,
    t.precision, t.precision_2_less, t.length, t.scale, t.radix, CAST(COALESCE(c.is_nullable, 1) AS smallint) AS NULLABLE,
    CAST(d.definition AS nvarchar(4000)) AS COLUMN_DEF, t.sql_data_type, t.sql_datetime_sub, t.octet_length,
    CAST(COALESCE(NULLIF(COLUMNPROPERTY(c.object_id, c.name, 'ordinal'), 0), c.column_id) AS int) AS ORDINAL_POSITION,
    CAST(CASE c.is_nullable WHEN 0 THEN 'NO' ELSE 'YES' END AS varchar(254)) AS IS_NULLABLE, CAST(c.is_sparse AS smallint) AS SS_IS_SPARSE,
    CAST(c.is_column_set AS smallint) AS SS_IS_COLUMN_SET, CAST(c.is_computed AS smallint) AS SS_IS_COMPUTED, CAST(c.is_identity AS smallint) AS SS_IS_IDENTITY,
    CAST(t.ss_data_type AS tinyint) AS SS_DATA_TYPE
FROM sys.all_objects AS o
JOIN sys.all_columns AS c ON c.object_id = o.object_id
JOIN sys.spt_typed_odbc_view AS t ON t.object_id = c.object_id AND t.ordinal = c.column_id
LEFT JOIN sys.default_constraints AS d ON d.object_id = c.default_object_id
WHERE o.type IN ('U', 'V', 'S', 'IF', 'TF')
