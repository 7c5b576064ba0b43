CREATE VIEW sys.sysforeignkeys AS
SELECT f.constraint_object_id AS constid, f.parent_object_id AS fkeyid, f.referenced_object_id AS rkeyid, CAST(f.parent_column_id AS smallint) AS fkey,
    CAST(f.referenced_column_id AS smallint) AS rkey, CAST(f.constraint_column_id AS smallint) AS keyno
FROM sys.foreign_key_columns AS f
